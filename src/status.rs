//! How an iteration ended.

/// How an iteration ended. A result is returned in every case, and its error with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "io", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "io", serde(rename_all = "snake_case"))]
pub enum Status {
    /// The tolerance was met.
    Converged,
    /// No step lowers the cost any more, but its gradient is not 0 to tolerance, or constraints do not hold to 1e-9: rounding
    /// near singular matrices, or a corner of the cost.
    Stalled,
    /// The tolerance was not met within the allowed iterations.
    MaxIterations,
    /// A start that was not pursued: another one was lower, or on the way to the same geodesic.
    Dropped,
    /// A number left the range of f64; the result means nothing.
    Diverged,
}

impl Status {
    /// `converged`, `stalled`, `max_iterations`, `dropped` or `diverged`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::Stalled => "stalled",
            Status::MaxIterations => "max_iterations",
            Status::Dropped => "dropped",
            Status::Diverged => "diverged",
        }
    }
}
