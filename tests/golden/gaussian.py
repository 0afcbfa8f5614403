"""Golden values of the Bures-Wasserstein geometry and of Gaussian geodesic PCA: writes gaussian.json.

Geometry: mpmath at 60 digits (bures.py), of the very floats in the file, rounded to float64 at the end; compared with POT
where its float64 reaches. Curvature and linearised distance come from distances alone, by extrapolated differences.
Projections: a scan of 4001 points in float64, each local minimum then refined in mpmath. Components: closed forms
(linear PCA), and searches with SciPy over another parametrisation (geodesics.py), which give upper bounds.

`sensitivity` of a value is its relative change (Frobenius norm) under a symmetric change of the inputs by one rounding
error of their largest eigenvalue, the largest of three random ones: no float64 program can be asked for better than
a small multiple of it.

Made with python 3.11.7, numpy 2.4.6, scipy 1.17.1, POT 0.9.7.post1, mpmath 1.4.1.
Seeds: default_rng([number of the subject, case]) for the inputs, default_rng(9) for the changes; searches take the case.
Run: python gaussian.py
"""
import mpmath as mp
import numpy as np
import ot.gaussian
from scipy.optimize import minimize

import bures
import common
import geodesics
from bures import exact

PACKAGES = ["numpy", "scipy", "POT", "mpmath"]


def back(m):
    """float64 of an mpmath matrix, each entry correctly rounded."""
    return np.array([[float(x) for x in row] for row in m.tolist()])


def flat(m):
    return common.flat(back(m) if isinstance(m, mp.matrix) else m)


def close(value, reference, relative, what=""):
    value, reference = np.asarray(value, float), np.asarray(reference, float)
    error = np.abs(value - reference).max()
    assert error <= relative * np.abs(reference).max(), f"{what}: {value} against {reference}: {error}"


# ---- inputs ----
def rotation(d, rng):
    q, r = np.linalg.qr(rng.normal(size=(d, d)))
    return q * np.sign(np.diag(r))


def turned(eigenvalues, rng):
    q = rotation(len(eigenvalues), rng)
    m = (q * eigenvalues) @ q.T
    return (m + m.T) / 2


def spd(d, condition, rng):
    """Eigenvalues evenly spaced in the logarithm from 1 to 1 / condition, random orientation."""
    return turned(np.logspace(0, -np.log10(condition), d), rng)


def wishart(n, d, rng):
    x = rng.normal(size=(n, d, 2 * d))
    return x @ np.swapaxes(x, 1, 2) / (2 * d)


def ellipse(a, b, angle):
    c, s = np.cos(angle), np.sin(angle)
    r = np.array([[c, -s], [s, c]])
    m = (r * [a * a, b * b]) @ r.T
    return (m + m.T) / 2


def sensitivity(f, inputs):
    """Of each value that f returns."""
    rng = np.random.default_rng(9)
    values = [exact(v) for v in f(*map(exact, inputs))]
    most = [mp.mpf(0)] * len(values)
    for _ in range(3):
        changed = []
        for m in inputs:
            e = rng.normal(size=m.shape)
            e = (e + e.T) / np.linalg.norm(e + e.T)
            changed.append(exact(m) + mp.mpf(2) ** -52 * mp.mpf(np.linalg.norm(m, 2)) * exact(e))
        for k, (a, b) in enumerate(zip(f(*changed), values)):
            most[k] = max(most[k], bures.norm(exact(a) - b) / max(bures.norm(b), mp.mpf(10) ** -300))
    return [float(f"{float(m):.2g}") for m in most]


# ---- geometry ----
def geometry(a, b):
    """(distance, Monge map, log, midpoint)."""
    t = bures.monge_map(a, b)
    half = (mp.eye(a.rows) + t) / 2
    tangent = t * a + a * t - 2 * a
    return mp.matrix([[mp.sqrt(max(bures.squared_distance(a, b), 0))]]), t, tangent, bures.sym(half * a * half)


