//! Assigns blocks to problems.

use super::Size;

/// Number of groups of blocks, and blocks per group, for the problems (x, y) and for the others. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockSchedule {
    pub cross_groups: u32,
    pub cross_blocks: u32,
    pub self_groups: u32,
    pub self_blocks: u32,
}

/// Rows per tile, as in `kernels/softmin.cuh`.
const TILE_ROWS: usize = 8;
/// Number of sums over columns, as in `kernels/mixing.cuh`.
const COLUMN_TOTALS: usize = 28;
/// Cost of a problem (x, y) relative to (x, x): two softmins per iteration instead of one, and about 30 iterations instead of
/// about 10.
const CROSS: usize = 6;

/// Largest number of parts of the rows: one block per part if a launch has a single large (x, y) and its (x, x). More parts would
/// balance other launches better, but every block reads the sums of all parts in every iteration.
pub(super) fn most_parts(resident: u32) -> u32 {
    resident - resident / (CROSS as u32 + 2)
}

/// Number of f64 values in the sums over parts, enough for all sizes up to `size`.
pub(super) fn sums(size: Size, most_parts: u32) -> usize {
    let room = |n: usize| n.div_ceil(TILE_ROWS).min(most_parts as usize);
    let Size { pairs, n, m, .. } = size;
    pairs * (COLUMN_TOTALS * room(m) + room(n) + 2 * 2 * room(n.max(m)))
}

/// Number of parts of n rows; more blocks than this would have no work.
fn parts(n: usize, most: u32) -> u32 {
    let tiles = n.div_ceil(TILE_ROWS);
    tiles.div_ceil(tiles.div_ceil(most as usize)) as u32
}

/// Nanoseconds for which a block may wait for others: two seconds, and several times as long as a part of the rows takes on a
/// slow GPU, for others can have a part more.
pub(super) fn patience(most_parts: u32, size: Size) -> u64 {
    let Size { n, m, d, .. } = size;
    let longest = n.max(m) as u64;
    let rows = longest.div_ceil(u64::from(parts(n.max(m), most_parts)));
    2_000_000_000 + rows * longest * (2 + d as u64 / 4)
}

/// The smallest number of blocks that process the parts in the same number of rounds: a barrier of fewer blocks is faster.
fn balanced(blocks: u32, parts: u32) -> u32 {
    let blocks = blocks.clamp(1, parts);
    parts.div_ceil(parts.div_ceil(blocks))
}

/// Assigns at most `resident` blocks (at least 2). If there are fewer groups than problems, a group solves several in turn.
pub(super) fn schedule(resident: u32, most_parts: u32, size: Size, selves: usize) -> BlockSchedule {
    let Size { pairs, n, m, .. } = size;
    let (own_parts, most) = (parts(n, most_parts), parts(n, most_parts).max(parts(m, most_parts)));
    let (cross_parts, self_parts) = (most, if selves > pairs { most } else { own_parts });
    let share = (resident as usize * selves / (CROSS * pairs + selves)).clamp(1, resident as usize - 1) as u32;
    let self_groups = share.min(u32::try_from(selves).unwrap_or(u32::MAX));
    let self_blocks = balanced(share / self_groups, self_parts);
    let rest = resident - self_groups * self_blocks;
    let cross_groups = rest.min(u32::try_from(pairs).unwrap_or(u32::MAX));
    BlockSchedule { cross_groups, cross_blocks: balanced(rest / cross_groups, cross_parts), self_groups, self_blocks }
}

/// The same if there are only problems (x, x).
pub(super) fn deal_own(resident: u32, most_parts: u32, size: Size) -> BlockSchedule {
    let self_groups = resident.min(u32::try_from(size.pairs).unwrap_or(u32::MAX));
    let self_blocks = balanced(resident / self_groups, parts(size.n, most_parts));
    BlockSchedule { cross_groups: 0, cross_blocks: 0, self_groups, self_blocks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_there_and_have_work() {
        for resident in [2, 3, 7, 32, 160, 264, 1000] {
            for (n, m) in [(1, 1), (5, 100), (1024, 1024), (4096, 100), (200_000, 150_000)] {
                for pairs in [1, 2, 5, 16, 200] {
                    for value in [1, 2] {
                        let most = most_parts(resident);
                        let d = schedule(resident, most, Size { pairs, n, m, d: 3 }, value * pairs);
                        let blocks = d.cross_groups * d.cross_blocks + d.self_groups * d.self_blocks;
                        assert!(blocks <= resident && d.cross_groups >= 1 && d.self_groups >= 1, "{d:?}");
                        assert!(d.cross_groups as usize <= pairs && d.self_groups as usize <= value * pairs);
                        assert!(d.cross_blocks >= 1 && d.cross_blocks <= parts(n, most).max(parts(m, most)), "{d:?}");
                    }
                }
            }
        }
        assert_eq!(
            deal_own(264, 231, Size { pairs: 62, n: 1024, m: 1, d: 3 }),
            BlockSchedule { cross_groups: 0, cross_blocks: 0, self_groups: 62, self_blocks: 4 }
        );
        assert_eq!(deal_own(264, 231, Size { pairs: 300, n: 1024, m: 1, d: 3 }).self_groups, 264);
        // One solve of a training step on 132 multiprocessors with two blocks each.
        let alone = schedule(264, 231, Size { pairs: 1, n: 1024, m: 1024, d: 3 }, 1);
        assert_eq!(alone, BlockSchedule { cross_groups: 1, cross_blocks: 128, self_groups: 1, self_blocks: 32 });
    }

    #[test]
    fn a_large_problem_alone_has_a_block_for_each_part() {
        // Two blocks on each multiprocessor of a V100, A100 and H100.
        for resident in [160, 216, 264] {
            let most = most_parts(resident);
            for n in [4096, 8192, 16_384, 65_536, 200_000] {
                let d = schedule(resident, most, Size { pairs: 1, n, m: n, d: 3 }, 1);
                assert_eq!((d.cross_groups, d.cross_blocks), (1, parts(n, most)), "{n} points: {d:?}");
            }
        }
    }

    #[test]
    fn large_problems_have_more_time() {
        let of = |n, d| patience(231, Size { pairs: 1, n, m: n, d });
        assert!(of(1024, 3) < 2_100_000_000);
        // A part of a million points: 4329 rows, some 4 ns an entry in 10 dimensions at the most.
        assert!(of(1_000_000, 10) > 17_000_000_000);
    }

    #[test]
    fn parts_are_those_of_the_kernel() {
        assert_eq!([1, 8, 9, 1024, 1848, 1849, 200_000].map(|n| parts(n, 231)), [1, 1, 2, 128, 231, 116, 230]);
    }

    #[test]
    fn sums_have_room_for_every_smaller_size() {
        let most = Size { pairs: 3, n: 900, m: 700, d: 2 };
        for parts_at_most in [1, 14, 231] {
            let room = sums(most, parts_at_most) / most.pairs;
            for (n, m) in [(1, 1), (900, 700), (900, 13), (113, 700), (449, 350)] {
                let (rows, columns) = (parts(n, parts_at_most) as usize, parts(m, parts_at_most) as usize);
                assert!(room >= COLUMN_TOTALS * columns + rows + 4 * rows.max(columns), "{n} and {m} points");
            }
        }
    }
}
