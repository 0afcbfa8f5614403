//! Options for reading.

use super::columns::Columns;
use super::format::Format;
use super::mesh;

/// How files are read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Draw this many points uniformly by area from the faces of a mesh (ply, off, obj, stl) instead of taking its vertices.
    /// Files of other formats have no faces and are read as they are; [`read`](crate::io::read()) requires at least one mesh.
    pub surface: Option<usize>,
    /// Seed of the surface samples.
    pub seed: u64,
    /// Columns that are coordinates. By default they are found by their names, and are all columns if there are no names.
    pub columns: Option<Columns>,
    /// Column (text files with a header), ply vertex property or pcd field that holds weights.
    pub weight_column: Option<String>,
    /// Array of an npz that holds weights.
    pub weights_key: Option<String>,
    /// Drop points with a coordinate that is NaN, or missing in a text. By default such a point is an error.
    pub drop_nan: bool,
    /// Read the subdirectories of directories too.
    pub recursive: bool,
    /// Format of the named files and of standard input. By default it is found by the endings of their names.
    pub format: Option<Format>,
}

impl ReadOptions {
    pub(crate) fn surface(&self) -> mesh::Surface {
        self.surface.map(|points| (points, self.seed))
    }
}
