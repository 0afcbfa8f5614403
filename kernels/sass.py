"""Counts the instructions of the inner loops of compiled kernels.

The table kernels/counts.txt has, for each kernel and architecture, a line with its accesses by generic addresses, which are
slower than those that are known to be global or shared, and its loops in which L1 is invalidated. Then follows a line for each
innermost loop with at least HEAVY multiply-adds and exponentials, in the order of the code.
"""

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from wheels import file_of

# No version of it that a wheel has reads sm_70.
NVDISASM = ("nvidia-cuda-nvdisasm", "13.5.37", "nvdisasm")
ARCHITECTURES = ["sm_80", "sm_90"]
HEAVY = 32
# Kernels that may have neither: pointers pass through shared memory there, and barriers poll.
STRICT = ["sinkhorn_solve"]
HEAD = """\
# Instructions of the innermost loops, counted by kernels/sass.py; written by kernels/build.py --counts, compared by --check.
# Of each kernel: accesses by generic addresses (LD, ST, ATOM), and loops that invalidate L1. Of each innermost loop with at least
# 32 multiply-adds and exponentials: instructions, multiply-adds (FFMA, DFMA), exponentials (MUFU.EX2), loads from global (LDG),
# generic (LD) and shared memory (LDS), and accesses to spilled registers (LDL, STL).
"""


def disassemble(cubin):
    """Of each kernel of a cubin, by its name, the positions of labels, and the operations with their operands."""
    tool = file_of(*NVDISASM)
    tool.chmod(0o755)
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "kernels.cubin"
        path.write_bytes(cubin)
        listing = subprocess.run([tool, "-c", path], capture_output=True, text=True, check=True).stdout
    kernels, labels, code = {}, {}, []
    for line in listing.splitlines():
        if found := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            kernels[found[1]] = (labels := {}, code := [])
        elif found := re.match(r"(\.L_\w+):", line):
            labels[found[1]] = len(code)
        elif found := re.match(r"\s*/\*[0-9a-f]+\*/\s+(@!?\w+\s+)?([\w.]+)(.*);", line):
            # What is executed only under a condition does not end the code before it.
            code.append((found[2], found[3], found[1] is None))
    return kernels


def innermost(labels, code):
    """First and last instruction of each loop that contains no other loop. Code that stands after the end of a kernel or function
    and jumps back into it is no loop."""
    loops, ends = set(), [k for k, (operation, _, always) in enumerate(code) if always and re.match("EXIT|RET", operation)]
    for last, (operation, operands, _) in enumerate(code):
        to = re.search(r"`\((\.L_\w+)\)", operands)
        if operation.startswith("BRA") and to and labels.get(to[1], last + 1) <= last:
            if not any(labels[to[1]] <= end < last for end in ends):
                loops.add((labels[to[1]], last))
    inside = lambda a, b: a != b and a[0] <= b[0] and b[1] <= a[1]
    return sorted(loop for loop in loops if not any(inside(loop, other) for other in loops))


def lines(cubin):
    """The lines of a cubin's kernels, each with the name of the kernel, without the architecture, and what is wrong."""
    found, wrong = [], []
    for name, (labels, code) in sorted(disassemble(cubin).items()):
        kinds = [operation.split(".")[0] for operation, _, _ in code]
        exponentials = [operation.startswith("MUFU.EX2") for operation, _, _ in code]
        loops, flushing = [], 0
        for first, last in innermost(labels, code):
            here = Counter(kinds[first : last + 1])
            flushing += here["CCTL"] > 0
            products, exponential = here["FFMA"] + here["DFMA"], sum(exponentials[first : last + 1])
            if products + exponential >= HEAVY:
                loads = f"{here['LDG']:3} LDG {here['LD']:3} LD {here['LDS']:3} LDS {here['LDL'] + here['STL']:3} spilled"
                loops.append(f"{last + 1 - first:5} instructions {products:4} FMA {exponential:3} EX2 {loads}")
        all_kinds = Counter(kinds)
        generic = all_kinds["LD"] + all_kinds["ST"] + all_kinds["ATOM"]
        found.append((name, f"{generic:5} generic {flushing:3} loops invalidate L1"))
        found += [(name, loop) for loop in loops]
        if name in STRICT and generic + flushing:
            wrong.append(f"{name}: {generic} accesses by generic addresses, {flushing} loops invalidate L1; 0 are allowed")
    return found, wrong


def table(cubins):
    """The text of counts.txt for cubins by architecture, and what is wrong."""
    rows, wrong = [], []
    for architecture, cubin in cubins.items():
        found, faults = lines(cubin)
        rows += [f"{architecture} {name:20} {line}" for name, line in found]
        wrong += [f"{architecture} {fault}" for fault in faults]
    return HEAD + "\n".join(rows) + "\n", wrong