def pair(name, a, b, pot=True):
    a, b = np.asarray(a, float), np.asarray(b, float)
    x, y = exact(a), exact(b)
    distance, t, tangent, midpoint = geometry(x, y)
    distance = distance[0]
    tiny = mp.mpf(10) ** -35 * bures.trace(x + y)
    # Each value by a second way.
    assert abs(bures.norm((t - mp.eye(len(a))) * bures.root(x)) - distance) ** 2 < tiny
    assert abs(bures.inner(x, tangent, tangent) - distance**2) < tiny
    assert bures.norm(bures.sym(t * x * t) - y) < tiny
    assert bures.norm(bures.exp(x, tangent) - y) < tiny
    assert bures.norm(bures.exp(x, tangent / 2) - midpoint) < tiny
    if pot:
        close(ot.gaussian.bures_distance(a, b), distance, 1e-10, name)
        mapping = ot.gaussian.bures_wasserstein_mapping(np.zeros(len(a)), np.zeros(len(a)), a, b)[0]
        close(mapping, back(t), 1e-9, name)
    keys = ["distance", "monge_map", "log", "midpoint"]
    low, high = bures.interval(t - mp.eye(len(a)))
    print(f"pair {name:40s} {float(distance):.15g}", flush=True)
    return {
        "name": name, "d": len(a), "a": flat(a), "b": flat(b), "distance": float(distance), "monge_map": flat(t),
        "log": flat(tangent), "midpoint": flat(midpoint), "interval": [None if v is None else float(v) for v in (low, high)],
        "sensitivity": dict(zip(keys, sensitivity(geometry, [a, b]))),
    }


def pairs():
    case = 0
    yield pair("d 1", [[4]], [[9]])
    yield pair("d 1, far apart", [[1e-12]], [[1e12]])
    plan = [(2, [1, 10, 1e4, 1e8, 1e12]), (3, [1, 10, 1e4, 1e8, 1e12]), (5, [10, 1e4, 1e8, 1e12]), (10, [10, 1e12]),
            (20, [1e4, 1e12])]
    for d, conditions in plan:
        for condition in conditions:
            case += 1
            rng = np.random.default_rng([1, case])
            a, b = spd(d, condition, rng), 1.7 * spd(d, max(condition, 10), rng)
            yield pair(f"d {d}, condition {condition:g}", a, b, pot=condition <= 1e4)
    rng = np.random.default_rng([1, 0])
    a, b = spd(3, 30, rng), spd(3, 30, rng)
    for k in (-40, 40):
        yield pair(f"d 3, scale 2^{k}", a * 2.0**k, b * 2.0**k)
    for size in (1e-4, 1e-7):
        near = a * (1 + size) + size * np.diag([0.1, -0.2, 0.05])
        yield pair(f"d 3, nearly equal, {size:g}", a, near, pot=False)
    yield pair("d 4, diagonal", np.diag([1, 1e-4, 1e-8, 1e-12]), np.diag([1e-12, 1e-8, 1e-4, 1]), pot=False)
    q = rotation(4, rng)
    both = [(q * e) @ q.T for e in ([1.0, 4, 9, 16], [2.25, 1, 25, 0.25])]
    out = pair("d 4, commuting", *[(m + m.T) / 2 for m in both])
    close(out["distance"], np.sqrt(0.25 + 1 + 4 + 12.25), 1e-14)
    yield out
    out = pair("O26", [[1, 0], [0, 4]], [[2, 1], [1, 3]])
    close(out["midpoint"], [1.4255857734, 0.5109593564, 0.5109593564, 3.4694231990], 1e-10)
    yield out


def curvatures():
    for case, (d, condition) in enumerate([(2, 1), (2, 100), (2, 1e6), (3, 10), (3, 1e4), (5, 100)]):
        rng = np.random.default_rng([2, case])
        base, u, v = spd(d, condition, rng), *[bures.sym(exact(rng.normal(size=(d, d)))) for _ in range(2)]
        s = exact(base)
        u, v = exact(back(u)), exact(back(v))
        value = bures.sectional_curvature(s, u, v)
        # The table of Thanwerdas and Pennec that the paper uses, as a check of the differences.
        e, q = mp.eigsy(s)
        k, l = bures.lyapunov(s, u), bures.lyapunov(s, v)
        bracket = q.T * (k * l - l * k) * q
        table = mp.fsum(e[i] * e[j] / (e[i] + e[j]) * bracket[i, j] ** 2 for i in range(d) for j in range(d)) * 3 / 2
        uu, uv, vv = bures.inner(s, u, u), bures.inner(s, u, v), bures.inner(s, v, v)
        assert abs(table / (uu * vv - uv**2) - value) < mp.mpf(10) ** -20 * value
        print(f"curvature d {d}, condition {condition:g}: {float(value):.15g}", flush=True)
        yield {"name": f"d {d}, condition {condition:g}", "d": d, "base": flat(base), "u": flat(u), "v": flat(v),
               "inner": [float(uu), float(uv), float(vv)], "sectional": float(value)}


