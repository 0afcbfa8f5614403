//! numpy files.

use super::*;

const SIX: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

fn le<const N: usize, T: Copy>(values: &[T], f: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&v| f(v)).collect()
}

#[test]
fn every_version_and_both_orders() {
    let c = le(&SIX, f64::to_le_bytes);
    // Column by column: (0, 3), (1, 4), (2, 5).
    let fortran = le(&[0.0, 3.0, 1.0, 4.0, 2.0, 5.0], f64::to_le_bytes);
    for version in 1..=3 {
        assert_eq!(one("a.npy", npy(version, "'<f8'", false, "(2, 3)", &c)), (SIX.to_vec(), 3));
        assert_eq!(one("a.npy", npy(version, "'<f8'", true, "(2, 3)", &fortran)), (SIX.to_vec(), 3));
    }
    assert_eq!(one("a.npy", npy(1, "\"<f8\"", false, "(2L, 3L)", &c)), (SIX.to_vec(), 3));
    refuse("a.npy", npy(4, "'<f8'", false, "(2, 3)", &c), "file", &["version 4"]);
}

#[test]
fn stacks_of_three_axes() {
    let values: Vec<f64> = (0..12).map(f64::from).collect();
    let measures = read("stack.npy", doubles("(2, 3, 2)", &values));
    assert_eq!(measures.iter().map(Measure::name).collect::<Vec<_>>(), ["stack[0]", "stack[1]"]);
    assert_eq!((measures[1].points(), measures[1].len(), measures[1].dim()), (&values[6..], 3, 2));
    // Fortran order: the first axis runs fastest.
    let index = |i: usize, j: usize, k: usize| (i * 3 + j) * 2 + k;
    let mut data = Vec::new();
    for (k, j, i) in (0..2).flat_map(|k| (0..3).flat_map(move |j| (0..2).map(move |i| (k, j, i)))) {
        data.extend(values[index(i, j, k)].to_le_bytes());
    }
    assert_eq!(read("stack.npy", npy(1, "'<f8'", true, "(2, 3, 2)", &data)), measures);
}

/// Integers of all types are read like other numbers.
#[test]
fn o5_every_type_of_real_numbers() {
    let expected = (vec![0.0, 0.0, 1.0, 2.0], 2);
    let big =
        |bytes: Vec<u8>, size: usize| bytes.chunks(size).flat_map(|c| c.iter().rev().copied()).collect::<Vec<_>>();
    let halves = [0x0000u16, 0x8000, 0x3c00, 0x4000];
    let cases = [
        ("f8", 8, le(&[0.0, 0.0, 1.0, 2.0], f64::to_le_bytes)),
        ("f4", 4, le(&[0.0, 0.0, 1.0, 2.0], f32::to_le_bytes)),
        ("f2", 2, le(&halves, u16::to_le_bytes)),
        ("i8", 8, le(&[0, 0, 1, 2], i64::to_le_bytes)),
        ("i4", 4, le(&[0, 0, 1, 2], i32::to_le_bytes)),
        ("i2", 2, le(&[0, 0, 1, 2], i16::to_le_bytes)),
        ("u8", 8, le(&[0, 0, 1, 2], u64::to_le_bytes)),
        ("u4", 4, le(&[0, 0, 1, 2], u32::to_le_bytes)),
        ("u2", 2, le(&[0, 0, 1, 2], u16::to_le_bytes)),
    ];
    for (kind, size, data) in cases {
        assert_eq!(one("a.npy", npy(1, &format!("'<{kind}'"), false, "(2, 2)", &data)), expected, "{kind}");
        let data = big(data, size);
        assert_eq!(one("a.npy", npy(1, &format!("'>{kind}'"), false, "(2, 2)", &data)), expected, "big {kind}");
    }
    assert_eq!(one("a.npy", npy(1, "'|u1'", false, "(2, 2)", &[0, 0, 1, 2])), expected);
    assert_eq!(one("a.npy", npy(1, "'|i1'", false, "(3,)", &[255, 128, 127])), (vec![-1.0, -128.0, 127.0], 1));
    let data = le(&[-3, i64::MIN], i64::to_le_bytes);
    assert_eq!(one("a.npy", npy(1, "'<i8'", false, "(2,)", &data)), (vec![-3.0, -(2f64.powi(63))], 1));
    // The smallest positive and the largest half-precision number, a third, and a negative number.
    let data = le(&[0x0001u16, 0x7bff, 0x3555, 0xc500], u16::to_le_bytes);
    let halves = vec![2f64.powi(-24), 65504.0, 1365.0 / 4096.0, -5.0];
    assert_eq!(one("a.npy", npy(1, "'<f2'", false, "(4,)", &data)), (halves, 1));
}

