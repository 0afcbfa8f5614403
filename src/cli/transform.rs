//! `wgpca transform`.

use super::args::Transform;
use super::output::{emit, exact};
use super::{Exit, Talk, load, pool, read};
use std::fmt::Write;
use wgpca::Result;
use wgpca::ot::Status;

pub fn run(args: &Transform, talk: Talk) -> Result<Exit> {
    let model = load(&args.model)?;
    let measures = read(&args.inputs)?;
    let rows = pool(args.threads)?.run(|| model.transform(&measures))?;
    let mut text = String::from("name");
    (1..=model.components.len()).for_each(|k| write!(text, ",t{k},residual{k}").expect("a string takes everything"));
    text.push('\n');
    let (mut open, mut ends) = (0, vec![0; model.components.len()]);
    for (measure, row) in measures.iter().zip(&rows) {
        text += &field(measure.name());
        for (p, ends) in row.iter().zip(&mut ends) {
            write!(text, ",{},{}", exact(p.time), exact(p.residual)).expect("a string takes everything");
            *ends += usize::from(p.at_end);
        }
        text.push('\n');
        open += usize::from(row.iter().any(|p| p.status != Status::Converged));
    }
    emit(&text)?;
    for (k, ends) in ends.iter().enumerate().filter(|(_, ends)| **ends > 0) {
        talk.warn(format!(
            "{ends} of {} measures project to an end of the interval of component {}: the geodesic cannot go on to them",
            measures.len(),
            k + 1
        ));
    }
    if open > 0 {
        talk.warn(format!("the solves of {open} of {} measures did not reach their tolerance", measures.len()));
        return Ok(Exit::NotConverged);
    }
    Ok(Exit::Done)
}

/// A CSV field, quoted where it must be.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(super::field("chair"), "chair");
        assert_eq!(super::field("a,b \"c\""), "\"a,b \"\"c\"\"\"");
    }
}