def linearised():
    for case, (d, condition) in enumerate([(2, 10), (2, 1e4), (3, 100), (5, 100), (5, 1e4)]):
        rng = np.random.default_rng([3, case])
        base, a, b = (spd(d, condition, rng) for _ in range(3))
        value = bures.linearised_distance(*map(exact, (base, a, b)))
        by_maps = bures.norm((bures.monge_map(exact(base), exact(a)) - bures.monge_map(exact(base), exact(b))) * bures.root(exact(base)))
        assert abs(by_maps - value) < mp.mpf(10) ** -20 * value
        yield {"name": f"d {d}, condition {condition:g}", "d": d, "base": flat(base), "a": flat(a), "b": flat(b),
               "linearised": float(value), "distance": float(mp.sqrt(bures.squared_distance(exact(a), exact(b))))}


# ---- barycentres ----
def barycentre(name, matrices, weights=None, closed=None, pot=True, sense=True):
    matrices = np.asarray(matrices, float)
    n, d, _ = matrices.shape
    w = np.full(n, 1 / n) if weights is None else np.asarray(weights, float)

    def solve(*ms):
        total = mp.fsum(map(mp.mpf, w))
        return [bures.barycentre(ms, [mp.mpf(x) / total for x in w], digits=25)]

    (mean,) = solve(*map(exact, matrices))
    variance = mp.fsum(mp.mpf(x) * bures.squared_distance(mean, exact(m)) for x, m in zip(w, matrices)) / mp.fsum(map(mp.mpf, w))
    if closed is not None:
        close(back(mean), closed, 1e-9, name)
    source = "mpmath"
    if pot:
        _, other = ot.gaussian.bures_wasserstein_barycenter(np.zeros((n, d)), matrices, w, eps=1e-12, num_iter=5000)
        close(other, back(mean), 1e-10, name)
        source = "mpmath, POT"
    print(f"barycentre {name:34s} variance {float(variance):.15g}", flush=True)
    return {"name": name, "n": n, "d": d, "matrices": flat(matrices.reshape(n, -1)), "source": source,
            "weights": None if weights is None else common.flat(w), "barycentre": flat(mean), "variance": float(variance),
            "sensitivity": sensitivity(solve, list(matrices))[0] if sense else None}


def barycentres():
    plan = [(2, 8, 10), (2, 8, 1e4), (2, 8, 1e12), (3, 8, 100), (3, 6, 1e4), (3, 5, 1e8), (3, 4, 1e12), (5, 6, 10), (5, 6, 1e4)]
    for case, (d, n, condition) in enumerate(plan):
        rng = np.random.default_rng([4, case])
        matrices = [rng.uniform(0.5, 2) * spd(d, condition, rng) for _ in range(n)]
        weights = None if case % 2 else rng.dirichlet(np.ones(n))
        name = f"d {d}, condition {condition:g}{'' if weights is None else ', weights'}"
        yield barycentre(name, matrices, weights, pot=condition <= 1e4)
    rng = np.random.default_rng([4, 100])
    deviations, q, weights = rng.uniform(0.1, 3, (7, 4)), rotation(4, rng), rng.dirichlet(np.ones(7))
    matrices = [(q * s**2) @ q.T for s in deviations]
    yield barycentre("d 4, commuting, weights", [(m + m.T) / 2 for m in matrices], weights,
                     closed=(q * (weights @ deviations) ** 2) @ q.T)
    yield barycentre("d 1, weights", [[[4]], [[9]], [[16]]], [0.5, 0.25, 0.25], closed=[[2.75**2]])
    # One direction common to all, at the edge of the cone.
    for small in (1e-8, 1e-12):
        scale = np.diag([1, 1, np.sqrt(small)])
        yield barycentre(f"d 3, a common direction of {small:g}", [scale @ spd(3, 10, rng) @ scale for _ in range(5)], pot=False)
    for a, b in ((1, 0.1), (1.5, 0.5)):
        circle = [ellipse(a, b, i * np.pi / 12) for i in range(12)]
        yield barycentre(f"circle {a}, {b}", circle, closed=((a + b) / 2) ** 2 * np.eye(2))
    two = [np.diag([0.3, 0.9, 0.1, 0.95, 0.005]), np.diag([0.31, 0.85, 0.11, 0.92, 0.0054])]
    yield barycentre("O23 diagonal", two, [0.56, 0.44],
                     closed=np.diag([0.3043798019, 0.8778239641, 0.1043413, 0.9367407021, 0.0051741039]))
    three = [[[2, 0.5], [0.5, 1]], [[1, -0.3], [-0.3, 3]], [[4, 0], [0, 0.25]]]
    yield barycentre("O23 weights", three, [0.7, 0.2, 0.1], closed=[[1.9139141687, 0.3214304813], [0.3214304813, 1.1833987987]])
    yield barycentre("O23 uniform", three, closed=[[2.1494853238, 0.0884698710], [0.0884698710, 1.1393717388]])
    m = np.array([[9e-5, 4e-6, 6e-6], [4e-6, 7e-5, 0], [6e-6, 0, 9e-5]])
    yield barycentre("O24", [m, 1.5 * m, 0.7 * m], pot=False)


