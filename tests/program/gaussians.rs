//! `wgpca gaussian` and `wgpca bures`, and the other commands on models of Gaussians.

use crate::common::cli::{refused, run, text, wgpca};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// An array of float64 as numpy writes it.
fn npy(path: &Path, shape: &[usize], values: &[f64]) {
    let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

/// diag(a², b²).
fn diagonal(a: f64, b: f64) -> [f64; 4] {
    [a * a, 0.0, 0.0, b * b]
}

/// The 5 × 5 grid of the paper: its components are those of linear PCA in (a, b).
fn grid() -> (TempDir, Vec<[f64; 2]>) {
    let directory = tempfile::tempdir().unwrap();
    let steps = |top: f64| (0..5).map(move |k| 1.0 + (top - 1.0) * k as f64 / 4.0);
    let axes: Vec<[f64; 2]> = steps(3f64.sqrt()).flat_map(|a| steps(2f64.sqrt()).map(move |b| [a, b])).collect();
    let values: Vec<f64> = axes.iter().flat_map(|p| diagonal(p[0], p[1])).collect();
    npy(&directory.path().join("grid.npy"), &[25, 2, 2], &values);
    (directory, axes)
}

/// Σ (x − mean)² along one of the two axes.
fn variation(axes: &[[f64; 2]], k: usize) -> f64 {
    let mean = axes.iter().map(|p| p[k]).sum::<f64>() / axes.len() as f64;
    axes.iter().map(|p| (p[k] - mean).powi(2)).sum()
}

fn close(value: &Value, expected: f64, tolerance: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

fn json(arguments: &[&str], at: &Path) -> Value {
    let out = run(arguments, at);
    assert_eq!(out.lines().count(), 1, "{out}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_fit_and_everything_after_it() {
    let (directory, axes) = grid();
    let at = directory.path();
    let fit = ["gaussian", "grid.npy", "-o", "m.safetensors", "--components", "2", "--starts", "6", "--certify"];
    let done = json(&[&fit[..], &["--json"]].concat(), at);
    assert_eq!(
        (&done["event"], &done["model"], &done["picture"]),
        (&"done".into(), &"m.safetensors".into(), &"m.svg".into())
    );
    assert_eq!((&done["status"], &done["kind"], &done["dim"]), (&"converged".into(), &"gaussian".into(), &2.into()));
    assert_eq!(
        (&done["measures"][7], &done["weights"][7], &done["centred"]),
        (&"grid[7]".into(), &1.0.into(), &true.into())
    );
    assert!(done["seconds"].as_f64().unwrap() > 0.0 && done["warnings"].as_array().unwrap().is_empty());

    // Linear PCA in (a, b).
    let (along_a, along_b) = (variation(&axes, 0), variation(&axes, 1));
    let components = done["components"].as_array().unwrap();
    assert_eq!(components.len(), 2);
    for (c, (cost, own)) in components.iter().zip([(along_b, along_a), (along_a, along_b)]) {
        close(&c["cost"], cost, 1e-10);
        close(&c["tangent_cost"], cost, 1e-10);
        close(&c["explained"], own / (along_a + along_b), 1e-10);
        for key in ["horizontality", "unit_norm", "orthogonality"] {
            close(&c[key], 0.0, 1e-9);
        }
        assert!(c["certificate"].as_f64().unwrap() <= 1e-10);
        assert_eq!(c["clipped"].as_array().unwrap(), &vec![Value::Bool(false); 25]);
        assert_eq!((c["times"].as_array().unwrap().len(), c["residuals"].as_array().unwrap().len()), (25, 25));
        let starts = c["starts"].as_array().unwrap();
        assert!(!starts.is_empty() && starts.iter().all(|s| s["cost"].is_number() && s["start"].is_string()));
        assert!(starts.iter().all(|s| s["evaluations"].is_number() && s["status"].is_string()));
        // One end of the interval is where an axis is 0, the other is infinite: null.
        let ends = c["interval"].as_array().unwrap();
        assert_eq!((ends.len(), ends.iter().filter(|e| e.is_null()).count()), (2, 1));
        assert!(c["a"].as_array().unwrap().len() == 2 && c["x"][1].as_array().unwrap().len() == 2);
        assert_eq!((c["mean"].clone(), c["velocity"].clone()), (vec![0.0, 0.0].into(), vec![0.0, 0.0].into()));
        assert!(c["status"] == "converged" && c["warnings"].is_array());
    }
    assert!(components[0]["meeting"].is_null() && components[0]["intersection"].is_null());
    assert_eq!(components[1]["meeting"].as_array().unwrap().len(), 2);
    let barycentre = &done["barycentre"];
    close(&barycentre["cost"], along_a + along_b, 1e-10);
    let middle = |k: usize| axes.iter().map(|p| p[k]).sum::<f64>() / 25.0;
    close(&barycentre["covariance"][0][0], middle(0).powi(2), 1e-12);
    close(&barycentre["covariance"][1][1], middle(1).powi(2), 1e-12);
    assert!(barycentre["status"] == "converged" && barycentre["iterations"].is_number());
    assert!(barycentre["error"].is_number() && barycentre["mean"] == Value::from(vec![0.0, 0.0]));

    let svg = fs::read_to_string(at.join("m.svg")).unwrap();
    for part in
        ["<svg", "component 2 (explained 24 %)", "covariances in their cone", "from above", "tangent PCA", "grid[24]"]
    {
        assert!(svg.contains(part), "{part}");
    }

    let info = json(&["info", "m.safetensors", "--json"], at);
    for key in ["kind", "components", "barycentre", "measures", "weights", "status", "settings", "spectrum", "warnings"]
    {
        assert_eq!(info[key], done[key], "{key}");
    }
    assert_eq!(info["settings"]["degenerate"]["ridge"], 1e-8);
    let people = run(&["info", "m.safetensors"], at);
    assert!(people.contains("25 centred Gaussians in R^2") && people.contains("tangent PCA"), "{people}");

    // Times and residuals of the training measures have the same bits as those of the fit.
    let csv = run(&["transform", "m.safetensors", "grid.npy"], at);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!((rows[0], rows.len()), ("name,t1,residual1,t2,residual2", 26));
    for (i, row) in rows[1..].iter().enumerate() {
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!(fields[0], format!("grid[{i}]"));
        for (k, c) in components.iter().enumerate() {
            let (time, residual): (f64, f64) = (fields[1 + 2 * k].parse().unwrap(), fields[2 + 2 * k].parse().unwrap());
            close(&c["times"][i], time, 1e-12);
            close(&c["residuals"][i], residual, 1e-12);
        }
    }

    let evaluation = json(&["evaluate", "m.safetensors", "grid.npy", "--json"], at);
    assert_eq!(evaluation["measures"], 25);
    close(&evaluation["components"][0]["cost"], along_b, 1e-10);
    close(&evaluation["components"][1]["explained"], along_b / (along_a + along_b), 1e-10);
    close(&evaluation["barycentre_cost"], along_a + along_b, 1e-10);
    assert!(run(&["evaluate", "m.safetensors", "grid.npy"], at).contains("barycentre alone"));

    // Points at a time: their covariance is diag((a + t)², b²) up to sampling.
    let time = components[0]["times"][0].as_f64().unwrap();
    let arguments =
        ["sample", "m.safetensors", "--time", &time.to_string(), "--points", "20000", "--seed", "1", "-o", "s.npy"];
    assert_eq!(run(&arguments, at), "");
    let drawn = &wgpca::io::read_file(&at.join("s.npy"), &Default::default()).unwrap()[0];
    assert_eq!((drawn.len(), drawn.dim()), (20000, 2));
    let moment = |j: usize, k: usize| drawn.points().chunks_exact(2).map(|p| p[j] * p[k]).sum::<f64>() / 20000.0;
    // The first measure is on the line b = mean of b.
    let expected = [axes[0][0].powi(2), middle(1).powi(2)];
    assert!((moment(0, 0) - expected[0]).abs() < 0.04 && (moment(1, 1) - expected[1]).abs() < 0.06);
    assert!(moment(0, 1).abs() < 0.04);
    refused(&["sample", "m.safetensors", "--time", "1e9"], at, "time", &["1000000000", "--clamp"]);
    run(&["sample", "m.safetensors", "--time", "1e9", "--points", "2", "--clamp"], at);
    refused(&["sample", "m.safetensors", "--time", "0", "--component", "3"], at, "parameter", &["component 3"]);

    // The same command writes the same files, for any number of threads.
    let first = (fs::read(at.join("m.safetensors")).unwrap(), svg);
    run(&[&fit[..], &["--threads", "1", "--quiet"]].concat(), at);
    assert_eq!((fs::read(at.join("m.safetensors")).unwrap(), fs::read_to_string(at.join("m.svg")).unwrap()), first);
}

/// Means, weights and names given with the covariances, in every form; W₂² = |m₁ − m₂|² + BW².
#[test]
fn means_weights_and_names() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    // On the line: PCA in the half plane (m, σ).
    npy(&at.join("c.npy"), &[3, 1, 1], &[1.0, 4.0, 9.0]);
    npy(&at.join("m.npy"), &[3, 1], &[0.0, 1.0, 2.0]);
    fs::write(at.join("m.csv"), "mean\n0\n1\n2\n").unwrap();
    fs::write(at.join("w.txt"), "weight\n2\n1\n1\n").unwrap();
    fs::write(at.join("n.txt"), "first\nsecond, of three\n\nthird\n").unwrap();
    let fit = |more: &[&str]| json(&[&["gaussian", "c.npy", "-o", "g.safetensors", "--json"], more].concat(), at);
    let done = fit(&["--means", "m.npy", "--measure-weights", "w.txt", "--names", "n.txt"]);
    // (0, 1), (1, 2), (2, 3) are on a line: residuals are 0, and times are its arc length.
    let c = &done["components"][0];
    close(&c["cost"], 0.0, 1e-20);
    let times: Vec<f64> = c["times"].as_array().unwrap().iter().map(|t| t.as_f64().unwrap()).collect();
    assert!(((times[2] - times[0]).abs() - 8f64.sqrt()).abs() < 1e-12, "{times:?}");
    assert_eq!(done["measures"], Value::from(vec!["first", "second, of three", "third"]));
    assert_eq!(done["weights"], Value::from(vec![2.0, 1.0, 1.0]));
    assert_eq!(done["centred"], false);
    // Weighted means of m and of σ.
    close(&done["barycentre"]["mean"][0], 0.75, 1e-14);
    close(&done["barycentre"]["covariance"][0][0], 1.75f64.powi(2), 1e-13);
    let csv = run(&["transform", "g.safetensors", "c.npy", "--means", "m.csv", "--names", "n.txt"], at);
    assert!(csv.contains("\n\"second, of three\","), "{csv}");
    assert_eq!(fit(&["--means", "m.csv"])["components"], fit(&["--means", "m.npy"])["components"]);
    assert!(fit(&[])["centred"].as_bool().unwrap());
    let svg = fs::read_to_string(at.join("g.svg")).unwrap();
    assert!(svg.contains("Densities") && !svg.contains("cone"));

    // Errors name the file, the place and the remedy.
    npy(&at.join("m2.npy"), &[2, 1], &[0.0, 1.0]);
    npy(&at.join("nan.npy"), &[3, 1], &[0.0, 1.0, f64::NAN]);
    fs::write(at.join("w2.txt"), "1\n-1\n1\n").unwrap();
    fs::write(at.join("n2.txt"), "a\nb\n").unwrap();
    let with = |option: &'static str, file: &'static str| ["gaussian", "c.npy", "-o", "x.safetensors", option, file];
    refused(&with("--means", "m2.npy"), at, "file", &["m2.npy", "(2, 1)", "(3, 1)"]);
    refused(&with("--means", "nan.npy"), at, "covariance", &["nan.npy", "c[2]", "NaN"]);
    refused(&with("--measure-weights", "w2.txt"), at, "weights", &["w2.txt", "weight 1", "-1"]);
    refused(&with("--measure-weights", "m2.npy"), at, "file", &["m2.npy", "(3,)"]);
    refused(&with("--names", "n2.txt"), at, "file", &["n2.txt", "2", "3"]);
    refused(&with("--means", "none.npy"), at, "io", &["none.npy"]);
    refused(&with("--means", "c.ply"), at, "io", &["c.ply"]);
    refused(&["gaussian", "c.npy", "-o", "m.npy", "--means", "m.npy"], at, "file", &["m.npy"]);
    assert!(!at.join("x.safetensors").exists());
}

/// Clouds, described by their means and covariances.
#[test]
fn from_samples() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    fs::create_dir(at.join("clouds")).unwrap();
    // Four points at (m ± a, ± b): mean m, covariance diag(a², b²).
    for (i, (m, a)) in [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)].into_iter().enumerate() {
        let rows = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)].map(|(x, y)| format!("{},{y}\n", m + a * x));
        fs::write(at.join(format!("clouds/c{i}.csv")), rows.concat()).unwrap();
    }
    let fit = ["gaussian", "clouds", "-o", "g.safetensors", "--from-samples", "--json"];
    let done = json(&fit, at);
    assert_eq!((&done["measures"][1], &done["centred"]), (&"c1".into(), &false.into()));
    close(&done["components"][0]["cost"], 0.0, 1e-20);
    let csv = run(&["transform", "g.safetensors", "clouds/c1.csv", "--from-samples"], at);
    let time: f64 = csv.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap();
    close(&done["components"][0]["times"][1], time, 1e-12);
    let centred = json(&[&fit[..], &["--centred"]].concat(), at);
    assert_eq!((&centred["measures"][1], &centred["centred"]), (&"c1".into(), &true.into()));
    close(&centred["barycentre"]["covariance"][0][0], 4.0, 1e-13);
    run(&["transform", "g.safetensors", "clouds", "--from-samples", "--centred"], at);
    // A model of centred Gaussians has no means.
    refused(&["transform", "g.safetensors", "clouds", "--from-samples"], at, "parameter", &["means"]);
    refused(&["gaussian", "clouds", "-o", "x.safetensors"], at, "file", &["clouds", "--from-samples"]);
    refused(&["gaussian", "clouds/c0.csv", "-o", "x.safetensors"], at, "file", &["c0.csv", ".npy", "--from-samples"]);
    let two = ["gaussian", "clouds/c0.csv", "clouds/c1.csv", "-o", "x.safetensors"];
    refused(&two, at, "file", &["c1.csv", "--from-samples"]);
    refused(
        &["gaussian", "clouds", "-o", "x.safetensors", "--surface", "9"],
        at,
        "parameter",
        &["surface", "--from-samples"],
    );
    // Errors of the set of measures name the files too.
    let one = ["gaussian", "clouds/c0.csv", "-o", "x.safetensors", "--from-samples"];
    refused(&one, at, "file", &["clouds/c0.csv, measures: "]);
    for name in ["p.csv", "q.csv"] {
        fs::write(at.join(name), "1,2\n1,2\n").unwrap();
    }
    let points = ["gaussian", "p.csv", "q.csv", "-o", "x.safetensors", "--from-samples"];
    refused(&points, at, "file", &["p.csv, and 1 more, covariances"]);
}

