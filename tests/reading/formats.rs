//! Wavefront objects, stereolithography, point cloud data, scans, packed files.

use super::*;

pub const SCAN: &[u8] = include_bytes!("scan.las");
pub const PACKED_SCAN: &[u8] = include_bytes!("scan.laz");

/// Two triangles with a common side.
pub const STL: &str = "solid a sheet\n facet normal 0 0 1\n outer loop\n vertex 0 0 0\n vertex 1 0 0\n vertex 0 1 0\n \
                       endloop\n endfacet\n facet normal 0 0 1\n  outer loop\n vertex 1 0 0\n vertex 1 1 0\n vertex 0 1 \
                       -0\n endloop\n endfacet\nendsolid a sheet\n";
const SHEET: [f64; 12] = [0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.];

pub fn binary_stl() -> Vec<u8> {
    let mut bytes = b"solid as some programs begin".to_vec();
    bytes.resize(80, 0);
    bytes.extend(2u32.to_le_bytes());
    for corners in [[0, 1, 2], [1, 3, 2]] {
        let normal = [0f32, 0., 1.];
        let points = corners.iter().flat_map(|&k| SHEET[3 * k..3 * k + 3].iter().map(|&v| v as f32));
        normal.into_iter().chain(points).for_each(|v| bytes.extend(v.to_le_bytes()));
        bytes.extend([0, 0]);
    }
    bytes
}

fn surface(points: usize) -> ReadOptions {
    ReadOptions { surface: Some(points), ..Default::default() }
}

#[test]
fn stl_of_both_kinds() {
    assert_eq!(one("a.stl", STL), (SHEET.to_vec(), 3));
    assert_eq!(one("a.STL", binary_stl()), (SHEET.to_vec(), 3));
    // The same mesh as off, up to the order of the corners of each face.
    let off = "OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n3 0 1 2\n3 1 3 2\n";
    let expected = read_with("a.off", off, &surface(50))[0].points().to_vec();
    for (name, bytes) in [("a.stl", STL.as_bytes().to_vec()), ("b.stl", binary_stl())] {
        assert_eq!(read_with(name, bytes, &surface(50))[0].points(), expected);
    }
    let whole = binary_stl();
    refuse("a.stl", &whole[..whole.len() - 7], "file", &["2 triangles", "1.86"]);
    refuse("a.stl", STL.replace("endsolid a sheet\n", ""), "file", &["\"endsolid\""]);
    refuse("a.stl", STL.replace(" vertex 0 1 0\n", ""), "file", &["line 6", "2"]);
    refuse("a.stl", STL.replace("1 1 0", "1 one 0"), "file", &["line 12", "\"one\""]);
    refuse("a.stl", "solid empty\nendsolid\n", "file", &[]);
    refuse("a.stl", "ply\n", "file", &["line 1"]);
    refuse("a.stl", STL.replace("outer", "inner"), "file", &["line 3", "\"inner\""]);
}

#[test]
fn obj() {
    let text = "# a sheet\nmtllib a.mtl\no sheet\nv 0 0 0\nv 1 0 0\nvn 0 0 1\nv 0 1 0\nf 1//1 2//1 3//1\nv 1 \\\n1 0\nf -3 -1 -2\n";
    assert_eq!(one("a.obj", text), (SHEET.to_vec(), 3));
    let off = "OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n3 0 1 2\n3 1 3 2\n";
    assert_eq!(read_with("a.obj", text, &surface(50))[0].points(), read_with("a.off", off, &surface(50))[0].points());
    let coloured = read_one("a.obj", "v 1 2 3 .5 .5 .5\n", &ReadOptions::default());
    assert_eq!(coloured.measures[0].points(), [1., 2., 3.]);
    says(&coloured.notices, &["a.obj"]);
    // A face can precede its vertices; a damaged face matters only if faces are needed.
    assert_eq!(read_with("a.obj", "f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n", &surface(5))[0].len(), 5);
    for (faces, part) in
        [("f 1 2 9\n", "corner 8"), ("f 1 2 0\n", "\"0\""), ("f 1 x 2\n", "\"x\""), ("f -9 1 2\n", "\"-9\"")]
    {
        let text = format!("v 0 0 0\nv 1 0 0\nv 0 1 0\n{faces}");
        assert_eq!(one("a.obj", &text).0.len(), 9);
        refuse_with("a.obj", &text, &surface(5), "file", &["line 4", part]);
    }
    refuse("a.obj", "v 0 0\n", "file", &["line 1", "2 of 3"]);
    refuse("a.obj", "v 0 0 zero\n", "file", &["line 1", "\"zero\""]);
    refuse("a.obj", "f 1 2 3\n", "file", &[]);
    refuse_with("a.obj", "v 0 0 0\n", &surface(5), "file", &[]);
}

