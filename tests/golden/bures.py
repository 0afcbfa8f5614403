"""Bures-Wasserstein geometry in mpmath at 60 digits (differences at 120), by eigen-decompositions: the reference of gaussian.py.

Matrices are mpmath matrices; those that come from NumPy are taken as the exact numbers their floats are. Every
root is Sigma^{1/2}, so nothing here shares a formula with the factored forms that the crate uses.
"""
import mpmath as mp
import numpy as np

mp.mp.dps = 60


def exact(array):
    """An mpmath matrix with the values of a NumPy array."""
    return mp.matrix(np.atleast_2d(array).tolist())


def sym(m):
    return (m + m.T) / 2


def trace(m):
    return mp.fsum(m[i, i] for i in range(m.rows))


def dot(a, b):
    """tr(a b^T)."""
    return mp.fsum(a[i, j] * b[i, j] for i in range(a.rows) for j in range(a.cols))


def norm(a):
    return mp.sqrt(dot(a, a))


def spectral(m, f):
    """f of a symmetric matrix, through its eigenvalues."""
    e, q = mp.eigsy(sym(m))
    return q * mp.diag([f(x) for x in e]) * q.T


def root(m):
    return spectral(m, lambda x: mp.sqrt(max(x, 0)))


def monge_map(a, b):
    """T symmetric positive definite with T a T = b: a^{-1/2} (a^{1/2} b a^{1/2})^{1/2} a^{-1/2}."""
    r = root(a)
    inverse = r**-1
    return sym(inverse * root(r * b * r) * inverse)


def squared_distance(a, b):
    """tr a + tr b - 2 tr (a^{1/2} b a^{1/2})^{1/2}."""
    r = root(a)
    e = mp.eigsy(sym(r * b * r), eigvals_only=True)
    return trace(a) + trace(b) - 2 * mp.fsum(mp.sqrt(max(x, 0)) for x in e)


def log(a, b):
    """The tangent vector at a towards b: T a + a T - 2 a."""
    t = monge_map(a, b)
    return t * a + a * t - 2 * a


def lyapunov(a, u):
    """K symmetric with K a + a K = u."""
    e, q = mp.eigsy(a)
    v = q.T * u * q
    n = a.rows
    return sym(q * mp.matrix([[v[i, j] / (e[i] + e[j]) for j in range(n)] for i in range(n)]) * q.T)


def exp(a, u):
    """(I + K) a (I + K), K a + a K = u."""
    k = mp.eye(a.rows) + lyapunov(a, u)
    return sym(k * a * k)


def inner(a, u, v):
    """Half the sum of U_ij V_ij / (d_i + d_j) in the eigenbasis of a (paper, appendix B)."""
    e, q = mp.eigsy(a)
    u, v = q.T * u * q, q.T * v * q
    n = a.rows
    return mp.fsum(u[i, j] * v[i, j] / (e[i] + e[j]) for i in range(n) for j in range(n)) / 2


def interval(k):
    """The times at which I + t k is positive semi-definite; None for no bound."""
    e = mp.eigsy(k, eigvals_only=True)
    low, high = min(e), max(e)
    return (-1 / high if high > 0 else None), (-1 / low if low < 0 else None)


def extrapolate(f, step, levels):
    """The limit at 0 of an even f, by Richardson: the error terms s^2, s^4, ... are removed one after another."""
    row = [f(step / 2**k) for k in range(levels)]
    for order in range(1, levels):
        row = [(4**order * row[k + 1] - row[k]) / (4**order - 1) for k in range(len(row) - 1)]
    return row[0]


@mp.workdps(120)
def sectional_curvature(a, u, v):
    """From distances alone: d(exp sU, exp sV)^2 = s^2 |U - V|^2 - s^4 R(U,V,V,U) / 3 + ..."""
    w = u - v
    flat = inner(a, w, w)

    def defect(s):
        both = [squared_distance(exp(a, t * u), exp(a, t * v)) / t**2 for t in (s, -s)]
        return (flat - mp.fsum(both) / 2) * 3 / s**2

    size = mp.sqrt(max(inner(a, u, u), inner(a, v, v)))
    least = mp.sqrt(min(mp.eigsy(a, eigvals_only=True)))
    area = inner(a, u, u) * inner(a, v, v) - inner(a, u, v) ** 2
    return extrapolate(defect, mp.mpf(10) ** -8 * least / size, 5) / area


@mp.workdps(120)
def linearised_distance(base, a, b):
    """From distances alone: d(exp s log a, exp s log b) / s as s tends to 0."""
    u, v = log(base, a), log(base, b)

    def value(s):
        return mp.fsum(squared_distance(exp(base, t * u), exp(base, t * v)) / t**2 for t in (s, -s)) / 2

    size = mp.sqrt(max(inner(base, u, u), inner(base, v, v)))
    least = mp.sqrt(min(mp.eigsy(base, eigvals_only=True)))
    return mp.sqrt(extrapolate(value, mp.mpf(10) ** -8 * least / size, 5))


def barycentre(matrices, weights, digits=40):
    """The mean, where sum w_i T_i = I. A few steps of the fixed point S <- S^{-1/2} (sum w_i (S^{1/2} C_i S^{1/2})^{1/2})^2 S^{-1/2},
    then Newton on S <- (I + K) S (I + K) with K small and a derivative by differences."""
    d = matrices[0].rows
    s = mp.zeros(d)
    for c, w in zip(matrices, weights):
        s += w * c
    for _ in range(30):
        r = root(s)
        inverse = r**-1
        total = mp.zeros(d)
        for c, w in zip(matrices, weights):
            total += w * root(r * c * r)
        s = sym(inverse * total * total * inverse)
    pairs = [(i, j) for i in range(d) for j in range(i + 1)]

    def defect(s):
        total = -mp.eye(d)
        for c, w in zip(matrices, weights):
            total += w * monge_map(s, c)
        return total

    def moved(s, k):
        k = mp.eye(d) + k
        return sym(k * s * k)

    for _ in range(200):
        now = defect(s)
        if norm(now) < mp.mpf(10) ** -digits:
            return s
        if norm(now) > 0.05:  # far away: the fixed point again, in its form by maps
            s = moved(s, now)
            continue
        h = mp.mpf(10) ** -25
        columns = []
        for i, j in pairs:
            e = mp.zeros(d)
            e[i, j] = e[j, i] = h
            change = (defect(moved(s, e)) - now) / h
            columns.append([change[p, q] for p, q in pairs])
        step = mp.lu_solve(mp.matrix(columns).T, mp.matrix([-now[p, q] for p, q in pairs]))
        k = mp.zeros(d)
        for (i, j), x in zip(pairs, step):
            k[i, j] = k[j, i] = x
        s = moved(s, k)
    raise ArithmeticError(f"the barycentre stopped at {mp.nstr(norm(now), 3)}")
