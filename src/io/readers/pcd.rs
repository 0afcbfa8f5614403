//! Point cloud data of PCL (`.pcd`): text, binary, or binary compressed with LZF.

use super::cloud::{Content, Fault, quote};
use super::columns::{Plan, Weights};
use super::tokens::Tokens;
use crate::io::ReadOptions;

/// A field of a point.
#[derive(Clone)]
struct Field {
    name: String,
    /// Bytes per number.
    size: usize,
    /// F, I or U.
    kind: char,
    /// Count of numbers in the field.
    count: usize,
}

/// The encoding of the points.
#[derive(Clone, Copy, PartialEq)]
enum Data {
    Ascii,
    Binary,
    Packed,
}

struct Header {
    fields: Vec<Field>,
    points: usize,
    data: Data,
    /// Number of lines of the header.
    lines: usize,
    /// Offset at which the data begin.
    end: usize,
}

/// The points of the fields that hold coordinates.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Content, Fault> {
    let header = header(bytes)?;
    let names: Vec<&str> = header.fields.iter().map(|f| &f.name[..]).collect();
    let weight = options.weight_column.as_deref().map_or(Weights::Usual, Weights::Named);
    let plan = Plan::of(&names, options.columns.as_ref(), weight)?;
    if !plan.understood {
        let found = names.join(", ");
        return Err(
            format!("its fields {found} do not include the coordinates x, y, z; choose the columns (columns)").into()
        );
    }
    let wanted: Vec<usize> = plan.coordinates.iter().chain(&plan.weight).copied().collect();
    if let Some(&k) = wanted.iter().find(|&&k| header.fields[k].count != 1) {
        let field = &header.fields[k];
        return Err(format!("its field {:?} has {} numbers; a coordinate has one", field.name, field.count).into());
    }
    if header.points == 0 {
        return Err(String::from("it holds no points; a cloud needs at least one").into());
    }
    let body = &bytes[header.end..];
    let rows = match header.data {
        Data::Ascii => text(body, &header, &wanted)?,
        Data::Binary => numbers(body, &header, &wanted, false)?,
        Data::Packed => numbers(&unpack(body)?, &header, &wanted, true)?,
    };
    let (d, width) = (plan.coordinates.len(), wanted.len());
    let names_of = |columns: &[usize]| columns.iter().map(|&k| names[k]).collect::<Vec<_>>();
    let points = rows.chunks_exact(width).flat_map(|row| row[..d].iter().copied()).collect();
    let mut content = Content::whole(points, names_of(&plan.coordinates).into_iter().map(String::from).collect());
    if let Some(weight) = plan.weight {
        content.weights = Some(format!("field {}", names[weight]));
        content.clouds[0].weights = Some(rows.chunks_exact(width).map(|row| row[d]).collect());
    }
    // PCL pads its records with fields named _.
    let left: Vec<&str> = names_of(&plan.left).into_iter().filter(|name| *name != "_").collect();
    content.left_out(("field", "fields"), &left);
    Ok(content)
}

fn header(bytes: &[u8]) -> Result<Header, Fault> {
    let (mut names, mut sizes, mut kinds, mut counts) = (vec![], vec![], vec![], vec![]);
    let (mut width, mut height, mut points) = (None, None, None);
    let (mut end, mut lines) = (0, 0);
    while end < bytes.len() {
        let line = bytes[end..].split(|&b| b == b'\n').next().unwrap_or_default();
        end = (end + line.len() + 1).min(bytes.len());
        lines += 1;
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_ascii_whitespace();
        let at = |problem: String| Fault::at(format!("line {lines}"), format!("{problem}; repair the header"));
        let numbers = |words: std::str::SplitAsciiWhitespace| -> Result<Vec<usize>, Fault> {
            words.map(|w| w.parse().map_err(|_| at(format!("{} is not a whole number", quote(w))))).collect()
        };
        match words.next() {
            Some("FIELDS" | "COLUMNS") => names = words.map(String::from).collect(),
            Some("SIZE") => sizes = numbers(words)?,
            Some("TYPE") => kinds = words.map(|w| w.chars().next().unwrap_or_default()).collect(),
            Some("COUNT") => counts = numbers(words)?,
            Some("WIDTH") => width = numbers(words)?.first().copied(),
            Some("HEIGHT") => height = numbers(words)?.first().copied(),
            Some("POINTS") => points = numbers(words)?.first().copied(),
            Some("DATA") => {
                let data = match words.next() {
                    Some("ascii") => Data::Ascii,
                    Some("binary") => Data::Binary,
                    Some("binary_compressed") => Data::Packed,
                    other => {
                        let problem =
                            format!("{} is not one of ascii, binary, binary_compressed", quote(other.unwrap_or("")));
                        return Err(at(problem));
                    }
                };
                let fields = fields(names, &sizes, &kinds, &counts).map_err(Fault::from)?;
                let product = width.zip(height).and_then(|(w, h): (usize, usize)| w.checked_mul(h));
                let points =
                    points.or(product).or(width).ok_or_else(|| at("it does not give the number of POINTS".into()))?;
                return Ok(Header { fields, points, data, lines, end });
            }
            None | Some("VERSION" | "VIEWPOINT") => {}
            Some(word) if word.starts_with('#') => {}
            Some(word) => return Err(at(format!("{} is not a line of a .pcd header", quote(word)))),
        }
    }
    Err(String::from("it ends inside its header, before \"DATA\"; it is truncated or not a .pcd file").into())
}

