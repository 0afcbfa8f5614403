//! Laws on the line described by their quantile functions: W₂ is the distance in L²(0, 1), geodesics are straight lines of
//! nondecreasing functions.

use rand::RngExt;
use rand_distr::StandardNormal;
use wgpca::gaussian::Component;
use wgpca::rng::Stream;

/// A standard normal law discretised by atoms: their positions, their masses.
pub struct Normal {
    pub x: Vec<f64>,
    pub mass: Vec<f64>,
}

impl Normal {
    /// Equally spaced positions from −5 to 5; mean 0 and variance 1 up to the last digits.
    pub fn new(atoms: usize) -> Self {
        let x = super::sets::linspace(-5.0, 5.0, atoms);
        let density: Vec<f64> = x.iter().map(|x| (-0.5 * x * x).exp()).collect();
        let total: f64 = density.iter().sum();
        let mass: Vec<f64> = density.iter().map(|p| p / total).collect();
        let deviation = x.iter().zip(&mass).map(|(x, p)| p * x * x).sum::<f64>().sqrt();
        Normal { x: x.iter().map(|x| x / deviation).collect(), mass }
    }

    /// The quantile function of N(m, σ²).
    pub fn quantile(&self, m: f64, sigma: f64) -> Vec<f64> {
        self.x.iter().map(|x| m + sigma * x).collect()
    }

    pub fn dot(&self, f: &[f64], g: &[f64]) -> f64 {
        f.iter().zip(g).zip(&self.mass).map(|((f, g), p)| p * f * g).sum()
    }

    /// f minus its projection to the plane of Gaussian quantile functions.
    pub fn beyond_gaussians(&self, f: &[f64]) -> Vec<f64> {
        let (m, sigma) = (self.dot(f, &vec![1.0; f.len()]), self.dot(f, &self.x));
        f.iter().zip(self.quantile(m, sigma)).map(|(f, g)| f - g).collect()
    }

    /// A line of quantile functions from a component of Gaussians.
    pub fn line(&self, c: &Component) -> Line {
        Line {
            at: self.quantile(c.geodesic.mean[0], c.geodesic.a[0]),
            along: self.quantile(c.geodesic.velocity[0], c.geodesic.x[0]),
        }
    }

    /// The first principal line of functions, without the constraint: through their mean, by power iteration.
    pub fn principal_line(&self, functions: &[Vec<f64>]) -> Line {
        let n = functions.len() as f64;
        let at: Vec<f64> = (0..self.x.len()).map(|k| functions.iter().map(|f| f[k]).sum::<f64>() / n).collect();
        let centred: Vec<Vec<f64>> =
            functions.iter().map(|f| f.iter().zip(&at).map(|(f, a)| f - a).collect()).collect();
        let mut along: Vec<f64> = self.x.iter().map(|x| 1.0 + x.sin()).collect();
        for _ in 0..500 {
            let mut next = vec![0.0; along.len()];
            for f in &centred {
                let c = self.dot(f, &along);
                next.iter_mut().zip(f).for_each(|(n, f)| *n += c * f);
            }
            let size = self.dot(&next, &next).sqrt();
            along = next.iter().map(|n| n / size).collect();
        }
        Line { at, along }
    }

    /// Σ_i min_t |at + t along − f_i|² over the times at which the line is nondecreasing.
    pub fn cost(&self, line: &Line, functions: &[Vec<f64>]) -> f64 {
        let (low, high) = line.interval();
        let speed = self.dot(&line.along, &line.along);
        let one = |f: &Vec<f64>| {
            let from: Vec<f64> = f.iter().zip(&line.at).map(|(f, a)| f - a).collect();
            let t = (self.dot(&from, &line.along) / speed).clamp(low, high);
            let rest: Vec<f64> = from.iter().zip(&line.along).map(|(f, h)| f - t * h).collect();
            self.dot(&rest, &rest)
        };
        functions.iter().map(one).sum()
    }

    /// A line close to another, outside the Gaussians: both parts plus `size` times random polynomials of degree 2 to 5.
    pub fn perturbed(&self, line: &Line, size: f64, stream: &mut Stream) -> Line {
        let mut beside = |f: &[f64]| {
            let c: [f64; 4] = std::array::from_fn(|_| stream.sample(StandardNormal));
            let odd = self.x.iter().map(|x| c[0] * x * x + c[1] * x.powi(3) + c[2] * x.powi(4) + c[3] * x.powi(5));
            let odd = self.beyond_gaussians(&odd.collect::<Vec<_>>());
            let scale = size / self.dot(&odd, &odd).sqrt();
            f.iter().zip(odd).map(|(f, o)| f + scale * o).collect()
        };
        Line { at: beside(&line.at), along: beside(&line.along) }
    }
}

/// t ↦ at + t along.
pub struct Line {
    pub at: Vec<f64>,
    pub along: Vec<f64>,
}

impl Line {
    /// The times at which it is nondecreasing; empty (low > high) if there are none.
    pub fn interval(&self) -> (f64, f64) {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for (a, h) in self.at.windows(2).zip(self.along.windows(2)) {
            let (a, h) = (a[1] - a[0], h[1] - h[0]);
            if h > 0.0 {
                low = low.max(-a / h);
            } else if h < 0.0 {
                high = high.min(-a / h);
            }
        }
        (low, high)
    }
}
