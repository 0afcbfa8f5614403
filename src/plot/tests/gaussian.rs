use super::super::{Curve, Panel, Shown, Strip, Summary, ellipse, gaussian_picture};
use super::{marks, stream, strips, texts, well_formed};
use rand::RngExt;
use rand_distr::StandardNormal;

pub fn gaussians(components: usize, dim: usize) -> Vec<Strip> {
    let panel = |k: usize| {
        let s = 1.0 + k as f64;
        let covariance = if dim == 1 { vec![s] } else { vec![s * s, 0.3 * s, 0.3 * s, 1.0] };
        Panel { time: k as f64, shown: Shown::Gaussian { mean: vec![s; dim], covariance } }
    };
    let strip =
        |component| Strip { component, explained: Some(0.5), explained_se: None, panels: (0..7).map(panel).collect() };
    (1..=components).map(strip).collect()
}

fn summary(components: usize, n: usize, plane: bool) -> Summary {
    let mut random = stream(4);
    let mut matrix = || {
        let [a, b, c]: [f64; 3] = std::array::from_fn(|_| random.sample(StandardNormal));
        [a * a + 0.1, a * b, b * b + c * c + 0.1]
    };
    let cost = |k: usize| (3.25 + k as f64, 3.5 + k as f64);
    let costs: Vec<(f64, f64)> = (0..components).map(cost).collect();
    if !plane {
        return Summary { costs, barycentre_cost: 9.75, ..Summary::default() };
    }
    let covariances = (0..n).map(|_| matrix()).collect();
    let curve = |component: usize, matrix: &mut dyn FnMut() -> [f64; 3]| Curve {
        component,
        inner: (0..5).map(|_| matrix()).collect(),
        outer: (0..9).map(|_| matrix()).collect(),
    };
    let curves = (1..=components).map(|c| curve(c, &mut matrix)).collect();
    Summary { costs, barycentre_cost: 9.75, covariances, barycentre: Some([1.0, 0.0, 1.0]), curves }
}

#[test]
fn gaussians_are_drawn_with_costs_and_cone() {
    for (dim, components) in [(1, 1), (1, 2), (2, 1), (2, 3), (2, 5), (3, 6), (3, 60)] {
        let strips = if dim < 3 { gaussians(components, dim) } else { strips(2, 7, 40, dim) };
        let summary = summary(components, 20, dim == 2);
        let svg = gaussian_picture("a fit", dim, &strips, &marks(20, components > 1), &summary).unwrap();
        let texts = texts(&svg);
        assert!(svg.len() < 1_000_000);
        assert!(texts.iter().any(|t| t == "barycentre alone, 9.750"), "{texts:?}");
        // Costs are written if there is room for them.
        assert_eq!(texts.iter().any(|t| t == "3.2500") && texts.iter().any(|t| t == "3.5000"), components <= 8);
        assert_eq!(texts.iter().any(|t| t == "covariances in their cone"), dim == 2);
        assert_eq!(texts.iter().any(|t| t.starts_with("Ellipses")), dim == 2);
        if dim == 2 {
            // Two filled ellipses per panel; bars; the measures in both views and below; two dots per barycentre.
            assert_eq!(svg.matches("<polygon").count(), 14 * components + components);
            assert_eq!(svg.matches("<circle").count(), 20 + 2 * (20 + 2) + 1 + 2);
        }
        assert_eq!(svg, gaussian_picture("a fit", dim, &strips, &marks(20, components > 1), &summary).unwrap());
    }
}

/// An ellipse at k standard deviations reaches k √σ_jj along coordinate j.
#[test]
fn ellipses_have_their_size() {
    for covariance in [
        [4.0, 1.2, 1.2, 1.0],
        [9.0, 0.0, 0.0, 0.0],
        [1.0, -1.0, -1.0, 1.0],
        [0.0; 4],
        [1e-300; 4],
        [1e300, 0.0, 0.0, 1e300],
    ] {
        let edge: Vec<[f64; 2]> = ellipse::edge(&[5.0, -1.0], &covariance, 2.0).collect();
        assert_eq!(edge.len(), 91);
        for (j, middle) in [5.0, -1.0].into_iter().enumerate() {
            let reach = edge.iter().map(|p| p[j] - middle).fold(0.0, f64::max);
            let expected = 2.0 * covariance[3 * j].sqrt();
            assert!((reach - expected).abs() <= 2e-3 * expected + 1e-15, "{reach} {expected}");
        }
    }
}

#[test]
fn degenerate_gaussians_are_drawn() {
    const SPECIAL: [f64; 7] = [0.0, 5e-324, 1e-200, 1e160, f64::MAX, f64::INFINITY, f64::NAN];
    for a in SPECIAL {
        for b in SPECIAL {
            for dim in [1, 2] {
                let mut strips = gaussians(2, dim);
                for panel in strips.iter_mut().flat_map(|s| &mut s.panels) {
                    let covariance = if dim == 1 { vec![a] } else { vec![a, 0.0, 0.0, b] };
                    panel.shown = Shown::Gaussian { mean: vec![b; dim], covariance };
                }
                let mut summary = summary(2, 4, dim == 2);
                summary.covariances.iter_mut().for_each(|m| *m = [a, 0.0, b]);
                summary.curves.iter_mut().for_each(|c| c.inner.iter_mut().for_each(|m| *m = [a, a, b]));
                summary.costs = vec![(a, b), (b, a)];
                summary.barycentre_cost = b;
                let svg = gaussian_picture("", dim, &strips, &marks(4, true), &summary).unwrap();
                well_formed(&svg);
            }
        }
    }
}