/// A header with the fields x, y, z, padding and an index.
pub fn pcd(data: &str, body: &[u8]) -> Vec<u8> {
    let header = format!(
        "# .PCD v.7\nVERSION .7\nFIELDS x y z _ id\nSIZE 4 8 2 1 4\nTYPE F F I U U\nCOUNT 1 1 1 1 1\nWIDTH 2\nHEIGHT 1\n\
         VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA {data}\n"
    );
    [header.as_bytes(), body].concat()
}

pub fn records() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (x, y, z) in [(0f32, 1f64, -2i16), (3., 4., 5)] {
        bytes.extend(x.to_le_bytes());
        bytes.extend(y.to_le_bytes());
        bytes.extend(z.to_le_bytes());
        bytes.extend([9, 7, 7, 7, 7]);
    }
    bytes
}

#[test]
fn point_cloud_data() {
    let expected = [0., 1., -2., 3., 4., 5.];
    for file in [pcd("ascii", b"0 1 -2 0 7\n3 4 5 0 7\n"), pcd("binary", &records())] {
        let reading = read_one("a.pcd", &file, &ReadOptions::default());
        assert_eq!(reading.measures[0].points(), expected);
        says(&reading.notices, &["field id"]);
        assert_eq!(reading.summary, "1 cloud of 2 points in R^3 (x, y, z), equal weights");
        assert_eq!(read_with("a.pcd", &file, &columns("z,x"))[0].points(), [-2., 0., 5., 3.]);
    }
    // Compressed by liblzf: x = k mod 7, y = k / 7, z = 1/2.
    let packed = one("a.pcd", include_bytes!("packed.pcd")).0;
    let whole: Vec<f64> = (0..60).flat_map(|k| [f64::from(k % 7), f64::from(k / 7), 0.5]).collect();
    assert_eq!(packed, whole);
    let missing = ReadOptions { drop_nan: true, ..Default::default() };
    assert_eq!(read_with("a.pcd", pcd("ascii", b"nan nan nan 0 7\n3 4 5 0 7\n"), &missing)[0].points(), [3., 4., 5.]);
    refuse("a.pcd", pcd("ascii", b"nan nan nan 0 7\n3 4 5 0 7\n"), "points", &["point 0", "NaN", "(drop_nan)"]);
    let weighted = ReadOptions { weight_column: Some("id".into()), ..Default::default() };
    assert_eq!(read_with("a.pcd", pcd("ascii", b"0 1 2 0 1\n3 4 5 0 3\n"), &weighted)[0].weights(), [0.25, 0.75]);
    for (file, parts) in [
        (pcd("ascii", b"0 1 2 0 7\n"), &["line 12", "1 of 2"][..]),
        (pcd("ascii", b"0 1 2 0 7\n3 4 5 0\n"), &["line 13"][..]),
        (pcd("ascii", b"0 1 2 0 7\n3 4 5 0 7 8\n"), &["line 13"][..]),
        (pcd("ascii", b"0 1 2 0 7\n3 four 5 0 7\n"), &["line 13", "\"four\""][..]),
        (pcd("ascii", b"0 1 2 0 7\n3 4 5 0 7\n6 7 8 0 7\n"), &["line 14"][..]),
        (pcd("binary", &records()[1..]), &["19 bytes"][..]),
        (pcd("binary_compressed", &[1, 2]), &[][..]),
        (pcd("packed", b""), &["line 11", "\"packed\""][..]),
        (b"VERSION .7\n".to_vec(), &["DATA"][..]),
    ] {
        refuse("a.pcd", file, "file", parts);
    }
    let ascii = |from: &str, to: &str| {
        String::from_utf8(pcd("ascii", b"0 1 2 0 7\n3 4 5 0 7\n")).expect("text").replace(from, to)
    };
    refuse("a.pcd", ascii("FIELDS x y z", "FIELDS a b c"), "file", &["a, b, c", "(columns)"]);
    refuse("a.pcd", ascii("SIZE 4 8", "SIZE 4 3"), "file", &["\"y\"", "3 bytes"]);
    refuse("a.pcd", ascii("COUNT 1 1", "COUNT 1 2"), "file", &["\"y\"", "2"]);
    refuse("a.pcd", ascii("TYPE F F", "TYPE F"), "file", &["SIZE, TYPE and COUNT"]);
    refuse("a.pcd", ascii("POINTS 2", "POINTS two"), "file", &["line 10", "\"two\""]);
}

