//! Models made without a fit: φ = m + Lx and f = ½uᵀSu + b·u with diagonal L and S, written as a file with the documented layout
//! and read. Their laws are N(m + t(Sm + b), (L(I + tS))²), so everything is known in closed form.

use rand::RngExt;
use rand_distr::{Normal, StandardNormal};
use wgpca::Measure;
use wgpca::clouds::Model;
use wgpca::rng::Stream;

/// Diagonal Gaussians N(a, diag(s²)) as points (a, s) of R^2d, where W₂ is the Euclidean distance; the components are
/// straight lines through (0, 1) along orthonormal directions.
pub struct World {
    pub d: usize,
    /// Directions of the components, 2d numbers each.
    pub directions: Vec<Vec<f64>>,
    /// The measures.
    pub laws: Vec<Vec<f64>>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[allow(dead_code)] // The tests and each example use a part of it.
impl World {
    /// n measures whose squared coordinates along two directions and orthogonal to them have, on average, these shares of a
    /// variation of `spread`² per measure.
    pub fn new(d: usize, n: usize, spread: f64, shares: [f64; 2], stream: &mut Stream) -> Self {
        let mut directions: Vec<Vec<f64>> = vec![];
        while directions.len() < 2 {
            let mut e: Vec<f64> = (0..2 * d).map(|_| stream.sample(StandardNormal)).collect();
            for other in &directions {
                let along = dot(&e, other);
                e.iter_mut().zip(other).for_each(|(e, o)| *e -= along * o);
            }
            let norm = dot(&e, &e).sqrt();
            directions.push(e.iter().map(|e| e / norm).collect());
        }
        let rest = ((1.0 - shares[0] - shares[1]) / (2 * d - 2).max(1) as f64).max(0.0);
        let normal = |share: f64| Normal::new(0.0, spread * share.sqrt()).unwrap();
        let law = |_| loop {
            let mut z: Vec<f64> = (0..2 * d).map(|_| stream.sample(normal(rest))).collect();
            // Every scale stays positive, also on the lines.
            let mut sound = true;
            for (e, share) in directions.iter().zip(shares) {
                let time = stream.sample(normal(share));
                let along = time - dot(&z, e);
                z.iter_mut().zip(e).for_each(|(z, e)| *z += along * e);
                sound &= e[d..].iter().all(|s| 1.0 + time * s > 0.1);
            }
            z[d..].iter_mut().for_each(|s| *s += 1.0);
            if sound && z[d..].iter().all(|&s| s > 0.1) {
                break z;
            }
        };
        let laws = (0..n).map(law).collect();
        World { d, directions, laws }
    }

    /// Times on a component.
    pub fn times(&self, k: usize) -> Vec<f64> {
        let from = |z: &Vec<f64>| {
            let mut z = z.clone();
            z[self.d..].iter_mut().for_each(|s| *s -= 1.0);
            dot(&z, &self.directions[k])
        };
        self.laws.iter().map(from).collect()
    }

    /// Σ W₂² to the best single point of the first component, and to each component.
    pub fn truth(&self) -> (f64, [f64; 2]) {
        let squares: f64 = self.laws.iter().map(|z| dot(&z[..self.d], &z[..self.d])).sum::<f64>()
            + self.laws.iter().flat_map(|z| &z[self.d..]).map(|s| (s - 1.0).powi(2)).sum::<f64>();
        let (n, first) = (self.laws.len() as f64, self.times(0));
        let variation = squares - first.iter().sum::<f64>().powi(2) / n;
        (variation, [0, 1].map(|k| squares - self.times(k).iter().map(|t| t * t).sum::<f64>()))
    }

    /// Σ W₂² to the best point of all: the laws are points of a Euclidean space.
    pub fn variation(&self) -> f64 {
        let n = self.laws.len() as f64;
        let of = |k: usize| {
            let mean = self.laws.iter().map(|z| z[k]).sum::<f64>() / n;
            self.laws.iter().map(|z| (z[k] - mean).powi(2)).sum::<f64>()
        };
        (0..2 * self.d).map(of).sum()
    }

    /// The share of this variation along the best straight line, by the power method.
    pub fn tangent_share(&self) -> f64 {
        let (n, size) = (self.laws.len(), 2 * self.d);
        let mean: Vec<f64> = (0..size).map(|k| self.laws.iter().map(|z| z[k]).sum::<f64>() / n as f64).collect();
        let mut line = self.directions[0].clone();
        let mut along = 0.0;
        for _ in 0..200 {
            let mut next = vec![0.0; size];
            for z in &self.laws {
                let off: Vec<f64> = z.iter().zip(&mean).map(|(z, m)| z - m).collect();
                let time = dot(&off, &line);
                next.iter_mut().zip(&off).for_each(|(s, o)| *s += time * o);
            }
            along = dot(&next, &next).sqrt();
            line = next.iter().map(|s| s / along).collect();
        }
        along / self.variation()
    }

    /// The same lines, and n identical measures.
    pub fn alike(mut self, n: usize) -> Self {
        self.laws = vec![[vec![0.0; self.d], vec![1.0; self.d]].concat(); n];
        self
    }

    /// Shares of the two components, and of both together.
    pub fn shares(&self) -> [f64; 3] {
        let (variation, costs) = self.truth();
        let [first, second] = costs.map(|c| 1.0 - c / variation);
        [first, second, 1.0 - (costs[0] - self.times(1).iter().map(|t| t * t).sum::<f64>()) / variation]
    }

