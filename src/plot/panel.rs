//! The strips of panels.

use super::axis::{self, Frame};
use super::canvas::{Anchor, Canvas, Font};
use super::colour::{FAINT, GREY, INK, WHITE, accent, mix, scale};
use super::range::{Range, drawable};
use super::scene::{GAP, MARGIN, Panel, Shown, Strip, WIDTH, thin};
use super::view::{Limits, Seen, axes, see};
use super::{ellipse, text};

/// Largest number of points in a panel, and in all panels: this keeps the file below a megabyte.
const POINTS: usize = 512;
const ALL_POINTS: usize = 14 * POINTS;
/// Largest number of panels side by side.
const COLUMNS: usize = 10;
/// Space between panels, and to their left if they have numbered axes.
const BETWEEN: f64 = 18.0;
const NUMBERS: f64 = 70.0;
/// Height below a panel for the numbers of its axis, and for its time.
const TICKS: f64 = 34.0;
const TIME: f64 = 46.0;

/// The rectangle of a panel: upper left corner, width and height.
#[derive(Clone, Copy)]
struct Cell {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Draws the strips from y downwards and returns the lower end.
pub(super) fn draw(canvas: &mut Canvas, mut y: f64, dim: usize, strips: &[Strip]) -> f64 {
    let widest = strips.iter().map(|s| s.panels.len()).max().unwrap_or(1);
    let columns = widest.clamp(5, COLUMNS);
    let left = MARGIN + if dim < 3 { NUMBERS } else { 0.0 };
    let width = (WIDTH - MARGIN - left + BETWEEN) / columns as f64 - BETWEEN;
    let total: usize = strips.iter().map(|s| s.panels.len()).sum();
    let most = (ALL_POINTS / total).clamp(48, POINTS);
    let gaussian = strips.iter().flat_map(|s| &s.panels).any(|p| matches!(p.shown, Shown::Gaussian { .. }));
    let common = Painter::new(dim, strips, width, most);

    for strip in strips {
        // Ellipses of later components can be much smaller, so every strip has separate axes.
        let own = (gaussian && dim == 2).then(|| Painter::new(dim, std::slice::from_ref(strip), width, most));
        let painter = own.as_ref().unwrap_or(&common);
        let colour = accent(strip.component);
        canvas.text(&strip.label(), (MARGIN, y + 17.0), Font::new(34.0, colour).bold());
        y += 34.0 + 22.0;
        let (first, last) = (strip.panels[0].time, strip.panels[strip.panels.len() - 1].time);
        let step = (last - first).abs() / (strip.panels.len().max(2) - 1) as f64;
        let rows = strip.panels.chunks(columns);
        for row in rows {
            for (k, panel) in row.iter().enumerate() {
                let cell = Cell { x: left + k as f64 * (width + BETWEEN), y, width, height: painter.height };
                painter.panel(canvas, cell, panel, strip.component, k == 0);
                let time = format!("t = {}", text::number(panel.time, step / 10.0));
                let size = if columns > 7 { 22.0 } else { 26.0 };
                let below = painter.height + painter.ticks + 0.5 * TIME;
                canvas.text(&time, (cell.x + 0.5 * width, y + below), Font::new(size, INK).anchor(Anchor::Middle));
            }
            y += painter.height + painter.ticks + TIME;
        }
        y += GAP;
    }
    let room = if dim > 2 { 30.0 } else { 0.0 };
    common.caption(canvas, y - 0.5 * GAP + 0.5 * room, most, strips);
    y + GAP + room
}

/// Settings common to all panels.
struct Painter {
    dim: usize,
    height: f64,
    /// Height of the numbers below a panel.
    ticks: f64,
    most: usize,
    limits: Limits,
    /// For points on the line: the interval, the width of the kernel and the highest density.
    line: (Range, f64, f64),
}

impl Painter {
    fn new(dim: usize, strips: &[Strip], width: f64, most: usize) -> Self {
        let panels = || strips.iter().flat_map(|s| &s.panels);
        if dim == 1 {
            let ends = panels().flat_map(ellipse::ends);
            let range = Range::of(panels().flat_map(|p| p.points().iter().copied()).chain(ends)).padded(0.06);
            let mut kernels: Vec<f64> = panels().filter_map(|p| kernel(p.points())).collect();
            kernels.sort_by(f64::total_cmp);
            let kernel = kernels.get(kernels.len() / 2).copied().unwrap_or(0.0);
            let kernel = kernel.max(1.5 * range.length() / BINS as f64);
            let top = panels().flat_map(|p| density(p, range, kernel)).fold(0.0, f64::max);
            let limits = Limits { seen: [range; 3], fourth: range };
            return Painter { dim, height: 0.75 * width, ticks: TICKS, most, limits, line: (range, kernel, top) };
        }
        let mut limits = Limits::of(dim, strips);
        limits.seen[0] = limits.seen[0].padded(0.04);
        limits.seen[1] = limits.seen[1].padded(0.04);
        let shape = limits.seen[1].length() / limits.seen[0].length();
        let ticks = if dim == 2 { TICKS } else { 0.0 };
        Painter { dim, height: width * shape.clamp(0.6, 1.4), ticks, most, limits, line: (limits.seen[0], 1.0, 1.0) }
    }

