//! Standard output: whole lines, and no panic when its reader closes it.

use super::console::Console;
use serde_json::{Value, json};
use std::io::Write;
use wgpca::clouds::{Component, Model};
use wgpca::{Error, Result};

/// Writes text unchanged.
pub fn emit(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Error::io("standard output", e))
}

/// Writes one line.
pub fn line(text: impl std::fmt::Display) -> Result<()> {
    emit(&format!("{text}\n"))
}

/// Standard output of a command whose result is a file: output that cannot be written is dropped with one warning.
pub struct Reporter {
    console: Console,
    lost: bool,
}

impl Reporter {
    pub fn new(console: Console) -> Self {
        Reporter { console, lost: false }
    }

    /// Writes text unchanged.
    pub fn emit(&mut self, text: &str) {
        if self.lost {
            return;
        }
        if let Err(e) = emit(text) {
            self.lost = true;
            self.console.warn(format!("standard output cannot be written; the computation continues without it: {e}"));
        }
    }

    /// Writes one line.
    pub fn line(&mut self, text: impl std::fmt::Display) {
        self.emit(&format!("{text}\n"));
    }
}

/// The value as JSON; an infinite end of an interval is null.
pub fn finite(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { Value::Null }
}

/// A matrix as a JSON list of rows.
pub fn matrix(values: &[f64], columns: usize) -> Value {
    values.chunks_exact(columns).map(|row| row.iter().map(|&x| finite(x)).collect::<Value>()).collect()
}

/// A component as JSON, the same in `fit`, `info` and `evaluate`.
pub fn component(c: &Component<f32>) -> Value {
    json!({
        "cost": finite(c.costs.cost),
        "cost_se": finite(c.costs.cost_se),
        "variation": finite(c.costs.variation),
        "variation_se": finite(c.costs.variation_se),
        "noise_floor": finite(c.costs.noise_floor),
        "explained": c.costs.explained,
        "explained_se": c.costs.explained_se,
        "explained_se_population": c.costs.explained_se_population,
        "together": c.costs.together,
        "together_se": c.costs.together_se,
        "points": {"fewest": c.costs.points.0, "most": c.costs.points.1},
        "weighted": c.costs.weighted,
        "interval": [finite(c.interval.0), finite(c.interval.1)],
        "interval_samples": c.report.interval_samples,
        "meeting": c.meeting.map(|(old, new)| [old, new]),
        "intersection": c.report.intersection,
        "orthogonality": c.report.orthogonality,
        "times": c.times,
        "time_se": c.time_se,
        "residuals": c.residuals,
        "clipped": c.report.clipped,
        "unconverged": c.report.unconverged,
        "open_solves": c.report.unconverged_solves,
        "start": c.report.starts.first().map(|s| &s.0),
        "start_cost": finite(c.report.start_cost),
        "starts": c.report.starts.iter().map(|(name, cost)| json!({"start": name, "cost": finite(*cost)})).collect::<Vec<_>>(),
        "spectrum": c.report.spectrum,
        "steps": c.report.steps,
        "kept_step": c.report.kept_step,
        "status": c.report.status.name(),
        "warnings": c.report.warnings,
    })
}

/// At most seven significant digits, without trailing zeros.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan".into()
        } else if value > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..7).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", (4 - magnitude).max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// The shortest decimal that reads back as the same number, with an exponent if the number is far from 1.
pub fn exact(value: f64) -> String {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// A fraction in per cent.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |s| format!("{:.1} %", 100.0 * s))
}

/// A number and its standard error, rounded according to the error; `-` if there is none.
pub fn with_error(value: f64, error: f64) -> String {
    if !(value.is_finite() && error.is_finite() && error > 0.0) {
        return short(value);
    }
    let digits = 1 - error.log10().floor() as i32;
    if !(-4..=8).contains(&digits) || value.abs() >= 1e7 {
        return format!("{} ± {}", short(value), short(error));
    }
    format!("{value:.0$} ± {error:.0$}", digits.max(0) as usize)
}

