//! Singular values with a sign, and the rotation nearest to a matrix.

use super::dense::{determinant_sign, dot, multiply, multiply_tn};

/// Up to this order Jacobi's rotations are faster than a bidiagonalisation.
const ROTATIONS: usize = 16;
/// Two rows count as orthogonal if the cosine between them is below this.
const ORTHOGONAL: f64 = 1e-15;
/// The largest cosine that rounding leaves between orthogonalised rows.
const LEANING: f64 = 1e-14;

/// `M = U diag(s) Vᵀ` with U and V orthogonal, det UVᵀ = +1 and s₁ ≥ … ≥ |s_d|: the last singular value has the sign
/// of det M. Then `Q = UVᵀ` maximises ⟨M, Q⟩ over the rotations (det +1), and the maximum is Σ_k s_k.
///
/// Small matrices are decomposed by rotations of rows (one-sided Jacobi; Demmel and Veselić 1992). If the rows of a
/// matrix differ in size, its singular values keep their relative accuracy.
#[derive(Clone, Debug)]
pub struct SignedSvd {
    d: usize,
    /// Singular values.
    pub s: Vec<f64>,
    /// Rows are the columns of U.
    pub ut: Vec<f64>,
    /// Rows are the columns of V.
    pub vt: Vec<f64>,
    /// det Uᵀ.
    sign: f64,
    memory: Vec<f64>,
}

impl SignedSvd {
    /// Memory for matrices of order d.
    pub fn new(d: usize) -> Self {
        let square = vec![0.0; d * d];
        SignedSvd { d, s: vec![0.0; d], ut: square.clone(), vt: square.clone(), sign: 1.0, memory: square }
    }

    /// Decomposes M.
    pub fn compute(&mut self, m: &[f64]) {
        let d = self.d;
        if d > ROTATIONS && self.bidiagonal(m) {
            return;
        }
        self.ut.fill(0.0);
        (0..d).for_each(|k| self.ut[k * d + k] = 1.0);
        self.sign = 1.0;
        self.vt.copy_from_slice(m);
        self.rotate_all();
    }

    /// Decomposes a matrix near the last one. Its U is the start, which saves most rotations.
    pub fn compute_near(&mut self, m: &[f64]) {
        if self.d > ROTATIONS {
            return self.compute(m);
        }
        multiply(&self.ut, m, self.d, &mut self.vt);
        self.rotate_all();
    }

    /// Q = UVᵀ.
    pub fn rotation(&self, q: &mut [f64]) {
        multiply_tn(&self.ut, &self.vt, self.d, q);
    }

    /// The rotation that maximises ⟨M, Q⟩. For d ≤ 2 it has a closed form, which does not change the stored
    /// decomposition.
    pub fn nearest_rotation(&mut self, m: &[f64], q: &mut [f64]) {
        match self.d {
            1 => q[0] = 1.0,
            2 => {
                let (x, y) = (m[0] + m[3], m[2] - m[1]);
                let size = x.hypot(y);
                let (c, s) = if size > 0.0 { (x / size, y / size) } else { (1.0, 0.0) };
                q.copy_from_slice(&[c, -s, s, c]);
            }
            _ => {
                self.compute(m);
                self.rotation(q);
            }
        }
    }

    /// Σ_k s_k = max ⟨M, Q⟩ over rotations.
    pub fn sum(&self) -> f64 {
        self.s.iter().sum()
    }

    /// For N = dM/dt: the first and second derivative of [`SignedSvd::sum`],
    /// `tr Z` and `½ Σ_jk (Z_jk − Z_kj)²/(s_j + s_k)` with `Z = Uᵀ N V`.
    pub fn derivatives(&mut self, n: &[f64], z: &mut [f64]) -> (f64, f64) {
        let d = self.d;
        multiply(&self.ut, n, d, &mut self.memory);
        super::dense::multiply_nt(&self.memory, &self.vt, d, z);
        let (mut first, mut second) = (0.0, 0.0);
        for j in 0..d {
            first += z[j * d + j];
            for k in 0..j {
                let (skew, sum) = (z[j * d + k] - z[k * d + j], self.s[j] + self.s[k]);
                // Where two values with opposite signs meet, the sum is not differentiable; the term is omitted.
                if skew != 0.0 && sum > 1e-300 {
                    second += skew * skew / sum;
                }
            }
        }
        (first, second)
    }

    /// Makes the rows of `vt` orthogonal, with the same rotations on those of `ut`.
    fn rotate_all(&mut self) {
        let (v, u) = (&mut self.vt, &mut self.ut);
        match self.d {
            2 => sweep::<2>(v, u),
            3 => sweep::<3>(v, u),
            4 => sweep::<4>(v, u),
            5 => sweep::<5>(v, u),
            6 => sweep::<6>(v, u),
            7 => sweep::<7>(v, u),
            8 => sweep::<8>(v, u),
            d => sweep_any(v, u, d),
        }
        self.normalise();
    }

