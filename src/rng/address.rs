//! The addresses of all random streams. No two streams of one seed share an address.

/// The purpose of a stream and its index within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamId {
    /// A stream of the caller.
    Caller([u32; 3]),
    /// Points on the faces of a mesh.
    #[cfg(feature = "io")]
    MeshSurface,
    /// x ~ ρ of a training step, starting at a row of the batch.
    StepReference { run: u32, step: u32, row: u32 },
    /// y ~ ν of a training step, for the measure of this key.
    StepMeasure { run: u32, step: u32, key: u32 },
    /// The order in which the measures of an epoch are visited.
    EpochOrder { run: u32, epoch: u32 },
    /// The systematic sample of measures of one step.
    StepVisits { run: u32, step: u32 },
    /// Parameters of a training from a random start.
    RandomStart { run: u32 },
    /// The pooled cloud of a tangent start.
    TangentCloud,
    /// Representatives of the measure of this key in a tangent start.
    TangentMeasure { round: u32, key: u32 },
    /// x ~ ρ of a tangent start.
    TangentReference { run: u32 },
    /// x ~ ρ of one pairing with the cloud of a tangent start.
    PairingReference { run: u32, pairing: u32 },
    /// The batches of the regression of f.
    RegressionOfF { run: u32 },
    /// The batches of the regression of φ.
    RegressionOfPhi { run: u32 },
    /// x ~ ρ of a step of the regression that copies the meeting point.
    MeetingReference { run: u32, step: u32 },
    /// x ~ ρ on which the states of a training are compared.
    EvaluationReference,
    /// Representatives of the measure of this key for the same comparison.
    EvaluationMeasure { key: u32 },
    /// Samples Y of the measure of this key for the explained share of a component.
    ExcessMeasure { key: u32 },
    /// Samples X that are compared with them.
    ExcessReference { key: u32 },
    /// Representatives of every measure in a projection.
    ProjectionMeasure,
    /// x ~ ρ of a projection.
    ProjectionReference,
    /// x ~ ρ of the final interval, speed and constraints.
    FinalReference,
    /// x ~ ρ of the search for the best single point.
    SinglePointReference,
    /// x ~ ρ for the standard errors of the times.
    TimeErrorReference,
    /// The halves into which the measure of this content is split for the standard error of its time.
    TimeErrorSplit { split: u32, content: u32 },
    /// x ~ ρ of the search for times without the bias of S_ε.
    UnbiasedReference,
    /// Samples Y of the measure of this content in this search.
    UnbiasedMeasure { content: u32 },
    /// x ~ ρ of the same search for the best single point.
    UnbiasedSingleReference,
    /// Samples Y of every measure in it.
    UnbiasedSingleMeasure { content: u32 },
    /// x ~ ρ of the same search for the standard errors of the times.
    UnbiasedErrorReference,
    /// x ~ ρ on which the states of a training are compared without the bias of S_ε.
    UnbiasedEvaluationReference,
    /// Samples Y of the measure of this key for the same comparison.
    UnbiasedEvaluationMeasure { key: u32 },
    /// The first Lanczos vector.
    LanczosStart,
    /// The measures of a sample of Gaussians.
    GaussianSample,
    /// Random starts of the search for a component of Gaussians.
    GaussianStart { search: GaussianSearch, k: u32 },
    /// The start vectors of the iteration for principal directions.
    PrincipalDirections,
}

/// Searches for a component of Gaussians.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GaussianSearch {
    /// The first component.
    First,
    /// The second component, which meets the first orthogonally.
    Second,
    /// A later component, with this number of earlier ones.
    Later(u32),
}

