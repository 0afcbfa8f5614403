//! The effect of the names of arrays.

use super::*;

const SIX: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

fn points(name: &'static str) -> (&'static str, Vec<u8>) {
    (name, doubles("(3, 2)", &SIX))
}

fn weights(name: &'static str) -> (&'static str, Vec<u8>) {
    (name, doubles("(3,)", &[1.0, 1.0, 2.0]))
}

#[test]
fn near_names_of_weights_are_weights() {
    let expected = read("a.npz", npz(&[points("points"), weights("weights")], false));
    assert_eq!(expected[0].weights(), [0.25, 0.25, 0.5]);
    for name in ["w", "weight", "mass", "W"] {
        let reading = read_one("a.npz", npz(&[points("points"), weights(name)], false), &ReadOptions::default());
        assert_eq!(reading.measures, expected, "{name}");
        assert_eq!(reading.summary, format!("1 cloud of 3 points in R^2, weights from array {name}"));
        assert!(reading.notices.is_empty());
    }
    let column = ("w", doubles("(3, 1)", &[1.0, 1.0, 2.0]));
    assert_eq!(read("a.npz", npz(&[points("points"), column], false)), expected);
    refuse(
        "a.npz",
        npz(&[points("points"), weights("w"), weights("mass")], false),
        "file",
        &["mass, w", "\"weights\""],
    );
    let keyed = |name: &str| ReadOptions { weights_key: Some(name.into()), ..Default::default() };
    let foreign = npz(&[points("points"), weights("prob"), weights("w")], false);
    let reading = read_one("a.npz", &foreign, &keyed("prob"));
    assert_eq!(reading.measures, expected);
    says(&reading.notices, &["array w"]);
    assert_eq!(read_with("a.npz", npz(&[points("chair"), weights("prob")], false), &keyed("prob"))[0].points(), SIX);
    refuse_with("a.npz", foreign, &keyed("q"), "file", &["\"q\"", "points, prob, w"]);
    let dir = Dir::new();
    fails(&[dir.put("a.csv", "1,2\n")], &keyed("q"), "parameter", &["weights key", ".npz"]);
}

#[test]
fn near_names_of_points_are_points() {
    for name in ["pos", "positions", "xyz", "coords", "vertices", "X", "x", "Points"] {
        let measures = read("a.npz", npz(&[points(name), weights("w")], false));
        assert_eq!((measures.len(), measures[0].points()), (1, &SIX[..]), "{name}");
        assert_eq!((measures[0].weights(), measures[0].name()), (&[0.25, 0.25, 0.5][..], "a"), "{name}");
    }
    let ragged = [points("pos"), ("ptr", doubles("(3,)", &[0.0, 1.0, 3.0]))];
    assert_eq!(read("a.npz", npz(&ragged, false)).iter().map(Measure::len).collect::<Vec<_>>(), [1, 2]);
    refuse("a.npz", npz(&[points("pos"), points("xyz")], false), "file", &["pos, xyz", "\"points\""]);
    // Two clouds, not one cloud and an attribute.
    assert_eq!(read("a.npz", npz(&[points("x"), points("y")], false)).len(), 2);
}

#[test]
fn attributes_of_a_cloud_are_no_cloud() {
    for (name, others) in
        [("pos", ["normal", "rgb"]), ("points", ["normals", "anything"]), ("pos", ["x", "edge_index"])]
    {
        let arrays = [points(name), points(others[0]), points(others[1])];
        let reading = read_one("a.npz", npz(&arrays, true), &ReadOptions::default());
        assert_eq!((reading.measures.len(), reading.measures[0].points()), (1, &SIX[..]));
        says(&reading.notices, &["a.npz", others[0], others[1]]);
    }
    refuse("a.npz", npz(&[points("chair"), points("normals")], false), "file", &["array \"normals\"", "\"points\""]);
    refuse("a.npz", npz(&[points("chair"), weights("w")], false), "file", &["array \"w\"", "\"points\""]);
}

#[test]
fn stacks_of_images_say_how_they_are_read() {
    let bytes: Vec<u8> = (0..2 * 28 * 28).map(|k| (k % 251) as u8).collect();
    let reading = read_one("digits.npy", npy(1, "'|u1'", false, "(2, 28, 28)", &bytes), &ReadOptions::default());
    says(&reading.notices, &["digits.npy", "(2, 28, 28)", "R^28", "weights"]);
    let grey: Vec<f64> = bytes.iter().map(|&b| f64::from(b) / 255.0).collect();
    let stack = npz(&[("points", doubles("(2, 28, 28)", &grey))], true);
    says(&read_one("digits.npz", stack, &ReadOptions::default()).notices, &["R^28"]);
    let real: Vec<f64> = grey.iter().map(|v| 3.0 * v - 1.0).collect();
    for (shape, values) in [("(2, 28, 28)", &real[..]), ("(2, 14, 56)", &grey), ("(98, 4, 4)", &grey)] {
        assert!(read_one("s.npy", doubles(shape, values), &ReadOptions::default()).notices.is_empty(), "{shape}");
    }
}

/// Gaussians of an archive are read completely or not at all.
#[test]
fn gaussians_by_near_names() {
    use wgpca::io::read_gaussians;
    let dir = Dir::new();
    let covariances = || doubles("(2, 1, 1)", &[1.0, 4.0]);
    let means = || doubles("(2, 1)", &[5.0, 6.0]);
    let read = |arrays: &[(&str, Vec<u8>)]| read_gaussians(&dir.put("g.npz", npz(arrays, false)), &Default::default());
    let w = || ("w", doubles("(2,)", &[1.0, 3.0]));
    for (sigma, mean) in [("covariances", "means"), ("covs", "mean"), ("cov", "mu"), ("Sigma", "Mean")] {
        let set = read(&[(sigma, covariances()), (mean, means()), w()]).expect(sigma);
        assert_eq!(
            (set.covariances(), set.means(), set.weights()),
            (&[1.0, 4.0][..], Some(&[5.0, 6.0][..]), &[1.0, 3.0][..])
        );
    }
    for (arrays, parts) in [
        (vec![("covariances", covariances()), ("offset", means())], &["g.npz, array \"offset\"", "covariances"][..]),
        (vec![("covariances", covariances()), ("mean", means()), ("mu", means())], &["mean, mu", "\"means\""][..]),
        (vec![("cov", covariances()), ("sigma", covariances())], &["cov, sigma", "\"covariances\""][..]),
        (vec![("a", covariances()), ("b", covariances())], &["\"covariances\"", "a, b"][..]),
    ] {
        let error = read(&arrays).expect_err("no Gaussians");
        let text = error.to_string();
        assert!(
            error.code() == "file" && parts.iter().all(|part| text.contains(part)) && !text.contains('\n'),
            "{text}"
        );
    }
}
