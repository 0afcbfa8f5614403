//! Clouds as text: one point per line (`.csv`, `.tsv`, `.txt`, `.xyz`, `.dat`).

use std::borrow::Cow;

use super::cloud::{Content, Fault, Part, ReadCloud, Remark, quote};
use super::columns::{Columns, Plan, Weights};
use crate::io::ReadOptions;

/// The text of a file with lines that end in `\n`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(String::from("it is UTF-16 text; save it as UTF-8").into());
    }
    if bytes.contains(&0) {
        return Err(String::from("it holds binary data where text is expected; check the ending of its name").into());
    }
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text })
}

/// The separator of two fields.
#[derive(Clone, Copy, PartialEq)]
enum Separator {
    Char(char),
    Blanks,
}

impl Separator {
    /// The separator of a file, determined from its first line. The semicolon is tried first because files that use it can
    /// contain decimal commas.
    fn of(line: &str) -> Self {
        [';', ',', '\t'].into_iter().find(|&c| line.contains(c)).map_or(Separator::Blanks, Separator::Char)
    }

    /// The fields without surrounding blanks and quotes.
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

/// What the first line says about all lines.
struct Layout {
    separator: Separator,
    /// Number of the first line.
    line: usize,
    width: usize,
    /// Names of the columns, if there is a header.
    names: Option<Vec<String>>,
    /// Whether the first line is the header; the header can also be in a comment.
    is_header: bool,
    plan: Plan,
    /// Whether a missing number is read as NaN.
    missing: bool,
    /// The first line is 0, 1, 2, …, which is how pandas names columns without names.
    numbered: bool,
    /// Another line contains only whole numbers.
    whole: bool,
    /// The first number of a file with one column, for the message about an `.xyz` file of a molecule.
    count: Option<f64>,
}

/// How a text is to be read.
#[derive(Clone, Copy, Default)]
struct How<'a> {
    /// Every column is a coordinate, regardless of its name.
    plain: bool,
    columns: Option<&'a Columns>,
    weight: Option<&'a str>,
    drop_nan: bool,
    /// Names of the columns, if the format defines them.
    names: Option<&'a [&'a str]>,
}

/// The cloud of a text file; the names of its columns tell which are coordinates.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Content, Fault> {
    parse(&decode(bytes)?, How::of(options))
}

/// The same for a text whose columns are named by its format.
pub(crate) fn read_named(text: &str, names: &[&str], options: &ReadOptions) -> Result<Content, Fault> {
    parse(text, How { names: Some(names), ..How::of(options) })
}

/// Number of fields of a line, with the separator of this line.
pub(crate) fn width(line: &str) -> usize {
    content(line).map_or(0, |line| Separator::of(line).split(line).len())
}

/// The numbers of a text file, row-major, and its number of columns.
pub(crate) fn table(bytes: &[u8]) -> Result<(Vec<f64>, usize), Fault> {
    let content = parse(&decode(bytes)?, How { plain: true, ..How::default() })?;
    let cloud = content.clouds.into_iter().next().ok_or_else(|| Fault::from(String::from("it holds no numbers")))?;
    Ok((cloud.points, cloud.dim))
}

/// Whether a text contains only words, as a list of names or prose does.
pub(crate) fn is_words(bytes: &[u8]) -> bool {
    let Ok(text) = decode(bytes) else { return false };
    let mut lines = text.lines().filter_map(content).peekable();
    let number = |field: &str| !field.is_empty() && field.parse::<f64>().is_ok();
    lines.peek().is_some() && lines.all(|line| !Separator::of(line).split(line).into_iter().any(number))
}

impl<'a> How<'a> {
    fn of(options: &'a ReadOptions) -> Self {
        let (columns, weight) = (options.columns.as_ref(), options.weight_column.as_deref());
        How { columns, weight, drop_nan: options.drop_nan, ..How::default() }
    }

    fn plan(&self, names: &[&str]) -> Result<Plan, String> {
        if self.plain {
            // The index column of pandas is not part of the table.
            let mut plan = Plan::unnamed(names.len(), None)?;
            plan.coordinates.retain(|&k| k > 0 || !names[0].is_empty() || names.len() == 1);
            return Ok(plan);
        }
        Plan::of(names, self.columns, self.weight.map_or(Weights::Usual, Weights::Named))
    }
}

fn parse(text: &str, how: How<'_>) -> Result<Content, Fault> {
    let mut layout: Option<Layout> = None;
    let mut comment = None;
    let mut points = Vec::new();
    let mut weights = Vec::new();
    for (k, line) in text.lines().enumerate() {
        let Some(inside) = content(line) else {
            comment = Some(line).filter(|l| !l.trim().is_empty()).or(comment);
            continue;
        };
        let layout = match &mut layout {
            Some(layout) => layout,
            None => {
                let new = layout.insert(Layout::of(inside, k + 1, how, comment)?);
                if new.is_header {
                    continue;
                }
                new
            }
        };
        layout.row(inside, k + 1, &mut points, &mut weights)?;
    }
    match layout {
        Some(layout) if !points.is_empty() => Ok(layout.content(points, weights)),
        _ => Err(String::from("it holds no points; write one point per line").into()),
    }
}

