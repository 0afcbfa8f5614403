//! Arguments of the kernels of the solves (`kernels/sinkhorn.cuh`, `kernels/sinkhorn.cu`, `kernels/divergence.cu`).

use crate::cuda::arguments::{DevicePtr, DevicePtrMut, kernel_args};

kernel_args! {
    /// Constants of one call of the solver.
    #[derive(Clone, Copy)]
    struct SinkhornShape {
        n: u64,
        m: u64,
        tolerance: f64,
        patience: u64,
        d: u32,
        pairs: u32,
        selves: u32,
        cross_groups: u32,
        cross_blocks: u32,
        self_groups: u32,
        self_blocks: u32,
        max_iterations: u32,
        most_parts: u32,
        weighted: u32,
        kept: u32,
    }

    /// Moves and scales the clouds.
    struct SinkhornCloudsArgs<'a> for "sinkhorn_clouds" {
        shape: SinkhornShape,
        x: DevicePtr<'a, f32>,
        y: DevicePtr<'a, f32>,
        a: DevicePtr<'a, f32>,
        b: DevicePtr<'a, f32>,
        epsilon: DevicePtr<'a, f64>,
        work: DevicePtrMut<'a, f32>,
        spread: DevicePtrMut<'a, f64>,
        counters: DevicePtrMut<'a, u64>,
        groups: u32,
    }

    /// Runs all solves.
    struct SinkhornSolveArgs<'a> for "sinkhorn_solve" {
        shape: SinkhornShape,
        epsilon: DevicePtr<'a, f64>,
        spread: DevicePtr<'a, f64>,
        work: DevicePtrMut<'a, f32>,
        sums: DevicePtrMut<'a, f64>,
        counters: DevicePtrMut<'a, u64>,
        numbers: DevicePtrMut<'a, f64>,
        marks: DevicePtrMut<'a, u32>,
        potentials: DevicePtrMut<'a, f32>,
        means: DevicePtrMut<'a, f32>,
        stall: DevicePtrMut<'a, u64>,
    }

    /// The gradient by x.
    struct SinkhornGradientArgs<'a> for "sinkhorn_gradient" {
        shape: SinkhornShape,
        epsilon: DevicePtr<'a, f64>,
        work: DevicePtrMut<'a, f32>,
        means: DevicePtr<'a, f32>,
        gradient: DevicePtrMut<'a, f32>,
    }

    /// Softmins in f64.
    struct PreciseSoftminArgs<'a> for "precise_softmin" {
        x: DevicePtr<'a, f64>,
        y: DevicePtr<'a, f64>,
        column: DevicePtr<'a, f64>,
        softmin: DevicePtrMut<'a, f64>,
        kappa: f64,
        n: u64,
        m: u64,
        d: u32,
    }

    /// Barycentric means in f64.
    struct PreciseMeansArgs<'a> for "precise_means" {
        x: DevicePtr<'a, f64>,
        y: DevicePtr<'a, f64>,
        column: DevicePtr<'a, f64>,
        softmin: DevicePtr<'a, f64>,
        means: DevicePtrMut<'a, f64>,
        n: u64,
        m: u64,
        d: u32,
    }
}
