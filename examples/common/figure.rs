//! Figures: panels with axes, side by side, as SVG.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;
use std::path::{Path, PathBuf};

pub const INK: RGBColor = RGBColor(0x26, 0x26, 0x26);
pub const GREY: RGBColor = RGBColor(0x8a, 0x8a, 0x8a);
pub const FAINT: RGBColor = RGBColor(0xe2, 0xe2, 0xe2);
/// Of Okabe and Ito, distinct for every kind of sight: first, second, third component.
pub const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub const ORANGE: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
pub const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);

/// The backend draws on whole pixels: all lengths below are doubled for smooth curves.
const ZOOM: u32 = 2;
/// Height of the figure, and of its letters.
const HEIGHT: u32 = 640;
const SIZE: f64 = 25.0;
/// Room around what a panel shows: left, right, above, below.
const ROOM: [u32; 4] = [112, 28, 62, 84];

type Points<'p> = &'p [(f64, f64)];
type Drawn = Result<(), Box<dyn Error>>;

/// A figure of panels in one row.
pub struct Figure<'f> {
    root: DrawingArea<SVGBackend<'f>, Shift>,
    panels: Vec<DrawingArea<SVGBackend<'f>, Shift>>,
    widths: Vec<u32>,
}

/// The range that an axis shows, and what it is.
pub struct Axis<'l>(pub f64, pub f64, pub &'l str);

/// One panel.
pub struct Panel<'f> {
    chart: ChartContext<'f, SVGBackend<'f>, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
}

/// Where the figure goes: the path on the command line, or this name in `target`.
pub fn path(name: &str) -> PathBuf {
    let given = std::env::args().skip(1).find(|a| a.ends_with(".svg"));
    given.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target").join(name), PathBuf::from)
}

impl<'f> Figure<'f> {
    /// Panels of these widths.
    pub fn new(path: &'f Path, widths: &[u32]) -> Result<Self, Box<dyn Error>> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let root = SVGBackend::new(path, (ZOOM * widths.iter().sum::<u32>(), ZOOM * HEIGHT)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut rest = root.clone();
        let mut panels = vec![];
        for &width in widths {
            let (panel, right) = rest.split_horizontally(ZOOM * width);
            panels.push(panel);
            rest = right;
        }
        Ok(Figure { root, panels, widths: widths.to_vec() })
    }

    /// Panel `k` with axes; an axis without a name is not drawn.
    pub fn panel(&self, k: usize, title: &str, x: Axis, y: Axis) -> Result<Panel<'f>, Box<dyn Error>> {
        let [left, right, above, below] = ROOM.map(|room| ZOOM * room);
        let edge = ZOOM * 14;
        let mut chart = ChartBuilder::on(&self.panels[k])
            .margin_top(above)
            .margin_right(right)
            .margin_left(edge)
            .x_label_area_size(below)
            .y_label_area_size(left - edge)
            .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
        let mut mesh = chart.configure_mesh();
        let (x_label, y_label) = (label(x.0, x.1), label(y.0, y.1));
        mesh.x_label_formatter(&x_label).y_label_formatter(&y_label);
        mesh.disable_mesh().axis_style(GREY.stroke_width(ZOOM)).x_labels(6).y_labels(6).x_desc(x.2).y_desc(y.2);
        mesh.label_style(font(0.84, INK)).axis_desc_style(font(1.0, INK));
        if x.2.is_empty() {
            mesh.disable_x_axis();
        }
        if y.2.is_empty() {
            mesh.disable_y_axis();
        }
        mesh.draw()?;
        let middle = (left + ZOOM * self.widths[k] - right) / 2;
        let style = font(1.0, INK).pos(Pos::new(HPos::Center, VPos::Center));
        self.panels[k].draw(&Text::new(title.to_string(), (middle as i32, above as i32 / 2), style))?;
        Ok(Panel { chart })
    }

    /// Panel `k` about a centre, with as many units a pixel up as to the right; `half` is half the height that it shows.
    pub fn square(
        &self,
        k: usize,
        title: &str,
        (x, x_name): (f64, &str),
        (y, y_name): (f64, &str),
        half: f64,
    ) -> Result<Panel<'f>, Box<dyn Error>> {
        let wide = half * f64::from(self.widths[k] - ROOM[0] - ROOM[1]) / f64::from(HEIGHT - ROOM[2] - ROOM[3]);
        self.panel(k, title, Axis(x - wide, x + wide, x_name), Axis(y - half, y + half, y_name))
    }

    /// Writes the file.
    pub fn finish(self, path: &Path) -> Drawn {
        self.root.present()?;
        println!("figure: {}", path.display());
        Ok(())
    }
}

/// Numbers on an axis: whole ones where the range is long, else with one digit behind the point.
fn label(low: f64, high: f64) -> impl Fn(&f64) -> String {
    let digits = usize::from(high - low < 10.0);
    // No "-0".
    move |v| format!("{:.digits$}", v + 0.0)
}

fn font(share: f64, colour: RGBColor) -> TextStyle<'static> {
    // The backend divides by 1.24.
    ("sans-serif", share * SIZE * f64::from(ZOOM) * 1.24).into_font().color(&colour)
}

