//! Polygon files: headers of any length, properties of any type, lists at any position.

use super::*;

/// A polygon file with these header lines and data.
fn ply(format: &str, lines: &str, data: &[u8]) -> Vec<u8> {
    [format!("ply\nformat {format} 1.0\n{lines}end_header\n").as_bytes(), data].concat()
}

const XYZ: &str = "element vertex 2\nproperty float x\nproperty float y\nproperty float z\n";
const EXPECTED: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

#[test]
fn o29_ascii() {
    let data = b"0 1 2\n3 4 5\n";
    assert_eq!(one("a.ply", ply("ascii", XYZ, data)), (EXPECTED.to_vec(), 3));
    let crlf = String::from_utf8(ply("ascii", XYZ, data)).expect("text").replace('\n', "\r\n");
    assert_eq!(one("a.ply", crlf), (EXPECTED.to_vec(), 3));
    let cr = String::from_utf8(ply("ascii", XYZ, data)).expect("text").replace('\n', "\r");
    assert_eq!(one("a.ply", cr), (EXPECTED.to_vec(), 3));
    let lines = "comment element vertex 9\nobj_info made by hand\nelement camera 1\nproperty float x\n\
                 property float y\nelement vertex 2\nproperty list uchar int seen\nproperty double nx\n\
                 property double z\nproperty int16 y\nproperty uchar red\nproperty float64 x\n\
                 element face 1\nproperty list uint8 int32 vertex_indices\n";
    let data = b"7 7\n\n2 8 9 0.5 2 1 255 0\n0 0.5 5 4 255 3\n3 0 1 1\n";
    assert_eq!(one("a.ply", ply("ascii", lines, data)), (EXPECTED.to_vec(), 3));
    let plane = "element vertex 1\nproperty float y\nproperty float x\n";
    assert_eq!(one("a.ply", ply("ascii", plane, b"2 1")), (vec![1.0, 2.0], 2));
}

#[test]
fn o29_binary_of_both_orders() {
    // A list before the coordinates, normals after them, doubles, shorts, a face element after the vertices.
    let lines = "element vertex 2\nproperty list uchar short seen\nproperty double x\nproperty float y\n\
                 property short z\nproperty float nx\nproperty uint id\n\
                 element face 1\nproperty list int uint vertex_index\n";
    for big in [false, true] {
        let mut data = Vec::new();
        let mut put = |bytes: &[u8]| match big {
            true => data.extend(bytes.iter().rev()),
            false => data.extend(bytes),
        };
        for (k, seen) in [(0, 2), (1, 0)] {
            put(&[seen]);
            (0..seen).for_each(|_| put(&(-7i16).to_le_bytes()));
            put(&EXPECTED[3 * k].to_le_bytes());
            put(&(EXPECTED[3 * k + 1] as f32).to_le_bytes());
            put(&(EXPECTED[3 * k + 2] as i16).to_le_bytes());
            put(&9f32.to_le_bytes());
            put(&u32::MAX.to_le_bytes());
        }
        put(&3i32.to_le_bytes());
        [0u32, 1, 1].iter().for_each(|v| put(&v.to_le_bytes()));
        let format = if big { "binary_big_endian" } else { "binary_little_endian" };
        let file = ply(format, lines, &data);
        assert_eq!(one("a.ply", &file), (EXPECTED.to_vec(), 3), "{format}");
        // The last face is truncated, and it is not needed.
        let reading = read_one("a.ply", &file[..file.len() - 1], &ReadOptions::default());
        assert_eq!(reading.measures[0].points(), EXPECTED);
        says(&reading.notices, &["face 0", "1"]);
        let surface = ReadOptions { surface: Some(3), ..Default::default() };
        refuse_with("a.ply", &file[..file.len() - 1], &surface, "file", &["face 0", "1"]);
        refuse("a.ply", [&file[..], b"!!"].concat(), "file", &["2 bytes"]);
        let vertex = file.len() - data.len() + 30;
        refuse("a.ply", &file[..vertex], "file", &["vertex 1", "2"]);
    }
}

