//! What is drawn, kept until the height of the picture is known, and its text.

use super::text;
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, ShapeStyle, TextStyle};

/// Red, green and blue.
pub(super) type Rgb = (u8, u8, u8);

pub(super) const INK: Rgb = (0x26, 0x26, 0x26);
pub(super) const GREY: Rgb = (0x6b, 0x6b, 0x6b);
pub(super) const AXIS: Rgb = (0xa8, 0xa8, 0xa8);
pub(super) const FAINT: Rgb = (0xdd, 0xdd, 0xdd);

/// The colour of a component (Okabe and Ito, without yellow).
pub(super) fn accent(component: usize) -> Rgb {
    const COLOURS: [Rgb; 6] = [
        (0x00, 0x72, 0xb2),
        (0xd5, 0x5e, 0x00),
        (0x00, 0x9e, 0x73),
        (0xb0, 0x5a, 0x8c),
        (0xc7, 0x86, 0x00),
        (0x3f, 0x8f, 0xc4),
    ];
    COLOURS[component.wrapping_sub(1) % COLOURS.len()]
}

/// The colour a share `f` of the way from `a` to `b`.
pub(super) fn mix(a: Rgb, b: Rgb, f: f64) -> Rgb {
    let one = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * f).round() as u8;
    (one(a.0, b.0), one(a.1, b.1), one(a.2, b.2))
}

/// The colour of a value in \[0, 1\], from dark to light and distinct in grey (viridis without its palest end).
pub(super) fn scale(f: f64) -> Rgb {
    const STOPS: [Rgb; 5] =
        [(0x44, 0x01, 0x54), (0x3b, 0x52, 0x8b), (0x21, 0x91, 0x8c), (0x5e, 0xc9, 0x62), (0xe3, 0xcf, 0x1a)];
    let at = f.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let k = (at as usize).min(STOPS.len() - 2);
    mix(STOPS[k], STOPS[k + 1], at - k as f64)
}

/// How a text is set; `size` in pixels.
#[derive(Clone, Copy)]
pub(super) struct Font {
    pub size: f64,
    pub colour: Rgb,
    pub bold: bool,
    /// Where the point given lies along the text.
    pub anchor: HPos,
    /// The text runs upwards.
    pub turned: bool,
}

impl Font {
    /// An ordinary text that starts at its point.
    pub fn new(size: f64, colour: Rgb) -> Self {
        Font { size, colour, bold: false, anchor: HPos::Left, turned: false }
    }

    pub fn bold(self) -> Self {
        Font { bold: true, ..self }
    }

    pub fn anchor(self, anchor: HPos) -> Self {
        Font { anchor, ..self }
    }

    pub fn turned(self) -> Self {
        Font { turned: true, ..self }
    }
}

type Point = (i32, i32);

enum Item {
    Dot(Point, u32, ShapeStyle),
    Path(Vec<Point>, ShapeStyle),
    Area(Vec<Point>, ShapeStyle),
    Text(Point, String, Font),
}

/// Things drawn one over the other, in pixels from the upper left.
pub(super) struct Canvas {
    items: Vec<Item>,
}

fn round((x, y): (f64, f64)) -> Point {
    (x.round() as i32, y.round() as i32)
}

fn style((r, g, b): Rgb, alpha: f64, width: u32) -> ShapeStyle {
    ShapeStyle { color: RGBColor(r, g, b).mix(alpha), filled: true, stroke_width: width }
}

impl Canvas {
    pub fn new() -> Self {
        Canvas { items: vec![] }
    }

    pub fn dot(&mut self, at: (f64, f64), radius: u32, colour: Rgb, alpha: f64) {
        self.items.push(Item::Dot(round(at), radius, style(colour, alpha, 0)));
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: Rgb, width: u32) {
        self.path(&[from, to], colour, width);
    }

    pub fn path(&mut self, points: &[(f64, f64)], colour: Rgb, width: u32) {
        self.items.push(Item::Path(points.iter().map(|&p| round(p)).collect(), style(colour, 1.0, width)));
    }

    pub fn area(&mut self, points: &[(f64, f64)], colour: Rgb, alpha: f64) {
        self.items.push(Item::Area(points.iter().map(|&p| round(p)).collect(), style(colour, alpha, 0)));
    }

    /// The outline of a rectangle.
    pub fn frame(&mut self, (x0, y0): (f64, f64), (x1, y1): (f64, f64), colour: Rgb) {
        self.path(&[(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], colour, 2);
    }

    /// A text whose middle line passes through `at`.
    pub fn text(&mut self, text: &str, at: (f64, f64), font: Font) {
        self.items.push(Item::Text(round(at), text::clean(text), font));
    }

    /// The picture as SVG.
    pub fn svg(self, width: u32, height: u32) -> String {
        let mut out = String::new();
        let mut backend = SVGBackend::with_string(&mut out, (width, height));
        let sheet = style((255, 255, 255), 1.0, 0);
        let mut drawn = backend.draw_rect((0, 0), (width as i32, height as i32), &sheet, true);
        for item in self.items {
            drawn = drawn.and_then(|()| match item {
                Item::Dot(at, radius, style) => backend.draw_circle(at, radius, &style, true),
                Item::Path(points, style) => match points[..] {
                    [from, to] => backend.draw_line(from, to, &style),
                    _ => backend.draw_path(points, &style),
                },
                Item::Area(points, style) => backend.fill_polygon(points, &style),
                Item::Text(at, text, font) => backend.draw_text(&text, &font.style(), at),
            });
        }
        // Writing to a string does not fail.
        drawn.and_then(|()| backend.present()).expect("an SVG text");
        drop(backend);
        out
    }
}

impl Font {
    fn style(&self) -> TextStyle<'static> {
        let (r, g, b) = self.colour;
        let weight = if self.bold { FontStyle::Bold } else { FontStyle::Normal };
        // The backend divides by 1.24.
        let font = FontDesc::new(FontFamily::SansSerif, self.size * 1.24, weight);
        let font = if self.turned { font.transform(FontTransform::Rotate270) } else { font };
        TextStyle { font, color: RGBColor(r, g, b).to_backend_color(), pos: Pos::new(self.anchor, VPos::Center) }
    }
}
