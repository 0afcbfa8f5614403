//! Starts of the searches for a component: principal directions of the logarithms, geodesics between measures, random
//! directions.

use super::local_search::Start;
use super::objective::{Times, evaluate};
use crate::gaussian::geometry::coordinates::{Coordinates, remove, symmetric_product};
use crate::gaussian::geometry::geodesic::{Geodesic, symmetric_lift};
use crate::gaussian::preprocess::Data;
use crate::gaussian::tangent::principal_directions::Logs;
use crate::gaussian::tangent::tangent_pca::Tangent;
use crate::linalg::{add, dot, multiply, multiply_tn};
use crate::pool::for_each;
use crate::rng::{GaussianSearch, Stream, StreamId};

/// Principal directions that are tried at one point.
const PRINCIPAL: usize = 3;

/// Starts of the first component: principal directions at the barycentre, then the best of geodesics between two
/// measures and random directions, which alternate.
pub(crate) fn first(data: &Data, tangent: &Tangent, count: usize, seed: u64) -> Starts {
    let (logs, a, mean) = (&tangent.logs, &tangent.root, vec![0.0; data.m]);
    let directions = tangent.directions.vectors.len().min(PRINCIPAL).min(count);
    let chosen: Vec<Start> =
        (0..directions).map(|k| start(format!("tangent({})", k + 1), tangent.line(data, k), 0.0)).collect();
    // If there is only one direction, there are no other starts.
    let rest = if logs.p > 1 { count.saturating_sub(chosen.len()) } else { 0 };
    let mut candidates = vec![];
    for k in 0..CANDIDATES * rest {
        let mut stream = Stream::at(seed, StreamId::GaussianStart { search: GaussianSearch::First, k: k as u32 });
        let pair = if k % 2 == 0 { between(data, a, &mut stream) } else { None };
        candidates.push(pair.unwrap_or_else(|| {
            let direction = random(logs.p, &[], &mut stream);
            start(format!("random({})", k + 1), logs.line(a, &mean, &direction, data.d), 0.0)
        }));
    }
    Starts::new(chosen, vec![candidates], rest)
}

/// Starts of the second component: at quartiles of the times of the first one, from the minimum to the maximum,
/// principal directions orthogonal to it there, then random ones.
pub(crate) fn across(
    data: &Data,
    whole: &Geodesic,
    times: &[f64],
    (low, high): (f64, f64),
    count: usize,
    seed: u64,
) -> Starts {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let margin = 1e-3 * (high - low);
    let quantile =
        |q: f64| sorted[((sorted.len() - 1) as f64 * q).round() as usize].max(low + margin).min(high - margin);
    struct Point {
        name: f64,
        time: f64,
        base: Geodesic,
        logs: Logs,
        earlier: [Vec<f64>; 1],
        directions: Vec<Vec<f64>>,
    }
    let point = |name: f64| {
        let time = quantile(name);
        let base = whole.rebased(time);
        let logs = Logs::new(data, data.search_factors(), &base.a, &base.mean);
        let earlier = [unit(coordinates(&logs.at, &base))];
        let directions = logs.principal(&data.weights, &earlier, PRINCIPAL).vectors;
        Point { name, time, base, logs, earlier, directions }
    };
    // The best second component often lies near an end of the first, where matrices are nearly singular.
    let points: Vec<Point> = [0.5, 0.25, 0.75, 0.0, 1.0].into_iter().map(point).collect();
    let principal = |k: usize, at: &Point| {
        let v = at.directions.get(k)?;
        let line = at.logs.line(&at.base.a, &at.base.mean, v, data.d);
        Some(start(format!("tangent({}) at quantile {}", k + 1, at.name), line, at.time))
    };
    let chosen: Vec<Start> = points[..PRINCIPAL.min(count)].iter().filter_map(|at| principal(0, at)).collect();
    let rest = count - chosen.len();
    let mut groups: Vec<Vec<Start>> = points
        .iter()
        .enumerate()
        .map(|(g, at)| (usize::from(g < PRINCIPAL)..PRINCIPAL).filter_map(|k| principal(k, at)).collect())
        .collect();
    for k in 0..CANDIDATES * rest {
        let at = &points[k % points.len()];
        let mut stream = Stream::at(seed, StreamId::GaussianStart { search: GaussianSearch::Second, k: k as u32 });
        let direction = random(at.logs.p, &at.earlier, &mut stream);
        let line = at.logs.line(&at.base.a, &at.base.mean, &direction, data.d);
        groups[k % points.len()].push(start(format!("random({}) at quantile {}", k + 1, at.name), line, at.time));
    }
    Starts::new(chosen, groups, rest)
}

/// Starts of a later component, through a point and orthogonal to the earlier ones: principal directions, then random
/// ones. If there is only one such direction, it is the only start.
pub(crate) fn through(data: &Data, base: &Geodesic, earlier: &[Vec<f64>], count: usize, seed: u64) -> Starts {
    let logs = Logs::new(data, data.search_factors(), &base.a, &base.mean);
    let free = logs.p - earlier.len();
    let directions = logs.principal(&data.weights, earlier, PRINCIPAL.min(count)).vectors;
    let line = |v: &[f64]| logs.line(&base.a, &base.mean, v, data.d);
    let mut out: Vec<Start> =
        directions.iter().enumerate().map(|(k, v)| start(format!("tangent({})", k + 1), line(v), 0.0)).collect();
    for k in 0..if free > 1 { count.saturating_sub(out.len()) } else { 0 } {
        let mut stream = Stream::at(
            seed,
            StreamId::GaussianStart { search: GaussianSearch::Later(earlier.len() as u32), k: k as u32 },
        );
        out.push(start(format!("random({})", k + 1), line(&random(logs.p, earlier, &mut stream)), 0.0));
    }
    Starts::new(out, vec![], 0)
}

