"""Gaussian geodesic PCA: wgpca against the paper's block alternation (bures.py) on identical matrices, in turns, one thread each.

    python3 bures_run.py             # about ten minutes; --quick for two

Builds the program, makes the sets below from their seeds, and prints one table: cost of components 1 and 2 by exact
projection, median wall and CPU time, how the runs ended. The time of wgpca is that of the whole process with reading and
writing; of the alternation only the fit, without the start of Python. The alternation runs from one random start a round
(seeds 0, 1, ...) and shows its best and worst cost; ours does all its starts in every run. A second component is nested: it
belongs to the first of the same run, so its cost may be lower where the first was worse."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PINS = ["numpy==2.4.6", "scipy==1.17.1"]
ONE = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", RAYON_NUM_THREADS="1")


def wishart(d, n=50):
    x = np.random.default_rng([3, d]).normal(size=(n, d, 2 * d))
    return x @ np.swapaxes(x, 1, 2) / (2 * d)


def near_singular(d, n=30):
    """Eigenvalues over four decades, random orientation."""
    rng = np.random.default_rng([4, d])
    q = np.linalg.qr(rng.normal(size=(n, d, d)))[0]
    m = (q * 10 ** rng.uniform(-4, 0, (n, 1, d))) @ np.swapaxes(q, 1, 2)
    return (m + np.swapaxes(m, 1, 2)) / 2


def circle(r, n=20):
    """Equal eigenvalues, orientations over a half turn less its ends (paper, figure circle_example)."""
    t = np.linspace(np.pi / 20, np.pi - np.pi / 20, n)
    q = np.moveaxis(np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]), 2, 0)
    m = (q * [(1 + r) ** 2, (1 - r) ** 2]) @ np.swapaxes(q, 1, 2)
    return (m + np.swapaxes(m, 1, 2)) / 2


SETS = [("circle r 0.4", circle(0.4)), ("circle r 0.8", circle(0.8))]
SETS += [("Wishart", wishart(d)) for d in (2, 3, 5, 10)] + [("near singular", near_singular(d)) for d in (2, 3, 5, 10)]


def child(command):
    """(stdout, wall, CPU) of a process."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=ONE, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # 3 says that something did not converge; the table says it too.
    if process.returncode not in (0, 3):
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return json.loads(out), time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def environment():
    """A virtual environment under target/frameworks, made the first time."""
    python = ROOT / "target" / "frameworks" / "gaussian" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PINS], check=True)
    return python


def program():
    build = ["cargo", "build", "--release", "--bin", "wgpca", "--message-format", "json"]
    lines = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    made = [json.loads(l) for l in lines if '"executable":"' in l]
    return next(m["executable"] for m in made if m["target"]["name"] == "wgpca")


def spread(values):
    values = [v for v in values if v is not None]
    if not values:
        return "none"
    low, high = min(values), max(values)
    return f"{low:.6g}" if high - low < 1e-6 * high else f"{low:.6g} – {high:.6g}"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--quick", action="store_true", help="one round, at most 20 s a component for the alternation")
    ap.add_argument("--program", help="a wgpca that is built, instead of building one")
    ap.add_argument("--python", help="an interpreter with NumPy and SciPy for the alternation")
    ap.add_argument("--only", default="", help="sets whose name holds this, d as in 'd 5'")
    ap.add_argument("--polar", action="store_true", help="also the alternation with step 1 in closed form, which is not the paper's")
    ap.add_argument("--no-ours", action="store_true", help="the alternation alone")
    args = ap.parse_args()
    ours = None if args.no_ours else args.program or program()
    python = args.python or environment()
    rounds, limit = (1, 20) if args.quick else (3, 120)
    sides = [] if args.no_ours else ["wgpca"]
    sides += ["alternation"] + (["alternation, polar"] if args.polar else [])
    print(f"{os.cpu_count()} CPUs, one thread a side; {', '.join(PINS)}; {rounds} rounds in turns\n")
    print("| set | d | n | side | component 1 | component 2 | wall s | CPU s | ended |")
    print("| --- | --: | --: | --- | --: | --: | --: | --: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        file, model = pathlib.Path(folder) / "covariances.npy", pathlib.Path(folder) / "model.safetensors"
        for name, covariances in SETS:
            n, d, _ = covariances.shape
            if args.only not in f"{name}, d {d}":
                continue
            np.save(file, covariances)
            results = {side: [] for side in sides}
            for k in range(rounds):
                for side in sides:
                    if side == "wgpca":
                        command = [ours, "gaussian", file, "-o", model, "--components", "2", "--threads", "1", "--json"]
                        results[side].append(child(command))
                    else:
                        command = [python, "-B", HERE / "bures.py", file, "--components", "2", "--seed", str(k), "--limit", str(limit)]
                        out, _, _ = child(command + (["--rotations", "polar"] if "polar" in side else []))
                        results[side].append((out, out["wall"], out["cpu"]))
                    model.unlink(missing_ok=True)
            for side, runs in results.items():
                costs = [spread([c["cost"] for out, _, _ in runs for c in out["components"][k : k + 1]]) for k in range(2)]
                wall, cpu = (statistics.median(column) for column in list(zip(*runs))[1:])
                ended = sorted({str(c.get("status", out["status"])) for out, _, _ in runs for c in out["components"]})
                print(f"| {name} | {d} | {n} | {side} | {costs[0]} | {costs[1]} | {wall:.3g} | {cpu:.3g} | {', '.join(ended)} |", flush=True)


if __name__ == "__main__":
    main()
