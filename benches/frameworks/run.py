"""Compares wgpca with OTT-JAX, GeomLoss and POT on identical arrays, in turns (A B A B), on this machine.

    python3 benches/frameworks/run.py            # about a quarter of an hour; --quick for five minutes

Makes a virtual environment under target/frameworks the first time (about 3 GB: PyTorch comes with CUDA), builds the
benchmark binary, and prints one table: median wall and CPU time of a call, ratios to ours in the same round (median, and
smallest to largest), and the error of the gradient against a float64 reference (reference.py)."""
import argparse
import glob
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PINS = ["numpy==2.4.6", "jax==0.10.2", "ott-jax==0.6.0", "POT==0.9.7.post1", "torch==2.15.0", "geomloss==0.3.1"]


class Server:
    """A child that answers requests; its CPU time is the kernel's count for that process."""

    def __init__(self, command):
        env = dict(os.environ, OMP_WAIT_POLICY="PASSIVE")
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.clock = ((~self.child.pid) << 3) | 2

    def ask(self, **request):
        self.child.stdin.write(json.dumps(request) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            sys.exit(f"a server ended at {request}")
        return json.loads(line)

    def timed(self, **request):
        """(median wall of a call, CPU of a call in all threads). Ours does not know its CPU time: the difference of a long
        and a short series of calls leaves out all else."""
        begin = time.clock_gettime(self.clock)
        answer = self.ask(**request)
        whole = time.clock_gettime(self.clock) - begin
        if "cpu" in answer:
            return statistics.median(answer["wall"]), answer["cpu"]
        begin = time.clock_gettime(self.clock)
        self.ask(**{**request, "reps": 0})
        rest = time.clock_gettime(self.clock) - begin
        return statistics.median(answer["wall"]), 1e3 * (whole - rest) / request["reps"]


def environment(folder):
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PINS], check=True)
    return python


def binary():
    build = ["cargo", "bench", "--bench", "frameworks", "--no-run", "--message-format", "json"]
    lines = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    made = [json.loads(l) for l in lines if '"executable":"' in l]
    return next(m["executable"] for m in made if m["target"]["name"] == "frameworks")


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", text)
    return f"{name[1] if name else 'unknown processor'}, {os.cpu_count()} CPUs"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--quick", action="store_true", help="one round, no late steps")
    ap.add_argument("--python", help="an interpreter that has the packages, instead of a new environment")
    ap.add_argument("--no-steps", action="store_true", help="no training steps")
    ap.add_argument("--only", default="", help="problems whose name holds this; steps come all the same")
    args = ap.parse_args()
    folder = ROOT / "target" / "frameworks"
    folder.mkdir(parents=True, exist_ok=True)
    python = args.python or environment(folder)
    ours = Server([binary()])
    theirs = {name: Server([python, HERE / "peers.py", name]) for name in ["ott", "geomloss", "pot"]}
    rounds = 1 if args.quick else 3
    print(f"{processor()}; {', '.join(PINS)}; {rounds} rounds in turns\n")
    print("| problem | side | wall ms | CPU ms | wall ratio | CPU ratio | gradient error |")
    print("| --- | --- | --: | --: | --: | --: | --: |")

    def row(problem, side, walls, cpus, base=None, error=None):
        text = [f"{statistics.median(times):.1f}" if times else "" for times in (walls, cpus)]
        for mine, reference in ((walls, base and base[0]), (cpus, base and base[1])):
            ratios = [a / b for a, b in zip(mine, reference)] if reference else []
            spread = f" ({min(ratios):.0f}–{max(ratios):.0f})" if len(ratios) > 1 else ""
            text.append(f"{statistics.median(ratios):.1f}{spread}" if ratios else "")
        text.append("" if error is None else f"{error:.1e}")
        print(f"| {problem} | {side} | {' | '.join(text)} |", flush=True)

    problems = ours.ask(what="export", to=str(folder))
    for p in (p for p in problems if args.only in p["name"]):
        sinkhorn(p, ours, theirs, python, folder, rounds, row)
    if args.no_steps:
        return
    clouds = sorted(glob.glob(str(ROOT / "data" / "chairs" / "*.npy")))
    for after in [0] if args.quick else [0, 400]:
        for component in [1, 2]:
            request = dict(what="step", component=component, after=after, clouds=clouds)
            mine, other = [], []
            # A late step needs all steps before it, so the sides take turns by whole runs.
            for _ in range(1 if after else rounds):
                for server, out, reps in [(ours, mine, 20), (theirs["ott"], other, 5)]:
                    extra = dict(threads=0) if server is ours else {}
                    answer = server.ask(reps=reps, **request, **extra)
                    out.append(statistics.median(answer["wall"]))
            name = f"step of component {component}, {'first' if after == 0 else f'after {after}'}"
            row(name, "wgpca", mine, [])
            row(name, "JAX + OTT", other, [], (mine, None))


def sinkhorn(p, ours, theirs, python, folder, rounds, row):
    request = {k: p[k] for k in ("x", "y", "epsilon")} | {"what": "sinkhorn"}
    truth = folder / "reference.npy"
    code = f"""
import sys; sys.path.insert(0, {str(HERE)!r})
import numpy as np, reference
x, y = [np.load(f).astype(np.float32).astype(np.float64) for f in ({p['x']!r}, {p['y']!r})]
np.save({str(truth)!r}, reference.gradient(x, y, {p['epsilon']}))
"""
    subprocess.run([python, "-c", code], check=True)

    def error(path):
        code = f"import numpy as np; a, b = np.load({str(path)!r}), np.load({str(truth)!r});"
        code += "print(np.linalg.norm(a - b) / np.linalg.norm(b))"
        return float(subprocess.run([python, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout)

    def accuracy(server, **settings):
        path = folder / "gradient.npy"
        server.ask(**request, **settings, reps=0, gradient=str(path))
        return error(path)

    large = p["n"] > 2000
    tolerances = [1e-3, 3e-4, 1e-4]
    sides = [*((f"wgpca, tolerance {t:.0e}", ours, dict(tolerance=t, threads=0), 50) for t in tolerances),
             ("OTT", theirs["ott"], dict(momentum=0), 1),
             ("OTT, Momentum(start=40)", theirs["ott"], dict(momentum=40), 1)]
    errors = [accuracy(s, **settings) for _, s, settings, _ in sides]
    if not large:
        # The fastest of GeomLoss's settings that is as accurate as ours, or else the most accurate of them.
        for scaling in [0.5, 0.8, 0.9]:
            reached = accuracy(theirs["geomloss"], scaling=scaling)
            if reached <= errors[0] or scaling == 0.9:
                sides.append((f"GeomLoss, scaling {scaling}", theirs["geomloss"], dict(scaling=scaling), 1))
                errors.append(reached)
                break
        if p["d"] <= 3:
            sides.append(("POT, float64", theirs["pot"], {}, 1))
            errors.append(accuracy(theirs["pot"]))
    times = [([], []) for _ in sides]
    for _ in range(rounds):
        for (_, server, settings, reps), (walls, cpus) in zip(sides, times):
            wall, cpu = server.timed(**request, **settings, reps=reps)
            walls.append(wall)
            cpus.append(cpu)
    for k, (name, server, _, _) in enumerate(sides):
        # Against the coarsest of our settings that is at least as accurate.
        base = None
        if server is not ours:
            own = range(len(tolerances))
            base = times[next((i for i in own if errors[i] <= errors[k]), own[-1])]
        row(p["name"], name, *times[k], base, errors[k])


if __name__ == "__main__":
    main()
