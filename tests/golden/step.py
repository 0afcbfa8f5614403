"""Golden values of whole training steps of geodesic components, by JAX and OTT: writes step.json.

With u = phi(x), v = grad f(u), t' = t_i clipped to [-1/lambda_max, -1/lambda_min] (extreme eigenvalues of
Hess f(u_k) over the batch, no margin), the loss of the first component is S_eps(u + t' v, y) with
cost |x - y|^2 and eps = 0.02 mean |y - mean y|^2. Where t_i is clipped the derivative flows through the
eigenvalue. The second component adds lambda_O O + lambda_I I: over the same x, with u0, v0 of the first
component and learned times t_old, t_new,
    I = mean_k |u0_k + t_old v0_k - u_k - t_new v_k|^2,
    O = (mean_k v_k.v0_k)^2 / (mean_k |v_k|^2 mean_k |v0_k|^2)            (orthogonality "l2")
    O = mean_k (v_k.v0_k)^2 / (|v_k|^2 |v0_k|^2)                          (orthogonality "pointwise").
Gradients are OTT's automatic ones at solves converged to 1e-12; every case is compared with central
differences of the loss in random directions, and S with POT.

Made with python 3.11.7, numpy 2.4.6, POT 0.9.7.post1, jax 0.10.2, ott-jax 0.6.0; float64.
Seeds: numpy default_rng(212) for all inputs (alternating updates converge there in a few thousand iterations),
default_rng(201) for the difference directions.
Run: python step.py
"""
import jax
import jax.numpy as jnp
import numpy as np
from ott.geometry.pointcloud import PointCloud
from ott.tools.sinkhorn_divergence import sinkhorn_divergence

import common
from mlp import mlp, random_parameters, scalar_map
from sinkhorn import pot_value, uniform

jax.config.update("jax_enable_x64", True)
PACKAGES = ["numpy", "POT", "jax", "jaxlib", "ott-jax"]
D, BATCH = 3, 48
F_SIZES, PHI_SIZES = [D, 16, 16, 1], [D, 16, 16, D]
LAMBDA_O, LAMBDA_I = 1.0, 0.7


# ---- a step ----
def fields(p, x):
    """u = phi(x), v = grad f(u) and the extreme eigenvalues of Hess f(u)."""
    f = scalar_map(F_SIZES, "elu")
    net = {"net": p["f"]}
    u = jax.vmap(lambda x: mlp(PHI_SIZES, "relu", p["phi"], x))(x)
    v = jax.vmap(lambda u: jax.grad(f, 1)(net, u))(u)
    eigenvalues = jnp.linalg.eigvalsh(jax.vmap(lambda u: jax.hessian(f, 1)(net, u))(u))
    return u, v, eigenvalues.min(), eigenvalues.max()


def divergence(z, y, eps):
    solve = dict(threshold=1e-12, max_iterations=50_000, lse_mode=True)
    value, out = sinkhorn_divergence(PointCloud, z, y, epsilon=eps, solve_kwargs=solve)
    return value, jnp.stack(out.converged).all()


def loss_first(p, data, index):
    u, v, low, high = fields(p, data["x"])
    t = jnp.clip(p["t"][index], -1 / high, -1 / low)
    value, converged = divergence(u + t * v, data["y"], data["epsilon"])
    return value, dict(divergence=value, lambda_min=low, lambda_max=high, time=t, z=u + t * v, converged=converged)


def loss_second(p, data, index, orthogonality):
    value, log = loss_first(p, data, index)
    u, v, _, _ = fields(p, data["x"])
    u0, v0, _, _ = fields(data["first"], data["x"])
    inner, norm, norm0 = (v * v0).sum(1), (v * v).sum(1), (v0 * v0).sum(1)
    if orthogonality == "l2":
        o = inner.mean() ** 2 / (norm.mean() * norm0.mean())
    else:
        o = (inner**2 / (norm * norm0)).mean()
    gap = u0 + p["t_old"] * v0 - u - p["t_new"] * v
    i = (gap**2).sum(1).mean()
    return value + LAMBDA_O * o + LAMBDA_I * i, log | dict(orthogonality=o, intersection=i)


# ---- checks ----
def check_differences(loss, p, grad):
    """Central differences in random directions: all parameters together, then one kind at a time."""
    rng = np.random.default_rng(201)
    step = 1e-5
    for kinds in [list(p)] * 4 + [[kind] for kind in p]:
        v = {kind: rng.standard_normal(np.shape(p[kind])) * (kind in kinds) for kind in p}
        ends = [loss({kind: p[kind] + h * v[kind] for kind in p})[0] for h in (step, -step)]
        slope = sum((grad[kind] * v[kind]).sum() for kind in p)
        error = abs((ends[0] - ends[1]) / (2 * step) - slope)
        size = np.sqrt(sum((grad[kind] ** 2).sum() for kind in kinds))
        assert error <= 1e-6 * max(size, 1e-3), (kinds, float(error), float(slope), float(size))


