"""Gaussian geodesic PCA by block alternation in NumPy and SciPy, as the paper describes it: the baseline of bures_run.py.

    python3 bures.py covariances.npy --components 2 > result.json

Written from the paper's appendix on the implementation (eq. 1st_gaussian, 2nd_gaussian, higher_gaussian), no code of its
authors. For each component, in turns:

1. the rotations Q_i for a fixed line (A, X): in dimension 2 BFGS on the angles; above, Riemannian gradient descent on SO(d)
   with the exponential map and a fixed step of 0.005, at most 10,000 steps;
2. the line for fixed rotations: SLSQP on (A, X), or (t*, X), or X, with F as printed (times clipped to the interval) and
   horizontality, unit norm and orthogonality as equality constraints; derivatives by SciPy's differences.

It ends when a turn lowers F by less than 1e-3 of it (--tolerance), after 100 turns, or at the time limit. What the
paper leaves open is chosen here in its favour: exact derivatives in step 1, the interval from the symmetric part of X A^{-1},
the spare room of the interval 1e-9 of its length. --rotations polar replaces step 1 by its closed form, a polar factor, which
is not the paper's method.

Each component reports the lifted cost F it ended with and the cost of its geodesic by exact projection (a scan of the whole
interval), which is the one to compare.
"""
import argparse
import json
import signal
import sys
import time

import numpy as np
from scipy.optimize import minimize

STEP, STEPS, TURNS = 0.005, 10_000, 100


def sym(m):
    return (m + np.swapaxes(m, -1, -2)) / 2


def root(m):
    e, q = np.linalg.eigh(m)
    return (q * np.sqrt(np.maximum(e, 0))[..., None, :]) @ np.swapaxes(q, -1, -2)


def rotation_part(m):
    """Polar factors of determinant +1."""
    u, _, v = np.linalg.svd(m)
    u[..., -1] *= np.sign(np.linalg.det(u @ v))[..., None]
    return u @ v


def exponential(s):
    """exp of skew-symmetric matrices."""
    e, q = np.linalg.eigh(1j * s)
    return ((q * np.exp(-1j * e)[..., None, :]) @ np.conj(np.swapaxes(q, -1, -2))).real


def interval(a, x):
    """Times at which A + tX stays invertible; no bound where no eigenvalue sets one."""
    e = np.linalg.eigvalsh(sym(x @ np.linalg.inv(a)))
    low = -1 / e[-1] if e[-1] > 0 else -np.inf
    high = -1 / e[0] if e[0] < 0 else np.inf
    spare = 1e-9 * (high - low) if np.isfinite(high - low) else 0.0
    return low + spare, high - spare


def lifted(a, x, bases):
    """F at bases Sigma_i^{1/2} Q_i, with the residuals."""
    low, high = interval(a, x)
    times = np.clip(((bases - a) * x).sum((1, 2)), low, high)
    residuals = a + times[:, None, None] * x - bases
    return (residuals**2).sum(), residuals


def step_angles(a, x, roots, turns):
    """Step 1 in dimension 2: BFGS on the angles. F is a minimum over t_i, so its derivative is that at fixed t_i."""
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])

    def rotations(angles):
        c, s = np.cos(angles), np.sin(angles)
        return np.moveaxis(np.array([[c, -s], [s, c]]), 2, 0)

    def f(angles):
        q = rotations(angles)
        value, r = lifted(a, x, roots @ q)
        return value, -2 * (r * (roots @ (q @ quarter))).sum((1, 2))

    start = np.arctan2(turns[:, 1, 0], turns[:, 0, 0])
    return rotations(minimize(f, start, jac=True, method="BFGS").x)


def step_descent(a, x, roots, turns):
    """Step 1 above dimension 2: Riemannian gradient descent with a fixed step."""
    q = turns
    for _ in range(STEPS):
        _, r = lifted(a, x, roots @ q)
        g = -2 * np.swapaxes(q, 1, 2) @ (roots @ r)
        g = (g - np.swapaxes(g, 1, 2)) / 2
        if np.sqrt((g**2).sum()) < 1e-6 * np.sqrt((roots**2).sum()):
            break
        q = q @ exponential(-STEP * g)
    return q


def step_polar(a, x, roots, turns):
    """Step 1 in closed form for the present times, until those settle."""
    q = turns
    for _ in range(100):
        _, r = lifted(a, x, roots @ q)
        new = rotation_part(roots @ (r + roots @ q))
        if np.abs(new - q).max() < 1e-10:
            break
        q = new
    return q


def step_line(a, x, bases, earlier, star):
    """Step 2: SLSQP. Returns (A, X, t*); t* belongs to the second component."""
    d = len(a)
    upper = np.triu_indices(d, 1)

    def unpack(z):
        if not earlier:
            return z[: d * d].reshape(d, d), z[d * d :].reshape(d, d)
        if len(earlier) == 1:
            first_a, first_x = earlier[0]
            return first_a + z[0] * first_x, z[1:].reshape(d, d)
        return a, z.reshape(d, d)

    def constraints(z):
        base, x = unpack(z)
        skew = (x.T @ base - base.T @ x)[upper]
        return np.concatenate([skew, [(x**2).sum() - 1], [(x * old).sum() for _, old in earlier]])

    head = [a.ravel(), [star], []][min(len(earlier), 2)]
    bounds = None
    if len(earlier) == 1:
        bounds = [interval(*earlier[0])] + [(None, None)] * (d * d)
    out = minimize(lambda z: lifted(*unpack(z), bases)[0], np.concatenate([head, x.ravel()]), method="SLSQP",
                   bounds=bounds, constraints=[dict(type="eq", fun=constraints)])
    return *unpack(out.x), out.x[0] if len(earlier) == 1 else star