impl Layout {
    fn of(line: &str, number: usize, how: How<'_>, comment: Option<&str>) -> Result<Self, Fault> {
        let separator = Separator::of(line);
        let fields = separator.split(line);
        let is_word = |f: &&str| f.parse::<f64>().is_err();
        let words = fields.iter().filter(|f| is_word(f)).count();
        let mut layout = Layout {
            separator,
            line: number,
            width: fields.len(),
            names: None,
            is_header: false,
            plan: Plan::default(),
            missing: how.drop_nan,
            numbered: false,
            whole: false,
            count: None,
        };
        if let Some(names) = how.names {
            layout.plan = how.plan(names).map_err(Fault::from)?;
            layout.names = Some(names.iter().map(|&name| String::from(name)).collect());
            return Ok(layout);
        }
        // pandas names columns without names 0, 1, ... and leaves the name of its index empty.
        let counts = |(k, f): (usize, &&str)| f.parse() == Ok(k);
        let pandas = fields.len() > 1 && fields[0].is_empty() && fields.iter().skip(1).enumerate().all(counts);
        let nameless = fields.iter().skip(1).any(|f| f.is_empty()) || fields.len() == 1 && fields[0].is_empty();
        // A row with a typing error in one number must not be taken for a header.
        let slip = words < fields.len() || nameless || fields.iter().all(|f| decimal_comma(f));
        // If incomplete points are dropped, a first row with missing numbers is not an error.
        let row = how.drop_nan && !pandas && fields.iter().all(|f| !is_word(f) || missing(f));
        if words > 0 && !row && slip && !pandas {
            let column = fields.iter().position(|f| is_word(f) && (!nameless || f.is_empty())).unwrap_or(0);
            return Err(layout.no_number(&fields, number, column));
        }
        let at_line = |p: String| Fault::at(format!("line {number}"), p);
        if words > 0 && !row {
            layout.plan = how.plan(&fields).map_err(at_line)?;
            if layout.plan.coordinates.is_empty() {
                return Err(at_line("its only column holds weights; add the coordinates".into()));
            }
            layout.names = Some(fields.into_iter().map(String::from).collect());
            layout.is_header = true;
            return Ok(layout);
        }
        if let Some((names, plan)) = comment.and_then(|c| header_in(c, separator, how, fields.len())) {
            (layout.names, layout.plan) = (Some(names), plan);
            return Ok(layout);
        }
        if let Some(wanted) = how.weight {
            let problem =
                format!("no header names the weight column {wanted:?}; give every column a name in the first line");
            return Err(problem.into());
        }
        layout.plan = Plan::unnamed(fields.len(), how.columns).map_err(at_line)?;
        layout.numbered = fields.len() > 1 && fields.iter().enumerate().all(counts);
        Ok(layout)
    }

    /// Parses one line of numbers.
    fn row(&mut self, line: &str, number: usize, points: &mut Vec<f64>, weights: &mut Vec<f64>) -> Result<(), Fault> {
        let fields = self.separator.split(line);
        if fields.len() != self.width {
            let (found, first, width) = (fields.len(), self.line, self.width);
            let s = if found == 1 { "" } else { "s" };
            let mut problem = format!("it has {found} field{s}, line {first} has {width}; give every line the same");
            problem.push_str(self.hint_of_molecule(number));
            return Err(Fault::at(format!("line {number}"), problem));
        }
        for &column in &self.plan.coordinates {
            points.push(self.number(&fields, number, column)?);
        }
        let first = points.len() - self.plan.coordinates.len();
        self.whole |= number != self.line && points[first..].iter().all(|v| v.fract() == 0.0);
        if let Some(column) = self.plan.weight {
            let value = self.number(&fields, number, column)?;
            if value < 0.0 || value.is_nan() {
                let problem = format!("the weight is {}; weights are at least 0", fields[column]);
                return Err(Fault::at(self.place(number, column), problem));
            }
            weights.push(value);
        }
        if self.width == 1 && self.line == number {
            self.count = points.first().copied();
        }
        Ok(())
    }

    /// Parses the number in a field.
    fn number(&self, fields: &[&str], line: usize, column: usize) -> Result<f64, Fault> {
        let field = fields[column];
        let value = match field.parse::<f64>() {
            Ok(value) => value,
            Err(_) if self.missing && missing(field) => f64::NAN,
            Err(_) => return Err(self.no_number(fields, line, column)),
        };
        if value.is_infinite() || value.is_nan() && !self.missing {
            let dropped = value.is_nan() && self.plan.weight != Some(column);
            let remedy = if dropped { ", or drop such points (drop_nan)" } else { "" };
            let problem = format!("it is {field}, which is not finite; remove the line or repair the value{remedy}");
            return Err(Fault::at(self.place(line, column), problem));
        }
        Ok(value)
    }

