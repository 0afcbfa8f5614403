//! The measures of a fit in a frame with centred means, unit size and no common null space, and factors instead of
//! covariances.

use super::gaussians::Gaussians;
use super::settings::Degenerate;
use crate::error::{Error, Result};
use crate::linalg::{dot, eigen, factor, trace};
use crate::pool::for_each;
use crate::rng::{Stream, StreamId};

/// Work with fewer multiplications is not distributed over threads.
const MIN_PARALLEL_WORK: usize = 1 << 15;

/// A variance below this share of the largest one is left out of a fit: it is smaller than the rounding of a cost, and
/// too small as a divisor.
pub(crate) const NEGLIGIBLE_EIGENVALUE: f64 = 1e-14;

/// Number of measures in a sample. A sample is taken if there are more than twice as many measures.
const SAMPLE_MEASURES: usize = 200;

/// Measures in the frame.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    /// Order of the matrices: the dimension of the common range.
    pub d: usize,
    /// Coordinates of the means; 0 if the measures are centred.
    pub m: usize,
    /// Factors L_i, row-major n × d × d.
    pub factors: Vec<f64>,
    /// Means minus their centre, row-major n × m.
    pub means: Vec<f64>,
    /// Weights of sum n.
    pub weights: Vec<f64>,
    /// Factor from costs in the frame, which have weights of sum n, to costs with the given weights.
    pub mass: f64,
    /// Factors of the regularised matrices on which the search is done; empty if these are the given matrices.
    pub search: Vec<f64>,
    /// Position and scale of the frame.
    pub frame: Frame,
    /// (measure, rank) of each matrix whose rank is below d; empty if all are regular.
    pub singular: Vec<(usize, usize)>,
}

/// `x = centre + unit · basis · y` for y in the frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// A power of two, so that scaling causes no rounding.
    pub unit: f64,
    /// Weighted mean of the means; empty if the measures are centred.
    pub centre: Vec<f64>,
    /// Orthonormal basis of the common range, row-major D × d; empty if this is the whole space.
    pub basis: Vec<f64>,
    /// D.
    pub dim: usize,
}

impl Data {
    /// Factor from a cost in the frame to squared units of the data and the given weights.
    pub fn cost_unit(&self) -> f64 {
        self.frame.unit.powi(2) * self.mass
    }

    /// The frame of a set of measures, and the measures in it. Directions in which all variances are 0, or below the
    /// share `negligible` of the largest one, are left out.
    pub fn new(set: &Gaussians, degenerate: Degenerate, negligible: f64) -> Result<Self> {
        let (n, dim) = (set.len(), set.dim());
        let (weights, mass) = normalised(set);
        let centre = centre(set, &weights);
        let m = centre.len();
        let spread: f64 = (0..n).map(|i| weights[i] * (trace(set.covariance(i), dim) + offset(set, i, &centre))).sum();
        // Means whose squared differences leave the range of f64 are an error.
        let size = (spread / n as f64).sqrt();
        if !size.is_finite() {
            return Err(Error::parameter("measures", "their variance exceeds the range of f64; rescale them"));
        }
        let unit = if size > 0.0 { 2f64.powi(size.log2().round() as i32) } else { 1.0 };
        let basis = common_range(set, negligible)?;
        let d = if basis.is_empty() { dim } else { basis.len() / dim };
        let frame = Frame { unit, centre, basis, dim };
        let means = (0..n).flat_map(|i| frame.mean_in(set.mean(i))).collect();
        let mut data =
            Data { d, m, factors: vec![0.0; n * d * d], means, weights, mass, search: vec![], frame, singular: vec![] };
        data.singular = data.factorise(set);
        data.regularise(set, degenerate)?;
        Ok(data)
    }

    /// Measures in the frame of a model.
    pub fn in_frame(set: &Gaussians, frame: &Frame) -> Self {
        let (n, d) = (set.len(), frame.dim);
        let means = (0..n).flat_map(|i| frame.mean_in(set.mean(i))).collect();
        let (weights, mass) = normalised(set);
        let m = frame.centre.len();
        let factors = vec![0.0; n * d * d];
        let frame = Frame { basis: vec![], ..frame.clone() };
        let mut data = Data { d, m, factors, means, weights, mass, search: vec![], frame, singular: vec![] };
        data.factorise(set);
        data
    }

