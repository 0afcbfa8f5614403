#!/usr/bin/env python3
"""Compiles the kernels with NVRTC, without a GPU and without a CUDA toolkit.

    python3 kernels/build.py            writes kernels/wgpca.ptx, which the crate embeds
    python3 kernels/build.py --check    compiles anew, compares with the file, and checks what each kernel needs
                                        on sm_70, sm_80 and sm_90 against kernels/limits.txt
    python3 kernels/build.py --report   prints what each kernel needs

NVRTC is pinned: its PTX (8.0, for compute_70) loads on every driver of CUDA 12.0 and later and on every GPU since
Volta, and it gives the same text on every machine. Where the wheel is not installed, it is fetched into a virtual
environment, kept in the user's cache.
"""

import argparse
import ctypes
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

NVRTC = "nvidia-cuda-nvrtc-cu12==12.0.140"
VERSION = (12, 0)
VIRTUAL = "compute_70"
REAL = ["sm_70", "sm_80", "sm_90"]
OPTIONS = ["--std=c++17"]
HERE = Path(__file__).resolve().parent
SOURCE = "wgpca.cu"
PTX = HERE / "wgpca.ptx"
LIMITS = HERE / "limits.txt"


def installed(python):
    """Path of the pinned NVRTC as this interpreter sees it, or None."""
    find = (
        "import importlib.metadata as m\n"
        "d = m.distribution('nvidia-cuda-nvrtc-cu12')\n"
        f"assert d.version == '{NVRTC.split('==')[1]}'\n"
        "print(next(d.locate_file(f) for f in d.files if 'libnvrtc.so' in f.name))\n"
    )
    found = subprocess.run([python, "-c", find], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def nvrtc():
    """The pinned NVRTC, fetched if need be."""
    path = installed(sys.executable)
    if path is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "wgpca-nvrtc"
        python = cache / "bin" / "python"
        path = installed(str(python)) if python.exists() else None
        if path is None:
            print(f"fetching {NVRTC}", file=sys.stderr)
            venv.create(cache, with_pip=True, clear=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", NVRTC], check=True)
            path = installed(str(python))
    library = ctypes.CDLL(path)
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) != VERSION:
        sys.exit(f"NVRTC {major.value}.{minor.value} was found, {VERSION[0]}.{VERSION[1]} is pinned")
    return library


def compile(library, architecture, extra=()):
    """PTX and log of all kernels. Sources and headers are handed over as text: no path enters the result."""
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
    log = text(library, program, "ProgramLog")
    if status != 0:
        sys.exit(f"{architecture}: the kernels do not compile\n{log}")
    ptx = text(library, program, "PTX")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx, log


def text(library, program, what):
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()


def canonical(ptx):
    """PTX without what says nothing: the comments at its head, with the build number, and ends of lines."""
    lines = [line.rstrip() for line in ptx.splitlines()]
    while lines and (not lines[0] or lines[0].startswith("//")):
        lines.pop(0)
    return "// Made by kernels/build.py from kernels/*.cu; do not edit.\n\n" + "\n".join(lines).rstrip() + "\n"


def needs(log):
    """Registers, bytes spilled, bytes of stack and of shared memory of each kernel, from the assembler's report."""
    found = {}
    kernel = None
    for line in log.splitlines():
        if m := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = m[1]
        elif m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            stack, spilled = int(m[1]), int(m[2]) + int(m[3])
        elif kernel and (m := re.search(r"Used (\d+) registers", line)):
            shared = re.search(r"(\d+) bytes smem", line)
            found[kernel] = (int(m[1]), spilled, stack, int(shared[1]) if shared else 0)
            kernel = None
    return found


def limits():
    """Registers and bytes spilled allowed for each kernel; `*` stands for those without a line."""
    table = {}
    for line in LIMITS.read_text().splitlines():
        if line := line.split("#")[0].strip():
            name, registers, spilled = line.split()
            table[name] = (int(registers), int(spilled))
    return table


def over(library, report):
    """What is wrong: kernels that need more than they may, and limits of kernels that are no more."""
    table, wrong, seen = limits(), [], set()
    for architecture in REAL:
        # Fast code of the real architecture, not the embedded PTX's: close enough, and NVRTC's assembler needs no file.
        _, log = compile(library, architecture, ["--ptxas-options=-v"])
        for line in log.splitlines():
            if "warning" in line and "error" not in line:
                wrong.append(f"{architecture}: {line.strip()}")
        for kernel, (registers, spilled, stack, shared) in sorted(needs(log).items()):
            seen.add(kernel)
            if report:
                print(f"{architecture} {kernel:32} {registers:4} registers {spilled:5} spilled {stack:6} stack {shared:6} shared")
            most, most_spilled = table.get(kernel, table["*"])
            if registers > most:
                wrong.append(f"{architecture} {kernel}: {registers} registers, {most} allowed (kernels/limits.txt)")
            if spilled > most_spilled:
                wrong.append(f"{architecture} {kernel}: {spilled} bytes spilled, {most_spilled} allowed (kernels/limits.txt)")
    wrong += [f"{name}: in kernels/limits.txt, but no kernel" for name in table if name != "*" and name not in seen]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the file, and needs with limits")
    parser.add_argument("--report", action="store_true", help="print what each kernel needs")
    args = parser.parse_args()
    library = nvrtc()
    ptx = canonical(compile(library, VIRTUAL)[0])
    wrong = []
    if args.check:
        if not PTX.exists() or PTX.read_text() != ptx:
            wrong.append("kernels/wgpca.ptx is not what kernels/*.cu give: run kernels/build.py and commit it")
    elif not args.report:
        PTX.write_text(ptx)
        print(f"{PTX.name}: {ptx.count('.entry ')} kernels, {len(ptx)} bytes")
    if args.check or args.report:
        wrong += over(library, args.report)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
