//! Whole steps against the CPU: both engines see the same u, v, eigenvalues and gradients of the divergence.

use super::*;
use crate::cuda::sampling::tests::data;
use crate::cuda::sampling::{Sampler, Sources};
use crate::gpca::shared::{Data, Earlier, End, Interval, Stepper, extremes};
use crate::gpca::{Architecture, Geodesic, Schedule, State, TimeUpdate};
use crate::nn::step_and_floor;
use crate::ot::{Sinkhorn, Status};
use crate::rng::{Purpose, Stream};
use wgpca_emulator::{Order, configure};

/// |a − b| ≤ tolerance · largest |b|.
fn close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let largest = b.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for (a, b) in a.iter().zip(b) {
        assert!(a == b || (a - b).abs() <= tolerance * largest, "{what}: {a} for {b}, of at most {largest}");
    }
}

fn wide(v: &[f32]) -> Vec<f64> {
    crate::real::widen(v)
}

/// Both engines with one training.
struct Both {
    settings: Settings,
    data: Data<f32>,
    steps: usize,
    state: State<f32>,
    earlier: Vec<Earlier<f32>>,
    stepper: Stepper<f32>,
    device: Device,
    sampler: Sampler,
    terms: Terms,
    progress: Progress,
    update: Update,
}

/// What the CPU's step gave, on the device.
struct Given {
    u: Buffer<f32>,
    v: Buffer<f32>,
    extremes: Buffer<f64>,
    old: Option<(Buffer<f32>, Buffer<f32>)>,
    gradients: Buffer<f32>,
    phi: Buffer<f32>,
    f: Buffer<f32>,
    status: Buffer<i32>,
    iterations: Buffer<i32>,
    marginal_error: Buffer<f64>,
    value: Buffer<f64>,
}

impl Given {
    fn batch<'a>(&'a self, index: &'a Buffer<u32>) -> Batch<'a> {
        let old = self.old.as_ref().map(|(u, v)| (u, v));
        Batch { index, u: &self.u, v: &self.v, extremes: &self.extremes, old }
    }

    fn reports(&self) -> Reports<'_> {
        let Given { status, iterations, marginal_error, value, .. } = self;
        Reports { status, iterations, marginal_error, value }
    }
}

impl Both {
    fn new(settings: Settings, n: usize, d: usize, earlier: usize, capacity: usize) -> Self {
        let sinkhorn = Sinkhorn { tolerance: 1e-2, max_iterations: 40, ..Sinkhorn::default() };
        let settings = Settings { sinkhorn, hidden: vec![6, 5], initial_variance: 2.0, seed: 4, ..settings };
        let architecture = Architecture::new(&settings, d).unwrap();
        let mut stream = Stream::new(5, Purpose::Initialisation, [n as u32, d as u32, earlier as u32]);
        let mut random = || Geodesic::<f32>::random(&architecture, &settings, &mut stream);
        let interval = Interval { low: -0.4, high: 0.6, low_slope: 0.0, high_slope: 0.0 };
        let mut geodesic = random();
        if settings.residual {
            // Eigenvalues of both signs, so that both ends are finite.
            let s = architecture.quadratic();
            (geodesic.f[s.start], geodesic.f[s.end - 1]) = (0.8, -0.8);
        }
        let earlier: Vec<_> = (0..earlier).map(|_| Earlier { geodesic: random(), interval }).collect();
        let times = (0..n).map(|i| ((i * 7 % 11) as f64 - 5.0) / 60.0).collect();
        let state = State::new(geodesic, times, [0.3, 0.05]);
        let data = data(n, d);
        let device = Device::open(0).unwrap();
        let steps = 40;
        let progress = Progress::new(&device, &state, 0, capacity).unwrap();
        let tie = Tie { earlier: earlier.len(), first: interval.ends() };
        let sources = Sources::new(&device, &data, &settings.sinkhorn.epsilon).unwrap();
        Both {
            stepper: Stepper::new(&architecture, &settings, n, earlier.len()),
            sampler: Sampler::new(&device, &sources, &settings, 2).unwrap(),
            terms: Terms::new(&device, &settings, n, d, tie).unwrap(),
            update: Update::new(&device, &settings, steps, n, &progress).unwrap(),
            settings,
            data,
            steps,
            state,
            earlier,
            device,
            progress,
        }
    }

    /// Times and meeting times of both engines.
    fn set_times(&mut self, change: impl Fn(&mut [f64], &mut [f64; 2])) {
        change(&mut self.state.times, &mut self.state.meeting);
        let times = [&self.state.times[..], &self.state.meeting].concat();
        self.device.copy_into(&times, &mut self.progress.times).unwrap();
    }

    fn read(&self, from: &Buffer<f64>) -> Vec<f64> {
        self.device.download(from).unwrap()
    }

    fn read32(&self, from: &Buffer<f32>) -> Vec<f64> {
        wide(&self.device.download(from).unwrap())
    }

