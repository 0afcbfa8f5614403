//! Translates the options of `wgpca fit` to settings.

use super::args::{Fit as Arguments, Objective, Orthogonality, Preset};
use wgpca::Result;
use wgpca::clouds::{self, Settings};
use wgpca::io::read_weights;
use wgpca::ot::{Epsilon, Sinkhorn};

/// The settings that the options give; a checkpoint has its own.
pub fn settings(args: &Arguments) -> Result<Settings> {
    let preset = match args.preset {
        Preset::Fast => Settings::fast(),
        Preset::Best => Settings::best(),
        Preset::Paper => Settings::paper(),
    };
    let epsilon = match (args.epsilon, args.epsilon_scale) {
        (Some(value), _) => Epsilon::Fixed(value),
        (None, Some(scale)) => Epsilon::Auto { scale },
        (None, None) => preset.sinkhorn.epsilon,
    };
    Ok(Settings {
        components: args.components.unwrap_or(1),
        steps: args.steps.map_or(preset.steps, |n| [n, n]),
        batch: args.batch.unwrap_or(preset.batch),
        measures: args.measures.unwrap_or(preset.measures),
        hidden: args.hidden.clone().unwrap_or(preset.hidden),
        starts: args.init.clone().unwrap_or(preset.starts),
        sinkhorn: Sinkhorn {
            epsilon,
            tolerance: args.tolerance.unwrap_or(preset.sinkhorn.tolerance),
            max_iterations: args.max_iterations.unwrap_or(preset.sinkhorn.max_iterations),
            ..preset.sinkhorn
        },
        lambda_intersection: args.lambda_i.unwrap_or(preset.lambda_intersection),
        lambda_orthogonality: args.lambda_o.unwrap_or(preset.lambda_orthogonality),
        orthogonality: match args.orthogonality {
            Orthogonality::L2 => clouds::Orthogonality::L2,
            Orthogonality::Pointwise => clouds::Orthogonality::Pointwise,
        },
        objective: args.objective.map_or(preset.objective, |objective| match objective {
            Objective::Auto => clouds::Objective::Auto,
            Objective::Divergence => clouds::Objective::Divergence,
            Objective::Unbiased => clouds::Objective::Unbiased,
        }),
        measure_weights: args.measure_weights.as_deref().map_or(Ok(vec![]), read_weights)?,
        seed: args.seed,
        ..preset
    })
}
