"""Everything that is to be known of the engine on a GPU, in one command, on a machine with an NVIDIA driver and Python 3 and
without Rust or network:

    python3 benches/gpu/check.py --binary PATH [--wheels DIR] [--minutes 10] [--out check.md] [--json check.jsonl]

1. parity of the kernels with the CPU engine: divergences, steps, 500-step training curves;
2. small sizes under compute-sanitizer (memcheck, racecheck), where that is found in PATH or under CUDA_HOME;
3. times: Sinkhorn value and gradient, one iteration, training steps early and late, with one and four measures;
4. the same problems by JAX + OTT (ott-jax) and FlashSinkhorn (flash-sinkhorn), where Python has them or DIR has wheels of
   what it lacks. They keep to their own stopping rules; a ratio compares with the coarsest of our tolerances whose gradient
   is as accurate, and errors of gradients are against the CPU engine in f64 up to 4096 points, else against our finest.

All of it ends within --minutes. What is skipped, failed, or had no time is said in the table, which is printed and written to
--out. Exit status: 0; 1 if parity, the sanitizer or a solve failed, whatever peers do; 2
without a GPU.

Made elsewhere and carried: the binary (`cargo bench --bench gpu --no-run` names it), this folder, ../frameworks/peers.py, and
wheels (`pip download --dest DIR ott-jax flash-sinkhorn` for the Python there; those of packages it has are left alone)."""
import argparse
import importlib.metadata
import json
import math
import os
import pathlib
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent / "frameworks" / "peers.py"
TOLERANCES = ["1e-3", "1e-4", "1e-5"]


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

    def text(self, title):
        head = [f"### {title}", "", "| part | what | result | note |", "| --- | --- | --- | --- |"]
        return "\n".join(head + self.rows) + "\n"


class Clock:
    def __init__(self, minutes):
        self.end = time.monotonic() + 60 * minutes

    def left(self, most=math.inf, reserve=0.0):
        return max(0.0, min(most, self.end - time.monotonic() - reserve))


def lines(command, seconds, env=None):
    """(exit status or None if time ran out, JSON objects of stdout, all other output). What came before the end counts."""
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, text=True, env=env)
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            status = None
        out.seek(0)
        found, rest = [], []
        for line in out:
            try:
                found.append(json.loads(line))
            except ValueError:
                rest.append(line.rstrip())
    return status, [f for f in found if isinstance(f, dict)], rest


def part(table, name, command, seconds, show):
    """Runs the binary and shows its lines; the lines."""
    if seconds < 5:
        table.row(name, "all", "skipped", "no time left")
        return []
    status, found, rest = lines(command, seconds)
    table.records += found
    for line in found:
        if line["part"] in ("device", "problem", "cloud"):
            continue
        result, note = show(line)
        if line.get("ok") is False:
            table.fail(name, line["name"], result, note)
        else:
            table.row(name, line["name"], result, note)
    if status is None:
        table.row(name, "the rest", "skipped", f"no time left after {seconds:.0f} s")
    elif status != 0 and not any(line.get("ok") is False for line in found):
        table.fail(name, "the program", f"exit status {status}", "; ".join(rest[-3:]))
    return found


def show_parity(line):
    if "gradient" in line:
        result = f"value {line['value']:.1e}, gradient {line['gradient']:.1e}"
        return result, f"bound {line['bound']:.0e}; {line['status']}, marginal error {line['marginal_error']:.0e}"
    if "first" in line:
        bound = f"bounds {line['bound']:.0e}, {line['bound_later']:.0e}, {line['bound_later']:.0e}"
        return f"first {line['first']:.1e}, later {line['later']:.1e}, cost {line['cost']:.1e}", bound
    result = f"divergence to step 100 {line['early']:.1e}, to the end {line['whole']:.1e}, cost {line['cost']:.1e}"
    return result, "bounds " + ", ".join(f"{b:.1e}" for b in line["bounds"])