/// Errors of the input name the file, the matrix, the row and the remedy; no file is left.
#[test]
fn bad_input_is_one_line_and_leaves_nothing() {
    let (directory, _) = grid();
    let at = directory.path();
    let mut files = vec![];
    let mut refuse = |name: &str, shape: &[usize], values: &[f64], code: &str, parts: &[&str]| {
        npy(&at.join(name), shape, values);
        files.push(name.to_string());
        refused(&["gaussian", name, "-o", "x.safetensors"], at, code, &[&[name], parts].concat());
    };
    let good = diagonal(1.0, 2.0);
    let with = |bad: [f64; 4]| [good, bad].concat();
    refuse(
        "nan.npy",
        &[2, 2, 2],
        &with([1.0, 0.0, f64::NAN, 1.0]),
        "covariance",
        &["covariance 1", "entry (1, 0)", "NaN"],
    );
    refuse("skew.npy", &[2, 2, 2], &with([1.0, 0.5, 0.2, 1.0]), "covariance", &["covariance 1", "(1, 0)", "(0, 1)"]);
    refuse("neg.npy", &[2, 2, 2], &with([1.0, 2.0, 2.0, 1.0]), "covariance", &["covariance 1", "eigenvalue", "-1.0"]);
    refuse("flat.npy", &[2, 2], &good, "file", &["(2, 2)", "(n, d, d)"]);
    refuse("clouds.npy", &[2, 4, 2], &[1.0; 16], "file", &["(2, 4, 2)", "(n, d, d)", "--from-samples"]);
    refuse("line.npy", &[4], &good, "file", &["(4,)", "(n, d, d)"]);
    npy(&at.join("one.npy"), &[1, 2, 2], &good);
    npy(&at.join("zero.npy"), &[2, 2, 2], &[0.0; 8]);
    refused(&["gaussian", "one.npy", "-o", "x.safetensors"], at, "file", &["one.npy, measures: "]);
    let zero = ["zero.npy, covariances", "means"];
    refused(&["gaussian", "zero.npy", "-o", "x.safetensors"], at, "file", &zero);
    let left = |name: &str| !at.join(name).exists();
    assert!(left("x.safetensors") && left("x.svg"));
    fs::write(at.join("cut.npy"), &fs::read(at.join("grid.npy")).unwrap()[..200]).unwrap();
    refused(&["gaussian", "cut.npy", "-o", "x.safetensors"], at, "file", &["cut.npy"]);
    let grid = |more: &[&'static str]| [&["gaussian", "grid.npy", "-o", "x.safetensors"], more].concat();
    refused(&grid(&["--components", "4"]), at, "parameter", &["components", "3"]);
    refused(&grid(&["--tolerance", "0"]), at, "parameter", &["tolerance", "0"]);
    refused(&grid(&["--degenerate", "ridge(2)"]), at, "parameter", &["ridge", "2"]);
    let odd = wgpca(&grid(&["--degenerate", "maybe"]), at);
    assert!(odd.status.code() == Some(2) && text(&odd.stderr).contains("--degenerate"));
    refused(&["gaussian", "grid.npy", "-o", "x.svg"], at, "file", &["x.svg"]);
    refused(&["gaussian", "grid.npy", "-o", "grid.npy"], at, "file", &["grid.npy"]);
    assert_eq!(fs::read_dir(at).unwrap().count(), files.len() + 4);
    // Singular covariances: refused, or accepted with a warning.
    npy(&at.join("rank.npy"), &[3, 2, 2], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let refuse = ["gaussian", "rank.npy", "-o", "x.safetensors", "--degenerate", "refuse"];
    refused(&refuse, at, "covariance", &["rank.npy, rank[0]: ", "ridge"]);
    let used = wgpca(&["gaussian", "rank.npy", "-o", "x.safetensors"], at);
    assert!(text(&used.stderr).contains("singular") && matches!(used.status.code(), Some(0 | 3)));
}

/// If a search is cut short, the status and the exit code say so, and the model is written nevertheless.
#[test]
fn a_search_that_is_cut_short_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    // Ellipses in various directions, for which tangent PCA is not optimal.
    let fan = |k: usize| {
        let (sin, cos) = (0.3 * k as f64).sin_cos();
        let (a, b) = (1.0, 0.1);
        [a * cos * cos + b * sin * sin, (a - b) * sin * cos, (a - b) * sin * cos, a * sin * sin + b * cos * cos]
    };
    npy(&at.join("fan.npy"), &[8, 2, 2], &(0..8).flat_map(fan).collect::<Vec<f64>>());
    let cut = wgpca(&["gaussian", "fan.npy", "-o", "g.safetensors", "--max-evaluations", "2", "--json"], at);
    assert_eq!(cut.status.code(), Some(3), "{}", text(&cut.stderr));
    let done: Value = serde_json::from_str(&text(&cut.stdout)).unwrap();
    assert_eq!(done["status"], "max_iterations");
    assert!(text(&cut.stderr).contains("max evaluations") && at.join("g.safetensors").exists());
    let whole = json(&["gaussian", "fan.npy", "-o", "g.safetensors", "--json"], at);
    assert_eq!(whole["status"], "converged");
    assert!(whole["components"][0]["cost"].as_f64() <= done["components"][0]["cost"].as_f64());
}

/// Ctrl-C: the run stops long before the hours that it would take, says so, and leaves no file.
#[cfg(unix)]
#[test]
fn an_interrupted_fit_saves_nothing() {
    use std::io::{BufRead, BufReader, Read};
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let (n, d) = (500, 20);
    // I + vvᵀ with vectors that look random.
    let entry = |i: usize, k: usize| (1.0 + (i * d + k) as f64 * 12.9898).sin();
    let one =
        |i: usize| (0..d * d).map(move |p| entry(i, p / d) * entry(i, p % d) + f64::from(u8::from(p / d == p % d)));
    npy(&at.join("large.npy"), &[n, d, d], &(0..n).flat_map(one).collect::<Vec<f64>>());
    let mut child = Command::new(env!("CARGO_BIN_EXE_wgpca"))
        .args(["gaussian", "large.npy", "-o", "x.safetensors", "--components", "100", "--json"])
        .current_dir(at)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    assert_eq!(first, "500 centred Gaussians in R^20\n");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest}");
    assert_eq!(rest, "stopped; nothing was saved to x.safetensors\n");
    assert_eq!(text(&output.stdout), "{\"event\":\"interrupted\"}\n");
    assert_eq!(fs::read_dir(at).unwrap().count(), 1);
}

