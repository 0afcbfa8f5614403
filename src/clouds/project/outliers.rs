//! Detects points and measures so far from all others that they determine the whole fit, such as a missing value coded
//! as -9999 or a wrong unit.

use crate::clouds::data::frame::Frame;
use crate::measure::Measure;

/// A point is reported if it holds more than this share of the pooled variance and its squared distance exceeds this
/// many pooled variances.
const POINT_RULE: (f64, f64) = (0.1, 50.0);
/// A measure is reported if it holds more than this share of the largest variance that one of n measures can hold, and
/// n is at least the second number.
const MEASURE_RULE: (f64, usize) = (0.9, 5);

/// One sentence about the point, or otherwise the measure, with the largest part of the variance, if it satisfies the
/// rule. `weights` are the weights of the measures.
pub(crate) fn outlier(measures: &[Measure], weights: &[f64]) -> Option<String> {
    let frame = Frame::of(&measures.iter().collect::<Vec<_>>(), weights);
    let total: f64 = weights.iter().sum();
    let d = frame.centre.len();
    let square = |p: &[f64]| p.iter().zip(&frame.centre).map(|(v, c)| (v - c).powi(2)).sum::<f64>();
    let (mut variance, mut farthest, mut widest) = (0.0, (0.0, 0, 0), (0.0, 0));
    for (i, (m, weight)) in measures.iter().zip(weights).enumerate() {
        let mut own = 0.0;
        for (k, (p, w)) in m.points().chunks_exact(d).zip(m.weights()).enumerate() {
            let part = weight / total * w * square(p);
            own += part;
            if part > farthest.0 {
                farthest = (part, i, k);
            }
        }
        variance += own;
        if own > widest.0 {
            widest = (own, i);
        }
    }
    let (part, i, k) = farthest;
    let point = &measures[i].points()[k * d..(k + 1) * d];
    let per_cent = |part: f64| format!("{:.0} % of the variance of all points", 100.0 * part / variance);
    if part > POINT_RULE.0 * variance && square(point) > POINT_RULE.1 * variance {
        let shown: Vec<String> = point.iter().take(3).map(f64::to_string).collect();
        let more = if d > 3 { ", …" } else { "" };
        return Some(format!(
            "{}, point {k} ({}{more}) alone holds {}: if it stands for a missing value, remove it (indices count from 0)",
            measures[i].name(),
            shown.join(", "),
            per_cent(part)
        ));
    }
    let (own, i) = widest;
    // One of n measures far from the others holds 1 − 1/n of the variance.
    let most = 1.0 - 1.0 / measures.len() as f64;
    let far = own > MEASURE_RULE.0 * most * variance && measures.len() >= MEASURE_RULE.1;
    far.then(|| {
        format!(
            "{} alone holds {}: it decides the fit; check its units, or leave it out",
            measures[i].name(),
            per_cent(own)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn sentinels_and_far_clouds_are_named_and_nothing_else() {
        let mut s = Stream::new(3, [31, 0, 0]);
        let cloud = |i: usize, n: usize, s: &mut Stream| -> Vec<f64> {
            (0..3 * n).map(|k| s.normal() * (1.0 + 0.2 * (i * (k % 3)) as f64)).collect()
        };
        let find = |measures: &[Measure]| outlier(measures, &vec![1.0; measures.len()]);
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
