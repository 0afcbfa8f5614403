//! Compares steps with the CPU, both typical steps and special cases.

mod both;

use super::*;
use crate::clouds::shared::Interval;
use crate::clouds::{Schedule, TimeUpdate};
use crate::cuda::graph::Graph;
use crate::cuda::sinkhorn::DIVERGED;
use both::{Both, close};
use wgpca_emulator::{Order, configure};

/// Orders of threads, sizes, earlier components, both forms of O, both updates of times, both schedules, with and without gauge.
#[test]
fn steps_against_the_cpu() {
    let adam = TimeUpdate::Adam(5e-3);
    let majorise = TimeUpdate::Majorise(0.3);
    let (l2, pointwise) = (Orthogonality::L2, Orthogonality::Pointwise);
    // n, d, m, measures, earlier, orthogonality, times
    let cases = [
        (1, 1, 2, 1, 0, l2, majorise),
        (2, 3, 37, 4, 1, l2, majorise),
        (7, 2, 150, 3, 2, pointwise, majorise),
        (62, 5, 33, 8, 1, pointwise, adam),
        (7, 40, 3, 5, 2, l2, adam),
        (62, 3, 16, 62, 0, l2, majorise),
    ];
    for (k, (n, d, m, measures, earlier, orthogonality, times)) in cases.into_iter().enumerate() {
        configure([Order::Forward, Order::Reverse, Order::Random(7)][k % 3], 2);
        let base = if k % 2 == 0 { Settings::fast() } else { Settings::paper() };
        let schedule = if k % 2 == 0 { Schedule::Cosine { warmup: 2 } } else { Schedule::Constant };
        let lambda_intersection = 0.7;
        let gauge = k != 1;
        let settings = Settings {
            batch: m,
            measures,
            orthogonality,
            times,
            schedule,
            gauge,
            lambda_intersection,
            lambda_orthogonality: 1.3,
            margin: 0.01,
            ..base
        };
        let mut both = Both::new(settings, n, d, earlier, 3);
        let what = format!("n {n} d {d} m {m} measures {measures} earlier {earlier} {times:?}");
        for step in 0..4 {
            both.step(step, &what);
        }
    }
}

/// Times beyond either end and inside, with the new meeting time beyond either end or the old one beyond its own interval.
#[test]
fn clipped_times_and_meeting_times() {
    for (k, meeting) in [[0.1, 1e3], [0.1, -1e3], [7.0, 0.0], [-7.0, 0.0]].into_iter().enumerate() {
        configure(Order::Random(k as u32), 2);
        for earlier in [1, 2] {
            let settings = Settings { batch: 20, measures: 7, ..Settings::fast() };
            let mut both = Both::new(settings, 7, 2, earlier, 1);
            both.set_times(|times, old| {
                times.iter_mut().enumerate().for_each(|(i, t)| *t = [1e3, 0.0, -1e3][i % 3]);
                *old = meeting;
            });
            let outcome = both.step(0, &format!("meeting {meeting:?} earlier {earlier}"));
            assert_eq!(outcome.clipped, 5, "{outcome:?}");
            let ends = both.device.download(&both.terms.slot_end).unwrap();
            assert!([0, 1, 2].iter().all(|e| ends.contains(e)), "{ends:?}");
            let into = both.stepper.stages(&both.settings).into;
            assert!(into.iter().all(|&f| f != 0.0), "{into:?}");
        }
    }
}

/// Every sign of the eigenvalues, and NaN: ends, slopes and clipped times equal those of [`Interval`].
#[test]
fn intervals_of_all_signs() {
    configure(Order::Forward, 1);
    let settings = Settings { batch: 2, measures: 3, margin: 0.01, ..Settings::fast() };
    let mut both = Both::new(settings, 3, 1, 1, 1);
    both.set_times(|times, meeting| {
        // One time beyond either end of the first pair, one at its upper end.
        times.copy_from_slice(&[-2.0, Interval::new(-2.0, 4.0, 0.01).high, 2.0]);
        meeting[1] = 9.0;
    });
    let (mut given, _) = both.compute(0);
    let nan = f64::NAN;
    for (low, high) in
        [(-2.0, 4.0), (1.0, 4.0), (0.0, 4.0), (-2.0, -1.0), (-2.0, 0.0), (0.0, 0.0), (nan, 4.0), (-2.0, nan)]
    {
        both.device.copy_into(&[low, high], &mut given.extremes).unwrap();
        both.terms.place(given.batch(&both.sampler.index), &both.progress).unwrap();
        let expected = Interval::new(low, high, 0.01);
        let Interval { low: a, high: b, low_slope, high_slope } = expected;
        assert_eq!(both.read(&both.terms.ends), [a, b, low_slope, high_slope]);
        let index = both.device.download(&both.sampler.index).unwrap();
        let times: Vec<f64> = index.iter().map(|&i| expected.clip(both.state.times[i as usize]).0).collect();
        assert_eq!(both.read(&both.terms.slot_time), times);
        let ends: Vec<i32> =
            index.iter().map(|&i| both::end_number(expected.clip(both.state.times[i as usize]).1)).collect();
        assert_eq!(both.device.download(&both.terms.slot_end).unwrap(), ends, "{low} {high}");
        assert_eq!(both.read(&both.terms.meeting), [0.3, expected.clip(9.0).0]);
    }
}

