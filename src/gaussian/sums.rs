//! Sums over the measures whose result does not depend on the number of threads.

use crate::pool::for_each;
use std::ops::Range;

/// At most this many parts, each added up in order.
const PARTS: usize = 64;

/// Adds up `size` numbers over n items: `work` adds those of a range of items to its buffer. The ranges depend on n alone
/// and the buffers are added in their order.
pub(crate) fn sum(n: usize, size: usize, worth: bool, work: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Vec<f64> {
    let part = n.div_ceil(PARTS).max(1);
    let mut parts: Vec<(Range<usize>, Vec<f64>)> =
        (0..n).step_by(part).map(|i| (i..(i + part).min(n), vec![0.0; size])).collect();
    for_each(&mut parts, worth, |_, (range, buffer)| work(range.clone(), buffer));
    let mut total = vec![0.0; size];
    for (_, buffer) in &parts {
        total.iter_mut().zip(buffer).for_each(|(t, b)| *t += b);
    }
    total
}