    fn panel(&self, canvas: &mut Canvas, cell: Cell, panel: &Panel, component: usize, first: bool) {
        match self.dim {
            1 => self.outline(canvas, cell, panel, component, first),
            _ => self.scatter(canvas, cell, panel, component, first),
        }
    }

    /// The density of points on the line.
    fn outline(&self, canvas: &mut Canvas, cell: Cell, panel: &Panel, component: usize, first: bool) {
        let (range, kernel, top) = self.line;
        let bottom = cell.y + cell.height;
        let place = |k: usize, d: f64| {
            let x = cell.x + (k as f64 + 0.5) / BINS as f64 * cell.width;
            (x, bottom - d / top.max(f64::MIN_POSITIVE) * 0.95 * cell.height)
        };
        let density = density(panel, range, kernel);
        let curve: Vec<_> = density.iter().enumerate().map(|(k, &d)| place(k, d)).collect();
        let mut area = vec![place(0, 0.0)];
        area.extend(&curve);
        area.push(place(BINS - 1, 0.0));
        let colour = accent(component);
        canvas.area(&area, colour, 0.18);
        canvas.path(&curve, colour, 3);
        axis::below(canvas, range, (cell.x, cell.x + cell.width), bottom, if first { 3 } else { 0 });
    }

    /// Draws points in the plane or in space.
    fn scatter(&self, canvas: &mut Canvas, cell: Cell, panel: &Panel, component: usize, first: bool) {
        let [right, up, near] = self.limits.seen;
        let zoom = (cell.width / right.length()).min(cell.height / up.length());
        let frame = Frame {
            from: (cell.x, cell.y),
            to: (cell.x + cell.width, cell.y + cell.height),
            x: Range::about(right.middle(), 0.5 * cell.width / zoom),
            y: Range::about(up.middle(), 0.5 * cell.height / zoom),
        };
        let place = |s: Seen| frame.place((s[0], s[1]));
        if self.dim == 2 {
            frame.outline(canvas, FAINT);
            // A single number does not show the scale.
            let count = |range: Range| if range.ticks(3).0.len() > 1 { 3 } else { 4 };
            frame.below(canvas, if first { count(frame.x) } else { 0 });
            if first {
                frame.left(canvas, count(frame.y));
            }
        }
        if let Shown::Gaussian { mean, covariance } = &panel.shown {
            let colour = accent(component);
            for (deviations, alpha, width) in [(2.0, 0.14, 1), (1.0, 0.26, 3)] {
                let edge: Vec<_> =
                    ellipse::edge(mean, covariance, deviations).filter_map(|p| see(&p)).map(place).collect();
                canvas.area(&edge, colour, alpha);
                canvas.path(&edge, colour, width);
            }
            return;
        }
        let points: Vec<&[f64]> = panel.points().chunks_exact(self.dim).collect();
        let mut seen: Vec<(Seen, &[f64])> =
            thin(points.len(), self.most).into_iter().filter_map(|i| see(points[i]).map(|s| (s, points[i]))).collect();
        seen.sort_by(|a, b| a.0[2].total_cmp(&b.0[2]));
        let colour = accent(component);
        let (pale, dark) = (mix(colour, WHITE, 0.68), mix(colour, (0, 0, 0), 0.3));
        let unit = (cell.width / 310.0).clamp(0.6, 1.4);
        for (s, point) in seen {
            let f = near.share(s[2]);
            let (size, colour) = match self.dim {
                2 => (3.0, colour),
                3 => (2.4 + 2.2 * f, mix(pale, dark, f)),
                4 => (3.0 + 2.0 * f, scale(self.limits.fourth.share(point[3]))),
                _ => (2.4 + 2.2 * f, mix(pale, dark, f)),
            };
            canvas.dot(place(s), (size * unit).max(2.0), colour, if self.dim == 2 { 0.7 } else { 1.0 });
        }
    }

