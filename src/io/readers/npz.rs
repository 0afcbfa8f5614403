//! Archives of numpy arrays (`.npz`), uncompressed or deflated.

use std::cmp::Ordering;
use std::io::{Cursor, Read};

use zip::result::ZipResult;
use zip::{CompressionMethod, ZipArchive};

use super::cloud::{Content, Fault, Part, ReadCloud};
use super::keys::{Key, only};
use super::npy::{self, Array, show};

/// An open archive and the positions of its arrays.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Names in natural order, each with its index in the zip file.
    arrays: Vec<(String, usize)>,
}

/// The clouds of an archive: its points, divided by `offsets` and weighted by `weights`, or one cloud per array.
pub(crate) fn read(bytes: &[u8], weights_key: Option<&str>) -> Result<Content, Fault> {
    let mut archive = Archive::open(bytes)?;
    let all = archive.names();
    if all.is_empty() {
        return Err(String::from("it holds no arrays; save clouds in it with numpy.savez").into());
    }
    let keys = Keys::find(&all, weights_key)?;
    let Some(points) = keys.points else {
        if let Some(name) = keys.weights.or(keys.offsets).or(keys.left.first().copied()) {
            let problem = "it seems to belong to points, but no array is called \"points\"; call the array of the \
                           points so, or rename this one if it is a cloud";
            return Err(Fault::at(array(name), problem));
        }
        let mut content = Content::default();
        for name in all {
            content.clouds.push(archive.cloud(name)?);
        }
        return Ok(content);
    };
    let points = (points, archive.needed(points)?);
    let weights = match keys.weights {
        Some(name) => Some((name, archive.needed(name)?)),
        None => None,
    };
    let mut content = match keys.offsets {
        Some(name) => ragged(points, (name, archive.needed(name)?), weights)?,
        None => equal_sizes(points.1, weights)?,
    };
    content.weights = keys.weights.map(|name| format!("array {name}"));
    content.left_out(("array", "arrays"), &keys.left);
    Ok(content)
}

/// The use of each array.
#[derive(Default)]
struct Keys<'a> {
    /// None if each array is a cloud.
    points: Option<&'a str>,
    weights: Option<&'a str>,
    offsets: Option<&'a str>,
    /// Arrays that are left out. Without points, these are the arrays whose names say that they are not clouds.
    left: Vec<&'a str>,
}

impl<'a> Keys<'a> {
    fn find(names: &'a [String], weights_key: Option<&'a str>) -> Result<Self, Fault> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if let Some(key) = weights_key
            && !names.contains(&key)
        {
            let found = names.join(", ");
            return Err(
                format!("no array is called {key:?}, which is requested as the weights; it holds {found}").into()
            );
        }
        let free: Vec<&str> = names.iter().copied().filter(|n| Some(*n) != weights_key).collect();
        let all = |key: Key| free.iter().copied().filter(|n| Key::of(n) == key).collect::<Vec<_>>();
        let near = all(Key::Near);
        let points = match &all(Key::Points)[..] {
            [points] => Some(*points),
            _ if !near.is_empty() => only(&near, "points")?,
            // `x` beside arrays with other names is one of several clouds.
            _ if all(Key::Other).is_empty() => only(&all(Key::X), "points")?,
            _ => None,
        };
        let points = match (points, weights_key, &free[..]) {
            (None, Some(_), [one]) => Some(*one),
            (points, ..) => points,
        };
        let weights = match weights_key {
            Some(key) => Some(key),
            None => only(&all(Key::Weights), "weights")?,
        };
        let offsets = only(&all(Key::Offsets), "offsets")?;
        let used = [points, weights, offsets];
        let is_left = |n: &&str| !used.contains(&Some(*n)) && (points.is_some() || Key::of(n) == Key::Attribute);
        let left = free.iter().copied().filter(is_left).collect();
        Ok(Keys { points, weights, offsets, left })
    }
}

impl<'a> Archive<'a> {
    /// Opens an archive; two arrays with the same name are an error.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Fault> {
        let archive = Archive::list(bytes)
            .map_err(|e| Fault::from(format!("it is not a readable .npz ({e}); save it again with numpy.savez")))?;
        match archive.arrays.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(twice) => Err(Fault::at(array(&twice[0].0), "the archive contains it twice; save each array once")),
            None => Ok(archive),
        }
    }

    /// Names of its arrays, in natural order.
    pub fn names(&self) -> Vec<String> {
        self.arrays.iter().map(|(name, _)| name.clone()).collect()
    }

    fn list(bytes: &'a [u8]) -> ZipResult<Self> {
        let mut zip = ZipArchive::new(Cursor::new(bytes))?;
        let mut arrays = Vec::new();
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index)?;
            if let Some(name) = entry.name()?.strip_suffix(".npy") {
                arrays.push((name.to_string(), index));
            }
        }
        arrays.sort_by(|(a, _), (b, _)| natural(a, b));
        Ok(Archive { zip, arrays })
    }

    /// The array with this name, if it exists.
    pub fn array(&mut self, name: &str) -> Result<Option<Array>, Fault> {
        let Some(&(_, index)) = self.arrays.iter().find(|(n, _)| n == name) else { return Ok(None) };
        let place = array(name);
        let bytes = match self.unpack(index) {
            Ok(bytes) => bytes,
            Err(problem) => return Err(Fault::at(place, problem)),
        };
        npy::decode(&bytes).map(Some).map_err(|problem| Fault::at(place, problem))
    }

    /// The array with a name from the list.
    fn needed(&mut self, name: &str) -> Result<Array, Fault> {
        self.array(name)?.ok_or_else(|| Fault::at(array(name), "it cannot be found; save the file again"))
    }

    /// The bytes of an entry. Entries that numpy never writes are refused here, with a remedy in the message.
    fn unpack(&mut self, index: usize) -> Result<Vec<u8>, String> {
        let damaged = |e: &dyn std::fmt::Display| format!("it cannot be unpacked ({e}); save it again");
        let raw = self.zip.by_index_raw(index).map_err(|e| damaged(&e))?;
        if raw.encrypted() {
            return Err("it is encrypted; save it without a password".into());
        }
        if !matches!(raw.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            let method = raw.compression();
            return Err(format!("it is compressed by the method {method}; save it with numpy.savez_compressed"));
        }
        drop(raw);
        let mut bytes = Vec::new();
        let mut entry = self.zip.by_index(index).map_err(|e| damaged(&e))?;
        entry.read_to_end(&mut bytes).map_err(|e| damaged(&e))?;
        Ok(bytes)
    }

    /// An array that is one cloud.
    fn cloud(&mut self, name: String) -> Result<ReadCloud, Fault> {
        let values = self.needed(&name)?;
        if values.shape.len() == 3 {
            let shape = show(&values.shape);
            let problem = format!("its shape {shape} is a stack of clouds; call a stack \"points\" and keep it alone");
            return Err(Fault::at(array(&name), problem));
        }
        let dim = values.shape.get(1).copied().unwrap_or(1);
        Ok(ReadCloud { part: Part::Array(name), points: values.values, dim, weights: None })
    }
}

