//! Charts: curves, dots, areas and texts in the coordinates of two axes. The figures of the examples are rows of charts.

use super::axis::Frame;
use super::canvas::{Anchor, Canvas, Font};
use super::ellipse;
use super::label::{Box2, Placer, write};
use super::range::Range;

pub use super::colour::{BLUE, FAINT, GREEN, GREY, INK, ORANGE, Rgb};

/// Height of a chart in pixels, and the margins at the left, right, top and bottom.
const HEIGHT: f64 = 640.0;
const LEFT: f64 = 124.0;
const RIGHT: f64 = 28.0;
const ABOVE: f64 = 62.0;
const BELOW: f64 = 88.0;
/// Font sizes of titles and names of axes, and of other texts.
const TITLE: f64 = 25.0;
const TEXT: f64 = 21.0;
/// Approximate number of ticks of an axis.
const TICKS: usize = 6;

type Point = (f64, f64);

/// The range of an axis, and its name; an axis without a name is not drawn.
pub struct Axis<'n>(pub f64, pub f64, pub &'n str);

/// One chart. Points are given in the coordinates of its axes, widths and radii in pixels.
pub struct Chart {
    canvas: Canvas,
    frame: Frame,
    width: u32,
    /// Straight lines that names avoid.
    lines: Vec<(Point, Point)>,
}

impl Chart {
    /// An empty chart with this width in pixels.
    pub fn new(width: u32, title: &str, x: Axis, y: Axis) -> Self {
        let (from, to) = ((LEFT, ABOVE), (f64::from(width) - RIGHT, HEIGHT - BELOW));
        let frame = Frame { from, to, x: Range { lo: x.0, hi: x.1 }, y: Range { lo: y.0, hi: y.1 } };
        let mut canvas = Canvas::new();
        let font = Font::new(TITLE, INK);
        if !x.2.is_empty() {
            frame.below(&mut canvas, TICKS);
            frame.name_below(&mut canvas, x.2, font);
        }
        if !y.2.is_empty() {
            frame.left(&mut canvas, TICKS);
            frame.name_left(&mut canvas, y.2, font);
        }
        canvas.text(title, (0.5 * (from.0 + to.0), 0.5 * ABOVE), font.anchor(Anchor::Middle));
        Chart { canvas, frame, width, lines: vec![] }
    }

    /// A chart around a centre with the same scale in both directions; `half` is half the height that it shows.
    pub fn square(width: u32, title: &str, (x, x_name): (f64, &str), (y, y_name): (f64, &str), half: f64) -> Self {
        let wide = half * (f64::from(width) - LEFT - RIGHT) / (HEIGHT - ABOVE - BELOW);
        Chart::new(width, title, Axis(x - wide, x + wide, x_name), Axis(y - half, y + half, y_name))
    }

    fn on_page(&self, points: &[Point]) -> Vec<Point> {
        points.iter().map(|&p| self.frame.place(p)).collect()
    }

    /// A line through points.
    pub fn line(&mut self, points: &[Point], colour: Rgb, width: u32) {
        self.canvas.path(&self.on_page(points), colour, width);
    }

    /// The same in dashes.
    pub fn dashed(&mut self, points: &[Point], colour: Rgb, width: u32) {
        self.canvas.dashed(&self.on_page(points), colour, width);
    }

    /// The lines on which a coordinate is 0.
    pub fn zeros(&mut self, colour: Rgb) {
        self.lines = self.frame.zeros();
        for &(from, to) in &self.lines {
            self.canvas.line(from, to, colour, 1);
        }
    }

    /// Draws dots.
    pub fn dots(&mut self, points: &[Point], colour: Rgb, radius: f64) {
        for &p in points {
            self.canvas.dot(self.frame.place(p), radius, colour, 1.0);
        }
    }

    /// Fills the area inside an outline.
    pub fn area(&mut self, outline: &[Point], colour: Rgb, alpha: f64) {
        self.canvas.area(&self.on_page(outline), colour, alpha);
    }

    /// The ellipse |Σ^-½ (p − centre)| = scale.
    pub fn ellipse(&mut self, sigma: &[f64], (x, y): Point, scale: f64, colour: Rgb, width: u32) {
        let edge: Vec<Point> = ellipse::edge(&[x, y], sigma, scale).map(|[x, y]| (x, y)).collect();
        self.line(&edge, colour, width);
    }

    /// A text that begins at a point.
    pub fn text(&mut self, words: &str, at: Point, colour: Rgb) {
        self.canvas.text(words, self.frame.place(at), Font::new(TEXT, colour));
    }

    /// Places names, by index, beside some dots of this radius and inside the axes; a name that does not fit is left out.
    pub fn names(&mut self, dots: &[Point], radius: f64, named: &[(usize, String)]) {
        let (from, to) = (self.frame.from, self.frame.to);
        let area = Box2 { lo: (from.0 + 4.0, from.1 + 4.0), hi: (to.0 - 4.0, to.1 - 4.0) };
        let dots = self.on_page(dots);
        let places = Placer::new(area, &dots, &self.lines, radius + 1.0).place(named, TEXT);
        write(&mut self.canvas, named, &places, Font::new(TEXT, INK));
    }
}

/// Charts side by side, as SVG text.
pub fn row(charts: &[Chart]) -> String {
    let mut page = Canvas::new();
    let mut width = 0;
    for chart in charts {
        page.insert(&chart.canvas, (f64::from(width), 0.0));
        width += chart.width;
    }
    page.svg(width, HEIGHT as u32)
}
