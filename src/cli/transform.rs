//! `wgpca transform` and `wgpca sample`: from measures to times, from times to points.

use super::args::{Sample, Transform};
use super::console::Console;
use super::device::refuse_gpu;
use super::inputs::{read_as_gaussians, read_clouds};
use super::model::{Loaded, ask, load, projector, refuse_solves};
use super::output::{emit, exact};
use super::output_files;
use super::process::{Exit, pool};
use std::fmt::Write;
use wgpca::Status;
use wgpca::rng::Stream;
use wgpca::{Measure, OutsideInterval, Projection, Result};

/// The projections of a command.
struct Projected {
    components: usize,
    names: Vec<String>,
    rows: Vec<Vec<Projection>>,
    /// Whether times have standard errors, which can be missing for a measure that is not a sample.
    errors: bool,
}

pub fn run(args: &Transform, console: Console) -> Result<Exit> {
    let Projected { components, names, rows, errors } = project(args, console)?;
    let error = |k| if errors { format!(",t{k}_se") } else { String::new() };
    let mut text = String::from("name");
    (1..=components).for_each(|k| write!(text, ",t{k},residual{k}").expect("a string takes everything"));
    (1..=components).for_each(|k| text += &error(k));
    text.push('\n');
    let (mut open, mut ends) = (0, vec![0; components]);
    for (name, row) in names.iter().zip(&rows) {
        text += &field(name);
        for (p, ends) in row.iter().zip(&mut ends) {
            write!(text, ",{},{}", exact(p.time), exact(p.residual)).expect("a string takes everything");
            *ends += usize::from(p.at_end);
        }
        // After the other columns, which keep their positions.
        for p in row.iter().filter(|_| errors) {
            write!(text, ",{}", p.time_se.map_or(String::new(), exact)).expect("a string takes everything");
        }
        text.push('\n');
        open += usize::from(row.iter().any(|p| p.status != Status::Converged));
    }
    emit(&text)?;
    for (k, ends) in ends.iter().enumerate().filter(|(_, ends)| **ends > 0) {
        console.warn(format!(
            "{ends} of {} measures project to an end of the interval of component {}: the geodesic cannot be extended to them",
            names.len(),
            k + 1
        ));
    }
    if open > 0 {
        console.warn(format!(
            "the solves of {open} of {} measures did not reach their tolerance; raise --max-iterations or --tolerance",
            names.len()
        ));
        return Ok(Exit::NotConverged);
    }
    Ok(Exit::Done)
}

fn project(args: &Transform, console: Console) -> Result<Projected> {
    let pool = pool(args.data.threads, console)?;
    Ok(match load(&args.data.model)? {
        Loaded::Clouds(mut model) => {
            ask(&mut model.sinkhorn, &args.data.solves)?;
            let measures = read_clouds(&args.data.inputs, &args.data.reading, &args.data.gaussians, console)?;
            let (mut projector, said) = projector(&model, &measures, args.data.device)?;
            let rows = pool.run(|| projector.transform(&measures))?;
            if let Some(said) = said {
                console.say(said);
            }
            let names = measures.iter().map(Measure::name).map(String::from).collect();
            Projected { components: model.components.len(), names, rows, errors: true }
        }
        Loaded::Gaussians(model) => {
            refuse_gpu(args.data.device)?;
            refuse_solves(&args.data.solves)?;
            let set = read_as_gaussians(&args.data.inputs, &args.data.reading, &args.data.gaussians, console)?;
            let rows = pool.run(|| model.transform(&set))?;
            Projected { components: model.components.len(), names: set.names().to_vec(), rows, errors: false }
        }
    })
}

/// A CSV field, quoted if necessary.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

/// `wgpca sample`.
pub fn sample(args: &Sample, console: Console) -> Result<Exit> {
    if let Some(path) = &args.output {
        output_files::check(path, &[&args.model])?;
    }
    let Sample { component, time, points, seed, clamp, .. } = *args;
    let outside = if clamp { OutsideInterval::Clamp } else { OutsideInterval::Error };
    let mut rng = Stream::new(seed, [0; 3]);
    let (drawn, dim) = match load(&args.model)? {
        Loaded::Clouds(model) => (model.sample(component, time, points, outside, &mut rng)?, model.dim()),
        Loaded::Gaussians(model) => (model.sample(component, time, points, outside, &mut rng)?, model.dim()),
    };
    match &args.output {
        Some(path) => {
            output_files::write(path, &drawn, dim)?;
            console.say(format!("{points} points of component {component} in {}", path.display()));
        }
        None => emit(&output_files::csv(&drawn, dim))?,
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(super::field("chair"), "chair");
        assert_eq!(super::field("a,b \"c\""), "\"a,b \"\"c\"\"\"");
    }
}
