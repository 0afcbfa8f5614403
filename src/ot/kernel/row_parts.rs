//! Division of the rows of a kernel into parts for the workers.

use std::ops::Range;

/// The number of parts does not depend on the number of workers, so that sums have a fixed order.
pub(crate) const ROW_PARTS: usize = 8;
/// From this number of kernel entries on, the parts go to different workers. Below it, the three problems of a
/// divergence do: a worker that waits for its parts would take up another solve and delay its own.
pub(crate) const MIN_PARALLEL_ENTRIES: usize = 1 << 22;

/// Rows of part `k` of `n`.
pub(crate) fn part(n: usize, k: usize) -> Range<usize> {
    let rows = n.div_ceil(ROW_PARTS).next_multiple_of(super::cloud::ROWS);
    (k * rows).min(n)..((k + 1) * rows).min(n)
}