#[test]
fn scans() {
    let reading = read_one("a.pts", "2\n0 1 2 -77 255 0 0\n3 4 5 -77 255 0 0\n", &ReadOptions::default());
    assert_eq!(reading.measures[0].points(), [0., 1., 2., 3., 4., 5.]);
    says(&reading.notices, &["columns intensity, red, green, blue"]);
    assert_eq!(one("a.pts", "1\n0 1 2\n1\n3 4 5\n").0, [0., 1., 2., 3., 4., 5.]);
    assert_eq!(one("a.pts", "0 1 2\n3 4 5\n").0, [0., 1., 2., 3., 4., 5.]);
    refuse("a.pts", "3\n0 1 2\n", "file", &["line 1", "3"]);
    refuse("a.pts", "1\n0 1 2\n3 4 5\n", "file", &["line 1", "1"]);
    refuse("a.pts", "1\n0 1 x\n", "file", &["line 2, column 3 (\"z\")", "\"x\""]);
    refuse("a.pts", "1 2 3 4 5\n", "file", &["5 fields", "intensity"]);
}

/// The scans that `tests/golden/reading.py` writes, whose whole numbers follow a rule.
#[test]
fn las() {
    let check = |name: &str, bytes: &[u8]| {
        let (points, d) = one(name, bytes);
        assert_eq!((points.len(), d), (180, 3));
        for (k, point) in points.chunks(3).enumerate() {
            let numbers = [7 * k % 101, k * k, 13 * k % 37].map(|n| n as f64);
            let truth = [481000.0 + 1e-3 * numbers[0], 4.2e6 + 1e-3 * numbers[1], 0.01 * (numbers[2] - 18.0)];
            assert!(point.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 1e-9), "{k}: {point:?}, {truth:?}");
        }
    };
    check("scan.las", SCAN);
    if cfg!(feature = "laz") {
        check("scan.laz", PACKED_SCAN);
    } else {
        refuse("scan.laz", PACKED_SCAN, "file", &["laz", ".las"]);
    }
    let named = read_one("scan.las", SCAN, &columns("z,x"));
    assert_eq!(named.measures[0].dim(), 2);
    refuse("b.las", b"x,y\n1,2\n", "file", &["LASF"]);
    refuse("short.las", &SCAN[..SCAN.len() - 1], "file", &["60 points"]);
    let options = ReadOptions { weight_column: Some("intensity".into()), ..Default::default() };
    refuse_with("scan.las", SCAN, &options, "file", &["intensity", "weight"]);
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).expect("memory");
    packer.finish().expect("memory")
}

#[test]
fn packed_files() {
    let dir = Dir::new();
    dir.put("chair.csv.gz", gzip(b"x,y\n1,2\n"));
    dir.put(
        "desk.ply.gz",
        gzip(b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nend_header\n3 4\n"),
    );
    let measures = read_how(&[dir.path()], &ReadOptions::default()).measures;
    assert_eq!((measures[0].name(), measures[0].points()), ("chair", &[1., 2.][..]));
    assert_eq!((measures[1].name(), measures[1].points()), ("desk", &[3., 4.][..]));
    refuse("a.csv.gz", b"x,y\n1,2\n", "file", &[]);
    refuse("a.csv.gz", &gzip(b"x,y\n1,2\n")[..20], "file", &[]);
    refuse("a.tar.gz", gzip(b"x"), "file", &[".tar"]);
}

#[test]
fn formats_that_are_told() {
    let format = |name: &str| ReadOptions { format: Some(name.parse().expect("a format")), ..Default::default() };
    assert_eq!(read_with("cloud", "1 2\n", &format("csv"))[0].points(), [1., 2.]);
    assert_eq!(read_with("cloud.dump", "OFF\n1 0 0\n1 2 3\n", &format("off"))[0].points(), [1., 2., 3.]);
    let e = "bin".parse::<wgpca::io::Format>().expect_err("unknown").to_string();
    for name in ["npy", "csv", "pcd"] {
        assert_eq!(name.parse::<wgpca::io::Format>().expect("a format").to_string(), name);
    }
    assert!(e.contains("\"bin\"") && e.contains(".pcd"), "{e}");
}
