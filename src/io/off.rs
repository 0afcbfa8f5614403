//! Object file format (`.off`): a keyword, counts, vertices, faces, all as lines of text.

use super::cloud::{Cloud, Fault, Part, quote};
use super::mesh::{Surface, fan, sample};
use super::text::decode;

/// Lines that hold something, with their numbers.
struct Lines<'a> {
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
    last: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        for (k, line) in self.rest.by_ref() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                self.last = k + 1;
                return Some(line);
            }
        }
        None
    }

    /// Something wrong with the line that came last.
    fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::at(format!("line {}", self.last), problem)
    }

    /// The next line of an element that the counts promise.
    fn promised(&mut self, (k, count): (usize, usize), what: &str) -> Result<&'a str, Fault> {
        self.next().ok_or_else(|| {
            self.fault(format!("the file ends after {k} of {count} {what}; it is truncated or its counts are wrong"))
        })
    }
}

/// The vertices, or points on the faces.
pub(super) fn read(bytes: &[u8], surface: Surface) -> Result<Cloud, Fault> {
    let text = decode(bytes)?;
    let mut lines = Lines { rest: text.lines().enumerate(), last: 1 };
    let (widths, counts) = keyword(&mut lines)?;
    let [vertices, faces] = self::counts(counts, &mut lines)?;
    if vertices == 0 {
        return Err(lines.fault("it has no vertices; a cloud needs at least one point"));
    }
    let mut points = Vec::new();
    let mut row = Vec::new();
    for k in 0..vertices {
        let line = lines.promised((k, vertices), "vertices")?;
        numbers(line.split_whitespace(), &mut row).map_err(|problem| lines.fault(problem))?;
        if !(widths.0..=widths.1).contains(&row.len()) {
            let expected = if widths.0 == widths.1 { "3".into() } else { format!("{} to {}", widths.0, widths.1) };
            let problem = format!("vertex {k} has {} numbers, the format of its first line {expected}", row.len());
            return Err(lines.fault(format!("{problem}; put one vertex on a line")));
        }
        points.extend_from_slice(&row[..3]);
    }
    let mut triangles = Vec::new();
    for k in 0..faces {
        let line = lines.promised((k, faces), "faces")?;
        if surface.is_some() {
            face(line, &mut row).map_err(|problem| lines.fault(problem))?;
            fan(k, &row, vertices, &mut triangles).map_err(|problem| lines.fault(problem))?;
        }
    }
    if lines.next().is_some() {
        let problem = format!(
            "the file goes on after the last element; its counts promise {vertices} vertices and {faces} faces"
        );
        return Err(lines.fault(problem));
    }
    if let Some(surface) = surface {
        points = sample(&points, 3, &triangles, surface)?;
    }
    Ok(Cloud { part: Part::Whole, points, dim: 3, weights: None })
}

/// The least and most numbers that a vertex has, and what follows the keyword on its line: ModelNet has files that go
/// on with the counts, even without a blank.
fn keyword<'a>(lines: &mut Lines<'a>) -> Result<((usize, usize), &'a str), Fault> {
    let Some(line) = lines.next() else {
        return Err(lines.fault("the file is empty; an .off file begins with OFF"));
    };
    let Some((prefix, rest)) = line.split_once("OFF") else {
        return Err(lines.fault("it does not begin with OFF; check that the file is in the object file format"));
    };
    let texture = prefix.strip_prefix("ST");
    let colour = texture.unwrap_or(prefix).strip_prefix('C');
    let normal = colour.or(texture).unwrap_or(prefix).strip_prefix('N');
    let left = normal.or(colour).or(texture).unwrap_or(prefix);
    if !left.is_empty() || rest.trim_start().starts_with("BINARY") {
        return Err(
            lines.fault(format!("{} is not read; save the mesh as plain OFF text with 3 coordinates", quote(line)))
        );
    }
    let least =
        3 + 2 * usize::from(texture.is_some()) + 3 * (usize::from(colour.is_some()) + usize::from(normal.is_some()));
    Ok(((least, least + usize::from(colour.is_some())), rest.trim()))
}

/// Numbers of vertices and faces. That of the edges may be missing and means nothing.
fn counts(first: &str, lines: &mut Lines) -> Result<[usize; 2], Fault> {
    let line = match first {
        "" => lines
            .next()
            .ok_or_else(|| lines.fault("the file ends before the counts of vertices and faces; it is truncated"))?,
        line => line,
    };
    let fields: Result<Vec<usize>, _> = line.split_whitespace().map(str::parse).collect();
    match fields.as_deref() {
        Ok([vertices, faces] | [vertices, faces, _]) => Ok([*vertices, *faces]),
        _ => Err(lines
            .fault(format!("{} are not the counts of vertices, faces and edges; write three integers", quote(line)))),
    }
}

/// The numbers of a line.
fn numbers<'a>(fields: impl Iterator<Item = &'a str>, to: &mut Vec<f64>) -> Result<(), String> {
    to.clear();
    for field in fields {
        to.push(field.parse().map_err(|_| format!("{} is not a number; repair the line", quote(field)))?);
    }
    Ok(())
}

/// The corners of a face, whose colour may follow.
fn face(line: &str, corners: &mut Vec<f64>) -> Result<(), String> {
    let mut fields = line.split_whitespace();
    let count: usize = fields
        .next()
        .and_then(|f| f.parse().ok())
        .ok_or("a face begins with its number of corners; repair the line")?;
    numbers(fields.take(count), corners)?;
    if corners.len() < count {
        return Err(format!("the face has {} of {count} corners; repair the line", corners.len()));
    }
    Ok(())
}
