"""Golden values of entropic transport at a small eps, where a plain start does not arrive: writes annealing.json.

Cost |x - y|^2 (no 1/2); OT_eps = min_P <P, C> + eps KL(P | a b^T), uniform weights.

OT_eps: log-domain Sinkhorn with over-relaxation, eps halved step by step from the largest cost down, the last one to
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


def marginal_error(c, f, g, eps):
    n, m = c.shape
    plan = np.exp((f[:, None] + g - c) / eps) / (n * m)
    return plan, np.abs(plan.sum(0) - 1 / m).sum()


def entropic(x, y, eps):
    """(dual value, cost of a feasible plan, iterations)."""
    c = cost(x, y)
    n, m = c.shape
    f, g, at, count = np.zeros(n), np.zeros(m), c.max(), 0
    while True:
        last = at <= eps
        at = max(at, eps)
        for k in range(40000 if last else 400):
            # Plain at first, as far as it is from the end.
            omega = 1.0 if k < 5 else OMEGA
            f += omega * (-at * (logsumexp((g - c) / at, axis=1) - np.log(m)) - f)
            g += omega * (-at * (logsumexp((f[:, None] - c) / at, axis=0) - np.log(n)) - g)
            count += 1
            if k % 10 == 9:
                exact = -at * (logsumexp((g - c) / at, axis=1) - np.log(m))
                if marginal_error(c, exact, g, at)[1] < (1e-7 if last else 1e-4):
                    break
        if last:
            break
        at /= 2
    f = -eps * (logsumexp((g - c) / eps, axis=1) - np.log(m))
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
