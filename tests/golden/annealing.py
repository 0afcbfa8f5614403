"""Golden values of entropic transport at a small eps, where a plain start does not arrive: writes annealing.json.

Cost |x - y|^2 (no 1/2); OT_eps = min_P <P, C> + eps KL(P | a b^T), uniform weights.

OT_eps: stabilised Sinkhorn with over-relaxation, eps halved step by step from the largest cost down, the last one to
a marginal error of 1e-7. The dual value there, and the cost of the plan rounded to the marginals (Altschuler, Weed,
Rigollet), enclose OT_eps; the script stops if they differ by more than 1e-6 of it. W_2^2: POT"s network simplex.

Points are rounded to three decimals, so that the file is short and holds them exactly.
Made with python 3.11, numpy 2.4.6, scipy 1.17.1, POT 0.9.7.post1; float64.
Seeds: stretched numpy default_rng(11), clusters default_rng(5).
Run: python annealing.py
"""
import numpy as np
import ot
from scipy.special import logsumexp

import common

OMEGA = 1.7


def cost(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def rows(c, g, eps):
    return -eps * (logsumexp((g - c) / eps, axis=1) - np.log(c.shape[1]))


def marginal_error(c, f, g, eps):
    n, m = c.shape
    plan = np.exp((f[:, None] + g - c) / eps) / (n * m)
    return plan, np.abs(plan.sum(0) - 1 / m).sum()


def solve(c, g, eps, tolerance, most):
    """g at which the columns are right to the tolerance after exact rows, and the iterations."""
    n, m = c.shape
    for count in range(0, most, 200):
        f = rows(c, g, eps)
        kernel, error = marginal_error(c, f, g, eps)
        if error < tolerance:
            break
        kernel *= n * m
        u, v = np.ones(n), np.ones(m)
        for k in range(200):
            omega = 1.0 if k < 2 else OMEGA
            u *= (m / (kernel @ v) / u) ** omega
            v *= (n / (u @ kernel) / v) ** omega
            # Absorbed before it leaves the range.
            if max(np.abs(np.log(u)).max(), np.abs(np.log(v)).max()) > 50:
                break
        g = g + eps * np.log(v)
    return g, count


def entropic(x, y, eps):
    """A value between the dual one and the cost of a feasible plan."""
    c = cost(x, y)
    n, m = c.shape
    g, at, count = np.zeros(m), c.max(), 0
    while at > eps:
        g, more = solve(c, g, at, 1e-4, 4000)
        at, count = at / 2, count + more
    g, more = solve(c, g, eps, 1e-7, 400000)
    count += more
    f = rows(c, g, eps)
    plan, error = marginal_error(c, f, g, eps)
    dual = f.mean() + g.mean() - eps * (plan.sum() - 1)
    # Scaled down to the marginals, and the rest spread as a product.
    plan *= np.minimum(1, (1 / n) / plan.sum(1))[:, None]
    plan *= np.minimum(1, (1 / m) / plan.sum(0))
    r, s = 1 / n - plan.sum(1), 1 / m - plan.sum(0)
    if r.sum() > 0:
        plan += np.outer(r, s) / r.sum()
    positive = plan > 0
    entropy = (plan[positive] * np.log(plan[positive] * n * m)).sum()
    primal = (plan * c).sum() + eps * entropy
    print(f"eps {eps:.3e}: {count} iterations, error {error:.1e}, {dual:.9f} to {primal:.9f}", flush=True)
    assert abs(primal - dual) < 1e-6 * abs(dual)
    return float(dual)


def case(name, x, y, eps):
    n, m = len(x), len(y)
    exact = ot.emd2(np.full(n, 1 / n), np.full(m, 1 / m), cost(x, y), numItermax=10_000_000)
    return {"name": name, "epsilon": eps, "ot_xy": entropic(x, y, eps), "w2_squared": float(exact)}


def main():
    cases, clouds = [], {}
    r = np.random.default_rng(11)
    x = np.round(r.normal(size=(300, 3)) * [5, 5, 1], 3)
    y = np.round(r.normal(size=(300, 3)) * [5, 5, 2] + [1, 2, 0], 3)
    clouds["stretched"] = {"d": 3, "x": common.flat(x), "y": common.flat(y)}
    cases.append({**case("stretched", x, y, 1e-3), "cloud": "stretched"})

    r = np.random.default_rng(5)
    sets = []
    for share in (0.3, 0.38, 0.46, 0.54, 0.62, 0.7):
        k = round(600 * share)
        sets.append(np.round(np.vstack([r.normal(size=(k, 2)), r.normal(size=(600 - k, 2)) + [30, 0]]), 3))
    x, y = sets[0], sets[-1]
    clouds["clusters"] = {"d": 2, "x": common.flat(x), "y": common.flat(y)}
    mean_square = float(2 * y.var(0).sum())
    for scale in (1e-2, 1e-3, 1e-4):
        cases.append({**case(f"clusters {scale:g}", x, y, scale * mean_square), "cloud": "clusters"})
    about = "clouds: x and y row-major n x d, uniform weights; ot_xy = OT_eps(x, y), w2_squared the exact transport cost"
    common.write("annealing.json", about, ["numpy", "scipy", "POT"], clouds=clouds, cases=cases)


if __name__ == "__main__":
    main()
