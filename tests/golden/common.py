"""Helpers of the golden-data scripts: sizes, versions, JSON files.

Every array is written as a flat row-major list of Python floats (repr precision, so a reader
gets the same f64 back); its dimensions are integer fields of the same object.
"""
import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def flat(array):
    """A flat row-major list of Python floats."""
    return [float(value) for value in np.asarray(array, dtype=np.float64).ravel()]


def versions(*packages):
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def write(name, about, packages, **content):
    """Write `name` beside this script; refuses NaN and infinity."""
    data = {"about": about, "generated_with": versions(*packages), **content}
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    text = text.replace('{"name":', '\n{"name":') + "\n"  # one case a line
    (HERE / name).write_text(text)
    print(f"{name}: {len(text) / 1024:.0f} KiB")
