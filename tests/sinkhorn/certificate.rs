//! A dense computation, in f64, of everything that potentials imply, with which results are checked.

use super::*;
use crate::common::widen;
use wgpca::Status;

/// Quantities that the potentials of a result imply.
pub struct Certificate {
    /// L1 errors of the two marginals of the plan.
    pub rows: f64,
    pub columns: f64,
    /// A dual value and the cost of a feasible plan; OT_ε is between them.
    pub lower: f64,
    pub upper: f64,
    /// Bound on the effect of the rounding of the potentials on the errors.
    pub slack: f64,
    /// Σ_j P_ij y_j / Σ_j P_ij.
    pub means: Vec<f64>,
}

/// Row sums and column sums of an n × m matrix.
fn sums(matrix: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
    let mut columns = vec![0.0; m];
    let rows = matrix.chunks(m).map(|row| {
        row.iter().zip(&mut columns).for_each(|(p, c)| *c += p);
        row.iter().sum()
    });
    (rows.collect(), columns)
}

/// Computes the sums of the plan P_ij = a_i b_j exp((f_i + g_j − C_ij)/ε).
pub fn certify<T: Real>(x: &Points<T>, y: &Points<T>, r: &Divergence<T>) -> Certificate {
    let (m, d, epsilon) = (y.len(), x.dim(), r.epsilon);
    let [a, b, f, g] = [x.weights(), y.weights(), &r.potentials.f, &r.potentials.g].map(widen);
    let rows = x.coords().chunks(d);
    let cost: Vec<f64> = rows.flat_map(|p| y.coords().chunks(d).map(move |q| square(p, q))).collect();
    let mut size = 0.0f64;
    let mut plan: Vec<f64> = cost
        .iter()
        .enumerate()
        .map(|(p, c)| {
            let (i, j) = (p / m, p % m);
            let share = a[i] * b[j] * ((f[i] + g[j] - c) / epsilon).exp();
            size = if share > 0.0 { size.max((f[i].abs() + g[j].abs() + c) / epsilon) } else { size };
            share
        })
        .collect();
    let (rows, columns) = sums(&plan, m);
    let off = |sums: &[f64], w: &[f64]| sums.iter().zip(w).map(|(s, w)| (s - w).abs()).sum::<f64>();
    let mean = |i: usize, k: usize| {
        let row = plan[i * m..(i + 1) * m].iter().zip(y.coords().chunks(d));
        row.map(|(p, q)| p * q[k].to_f64()).sum::<f64>() / rows[i]
    };
    let means = (0..x.len() * d).map(|p| mean(p / d, p % d)).collect();
    let dual = |w: &[f64], p: &[f64]| w.iter().zip(p).map(|(w, p)| w * p).sum::<f64>();
    let lower = dual(&a, &f) + dual(&b, &g) - epsilon * (rows.iter().sum::<f64>() - 1.0);

    // Rows and columns are scaled down to their weights, and the missing mass is added as a product: a feasible plan.
    let cut = |sum: f64, w: f64| if sum > w { w / sum } else { 1.0 };
    plan.iter_mut().enumerate().for_each(|(p, v)| *v *= cut(rows[p / m], a[p / m]));
    let (_, part) = sums(&plan, m);
    plan.iter_mut().enumerate().for_each(|(p, v)| *v *= cut(part[p % m], b[p % m]));
    let (rows_left, columns_left) = sums(&plan, m);
    let rest = |w: &[f64], s: &[f64]| w.iter().zip(s).map(|(w, s)| (w - s).max(0.0)).collect::<Vec<_>>();
    let (rest_a, rest_b) = (rest(&a, &rows_left), rest(&b, &columns_left));
    let mass = rest_a.iter().sum::<f64>().max(1e-300);
    let terms = plan.iter().zip(&cost).enumerate().map(|(p, (v, c))| {
        let (i, j) = (p / m, p % m);
        let v = v + rest_a[i] * rest_b[j] / mass;
        if v > 0.0 { v * (c + epsilon * (v / (a[i] * b[j])).ln()) } else { 0.0 }
    });
    Certificate {
        rows: off(&rows, &a),
        columns: off(&columns, &b),
        lower,
        upper: terms.sum(),
        // Rounding errors of a potential when it is stored, of a coordinate when it is scaled, of an exponent when it is formed.
        slack: T::EPSILON.to_f64() * (4.0 * size + 32.0),
        means,
    }
}

/// Asserts that a result is consistent: finite, with a correct report and a value between the bounds.
pub fn check<T: Real>(what: &str, x: &Points<T>, y: &Points<T>, settings: &Sinkhorn, r: &Divergence<T>) -> Certificate {
    let what =
        format!("{what}, {}, n {}, m {}, d {}, {settings:?}: {:?}", T::NAME, x.len(), y.len(), x.dim(), r.report);
    let all = r.gradient.iter().chain(&r.potentials.f).chain(&r.potentials.g);
    assert!(r.value.is_finite() && all.into_iter().all(|v| v.is_finite()), "{what}");
    let c = certify(x, y, r);
    match r.report.status {
        Status::Converged => assert!(r.report.marginal_error <= settings.tolerance, "{what}"),
        Status::Rounding => assert!(r.report.marginal_error > settings.tolerance, "{what}"),
        Status::MaxIterations => assert_eq!(r.report.iterations, settings.max_iterations, "{what}"),
        _ => panic!("{what}"),
    }
    assert!(r.report.iterations <= settings.max_iterations, "{what}");
    assert!(c.rows <= c.slack, "rows off by {}, slack {}: {what}", c.rows, c.slack);
    let reported = r.report.marginal_error;
    assert!(c.columns <= 1.01 * reported + c.slack, "columns off by {}, slack {}: {what}", c.columns, c.slack);
    // The report is the worst of three solves. In xx and yy an iteration leaves 0.17 of the error, so after many iterations the
    // error is that of xy, or larger if rows that the stored kernel has lost count as misplaced.
    if r.report.status == Status::MaxIterations && settings.max_iterations >= 50 {
        assert!(reported <= 3.0 * c.columns + c.slack, "columns off by {} only: {what}", c.columns);
    }
    // The value is a dual value.
    let size = c.upper.abs() + r.epsilon;
    let rounding = size * (T::EPSILON.to_f64() * 64.0) + r.epsilon * 2.0 * c.slack;
    assert!(
        (c.lower - rounding..=c.upper + rounding).contains(&r.ot_xy),
        "{} in {} .. {}: {what}",
        r.ot_xy,
        c.lower,
        c.upper
    );
    c
}