    /// `points` of every law.
    pub fn sample(&self, points: usize, stream: &mut Stream) -> Vec<Measure> {
        let d = self.d;
        let cloud = |(i, z): (usize, &Vec<f64>)| {
            let law: Vec<_> = (0..d).map(|k| Normal::new(z[k], z[d + k]).unwrap()).collect();
            let rows = (0..points * d).map(|k| stream.sample(law[k % d])).collect();
            Measure::uniform(format!("{i}"), rows, d).unwrap()
        };
        self.laws.iter().enumerate().map(cloud).collect()
    }

    /// The model whose components are the lines. A line ends where a scale is 0.
    pub fn model(&self, seed: u64) -> Model<f32> {
        let d = self.d;
        let components: Vec<String> = (0..self.directions.len()).map(|k| self.component(k)).collect();
        let zeros = vec!["0.0"; d].join(",");
        let names: Vec<String> = (0..self.laws.len()).map(|i| format!("\"{i}\"")).collect();
        let single = self.times(0).iter().sum::<f64>() / self.laws.len() as f64;
        let document = format!(
            "{{\"format\":\"1.1\",\"kind\":\"model\",\"dtype\":\"f32\",\"content\":{{\"components\":[{}],\"single\":{single},\
             \"names\":[{}],\"frame\":{{\"centre\":[{zeros}],\"scale\":1.0}},\"variance\":{d}.0,\"sinkhorn\":{{\"epsilon\":\
             {{\"auto\":{{\"scale\":0.01}}}},\"tolerance\":1e-4,\"max_iterations\":2000,\"kernel_memory\":1000000000}},\
             \"projection_points\":1024,\"preset\":\"fast\",\"seed\":{seed}}}}}",
            components.join(","),
            names.join(",")
        );
        // A hidden layer of one neuron with zero weights; then m = 0 and L = 1, or S and b.
        let mut arrays: Vec<(String, Vec<f64>)> = vec![("barycentre".into(), vec![0.0; d])];
        let diagonal =
            |s: &[f64]| (0..d * d).map(|k| if k % (d + 1) == 0 { s[k / d] } else { 0.0 }).collect::<Vec<_>>();
        for (k, e) in self.directions.iter().enumerate() {
            let phi = [vec![0.0; d + 1 + 2 * d], vec![0.0; d], diagonal(&vec![1.0; d])].concat();
            let f = [vec![0.0; d + 1 + 2], diagonal(&e[d..]), e[..d].to_vec()].concat();
            arrays.extend([(format!("component.{}.phi", k + 1), phi), (format!("component.{}.f", k + 1), f)]);
        }
        let mut header = vec![format!("\"__metadata__\":{{\"wgpca\":{}}}", quoted(&document))];
        let mut data: Vec<u8> = vec![];
        for (name, values) in &arrays {
            let from = data.len();
            data.extend(values.iter().flat_map(|v| (*v as f32).to_le_bytes()));
            let (to, len) = (data.len(), values.len());
            header.push(format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":[{len}],\"data_offsets\":[{from},{to}]}}"));
        }
        let mut header = format!("{{{}}}", header.join(","));
        header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
        let path =
            std::env::temp_dir().join(format!("wgpca-affine-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::write(&path, bytes).unwrap();
        let model = Model::load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        model
    }

    fn component(&self, k: usize) -> String {
        let (d, e, times) = (self.d, &self.directions[k], self.times(k));
        let eigenvalues = |sign: f64| e[d..].iter().fold(0.0, |a: f64, &s| a.max(sign * s));
        let end = |largest: f64| if largest > 0.0 { 0.999 / largest } else { f64::INFINITY };
        let slope = |largest: f64| if largest > 0.0 { 0.999 / (largest * largest) } else { 0.0 };
        let (above, below) = (eigenvalues(1.0), eigenvalues(-1.0));
        let (low, high) = (-end(above), end(below));
        let fold = |f: fn(f64, f64) -> f64| times.iter().copied().reduce(f).unwrap();
        let span = (fold(f64::min), fold(f64::max));
        let list = |v: &[f64]| format!("{v:?}");
        // An infinite end is stored as text.
        let number = |v: f64| if v.is_finite() { v.to_string() } else { format!("\"{v}\"") };
        let (low, high) = (number(low), number(high));
        let shape =
            |out: usize, activation: &str| format!("{{\"sizes\":[{d},1,{out}],\"activation\":\"{activation}\"}}");
        let tie = if k == 0 { "null".into() } else { "[0.0,0.0]".to_string() };
        format!(
            "{{\"geodesic\":{{\"architecture\":{{\"phi\":{},\"f\":{},\"residual\":true}}}},\"frame_interval\":{{\"low\":{low},\
             \"high\":{high},\"low_slope\":{},\"high_slope\":{}}},\"frame_span\":[{},{}],\"times\":{},\"residuals\":{},\
             \"interval\":[{low},{high}],\"interval_samples\":0,\"meeting\":{tie},\"intersection\":null,\
             \"orthogonality\":null,\"cost\":0.0,\"noise_floor\":0.0,\"explained\":null,\"clipped\":0.0,\
             \"unconverged\":0.0,\"starts\":[],\"start_cost\":0.0,\"spectrum\":[],\"steps\":0,\"kept_step\":0,\
             \"status\":\"completed\",\"warnings\":[]}}",
            shape(d, "relu"),
            shape(1, "elu"),
            slope(above),
            slope(below),
            span.0,
            span.1,
            list(&times),
            list(&vec![0.0; times.len()]),
        )
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