    /// The content, without the coordinates that only count the rows.
    fn content(self, mut points: Vec<f64>, weights: Vec<f64>) -> Content {
        let looks_like_header = self.numbered && !self.whole && points.len() > 2 * self.plan.coordinates.len();
        let Layout { mut plan, names, line, .. } = self;
        let mut dim = plan.coordinates.len();
        for counter in std::mem::take(&mut plan.counters) {
            let place = plan.coordinates.iter().position(|&c| c == counter);
            if let Some(place) = place.filter(|&place| dim > 1 && counts_rows(&points, dim, place)) {
                points = points.into_iter().enumerate().filter(|(k, _)| k % dim != place).map(|(_, v)| v).collect();
                plan.coordinates.remove(place);
                plan.left.push(counter);
                dim -= 1;
                plan.labels |= points.iter().all(|v| v.fract() == 0.0);
            }
        }
        if !plan.understood && dim > 1 {
            plan.labels |= points.iter().all(|v| v.fract() == 0.0) && counts_rows(&points, dim, 0);
        }
        plan.left.sort_unstable();
        let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        let name = |k: &usize| names.get(*k).map_or_else(|| (k + 1).to_string(), |name| String::from(*name));
        let mut content = Content { labels: plan.labels, ..Content::default() };
        if !names.is_empty() {
            content.names = plan.coordinates.iter().map(name).collect();
            content.weights = plan.weight.map(|k| format!("column {}", names[k]));
        }
        let left: Vec<String> = plan.left.iter().map(name).collect();
        content.left_out(("column", "columns"), &left.iter().map(String::as_str).collect::<Vec<_>>());
        if looks_like_header {
            content.remarks.push(Remark::warning(format!(
                "line {line} counts 0, 1, … as a header of pandas does, and is read as a point: remove it if it is a header"
            )));
        }
        let weights = plan.weight.map(|_| weights);
        content.clouds.push(ReadCloud { part: Part::Whole, points, dim, weights });
        content
    }

    /// The place of a field in messages.
    fn place(&self, line: usize, column: usize) -> String {
        match self.names.as_ref().and_then(|names| names.get(column)) {
            Some(name) => format!("line {line}, column {} ({})", column + 1, quote(name)),
            None => format!("line {line}, column {}", column + 1),
        }
    }

    /// The fault for a field that is not a number, with a remedy.
    fn no_number(&self, fields: &[&str], line: usize, column: usize) -> Fault {
        let field = fields[column];
        let rest_are_numbers = fields.len() > 1 && fields.iter().skip(1).all(|f| f.parse::<f64>().is_ok());
        let remedy = if field.is_empty() {
            "a value is missing there: fill it in, or remove the line or the separator"
        } else if decimal_comma(field) || self.separator == Separator::Char(',') && field.contains(char::is_whitespace)
        {
            "write decimals with a point, not a comma"
        } else if field.contains(char::is_whitespace) {
            "use one separator in the whole file, that of its first line"
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

    /// A hint for files of chemistry, which begin with a count and a comment.
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

/// Whether a field looks like `1,5`, meant as 1.5.
fn decimal_comma(field: &str) -> bool {
    field.contains(',') && field.replacen(',', ".", 1).parse::<f64>().is_ok()
}

/// Whether a field is one of the usual marks for a missing number.
fn missing(field: &str) -> bool {
    field.is_empty() || ["na", "n/a", "null", "none", "nan"].iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// Whether a column counts 0, 1, 2, … or 1, 2, 3, ….
fn counts_rows(points: &[f64], dim: usize, column: usize) -> bool {
    let first = points[column];
    let next = |(k, row): (usize, &[f64])| row[column] == first + k as f64;
    points.len() > dim && (first == 0.0 || first == 1.0) && points.chunks_exact(dim).enumerate().all(next)
}

/// The names in a comment above the first row, such as `//X Y Z R G B`, if there is one per column and they name coordinates.
fn header_in(comment: &str, separator: Separator, how: How<'_>, width: usize) -> Option<(Vec<String>, Plan)> {
    let line = comment.trim().trim_start_matches(['/', '#', '%']);
    for separator in [separator, Separator::of(line)] {
        let names = separator.split(line.trim());
        if how.plain || names.len() != width || names.iter().any(|n| n.is_empty() || n.parse::<f64>().is_ok()) {
            continue;
        }
        if let Ok(plan) = how.plan(&names)
            && plan.understood
        {
            return Some((names.into_iter().map(String::from).collect(), plan));
        }
    }
    None
}
