//! Object file format (`.off`): a keyword, counts, vertices and faces as words of text.
//!
//! A vertex or a face can extend over several lines. Files in which vertices do not end at line ends are read only if everything
//! else is consistent, because one missing or extra number would shift all that follow.

use super::cloud::{Content, Fault, quote};
use super::mesh::{self, Surface, fan};
use super::text::decode;
use super::tokens::Tokens;

/// The vertices, or points drawn from the faces.
pub(crate) fn read(bytes: &[u8], surface: Surface) -> Result<Content, Fault> {
    let text = decode(bytes)?;
    let mut tokens = Tokens::new(&text, Some('#'), 0);
    let (widths, counts) = keyword(&mut tokens)?;
    let [count, faces] = self::counts(counts, &mut tokens)?;
    if count == 0 {
        return Err(tokens.fault("it has no vertices; a cloud needs at least one point"));
    }
    let (points, odd) = vertices(&mut tokens, count, widths)?;
    let triangles = triangles(&mut tokens, count, faces);
    match (odd, triangles) {
        (Some(odd), Err(_)) => Err(odd),
        (None, Err(fault)) if surface.is_some() => Err(fault),
        (_, triangles) => {
            let (triangles, spoilt) = triangles.map_or_else(|fault| (vec![], Some(fault)), |t| (t, None));
            let mut content = mesh::content(points, &["x", "y", "z"], &triangles, surface)?;
            if let Some(fault) = spoilt {
                content.remarks.push(mesh::spoilt(&fault));
            }
            Ok(content)
        }
    }
}

/// The vertices, and the fault to report if one of them does not end at the end of a line.
fn vertices(
    tokens: &mut Tokens,
    count: usize,
    (least, most): (usize, usize),
) -> Result<(Vec<f64>, Option<Fault>), Fault> {
    let mut points = Vec::new();
    let mut odd = None;
    let expected = if least == most { "3".into() } else { format!("{least} to {most}") };
    let wrong = |tokens: &Tokens, k: usize, numbers: usize| {
        let problem = format!("vertex {k} has {numbers} numbers, the format of its first line {expected}");
        tokens.fault(format!("{problem}; put one vertex on a line"))
    };
    for k in 0..count {
        let begins = tokens.left() == 0;
        for i in 0..least {
            let value = match tokens.number().map_err(|problem| odd.take().unwrap_or(tokens.fault(problem)))? {
                Some(value) => value,
                None if odd.is_some() => return Err(odd.unwrap_or_else(|| wrong(tokens, k, i))),
                None if i > 0 => return Err(wrong(tokens, k, i)),
                None => {
                    let problem = "vertices; it is truncated or its counts are wrong";
                    return Err(tokens.fault(format!("the file ends after {k} of {count} {problem}")));
                }
            };
            if i < 3 {
                points.push(value);
            }
        }
        let left = tokens.left();
        if left > 0 && left <= most - least {
            tokens.skip_line();
        } else if (left > 0 || !begins) && odd.is_none() {
            odd = Some(wrong(tokens, k, least + left));
        }
    }
    match odd {
        Some(odd) if tokens.left() > 0 => Err(odd),
        odd => Ok((points, odd)),
    }
}

/// The triangles of all faces; the file must end after them.
fn triangles(tokens: &mut Tokens, vertices: usize, faces: usize) -> Result<Vec<[usize; 3]>, Fault> {
    let mut triangles = Vec::new();
    let mut corners = Vec::new();
    for k in 0..faces {
        face(tokens, (k, faces), &mut corners)?;
        fan(k, &corners, vertices, &mut triangles).map_err(|problem| tokens.fault(problem))?;
    }
    if tokens.next().is_some() {
        let problem =
            format!("data follow after the last element; its counts are {vertices} vertices and {faces} faces");
        return Err(tokens.fault(problem));
    }
    Ok(triangles)
}

/// The least and greatest number of values of a vertex, and the text after the keyword on its line. In some files of ModelNet the
/// counts follow there, even without a blank.
fn keyword<'a>(lines: &mut Tokens<'a>) -> Result<((usize, usize), &'a str), Fault> {
    let Some(line) = lines.next_line() else {
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

/// The numbers of vertices and faces. The number of edges can be missing and is not used.
fn counts(first: &str, lines: &mut Tokens) -> Result<[usize; 2], Fault> {
    let line = match first {
        "" => lines
            .next_line()
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

/// The corners of a face. Further words on the line, such as a colour, are skipped.
fn face(tokens: &mut Tokens, (k, faces): (usize, usize), corners: &mut Vec<f64>) -> Result<(), Fault> {
    let ends = |tokens: &Tokens| {
        tokens.fault(format!("the file ends after {k} of {faces} faces; it is truncated or its counts are wrong"))
    };
    let Some(word) = tokens.next() else { return Err(ends(tokens)) };
    let count: usize =
        word.parse().map_err(|_| tokens.fault("a face begins with its number of corners; repair the line"))?;
    corners.clear();
    while corners.len() < count {
        match tokens.number().map_err(|problem| tokens.fault(problem))? {
            Some(corner) => corners.push(corner),
            None => {
                let problem = format!("the face has {} of {count} corners; repair the line", corners.len());
                return Err(tokens.fault(problem));
            }
        }
    }
    tokens.skip_line();
    Ok(())
}
