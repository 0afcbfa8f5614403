//! Gradients, updates, and the step as a whole.

use super::*;
use crate::clouds::geodesic::chunk::sum_gradients;
use crate::nn::Jets;

#[test]
fn gradients() {
    for case in CASES {
        for factors in [[0.0, 0.0], [0.7, -0.4], [0.0, 1.3]] {
            let d = case.d;
            let mut p = prepare(case);
            let n = case.rows * d;
            let (bar_u, bar_v) = (normals(&mut p.stream, n), normals(&mut p.stream, n));
            let device = p.networks.device.clone();
            device.copy_into(&bar_u, &mut p.networks.bar_u).unwrap();
            device.copy_into(&bar_v, &mut p.networks.bar_v).unwrap();
            device.copy_into(&factors, &mut p.networks.factors).unwrap();
            p.networks.extremes().unwrap();
            p.networks.eigenvalue_gradient().unwrap();
            p.networks.backward().unwrap();

            let a = p.exact.architecture.clone();
            let (mut d_phi, mut d_f) = (vec![0.0; a.phi_parameters()], vec![0.0; a.f_parameters()]);
            let mut d_eigen = d_f.clone();
            let (mut bar_u, bar_v) = (wide(&bar_u), wide(&bar_v));
            let found = device.download(&p.networks.extremes).unwrap();
            for (end, factor) in factors.into_iter().enumerate().filter(|(_, f)| *f != 0.0) {
                let (vector, u) = (&found[4 + end * d..][..d], &found[4 + 2 * d + end * d..][..d]);
                let mut pull = vec![0.0; d];
                let f = &p.exact.f;
                Jets::new(&a.f).eigenvalue_gradient(&a.f, f, (u, vector), factor, &mut d_eigen, &mut pull);
                let row = found[2 + end] as usize;
                bar_u[row * d..][..d].iter_mut().zip(&pull).for_each(|(b, p)| *b += p);
                for (k, s) in d_eigen[a.quadratic()].iter_mut().enumerate() {
                    *s += factor * vector[k / d] * vector[k % d];
                }
            }
            for c in &mut p.chunks {
                let at = c.first * d..(c.first + c.rows) * d;
                c.bar_u.copy_from_slice(&bar_u[at.clone()]);
                c.bar_v.copy_from_slice(&bar_v[at]);
                c.backward(&p.exact);
            }
            sum_gradients(&a, p.chunks.iter(), &mut d_phi, &mut d_f);
            d_f.iter_mut().zip(&d_eigen).for_each(|(f, e)| *f += e);
            let got = p.read(&p.networks.gradient);
            let (phi, f) = got.split_at(d_phi.len());
            close(&p.read(&p.networks.bar_u), &p.gather(|c| &c.bar_u), 1e-4, "bar_u");
            close(phi, &d_phi, 1e-4, "phi");
            close(f, &d_f, 1e-4, "f");
        }
    }
}

/// The same bits in every order of threads.
#[test]
fn results_do_not_depend_on_the_order_of_threads() {
    let mut seen: Vec<Vec<f32>> = vec![];
    for order in [Forward, Reverse, Random(5), Random(6)] {
        let mut p = prepare(&case(3, &[33, 40], Elu, true, 130, order));
        let (bars, device) = (normals(&mut p.stream, 390), p.networks.device.clone());
        device.copy_into(&bars, &mut p.networks.bar_u).unwrap();
        device.copy_into(&bars, &mut p.networks.bar_v).unwrap();
        device.copy_into(&[0.3, 0.4], &mut p.networks.factors).unwrap();
        p.networks.extremes().unwrap();
        p.networks.eigenvalue_gradient().unwrap();
        p.networks.backward().unwrap();
        seen.push(p.read(&p.networks.gradient));
    }
    assert!(seen.windows(2).all(|w| w[0] == w[1]));
}

