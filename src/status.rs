//! The status of an iteration, a search or a fit.

/// The status of an iteration, a search or a fit at its end, ordered from best to worst. A result with its error is
/// returned for every status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Status {
    /// The tolerance was met.
    Converged,
    /// All steps of a training were done.
    Completed,
    /// The tolerance was not met: the remaining error is due to rounding, and no iteration reduces it.
    Rounding,
    /// No step reduces the cost, but its gradient is not 0 to tolerance, or the constraints do not hold to 1e-9. The
    /// cause is rounding near singular matrices, or a point at which the cost is not differentiable.
    Stalled,
    /// The tolerance was not met within the allowed iterations.
    MaxIterations,
    /// A start that was not continued, because another one was lower or approached the same geodesic.
    Dropped,
    /// A number left the range of the precision. The result is meaningless; a training returns the last good state.
    Diverged,
}

impl Status {
    const ALL: [Status; 7] = [
        Status::Converged,
        Status::Completed,
        Status::Rounding,
        Status::Stalled,
        Status::MaxIterations,
        Status::Dropped,
        Status::Diverged,
    ];

    /// `converged`, `completed`, `rounding`, `stalled`, `max_iterations`, `dropped` or `diverged`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::Completed => "completed",
            Status::Rounding => "rounding",
            Status::Stalled => "stalled",
            Status::MaxIterations => "max_iterations",
            Status::Dropped => "dropped",
            Status::Diverged => "diverged",
        }
    }

    /// The status with this [`Status::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether the tolerance was met or all steps were done.
    pub fn is_success(self) -> bool {
        self <= Status::Completed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_the_order_is_from_best_to_worst() {
        assert!(Status::ALL.is_sorted());
        assert!(Status::ALL.iter().all(|&s| Status::from_name(s.name()) == Some(s)));
        assert_eq!(Status::from_name("fine"), None);
        assert!(Status::Completed.is_success() && !Status::Rounding.is_success());
    }
}
