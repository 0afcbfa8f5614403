//! The barrier between the blocks of a problem, and the flag that it passes on (`kernels/group.cuh`).

use super::hard::{normals, solve};
use super::*;
use std::collections::HashSet;
use wgpca_emulator::Fault;

/// Solves on one block, which never waits, and on several blocks, some of which sometimes reach the barrier late: the results
/// have the same bits. Some steps are cut back, which the blocks learn from the flag.
fn the_same_whoever_is_late((x, y): (&[f32], &[f32]), settings: &Sinkhorn, kept: Option<&[f32]>) {
    let emulator = session(Order::Forward);
    let alone = solve((x, y, 1), settings, kept, 2);
    for seed in 1..=3 {
        emulator.order(Order::Random(seed));
        let several = solve((x, y, 1), settings, kept, 2 + 2 * seed);
        assert_eq!(several, alone, "seed {seed}");
    }
}

#[test]
fn late_blocks_learn_of_a_step_that_went_too_far() {
    // Cold starts at a small ε, where mixed steps sometimes go too far.
    let few = Sinkhorn { max_iterations: 60, ..settings(3e-4, 1e-4) };
    for seed in [41, 43] {
        let (x, y) = (normals(seed, 30, &[0.0], &[1.0]), normals(seed + 1, 30, &[0.3], &[0.8]));
        the_same_whoever_is_late((&x, &y), &few, None);
    }
    // One potential far below the others: the block that has its column cuts back its step again and again.
    let (x, y) = (normals(41, 30, &[0.0], &[1.0]), normals(42, 30, &[0.3], &[0.8]));
    let mut kept = vec![0.0; 90];
    kept[45] = -300.0;
    let many = Sinkhorn { max_iterations: 60, ..settings(0.1, 1e-3) };
    the_same_whoever_is_late((&x, &y), &many, Some(&kept));
}

/// A block that never arrives ends the launch; the error names the block that waited for it, and the process goes on.
#[test]
fn a_block_that_never_arrives_is_named() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap().limit_blocks(4);
    let size = Size { pairs: 1, n: 30, m: 30, d: 1 };
    let mut solver = Solver::new(&device, size, &settings(0.1, 1e-3)).unwrap();
    let (x, epsilon) = (device.upload(&normals(1, 30, &[0.0], &[1.0])).unwrap(), device.upload(&[0.1]).unwrap());
    let mut gradient = device.zeros::<f32>(30).unwrap();
    let (x, epsilon) = (x.as_view(), epsilon.as_view());
    let clouds = Clouds { size, x: &x, y: &x, weights: None, epsilon: &epsilon };
    // Blocks 0 and 1 have (x, y).
    emulator.inject(Fault::Absent(1));
    let solved = solver.gradient(clouds, Start::Anneal, &mut gradient.as_view_mut());
    let text = solved.and_then(|()| solver.found()).unwrap_err().to_string();
    let named = "block 0 of group 0 waited too long for other blocks, in iteration 0: 1 arrivals of 2;";
    assert!(text.contains(named), "{text}");
    assert!(text.contains("a kernel failed") && text.contains("LAUNCH_FAILED") && !text.contains('\n'), "{text}");
    drop((solver, gradient, device));
    emulator.reset();
    // Another device, opened later, has no report.
    assert_eq!(
        solve((&[0.0, 1.0], &[0.5, 2.0], 1), &settings(0.1, 1e-3), None, 2).found.report.status,
        Status::Converged
    );
}

/// A block at two barriers, the second of which reads the flag. Between its arrival and its read of the counter, other blocks can
/// overtake it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Block {
    at: u8,
    raised: u8,
    flag: Option<bool>,
}

/// The flags that the blocks read, for every order in which they can run; the first block raises before the second barrier.
/// `everywhere`: flags are read at both barriers.
fn outcomes(blocks: usize, everywhere: bool) -> HashSet<Vec<Option<bool>>> {
    let first = (0usize, 0u8, vec![Block { at: 0, raised: 0, flag: None }; blocks]);
    let (mut seen, mut open, mut ends) = (HashSet::from([first.clone()]), vec![first], HashSet::new());
    while let Some((arrivals, raises, state)) = open.pop() {
        if state.iter().all(|b| b.at == 4) {
            ends.insert(state.iter().map(|b| b.flag).collect());
        }
        for k in 0..blocks {
            let (mut arrivals, mut raises, mut state) = (arrivals, raises, state.clone());
            let block = &mut state[k];
            match block.at {
                0 | 2 => {
                    raises += u8::from(block.at == 2 && k == 0);
                    arrivals += 1;
                }
                1 | 3 if arrivals < (block.at as usize).div_ceil(2) * blocks => continue,
                1 if everywhere => block.raised = raises,
                1 => {}
                3 => block.flag = Some(raises != block.raised),
                _ => continue,
            }
            block.at += 1;
            let next = (arrivals, raises, state);
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    ends
}

/// If the flag is read only at the barrier for which it was raised, all blocks read the same value. If it is read at every
/// barrier, they can differ; the model finds that case.
#[test]
fn all_blocks_see_the_same_flag() {
    for blocks in 2..=4 {
        assert_eq!(outcomes(blocks, false), HashSet::from([vec![Some(true); blocks]]));
        assert!(outcomes(blocks, true).len() > 1);
    }
}
