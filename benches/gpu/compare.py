"""The same problems by JAX + OTT and FlashSinkhorn. What they do wrong is said and is no failure of ours."""
import importlib.metadata
import json
import math
import os
import pathlib
import queue
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from array import array

from report import end, lines, number, start

PEERS = pathlib.Path(__file__).resolve().parent.parent / "frameworks" / "peers.py"
TOLERANCES = ["1e-3", "1e-4", "1e-5"]


class Gone(Exception):
    pass


class Peer:
    """A child that answers requests, each within a time."""

    def __init__(self, name, env):
        self.errors = tempfile.TemporaryFile("w+")
        self.child = start([sys.executable, PEERS, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=env)
        self.answers = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            self.answers.put(line)
        self.answers.put("")

    def ask(self, seconds, **request):
        try:
            self.child.stdin.write(json.dumps(request) + "\n")
            self.child.stdin.flush()
            line = self.answers.get(timeout=seconds)
        except queue.Empty:
            raise Gone(f"no answer in {seconds:.0f} s") from None
        except OSError:
            line = ""
        if not line:
            self.errors.seek(0)
            said = [l.strip() for l in self.errors if l.strip()]
            raise Gone(said[-1] if said else "it ended without a word")
        try:
            return json.loads(line)
        except ValueError:
            raise Gone(f"it said {line.strip()[:200]}") from None

    def close(self):
        end(self.child)


def install(wheels, folder, table, seconds):
    """Wheels of packages that this Python lacks, into a folder of their own."""
    files = sorted(pathlib.Path(wheels).glob("*.whl"))
    missing = []
    for file in files:
        try:
            importlib.metadata.version(re.sub(r"[-_.]+", "-", file.name.split("-")[0]))
        except importlib.metadata.PackageNotFoundError:
            missing.append(str(file))
    if not missing:
        return
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", folder, *missing]
    status, _, said = lines(command, seconds)
    if status is None:
        table.row("peers", "wheels", "not installed", f"not done in {seconds:.0f} s")
    elif status:
        table.row("peers", "wheels", "not installed", said[-1] if said else f"exit status {status}")


def norm_of_difference(a, b):
    """|a - b| / |b| of two .npy files of f64, without numpy; NaN if they cannot be compared."""
    def read(path):
        raw = pathlib.Path(path).read_bytes()
        size = int.from_bytes(raw[8:10], "little") + 10 if raw[6] == 1 else int.from_bytes(raw[8:12], "little") + 12
        if b"<f8" not in raw[:size] or b"'fortran_order': False" not in raw[:size]:
            raise ValueError("other numbers")
        return array("d", raw[size:])

    try:
        a, b = read(a), read(b)
        norm = math.sqrt(sum(q * q for q in b))
        return math.sqrt(sum((p - q) ** 2 for p, q in zip(a, b))) / norm if len(a) == len(b) else math.nan
    except (OSError, ValueError, IndexError, OverflowError, ZeroDivisionError):
        return math.nan


def peer(table, name, title, kinds, problems, steps, folder, clock, tiny, env):
    """`kinds`: (text, request) of Sinkhorn; `steps`: (text, request, our time)."""
    server = Peer(name, env)
    try:
        about = server.ask(clock.left(90), what="device")
        if about["platform"] not in ("gpu", "cuda") and not tiny:
            table.row("peers", title, "skipped", f"{about['version']} sees no GPU")
            return
        table.row("peers", title, "found", f"{about['version']} on {about['device']}")
        work = [(p, *kind) for p in problems for kind in kinds] + [(None, *step) for step in steps]
        for problem, text, request, *ours in work:
            what = f"{title}, {text}" if problem is None else f"{title}, {text}, n = m = {problem['n']}"
            seconds = clock.left(120)
            if seconds < 5:
                table.row("peers", what, "skipped", "no time left")
                continue
            server = server or Peer(name, env)
            try:
                wall, ours, note, error = one(server, problem, request, ours, folder, seconds, tiny)
            except Gone as gone:
                server.close()
                server = None
                table.row("peers", what, "stopped" if "no answer" in str(gone) else "an error", str(gone)[:300])
                continue
            table.records.append({"part": "peer", "name": what, "ms": wall, "ours_ms": ours, "gradient_error": error})
            ratio = f", {number(wall / ours, '.1f')} times ours" if ours else ""
            table.row("peers", what, f"{number(wall, '.3f')} ms{ratio}", note)
    except Gone as gone:
        reason = str(gone)
        table.row("peers", title, "skipped", "not installed: " + reason if "NotFound" in reason else reason)
    finally:
        if server:
            server.close()


def one(server, problem, request, ours, folder, seconds, tiny):
    """The time of one request, ours for the same, a note, and the error of its gradient if it has one."""
    try:
        if problem is None:
            answer = server.ask(seconds, what="step", **request)
            return statistics.median(answer["wall"]), ours[0], f"after {request['after']} steps", None
        gradient = folder / "peer.npy"
        gradient.unlink(missing_ok=True)
        files = {k: problem[k] for k in ("x", "y", "epsilon")}
        answer = server.ask(seconds, what="sinkhorn", reps=1 if tiny else 5, gradient=str(gradient), **files, **request)
        error = norm_of_difference(gradient, problem["truth"])
        return statistics.median(answer["wall"]), *matched(problem, error), error
    except (KeyError, TypeError, statistics.StatisticsError) as problem:
        raise Gone(f"its answer is not understood: {problem!r}") from None


def matched(problem, error):
    """Our time at the coarsest tolerance that is as accurate, and a note."""
    note = f"error of the gradient {number(error, '.1e')}"
    known = [(t, e, ms) for t, e, ms in problem["ours"] if math.isfinite(e)]
    if not math.isfinite(error):
        return None, note
    for tolerance, own, ms in known:
        if own <= error:
            return ms, f"{note}; ours at tolerance {tolerance}: {own:.1e}, {ms:.3f} ms"
    if known:
        tolerance, own, ms = known[-1]
        return ms, f"{note}, better than ours at its finest, {tolerance}: {own:.1e}, {ms:.3f} ms"
    return None, note + "; ours has no time"


def problems_of(table, exported, times, folder):
    """What `export` wrote, each problem with the gradient that errors are against, and with our errors and times."""
    ours = {(t["n"], f"{t['tolerance']:.0e}".replace("e-0", "e-")): t.get("ms") for t in times if t.get("tolerance")}
    problems = []
    for p in (e for e in exported if e["part"] == "problem"):
        what = f"n = m = {p['n']}"
        if "reference_error" in p:
            good = p.get("ok") is not False
            table.judge(good, "accuracy", f"the reference, {what}", number(p["reference_error"], ".0e"), "marginal error in f64 on the CPU")
        gradients = {t: folder / f"{p['n']}_gradient_{t}.npy" for t in TOLERANCES}
        p["truth"] = p.get("exact") or next((g for g in reversed(gradients.values()) if g.exists()), None)
        if not p["truth"]:
            table.row("peers", what, "skipped", "nothing to compare with")
            continue
        p["ours"] = [(t, norm_of_difference(g, p["truth"]), ours.get((p["n"], t)))
                     for t, g in gradients.items() if g.exists() and ours.get((p["n"], t)) is not None]
        if "exact" in p:
            for t, e, _ in p["ours"]:
                table.judge(True, "accuracy", f"ours, tolerance {t}, {what}", number(e, ".1e"), "error of the gradient against f64 on the CPU")
        problems.append(p)
    return problems


def compare(table, binary, times, folder, wheels, clock, tiny):
    seconds = clock.left(90)
    status, exported, rest = lines([binary, "export", "--to", folder, *(["--tiny"] if tiny else [])], seconds)
    table.records += [e for e in exported if e["part"] == "problem"]
    if status is None:
        table.row("peers", "the rest of the problems", "skipped", f"not computed in {seconds:.0f} s")
    elif status and not any(e.get("ok") is False for e in exported):
        table.fail("peers", "the problems", f"exit status {status}", "; ".join(rest[-2:]))
        return
    problems = problems_of(table, exported, times, folder)
    clouds = [e["file"] for e in exported if e["part"] == "cloud"]
    packages = folder / "packages"
    if wheels:
        install(wheels, packages, table, clock.left())
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(packages)]))
    # Products in f32, as ours; the default would round to TF32. Steps of networks take JAX's default, which is faster.
    env = dict(os.environ, PYTHONPATH=path, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    exact = dict(env, JAX_DEFAULT_MATMUL_PRECISION="float32")
    mine = {(t["component"], t["name"].endswith("late")): t["ms"] for t in times if t.get("component") and t.get("measures") == 1 and t.get("ms")}
    size = dict(batch=12, hidden=[8, 8]) if tiny else {}
    late = 11 if tiny else 400
    steps = [(f"step of component {c}, {when}", dict(component=c, after=after, reps=3 if tiny else 20, clouds=clouds, **size),
              mine.get((c, when == "late")))
             for when, after in (("early", 10), ("late", late)) for c in (1, 2)]
    # Above, the matrix of costs and its like take tens of gigabytes each, unless rows come in turns, which not every
    # pair of versions of OTT and JAX can do. Last, as they may take long.
    big = [p for p in problems if p["n"] > 16384]
    small = [p for p in problems if p["n"] <= 16384]
    if clouds:
        peer(table, "ott", "OTT", [], [], steps, folder, clock, tiny, env)
    kinds = [("threshold 1e-3", dict(momentum=0)), ("threshold 1e-3, Momentum(start=40)", dict(momentum=40))]
    peer(table, "ott", "OTT", kinds, small, [], folder, clock, tiny, exact)
    kinds = [("alternating, f32, threshold ε/1000", dict(tolerance=1e-3, tf32=False)), ("its defaults", dict(tf32=True)),
             ("its schedule, f32", dict(tf32=False))]
    peer(table, "flash", "FlashSinkhorn", kinds, problems, [], folder, clock, tiny, env)
    if big:
        kinds = [("4096 rows at a time", dict(momentum=40, rows=4096)), ("whole matrix", dict(momentum=40))]
        peer(table, "ott", "OTT", kinds, big, [], folder, clock, tiny, exact)
