//! Wavefront objects (`.obj`): reads the lines of vertices (`v`) and faces (`f`) and skips all others.

use super::cloud::{Content, Fault, quote};
use super::mesh::{self, Surface, fan};
use super::text::decode;

/// The vertices, or points drawn from the faces.
pub(crate) fn read(bytes: &[u8], surface: Surface) -> Result<Content, Fault> {
    // A backslash at the end continues a line; a blank line is inserted to keep the numbers of the following lines.
    let text = decode(bytes)?;
    let mut points = Vec::new();
    let mut faces: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut more = false;
    let mut pending = String::new();
    let mut begun = 1;
    for (k, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        let (part, goes_on) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        if pending.is_empty() {
            begun = k + 1;
        }
        let line = if pending.is_empty() && !goes_on {
            part
        } else {
            pending.push_str(part);
            pending.push(' ');
            if goes_on {
                continue;
            }
            &pending
        };
        let mut words = line.split_whitespace();
        let at = |problem: String| Fault::at(format!("line {begun}"), problem);
        match words.next() {
            Some("v") => more |= vertex(words, &mut points).map_err(at)?,
            Some("f") if surface.is_some() => faces.push((begun, face(words, points.len() / 3).map_err(at)?)),
            _ => {}
        }
        pending.clear();
    }
    if points.is_empty() {
        return Err(
            String::from("it has no vertices (lines that begin with v); a cloud needs at least one point").into()
        );
    }
    let mut triangles = Vec::new();
    for (k, (line, corners)) in faces.iter().enumerate() {
        // A face can refer to vertices that are defined after it.
        fan(k, corners, points.len() / 3, &mut triangles).map_err(|p| Fault::at(format!("line {line}"), p))?;
    }
    let mut content = mesh::content(points, &["x", "y", "z"], &triangles, surface)?;
    if more {
        content.notice("the values after x, y and z of its vertices, such as colours, are left out");
    }
    Ok(content)
}

/// Adds a vertex; returns whether the line has more than three coordinates.
fn vertex<'a>(words: impl Iterator<Item = &'a str>, points: &mut Vec<f64>) -> Result<bool, String> {
    let before = points.len();
    for word in words {
        if points.len() - before == 3 {
            return Ok(true);
        }
        points.push(word.parse().map_err(|_| format!("{} is not a number; repair the vertex", quote(word)))?);
    }
    match points.len() - before {
        3 => Ok(false),
        n => Err(format!("the vertex has {n} of 3 coordinates; repair the line")),
    }
}

/// The corners of a face, counted from 0. The file counts from 1, or backwards from -1 for the last vertex before the face, with
/// the numbers of texture and normal after a slash.
fn face<'a>(words: impl Iterator<Item = &'a str>, so_far: usize) -> Result<Vec<f64>, String> {
    let corner = |word: &str| -> Result<f64, String> {
        let index = word.split('/').next().unwrap_or_default();
        match index.parse::<i64>() {
            Ok(k) if k > 0 => Ok(k as f64 - 1.0),
            Ok(k) if k < 0 && k.unsigned_abs() as usize <= so_far => Ok(so_far as f64 + k as f64),
            _ => Err(format!("{} is not a corner of a face; corners count from 1, or from -1 backwards", quote(word))),
        }
    };
    words.map(corner).collect()
}
