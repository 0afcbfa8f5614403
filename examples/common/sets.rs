//! The matrices of the paper's experiments, and its formulas on them.

use rand::RngExt;
use wgpca::gaussian::{Barycentre, Gaussians, inner_product, log};
use wgpca::rng::Stream;

/// Row-major 2 × 2.
pub type Matrix = [f64; 4];

/// P_θ diag(a², b²) P_θᵀ (paper, eq. (cone)).
pub fn covariance(a: f64, b: f64, theta: f64) -> Matrix {
    let (s, c) = theta.sin_cos();
    let (a, b) = (a * a, b * b);
    let off = (a - b) * s * c;
    [a * c * c + b * s * s, off, off, a * s * s + b * c * c]
}

/// (x, y, z) in the cone z² > x² + y²: Σ = [[z + y, x], [x, z − y]].
pub fn cone(sigma: &[f64]) -> [f64; 3] {
    [sigma[1], 0.5 * (sigma[0] - sigma[3]), 0.5 * (sigma[0] + sigma[3])]
}

/// `count` numbers from `low` to `high`.
pub fn linspace(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..count).map(|k| low + (high - low) * k as f64 / (count - 1) as f64).collect()
}

/// (a, b) on a grid of 5 × 5 with a² from 1 to 3 and b² from 1 to 2, for diag(a², b²).
pub fn grid() -> Vec<(f64, f64)> {
    let (a, b) = (linspace(1.0, 3f64.sqrt(), 5), linspace(1.0, 2f64.sqrt(), 5));
    a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b))).collect()
}

/// 20 matrices with eigenvalues (1 + r)² and (1 − r)², their orientations over a half turn less π/20 at both ends.
pub fn circle(r: f64) -> Vec<Matrix> {
    let ends = std::f64::consts::PI / 20.0;
    linspace(ends, std::f64::consts::PI - ends, 20).into_iter().map(|t| covariance(1.0 + r, 1.0 - r, t)).collect()
}

/// Matrices with a, b uniform on (low, 1) and θ on (0, π).
pub fn random(count: usize, low: f64, trial: u64) -> Vec<Matrix> {
    let mut stream = Stream::new(trial, [0; 3]);
    let mut uniform = |low: f64, high: f64| stream.random_range(low..high);
    (0..count).map(|_| covariance(uniform(low, 1.0), uniform(low, 1.0), uniform(0.0, std::f64::consts::PI))).collect()
}

/// Centred Gaussians.
pub fn gaussians(matrices: &[Matrix]) -> wgpca::Result<Gaussians> {
    Gaussians::new(matrices.concat(), 2)
}

/// BW² divided by its linearisation at the barycentre, for matrices with eigenvalues a², b² that differ by a rotation by θ;
/// r = (a − b)/(a + b). Exact.
pub fn distortion(r: f64, theta: f64) -> f64 {
    let s = 1.0 + r * r;
    2.0 / (s + (s * s - (2.0 * r * theta.sin()).powi(2)).sqrt())
}

/// The same to the order given in the paper (eq. (curvature_approx)).
pub fn distortion_approximated(r: f64, theta: f64) -> f64 {
    1.0 - (r * theta.cos()).powi(2)
}

/// The unit tangent vector at the barycentre along which the measures vary most: tangent PCA, by power iteration on `U ← Σ_i
/// ⟨log_i, U⟩ log_i`.
pub fn tangent_direction(matrices: &[Matrix], centre: &Barycentre) -> wgpca::Result<Vec<f64>> {
    let base = &centre.covariance;
    let logs = matrices.iter().map(|sigma| log(base, sigma, 2)).collect::<Result<Vec<_>, _>>()?;
    let mut u = vec![1.0, 0.3, 0.3, -0.5];
    for _ in 0..200 {
        let mut next = vec![0.0; 4];
        for l in &logs {
            let along = inner_product(base, l, &u, 2)?;
            next.iter_mut().zip(l).for_each(|(n, l)| *n += along * l);
        }
        let size = inner_product(base, &next, &next, 2)?.sqrt();
        u = next.iter().map(|n| n / size).collect();
    }
    Ok(u)
}

/// (mean, deviation) of measures on the line, close to a geodesic that ends before the first of them.
pub const UNIVARIATE: [(f64, f64); 10] = [
    (-1.3, 0.03),
    (-1.1, 0.10),
    (-0.8, 0.05),
    (-0.5, 0.40),
    (-0.2, 0.35),
    (0.1, 0.90),
    (0.4, 0.80),
    (0.7, 1.35),
    (1.0, 1.30),
    (1.3, 1.80),
];
