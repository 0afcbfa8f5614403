//! Arguments of the kernels that draw (`kernels/sampling.cu`).

use crate::cuda::arguments::{DevicePtr, DevicePtrMut, kernel_args};

kernel_args! {
    /// Constants of one training.
    #[derive(Clone, Copy)]
    struct DrawShape {
        seed: u64,
        /// Rows of x and of each y.
        m: u64,
        /// Units of work for x.
        units: u64,
        /// Weight of a row of y.
        weight: f64,
        /// ε if it is fixed, else 0.
        fixed: f64,
        twice_scale: f64,
        least: f64,
        run: u32,
        n: u32,
        d: u32,
        visits: u32,
        /// How x is drawn.
        form: u32,
        /// Rows of x that read one stream.
        rows: u32,
        /// Numbers of the order that fit into shared memory, where they are shuffled.
        shared_numbers: u32,
        stratified: u32,
    }

    /// x ~ ρ.
    struct DrawReferenceArgs<'a> for "draw_reference" {
        x: DevicePtrMut<'a, f32>,
        step: DevicePtr<'a, u64>,
        shape: DrawShape,
    }

    /// The measures of the step.
    struct DrawOrderArgs<'a> for "draw_order" {
        order: DevicePtrMut<'a, u32>,
        picks: DevicePtrMut<'a, u32>,
        epoch: DevicePtrMut<'a, u64>,
        index: DevicePtrMut<'a, u32>,
        step: DevicePtr<'a, u64>,
        shape: DrawShape,
    }

    /// y ~ ν_i and their ε.
    struct DrawMeasuresArgs<'a> for "draw_measures" {
        points: DevicePtr<'a, f32>,
        cumulative: DevicePtr<'a, f64>,
        offsets: DevicePtr<'a, u64>,
        keys: DevicePtr<'a, u32>,
        index: DevicePtr<'a, u32>,
        step: DevicePtr<'a, u64>,
        y: DevicePtrMut<'a, f32>,
        epsilon: DevicePtrMut<'a, f64>,
        shape: DrawShape,
    }
}
