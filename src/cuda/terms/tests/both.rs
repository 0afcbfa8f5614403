//! Runs one training on both engines: the device gets u, v, eigenvalues and gradients of the divergence from the CPU's step.

use super::*;
use crate::clouds::shared::{CpuTrainer, Data, Earlier, End, Interval, MeasureStages};
use crate::clouds::{Architecture, Geodesic, Objective, State, StepOutcome};
use crate::cuda::draw::tests::data;
use crate::cuda::draw::{Sampler, Sources};
use crate::nn::step_and_floor;
use crate::ot::Sinkhorn;
use crate::rng::Stream;

/// |a − b| ≤ tolerance · largest |b|.
pub(super) fn close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let largest = b.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for (a, b) in a.iter().zip(b) {
        assert!(a == b || (a - b).abs() <= tolerance * largest, "{what}: {a} for {b}, of at most {largest}");
    }
}

/// An end as the kernels number them.
pub(super) fn end_number(end: Option<End>) -> i32 {
    end.map_or(0, |e| if e == End::Low { 1 } else { 2 })
}

fn wide(v: &[f32]) -> Vec<f64> {
    crate::simd::real::widen(v)
}

/// Both engines.
pub(super) struct Both {
    pub settings: Settings,
    pub data: Data<f32>,
    pub steps: usize,
    pub state: State<f32>,
    pub earlier: Vec<Earlier<f32>>,
    pub stepper: CpuTrainer<f32>,
    pub device: CudaDevice,
    pub sampler: Sampler,
    pub terms: Terms,
    pub x: Buffer<f32>,
    pub bar_u: Buffer<f32>,
    pub bar_v: Buffer<f32>,
    pub into: Buffer<f64>,
    pub progress: Progress,
    pub update: Update,
}

/// The results of the CPU's step, on the device.
pub(super) struct Given {
    pub u: Buffer<f32>,
    pub v: Buffer<f32>,
    pub extremes: Buffer<f64>,
    pub old: Option<(Buffer<f32>, Buffer<f32>)>,
    pub gradients: Buffer<f32>,
    /// Gradient of the networks.
    pub gradient: Buffer<f32>,
    pub numbers: Buffer<f64>,
    pub marks: Buffer<u32>,
}

impl Given {
    /// Copies the numbers of another step into the same buffers.
    pub fn set(&mut self, other: &Given, device: &CudaDevice) {
        let pairs = [
            (&other.u, &mut self.u),
            (&other.v, &mut self.v),
            (&other.gradients, &mut self.gradients),
            (&other.gradient, &mut self.gradient),
        ];
        pairs.into_iter().for_each(|(from, to)| device.copy(from, to).unwrap());
        if let (Some(from), Some(to)) = (&other.old, &mut self.old) {
            device.copy(&from.0, &mut to.0).unwrap();
            device.copy(&from.1, &mut to.1).unwrap();
        }
        let pairs = [(&other.extremes, &mut self.extremes), (&other.numbers, &mut self.numbers)];
        pairs.into_iter().for_each(|(from, to)| device.copy(from, to).unwrap());
        device.copy(&other.marks, &mut self.marks).unwrap();
    }

    pub fn batch<'a>(&'a self, index: &'a Buffer<u32>) -> Batch<'a> {
        let old = self.old.as_ref().map(|(u, v)| (u, v));
        Batch { index, u: &self.u, v: &self.v, extremes: &self.extremes, old }
    }

    pub fn solved(&self) -> Solved<'_> {
        Solved { numbers: &self.numbers, marks: &self.marks }
    }
}

