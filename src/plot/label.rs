//! Places names beside dots so that no name covers another name, a dot or a line.

use super::canvas::{Anchor, Canvas, Font, Point};
use super::colour::AXIS;
use super::text;
use std::f64::consts::TAU;

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Box2 {
    pub lo: Point,
    pub hi: Point,
}

impl Box2 {
    pub fn meets(&self, other: &Box2) -> bool {
        let apart = |a: Point, b: Point| a.0 >= b.0 || a.1 >= b.1;
        !apart(self.lo, other.hi) && !apart(other.lo, self.hi)
    }

    fn holds(&self, other: &Box2) -> bool {
        self.lo.0 <= other.lo.0 && self.lo.1 <= other.lo.1 && self.hi.0 >= other.hi.0 && self.hi.1 >= other.hi.1
    }

    /// Whether a part of the segment is inside.
    fn cut_by(&self, (from, to): (Point, Point)) -> bool {
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        for (p, d, lo, hi) in
            [(from.0, to.0 - from.0, self.lo.0, self.hi.0), (from.1, to.1 - from.1, self.lo.1, self.hi.1)]
        {
            if d == 0.0 {
                if p <= lo || p >= hi {
                    return false;
                }
                continue;
            }
            let (a, b) = ((lo - p) / d, (hi - p) / d);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        enter < leave
    }
}

fn cross((a, b): (Point, Point), (c, d): (Point, Point)) -> bool {
    let side = |p: Point, q: Point, r: Point| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}

/// The place of a name: its box, and the line from its dot if it is not directly beside the dot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub area: Box2,
    pub lead: Option<(Point, Point)>,
}

/// Places names among dots in an area.
pub(super) struct Placer<'a> {
    area: Box2,
    dots: &'a [Point],
    /// Lines that names avoid.
    lines: &'a [(Point, Point)],
    /// Free space around a dot.
    radius: f64,
    placed: Vec<Place>,
}

/// Distances between a dot and its name; from the second on, a line connects them.
const DISTANCES: [f64; 8] = [4.0, 20.0, 34.0, 52.0, 76.0, 108.0, 150.0, 210.0];

impl<'a> Placer<'a> {
    pub fn new(area: Box2, dots: &'a [Point], lines: &'a [(Point, Point)], radius: f64) -> Self {
        Placer { area, dots, lines, radius, placed: vec![] }
    }

    /// Places each text at its dot if there is room, beginning with the most crowded dots.
    pub fn place(&mut self, texts: &[(usize, String)], size: f64) -> Vec<Option<Place>> {
        let crowd = |i: usize| {
            let near = |p: &&Point| (p.0 - self.dots[i].0).abs() < 160.0 && (p.1 - self.dots[i].1).abs() < 60.0;
            self.dots.iter().filter(near).count()
        };
        let mut order: Vec<(usize, usize)> = texts.iter().enumerate().map(|(k, t)| (crowd(t.0), k)).collect();
        order.sort_by_key(|&(crowd, k)| (std::cmp::Reverse(crowd), k));
        let mut places = vec![None; texts.len()];
        for (_, k) in order {
            let (dot, text) = (texts[k].0, &texts[k].1);
            let extent = (text::width(text, size), 1.1 * size);
            let free = (0..DISTANCES.len())
                .flat_map(|level| self.around(dot, extent, level))
                .find(|place| self.free(place, dot));
            self.placed.extend(free);
            places[k] = free;
        }
        places
    }

