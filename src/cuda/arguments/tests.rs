//! Compares the struct of every kernel, member by member, with the layout that a compiler gives the device code, and its size
//! with the embedded PTX.

use super::{DevicePtr, DevicePtrMut};
use crate::cuda::ptx::{PTX, arguments};
use std::collections::{BTreeMap, BTreeSet};
use wgpca_emulator::Field;

/// Lists the members of a type with their offsets.
pub(in crate::cuda) trait Layout {
    /// Adds this type, or its members, at an offset in the whole struct.
    fn list(name: &str, offset: usize, to: &mut Vec<Field>);
}

/// A number type under its name in the device code.
trait Number {
    const KIND: &'static str;
}

macro_rules! numbers {
    ($($kind:ident)*) => { $(
        impl Number for $kind {
            const KIND: &'static str = stringify!($kind);
        }
        impl Layout for $kind {
            fn list(name: &str, offset: usize, to: &mut Vec<Field>) {
                to.push(Field { name: name.into(), kind: Self::KIND.into(), offset, bytes: size_of::<Self>() });
            }
        }
    )* };
}
numbers!(f32 f64 i32 u32 u64);

impl<T: Number> Layout for DevicePtr<'_, T> {
    fn list(name: &str, offset: usize, to: &mut Vec<Field>) {
        let kind = format!("*const {}", T::KIND);
        to.push(Field { name: name.into(), kind, offset, bytes: size_of::<Self>() });
    }
}

impl<T: Number> Layout for DevicePtrMut<'_, T> {
    fn list(name: &str, offset: usize, to: &mut Vec<Field>) {
        let kind = format!("*mut {}", T::KIND);
        to.push(Field { name: name.into(), kind, offset, bytes: size_of::<Self>() });
    }
}

/// A struct of `kernel_args!`.
pub(in crate::cuda) struct Struct {
    pub name: &'static str,
    pub kernels: &'static [(u32, &'static str)],
    pub bytes: usize,
    pub align: usize,
    pub list: fn(&str, usize, &mut Vec<Field>),
}

/// A struct as taken by one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Taken {
    name: String,
    bytes: usize,
    fields: Vec<Field>,
}

/// By kernel.
type All = BTreeMap<String, Taken>;

/// The structs of the host.
fn on_the_host(lists: &[&[Struct]]) -> All {
    let mut all = All::new();
    for s in lists.iter().copied().flatten() {
        let mut fields = vec![];
        (s.list)("", 0, &mut fields);
        for (_, kernel) in s.kernels {
            let taken = Taken { name: s.name.into(), bytes: s.bytes, fields: fields.clone() };
            assert!(all.insert((*kernel).into(), taken).is_none(), "two structs are for kernel {kernel}");
        }
    }
    all
}

/// The structs of the device code.
fn on_the_device() -> All {
    let taken = |k: wgpca_emulator::Kernel| (k.name, Taken { name: k.structure, bytes: k.bytes, fields: k.fields });
    wgpca_emulator::kernels().into_iter().map(taken).collect()
}

/// The structs of the crate, and those of the emulator's own kernels.
const CRATE: [&[Struct]; 4] = [
    crate::cuda::draw::arguments::LAYOUTS,
    crate::cuda::networks::arguments::LAYOUTS,
    crate::cuda::sinkhorn::arguments::LAYOUTS,
    crate::cuda::terms::arguments::LAYOUTS,
];
const EMULATOR: [&[Struct]; 1] = [crate::cuda::tests::faulty::LAYOUTS];

#[test]
fn structs_are_those_of_the_device_code() {
    let (host, device) = (on_the_host(&[&CRATE[..], &EMULATOR].concat()), on_the_device());
    for (kernel, taken) in &device {
        let given = host.get(kernel).unwrap_or_else(|| panic!("no struct is for kernel {kernel}"));
        assert_eq!(given, taken, "kernel {kernel}: left is the host's struct, right that of the device code");
    }
    let more: BTreeSet<_> = host.keys().filter(|k| !device.contains_key(*k)).collect();
    assert!(more.is_empty(), "structs for kernels that are not there: {more:?}");
    assert_eq!(wgpca_emulator::kernels().iter().filter(|k| !k.for_tests).count(), 31);
}

/// Otherwise the embedded PTX was built from other sources.
#[test]
fn structs_are_those_of_the_embedded_kernels() {
    let embedded = arguments(PTX);
    let mut kernels = 0;
    for s in CRATE.iter().copied().flatten() {
        for (_, kernel) in s.kernels {
            let taken =
                embedded.get(*kernel).unwrap_or_else(|| panic!("{kernel} takes no struct: run kernels/build.py"));
            assert_eq!((s.align, s.bytes), (taken.align, taken.bytes), "{kernel}: run kernels/build.py");
            kernels += 1;
        }
    }
    assert_eq!((kernels, PTX.matches(".entry ").count()), (embedded.len(), embedded.len()), "run kernels/build.py");
}

/// Structs like those of the emulator's `faulty_peek`, each with one mistake.
mod wrong {
    macro_rules! wrong {
        ($($name:ident { $($members:tt)* })*) => { $(
            pub(super) mod $name {
                use crate::cuda::arguments::*;
                kernel_args! { struct FaultyPeekArgs<'a> for "faulty_peek" { $($members)* } }
            }
        )* };
    }
    wrong! {
        right { input: DevicePtr<'a, f32>, out: DevicePtrMut<'a, f32>, n: u64, }
        swapped { out: DevicePtrMut<'a, f32>, input: DevicePtr<'a, f32>, n: u64, }
        missing { input: DevicePtr<'a, f32>, out: DevicePtrMut<'a, f32>, }
        narrow { input: DevicePtr<'a, f32>, out: DevicePtrMut<'a, f32>, n: u32, }
        written { input: DevicePtrMut<'a, f32>, out: DevicePtrMut<'a, f32>, n: u64, }
        other { input: DevicePtr<'a, f64>, out: DevicePtrMut<'a, f32>, n: u64, }
        more { input: DevicePtr<'a, f32>, out: DevicePtrMut<'a, f32>, n: u64, m: u64, }
    }
}

#[test]
fn a_wrong_struct_is_found() {
    let device = &on_the_device()["faulty_peek"];
    let same = |list: &[Struct]| &on_the_host(&[list])["faulty_peek"] == device;
    assert!(same(wrong::right::LAYOUTS));
    let wrong = [
        wrong::swapped::LAYOUTS,
        wrong::missing::LAYOUTS,
        wrong::narrow::LAYOUTS,
        wrong::written::LAYOUTS,
        wrong::other::LAYOUTS,
        wrong::more::LAYOUTS,
    ];
    assert!(wrong.into_iter().all(|list| !same(list)));
}
