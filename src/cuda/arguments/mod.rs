//! Arguments of kernels: one struct per kernel, with the memory layout of the device code.

use cudarc::driver::{DevicePtr as Readable, DevicePtrMut as Writable, DeviceRepr};
use std::marker::PhantomData;

/// Address of numbers that a kernel reads, `const T*` in the device code. Borrows their buffer.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct DevicePtr<'a, T> {
    address: u64,
    buffer: PhantomData<&'a [T]>,
}

/// Address of numbers that a kernel writes and possibly reads, `T*` in the device code. Borrows their buffer exclusively.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct DevicePtrMut<'a, T> {
    address: u64,
    buffer: PhantomData<&'a mut [T]>,
}

impl<T> DevicePtrMut<'_, T> {
    /// An address that is valid as long as the lifetime.
    pub(super) fn at(address: u64) -> Self {
        DevicePtrMut { address, buffer: PhantomData }
    }
}

// SAFETY: a device address, 8 bytes as in the device code.
unsafe impl<T> DeviceRepr for DevicePtr<'_, T> {}
// SAFETY: a device address, 8 bytes as in the device code.
unsafe impl<T> DeviceRepr for DevicePtrMut<'_, T> {}

/// A buffer, or a part of one, for a kernel to read.
pub(crate) fn read<T, B: Readable<T>>(buffer: &B) -> DevicePtr<'_, T> {
    // The guard returned with the address marks the end of use for other streams; a buffer is used in only one stream.
    let (address, _) = buffer.device_ptr(buffer.stream());
    DevicePtr { address, buffer: PhantomData }
}

/// A buffer, or a part of one, for a kernel to write.
pub(crate) fn write<T, B: Writable<T>>(buffer: &mut B) -> DevicePtrMut<'_, T> {
    let stream = buffer.stream().clone();
    let (address, _) = buffer.device_ptr_mut(&stream);
    DevicePtrMut { address, buffer: PhantomData }
}

/// The struct that is the argument of a kernel.
pub(crate) trait KernelArgs: DeviceRepr {
    /// The kernels that take it: [`Grid::instance`](super::launch::Grid::instance) and the name of each.
    const KERNELS: &'static [(u32, &'static str)];
}

/// Defines the argument structs of kernels, and structs within them, under the names that they have in the device code:
///
/// ```text
/// kernel_args! {
///     struct TimesArgs<'a> for "times" { x: DevicePtr<'a, f32>, y: DevicePtrMut<'a, f32>, shape: TimesShape, n: u64, }
///     struct RowsArgs<'a> for "rows" [8, 1] { ... }    // kernels rows_8 and rows_1
///     struct TimesShape { ... }
/// }
/// ```
///
/// Members are numbers, device pointers and such structs, in the order of the device code. `tests` compares every member with the
/// device code through the list `LAYOUTS`, so a module can use this macro once.
macro_rules! kernel_args {
    ($(
        $(#[$about:meta])*
        struct $name:ident $(<$life:lifetime>)? $(for $base:literal $([$($instance:literal),+])?)? {
            $($(#[$what:meta])* $field:ident: $kind:ty,)+
        }
    )+) => {
        $(
            $(#[$about])*
            #[derive(Debug)]
            #[repr(C)]
            pub(super) struct $name $(<$life>)? { $($(#[$what])* pub(super) $field: $kind,)+ }

            const _: fn() = || {
                fn plain<T: ::cudarc::driver::DeviceRepr>(_: &T) {}
                fn members $(<$life>)? (args: &$name $(<$life>)?) { $(plain(&args.$field);)+ }
                let _ = members;
            };

            // SAFETY: laid out as in C, and the check above requires that every member can be passed to a kernel.
            unsafe impl $(<$life>)? ::cudarc::driver::DeviceRepr for $name $(<$life>)? {}

            $crate::cuda::arguments::kernel_args!(@takes $name $(<$life>)?; $($base $($($instance)+)?)?);

            #[cfg(test)]
            impl $(<$life>)? $crate::cuda::arguments::tests::Layout for $name $(<$life>)? {
                fn list(name: &str, offset: usize, to: &mut Vec<wgpca_emulator::Field>) {
                    let outer = if name.is_empty() { String::new() } else { format!("{name}.") };
                    $(
                        let name = format!("{outer}{}", stringify!($field));
                        <$kind>::list(&name, offset + ::std::mem::offset_of!(Self, $field), to);
                    )+
                }
            }
        )+

        /// For the comparison with the device code.
        #[cfg(test)]
        pub(in crate::cuda) const LAYOUTS: &[$crate::cuda::arguments::tests::Struct] = &[$(
            $crate::cuda::arguments::tests::Struct {
                name: stringify!($name),
                kernels: $crate::cuda::arguments::kernel_args!(@names $($base $($($instance)+)?)?),
                bytes: size_of::<$name>(),
                align: align_of::<$name>(),
                list: <$name as $crate::cuda::arguments::tests::Layout>::list,
            }
        ),+];
    };
    (@takes $name:ident $(<$life:lifetime>)?;) => {};
    (@takes $name:ident $(<$life:lifetime>)?; $base:literal $($instance:literal)*) => {
        impl $(<$life>)? $crate::cuda::arguments::KernelArgs for $name $(<$life>)? {
            const KERNELS: &'static [(u32, &'static str)] =
                $crate::cuda::arguments::kernel_args!(@names $base $($instance)*);
        }
    };
    (@names) => { &[] };
    (@names $base:literal) => { &[(0, $base)] };
    (@names $base:literal $($instance:literal)+) => { &[$(($instance, concat!($base, "_", $instance))),+] };
}
pub(crate) use kernel_args;

#[cfg(test)]
pub(super) mod tests;
