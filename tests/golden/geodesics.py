"""Geodesic components by SciPy, as upper bounds of the least cost: the search of gaussian.py.

Unlike the crate, which eliminates the times and differentiates an eigenvalue where one is clipped, this takes the geodesic
as a segment (I + tK) A, t in [-1, 1], with -I <= K <= I (K = sin S, S symmetric), and minimises over A, S and all times t_i
in [-1, 1] at once. Every segment with an invertible middle is of that kind. A second component has instead of A the time t*
at which it leaves the first and the time u in [-1, 1] of its own segment at which it does so:
(I + uK) A = A_1 + t* X_1. What is reported is the cost by a scan of the whole interval of the geodesic found.

With means, a geodesic has a linear part mu + t v beside the matrices, and W2^2 = |m_1 - m_2|^2 + BW^2.
"""
import numpy as np
from scipy.optimize import minimize


def sym(m):
    return (m + np.swapaxes(m, -1, -2)) / 2


def root(m):
    e, q = np.linalg.eigh(m)
    return (q * np.sqrt(np.maximum(e, 0))[..., None, :]) @ np.swapaxes(q, -1, -2)


def polar(m):
    u, _, v = np.linalg.svd(m)
    return u @ v


def barycentre(roots, tolerance=1e-14):
    """A with A A^T the mean, by A <- mean of L_i polar(L_i^T A)."""
    a = root((roots @ roots).mean(0))
    for _ in range(5000):
        new = (roots @ polar(roots @ a)).mean(0)
        if np.linalg.norm(new - a) < tolerance * np.linalg.norm(a):
            return new
        a = new
    raise ArithmeticError("no barycentre")


class Data:
    def __init__(self, covariances, means=None):
        n, self.d, _ = covariances.shape
        self.means = np.zeros((n, 0)) if means is None else means
        self.n, self.roots = n, root(covariances)
        self.traces = np.trace(covariances, axis1=1, axis2=2)


class Line:
    """t -> (mu + t v, (I + tK) A)."""

    def __init__(self, a, k, mu, v):
        self.a, self.k, self.mu, self.v = a, k, mu, v
        self.x = k @ a
        e = np.linalg.eigvalsh(k)
        size = np.abs(e).max()
        self.low = -1 / e[-1] if e[-1] > 1e-14 * size else -np.inf
        self.high = -1 / e[0] if e[0] < -1e-14 * size else np.inf
        self.size = np.sqrt((self.x**2).sum() + v @ v)

    def at(self, t):
        return Line(self.a + t * self.x, self.k @ np.linalg.inv(np.eye(len(self.a)) + t * self.k), self.mu + t * self.v, self.v)


def residuals(data, line, times):
    """Rows of the squared distance to the data at times (n, m), and half its derivative."""
    at = line.a + times[..., None, None] * line.x
    q = polar(data.roots[:, None] @ at)
    r = at - data.roots[:, None] @ q
    s = line.mu + times[..., None] * line.v - data.means[:, None]
    return (r**2).sum((-1, -2)) + (s**2).sum(-1), (r * line.x).sum((-1, -2)) + s @ line.v


def project(data, line, points=201):
    """Times and squared distances of the nearest points: a scan of the interval, then golden sections about its two lowest
    places."""
    x2 = line.size**2
    # |f'| <= |L| |X| bounds every minimum.
    at = (line.a * line.x).sum() + (line.mu - data.means) @ line.v
    reach = np.sqrt(data.traces) * np.sqrt((line.x**2).sum())
    low, high = np.maximum((-at - reach) / x2, line.low), np.minimum((-at + reach) / x2, line.high)
    low, high = np.minimum(low, line.high), np.maximum(high, line.low)
    grid = (1 - np.cos(np.linspace(0, np.pi, points))) / 2
    times = low[:, None] + (high - low)[:, None] * grid
    values, _ = residuals(data, line, times)
    padded = np.pad(values, ((0, 0), (1, 1)), constant_values=np.inf)
    local = np.where((values <= padded[:, :-2]) & (values <= padded[:, 2:]), values, np.inf)
    best = np.argsort(local, axis=1)[:, :2]
    rows = np.arange(data.n)[:, None]
    best = np.where(np.isfinite(local[rows, best]), best, best[:, :1])
    a, b = times[rows, np.maximum(best - 1, 0)], times[rows, np.minimum(best + 1, points - 1)]
    for _ in range(45):  # bisection of the derivative, which rises through a local minimum
        middle = (a + b) / 2
        _, slope = residuals(data, line, middle)
        a, b = np.where(slope < 0, middle, a), np.where(slope < 0, b, middle)
    ends = np.concatenate([times[rows, best], (a + b) / 2], axis=1)
    values, _ = residuals(data, line, ends)
    k = values.argmin(1)
    return ends[rows[:, 0], k], values[rows[:, 0], k]


