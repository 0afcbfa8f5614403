//! The measures in the plane of the first two times, or on an axis if there is only one component.

use super::axis::{self, Frame};
use super::canvas::{Anchor, Canvas, Font, Point};
use super::colour::{AXIS, FAINT, GREY, INK, accent};
use super::label::{Box2, Placer, spread, write};
use super::range::{Range, drawable};
use super::scene::{GAP, MARGIN, Mark, Strip, WIDTH, thin};
use super::text;

/// With more measures than this, names are written in a list.
const MAX_DIRECT_NAMES: usize = 60;
/// With more measures than this, there are no names.
const MAX_LISTED_NAMES: usize = 400;
/// Largest number of measures drawn.
const DRAWN: usize = 3000;
/// Font sizes tried for names, and the length at which names are cut.
const SIZES: [f64; 3] = [24.0, 21.0, 18.0];
const MAX_NAME_LENGTH: f64 = 16.0;
/// Height of the plane, and margins at the left and bottom for numbers and titles.
const PLANE: f64 = 1150.0;
const LEFT: f64 = 130.0;
const BELOW: f64 = 96.0;
const RADIUS: f64 = 7.0;

/// Draws the measures from y downwards and returns the lower end.
pub(super) fn draw(canvas: &mut Canvas, y: f64, strips: &[Strip], marks: &[Mark]) -> f64 {
    let plane = strips.len() > 1 && marks.iter().all(|m| m.t2.is_some());
    let finite = |m: &&Mark| drawable(m.t1) && (!plane || m.t2.is_some_and(drawable));
    let finite: Vec<&Mark> = marks.iter().filter(finite).collect();
    if finite.is_empty() {
        return y - GAP;
    }
    let shown: Vec<&Mark> = thin(finite.len(), DRAWN).into_iter().map(|i| finite[i]).collect();
    let heading = Font::new(34.0, INK).bold();
    canvas.text("measures", (MARGIN, y + 17.0), heading);
    let mut note = String::new();
    if shown.len() > MAX_LISTED_NAMES {
        note = format!("{} measures, without their names. ", marks.len());
    }
    if shown.len() < finite.len() {
        note += &format!("{} of them drawn. ", shown.len());
    }
    if finite.len() < marks.len() {
        note += &format!("{} without a finite time left out.", marks.len() - finite.len());
    }
    let x = MARGIN + text::width("measures", heading.size) + 30.0;
    canvas.text(note.trim_end(), (x, y + 19.0), Font::new(24.0, GREY));
    let y = y + 34.0 + 22.0;
    if plane { draw_plane(canvas, y, strips, &shown) } else { draw_axis(canvas, y, &strips[0], &shown) }
}

/// The title of the axis of a component.
fn title(strip: &Strip) -> String {
    format!("t{}, {}", text::subscript(strip.component), strip.label())
}

fn font(strip: &Strip) -> Font {
    Font::new(28.0, accent(strip.component))
}

/// The displayed name of a mark.
fn name(mark: &Mark, size: f64) -> String {
    text::fit(mark.name.trim(), size, MAX_NAME_LENGTH * size)
}

fn draw_plane(canvas: &mut Canvas, y: f64, strips: &[Strip], marks: &[&Mark]) -> f64 {
    let (x0, x1, y1) = (MARGIN + LEFT, WIDTH - MARGIN, y + PLANE);
    let along = Range::of(marks.iter().map(|m| m.t1)).padded(0.08);
    let up = Range::of(marks.iter().filter_map(|m| m.t2)).padded(0.08);
    let frame = Frame { from: (x0, y), to: (x1, y1), x: along, y: up };

    // The axes, and where a time is 0.
    frame.outline(canvas, FAINT);
    let zeros = frame.zeros();
    for &(from, to) in &zeros {
        canvas.line(from, to, FAINT, 2);
    }
    frame.below(canvas, 6);
    frame.left(canvas, 5);
    frame.name_below(canvas, &title(&strips[0]), font(&strips[0]));
    frame.name_left(canvas, &title(&strips[1]), font(&strips[1]));

    let dots: Vec<Point> = marks.iter().map(|m| frame.place((m.t1, m.t2.unwrap_or(0.0)))).collect();
    let area = Box2 { lo: (x0 + 4.0, y + 4.0), hi: (x1 - 4.0, y1 - 4.0) };
    let numbered = name_dots(canvas, area, &dots, &zeros, marks);
    draw_dots(canvas, &dots);
    let entry = |&(i, found): &(usize, bool)| {
        let mut text = name(marks[i], 22.0);
        if !found {
            let time = |t: f64, range: Range| text::number(t, range.length() / 500.0);
            text += &format!(" ({}, {})", time(marks[i].t1, along), time(marks[i].t2.unwrap_or(0.0), up));
        }
        ((i + 1).to_string(), text)
    };
    let entries: Vec<(String, String)> = numbered.iter().map(entry).collect();
    list(canvas, y1 + BELOW, &entries)
}

fn draw_dots(canvas: &mut Canvas, dots: &[Point]) {
    let (radius, alpha) = if dots.len() > MAX_LISTED_NAMES { (RADIUS - 3.0, 0.5) } else { (RADIUS, 0.85) };
    for &dot in dots {
        canvas.dot(dot, radius, INK, alpha);
    }
}

