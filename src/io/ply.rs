//! Polygon files (`.ply`), ASCII and binary of either byte order.
//!
//! Every element of the file is read through, so that what is not needed is skipped by its type and a header that does
//! not fit its data is found out.

mod header;

use super::cloud::{Cloud, Fault, Part, quote};
use super::mesh::{Surface, fan, sample};
use header::{Element, Encoding, Header, Kind};

/// One entry of an element.
#[derive(Default)]
struct Row {
    /// One value a property; lists leave NaN.
    scalars: Vec<f64>,
    /// The values of the list that is wanted.
    list: Vec<f64>,
}

/// What is left of the file.
struct Body<'a> {
    rest: &'a [u8],
    encoding: Encoding,
    /// End of a line, in ASCII.
    newline: u8,
    /// Number of the line that came last, in ASCII.
    line: usize,
}

/// The vertices, or points on the faces.
pub(super) fn read(bytes: &[u8], weight: Option<&str>, surface: Surface) -> Result<Cloud, Fault> {
    let Header { encoding, elements, newline, line, rest } = header::read(bytes)?;
    let mut body = Body { rest, encoding, newline, line };
    let Some(vertex) = elements.iter().find(|e| e.name == "vertex") else {
        return Err(String::from("it has no element \"vertex\"; only meshes and clouds of vertices are read").into());
    };
    if vertex.count == 0 {
        return Err(String::from("it has no vertices; a cloud needs at least one point").into());
    }
    if let (Some(weight), Some(_)) = (weight, surface) {
        let problem = format!("a surface sample has equal weights, but {weight:?} is asked for; choose one of the two");
        return Err(problem.into());
    }
    let weight = weight.map(|name| find_weight(vertex, name)).transpose()?;
    let columns = coordinates(vertex, weight)?;
    let mut row = Row::default();
    let (mut points, mut weights, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
    for element in &elements {
        let corners = match &element.name[..] {
            "face" if surface.is_some() => element.find(&["vertex_indices", "vertex_index"], true),
            _ => None,
        };
        for k in 0..element.count {
            body.row(element, corners, &mut row).map_err(|problem| body.fault(element, k, problem))?;
            if element.name == "vertex" {
                points.extend(columns.iter().map(|&c| row.scalars[c]));
                weights.extend(weight.map(|c| row.scalars[c]));
            } else if corners.is_some() {
                fan(k, &row.list, vertex.count, &mut triangles).map_err(|problem| body.fault(element, k, problem))?;
            }
        }
    }
    if let Some(extra) = body.rest.iter().position(|b| !b.is_ascii_whitespace()) {
        let left = body.rest.len() - extra;
        return Err(
            format!("{left} bytes follow what its header describes; the two do not fit, replace the file").into()
        );
    }
    let dim = columns.len();
    if let Some(surface) = surface {
        points = sample(&points, dim, &triangles, surface)?;
    }
    Ok(Cloud { part: Part::Whole, points, dim, weights: weight.map(|_| weights) })
}

/// The columns of x, y and, if there is one, z.
fn coordinates(vertex: &Element, weight: Option<usize>) -> Result<Vec<usize>, Fault> {
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

/// The column of the weights.
fn find_weight(vertex: &Element, name: &str) -> Result<usize, Fault> {
    vertex.find(&[name], false).ok_or_else(|| {
        let names: Vec<&str> = vertex.properties.iter().map(|p| &p.name[..]).collect();
        format!("its vertices have no number {name:?} for the weights; they have {}", names.join(", ")).into()
    })
}

impl Body<'_> {
    /// Reads one entry of an element.
    fn row(&mut self, element: &Element, wanted: Option<usize>, row: &mut Row) -> Result<(), String> {
        match self.encoding {
            Encoding::Ascii => {
                let line = String::from_utf8_lossy(self.next_line().ok_or("the file ends before it")?);
                let mut fields = line.split_ascii_whitespace();
                fill(element, wanted, row, |_| {
                    let field = fields.next().ok_or("its line has too few numbers for the header")?;
                    field.parse().map_err(|_| format!("{} is not a number", quote(field)))
                })?;
                match fields.next() {
                    Some(_) => Err("its line has more numbers than the header describes".into()),
                    None => Ok(()),
                }
            }
            Encoding::Binary { big } => fill(element, wanted, row, |kind| {
                let (value, rest) = kind.take(self.rest, big).ok_or("the file ends inside it")?;
                self.rest = rest;
                Ok(value)
            }),
        }
    }

    /// The next line that is not blank.
    fn next_line(&mut self) -> Option<&[u8]> {
        while !self.rest.is_empty() {
            let (line, rest) = header::cut(self.rest, self.newline);
            self.rest = rest;
            self.line += 1;
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
        None
    }

    /// Something wrong with an entry.
    fn fault(&self, element: &Element, k: usize, problem: String) -> Fault {
        let place = match self.encoding {
            Encoding::Ascii => format!("line {} ({} {k})", self.line, element.name),
            Encoding::Binary { .. } => format!("{} {k}", element.name),
        };
        let promised = format!("the header promises {} of element {:?}", element.count, element.name);
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
