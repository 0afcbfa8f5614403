"""Tests of check.py itself, without a GPU: what it reads, how it ends children, and that the table is written however it ends.

    python3 benches/gpu/self_test.py
"""
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True

import check
from compare import matched, norm_of_difference, problems_of
from report import NOT_FINITE, Table, lines, number
from sanitizer import verdict

HERE = pathlib.Path(__file__).resolve().parent
SMALL = [{"part": "small", "name": "divergence", "ok": True}]
BANNER = "========= COMPUTE-SANITIZER"

PARITY = [
    {"name": "divergence", "value": 1e-6, "gradient": 1e-5, "status": "converged", "marginal_error": 4e-6, "reference_error": 1e-7, "bound": 1e-4},
    {"name": "start", "start_cost": 1e-3, "spectrum": 1e-5, "bounds": [0.05, 1e-3]},
    {"name": "three steps", "first": 1e-6, "later": 1e-5, "cost": 1e-5, "bound": 1e-4, "bound_later": 1e-3},
    {"name": "projections", "time": 1e-4, "residual": 1e-4, "cost": 1e-4, "open": 0, "bound": 1e-3},
    {"name": "500 steps", "early": 1e-3, "whole": 0.1, "cost": 0.1, "bounds": [0.01, 0.15, 0.25]},
]
TIME = [
    {"name": "Sinkhorn", "n": 1024, "tolerance": 1e-3, "ms": 0.2, "iterations": 20, "status": "converged", "gradient_only_ms": 0.1,
     "call_ms": 0.5, "from_finest": 1e-3},
    {"name": "iteration", "n": 1024, "microseconds": 5.0, "iterations": [20, 60]},
    {"name": "step", "component": 1, "measures": 1, "batch": 12, "width": 8, "after": 10, "ms": 0.3, "most_iterations": 20, "unconverged": 0.0},
    {"name": "fit", "ms": 900.0, "start_ms": 300.0, "steps_ms": 500.0, "steps": 500, "evaluations_ms": 50.0, "end_ms": 50.0, "cost": 1.5},
    {"name": "projections", "ms": 80.0, "open": 0, "apart": 1e-4},
    {"name": "projections, on the CPU", "ms": 800.0, "open": 0},
]


class Fakes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.at = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def program(self, name, text):
        file = self.at / name
        file.write_text(f"#!{sys.executable}\n{text}")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return file

    def gone(self, pid):
        """It has ended; an orphan may wait for someone to fetch its status."""
        for _ in range(100):
            try:
                if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
            except OSError:
                return True
            time.sleep(0.02)
        return False


class Numbers(unittest.TestCase):
    def test_number(self):
        self.assertEqual(number(0.00129, ".1e"), "1.3e-03")
        for none in (None, float("nan"), float("inf"), "1.0"):
            self.assertEqual(number(none, ".1e"), NOT_FINITE)

    def test_every_null_is_said_and_fails(self):
        for show, samples in ((check.show_parity, PARITY), (check.show_time, TIME)):
            for sample in samples:
                table = Table()
                table.judge(True, "p", sample["name"], *show(sample))
                self.assertFalse(table.failed, table.rows)
                for key, value in sample.items():
                    # The tolerance is what was asked for.
                    if isinstance(value, float) and key != "tolerance":
                        table = Table()
                        table.judge(True, "p", sample["name"], *show({**sample, key: None}))
                        self.assertTrue(table.failed, f"{key}: {table.rows}")
                        self.assertIn(NOT_FINITE, table.rows[0])
        # Nothing to divide by is no fault.
        self.assertEqual(check.show_time({"microseconds": None, "iterations": [20, 20]})[0], "not known")

    def test_matched(self):
        nan = float("nan")
        problem = {"ours": [("1e-3", 1e-2, 1.0), ("1e-4", 1e-3, 2.0), ("1e-5", nan, 3.0)]}
        self.assertEqual(matched(problem, 0.5)[0], 1.0)
        self.assertEqual(matched(problem, 2e-3)[0], 2.0)
        self.assertEqual(matched(problem, 1e-9)[0], 2.0)
        self.assertEqual(matched(problem, nan), (None, f"error of the gradient {NOT_FINITE}"))
        self.assertIsNone(matched({"ours": []}, 0.1)[0])


