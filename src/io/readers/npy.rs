//! Arrays of numpy (`.npy`): format versions 1 to 3, either byte order, C and Fortran order, real numbers of any type.
//!
//! Only the three keys of the header are searched for. A general parser of Python expressions recurses, so that a damaged header
//! could make it crash.

use super::cloud::{Content, Fault, Part, ReadCloud, quote};

/// An array with 1 to 3 axes, none of length 0.
pub(crate) struct Array {
    /// Lengths of its axes.
    pub shape: Vec<usize>,
    /// Its numbers, row-major.
    pub values: Vec<f64>,
    /// The type of the numbers in the file.
    pub stored: Stored,
}

/// The type of the numbers in a file, as far as it matters.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stored {
    Half,
    Single,
    /// One unsigned byte.
    Byte,
    /// f64 and integers.
    Other,
}

impl Stored {
    /// The largest relative error of rounding to this type.
    pub fn rounding(self) -> f64 {
        match self {
            Stored::Half => f64::powi(2.0, -11),
            Stored::Single => f64::from(f32::EPSILON) / 2.0,
            Stored::Byte | Stored::Other => f64::EPSILON / 2.0,
        }
    }
}

/// The clouds of a `.npy` file.
pub(crate) fn read(bytes: &[u8]) -> Result<Content, Fault> {
    Ok(content(decode(bytes)?))
}

/// The clouds of an array, with a remark if they look like images.
pub(crate) fn content(array: Array) -> Content {
    let images = as_images(&array);
    let mut content = Content { clouds: clouds(array), ..Content::default() };
    images.into_iter().for_each(|text| content.notice(text));
    content
}

/// A remark on a stack whose slices look like images.
fn as_images(Array { shape, values, stored }: &Array) -> Option<String> {
    let [n, h, w] = shape[..] else { return None };
    let square = h.min(w) > 16 && h.max(w) <= 2 * h.min(w);
    let grey = |top: f64, whole: bool| values.iter().all(|v| (0.0..=top).contains(v) && (!whole || v.fract() == 0.0));
    if !(square && (*stored == Stored::Byte || grey(1.0, false) || grey(255.0, true))) {
        return None;
    }
    let shape = show(shape);
    Some(format!(
        "its shape {shape} is read as {n} clouds of {h} points in R^{w}; if these are images, save each as a cloud of \
         its pixels (row, column) with their values as weights"
    ))
}

/// (n, m, d) is n clouds, (m, d) is one cloud, (m,) is points in R^1.
pub(crate) fn clouds(Array { shape, values, .. }: Array) -> Vec<ReadCloud> {
    match shape[..] {
        [_, m, d] => values
            .chunks_exact(m * d)
            .enumerate()
            .map(|(k, points)| ReadCloud { part: Part::Index(k), points: points.to_vec(), dim: d, weights: None })
            .collect(),
        [_, d] => vec![ReadCloud { part: Part::Whole, points: values, dim: d, weights: None }],
        _ => vec![ReadCloud { part: Part::Whole, points: values, dim: 1, weights: None }],
    }
}

/// The array of a `.npy` file.
pub(crate) fn decode(bytes: &[u8]) -> Result<Array, String> {
    let (header, data) = split(bytes)?;
    let number = Number::parse(value_of(&header, "descr")?)?;
    let order = value_of(&header, "fortran_order")?;
    let fortran = order.starts_with("True");
    if !fortran && !order.starts_with("False") {
        return Err("its header says neither True nor False for fortran_order; save it with numpy.save".into());
    }
    let shape = shape(value_of(&header, "shape")?)?;
    let shown = show(&shape);
    if !(1..=3).contains(&shape.len()) {
        return Err(format!(
            "its shape is {shown}; shapes that are read are (n, m, d) for n clouds of m points in R^d, (m, d) for one \
             cloud and (m,) for points in R^1"
        ));
    }
    if shape.contains(&0) {
        return Err(format!("its shape {shown} holds no numbers; a cloud needs at least one point"));
    }
    let count = shape.iter().try_fold(1usize, |product, &length| product.checked_mul(length));
    let expected = count.and_then(|n| n.checked_mul(number.size));
    if expected != Some(data.len()) {
        let what = if expected.is_none_or(|n| n > data.len()) { "truncated" } else { "longer than its header says" };
        let expected = expected.map_or("more bytes than a file can hold".into(), |n| format!("{n} bytes"));
        return Err(format!(
            "it is {what}: shape {shown} of {}-byte numbers takes {expected}, {} bytes follow the header; copy or \
             save it again",
            number.size,
            data.len()
        ));
    }
    let values = number.convert(data);
    let stored = number.stored();
    Ok(Array { values: if fortran { row_major(&shape, &values) } else { values }, shape, stored })
}

/// The text of the header, and the data.
fn split(bytes: &[u8]) -> Result<(String, &[u8]), String> {
    let no_npy = "it does not begin as a .npy file does; save it with numpy.save";
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or(no_npy)?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [0 | 4.., ..] => {
            return Err(format!("its format version {} is not one of 1, 2, 3; save it with numpy.save", rest[0]));
        }
        _ => return Err("it is truncated inside its header; copy or save it again".into()),
    };
    if length > rest.len() {
        let found = rest.len();
        return Err(format!("it is truncated: its header takes {length} bytes, {found} follow; copy or save it again"));
    }
    let (header, data) = rest.split_at(length);
    Ok((String::from_utf8_lossy(header).into_owned(), data))
}

