//! Files as other programs write them, compared with values of POT and NumPy (tests/golden/reading.py), and the command line.

use super::*;
use serde_json::Value;
use wgpca::Pool;
use wgpca::Status;
use wgpca::gaussian::{Degenerate, Settings, fit};
use wgpca::ot::{Epsilon, Points, Sinkhorn, divergence};

fn golden(name: &str) -> Value {
    let text = std::fs::read_to_string(file("../golden/reading.json")).expect("golden values");
    let all: Value = serde_json::from_str(&text).expect("golden values");
    all["cases"].as_array().expect("cases").iter().find(|case| case["name"] == name).expect(name).clone()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reading").join(name)
}

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().expect(key)
}

#[track_caller]
fn agrees(case: &str, x: &str, y: &str) {
    let case = golden(case);
    let clouds = read_how(&[file(x), file(y)], &ReadOptions::default()).measures;
    let [x, y] = [0, 1].map(|k| Points::<f64>::try_from(&clouds[k]).expect("points"));
    let settings = Sinkhorn { epsilon: Epsilon::Fixed(number(&case, "epsilon")), ..Sinkhorn::default() };
    let found = divergence(&x, &y, &settings).expect("a divergence");
    assert!(found.report.status == Status::Converged);
    let expected = number(&case, "divergence");
    assert!((found.value - expected).abs() < 1e-4 * expected, "{} for {expected}", found.value);
}

/// The index column of pandas is not a coordinate.
#[test]
fn a_table_with_its_index() {
    agrees("index", "index_x.csv", "index_y.csv");
}

/// Colours named by a header in a comment are not coordinates.
#[test]
fn points_with_colours() {
    agrees("colours", "colours_x.xyz", "colours_y.xyz");
    let reading = read_how(&[file("colours_x.xyz")], &ReadOptions::default());
    says(&reading.notices, &["columns R, G, B"]);
    assert_eq!(reading.summary, "1 cloud of 120 points in R^3 (X, Y, Z), equal weights");
}

/// Covariances of rank d - 1 stored in single precision: their rounding errors do not count as negative variances, and the common
/// direction without variance is left out.
#[test]
fn covariances_in_single_precision() {
    let case = golden("average reference");
    let set = wgpca::io::read_gaussians(&file("average_reference.npy"), &Default::default()).expect("covariances");
    let pool = Pool::new(2).expect("threads");
    for degenerate in [Degenerate::Reduce, Degenerate::Ridge(1e-8)] {
        let model = fit(&set, &Settings { degenerate, ..Settings::default() }, &pool).expect("a fit");
        let c = &model.components[0];
        let (cost, all) = (number(&case, "cost"), number(&case, "barycentre_cost"));
        assert!((c.costs.cost - cost).abs() < 1e-4 * cost, "{} for {cost}", c.costs.cost);
        assert!((model.barycentre.cost - all).abs() < 1e-4 * all, "{} for {all}", model.barycentre.cost);
        assert!((c.costs.explained.expect("a share") - number(&case, "explained")).abs() < 1e-4);
        says(&model.warnings, &["1 common"]);
        if number(&case, "negative") > 0.0 {
            says(&model.warnings, &["negative eigenvalues"]);
        }
        assert!(!model.warnings.iter().any(|w| w.contains("singular")), "{:?}", model.warnings);
    }
    let refused = fit(&set, &Settings { degenerate: Degenerate::Refuse, ..Settings::default() }, &pool);
    let refused = refused.expect_err("singular");
    assert!(refused.code() == "parameter" && refused.to_string().contains("degenerate"), "{refused}");
    // The same numbers as float64 are not covariances.
    let dir = Dir::new();
    let wide = |v: f64| v.to_le_bytes().to_vec();
    let data: Vec<u8> = [1.0, 1.0, 1.0, 1.0 - 6e-8].iter().flat_map(|v| wide(*v)).collect();
    let double = dir.put("d.npy", npy(1, "'<f8'", false, "(1, 2, 2)", &data));
    let e = wgpca::io::read_gaussians(&double, &Default::default()).expect_err("indefinite");
    assert!(e.code() == "covariance" && e.to_string().contains("eigenvalue"), "{e}");
    let data: Vec<u8> = [1.0f32, 1.0, 1.0, 1.0 - 6e-8].iter().flat_map(|v| v.to_le_bytes()).collect();
    let single = dir.put("s.npy", npy(1, "'<f4'", false, "(1, 2, 2)", &data));
    assert!(wgpca::io::read_gaussians(&single, &Default::default()).is_ok());
    // An error beyond the rounding of single precision is still refused.
    let data: Vec<u8> = [1.0f32, 1.0, 1.0, 0.9999].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(
        wgpca::io::read_gaussians(&dir.put("w.npy", npy(1, "'<f4'", false, "(1, 2, 2)", &data)), &Default::default())
            .is_err()
    );
}

