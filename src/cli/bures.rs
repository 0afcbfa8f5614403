//! `wgpca bures`.

use super::args::Bures;
use super::console::Console;
use super::output::{emit, exact, line, matrix, table};
use super::process::Exit;
use serde_json::json;
use std::path::Path;
use wgpca::gaussian::{bures_distance, monge_map};
use wgpca::io::read_matrix;
use wgpca::{Error, Result};

pub fn run(args: &Bures, console: Console) -> Result<Exit> {
    let ((a, d), (b, other)) = (read_matrix(&args.a)?, read_matrix(&args.b)?);
    if d != other {
        let problem = format!("it is {other} x {other}, {} is {d} x {d}; give two of one size", args.a.display());
        return Err(Error::file(&args.b, "", problem));
    }
    let distance = bures_distance(&a, &b, d).map_err(|e| named(e, args))?;
    // Singular matrices have a distance but not necessarily a unique map.
    let map = match monge_map(&a, &b, d).map_err(|e| named(e, args)) {
        Ok(map) => Some(map),
        Err(e) => {
            console.warn(format!("there is no unique Monge map: {e}"));
            None
        }
    };
    if args.json {
        line(json!({
            "distance": distance,
            "distance_squared": distance * distance,
            "monge_map": map.map(|map| matrix(&map, d)),
        }))?;
        return Ok(Exit::Done);
    }
    emit(&format!("distance          {}\ndistance squared  {}\n", exact(distance), exact(distance * distance)))?;
    if let Some(map) = map {
        let row = |row: &[f64]| [String::new()].into_iter().chain(row.iter().map(|&x| exact(x))).collect();
        emit("Monge map\n")?;
        emit(&table(&map.chunks_exact(d).map(row).collect::<Vec<_>>()))?;
    }
    Ok(Exit::Done)
}

/// The same error with the file instead of the matrix.
fn named(error: Error, args: &Bures) -> Error {
    let file = |path: &Path| path.display().to_string();
    match error {
        Error::Covariance { matrix, entry, problem } => {
            let matrix = match matrix.as_str() {
                "the first matrix" => file(&args.a),
                "the second matrix" => file(&args.b),
                _ => matrix,
            };
            Error::Covariance { matrix, entry, problem }
        }
        other => other,
    }
}
