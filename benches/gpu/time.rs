//! Times on the device, measured on the host with a wait for the end of the work.

use crate::data::{measures, pair, points};
use crate::parity::{REFERENCE, distance, epsilon, exactly, reach};
use crate::{Options, chains, say};
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use wgpca::Status;
use wgpca::clouds::{Event, Fit, Settings};
use wgpca::cuda::bench::Pair;
use wgpca::cuda::{CudaDevice, divergence};
use wgpca::io::write_npy;
use wgpca::ot::{self, Sinkhorn};
use wgpca::{Error, Result};

pub const D: usize = 3;
/// Seconds available for the repetitions of one measurement.
pub const LONG: f64 = 2.0;

fn sizes(tiny: bool) -> &'static [usize] {
    if tiny { &[17, 24] } else { &[1024, 4096, 16_384, 65_536] }
}

pub fn milliseconds(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(1e3 * start.elapsed().as_secs_f64())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Median and minimum of 3 to 20 repetitions, as time permits, after one that is not counted.
pub fn repeat(tiny: bool, mut work: impl FnMut() -> Result<()>) -> Result<[f64; 2]> {
    let first = milliseconds(&mut work)?;
    let repeats = if tiny { 1 } else { ((1e3 * LONG / first) as usize).clamp(3, 20) };
    let mut times = vec![];
    for _ in 0..repeats {
        times.push(milliseconds(&mut work)?);
    }
    Ok([median(&mut times), times[0]])
}

pub fn run(device: &CudaDevice, options: &Options) -> Result<bool> {
    let mut all = true;
    for &n in sizes(options.tiny) {
        all &= sinkhorn(device, n, options)?;
    }
    for component in [1, 2] {
        for visited in [1, 4] {
            all &= step(device, component, visited, options)?;
        }
    }
    Ok(all & chains::time(device, options)?)
}

/// Value and gradient from scratch: only the solve, with clouds and memory already on the device, and the whole call.
fn sinkhorn(device: &CudaDevice, n: usize, options: &Options) -> Result<bool> {
    let clouds = pair(n, n, D);
    let [x, y] = points::<f32>(&clouds, D);
    let mut all = true;
    // The smallest tolerance first, as the reference of the others.
    let mut finest: Option<Vec<f32>> = None;
    for tolerance in [1e-5, 1e-4, 1e-3] {
        let name = format!("Sinkhorn value and gradient, n = m = {n}, d {D}, tolerance {tolerance:.0e}");
        if !options.wanted(&name) {
            continue;
        }
        let settings = Sinkhorn { tolerance, epsilon: epsilon(options.tiny), ..Sinkhorn::default() };
        let mut kept = Pair::new(device, &x, &y, &settings)?;
        let mut solve = |value: bool| {
            kept.enqueue(value)?;
            device.synchronize()
        };
        solve(true)?;
        let whole = repeat(options.tiny, || solve(true))?;
        let gradient_only = repeat(options.tiny, || solve(false))?;
        solve(true)?;
        let (report, gradient) = (kept.report()?, kept.gradient()?);
        drop(kept);
        let call = repeat(options.tiny, || divergence(device, &x, &y, &settings).map(|_| ()))?;
        if let Some(to) = &options.to {
            let wide: Vec<f64> = gradient.iter().map(|&v| f64::from(v)).collect();
            write_npy(&to.join(format!("{n}_gradient_{tolerance:.0e}.npy")), &wide, D)?;
        }
        let error = finest.as_ref().map(|f| distance(&gradient, f));
        finest.get_or_insert(gradient);
        let mut line = json!({"n": n, "tolerance": tolerance, "ms": whole[0], "least_ms": whole[1], "iterations": report.iterations,
            "marginal_error": report.marginal_error, "status": report.status.name(), "gradient_only_ms": gradient_only[0],
            "call_ms": call[0]});
        if let Some(error) = error {
            line["from_finest"] = json!(error);
        }
        all &= say("time", &name, Some(report.status == Status::Converged), line);
    }
    let name = format!("Sinkhorn iteration, n = m = {n}, d {D}");
    if options.wanted(&name) {
        iteration(device, [&x, &y], &name, options)?;
    }
    Ok(all)
}

/// The difference of two solves with different numbers of iterations.
fn iteration(device: &CudaDevice, [x, y]: [&ot::Points<f32>; 2], name: &str, options: &Options) -> Result<()> {
    let mut ends = [(0.0, 0); 2];
    for (end, most) in ends.iter_mut().zip(if options.tiny { [4, 8] } else { [20, 60] }) {
        let settings = Sinkhorn { tolerance: f64::MIN_POSITIVE, max_iterations: most, ..Sinkhorn::default() };
        let mut kept = Pair::new(device, x, y, &settings)?;
        let time = repeat(options.tiny, || {
            kept.enqueue(false)?;
            device.synchronize()
        })?;
        *end = (time[0], kept.report()?.iterations);
    }
    let [(a, from), (b, to)] = ends;
    // Per iteration of all problems together: (x, y) and (x, x) run concurrently.
    let each = (to > from).then(|| 1e3 * (b - a) / (to - from) as f64);
    say("time", name, None, json!({"n": x.len(), "microseconds": each, "iterations": [from, to]}));
    Ok(())
}

fn fit_settings(component: usize, visited: usize, tiny: bool) -> Settings {
    let steps = if component == 1 { [1_000_000; 2] } else { [0, 1_000_000] };
    let base =
        Settings { components: component, measures: visited, steps, evaluate_every: 1_000_000, ..Settings::paper() };
    if !tiny {
        return base;
    }
    let sinkhorn = Sinkhorn { epsilon: epsilon(tiny), ..base.sinkhorn.clone() };
    Settings { batch: 12, hidden: vec![8; 2], evaluation_points: 16, sinkhorn, ..base }
}

/// Steps of the preset `paper`, in groups of ten as in a fit: one step of a group also computes the divergence, and then the host
/// reads the outcomes of the ten.
fn step(device: &CudaDevice, component: usize, visited: usize, options: &Options) -> Result<bool> {
    let name = format!("step of component {component}, {visited} measures");
    if !options.wanted(&name) {
        return Ok(true);
    }
    let settings = fit_settings(component, visited, options.tiny);
    let clouds = measures(12, if options.tiny { 40 } else { 2048 }, D);
    let mut fit = Fit::<f32>::new(&clouds, &settings)?;
    reach(&mut fit, component, &options.pool)?;
    let mut fit = fit.on(&device.clone().into())?;
    let (windows, late) = if options.tiny { (1, 10) } else { (20, 400) };
    let (mut early_times, mut late_times, mut seen, mut last) = (vec![], vec![], 0, 0);
    let mut iterations = [0, 0];
    let mut unconverged = 0;
    while late_times.len() < windows {
        let start = Instant::now();
        let event = options.pool.run(|| fit.advance())?;
        let wall = 1e3 * start.elapsed().as_secs_f64();
        match event {
            Some(Event::Step { component: c, step, outcome, .. }) if c == component => {
                let each = wall / (step - last) as f64;
                last = step;
                seen += outcome.measures;
                unconverged += outcome.unconverged;
                if !outcome.finite {
                    return Ok(say(
                        "time",
                        &name,
                        Some(false),
                        json!({"problem": "a step is not finite", "step": step}),
                    ));
                }
                // The first group records the launches.
                if step > 10 && early_times.len() < windows {
                    early_times.push(each);
                    iterations[0] = outcome.iterations;
                } else if step > late {
                    late_times.push(each);
                    iterations[1] = outcome.iterations;
                }
            }
            Some(_) => {}
            None => return Err(Error::parameter("steps", "the fit ended before it was timed")),
        }
    }
    for (when, times, iterations) in
        [("early", &mut early_times, iterations[0]), ("late", &mut late_times, iterations[1])]
    {
        let after = if when == "early" { 10 } else { late };
        let line = json!({"component": component, "measures": visited, "batch": settings.batch, "width": settings.hidden[0],
            "after": after, "ms": median(times), "least_ms": times[0], "most_iterations": iterations,
            "unconverged": unconverged as f64 / seen as f64});
        say("time", &format!("{name}, {when}"), None, line);
    }
    Ok(true)
}

/// Writes the problems of `time` to files, with a list of them.
pub fn export(to: &Path, options: &Options) -> Result<bool> {
    std::fs::create_dir_all(to).map_err(|e| Error::parameter("to", format!("{}: {e}", to.display())))?;
    for (i, measure) in measures(12, if options.tiny { 40 } else { 2048 }, D).iter().enumerate() {
        let file = to.join(format!("cloud_{i:02}.npy"));
        write_npy(&file, measure.points(), D)?;
        say("cloud", measure.name(), None, json!({"file": file}));
    }
    let mut all = true;
    for &n in sizes(options.tiny) {
        let clouds = pair(n, n, D);
        let files = ["x", "y"].map(|side| to.join(format!("{n}_{side}.npy")));
        for (file, cloud) in files.iter().zip(&clouds) {
            write_npy(file, cloud, D)?;
        }
        let [x, y] = points::<f64>(&clouds, D);
        let rule = epsilon(options.tiny);
        let epsilon = rule.value(&x, &y);
        let mut line = json!({"n": n, "d": D, "x": files[0], "y": files[1], "epsilon": epsilon});
        let mut ok = None;
        // Larger ones take long on a CPU.
        if n <= 4096 {
            let exact = options.pool.run(|| ot::divergence(&x, &y, &exactly(rule)))?;
            let file = to.join(format!("{n}_exact.npy"));
            write_npy(&file, &exact.gradient, D)?;
            line["exact"] = json!(file);
            line["value"] = json!(exact.value);
            line["reference_error"] = json!(exact.report.marginal_error);
            ok = Some(exact.report.marginal_error <= REFERENCE);
        }
        all &= say("problem", &format!("n {n}"), ok, line);
    }
    Ok(all)
}
