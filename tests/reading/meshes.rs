//! Files of the format OFF, and samples of surfaces.

use super::*;

const TRIANGLE: &str = "0 0 0\n1 0 0\n0 1 0\n";

/// Headers as in files of ModelNet and other sources.
#[test]
fn o28_headers() {
    let expected = (vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], 3);
    for head in ["OFF3 0 0\n", "OFF 3 0 0\n", "OFF\n# c\n\n3 0 0\n", "# c\nOFF # c\n3 0 0 # c\n", "OFF\r\n3 0\r\n"] {
        assert_eq!(one("a.off", format!("{head}{TRIANGLE}")), expected, "{head:?}");
    }
    assert_eq!(one("a.off", format!("OFF\n3 2 3\n{TRIANGLE}3 0 1 2\n3 0 1 2 255 0 0\n")), expected);
    assert_eq!(one("a.off", "COFF\n1 0 0\n0 1 2 255 0 0 255\n"), (vec![0.0, 1.0, 2.0], 3));
    assert_eq!(one("a.off", "COFF\n1 0 0\n0 1 2 .5 0 0\n"), (vec![0.0, 1.0, 2.0], 3));
    assert_eq!(one("a.off", "NOFF\n1 0 0\n0 1 2 0 0 1\n"), (vec![0.0, 1.0, 2.0], 3));
    assert_eq!(one("a.off", "STCNOFF\n1 0 0\n0 1 2 0 0 1 255 0 0 .5 .5\n"), (vec![0.0, 1.0, 2.0], 3));
}

/// For files that are refused, the message has the line of the fault.
#[test]
fn o28_files_that_are_refused() {
    for (text, parts) in [
        ("", &["line 1"][..]),
        ("OFF", &["line 1"][..]),
        ("OFF\n# c\n", &["line 1"][..]),
        ("OFF\n3 0 0\n", &["line 2", "0 of 3"][..]),
        ("OFF3 0 0\n0 0 0\n1 1 1\n", &["line 3", "2 of 3"][..]),
        ("OFF\n9999999999999 2 0\n0 0 0\n", &["line 3", "1 of 9999999999999"][..]),
        ("OFF\n99999999999999999999999 2 0\n0 0 0\n", &["line 2"][..]),
        ("OFF\n3\n", &["line 2"][..]),
        ("OFF\n3 a 0\n", &["line 2"][..]),
        ("OFF\n-3 0 0\n", &["line 2"][..]),
        ("OFF\n0 0 0\n", &["line 2"][..]),
        ("OFF\n2 0 0\n0 0 0\n1 x 1\n", &["line 4", "\"x\""][..]),
        ("OFF\n2 0 0\n0 0 0\n1 1\n", &["line 4", "vertex 1", "2"][..]),
        ("OFF\n2 0 0\n0 0 0 9 9 9\n1 1 1 9 9 9\n", &["line 3", "vertex 0", "6"][..]),
        ("OFF\n3 1 0\n0 0 0\n1 0\n0 1 0\n3 0 1 2\n", &["line 5", "vertex 1", "5"][..]),
        ("OFF\n3 1 0\n0 0 0\n1 0\n0 1\n3 0 1 2\n", &["line 5", "vertex 1", "4"][..]),
        ("OFF\n4 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", &["line 6", "vertex 3", "4"][..]),
        ("NOFF\n1 0 0\n0 0 0\n", &["line 3", "vertex 0", "3"][..]),
        ("4OFF\n1 0 0\n0 0 0 0\n", &["line 1"][..]),
        ("OFF BINARY\n1 0 0\n", &["line 1"][..]),
        ("1 0 0\n0 0 0\n", &["line 1"][..]),
    ] {
        refuse("a.off", text, "file", parts);
    }
    refuse("a.off", "OFF\n2 0 0\n0 0 0\n1 inf 1\n", "points", &["point 1, coordinate 1", "inf"]);
    refuse("a.off", b"OFF BINARY\n\0\0\0\x01", "file", &[]);
}

fn surface(points: usize, seed: u64) -> ReadOptions {
    ReadOptions { surface: Some(points), seed, ..Default::default() }
}

/// A unit square, a separate triangle of half its area, and a face without area, which is never drawn.
const SHEET: &str = "OFF\n8 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n5 0 1\n6 0 1\n5 1 1\n9 9 9\n4 0 1 2 3\n3 4 5 6\n3 7 7 7\n";

