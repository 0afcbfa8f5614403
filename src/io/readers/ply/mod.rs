//! Polygon files (`.ply`), ASCII and binary of either byte order.
//!
//! All elements of the file are read. What is not needed is skipped by its type, so that a header that does not match its data is
//! detected. A fault after the vertices, in data that are not needed, is only a warning.

mod header;

use std::borrow::Cow;

use super::cloud::{Content, Fault};
use super::columns::is_weight;
use super::mesh::{self, fan};
use super::tokens::Tokens;
use crate::io::ReadOptions;
use header::{Element, Encoding, Header, Kind};

/// One entry of an element.
#[derive(Default)]
struct Row {
    /// One value per property; NaN for lists.
    scalars: Vec<f64>,
    /// The values of the wanted list.
    list: Vec<f64>,
}

/// The data not read yet.
enum Body<'a> {
    Text(Tokens<'a>),
    Binary { rest: &'a [u8], big: bool },
}

/// The vertices, or points drawn from the faces.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Content, Fault> {
    let Header { encoding, elements, newline, line, rest } = header::read(bytes)?;
    let text = text_of(rest, newline);
    let mut body = match encoding {
        Encoding::Ascii => Body::Text(Tokens::new(&text, None, line)),
        Encoding::Binary { big } => Body::Binary { rest, big },
    };
    let Some(at) = elements.iter().position(|e| e.name == "vertex") else {
        return Err(String::from("it has no element \"vertex\"; only meshes and clouds of vertices are read").into());
    };
    let vertex = &elements[at];
    if vertex.count == 0 {
        return Err(String::from("it has no vertices; a cloud needs at least one point").into());
    }
    let surface = options.surface();
    let weight = find_weight(vertex, options)?;
    let columns = coordinates(vertex, weight, options)?;
    let corners = |e: &Element| match &e.name[..] {
        "face" if surface.is_some() => e.find(&["vertex_indices", "vertex_index"], true),
        _ => None,
    };
    let mut row = Row::default();
    let (mut points, mut weights, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
    for element in &elements[..at] {
        body.element(element, corners(element), vertex.count, &mut row, &mut triangles)?;
    }
    let mut odd = None;
    for k in 0..vertex.count {
        let entry = body.row(vertex, None, &mut row);
        let whole = entry.map_err(|problem| odd.take().unwrap_or_else(|| body.fault(vertex, k, problem)))?;
        if !whole && odd.is_none() {
            odd = Some(body.fault(vertex, k, "its line has more numbers than the header describes".into()));
        }
        points.extend(columns.iter().map(|&c| row.scalars[c]));
        weights.extend(weight.map(|c| row.scalars[c]));
    }
    if let Some(odd) = odd.take_if(|_| matches!(&body, Body::Text(tokens) if tokens.left() > 0)) {
        return Err(odd);
    }
    let following = body.following(&elements[at + 1..], corners, vertex.count, &mut row, &mut triangles);
    let mut spoilt = None;
    match (odd, following) {
        (_, Ok(())) => {}
        (Some(odd), Err(_)) => return Err(odd),
        (None, Err(after)) if surface.is_some() || after.fatal => return Err(after.fault),
        (None, Err(after)) => spoilt = Some(mesh::spoilt(&after.fault)),
    }
    let names: Vec<&str> = columns.iter().map(|&c| &vertex.properties[c].name[..]).collect();
    let mut content = mesh::content(points, &names, &triangles, surface)?;
    content.remarks.extend(spoilt);
    let scalars = (0..vertex.properties.len()).filter(|&c| vertex.properties[c].length.is_none());
    let left: Vec<&str> = scalars
        .filter(|c| !columns.contains(c) && Some(*c) != weight)
        .map(|c| &vertex.properties[c].name[..])
        .collect();
    content.left_out(("property", "properties"), &left);
    if let Some(weight) = weight {
        content.weights = Some(format!("property {}", vertex.properties[weight].name));
        content.clouds[0].weights = Some(weights);
    }
    Ok(content)
}

/// The data as text with lines that end in `\n`.
fn text_of(rest: &[u8], newline: u8) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(rest);
    if newline == b'\r' { text.replace('\r', "\n").into() } else { text }
}

/// A fault after the vertices.
struct After {
    fault: Fault,
    /// The header does not match the data, so the vertices are possibly wrong too.
    fatal: bool,
}

/// The requested columns, otherwise those of x, y and, if it exists, z.
fn coordinates(vertex: &Element, weight: Option<usize>, options: &ReadOptions) -> Result<Vec<usize>, Fault> {
    if let Some(wanted) = &options.columns {
        let names: Vec<&str> = vertex.properties.iter().map(|p| &p.name[..]).collect();
        let columns = wanted.find(Some(&names), names.len())?;
        if let Some(&c) = columns.iter().find(|&&c| vertex.properties[c].length.is_some() || Some(c) == weight) {
            return Err(format!("{:?} is a list or holds the weights; choose other columns", names[c]).into());
        }
        return Ok(columns);
    }
    let mut columns = Vec::new();
    for name in ["x", "y", "z"] {
        if vertex.find(&[name], true).is_some() {
            return Err(format!(
                "its vertices have a list {name:?} where a number is expected; save them with plain coordinates"
            )
            .into());
        }
        let column = vertex.find(&[name], false).filter(|&c| Some(c) != weight);
        if column.is_none() && name != "z" {
            let problem = format!("its vertices have no number {name:?}; the coordinates are x, y and perhaps z");
            return Err(problem.into());
        }
        columns.extend(column);
    }
    Ok(columns)
}