    /// Describes the panels in one line.
    fn caption(&self, canvas: &mut Canvas, y: f64, most: usize, strips: &[Strip]) {
        let font = Font::new(24.0, GREY);
        let mut x = MARGIN;
        if self.dim > 2 {
            x = triad(canvas, (x, y + 16.0), font) + 30.0;
        }
        let gaussian = strips.iter().flat_map(|s| &s.panels).any(|p| matches!(p.shown, Shown::Gaussian { .. }));
        let mut words = match self.dim {
            1 => "Densities on a common scale.".to_string(),
            2 if gaussian => {
                "Ellipses at one and two standard deviations; coordinate 1 to the right, coordinate 2 up.".to_string()
            }
            2 => "Coordinate 1 to the right, coordinate 2 up.".to_string(),
            3 => "Oblique projection, coordinate 3 up; nearer points are larger and darker.".to_string(),
            4 => "Coordinates 1 to 3 as position, coordinate 4 as colour.".to_string(),
            5 => "Only the first three of 5 coordinates are drawn.".to_string(),
            d => format!("Only the first three of {d} coordinates are drawn."),
        };
        let n = strips.iter().flat_map(|s| &s.panels).map(|p| p.points().len() / self.dim).max().unwrap_or(0);
        if self.dim > 1 && n > most {
            words += &format!(" {most} of {n} points drawn.");
        }
        canvas.text(&words, (x, y), font);
        if self.dim == 4 {
            x += text::width(&words, font.size) + 30.0;
            let (Range { lo, hi }, cell) = (self.limits.fourth, 8.0);
            let step = (hi - lo) / 100.0;
            let low = text::number(lo, step);
            canvas.text(&low, (x, y), font);
            x += text::width(&low, font.size) + 10.0;
            for k in 0..30 {
                let (a, b) = (x + cell * k as f64, x + cell * (k + 1) as f64);
                let square = [(a, y - 10.0), (b, y - 10.0), (b, y + 10.0), (a, y + 10.0)];
                canvas.area(&square, scale(k as f64 / 29.0), 1.0);
            }
            canvas.text(&text::number(hi, step), (x + 30.0 * cell + 10.0, y), font);
        }
    }
}

/// Draws the three directions as small arrows; returns the right end.
fn triad(canvas: &mut Canvas, (x, y): (f64, f64), font: Font) -> f64 {
    let [right, up, _] = axes();
    let origin = (x + 20.0, y);
    for (k, name) in ["1", "2", "3"].into_iter().enumerate() {
        let at = |r: f64| (origin.0 + r * right[k], origin.1 - r * up[k]);
        canvas.line(origin, at(42.0), GREY, 2);
        canvas.text(name, at(56.0), Font { size: 20.0, ..font }.anchor(Anchor::Middle));
    }
    x + 90.0
}

/// Number of positions at which a density is drawn.
const BINS: usize = 150;

/// Silverman's width of a Gaussian kernel for points on the line, halved because clouds often have several peaks.
fn kernel(points: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = points.iter().copied().filter(|&x| drawable(x)).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let deviation = (sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
    let quartiles = sorted.get(3 * n / 4)? - sorted.get(n / 4)?;
    let spread = if quartiles > 0.0 { deviation.min(quartiles / 1.34) } else { deviation };
    Some(0.45 * spread * (n as f64).powf(-0.2))
}

/// The density in each bin of the interval, up to a factor; points are smoothed.
fn density(panel: &Panel, range: Range, kernel: f64) -> Vec<f64> {
    let points = match &panel.shown {
        Shown::Points(points) => points,
        Shown::Gaussian { mean, covariance } => {
            // At least as wide as a line.
            let sigma = covariance[0].max(0.0).sqrt().max(kernel);
            let middle = |k: usize| range.lo + (k as f64 + 0.5) / BINS as f64 * range.length();
            let height = |k: usize| (-0.5 * ((middle(k) - mean[0]) / sigma).powi(2)).exp();
            return (0..BINS).map(|k| height(k) * range.length() / (sigma * BINS as f64)).collect();
        }
    };
    let mut counts = vec![0.0; BINS];
    let drawn = points.iter().filter(|&&x| drawable(x));
    for x in drawn {
        counts[((range.share(*x) * BINS as f64) as usize).min(BINS - 1)] += 1.0 / points.len() as f64;
    }
    let sigma = kernel / range.length() * BINS as f64;
    let weights: Vec<f64> = (0..BINS).map(|k| (-0.5 * (k as f64 / sigma).powi(2)).exp() / sigma).collect();
    (0..BINS).map(|i| (0..BINS).map(|j| counts[j] * weights[i.abs_diff(j)]).sum()).collect()
}
