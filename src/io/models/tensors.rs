//! Converts named arrays and one JSON document to bytes and back.

use crate::error::{Error, Result};
use crate::io::write::write_atomic;
use crate::nn::Adam;
use crate::simd::real::{Real, cast, widen};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// Version of the file format. A reader refuses other major versions and accepts all minor ones.
const FORMAT: &str = "1.1";

/// The sentence about units that each file contains.
const COST: &str =
    "squared Euclidean |x - y|^2 without 1/2; OT_eps = min <P,C> + eps KL(P|ab); S = OT(x,y) - OT(x,x)/2 - OT(y,y)/2";

/// Storage of an array: parameters in the precision of the fit, or f64 numbers.
pub(crate) enum Slot<'a, T> {
    Real(&'a mut Vec<T>),
    Double(&'a mut Vec<f64>),
}

/// A type whose JSON leaves out arrays; it passes each of them with its name to a visitor.
pub(crate) trait Arrays<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>));
}

impl<T> Arrays<T> for Adam<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        see(format!("{prefix}.first"), Slot::Real(&mut self.first));
        see(format!("{prefix}.second"), Slot::Real(&mut self.second));
    }
}

/// An error that says why nothing was written.
pub(crate) fn refused(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::file(path, "", format!("it is not written, and an existing file is kept: {problem}"))
}

/// Writes `content` with its arrays and the `facts` about it, after checking that the bytes read back.
pub(crate) fn write<T: Real, C: Serialize + DeserializeOwned + Arrays<T>>(
    path: &Path,
    kind: &str,
    facts: &Value,
    content: &mut C,
) -> Result<()> {
    write_atomic(path, &to_bytes::<T, C>(path, kind, facts, content)?)
}

/// The bytes that [`write`] writes.
pub(crate) fn to_bytes<T: Real, C: Serialize + DeserializeOwned + Arrays<T>>(
    path: &Path,
    kind: &str,
    facts: &Value,
    content: &mut C,
) -> Result<Vec<u8>> {
    let bytes = encode(path, kind, facts, content)?;
    let again = File::parse(path, kind, Cow::Borrowed(&bytes)).and_then(|file| file.content::<T, C>(kind));
    match again.and_then(|(mut again, _)| encode(path, kind, facts, &mut again)) {
        Ok(same) if same == bytes => Ok(bytes),
        Ok(_) => Err(refused(path, "it contains an infinite number or NaN, which cannot be read back")),
        Err(Error::File { problem, .. }) => Err(refused(path, format!("it cannot be read back: {problem}"))),
        Err(other) => Err(other),
    }
}

fn encode<T: Real, C: Serialize + Arrays<T>>(
    path: &Path,
    kind: &str,
    facts: &Value,
    content: &mut C,
) -> Result<Vec<u8>> {
    let fault = |problem: String| refused(path, problem);
    let mut document = json!({
        "format": FORMAT,
        "kind": kind,
        "program": concat!("wgpca ", env!("CARGO_PKG_VERSION")),
        "dtype": T::NAME,
        "cost": COST,
    });
    let content_json = serde_json::to_value(&*content).map_err(|e| fault(e.to_string()))?;
    for part in [facts.clone(), json!({ "content": content_json })] {
        if let (Value::Object(document), Value::Object(part)) = (&mut document, part) {
            document.extend(part);
        }
    }
    let mut arrays: Vec<(String, Dtype, Vec<u8>, usize)> = vec![];
    content.visit("", &mut |name, slot| {
        // The format is little-endian, as are all machines on which this is tested.
        let (dtype, bytes, len) = match slot {
            Slot::Real(v) if T::NAME == "f32" => {
                (Dtype::F32, widen(v).iter().flat_map(|&x| (x as f32).to_le_bytes()).collect(), v.len())
            }
            Slot::Real(v) => (Dtype::F64, widen(v).iter().flat_map(|x| x.to_le_bytes()).collect(), v.len()),
            Slot::Double(v) => (Dtype::F64, v.iter().flat_map(|x| x.to_le_bytes()).collect(), v.len()),
        };
        arrays.push((name.trim_start_matches('.').to_string(), dtype, bytes, len));
    });
    let views = arrays
        .iter()
        .map(|(name, dtype, bytes, len)| {
            let view = TensorView::new(*dtype, vec![*len], bytes).map_err(|e| fault(e.to_string()))?;
            Ok((name.as_str(), view))
        })
        .collect::<Result<Vec<_>>>()?;
    // Only one key: the order of several in a HashMap would differ between runs.
    let metadata = HashMap::from([("wgpca".to_string(), document.to_string())]);
    serialize(views, Some(metadata)).map_err(|e| fault(e.to_string()))
}

