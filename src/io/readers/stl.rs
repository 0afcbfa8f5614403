//! Stereolithography (`.stl`), ASCII and binary. Each triangle lists its corners; equal corners become one vertex.

use std::collections::HashMap;

use super::cloud::{Content, Fault, quote};
use super::mesh::{self, Surface};
use super::text::decode;
use super::tokens::Tokens;

/// Size in bytes of the title of a binary file, and of a triangle.
const TITLE: usize = 80;
const TRIANGLE: usize = 50;

/// Vertices in order of first occurrence.
#[derive(Default)]
struct Soup {
    seen: HashMap<[u64; 3], usize>,
    vertices: Vec<f64>,
    triangles: Vec<[usize; 3]>,
}

impl Soup {
    fn vertex(&mut self, point: [f64; 3]) -> usize {
        // -0 and 0 are the same coordinate.
        let next = self.vertices.len() / 3;
        let place = *self.seen.entry(point.map(|v| (v + 0.0).to_bits())).or_insert(next);
        if place == next {
            self.vertices.extend(point);
        }
        place
    }
}

/// The vertices, or points drawn from the faces.
pub(crate) fn read(bytes: &[u8], surface: Surface) -> Result<Content, Fault> {
    let count = bytes.get(TITLE..).and_then(|b| b.first_chunk()).map(|b| u32::from_le_bytes(*b) as usize);
    let fits = |n: usize| n.checked_mul(TRIANGLE).is_some_and(|size| TITLE + 4 + size == bytes.len());
    // The title of a binary file can begin with "solid" too.
    let soup = match count {
        Some(n) if fits(n) => binary(&bytes[TITLE + 4..]),
        Some(n) if !bytes.trim_ascii_start().starts_with(b"solid") || bytes.contains(&0) => {
            let found = (bytes.len() - TITLE - 4) as f64 / TRIANGLE as f64;
            let problem = "it is truncated or not a .stl file; copy or save it again";
            return Err(
                format!("it promises {n} triangles of {TRIANGLE} bytes, there are {found:.2}; {problem}").into()
            );
        }
        _ => ascii(&decode(bytes)?)?,
    };
    if soup.triangles.is_empty() {
        return Err(String::from("it has no triangles; a cloud needs at least one point").into());
    }
    mesh::content(soup.vertices, &["x", "y", "z"], &soup.triangles, surface)
}

fn binary(data: &[u8]) -> Soup {
    let mut soup = Soup::default();
    for triangle in data.chunks_exact(TRIANGLE) {
        let number = |k: usize| {
            let at = 4 * k;
            f64::from(f32::from_le_bytes([triangle[at], triangle[at + 1], triangle[at + 2], triangle[at + 3]]))
        };
        // The normal precedes the corners.
        let corners = [3, 6, 9].map(|k| soup.vertex([number(k), number(k + 1), number(k + 2)]));
        soup.triangles.push(corners);
    }
    soup
}

fn ascii(text: &str) -> Result<Soup, Fault> {
    let mut tokens = Tokens::new(text, None, 0);
    let mut soup = Soup::default();
    let mut corners = vec![];
    let mut ended = false;
    let first = tokens.next_line().unwrap_or_default();
    if first.split_whitespace().next() != Some("solid") {
        return Err(tokens.fault("it does not begin with \"solid\", nor is it a binary .stl file"));
    }
    while let Some(word) = tokens.next() {
        match word {
            "vertex" => {
                let mut point = [0.0; 3];
                for v in &mut point {
                    let value = tokens.number().map_err(|problem| tokens.fault(problem))?;
                    *v = value.ok_or_else(|| tokens.fault("the file ends inside a vertex; it is truncated"))?;
                }
                corners.push(soup.vertex(point));
            }
            "endloop" | "endfacet" => {
                match corners[..] {
                    [a, b, c] => soup.triangles.push([a, b, c]),
                    [] if word == "endfacet" => {}
                    _ => {
                        let problem = format!("the facet has {} vertices; each has 3: repair it", corners.len());
                        return Err(tokens.fault(problem));
                    }
                }
                corners.clear();
            }
            // These lines contain names, which can be any words.
            "solid" | "endsolid" => {
                ended = word == "endsolid";
                tokens.skip_line();
            }
            // The rest of the line is the normal, which is not needed.
            "facet" => tokens.skip_line(),
            "outer" | "loop" => {}
            _ => return Err(tokens.fault(format!("{} is not a keyword of a .stl file; repair the line", quote(word)))),
        }
    }
    if !ended || !corners.is_empty() {
        return Err(tokens.fault("the file ends before \"endsolid\"; it is truncated"));
    }
    Ok(soup)
}
