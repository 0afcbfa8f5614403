"""What the parts of check.py share: the table, the clock, and children that end with all that they started."""
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

NOT_FINITE = "not finite"


def number(x, spec):
    """`x` as text. The binary writes NaN and infinities as null, which is no number either, and says so."""
    return format(x, spec) if isinstance(x, (int, float)) and math.isfinite(x) else NOT_FINITE


class Table:
    def __init__(self):
        self.rows, self.failed, self.records = [], False, []

    def row(self, part, what, result, note=""):
        cells = [str(c).replace("|", "/").replace("\n", " ") for c in (part, what, result, note)]
        self.rows.append("| " + " | ".join(cells) + " |")
        print(self.rows[-1], file=sys.stderr, flush=True)

    def fail(self, part, what, result, note=""):
        self.failed = True
        self.row(part, what, f"FAILED: {result}", note)

    def judge(self, ok, part, what, result, note=""):
        """A row that fails unless `ok`, or where a number is none."""
        (self.row if ok and NOT_FINITE not in f"{result} {note}" else self.fail)(part, what, result, note)

    def text(self, title):
        head = [f"### {title}", "", "| part | what | result | note |", "| --- | --- | --- | --- |"]
        return "\n".join(head + self.rows) + "\n"


class Clock:
    def __init__(self, minutes):
        self.end = time.monotonic() + 60 * minutes

    def left(self, most=math.inf):
        return max(0.0, min(most, self.end - time.monotonic()))


def start(command, **more):
    """A child that leads a group, in which its own children are too."""
    return subprocess.Popen([str(c) for c in command], start_new_session=True, text=True, errors="replace", **more)


def end(child):
    """Kills a child with its group, and waits until they are gone: one that lived on would keep the GPU busy."""
    def send(number):
        try:
            os.killpg(child.pid, number)
            return True
        except (ProcessLookupError, PermissionError):
            return False

    send(signal.SIGKILL)
    child.wait()
    late = time.monotonic() + 5
    while send(0) and time.monotonic() < late:
        time.sleep(0.02)


def lines(command, seconds, env=None):
    """(exit status or None if time ran out, JSON objects of stdout, all other output). What came before the end counts."""
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        try:
            child = start(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env)
        except OSError as problem:
            return 127, [], [str(problem)]
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end(child)
        out.seek(0)
        found, rest = [], []
        for line in out:
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            if isinstance(value, dict) and "part" in value:
                found.append(value)
            else:
                rest.append(line.rstrip())
    return status, found, rest
