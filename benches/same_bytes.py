"""Whether two builds of the command compute the same bytes: models, checkpoints, pictures, tables, JSON, gradients.

    python3 benches/same_bytes.py OLD NEW

OLD and NEW are `wgpca` binaries, for instance of a commit before and after files move or names change. Each runs the
same commands on the bundled data and on clouds that this script draws; files and standard output are compared byte by
byte. Wall-clock seconds and the version of the program are left out. Ends with 1 if anything differs.
"""

import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOCK = {"seconds", "wall_seconds", "seconds_per_step", "version"}


def save(path, values, shape):
    """An npy file of doubles."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = struct.pack(f"<{len(values)}d", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def covariance(rng, d):
    rows = [[rng.gauss(0, 1) for _ in range(d)] for _ in range(d)]
    return [sum(a * b for a, b in zip(r, s)) + 0.1 * (r is s) for r in rows for s in rows]


def clouds(folder):
    """Clouds of several sizes, dimensions and weights; covariances."""
    rng = random.Random(5)
    for d in (1, 2, 3, 20):
        for k in range(5):
            n = 150 + 10 * k
            save(folder / f"c{d}_{k}.npy", [rng.gauss(0.3 * k, 1 + 0.2 * k) for _ in range(n * d)], (n, d))
        names = [f"x{j}" for j in range(d)] + ["weight"]
        rows = [[rng.gauss(0, 1) for _ in range(d)] + [rng.uniform(0.1, 1)] for _ in range(90)]
        (folder / f"w{d}.csv").write_text("\n".join(",".join(map(str, r)) for r in [names, *rows]) + "\n")
        each = [covariance(rng, d) for _ in range(9)]
        save(folder / f"g{d}.npy", sum(each, []), (9, d, d))
        save(folder / f"a{d}.npy", each[0], (d, d))
        save(folder / f"b{d}.npy", each[1], (d, d))


def commands():
    """Arguments; files are written to the working directory."""
    quick = ["--steps", "60", "--batch", "64", "--threads", "2", "--preset", "fast"]
    chairs = sorted(str(p) for p in (ROOT / "data/chairs").glob("*.npy"))[:10]
    yield ["fit", *chairs, "-o", "chairs.safetensors", "--components", "2", *quick]
    for d in (1, 2, 3, 20):
        files = [f"in/c{d}_{k}.npy" for k in range(5)]
        yield ["fit", *files, f"in/w{d}.csv", "-o", f"m{d}.safetensors", "--components", "2", "--seed", "3", *quick]
        yield ["transform", f"m{d}.safetensors", *files]
        yield ["evaluate", f"m{d}.safetensors", *files, "--json"]
        yield ["sample", f"m{d}.safetensors", "--time", "0.1", "--clamp", "--points", "50", "-o", f"s{d}.csv"]
        yield ["info", f"m{d}.safetensors", "--json"]
        yield ["sinkhorn", files[0], files[3], "--json", "--gradient", f"gradient{d}.npy"]
        yield ["sinkhorn", files[0], f"in/w{d}.csv", "--json", "--epsilon", "0.002", "--gradient", f"small{d}.npy"]
        yield ["gaussian", f"in/g{d}.npy", "-o", f"g{d}.safetensors", "--components", str(min(d, 2)), "--threads", "2"]
        yield ["transform", f"g{d}.safetensors", f"in/g{d}.npy"]
        yield ["evaluate", f"g{d}.safetensors", f"in/g{d}.npy", "--json"]
        yield ["sample", f"g{d}.safetensors", "--time", "0.1", "--clamp", "--points", "50", "-o", f"gs{d}.csv"]
        yield ["bures", f"in/a{d}.npy", f"in/b{d}.npy", "--json"]
    for command in ("fit", "gaussian", "transform", "sample", "evaluate", "info", "sinkhorn", "bures"):
        yield [command, "--help"]


def without_clock(value):
    if isinstance(value, dict):
        return {k: without_clock(v) for k, v in value.items() if k not in CLOCK}
    return [without_clock(v) for v in value] if isinstance(value, list) else value


def plain(data):
    """Output without times."""
    try:
        return json.dumps(without_clock(json.loads(data))).encode()
    except (UnicodeDecodeError, json.JSONDecodeError):
        return re.sub(rb"[0-9.]+ m?s\b", b"TIME", data)


def run(binary, folder):
    (folder / "in").mkdir()
    clouds(folder / "in")
    found = {}
    for arguments in commands():
        done = subprocess.run([binary, *arguments, "-q"], cwd=folder, capture_output=True)
        if done.returncode not in (0, 3):
            sys.exit(f"{binary} {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr.decode()}")
        name = " ".join(pathlib.Path(a).name for a in arguments)
        found[name] = plain(done.stdout) + b"\n%d\n" % done.returncode + plain(done.stderr)
    files = (p for p in folder.rglob("*") if p.is_file() and p.parent.name != "in")
    for path in files:
        found[str(path.relative_to(folder))] = re.sub(rb'"(version|seconds)":("[^"]*"|[0-9.]+)', b"", path.read_bytes())
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
        before, after = (run(str(pathlib.Path(b).resolve()), pathlib.Path(f)) for b, f in zip(sys.argv[1:], (old, new)))
    different = [k for k in sorted(before.keys() | after.keys()) if before.get(k) != after.get(k)]
    for name in different:
        print(f"differs: {name}")
    print(f"{len(before) - len(different)} of {len(before)} outputs and files are the same")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
