use super::lattice::normal_quantile;
use super::philox::philox;
use super::*;

/// Known answers of the authors' Random123 distribution (file `kat_vectors`).
#[test]
fn philox_known_answers() {
    let cases = [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ];
    for (counter, key, expected) in cases {
        assert_eq!(philox(counter, key), expected);
    }
}

#[test]
fn moments_of_normals_and_uniforms() {
    let mut s = Stream::new(7, [0, 1, 2]);
    let n = 200_000;
    let z: Vec<f64> = (0..n).map(|_| s.normal()).collect();
    let moment = |k: i32| z.iter().map(|v| v.powi(k)).sum::<f64>() / n as f64;
    // Five standard errors: sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n).
    let se = 5.0 / f64::sqrt(n as f64);
    assert!(moment(1).abs() < se && (moment(2) - 1.0).abs() < 1.42 * se);
    assert!(moment(3).abs() < 3.9 * se && (moment(4) - 3.0).abs() < 9.8 * se);
    let mean = (0..n).map(|_| s.uniform()).sum::<f64>() / n as f64;
    assert!((mean - 0.5).abs() < 0.29 * se);
}

/// Quantiles of the standard normal law from tables.
#[test]
fn normal_quantiles() {
    for (p, z) in [
        (0.5, 0.0),
        (0.975, 1.959_963_984_540_054),
        (0.9, 1.281_551_565_544_600_4),
        (0.001, -3.090_232_306_167_813),
        (1e-6, -4.753_424_308_822_899),
        (0.02425, -1.972_961_051_311_885),
    ] {
        assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}: {}", normal_quantile(p));
        assert!((normal_quantile(1.0 - p) + z).abs() < 1e-8);
    }
}

/// The errors are a quarter of those of independent draws in means and variances, and three quarters in covariances.
#[test]
fn lattices_are_even() {
    let n = 512;
    let root_mean_square = |v: &[f64]| (v.iter().map(|v| v * v).sum::<f64>() / v.len() as f64).sqrt();
    for d in [1, 2, 3, 4, 8] {
        let (mut means, mut variances, mut covariances) = (vec![], vec![], vec![]);
        for seed in 0..20 {
            let mut x = vec![0.0f64; n * d];
            lattice_normals(&mut Stream::new(seed, [0, d as u32, 0]), 0, d, &mut x);
            let mean = |f: &dyn Fn(&[f64]) -> f64| x.chunks_exact(d).map(f).sum::<f64>() / n as f64;
            for j in 0..d {
                means.push(mean(&|x| x[j]));
                variances.push(mean(&|x| x[j] * x[j]) - 1.0);
                (0..j).for_each(|k| covariances.push(mean(&|x| x[j] * x[k])));
            }
        }
        // Independent draws: 1/√n, √(2/n) and 1/√n.
        let expected = 1.0 / f64::sqrt(n as f64);
        let errors = [root_mean_square(&means), root_mean_square(&variances) / f64::sqrt(2.0)];
        assert!(errors.iter().all(|&e| e < 0.25 * expected), "d {d}: {errors:?}");
        assert!(d == 1 || root_mean_square(&covariances) < 0.75 * expected, "d {d}");
    }
}

/// For dimensions with and without a lattice: parts equal those of the whole, and every index of the stream matters.
#[test]
fn lattices_in_parts_and_of_other_streams() {
    for d in [1, 3, 8, 9, 20] {
        let rows = |indices: [u32; 3], first: usize, n: usize| {
            let mut x = vec![0.0f64; n * d];
            lattice_normals(&mut Stream::new(3, indices), first, d, &mut x);
            x
        };
        let all = rows([1, 2, 3], 0, 50);
        assert_eq!(rows([1, 2, 3], 20, 30), all[20 * d..]);
        for other in [[0, 2, 3], [1, 0, 3], [1, 2, 0]] {
            assert!(rows(other, 0, 50).iter().zip(&all).all(|(a, b)| a != b), "d {d}: {other:?}");
        }
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        assert_eq!(sorted.len(), all.len(), "d {d}: a number comes twice");
    }
}

