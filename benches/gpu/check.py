"""Everything that is to be known of the engine on a GPU, in one command, on a machine with an NVIDIA driver and Python 3 and
without Rust or network:

    python3 benches/gpu/check.py --binary PATH [--wheels DIR] [--minutes 8] [--out gpu-check.md] [--json check.jsonl]

1. parity with the CPU engine: divergences, starts, steps, 500-step training curves, projections and evaluations;
2. small sizes under compute-sanitizer (memcheck, racecheck), where that is found in PATH or under CUDA_HOME;
3. times: Sinkhorn value and gradient, one iteration, training steps early and late, with one and four measures, a whole
   fit and projections of 62 measures;
4. the same problems by JAX + OTT (ott-jax) and FlashSinkhorn (flash-sinkhorn), where Python has them or DIR has wheels of
   what it lacks. They keep to their own stopping rules; a ratio compares with the coarsest of our tolerances whose gradient
   is as accurate, and errors of gradients are against the CPU engine in f64 up to 4096 points, else against our finest.

All of it ends within --minutes. What is skipped, failed, or had no time is said in the table, which is printed and written to
--out, however it ends. Exit status: 0; 1 if parity, the sanitizer or a solve failed, or a number is none, whatever peers do; 2
without a GPU.

Made elsewhere and carried: the binary (CONTRIBUTING, "How to check on a GPU", says how), this folder, ../frameworks/peers.py,
and wheels. Without a GPU, self_test.py tests this folder's Python."""
import argparse
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback

from compare import compare
from report import Clock, Table, lines, number
from sanitizer import sanitize

# The driver's first compilation of the kernels, and the start of a machine that has slept.
FIRST = 180


def part(table, name, command, seconds, show):
    """Runs the binary and shows its lines; the lines."""
    if seconds < 5:
        table.row(name, "all", "skipped", "no time left")
        return []
    status, found, rest = lines(command, seconds)
    found = [line for line in found if line["part"] == name]
    table.records += found
    for line in found:
        try:
            result, note = show(line)
        except (KeyError, TypeError, ValueError) as problem:
            table.fail(name, line.get("name"), "a line that is not understood", f"{problem!r}; are binary and check.py of one version?")
            continue
        table.judge(line.get("ok") is not False, name, line["name"], result, note)
    if status is None:
        table.row(name, "the rest", "skipped", f"no time left after {seconds:.0f} s")
    elif status != 0 and not any(line.get("ok") is False for line in found):
        table.fail(name, "the program", f"exit status {status}", "; ".join(rest[-3:]))
    return found


def show_parity(line):
    n = lambda key, spec=".1e": number(line[key], spec)
    if "gradient" in line:
        note = f"bound {n('bound', '.0e')}; {line['status']}, marginal error {n('marginal_error', '.0e')}, of the reference "
        return f"value {n('value')}, gradient {n('gradient')}", note + n("reference_error", ".0e")
    if "start_cost" in line:
        return f"cost {n('start_cost')}, spectrum {n('spectrum')}", "bounds " + bounds(line)
    if "first" in line:
        later = n("bound_later", ".0e")
        return f"first {n('first')}, later {n('later')}, cost {n('cost')}", f"bounds {n('bound', '.0e')}, {later}, {later}"
    if "residual" in line:
        result = f"times {n('time')} of their span, residuals {n('residual')}, costs {n('cost')}"
        return result, f"bound {n('bound', '.0e')}; {line['open']} solves open"
    return f"divergence to step 100 {n('early')}, to the end {n('whole')}, cost {n('cost')}", "bounds " + bounds(line)


def bounds(line):
    return ", ".join(number(b, ".1e") for b in line["bounds"])


