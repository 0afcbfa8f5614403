//! A stand-in for the CUDA driver that runs the project's kernels on the CPU. For tests only.

use libloading::Library;
use std::sync::OnceLock;

static DRIVER: OnceLock<Library> = OnceLock::new();

fn driver() -> &'static Library {
    // SAFETY: the library was built beside this crate; its initialisers only register kernels.
    DRIVER.get_or_init(|| unsafe { Library::new(env!("WGPCA_EMULATOR")) }.expect("the stand-in driver loads"))
}

/// Order in which the threads of a block run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By index.
    Forward,
    /// From the last to the first.
    Reverse,
    /// At random, from this seed.
    Random(u32),
}

/// Makes this process see an emulated device. To be called before anything asks for a driver: it answers to the name under which
/// the driver is looked for.
pub fn install() {
    driver();
}

/// Sets the order of threads, and how many threads of the CPU run blocks (0: all cores).
pub fn configure(order: Order, workers: usize) {
    let (order, seed) = match order {
        Order::Forward => (0, 1),
        Order::Reverse => (1, 1),
        Order::Random(seed) => (2, seed),
    };
    // SAFETY: the signature is that of the function in runtime.cpp.
    unsafe {
        let set = driver().get::<unsafe extern "C" fn(i32, u32, i32)>(b"cuemu_config").expect("the runtime has it");
        set(order, seed, workers as i32);
    }
}
