#!/usr/bin/env python3
"""Make the covariances of this folder from the Weather CORGIS data set.

    python3 make.py weather.csv
    python3 make.py weather.csv OUT     writes to the folder OUT, not beside this script

Writes covariances.npy (51, 2, 2), means.npy (51, 2), both float64, and states.txt.

The files of this folder were made with
    Python 3.11.7, NumPy 2.4.6
    datasets/csv/weather/weather.csv of https://github.com/RealTimeWeb/datasets, commit 2fe5befd
    SHA-256 fbcf2479ba3a8ccf2ddded54b92e718b43e7df4618c9dd76b51d5b9a8ceb6f43
"""

import csv
import hashlib
import io
import pathlib
import sys

import numpy as np

SHA256 = "fbcf2479ba3a8ccf2ddded54b92e718b43e7df4618c9dd76b51d5b9a8ceb6f43"


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    data = pathlib.Path(arguments[0]).read_bytes()
    out = pathlib.Path(arguments[1]) if len(arguments) > 1 else pathlib.Path(__file__).parent
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        sys.exit(f"this is not the weather.csv of commit 2fe5befd: SHA-256 {digest}")
    out.mkdir(parents=True, exist_ok=True)
    weeks = {}
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        state = {"VA": "Virginia"}.get(row["State"], row["State"])  # 53 rows of one station
        weeks.setdefault(state, []).append([float(row["Precipitation"]), float(row["Speed"])])
    states = sorted(weeks)
    covariances = np.array([np.cov(np.array(weeks[s]).T) for s in states])
    np.save(out / "covariances.npy", np.ascontiguousarray(covariances, "<f8"))
    np.save(out / "means.npy", np.array([np.mean(weeks[s], axis=0) for s in states], "<f8"))
    (out / "states.txt").write_text("\n".join(states) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
