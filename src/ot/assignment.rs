//! Exact transport between two clouds of equal size and weights: the linear assignment problem.

use crate::error::{Error, Result};

/// The permutation σ that minimises `Σ_i cost[i n + σ(i)]`, by shortest augmenting paths with potentials, O(n³)
/// (Jonker and Volgenant, 1987).
///
/// # Errors
/// [`Error::Parameter`] if there are not n² costs, or one of them is infinite or NaN.
///
/// # Example
/// ```
/// let cost = [4.0, 1.0, 3.0, 2.0, 0.0, 5.0, 3.0, 2.0, 2.0];
/// assert_eq!(wgpca::ot::assignment(&cost, 3)?, [1, 0, 2]);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn assignment(cost: &[f64], n: usize) -> Result<Vec<usize>> {
    if n.checked_mul(n) != Some(cost.len()) {
        return Err(Error::parameter("cost", format!("it has {} numbers; give n² for n = {n}", cost.len())));
    }
    if let Some(k) = cost.iter().position(|c| !c.is_finite()) {
        return Err(Error::parameter(
            "cost",
            format!("entry ({}, {}) is {}; give finite costs", k / n, k % n, cost[k]),
        ));
    }
    Ok(optimal_assignment(cost, n))
}

/// [`assignment`] for n² finite costs.
pub(crate) fn optimal_assignment(cost: &[f64], n: usize) -> Vec<usize> {
    const FREE: usize = usize::MAX;
    let (mut u, mut v) = (vec![0.0; n], vec![0.0; n]);
    let mut row_of = vec![FREE; n];
    let (mut distance, mut previous, mut done) = (vec![0.0; n], vec![0usize; n], vec![false; n]);
    for start in 0..n {
        distance.fill(f64::INFINITY);
        done.fill(false);
        previous.fill(FREE);
        let (mut row, mut last, mut reached) = (start, FREE, 0.0);
        // Dijkstra over columns by reduced costs, until a free column is reached.
        let end = loop {
            let (mut next, mut nearest) = (FREE, f64::INFINITY);
            let row_cost = &cost[row * n..(row + 1) * n];
            let base = reached - u[row];
            for j in 0..n {
                if done[j] {
                    continue;
                }
                let candidate = base + row_cost[j] - v[j];
                if candidate < distance[j] {
                    distance[j] = candidate;
                    previous[j] = last;
                }
                if distance[j] < nearest {
                    (next, nearest) = (j, distance[j]);
                }
            }
            debug_assert!(next != FREE, "costs are finite");
            reached = nearest;
            done[next] = true;
            last = next;
            if row_of[next] == FREE {
                break next;
            }
            row = row_of[next];
        };
        u[start] += reached;
        for j in 0..n {
            if done[j] && j != end {
                v[j] -= reached - distance[j];
                u[row_of[j]] += reached - distance[j];
            }
        }
        // Augment along the path.
        let mut j = end;
        while previous[j] != FREE {
            row_of[j] = row_of[previous[j]];
            j = previous[j];
        }
        row_of[j] = start;
    }
    let mut column_of = vec![0; n];
    row_of.iter().enumerate().for_each(|(j, &i)| column_of[i] = j);
    column_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::test_util::normals;
    use rand::RngExt;

    fn best_by_brute_force(cost: &[f64], n: usize, row: usize, used: &mut Vec<bool>) -> f64 {
        if row == n {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for j in 0..n {
            if !used[j] {
                used[j] = true;
                best = best.min(cost[row * n + j] + best_by_brute_force(cost, n, row + 1, used));
                used[j] = false;
            }
        }
        best
    }

    #[test]
    fn meets_brute_force() {
        for n in 1..=7 {
            for seed in 0..30 {
                let mut s = Stream::new(4, [n as u32, seed, 0]);
                // Small integers, to produce ties.
                let cost: Vec<f64> = (0..n * n)
                    .map(|_| f64::from(s.random_range(0..6)) + f64::from(seed % 2) * s.random::<f64>())
                    .collect();
                let sigma = optimal_assignment(&cost, n);
                let mut sorted = sigma.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..n).collect::<Vec<_>>());
                let value: f64 = sigma.iter().enumerate().map(|(i, j)| cost[i * n + j]).sum();
                assert!((value - best_by_brute_force(&cost, n, 0, &mut vec![false; n])).abs() < 1e-12);
            }
        }
    }

    /// On the line the optimal assignment of sorted points is the identity.
    #[test]
    fn sorted_on_the_line() {
        let n = 200;
        let mut s = Stream::new(4, [0, 0, 1]);
        let mut line = || -> Vec<f64> {
            let mut v = normals(&mut s, n);
            v.sort_by(f64::total_cmp);
            v
        };
        let (x, y) = (line(), line());
        let cost: Vec<f64> = x.iter().flat_map(|a| y.iter().map(move |b| (a - b).powi(2))).collect();
        assert_eq!(optimal_assignment(&cost, n), (0..n).collect::<Vec<_>>());
    }
}
