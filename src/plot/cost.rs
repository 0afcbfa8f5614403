//! The cost of each component.

use super::axis;
use super::canvas::{Anchor, Canvas, Font};
use super::colour::{AXIS, GREY, INK, WHITE, accent, mix};
use super::range::{Range, drawable};
use super::scene::{MARGIN, Summary, WIDTH};
use super::text;

const HEADING: &str = "cost of each component alone";
/// Height of the bars.
pub(super) const HEIGHT: f64 = 560.0;
/// Largest number of components whose costs are written below the bars.
const WRITTEN: usize = 8;
/// Height of a line of text there.
const LINE: f64 = 30.0;

/// Draws the costs from a position to the right end of the page; returns the lower end. `drawn` components are shown above.
pub(super) fn draw(canvas: &mut Canvas, (x, y): (f64, f64), summary: &Summary, drawn: usize) -> f64 {
    let costs = &summary.costs;
    let heading = Font::new(34.0, INK).bold();
    canvas.text(HEADING, (x, y + 17.0), heading);
    if costs.len() > drawn {
        let note = format!("Only the first {drawn} of {} components are drawn above.", costs.len());
        let right = x + text::width(HEADING, heading.size) + 30.0;
        canvas.text(&note, (right, y + 19.0), Font::new(24.0, GREY));
    }
    let y = y + 34.0 + 22.0;
    let (x0, x1, y1) = (x + 120.0, WIDTH - MARGIN, y + HEIGHT);
    let all = costs.iter().flat_map(|c| [c.0, c.1]).chain([summary.barycentre_cost]);
    let top = all.filter(|c| drawable(*c)).fold(0.0, f64::max);
    let range = Range { lo: 0.0, hi: if top > 0.0 { 1.06 * top } else { 1.0 } };
    let height = |cost: f64| y1 - range.share(cost) * HEIGHT;
    canvas.line((x0, y1), (x1, y1), AXIS, 2);
    axis::left(canvas, range, (y, y1), x0, 5);

    // The cost of the barycentre as the reference.
    let level = height(summary.barycentre_cost);
    canvas.dashed(&[(x0, level), (x1, level)], GREY, 2);

    let step = (x1 - x0) / costs.len().max(1) as f64;
    let width = (0.55 * step).min(150.0);
    let every = costs.len().div_ceil(30);
    for (k, &(cost, tangent)) in costs.iter().enumerate() {
        let middle = x0 + (k as f64 + 0.5) * step;
        let (left, right) = (middle - 0.5 * width, middle + 0.5 * width);
        let colour = accent(k + 1);
        let at = height(cost);
        let bar = [(left, y1), (right, y1), (right, at), (left, at)];
        canvas.area(&bar, mix(colour, WHITE, 0.45), 1.0);
        canvas.path(&[bar[0], bar[3], bar[2], bar[1]], colour, 2);
        let (over, beyond) = (height(tangent), 0.12 * width);
        canvas.line((left - beyond, over), (right + beyond, over), INK, 3);
        let centred = |font: Font| font.anchor(Anchor::Middle);
        if k % every == 0 {
            canvas.text(&(k + 1).to_string(), (middle, y1 + 22.0), centred(Font::new(26.0, colour).bold()));
        }
        if costs.len() <= WRITTEN {
            let font = centred(Font::new(22.0, INK));
            canvas.text(&written(cost), (middle, y1 + 22.0 + LINE), font);
            canvas.text(&written(tangent), (middle, y1 + 22.0 + 2.0 * LINE), font);
        }
    }
    let mut below = y1 + 22.0;
    if costs.len() <= WRITTEN {
        let font = Font::new(22.0, GREY).anchor(Anchor::End);
        canvas.text("cost", (x0 - 14.0, y1 + 22.0 + LINE), font);
        canvas.text("tangent", (x0 - 14.0, y1 + 22.0 + 2.0 * LINE), font);
        below += 2.0 * LINE;
    }
    key(canvas, (x, below + 44.0), summary);
    below + 70.0
}

/// A cost with four or five digits.
fn written(cost: f64) -> String {
    let step = cost / 5000.0;
    text::number(cost, if cost >= 1e-3 { step.max(1e-5) } else { step })
}

/// The legend of the lines.
fn key(canvas: &mut Canvas, (x, y): (f64, f64), summary: &Summary) {
    let font = Font::new(24.0, GREY);
    let mut x = x;
    canvas.line((x, y), (x + 44.0, y), INK, 3);
    x += 56.0;
    let words = "tangent PCA";
    canvas.text(words, (x, y), font);
    x += text::width(words, font.size) + 24.0;
    canvas.dashed(&[(x, y), (x + 38.0, y)], GREY, 2);
    x += 50.0;
    canvas.text(&format!("barycentre alone, {}", written(summary.barycentre_cost)), (x, y), font);
}
