"""The frameworks' side: answers requests of run.py and of ../gpu/check.py, one JSON object a line. Run as:
python peers.py ott|geomloss|pot|flash."""
import json
import math
import sys
import time

import numpy as np


def load(request):
    return [np.load(request[side]).astype(np.float32) for side in "xy"] + [request["epsilon"]]


def repeat(once, request):
    """Times `once`, which returns (value, gradient, iterations), after one call that compiles."""
    value, gradient, iterations = once()
    walls, cpu = [], time.process_time()
    for _ in range(request["reps"]):
        start = time.perf_counter()
        value, gradient, iterations = once()
        walls.append(1e3 * (time.perf_counter() - start))
    cpu = 1e3 * (time.process_time() - cpu) / max(1, len(walls))
    if request.get("gradient"):
        np.save(request["gradient"], np.asarray(gradient, np.float64))
    return {"wall": walls, "cpu": cpu, "value": float(value), "iterations": iterations}


def ott(request):
    """OTT-JAX at its own stopping rule: `momentum` is the iteration from which its acceleration may begin, 0 for none."""
    if request["what"] == "step":
        return jax_step(request)
    import jax
    if request["what"] == "device":
        import ott as package
        return {"platform": jax.default_backend(), "device": jax.devices()[0].device_kind,
                "version": f"OTT {package.__version__}, JAX {jax.__version__}"}
    import jax.numpy as jnp
    from ott.geometry.pointcloud import PointCloud
    from ott.solvers.linear.acceleration import Momentum
    from ott.tools.sinkhorn_divergence import sinkhorn_divergence

    x, y, epsilon = load(request)
    solve = dict(threshold=1e-3, max_iterations=4000)
    if request["momentum"]:
        solve["momentum"] = Momentum(start=request["momentum"])
    # Rows of the cost matrix that are there at a time, else the whole matrix.
    geometry = {"batch_size": request["rows"]} if request.get("rows") else {}

    @jax.jit
    @jax.value_and_grad
    def value(x, y):
        return sinkhorn_divergence(PointCloud, x, y, epsilon=epsilon, solve_kwargs=solve, **geometry)[0]

    x, y = jnp.asarray(x), jnp.asarray(y)
    return repeat(lambda: (*jax.block_until_ready(value(x, y)), None), request)


def geomloss(request):
    """GeomLoss, whose cost is |x - y|^2 / 2: S = 2 SamplesLoss(blur = sqrt(epsilon / 2))."""
    import torch
    from geomloss import SamplesLoss

    x, y, epsilon = load(request)
    both = np.concatenate([x, y])
    diameter = float(np.linalg.norm(both.max(0) - both.min(0)))
    x, y = torch.from_numpy(x).requires_grad_(), torch.from_numpy(y)
    loss = SamplesLoss("sinkhorn", p=2, blur=math.sqrt(epsilon / 2), scaling=request["scaling"], diameter=diameter,
                       debias=True, backend="tensorized")

    def once():
        value = 2.0 * loss(x, y)
        (gradient,) = torch.autograd.grad(value, x)
        return value.item(), gradient.numpy(), None

    return repeat(once, request)


def flash(request):
    """FlashSinkhorn, whose cost is |x - y|^2. `tolerance`: alternating updates at this epsilon until potentials change by less
    than that share of it; without, its default schedule of falling epsilons. `tf32`: its default arithmetic."""
    import torch
    if request["what"] == "device":
        from importlib.metadata import version
        there = torch.cuda.is_available()
        return {"platform": "gpu" if there else "cpu", "device": torch.cuda.get_device_name() if there else "none",
                "version": f"FlashSinkhorn {version('flash-sinkhorn')}, PyTorch {torch.__version__}"}
    from flash_sinkhorn import SamplesLoss

    x, y, epsilon = load(request)
    x, y = torch.from_numpy(x).cuda().requires_grad_(), torch.from_numpy(y).cuda()
    kind = dict(use_epsilon_scaling=True, blur=math.sqrt(epsilon))
    if request.get("tolerance"):
        kind = dict(backend="alternating", use_epsilon_scaling=False, eps=epsilon, n_iters=4000,
                    threshold=request["tolerance"] * epsilon)
    loss = SamplesLoss("sinkhorn", debias=True, allow_tf32=request["tf32"], **kind)

    def once():
        value = loss(x, y)
        (gradient,) = torch.autograd.grad(value, x)
        torch.cuda.synchronize()
        return value.item(), gradient, None

    value, gradient, _ = once()
    answer = repeat(once, {**request, "gradient": None})
    if request.get("gradient"):
        np.save(request["gradient"], gradient.double().cpu().numpy())
    return answer


