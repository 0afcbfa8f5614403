"""The binary's small sizes under compute-sanitizer."""
import os
import re
import shutil

from report import lines

# "ERROR SUMMARY: 2 errors", "RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)".
SUMMARY = re.compile(r"SUMMARY: (\d+) (?:error|hazard)")
FINDING = re.compile(r"Invalid __|Misaligned|Out-of-|Program hit|Barrier error|Race reported|hazard detected")
# Where it did not look: a launch that it could not follow, or all of the program.
UNTRACKED = "Internal Sanitizer Error"
BLIND = re.compile(r"not supported|unsupported|before first instrumented API call|No attachable process", re.IGNORECASE)


def find():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [shutil.which("compute-sanitizer")] + [f"{h}/bin/compute-sanitizer" for h in homes if h]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def verdict(status, found, rest):
    """(whether it is to be blamed on the kernels, result, note) of a run's exit status, the program's and the tool's lines.

    Hazards of racecheck that are warnings leave the exit status 0; a tool that does not know the driver or the device may say "0
    errors" of a program that it never ran. So only counts in a summary, after runs that were made, are believed."""
    told = [line.strip("= ") for line in rest if line.startswith("====")]
    summary = next((l for l in reversed(told) if SUMMARY.search(l)), None)
    counted = sum(int(SUMMARY.search(l)[1]) for l in told if SUMMARY.search(l))
    findings = [l for l in told if FINDING.search(l) and not SUMMARY.search(l)]
    untracked = [l for l in told if UNTRACKED in l]
    blind = next((l for l in told if BLIND.search(l)), None)
    done = [line for line in found if line["part"] == "small"]
    wrong = [line["name"] for line in done if line.get("ok") is False]
    last = rest[-1].strip("= ") if rest else "no output"
    runs = f"{len(done)} runs"
    if findings or counted > len(untracked):
        return True, summary or "errors", f"{runs}; {findings[0] if findings else last}"
    if wrong:
        return True, "wrong results", ", ".join(wrong)
    # 2: the program found no GPU, which it does without the tool.
    if blind or status is not None and not done and (summary is None or status in (0, 2)):
        return False, "could not run", blind or last
    if status is None:
        return False, "not finished", f"{runs}, no error so far"
    if untracked:
        return False, "not finished", f"{runs}; {len(untracked)} launches not followed: {untracked[0]}"
    if status != 0:
        return True, f"exit status {status}", f"{runs}; {last}"
    if summary is None:
        return False, "could not run", f"{runs}, but it has no summary: {last}"
    return False, "clean", f"{runs}; {summary}"


def sanitize(table, binary, device, clock, most):
    tool = find()
    if not tool:
        table.row("sanitizer", "memcheck, racecheck", "skipped", "compute-sanitizer is not found")
        return
    for kind in ["memcheck", "racecheck"]:
        seconds = clock.left(most)
        if seconds < 10:
            table.row("sanitizer", kind, "skipped", "no time left")
            continue
        status, found, rest = lines([tool, "--tool", kind, "--error-exitcode", "9", binary, "small", *device], seconds)
        table.records += [dict(line, part=kind) for line in found if line["part"] == "small"]
        blamed, result, note = verdict(status, found, rest)
        if status is None:
            note += f", in {seconds:.0f} s"
        (table.fail if blamed else table.row)("sanitizer", kind, result, note)
