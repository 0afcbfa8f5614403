//! Points on the surface of a mesh.

use super::cloud::{Content, Fault, Remark};
use crate::rng::{Stream, StreamId};

/// How many points to draw, and the seed.
pub(crate) type Surface = Option<(usize, u64)>;

/// The vertices of a mesh, or points drawn from its faces.
pub(crate) fn content(
    vertices: Vec<f64>,
    names: &[&str],
    triangles: &[[usize; 3]],
    surface: Surface,
) -> Result<Content, Fault> {
    let points = match surface {
        Some(surface) => sample(&vertices, names.len(), triangles, surface)?,
        None => vertices,
    };
    Ok(Content::whole(points, names.iter().map(|&name| String::from(name)).collect()))
}

/// A warning that the data after the vertices, which are not needed, are damaged.
pub(crate) fn spoilt(Fault { place, problem }: &Fault) -> Remark {
    let colon = if place.is_empty() { "" } else { ": " };
    let detail = format!(" ({place}{colon}{problem})");
    Remark { detail, ..Remark::notice("the vertices are read, but the data after them are damaged") }
}

/// Adds a face, divided into a fan of triangles around its first corner. `corners` are indices as stored in the file.
pub(crate) fn fan(face: usize, corners: &[f64], vertices: usize, to: &mut Vec<[usize; 3]>) -> Result<(), String> {
    for &corner in corners {
        if !(corner >= 0.0 && corner < vertices as f64 && corner.fract() == 0.0) {
            return Err(format!(
                "face {face} has corner {corner}; the {vertices} vertices are numbered from 0: repair the face"
            ));
        }
    }
    to.extend(corners.windows(2).skip(1).map(|side| [corners[0] as usize, side[0] as usize, side[1] as usize]));
    Ok(())
}

/// Draws points uniformly by area. They depend only on the mesh and the seed, not on the other files read.
fn sample(
    vertices: &[f64],
    dim: usize,
    triangles: &[[usize; 3]],
    (count, seed): (usize, u64),
) -> Result<Vec<f64>, Fault> {
    if let Some(k) = vertices.iter().position(|v| !v.is_finite()) {
        let problem = format!("coordinate {} is {}; repair the mesh", k % dim, vertices[k]);
        return Err(Fault::at(format!("vertex {}", k / dim), problem));
    }
    if triangles.is_empty() {
        let problem = "it has no faces to draw points from; read its vertices instead (no surface option)";
        return Err(String::from(problem).into());
    }
    let corner = |k: usize| &vertices[k * dim..(k + 1) * dim];
    let mut total = 0.0;
    let add = |&[a, b, c]: &[usize; 3]| {
        total += area(corner(a), corner(b), corner(c));
        total
    };
    let cumulative: Vec<f64> = triangles.iter().map(add).collect();
    if !(total > 0.0 && total.is_finite()) {
        let problem = format!("its faces have total area {total}; a surface sample needs a positive, finite area");
        return Err(problem.into());
    }
    let mut points = Vec::new();
    if count.checked_mul(dim).is_none_or(|n| points.try_reserve_exact(n).is_err()) {
        return Err(format!("{count} points do not fit in memory; draw fewer").into());
    }
    let mut stream = Stream::at(seed, StreamId::MeshSurface);
    for _ in 0..count {
        let [a, b, c] = triangles[stream.weighted(&cumulative)];
        let (a, b, c) = (corner(a), corner(b), corner(c));
        // The square root makes the density uniform on the triangle. Using sides from one corner keeps a flat face exactly flat.
        let (u, v) = (stream.uniform().sqrt(), stream.uniform());
        points.extend((0..dim).map(|k| a[k] + u * ((1.0 - v) * (b[k] - a[k]) + v * (c[k] - a[k]))));
    }
    Ok(points)
}

/// Area of a triangle in the plane or in space.
fn area(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    let side = |end: &[f64]| [0, 1, 2].map(|k| if k < a.len() { end[k] - a[k] } else { 0.0 });
    let (p, q) = (side(b), side(c));
    let normal = [0, 1, 2].map(|k| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        p[i] * q[j] - p[j] * q[i]
    });
    // hypot, because the squares of very small or large numbers leave the range of f64.
    0.5 * normal[0].hypot(normal[1]).hypot(normal[2])
}
