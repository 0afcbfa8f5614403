//! Vertices that extend over several lines, and faces that must not affect them.

use super::*;

const EXPECTED: [f64; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
const VERTICES: &str = "0 0 0\n1 0 0\n0 1 0\n";

fn surface() -> ReadOptions {
    ReadOptions { surface: Some(5), ..Default::default() }
}

#[test]
fn vertices_of_off_over_several_lines() {
    for text in [
        "OFF\n3 0 0\n0 0\n0\n1 0 0\n0\n1\n0\n",
        "OFF\n3 1 0\n0 0 0 1\n0 0 0 1 0\n3 0 1 2\n",
        "OFF 3 1 0\n0 0 0 1 0 0\n0 1 0\n3 0\n1 2\n",
        "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3\n0 1\n2\n",
    ] {
        let reading = read_one("a.off", text, &ReadOptions::default());
        assert_eq!(reading.measures[0].points(), EXPECTED, "{text:?}");
        assert!(reading.notices.is_empty(), "{:?}", reading.notices);
    }
    let wrapped = "OFF\n3 1 0\n0 0\n0\n1 0 0\n0 1 0\n3 0\n1\n2\n";
    assert_eq!(
        read_with("a.off", wrapped, &surface()),
        read_with("a.off", format!("OFF\n3 1 0\n{VERTICES}3 0 1 2\n"), &surface())
    );
    assert_eq!(one("a.off", "COFF\n2 0 0\n0 0 0 9\n9 9\n1 1 1 9 9 9 255\n").0, [0., 0., 0., 1., 1., 1.]);
}

#[test]
fn faces_of_off_cannot_spoil_vertices() {
    for (counts, faces, parts) in [
        ("3 1 0", "3 0 1\n", &["line 6", "2 of 3"][..]),
        ("3 1 0", "3 0 1 9\n", &["line 6", "corner 9"][..]),
        ("3 1 0", "three 0 1 2\n", &["line 6"][..]),
        ("3 2 0", "3 0 1 2\n", &["line 6", "1 of 2"][..]),
        ("3 1 0", "5 5 5\n3 0 1 2\n", &["line 7"][..]),
        ("3 0 0", "1 1 1\n", &["line 6", "3 vertices", "0 faces"][..]),
    ] {
        let text = format!("OFF\n{counts}\n{VERTICES}{faces}");
        let reading = read_one("a.off", &text, &ReadOptions::default());
        assert_eq!(reading.measures[0].points(), EXPECTED, "{text:?}");
        says(&reading.notices, &["a.off", parts[0]]);
        let refused = wgpca::io::read_file(&Dir::new().put("a.off", &text), &surface());
        assert!(refused.is_err(), "{text:?}");
    }
    // After the corners follows a colour.
    let text = format!("OFF\n3 1 0\n{VERTICES}3 0 1 2 255 0 0 1\n");
    assert!(read_one("a.off", &text, &ReadOptions::default()).notices.is_empty());
    assert_eq!(read_with("a.off", text, &surface())[0].len(), 5);
}

fn ply(faces: usize, data: &str) -> String {
    format!(
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
         element face {faces}\nproperty list uchar int vertex_indices\nend_header\n{data}"
    )
}

#[test]
fn vertices_of_ply_over_several_lines() {
    for data in ["0 0\n0\n1 0 0\n0 1 0\n3 0 1 2\n", "0 0 0 1\n0 0 0 1 0\n3 0\n1 2\n", "0 0 0 1 0 0 0 1 0\n3 0 1 2\n"] {
        let reading = read_one("a.ply", ply(1, data), &ReadOptions::default());
        assert_eq!(reading.measures[0].points(), EXPECTED, "{data:?}");
        assert!(reading.notices.is_empty(), "{:?}", reading.notices);
        assert_eq!(read_with("a.ply", ply(1, data), &surface())[0].len(), 5);
    }
    // One missing number shifts all that follow.
    refuse("a.ply", ply(1, "0 0 0\n1 0\n0 1 0\n3 0 1 2\n"), "file", &["line 12 (vertex 1)"]);
    refuse("a.ply", ply(1, "0 0 0\n1 0 0 5\n0 1 0\n3 0 1 2\n"), "file", &["line 11 (vertex 1)"]);
    refuse("a.ply", ply(0, "0 0 0\n1 0 0\n0 1\n"), "file", &["vertex 2"]);
}

#[test]
fn faces_of_ply_cannot_spoil_vertices() {
    for (faces, data, part) in [
        (1, "3 0 1\n", "face 0"),
        (1, "3 0 1 x\n", "\"x\""),
        (2, "3 0 1 2\n", "face 1"),
        (0, "1 1 1\n", "3 words"),
        (1, "2 2 2\n3 0 1 2\n", "words"),
    ] {
        let text = ply(faces, &format!("{VERTICES}{data}"));
        let reading = read_one("a.ply", &text, &ReadOptions::default());
        assert_eq!(reading.measures[0].points(), EXPECTED, "{data:?}");
        says(&reading.notices, &["a.ply", part]);
    }
    let extra = ply(1, &format!("{VERTICES}3 0 1 2 255 0 0\n"));
    assert!(read_one("a.ply", &extra, &ReadOptions::default()).notices.is_empty());
    assert_eq!(read_with("a.ply", extra, &surface())[0].len(), 5);
}

#[test]
fn properties_beside_the_coordinates_are_named() {
    let text = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float nx\n\
                property uchar red\nproperty float weight\nend_header\n1 2 0 9 1\n3 4 0 9 3\n";
    let reading = read_one("a.ply", text, &ReadOptions::default());
    says(&reading.notices, &["properties nx, red"]);
    assert_eq!(reading.measures[0].weights(), [0.25, 0.75]);
    assert_eq!(reading.summary, "1 cloud of 2 points in R^2 (x, y), weights from property weight");
}
