//! The command line for users and scripts: exit codes, the JSON and CSV formats, errors, Ctrl-C.

use crate::common::cli::{refused, run, text, wgpca};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Five clouds of 60 points in the plane, moved along a line, as CSV.
fn clouds() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("clouds")).unwrap();
    for i in 0..5 {
        let s = i as f64 / 2.0 - 1.0;
        let row = |k: usize| {
            let (r, a) = ((k as f64 / 60.0).sqrt(), 2.4 * k as f64);
            format!("{},{}\n", r * a.cos() + 2.0 * s, r * a.sin() * (1.0 + 0.3 * s))
        };
        let rows: String = (0..60).map(row).collect();
        fs::write(directory.path().join(format!("clouds/c{i}.csv")), format!("x,y\n{rows}")).unwrap();
    }
    directory
}

const QUICK: [&str; 9] = ["--steps", "30", "--batch", "40", "--hidden", "8,8", "--threads", "2", "--components"];

fn fit<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["fit", "clouds", "-o", "m.safetensors"], &QUICK[..], &["2"], more].concat()
}

#[test]
fn sinkhorn_prints_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    fs::write(at.join("x.csv"), "0 0\n1 0\n").unwrap();
    fs::write(at.join("y.csv"), "0 1\n10 10\n").unwrap();
    let json = run(&["sinkhorn", "x.csv", "y.csv", "--epsilon", "1e-3", "--json", "--gradient", "g.npy"], at);
    assert_eq!(json.lines().count(), 1);
    let value: Value = serde_json::from_str(&json).unwrap();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    let expected = ["divergence", "ot_xy", "ot_xx", "ot_yy", "epsilon", "iterations", "marginal_error", "status"]
        .map(String::from);
    assert_eq!(keys, expected.iter().collect::<Vec<_>>());
    // The exact transport cost of these clouds is (1 + 181) / 2.
    assert!((value["divergence"].as_f64().unwrap() - 91.0).abs() < 1e-8);
    assert_eq!(value["epsilon"], 1e-3);
    assert_eq!(value["status"], "converged");
    assert!(value["iterations"].as_u64().unwrap() >= 1 && value["marginal_error"].as_f64().unwrap() <= 1e-6);
    let gradient = &wgpca::io::read_file(&at.join("g.npy"), &Default::default()).unwrap()[0];
    // ∂S/∂x_1 = 2 · ½ · (x_1 − y_1) for the matching 0 ↔ 0 as ε → 0.
    assert!((gradient.points()[1] + 1.0).abs() < 1e-6 && gradient.len() == 2);
    assert!(run(&["sinkhorn", "x.csv", "y.csv"], at).contains("converged"));
}

/// If a solve does not converge, the status and the exit code say so, and the numbers are printed nevertheless.
#[test]
fn sinkhorn_says_when_it_did_not_converge() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let rows = |f: &dyn Fn(f64) -> f64| (0..30).map(|k| format!("{}\n", f(f64::from(k)))).collect::<String>();
    fs::write(at.join("x.txt"), rows(&|k| (12.9898 * k).sin())).unwrap();
    fs::write(at.join("y.txt"), rows(&|k| 1.0 + (4.1414 * k).cos())).unwrap();
    let arguments = ["sinkhorn", "x.txt", "y.txt", "--epsilon", "1e-5", "--max-iterations", "3", "--json"];
    let output = wgpca(&arguments, at);
    assert_eq!(output.status.code(), Some(3));
    let value: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(value["status"], "max_iterations");
    assert_eq!(value["iterations"], 3);
    assert!(value["divergence"].as_f64().unwrap().is_finite());
    assert!(text(&output.stderr).contains("converged"));
}

