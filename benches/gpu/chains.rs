//! Solves in chains on a device: starts, evaluations, projections. Agreement with the CPU engine in f64, and times.

use crate::data::measures;
use crate::parity::{data, epsilon, judge, reach, relative, settings, worse};
use crate::time::{D, LONG, milliseconds, repeat};
use crate::{Options, say};
use serde_json::json;
use std::time::Instant;
use wgpca::Status;
use wgpca::clouds::{Event, Fit, Model, Preset, Settings, fit};
use wgpca::cuda::CudaDevice;
use wgpca::ot::Sinkhorn;
use wgpca::{Device, DeviceChoice, Evaluation, Measure, Projection, Real, Result};

/// Tolerance of times relative to their span, and of residuals and costs.
const CLOSE: f64 = 1e-3;
/// Tolerance of the cost of a start (its networks are trained), and of the spectrum at the barycentre.
const START: [f64; 2] = [5e-2, 5e-3];

pub fn parity(device: Option<&CudaDevice>, options: &Options) -> Result<bool> {
    Ok(starts(device, options)? & projections(device, options)?)
}

/// This device, or the CPU.
fn at(device: Option<&CudaDevice>) -> Result<Device> {
    device.map_or_else(|| DeviceChoice::Cpu.find(), |device| Ok(device.clone().into()))
}

/// Cost and spectrum of a start.
fn start<T: Real>(mut fit: Fit<T>, options: &Options) -> Result<(f64, Vec<f64>)> {
    match options.pool.run(|| fit.advance())? {
        Some(Event::Started { cost, spectrum, .. }) => Ok((cost, spectrum.unwrap_or_default())),
        _ => Ok((f64::NAN, vec![])),
    }
}

fn starts(device: Option<&CudaDevice>, options: &Options) -> Result<bool> {
    let data = data(options.tiny);
    let mut all = true;
    for preset in [Preset::Fast, Preset::Paper] {
        for component in [1, 2] {
            let name = format!("start of component {component}, {}", preset.name());
            if !options.wanted(&name) {
                continue;
            }
            let settings = settings(preset, component, 1, options.tiny);
            let fresh = || {
                let mut fit = Fit::<f32>::new(&data, &settings)?;
                reach(&mut fit, component, &options.pool).map(|()| fit)
            };
            // The second component depends on the networks of the first, so both engines use the same.
            let expected = match device {
                Some(_) => start(fresh()?, options)?,
                None => {
                    let mut fit = Fit::<f64>::new(&data, &settings)?;
                    reach(&mut fit, component, &options.pool)?;
                    start(fit, options)?
                }
            };
            let got = start(fresh()?.on(&at(device)?)?, options)?;
            let cost = relative(got.0, expected.0, 0.0);
            let largest = expected.1.first().copied().unwrap_or(0.0);
            let pairs = got.1.iter().zip(&expected.1);
            let spectrum = pairs.map(|(a, b)| relative(*a, *b, largest)).fold(0.0, worse);
            let good = got.1.len() == expected.1.len() && cost < START[0] && spectrum < START[1];
            let report = json!({"start_cost": cost, "spectrum": spectrum, "bounds": START});
            all &= judge(device, &name, good, report);
        }
    }
    Ok(all)
}

/// Largest difference of times relative to their span; of residuals; number of solves that did not converge.
fn apart(got: &[Vec<Projection>], expected: &[Vec<Projection>]) -> (f64, f64, usize) {
    let components = expected.first().map_or(0, Vec::len);
    let (mut time, mut residual) = if got.len() == expected.len() { (0.0, 0.0) } else { (f64::NAN, f64::NAN) };
    for k in 0..components {
        let times = expected.iter().map(|row| row[k].time);
        let (low, high) = times.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(t), b.max(t)));
        for (a, b) in got.iter().zip(expected).map(|(a, b)| (a[k], b[k])) {
            time = worse((a.time - b.time).abs() / (high - low), time);
            residual = worse(relative(a.residual, b.residual, 0.0), residual);
        }
    }
    (time, residual, open(got))
}

fn open(rows: &[Vec<Projection>]) -> usize {
    rows.iter().flatten().filter(|p| p.status != Status::Converged).count()
}