/// A distance known to ten digits, and closed forms.
#[test]
fn bures_prints_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    npy(&at.join("a.npy"), &[2, 2], &[1.0, 0.0, 0.0, 4.0]);
    fs::write(at.join("b.csv"), "weight,height\n2,1\n1,3\n").unwrap();
    let value = json(&["bures", "a.npy", "b.csv", "--json"], at);
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["distance", "distance_squared", "monge_map"]);
    close(&value["distance"], 0.648_046_380_1, 1e-10);
    close(&value["distance_squared"], 0.648_046_380_1f64.powi(2), 2e-10);
    // T A T = B.
    let t: Vec<f64> = (0..4).map(|p| value["monge_map"][p / 2][p % 2].as_f64().unwrap()).collect();
    let image = [t[0] * t[0] + 4.0 * t[1] * t[2], t[0] * t[1] + 4.0 * t[1] * t[3], t[1] * t[1] + 4.0 * t[3] * t[3]];
    assert!(image.iter().zip([2.0, 1.0, 3.0]).all(|(x, y)| (x - y).abs() < 1e-12), "{image:?}");
    assert_eq!(json(&["bures", "a.npy", "a.npy", "--json"], at)["distance"], 0.0);
    let people = run(&["bures", "a.npy", "b.csv"], at);
    assert!(people.contains("distance squared  0.41996") && people.contains("Monge map"), "{people}");

    // d = 1, as a text with one number.
    fs::write(at.join("one.txt"), "1\n").unwrap();
    fs::write(at.join("nine.txt"), "9\n").unwrap();
    let value = json(&["bures", "one.txt", "nine.txt", "--json"], at);
    close(&value["distance"], 2.0, 1e-15);
    close(&value["monge_map"][0][0], 3.0, 1e-15);

    // For a singular first matrix there is a distance but no map.
    fs::write(at.join("flat.txt"), "1 0\n0 0\n").unwrap();
    let output = wgpca(&["bures", "flat.txt", "a.npy", "--json"], at);
    assert!(output.status.success());
    let value: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    close(&value["distance"], 2.0, 1e-12);
    assert!(value["monge_map"].is_null() && text(&output.stderr).contains("flat.txt"));

    fs::write(at.join("rows.txt"), "1 0\n0 1\n0 0\n").unwrap();
    fs::write(at.join("skew.txt"), "1 0.5\n0.2 1\n").unwrap();
    fs::write(at.join("negative.txt"), "1 2\n2 1\n").unwrap();
    fs::write(at.join("word.txt"), "1 0\n0 x\n").unwrap();
    refused(&["bures", "a.npy", "one.txt"], at, "file", &["one.txt", "1 x 1", "2 x 2"]);
    refused(&["bures", "a.npy", "rows.txt"], at, "file", &["rows.txt", "(3, 2)"]);
    refused(&["bures", "skew.txt", "a.npy"], at, "covariance", &["skew.txt", "entry (1, 0)"]);
    refused(&["bures", "a.npy", "negative.txt"], at, "covariance", &["negative.txt", "eigenvalue", "-1.0"]);
    refused(&["bures", "word.txt", "a.npy"], at, "file", &["word.txt", "line 2", "column 2", "\"x\""]);
    refused(&["bures", "none.npy", "a.npy"], at, "io", &["none.npy"]);
}

