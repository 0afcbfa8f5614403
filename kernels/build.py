#!/usr/bin/env python3
"""Compiles the kernels with NVRTC, without a GPU and without a CUDA toolkit.

    python3 kernels/build.py            writes kernels/wgpca.ptx, which the crate embeds
    python3 kernels/build.py --counts   writes kernels/counts.txt, the instructions of the inner loops
    python3 kernels/build.py --check    compiles anew, compares with both files, and checks what each kernel needs
                                        on sm_70, sm_80 and sm_90 against kernels/limits.txt
    python3 kernels/build.py --report   prints what each kernel needs, and the instructions of the inner loops

NVRTC is pinned: its PTX (8.0, for compute_70) loads on every driver of CUDA 12.0 and later and on every GPU since
Volta, and it gives the same text on every machine. Where the wheel is not installed, it is fetched into the user's
cache.
"""

import argparse
import ctypes
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import sass
from wheels import file_of

NVRTC = ("nvidia-cuda-nvrtc-cu12", "12.0.140", "libnvrtc.so")
VERSION = (12, 0)
VIRTUAL = "compute_70"
REAL = ["sm_70", "sm_80", "sm_90"]
OPTIONS = ["--std=c++17"]
HERE = Path(__file__).resolve().parent
SOURCE = "wgpca.cu"
PTX = HERE / "wgpca.ptx"
LIMITS = HERE / "limits.txt"
COUNTS = HERE / "counts.txt"


def nvrtc():
    """The pinned NVRTC, fetched if need be."""
    library = ctypes.CDLL(str(file_of(*NVRTC)))
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) != VERSION:
        sys.exit(f"NVRTC {major.value}.{minor.value} was found, {VERSION[0]}.{VERSION[1]} is pinned")
    return library


def compile(library, architecture, extra=()):
    """PTX, log and, for a real architecture, machine code of all kernels. Sources and headers are handed over as text: no
    path enters the result."""
    names = sorted(p.name for p in HERE.iterdir() if p.suffix in (".cu", ".cuh") and p.name != SOURCE)
    headers = (ctypes.c_char_p * len(names))(*((HERE / n).read_bytes() for n in names))
    program = ctypes.c_void_p()
    made = library.nvrtcCreateProgram(
        ctypes.byref(program),
        (HERE / SOURCE).read_bytes(),
        SOURCE.encode(),
        len(names),
        headers,
        (ctypes.c_char_p * len(names))(*(n.encode() for n in names)),
    )
    assert made == 0, f"nvrtcCreateProgram: {made}"
    options = [f"--gpu-architecture={architecture}", *OPTIONS, *extra]
    status = library.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    )
    log = image(library, program, "ProgramLog").rstrip(b"\0").decode()
    if status != 0:
        sys.exit(f"{architecture}: the kernels do not compile\n{log}")
    ptx = image(library, program, "PTX").rstrip(b"\0").decode()
    cubin = image(library, program, "CUBIN") if architecture.startswith("sm_") else None
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx, log, cubin


def image(library, program, what):
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw


def canonical(ptx):
    """PTX without what says nothing: the comments at its head, with the build number, and ends of lines."""
    lines = [line.rstrip() for line in ptx.splitlines()]
    while lines and (not lines[0] or lines[0].startswith("//")):
        lines.pop(0)
    return "// Made by kernels/build.py from kernels/*.cu; do not edit.\n\n" + "\n".join(lines).rstrip() + "\n"


def needs(log):
    """Registers, bytes spilled, bytes of stack and of shared memory of each kernel, from the assembler's report."""
    found = {}
    for part in re.split(r"Compiling entry function '", log)[1:]:
        # Functions that were not inlined are reported with their kernel.
        frame = r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
        frames = [tuple(map(int, f)) for f in re.findall(frame, part)]
        registers = re.search(r"Used (\d+) registers", part)
        shared = re.search(r"(\d+) bytes smem", part)
        found[part.split("'")[0]] = (
            int(registers[1]),
            sum(stores + loads for _, stores, loads in frames),
            max((stack for stack, _, _ in frames), default=0),
            int(shared[1]) if shared else 0,
        )
    return found


def limits():
    """Registers, bytes spilled and bytes of stack allowed for each kernel; `*` stands for those without a line."""
    table = {}
    for line in LIMITS.read_text().splitlines():
        if line := line.split("#")[0].strip():
            name, *most = line.split()
            table[name] = [int(m) for m in most]
    return table


def over(built, report):
    """What is wrong: kernels that need more than they may, and limits of kernels that are no more."""
    table, wrong, seen = limits(), [], set()
    for architecture, (_, log, _) in built.items():
        wrong += [f"{architecture}: {line.strip()}" for line in log.splitlines() if "warning" in line]
        for kernel, (registers, spilled, stack, shared) in sorted(needs(log).items()):
            seen.add(kernel)
            if report:
                numbers = f"{registers:4} registers {spilled:5} spilled {stack:6} stack {shared:6} shared"
                print(f"{architecture} {kernel:32} {numbers}")
            needed = {"registers": registers, "bytes spilled": spilled, "bytes of stack": stack}
            for (what, need), may in zip(needed.items(), table.get(kernel, table["*"])):
                if need > may:
                    wrong.append(f"{architecture} {kernel}: {need} {what}, {may} allowed (kernels/limits.txt)")
    wrong += [f"{name}: in kernels/limits.txt, but no kernel" for name in table if name != "*" and name not in seen]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files, and needs with limits")
    parser.add_argument("--counts", action="store_true", help="write the counts of instructions")
    parser.add_argument("--report", action="store_true", help="print what each kernel needs")
    args = parser.parse_args()
    library = nvrtc()
    # First, because NVRTC numbers the calls of all its programs consecutively.
    ptx = canonical(compile(library, VIRTUAL)[0])
    wrong, built = [], {}
    if args.check or args.counts or args.report:
        # Compiled for the architecture itself; what a driver makes of the PTX differs a little.
        built = {a: compile(library, a, ["--ptxas-options=-v"]) for a in REAL}
        counts, wrong = sass.table({a: built[a][2] for a in sass.ARCHITECTURES})
    if args.check:
        if not PTX.exists() or PTX.read_text() != ptx:
            wrong.append("kernels/wgpca.ptx is not what kernels/*.cu give: run kernels/build.py and commit it")
        if not COUNTS.exists() or COUNTS.read_text() != counts:
            wrong.append("kernels/counts.txt differs: run kernels/build.py --counts, and commit it if that was meant")
    if args.counts:
        COUNTS.write_text(counts)
    if args.check or args.report:
        wrong += over(built, args.report)
    if args.report:
        print(counts, end="")
    if not built:
        PTX.write_text(ptx)
        print(f"{PTX.name}: {ptx.count('.entry ')} kernels, {len(ptx)} bytes")
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(1)
    if args.check:
        print(f"{PTX.name} and {COUNTS.name} are up to date, and no kernel needs more than it may")


if __name__ == "__main__":
    main()