class Gradients(Fakes):
    def npy(self, name, values):
        from array import array
        head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % len(values)
        head += b" " * (117 - len(head)) + b"\n"
        (self.at / name).write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + array("d", values).tobytes())
        return self.at / name

    def test_differences(self):
        a, b, nan = self.npy("a", [3.0, 4.0]), self.npy("b", [3.0, 4.5]), self.npy("n", [float("nan"), 1.0])
        self.assertAlmostEqual(norm_of_difference(b, a), 0.1)
        (self.at / "cut").write_bytes(a.read_bytes()[:-3])
        for other in (self.npy("c", [1.0]), nan, self.at / "cut", self.at / "none"):
            self.assertEqual(number(norm_of_difference(other, a), ".1e"), NOT_FINITE)
        self.assertEqual(number(norm_of_difference(a, self.npy("z", [0.0, 0.0])), ".1e"), NOT_FINITE)

    def test_a_gradient_that_is_no_number_fails(self):
        for own, failed in (([3.0, 4.0], False), ([float("nan"), 4.0], True)):
            exact = self.npy("exact", [3.0, 4.1])
            self.npy("17_gradient_1e-3.npy", own)
            table, exported = Table(), [{"part": "problem", "n": 17, "exact": str(exact), "reference_error": 1e-7}]
            found = problems_of(table, exported, [{"n": 17, "tolerance": 1e-3, "ms": 1.0}], self.at)
            self.assertEqual((len(found), table.failed), (1, failed), table.rows)


class Verdicts(unittest.TestCase):
    def expect(self, blamed, result, status, found, *told):
        got = verdict(status, found, [BANNER, *told])
        self.assertEqual(got[0], blamed, got)
        self.assertIn(result, got[1], got)

    def test_clean(self):
        self.expect(False, "clean", 0, SMALL, "========= ERROR SUMMARY: 0 errors")
        self.expect(False, "clean", 0, SMALL, "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)")

    def test_errors(self):
        invalid = "========= Invalid __global__ write of size 4 bytes"
        self.expect(True, "2 errors", 9, SMALL, invalid, "========= ERROR SUMMARY: 2 errors")
        self.expect(True, "1 error", 9, [], invalid, "========= ERROR SUMMARY: 1 error")
        self.expect(True, "errors", None, SMALL, invalid)

    def test_warnings_of_races_leave_the_status_0(self):
        race = "========= Warning: Race reported between Read access at 0x170 in a.cu:3:test(int*)"
        self.expect(True, "12 hazards", 0, SMALL, race, "========= RACECHECK SUMMARY: 12 hazards displayed (0 errors, 12 warnings)")
        self.expect(True, "1 hazard", 0, SMALL, "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)")
        self.expect(True, "errors", None, SMALL, race)

    def test_a_tool_that_cannot(self):
        self.expect(False, "could not run", 1, [], "========= Error: Device not supported. Please refer to the documentation")
        self.expect(False, "could not run", 255, [], "Unable to find injection library libsanitizer-collection.so")
        self.expect(False, "could not run", 0, [], "========= ERROR SUMMARY: 0 errors")
        self.expect(False, "could not run", 2, [], "no GPU", "========= Target application returned an error", "========= ERROR SUMMARY: 0 errors")
        self.expect(False, "could not run", 0, SMALL, "========= Error: Target application terminated before first instrumented API call")
        self.expect(False, "could not run", 0, SMALL)
        self.assertFalse(verdict(127, [], [])[0])

    def test_not_all_was_seen(self):
        lost = "========= Internal Sanitizer Error: The Sanitizer encountered an error while launching k and didn't track the launch."
        self.expect(False, "not finished", 9, SMALL, lost, "========= ERROR SUMMARY: 1 error")
        self.expect(True, "2 errors", 9, SMALL, lost, "========= ERROR SUMMARY: 2 errors")
        self.expect(False, "not finished", None, SMALL)

    def test_the_program_fails(self):
        self.expect(True, "exit status 1", 1, SMALL, "========= ERROR SUMMARY: 0 errors")
        self.expect(True, "exit status 1", 1, [], "========= ERROR SUMMARY: 0 errors")
        self.expect(True, "wrong results", 1, [dict(SMALL[0], ok=False)], "========= ERROR SUMMARY: 0 errors")


class Children(Fakes):
    def test_lines(self):
        text = 'print(\'{"part": "small", "x": null}\'); print("word"); print("3"); import sys; sys.stdout.buffer.write(b"\\xff\\n"); sys.exit(3)'
        status, found, rest = lines([self.program("a", text)], 20)
        self.assertEqual((status, found, sorted(rest)), (3, [{"part": "small", "x": None}], ["3", "word", "\ufffd"]))
        self.assertEqual(lines([self.at / "nothing"], 5)[0], 127)

    def test_time_ends_grandchildren_too(self):
        inner = self.program("inner", "import time; time.sleep(60)")
        text = f'import subprocess, time\nchild = subprocess.Popen(["{inner}"])\nopen("{self.at}/pid", "w").write(str(child.pid))\n'
        text += 'print(\'{"part": "small"}\', flush=True)\ntime.sleep(60)\n'
        begin = time.monotonic()
        status, found, _ = lines([self.program("outer", text)], 5)
        self.assertEqual((status, found), (None, [{"part": "small"}]))
        self.assertLess(time.monotonic() - begin, 50)
        self.assertTrue(self.gone(int((self.at / "pid").read_text())))


