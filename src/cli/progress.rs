//! Progress of a fit: a bar or a line for people, JSON lines for programs.

use super::console::Console;
use super::output::{Reporter, finite, short};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use wgpca::clouds::{Event, StepOutcome};
use wgpca::gaussian;

/// Steps between two JSON lines.
const STEPS_PER_LINE: usize = 10;

/// A line that is updated in place, if standard error is a terminal and messages are wanted.
fn bar(console: Console, json: bool, template: &str) -> Option<ProgressBar> {
    let watched = !console.quiet && !json && std::io::stderr().is_terminal();
    watched.then(|| {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            write!(out, "{:.0} steps/s", state.per_sec()).expect("a string takes everything");
        };
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        bar.with_style(style.with_key("rate", rate))
    })
}

/// Shows that a piece of work is running, and for how long; removed when dropped.
pub struct Waiting(Option<ProgressBar>);

impl Waiting {
    pub fn new(console: Console, json: bool, what: String) -> Self {
        let bar = bar(console, json, "{spinner} {msg}, {elapsed}");
        if let Some(bar) = &bar {
            bar.set_message(what);
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Waiting(bar)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// The first few values of a spectrum, and its total.
fn first_of(spectrum: &[f64], total: f64) -> String {
    let first: Vec<String> = spectrum.iter().take(5).map(|&v| short(v)).collect();
    format!("{} … of {}", first.join(", "), short(total))
}

pub struct Progress {
    console: Console,
    bar: Option<ProgressBar>,
    json: bool,
    started: Instant,
    loss: Option<f64>,
    cost: Option<f64>,
}

impl Progress {
    /// A bar if standard error is a terminal and messages are wanted; JSON lines if requested.
    pub fn new(console: Console, json: bool) -> Self {
        let bar = bar(console, json, "{prefix} {bar:20} {pos}/{len}, {rate}, {eta} left  {msg}");
        Progress { console, bar, json, started: Instant::now(), loss: None, cost: None }
    }

    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Called before a piece of work that takes long.
    pub fn preparing(&self, component: usize, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_prefix(format!("component {component}"));
            bar.set_message(what.to_string());
            bar.tick();
        }
    }

    /// Prints a warning above the bar.
    pub fn warn(&self, text: impl std::fmt::Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.console.warn(text)),
            None => self.console.warn(text),
        }
    }

    pub fn event(&mut self, event: &Event, out: &mut Reporter) {
        if self.json {
            return self.object(event).into_iter().for_each(|object| out.line(object));
        }
        let Some(bar) = &self.bar else { return };
        match event {
            Event::Started { component, start, cost, spectrum } => {
                let spectrum = spectrum
                    .as_ref()
                    .map_or(String::new(), |s| format!("; tangent spectrum {}", first_of(s, s.iter().sum())));
                bar.println(format!("component {component}: {start} start, cost {}{spectrum}", short(*cost)));
                bar.reset();
                (self.loss, self.cost) = (None, Some(*cost));
            }
            Event::Step { component, step, steps, outcome } => {
                self.loss = outcome.divergence.or(self.loss);
                bar.set_prefix(format!("component {component}"));
                bar.set_length(*steps as u64);
                bar.set_position(*step as u64);
                bar.set_message(self.message(*component, outcome));
            }
            Event::Evaluated { cost, step, .. } => {
                self.cost = Some(*cost);
                if bar.length() == Some(*step as u64) {
                    bar.set_message(format!("cost {}; projecting the measures", short(*cost)));
                }
            }
            Event::Finished { component } => bar.println(format!("component {component} finished")),
            _ => {}
        }
    }

    fn message(&self, component: usize, o: &StepOutcome) -> String {
        let number = |v: Option<f64>| v.map_or("-".into(), short);
        let mut text = format!("loss {} cost {}", number(self.loss), number(self.cost));
        if component > 1 {
            text += &format!(" I {:.1e} O {:.1e}", o.intersection, o.orthogonality);
        }
        text += &format!(" error {:.0e} ({} it)", o.marginal_error, o.iterations);
        text + &format!(" t in ({}, {})", short(o.interval.0), short(o.interval.1))
    }

    fn object(&self, event: &Event) -> Option<Value> {
        let seconds = self.seconds();
        Some(match event {
            Event::Started { component, start, spectrum, cost } => json!({
                "event": "started", "component": component, "start": start, "cost": finite(*cost),
                "spectrum": spectrum, "seconds": seconds,
            }),
            Event::Step { step, .. } if !(step - 1).is_multiple_of(STEPS_PER_LINE) => return None,
            Event::Step { component, step, steps, outcome: o } => json!({
                "event": "step", "component": component, "step": step, "steps": steps,
                "loss": o.divergence, "intersection": o.intersection, "orthogonality": o.orthogonality,
                "interval": [finite(o.interval.0), finite(o.interval.1)],
                "clipped": o.clipped, "measures": o.measures, "unconverged": o.unconverged,
                "iterations": o.iterations, "marginal_error": finite(o.marginal_error), "seconds": seconds,
            }),
            Event::Evaluated { component, step, cost, best } => json!({
                "event": "evaluated", "component": component, "step": step, "cost": finite(*cost),
                "best": finite(*best), "seconds": seconds,
            }),
            Event::Finished { component } => {
                json!({ "event": "component", "component": component, "seconds": seconds })
            }
            _ => return None,
        })
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The same for a fit of Gaussians: a line on a terminal, no JSON.
#[derive(Clone)]
pub struct Searches {
    bar: Option<ProgressBar>,
}

impl Searches {
    pub fn new(console: Console, json: bool) -> Self {
        Searches { bar: bar(console, json, "{prefix}  {msg}, {elapsed}") }
    }

    pub fn event(&self, event: &gaussian::Event) {
        let Some(bar) = &self.bar else { return };
        let (prefix, message) = match event {
            gaussian::Event::Barycentre { iterations, error } => {
                ("barycentre".into(), format!("{iterations} iterations, error {error:.0e}"))
            }
            gaussian::Event::Tangent { barycentre_cost, spectrum } => {
                bar.println(format!(
                    "barycentre alone: cost {}; tangent spectrum {}",
                    short(*barycentre_cost),
                    first_of(spectrum, *barycentre_cost)
                ));
                return;
            }
            gaussian::Event::Screened { component, evaluated, candidates } => {
                (format!("component {component}"), format!("starts: {evaluated} of {candidates} candidates"))
            }
            gaussian::Event::Searched { component, searches, evaluations, cost } => (
                format!("component {component}"),
                format!("searches {searches}, evaluations {evaluations}, cost {}", short(*cost)),
            ),
            gaussian::Event::Finished { component } => return bar.println(format!("component {component} finished")),
            _ => return,
        };
        bar.set_prefix(prefix);
        bar.set_message(message);
        bar.tick();
    }

    /// Removes the line.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
