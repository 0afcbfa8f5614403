//! Tangent PCA: principal directions of the logarithms of the measures at a point (paper, Section C).

use crate::gaussian::geometry::coordinates::{Coordinates, remove, symmetric_product};
use crate::gaussian::geometry::geodesic::Geodesic;
use crate::gaussian::preprocess::Data;
use crate::gaussian::sums::sum;
use crate::linalg::{SignedSvd, add, dot, eigen, multiply, multiply_tn};
use crate::rng::{Stream, StreamId};

/// Up to this order all eigenvectors of the matrix of products are computed.
const MAX_FULL_ORDER: usize = 400;

/// Logarithms of the measures at a point, in orthonormal coordinates.
pub(crate) struct Logs {
    pub at: Coordinates,
    /// Row-major n × p: coordinates of the horizontal L_i Q_i − A, then m_i − m.
    pub rows: Vec<f64>,
    pub p: usize,
}

/// Principal directions, and the part of the second moment about the point along each.
pub(crate) struct Directions {
    /// Orthonormal coordinates.
    pub vectors: Vec<Vec<f64>>,
    /// `Σ_i w_i ⟨log_i, direction⟩²`, in descending order.
    pub values: Vec<f64>,
}

impl Logs {
    /// Logarithms at (m, A), A symmetric positive definite.
    pub fn new(data: &Data, factors: &[f64], a: &[f64], mean: &[f64]) -> Self {
        let (n, d) = (data.len(), data.d);
        let at = Coordinates::new(a, d);
        let q = at.len();
        let p = q + mean.len();
        let mut rows = vec![0.0; n * p];
        sum((n, d), 0, &mut rows, |range, _, own| {
            let mut svd = SignedSvd::new(d);
            let (mut m, mut turn) = (vec![0.0; d * d], vec![0.0; d * d]);
            for (i, row) in range.zip(own.chunks_exact_mut(p)) {
                let l = &factors[i * d * d..(i + 1) * d * d];
                multiply_tn(l, a, d, &mut m);
                svd.nearest_rotation(&m, &mut turn);
                multiply(l, &turn, d, &mut m);
                add(&mut m, -1.0, a);
                row[..q].copy_from_slice(&at.dual(&symmetric_product(&m, a, d)));
                row[q..].iter_mut().zip(data.mean(i)).zip(mean).for_each(|((r, own), m)| *r = own - m);
            }
        });
        Logs { at, rows, p }
    }

    /// The first `count` principal directions orthogonal to the given orthonormal directions, or fewer if the space has
    /// fewer.
    pub fn principal(&self, weights: &[f64], orthogonal_to: &[Vec<f64>], count: usize) -> Directions {
        let (n, p) = (weights.len(), self.p);
        let count = count.min(p - orthogonal_to.len().min(p));
        // Rows multiplied by the square roots of the weights, without their components along the given directions.
        let mut rows = self.rows.clone();
        sum((n, 1), 0, &mut rows, |range, _, own| {
            for (i, row) in range.zip(own.chunks_exact_mut(p)) {
                remove_from(row, orthogonal_to);
                row.iter_mut().for_each(|r| *r *= weights[i].sqrt());
            }
        });
        let mut found = if p <= MAX_FULL_ORDER {
            by_moments(&rows, p)
        } else if n <= MAX_FULL_ORDER {
            by_products(&rows, n, p)
        } else {
            by_iteration(&rows, p, count)
        };
        // The directions of the measures are completed to an orthonormal set by coordinate axes.
        let mut vectors: Vec<Vec<f64>> = vec![];
        let mut values = vec![];
        let mut axes = 0..p;
        while vectors.len() < count {
            let next = if found.is_empty() { None } else { Some(found.remove(0)) };
            let (value, mut v) = match (next, axes.next()) {
                (Some(pair), _) => pair,
                (None, Some(axis)) => (0.0, (0..p).map(|j| f64::from(u8::from(j == axis))).collect()),
                (None, None) => break,
            };
            remove(&mut v, orthogonal_to);
            remove(&mut v, &vectors);
            let size = dot(&v, &v).sqrt();
            if size > 0.1 {
                v.iter_mut().for_each(|v| *v /= size);
                vectors.push(v);
                values.push(value);
            }
        }
        Directions { vectors, values }
    }

    /// The line through (m, A) in a direction.
    pub fn line(&self, a: &[f64], mean: &[f64], direction: &[f64], d: usize) -> Geodesic {
        let (k, drift) = direction.split_at(self.at.len());
        Geodesic::from_parts(a.to_vec(), self.at.matrix(k), d, mean.to_vec(), drift.to_vec())
    }
}

fn remove_from(row: &mut [f64], orthonormal: &[Vec<f64>]) {
    for e in orthonormal {
        let along = dot(row, e);
        row.iter_mut().zip(e).for_each(|(r, e)| *r -= along * e);
    }
}