/// An array with one axis is points on the line, not one point.
#[test]
fn o16_one_axis_is_points_on_the_line() {
    let measures = read("x.npy", doubles("(3,)", &[3.0, 1.0, 2.0]));
    assert_eq!((measures[0].len(), measures[0].dim(), measures[0].name()), (3, 1, "x"));
    let arrays = [("points", doubles("(3,)", &[3.0, 1.0, 2.0])), ("weights", doubles("(3,)", &[0.5, 0.25, 0.25]))];
    let measures = read("x.npz", npz(&arrays, false));
    assert_eq!((measures[0].points(), measures[0].weights()), (&[3.0, 1.0, 2.0][..], &[0.5, 0.25, 0.25][..]));
}

#[test]
fn types_and_shapes_that_are_refused() {
    let shape = "(1, 1)";
    for (descr, parts) in [
        ("'|O'", &["astype(float)"][..]),
        ("'<c16'", &[][..]),
        ("'<U3'", &["astype(float)"][..]),
        ("'|S8'", &["astype(float)"][..]),
        ("'|b1'", &["astype(float)"][..]),
        ("'<f16'", &["astype(float)"][..]),
        ("'<M8[ns]'", &["astype(float)"][..]),
        ("[('x', '<f8'), ('y', '<f8')]", &["structured_to_unstructured"][..]),
        ("'|f8'", &["astype(float)"][..]),
        ("'<q8'", &["astype(float)"][..]),
    ] {
        refuse("bad.npy", npy(1, descr, false, shape, &[0; 8]), "file", parts);
    }
    refuse("bad.npy", doubles("()", &[1.0]), "file", &["()", "(n, m, d)", "(m, d)", "(m,)"]);
    refuse("bad.npy", doubles("(1, 1, 1, 1)", &[1.0]), "file", &["(1, 1, 1, 1)", "(n, m, d)"]);
    for empty in ["(0,)", "(0, 3)", "(3, 0)", "(0, 4, 2)", "(2, 0, 3)"] {
        refuse("bad.npy", doubles(empty, &[]), "file", &[empty]);
    }
}