/// Each way in which a step can fail ends the training: the state no longer changes, and the host reads which step failed.
#[test]
fn a_step_that_is_not_finite_changes_nothing() {
    configure(Order::Reverse, 2);
    for failure in ["networks", "eigenvalue", "gradient", "diverged"] {
        let settings = Settings { batch: 8, measures: 2, ..Settings::fast() };
        let mut both = Both::new(settings, 4, 2, 0, 2);
        for step in 0..2 {
            both.step(step, failure);
        }
        let (mut given, _) = both.compute(2);
        let s = both.device.clone();
        let spoil = |to: &mut Buffer<f32>| {
            let mut v = s.download(to).unwrap();
            *v.last_mut().unwrap() = f32::NAN;
            s.copy_into(&v, to).unwrap();
        };
        match failure {
            "networks" => spoil(&mut given.gradient),
            "gradient" => spoil(&mut given.gradients),
            "eigenvalue" => s.copy_into(&[f64::NAN, 1.0], &mut given.extremes).unwrap(),
            // The second solve (z, z) of the two slots.
            _ => s.copy_into(&[0, 0, 0, 0, 0, 0, 7, DIVERGED], &mut given.marks).unwrap(),
        }
        let (fine, _) = both.compute(2);
        for given in [&given, &fine] {
            both.enqueue(given, false);
        }
        let mut state = both.state.clone();
        both.progress.store(&mut state).unwrap();
        close(&state.times, &both.state.times, 1e-10, failure);
        assert_eq!(state.adam_times.updates, 2);
        let seen = both.progress.see().unwrap();
        let [(2, last)] = seen.outcomes[..] else { panic!("{failure}: {seen:?}") };
        assert!(!seen.alive && seen.steps == 2 && !last.finite && last.divergence.is_none(), "{failure}: {seen:?}");
    }
}

/// If the host reads too late, the ring has the last outcomes.
#[test]
fn outcomes_read_late() {
    configure(Order::Forward, 2);
    let mut both = Both::new(Settings { batch: 8, measures: 1, ..Settings::fast() }, 2, 1, 0, 3);
    for step in 0..5 {
        let (given, _) = both.compute(step);
        both.enqueue(&given, true);
        both.progress.store(&mut both.state).unwrap();
    }
    let seen = both.progress.see().unwrap();
    assert_eq!(seen.outcomes.iter().map(|o| o.0).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(seen.outcomes.iter().all(|o| o.1.finite && o.1.measures == 1));
    assert!(both.progress.see().unwrap().outcomes.is_empty());
}

/// Sums have a fixed order: the same bits in any order of threads.
#[test]
fn the_same_bits_in_any_order() {
    let run = |order| {
        configure(order, 2);
        let orthogonality = Orthogonality::Pointwise;
        let mut both = Both::new(Settings { batch: 45, measures: 5, orthogonality, ..Settings::fast() }, 9, 3, 2, 2);
        (0..2).for_each(|step| assert!(both.step(step, "bits").finite));
        let t = &both.terms;
        let numbers = [
            both.read(&t.sums),
            both.read(&t.d_times),
            both.read(&both.progress.times),
            both.read(&both.progress.ring),
        ];
        let bits: Vec<u64> = numbers.concat().iter().map(|v| v.to_bits()).collect();
        (bits, both.read32(&both.bar_u), both.read32(&both.bar_v))
    };
    let forward = run(Order::Forward);
    assert_eq!(forward, run(Order::Reverse));
    assert_eq!(forward, run(Order::Random(11)));
}

/// One recorded sequence of launches serves all steps: no argument of a launch changes with the step.
#[test]
fn a_recorded_step_serves_all() {
    configure(Order::Random(2), 2);
    // Seven measures, three per step: the recorded draw passes the end of a round.
    let settings = Settings { batch: 21, measures: 3, schedule: Schedule::Cosine { warmup: 3 }, ..Settings::fast() };
    let mut both = Both::new(settings, 7, 2, 1, 4);
    let device = both.device.clone();
    let (mut given, _) = both.compute(0);
    let mut graph = Graph::capture(&device, |_| {
        both.sampler.draw(&both.progress.counters, &mut both.x)?;
        both.enqueue(&given, true);
        Ok(())
    })
    .unwrap();
    for step in 0..5 {
        let (now, outcome) = both.compute(step);
        given.set(&now, &device);
        device.clear(&mut both.sampler.index).unwrap();
        graph.launch().unwrap();
        both.compare(step, &outcome, &format!("recorded step {step}"));
    }
}
