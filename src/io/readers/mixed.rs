//! Recognises columns without names that are probably not only coordinates.

use super::cloud::ReadCloud;

/// Largest number of columns; a wider table is not points with colours.
const MAX_COLUMNS: usize = 16;
/// Smallest number of points; with fewer, a common property can be chance.
const MIN_POINTS: usize = 4;

/// A warning for clouds of more than three coordinates, of which some look like colours or normals.
pub(crate) fn warning(clouds: &[ReadCloud]) -> Option<String> {
    let d = clouds.first()?.dim;
    let rows = || clouds.iter().flat_map(|cloud| cloud.points.chunks_exact(cloud.dim));
    if !(4..=MAX_COLUMNS).contains(&d)
        || clouds.iter().any(|cloud| cloud.dim != d)
        || rows().take(MIN_POINTS).count() < MIN_POINTS
    {
        return None;
    }
    let whole: Vec<bool> = (0..d).map(|k| rows().all(|row| row[k].fract() == 0.0)).collect();
    let byte =
        |&k: &usize| whole[k] && rows().all(|row| (0.0..=255.0).contains(&row[k])) && rows().any(|row| row[k] > 1.0);
    let colours: Vec<String> = (0..d).filter(byte).map(|k| (k + 1).to_string()).collect();
    if !colours.is_empty() && whole.iter().any(|whole| !whole) {
        let (s, holds) = if colours.len() == 1 { ("", "holds") } else { ("s", "hold") };
        return Some(format!(
            "column{s} {} of {d} {holds} whole numbers from 0 to 255 beside others, possibly colours; all are read as \
             coordinates: choose the coordinates if they are not (columns)",
            colours.join(", ")
        ));
    }
    let unit = |first: usize| {
        let length = |row: &[f64]| row[first].hypot(row[first + 1]).hypot(row[first + 2]);
        rows().all(|row| (length(row) - 1.0).abs() < 1e-3)
    };
    let first = [3, d - 3].into_iter().find(|&first| first + 3 <= d && first >= 2 && unit(first))?;
    Some(format!(
        "columns {} to {} of {d} are unit vectors, possibly normals; all are read as coordinates: choose the coordinates if \
         they are not (columns)",
        first + 1,
        first + 3
    ))
}