/// A short fit on the CPU, whose measures are projected and evaluated on both engines.
fn projections(device: Option<&CudaDevice>, options: &Options) -> Result<bool> {
    // All final projections use 1024 points, for which an emulated device takes long.
    let data = if options.tiny { data(true).split_off(10) } else { data(false) };
    let name = format!("projections of {} measures, evaluation", data.len());
    if !options.wanted(&name) {
        return Ok(true);
    }
    let steps = if options.tiny { 5 } else { 100 };
    let components = if options.tiny { 1 } else { 2 };
    let settings = Settings { steps: [steps; 2], ..settings(Preset::Fast, components, steps, options.tiny) };
    let mut model = fit::<f32>(&data, &settings, &options.pool)?;
    // The search ends within 1e-4 of the span.
    model.sinkhorn.tolerance = 1e-5;
    let points = settings.evaluation_points;
    let exact = model.cast::<f64>();
    let (pool, at) = (&options.pool, at(device)?);
    let (expected, costs) = (pool.run(|| exact.transform(&data))?, pool.run(|| exact.evaluate_with(&data, points))?);
    let mut projector = model.on(&at)?;
    let (got, got_costs) =
        (pool.run(|| projector.transform(&data))?, pool.run(|| projector.evaluate_with(&data, points))?);
    let (time, residual, open) = apart(&got, &expected);
    let numbers =
        |e: &Evaluation| e.components.iter().map(|c| c.cost).chain([e.noise_floor, e.variation]).collect::<Vec<_>>();
    let pairs = numbers(&got_costs).into_iter().zip(numbers(&costs));
    let cost = pairs.map(|(a, b)| relative(a, b, 0.0)).fold(0.0, worse);
    let open = open + got_costs.unconverged;
    let good = open == 0 && time < CLOSE && residual < CLOSE && cost < CLOSE;
    let report = json!({"time": time, "residual": residual, "cost": cost, "open": open, "bound": CLOSE});
    Ok(judge(device, &name, good, report))
}

/// A whole fit of the preset `fast` on either engine, and projections of its measures by the same model.
pub fn time(device: &CudaDevice, options: &Options) -> Result<bool> {
    let (count, points) = if options.tiny { (2, 30) } else { (62, 2048) };
    let what = format!("{count} measures of {points} points");
    let [fit, projections] = ["fit of one component", "projections"].map(|of| format!("{of}, {what}"));
    if !options.wanted(&fit) && !options.wanted(&projections) {
        return Ok(true);
    }
    let clouds = measures(count, points, D);
    let mut settings = Settings::fast();
    if options.tiny {
        settings = Settings { steps: [10; 2], ..crate::parity::settings(Preset::Fast, 1, 10, true) };
        settings.sinkhorn = Sinkhorn { epsilon: epsilon(true), ..settings.sinkhorn };
    }
    let [gpu, cpu] = [at(Some(device))?, at(None)?];
    let (model, mut all) = whole(&clouds, &settings, &gpu, &format!("{fit}, fast"), options)?;

    let timed = |at: &Device| -> Result<_> {
        let (mut projector, mut rows) = (model.on(at)?, vec![]);
        let mut work = || {
            rows = options.pool.run(|| projector.transform(&clouds))?;
            Ok(())
        };
        let once = milliseconds(&mut work)?;
        let ms = if once > 1e3 * LONG { once } else { repeat(options.tiny, &mut work)?[0] };
        Ok((ms, rows))
    };
    let [(ms, rows), (cpu_ms, expected)] = [timed(&gpu)?, timed(&cpu)?];
    let (time, _, open_solves) = apart(&rows, &expected);
    let line = json!({"ms": ms, "open": open_solves, "apart": time});
    all &= say("time", &projections, Some(time.is_finite()), line);
    say("time", &format!("{projections}, on the CPU"), None, json!({"ms": cpu_ms, "open": open(&expected)}));
    let (_, good) = whole(&clouds, &settings, &cpu, &format!("{fit}, fast, on the CPU"), options)?;
    Ok(all & good)
}

/// A fit, with the time of its parts.
fn whole(
    clouds: &[Measure],
    settings: &Settings,
    at: &Device,
    name: &str,
    options: &Options,
) -> Result<(Model<f32>, bool)> {
    let mut fit = Fit::<f32>::new(clouds, settings)?.on(at)?;
    let [mut start, mut steps, mut evaluations, mut end] = [0.0; 4];
    loop {
        let begin = Instant::now();
        let event = options.pool.run(|| fit.advance())?;
        let ms = 1e3 * begin.elapsed().as_secs_f64();
        match event {
            Some(Event::Started { .. }) => start += ms,
            Some(Event::Step { .. }) => steps += ms,
            Some(Event::Evaluated { .. }) => evaluations += ms,
            Some(Event::Finished { .. }) => end += ms,
            Some(_) => {}
            None => break,
        }
    }
    let begin = Instant::now();
    let model = options.pool.run(|| fit.model())?;
    end += 1e3 * begin.elapsed().as_secs_f64();
    let component = &model.components[0];
    let line = json!({"ms": start + steps + evaluations + end, "start_ms": start, "steps_ms": steps, "steps": component.report.steps,
        "evaluations_ms": evaluations, "end_ms": end, "cost": component.costs.cost});
    let good = say("time", name, Some(component.costs.cost.is_finite()), line);
    Ok((model, good))
}