def show_time(line):
    if "problem" in line:
        return line["problem"], f"step {line.get('step')}"
    if "tolerance" in line:
        error = line.get("from_finest")
        note = f"{line['iterations']} iterations, {line['status']}; gradient alone {line['gradient_only_ms']:.3f} ms, "
        note += f"with memory and copies {line['call_ms']:.3f} ms"
        return f"{line['ms']:.3f} ms", note + (f"; from the finest {error:.1e}" if error is not None else "")
    if "microseconds" in line:
        each = line["microseconds"]
        if each is None:
            return "not known", "the two solves took equally many iterations"
        return f"{each:.2f} µs", "of (x, y) and (x, x) side by side"
    note = f"batch {line['batch']}, width {line['width']}, after {line['after']} steps; at most {line['most_iterations']} iterations"
    return f"{line['ms']:.3f} ms", f"{note}, {100 * line['unconverged']:.1f} % of the solves open"


def sanitizer():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [shutil.which("compute-sanitizer")] + [f"{h}/bin/compute-sanitizer" for h in homes if h]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def sanitize(table, binary, device, clock):
    tool = sanitizer()
    if not tool:
        table.row("sanitizer", "memcheck, racecheck", "skipped", "compute-sanitizer is not found")
        return
    for kind in ["memcheck", "racecheck"]:
        seconds = clock.left(90)
        if seconds < 10:
            table.row("sanitizer", kind, "skipped", "no time left")
            continue
        command = [tool, "--tool", kind, "--error-exitcode", "9", binary, "small", *device]
        status, found, rest = lines(command, seconds)
        summary = next((l for l in reversed(rest) if "SUMMARY" in l), rest[-1] if rest else "no output").strip("= ")
        done = sum(f["part"] == "small" for f in found)
        if status == 0:
            table.row("sanitizer", kind, "clean", f"{done} runs; {summary}")
        elif status is None:
            errors = [l for l in rest if "Error" in l or "Invalid" in l]
            said = table.fail if errors else table.row
            said("sanitizer", kind, "not finished", f"{done} runs in {seconds:.0f} s; {errors[0] if errors else 'no error so far'}")
        else:
            table.fail("sanitizer", kind, f"exit status {status}", summary)


class Gone(Exception):
    pass


