"""Golden values of entropic transport and of the Sinkhorn divergence: writes sinkhorn.json.

Cost |x - y|^2 (no 1/2); OT_eps = min_P <P, C> + eps KL(P | a b^T);
S_eps(x, y) = OT_eps(x, y) - OT_eps(x, x) / 2 - OT_eps(y, y) / 2.

Values come from POT: its log-domain Sinkhorn gives a plan, at which <P, C> + eps KL(P | a b^T) is
evaluated here. They are compared with OTT (its own iteration, dual value), with closed forms where
there are any, and exact W2^2 comes from POT"s network simplex. Gradients dS/dx are the envelope
formula at the POT plans, compared with OTT"s automatic derivative and with central differences.

Made with python 3.11.7, numpy 2.4.6, scipy 1.17.1, POT 0.9.7.post1, jax 0.10.2, ott-jax 0.6.0; float64.
Seeds: random clouds numpy default_rng(1), shuffles default_rng(2), difference directions default_rng(3).
Run: python sinkhorn.py
"""
import jax
import jax.numpy as jnp
import numpy as np
import ot
from ott.geometry.pointcloud import PointCloud
from ott.tools.sinkhorn_divergence import sinkhorn_divergence
from scipy.special import logsumexp
from scipy.stats import norm

import common

jax.config.update("jax_enable_x64", True)
POT = "POT 0.9.7.post1"
PACKAGES = ["numpy", "scipy", "POT", "jax", "jaxlib", "ott-jax"]


# ---- clouds ----
def indices(n, d):
    return np.arange(1, n + 1)[:, None], np.arange(1, d + 1)[None]


def px(n, d):
    i, k = indices(n, d)
    return np.sin(12.9898 * i + 78.233 * k)


def py(n, d):
    i, k = indices(n, d)
    return 1.0 + np.cos(4.1414 * i + 9.17 * k)


def uniform(n):
    return np.full(n, 1.0 / n)


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