    /// Writes the norms of the rows to `s`, in descending order, and the sign to the last. If M is singular, a row
    /// can consist of rounding errors of the others and have no reliable direction; it is then replaced by an
    /// orthogonal unit vector.
    fn normalise(&mut self) {
        let d = self.d;
        for k in 0..d {
            self.s[k] = dot(&self.vt[k * d..(k + 1) * d], &self.vt[k * d..(k + 1) * d]).sqrt();
        }
        for k in 0..d {
            let top = (k..d).fold(k, |best, i| if self.s[i] > self.s[best] { i } else { best });
            if top != k {
                self.s.swap(k, top);
                for j in 0..d {
                    self.vt.swap(k * d + j, top * d + j);
                    self.ut.swap(k * d + j, top * d + j);
                }
                self.sign = -self.sign;
            }
        }
        for k in 0..d {
            if self.s[k] > 0.0 && self.s[k].is_finite() {
                let inverse = 1.0 / self.s[k];
                self.vt[k * d..(k + 1) * d].iter_mut().for_each(|v| *v *= inverse);
                if self.s[k] <= f64::EPSILON * self.s[0] && leans(&self.vt, d, k) {
                    self.s[k] = 0.0;
                    complete(&mut self.vt, d, k);
                }
            } else if self.s[k] == 0.0 {
                complete(&mut self.vt, d, k);
            }
        }
        self.put_sign();
    }

    fn put_sign(&mut self) {
        let d = self.d;
        if self.sign * determinant_sign(&self.vt, d) < 0.0 {
            self.vt[(d - 1) * d..].iter_mut().for_each(|v| *v = -*v);
            self.s[d - 1] = -self.s[d - 1];
        }
    }

    /// Decomposes by bidiagonalisation. False if that fails.
    fn bidiagonal(&mut self, m: &[f64]) -> bool {
        let d = self.d;
        let Ok(svd) = faer::MatRef::from_row_major_slice(m, d, d).svd() else {
            return false;
        };
        let (u, s, v) = (svd.U(), svd.S().column_vector(), svd.V());
        for k in 0..d {
            self.s[k] = s[k];
            for i in 0..d {
                self.ut[k * d + i] = u[(i, k)];
                self.vt[k * d + i] = v[(i, k)];
            }
        }
        if !(self.s.iter().chain(&self.ut).chain(&self.vt).all(|x| x.is_finite())) {
            return false;
        }
        self.sign = determinant_sign(&self.ut, d);
        self.put_sign();
        true
    }
}

/// Largest number of sweeps over all pairs of rows. Sweeps end when no pair is rotated.
const SWEEPS: usize = 40;

/// Sweeps for an order that is known at compile time: three times as fast.
fn sweep<const D: usize>(v: &mut [f64], u: &mut [f64]) {
    let ((v, _), (u, _)) = (v.as_chunks_mut::<D>(), u.as_chunks_mut::<D>());
    for _ in 0..SWEEPS {
        let mut turned = false;
        for q in 1..D {
            for p in 0..q {
                let (low, high) = v.split_at_mut(q);
                if let Some(angle) = rotate(&mut low[p], &mut high[0]) {
                    let (low, high) = u.split_at_mut(q);
                    turn(&mut low[p], &mut high[0], angle);
                    turned = true;
                }
            }
        }
        if !turned {
            break;
        }
    }
}

fn sweep_any(v: &mut [f64], u: &mut [f64], d: usize) {
    for _ in 0..SWEEPS {
        let mut turned = false;
        for q in 1..d {
            for p in 0..q {
                let (low, high) = v.split_at_mut(q * d);
                if let Some(angle) = rotate(&mut low[p * d..(p + 1) * d], &mut high[..d]) {
                    let (low, high) = u.split_at_mut(q * d);
                    turn(&mut low[p * d..(p + 1) * d], &mut high[..d], angle);
                    turned = true;
                }
            }
        }
        if !turned {
            break;
        }
    }
}

/// Makes two rows orthogonal. Returns (cosine, sine) of the rotation, or none if they are orthogonal.
#[inline(always)]
fn rotate(x: &mut [f64], y: &mut [f64]) -> Option<(f64, f64)> {
    let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y.iter()) {
        a += x * x;
        b += y * y;
        c += x * y;
    }
    // NaN ends the rotations.
    if !(c * c > ORTHOGONAL * ORTHOGONAL * a * b) {
        return None;
    }
    let zeta = (b - a) / (2.0 * c);
    let t = if zeta.abs() < 1e150 { zeta.signum() / (zeta.abs() + (zeta * zeta + 1.0).sqrt()) } else { c / (b - a) };
    let cosine = 1.0 / (t * t + 1.0).sqrt();
    let angle = (cosine, t * cosine);
    turn(x, y, angle);
    Some(angle)
}

#[inline(always)]
fn turn(x: &mut [f64], y: &mut [f64], (cosine, sine): (f64, f64)) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

/// Whether unit row k is not orthogonal to the rows before it.
fn leans(rows: &[f64], d: usize, k: usize) -> bool {
    let row = &rows[k * d..(k + 1) * d];
    rows[..k * d].chunks_exact(d).any(|other| !(dot(row, other).abs() <= LEANING))
}

/// Replaces row k by a unit vector orthogonal to the rows before it.
fn complete(rows: &mut [f64], d: usize, k: usize) {
    let (before, row) = rows.split_at_mut(k * d);
    let row = &mut row[..d];
    let mut best = (0.0, vec![0.0; d]);
    for axis in 0..d {
        row.fill(0.0);
        row[axis] = 1.0;
        for _ in 0..2 {
            for other in before.chunks_exact(d) {
                let along = dot(row, other);
                row.iter_mut().zip(other).for_each(|(r, o)| *r -= along * o);
            }
        }
        let size = dot(row, row).sqrt();
        if size > best.0 {
            best = (size, row.iter().map(|r| r / size).collect());
        }
    }
    row.copy_from_slice(&best.1);
}

#[cfg(test)]
mod tests;