#[test]
fn samples_are_uniform_by_area() {
    let n = 20_000;
    let points = read_with("a.off", SHEET, &surface(n, 1))[0].points().to_vec();
    assert_eq!(points.len(), 3 * n);
    let (mut square, mut mean, mut corner) = (0.0, [0.0; 2], 0.0);
    for p in points.chunks(3) {
        if p[2] < 0.5 {
            assert!((0.0..=1.0).contains(&p[0]) && (0.0..=1.0).contains(&p[1]) && p[2] == 0.0);
            square += 1.0;
            mean[0] += p[0];
            mean[1] += p[1];
            corner += f64::from(u8::from(p[0] < 0.5 && p[1] < 0.5));
        } else {
            assert!(p[0] >= 5.0 && p[1] >= 0.0 && p[0] - 5.0 + p[1] <= 1.0 + 1e-12 && p[2] == 1.0);
        }
    }
    // Five standard errors: sqrt(2/9/n), sqrt(1/12/n), sqrt(3/16/n) with n counted on the square.
    let five = 5.0 / f64::sqrt(n as f64);
    assert!((square / n as f64 - 2.0 / 3.0).abs() < 0.48 * five);
    let five = 5.0 / f64::sqrt(square);
    assert!(mean.iter().all(|m| (m / square - 0.5).abs() < 0.29 * five));
    assert!((corner / square - 0.25).abs() < 0.44 * five);
}

#[test]
fn samples_depend_on_the_mesh_and_the_seed_alone() {
    let dir = Dir::new();
    let [a, b] = ["a.off", "b.off"].map(|name| dir.put(name, SHEET));
    let both = read_measures(&[&a, &b], &surface(50, 1)).expect("two meshes");
    let alone = read_file(&b, &surface(50, 1)).expect("a mesh");
    assert_eq!(both[1], alone[0]);
    assert_ne!(read_file(&b, &surface(50, 2)).expect("a mesh")[0].points(), alone[0].points());
}

#[test]
fn polygon_files_have_surfaces_too() {
    let text = "ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int vertex_indices\nproperty uchar red\n\
                element vertex 4\nproperty float x\nproperty float y\nend_header\n4 0 1 2 3 9\n0 0\n2 0\n2 1\n0 1\n";
    let measure = &read_with("a.ply", text, &surface(100, 1))[0];
    assert_eq!((measure.len(), measure.dim()), (100, 2));
    assert!(measure.points().chunks(2).all(|p| (0.0..=2.0).contains(&p[0]) && (0.0..=1.0).contains(&p[1])));
    assert!(measure.points().chunks(2).any(|p| p[0] > 1.5) && measure.points().chunks(2).any(|p| p[0] < 0.5));
    let wrong = text.replace("4 0 1 2 3 9", "4 0 1 2 4 9");
    assert_eq!(read("a.ply", &wrong)[0].len(), 4);
    refuse_with("a.ply", &wrong, &surface(5, 1), "file", &["line 10", "face 0", "corner 4", "4 vertices"]);
    let points = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nend_header\n0 0\n";
    refuse_with("a.ply", points, &surface(5, 1), "file", &[]);
}

#[test]
fn surfaces_that_are_refused() {
    let with = |faces: &str| format!("OFF\n3 {} 0\n{TRIANGLE}{faces}", faces.lines().count());
    refuse_with("a.off", with(""), &surface(5, 1), "file", &[]);
    refuse_with("a.off", with("3 0 1 2\n3 0 1 3\n"), &surface(5, 1), "file", &["line 7", "face 1", "corner 3"]);
    refuse_with("a.off", with("3 0 1 -1\n"), &surface(5, 1), "file", &["line 6", "face 0", "corner -1"]);
    refuse_with("a.off", with("3 0 1 1.5\n"), &surface(5, 1), "file", &["line 6", "face 0", "corner 1.5"]);
    refuse_with("a.off", with("3 0 1\n"), &surface(5, 1), "file", &["line 6", "2 of 3"]);
    refuse_with("a.off", with("x 0 1\n"), &surface(5, 1), "file", &["line 6"]);
    refuse_with("a.off", with("3 0 1 1\n"), &surface(5, 1), "file", &["0"]);
    refuse_with("a.off", "OFF\n3 1 0\n0 0 0\n1e300 0 0\n0 1e300 0\n3 0 1 2\n", &surface(5, 1), "file", &["inf"]);
    refuse_with(
        "a.off",
        "OFF\n3 1 0\n0 0 0\n1 nan 0\n0 1 0\n3 0 1 2\n",
        &surface(5, 1),
        "file",
        &["vertex 1", "coordinate 1", "NaN"],
    );
    refuse_with("a.off", with("3 0 1 2\n"), &surface(usize::MAX, 1), "file", &[]);
    let dir = Dir::new();
    fails(&[dir.put("a.off", SHEET)], &surface(0, 1), "parameter", &["surface"]);
}