def check_divergence(log, data):
    a, eps = uniform(BATCH), float(data["epsilon"])
    z, y = np.asarray(log["z"]), data["y"]
    value = pot_value(z, y, a, a, eps) - pot_value(z, z, a, a, eps) / 2 - pot_value(y, y, a, a, eps) / 2
    assert abs(value - log["divergence"]) < 1e-9 * value, (value, log["divergence"])


# ---- cases ----
def case(name, p, data, index, orthogonality=None):
    if orthogonality is None:
        loss = jax.jit(lambda p: loss_first(p, data, index))
    else:
        loss = jax.jit(lambda p: loss_second(p, data, index, orthogonality))
    (value, log), grad = jax.jit(jax.value_and_grad(loss, has_aux=True))(p)
    assert log["converged"] and log["lambda_min"] < 0 < log["lambda_max"]
    check_divergence(log, data)
    check_differences(loss, p, grad)
    clipped = bool(log["time"] != p["t"][index])
    print(f"{name:44s} loss {value:.12f}  t {p['t'][index]:.4f} -> {log['time']:.4f}", flush=True)
    second = {}
    if orthogonality is not None:
        assert -1 / log["lambda_max"] < p["t_new"] < -1 / log["lambda_min"]
        second = {"orthogonality": orthogonality, "t_old": float(p["t_old"]), "t_new": float(p["t_new"]),
                  "o": float(log["orthogonality"]), "i": float(log["intersection"]),
                  "grad_t_old": float(grad["t_old"]), "grad_t_new": float(grad["t_new"])}
    return {
        "name": name, "component": 1 if orthogonality is None else 2, "t": common.flat(p["t"]), "index": index,
        "clipped": clipped, "loss": float(value), "divergence": float(log["divergence"]),
        "lambda_min": float(log["lambda_min"]), "lambda_max": float(log["lambda_max"]), "time": float(log["time"]),
        **second, "grad_phi": common.flat(grad["phi"]), "grad_f": common.flat(grad["f"]),
        "grad_t": common.flat(grad["t"]),
    }


def main():
    rng = np.random.default_rng(212)
    x = rng.standard_normal((BATCH, D))
    y = 0.3 + rng.standard_normal((BATCH, D)) @ np.array([[1.2, 0.3, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 0.5]])
    epsilon = 0.02 * ((y - y.mean(0)) ** 2).sum(1).mean()
    nets, first = (
        {"phi": random_parameters(rng, PHI_SIZES, gain=1.2), "f": random_parameters(rng, F_SIZES, gain=1.6)}
        for _ in range(2)
    )
    data = {"x": x, "y": y, "epsilon": epsilon, "first": first}
    low, high = (float(value) for value in fields(nets, x)[2:])
    low0, high0 = (float(value) for value in fields(first, x)[2:])
    t_min, t_max = -1 / high, -1 / low
    times = np.array([0.6 * t_min, 0.7 * t_max, 0.1])
    above, below = times * [1, 2, 1], times * [2, 1, 1]
    second = nets | {"t_old": -0.4 / low0, "t_new": -0.5 / high}
    print(f"interval [{t_min:.4f}, {t_max:.4f}], of the first component [{-1 / high0:.4f}, {-1 / low0:.4f}]")

    cases = [
        case("first component, t inside", nets | {"t": times}, data, 1),
        case("first component, t above the interval", nets | {"t": above}, data, 1),
        case("first component, t below the interval", nets | {"t": below}, data, 0),
        case("second component, l2", second | {"t": times}, data, 1, "l2"),
        case("second component, pointwise", second | {"t": times}, data, 1, "pointwise"),
        case("second component, l2, t above the interval", second | {"t": above}, data, 1, "l2"),
    ]
    assert [c["clipped"] for c in cases] == [False, True, True, False, False, True]
    about = (
        "Training steps: x, y batch*d; param_phi, param_f (the component in training) and first_phi, first_f (the "
        "finished one) layer by layer: W (out, in), then b (out), as are the gradients. One set of inputs, several "
        "times t; loss = divergence + lambda_o o + lambda_i i (component 2). time is t[index] clipped."
    )
    common.write(
        "step.json", about, PACKAGES, d=D, batch=BATCH, times=len(times), phi_sizes=PHI_SIZES, phi_activation="relu",
        f_sizes=F_SIZES, f_activation="elu", epsilon=float(epsilon), lambda_o=LAMBDA_O, lambda_i=LAMBDA_I,
        x=common.flat(x), y=common.flat(y), param_phi=common.flat(nets["phi"]), param_f=common.flat(nets["f"]),
        first_phi=common.flat(first["phi"]), first_f=common.flat(first["f"]), cases=cases,
    )


if __name__ == "__main__":
    main()