/// The place of an array in messages.
pub(crate) fn array(name: &str) -> String {
    format!("array {name:?}")
}

/// Points without offsets: one cloud or a stack, with one weight per point.
fn equal_sizes(points: Array, weights: Option<(&str, Array)>) -> Result<Content, Fault> {
    let expected =
        if points.shape.len() == 1 { points.shape.clone() } else { points.shape[..points.shape.len() - 1].to_vec() };
    let mut content = npy::content(points);
    if let Some((name, weights)) = weights {
        check_weights(name, &weights, &expected)?;
        let size = expected[expected.len() - 1];
        for (cloud, w) in content.clouds.iter_mut().zip(weights.values.chunks_exact(size)) {
            cloud.weights = Some(w.to_vec());
        }
    }
    Ok(content)
}

/// Clouds of different sizes: cloud k is the rows `offsets[k]..offsets[k + 1]`.
fn ragged(
    (points_name, points): (&str, Array),
    (offsets_name, offsets): (&str, Array),
    weights: Option<(&str, Array)>,
) -> Result<Content, Fault> {
    if points.shape.len() == 3 {
        let problem = format!("its shape is {}; with {offsets_name:?} it is (M, d)", show(&points.shape));
        return Err(Fault::at(array(points_name), problem));
    }
    let rows = points.shape[0];
    let dim = points.shape.get(1).copied().unwrap_or(1);
    if let Some((name, weights)) = &weights {
        check_weights(name, weights, &[rows])?;
    }
    let bounds = check_offsets(&offsets, rows).map_err(|problem| Fault::at(array(offsets_name), problem))?;
    let cut = |(k, pair): (usize, &[usize])| ReadCloud {
        part: Part::Index(k),
        points: points.values[pair[0] * dim..pair[1] * dim].to_vec(),
        dim,
        weights: weights.as_ref().map(|(_, w)| w.values[pair[0]..pair[1]].to_vec()),
    };
    Ok(Content { clouds: bounds.windows(2).enumerate().map(cut).collect(), ..Content::default() })
}

/// Checks that the offsets increase from 0 to the number of points.
fn check_offsets(offsets: &Array, rows: usize) -> Result<Vec<usize>, String> {
    let values = &offsets.values;
    if offsets.shape.len() != 1 || values.len() < 2 {
        let shape = show(&offsets.shape);
        return Err(format!("its shape is {shape}; n clouds take n + 1 offsets, the first 0, the last the end"));
    }
    if values[0] != 0.0 || values[values.len() - 1] != rows as f64 {
        let (first, last) = (values[0], values[values.len() - 1]);
        return Err(format!("it runs from {first} to {last}; it must run from 0 to {rows}, the number of points"));
    }
    for (k, pair) in values.windows(2).enumerate() {
        if pair[0] == pair[1] {
            return Err(format!("cloud {k} is empty (offsets {k} and {} are both {}); leave it out", k + 1, pair[0]));
        }
        if pair[1].fract() != 0.0 || pair[1] < pair[0] {
            return Err(format!("offset {} is {} after {}; offsets are increasing integers", k + 1, pair[1], pair[0]));
        }
    }
    // Between 0 and `rows`, because they increase.
    Ok(values.iter().map(|&v| v as usize).collect())
}

/// Checks that there is one weight per point.
fn check_weights(name: &str, weights: &Array, expected: &[usize]) -> Result<(), Fault> {
    if weights.shape == expected || weights.shape == [expected, &[1]].concat() {
        return Ok(());
    }
    let problem = format!("its shape is {}; one weight per point has shape {}", show(&weights.shape), show(expected));
    Err(Fault::at(array(name), problem))
}

/// Compares names so that numbers in them count as numbers: `arr_2` before `arr_10`.
fn natural(a: &str, b: &str) -> Ordering {
    fn pieces(name: &str) -> Vec<(&str, Option<u128>)> {
        let mut out = Vec::new();
        let mut rest = name;
        while !rest.is_empty() {
            let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let digits = rest[text..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - text);
            out.push((&rest[..text], rest[text..text + digits].parse().ok()));
            rest = &rest[text + digits..];
        }
        out
    }
    pieces(a).cmp(&pieces(b)).then_with(|| a.cmp(b))
}
