//! Finds out from the names of the arrays of an archive what they hold.

use super::cloud::Fault;

/// The meaning of the name of an array, regardless of case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Key {
    /// `points` itself.
    Points,
    /// Another usual name of points.
    Near,
    /// `x`, which can be points, features of points, or one of several clouds.
    X,
    Weights,
    Offsets,
    /// An attribute of points: normals, colours, faces, labels.
    Attribute,
    Other,
}

const POINTS: [&str; 17] = [
    "point",
    "pos",
    "position",
    "positions",
    "xyz",
    "coord",
    "coords",
    "coordinate",
    "coordinates",
    "vertex",
    "vertices",
    "verts",
    "pts",
    "pc",
    "cloud",
    "pointcloud",
    "point_cloud",
];
const WEIGHTS: [&str; 5] = ["weights", "weight", "w", "mass", "masses"];
const OFFSETS: [&str; 5] = ["offsets", "offset", "ptr", "indptr", "row_splits"];
const ATTRIBUTES: [&str; 24] = [
    "normal",
    "normals",
    "rgb",
    "rgba",
    "color",
    "colors",
    "colour",
    "colours",
    "intensity",
    "face",
    "faces",
    "triangles",
    "edges",
    "edge_index",
    "edge_attr",
    "label",
    "labels",
    "class",
    "classes",
    "name",
    "names",
    "id",
    "ids",
    "index",
];
const COVARIANCES: [&str; 8] =
    ["covariances", "covariance", "covs", "cov", "sigma", "sigmas", "covariance_matrices", "cov_matrices"];
const MEANS: [&str; 6] = ["means", "mean", "mu", "mus", "centers", "centres"];

fn among(names: &[&str], name: &str) -> bool {
    names.iter().any(|n| name.eq_ignore_ascii_case(n))
}

impl Key {
    /// The key for the name of an array in an archive of clouds.
    pub fn of(name: &str) -> Self {
        match name {
            "points" => Key::Points,
            _ if among(&["points"], name) || among(&POINTS, name) => Key::Near,
            _ if among(&["x"], name) => Key::X,
            _ if among(&WEIGHTS, name) => Key::Weights,
            _ if among(&OFFSETS, name) => Key::Offsets,
            _ if among(&ATTRIBUTES, name) => Key::Attribute,
            _ => Key::Other,
        }
    }
}

/// The name of the only array of a kind; two are an error.
pub(crate) fn only<'a>(found: &[&'a str], what: &str) -> Result<Option<&'a str>, Fault> {
    match found {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => {
            let list = several.join(", ");
            Err(format!(
                "the arrays {list} may all hold the {what}; call one of them {what:?} and keep the others elsewhere"
            )
            .into())
        }
    }
}

/// The arrays of an archive of Gaussians.
pub(crate) struct OfGaussians<'a> {
    pub covariances: Option<&'a str>,
    pub means: Option<&'a str>,
    pub weights: Option<&'a str>,
    /// Arrays that are none of these.
    pub others: Vec<&'a str>,
}

impl<'a> OfGaussians<'a> {
    /// Finds the arrays by their names. A single array is the covariances, for any name.
    pub fn find(names: &'a [String]) -> Result<Self, Fault> {
        let all = |list: &[&str]| names.iter().map(String::as_str).filter(|n| among(list, n)).collect::<Vec<_>>();
        let covariances = match names {
            [one] => Some(one.as_str()),
            _ => only(&all(&COVARIANCES), "covariances")?,
        };
        let means = only(&all(&MEANS), "means")?.filter(|n| Some(*n) != covariances);
        let weights = only(&all(&WEIGHTS), "weights")?.filter(|n| Some(*n) != covariances);
        let known = |name: &str| [covariances, means, weights].contains(&Some(name));
        let others = names.iter().map(String::as_str).filter(|n| !known(n)).collect();
        Ok(OfGaussians { covariances, means, weights, others })
    }
}