/// Writes the names beside the dots, or numbers where a name does not fit. Returns the numbered names, and whether the number
/// could be placed.
fn name_dots(
    canvas: &mut Canvas,
    area: Box2,
    dots: &[Point],
    zeros: &[(Point, Point)],
    marks: &[&Mark],
) -> Vec<(usize, bool)> {
    if marks.len() > MAX_LISTED_NAMES {
        return vec![];
    }
    let empty = || Placer::new(area, dots, zeros, RADIUS + 1.0);
    let mut placer = empty();
    let mut numbered: Vec<usize> = (0..marks.len()).collect();
    if marks.len() <= MAX_DIRECT_NAMES {
        let attempt = |size: f64| {
            let names: Vec<(usize, String)> = marks.iter().map(|m| name(m, size)).enumerate().collect();
            let mut placer = empty();
            let places = placer.place(&names, size);
            (size, names, placer, places)
        };
        let mut best = attempt(SIZES[0]);
        for &size in &SIZES[1..] {
            if best.3.iter().any(Option::is_none) {
                best = attempt(size);
            }
        }
        let (size, names, named, places) = best;
        write(canvas, &names, &places, Font::new(size, INK));
        numbered.retain(|&i| places[i].is_none());
        placer = named;
    }
    let numbers: Vec<(usize, String)> = numbered.iter().map(|&i| (i, (i + 1).to_string())).collect();
    let places = placer.place(&numbers, 20.0);
    write(canvas, &numbers, &places, Font::new(20.0, GREY));
    numbered.into_iter().zip(places.iter().map(Option::is_some)).collect()
}

/// Writes pairs of a short text and a name in columns from y downwards; returns the lower end.
fn list(canvas: &mut Canvas, y: f64, entries: &[(String, String)]) -> f64 {
    const SIZE: f64 = 22.0;
    const LINE: f64 = 31.0;
    if entries.is_empty() {
        return y;
    }
    let widest = |f: fn(&(String, String)) -> &str| entries.iter().map(|e| text::width(f(e), SIZE)).fold(0.0, f64::max);
    let key = widest(|e| &e.0);
    let column = key + 14.0 + widest(|e| &e.1) + 36.0;
    let columns = (((WIDTH - 2.0 * MARGIN + 36.0) / column) as usize).clamp(1, 10);
    let rows = entries.len().div_ceil(columns);
    for (k, (short, name)) in entries.iter().enumerate() {
        let at = (MARGIN + (k / rows) as f64 * column + key, y + ((k % rows) as f64 + 0.5) * LINE);
        canvas.text(short, at, Font::new(SIZE, GREY).anchor(Anchor::End));
        canvas.text(name, (at.0 + 14.0, at.1), Font::new(SIZE, INK));
    }
    y + rows as f64 * LINE + 10.0
}

fn draw_axis(canvas: &mut Canvas, y: f64, strip: &Strip, marks: &[&Mark]) -> f64 {
    let mut sorted = marks.to_vec();
    sorted.sort_by(|a, b| a.t1.total_cmp(&b.t1));
    let names = |size: f64| -> Vec<String> { sorted.iter().map(|m| name(m, size)).collect() };
    let size = SIZES[0];
    let longest = names(size).iter().map(|n| text::width(n, size)).fold(0.0, f64::max);
    let flags = sorted.len() <= 12;
    let range = Range::of(sorted.iter().map(|m| m.t1)).padded(0.03);
    let (x0, x1) = (MARGIN + 20.0, WIDTH - MARGIN - 20.0 - if flags { longest } else { 0.0 });
    let xs: Vec<f64> = sorted.iter().map(|m| x0 + range.share(m.t1) * (x1 - x0)).collect();

    let above = if flags {
        draw_flags(canvas, y, &xs, &names(size), size)
    } else if sorted.len() <= MAX_DIRECT_NAMES {
        let names = names(size);
        // The names are vertical, side by side; lines connect them to the dots.
        let bottom = y + longest + 8.0;
        let axis = bottom + 90.0;
        for ((&x, to), name) in xs.iter().zip(spread(&xs, 1.28 * size, (x0, x1))).zip(&names) {
            canvas.path(&[(x, axis), (x, axis - 24.0), (to, bottom + 24.0), (to, bottom + 6.0)], AXIS, 1);
            canvas.text(name, (to, bottom), Font::new(size, INK).turned());
        }
        axis
    } else {
        y + 30.0
    };
    let foot = above + 24.0;
    axis::below(canvas, range, (x0, x1), foot, 6);
    let dots: Vec<Point> = xs.iter().map(|&x| (x, above)).collect();
    draw_dots(canvas, &dots);
    axis::name_below(canvas, &title(strip), (x0, x1), foot, font(strip));
    let listed = if sorted.len() > MAX_DIRECT_NAMES && sorted.len() <= MAX_LISTED_NAMES { &sorted[..] } else { &[] };
    let entry = |m: &&Mark| (text::number(m.t1, range.length() / 1000.0), name(m, 22.0));
    list(canvas, foot + BELOW, &listed.iter().map(entry).collect::<Vec<_>>())
}

/// Writes a few names to the right of poles on the dots. A pole is higher than the poles that its name would cover. Returns the y
/// coordinate of the dots.
fn draw_flags(canvas: &mut Canvas, y: f64, xs: &[f64], names: &[String], size: f64) -> f64 {
    let mut rows = vec![0usize; xs.len()];
    for i in (0..xs.len()).rev() {
        let end = xs[i] + 8.0 + text::width(&names[i], size) + 8.0;
        let covered = (i + 1..xs.len()).filter(|&j| xs[j] < end).map(|j| rows[j] + 1);
        rows[i] = covered.max().unwrap_or(0);
    }
    let line = 1.4 * size;
    let highest = rows.iter().copied().max().unwrap_or(0) as f64;
    let dots = y + (highest + 1.0) * line + 30.0;
    for ((&x, &row), name) in xs.iter().zip(&rows).zip(names) {
        let top = dots - 30.0 - (row as f64 + 1.0) * line;
        canvas.line((x, dots), (x, top + 4.0), AXIS, 1);
        canvas.text(name, (x + 8.0, top + 0.5 * line), Font::new(size, INK));
    }
    dots
}