/// Over many shifts every row of the lattice is standard normal.
#[test]
fn each_row_of_a_lattice_is_normal() {
    let shifts = 4000;
    for row in [0, 5] {
        let (mut sum, mut squares) = ([0.0; 2], [0.0; 3]);
        for seed in 0..shifts {
            let mut x = [0.0f64; 2];
            lattice_normals(&mut Stream::new(seed, [0; 3]), row, 2, &mut x);
            (0..2).for_each(|k| sum[k] += x[k]);
            [x[0] * x[0], x[0] * x[1], x[1] * x[1]].iter().zip(&mut squares).for_each(|(v, s)| *s += v);
        }
        let se = 4.0 * f64::sqrt(shifts as f64);
        assert!(sum.iter().all(|s| s.abs() < se), "{sum:?}");
        let off = [squares[0] - shifts as f64, squares[1], squares[2] - shifts as f64];
        assert!(off.iter().all(|s| s.abs() < 1.42 * se), "{off:?}");
    }
}

#[test]
fn weighted_draws_follow_the_weights_and_never_a_zero() {
    let mut s = Stream::new(1, [0, 0, 0]);
    let cumulative = [0.0, 0.25, 0.25, 1.0, 1.0];
    let mut count = [0usize; 5];
    (0..40_000).for_each(|_| count[s.weighted(&cumulative)] += 1);
    assert_eq!((count[0], count[2], count[4]), (0, 0, 0));
    assert!((count[1] as f64 / 40_000.0 - 0.25).abs() < 0.011);
}

#[test]
fn shuffles_are_permutations_and_uniform_in_front() {
    let mut front = [0usize; 6];
    for k in 0..6000 {
        let mut items: Vec<usize> = (0..6).collect();
        Stream::new(3, [0, k, 0]).shuffle_front(&mut items, 2);
        front[items[0]] += 1;
        items.sort_unstable();
        assert_eq!(items, [0, 1, 2, 3, 4, 5]);
    }
    assert!(front.iter().all(|&c| (850..1150).contains(&c)), "{front:?}");
}

#[test]
fn streams_differ_by_seed_family_and_each_index() {
    let first = |seed, id| Stream::at(seed, id).next_u32();
    let base = first(1, StreamId::Caller([1, 2, 3]));
    for (seed, id) in [
        (2, StreamId::Caller([1, 2, 3])),
        (1 << 32 | 1, StreamId::Caller([1, 2, 3])),
        (1, StreamId::StepMeasure { run: 1, step: 2, key: 3 }),
        (1, StreamId::Caller([2, 2, 3])),
        (1, StreamId::Caller([1, 3, 3])),
        (1, StreamId::Caller([1, 2, 4])),
    ] {
        assert_ne!(base, first(seed, id), "{id:?}");
    }
    assert_eq!(base, first(1, StreamId::Caller([1, 2, 3])));
}

/// The words of `rand`'s traits are those of the stream, in order.
#[test]
fn a_stream_is_an_rng() {
    use rand::Rng;
    let new = || Stream::new(5, [0; 3]);
    let words: Vec<u32> = std::iter::repeat_with({
        let mut s = new();
        move || Stream::next_u32(&mut s)
    })
    .take(6)
    .collect();
    let mut s = new();
    assert_eq!(s.next_u64(), u64::from(words[1]) << 32 | u64::from(words[0]));
    let mut bytes = [0; 7];
    s.fill_bytes(&mut bytes);
    assert_eq!(bytes[..4], words[2].to_le_bytes());
    assert_eq!(bytes[4..], words[3].to_le_bytes()[..3]);
    assert_eq!(Rng::next_u32(&mut s), words[4]);
}
