//! Arguments of the emulator's own kernels (`emulator/runtime/faulty_kernels.cpp`).

use crate::cuda::arguments::{DevicePtr, DevicePtrMut, kernel_args};

kernel_args! {
    struct FaultyDeadlockArgs<'a> for "faulty_deadlock" {
        out: DevicePtrMut<'a, f32>,
    }
    struct FaultyDivergenceArgs<'a> for "faulty_divergence" {
        out: DevicePtrMut<'a, f32>,
    }
    struct FaultyGridArgs<'a> for "faulty_grid" {
        counter: DevicePtrMut<'a, u32>,
        blocks: u32,
    }
    struct FaultyWriteArgs<'a> for "faulty_write" {
        out: DevicePtrMut<'a, f32>,
        n: u64,
    }
    struct FaultyPeekArgs<'a> for "faulty_peek" {
        input: DevicePtr<'a, f32>,
        out: DevicePtrMut<'a, f32>,
        n: u64,
    }
    struct FaultyReadArgs<'a> for "faulty_read" {
        out: DevicePtrMut<'a, f32>,
    }
    struct FaultyRacesArgs<'a> for "faulty_races" {
        counter: DevicePtrMut<'a, u32>,
        numbers: DevicePtrMut<'a, u32>,
        kind: u32,
    }
    struct NoRacesArgs<'a> for "no_races" {
        counter: DevicePtrMut<'a, u32>,
        arrivals: DevicePtrMut<'a, u64>,
        numbers: DevicePtrMut<'a, u32>,
    }
    struct TurnsArgs<'a> for "turns" {
        counter: DevicePtrMut<'a, u32>,
        out: DevicePtrMut<'a, u32>,
    }
    struct RoundsArgs<'a> for "rounds" {
        counter: DevicePtrMut<'a, u32>,
        values: DevicePtrMut<'a, u32>,
        count: u32,
    }
}