    /// The CPU's step as far as its gradient, copied to the device, and the device's draw.
    fn compute(&mut self, step: usize) -> (Given, crate::gpca::Outcome) {
        let Both { settings, data, state, earlier, stepper, .. } = self;
        stepper.draw(data, settings, 2, step);
        let outcome = stepper.gradient(state, earlier, settings, true);
        let s = &self.device;
        let gather = |f: &dyn Fn(usize) -> Vec<f32>| (0..stepper.works.len()).flat_map(f).collect::<Vec<_>>();
        let works = &stepper.works;
        let up = |v: Vec<f32>| s.upload(&v).unwrap();
        let old = |f: &dyn Fn(usize, usize) -> Vec<f32>| {
            up((0..earlier.len()).flat_map(|e| gather(&|w| f(w, e))).collect::<Vec<_>>())
        };
        let (low, high) = extremes(works);
        let slots = &stepper.slots;
        let given = Given {
            u: up(gather(&|w| works[w].chunk.u.clone())),
            v: up(gather(&|w| works[w].chunk.v.clone())),
            extremes: s.upload(&[low.value, high.value]).unwrap(),
            old: (!earlier.is_empty())
                .then(|| (old(&|w, e| works[w].earlier[e].u.clone()), old(&|w, e| works[w].earlier[e].v.clone()))),
            gradients: up(slots.iter().flat_map(|s| s.gradient.clone()).collect()),
            phi: up(stepper.gradient.phi.clone()),
            f: up(stepper.gradient.f.clone()),
            status: s.upload(&slots.iter().map(|s| s.report.status as i32).collect::<Vec<_>>()).unwrap(),
            iterations: s.upload(&slots.iter().map(|s| s.report.iterations as i32).collect::<Vec<_>>()).unwrap(),
            marginal_error: s.upload(&slots.iter().map(|s| s.report.marginal_error).collect::<Vec<_>>()).unwrap(),
            value: s.upload(&slots.iter().map(|s| s.value).collect::<Vec<_>>()).unwrap(),
        };
        self.sampler.draw(&self.progress.counters).unwrap();
        (given, outcome)
    }

    /// One whole step of both engines. Sums are of f64 over the same f32 numbers: they agree to 1e-12, and times with them;
    /// what is f32 on both sides to 1e-6.
    fn step(&mut self, step: usize, what: &str) -> crate::gpca::Outcome {
        let (given, outcome) = self.compute(step);
        let Both { sampler, terms, progress, .. } = self;
        let batch = given.batch(&sampler.index);
        terms.place(batch, progress).unwrap();
        terms.measure(batch, &given.gradients).unwrap();
        let gradients = (&given.phi, &given.f);
        self.update.update(progress, terms, batch, gradients, given.reports(), true).unwrap();
        self.compare_terms(&outcome, &format!("{what}, step {step}"));
        self.compare_update(step, &outcome, &format!("{what}, step {step}"));
        outcome
    }

    fn compare_terms(&mut self, outcome: &crate::gpca::Outcome, what: &str) {
        let s = &self.device;
        self.stepper.cotangents(&self.settings);
        let (slots, t) = (&self.stepper.slots, &self.terms);
        let of = |f: &dyn Fn(&Slot) -> f64| slots.iter().map(f).collect::<Vec<_>>();
        close(&self.read(&t.slot_time), &of(&|s| s.time), 1e-10, what);
        let ends: Vec<i32> = slots.iter().map(|s| s.end.map_or(0, |e| if e == End::Low { 1 } else { 2 })).collect();
        assert_eq!(s.download(&t.slot_end).unwrap(), ends, "{what}");
        assert_eq!(self.read(&t.ends)[..2], [outcome.interval.0, outcome.interval.1], "{what}");
        let z: Vec<f32> = slots.iter().flat_map(|s| s.z.coords().to_vec()).collect();
        close(&self.read32(&t.z), &wide(&z), 1e-6, what);
        close(&self.read(&t.sums)[..slots.len()], &of(&|s| s.along), 1e-12, what);
        close(&self.read(&t.d_times), &self.stepper.gradient.times, 1e-11, what);
        let terms = [self.stepper.gradient.speed_squared, outcome.intersection, outcome.orthogonality];
        for (a, b) in self.read(&t.terms).iter().zip(terms) {
            close(&[*a], &[b], 1e-12, what);
        }
        close(&self.read(&t.into), &self.stepper.into, 1e-11, what);
        let bar = |f: &dyn Fn(usize) -> Vec<f32>| wide(&(0..self.stepper.works.len()).flat_map(f).collect::<Vec<_>>());
        let works = &self.stepper.works;
        close(&self.read32(&t.bar_u), &bar(&|w| works[w].chunk.bar_u.clone()), 1e-6, &format!("{what}: bar_u"));
        close(&self.read32(&t.bar_v), &bar(&|w| works[w].chunk.bar_v.clone()), 1e-6, &format!("{what}: bar_v"));
    }