/// Reads the bytes of [`write`]: the content, and the whole document for the facts beside it. Arrays are converted to `T` from
/// the precision of the file.
pub(crate) fn read<T: Real, C: DeserializeOwned + Arrays<T>>(path: &Path, kind: &str) -> Result<(C, Value)> {
    File::open(path, kind)?.content(kind)
}

/// A file whose metadata are parsed; the arrays are not read yet.
pub(crate) struct File<'a> {
    path: &'a Path,
    bytes: Cow<'a, [u8]>,
    document: Value,
}

impl<'a> File<'a> {
    /// Opens a file. `wanted` is what messages say was expected.
    pub fn open(path: &'a Path, wanted: &str) -> Result<Self> {
        File::parse(path, wanted, Cow::Owned(std::fs::read(path).map_err(|e| Error::io(path, e))?))
    }

    /// Parses the bytes of a file.
    pub fn parse(path: &'a Path, wanted: &str, bytes: Cow<'a, [u8]>) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| broken(path, wanted, &e))?;
        let Some(text) = header.metadata().as_ref().and_then(|m| m.get("wgpca")) else {
            return Err(broken(path, wanted, &"it has no wgpca metadata"));
        };
        let document: Value = serde_json::from_str(text).map_err(|e| broken(path, wanted, &e))?;
        let format = document["format"].as_str().unwrap_or_default();
        if format.split('.').next() != FORMAT.split('.').next() {
            let problem = format!(
                "its format is {format:?}, but this program reads {FORMAT:?} and later minor versions; update wgpca or fit \
                 again"
            );
            return Err(Error::file(path, "", problem));
        }
        Ok(File { path, bytes, document })
    }

    /// The facts about the content.
    pub fn facts(self) -> Value {
        self.document
    }

    /// The kind of content that the file declares.
    pub fn kind(&self) -> &str {
        self.document["kind"].as_str().unwrap_or("?")
    }

    /// The precision of the parameters: `f32` or `f64`.
    pub fn precision(&self) -> &str {
        self.document["dtype"].as_str().unwrap_or("?")
    }

    /// An error that says that the file holds something else than `wanted`.
    pub fn not(&self, wanted: &str) -> Error {
        let called = |kind: &str| match kind {
            "gaussian" => "model of Gaussians".to_string(),
            other => other.to_string(),
        };
        Error::file(self.path, "", format!("it holds a {}, not a {}", called(self.kind()), called(wanted)))
    }

    /// The content, and the rest of the document.
    pub fn content<T: Real, C: DeserializeOwned + Arrays<T>>(mut self, kind: &str) -> Result<(C, Value)> {
        if self.kind() != kind {
            return Err(self.not(kind));
        }
        let tensors = SafeTensors::deserialize(&self.bytes).map_err(|e| broken(self.path, kind, &e))?;
        let content = self.document["content"].take();
        let mut content: C = serde_json::from_value(content).map_err(|e| broken(self.path, kind, &e))?;
        let mut missing = None;
        content.visit("", &mut |name, slot| {
            let name = name.trim_start_matches('.');
            let Some(values) = tensors.tensor(name).ok().and_then(|t| numbers(&t)) else {
                missing.get_or_insert(format!("array {name:?} is missing or of another type"));
                return;
            };
            match slot {
                Slot::Real(v) => *v = cast(&values),
                Slot::Double(v) => *v = values,
            }
        });
        match missing {
            Some(problem) => Err(broken(self.path, kind, &problem)),
            None => Ok((content, self.document)),
        }
    }
}

fn broken(path: &Path, wanted: &str, what: &dyn std::fmt::Display) -> Error {
    let problem =
        format!("it is not a complete safetensors file of wgpca ({what}); name the {wanted} that a fit wrote");
    Error::file(path, "", problem)
}

fn numbers(view: &TensorView<'_>) -> Option<Vec<f64>> {
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => {
            Some(data.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect())
        }
        Dtype::F64 => Some(
            data.chunks_exact(8)
                .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
                .collect(),
        ),
        _ => None,
    }
}
