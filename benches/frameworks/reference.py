"""A Sinkhorn divergence's gradient in float64 by plain alternating updates with over-relaxation on an absorbed kernel, to a
marginal error of 1e-8: no code in common with anything that is compared."""
import numpy as np


def log_sum_exp(a, axis):
    top = a.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.exp(a - top).sum(axis=axis))


def plan(x, y, epsilon, tolerance=1e-8, most=100_000):
    """P between uniform clouds with sum 1."""
    n, m = len(x), len(y)
    cost = (x**2).sum(1)[:, None] + (y**2).sum(1)[None, :] - 2 * x @ y.T
    g = np.zeros(m)
    for _ in range(20):
        f = np.log(1 / n) - log_sum_exp(g[None, :] - cost / epsilon, 1)
        g = np.log(1 / m) - log_sum_exp(f[:, None] - cost / epsilon, 0)
    relaxation = 1.0
    while most > 0:
        kernel = np.exp(f[:, None] + g[None, :] - cost / epsilon)
        u, v = np.ones(n), np.ones(m)
        for k in range(500):
            most -= 1
            u = u ** (1 - relaxation) * (1 / n / (kernel @ v)) ** relaxation
            columns = v * (kernel.T @ u)
            error = np.abs(columns - 1 / m).sum() + np.abs(u * (kernel @ v) - 1 / n).sum()
            v = v ** (1 - relaxation) * (v / m / columns) ** relaxation
            if error < tolerance:
                return u[:, None] * kernel * v[None, :]
            if not np.isfinite(error) or max(np.abs(np.log(u)).max(), np.abs(np.log(v)).max()) > 200:
                break
        if not np.isfinite(error):
            raise RuntimeError("the reference diverged")
        f, g = f + np.log(u), g + np.log(v)
        relaxation = 1.7
    raise RuntimeError(f"the reference stopped at a marginal error of {error:.1e}")


def own_plan(x, epsilon, tolerance=1e-8):
    """P between a cloud and itself, by averaged updates of one scaling."""
    n = len(x)
    cost = (x**2).sum(1)[:, None] + (x**2).sum(1)[None, :] - 2 * x @ x.T
    kernel, u = np.exp(-cost / epsilon), np.full(n, 1 / np.sqrt(n))
    for _ in range(10_000):
        rows = u * (kernel @ u)
        if np.abs(rows - 1 / n).sum() < tolerance:
            return u[:, None] * kernel * u[None, :]
        u = u * np.sqrt(1 / n / rows)
    raise RuntimeError("the reference of a cloud and itself did not converge")


def gradient(x, y, epsilon):
    p, q = plan(x, y, epsilon), own_plan(x, epsilon)
    return 2 * (p.sum(1)[:, None] * x - p @ y) - 2 * (q.sum(1)[:, None] * x - q @ x)
