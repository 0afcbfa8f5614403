//! Rows of a kernel in parts, which workers share.

use std::ops::Range;

/// Rows are cut in this many parts whatever the number of workers, so that sums have one order.
pub(crate) const ROW_PARTS: usize = 8;
/// From this many kernel entries on, parts go to different workers. Below, the three problems of a divergence do: a worker
/// that waits for its parts takes up another solve and is late for its own.
pub(crate) const MIN_PARALLEL_ENTRIES: usize = 1 << 22;

/// Rows of part `k` of `n`.
pub(crate) fn part(n: usize, k: usize) -> Range<usize> {
    let rows = n.div_ceil(ROW_PARTS).next_multiple_of(super::cloud::ROWS);
    (k * rows).min(n)..((k + 1) * rows).min(n)
}