# ---- projections on a line ----
def projection(name, a, k, sigma, points=4001):
    """All local minima of the squared distance on the whole interval, refined in mpmath; None if another case is wanted."""
    e = np.linalg.eigvalsh(k)
    bound = (np.linalg.norm(a) + np.sqrt(np.trace(sigma))) / np.linalg.norm(k @ a) * 2
    low = -1 / e[-1] if e[-1] > 1e-12 else -np.inf
    high = -1 / e[0] if e[0] < -1e-12 else np.inf
    left, right = max(low, -bound), min(high, bound)
    times = left + (right - left) * (1 - np.cos(np.linspace(0, np.pi, points))) / 2
    values = distances(a, k @ a, sigma, times)
    padded = np.pad(values, 1, constant_values=np.inf)
    at = np.flatnonzero((values < padded[:-2]) & (values < padded[2:]))
    x, y, s = exact(a), exact(k) * exact(a), exact(sigma)
    ends = bures.interval(exact(k))
    root = bures.root(s)

    def value(t):
        m = x + t * y
        return bures.squared_distance(bures.sym(m * m.T), s)

    def slope(t):
        """Half the derivative, 1 / 2 d/dt BW^2 = <A + tX - L Q, X>."""
        m = x + t * y
        b = root * m
        q = b * bures.spectral(b.T * b, lambda v: 1 / mp.sqrt(abs(v)))
        return bures.dot(m - root * q, y)

    minima = []
    for p in at:
        if p == 0 and low == left:
            t = ends[0]
        elif p == points - 1 and high == right:
            t = ends[1]
        else:
            t = mp.findroot(slope, (mp.mpf(times[p - 1]), mp.mpf(times[p + 1])), solver="anderson", tol=1e-60, maxsteps=200)
        minima.append((t, value(t)))
    assert minima
    time, cost = min(minima, key=lambda m: m[1])
    assert float(cost) <= values.min() * (1 + 1e-9) + 1e-13 * np.trace(sigma)
    where = "left" if time == ends[0] else "right" if time == ends[1] else "inside"
    return {"name": name, "d": len(a), "a": flat(a), "k": flat(k), "sigma": flat(sigma),
            "interval": [None if v is None else float(v) for v in ends], "time": float(time), "cost": float(cost),
            "at": where, "minima": [[float(t), float(v)] for t, v in minima]}


def distances(a, x, sigma, times):
    m = a + times[:, None, None] * x
    s = np.linalg.svd(geodesics.root(sigma) @ m, compute_uv=False)
    return (m**2).sum((1, 2)) + np.trace(sigma) - 2 * s.sum(1)