    /// Number of measures.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// A random sample of the measures; none if there are few measures.
    pub fn sample(&self, seed: u64) -> Option<Data> {
        let (n, d, m) = (self.len(), self.d, self.m);
        if n <= 2 * SAMPLE_MEASURES {
            return None;
        }
        let mut order: Vec<usize> = (0..n).filter(|&i| self.weights[i] > 0.0).collect();
        Stream::at(seed, StreamId::GaussianSample).shuffle_front(&mut order, SAMPLE_MEASURES);
        order.truncate(SAMPLE_MEASURES);
        order.sort_unstable();
        let rows = |all: &[f64], width: usize| -> Vec<f64> {
            if all.is_empty() {
                return vec![];
            }
            order.iter().flat_map(|&i| all[i * width..(i + 1) * width].iter().copied()).collect()
        };
        Some(Data {
            d,
            m,
            factors: rows(&self.factors, d * d),
            means: rows(&self.means, m),
            weights: rows(&self.weights, 1),
            mass: self.mass,
            search: rows(&self.search, d * d),
            frame: self.frame.clone(),
            singular: vec![],
        })
    }

    /// L_i.
    pub fn factor(&self, i: usize) -> &[f64] {
        &self.factors[i * self.d * self.d..(i + 1) * self.d * self.d]
    }

    /// m_i in the frame.
    pub fn mean(&self, i: usize) -> &[f64] {
        &self.means[i * self.m..(i + 1) * self.m]
    }

    /// The factors on which the search is done.
    pub fn search_factors(&self) -> &[f64] {
        if self.search.is_empty() { &self.factors } else { &self.search }
    }

    fn factorise(&mut self, set: &Gaussians) -> Vec<(usize, usize)> {
        let d = self.d;
        let frame = self.frame.clone();
        let mut jobs: Vec<(&mut [f64], usize)> = self.factors.chunks_exact_mut(d * d).map(|l| (l, d)).collect();
        let worth = jobs.len() * d * d * d > MIN_PARALLEL_WORK;
        for_each(&mut jobs, worth, |i, (l, rank)| {
            let found = factor(&frame.covariance_in(set.covariance(i)), d);
            l.copy_from_slice(&found.l);
            *rank = found.rank;
        });
        jobs.iter().enumerate().filter(|(_, job)| job.1 < d).map(|(i, job)| (i, job.1)).collect()
    }

