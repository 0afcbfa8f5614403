//! How an iteration, a search or a fit ended.

/// How an iteration, a search or a fit ended. A result is returned in every case, and its error with it. From best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Status {
    /// The tolerance was met.
    Converged,
    /// All steps of a training were done.
    Completed,
    /// The tolerance was not met: the remaining error is rounding of the precision, and no iteration lowers it.
    Rounding,
    /// No step lowers the cost any more, but its gradient is not 0 to tolerance, or constraints do not hold to 1e-9: rounding
    /// near singular matrices, or a corner of the cost.
    Stalled,
    /// The tolerance was not met within the allowed iterations.
    MaxIterations,
    /// A start that was not pursued: another one was lower, or on the way to the same geodesic.
    Dropped,
    /// A number left the range of the precision. The result is not meaningful; that of a training is the best state before.
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

    /// By [`Status::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// The tolerance was met, or all steps were done.
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
