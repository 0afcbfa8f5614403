//! The header of a polygon file.

use crate::io::readers::cloud::{Fault, quote};

/// The encoding of the data.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    Ascii,
    Binary { big: bool },
}

/// The type of a number.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

/// A number, or a list of numbers, that each entry of an element has.
pub(crate) struct Property {
    pub name: String,
    pub kind: Kind,
    /// Type of the length if the property is a list.
    pub length: Option<Kind>,
}

/// A kind of entry: vertices, faces, others.
pub(crate) struct Element {
    pub name: String,
    pub count: usize,
    pub properties: Vec<Property>,
}

/// The content of the header, and the data after it.
pub(crate) struct Header<'a> {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
    /// The byte that ends a line.
    pub newline: u8,
    /// Number of the last line.
    pub line: usize,
    pub rest: &'a [u8],
}

impl Element {
    /// Index of the first property with one of these names, as a list or as a number.
    pub fn find(&self, names: &[&str], list: bool) -> Option<usize> {
        let position = |name: &&str| self.properties.iter().position(|p| p.name == *name && p.length.is_some() == list);
        names.iter().find_map(position)
    }
}

impl Kind {
    /// Parses either spelling of the type.
    fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "char" | "int8" => Kind::I8,
            "uchar" | "uint8" => Kind::U8,
            "short" | "int16" => Kind::I16,
            "ushort" | "uint16" => Kind::U16,
            "int" | "int32" => Kind::I32,
            "uint" | "uint32" => Kind::U32,
            "float" | "float32" => Kind::F32,
            "double" | "float64" => Kind::F64,
            _ => return Err(format!("{} is not a type of a ply file", quote(name))),
        })
    }

    /// Splits off the number at the start of the bytes.
    pub fn take(self, bytes: &[u8], big: bool) -> Option<(f64, &[u8])> {
        fn number<const N: usize>(bytes: &[u8], big: bool, f: impl Fn([u8; N]) -> f64) -> Option<(f64, &[u8])> {
            let (&first, rest) = bytes.split_first_chunk()?;
            let mut first: [u8; N] = first;
            if big {
                first.reverse();
            }
            Some((f(first), rest))
        }
        match self {
            Kind::I8 => number(bytes, big, |b| f64::from(i8::from_le_bytes(b))),
            Kind::U8 => number(bytes, big, |b| f64::from(u8::from_le_bytes(b))),
            Kind::I16 => number(bytes, big, |b| f64::from(i16::from_le_bytes(b))),
            Kind::U16 => number(bytes, big, |b| f64::from(u16::from_le_bytes(b))),
            Kind::I32 => number(bytes, big, |b| f64::from(i32::from_le_bytes(b))),
            Kind::U32 => number(bytes, big, |b| f64::from(u32::from_le_bytes(b))),
            Kind::F32 => number(bytes, big, |b| f64::from(f32::from_le_bytes(b))),
            Kind::F64 => number(bytes, big, f64::from_le_bytes),
        }
    }
}

/// Splits off the first line.
pub(crate) fn cut(bytes: &[u8], newline: u8) -> (&[u8], &[u8]) {
    match bytes.iter().position(|&b| b == newline) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

/// Reads the header. Only its last line marks where it ends.
pub(crate) fn read(bytes: &[u8]) -> Result<Header<'_>, Fault> {
    let newline = match bytes {
        [b'p', b'l', b'y', b'\r', after, ..] if *after != b'\n' => b'\r',
        _ => b'\n',
    };
    let mut rest = bytes;
    let mut number = 0;
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    while !rest.is_empty() {
        let (line, after) = cut(rest, newline);
        rest = after;
        number += 1;
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if number == 1 {
            if words != ["ply"] {
                return Err(Fault::at("line 1", "it is not \"ply\"; check that the file is in the polygon format"));
            }
            continue;
        }
        let read = match &words[..] {
            [] | ["comment" | "obj_info", ..] => Ok(()),
            ["format", name, _version] => parse_encoding(name).map(|e| encoding = Some(e)),
            ["element", name, count] => start_element(&mut elements, name, count),
            ["property", definition @ ..] => add_property(&mut elements, definition),
            ["end_header"] => {
                let last = elements.iter().find(|e| e.properties.is_empty() && e.count > 0);
                if let Some(e) = last {
                    return Err(format!("its element {:?} has no properties; repair the header", e.name).into());
                }
                let encoding = encoding.ok_or(String::from("its header has no line \"format\"; repair the header"))?;
                return Ok(Header { encoding, elements, newline, line: number, rest });
            }
            _ => Err("it is not a line of a ply header".into()),
        };
        read.map_err(|problem| Fault::at(format!("line {number}"), format!("{problem}; repair the header")))?;
    }
    Err(String::from("it ends inside its header, before \"end_header\"; it is truncated or not a ply file").into())
}

fn parse_encoding(name: &str) -> Result<Encoding, String> {
    match name {
        "ascii" => Ok(Encoding::Ascii),
        "binary_little_endian" => Ok(Encoding::Binary { big: false }),
        "binary_big_endian" => Ok(Encoding::Binary { big: true }),
        _ => Err(format!("{} is not one of ascii, binary_little_endian, binary_big_endian", quote(name))),
    }
}

fn start_element(elements: &mut Vec<Element>, name: &str, count: &str) -> Result<(), String> {
    if elements.iter().any(|e| e.name == name) {
        return Err(format!("element {} is defined twice", quote(name)));
    }
    let count = count.parse().map_err(|_| format!("{} is not a number of entries", quote(count)))?;
    elements.push(Element { name: name.into(), count, properties: Vec::new() });
    Ok(())
}

fn add_property(elements: &mut [Element], definition: &[&str]) -> Result<(), String> {
    let element = elements.last_mut().ok_or("a property precedes the first element")?;
    let (kind, length, name) = match definition {
        ["list", length, kind, name] => (Kind::parse(kind)?, Some(Kind::parse(length)?), name),
        [kind, name] => (Kind::parse(kind)?, None, name),
        _ => return Err("a property is \"property type name\" or \"property list type type name\"".into()),
    };
    if matches!(length, Some(Kind::F32 | Kind::F64)) {
        return Err("the length of a list must have an integer type".into());
    }
    if element.properties.iter().any(|p| p.name == *name) {
        return Err(format!("property {} is defined twice", quote(name)));
    }
    element.properties.push(Property { name: (*name).into(), kind, length });
    Ok(())
}