class Peer:
    """A child that answers requests, each within a time."""

    def __init__(self, name, env):
        self.errors = tempfile.TemporaryFile("w+")
        self.child = subprocess.Popen([sys.executable, PEERS, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self.errors, text=True, env=env)
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
        self.child.kill()
        self.child.wait()


def install(wheels, folder, table):
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
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        table.row("peers", "wheels", "not installed", said[-1] if said else f"exit status {done.returncode}")


def norm_of_difference(a, b):
    """|a - b| / |b| of two .npy files of f64, without numpy."""
    from array import array

    def read(path):
        raw = pathlib.Path(path).read_bytes()
        size = int.from_bytes(raw[8:10], "little") + 10 if raw[6] == 1 else int.from_bytes(raw[8:12], "little") + 12
        assert b"<f8" in raw[:size] and b"'fortran_order': False" in raw[:size]
        return array("d", raw[size:])

    a, b = read(a), read(b)
    if len(a) != len(b):
        return math.nan
    return math.sqrt(sum((p - q) ** 2 for p, q in zip(a, b)) / sum(q * q for q in b))


def peer(table, name, title, kinds, problems, steps, folder, clock, tiny, env):
    """`kinds`: (text, request) of Sinkhorn; `steps`: (text, request, our time)."""
    server = Peer(name, env)
    try:
        about = server.ask(clock.left(90), what="device")
        if about["platform"] not in ("gpu", "cuda") and not tiny:
            table.row("peers", title, "skipped", f"{about['version']} sees no GPU")
            return
        version = f"{about['version']} on {about['device']}"
        table.row("peers", title, "found", version)
    except Gone as gone:
        reason = str(gone)
        table.row("peers", title, "skipped", "not installed: " + reason if "NotFound" in reason else reason)
        server.close()
        return
    work = [(p, *kind) for p in problems for kind in kinds] + [(None, *step) for step in steps]
    for item in work:
        problem, text, request = item[:3]
        what = f"{title}, {text}" if problem is None else f"{title}, {text}, n = m = {problem['n']}"
        seconds = clock.left(120)
        if seconds < 5:
            table.row("peers", what, "skipped", "no time left")
            continue
        if server is None:
            server = Peer(name, env)
        try:
            if problem is None:
                answer = server.ask(seconds, what="step", **request)
                ours, note = item[3], f"after {request['after']} steps"
            else:
                gradient = str(folder / "peer.npy")
                files = {k: problem[k] for k in ("x", "y", "epsilon")}
                answer = server.ask(seconds, what="sinkhorn", reps=1 if tiny else 5, gradient=gradient, **files, **request)
                error = norm_of_difference(gradient, problem["truth"])
                ours, note = matched(problem, error)
        except Gone as gone:
            server.close()
            server = None
            late = "no answer" in str(gone)
            table.row("peers", what, "stopped" if late else "an error", str(gone)[:300])
            continue
        wall = statistics.median(answer["wall"])
        table.records.append({"part": "peer", "name": what, "ms": wall, "ours_ms": ours, **({"gradient_error": error} if problem else {})})
        ratio = f", {wall / ours:.1f} times ours" if ours else ""
        table.row("peers", what, f"{wall:.3f} ms{ratio}", note)
    if server:
        server.close()


def matched(problem, error):
    """Our time at the coarsest tolerance that is as accurate, and a note."""
    note = f"error of the gradient {error:.1e}"
    known = [(t, e, ms) for t, e, ms in problem["ours"] if e is not None]
    for tolerance, own, ms in known:
        if own <= error:
            return ms, f"{note}; ours at tolerance {tolerance}: {own:.1e}, {ms:.3f} ms"
    if known:
        tolerance, own, ms = known[-1]
        return ms, f"{note}, better than ours at its finest, {tolerance}: {own:.1e}, {ms:.3f} ms"
    return None, note + "; ours has no time"


def compare(table, binary, device, times, folder, wheels, clock, tiny):
    status, exported, rest = lines([binary, "export", "--to", folder, *(["--tiny"] if tiny else [])], clock.left(90))
    if status != 0:
        table.fail("peers", "the problems", f"exit status {status}", "; ".join(rest[-2:]))
        return
    ours = {(t["n"], f"{t['tolerance']:.0e}".replace("e-0", "e-")): t for t in times if "tolerance" in t}
    problems = []
    for p in (e for e in exported if e["part"] == "problem"):
        gradients = {t: folder / f"{p['n']}_gradient_{t}.npy" for t in TOLERANCES}
        finest = next((g for g in reversed(gradients.values()) if g.exists()), None)
        p["truth"] = p.get("exact") or finest
        if not p["truth"]:
            table.row("peers", f"n = m = {p['n']}", "skipped", "nothing to compare with")
            continue
        p["ours"] = [(t, norm_of_difference(g, p["truth"]) if g.exists() else None, ours.get((p["n"], t), {}).get("ms"))
                     for t, g in gradients.items()]
        p["ours"] = [o for o in p["ours"] if o[2] is not None]
        for t, e, ms in p["ours"]:
            if "exact" in p:
                table.row("accuracy", f"ours, tolerance {t}, n = m = {p['n']}", f"{e:.1e}", "error of the gradient against f64 on the CPU")
        problems.append(p)
    clouds = [e["file"] for e in exported if e["part"] == "cloud"]
    packages = folder / "packages"
    if wheels:
        install(wheels, packages, table)
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(packages)]))
    # Products in f32, as ours; the default would round to TF32. Steps of networks take JAX's default, which is faster.
    env = dict(os.environ, PYTHONPATH=path, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    exact = dict(env, JAX_DEFAULT_MATMUL_PRECISION="float32")
    mine = {(t["component"], t["name"].endswith("late")): t["ms"] for t in times if t.get("component") and t["measures"] == 1 and "ms" in t}
    size = dict(batch=12, hidden=[8, 8]) if tiny else {}
    late = 11 if tiny else 400
    steps = [(f"step of component {c}, {when}", dict(component=c, after=after, reps=3 if tiny else 20, clouds=clouds, **size),
              mine.get((c, when == "late")))
             for when, after in (("early", 10), ("late", late)) for c in (1, 2)]
    # Above, the matrix of costs and its like take tens of gigabytes each, unless rows come in turns, which not every
    # pair of versions of OTT and JAX can do. Last, as they may take long.
    big = [p for p in problems if p["n"] > 16384]
    small = [p for p in problems if p["n"] <= 16384]
    peer(table, "ott", "OTT", [], [], steps, folder, clock, tiny, env)
    kinds = [("threshold 1e-3", dict(momentum=0)), ("threshold 1e-3, Momentum(start=40)", dict(momentum=40))]
    peer(table, "ott", "OTT", kinds, small, [], folder, clock, tiny, exact)
    kinds = [("alternating, f32, threshold ε/1000", dict(tolerance=1e-3, tf32=False)), ("its defaults", dict(tf32=True)),
             ("its schedule, f32", dict(tf32=False))]
    peer(table, "flash", "FlashSinkhorn", kinds, problems, [], folder, clock, tiny, env)
    if big:
        kinds = [("4096 rows at a time", dict(momentum=40, rows=4096)), ("whole matrix", dict(momentum=40))]
        peer(table, "ott", "OTT", kinds, big, [], folder, clock, tiny, exact)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary", required=True, type=pathlib.Path)
    ap.add_argument("--wheels", help="folder of wheels of the peers and of what they need")
    ap.add_argument("--minutes", type=float, default=10)
    ap.add_argument("--device", default="0", help="number of the GPU")
    ap.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu-check.md"))
    ap.add_argument("--json", type=pathlib.Path, help="file for all numbers")
    ap.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    args = ap.parse_args()
    # Some seconds to end what runs and to write.
    clock, table = Clock(args.minutes - 0.1), Table()
    binary = str(args.binary.resolve())
    device = ["--device", args.device]
    tiny = ["--tiny"] if args.tiny else []
    # Says the device's name and tests nothing.
    status, found, rest = lines([binary, "parity", "--only", "nothing at all", *device, *tiny], clock.left(60))
    if status != 0:
        print("\n".join(rest) or f"{binary} ended with status {status}", file=sys.stderr)
        sys.exit(2 if status == 2 else 1)
    gpu = found[0]
    title = f"{gpu['name']}, compute capability {gpu['capability']}, {gpu['multiprocessors']} multiprocessors, "
    title += f"{gpu['memory'] / 2**30:.0f} GiB, driver for CUDA {gpu['driver']}"
    begin = time.monotonic()
    share = 60 * args.minutes
    part(table, "parity", [binary, "parity", *device, *tiny], clock.left(0.3 * share), show_parity)
    sanitize(table, binary, device, clock)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        times = part(table, "time", [binary, "time", "--to", str(folder), *device, *tiny], clock.left(0.3 * share), show_time)
        times = [t for t in times if t["part"] == "time"]
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", args.device)
        compare(table, binary, device, times, folder, args.wheels, clock, args.tiny)
    text = table.text(f"{title}: {time.monotonic() - begin:.0f} s")
    print(text)
    args.out.write_text(text)
    if args.json:
        args.json.write_text("".join(json.dumps(r) + "\n" for r in [gpu] + [r for r in table.records if r["part"] != "device"]))
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