    /// The candidate places around a dot at a distance, the preferred ones first.
    fn around(&self, dot: usize, (width, height): (f64, f64), level: usize) -> Vec<Place> {
        // In sixteenths of a turn: right, left, the diagonals, above, below, then the directions between.
        const TURNS: [u8; 16] = [0, 8, 15, 1, 7, 9, 14, 2, 6, 10, 12, 4, 13, 11, 3, 5];
        let (x, y) = self.dots[dot];
        let turns = if level == 0 { &TURNS[..12] } else { &TURNS[..] };
        let one = |&turn: &u8| {
            let (sin, cos) = (f64::from(turn) / 16.0 * TAU).sin_cos();
            let reach = self.radius + DISTANCES[level];
            let at = (x + reach * cos, y + reach * sin);
            let left = match cos {
                c if c > 0.2 => at.0,
                c if c < -0.2 => at.0 - width,
                _ => at.0 - 0.5 * width,
            };
            let middle = at.1 + sin * 0.5 * height;
            let area = Box2 { lo: (left, middle - 0.5 * height), hi: (left + width, middle + 0.5 * height) };
            let start = (x + self.radius * cos, y + self.radius * sin);
            let end = (at.0 - 3.0 * cos, at.1 - 3.0 * sin);
            Place { area, lead: (level > 0).then_some((start, end)) }
        };
        let mut places: Vec<Place> = turns.iter().map(one).collect();
        places.sort_by_key(|place| self.lines.iter().any(|&line| place.area.cut_by(line)));
        places
    }

    fn free(&self, place: &Place, dot: usize) -> bool {
        let r = self.radius;
        let around = |p: &Point| Box2 { lo: (p.0 - r, p.1 - r), hi: (p.0 + r, p.1 + r) };
        // A line starts at its own dot, so it can cross this dot and dots that nearly coincide with it.
        let own = |p: &Point| (p.0 - self.dots[dot].0).abs().max((p.1 - self.dots[dot].1).abs()) < 0.5 * r;
        let clear = |p: &Point| {
            let around = around(p);
            let lead = place.lead.is_some_and(|l| !own(p) && around.cut_by(l));
            !lead && !around.meets(&place.area)
        };
        let apart = |other: &Place| {
            !other.area.meets(&place.area)
                && !place.lead.is_some_and(|l| other.area.cut_by(l))
                && !other.lead.is_some_and(|l| place.area.cut_by(l))
                && !place.lead.zip(other.lead).is_some_and(|(l, m)| cross(l, m))
        };
        self.area.holds(&place.area) && self.dots.iter().all(clear) && self.placed.iter().all(apart)
    }
}

/// Writes texts at their places.
pub(super) fn write(canvas: &mut Canvas, texts: &[(usize, String)], places: &[Option<Place>], font: Font) {
    for ((_, text), place) in texts.iter().zip(places) {
        let Some(Place { area, lead }) = place else { continue };
        if let Some((from, to)) = *lead {
            canvas.line(from, to, AXIS, 1);
        }
        let middle = (0.5 * (area.lo.0 + area.hi.0), 0.5 * (area.lo.1 + area.hi.1));
        canvas.text(text, middle, font.anchor(Anchor::Middle));
    }
}

/// Moves ascending positions as little as possible so that neighbours are at least `space` apart, within `lo` to `hi`.
pub(super) fn spread(positions: &[f64], space: f64, (lo, hi): (f64, f64)) -> Vec<f64> {
    let last = positions.len().saturating_sub(1) as f64;
    let space = space.min((hi - lo) / last.max(1.0));
    // After subtracting k spaces from the k-th, the positions must ascend: blocks of equal value are merged where they descend.
    let mut blocks: Vec<(f64, usize)> = vec![];
    for (k, x) in positions.iter().enumerate() {
        let mut block = (x - k as f64 * space, 1);
        while let Some(&(mean, count)) = blocks.last().filter(|b| b.0 > block.0) {
            let sum = mean * count as f64 + block.0 * block.1 as f64;
            block = (sum / (count + block.1) as f64, count + block.1);
            blocks.pop();
        }
        blocks.push(block);
    }
    let moved = blocks.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count));
    let highest = (hi - last * space).max(lo);
    moved.enumerate().map(|(k, x)| x.clamp(lo, highest) + k as f64 * space).collect()
}