def projections():
    """Random lines near the boundary of the cone, two of each kind and dimension."""
    for d in (2, 3, 5):
        wanted = {(where, two): 2 for where in ("inside", "left", "right") for two in (False, True)}
        for case in range(4000):
            rng = np.random.default_rng([5, d, case])
            q = rotation(d, rng)
            a = geodesics.root(turned(10 ** rng.uniform(-2, 0.5, d), rng))
            k = (q * rng.normal(size=d)) @ q.T
            k, sigma = (k + k.T) / 2, turned(10 ** rng.uniform(-4, 1, d), rng)
            # The kind by a coarse scan first.
            e = np.linalg.eigvalsh(k)
            if not e[0] < 0 < e[-1]:
                continue
            times = -1 / e[-1] + (1 / e[-1] - 1 / e[0]) * (1 - np.cos(np.linspace(0, np.pi, 301))) / 2
            v = distances(a, k @ a, sigma, times)
            p = np.pad(v, 1, constant_values=np.inf)
            local = np.flatnonzero((v < p[:-2]) & (v < p[2:]))
            best = v.argmin()
            kind = ("left" if best == 0 else "right" if best == 300 else "inside", len(local) > 1)
            if wanted.get(kind, 0):
                out = projection(f"d {d}, {kind[0]}, {len(local)} minima", a, k, sigma)
                if (out["at"], len(out["minima"]) > 1) == kind:
                    wanted[kind] -= 1
                    yield out
        print(f"projections d {d}, kinds not found: {[k for k, v in wanted.items() if v]}", flush=True)
        rng = np.random.default_rng([5, d])
        a, sigma = geodesics.root(spd(d, 20, rng)), spd(d, 50, rng)
        k = turned(np.arange(1.0, d + 1), rng)
        yield projection(f"d {d}, K positive definite", a, k, 0.1 * sigma)
        yield projection(f"d {d}, K negative definite", a, -k, 0.1 * sigma)
        yield projection(f"d {d}, K of rank one", a, np.diag([1.0] + [0] * (d - 1)), sigma)
        yield projection(f"d {d}, on the line", a, k, back(bures.sym((exact(a) + exact(k) * exact(a) / 4) * (exact(a) + exact(k) * exact(a) / 4).T)))


# ---- components with closed forms ----
def plane_pca(name, deviations, means=None, turn=None, check=True):
    """Commuting covariances: linear PCA of (means, standard deviations)."""
    n, d = deviations.shape
    q = np.eye(d) if turn is None else turn
    covariances = (q * deviations[:, None] ** 2) @ q.T
    covariances = (covariances + np.swapaxes(covariances, 1, 2)) / 2
    points = deviations if means is None else np.concatenate([means @ q, deviations], axis=1)
    centre = points.mean(0)
    _, s, v = np.linalg.svd(points - centre, full_matrices=False)
    scores = (points - centre) @ v.T
    k = int((s > 1e-12 * s[0]).sum())
    onto = centre[-d:] + scores[:, :k, None] * v[:k, -d:]
    assert onto.min() > 0, f"{name}: a projection leaves the cone"
    total = (s**2).sum()
    costs = np.array([(s[np.arange(len(s)) != i][: k - 1] ** 2).sum() for i in range(k)])  # no rounding where it is 0
    if check:
        data = geodesics.Data(covariances, means)
        cost, line, times, _ = geodesics.first_component(data, 1, 24)
        assert abs(cost - costs[0]) < 1e-9 * costs[0] + 1e-11 * total, (name, cost, costs)
        if k > 1:
            second, *_ = geodesics.second_component(data, line, times, 1, 24)
            assert abs(second - costs[1]) < 1e-8 * costs[1] + 1e-10 * total, (name, second, costs)
    print(f"linear PCA {name:34s} {costs[:3]}", flush=True)
    return {"name": name, "n": n, "d": d, "covariances": common.flat(covariances), "means": None if means is None else common.flat(means),
            "components": k, "costs": common.flat(costs), "total": float(total), "scores": common.flat(scores[:, :k].T)}