/// The text from the value of a key on. The keys are written in the order descr, fortran_order, shape, so for plain numbers no
/// field of a structured type can precede a key.
fn value_of<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let value = ["'", "\""].iter().find_map(|quote| {
        let (_, after) = header.split_once(&format!("{quote}{key}{quote}"))?;
        after.trim_start().strip_prefix(':')
    });
    value.map(str::trim_start).ok_or(format!("its header has no entry {key:?}; save it with numpy.save"))
}

/// The lengths in `(3, 4)`; Python 2 wrote `(3L, 4L)`.
fn shape(value: &str) -> Result<Vec<usize>, String> {
    let inside = value.strip_prefix('(').and_then(|v| v.split_once(')')).map(|(inside, _)| inside);
    let lengths = inside.map(|inside| {
        let items = inside.split(',').map(|item| item.trim().trim_end_matches('L'));
        items.filter(|item| !item.is_empty()).map(str::parse).collect::<Result<Vec<usize>, _>>()
    });
    match lengths {
        Some(Ok(lengths)) => Ok(lengths),
        _ => Err("its header has a shape that is not a tuple of lengths; save it with numpy.save".into()),
    }
}

/// Formats a shape as Python does.
pub(crate) fn show(shape: &[usize]) -> String {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    if shape.len() == 1 { format!("({},)", lengths[0]) } else { format!("({})", lengths.join(", ")) }
}

/// A type of real numbers.
struct Number {
    kind: char,
    size: usize,
    big: bool,
}

impl Number {
    /// Parses `'<f8'` and similar types.
    fn parse(descr: &str) -> Result<Self, String> {
        if descr.starts_with('[') {
            return Err("it is a structured array; save plain numbers, for instance with \
                        numpy.lib.recfunctions.structured_to_unstructured"
                .into());
        }
        let name = descr.trim_start_matches(['\'', '"']).split(['\'', '"']).next().unwrap_or_default();
        let mut letters = name.chars();
        let order = letters.next();
        let kind = letters.next().unwrap_or_default();
        let problem = match (kind, letters.as_str()) {
            ('f', "2" | "4" | "8") | ('i' | 'u', "1" | "2" | "4" | "8") => {
                let size = letters.as_str().parse().unwrap_or(1);
                match order {
                    Some('<') | Some('=') => return Ok(Number { kind, size, big: false }),
                    Some('>') => return Ok(Number { kind, size, big: true }),
                    Some('|') if size == 1 => return Ok(Number { kind, size, big: false }),
                    _ => "numbers of unknown byte order",
                }
            }
            ('O', _) => {
                return Err("it holds Python objects; save it with .astype(float), and clouds of unequal sizes with \
                            numpy.savez, one array a cloud"
                    .into());
            }
            ('b', "1") => "booleans",
            ('c', _) => return Err("it holds complex numbers; save real coordinates".into()),
            ('U' | 'S' | 'a', _) => "strings",
            ('m' | 'M', _) => "dates or times",
            ('f', _) => "floating-point numbers of an uncommon size",
            _ => "values of an unknown type",
        };
        Err(format!("it holds {problem} ({}); save it with .astype(float)", quote(name)))
    }

    fn stored(&self) -> Stored {
        match (self.kind, self.size) {
            ('f', 2) => Stored::Half,
            ('f', 4) => Stored::Single,
            ('u', 1) => Stored::Byte,
            _ => Stored::Other,
        }
    }

    /// Converts to f64; integers beyond 2^53 are rounded.
    fn convert(&self, data: &[u8]) -> Vec<f64> {
        match (self.kind, self.size) {
            ('f', 2) => self.map(data, |b| half(u16::from_le_bytes(b))),
            ('f', 4) => self.map(data, |b| f64::from(f32::from_le_bytes(b))),
            ('f', _) => self.map(data, f64::from_le_bytes),
            ('i', 1) => self.map(data, |b| f64::from(i8::from_le_bytes(b))),
            ('i', 2) => self.map(data, |b| f64::from(i16::from_le_bytes(b))),
            ('i', 4) => self.map(data, |b| f64::from(i32::from_le_bytes(b))),
            ('i', _) => self.map(data, |b| i64::from_le_bytes(b) as f64),
            (_, 1) => self.map(data, |b| f64::from(u8::from_le_bytes(b))),
            (_, 2) => self.map(data, |b| f64::from(u16::from_le_bytes(b))),
            (_, 4) => self.map(data, |b| f64::from(u32::from_le_bytes(b))),
            (_, _) => self.map(data, |b| u64::from_le_bytes(b) as f64),
        }
    }

    /// Applies `f` to the little-endian bytes of each number.
    fn map<const N: usize>(&self, data: &[u8], f: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        let in_order = |mut bytes: [u8; N]| {
            if self.big {
                bytes.reverse();
            }
            f(bytes)
        };
        data.as_chunks().0.iter().copied().map(in_order).collect()
    }
}

/// IEEE half precision: a sign, 5 bits of exponent, 10 of fraction.
fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff);
    let size = match bits >> 10 & 0x1f {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Converts from Fortran to C order.
fn row_major(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let mut lengths = [1; 3];
    lengths[3 - shape.len()..].copy_from_slice(shape);
    let [n, m, d] = lengths;
    let mut out = Vec::with_capacity(values.len());
    for i in 0..n {
        for j in 0..m {
            out.extend((0..d).map(|k| values[i + n * (j + m * k)]));
        }
    }
    out
}
