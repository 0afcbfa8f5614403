"""Tools from pinned wheels: installed ones, or ones fetched into the user's cache."""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import distributions
from pathlib import Path


def installed(wheel, version, file, *where):
    """Path of a file of a pinned wheel, here or in these directories, or None."""
    for found in distributions(name=wheel, **({"path": [str(w) for w in where]} if where else {})):
        if found.version == version:
            return next(Path(found.locate_file(f)) for f in found.files if f.name.startswith(file))
    return None


def fetch(wheel, version, into):
    """Installs a wheel into a directory, with this interpreter's pip or, where it has none, a new environment's."""
    with tempfile.TemporaryDirectory() as room:
        python = sys.executable
        if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode != 0:
            venv.create(f"{room}/venv", with_pip=True)
            python = f"{room}/venv/bin/python"
        arguments = ["--quiet", "--no-deps", "--target", f"{room}/wheel", f"{wheel}=={version}"]
        subprocess.run([python, "-m", "pip", "install", *arguments], check=True)
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(into, ignore_errors=True)
        shutil.move(f"{room}/wheel", into)


def file_of(wheel, version, file):
    """Path of the file of a pinned wheel whose name begins with `file`; the wheel is fetched if need be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wgpca" / f"{wheel}-{version}"
    path = installed(wheel, version, file) or installed(wheel, version, file, cache)
    if path is None:
        print(f"fetching {wheel} {version}", file=sys.stderr)
        fetch(wheel, version, cache)
        path = installed(wheel, version, file, cache)
    return path