/// A fraction and its standard error, in per cent.
pub fn share(share: Option<f64>, error: Option<f64>) -> String {
    match (share, error) {
        (Some(s), Some(e)) => format!("{:.1} ± {:.1} %", 100.0 * s, 100.0 * e),
        _ => percent(share),
    }
}

/// What the columns of costs and shares mean, one line each.
pub const LEGEND: [&str; 3] = [
    "cost ±: squared distance to the component, corrected for the sampling error of finite clouds, and its standard error",
    "variation: the same for the best single point of component 1; explained ±: 1 - cost/variation; together: all components so far",
    "-: the variation is below 2.5 times its standard error, so no share is computed",
];

/// The number of points drawn, and the way they were drawn.
pub fn draws((fewest, most): (usize, usize), measures: usize, weighted: usize) -> String {
    let points = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let how = match weighted {
        0 => "two halves of every measure, each taken as a random sample".to_string(),
        all if all == measures => "drawn with replacement in proportion to the weights".to_string(),
        some => {
            let s = if some == 1 { "" } else { "s" };
            format!("{some} measure{s} drawn in proportion to the weights, the others split into two random samples")
        }
    };
    format!("sums over {measures} measures, {points} points per sample, {how}")
}

/// Columns padded to their widest entry, numbers aligned to the right.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| rows.iter().filter_map(|r| r.get(k)).map(|t| t.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut text = String::new();
        for (k, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[k] - cell.chars().count());
            let gap = if k > 0 { "  " } else { "" };
            let left = k == 0;
            text += &if left { format!("{gap}{cell}{pad}") } else { format!("{gap}{pad}{cell}") };
        }
        out += text.trim_end();
        out.push('\n');
    }
    out
}

/// The components of a model as a table.
pub fn components(model: &Model<f32>) -> String {
    let head =
        ["component", "cost ±", "variation", "explained ±", "together", "interval", "I", "O", "clipped", "start"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (k, c) in model.components.iter().enumerate() {
        let optional = |v: Option<f64>| v.map_or("-".into(), short);
        rows.push(vec![
            (k + 1).to_string(),
            with_error(c.costs.cost, c.costs.cost_se),
            if c.costs.variation.is_nan() { "-".into() } else { short(c.costs.variation) },
            share(c.costs.explained, c.costs.explained_se),
            percent(c.costs.together),
            format!("({}, {})", short(c.interval.0), short(c.interval.1)),
            optional(c.report.intersection),
            optional(c.report.orthogonality),
            percent(Some(c.report.clipped)),
            c.report.starts.first().map_or("-".into(), |s| s.0.clone()),
        ]);
    }
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (2.956_31, "2.9563"),
            (-0.012_345_6, "-0.012346"),
            (123_456.0, "123456"),
            (1.5e-9, "1.500e-9"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(short(value), text);
        }
        for (value, text) in [(0.1, "0.1"), (-0.0, "-0"), (1e300, "1e300"), (-1.25e-7, "-1.25e-7"), (f64::NAN, "NaN")] {
            assert_eq!(exact(value), text);
        }
    }

    #[test]
    fn errors_decide_the_digits() {
        for (value, error, text) in [
            (2.956_31, 0.012_34, "2.956 ± 0.012"),
            (-0.001_2, 0.004, "-0.0012 ± 0.0040"),
            (123_456.7, 231.0, "123457 ± 231"),
            (1.5e-9, 1e-12, "1.500e-9 ± 1.000e-12"),
            (0.25, 0.0, "0.25"),
            (f64::NAN, 1.0, "nan"),
            (0.5, f64::NAN, "0.5"),
        ] {
            assert_eq!(with_error(value, error), text);
        }
        assert_eq!(share(Some(0.123), Some(0.02)), "12.3 ± 2.0 %");
        assert_eq!((share(Some(0.5), None), share(None, None)), ("50.0 %".into(), "-".into()));
    }

    #[test]
    fn tables_line_up() {
        let rows = [vec!["a".into(), "bb".into()], vec!["ccc".into(), "1".into()]];
        assert_eq!(table(&rows), "a    bb\nccc   1\n");
    }
}
