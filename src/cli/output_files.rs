//! Writes points, gradients and models to files.

use super::output::exact;
use std::path::Path;
use wgpca::io::{check_writable, write_atomic, write_npy};
use wgpca::{Error, Result};

/// Formats of arrays by the ending of a file's name.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Npy,
    Csv,
}

fn format(path: &Path) -> Result<Format> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "npy" => Ok(Format::Npy),
        "csv" => Ok(Format::Csv),
        _ => Err(Error::file(
            path,
            "",
            "its ending is not one of a format that is written; end the name in .npy or .csv",
        )),
    }
}

/// Checks before the work that a file can be written and is not one of the files read.
pub fn check(path: &Path, read: &[&Path]) -> Result<()> {
    format(path)?;
    spare(path, read)?;
    check_writable(path)
}

/// Returns an error if the output is one of the inputs.
pub fn spare(output: &Path, inputs: &[&Path]) -> Result<()> {
    let same = |input: &&Path| matches!((input.canonicalize(), output.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if inputs.iter().any(same) {
        return Err(Error::file(output, "", "it is one of the inputs and would be overwritten; name another file"));
    }
    Ok(())
}

/// Checks before the fit, which can take hours, that the model can be written.
pub fn check_model(output: &Path, inputs: &[&Path]) -> Result<()> {
    let ending = output.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    if ending == "svg" {
        let problem =
            "the picture of the fit has this name; give the model another one, for instance model.safetensors";
        return Err(Error::file(output, "", problem));
    }
    spare(output, inputs)?;
    check_writable(output)
}

/// Rows of `d` numbers as text, with a header.
pub fn csv(rows: &[f64], d: usize) -> String {
    let header: Vec<String> = (1..=d).map(|k| format!("x{k}")).collect();
    let mut text = header.join(",") + "\n";
    for row in rows.chunks_exact(d) {
        let row: Vec<String> = row.iter().map(|&v| exact(v)).collect();
        text += &row.join(",");
        text.push('\n');
    }
    text
}

/// Writes rows of `d` numbers to a file, in the format of its ending.
pub fn write(path: &Path, rows: &[f64], d: usize) -> Result<()> {
    match format(path)? {
        Format::Npy => write_npy(path, rows, d),
        Format::Csv => write_atomic(path, csv(rows, d).as_bytes()),
    }
}