class Cache(Fakes):
    def test_where_home_cannot_be_written(self):
        for home, elsewhere in ((self.at, False), (self.at / "nothing", True)):
            with unittest.mock.patch.dict(os.environ, HOME=str(home)):
                os.environ.pop("CUDA_CACHE_PATH", None)
                check.cache(self.at)
                self.assertEqual("CUDA_CACHE_PATH" in os.environ, elsewhere)


class Whole(Fakes):
    """check.py on a program that prints what it is told, and a sanitizer that runs it."""

    def setUp(self):
        super().setUp()
        text = f"import json, sys, time\nsaid = json.load(open('{self.at}/said.json'))\n"
        text += "kind = 'first' if '--only' in sys.argv else sys.argv[1]\n"
        text += "for line in said.get(kind, []):\n    print(json.dumps(line), flush=True)\n"
        text += f"open('{self.at}/' + kind, 'w').close()\ntime.sleep(said.get('sleep', {{}}).get(kind, 0))\nsys.exit(said.get('exit', {{}}).get(kind, 0))\n"
        self.binary = self.program("gpu-fake", text)
        tool = "import subprocess, sys\nprint('========= COMPUTE-SANITIZER', flush=True)\nstatus = subprocess.call(sys.argv[5:])\n"
        tool += "kind = 'ERROR SUMMARY: 0 errors' if 'memcheck' in sys.argv else 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'\n"
        self.program("compute-sanitizer", tool + "print('=========', kind)\nsys.exit(status)\n")
        device = {"part": "device", "name": "fake", "capability": "9.0", "driver": "12.4", "memory": 2**30, "multiprocessors": 1}
        self.said = {"first": [device], "small": SMALL, "parity": [dict(l, part="parity", ok=True) for l in PARITY],
                     "time": [dict(l, part="time") for l in TIME], "export": []}

    def start(self, minutes=5.0):
        (self.at / "said.json").write_text(json.dumps(self.said))
        # The peers are other tests'.
        env = dict(os.environ, PATH=f"{self.at}{os.pathsep}{os.environ['PATH']}", PYTHONPATH=str(self.blocked()))
        command = [sys.executable, HERE / "check.py", "--binary", self.binary, "--out", self.at / "out.md", "--json", self.at / "out.jsonl"]
        return subprocess.Popen([*command, "--minutes", str(minutes)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)

    def blocked(self):
        """A folder in which the peers' packages cannot be imported."""
        folder = self.at / "blocked"
        folder.mkdir(exist_ok=True)
        (folder / "numpy.py").write_text("raise ModuleNotFoundError('no numpy here')\n")
        return folder

    def run_it(self, minutes=5.0):
        child = self.start(minutes)
        said = child.communicate(timeout=300)
        return child.returncode, (self.at / "out.md").read_text(), said

    def test_all_is_well(self):
        status, table, said = self.run_it()
        self.assertEqual(status, 0, said)
        self.assertEqual(table.count("FAILED"), 0)
        for row in ("| sanitizer | memcheck | clean |", "| sanitizer | racecheck | clean |", "| time | fit | 900 ms |", "| peers | OTT | skipped | not installed"):
            self.assertIn(row, table)
        self.assertEqual(len((self.at / "out.jsonl").read_text().splitlines()), 1 + len(PARITY) + 2 + len(TIME))

    def test_a_number_that_is_none(self):
        self.said["parity"][0]["gradient"] = None
        status, table, _ = self.run_it()
        self.assertEqual(status, 1)
        self.assertIn(f"gradient {NOT_FINITE}", table)
        self.assertIn("| time | fit | 900 ms |", table)

    def test_what_fails_and_what_is_not_understood(self):
        self.said["parity"][1]["ok"] = False
        self.said["time"][0].pop("status")
        self.said["exit"] = {"parity": 1}
        status, table, _ = self.run_it()
        self.assertEqual((status, table.count("FAILED")), (1, 2), table)
        self.assertIn("a line that is not understood", table)

    def test_slow_exports_are_skipped(self):
        # 15 seconds, less the reserve of 6: as little as lets the program start.
        self.said["sleep"] = {"export": 100}
        begin = time.monotonic()
        status, table, said = self.run_it(0.25)
        self.assertLess(time.monotonic() - begin, 90)
        self.assertEqual(status, 0, said)
        self.assertIn("| peers | the rest of the problems | skipped | not computed in", table)

    def test_an_end_in_the_middle_leaves_the_table(self):
        self.said["sleep"] = {"time": 60}
        child = self.start()
        late = time.monotonic() + 30
        while not (self.at / "time").exists() and time.monotonic() < late:
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=50)
        self.assertEqual(child.returncode, 1)
        self.assertIn("500 steps", (self.at / "out.md").read_text())

    def test_no_gpu(self):
        self.said.update(first=[], exit={"first": 2})
        child = self.start()
        child.communicate(timeout=50)
        self.assertEqual(child.returncode, 2)
        self.assertFalse((self.at / "out.md").exists())


if __name__ == "__main__":
    unittest.main(buffer=True)
