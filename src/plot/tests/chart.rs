use super::super::chart::{Axis, BLUE, Chart, GREY, row};
use super::texts;

fn charts() -> Vec<Chart> {
    let mut plane = Chart::new(640, "a & b", Axis(-1.0, 2.0, "x <1>"), Axis(-1.0, 1.0, "y"));
    plane.zeros(GREY);
    let dots = [(0.5, 0.5), (-0.5, -0.5), (f64::NAN, 0.0), (1.0, f64::INFINITY)];
    plane.dots(&dots, BLUE, 5.0);
    plane.names(&dots, 5.0, &[(0, "<first>".into()), (1, "second".into()), (2, "third".into())]);
    plane.line(&dots, BLUE, 2);
    plane.dashed(&dots, BLUE, 2);
    plane.area(&[(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], BLUE, 0.5);
    plane.text("inside", (0.0, 0.25), GREY);
    plane.text("nowhere", (0.0, f64::NAN), GREY);
    let mut bare = Chart::square(500, "", (1.0, ""), (1.0, ""), 2.0);
    bare.ellipse(&[1.0, 0.0, 0.0, 1.0], (1.0, 1.0), 1.0, BLUE, 3);
    vec![plane, bare]
}

#[test]
fn a_row_of_charts_is_well_formed() {
    let svg = row(&charts());
    assert_eq!(svg, row(&charts()));
    assert!(svg.starts_with("<svg ") && svg.contains("width=\"1140\" height=\"640\""));
    assert_eq!(svg.matches("<g transform=\"translate(").count(), 2);
    let texts = texts(&svg);
    for text in ["a & b", "x <1>", "y", "<first>", "second", "inside", "−1.0", "0", "2.0", "0.5"] {
        assert!(texts.iter().any(|t| t == text), "{text}: {texts:?}");
    }
    // Texts at positions that are not finite, and an axis without a name.
    assert!(!texts.iter().any(|t| t == "third" || t == "nowhere"));
    assert_eq!(svg.matches("<circle").count(), 2);
    let bare = &svg[svg.rfind("<g ").unwrap()..];
    assert_eq!((bare.matches("<polyline").count(), bare.matches("<text").count()), (1, 1));
}

/// A circle in a square chart is a circle on the page.
#[test]
fn a_square_chart_has_equal_units() {
    let svg = row(&charts()[1..]);
    let points = svg.split("<polyline points=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let number = |x: &str| x.parse::<f64>().unwrap();
    let points: Vec<(f64, f64)> =
        points.split(' ').map(|p| p.split_once(',').unwrap()).map(|(x, y)| (number(x), number(y))).collect();
    let extent = |f: fn(&(f64, f64)) -> f64| {
        let (lo, hi) = points.iter().map(f).fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(x), hi.max(x)));
        hi - lo
    };
    let (wide, high) = (extent(|p| p.0), extent(|p| p.1));
    // 90 corners, rounded to tenths of a pixel.
    assert!((wide - high).abs() < 0.5 && wide > 200.0, "{wide} {high}");
}