class Segment:
    """Variables (A, S, mu, v, t), or (t*, u, S, v, t) if there is a first component, packed."""

    def __init__(self, data, first=None):
        self.data, self.first = data, first
        d, p = data.d, data.means.shape[1]
        self.upper = np.triu_indices(d)
        shapes = [2 if first else d * d, len(self.upper[0]), 0 if first else p, p, data.n]
        self.ends = np.cumsum(shapes)[:-1]

    def pack(self, line, times, star=None):
        """The segment of the line that covers the times with room beside them, and the times on it. `star`: the time of the
        first component at which the line has its time 0."""
        low, high = times.min(), times.max()
        if self.first:
            low, high = min(low, 0), max(high, 0)
        room = 0.2 * (high - low) + 1e-6
        low, high = max(low - room, line.low), min(high + room, line.high)
        t, half = (low + high) / 2, (high - low) / 2
        middle = line.at(t)
        times = (times - t) / half
        head = [star, -t / half] if self.first else middle.a.ravel()
        e, q = np.linalg.eigh(sym(middle.k) * half)
        s = (q * np.arcsin(np.clip(e, -1, 1))) @ q.T
        mu = [] if self.first else middle.mu
        return np.concatenate([head, s[self.upper], mu, middle.v * half, np.clip(times, -1, 1)])

    def unpack(self, z):
        d, data = self.data.d, self.data
        head, s, mu, v, t = np.split(z, self.ends)
        full = np.zeros((d, d))
        full[self.upper] = s
        full = full + full.T - np.diag(np.diag(full))
        e, q = np.linalg.eigh(full)
        k = (q * np.sin(e)) @ q.T
        if self.first:
            star, u = head
            a = np.linalg.solve(np.eye(d) + u * k, self.first.a + star * self.first.x)
            mu = self.first.mu + star * self.first.v - u * v
        else:
            u, a = None, head.reshape(d, d)
        return a, k, mu, v, t, u, e, q

    def line(self, z):
        a, k, mu, v, *_ = self.unpack(z)
        return Line(a, k, mu, v)

    def gradient(self, z, ga, gk, gmu, gv, gt):
        """From derivatives by A, K, mu, v, t to those by the variables; K = sin S by divided differences (Daleckii, Krein)."""
        a, k, mu, v, t, u, e, q = self.unpack(z)
        if self.first:
            ga = np.linalg.solve(np.eye(len(a)) + u * k, ga)
            gk = gk - u * ga @ a.T
            head = [(ga * self.first.x).sum() + gmu @ self.first.v, -(ga * (k @ a)).sum() - gmu @ v]
            gv, gmu = gv - u * gmu, []
        else:
            head = ga.ravel()
        difference = e[:, None] - e[None]
        close = np.abs(difference) < 1e-7
        divided = np.where(close, np.cos((e[:, None] + e[None]) / 2), (np.sin(e)[:, None] - np.sin(e)[None]) / np.where(close, 1, difference))
        gs = q @ ((q.T @ sym(gk) @ q) * divided) @ q.T
        gs = (2 * gs - np.diag(np.diag(gs)))[self.upper]
        return np.concatenate([head, gs, gmu, gv, gt])

    def cost(self, z):
        a, k, mu, v, t, *_ = self.unpack(z)
        data, x = self.data, k @ a
        at = a + t[:, None, None] * x
        r = at - data.roots @ polar(data.roots @ at)
        s = mu + t[:, None] * v - data.means
        tr = np.tensordot(t, r, 1)
        gt = 2 * (r * x).sum((1, 2)) + 2 * s @ v
        gradient = self.gradient(z, 2 * r.sum(0) + 2 * k @ tr, 2 * tr @ a.T, 2 * s.sum(0), 2 * t @ s, gt)
        return (r**2).sum() + (s**2).sum(), gradient

    def orthogonality(self, z):
        """Its first factor is the direction of the first component: A and A_1 + t* X_1 lie on one line, X is the same on it."""
        a, k, mu, v, t, *_ = self.unpack(z)
        old = self.first
        value = (old.x * (k @ a)).sum() + old.v @ v
        gradient = self.gradient(z, k @ old.x, old.x @ a.T, np.zeros_like(v), old.v, np.zeros(self.data.n))
        return value / old.size, gradient / old.size


