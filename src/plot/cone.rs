//! Covariances of the plane in their cone `z² > x² + y²`, with x = (σ₁₁ − σ₂₂)/2, y = σ₁₂, z = (σ₁₁ + σ₂₂)/2 (paper, eq. (5)):
//! from the side, and from above with coordinates divided by z.

use super::axis::Frame;
use super::canvas::{Canvas, Font, Point};
use super::colour::{AXIS, FAINT, GREY, INK, Rgb, WHITE, accent};
use super::range::{Range, drawable};
use super::scene::{GAP, MARGIN, Matrix2, Summary};
use super::view::see;
use super::{cost, text};
use std::f64::consts::TAU;

/// Side length of the square for the view from above, and width of the view from the side.
const SIDE: f64 = cost::HEIGHT + 90.0;
const WIDE: f64 = 760.0;
/// If the measures lie in less than this fraction of the disc, only that part is shown.
const ZOOM: f64 = 0.45;

/// Draws both views from y downwards and returns where they end at the right and below.
pub(super) fn draw(canvas: &mut Canvas, y: f64, summary: &Summary) -> (f64, f64) {
    let heading = Font::new(34.0, INK).bold();
    canvas.text("covariances in their cone", (MARGIN, y + 17.0), heading);
    let second = MARGIN + WIDE + GAP;
    canvas.text("from above", (second, y + 17.0), heading);
    let y = y + 34.0 + 22.0;
    from_the_side(canvas, (MARGIN, y), summary);
    from_above(canvas, (second + 40.0, y), summary);
    key(canvas, (MARGIN, y + SIDE + 64.0), summary);
    let words = "Height √(σ₁₁ + σ₂₂). From above, divided by σ₁₁ + σ₂₂: σ₁₁ − σ₂₂ to the right, 2σ₁₂ up; singular at the border.";
    canvas.text(words, (MARGIN, y + SIDE + 102.0), Font::new(24.0, GREY));
    (second + 40.0 + SIDE + 2.0 * GAP, y + SIDE + 120.0)
}

/// Coordinates in the unit disc; `None` for a matrix that is 0 or not finite.
fn shape([a, b, c]: Matrix2) -> Option<Point> {
    let trace = a + c;
    (trace > 0.0 && drawable(trace) && drawable(b)).then(|| ((a - c) / trace, 2.0 * b / trace))
}

/// Position in the cone, drawn with lengths instead of variances: the height is √trace.
fn place([a, b, c]: Matrix2) -> Option<[f64; 3]> {
    let (x, y) = shape([a, b, c])?;
    let z = (a + c).sqrt();
    Some([z * x, z * y, z])
}

fn from_the_side(canvas: &mut Canvas, (x0, y0): Point, summary: &Summary) {
    let inner = summary.curves.iter().flat_map(|c| &c.inner);
    let heights = summary.covariances.iter().chain(inner).filter_map(|&m| place(m)).map(|p| p[2]);
    let top = heights.fold(0.0, f64::max);
    if !(top > 0.0) {
        return;
    }
    let ring = |r: f64| (0..=96).map(move |k| (k as f64 / 96.0 * TAU).sin_cos()).map(move |(s, c)| [r * c, r * s, r]);
    let outline: Vec<[f64; 3]> = ring(1.0).filter_map(|p| see(&p)).chain(see(&[0.0; 3])).collect();
    let (right, up) = (Range::of(outline.iter().map(|p| p[0])), Range::of(outline.iter().map(|p| p[1])));
    let zoom = (WIDE / right.length()).min(SIDE / up.length());
    let (x, y) = (x0 + 0.5 * WIDE, y0 + 0.5 * SIDE);
    let on_page = |p: [f64; 3]| {
        let seen = see(&p.map(|c| c / top))?;
        Some((x + zoom * (seen[0] - right.middle()), y - zoom * (seen[1] - up.middle())))
    };
    for share in [0.25, 0.5, 0.75] {
        let points: Vec<Point> = ring(share * top).filter_map(on_page).collect();
        canvas.path(&points, FAINT, 2);
    }
    for k in 0..12 {
        let (sin, cos) = (f64::from(k) / 12.0 * TAU).sin_cos();
        let ends = [[0.0; 3], [top * cos, top * sin, top]].map(on_page);
        if let [Some(tip), Some(rim)] = ends {
            canvas.line(tip, rim, FAINT, 1);
        }
    }
    let rim: Vec<Point> = ring(top).filter_map(on_page).collect();
    canvas.path(&rim, AXIS, 2);
    let axis = [[0.0; 3], [0.0, 0.0, top]].map(on_page);
    if let [Some(tip), Some(middle)] = axis {
        canvas.line(tip, middle, AXIS, 1);
    }
    content(canvas, summary, &|m| place(m).and_then(on_page), false);
}

