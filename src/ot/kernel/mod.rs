//! The Gibbs kernel of two clouds: stored in tiles without the negligible entries, or streamed.

pub(crate) mod apply;
pub(crate) mod boxes;
pub(crate) mod cloud;
pub(crate) mod cost_cache;
pub(crate) mod cost_rows;
pub(crate) mod row_parts;
pub(crate) mod softmin;
pub(crate) mod tiled_kernel;
pub(crate) mod tiles;
