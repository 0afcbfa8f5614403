//! Sums over the measures whose result does not depend on the number of threads.

use crate::pool::for_each;
use std::ops::Range;

/// Largest number of parts. The terms of a part are added in order.
const SUM_PARTS: usize = 64;
/// Smallest number of multiplications of a part. For less work the scheduling costs more than the computation.
const MIN_WORK_PER_PART: usize = 1 << 13;

/// Runs `work` on n matrices of order d and adds the results. `work` gets a range of the measures, a buffer of `size`
/// numbers to which it adds, and the rows of `items` (`width` numbers per measure) that belong to the range. The ranges
/// depend only on n and d, and the buffers are added in order.
pub(crate) fn sum(
    (n, d): (usize, usize),
    size: usize,
    items: &mut [f64],
    work: impl Fn(Range<usize>, &mut [f64], &mut [f64]) + Sync,
) -> Vec<f64> {
    let part = n.div_ceil(SUM_PARTS).max(MIN_WORK_PER_PART.div_ceil(d * d * d)).max(1);
    let width = items.len() / n.max(1);
    let mut rows = items;
    let mut parts = vec![];
    for start in (0..n).step_by(part) {
        let range = start..(start + part).min(n);
        let (own, rest) = rows.split_at_mut(width * range.len());
        rows = rest;
        parts.push((range, vec![0.0; size], own));
    }
    for_each(&mut parts, true, |_, (range, buffer, own)| work(range.clone(), buffer, own));
    let mut total = vec![0.0; size];
    for (_, buffer, _) in &parts {
        total.iter_mut().zip(buffer).for_each(|(t, b)| *t += b);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_is_met_once() {
        for (n, d) in [(0, 2), (1, 2), (50, 2), (5000, 2), (1000, 10), (130, 40)] {
            let mut items = vec![0.0; 2 * n];
            let total = sum((n, d), 2, &mut items, |range, buffer, own| {
                assert_eq!(own.len(), 2 * range.len());
                for (k, i) in range.enumerate() {
                    buffer[0] += 1.0;
                    buffer[1] += i as f64;
                    own[2 * k + 1] = i as f64;
                }
            });
            assert_eq!(total, [n as f64, (n * n.saturating_sub(1) / 2) as f64]);
            assert!((0..n).all(|i| items[2 * i + 1] == i as f64));
        }
    }
}