fn fields(names: Vec<String>, sizes: &[usize], kinds: &[char], counts: &[usize]) -> Result<Vec<Field>, String> {
    let n = names.len();
    if n == 0 || sizes.len() != n || kinds.len() != n || !(counts.is_empty() || counts.len() == n) {
        return Err("its header does not give one SIZE, TYPE and COUNT to each of its FIELDS; repair the header".into());
    }
    let field = |(k, name): (usize, String)| match (kinds[k], sizes[k]) {
        (kind @ 'F', size @ (4 | 8)) | (kind @ ('I' | 'U'), size @ (1 | 2 | 4 | 8)) => {
            Ok(Field { name, size, kind, count: counts.get(k).copied().unwrap_or(1) })
        }
        (kind, size) => {
            Err(format!("its field {name:?} has the unknown type {kind} of {size} bytes; repair the header"))
        }
    };
    names.into_iter().enumerate().map(field).collect()
}

/// The wanted numbers of points stored as text, point by point.
fn text(body: &[u8], header: &Header, wanted: &[usize]) -> Result<Vec<f64>, Fault> {
    let body = String::from_utf8_lossy(body);
    let mut tokens = Tokens::new(&body, None, header.lines);
    let mut rows = Vec::new();
    let mut row = vec![f64::NAN; header.fields.len()];
    for k in 0..header.points {
        let Some(line) = tokens.next_line() else {
            let problem = format!("the file ends after {k} of {} points; it is truncated", header.points);
            return Err(tokens.fault(problem));
        };
        let mut words = line.split_whitespace();
        for (place, field) in header.fields.iter().enumerate() {
            for _ in 0..field.count {
                let word =
                    words.next().ok_or_else(|| tokens.fault("the point has too few numbers; repair the line"))?;
                if wanted.contains(&place) {
                    let number = word.parse();
                    row[place] = number
                        .map_err(|_| tokens.fault(format!("{} is not a number; repair the line", quote(word))))?;
                }
            }
        }
        if words.next().is_some() {
            return Err(tokens.fault("the point has more numbers than the header describes; repair the line"));
        }
        rows.extend(wanted.iter().map(|&place| row[place]));
    }
    if tokens.next_line().is_some() {
        return Err(tokens.fault(format!("data follow after its {} points; repair the header", header.points)));
    }
    Ok(rows)
}

/// The wanted numbers of points stored as bytes, point by point or field by field.
fn numbers(bytes: &[u8], header: &Header, wanted: &[usize], by_field: bool) -> Result<Vec<f64>, Fault> {
    let sizes: Vec<usize> = header.fields.iter().map(|f| f.size.saturating_mul(f.count)).collect();
    let record = sizes.iter().fold(0usize, |a, &s| a.saturating_add(s));
    let expected = record.checked_mul(header.points);
    if expected.is_none_or(|n| n > bytes.len()) {
        let (points, found) = (header.points, bytes.len());
        let problem = format!("its header states {points} points of {record} bytes, but {found} bytes follow");
        return Err(format!("it is truncated: {problem}; copy or save it again").into());
    }
    let mut rows = Vec::new();
    for k in 0..header.points {
        for &place in wanted {
            let before: usize = sizes[..place].iter().sum();
            let field = &header.fields[place];
            let at = if by_field { before * header.points + k * field.size } else { k * record + before };
            rows.push(number(field, &bytes[at..at + field.size]));
        }
    }
    Ok(rows)
}

fn number(field: &Field, bytes: &[u8]) -> f64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let shift = 64 - 8 * field.size as u32;
    match (field.kind, field.size) {
        ('F', 4) => f64::from(f32::from_bits(bits as u32)),
        ('F', _) => f64::from_bits(bits),
        // Shifting left and back extends the sign.
        ('I', _) => ((bits << shift) as i64 >> shift) as f64,
        _ => bits as f64,
    }
}

/// Decompresses a body: its compressed and decompressed size, then LZF data.
fn unpack(body: &[u8]) -> Result<Vec<u8>, Fault> {
    let size = |at: usize| body.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    let whole = size(0).zip(size(4)).and_then(|(packed, whole)| Some((body.get(8..8 + packed)?, whole)));
    let unpacked = whole.and_then(|(packed, whole)| lzf(packed, whole));
    unpacked.ok_or_else(|| String::from("its compressed data are truncated or damaged; copy or save it again").into())
}

/// Decompresses LZF (Marc Lehmann's liblzf): literal runs, and copies of earlier output. None if the data are damaged.
fn lzf(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::new();
    let mut rest = packed.iter().copied();
    while let Some(control) = rest.next() {
        let control = usize::from(control);
        if control < 32 {
            for _ in 0..=control {
                out.push(rest.next()?);
            }
        } else {
            let mut length = control >> 5;
            if length == 7 {
                length += usize::from(rest.next()?);
            }
            let back = ((control & 31) << 8) + usize::from(rest.next()?) + 1;
            let from = out.len().checked_sub(back)?;
            // Byte by byte, because source and destination of a copy can overlap.
            (0..length + 2).for_each(|k| out.push(out[from + k]));
        }
        if out.len() > size {
            return None;
        }
    }
    (out.len() == size).then_some(out)
}