/// Updates with changes of gauge compared with nn::Adam; the mirror follows; after a failed step nothing changes.
#[test]
fn updates() {
    for case in [&CASES[2], &CASES[3], &CASES[0]] {
        let mut p = prepare(case);
        let device = p.networks.device.clone();
        let [alive, failed] = [1, 0].map(|a| device.upload(&[a, 0u32]).unwrap());
        for (step, c) in [1.0, 1.7, 0.3].into_iter().enumerate() {
            let gradient = normals(&mut p.stream, p.networks.weights.len());
            let (rate, t) = (0.01 / (1.0 + step as f64), step as f64 + 1.0);
            let (c1, c2) = (1.0 - 0.9f64.powf(t), (1.0 - 0.999f64.powf(t)).sqrt());
            let rates = device.upload(&[(rate * c2 / c1) as f32, (1e-8 * c2) as f32]).unwrap();
            let scale = device.upload(&[c]).unwrap();
            device.copy_into(&gradient, &mut p.networks.gradient).unwrap();
            p.networks.update(&rates, &scale, &alive).unwrap();
            p.networks.update(&rates, &scale, &failed).unwrap();
            let (phi, f) = gradient.split_at(p.state.geodesic.phi.len());
            p.state.adam_phi.update(rate, phi, &mut p.state.geodesic.phi);
            p.state.adam_f.update(rate, f, &mut p.state.geodesic.f);
            p.state.rescale(c);
        }
        let mut got = p.state.clone();
        p.networks.download(&mut got).unwrap();
        let both = |s: &State<f32>| [&s.geodesic.phi[..], &s.geodesic.f].concat();
        close(&both(&got), &wide(&both(&p.state)), 1e-6, "parameters");
        for (a, b) in [(&got.adam_phi, &p.state.adam_phi), (&got.adam_f, &p.state.adam_f)] {
            close(&a.first, &wide(&b.first), 1e-6, "first");
            close(&a.second, &wide(&b.second), 1e-6, "second");
        }
        // A pass that reads the mirror.
        let mut fresh = Networks::new(&device, &architecture(case), case.rows).unwrap();
        fresh.upload(&got).unwrap();
        assert_eq!(p.read(&fresh.weights.mirror), p.read(&p.networks.weights.mirror));
    }
}

/// A step consists only of launches, and a recorded step repeats them: times, draws and rates are read from device memory.
#[test]
fn a_recorded_step_is_the_step() {
    for case in [&CASES[2], &CASES[8]] {
        let mut p = prepare(case);
        let device = p.networks.device.clone();
        let start = p.state.clone();
        let bars = normals(&mut p.stream, p.x.len());
        device.copy_into(&[0.2, -0.3], &mut p.networks.factors).unwrap();
        let rates = device.upload(&[0.01f32, 1e-9]).unwrap();
        let (c, alive) = (device.upload(&[1.3]).unwrap(), device.upload(&[1u32]).unwrap());
        let bar = device.upload(&bars).unwrap();
        let step = |n: &mut Networks| {
            device.copy(&bar, &mut n.bar_u)?;
            device.copy(&bar, &mut n.bar_v)?;
            n.forward()?;
            n.extremes()?;
            n.eigenvalue_gradient()?;
            n.backward()?;
            n.update(&rates, &c, &alive)
        };
        let before = p.emulator.counts();
        (0..3).for_each(|_| step(&mut p.networks).unwrap());
        let after = p.emulator.counts();
        assert_eq!(after.launches - before.launches, 3 * 8);
        assert_eq!(
            [after.allocations, after.to_device, after.to_host, after.waits],
            [before.allocations, before.to_device, before.to_host, before.waits]
        );
        let mut expected = start.clone();
        p.networks.download(&mut expected).unwrap();
        p.networks.upload(&start).unwrap();
        let mut graph = crate::cuda::graph::Graph::capture(&device, |_| step(&mut p.networks)).unwrap();
        (0..3).for_each(|_| graph.launch().unwrap());
        let mut got = start.clone();
        p.networks.download(&mut got).unwrap();
        assert_eq!(got, expected);
        assert_ne!(got, start);
    }
}
