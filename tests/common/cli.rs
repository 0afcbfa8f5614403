//! Runs the command line and checks its output.

use std::path::Path;
use std::process::{Command, Output};

pub fn wgpca(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wgpca")).args(arguments).current_dir(directory).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Asserts exit code 0; returns standard output.
pub fn run(arguments: &[&str], directory: &Path) -> String {
    let output = wgpca(arguments, directory);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Asserts exit code 2, nothing on standard output, and one line on standard error that contains each of the parts: names
/// of files, measures, settings or options, and numbers. With `--json` the error must have this code; transform and sample
/// have no such option.
#[track_caller]
pub fn refused(arguments: &[&str], directory: &Path, code: &str, parts: &[&str]) {
    let output = wgpca(arguments, directory);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    // One line says what is wrong; lines before it can say how the input was read.
    let wrong = |line: &&str| line.starts_with("wgpca: ") && !line.starts_with("wgpca: warning: ");
    assert_eq!(stderr.trim_end().lines().filter(wrong).count(), 1, "{stderr}");
    assert!(stderr.trim_end().lines().last().is_some_and(|line| wrong(&line)), "{stderr}");
    parts.iter().for_each(|p| assert!(stderr.contains(p), "{p:?} is not in {stderr}"));
    assert!(output.stdout.is_empty());
    if !["transform", "sample"].contains(&arguments[0]) {
        let output = wgpca(&[arguments, &["--json"]].concat(), directory);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        let error: serde_json::Value = serde_json::from_str(stderr.trim_end().lines().last().unwrap()).expect(&stderr);
        assert_eq!(error["error"]["code"], code, "{arguments:?}: {stderr}");
        assert!(error["error"]["message"].is_string());
    }
}