/// The column of the weights: the requested one, otherwise one with a usual name.
fn find_weight(vertex: &Element, options: &ReadOptions) -> Result<Option<usize>, Fault> {
    let names = || vertex.properties.iter().map(|p| &p.name[..]).collect::<Vec<_>>();
    let Some(name) = &options.weight_column else {
        if options.surface.is_some() {
            return Ok(None);
        }
        let found: Vec<usize> = (0..vertex.properties.len())
            .filter(|&c| vertex.properties[c].length.is_none() && is_weight(&vertex.properties[c].name))
            .filter(|&c| {
                options.columns.as_ref().is_none_or(|w| !w.find(Some(&names()), c + 1).is_ok_and(|w| w.contains(&c)))
            })
            .collect();
        return match found[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => Err(String::from("more than one property may hold the weights; name the weight column").into()),
        };
    };
    if options.surface.is_some() {
        let problem = format!(
            "a surface sample has equal weights, but {name:?} is requested as the weights; choose one of the two"
        );
        return Err(problem.into());
    }
    let found = vertex.find(&[name], false).ok_or_else(|| {
        let problem = format!("its vertices have no number {name:?} for the weights; they have {}", names().join(", "));
        Fault::from(problem)
    })?;
    Ok(Some(found))
}

impl Body<'_> {
    /// Reads an element other than the vertices, and returns triangles if it is a list of corners.
    fn element(
        &mut self,
        element: &Element,
        corners: Option<usize>,
        vertices: usize,
        row: &mut Row,
        triangles: &mut Vec<[usize; 3]>,
    ) -> Result<(), Fault> {
        for k in 0..element.count {
            self.row(element, corners, row).map_err(|problem| self.fault(element, k, problem))?;
            if let Body::Text(tokens) = self {
                tokens.skip_line();
            }
            if corners.is_some() {
                fan(k, &row.list, vertices, triangles).map_err(|problem| self.fault(element, k, problem))?;
            }
        }
        Ok(())
    }

    /// Reads the data after the vertices to the end of the file.
    fn following(
        &mut self,
        elements: &[Element],
        corners: impl Fn(&Element) -> Option<usize>,
        vertices: usize,
        row: &mut Row,
        triangles: &mut Vec<[usize; 3]>,
    ) -> Result<(), After> {
        let harmless = |fault| After { fault, fatal: false };
        for element in elements {
            self.element(element, corners(element), vertices, row, triangles).map_err(harmless)?;
        }
        let problem = |left: usize, what: &str| {
            format!("{left} {what} follow the data that its header describes; replace the file")
        };
        match self {
            Body::Text(tokens) => {
                let mut left = 0;
                while tokens.next().is_some() {
                    left += 1;
                }
                if left > 0 { Err(harmless(problem(left, "words").into())) } else { Ok(()) }
            }
            Body::Binary { rest, .. } => match rest.iter().position(|b| !b.is_ascii_whitespace()) {
                Some(extra) => Err(After { fault: problem(rest.len() - extra, "bytes").into(), fatal: true }),
                None => Ok(()),
            },
        }
    }

    /// Reads one entry of an element. False if a text entry does not begin and end with a line.
    fn row(&mut self, element: &Element, wanted: Option<usize>, row: &mut Row) -> Result<bool, String> {
        match self {
            Body::Text(tokens) => {
                let begins = tokens.left() == 0;
                let mut inside = false;
                fill(element, wanted, row, |_| match tokens.number() {
                    Ok(Some(value)) => {
                        inside = true;
                        Ok(value)
                    }
                    Ok(None) if inside => Err("it has too few numbers for the header".into()),
                    Ok(None) => Err("the file ends before it".into()),
                    Err(problem) => Err(problem),
                })?;
                Ok(begins && tokens.left() == 0)
            }
            Body::Binary { rest, big } => {
                fill(element, wanted, row, |kind| {
                    let (value, after) = kind.take(rest, *big).ok_or("the file ends inside it")?;
                    *rest = after;
                    Ok(value)
                })?;
                Ok(true)
            }
        }
    }

    /// A fault in an entry.
    fn fault(&self, element: &Element, k: usize, problem: String) -> Fault {
        let place = match self {
            Body::Text(tokens) => format!("line {} ({} {k})", tokens.line, element.name),
            Body::Binary { .. } => format!("{} {k}", element.name),
        };
        let promised = format!("the header states {} of element {:?}", element.count, element.name);
        Fault::at(place, format!("{problem} ({promised}); repair or replace the file"))
    }
}

/// Reads the values of an entry in the order of its properties.
fn fill(
    element: &Element,
    wanted: Option<usize>,
    row: &mut Row,
    mut next: impl FnMut(Kind) -> Result<f64, String>,
) -> Result<(), String> {
    row.scalars.clear();
    row.list.clear();
    for (column, property) in element.properties.iter().enumerate() {
        let Some(length) = property.length else {
            row.scalars.push(next(property.kind)?);
            continue;
        };
        row.scalars.push(f64::NAN);
        let length = next(length)?;
        if !(length >= 0.0 && length.fract() == 0.0) {
            return Err(format!("the list {:?} has length {length}", property.name));
        }
        for _ in 0..length as u64 {
            let value = next(property.kind)?;
            if wanted == Some(column) {
                row.list.push(value);
            }
        }
    }
    Ok(())
}
