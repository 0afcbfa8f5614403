use super::super::canvas::{Anchor, Canvas, Font};
use super::texts;

const RED: (u8, u8, u8) = (255, 0, 10);

#[test]
fn elements_are_written_as_svg() {
    let mut canvas = Canvas::new();
    canvas.dot((1.26, -0.04), 2.5, RED, 0.5);
    canvas.line((0.0, 1.0), (10.0, 1e5 / 3.0), RED, 3);
    canvas.dashed(&[(0.0, 0.0), (1.0, 1.0)], RED, 1);
    canvas.area(&[(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], RED, 1.0);
    canvas.text("a < b & c", (5.0, 6.0), Font::new(12.0, RED).bold().anchor(Anchor::End).turned());
    let svg = canvas.svg(20, 10);
    assert_eq!(texts(&svg), ["a < b & c"]);
    let drawn: Vec<&str> = svg.lines().skip(2).collect();
    let expected = [
        r##"<circle cx="1.3" cy="0" r="2.5" fill="#ff000a" opacity="0.5"/>"##,
        r##"<polyline points="0,1 10,33333.3" fill="none" stroke-width="3" stroke="#ff000a"/>"##,
        r##"<polyline points="0,0 1,1" fill="none" stroke-width="1" stroke-dasharray="14 10" stroke="#ff000a"/>"##,
        r##"<polygon points="0,0 1,0 0,1" fill="#ff000a"/>"##,
        r##"<text x="5" y="6" dy="0.35em" font-size="12" fill="#ff000a" text-anchor="end" font-weight="bold" transform="rotate(-90 5 6)">a &lt; b &amp; c</text>"##,
        "</svg>",
    ];
    assert_eq!(drawn, expected);
}

#[test]
fn points_that_are_not_finite_are_left_out() {
    let mut canvas = Canvas::new();
    for bad in [f64::NAN, f64::INFINITY, -1e7] {
        canvas.dot((bad, 0.0), 1.0, RED, 1.0);
        canvas.text("none", (0.0, bad), Font::new(9.0, RED));
        canvas.line((0.0, 0.0), (bad, 0.0), RED, 1);
        canvas.area(&[(0.0, 0.0), (1.0, 0.0), (0.0, bad)], RED, 1.0);
    }
    let empty = Canvas::new().svg(9, 9);
    assert_eq!(canvas.svg(9, 9), empty);
    // The remaining parts of a line are drawn separately.
    let mut canvas = Canvas::new();
    let points = [(0.0, 0.0), (1.0, 0.0), (f64::NAN, 0.0), (3.0, 0.0), (4.0, f64::INFINITY), (5.0, 0.0), (6.0, 0.0)];
    canvas.path(&points, RED, 1);
    let svg = canvas.svg(9, 9);
    assert!(texts(&svg).is_empty());
    assert_eq!(svg.matches("<polyline").count(), 2);
    assert!(svg.contains("\"0,0 1,0\"") && svg.contains("\"5,0 6,0\""));
}