def first_component(data, seed, starts):
    """(cost, line, times, costs of all starts)."""
    rng, found = np.random.default_rng(seed), []
    problem, mean, middle = Segment(data), barycentre(data.roots), data.means.mean(0)
    bounds = [(None, None)] * problem.ends[-1] + [(-1, 1)] * data.n
    for start in range(starts):
        if start % 2:  # through two of the measures
            i, j = rng.choice(data.n, 2, replace=False)
            a = data.roots[i]
            other = data.roots[j] @ polar(data.roots[j] @ a)
            k, mu, v = (other - a) @ np.linalg.inv(a), data.means[i], data.means[j] - data.means[i]
        else:
            a, k, mu = mean, rng.normal(size=(data.d,) * 2), middle
            v = rng.normal(size=mu.size) * np.linalg.norm(sym(k) @ a)
        line, last = Line(a, sym(k), mu, v), np.inf
        for _ in range(30):
            times, values = project(data, line)
            if not values.sum() < last * (1 - 1e-11):
                break
            last, best = values.sum(), (line, times)
            out = minimize(problem.cost, problem.pack(line, times), jac=True, method="L-BFGS-B", bounds=bounds,
                           options=dict(maxcor=30, maxiter=3000, maxfun=6000, ftol=1e-16, gtol=1e-11))
            line = problem.line(out.x)
        found.append((last, *best))
    found.sort(key=lambda f: f[0])
    return (*found[0], [f[0] for f in found])


def second_component(data, first, times, seed, starts):
    """The least cost of a geodesic that meets the first at right angles, by SLSQP with exact derivatives."""
    rng, found = np.random.default_rng(seed), []
    problem = Segment(data, first)
    spread = np.ptp(times)
    low, high = max(first.low, times.min() - spread), min(first.high, times.max() + spread)
    low, high = low + 1e-6 * (high - low), high - 1e-6 * (high - low)
    bounds = [(low, high), (-1, 1)] + [(None, None)] * (problem.ends[-1] - 2) + [(-1, 1)] * data.n
    constraint = dict(type="eq", fun=lambda z: problem.orthogonality(z)[0], jac=lambda z: problem.orthogonality(z)[1])

    def right(t, k, v):
        """The line at t of the first with K, v turned at right angles to it."""
        base = first.at(t)
        c, x = sym(first.x @ base.a.T), first.v
        for _ in range(2):
            scale = ((k * c).sum() + v @ x) / ((c * c).sum() + x @ x)
            k, v = k - scale * c, v - scale * x
        return Line(base.a, k, base.mu, v)

    for start in range(starts):
        t = rng.uniform(low, high)
        k = sym(rng.normal(size=(data.d,) * 2))
        line = right(t, k, rng.normal(size=first.v.size) * np.linalg.norm(k @ first.a))
        last, best = np.inf, None
        for _ in range(10):
            at, values = project(data, line)
            if not values.sum() < last * (1 - 1e-11):
                break
            last, best = values.sum(), (line, at, t)
            out = minimize(problem.cost, problem.pack(line, at, t), jac=True, method="SLSQP",
                           bounds=bounds, constraints=[constraint], options=dict(maxiter=500, ftol=1e-15))
            t = float(np.clip(out.x[0], low, high))
            line = problem.line(out.x).at(out.x[1])
            line = right(t, line.k, line.v)
        found.append((last, *best))
    found.sort(key=lambda f: f[0])
    return (*found[0], [f[0] for f in found])


def tangent_component(data):
    """Sums of squares of the tangent components at the barycentre, largest first; squared distances to the geodesic of the
    first, summed: at its scores, and by exact projection."""
    a = barycentre(data.roots)
    fields = np.concatenate([(data.roots @ polar(data.roots @ a) - a).reshape(data.n, -1), data.means - data.means.mean(0)], axis=1)
    u, s, v = np.linalg.svd(fields, full_matrices=False)
    x = v[0, : data.d**2].reshape(data.d, data.d)
    line = Line(a, sym(x @ np.linalg.inv(a)), data.means.mean(0), v[0, data.d**2 :])
    scores = fields @ v[0]
    return s**2, residuals(data, line, scores[:, None])[0].sum(), project(data, line)[1].sum()
