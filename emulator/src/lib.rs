//! A stand-in for the CUDA driver that runs the project's kernels, and the host code around them, on the CPU. For tests at small
//! sizes only; it says nothing about speed.
//!
//! The library has the name under which the driver is looked up, implements the calls that cudarc makes, and contains the sources
//! of `kernels/`, compiled for the CPU. Each CUDA thread is a fiber. The threads of a block take turns in the order of their
//! numbers, in reverse, or at random, and the results of a kernel must not depend on this order. The emulator detects deadlocks,
//! lanes of a warp that meet in different collectives, copies beyond an allocation, writes next to an allocation, and use of
//! uninitialised memory (it holds NaNs). In random order, it delays blocks at barriers that kernels implement themselves. Built
//! with a sanitizer, it detects every access out of bounds. It does not detect races between barriers directly, nor effects of a
//! GPU's memory order or arithmetic.
//!
//! ```
//! use wgpca_emulator::{Fault, Order, session};
//!
//! let emulator = session(Order::Random(7)); // no other test uses the device meanwhile
//! emulator.inject(Fault::OutOfMemory(1 << 20)); // gone when the session ends
//! ```
//!
//! A process has one device, as it has one driver, and tests run concurrently. Therefore each test that uses the device holds a
//! [`Session`], and sessions wait for each other.

use libloading::Library;
use std::cell::RefCell;
use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::path::PathBuf;
use std::ptr::null;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static DRIVER: OnceLock<Library> = OnceLock::new();
static TURN: Mutex<()> = Mutex::new(());
thread_local!(static HELD: RefCell<Option<Session>> = const { RefCell::new(None) });

/// The library, to be loaded before all others (`LD_PRELOAD`) into a program that is to use the device.
///
/// It is the library built with this crate, or the one named by `WGPCA_EMULATOR_LIBRARY` (for instance one with a sanitizer).
pub fn library() -> PathBuf {
    env::var_os("WGPCA_EMULATOR_LIBRARY").map_or_else(|| env!("WGPCA_EMULATOR").into(), PathBuf::from)
}

fn driver() -> &'static Library {
    // SAFETY: the library was built with this crate; its initialisers only register kernels.
    DRIVER.get_or_init(|| unsafe { Library::new(library()) }.expect("the stand-in driver loads"))
}

/// A function of `driver/control.cpp`, whose signature it must match.
macro_rules! control {
    ($name:literal, fn($($kind:ty),*) $(-> $result:ty)?, $($argument:expr),*) => {{
        // SAFETY: the signature is that in control.cpp, and the arguments satisfy its requirements.
        unsafe {
            let f = driver().get::<unsafe extern "C" fn($($kind),*) $(-> $result)?>($name).expect("the driver has it");
            f($($argument),*)
        }
    }};
}

/// Order in which the threads of a block run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By index.
    Forward,
    /// From the last to the first; blocks too.
    Reverse,
    /// At random, from this seed; blocks that wait for others sometimes see their arrival late.
    Random(u32),
}

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The driver does not start and returns this code. 100: there is no device.
    Init(i32),
    /// Version of the driver, 11080 for CUDA 11.8.
    DriverVersion(i32),
    /// Compute capability of the device.
    Capability(i32, i32),
    /// Shared memory of a block on request, in bytes: 65536 on Turing.
    SharedMemory(u32),
    /// The driver refuses the kernels with this code. 222: the PTX is newer than the driver.
    Module(i32),
    /// Only this number of further bytes can be allocated.
    OutOfMemory(u64),
    /// This number of launches succeed from now on; the next fails, like a kernel with an invalid access. The failure appears at
    /// the next wait, and the device returns errors until everything that holds it is dropped.
    Launch(u64),
    /// This number of calls succeed from now on; then the device is lost.
    Lost(u64),
    /// This block of cooperative launches never arrives at a barrier that a kernel implements itself. A block that waits for it
    /// gives up after the time that the kernel has; without this fault, after sixty times as long.
    Absent(u32),
}

/// Counts of operations since the session began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// Kernels launched, including those of graphs.
    pub launches: u64,
    /// Graphs launched.
    pub graphs: u64,
    /// Allocations.
    pub allocations: u64,
    /// Copies from the host to the device.
    pub to_device: u64,
    /// Copies from the device to the host.
    pub to_host: u64,
    /// Waits of the host for the device.
    pub waits: u64,
}

/// A member of the argument struct of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; `outer.inner` for a member of a struct within the struct.
    pub name: String,
    /// `f32` and so on; `*const f32` for the address of numbers that are only read, `*mut f32` for numbers that are written.
    pub kind: String,
    /// Its offset in the struct, in bytes.
    pub offset: usize,
    /// Its size in bytes.
    pub bytes: usize,
}