def project(a, x, roots, points=401):
    """The cost of the geodesic: its whole interval is scanned for each datum, and every local minimum refined."""
    k = sym(x @ np.linalg.inv(a))
    x = k @ a
    e = np.linalg.eigvalsh(k)
    low = -1 / e[-1] if e[-1] > 0 else -np.inf
    high = -1 / e[0] if e[0] < 0 else np.inf
    reach = (np.linalg.norm(a) + np.sqrt((roots**2).sum((1, 2)).max())) / np.linalg.norm(x)
    grid = (1 - np.cos(np.linspace(0, np.pi, points))) / 2
    left, right = max(low, -reach), min(high, reach)
    total, clipped = 0.0, 0

    def at(l, times):
        m = a + times[:, None, None] * x
        u, _, v = np.linalg.svd(l @ m)
        r = m - l @ (u @ v)
        return (r**2).sum((1, 2)), (r * x).sum((1, 2))

    for l in roots:
        times = left + (right - left) * grid
        values, _ = at(l, times)
        padded = np.pad(values, 1, constant_values=np.inf)
        local = np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]))
        s, t = times[np.maximum(local - 1, 0)], times[np.minimum(local + 1, points - 1)]
        for _ in range(45):
            middle = (s + t) / 2
            _, slope = at(l, middle)
            s, t = np.where(slope < 0, middle, s), np.where(slope < 0, t, middle)
        times = np.concatenate([times[local], (s + t) / 2])
        values, _ = at(l, times)
        best = values.argmin()
        total += values[best]
        clipped += bool(min(times[best] - low, high - times[best]) < 1e-8 * (right - left))
    return total, clipped


def start_line(roots, earlier, star, rng):
    """A random horizontal direction: at the root of the mean covariance, or on the first component."""
    d = roots.shape[1]
    if not earlier:
        a = root((roots @ roots).mean(0))
    else:
        a = earlier[0][0] + star * earlier[0][1] if len(earlier) == 1 else earlier[1][0]
    x = sym(rng.normal(size=(d, d))) @ a
    return a, x / np.linalg.norm(x)


class TimeLimit(Exception):
    pass


def component(roots, earlier, settings, rng):
    n, d, _ = roots.shape
    star = 0.0
    if len(earlier) == 1:
        q = rotation_part(roots @ earlier[0][0])
        star = float(np.clip(np.mean(((roots @ q - earlier[0][0]) * earlier[0][1]).sum((1, 2))), *interval(*earlier[0])))
    a, x = start_line(roots, earlier, star, rng)
    if settings.rotations == "polar":
        step_1 = step_polar
    else:
        step_1 = step_angles if d == 2 else step_descent
    q = np.tile(np.eye(d), (n, 1, 1))
    f, status, turns, wall, cpu = np.inf, "turn limit", 0, time.perf_counter(), time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, settings.limit)
        for turns in range(1, TURNS + 1):
            q = step_1(a, x, roots, q)
            a, x, star = step_line(a, x, roots @ q, earlier, star)
            new, _ = lifted(a, x, roots @ q)
            if not np.isfinite(new):
                status = "not finite"
                break
            done = f - new < settings.tolerance * abs(f)
            f = new
            if done and turns > 1:
                status = "converged"
                break
    except TimeLimit:
        status = "time limit"
    except np.linalg.LinAlgError as e:
        status = f"LinAlgError: {e}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    out = dict(status=status, turns=turns, wall=time.perf_counter() - wall, cpu=time.process_time() - cpu,
               lifted=None, cost=None, clipped=None, horizontality=None, unit_norm=None, orthogonality=None)
    try:
        f, _ = lifted(a, x, roots @ q)
        cost, clipped = project(a, x, roots)
        h = x.T @ a
        out.update(lifted=f, cost=cost, clipped=clipped, horizontality=float(np.abs(h - h.T).max() / np.linalg.norm(a)),
                   unit_norm=float(abs((x**2).sum() - 1)), orthogonality=float(max([abs((x * o).sum()) for _, o in earlier], default=0)))
    except np.linalg.LinAlgError as e:
        out["status"] = f"{status}; LinAlgError: {e}"
    return out, (a, x)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("file", help="npy (n, d, d)")
    ap.add_argument("--components", type=int, default=2)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--tolerance", type=float, default=1e-3, help="least relative decrease of F in a turn")
    ap.add_argument("--rotations", choices=["paper", "polar"], default="paper")
    ap.add_argument("--limit", type=float, default=300, help="seconds for a component")
    settings = ap.parse_args()

    def interrupt(*_):
        raise TimeLimit

    signal.signal(signal.SIGALRM, interrupt)
    covariances = np.load(settings.file)
    rng = np.random.default_rng(settings.seed)
    wall, cpu = time.perf_counter(), time.process_time()
    roots, lines, components = root(covariances), [], []
    for _ in range(settings.components):
        out, line = component(roots, lines, settings, rng)
        components.append(out)
        if out["cost"] is None:
            break
        lines.append(line)
    n, d, _ = covariances.shape
    json.dump(dict(n=n, d=d, components=components, wall=time.perf_counter() - wall, cpu=time.process_time() - cpu,
                   status=components[-1]["status"]), sys.stdout)
    print()


if __name__ == "__main__":
    main()