/// Messages of the command on its input: notices and the summary unless `--quiet` is given, with options instead of settings.
#[cfg(feature = "cli")]
#[test]
fn the_command_line_says_how_it_read() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let dir = Dir::new();
    let run = |arguments: &[&str], input: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_wgpca"))
            .args(arguments)
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        // A command that does not read its input closes it.
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).ok();
        let output = child.wait_with_output().expect("an end");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    dir.put("x.csv", ",x,y\n0,0,1\n1,2,3\n");
    dir.put("y.xyz", "//X Y R\n0.5 1 9\n2 4 9\n");
    let (code, out, said) = run(&["sinkhorn", "x.csv", "y.xyz"], "");
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<String> = said.lines().map(String::from).collect();
    for parts in [["x.csv", "column"], ["R^2", "(x, y)"], ["y.xyz", "column R"], ["R^2", "(X, Y)"]] {
        says(&lines, &parts);
    }
    let (_, quiet, nothing) = run(&["--quiet", "sinkhorn", "x.csv", "y.xyz"], "");
    assert_eq!((quiet.as_str(), nothing.as_str()), (out.as_str(), ""));
    // Standard input.
    let (code, piped, said) = run(&["--quiet", "sinkhorn", "-", "y.xyz", "--format", "csv"], "x,y\n0,1\n2,3\n");
    assert_eq!((code, piped), (Some(0), out), "{said}");
    let (code, _, said) = run(&["sinkhorn", "-", "y.xyz"], "x,y\n0,1\n");
    assert!(code == Some(2) && said.contains("(--format)"), "{said}");
    let (code, _, said) = run(&["sinkhorn", "-", "-", "--format", "csv"], "x,y\n0,1\n");
    assert!(code == Some(2) && said.contains("standard input"), "{said}");
    // Options instead of settings.
    dir.put("bad.csv", "x,y\nnan,1\n2,3\n");
    let (code, _, said) = run(&["sinkhorn", "bad.csv", "y.xyz"], "");
    assert!(code == Some(2) && said.contains("(--drop-nan)"), "{said}");
    let (code, _, said) = run(&["sinkhorn", "bad.csv", "y.xyz", "--drop-nan"], "");
    assert!(code == Some(0) && said.contains("1 of 2 in bad.csv"), "{said}");
    dir.put("mixed.txt", "0.5 1 2 200\n0.25 1 2 0\n0.125 2 2 255\n0.5 3 2 9\n");
    let (_, _, said) = run(&["--quiet", "sinkhorn", "mixed.txt", "mixed.txt"], "");
    assert!(said.contains("wgpca: warning: mixed.txt: ") && said.contains("(--columns)"), "{said}");
    let (code, _, said) = run(&["--quiet", "sinkhorn", "mixed.txt", "mixed.txt", "--columns", "1-3"], "");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let (code, _, said) = run(&["sinkhorn", "x.csv", "y.xyz", "--columns", "0"], "");
    assert!(code == Some(2) && said.contains("--columns"), "{said}");
}