/// Commands refuse options and inputs of the other kind of model.
#[test]
fn kinds_of_models_are_told_apart() {
    let (directory, _) = grid();
    let at = directory.path();
    run(&["gaussian", "grid.npy", "-o", "g.safetensors"], at);
    fs::create_dir(at.join("clouds")).unwrap();
    for i in 0..3 {
        let rows: String = (0..12).map(|k| format!("{},{}\n", k % 4 + i, k / 4)).collect();
        fs::write(at.join(format!("clouds/c{i}.csv")), rows).unwrap();
    }
    run(&["fit", "clouds", "-o", "c.safetensors", "--steps", "2", "--batch", "8", "--hidden", "4"], at);
    assert_eq!(json(&["info", "c.safetensors", "--json"], at)["kind"], "model");
    assert_eq!(json(&["info", "g.safetensors", "--json"], at)["kind"], "gaussian");
    refused(&["transform", "g.safetensors", "clouds/c0.csv"], at, "file", &["c0.csv", ".npy"]);
    refused(&["transform", "c.safetensors", "clouds", "--from-samples"], at, "parameter", &["from-samples"]);
    refused(
        &["evaluate", "c.safetensors", "clouds", "--measure-weights", "w.txt"],
        at,
        "parameter",
        &["measure-weights"],
    );
    npy(&at.join("three.npy"), &[2, 3, 3], &[2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0].repeat(2));
    refused(&["transform", "g.safetensors", "three.npy"], at, "parameter", &["3", "2"]);
    refused(&["fit", "clouds", "-o", "x.safetensors", "--resume", "g.safetensors"], at, "io", &["g.safetensors"]);
}