/// A kernel as it was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The name of its argument struct.
    pub structure: String,
    /// Size of that struct in bytes.
    pub bytes: usize,
    /// The members of that struct.
    pub fields: Vec<Field>,
    /// Whether it is one of the emulator's own faulty kernels.
    pub for_tests: bool,
}

/// Exclusive use of the device by one test. Dropping it resets everything: forward order, no faults.
#[derive(Debug)]
#[must_use = "the session ends when it is dropped"]
pub struct Session(#[allow(dead_code)] MutexGuard<'static, ()>);

/// Waits for exclusive use of the device, and sets the order of threads. Drop buffers and devices before the session.
pub fn session(order: Order) -> Session {
    // A session that `configure` opened in an earlier test on this thread.
    drop(HELD.take());
    let session = Session(TURN.lock().unwrap_or_else(PoisonError::into_inner));
    reset();
    session.order(order);
    session
}

impl Session {
    /// Changes the order of threads.
    pub fn order(&self, order: Order) {
        set(order, 0);
    }

    /// Changes the order of threads and the number of CPU threads that run blocks (0: all).
    pub fn order_on(&self, order: Order, workers: u32) {
        set(order, workers);
    }

    /// Adds a fault to those injected before.
    pub fn inject(&self, fault: Fault) {
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (kind, first, second) = match fault {
            Fault::Init(code) => (0, code.into(), 0),
            Fault::DriverVersion(version) => (1, version.into(), 0),
            Fault::Capability(major, minor) => (2, major.into(), minor.into()),
            Fault::Module(code) => (3, code.into(), 0),
            Fault::SharedMemory(bytes) => (7, bytes.into(), 0),
            Fault::OutOfMemory(bytes) => (4, number(bytes), 0),
            Fault::Launch(after) => (5, number(after), 0),
            Fault::Lost(after) => (6, number(after), 0),
            Fault::Absent(block) => (8, block.into(), 0),
        };
        control!(b"emulator_inject", fn(c_int, i64, i64), kind, first, second);
    }

    /// Resets everything: forward order, no faults, counts from zero.
    pub fn reset(&self) {
        reset();
    }

    /// Counts of operations since the beginning or the last reset.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        control!(b"emulator_counts", fn(*mut Counts), &mut counts);
        counts
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        reset();
    }
}

/// Opens a session that lasts until the calling thread ends or opens another one, for a test that does not need the session
/// itself. The calling thread must not hold one.
pub fn configure(order: Order, workers: u32) {
    let held = HELD.take().unwrap_or_else(|| session(order));
    held.order_on(order, workers);
    HELD.set(Some(held));
}

/// Makes the device visible to this process, as a session does. To be called before anything looks for a driver.
pub fn install() {
    driver();
}

/// All compiled kernels.
pub fn kernels() -> Vec<Kernel> {
    let mut found = vec![];
    for index in 0.. {
        let (mut structure, mut bytes, mut for_tests) = (null(), 0, 0);
        let name = control!(
            b"emulator_kernel",
            fn(c_uint, *mut *const c_char, *mut usize, *mut c_int) -> *const c_char,
            index,
            &mut structure,
            &mut bytes,
            &mut for_tests
        );
        let Some(name) = text(name) else { break };
        let structure = text(structure).expect("it takes a struct");
        found.push(Kernel { name, structure, bytes, fields: fields(index), for_tests: for_tests != 0 });
    }
    found
}

/// The members of the argument struct of a kernel.
fn fields(kernel: c_uint) -> Vec<Field> {
    let mut found = vec![];
    for index in 0.. {
        let (mut kind, mut offset, mut bytes) = (null(), 0, 0);
        let name = control!(
            b"emulator_field",
            fn(c_uint, usize, *mut *const c_char, *mut usize, *mut usize) -> *const c_char,
            kernel,
            index,
            &mut kind,
            &mut offset,
            &mut bytes
        );
        let Some(name) = text(name) else { break };
        found.push(Field { name, kind: text(kind).expect("it has a kind"), offset, bytes });
    }
    found
}

/// A text of the library.
fn text(at: *const c_char) -> Option<String> {
    if at.is_null() {
        return None;
    }
    // SAFETY: texts of the library end with 0 and are valid until it is unloaded, which never happens.
    Some(unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}

fn set(order: Order, workers: u32) {
    let (order, seed) = match order {
        Order::Forward => (0, 1),
        Order::Reverse => (1, 1),
        Order::Random(seed) => (2, seed),
    };
    control!(b"emulator_configure", fn(c_int, c_uint, c_uint), order, seed, workers);
}

fn reset() {
    control!(b"emulator_reset", fn(),);
}
