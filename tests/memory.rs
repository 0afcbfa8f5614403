//! Memory of a fit, counted by the allocator: the points in the precision of the fit, and little more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use wgpca::clouds::{Event, Fit, Settings, Tangent};
use wgpca::{Measure, Pool};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn add(size: usize) {
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
    (noise * (1.0 + 0.01 * i as f64) + if k % d == 0 { 0.02 * i as f64 } else { 0.0 }) as f32
}

/// The only test in this file, because the counter covers the whole process.
#[test]
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