    /// Treats matrices that are singular beyond the common null space, according to the settings.
    fn regularise(&mut self, set: &Gaussians, degenerate: Degenerate) -> Result<()> {
        let d = self.d;
        match (degenerate, self.singular.first()) {
            (Degenerate::Refuse, _) if !self.frame.basis.is_empty() => {
                let problem = format!("all covariances are 0 to rounding in {} common directions", self.frame.dim - d);
                Err(Error::parameter("degenerate", problem + "; choose reduce or a ridge, or leave them out"))
            }
            (Degenerate::Refuse, Some(&(i, rank))) => {
                let low = eigen(set.covariance(i), set.dim()).0[0];
                let problem = format!("it is singular to rounding (rank {rank} of {d}, smallest eigenvalue {low:.1e})");
                Err(Error::covariance(set.name(i), problem + "; add a ridge to it, or allow one (degenerate)"))
            }
            (Degenerate::Ridge(relative), Some(_)) => {
                let n = self.len();
                let size: f64 = (0..n).map(|i| dot(self.factor(i), self.factor(i))).sum::<f64>() / (n * d) as f64;
                let ridge = relative * size;
                let frame = &self.frame;
                let mut jobs: Vec<Vec<f64>> = vec![vec![]; n];
                for_each(&mut jobs, n * d * d * d > MIN_PARALLEL_WORK, |i, out| {
                    let mut sigma = frame.covariance_in(set.covariance(i));
                    (0..d).for_each(|k| sigma[k * d + k] += ridge);
                    *out = factor(&sigma, d).l;
                });
                self.search = jobs.concat();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Frame {
    /// Whether the common range is smaller than the space.
    pub fn reduced(&self) -> bool {
        !self.basis.is_empty()
    }

    /// A mean in the frame; empty if the measures are centred.
    pub fn mean_in(&self, mean: Option<&[f64]>) -> Vec<f64> {
        let at = |k: usize| mean.map_or(0.0, |m| m[k]);
        self.centre.iter().enumerate().map(|(k, c)| (at(k) - c) / self.unit).collect()
    }

    /// Basisᵀ Σ Basis / unit².
    pub fn covariance_in(&self, sigma: &[f64]) -> Vec<f64> {
        let (dim, unit) = (self.dim, self.unit);
        // Divided twice by the unit, because its square can leave the range of f64.
        let scaled: Vec<f64> = sigma.iter().map(|x| x / unit / unit).collect();
        if !self.reduced() {
            return scaled;
        }
        let d = self.basis.len() / dim;
        let mut half = vec![0.0; dim * d];
        for i in 0..dim {
            for k in 0..dim {
                (0..d).for_each(|j| half[i * d + j] += scaled[i * dim + k] * self.basis[k * d + j]);
            }
        }
        let mut out = vec![0.0; d * d];
        for k in 0..dim {
            for i in 0..d {
                (0..d).for_each(|j| out[i * d + j] += self.basis[k * d + i] * half[k * d + j]);
            }
        }
        crate::linalg::symmetrise(&mut out, d);
        out
    }

    /// factor · Basis M Basisᵀ. With the unit as factor this is a lift in the units of the measures, with 1 a velocity.
    pub fn matrix_out(&self, matrix: &[f64], factor: f64) -> Vec<f64> {
        let scaled: Vec<f64> = matrix.iter().map(|x| factor * x).collect();
        if !self.reduced() {
            return scaled;
        }
        let (dim, d) = (self.dim, self.basis.len() / self.dim);
        let mut out = vec![0.0; dim * dim];
        for p in 0..dim * dim {
            let (row, column) = (&self.basis[p / dim * d..][..d], &self.basis[p % dim * d..][..d]);
            for i in 0..d {
                out[p] += row[i] * dot(&scaled[i * d..(i + 1) * d], column);
            }
        }
        out
    }

    /// A mean in the units of the measures; zeros if they are centred.
    pub fn mean_out(&self, mean: &[f64]) -> Vec<f64> {
        if mean.is_empty() {
            return vec![0.0; self.dim];
        }
        self.centre.iter().zip(mean).map(|(c, m)| c + self.unit * m).collect()
    }
}

/// Weights of sum n, and the factor from them to the given weights.
fn normalised(set: &Gaussians) -> (Vec<f64>, f64) {
    let mass = set.weights().iter().sum::<f64>() / set.len() as f64;
    (set.weights().iter().map(|w| w / mass).collect(), mass)
}

/// The weighted mean of the means; empty without means.
fn centre(set: &Gaussians, weights: &[f64]) -> Vec<f64> {
    let Some(first) = set.mean(0) else { return vec![] };
    // Relative to the first mean, so that means far from 0 keep the digits of their differences.
    let mut centre = vec![0.0; first.len()];
    for i in 0..set.len() {
        let w = weights[i] / set.len() as f64;
        let mean = set.mean(i).unwrap_or(first);
        centre.iter_mut().zip(mean.iter().zip(first)).for_each(|(c, (m, f))| *c += w * (m - f));
    }
    centre.iter().zip(first).map(|(c, f)| c + f).collect()
}

/// |m_i − centre|².
fn offset(set: &Gaussians, i: usize, centre: &[f64]) -> f64 {
    set.mean(i).map_or(0.0, |m| m.iter().zip(centre).map(|(m, c)| (m - c).powi(2)).sum())
}

/// Basis of the range of Σ_i Σ_i without directions of negligible variance, row-major D × d; empty if this is the whole
/// space.
fn common_range(set: &Gaussians, negligible: f64) -> Result<Vec<f64>> {
    let (n, dim) = (set.len(), set.dim());
    let mut total = vec![0.0; dim * dim];
    for i in 0..n {
        total.iter_mut().zip(set.covariance(i)).for_each(|(t, s)| *t += s / n as f64);
    }
    let rank = factor(&total, dim).rank;
    if rank == 0 {
        let problem = "every covariance is 0: these are points, not Gaussians; take PCA of the means";
        return Err(Error::parameter("covariances", problem));
    }
    let (values, vectors) = eigen(&total, dim);
    let rank = rank.min(values.iter().filter(|&&v| v >= negligible * values[dim - 1]).count());
    let rank = rank.min(rank_beyond_rounding(set, &total));
    if rank == dim {
        return Ok(vec![]);
    }
    let kept = &vectors[(dim - rank) * dim..];
    Ok((0..dim * rank).map(|p| kept[p % rank * dim + p / rank]).collect())
}

/// The rank of the sum of all covariances if its entries are rounded. The rounding is relative to each entry, so the
/// rank is determined from correlations. The rounding of f64 is treated by the caller.
fn rank_beyond_rounding(set: &Gaussians, total: &[f64]) -> usize {
    let (dim, allowed) = (set.dim(), set.explained_by_rounding());
    if allowed < 1e-10 {
        return dim;
    }
    let scale: Vec<f64> = (0..dim).map(|k| total[k * dim + k].sqrt()).collect();
    let unit = |k: usize| if scale[k] > 0.0 { scale[k] } else { 1.0 };
    let correlations: Vec<f64> = (0..dim * dim).map(|p| total[p] / (unit(p / dim) * unit(p % dim))).collect();
    let (values, _) = eigen(&correlations, dim);
    values.iter().filter(|&&v| v > allowed * values[dim - 1]).count()
}