#[test]
fn a_fit_and_everything_after_it() {
    let directory = clouds();
    let at = directory.path();
    let log = run(&fit(&["--json"]), at);
    let lines: Vec<Value> = log.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let event = |name: &str| lines.iter().filter(|l| l["event"] == name).count();
    assert_eq!((event("started"), event("component"), event("done")), (2, 2, 1));
    assert_eq!((event("step"), event("evaluated")), (6, 2));
    for l in lines.iter().filter(|l| l["event"] == "step") {
        assert!(l["loss"].is_number() && l["orthogonality"].as_f64().unwrap().is_sign_positive(), "{l}");
    }
    let done = lines.last().unwrap();
    assert_eq!(done["event"], "done");
    assert_eq!(done["model"], "m.safetensors");
    assert!(done["seconds"].as_f64().unwrap() > 0.0);
    let components = done["components"].as_array().unwrap();
    assert_eq!(components.len(), 2);
    for c in components {
        for key in
            ["cost", "cost_se", "variation", "variation_se", "noise_floor", "explained", "explained_se", "together"]
        {
            assert!(c[key].is_number(), "{key}: {}", c[key]);
        }
        assert_eq!(c["points"]["most"], 30);
        assert!(c["time_se"].as_array().unwrap().iter().all(|se| se.as_f64().unwrap() >= 0.0));
        let ends = c["interval"].as_array().unwrap();
        assert!(ends.len() == 2 && ends.iter().all(|e| e.is_number() || e.is_null()));
        assert_eq!(c["status"], "completed");
    }
    // The clouds are 1 apart. (After such a short fit, the last can be at an end of the interval.)
    let times: Vec<f64> = components[0]["times"].as_array().unwrap().iter().map(|t| t.as_f64().unwrap()).collect();
    assert!(((times[3] - times[0]).abs() - 3.0).abs() < 0.3, "{times:?}");

    assert!(fs::read_to_string(at.join("m.svg")).unwrap().contains("<svg"));
    assert_eq!(done["picture"], "m.svg");

    let info: Value = serde_json::from_str(&run(&["info", "m.safetensors", "--json"], at)).unwrap();
    assert_eq!(info["components"], done["components"]);
    assert_eq!(info["measures"][0], "c0");
    assert!(run(&["info", "m.safetensors"], at).contains("component"));

    let csv = run(&["transform", "m.safetensors", "clouds"], at);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], "name,t1,residual1,t2,residual2,t1_se,t2_se");
    assert_eq!(rows.len(), 6);
    for (i, row) in rows[1..].iter().enumerate() {
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!(fields[0], format!("c{i}"));
        assert_eq!(fields[1].parse::<f64>().unwrap(), times[i]);
        assert_eq!(fields.len(), 7);
        assert!(fields[5].parse::<f64>().unwrap() >= 0.0);
    }
    assert_eq!(run(&["transform", "m.safetensors", "clouds/c3.csv"], at).lines().nth(1), rows.get(4).copied());

    // The limits of the solves can be set; if a solve does not converge, a message says what helps.
    let hurried = wgpca(&["transform", "m.safetensors", "clouds", "--max-iterations", "1", "--tolerance", "1e-6"], at);
    assert_eq!(hurried.status.code(), Some(3));
    assert!(text(&hurried.stderr).contains("--max-iterations"), "{}", text(&hurried.stderr));
    let patient = run(&["transform", "m.safetensors", "clouds", "--max-iterations", "5000", "--tolerance", "1e-5"], at);
    assert_eq!(patient.lines().count(), 6);
    for command in ["transform", "evaluate"] {
        refused(&[command, "m.safetensors", "clouds", "--tolerance", "0"], at, "parameter", &["tolerance"]);
        refused(&[command, "m.safetensors", "clouds", "--max-iterations", "0"], at, "parameter", &["max iterations"]);
    }
    refused(&fit(&["--tolerance", "-1"]), at, "parameter", &["tolerance"]);
    refused(&fit(&["--max-iterations", "0"]), at, "parameter", &["max iterations"]);

    let time = times[2].to_string();
    let sample = ["sample", "m.safetensors", "--component", "1", "--time", &time, "--points", "50", "-o", "s.npy"];
    assert_eq!(run(&sample, at), "");
    let drawn = &wgpca::io::read_file(&at.join("s.npy"), &Default::default()).unwrap()[0];
    assert_eq!((drawn.len(), drawn.dim()), (50, 2));
    let csv = run(&["sample", "m.safetensors", "--time", &time, "--points", "3"], at);
    assert_eq!((csv.lines().next(), csv.lines().count()), (Some("x1,x2"), 4));
    run(&["sample", "m.safetensors", "--time", &time, "--points", "3", "-o", "s.csv"], at);
    assert_eq!(fs::read_to_string(at.join("s.csv")).unwrap(), csv);
    refused(
        &["sample", "m.safetensors", "--time", &time, "-o", "m.safetensors"],
        at,
        "file",
        &["m.safetensors", ".npy"],
    );

    // Far away: the nearest time is an end of the interval, and a message says so.
    fs::write(at.join("far.csv"), "1000,0\n1001,1\n").unwrap();
    let far = wgpca(&["transform", "m.safetensors", "far.csv"], at);
    assert!(text(&far.stderr).contains("1 of 1 measures") && text(&far.stderr).contains("component 1"));

    let evaluation: Value =
        serde_json::from_str(&run(&["evaluate", "m.safetensors", "clouds", "--points", "60", "--json"], at)).unwrap();
    assert_eq!(evaluation["components"].as_array().unwrap().len(), 2);
    let variation = evaluation["variation"].as_f64().unwrap();
    assert!(evaluation["components"][0]["cost"].as_f64().unwrap() < 0.1 * variation);
    assert!(evaluation["components"][0]["explained"].as_f64().unwrap() > 0.9);
    assert_eq!((&evaluation["points"]["most"], &evaluation["weighted"]), (&30.into(), &0.into()));
    let evaluate = |seed: &str| run(&["evaluate", "m.safetensors", "clouds", "--seed", seed], at);
    assert!(evaluate("0").contains("explained ±") && evaluate("0").contains("variation"));
    assert_eq!(evaluate("0"), run(&["evaluate", "m.safetensors", "clouds"], at));
    assert_ne!(evaluate("0"), evaluate("1"));

    // A time outside the interval is an error unless clamping is requested.
    refused(&["sample", "m.safetensors", "--time", "1e9"], at, "time", &["1000000000", "--clamp"]);
    run(&["sample", "m.safetensors", "--time", "1e9", "--points", "2", "--clamp"], at);
    refused(&["sample", "m.safetensors", "--time", "0", "--component", "3"], at, "parameter", &["component 3"]);
    // A measure of another dimension than the model.
    fs::write(at.join("line.csv"), "1\n2\n").unwrap();
    refused(&["transform", "m.safetensors", "line.csv"], at, "points", &["line"]);
    // The same command writes the same files, for any number of threads.
    let first = (fs::read(at.join("m.safetensors")).unwrap(), fs::read(at.join("m.svg")).unwrap());
    let mut one = fit(&["--quiet"]);
    let place = one.iter().position(|a| *a == "--threads").unwrap();
    one[place + 1] = "1";
    run(&one, at);
    assert_eq!((fs::read(at.join("m.safetensors")).unwrap(), fs::read(at.join("m.svg")).unwrap()), first);
}

