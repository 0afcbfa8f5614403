//! Arguments of the kernels of the networks (`kernels/layers.cuh` and the files that include it).

use crate::cuda::arguments::{DevicePtr, DevicePtrMut, kernel_args};

kernel_args! {
    /// Parameters of φ and f, read only.
    struct NetworkWeights<'a> {
        table: DevicePtr<'a, u32>,
        parameters: DevicePtr<'a, f32>,
        mirror: DevicePtr<'a, f32>,
    }

    /// u and v of a batch, and everything that later passes need.
    struct ForwardArgs<'a> for "forward" [8, 1] {
        weights: NetworkWeights<'a>,
        x: DevicePtr<'a, f32>,
        u: DevicePtrMut<'a, f32>,
        v: DevicePtrMut<'a, f32>,
        store: DevicePtrMut<'a, f32>,
        m: u64,
        stride: u32,
    }

    /// Only u and v.
    struct EvaluateArgs<'a> for "evaluate" [8, 1] {
        weights: NetworkWeights<'a>,
        x: DevicePtr<'a, f32>,
        u: DevicePtrMut<'a, f32>,
        v: DevicePtrMut<'a, f32>,
        slopes: DevicePtrMut<'a, f32>,
        m: u64,
        stride: u32,
    }

    /// Hessians and their extreme eigenvalues.
    struct HessianArgs<'a> for "hessian" [8, 16, 24] {
        weights: NetworkWeights<'a>,
        store: DevicePtrMut<'a, f32>,
        hessians: DevicePtrMut<'a, f32>,
        ends: DevicePtrMut<'a, f64>,
        m: u64,
        stride: u32,
    }

    /// Extreme eigenvalues without the Hessians.
    struct LanczosArgs<'a> for "lanczos" [8, 1] {
        weights: NetworkWeights<'a>,
        start: DevicePtr<'a, f32>,
        store: DevicePtrMut<'a, f32>,
        basis: DevicePtrMut<'a, f32>,
        tridiagonal: DevicePtrMut<'a, f64>,
        ends: DevicePtrMut<'a, f64>,
        m: u64,
        steps: u32,
        stride: u32,
    }

    /// The extremes over a batch.
    struct ExtremesArgs<'a> for "extremes" {
        table: DevicePtr<'a, u32>,
        u: DevicePtr<'a, f32>,
        hessians: DevicePtr<'a, f32>,
        ends: DevicePtr<'a, f64>,
        basis: DevicePtr<'a, f32>,
        tridiagonal: DevicePtr<'a, f64>,
        result: DevicePtrMut<'a, f64>,
        m: u64,
        steps: u32,
    }

    /// Derivatives of the extremes.
    struct EigenvalueJetsArgs<'a> for "eigenvalue_jets" {
        weights: NetworkWeights<'a>,
        result: DevicePtr<'a, f64>,
        factors: DevicePtr<'a, f64>,
        jets: DevicePtrMut<'a, f32>,
        bar_u: DevicePtrMut<'a, f32>,
        stride: u32,
    }

    /// Backward pass from cotangents through both networks.
    struct BackwardArgs<'a> for "backward" [8, 1] {
        weights: NetworkWeights<'a>,
        bar_v: DevicePtr<'a, f32>,
        bar_u: DevicePtrMut<'a, f32>,
        store: DevicePtrMut<'a, f32>,
        m: u64,
        stride: u32,
    }

    /// Gradients with respect to the parameters, in parts of the batch.
    struct GradientProductsArgs<'a> for "gradient_products" {
        products: DevicePtr<'a, u64>,
        tiles: DevicePtr<'a, u32>,
        store: DevicePtr<'a, f32>,
        x: DevicePtr<'a, f32>,
        u: DevicePtr<'a, f32>,
        bar_u: DevicePtr<'a, f32>,
        bar_v: DevicePtr<'a, f32>,
        partial: DevicePtrMut<'a, f32>,
        parameters: u64,
        m: u64,
        part: u64,
    }

    /// Sum of the gradients over the parts.
    struct SumGradientsArgs<'a> for "sum_gradients" {
        table: DevicePtr<'a, u32>,
        partial: DevicePtr<'a, f32>,
        jets: DevicePtr<'a, f32>,
        result: DevicePtr<'a, f64>,
        factors: DevicePtr<'a, f64>,
        gradient: DevicePtrMut<'a, f32>,
        parts: u32,
    }

    /// The mirror for new parameters.
    struct FillMirrorArgs<'a> for "fill_mirror" {
        table: DevicePtr<'a, u32>,
        parameters: DevicePtr<'a, f32>,
        mirror: DevicePtrMut<'a, f32>,
    }

    /// One update of both networks.
    struct UpdateNetworksArgs<'a> for "update_networks" {
        table: DevicePtr<'a, u32>,
        gradient: DevicePtr<'a, f32>,
        parameters: DevicePtrMut<'a, f32>,
        mirror: DevicePtrMut<'a, f32>,
        first: DevicePtrMut<'a, f32>,
        second: DevicePtrMut<'a, f32>,
        rates: DevicePtr<'a, f32>,
        scale: DevicePtr<'a, f64>,
        flags: DevicePtr<'a, u32>,
    }
}
