//! Axes with ticks, numbers and names, and a rectangle of the page with two axes.

use super::canvas::{Anchor, Canvas, Font, Point};
use super::colour::{AXIS, GREY, Rgb};
use super::range::Range;
use super::text;

/// Length of a tick and size of its number.
const TICK: f64 = 8.0;
const NUMBER: f64 = 22.0;

/// An axis with about `count` ticks and their numbers below.
pub(super) fn below(canvas: &mut Canvas, range: Range, (x0, x1): (f64, f64), y: f64, count: usize) {
    canvas.line((x0, y), (x1, y), AXIS, 2);
    for (t, number) in numbers(range, count) {
        let x = x0 + range.share(t) * (x1 - x0);
        canvas.line((x, y), (x, y + TICK), AXIS, 2);
        canvas.text(&number, (x, y + 24.0), Font::new(NUMBER, GREY).anchor(Anchor::Middle));
    }
}

/// An axis with about `count` ticks and their numbers at its left.
pub(super) fn left(canvas: &mut Canvas, range: Range, (y0, y1): (f64, f64), x: f64, count: usize) {
    canvas.line((x, y0), (x, y1), AXIS, 2);
    for (t, number) in numbers(range, count) {
        let y = y1 - range.share(t) * (y1 - y0);
        canvas.line((x - TICK, y), (x, y), AXIS, 2);
        canvas.text(&number, (x - 14.0, y), Font::new(NUMBER, GREY).anchor(Anchor::End));
    }
}

fn numbers(range: Range, count: usize) -> Vec<(f64, String)> {
    if count == 0 {
        return vec![];
    }
    let (ticks, step) = range.ticks(count);
    ticks.into_iter().map(|t| (t, text::number(t, step))).collect()
}

/// The name of an axis below its numbers.
pub(super) fn name_below(canvas: &mut Canvas, name: &str, (x0, x1): (f64, f64), y: f64, font: Font) {
    canvas.text(name, (0.5 * (x0 + x1), y + 66.0), font.anchor(Anchor::Middle));
}

/// The name of an axis to the left of its numbers.
pub(super) fn name_left(canvas: &mut Canvas, name: &str, (y0, y1): (f64, f64), x: f64, font: Font) {
    canvas.text(name, (x - 104.0, 0.5 * (y0 + y1)), font.anchor(Anchor::Middle).turned());
}

/// A rectangle of the page and the numbers along its sides.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Upper left and lower right corner.
    pub from: Point,
    pub to: Point,
    /// Ranges to the right and upwards.
    pub x: Range,
    pub y: Range,
}

impl Frame {
    /// The position of a point on the page; outside the frame if the point is outside the ranges.
    pub fn place(&self, (x, y): (f64, f64)) -> Point {
        let (wide, high) = (self.to.0 - self.from.0, self.to.1 - self.from.1);
        (self.from.0 + self.x.along(x) * wide, self.to.1 - self.y.along(y) * high)
    }

    /// Whether a position on the page is in the frame.
    pub fn holds(&self, (x, y): Point) -> bool {
        x >= self.from.0 && x <= self.to.0 && y >= self.from.1 && y <= self.to.1
    }

    pub fn outline(&self, canvas: &mut Canvas, colour: Rgb) {
        canvas.frame(self.from, self.to, colour);
    }

    /// The lines inside the frame on which a coordinate is 0.
    pub fn zeros(&self) -> Vec<(Point, Point)> {
        let inside = |range: Range| range.lo < 0.0 && range.hi > 0.0;
        let upright = (self.place((0.0, self.y.lo)), self.place((0.0, self.y.hi)));
        let level = (self.place((self.x.lo, 0.0)), self.place((self.x.hi, 0.0)));
        [(inside(self.x), upright), (inside(self.y), level)].into_iter().filter(|z| z.0).map(|z| z.1).collect()
    }

    pub fn below(&self, canvas: &mut Canvas, count: usize) {
        below(canvas, self.x, (self.from.0, self.to.0), self.to.1, count);
    }

    pub fn left(&self, canvas: &mut Canvas, count: usize) {
        left(canvas, self.y, (self.from.1, self.to.1), self.from.0, count);
    }

    pub fn name_below(&self, canvas: &mut Canvas, name: &str, font: Font) {
        name_below(canvas, name, (self.from.0, self.to.0), self.to.1, font);
    }

    pub fn name_left(&self, canvas: &mut Canvas, name: &str, font: Font) {
        name_left(canvas, name, (self.from.1, self.to.1), self.from.0, font);
    }
}
