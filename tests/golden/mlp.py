"""Golden values of small multilayer perceptrons and their derivatives, by JAX: writes mlp.json.

A network is z_l = W_l a_{l-1} + b_l, activation on the hidden layers, linear last layer. Its flat
parameter vector is, layer after layer, W_l row-major with shape (out, in) and then b_l (out).
Vector networks (phi) give outputs and vector-Jacobian products; scalar networks (f) give value,
gradient and Hessian in u, the Hessian-vector product and mixed derivative of
D = sum_k <G_k, grad f(u_k)>, and the extreme eigenvalues of the Hessian over the batch with their
derivatives. Two cases have the residual terms
    phi(x) = m + L x + net(x)      and      f(u) = u^T S u / 2 + b.u + net(u), S symmetric.
The gradient in S is the symmetric one: it pairs with symmetric changes of S entry by entry.

Made with python 3.11.7, numpy 2.4.6, jax 0.10.2; float64. Seeds: case number i uses numpy default_rng(100 + i).
Run: python mlp.py
"""
import jax
import jax.numpy as jnp
import numpy as np

import common

jax.config.update("jax_enable_x64", True)
PACKAGES = ["numpy", "jax", "jaxlib"]
SAMPLES = 7
ACTIVATIONS = {"relu": jax.nn.relu, "elu": jax.nn.elu, "softplus": jax.nn.softplus, "tanh": jnp.tanh}


# ---- networks on a flat parameter vector ----
def parameter_count(sizes):
    return sum(n * (m + 1) for m, n in zip(sizes[:-1], sizes[1:]))


def random_parameters(rng, sizes, gain=1.0, bias=0.3):
    """Weights normal / sqrt(fan_in), biases normal."""
    blocks = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        blocks += [gain * rng.standard_normal(n * m) / np.sqrt(m), bias * rng.standard_normal(n)]
    return np.concatenate(blocks)


def mlp(sizes, activation, params, u):
    """The network at one sample."""
    start = 0
    for layer, (m, n) in enumerate(zip(sizes[:-1], sizes[1:])):
        weight = params[start : start + n * m].reshape(n, m)
        bias = params[start + n * m : start + n * (m + 1)]
        start += n * (m + 1)
        u = weight @ u + bias
        if layer < len(sizes) - 2:
            u = ACTIVATIONS[activation](u)
    return u


def vector_map(sizes, activation):
    """phi(p, x) over a batch; p holds `net` and, with residual terms, `m` and `L`."""

    def one(p, x):
        out = mlp(sizes, activation, p["net"], x)
        return out + p["m"] + p["L"] @ x if "L" in p else out

    return jax.vmap(one, (None, 0))


def scalar_map(sizes, activation):
    """f(p, u) at one sample; p holds `net` and, with residual terms, `S` and `b`."""

    def one(p, u):
        out = mlp(sizes, activation, p["net"], u)[0]
        return out + u @ p["S"] @ u / 2 + p["b"] @ u if "S" in p else out

    return one


# ---- cases ----
def named(prefix, tree):
    return {f"{prefix}_{key}": common.flat(value) for key, value in tree.items()}


def vector_case(name, seed, activation, sizes, residual=False):
    rng = np.random.default_rng(seed)
    d, out = sizes[0], sizes[-1]
    p = {"net": random_parameters(rng, sizes)}
    x, cotangent = rng.standard_normal((SAMPLES, d)), rng.standard_normal((SAMPLES, out))
    if residual:
        p |= {"m": rng.standard_normal(d), "L": np.eye(d) + 0.3 * rng.standard_normal((d, d))}
    value, pullback = jax.vjp(vector_map(sizes, activation), p, x)
    grad, grad_x = pullback(jnp.asarray(cotangent))
    return {
        "name": name, "kind": "vector", "activation": activation, "sizes": sizes, "samples": SAMPLES,
        "residual": residual, **named("param", p), "u": common.flat(x), "cotangent": common.flat(cotangent),
        "output": common.flat(value), **named("grad", grad), "grad_u": common.flat(grad_x),
    }