/// Covariances in an archive, with means and weights.
#[test]
fn archives_hold_all_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    npy(&at.join("c.npy"), &[3, 1, 1], &[1.0, 4.0, 9.0]);
    npy(&at.join("m.npy"), &[3, 1], &[0.0, 1.0, 2.0]);
    npy(&at.join("w.npy"), &[3], &[2.0, 1.0, 1.0]);
    let archive = |name: &str, entries: &[(&str, &str)]| {
        let mut zip = zip::ZipWriter::new(fs::File::create(at.join(name)).unwrap());
        for (entry, file) in entries {
            zip.start_file(format!("{entry}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut zip, &fs::read(at.join(file)).unwrap()).unwrap();
        }
        zip.finish().unwrap();
    };
    archive("all.npz", &[("covariances", "c.npy"), ("means", "m.npy"), ("weights", "w.npy")]);
    archive("only.npz", &[("sigma", "c.npy")]);
    archive("near.npz", &[("sigma", "c.npy"), ("mean", "m.npy"), ("w", "w.npy")]);
    archive("none.npz", &[("stack", "c.npy"), ("means", "m.npy")]);
    archive("wrong.npz", &[("covariances", "c.npy"), ("means", "w.npy"), ("weights", "c.npy")]);
    let fit = |file: &str, more: &[&str]| {
        json(&[&["gaussian", file, "-o", "g.safetensors", "--json"], more].concat(), at)["components"].clone()
    };
    assert_eq!(fit("all.npz", &[]), fit("c.npy", &["--means", "m.npy", "--measure-weights", "w.npy"]));
    assert_eq!(fit("only.npz", &[]), fit("c.npy", &[]));
    let out = ["-o", "x.safetensors"];
    assert_eq!(fit("near.npz", &[]), fit("all.npz", &[]));
    refused(
        &[&["gaussian", "none.npz"], &out[..]].concat(),
        at,
        "file",
        &["none.npz", "\"covariances\"", "means, stack"],
    );
    refused(
        &[&["gaussian", "wrong.npz"], &out[..]].concat(),
        at,
        "file",
        &["wrong.npz", "array \"weights\"", "(3, 1, 1)"],
    );
    refused(&[&["gaussian", "all.npz", "--means", "m.npy"], &out[..]].concat(), at, "parameter", &["means", "all.npz"]);
}

#[test]
fn help_shows_an_example_of_each_command() {
    let at = Path::new(".");
    for command in ["gaussian", "bures"] {
        assert!(run(&["--help"], at).contains(command));
        let own = run(&[command, "--help"], at);
        assert!(own.contains(&format!("Example:\n  wgpca {command}")), "{own}");
    }
}

/// The weather data of the repository, as in the README.
#[test]
fn the_example_of_the_help_runs() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/weather");
    if !data.exists() {
        return println!("skipped: data/weather is not in the package");
    }
    let directory = tempfile::tempdir().unwrap();
    let (covariances, states) = (data.join("covariances.npy"), data.join("states.txt"));
    let arguments = ["gaussian", covariances.to_str().unwrap(), "--names", states.to_str().unwrap()];
    let done =
        json(&[&arguments[..], &["-o", "w.safetensors", "--components", "2", "--json"]].concat(), directory.path());
    assert_eq!((&done["status"], &done["measures"][28]), (&"converged".into(), &"New Hampshire".into()));
    let svg = fs::read_to_string(directory.path().join("w.svg")).unwrap();
    assert!(svg.contains("New Hampshire"));
}