impl Both {
    pub fn new(settings: Settings, n: usize, d: usize, earlier: usize, capacity: usize) -> Self {
        let sinkhorn = Sinkhorn { tolerance: 1e-2, max_iterations: 40, ..Sinkhorn::default() };
        let settings = Settings {
            sinkhorn,
            hidden: vec![6, 5],
            initial_variance: 2.0,
            seed: 4,
            objective: Objective::Divergence,
            ..settings
        };
        let architecture = Architecture::new(&settings, d).unwrap();
        let mut stream = Stream::new(5, [n as u32, d as u32, earlier as u32]);
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
        let device = CudaDevice::open(0).unwrap();
        let steps = 40;
        let progress = Progress::new(&device, &state, 0, capacity).unwrap();
        let constraints = ConstraintResiduals { earlier: earlier.len(), first: interval.ends() };
        let sources = Sources::new(&device, &data, &settings.sinkhorn.epsilon).unwrap();
        Both {
            stepper: CpuTrainer::new(&architecture, &settings, &vec![1.0; n], earlier.len()),
            sampler: Sampler::new(&device, &sources, &settings, 2).unwrap(),
            terms: Terms::new(&device, &settings, n, d, constraints).unwrap(),
            x: device.zeros(settings.batch * d).unwrap(),
            bar_u: device.zeros(settings.batch * d).unwrap(),
            bar_v: device.zeros(settings.batch * d).unwrap(),
            into: device.zeros(2).unwrap(),
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

    /// Changes times and meeting times of both engines.
    pub fn set_times(&mut self, change: impl Fn(&mut [f64], &mut [f64; 2])) {
        change(&mut self.state.times, &mut self.state.meeting);
        let times = [&self.state.times[..], &self.state.meeting].concat();
        self.device.copy_into(&times, &mut self.progress.times).unwrap();
    }

    pub fn read(&self, from: &Buffer<f64>) -> Vec<f64> {
        self.device.download(from).unwrap()
    }

    pub fn read32(&self, from: &Buffer<f32>) -> Vec<f64> {
        wide(&self.device.download(from).unwrap())
    }

    /// The CPU's step up to its gradient, copied to the device, and the device's draw.
    pub fn compute(&mut self, step: usize) -> (Given, StepOutcome) {
        let Both { settings, data, state, earlier, stepper, .. } = self;
        stepper.draw(data, settings, 2, step);
        let outcome = stepper.gradient(state, earlier, settings, true);
        let s = &self.device;
        let stages = stepper.stages(settings);
        let up = |v: &[f32]| s.upload(v).unwrap();
        let earlier = |part: usize| up(&stages.earlier.iter().flat_map(|e| e[part].clone()).collect::<Vec<_>>());
        let measures = &stages.measures;
        // The report is in turn that of (z, y), (z, z), (y, y); the value is distributed over all three.
        let visits = measures.len();
        let (mut numbers, mut marks) = (vec![0.0; 6 * visits], vec![0; 6 * visits]);
        for (k, s) in measures.iter().enumerate() {
            let (cross, own, target) = (k, visits + k, 2 * visits + k);
            (numbers[2 * cross], numbers[2 * own], numbers[2 * target]) = (s.value + 3.0, 4.0, 2.0);
            let worst = [cross, own, target][(k + step) % 3];
            numbers[2 * worst + 1] = s.report.marginal_error;
            (marks[2 * worst], marks[2 * worst + 1]) = (s.report.iterations as u32, s.report.status as u32);
        }
        let given = Given {
            u: up(&stages.u),
            v: up(&stages.v),
            extremes: s.upload(&[stages.extremes.0, stages.extremes.1]).unwrap(),
            old: (!stages.earlier.is_empty()).then(|| (earlier(0), earlier(1))),
            gradients: up(&measures.iter().flat_map(|s| s.gradient.clone()).collect::<Vec<_>>()),
            gradient: up(&[&stepper.gradient.phi[..], &stepper.gradient.f].concat()),
            numbers: s.upload(&numbers).unwrap(),
            marks: s.upload(&marks).unwrap(),
        };
        self.sampler.draw(&self.progress.counters, &mut self.x).unwrap();
        (given, outcome)
    }

    /// One whole step of both engines. Sums in f64 over the same f32 numbers agree to 1e-12, and so do times; values in f32 on
    /// both sides agree to 1e-6.
    pub fn step(&mut self, step: usize, what: &str) -> StepOutcome {
        let (given, outcome) = self.compute(step);
        self.enqueue(&given, true);
        self.compare(step, &outcome, &format!("{what}, step {step}"));
        outcome
    }

    /// The device's part from u and v onwards.
    pub fn enqueue(&mut self, given: &Given, valued: bool) {
        let Both { sampler, terms, progress, update, bar_u, bar_v, into, .. } = self;
        let batch = given.batch(&sampler.index);
        terms.place(batch, progress).unwrap();
        terms.measure(batch, &given.gradients, Cotangents { u: bar_u, v: bar_v, into }).unwrap();
        update.update(progress, terms, (batch.index, batch.extremes), &given.gradient, given.solved(), valued).unwrap();
    }

    /// Applies the CPU's update and compares everything.
    pub fn compare(&mut self, step: usize, outcome: &StepOutcome, what: &str) {
        self.compare_terms(outcome, what);
        self.compare_update(step, outcome, what);
    }

    fn compare_terms(&mut self, outcome: &StepOutcome, what: &str) {
        let s = &self.device;
        let stages = self.stepper.stages(&self.settings);
        let (measures, t) = (&stages.measures, &self.terms);
        let of = |f: &dyn Fn(&MeasureStages<f32>) -> f64| measures.iter().map(f).collect::<Vec<_>>();
        close(&self.read(&t.slot_time), &of(&|s| s.time), 1e-10, what);
        let ends: Vec<i32> = measures.iter().map(|s| end_number(s.end)).collect();
        assert_eq!(s.download(&t.slot_end).unwrap(), ends, "{what}");
        assert_eq!(self.read(&t.ends)[..2], [outcome.interval.0, outcome.interval.1], "{what}");
        let z: Vec<f32> = measures.iter().flat_map(|s| s.z.coords().to_vec()).collect();
        close(&self.read32(&t.z), &wide(&z), 1e-6, what);
        close(&self.read(&t.sums)[..measures.len()], &of(&|s| s.along), 1e-12, what);
        close(&self.read(&t.d_times), &self.stepper.gradient.times, 1e-11, what);
        let terms = [self.stepper.gradient.speed_squared, outcome.intersection, outcome.orthogonality];
        for (a, b) in self.read(&t.terms).iter().zip(terms) {
            close(&[*a], &[b], 1e-12, what);
        }
        close(&self.read(&self.into), &stages.into, 1e-11, what);
        close(&self.read32(&self.bar_u), &wide(&stages.bar_u), 1e-6, &format!("{what}: bar_u"));
        close(&self.read32(&self.bar_v), &wide(&stages.bar_v), 1e-6, &format!("{what}: bar_v"));
    }

    fn compare_update(&mut self, step: usize, outcome: &StepOutcome, what: &str) {
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
        let same = StepOutcome {
            divergence: got.divergence,
            intersection: got.intersection,
            orthogonality: got.orthogonality,
            speed: got.speed,
            ..*outcome
        };
        assert_eq!(got, same, "{what}");
    }
}