/// Eigenpairs of RᵀR, largest first.
fn by_moments(rows: &[f64], p: usize) -> Vec<(f64, Vec<f64>)> {
    let moments = sum((rows.len() / p, 1), p * p, &mut [], |range, total, _| {
        for row in rows[range.start * p..range.end * p].chunks_exact(p) {
            for i in 0..p {
                let (r, x) = (&mut total[i * p..=i * p + i], row[i]);
                r.iter_mut().zip(row).for_each(|(t, y)| *t += x * y);
            }
        }
    });
    let whole: Vec<f64> = (0..p * p).map(|k| moments[(k / p).max(k % p) * p + (k / p).min(k % p)]).collect();
    let (values, vectors) = eigen(&whole, p);
    (0..p).rev().map(|k| (values[k].max(0.0), vectors[k * p..(k + 1) * p].to_vec())).collect()
}

/// The same from RRᵀ, for few rows.
fn by_products(rows: &[f64], n: usize, p: usize) -> Vec<(f64, Vec<f64>)> {
    let row = |i: usize| &rows[i * p..(i + 1) * p];
    let mut products = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let x = dot(row(i), row(j));
            (products[i * n + j], products[j * n + i]) = (x, x);
        }
    }
    let (values, vectors) = eigen(&products, n);
    let top = values[n - 1].max(0.0);
    let vector = |k: usize| {
        let mut v = vec![0.0; p];
        (0..n).for_each(|i| add(&mut v, vectors[k * n + i], row(i)));
        let size = dot(&v, &v).sqrt();
        v.iter_mut().for_each(|v| *v /= size);
        (values[k], v)
    };
    (0..n).rev().filter(|&k| values[k] > 1e-13 * top && top > 0.0).map(vector).collect()
}

/// The same by subspace iteration with Rayleigh quotients (Golub and Van Loan, 8.2.4) on a block wider than `count`.
fn by_iteration(rows: &[f64], p: usize, count: usize) -> Vec<(f64, Vec<f64>)> {
    let n = rows.len() / p;
    let width = (2 * count + 8).min(n).min(p);
    let mut stream = Stream::at(0, StreamId::PrincipalDirections);
    let mut block: Vec<Vec<f64>> = (0..width).map(|_| (0..p).map(|_| stream.normal()).collect()).collect();
    let mut last = vec![0.0; count];
    for _ in 0..300 {
        orthonormalise(&mut block);
        // RᵀR times the block, and the products with the block.
        let moved = sum((n, 1), width * p, &mut [], |range, total, _| {
            for row in rows[range.start * p..range.end * p].chunks_exact(p) {
                for (v, out) in block.iter().zip(total.chunks_exact_mut(p)) {
                    add(out, dot(row, v), row);
                }
            }
        });
        let image = |j: usize| &moved[j * p..(j + 1) * p];
        let small: Vec<f64> = (0..width * width)
            .map(|k| dot(&block[(k / width).max(k % width)], image((k / width).min(k % width))))
            .collect();
        let (values, vectors) = eigen(&small, width);
        block = (0..width)
            .rev()
            .map(|k| {
                let mut v = vec![0.0; p];
                (0..width).for_each(|j| add(&mut v, vectors[k * width + j], image(j)));
                v
            })
            .collect();
        let now: Vec<f64> = values.iter().rev().take(count).copied().collect();
        let still = now.iter().zip(&last).all(|(a, b)| (a - b).abs() <= 1e-14 * now[0]);
        last = now;
        if still {
            break;
        }
    }
    orthonormalise(&mut block);
    last.into_iter().zip(block).collect()
}

fn orthonormalise(block: &mut [Vec<f64>]) {
    for k in 0..block.len() {
        let (done, rest) = block.split_at_mut(k);
        remove(&mut rest[0], done);
        let size = dot(&rest[0], &rest[0]).sqrt();
        let inverse = if size > 0.0 { 1.0 / size } else { 0.0 };
        rest[0].iter_mut().for_each(|v| *v *= inverse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_util::normals;

    /// Rows with known principal directions: σ_k times random unit scores, by all three methods.
    #[test]
    fn three_ways_agree() {
        let (n, p) = (450, 420);
        let mut s = Stream::new(2, [0; 3]);
        let axis: Vec<Vec<f64>> = {
            let mut block: Vec<Vec<f64>> = (0..6).map(|_| normals(&mut s, p)).collect();
            orthonormalise(&mut block);
            block
        };
        let mut scores: Vec<Vec<f64>> = (0..6).map(|_| normals(&mut s, n)).collect();
        orthonormalise(&mut scores);
        let sizes = [5.0, 3.0, 2.0, 1.0, 0.1, 1e-3];
        let mut rows = vec![0.0; n * p];
        for i in 0..n {
            for k in 0..6 {
                add(&mut rows[i * p..(i + 1) * p], sizes[k] * scores[k][i], &axis[k]);
            }
        }
        for (found, reach) in [(by_moments(&rows, p), 6), (by_products(&rows, n, p), 6), (by_iteration(&rows, p, 4), 4)]
        {
            for k in 0..reach {
                assert!((found[k].0 / sizes[k].powi(2) - 1.0).abs() < 1e-8, "{k}: {}", found[k].0);
                assert!(dot(&found[k].1, &axis[k]).abs() > 1.0 - 1e-9, "{k}");
            }
        }
    }
}
