//! Compares draws with those of the CPU: indices and points bit for bit, normals up to rounding (the f64 functions of a GPU
//! differ from those of the CPU in the last digit).

use super::*;
use crate::clouds::shared::{CpuTrainer, Stages};
use crate::clouds::{Architecture, Objective, Settings};
use crate::measure::Measure;
use crate::rng::Stream;
use rand::RngExt;
use rand_distr::Normal;
use wgpca_emulator::{Order, configure};

/// n measures of 1 to 40 points with unequal weights, some 0.
pub(in crate::cuda) fn data(n: usize, d: usize) -> Data<f32> {
    let measure = |i: usize| {
        let mut s = Stream::new(9, [i as u32, d as u32, 0]);
        let points = s.random_range(1..=40);
        let law = Normal::new(0.3 * i as f64 / n as f64, 1.0).unwrap();
        let coords: Vec<f64> = (0..points * d).map(|_| s.sample(law)).collect();
        let weights = (0..points).map(|k| if k % 5 == 1 { 0.0 } else { s.random_range(0.1..1.1) }).collect();
        Measure::weighted(format!("m{i}"), coords, d, weights).unwrap()
    };
    let measures: Vec<Measure> = (0..n.max(2)).map(measure).collect();
    let mut data = Data::new(&measures, &vec![1.0; measures.len()], true).unwrap();
    data.sources.truncate(n);
    data
}

fn small(settings: Settings) -> Settings {
    Settings { hidden: vec![3], seed: 0x1234_5678_9abc, objective: Objective::Divergence, ..settings }
}

/// Compares the draws of some steps; the host sets the step counter of the device.
fn check(data: &Data<f32>, settings: &Settings, run: u32, steps: &[usize]) {
    let (n, d, m) = (data.sources.len(), data.dim, settings.batch);
    let device = CudaDevice::open(0).unwrap();
    let s = &device;
    let architecture = Architecture::new(settings, d).unwrap();
    let mut stepper = CpuTrainer::new(&architecture, settings, &vec![1.0; n], 0);
    let sources = Sources::new(&device, data, &settings.sinkhorn.epsilon).unwrap();
    let mut sampler = Sampler::new(&device, &sources, settings, run).unwrap();
    let mut drawn = s.zeros(m * d).unwrap();
    for &step in steps {
        let what = format!("n {n} d {d} m {m} {:?} step {step}", settings.sampling);
        stepper.draw(data, settings, run, step);
        sampler.draw(&s.upload(&[step as u64]).unwrap(), &mut drawn).unwrap();
        let index: Vec<usize> = s.download(&sampler.index).unwrap().iter().map(|&i| i as usize).collect();
        let Stages { x, measures, .. } = stepper.stages(settings);
        assert_eq!(index, measures.iter().map(|s| s.index).collect::<Vec<_>>(), "{what}");
        let got = s.download(&drawn).unwrap();
        assert_eq!(got.len(), x.len());
        for (k, (a, b)) in got.iter().zip(&x).enumerate() {
            assert!((a - b).abs() <= 2e-7 * b.abs(), "{what}: x[{k}] {a} for {b}");
        }
        let y: Vec<f32> = measures.iter().flat_map(|s| s.y.coords().to_vec()).collect();
        assert_eq!(s.download(&sampler.y).unwrap(), y, "{what}");
        for (a, measure) in s.download(&sampler.epsilon).unwrap().iter().zip(&measures) {
            assert!((a / measure.epsilon - 1.0).abs() < 1e-12, "{what}: ε {a} for {}", measure.epsilon);
        }
    }
}

#[test]
fn draws_of_rounds_in_order() {
    let orders = [Order::Forward, Order::Reverse, Order::Random(5)];
    for (k, (n, d, m, measures)) in
        [(1, 1, 2, 4), (2, 3, 33, 1), (7, 2, 150, 3), (62, 8, 40, 4), (7, 9, 131, 2), (62, 20, 5, 62)]
            .into_iter()
            .enumerate()
    {
        configure(orders[k % 3], 2);
        let data = data(n, d);
        for preset in [Settings::paper(), Settings::fast()] {
            let settings = small(Settings { batch: m, measures, ..preset });
            // Two whole rounds, or the part of one that time permits, and the steps around the start of the next.
            let round = n / measures.min(n);
            let steps: Vec<usize> = (0..(2 * round + 1).min(6)).chain([round - 1, round, 5 * round + 1]).collect();
            check(&data, &settings, k as u32, &steps);
        }
    }
}

/// More rows than threads in a block, and a fixed ε.
#[test]
fn draws_of_a_large_batch() {
    configure(Order::Random(1), 2);
    let epsilon = Epsilon::Fixed(0.37);
    for preset in [Settings::paper(), Settings::fast()] {
        let sinkhorn = crate::ot::Sinkhorn { epsilon, ..preset.sinkhorn.clone() };
        check(&data(3, 2), &small(Settings { batch: 1100, measures: 2, sinkhorn, ..preset }), 77, &[123_456]);
    }
}

/// An order that does not fit into shared memory. Results must depend on seed, run and step.
#[test]
fn draws_of_very_many_measures() {
    configure(Order::Reverse, 2);
    let n = SHARED as usize + 1;
    let data = data(n, 1);
    let settings = small(Settings { batch: 2, measures: 5, ..Settings::fast() });
    check(&data, &settings, 0, &[1, 2, 2 * (n / 5)]);
    check(&data, &Settings { seed: 2, ..settings }, 3, &[1]);
}

/// A target cloud of coinciding points: ε takes its lower bound.
#[test]
fn floor_of_epsilon() {
    configure(Order::Forward, 2);
    let measures =
        [Measure::uniform("point", vec![1.0, 2.0], 2), Measure::uniform("pair", vec![0.0, 5.0, 3.0, 1.0], 2)];
    let data = Data::new(&measures.map(Result::unwrap), &[1.0; 2], true).unwrap();
    check(&data, &small(Settings { batch: 6, measures: 2, ..Settings::fast() }), 0, &[0, 1]);
}