def show_time(line):
    n = lambda key, spec=".3f": number(line[key], spec)
    if "problem" in line:
        return line["problem"], f"step {line.get('step')}"
    if "tolerance" in line:
        note = f"{line['iterations']} iterations, {line['status']}; gradient alone {n('gradient_only_ms')} ms, "
        note += f"with memory and copies {n('call_ms')} ms"
        return f"{n('ms')} ms", note + (f"; from the finest {n('from_finest', '.1e')}" if "from_finest" in line else "")
    if "microseconds" in line:
        one, other = line["iterations"]
        if one == other:
            return "not known", "the two solves took equally many iterations"
        return f"{n('microseconds', '.2f')} µs", "of (x, y) and (x, x) side by side"
    if "steps_ms" in line:
        note = f"start {n('start_ms', '.0f')}, {line['steps']} steps {n('steps_ms', '.0f')}, evaluations {n('evaluations_ms', '.0f')}, "
        return f"{n('ms', '.0f')} ms", note + f"end {n('end_ms', '.0f')} ms; cost {n('cost', '.4g')}"
    if "apart" in line:
        return f"{n('ms', '.1f')} ms", f"{line['open']} solves open; times {n('apart', '.1e')} of their span from the CPU's"
    if "open" in line:
        return f"{n('ms', '.1f')} ms", f"{line['open']} solves open"
    note = f"batch {line['batch']}, width {line['width']}, after {line['after']} steps; at most {line['most_iterations']} iterations"
    return f"{n('ms')} ms", f"{note}, {n('unconverged', '.1%')} of the solves open"


def cache(folder):
    """The driver keeps what it compiled in the home directory, so that only the first call waits for it; where that cannot be
    written, here."""
    home = pathlib.Path(os.environ.get("HOME") or "/nowhere")
    place = next((p for p in (home / ".nv" / "ComputeCache", home / ".nv", home) if p.exists()), None)
    if "CUDA_CACHE_PATH" not in os.environ and not (place and os.access(place, os.W_OK | os.X_OK)):
        kept = folder / "cache"
        kept.mkdir()
        os.environ["CUDA_CACHE_PATH"] = str(kept)


def opened(table, command, clock):
    """What the binary says of the GPU; it tests nothing."""
    took = []
    while len(took) < 2:
        begin, seconds = time.monotonic(), clock.left(FIRST)
        status, found, rest = lines(command, seconds)
        took.append(time.monotonic() - begin)
        if status is None:
            print(f"the GPU was not opened in {seconds:.0f} s", file=sys.stderr)
            sys.exit(1)
        if status != 0 or not found:
            print("\n".join(rest) or f"{command[0]} ended with status {status}", file=sys.stderr)
            sys.exit(2 if status == 2 else 1)
    again = f"{took[1]:.1f} s the second time"
    table.row("device", "start", f"{took[0]:.1f} s", f"{again}; the driver compiles the kernels unless it has kept them")
    return found[0]


def everything(table, gpu, args, clock, folder):
    binary = str(args.binary.resolve())
    common = ["--device", args.device, *(["--tiny"] if args.tiny else [])]
    gpu.update(opened(table, [binary, "parity", "--only", "nothing at all", *common], clock))
    share = 60 * args.minutes
    part(table, "parity", [binary, "parity", *common], clock.left(0.27 * share), show_parity)
    sanitize(table, binary, ["--device", args.device], clock, 0.15 * share)
    times = part(table, "time", [binary, "time", "--to", str(folder), *common], clock.left(0.27 * share), show_time)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", args.device)
    compare(table, binary, times, folder, args.wheels, clock, args.tiny)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary", required=True, type=pathlib.Path)
    ap.add_argument("--wheels", help="folder of wheels of the peers and of what they need")
    ap.add_argument("--minutes", type=float, default=8)
    ap.add_argument("--device", default="0", help="number of the GPU")
    ap.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu-check.md"))
    ap.add_argument("--json", type=pathlib.Path, help="file for all numbers")
    ap.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    args = ap.parse_args()
    # Some seconds to end what runs and to write.
    clock, table, gpu, begin = Clock(args.minutes - 0.1), Table(), {}, time.monotonic()
    # So that what runs is ended and the table is written then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with tempfile.TemporaryDirectory() as folder:
            cache(pathlib.Path(folder))
            everything(table, gpu, args, clock, pathlib.Path(folder))
    except Exception as problem:
        traceback.print_exc()
        table.fail("check", "the rest", "check.py itself", repr(problem))
    finally:
        if gpu:
            write(table, gpu, args, time.monotonic() - begin)
    sys.exit(1 if table.failed else 0)


def write(table, gpu, args, seconds):
    title = f"{gpu['name']}, compute capability {gpu['capability']}, {gpu['multiprocessors']} multiprocessors, "
    title += f"{gpu['memory'] / 2**30:.0f} GiB, driver for CUDA {gpu['driver']}"
    text = table.text(f"{title}: {seconds:.0f} s")
    print(text)
    args.out.write_text(text)
    if args.json:
        args.json.write_text("".join(json.dumps(r) + "\n" for r in [gpu] + table.records))


if __name__ == "__main__":
    main()