impl Panel<'_> {
    pub fn line(&mut self, points: Points, colour: RGBColor, width: u32) -> Drawn {
        let path = PathElement::new(points.to_vec(), colour.stroke_width(ZOOM * width));
        self.chart.draw_series([path])?;
        Ok(())
    }

    /// Dashes of length 12, 8 apart.
    pub fn dashed(&mut self, points: Points, colour: RGBColor, width: u32) -> Drawn {
        let mut dashes: Vec<Vec<(f64, f64)>> = vec![vec![]];
        let mut travelled = 0.0;
        for pair in points.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let (from, to) = (self.chart.backend_coord(&pair[0]), self.chart.backend_coord(&pair[1]));
            let length = f64::from(to.0 - from.0).hypot(f64::from(to.1 - from.1));
            let steps = (length / 2.0).ceil().max(1.0);
            let (period, dash) = (20.0 * f64::from(ZOOM), 12.0 * f64::from(ZOOM));
            for k in 0..steps as usize {
                let f = k as f64 / steps;
                if (travelled + f * length) % period < dash {
                    dashes.last_mut().expect("one at least").push((x0 + f * (x1 - x0), y0 + f * (y1 - y0)));
                } else if dashes.last().is_some_and(|d| !d.is_empty()) {
                    dashes.push(vec![]);
                }
            }
            travelled += length;
        }
        dashes.iter().try_for_each(|d| self.line(d, colour, width))
    }

    pub fn dots(&mut self, points: Points, colour: RGBColor, radius: u32) -> Drawn {
        self.chart.draw_series(points.iter().map(|&p| Circle::new(p, ZOOM * radius, colour.filled())))?;
        Ok(())
    }

    pub fn area(&mut self, outline: Points, colour: RGBColor, alpha: f64) -> Drawn {
        self.chart.draw_series([Polygon::new(outline.to_vec(), colour.mix(alpha))])?;
        Ok(())
    }

    /// The ellipse |Σ^-½ (p − centre)| = scale.
    pub fn ellipse(&mut self, sigma: &[f64], centre: (f64, f64), scale: f64, colour: RGBColor, width: u32) -> Drawn {
        self.line(&ellipse(sigma, centre, scale), colour, width)
    }

    /// A text that begins at a point.
    pub fn text(&mut self, text: &str, at: (f64, f64), colour: RGBColor) -> Drawn {
        self.write(text, at, (0, 0), HPos::Left, colour)
    }

    fn write(&mut self, text: &str, at: (f64, f64), shift: (i32, i32), to: HPos, colour: RGBColor) -> Drawn {
        let style = font(0.84, colour).pos(Pos::new(to, VPos::Center));
        self.chart.draw_series([EmptyElement::at(at) + Text::new(text.to_string(), shift, style)])?;
        Ok(())
    }

    /// Names of some dots, each right or left of its dot, above or below it, within the panel where nothing stands yet; a
    /// name for which there is no such place is left out.
    pub fn names(&mut self, dots: Points, named: &[(usize, &str)]) -> Drawn {
        let half = (0.5 * SIZE * f64::from(ZOOM)) as i32;
        let (wide, high) = self.chart.plotting_area().get_pixel_range();
        let mut taken: Vec<[i32; 4]> =
            dots.iter().map(|p| self.chart.backend_coord(p)).map(|(x, y)| [x - 8, x + 8, y - 8, y + 8]).collect();
        for &(i, name) in named {
            let (x, y) = self.chart.backend_coord(&dots[i]);
            let long = (name.chars().count() as f64 * 0.48 * SIZE * f64::from(ZOOM)) as i32;
            let places = [
                (HPos::Right, (-half, 0), [x - half - long, x - half]),
                (HPos::Left, (half, 0), [x + half, x + half + long]),
                (HPos::Center, (0, -2 * half), [x - long / 2, x + long / 2]),
                (HPos::Center, (0, 2 * half), [x - long / 2, x + long / 2]),
            ];
            for (to, shift, [left, right]) in places {
                let box_ = [left, right, y + shift.1 - half * 3 / 4, y + shift.1 + half * 3 / 4];
                let meets = |b: &[i32; 4]| box_[0] < b[1] && b[0] < box_[1] && box_[2] < b[3] && b[2] < box_[3];
                let inside =
                    left > wide.start + half && right < wide.end - half && box_[2] > high.start && box_[3] < high.end;
                if inside && !taken.iter().any(meets) {
                    taken.push(box_);
                    self.write(name, dots[i], shift, to, INK)?;
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Its outline, from the triangular root of Σ.
fn ellipse(sigma: &[f64], (x, y): (f64, f64), scale: f64) -> Vec<(f64, f64)> {
    let a = sigma[0].max(0.0).sqrt();
    let b = if a > 0.0 { sigma[1] / a } else { 0.0 };
    let c = (sigma[3] - b * b).max(0.0).sqrt();
    let at = |k: usize| {
        let (s, t) = (k as f64 / 72.0 * std::f64::consts::TAU).sin_cos();
        (x + scale * a * t, y + scale * (b * t + c * s))
    };
    (0..=72).map(at).collect()
}
