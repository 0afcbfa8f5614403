//! Clouds as text: one point a line (`.csv`, `.tsv`, `.txt`, `.xyz`, `.dat`).

use std::borrow::Cow;

use super::cloud::{Cloud, Fault, Part, quote};

/// The text of a file, its lines ended by `\n`.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(String::from("it is UTF-16 text; save it as UTF-8").into());
    }
    if bytes.contains(&0) {
        return Err(String::from("it holds binary data where text is expected; its ending may be wrong").into());
    }
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text })
}

/// What stands between two fields.
#[derive(Clone, Copy, PartialEq)]
enum Separator {
    Char(char),
    Blanks,
}

impl Separator {
    /// The separator of a whole file, from its first line. The semicolon comes first because files that use it may
    /// have decimal commas.
    fn of(line: &str) -> Self {
        [';', ',', '\t'].into_iter().find(|&c| line.contains(c)).map_or(Separator::Blanks, Separator::Char)
    }

    /// Fields without the blanks and quotes around them.
    fn split(self, line: &str) -> Vec<&str> {
        match self {
            Separator::Char(c) => line.split(c).map(|field| unquote(field.trim())).collect(),
            Separator::Blanks => line.split_whitespace().map(unquote).collect(),
        }
    }
}

fn unquote(field: &str) -> &str {
    let inside = |quote| field.strip_prefix(quote).and_then(|f| f.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(field)
}

/// A line without its comment; None if nothing is left.
fn content(line: &str) -> Option<&str> {
    let line = line.split('#').next().unwrap_or_default().trim();
    (!line.is_empty() && !line.starts_with("//") && !line.starts_with('%')).then_some(line)
}

/// What the first line says of all lines.
struct Layout {
    separator: Separator,
    /// Number of the first line.
    line: usize,
    width: usize,
    /// Names of the columns, if the first line is a header.
    names: Option<Vec<String>>,
    /// The column of weights.
    weight: Option<usize>,
    /// The first number of a file of one column, for the message about a molecule's `.xyz`.
    count: Option<f64>,
}

/// Which column holds weights.
#[derive(Clone, Copy)]
enum Weights<'a> {
    /// None, whatever its name.
    None,
    /// One of a usual name.
    Usual,
    /// The one of this name.
    Named(&'a str),
}

/// The cloud of a text file. Every column is a coordinate but the one of weights.
pub(super) fn read(bytes: &[u8], weight_column: Option<&str>) -> Result<Cloud, Fault> {
    parse(bytes, weight_column.map_or(Weights::Usual, Weights::Named))
}

/// The numbers of a text file, row-major, and its number of columns.
pub(super) fn table(bytes: &[u8]) -> Result<(Vec<f64>, usize), Fault> {
    parse(bytes, Weights::None).map(|cloud| (cloud.points, cloud.dim))
}

fn parse(bytes: &[u8], column: Weights<'_>) -> Result<Cloud, Fault> {
    let text = decode(bytes)?;
    let mut layout: Option<Layout> = None;
    let mut points = Vec::new();
    let mut weights = Vec::new();
    for (k, line) in text.lines().enumerate() {
        let Some(line) = content(line) else { continue };
        let layout = match &mut layout {
            Some(layout) => layout,
            None => {
                let new = layout.insert(Layout::of(line, k + 1, column)?);
                if new.names.is_some() {
                    continue;
                }
                new
            }
        };
        layout.row(line, k + 1, &mut points, &mut weights)?;
    }
    match layout {
        Some(layout) if !points.is_empty() => {
            let dim = layout.width - usize::from(layout.weight.is_some());
            Ok(Cloud { part: Part::Whole, points, dim, weights: layout.weight.map(|_| weights) })
        }
        _ => Err(String::from("it holds no points; write one point a line").into()),
    }
}

impl Layout {
    fn of(line: &str, number: usize, column: Weights<'_>) -> Result<Self, Fault> {
        let separator = Separator::of(line);
        let fields = separator.split(line);
        let words = fields.iter().filter(|f| f.parse::<f64>().is_err()).count();
        let mut layout =
            Layout { separator, line: number, width: fields.len(), names: None, weight: None, count: None };
        // A row with a slip in one number must not pass for a header.
        if words > 0 && (words < fields.len() || fields.iter().all(|f| decimal_comma(f))) {
            let column = fields.iter().position(|f| f.parse::<f64>().is_err()).unwrap_or(0);
            return Err(layout.no_number(&fields, number, column));
        }
        if words > 0 {
            layout.weight = find_weight(&fields, column).map_err(|p| Fault::at(format!("line {number}"), p))?;
            if layout.weight.is_some() && layout.width == 1 {
                return Err(Fault::at(format!("line {number}"), "its only column holds weights; add the coordinates"));
            }
            layout.names = Some(fields.into_iter().map(String::from).collect());
        } else if let Weights::Named(wanted) = column {
            let problem =
                format!("no header names the weight column {wanted:?}; give every column a name in the first line");
            return Err(problem.into());
        }
        Ok(layout)
    }

    /// Reads one line of numbers.
    fn row(&mut self, line: &str, number: usize, points: &mut Vec<f64>, weights: &mut Vec<f64>) -> Result<(), Fault> {
        let fields = self.separator.split(line);
        if fields.len() != self.width {
            let (found, first, width) = (fields.len(), self.line, self.width);
            let s = if found == 1 { "" } else { "s" };
            let mut problem = format!("it has {found} field{s}, line {first} has {width}; give every line the same");
            problem.push_str(self.hint_of_molecule(number));
            return Err(Fault::at(format!("line {number}"), problem));
        }
        for (column, &field) in fields.iter().enumerate() {
            let Ok(value) = field.parse::<f64>() else { return Err(self.no_number(&fields, number, column)) };
            if !value.is_finite() {
                let problem = format!("it is {field}, which is not finite; remove the line or repair the value");
                return Err(Fault::at(self.place(number, column), problem));
            }
            if self.weight == Some(column) {
                if value < 0.0 {
                    let problem = format!("the weight is {field}; weights are at least 0");
                    return Err(Fault::at(self.place(number, column), problem));
                }
                weights.push(value);
            } else {
                points.push(value);
            }
            if self.width == 1 && self.line == number {
                self.count = Some(value);
            }
        }
        Ok(())
    }

    /// How messages call a field.
    fn place(&self, line: usize, column: usize) -> String {
        match self.names.as_ref().and_then(|names| names.get(column)) {
            Some(name) => format!("line {line}, column {} ({})", column + 1, quote(name)),
            None => format!("line {line}, column {}", column + 1),
        }
    }

    /// What to do about a field that is no number.
    fn no_number(&self, fields: &[&str], line: usize, column: usize) -> Fault {
        let field = fields[column];
        let rest_are_numbers = fields.len() > 1 && fields.iter().skip(1).all(|f| f.parse::<f64>().is_ok());
        let remedy = if field.is_empty() {
            "a value is missing there: fill it in, or remove the line or the separator"
        } else if decimal_comma(field) || self.separator == Separator::Char(',') && field.contains(char::is_whitespace)
        {
            "write decimals with a point, not a comma"
        } else if field.contains(char::is_whitespace) {
            "one separator holds for the whole file, the one of its first line"
        } else if column == 0 && rest_are_numbers {
            "if the first column holds names, as in the .xyz file of a molecule, keep only the columns of coordinates"
        } else if self.names.is_none() && self.line == line {
            "a header has names only, a line of values numbers only"
        } else {
            "every column must hold numbers: repair the value or remove the column"
        };
        let found = if field.is_empty() { "it is empty".into() } else { format!("{} is not a number", quote(field)) };
        Fault::at(self.place(line, column), format!("{found}; {remedy}{}", self.hint_of_molecule(line)))
    }

    /// Files of chemistry begin with a count and a comment.
    fn hint_of_molecule(&self, line: usize) -> &'static str {
        match self.count {
            Some(count) if count.fract() == 0.0 && count > 0.0 && line <= self.line + 2 => {
                "; if the first line is a count, as in the .xyz file of a molecule, delete it and the comment below \
                 it, and keep only the columns of coordinates"
            }
            _ => "",
        }
    }
}

/// `1,5` for 1.5.
fn decimal_comma(field: &str) -> bool {
    field.contains(',') && field.replacen(',', ".", 1).parse::<f64>().is_ok()
}

/// The column of weights: the one asked for, else one called `weight`, `weights` or `w`.
fn find_weight(names: &[&str], wanted: Weights<'_>) -> Result<Option<usize>, String> {
    let is_weight = |name: &str| match wanted {
        Weights::None => false,
        Weights::Usual => ["weight", "weights", "w"].iter().any(|w| name.eq_ignore_ascii_case(w)),
        Weights::Named(wanted) => wanted == name,
    };
    let found: Vec<usize> = (0..names.len()).filter(|&k| is_weight(names[k])).collect();
    match (&found[..], wanted) {
        ([], Weights::Named(wanted)) => {
            Err(format!("no column is called {wanted:?}; the columns are {}", names.join(", ")))
        }
        ([], _) => Ok(None),
        (&[k], _) => Ok(Some(k)),
        _ => Err("more than one column may hold the weights; rename all but one or name the weight column".into()),
    }
}