#[test]
fn sizes_that_do_not_fit() {
    let whole = doubles("(2, 3)", &SIX);
    refuse("cut.npy", &whole[..whole.len() - 8], "file", &["(2, 3)", "48 bytes", "40 bytes"]);
    refuse("cut.npy", [&whole[..], &[0; 8]].concat(), "file", &["48 bytes", "56 bytes"]);
    refuse("cut.npy", &whole[..40], "file", &[]);
    refuse("cut.npy", &whole[..9], "file", &[]);
    refuse("cut.npy", b"", "file", &["numpy.save"]);
    refuse("cut.npy", b"x,y\n1,2\n", "file", &["numpy.save"]);
    // Sizes in the billions stated by a small file must neither allocate nor overflow.
    refuse("big.npy", doubles("(4000000000, 3)", &[1.0]), "file", &["96000000000 bytes"]);
    refuse("big.npy", doubles("(9999999999999999, 9999999999)", &[]), "file", &[]);
    refuse("big.npy", doubles("(99999999999999999999999, 3)", &[]), "file", &[]);
    let mut header = npy(2, "'<f8'", false, "(1,)", &[0; 8]);
    header[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    refuse("big.npy", header, "file", &["4294967295"]);
    refuse("deep.npy", npy(2, "'<f8'", false, &"(".repeat(100_000), &[]), "file", &[]);
    refuse("odd.npy", npy(1, "'<f8'", false, "(2, x)", &[]), "file", &[]);
    refuse("odd.npy", b"\x93NUMPY\x01\x00\x03\x00{}\n", "file", &["descr"]);
}

/// For values that are not finite, the message has the cloud, the point and the coordinate.
#[test]
fn o6_values_that_are_not_finite() {
    let mut values = vec![1.0; 30];
    values[14] = f64::NAN;
    refuse("px.npy", doubles("(10, 3)", &values), "points", &["point 4", "coordinate 2", "NaN"]);
    values[14] = f64::INFINITY;
    refuse("px.npy", doubles("(10, 3)", &values), "points", &["point 4", "coordinate 2", "inf"]);
    refuse("px.npy", doubles("(10, 3)", &[f64::NAN; 30]), "points", &["point 0", "coordinate 0", "NaN"]);
    values[14] = f64::NAN;
    refuse("px.npy", doubles("(2, 5, 3)", &values), "points", &["px.npy[0], point 4, coordinate 2"]);
    refuse(
        "px.npz",
        npz(&[("chair", doubles("(10, 3)", &values))], true),
        "points",
        &["array \"chair\", point 4, coordinate 2"],
    );
}

/// Written by numpy 2.4: `savez_compressed(..., points=array([[1.5, 0], [2.5, 1], [4, 2]]), offsets=array([0, 1, 3]),
/// weights=array([2, 1, 3], dtype=float32))`.
#[test]
fn archive_of_numpy() {
    let measures = read("numpy.npz", include_bytes!("numpy.npz"));
    assert_eq!(measures.iter().map(Measure::name).collect::<Vec<_>>(), ["numpy[0]", "numpy[1]"]);
    assert_eq!((measures[0].points(), measures[0].weights()), (&[1.5, 0.0][..], &[1.0][..]));
    assert_eq!((measures[1].points(), measures[1].weights()), (&[2.5, 1.0, 4.0, 2.0][..], &[0.25, 0.75][..]));
}

#[test]
fn archives_of_stacks_and_single_arrays() {
    let values: Vec<f64> = (0..12).map(f64::from).collect();
    for deflate in [false, true] {
        let arrays =
            [("points", doubles("(2, 3, 2)", &values)), ("weights", doubles("(2, 3)", &[1., 1., 2., 0., 3., 1.]))];
        let measures = read("w.npz", npz(&arrays, deflate));
        assert_eq!((measures[0].name(), measures[0].weights()), ("w[0]", &[0.25, 0.25, 0.5][..]));
        assert_eq!((measures[1].points(), measures[1].weights()), (&values[6..], &[0.0, 0.75, 0.25][..]));
        let arrays: Vec<(&str, Vec<u8>)> = vec![
            ("arr_10", doubles("(2, 3)", &values[..6])),
            ("arr_2", doubles("(1, 3)", &values[..3])),
            ("arr_0", doubles("(4, 3)", &values)),
        ];
        let measures = read("many.npz", npz(&arrays, deflate));
        assert_eq!(measures.iter().map(Measure::name).collect::<Vec<_>>(), ["arr_0", "arr_2", "arr_10"]);
        assert_eq!(measures.iter().map(Measure::len).collect::<Vec<_>>(), [4, 1, 2]);
    }
    let whole = read("p.npz", npz(&[("points", doubles("(6, 2)", &values))], false));
    assert_eq!((whole.len(), whole[0].name(), whole[0].len()), (1, "p", 6));
}

/// Weights in single precision, whose sum is not exactly 1, are normalised in double precision.
#[test]
fn o3_weights_in_single_precision() {
    for n in [5u16, 960] {
        let values: Vec<f64> = (0..n).map(f64::from).collect();
        let weights = le(&vec![1.0 / f32::from(n); n.into()], f32::to_le_bytes);
        let shape = format!("({n},)");
        let arrays = [("points", doubles(&shape, &values)), ("weights", npy(1, "'<f4'", false, &shape, &weights))];
        let measures = read("w.npz", npz(&arrays, true));
        assert!((measures[0].weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(measures[0].weights().iter().all(|w| (w * f64::from(n) - 1.0).abs() < 1e-12));
    }
}

/// For invalid weights, the message has the index of the weight; no measure is returned.
#[test]
fn o4_archives_that_are_refused() {
    let points = || ("points", doubles("(3, 2)", &SIX));
    let with =
        |name: &'static str, shape: &str, values: &[f64]| npz(&[points(), (name, doubles(shape, values))], false);
    for (weights, part) in [([-0.1, 0.6, 0.5], "weight 0"), ([0.5, f64::NAN, 0.5], "weight 1"), ([0.0; 3], "weights")] {
        refuse("w.npz", with("weights", "(3,)", &weights), "weights", &[part]);
    }
    refuse("w.npz", with("weights", "(2,)", &[0.5, 0.5]), "file", &["array \"weights\"", "(2,)", "(3,)"]);
    refuse("o.npz", with("offsets", "(2,)", &[0.0, 2.0]), "file", &["array \"offsets\"", "0", "2", "3"]);
    refuse("o.npz", with("offsets", "(2,)", &[1.0, 3.0]), "file", &["array \"offsets\"", "1", "3"]);
    refuse("o.npz", with("offsets", "(1,)", &[0.0]), "file", &["array \"offsets\"", "n + 1"]);
    refuse("o.npz", with("offsets", "(4,)", &[0.0, 1.0, 1.0, 3.0]), "file", &["array \"offsets\"", "cloud 1"]);
    refuse("o.npz", with("offsets", "(4,)", &[0.0, 2.0, 1.0, 3.0]), "file", &["array \"offsets\"", "offset 2"]);
    refuse("o.npz", with("offsets", "(3,)", &[0.0, 1.5, 3.0]), "file", &["array \"offsets\"", "1.5"]);
    refuse("o.npz", with("offsets", "(3,)", &[0.0, f64::NAN, 3.0]), "file", &["array \"offsets\"", "NaN"]);
    let stack = [("points", doubles("(1, 3, 2)", &SIX)), ("offsets", doubles("(2,)", &[0.0, 1.0]))];
    refuse("o.npz", npz(&stack, false), "file", &["array \"points\"", "(1, 3, 2)", "(M, d)"]);
    refuse(
        "n.npz",
        npz(&[("weights", doubles("(3,)", &[1.0; 3]))], false),
        "file",
        &["array \"weights\"", "\"points\""],
    );
    refuse("n.npz", npz(&[("chair", doubles("(1, 3, 2)", &SIX))], false), "file", &["array \"chair\"", "\"points\""]);
    refuse("n.npz", npz(&[("x", npy(1, "'|O'", false, "(2,)", b"pickle"))], true), "file", &["array \"x\""]);
    refuse("n.npz", npz(&[("x", doubles("(3, 2)", &SIX[..5]))], true), "file", &["array \"x\""]);
    refuse("n.npz", npz(&[], false), "file", &[]);
    refuse("n.npz", b"not a zip file", "file", &[]);
    refuse(
        "n.npz",
        npz(&[("a", doubles("(3, 2)", &SIX)), ("b", doubles("(2, 3)", &SIX))], false),
        "points",
        &["dimension 3", "dimension 2"],
    );
}

#[test]
fn damaged_and_encrypted_archives() {
    let good = npz(&[("points", doubles("(3, 2)", &SIX))], false);
    let mut flipped = good.clone();
    // The last byte of the data is before the directory, whose signature is PK\1\2.
    let end = good.windows(4).position(|w| w == b"PK\x01\x02").expect("a directory");
    flipped[end - 1] ^= 1;
    refuse("d.npz", flipped, "file", &["array \"points\""]);
    let mut encrypted = good.clone();
    encrypted[end + 8] |= 1;
    refuse("d.npz", encrypted, "file", &["array \"points\""]);
    let mut packed = good;
    packed[end + 10] = 12;
    refuse("d.npz", packed, "file", &["array \"points\"", "savez_compressed"]);
}

#[test]
fn weight_columns_belong_to_other_formats() {
    let options = ReadOptions { weight_column: Some("mass".into()), ..Default::default() };
    refuse_with("a.npy", doubles("(2, 3)", &SIX), &options, "file", &["\"mass\""]);
    refuse_with("a.npz", npz(&[("a", doubles("(2, 3)", &SIX))], false), &options, "file", &["\"mass\"", "\"weights\""]);
    refuse_with("a.off", "OFF\n1 0 0\n0 0 0\n", &options, "file", &["\"mass\""]);
}