def pot(request):
    """POT in float64 with kernels; value and gradient from the three plans."""
    import ot

    x, y, epsilon = load(request)
    x, y = x.astype(np.float64), y.astype(np.float64)

    def solve(p, q):
        a, b = np.full(len(p), 1 / len(p)), np.full(len(q), 1 / len(q))
        plan, log = ot.sinkhorn(a, b, ot.dist(p, q), epsilon, stopThr=1e-3 / math.sqrt(len(q)), numItermax=4000,
                                log=True, warn=False)
        return plan, epsilon * (a @ np.log(log["u"] / a) + b @ np.log(log["v"] / b)), log["niter"]

    def once():
        plan, xy, iterations = solve(x, y)
        own, xx, _ = solve(x, x)
        _, yy, _ = solve(y, y)
        own = 0.5 * (own + own.T)
        gradient = 2 * (plan.sum(1)[:, None] * x - plan @ y) - 2 * (own.sum(1)[:, None] * x - own @ x)
        return xy - 0.5 * (xx + yy), gradient, iterations

    return repeat(once, request)


def jax_step(request):
    """Steps of GPCAgen (Algorithm 1) with OTT's divergence: batch 1024, width 128, Adam, as in the preset `paper`."""
    import jax
    import jax.numpy as jnp
    from ott.geometry.pointcloud import PointCloud
    from ott.tools.sinkhorn_divergence import sinkhorn_divergence

    clouds = jnp.asarray(np.stack([np.load(f)[:2048] for f in request["clouds"]]).astype(np.float32))
    n, _, d = clouds.shape
    batch, sizes = request.get("batch", 1024), request.get("hidden", [128] * 4)
    key = jax.random.PRNGKey(0)

    def network(key, widths):
        layers = []
        for a, b in zip(widths[:-1], widths[1:]):
            key, k = jax.random.split(key)
            layers.append((jnp.sqrt(0.1 / (0.5 * (a + b))) * jax.random.normal(k, (b, a)), jnp.zeros(b)))
        return layers

    def through(layers, x, activation):
        for w, b in layers[:-1]:
            x = activation(w @ x + b)
        return layers[-1][0] @ x + layers[-1][1]

    def fields(p, x):
        f = lambda u: through(p["f"], u, jax.nn.elu)[0]
        u = jax.vmap(lambda x: through(p["phi"], x, jax.nn.relu))(x)
        eigenvalues = jnp.linalg.eigvalsh(jax.vmap(jax.hessian(f))(u))
        return u, jax.vmap(jax.grad(f))(u), eigenvalues.min(), eigenvalues.max()

    def loss(p, old, x, y, i):
        u, v, low, high = fields(p, x)
        low, high = jnp.minimum(low, -1e-12), jnp.maximum(high, 1e-12)
        clip = lambda t: jnp.clip(t, -1 / high, -1 / low)
        epsilon = 0.02 * ((y - y.mean(0)) ** 2).sum(1).mean()
        value = sinkhorn_divergence(PointCloud, u + clip(p["t"][i]) * v, y, epsilon=epsilon)[0]
        if old is not None:
            u0, v0, _, _ = fields(old, x)
            value += ((u0 + p["old"] * v0 - u - clip(p["new"]) * v) ** 2).sum(1).mean()
            value += (v * v0).sum() ** 2 / ((v**2).sum() * (v0**2).sum())
        return value

    @jax.jit
    def step(p, m, s, k, old, key):
        kx, ky, ki = jax.random.split(key, 3)
        i = jax.random.randint(ki, (), 0, n)
        y = clouds[i][jax.random.randint(ky, (batch,), 0, clouds.shape[1])]
        g = jax.grad(loss)(p, old, jax.random.normal(kx, (batch, d)), y, i)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        s = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, s, g)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**k) / (1 - 0.9**k)
        return jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), p, m, s), m, s

    def start(key):
        kf, kp = jax.random.split(key)
        return {"f": network(kf, [d] + sizes + [1]), "phi": network(kp, [d] + sizes + [d]),
                "t": jnp.zeros(n), "old": jnp.zeros(()), "new": jnp.zeros(())}

    p, old = start(key), start(jax.random.PRNGKey(1)) if request["component"] == 2 else None
    m = jax.tree.map(jnp.zeros_like, p)
    s, walls = m, []
    for k in range(1, request["after"] + request["reps"] + 4):
        key, now = jax.random.split(key)
        begin = time.perf_counter()
        p, m, s = jax.block_until_ready(step(p, m, s, float(k), old, now))
        walls.append(1e3 * (time.perf_counter() - begin))
    return {"wall": walls[-request["reps"]:]}


if __name__ == "__main__":
    answer = {"ott": ott, "geomloss": geomloss, "pot": pot, "flash": flash}[sys.argv[1]]
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
