//! Arguments of the kernels of the terms and of the end of a step (`kernels/interval.cu`, `kernels/terms.cu`,
//! `kernels/times.cu`).

use crate::cuda::arguments::{DevicePtr, DevicePtrMut, kernel_args};

kernel_args! {
    /// Constants of the terms of one training.
    #[derive(Clone, Copy)]
    struct TermShape {
        n: u64,
        m: u64,
        /// m d.
        count: u64,
        /// Interval of the first component.
        first_low: f64,
        first_high: f64,
        reach: f64,
        lambda_intersection: f64,
        lambda_orthogonality: f64,
        d: u32,
        visits: u32,
        earlier: u32,
        /// Neighbouring threads that share a row.
        lanes: u32,
        /// Number of parts of a sum.
        blocks: u32,
        pointwise: u32,
    }

    /// The interval, the times clipped to it, and the particles at these times.
    struct PlaceParticlesArgs<'a> for "place_particles" {
        u: DevicePtr<'a, f32>,
        v: DevicePtr<'a, f32>,
        extremes: DevicePtr<'a, f64>,
        times: DevicePtr<'a, f64>,
        index: DevicePtr<'a, u32>,
        ends: DevicePtrMut<'a, f64>,
        slot_time: DevicePtrMut<'a, f64>,
        slot_end: DevicePtrMut<'a, i32>,
        meeting: DevicePtrMut<'a, f64>,
        meeting_end: DevicePtrMut<'a, i32>,
        z: DevicePtrMut<'a, f32>,
        shape: TermShape,
    }

    /// The sums over the batch, in parts.
    struct MeasureTermsArgs<'a> for "measure_terms" {
        u: DevicePtr<'a, f32>,
        v: DevicePtr<'a, f32>,
        gradients: DevicePtr<'a, f32>,
        old_u: DevicePtr<'a, f32>,
        old_v: DevicePtr<'a, f32>,
        meeting: DevicePtr<'a, f64>,
        gap: DevicePtrMut<'a, f32>,
        partial: DevicePtrMut<'a, f64>,
        shape: TermShape,
    }

    /// The totals of the sums, and what is computed from them.
    struct FinishTermsArgs<'a> for "finish_terms" {
        partial: DevicePtr<'a, f64>,
        sums: DevicePtrMut<'a, f64>,
        index: DevicePtr<'a, u32>,
        slot_time: DevicePtr<'a, f64>,
        slot_end: DevicePtr<'a, i32>,
        ends: DevicePtr<'a, f64>,
        meeting: DevicePtr<'a, f64>,
        meeting_end: DevicePtr<'a, i32>,
        d_times: DevicePtrMut<'a, f64>,
        terms: DevicePtrMut<'a, f64>,
        into: DevicePtrMut<'a, f64>,
        weights: DevicePtrMut<'a, f32>,
        shape: TermShape,
    }

    /// The cotangents of u and v.
    struct CotangentsArgs<'a> for "cotangents" {
        gradients: DevicePtr<'a, f32>,
        v: DevicePtr<'a, f32>,
        old_v: DevicePtr<'a, f32>,
        gap: DevicePtr<'a, f32>,
        weights: DevicePtr<'a, f32>,
        bar_u: DevicePtrMut<'a, f32>,
        bar_v: DevicePtrMut<'a, f32>,
        shape: TermShape,
    }

    /// Checks whether the gradient of the networks is finite.
    struct CheckGradientsArgs<'a> for "check_gradients" {
        gradient: DevicePtr<'a, f32>,
        flags: DevicePtrMut<'a, u32>,
        numbers: u64,
    }

    /// Constants of the updates of one training.
    #[derive(Clone, Copy)]
    struct UpdateRules {
        rate: f64,
        times: f64,
        meeting: f64,
        longest: f64,
        steps: u64,
        cosine: u64,
        warmup: u64,
        majorise: u64,
        gauge: u64,
        n: u64,
        visits: u64,
        capacity: u64,
    }

    /// The update of everything except the networks, and the outcome of the step.
    struct UpdateTimesArgs<'a> for "update_times" {
        counters: DevicePtrMut<'a, u64>,
        flags: DevicePtrMut<'a, u32>,
        times: DevicePtrMut<'a, f64>,
        first: DevicePtrMut<'a, f64>,
        second: DevicePtrMut<'a, f64>,
        d_times: DevicePtr<'a, f64>,
        index: DevicePtr<'a, u32>,
        slot_time: DevicePtr<'a, f64>,
        slot_end: DevicePtr<'a, i32>,
        along: DevicePtr<'a, f64>,
        terms: DevicePtr<'a, f64>,
        ends: DevicePtr<'a, f64>,
        extremes: DevicePtr<'a, f64>,
        solved: DevicePtr<'a, f64>,
        marks: DevicePtr<'a, u32>,
        adam: DevicePtrMut<'a, f32>,
        scale: DevicePtrMut<'a, f64>,
        ring: DevicePtrMut<'a, f64>,
        rules: UpdateRules,
        valued: u32,
    }
}