#[test]
fn bad_input_is_one_line_and_leaves_nothing() {
    let directory = clouds();
    let at = directory.path();
    // Outputs that would overwrite something.
    refused(&["fit", "clouds", "-o", "x.svg"], at, "file", &["x.svg"]);
    refused(&["fit", "clouds/c0.csv", "clouds/c1.csv", "-o", "clouds/c1.csv"], at, "file", &["c1.csv"]);
    let left = || {
        let mut names: Vec<_> = fs::read_dir(at).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = left();
    refused(&["fit", "nowhere", "-o", "m.safetensors"], at, "io", &["nowhere"]);
    refused(&["fit", "clouds/c0.csv", "-o", "m.safetensors"], at, "parameter", &["c0"]);
    refused(&["fit", "clouds", "-o", "no/such/m.safetensors"], at, "file", &["no/such"]);
    refused(&["fit", "clouds", "-o", "m.safetensors", "--epsilon", "-1"], at, "parameter", &["epsilon", "-1"]);
    refused(&["fit", "clouds", "-q", "-o", "m.safetensors", "--init", "tangent(7)"], at, "parameter", &["tangent(7)"]);
    refused(&["fit", "--resume", "none"], at, "file", &["none"]);
    refused(&["transform", "clouds/c0.csv", "clouds"], at, "file", &["c0.csv"]);
    refused(&["sinkhorn", "clouds/c0.csv", "clouds/c0.csv", "--tolerance", "0"], at, "parameter", &["tolerance"]);
    let negative = wgpca(&["fit", "clouds", "-o", "m.safetensors", "--components", "-1"], at);
    assert!(negative.status.code() == Some(2) && text(&negative.stderr).contains("--components"));
    refused(&["fit", "clouds", "-o", "m.safetensors", "--checkpoint", "clouds/c0.csv"], at, "io", &["c0.csv"]);
    refused(&["fit", "clouds", "-o", "m.safetensors", "--epsilon", "1e9"], at, "parameter", &["epsilon", "1.0e9"]);
    refused(&["fit", "clouds", "-o", "m.safetensors", "--surface", "100"], at, "parameter", &["surface"]);
    refused(&["fit", "clouds", "./clouds/c1.csv", "-o", "m.safetensors"], at, "file", &["./clouds/c1.csv"]);
    refused(&["info", "clouds"], at, "io", &["clouds"]);
    refused(&["info", "none"], at, "io", &["none"]);
    let gradient = |to: &'static str| ["sinkhorn", "clouds/c0.csv", "clouds/c1.csv", "--gradient", to];
    refused(&gradient("clouds/c0.csv"), at, "file", &["clouds/c0.csv"]);
    refused(&gradient("g.txt"), at, "file", &["g.txt", ".npy", ".csv"]);
    refused(&gradient("no/such.csv"), at, "file", &["no/such.csv"]);
    fs::write(at.join("clouds/far.csv"), "1e300,0\n0,1e300\n").unwrap();
    refused(&["sinkhorn", "clouds/c0.csv", "clouds/far.csv"], at, "points", &["f64"]);
    fs::remove_file(at.join("clouds/far.csv")).unwrap();
    fs::write(at.join("clouds/c5.csv"), "x,y\n1,2\n3,nan\n").unwrap();
    refused(&["fit", "clouds", "-o", "m.safetensors"], at, "file", &["c5.csv", "line 3", "y", "nan"]);
    assert_eq!(left(), before);
}

#[test]
fn help_shows_an_example_of_each_command() {
    let at = Path::new(".");
    let help = run(&["--help"], at);
    for command in ["fit", "transform", "sample", "evaluate", "info", "sinkhorn"] {
        assert!(help.contains(command));
        let own = run(&[command, "--help"], at);
        assert!(own.contains(&format!("Example:\n  wgpca {command}")), "{own}");
    }
    assert_eq!(run(&["--version"], at), format!("wgpca {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(wgpca(&["fit"], at).status.code(), Some(2));
    assert_eq!(wgpca(&["frobnicate"], at).status.code(), Some(2));
}

/// Ctrl-C: the step is discarded, the state before it is saved, the command to resume is printed; resumed, the fit makes the same
/// model.
#[cfg(unix)]
#[test]
fn an_interrupted_fit_goes_on_as_if_never_stopped() {
    use std::io::{BufRead, BufReader};
    let directory = clouds();
    let at = directory.path();
    run(&fit(&[]), at);
    let whole = fs::read(at.join("m.safetensors")).unwrap();
    fs::remove_file(at.join("m.safetensors")).unwrap();

    let mut child = Command::new(env!("CARGO_BIN_EXE_wgpca"))
        .args(fit(&["--json"]))
        .current_dir(at)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Stop it during the first component.
    lines.by_ref().map(Result::unwrap).find(|l| l.contains("\"step\":11")).expect("a step");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(rest.last().unwrap().contains("interrupted"));
    let message = text(&output.stderr);
    assert!(message.contains("--resume m.checkpoint"), "{message}");
    assert!(!at.join("m.safetensors").exists());

    run(&["fit", "clouds", "-o", "m.safetensors", "--resume", "m.checkpoint"], at);
    assert_eq!(fs::read(at.join("m.safetensors")).unwrap(), whole);
    // The settings of the checkpoint are used; others given with it are an error.
    let both = ["fit", "clouds", "-o", "m.safetensors", "--resume", "m.checkpoint", "--steps", "5"];
    refused(&both, at, "file", &["m.checkpoint", "steps", "[30,30]", "[5,5]"]);
}

/// If the reader of standard output closes it, the program ends without an error message.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_panic() {
    let directory = clouds();
    let at = directory.path();
    run(&fit(&[]), at);
    let command = format!(
        "{} sample m.safetensors --time 0 --points 200000 --clamp 2>err.txt | head -n 1; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_wgpca")
    );
    let output = Command::new("bash").args(["-c", &command]).current_dir(at).output().unwrap();
    assert_eq!(text(&output.stdout), "x1,x2\n0\n");
    assert_eq!(fs::read_to_string(at.join("err.txt")).unwrap(), "");
}
