//! Collects drawing elements as SVG text.

use super::colour::{Rgb, WHITE};
use super::text;
use std::fmt::Write;

/// Pixels from the left and from the top.
pub(super) type Point = (f64, f64);

/// The part of a text that is placed at the given point.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is drawn; `size` in pixels.
#[derive(Clone, Copy)]
pub(super) struct Font {
    pub size: f64,
    pub colour: Rgb,
    pub bold: bool,
    pub anchor: Anchor,
    /// The text runs upwards.
    pub turned: bool,
}

impl Font {
    /// An ordinary text that starts at its point.
    pub fn new(size: f64, colour: Rgb) -> Self {
        Font { size, colour, bold: false, anchor: Anchor::Start, turned: false }
    }

    pub fn bold(self) -> Self {
        Font { bold: true, ..self }
    }

    pub fn anchor(self, anchor: Anchor) -> Self {
        Font { anchor, ..self }
    }

    pub fn turned(self) -> Self {
        Font { turned: true, ..self }
    }
}

/// Elements, each drawn over the previous ones. Points that are not finite are left out.
pub(super) struct Canvas {
    elements: String,
}

/// Elements with coordinates beyond this number of pixels are not drawn.
const MAX_PIXELS: f64 = 1e6;

fn drawable((x, y): Point) -> bool {
    x.abs() <= MAX_PIXELS && y.abs() <= MAX_PIXELS
}

/// A length rounded to a tenth of a pixel.
fn pixels(x: f64) -> f64 {
    round(x, 10.0)
}

/// Rounds to a multiple of 1/parts.
fn round(x: f64, parts: f64) -> f64 {
    // Adding 0 turns "-0" into "0".
    (x * parts).round() / parts + 0.0
}

impl Canvas {
    pub fn new() -> Self {
        Canvas { elements: String::new() }
    }

    /// Writing to a string does not fail.
    fn write(&mut self, element: std::fmt::Arguments) {
        self.elements.write_fmt(element).expect("memory");
    }

    /// Ends an element: its colour in the attribute `paint`, and its opacity.
    fn finish(&mut self, paint: &str, (r, g, b): Rgb, alpha: f64) {
        self.write(format_args!(" {paint}=\"#{r:02x}{g:02x}{b:02x}\""));
        if alpha < 1.0 {
            self.write(format_args!(" opacity=\"{}\"", round(alpha, 100.0)));
        }
        self.elements += "/>\n";
    }

    fn points(&mut self, element: &str, points: impl Iterator<Item = Point>) {
        self.write(format_args!("<{element} points=\""));
        for (k, (x, y)) in points.enumerate() {
            let space = if k > 0 { " " } else { "" };
            self.write(format_args!("{space}{},{}", pixels(x), pixels(y)));
        }
        self.elements.push('"');
    }

    pub fn dot(&mut self, (x, y): Point, radius: f64, colour: Rgb, alpha: f64) {
        if drawable((x, y)) {
            self.write(format_args!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", pixels(x), pixels(y), pixels(radius)));
            self.finish("fill", colour, alpha);
        }
    }

    pub fn line(&mut self, from: Point, to: Point, colour: Rgb, width: u32) {
        self.path(&[from, to], colour, width);
    }

    /// The line through the points, interrupted where they are not finite.
    pub fn path(&mut self, points: &[Point], colour: Rgb, width: u32) {
        self.stroke(points, "", colour, width);
    }

    /// The same in dashes.
    pub fn dashed(&mut self, points: &[Point], colour: Rgb, width: u32) {
        self.stroke(points, " stroke-dasharray=\"14 10\"", colour, width);
    }

    fn stroke(&mut self, points: &[Point], dashes: &str, colour: Rgb, width: u32) {
        for piece in points.split(|&p| !drawable(p)).filter(|piece| piece.len() > 1) {
            self.points("polyline", piece.iter().copied());
            self.write(format_args!(" fill=\"none\" stroke-width=\"{width}\"{dashes}"));
            self.finish("stroke", colour, 1.0);
        }
    }

    pub fn area(&mut self, outline: &[Point], colour: Rgb, alpha: f64) {
        let drawn = outline.iter().copied().filter(|&p| drawable(p));
        if drawn.clone().count() > 2 {
            self.points("polygon", drawn);
            self.finish("fill", colour, alpha);
        }
    }

    /// The outline of a rectangle.
    pub fn frame(&mut self, (x0, y0): Point, (x1, y1): Point, colour: Rgb) {
        self.path(&[(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], colour, 2);
    }

    /// A text centred vertically at the point.
    pub fn text(&mut self, words: &str, (x, y): Point, font: Font) {
        if !drawable((x, y)) {
            return;
        }
        let (x, y) = (pixels(x), pixels(y));
        let (r, g, b) = font.colour;
        // Shifted down by half the height of a digit.
        self.write(format_args!("<text x=\"{x}\" y=\"{y}\" dy=\"0.35em\" font-size=\"{}\"", pixels(font.size)));
        self.write(format_args!(" fill=\"#{r:02x}{g:02x}{b:02x}\""));
        self.elements += match font.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        if font.bold {
            self.elements += " font-weight=\"bold\"";
        }
        if font.turned {
            self.write(format_args!(" transform=\"rotate(-90 {x} {y})\""));
        }
        let words = text::clean(words).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.write(format_args!(">{words}</text>\n"));
    }

    /// Inserts another canvas with its origin at the point.
    pub fn insert(&mut self, other: &Canvas, (x, y): Point) {
        let elements = &other.elements;
        self.write(format_args!("<g transform=\"translate({} {})\">\n{elements}</g>\n", pixels(x), pixels(y)));
    }

    /// The picture as SVG, on a white background.
    pub fn svg(self, width: u32, height: u32) -> String {
        let mut sheet = Canvas::new();
        sheet.write(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" stroke-linejoin=\"round\">\n\
             <rect width=\"{width}\" height=\"{height}\""
        ));
        sheet.finish("fill", WHITE, 1.0);
        sheet.elements + &self.elements + "</svg>\n"
    }
}
