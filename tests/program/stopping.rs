//! Stopping the program: by Ctrl-C and SIGTERM in every phase, by a pipe or a disk that fails; and resuming it.
//! Bounds on times are generous: they only distinguish stopping from not stopping.

use crate::common::cli::{refused, run, text, wgpca};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const QUICK: [&str; 6] = ["--batch", "40", "--hidden", "8,8", "--threads", "2"];

/// `n` clouds of `m` points in the plane, moved and widened along a line.
fn clouds(n: usize, m: usize) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("clouds")).unwrap();
    for i in 0..n {
        let s = 2.0 * i as f64 / (n - 1) as f64 - 1.0;
        let row = |k: usize| {
            let (r, a) = ((k as f64 / m as f64).sqrt(), 2.4 * k as f64);
            format!("{},{}\n", r * a.cos() + 2.0 * s, r * a.sin() * (1.0 + 0.3 * s))
        };
        let rows: String = (0..m).map(row).collect();
        fs::write(directory.path().join(format!("clouds/c{i:02}.csv")), format!("x,y\n{rows}")).unwrap();
    }
    directory
}

fn start(arguments: &[&str], at: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpca"));
    command.args(arguments).current_dir(at).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Reads standard output up to a line with these words.
fn until(child: &mut Child, words: &str) -> BufReader<std::process::ChildStdout> {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "no {words:?}");
    }
    lines
}

/// Waits until the process ends after a signal: soon, and with the exit code of a stop.
fn ends(child: Child) -> Output {
    let asked = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    output
}

/// The last line printed by a stop: the command that resumes the fit.
fn command_of(stderr: &str) -> String {
    stderr.lines().last().unwrap().trim().to_string()
}

fn shell(command: &str, at: &Path) {
    let output = Command::new("sh").args(["-c", command]).current_dir(at).output().unwrap();
    assert!(output.status.success(), "{command}: {}", text(&output.stderr));
}

/// Tetrahedra of different widths in a directory whose name a shell would split.
fn meshes(at: &Path) {
    fs::create_dir(at.join("my $meshes")).unwrap();
    for i in 0..5 {
        let w = 1.0 + 0.3 * f64::from(i);
        let off = format!("OFF\n4 4 0\n0 0 0\n{w} 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 3\n3 0 2 3\n3 1 2 3\n");
        fs::write(at.join(format!("my $meshes/m{i}.off")), off).unwrap();
    }
    fs::create_dir(at.join("it's out")).unwrap();
}

/// The printed command runs unchanged: names are quoted, options of the input repeated. The checkpoint without these is also
/// sufficient.
#[test]
fn the_printed_command_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    meshes(at);
    let arguments = |output: &'static str| {
        let own = ["fit", "my $meshes", "--surface", "60", "--surface-seed", "3", "-o", output, "--steps", "150"];
        [&own[..], &QUICK].concat()
    };
    run(&arguments("whole.safetensors"), at);
    let whole = fs::read(at.join("whole.safetensors")).unwrap();

    let mut child = start(&[&arguments("it's out/m.safetensors")[..], &["--json"]].concat(), at);
    let mut rest = until(&mut child, "\"step\":11");
    signal(&child, "-TERM");
    let output = ends(child);
    let mut lines = String::new();
    rest.read_to_string(&mut lines).unwrap();
    let command = command_of(&text(&output.stderr));
    for part in ["'my $meshes'", "--surface 60", "--surface-seed 3", r"'it'\''s out/m.safetensors'", "--resume"] {
        assert!(command.contains(part), "{part}: {command}");
    }
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["command"]), (&"interrupted".into(), &command.as_str().into()));

    let made = at.join("it's out/m.safetensors");
    assert!(!made.exists());
    shell(&command, at);
    assert_eq!(fs::read(&made).unwrap(), whole);
    fs::remove_file(&made).unwrap();
    run(&["fit", "--resume", "it's out/m.checkpoint", "--threads", "2"], at);
    assert_eq!(fs::read(&made).unwrap(), whole);

    // A message says what differs.
    let resume = ["fit", "my $meshes", "-o", "x.safetensors", "--resume", "it's out/m.checkpoint"];
    refused(&resume, at, "file", &["'my $meshes' --surface 60 --surface-seed 3"]);
    let other = [&resume[..], &["--surface", "60", "--surface-seed", "3", "--steps", "151"]].concat();
    refused(&other, at, "file", &["steps", "[150,150]", "[151,151]"]);
    refused(&["fit", "--resume", "it's out/m.checkpoint", "--surface", "9"], at, "parameter", &["inputs", "--surface"]);
}