impl StreamId {
    /// (family, indices). Families are below 2^8, first indices below 2^24.
    pub(crate) fn address(self) -> (u32, [u32; 3]) {
        match self {
            StreamId::StepReference { run, step, row } => (1, [run, step, row]),
            StreamId::StepMeasure { run, step, key } => (2, [run, step, key]),
            StreamId::RandomStart { run } => (3, [run, 0, 0]),
            StreamId::GaussianStart { search, k } => {
                let search = match search {
                    GaussianSearch::First => 1,
                    GaussianSearch::Second => 2,
                    GaussianSearch::Later(earlier) => 3 + earlier,
                };
                (3, [0x6A, search, k])
            }
            StreamId::EpochOrder { run, epoch } => (4, [run, epoch, 0]),
            StreamId::StepVisits { run, step } => (4, [run, step, 1]),
            StreamId::GaussianSample => (4, [0, 0, 2]),
            StreamId::TangentCloud => (5, [0, 0, 0]),
            StreamId::TangentMeasure { round, key } => (5, [1, round, key]),
            StreamId::TangentReference { run } => (5, [2, run, 0]),
            StreamId::PairingReference { run, pairing } => (5, [3, run, pairing]),
            StreamId::RegressionOfF { run } => (5, [4, run, 0]),
            StreamId::RegressionOfPhi { run } => (5, [5, run, 0]),
            StreamId::MeetingReference { run, step } => (5, [6, run, step]),
            StreamId::PrincipalDirections => (5, [7, 0, 0]),
            StreamId::EvaluationReference => (6, [0, 0, 0]),
            StreamId::EvaluationMeasure { key } => (6, [1, key, 0]),
            StreamId::ExcessMeasure { key } => (6, [2, key, 0]),
            StreamId::ProjectionMeasure => (6, [3, 0, 0]),
            StreamId::ProjectionReference => (6, [4, 0, 0]),
            StreamId::FinalReference => (6, [5, 0, 0]),
            StreamId::SinglePointReference => (6, [6, 0, 0]),
            StreamId::ExcessReference { key } => (6, [7, key, 0]),
            StreamId::TimeErrorReference => (6, [8, 0, 0]),
            StreamId::TimeErrorSplit { split, content } => (6, [9, split, content]),
            StreamId::LanczosStart => (6, [10, 0, 0]),
            StreamId::UnbiasedReference => (6, [11, 0, 0]),
            StreamId::UnbiasedMeasure { content } => (6, [12, content, 0]),
            StreamId::UnbiasedSingleReference => (6, [13, 0, 0]),
            StreamId::UnbiasedSingleMeasure { content } => (6, [14, content, 0]),
            StreamId::UnbiasedErrorReference => (6, [15, 0, 0]),
            StreamId::UnbiasedEvaluationReference => (6, [16, 0, 0]),
            StreamId::UnbiasedEvaluationMeasure { key } => (6, [17, key, 0]),
            StreamId::Caller(indices) => (7, indices),
            #[cfg(feature = "io")]
            StreamId::MeshSurface => (8, [0, 0, 0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Every variant at small indices. The match has no wildcard arm, so a new variant does not compile without a
    /// line here.
    fn all() -> Vec<StreamId> {
        use StreamId::*;
        let small: Vec<[u32; 3]> = (0..343).map(|i| [i % 7, i / 7 % 7, i / 49]).collect();
        let mut ids = vec![];
        for &[a, b, c] in &small {
            let mut next = Some(Caller([a, b, c]));
            while let Some(id) = next {
                ids.push(id);
                next = match id {
                    #[cfg(feature = "io")]
                    MeshSurface => None,
                    Caller(_) => Some(StepReference { run: a, step: b, row: c }),
                    StepReference { .. } => Some(StepMeasure { run: a, step: b, key: c }),
                    StepMeasure { .. } => Some(EpochOrder { run: a, epoch: b }),
                    EpochOrder { .. } => Some(StepVisits { run: a, step: b }),
                    StepVisits { .. } => Some(RandomStart { run: a }),
                    RandomStart { .. } => Some(TangentCloud),
                    TangentCloud => Some(TangentMeasure { round: a, key: b }),
                    TangentMeasure { .. } => Some(TangentReference { run: a }),
                    TangentReference { .. } => Some(PairingReference { run: a, pairing: b }),
                    PairingReference { .. } => Some(RegressionOfF { run: a }),
                    RegressionOfF { .. } => Some(RegressionOfPhi { run: a }),
                    RegressionOfPhi { .. } => Some(MeetingReference { run: a, step: b }),
                    MeetingReference { .. } => Some(EvaluationReference),
                    EvaluationReference => Some(EvaluationMeasure { key: a }),
                    EvaluationMeasure { .. } => Some(ExcessMeasure { key: a }),
                    ExcessMeasure { .. } => Some(ExcessReference { key: a }),
                    ExcessReference { .. } => Some(ProjectionMeasure),
                    ProjectionMeasure => Some(ProjectionReference),
                    ProjectionReference => Some(FinalReference),
                    FinalReference => Some(SinglePointReference),
                    SinglePointReference => Some(TimeErrorReference),
                    TimeErrorReference => Some(TimeErrorSplit { split: a, content: b }),
                    TimeErrorSplit { .. } => Some(UnbiasedReference),
                    UnbiasedReference => Some(UnbiasedMeasure { content: a }),
                    UnbiasedMeasure { .. } => Some(UnbiasedSingleReference),
                    UnbiasedSingleReference => Some(UnbiasedSingleMeasure { content: a }),
                    UnbiasedSingleMeasure { .. } => Some(UnbiasedErrorReference),
                    UnbiasedErrorReference => Some(UnbiasedEvaluationReference),
                    UnbiasedEvaluationReference => Some(UnbiasedEvaluationMeasure { key: a }),
                    UnbiasedEvaluationMeasure { .. } => Some(LanczosStart),
                    LanczosStart => Some(GaussianSample),
                    GaussianSample => Some(GaussianStart { search: GaussianSearch::First, k: a }),
                    GaussianStart { search: GaussianSearch::First, k } => {
                        Some(GaussianStart { search: GaussianSearch::Second, k })
                    }
                    GaussianStart { search: GaussianSearch::Second, k } => {
                        Some(GaussianStart { search: GaussianSearch::Later(b), k })
                    }
                    GaussianStart { search: GaussianSearch::Later(_), .. } => Some(PrincipalDirections),
                    PrincipalDirections => None,
                };
            }
        }
        // Gaussians share families with fits of clouds, whose runs can reach the index of the Gaussians.
        #[cfg(feature = "io")]
        ids.push(MeshSurface);
        ids.extend([RandomStart { run: 0x6A }, EpochOrder { run: 0x6A, epoch: 0 }, StepVisits { run: 0x6A, step: 0 }]);
        ids
    }

    #[test]
    fn no_two_streams_share_an_address() {
        let mut known = HashMap::new();
        for id in all() {
            let (family, indices) = id.address();
            assert!(family < 1 << 8 && indices[0] < 1 << 24, "{id:?}");
            let before = known.insert((family, indices), id);
            assert!(before.is_none_or(|other| other == id), "{id:?} and {before:?}");
        }
        assert!(known.len() > 3 * 343);
    }
}