def extreme_eigenvalue(f, p, u, pick):
    """The smallest (pick 0) or largest (pick -1) Hessian eigenvalue of the batch and its derivatives."""

    def eigenvalue(p, u):
        return jnp.linalg.eigvalsh(jax.hessian(f, 1)(p, u))[pick]

    per_sample = jax.vmap(eigenvalue, (None, 0))(p, u)
    k = int(per_sample.argmin() if pick == 0 else per_sample.argmax())
    spectrum = np.linalg.eigvalsh(jax.hessian(f, 1)(p, u[k]))
    others = np.concatenate([np.delete(per_sample, k), np.delete(spectrum, pick)])
    assert np.abs(others - per_sample[k]).min() > 1e-4, "the extreme eigenvalue is not simple"
    grad, grad_u = jax.grad(eigenvalue, (0, 1))(p, u[k])
    if "S" in grad:
        grad["S"] = (grad["S"] + grad["S"].T) / 2

    # the same derivative from the eigenvector held fixed
    v = jnp.linalg.eigh(jax.hessian(f, 1)(p, u[k]))[1][:, pick]
    fixed = jax.grad(lambda p, u: v @ jax.hessian(f, 1)(p, u) @ v, (0, 1))(p, u[k])
    assert np.abs(fixed[0]["net"] - grad["net"]).max() < 1e-12 and np.abs(fixed[1] - grad_u).max() < 1e-12
    return {"sample": k, "value": float(per_sample[k]), "vector": common.flat(v), **named("grad", grad),
            "grad_u": common.flat(grad_u)}


def scalar_case(name, seed, activation, sizes, residual=False):
    rng = np.random.default_rng(seed)
    d = sizes[0]
    p = {"net": random_parameters(rng, sizes, gain=1.5)}
    u, cotangent = rng.standard_normal((SAMPLES, d)), rng.standard_normal((SAMPLES, d))
    if residual:
        s = rng.standard_normal((d, d))
        p |= {"S": 0.2 * (s + s.T), "b": rng.standard_normal(d)}
    f = scalar_map(sizes, activation)
    gradient = jax.vmap(jax.grad(f, 1), (None, 0))
    hessian = jax.vmap(jax.hessian(f, 1), (None, 0))

    def pairing(p, u):
        return (cotangent * gradient(p, u)).sum()

    mixed, hvp = jax.grad(pairing, (0, 1))(p, u)
    if residual:
        mixed["S"] = (mixed["S"] + mixed["S"].T) / 2
    h = hessian(p, u)
    assert np.abs(jnp.einsum("kij,kj->ki", h, cotangent) - hvp).max() < 1e-12
    return {
        "name": name, "kind": "scalar", "activation": activation, "sizes": sizes, "samples": SAMPLES,
        "residual": residual, **named("param", p), "u": common.flat(u), "cotangent": common.flat(cotangent),
        "value": common.flat(jax.vmap(f, (None, 0))(p, u)), "gradient": common.flat(gradient(p, u)),
        "hessian": common.flat(h), "hvp": common.flat(hvp), "pairing": float(pairing(p, u)), **named("grad", mixed),
        "eigen_min": extreme_eigenvalue(f, p, u, 0), "eigen_max": extreme_eigenvalue(f, p, u, -1),
    }


HIDDEN = [[6], [7, 4], [5, 8, 3], [4, 6, 5, 3]]  # one to four hidden layers
DIMENSIONS = {"relu": [3, 5, 1, 2], "elu": [2, 3, 5, 1], "softplus": [1, 2, 3, 5], "tanh": [5, 1, 2, 3]}


def main():
    cases = []
    for activation, dimensions in DIMENSIONS.items():
        for hidden, d in zip(HIDDEN, dimensions):
            seed = 100 + len(cases)
            name = f"{activation}, {len(hidden)} hidden, d {d}"
            if activation == "relu":
                cases.append(vector_case(name, seed, activation, [d, *hidden, d]))
            else:
                cases.append(scalar_case(name, seed, activation, [d, *hidden, 1]))
    cases.append(vector_case("relu, d 2 to 5", 100 + len(cases), "relu", [2, 6, 4, 5]))
    cases.append(vector_case("residual phi", 100 + len(cases), "relu", [3, 6, 5, 3], residual=True))
    cases.append(scalar_case("residual f", 100 + len(cases), "elu", [3, 6, 5, 1], residual=True))
    about = (
        "Multilayer perceptrons, their derivatives by automatic differentiation. Arrays flat, row-major: u and "
        "cotangent samples*in (cotangent of a vector net: samples*out), hessian samples*d*d; param_net and grad_net "
        "layer by layer: W (out, in), then b (out)."
    )
    common.write("mlp.json", about, PACKAGES, cases=cases)


if __name__ == "__main__":
    main()
