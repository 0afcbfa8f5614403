//! Memory, counted by the allocator. A training step does not allocate: whole steps of two components are watched, and hard
//! Sinkhorn problems. A fit holds the points of its measures once, in its precision.

use rand::RngExt;
use rand_distr::Normal;
use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use wgpca::Status;
use wgpca::clouds::{Event, Fit, Settings, Tangent};
use wgpca::ot::{DivergenceSolver, Epsilon, Points, Sinkhorn};
use wgpca::rng::Stream;
use wgpca::{Measure, Pool};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
/// Bytes in use, and the largest number since [`start`].
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn add(size: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    let held = HELD.fetch_add(size, Ordering::Relaxed) + size;
    MOST.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: every call is passed unchanged to the system allocator; counting does not access memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's guarantee about the layout is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from `alloc` above, that is, from the system allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        add(size);
        // SAFETY: as for `alloc` and `dealloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Clouds whose first component is curved enough that times are clipped.
fn measures(d: usize) -> Vec<Measure> {
    let cloud = |i: usize| -> Vec<f64> {
        let s = i as f64 / 3.0 - 1.0;
        (0..700 * d)
            .map(|k| {
                let a = (k as f64 * 0.7548).fract() - 0.5;
                a * (1.0 + 0.9 * s) + if k % d == 0 { 0.4 * s } else { 0.1 * (k as f64 * 12.9898).sin() }
            })
            .collect()
    };
    (0..7).map(|i| Measure::uniform(format!("{i}"), cloud(i), d).unwrap()).collect()
}

fn watch(settings: &Settings, d: usize, threads: usize) -> (usize, usize) {
    let data = measures(d);
    Pool::new(threads).unwrap().run(|| {
        let mut fit = Fit::<f32>::new(&data, settings).unwrap();
        let (mut watched, mut clipped) = (0, 0);
        loop {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let event = fit.advance().unwrap();
            let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
            match event {
                None => return (watched, clipped),
                // Buffers reach their size in the first steps (the tenth is the first whose value is reported).
                Some(Event::Step { component, step, outcome, .. }) if step > 12 => {
                    assert_eq!(allocations, 0, "component {component}, step {step}");
                    watched += 1;
                    clipped += outcome.clipped;
                }
                Some(_) => {}
            }
        }
    })
}

/// 300 points in two clusters at distance 1; `first` of them are in the first cluster.
fn clusters(seed: u64, first: usize) -> Points<f32> {
    let mut s = Stream::new(seed, [0; 3]);
    let centres = (0..300).flat_map(|i| [if i < first { 0.0 } else { 1.0 }, 0.0]);
    let coords: Vec<f32> = centres.map(|c| s.sample(Normal::new(c, 1e-3).unwrap())).collect();
    Points::uniform(&coords, 2).unwrap()
}

/// Annealing uses memory that a solver reserves for it. A solve in f64 of clouds in f32 allocates its memory in the first such
/// problem.
fn hard_problems() {
    let (x, near, far) = (clusters(1, 150), clusters(2, 150), clusters(3, 200));
    let mut gradient = vec![0.0; 600];
    let mut solver = |epsilon: f64, problems: &[(&Points<f32>, bool)]| {
        let settings = Sinkhorn { epsilon: Epsilon::Fixed(epsilon), tolerance: 1e-3, ..Sinkhorn::default() };
        let mut solver = DivergenceSolver::new(&settings).unwrap();
        for (k, (y, watched)) in problems.iter().enumerate() {
            let mut solve = || {
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                let report = solver.gradient(&x, y, &mut gradient).unwrap();
                (ALLOCATIONS.load(Ordering::Relaxed) - before, report)
            };
            // The queues of the thread pool allocate now and then. What a solve needs, it needs each time.
            let (mut allocations, report) = solve();
            for _ in 0..2 {
                allocations = if *watched && allocations > 0 { solve().0 } else { allocations };
            }
            assert!(report.status == Status::Converged, "{epsilon} {k}: {report:?}");
            assert!(!watched || allocations == 0, "{epsilon} {k}: {allocations}, {report:?}");
            assert!(!std::ptr::eq(*y, &far) || report.iterations > 33, "not annealed: {report:?}");
        }
    };
    solver(1e-5, &[(&near, false), (&far, true), (&near, true), (&far, true)]);
    solver(1e-8, &[(&far, false), (&far, true)]);
}

fn steps_do_not_allocate() {
    hard_problems();
    let quick = Settings {
        components: 2,
        tangent: Tangent { points: 64, rounds: 1, regression: 20 },
        evaluate_every: 1000,
        evaluation_points: 64,
        ..Settings::fast()
    };
    let small = Settings { steps: [40, 40], batch: 150, hidden: vec![16; 2], ..quick.clone() };
    let mut clipped = 0;
    for (d, threads) in [(3, 1), (3, 2), (1, 1), (5, 1), (9, 1)] {
        let (watched, c) = watch(&small, d, threads);
        assert_eq!(watched, 56);
        clipped += c;
    }
    assert!(clipped > 0, "no time was clipped, so the gradient through the eigenvalue was not watched");
    // Batches large enough for a coarse start, and the dense updates of the paper.
    let paper = Settings { components: 2, evaluation_points: 64, ..Settings::paper() };
    let large = Settings { steps: [16, 16], batch: 520, hidden: vec![8; 2], ..paper };
    assert_eq!(watch(&large, 3, 2).0, 8);
    assert_eq!(watch(&large, 9, 1).0, 8);
}

/// Memory in use before and the largest since, in bytes.
fn start() -> usize {
    let held = HELD.load(Ordering::Relaxed);
    MOST.store(held, Ordering::Relaxed);
    held
}

fn most_since(before: usize) -> f64 {
    (MOST.load(Ordering::Relaxed) - before) as f64
}

/// Point k of cloud i.
fn coordinate(i: usize, k: usize, d: usize) -> f32 {
    let noise = (k as f64 * 0.754_877_666 + i as f64 * 0.1).fract() + (k as f64 * 0.569_840_29).fract();
    (noise * (1.0 + 0.01 * i as f64) + if k.is_multiple_of(d) { 0.02 * i as f64 } else { 0.0 }) as f32
}

fn a_fit_holds_the_points_once_in_its_precision() {
    let settings = Settings {
        steps: [20, 20],
        tangent: Tangent { points: 64, rounds: 1, regression: 20 },
        batch: 64,
        evaluation_points: 64,
        hidden: vec![16; 2],
        ..Settings::fast()
    };
    for (n, p, d) in [(100, 4096, 3), (400, 4096, 3), (200, 4096, 1), (40, 3000, 20)] {
        let bytes = (4 * n * p * d) as f64;
        let array: Vec<f32> = (0..n * p * d).map(|k| coordinate(k / (p * d), k % (p * d), d)).collect();
        let cloud = |i: usize| {
            let points = &array[i * p * d..(i + 1) * p * d];
            Measure::from_slice(format!("{i}"), points, d).map(Cow::Owned)
        };
        Pool::new(2).unwrap().run(|| {
            let before = start();
            let mut fit = Fit::<f32>::streamed(n, cloud, &settings).unwrap();
            let reading = most_since(before);
            // Besides the points, the measures in work: in f64 as given, sorted, and in the frame.
            assert!(reading < 1.3 * bytes, "d {d}: reading holds {:.2} times the points", reading / bytes);
            let kept = HELD.load(Ordering::Relaxed) - before;
            assert!((kept as f64) < 1.1 * bytes, "d {d}: {:.2} times the points are kept", kept as f64 / bytes);

            let (mut step, mut whole) = (0.0f64, 0.0f64);
            loop {
                let before_unit = start();
                let event = fit.advance().unwrap();
                let unit = most_since(before_unit);
                whole = whole.max(before_unit as f64 + unit - before as f64);
                match event {
                    Some(Event::Step { .. }) => step = step.max(unit),
                    Some(_) => {}
                    None => break,
                }
            }
            // The workspace of one step does not grow with the points of the measures.
            assert!(step < 5e6, "d {d}: {step} bytes in a step");
            println!(
                "n {n}, p {p}, d {d}: points {:.1} MB; reading {:.2}, kept {:.2} of it; {:.1} MB more in the whole fit, {:.1} in a step",
                bytes / 1e6,
                reading / bytes,
                kept as f64 / bytes,
                (whole - kept as f64) / 1e6,
                step / 1e6
            );
        });
    }
}

/// The only test in this file, because the counters cover the whole process.
#[test]
fn memory() {
    steps_do_not_allocate();
    a_fit_holds_the_points_once_in_its_precision();
}