# ---- solvers ----
def cost(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def newton_start(c, a, b, eps):
    """Log scalings (u, v) near the optimum: annealed updates, then Newton in u with v eliminated.

    Alternating updates alone need up to a million iterations where the plan is nearly a permutation.
    """
    f, g, level = np.zeros(len(a)), np.zeros(len(b)), max(c.max(), eps)
    while True:
        f = level * (np.log(a) - logsumexp((g - c) / level, axis=1))
        g = level * (np.log(b) - logsumexp((f[:, None] - c) / level, axis=0))
        if level == eps:
            break
        level = max(level / 2, eps)
    u, v = f / eps, g / eps
    for _ in range(100):
        p = np.exp(u[:, None] + v - c / eps)
        rows = p.sum(1)
        step = np.linalg.lstsq(np.diag(rows) - (p / b) @ p.T, a - rows)[0]
        u = u + step / max(np.abs(step).max(), 1.0)
        v = np.log(b) - logsumexp(u[:, None] - c / eps, axis=0)
        if np.abs(a - rows).sum() < 1e-13:
            break
    return u, v


def pot_plan(x, y, a, b, eps):
    """The optimal plan; points of weight zero get zero rows or columns."""
    i, j = np.flatnonzero(a), np.flatnonzero(b)
    c = cost(x[i], y[j])
    stop = max(1e-13, 1e-15 * c.max() / eps)  # the rounding of C / eps bounds what the log domain resolves
    options = dict(stopThr=stop, numItermax=100_000, warmstart=newton_start(c, a[i], b[j], eps), log=True, warn=False)
    with np.errstate(over="ignore"):  # its log entries exp(u), exp(v), unused here
        p, log = ot.bregman.sinkhorn_log(a[i], b[j], c, eps, **options)
    error = np.abs(p.sum(0) - b[j]).sum() + np.abs(p.sum(1) - a[i]).sum()
    assert error < 20 * stop, (error, log["niter"])
    plan = np.zeros((len(a), len(b)))
    plan[np.ix_(i, j)] = p
    return plan


def entropic_cost(plan, x, y, a, b, eps):
    """<P, C> + eps KL(P | a b^T) in full (the masses of P and of a b^T are part of KL)."""
    product = np.outer(a, b)
    on = plan > 0
    kl = (plan[on] * np.log(plan[on] / product[on])).sum() - plan.sum() + product.sum()
    return (plan * cost(x, y)).sum() + eps * kl


def duality_gap(plan, x, y, a, b, eps):
    """An upper bound (a feasible plan near `plan`) minus a lower bound (a dual value) of OT_eps."""
    feasible = plan * np.minimum(1, a / np.where(a > 0, plan.sum(1), 1))[:, None]
    feasible *= np.minimum(1, b / np.where(b > 0, feasible.sum(0), 1))
    rest = a - feasible.sum(1), b - feasible.sum(0)
    feasible += np.outer(*rest) / max(rest[0].sum(), 1e-300)
    upper = entropic_cost(feasible, x, y, a, b, eps)
    i, j = np.flatnonzero(a), np.flatnonzero(b)
    c = cost(x[i], y[j])
    u, v = newton_start(c, a[i], b[j], eps)
    mass = np.exp(u[:, None] + v - c / eps).sum()
    lower = eps * (a[i] @ (u - np.log(a[i])) + b[j] @ (v - np.log(b[j])) - mass + 1)
    return upper - lower


def pot_value(x, y, a, b, eps):
    return entropic_cost(pot_plan(x, y, a, b, eps), x, y, a, b, eps)


def pot_gradient(x, y, a, b, eps):
    xy, xx = pot_plan(x, y, a, b, eps), pot_plan(x, x, a, a, eps)
    xx = (xx + xx.T) / 2
    return 2 * (xy.sum(1)[:, None] * x - xy @ y) - 2 * (xx.sum(1)[:, None] * x - xx @ x)


@jax.jit
def ott_divergence(x, y, a, b, eps):
    solve = dict(threshold=1e-10, max_iterations=400_000, lse_mode=True)
    value, out = sinkhorn_divergence(PointCloud, x, y, a=a, b=b, epsilon=eps, solve_kwargs=solve)
    costs = [
        jnp.where(wa > 0, f, 0) @ wa + jnp.where(wb > 0, g, 0) @ wb
        for (f, g), wa, wb in zip(out.potentials, (a, a, b), (b, a, b))
    ]
    entropy = [-(w * jnp.log(jnp.where(w > 0, w, 1))).sum() for w in (a, b)]  # OTT"s potentials hold eps log a
    shift = [entropy[0] + entropy[1], 2 * entropy[0], 2 * entropy[1]]
    return value, (jnp.stack(costs) + eps * jnp.stack(shift), jnp.stack(out.converged))


ott_gradient = jax.jit(jax.grad(ott_divergence, has_aux=True))


def close(value, reference, relative, scale=None):
    scale = np.abs(reference).max() if scale is None else scale
    error = np.abs(np.asarray(value) - reference).max()
    assert error <= relative * scale, f"{value} against {reference}: {error}"


def check_differences(x, y, a, b, eps, gradient, tolerance):
    """Central differences of the converged POT divergence in three random directions."""
    rng = np.random.default_rng(3)
    step = 1e-4 * min(np.sqrt(eps), 1.0)

    def value(z):
        return pot_value(z, y, a, b, eps) - pot_value(z, z, a, a, eps) / 2

    for _ in range(3):
        v = rng.standard_normal(x.shape)
        slope = (value(x + step * v) - value(x - step * v)) / (2 * step)
        close(slope, (gradient * v).sum(), tolerance, max(np.abs(gradient).max(), 1e-3) * np.sqrt(x.size))


# ---- one case ----
def case(
    name, x, y, eps, a=None, b=None, *, source=POT, closed=None, w2=False, rows=None, recipe=None, difference=1e-6,
    note="f64 1e-9 relative; gradient 1e-7 of its largest entry",
):
    """Compute, check and describe a case; `rows` keeps only those rows of the gradient."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    (n, d), m = x.shape, len(y)
    weights = [None if w is None else common.flat(w) for w in (a, b)]
    a = uniform(n) if a is None else np.asarray(a, dtype=np.float64)
    b = uniform(m) if b is None else np.asarray(b, dtype=np.float64)
    problems = [(x, y, a, b, eps), (x, x, a, a, eps), (y, y, b, b, eps)]
    plans = [pot_plan(*problem) for problem in problems]
    values = [entropic_cost(plan, *problem) for plan, problem in zip(plans, problems)]
    gaps = [duality_gap(plan, *problem) for plan, problem in zip(plans, problems)]
    divergence = values[0] - values[1] / 2 - values[2] / 2

    scale = max(np.abs(values).max(), 1e-300)
    assert max(np.abs(gaps)) < 1e-11 * scale, f"{name}: duality gaps {gaps}"
    value, (parts, converged) = ott_divergence(x, y, a, b, eps)
    assert converged.all(), f"{name}: OTT did not converge"
    close(parts, np.array(values), 1e-9, scale)
    close(value, divergence, 1e-9, scale)
    if closed is not None:
        close(divergence, closed, 1e-9, max(abs(closed), 1e-3 * scale))

    grad = pot_gradient(x, y, a, b, eps)
    grad_scale = max(np.abs(grad).max(), 0.1 * scale**0.5 / n)
    close(ott_gradient(x, y, a, b, eps)[0], grad, 1e-8, grad_scale)
    if difference is not None:
        check_differences(x, y, a, b, eps, grad, difference)

    exact = float(ot.emd2(a, b, cost(x, y))) if w2 else None
    print(f"{name:34s} S {divergence:<18.13g} gap {max(np.abs(gaps)) / scale:.0e}  W2^2 {exact}", flush=True)
    return {
        "name": name, "source": source, "n": n, "m": m, "d": d, "recipe": recipe,
        "x": None if recipe else common.flat(x), "y": None if recipe else common.flat(y),
        "a": weights[0], "b": weights[1], "epsilon": float(eps),
        "ot_xy": float(values[0]), "ot_xx": float(values[1]), "ot_yy": float(values[2]),
        "divergence": float(divergence), "closed_form": closed, "w2": exact,
        "gradient": None if rows else common.flat(grad),
        "gradient_rows": list(rows) if rows else None,
        "gradient_row_values": common.flat(grad[list(rows)]) if rows else None,
        "tolerance_note": note,
    }


# ---- the cases, by subject ----
def small_epsilon():
    """Costs up to 2e5 epsilon: kernels underflow, the log domain does not."""
    x, y = [[0, 0], [1, 0]], [[0, 1], [10, 10]]
    expected = {1e-3: 91.0, 1.0: 91.15658544, 10.0: 91.08936649}
    for eps, value in expected.items():
        # the plan is a permutation up to exp(-2e4): differences are exact, more digits are not defined
        out = case(f"O1 eps {eps:g}", x, y, eps, w2=True, note="f64 1e-9, f32 1e-4 relative")
        close(out["divergence"], value, 1e-9)
        yield out


def zero_weights():
    square = [[0, 0], [1, 0], [0, 1], [1, 1]]
    out = case("O2 Dirac masses among zeros", square, square, 0.1, (0, 1, 0, 0), (1, 0, 0, 0),
               closed=1.0, w2=True, source="closed form", note="exact; gradient zero at weight zero")
    assert out["gradient"] == [0, 0, 2, 0, 0, 0, 0, 0]
    yield out

    x, y, a, b = px(10, 2), py(12, 2), uniform(10), uniform(12)
    at = np.array([0, 3, 4, 9]), np.array([5, 11])
    far_x, far_y = np.insert(x, at[0], 7.0, 0), np.insert(y, at[1], -9.0, 0)
    out = case("zero weights inside a cloud", far_x, far_y, 0.1, np.insert(a, at[0], 0.0), np.insert(b, at[1], 0.0),
               w2=True, note="equals O10 uniform; gradient zero at weight zero")
    close(out["divergence"], S10, 1e-11)
    yield out


def single_points():
    out = case("O9 x = y, one point", [[1, 2]], [[1, 2]], 0.5, closed=0.0, w2=True, source="closed form",
               note="exactly zero, zero gradient")
    assert out["divergence"] == 0 and out["gradient"] == [0, 0]
    yield out
    for eps in (1e-6, 0.5, 1e6):
        yield case(f"O9 one point each, eps {eps:g}", [[0]], [[3]], eps, closed=9.0, w2=True, source="closed form",
                   difference=1e-6 if eps < 1 else None)
    y = py(12, 2)
    x = np.array([[0.3, -0.2]])
    mean = y.mean(0)
    out = case("one point against twelve", x, y, 0.1, w2=True)
    # OT(x, y) is the mean cost whatever epsilon is
    close(out["ot_xy"], cost(x, y).mean(), 1e-12)
    close(out["gradient"], 2 * (x - mean).ravel(), 1e-12)
    yield out


S10 = 2.35367588121472  # O10 uniform, eps 0.1, by the duality gap to 1e-15; 2.353675905664 is 2.4e-8 too high


def conventions():
    x, y = px(10, 2), py(12, 2)
    expected = {0.1: S10, 0.01: 2.3761449038, 1.0: 2.306582012}
    for eps, value in expected.items():
        out = case(f"O10 uniform, eps {eps:g}", x, y, eps, w2=True)
        close(out["divergence"], value, 5e-10)
        close(out["w2"], 2.379497575, 5e-10)
        if eps == 0.1:
            close(out["ot_xy"], 2.514198139088, 1e-12)
            close(out["gradient"][:2], np.array([-0.3800662981, -0.0433270573]), 1e-9)  # O17
        yield out
    a, b = np.arange(1, 11) / 55, (13 - np.arange(1, 13)) / 78
    for eps in expected:
        out = case(f"O10 weighted, eps {eps:g}", x, y, eps, a, b, w2=True)
        close(out["w2"], 2.071942251, 5e-10)
        if eps == 0.1:
            close(out["divergence"], 2.0493283274, 5e-10)
        yield out

    order = np.random.default_rng(2).permutation(20)
    out = case("O18 every point twice, shuffled", np.repeat(x, 2, 0)[order], y, 0.1, w2=True)
    close(out["divergence"], S10, 1e-11)
    yield out
    y_twice = y[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 4]]
    weights = uniform(12)[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 4]]
    weights[[4, 11, 12, 13]] *= [0.25, 0.5, 0.5, 0.75]
    out = case("two points of y split in two", x, y_twice, 0.1, None, weights, w2=True)
    close(out["divergence"], S10, 1e-11)
    yield out
    # the offset rounds the coordinates to 6e-14, OTT"s expanded squares lose 1e-11
    out = case("O10 uniform, offset 300", x + 300.0, y + 300.0, 0.1, w2=True, note="equals O10 uniform to 1e-11")
    close(out["divergence"], S10, 1e-11)
    yield out
    yield case("PX(7,3) and PY(23,3)", px(7, 3), py(23, 3), 0.3, w2=True)
    rng = np.random.default_rng(1)
    z, w = rng.standard_normal((40, 3)), 0.5 + rng.standard_normal((61, 3)) @ np.diag([1.5, 1.0, 0.2])
    default = 0.02 * cost(w, w.mean(0)[None]).mean()
    yield case("normal clouds, default epsilon", z, w, default, w2=True)


def gaussian_divergence(s, eps):
    """S_eps between N(0, 1) and N(0, s^2) on the line."""
    half = eps / 2

    def transport(u, v):
        root = np.sqrt(4 * u * v + half**2)
        return u + v - root + half * (1 - np.log(eps)) + half * np.log(root + half)

    return transport(1, s * s) - transport(1, 1) / 2 - transport(s * s, s * s) / 2


def gaussians():
    """Normal quantiles against their multiples; the closed form is that of the continuous laws."""
    n = 256
    x = norm.ppf((np.arange(n) + 0.5) / n)[:, None]
    table = {
        1.0: {0.5: 0.22469171, 0.9: 0.00963532, 1.1: 0.00975138, 2.0: 0.99230933},
        0.1: {0.5: 0.24968829, 0.9: 0.00999614, 1.1: 0.00999742, 2.0: 0.99992189},
    }
    recipe = {"kind": "scaled_quantiles", "text": "x = normal_quantiles, y = scale * x"}
    for eps, row in table.items():
        for s, expected in row.items():
            closed = float(gaussian_divergence(s, eps))
            assert abs(closed - expected) < 6e-9
            note = "closed_form is of the continuous laws, divergence of the 256 points; 4000 points reach it to 1e-3"
            out = case(f"O11 eps {eps:g}, s {s:g}", x, s * x, eps, w2=True, rows=[0, 100, 255], difference=None,
                       recipe=recipe | {"scale": s}, note=note)
            assert abs(out["divergence"] - closed) < 6e-3
            yield out | {"closed_form": closed}


def exact_transport():
    """Exact values by linear programme, with a divergence beside them."""
    out = case("O16 shape (3,) files", column(3, 1, 2), column(0, 0, 4), 0.1, (0.5, 0.25, 0.25), w2=True)
    close(out["w2"], 37 / 12, 1e-12)
    yield out
    out = case("O5 integer input", [[0, 0], [1, 2]], [[3, 0], [1, 2]], 1.0, w2=True)
    close(out["w2"], 4.5, 1e-12)
    yield out
    x, y = column(0, 1, 2, 3, 4), np.linspace(0, 4, 960)[:, None]
    out = case("O3 five points against 960", x, y, 0.1, w2=True, difference=None,
               recipe={"kind": "grid", "text": "x_i = i for i = 0..4, y_j = 4 j / 959 for j = 0..959"})
    close(out["w2"], 0.1327771985, 5e-10)
    yield out


def high_dimension():
    x = 0.02 * px(50, 160)
    i, k = indices(50, 160)
    y = x + 1e-3 * np.cos(2.3 * i + 0.7 * k)
    text = "i, k from 1: x[i,k] = 0.02 sin(12.9898 i + 78.233 k), y[i,k] = x[i,k] + 0.001 cos(2.3 i + 0.7 k)"
    out = case("O8 small divergence, d 160", x, y, 2.5e-3, w2=True, rows=[0, 31],
               recipe={"kind": "close", "text": text},
               note="f64 1e-9 of ot_xy; f32 1e-6 absolute; the recipe itself is good to 1e-12")
    close(out["divergence"], 5.8086e-6, 1e-5)
    close(out["w2"], 8.00138e-5, 1e-6)
    yield out
    text = "i, k from 1: x[i,k] = sin(12.9898 i + 78.233 k), y[i,k] = 1 + cos(4.1414 i + 9.17 k)"
    out = case("O19 d 1025", px(33, 1025), py(40, 1025), 50.0, w2=True, rows=[0],
               recipe={"kind": "waves", "text": text},
               note="f64 1e-9, f32 1e-4 relative; the recipe itself is good to 1e-11")
    close(out["divergence"], 1922.920767, 1e-9)
    yield out


def main():
    subjects = (small_epsilon, zero_weights, single_points, conventions, gaussians, exact_transport, high_dimension)
    cases = [out for subject in subjects for out in subject()]
    about = (
        "Entropic transport and Sinkhorn divergence, cost |x-y|^2, OT_eps = min <P,C> + eps KL(P|ab^T). Arrays flat, "
        "row-major: x n*d, y m*d, gradient n*d, gradient_row_values len(gradient_rows)*d. a, b null: uniform. "
        "x, y null: made by the recipe. w2 is the exact W2^2."
    )
    n = 256
    quantiles = norm.ppf((np.arange(n) + 0.5) / n)
    common.write("sinkhorn.json", about, PACKAGES, normal_quantiles=common.flat(quantiles), cases=cases)


if __name__ == "__main__":
    main()
