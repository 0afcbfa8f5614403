"""Files as other programs write them, and what they should give: writes reading.json and the files of ../reading.

- index_x.csv, index_y.csv: `DataFrame.to_csv` of pandas with its index; the divergence is that of the three columns x, y, z.
- colours_x.xyz, colours_y.xyz: points with whole-numbered colours and a header in a comment, as CloudCompare writes them.
- average_reference.npy: covariances P C P stored in float32, P = I - 1/d. The reference is their float64 originals on the
  range of P: a barycentre by fixed point and a first component by the search of geodesics.py.
- packed.pcd: `DATA binary_compressed`, packed by liblzf.
- scan.las, scan.laz: LAS 1.2 with intensities and colours, written by laspy; the second packed by LASzip.

S_eps = OT_eps(x, y) - OT_eps(x, x) / 2 - OT_eps(y, y) / 2 with OT_eps = min_P <P, C> + eps KL(P | a b^T) from POT's
Sinkhorn; exact W2^2 by POT's network simplex.

Made with python 3.11.7, numpy 2.4.6, scipy 1.17.1, POT 0.9.7.post1, python-lzf 0.2.6, laspy 2.7.0, laszip 0.3.0; seeds: default_rng(0), (14), (7).
Run: python -B reading.py
"""
import struct

import laspy
import lzf
import numpy as np
import ot

import common
import geodesics

OUT = common.HERE.parent / "reading"


def uniform(x):
    return np.full(len(x), 1 / len(x))


def entropic(x, y, eps):
    c, a, b = ot.dist(x, y), uniform(x), uniform(y)
    p, log = ot.sinkhorn(a, b, c, eps, method="sinkhorn", numItermax=60_000, stopThr=1e-8, log=True)
    assert log["err"][-1] < 1e-7
    ab = a[:, None] * b
    inside = p > 0
    return (p * c).sum() + eps * (p[inside] * np.log(p[inside] / ab[inside])).sum()


def divergence(x, y, eps):
    return float(entropic(x, y, eps) - entropic(x, x, eps) / 2 - entropic(y, y, eps) / 2)


def exact(x, y):
    return float(ot.emd2(uniform(x), uniform(y), ot.dist(x, y)))


def indexed():
    r = np.random.default_rng(0)
    x = r.normal(size=(200, 3)).round(4)
    y = (r.normal(size=(200, 3)) * (1, 2, 0.5) + (1, 0, 0)).round(4)
    for name, cloud in (("index_x.csv", x), ("index_y.csv", y)):
        rows = [f"{k}," + ",".join(repr(float(v)) for v in row) for k, row in enumerate(cloud)]
        (OUT / name).write_text(",x,y,z\n" + "\n".join(rows) + "\n")
    return {"name": "index", "epsilon": 0.0939, "divergence": divergence(x, y, 0.0939), "exact": exact(x, y)}


def coloured():
    r = np.random.default_rng(14)
    x = r.normal(size=(120, 3)).round(4)
    y = (r.normal(size=(120, 3)) + (2, 2, 0)).round(4)
    for name, cloud in (("colours_x.xyz", x), ("colours_y.xyz", y)):
        colours = r.integers(0, 256, size=cloud.shape)
        rows = [" ".join(f"{v:.4f}" for v in p) + " " + " ".join(map(str, q)) for p, q in zip(cloud, colours)]
        (OUT / name).write_text("//X Y Z R G B\n" + "\n".join(rows) + "\n")
    eps = 0.2
    return {"name": "colours", "epsilon": eps, "divergence": divergence(x, y, eps), "exact": exact(x, y)}


def average_reference():
    d, n = 6, 40
    r = np.random.default_rng(7)
    p = np.eye(d) - 1 / d
    c = []
    for _ in range(24):
        x = r.normal(size=(n, d)) * r.uniform(0.5, 2, d)
        c.append(p @ np.cov(x.T, bias=True) @ p)
    c = np.array(c)
    np.save(OUT / "average_reference.npy", c.astype("f4"))
    basis = np.linalg.svd(p)[0][:, : d - 1]
    data = geodesics.Data(basis.T @ c @ basis)
    a = geodesics.barycentre(data.roots)
    total = float((data.traces + np.trace(a @ a.T)).sum() - 2 * sum(np.linalg.svd(l @ a)[1].sum() for l in data.roots))
    cost, _, _, all_costs = geodesics.first_component(data, 7, 4)
    reached = int((np.array(all_costs) < cost * (1 + 1e-8)).sum())
    stored = np.linalg.eigvalsh(c.astype("f4").astype("f8"))[:, 0]
    print("cost", cost, "of", total, "reached", reached, "lowest stored eigenvalue", stored.min(), "negative", (stored < 0).sum())
    return {"name": "average reference", "cost": cost, "barycentre_cost": total, "explained": 1 - cost / total,
            "negative": int((stored < -1e-10 * 4).sum())}


def packed():
    n = 60
    k = np.arange(n)
    columns = [(k % 7).astype("<f4"), (k // 7).astype("<f4"), np.full(n, 0.5, "<f4"), (k % 3).astype("<u4")]
    raw = b"".join(c.tobytes() for c in columns)
    body = lzf.compress(raw)
    header = (f"# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F U\nCOUNT 1 1 1 1\n"
              f"WIDTH {n}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n}\nDATA binary_compressed\n")
    (OUT / "packed.pcd").write_bytes(header.encode() + struct.pack("<II", len(body), len(raw)) + body)
    print("packed", len(body), "of", len(raw))


def scans():
    k = np.arange(60)
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.scales, header.offsets = [0.001, 0.001, 0.01], [481000.0, 4200000.0, 0.0]
    scan = laspy.LasData(header)
    scan.X, scan.Y, scan.Z = 7 * k % 101, k * k, 13 * k % 37 - 18
    scan.intensity, scan.red, scan.green, scan.blue = k, k, 2 * k, 3 * k
    scan.write(OUT / "scan.las")
    scan.write(OUT / "scan.laz", laz_backend=laspy.LazBackend.Laszip)


def main():
    packed()
    scans()
    cases = [indexed(), coloured(), average_reference()]
    print(cases)
    common.write("reading.json", __doc__.strip(), ["numpy", "scipy", "POT", "python-lzf"], cases=cases)


if __name__ == "__main__":
    main()