#[test]
fn weights_are_a_property() {
    let lines = "element vertex 2\nproperty float x\nproperty float mass\nproperty float y\n";
    let options = ReadOptions { weight_column: Some("mass".into()), ..Default::default() };
    let measures = read_with("a.ply", ply("ascii", lines, b"1 3 2\n3 1 4\n"), &options);
    assert_eq!((measures[0].points(), measures[0].weights()), (&[1.0, 2.0, 3.0, 4.0][..], &[0.75, 0.25][..]));
    refuse_with("a.ply", ply("ascii", lines, b"1 3 2\n3 -1 4\n"), &options, "weights", &["weight 1", "-1"]);
    refuse_with("a.ply", ply("ascii", XYZ, b"0 1 2\n3 4 5\n"), &options, "file", &["\"mass\"", "x, y, z"]);
    let both = ReadOptions { surface: Some(5), ..options };
    refuse_with("a.ply", ply("ascii", lines, b"1 3 2\n3 1 4\n"), &both, "file", &["\"mass\"", "surface"]);
}

#[test]
fn headers_that_are_refused() {
    let data = b"0 1 2\n3 4 5\n";
    for (lines, parts) in [
        ("element vertex two\n", &["line 3", "\"two\""][..]),
        ("element vertex -1\n", &["line 3", "\"-1\""][..]),
        ("element vertex 2\nproperty half x\n", &["line 4", "\"half\""][..]),
        ("element vertex 2\nproperty list float int x\n", &["line 4"][..]),
        ("element vertex 2\nproperty float\n", &["line 4"][..]),
        ("property float x\n", &["line 3"][..]),
        ("element vertex 2\nproperty float x\nproperty float x\n", &["line 5"][..]),
        ("element vertex 2\nproperty float x\nelement vertex 2\n", &["line 5"][..]),
        ("element vertex 2\nhello\n", &["line 4"][..]),
        ("element vertex 2\n", &["\"vertex\""][..]),
        ("element face 2\nproperty int a\n", &["\"vertex\""][..]),
        ("element vertex 2\nproperty float x\nproperty float z\n", &["\"y\""][..]),
        ("element vertex 1\nproperty float x\nproperty float y\nproperty list uchar int z\n", &["\"z\""][..]),
        ("element vertex 0\nproperty float x\nproperty float y\n", &[][..]),
    ] {
        refuse("a.ply", ply("ascii", lines, data), "file", parts);
    }
    refuse("a.ply", ply("binary_middle_endian", XYZ, data), "file", &["line 2", "binary_little_endian"]);
    refuse("a.ply", "ply\nelement vertex 1\nproperty float x\nend_header\n1\n", "file", &["\"format\""]);
    refuse("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\n", "file", &["end_header"]);
    refuse("a.ply", "solid cube\n", "file", &["line 1", "ply"]);
    refuse("a.ply", "", "file", &["end_header"]);
}

#[test]
fn data_that_are_refused() {
    refuse("a.ply", ply("ascii", XYZ, b"0 1 2\n3 4\n"), "file", &["line 9 (vertex 1)"]);
    refuse("a.ply", ply("ascii", XYZ, b"0 1 2\n3 4 5 6\n"), "file", &["line 9 (vertex 1)"]);
    refuse("a.ply", ply("ascii", XYZ, b"0 1 2\n"), "file", &["vertex 1", "2"]);
    refuse("a.ply", ply("ascii", XYZ, b"0 1 2\n3 four 5\n"), "file", &["line 9 (vertex 1)", "\"four\""]);
    refuse("a.ply", ply("ascii", XYZ, b"0 1 2\n3 nan 5\n"), "points", &["point 1, coordinate 1", "NaN"]);
    refuse("a.ply", ply("ascii", XYZ, b"0 1\n2 3 4\n5\n6 7 8\n"), "file", &["line 9 (vertex 0)"]);
    let list = "element vertex 1\nproperty list int int seen\nproperty float x\nproperty float y\n";
    refuse("a.ply", ply("ascii", list, b"-1 1 2\n"), "file", &["vertex 0", "length -1"]);
    refuse("a.ply", ply("binary_little_endian", list, &(-1i32).to_le_bytes()), "file", &["vertex 0", "length -1"]);
    // Sizes in the billions.
    refuse("a.ply", ply("binary_little_endian", list, &i32::MAX.to_le_bytes()), "file", &["vertex 0"]);
    let many = "element vertex 4000000000000\nproperty float x\nproperty float y\n";
    refuse("a.ply", ply("ascii", many, b"1 2\n"), "file", &["vertex 1", "4000000000000"]);
    let more = "element vertex 99999999999999999999999\nproperty float x\nproperty float y\n";
    refuse("a.ply", ply("ascii", more, b"1 2\n"), "file", &["line 3"]);
}