def linear_pca():
    """Costs are sums over the measures. The searches of geodesics.py find nothing lower outside the plane."""
    a, b = np.linspace(1, np.sqrt(3), 5), np.linspace(1, np.sqrt(2), 5)
    out = plane_pca("grid 5 x 5", np.array([(x, y) for x in a for y in b]))
    close(out["costs"], [0.5361652, 1.6746825], 1e-7)
    yield out
    rng = np.random.default_rng([6, 0])
    yield plane_pca("d 2, turned", rng.uniform(1, 2, (9, 2)) * [1, 2], turn=rotation(2, rng))
    yield plane_pca("d 3, turned", rng.uniform(1, 2, (12, 3)) * [1, 1.7, 2.6], turn=rotation(3, rng))
    yield plane_pca("d 5, turned", rng.uniform(1, 2, (12, 5)) * [1, 1.4, 1.8, 2.2, 2.8], turn=rotation(5, rng), check=False)
    yield plane_pca("d 2, means", rng.uniform(1, 2, (10, 2)), rng.normal(size=(10, 2)), turn=rotation(2, rng))
    yield plane_pca("d 3, means", rng.uniform(1, 2, (12, 3)), rng.normal(size=(12, 3)), turn=rotation(3, rng), check=False)
    equal = np.tile(rng.uniform(1, 2, 3), (10, 1))
    yield plane_pca("d 3, equal covariances", equal, rng.normal(size=(10, 3)) * [3, 2, 1], turn=rotation(3, rng))
    yield plane_pca("univariate", rng.uniform(0.5, 1.5, (12, 1)))
    yield plane_pca("univariate, means", rng.uniform(0.8, 1.6, (15, 1)), rng.normal(size=(15, 1)))
    yield plane_pca("O25", np.array([[2.0], [3], [4]]))
    line = np.linspace(0.5, 2.5, 6)[:, None] * [1, 2, 0.5] + [0.1, 0.2, 0.3]
    yield plane_pca("d 3, on one geodesic", line, turn=rotation(3, rng))


def half_plane():
    """A univariate set whose best line leaves sigma >= 0: the cost by brute force over lines of the half plane."""
    for case, slope in enumerate([0.4, 1.0, 3.0]):
        rng = np.random.default_rng([7, case])
        m = rng.uniform(0, 4, 12)
        points = np.stack([m, np.maximum(slope * (m - 2), 0) + rng.uniform(0.01, 0.1, 12)], axis=1)

        def cost(line):
            angle, offset = np.moveaxis(np.asarray(line, float), -1, 0)
            v = np.stack([np.cos(angle), np.sin(angle)], -1)
            foot = offset[..., None] * np.stack([-v[..., 1], v[..., 0]], -1)
            t = np.einsum("ij,...j->...i", points, v)
            # sigma = foot + t sin >= 0
            with np.errstate(divide="ignore", invalid="ignore"):
                end = -(foot[..., 1] / v[..., 1])[..., None]
            clipped = np.where(v[..., 1:] > 0, np.maximum(t, end), np.where(v[..., 1:] < 0, np.minimum(t, end), t))
            r = foot[..., None, :] + clipped[..., None] * v[..., None, :] - points
            return (r**2).sum((-1, -2))

        grid = np.stack(np.meshgrid(np.linspace(1e-6, np.pi - 1e-6, 1501), np.linspace(-5, 5, 1501), indexing="ij"), -1).reshape(-1, 2)
        values = np.concatenate([cost(part) for part in np.array_split(grid, 100)])
        best = min((minimize(cost, grid[i], method="Nelder-Mead", options=dict(xatol=1e-13, fatol=1e-16, maxiter=4000))
                    for i in np.argsort(values)[:5]), key=lambda r: r.fun)
        plain = np.linalg.svd(points - points.mean(0), compute_uv=False)[1] ** 2
        data = geodesics.Data(points[:, 1, None, None] ** 2, points[:, :1])
        value, line, times, _ = geodesics.first_component(data, case, 40)
        clipped = int((np.minimum(np.abs(times - line.low), np.abs(times - line.high)) * line.size < 1e-9).sum())
        close(value, best.fun, 1e-8, "half plane")
        print(f"half plane: {best.fun:.12g}, linear PCA {plain:.6g}, clipped {clipped}", flush=True)
        yield {"name": f"slope {slope}", "n": 12, "d": 1, "covariances": common.flat(points[:, 1] ** 2), "means": common.flat(points[:, 0]),
               "cost": float(best.fun), "unclipped_cost": float(plain), "clipped": clipped}


