//! Detects points and measures so far from all others that they determine the whole fit, such as a missing value coded
//! as -9999 or a wrong unit.

use crate::measure::Measure;

/// A point is reported if it holds more than this share of the pooled variance and its squared distance exceeds this
/// many pooled variances.
const POINT_RULE: (f64, f64) = (0.1, 50.0);
/// A measure is reported if it holds more than this share of the largest variance that one of n measures can hold, and
/// n is at least the second number.
const MEASURE_RULE: (f64, usize) = (0.9, 5);

/// Parts of the pooled variance, collected from one measure after the other.
#[derive(Debug)]
pub(crate) struct Outliers {
    centre: Vec<f64>,
    variance: f64,
    measures: usize,
    /// The point with the largest part.
    farthest: (f64, Point),
    /// The measure with the largest part.
    widest: (f64, String),
}

#[derive(Debug, Default)]
struct Point {
    measure: String,
    index: usize,
    coords: Vec<f64>,
}

impl Outliers {
    /// `centre` is the pooled mean.
    pub fn new(centre: &[f64]) -> Self {
        Outliers {
            centre: centre.to_vec(),
            variance: 0.0,
            measures: 0,
            farthest: (0.0, Point::default()),
            widest: (0.0, String::new()),
        }
    }

    /// Adds a measure as the caller gave it; `share` is its share of the weight of all measures.
    pub fn add(&mut self, measure: &Measure, share: f64) {
        let (mut own, mut farthest) = (0.0, None);
        for (k, (p, w)) in measure.points().chunks_exact(measure.dim()).zip(measure.weights()).enumerate() {
            let part = share * w * self.square(p);
            own += part;
            if part > self.farthest.0 {
                self.farthest.0 = part;
                farthest = Some((k, p));
            }
        }
        if let Some((index, coords)) = farthest {
            self.farthest.1 = Point { measure: measure.name().into(), index, coords: coords.into() };
        }
        self.variance += own;
        self.measures += 1;
        if own > self.widest.0 {
            self.widest = (own, measure.name().into());
        }
    }

    fn square(&self, p: &[f64]) -> f64 {
        p.iter().zip(&self.centre).map(|(v, c)| (v - c).powi(2)).sum()
    }

    /// One sentence about the point, or otherwise the measure, with the largest part of the variance, if it satisfies
    /// the rule.
    pub fn warning(&self) -> Option<String> {
        let variance = self.variance;
        let (part, Point { measure, index, coords }) = &self.farthest;
        let per_cent = |part: f64| format!("{:.0} % of the variance of all points", 100.0 * part / variance);
        if *part > POINT_RULE.0 * variance && self.square(coords) > POINT_RULE.1 * variance {
            let shown: Vec<String> = coords.iter().take(3).map(f64::to_string).collect();
            let more = if coords.len() > 3 { ", …" } else { "" };
            return Some(format!(
                "{measure}, point {index} ({}{more}) alone holds {}: if it stands for a missing value, remove it (indices count from 0)",
                shown.join(", "),
                per_cent(*part)
            ));
        }
        let (own, measure) = &self.widest;
        // One of n measures far from the others holds 1 − 1/n of the variance.
        let most = 1.0 - 1.0 / self.measures as f64;
        let far = *own > MEASURE_RULE.0 * most * variance && self.measures >= MEASURE_RULE.1;
        far.then(|| {
            format!("{measure} alone holds {}: it decides the fit; check its units, or leave it out", per_cent(*own))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clouds::data::frame::{Frame, Moments};
    use crate::rng::Stream;
    use crate::test_util::normals;

    #[test]
    fn sentinels_and_far_clouds_are_named_and_nothing_else() {
        let mut s = Stream::new(3, [31, 0, 0]);
        let cloud = |i: usize, n: usize, s: &mut Stream| -> Vec<f64> {
            let z = normals(s, 3 * n).into_iter().enumerate();
            z.map(|(k, z)| z * (1.0 + 0.2 * (i * (k % 3)) as f64)).collect()
        };
        let find = |measures: &[Measure]| {
            let moments: Vec<Moments> = measures.iter().map(Moments::of).collect();
            let frame = Frame::of(&moments.iter().collect::<Vec<_>>(), &vec![1.0; measures.len()]);
            let mut outliers = Outliers::new(&frame.centre);
            measures.iter().for_each(|m| outliers.add(m, 1.0 / measures.len() as f64));
            outliers.warning()
        };
        let of = |points: Vec<Vec<f64>>| -> Vec<Measure> {
            let each = points.into_iter().enumerate();
            each.map(|(i, p)| Measure::uniform(format!("cloud {i}"), p, 3).unwrap()).collect()
        };
        let plain: Vec<Vec<f64>> = (0..8).map(|i| cloud(i, 200, &mut s)).collect();
        assert_eq!(find(&of(plain.clone())), None);
        let mut sentinel = plain.clone();
        sentinel[5][3 * 17..3 * 18].fill(-9999.0);
        let text = find(&of(sentinel)).unwrap();
        assert!(text.starts_with("cloud 5, point 17 (-9999, -9999, -9999)"), "{text}");
        let mut far = plain.clone();
        far[2].iter_mut().for_each(|v| *v += 1e4);
        assert!(find(&of(far)).unwrap().starts_with("cloud 2 alone"));
        // Few points, two clouds and equal points are not reported.
        for n in [1, 2, 5] {
            for count in [2, 3, 8] {
                assert_eq!(find(&of((0..count).map(|i| cloud(i, n, &mut s)).collect())), None, "{n} {count}");
            }
        }
        assert_eq!(find(&of(vec![vec![1.0; 3]; 6])), None);
    }
}