/// Starts, evaluations and final projections of many points take seconds; a stop waits for none of them.
#[test]
fn a_stop_is_heard_in_every_phase() {
    let directory = clouds(24, 2500);
    let at = directory.path();
    let fit = ["fit", "clouds", "-o", "m.safetensors", "--json", "--batch", "2000", "--components", "2"];
    let stopped = |child: Child| {
        signal(&child, "-INT");
        let output = ends(child);
        command_of(&text(&output.stderr));
        assert!(at.join("m.checkpoint/checkpoint.safetensors").exists());
        fs::remove_dir_all(at.join("m.checkpoint")).unwrap();
    };
    // During the start.
    let mut child = start(&fit, at);
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("24 clouds") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0);
    }
    thread::sleep(Duration::from_millis(100));
    child.stderr = Some(said.into_inner());
    stopped(child);
    // During a step or between two.
    let mut child = start(&[&fit[..], &["--init", "random"]].concat(), at);
    let lines = until(&mut child, "\"event\":\"step\"");
    stopped(child);
    drop(lines);
    // During the projections at the end of a component.
    let mut child = start(&[&fit[..], &["--init", "random", "--steps", "0"]].concat(), at);
    let lines = until(&mut child, "\"event\":\"started\"");
    thread::sleep(Duration::from_millis(200));
    stopped(child);
    drop(lines);
}

/// Commands whose result is their output have nothing to save and end at once.
#[test]
fn other_commands_end_at_once() {
    let directory = clouds(2, 4000);
    let at = directory.path();
    let sinkhorn = ["sinkhorn", "clouds/c00.csv", "clouds/c01.csv", "--epsilon", "1e-5", "--tolerance", "1e-15"];
    let child = start(&[&sinkhorn[..], &["--max-iterations", "1000000"]].concat(), at);
    thread::sleep(Duration::from_millis(300));
    // If the tests run in the background of a shell, Ctrl-C is ignored there, so SIGTERM is used.
    signal(&child, "-TERM");
    let asked = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10));
    assert_eq!(output.status.signal(), Some(15), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
}

/// If the reader of the events closes the pipe, the fit continues, with one warning.
#[test]
fn a_closed_pipe_does_not_end_a_fit() {
    let directory = clouds(5, 60);
    let at = directory.path();
    let fit = [&["fit", "clouds", "-o", "m.safetensors", "--steps", "30"], &QUICK[..]].concat();
    run(&fit, at);
    let whole = fs::read(at.join("m.safetensors")).unwrap();
    for more in [&["--json"][..], &[]] {
        fs::remove_file(at.join("m.safetensors")).unwrap();
        let mut child = start(&[&fit[..], more].concat(), at);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(said.matches("warning").count(), 1, "{said}");
        assert!(said.contains("standard output"), "{said}");
        assert_eq!(fs::read(at.join("m.safetensors")).unwrap(), whole);
    }
    // The same for a closed standard error.
    fs::remove_file(at.join("m.safetensors")).unwrap();
    let mut child = start(&fit, at);
    drop((child.stdout.take(), child.stderr.take()));
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read(at.join("m.safetensors")).unwrap(), whole);
    // The result of a fit of Gaussians is a file too.
    let mut child = start(&["gaussian", "clouds", "--from-samples", "-o", "g.safetensors"], at);
    drop(child.stdout.take());
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(at.join("g.safetensors").exists());
}

