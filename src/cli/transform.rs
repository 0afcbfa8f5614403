//! `wgpca transform`.

use super::args::Transform;
use super::output::emit;
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
    let mut open = 0;
    for (measure, row) in measures.iter().zip(&rows) {
        text += &field(measure.name());
        for p in row {
            write!(text, ",{},{}", p.time, p.residual).expect("a string takes everything");
        }
        text.push('\n');
        open += usize::from(row.iter().any(|p| p.status != Status::Converged));
    }
    emit(&text)?;
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