# ---- components by search ----
def component_set(name, covariances, means=None, starts=48, second=32):
    covariances = np.asarray(covariances, float)
    n, d, _ = covariances.shape
    data = geodesics.Data(covariances, means)
    squares, at_scores, tangent_exact = geodesics.tangent_component(data)
    cost, line, times, all_costs = geodesics.first_component(data, n + d, starts)
    costs, reached = [checked(cost, line, times, covariances, means)], [near(all_costs)]
    clipped = [ends(line, times)]
    if second:
        other, line2, times2, _, all_costs = geodesics.second_component(data, line, times, n + d, second)
        costs.append(checked(other, line2, times2, covariances, means))
        reached.append(near(all_costs))
        clipped.append(ends(line2, times2))
    assert costs[0] <= tangent_exact * (1 + 1e-12)
    print(f"components {name:30s} {costs} reached {reached} clipped {clipped} tangent {tangent_exact:.9g}", flush=True)
    return {"name": name, "n": n, "d": d, "covariances": common.flat(covariances), "means": None if means is None else common.flat(means),
            "costs": costs, "starts": [starts, second], "reached": reached, "clipped": clipped,
            "first": {"a": common.flat(line.a), "k": common.flat(line.k), "mu": common.flat(line.mu), "v": common.flat(line.v),
                      "times": common.flat(times)},
            "tangent": {"squares": common.flat(squares), "linear_cost": float(squares[1:].sum()), "cost_at_scores": float(at_scores),
                        "exact_cost": float(tangent_exact), "unique": bool(squares[0] > squares[1] * (1 + 1e-9))}}


def near(costs):
    return int((np.array(costs) < costs[0] * (1 + 1e-8)).sum())


def ends(line, times):
    return int((np.minimum(np.abs(times - line.low), np.abs(times - line.high)) * line.size < 1e-9).sum())


def checked(cost, line, times, covariances, means):
    """The cost of that line at those times in mpmath: an upper bound of the least cost whatever the search did."""
    total, a, k = mp.mpf(0), exact(line.a), bures.sym(exact(line.k))
    for i, (t, c) in enumerate(zip(times, covariances)):
        m = a + mp.mpf(t) * k * a
        total += bures.squared_distance(bures.sym(m * m.T), exact(c))
        if means is not None:
            total += mp.fsum((mp.mpf(p) + mp.mpf(t) * mp.mpf(v) - mp.mpf(q)) ** 2 for p, v, q in zip(line.mu, line.v, means[i]))
    close(cost, total, 1e-9, "cost")
    return float(total)


def components():
    rng = np.random.default_rng([8, 0])
    yield component_set("Wishart d 2, n 12", wishart(12, 2, rng))
    yield component_set("Wishart d 3, n 10", wishart(10, 3, rng))
    yield component_set("near singular d 3, n 8", [turned(10 ** rng.uniform(-4, 0.3, 3), rng) for _ in range(8)], starts=96)
    yield component_set("Wishart d 5, n 12", wishart(12, 5, rng), starts=24, second=12)
    yield component_set("means d 2, n 10", wishart(10, 2, rng), rng.normal(size=(10, 2)))
    angles = np.linspace(np.pi / 12, np.pi - np.pi / 12, 12)
    yield component_set("open circle r 0.7, n 12", [ellipse(1.7, 0.3, t) for t in angles])
    for b, tangent, most in ((0.1, 3.540155, 2.53700), (0.5, 1.2170996, 1.2152577)):
        out = component_set(f"O34 circle b {b}", [ellipse(1, b, i * np.pi / 20) for i in range(20)], starts=96, second=0)
        close(out["tangent"]["cost_at_scores"], tangent, 1e-6)
        assert out["costs"][0] <= most * (1 + 1e-6)
        yield out


def main():
    about = (
        "Bures-Wasserstein geometry (no 1/2 in the squared distance) and geodesic components of Gaussians. Matrices are flat, "
        "row-major, d*d; sets n*d*d, means n*d (null: none). pairs: log is the tangent vector T a + a T - 2 a, midpoint is at "
        "t = 1/2 of the geodesic from a to b, interval that of (I + t(T - I)) a (I + t(T - I)), null for no bound. projections: "
        "of sigma on (I + tk) a over the closed interval; minima: all local ones as [time, squared distance]. linear_pca: cost of each "
        "component alone, summed over the measures; scores component after component, signs free. components: costs are upper "
        "bounds of components 1 and 2, reached: how many starts came to it, clipped: how many times at an end; first: (I + tk) a, mu + tv and the times; tangent: "
        "squares: sums of squared scores at the barycentre, costs of the first component (where it is unique)."
    )
    subjects = (pairs, curvatures, linearised, barycentres, projections, linear_pca, half_plane, components)
    content = {subject.__name__: list(subject()) for subject in subjects}
    common.write("gaussian.json", about, PACKAGES, **content)


if __name__ == "__main__":
    main()