fn from_above(canvas: &mut Canvas, (x0, y0): Point, summary: &Summary) {
    let inner = summary.curves.iter().flat_map(|c| &c.inner);
    let own = || summary.covariances.iter().chain(inner.clone()).filter_map(|&m| shape(m));
    let (right, up) = (Range::of(own().map(|p| p.0)), Range::of(own().map(|p| p.1)));
    let reach = 0.5 * right.length().max(up.length());
    let whole = !(1e-6..=ZOOM).contains(&reach);
    // The centre of the view, and half its side.
    let (middle, half) = if whole { ((0.0, 0.0), 1.12) } else { ((right.middle(), up.middle()), 1.25 * reach) };
    let (x, y) = (Range::about(middle.0, half), Range::about(middle.1, half));
    let frame = Frame { from: (x0, y0), to: (x0 + SIDE, y0 + SIDE), x, y };
    let on_page = |p: Point| frame.place(p);
    let inside = |p: &Point| frame.holds(*p);
    frame.outline(canvas, FAINT);
    for (from, to) in [((-1.0, 0.0), (1.0, 0.0)), ((0.0, -1.0), (0.0, 1.0))] {
        let steps = (0..=400).map(|k| f64::from(k) / 400.0);
        let line: Vec<Point> = steps
            .map(|f| on_page((from.0 + f * (to.0 - from.0), from.1 + f * (to.1 - from.1))))
            .filter(inside)
            .collect();
        if let [first, .., last] = line[..] {
            canvas.line(first, last, FAINT, 2);
        }
    }
    // The border of the cone: singular matrices.
    let circle: Vec<Point> =
        (0..=2880).map(|k| (f64::from(k) / 2880.0 * TAU).sin_cos()).map(|(s, c)| on_page((c, s))).collect();
    for piece in circle.split(|p| !inside(p)).filter(|piece| piece.len() > 1) {
        let (last, every) = (piece[piece.len() - 1], if whole { 12 } else { 1 });
        let points: Vec<Point> = piece.iter().copied().step_by(every).chain([last]).collect();
        canvas.path(&points, AXIS, 2);
    }
    let shown = |m: Matrix2| shape(m).map(on_page).filter(inside);
    content(canvas, summary, &shown, true);
    if whole {
        glyphs(canvas, &on_page);
    } else {
        frame.below(canvas, 4);
        frame.left(canvas, 4);
    }
}

/// Small pictures at the border that show its matrices: a Gaussian on a segment, at half the angle.
fn glyphs(canvas: &mut Canvas, on_page: &dyn Fn(Point) -> Point) {
    for k in 0..8 {
        let angle = f64::from(k) / 8.0 * TAU;
        let (sin, cos) = angle.sin_cos();
        let (x, y) = on_page((1.06 * cos, 1.06 * sin));
        let (sin, cos) = (0.5 * angle).sin_cos();
        canvas.line((x - 13.0 * cos, y + 13.0 * sin), (x + 13.0 * cos, y - 13.0 * sin), GREY, 3);
    }
}

/// Curves, measures and barycentre.
fn content(canvas: &mut Canvas, summary: &Summary, place: &dyn Fn(Matrix2) -> Option<Point>, outer: bool) {
    let draw = |canvas: &mut Canvas, matrices: &[Matrix2], colour: Rgb, width: u32| {
        let places: Vec<Option<Point>> = matrices.iter().map(|&m| place(m)).collect();
        for piece in places.split(Option::is_none).filter(|piece| piece.len() > 1) {
            let points: Vec<Point> = piece.iter().flatten().copied().collect();
            canvas.path(&points, colour, width);
        }
    };
    for curve in summary.curves.iter().rev() {
        if outer {
            draw(canvas, &curve.outer, accent(curve.component), 2);
        }
        draw(canvas, &curve.inner, accent(curve.component), 6);
    }
    let (radius, alpha) = if summary.covariances.len() > 400 { (3.0, 0.5) } else { (6.0, 0.8) };
    for at in summary.covariances.iter().filter_map(|&m| place(m)) {
        canvas.dot(at, radius, INK, alpha);
    }
    if let Some(at) = summary.barycentre.and_then(place) {
        ring(canvas, at);
    }
}

/// The mark of the barycentre.
fn ring(canvas: &mut Canvas, at: Point) {
    canvas.dot(at, 11.0, INK, 1.0);
    canvas.dot(at, 7.0, WHITE, 1.0);
}

/// The legend of dots and lines.
fn key(canvas: &mut Canvas, (x, y): Point, summary: &Summary) {
    let font = Font::new(24.0, GREY);
    let mut x = x;
    let mut word = |canvas: &mut Canvas, sign: &dyn Fn(&mut Canvas, f64), room: f64, words: &str| {
        sign(canvas, x);
        canvas.text(words, (x + room, y), font);
        x += room + text::width(words, font.size) + 28.0;
    };
    word(canvas, &|c, x| c.dot((x + 8.0, y), 6.0, INK, 0.8), 26.0, "measure");
    word(canvas, &|c, x| ring(c, (x + 11.0, y)), 32.0, "barycentre");
    for curve in &summary.curves {
        let k = curve.component;
        let line = |c: &mut Canvas, x: f64| c.line((x, y), (x + 44.0, y), accent(k), 6);
        word(canvas, &line, 54.0, &if k == 1 { "component 1".to_string() } else { k.to_string() });
    }
}