/// Candidates per start that is chosen from them.
const CANDIDATES: usize = 10;

/// Starts, and candidates for further starts, whose costs are evaluated in several units of work.
pub(crate) struct Starts {
    chosen: Vec<Start>,
    /// Group, candidate, cost.
    candidates: Vec<(usize, Start, f64)>,
    evaluated: usize,
    /// Number of candidates that become starts.
    wanted: usize,
}

impl Starts {
    fn new(chosen: Vec<Start>, groups: Vec<Vec<Start>>, wanted: usize) -> Self {
        let groups = groups.into_iter().enumerate();
        let candidates = groups.flat_map(|(g, group)| group.into_iter().map(move |s| (g, s, 0.0))).collect();
        Starts { chosen, candidates, evaluated: 0, wanted }
    }

    /// Evaluates the next `count` candidates.
    pub fn advance(&mut self, data: &Data, count: usize) {
        let turn = self.evaluated..(self.evaluated + count).min(self.candidates.len());
        self.evaluated = turn.end;
        for_each(&mut self.candidates[turn], true, |_, (_, start, found)| {
            let mut times = vec![0.0; data.len()];
            *found = evaluate(data, data.search_factors(), &start.line, &mut times, Times::Follow).cost;
        });
    }

    /// Numbers of evaluated and of all candidates.
    pub fn standing(&self) -> (usize, usize) {
        (self.evaluated, self.candidates.len())
    }

    /// The starts, followed by the candidates of lowest cost. The groups contribute in turn, so that the starts are not
    /// all of one kind.
    pub fn best(mut self) -> Vec<Start> {
        self.candidates.sort_by(|a, b| a.2.total_cmp(&b.2));
        // Sorted by rank within the group, then by cost.
        let mut seen: Vec<usize> = vec![];
        let mut ranked: Vec<(usize, Start)> = vec![];
        for (group, start, _) in self.candidates {
            seen.resize(seen.len().max(group + 1), 0);
            ranked.push((seen[group], start));
            seen[group] += 1;
        }
        ranked.sort_by_key(|(place, _)| *place);
        self.chosen.extend(ranked.into_iter().take(self.wanted).map(|(_, start)| start));
        self.chosen
    }
}

fn start(kind: String, line: Geodesic, meeting: f64) -> Start {
    Start { kind, line, meeting }
}

/// Coordinates of the direction of a line at its base.
pub(crate) fn coordinates(at: &Coordinates, line: &Geodesic) -> Vec<f64> {
    let mut out = at.dual(&symmetric_product(&line.x, &line.a, line.d));
    out.extend_from_slice(&line.drift);
    out
}

/// v / |v|.
pub(crate) fn unit(mut v: Vec<f64>) -> Vec<f64> {
    let size = dot(&v, &v).sqrt();
    if size > 0.0 {
        v.iter_mut().for_each(|v| *v /= size);
    }
    v
}

/// A random unit direction orthogonal to the given ones.
fn random(p: usize, orthogonal_to: &[Vec<f64>], stream: &mut Stream) -> Vec<f64> {
    loop {
        let mut v: Vec<f64> = (0..p).map(|_| stream.normal()).collect();
        let size = dot(&v, &v).sqrt();
        remove(&mut v, orthogonal_to);
        // If the random direction is nearly in the span of the others, the remainder is mostly rounding.
        if dot(&v, &v).sqrt() > 1e-3 * size {
            return unit(v);
        }
    }
}

/// The geodesic between two random measures, with its base at the midpoint; none if they are equal.
fn between(data: &Data, a: &[f64], stream: &mut Stream) -> Option<Start> {
    let (n, d) = (data.len(), data.d);
    if n < 2 {
        return None;
    }
    let i = stream.below(n);
    let j = (i + 1 + stream.below(n - 1)) % n;
    // Both factors in one lift: the first is aligned to the barycentre, the second to the first.
    let aligned = |to: &[f64], k: usize| {
        let l = &data.search_factors()[k * d * d..(k + 1) * d * d];
        let (mut m, mut q) = (vec![0.0; d * d], vec![0.0; d * d]);
        multiply_tn(l, to, d, &mut m);
        crate::linalg::SignedSvd::new(d).nearest_rotation(&m, &mut q);
        multiply(l, &q, d, &mut m);
        m
    };
    let from = aligned(a, i);
    let to = aligned(&from, j);
    let mut middle = from.clone();
    add(&mut middle, 1.0, &to);
    middle.iter_mut().for_each(|m| *m *= 0.5);
    let mut x = to;
    add(&mut x, -1.0, &from);
    let mean: Vec<f64> = data.mean(i).iter().zip(data.mean(j)).map(|(a, b)| 0.5 * (a + b)).collect();
    let drift: Vec<f64> = data.mean(j).iter().zip(data.mean(i)).map(|(b, a)| b - a).collect();
    // K from dual coordinates at the midpoint, which needs no inverse.
    let root = symmetric_lift(&middle, d);
    let at = Coordinates::new(&root, d);
    let direction = at.dual(&symmetric_product(&x, &middle, d));
    let length = dot(&direction, &direction) + dot(&drift, &drift);
    if !(length > 1e-20) {
        return None;
    }
    let line = Geodesic::from_parts(root, at.matrix(&direction), d, mean, drift);
    Some(start(format!("between({i}, {j})"), line, 0.0))
}