/// If the picture cannot be written, only the picture is missing.
#[test]
fn a_picture_that_fails_is_a_warning() {
    let directory = clouds(5, 60);
    let at = directory.path();
    fs::create_dir(at.join("m.svg")).unwrap();
    let fit = [&["fit", "clouds", "-o", "m.safetensors", "--steps", "5"], &QUICK[..]].concat();
    for fit in [&fit[..], &["gaussian", "clouds", "--from-samples", "-o", "m.safetensors"]] {
        let output = wgpca(fit, at);
        let (said, table) = (text(&output.stderr), text(&output.stdout));
        assert!(output.status.success(), "{said}");
        assert!(said.contains("wgpca: warning: ") && said.contains("m.svg"), "{said}");
        assert!(table.contains("model    m.safetensors") && !table.contains("picture"), "{table}");
        run(&["info", "m.safetensors"], at);
        let json = run(&[fit, &["--json"]].concat(), at);
        assert!(json.lines().last().unwrap().contains("\"picture\":null"), "{json}");
    }
}

/// If the directory for checkpoints disappears during the fit, a warning says so and the model is the same.
#[test]
fn a_checkpoint_that_fails_does_not_end_a_fit() {
    let directory = clouds(5, 60);
    let at = directory.path();
    let fit = [&["fit", "clouds", "-o", "m.safetensors", "--steps", "60"], &QUICK[..]].concat();
    run(&fit, at);
    let whole = fs::read(at.join("m.safetensors")).unwrap();
    fs::remove_file(at.join("m.safetensors")).unwrap();
    let mut child = start(&[&fit[..], &["--json", "--checkpoint", "c", "--checkpoint-every", "0"]].concat(), at);
    let mut rest = until(&mut child, "\"event\":\"started\"");
    signal(&child, "-STOP");
    fs::rename(at.join("c"), at.join("away")).unwrap();
    fs::write(at.join("c"), "in its place").unwrap();
    signal(&child, "-CONT");
    let mut lines = String::new();
    rest.read_to_string(&mut lines).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    // Twice if a checkpoint was being saved at that moment.
    assert!((1..=2).contains(&said.matches("wgpca: warning: ").count()), "{said}");
    assert!(lines.lines().last().unwrap().contains("\"event\":\"done\""));
    assert_eq!(fs::read(at.join("m.safetensors")).unwrap(), whole);
}

/// Only one process can use a directory of checkpoints; a crash leaves no lock behind.
#[test]
fn a_directory_of_checkpoints_is_not_shared() {
    let directory = clouds(5, 60);
    let at = directory.path();
    let fit = [&["fit", "clouds", "--checkpoint", "c", "-o", "a.safetensors"], &QUICK[..]].concat();
    let mut child = start(&[&fit[..], &["--steps", "1000000", "--json"]].concat(), at);
    let lines = until(&mut child, "\"event\":\"step\"");
    // The first checkpoint is saved at once.
    assert!(at.join("c/checkpoint.safetensors").exists());
    let whose = format!("process {}", child.id());
    refused(
        &["fit", "clouds", "-o", "b.safetensors", "--steps", "5", "--checkpoint", "c"],
        at,
        "file",
        &["a.safetensors", &whose],
    );
    refused(&["fit", "clouds", "-o", "b.safetensors", "--resume", "c"], at, "file", &["a.safetensors", &whose]);
    signal(&child, "-KILL");
    child.wait().unwrap();
    drop(lines);
    let again = [&fit[..], &["--steps", "5"]].concat();
    run(&again, at);
    let whole = fs::read(at.join("a.safetensors")).unwrap();
    fs::remove_file(at.join("a.safetensors")).unwrap();
    // One command for all runs of a job: it starts a new fit if nothing was saved, and resumes otherwise.
    fs::remove_dir_all(at.join("c")).unwrap();
    let job = [&again[..], &["--resume", "c"]].concat();
    for _ in 0..2 {
        let output = wgpca(&job, at);
        let of_checkpoint = |line: &str| line.contains("checkpoint") && line.contains(" c ");
        assert!(output.status.success() && text(&output.stderr).lines().any(of_checkpoint), "{}", text(&output.stderr));
        assert_eq!(fs::read(at.join("a.safetensors")).unwrap(), whole);
        fs::remove_file(at.join("a.safetensors")).unwrap();
    }
    refused(&["fit", "--resume", "none"], at, "file", &["none", "inputs"]);
}