    fn compare_update(&mut self, step: usize, outcome: &crate::gpca::Outcome, what: &str) {
        let rate = self.settings.rate_at(step, self.steps);
        let mut free = self.state.clone();
        free.update(&Settings { gauge: false, ..self.settings.clone() }, rate, &mut self.stepper.gradient.clone());
        self.state.update(&self.settings, rate, &mut self.stepper.gradient);
        let mut state = State::new(self.state.geodesic.clone(), vec![0.0; self.state.times.len()], [0.0; 2]);
        self.progress.store(&mut state).unwrap();
        close(&state.times, &self.state.times, 1e-10, &format!("{what}: times"));
        close(&state.meeting, &self.state.meeting, 1e-10, &format!("{what}: meeting times"));
        let (a, b) = (&state.adam_times, &self.state.adam_times);
        close(&a.first, &b.first, 1e-10, &format!("{what}: first moments"));
        close(&a.second, &b.second, 1e-10, &format!("{what}: second moments"));
        assert_eq!((a.updates, state.adam_f.updates), (b.updates, self.state.adam_f.updates), "{what}");
        let c = if self.settings.gauge { free.largest_time() } else { 1.0 };
        close(&self.read(&self.progress.scale), &[c], 1e-10, &format!("{what}: c"));
        let adam = step_and_floor(rate, b.updates);
        for (a, b) in self.read32(&self.progress.adam).iter().zip(adam) {
            close(&[*a], &[b], 1e-7, &format!("{what}: rate"));
        }
        let seen = self.progress.see().unwrap();
        assert!(seen.alive && seen.steps == step + 1, "{what}: {seen:?}");
        let [(at, got)] = seen.outcomes[..] else { panic!("{what}: {seen:?}") };
        assert_eq!(at, step);
        for (a, b) in [
            (got.divergence.unwrap(), outcome.divergence.unwrap()),
            (got.intersection, outcome.intersection),
            (got.orthogonality, outcome.orthogonality),
            (got.speed, outcome.speed),
        ] {
            close(&[a], &[b], 1e-12, &format!("{what}: outcome"));
        }
        let same = crate::gpca::Outcome {
            divergence: got.divergence,
            intersection: got.intersection,
            orthogonality: got.orthogonality,
            speed: got.speed,
            ..*outcome
        };
        assert_eq!(got, same, "{what}");
    }
}

type Slot = crate::gpca::shared::Slot<f32>;

/// Orders of threads, sizes, earlier components, both forms of O, both updates of times, both schedules, gauge on and off.
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

/// Times beyond either end and inside, and a meeting time beyond either end or the old one beyond its own.
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
            assert!(both.stepper.into.iter().all(|&f| f != 0.0), "{:?}", both.stepper.into);
        }
    }
}

/// Every sign of the eigenvalues, and NaN: ends, slopes and clipped times are those of [`Interval`].
#[test]
fn intervals_of_all_signs() {
    configure(Order::Forward, 1);
    let settings = Settings { batch: 2, measures: 3, margin: 0.01, ..Settings::fast() };
    let mut both = Both::new(settings, 3, 1, 1, 1);
    both.set_times(|times, meeting| {
        times.copy_from_slice(&[-2.0, 0.1, 2.0]);
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
        assert_eq!(both.read(&both.terms.meeting), [0.3, expected.clip(9.0).0]);
    }
}

/// Each way in which a step can fail ends the training: nothing moves any more, and the host learns of the step.
#[test]
fn a_step_that_is_not_finite_changes_nothing() {
    configure(Order::Reverse, 2);
    for failure in ["phi", "f", "eigenvalue", "gradient", "diverged"] {
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
            "phi" => spoil(&mut given.phi),
            "f" => spoil(&mut given.f),
            "gradient" => spoil(&mut given.gradients),
            "eigenvalue" => s.copy_into(&[f64::NAN, 1.0], &mut given.extremes).unwrap(),
            _ => s.copy_into(&[0, Status::Diverged as i32], &mut given.status).unwrap(),
        }
        let (fine, _) = both.compute(2);
        for given in [&given, &fine] {
            let Both { sampler, terms, progress, update, .. } = &mut both;
            let batch = given.batch(&sampler.index);
            terms.place(batch, progress).unwrap();
            terms.measure(batch, &given.gradients).unwrap();
            update.update(progress, terms, batch, (&given.phi, &given.f), given.reports(), false).unwrap();
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

/// The ring keeps the last outcomes if the host reads too late.
#[test]
fn outcomes_read_late() {
    configure(Order::Forward, 2);
    let mut both = Both::new(Settings { batch: 8, measures: 1, ..Settings::fast() }, 2, 1, 0, 3);
    for step in 0..5 {
        let (given, _) = both.compute(step);
        let Both { sampler, terms, progress, update, .. } = &mut both;
        let batch = given.batch(&sampler.index);
        terms.place(batch, progress).unwrap();
        terms.measure(batch, &given.gradients).unwrap();
        update.update(progress, terms, batch, (&given.phi, &given.f), given.reports(), true).unwrap();
        both.progress.store(&mut both.state).unwrap();
    }
    let seen = both.progress.see().unwrap();
    assert_eq!(seen.outcomes.iter().map(|o| o.0).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(seen.outcomes.iter().all(|o| o.1.finite && o.1.measures == 1));
    assert!(both.progress.see().unwrap().outcomes.is_empty());
}