#[test]
fn threads_are_as_many_as_there_are_processors() {
    let directory = clouds(5, 60);
    let at = directory.path();
    let fit = ["fit", "clouds", "-o", "m.safetensors", "--steps", "5", "--batch", "40", "--hidden", "8,8"];
    run(&[&fit[..], &["--threads", "1"]].concat(), at);
    let whole = fs::read(at.join("m.safetensors")).unwrap();
    for threads in ["1000", "100000"] {
        let output = wgpca(&[&fit[..], &["--threads", threads]].concat(), at);
        let said = text(&output.stderr);
        assert!(said.contains(&format!("{threads} threads")), "{said}");
        assert_eq!(fs::read(at.join("m.safetensors")).unwrap(), whole);
    }
    refused(&[&fit[..], &["--components", "50"]].concat(), at, "parameter", &["components", "50", "4"]);
}

/// No message names an option that the command does not have.
#[test]
fn messages_speak_of_their_command() {
    let directory = clouds(5, 60);
    let at = directory.path();
    run(&[&["fit", "clouds", "-o", "m.safetensors", "--steps", "5"], &QUICK[..]].concat(), at);
    run(&["gaussian", "clouds", "--from-samples", "-o", "g.safetensors"], at);
    fs::write(at.join("line.csv"), "1\n2\n").unwrap();
    fs::write(at.join("far.csv"), "x,y\n1000,0\n1001,1\n").unwrap();
    let (fit, x, y) = (["fit", "clouds", "-o", "x.safetensors"], "clouds/c00.csv", "clouds/c01.csv");
    let with = |more: &[&'static str]| [&fit[..], more].concat();
    let calls = [
        vec!["sample", "m.safetensors", "--time", "1e9"],
        vec!["sample", "g.safetensors", "--time", "1e9"],
        vec!["sample", "m.safetensors", "--time", "0", "--component", "9"],
        vec!["transform", "m.safetensors", "line.csv"],
        vec!["transform", "m.safetensors", "far.csv"],
        vec!["transform", "g.safetensors", "clouds"],
        vec!["transform", "m.safetensors", "clouds", "--from-samples"],
        vec!["transform", "m.safetensors", "clouds", "--device", "cuda:99"],
        vec!["evaluate", "m.safetensors", "clouds", "--points", "8"],
        vec!["evaluate", "m.safetensors", "clouds", "--points", "1"],
        vec!["evaluate", "g.safetensors", "clouds"],
        vec!["gaussian", "clouds", "-o", "x.safetensors"],
        vec!["gaussian", x, "-o", "x.safetensors"],
        vec!["gaussian", x, "-o", "x.safetensors", "--surface", "9"],
        vec!["gaussian", "clouds", "--from-samples", "-o", "x.safetensors", "--components", "99"],
        vec!["sinkhorn", x, y, "--epsilon", "1e-9", "--max-iterations", "2"],
        vec!["sinkhorn", x, y, "--device", "cuda:99"],
        vec!["sinkhorn", x, "line.csv"],
        vec!["info", "clouds"],
        vec!["info", "--devices"],
        vec!["bures", x, "line.csv"],
        with(&["--epsilon", "1e9"]),
        with(&["--device", "cuda:99"]),
        with(&["--surface", "9"]),
        with(&["--components", "50"]),
        with(&["--init", "tangent(7)"]),
        with(&["--batch", "1"]),
        with(&["--steps", "3", "--batch", "4", "--hidden", "4", "--epsilon", "1e-7"]),
        with(&["--checkpoint", x]),
    ];
    for call in calls {
        let output = wgpca(&call, at);
        let (said, help) = (text(&output.stderr), run(&[call[0], "--help"], at));
        for word in said.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).filter(|w| w.starts_with("--")) {
            let own = |w: &str| help.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).any(|h| h == w);
            assert!(word.len() == 2 || own(word), "{call:?} speaks of {word}: {said}");
        }
    }
}
