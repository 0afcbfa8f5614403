//! A stand-in for the CUDA driver that runs the project's kernels, and the host code around them, on the CPU. For tests
//! only: small sizes, no word about speed.
//!
//! The library that it builds answers to the name under which the driver is looked for, has the calls that cudarc
//! makes, and holds the very sources of `kernels/`, compiled for the CPU. Each CUDA thread is a fiber; the threads of a block
//! take turns in the order of their numbers, in reverse, or at random, and what a kernel gives must not depend on it.
//! It finds deadlocks, collectives that lanes of a warp meet differently, copies outside of memory, writes next to
//! memory, and use of memory that nobody wrote (it holds NaNs); at random, blocks that are late at a barrier of their own
//! making; built with a sanitizer, every access outside. It does
//! not find races between barriers by itself, nor what a GPU's memory order or its own arithmetic would do.
//!
//! ```
//! use wgpca_emulator::{Fault, Order, session};
//!
//! let emulator = session(Order::Random(7)); // no other test uses the device meanwhile
//! emulator.inject(Fault::OutOfMemory(1 << 20)); // gone when the session ends
//! ```
//!
//! There is one device in a process, as there is one driver, and tests run side by side: so each test that uses it
//! holds a [`Session`], and they wait for each other.

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

/// The library, to be loaded before everything else (`LD_PRELOAD`) into a program that shall see the device.
///
/// It is the one built with this crate, or that named by `WGPCA_EMULATOR_LIBRARY` (one with a sanitizer).
pub fn library() -> PathBuf {
    env::var_os("WGPCA_EMULATOR_LIBRARY").map_or_else(|| env!("WGPCA_EMULATOR").into(), PathBuf::from)
}

fn driver() -> &'static Library {
    // SAFETY: the library was built with this crate; its initialisers only register kernels.
    DRIVER.get_or_init(|| unsafe { Library::new(library()) }.expect("the stand-in driver loads"))
}

/// A function of `driver/control.cpp`, which the signature must match.
macro_rules! control {
    ($name:literal, fn($($kind:ty),*) $(-> $result:ty)?, $($argument:expr),*) => {{
        // SAFETY: the signature is that in control.cpp, and it is called with what it asks for.
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
    /// At random, from this seed; blocks that wait for others see late, now and then, that these have arrived.
    Random(u32),
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The driver does not start; its answer. 100: there is no device.
    Init(i32),
    /// The driver's version, 11080 for CUDA 11.8.
    DriverVersion(i32),
    /// The device's compute capability.
    Capability(i32, i32),
    /// The driver refuses the kernels; its answer. 222: a PTX newer than the driver.
    Module(i32),
    /// So many bytes more can be had.
    OutOfMemory(u64),
    /// So many launches go well from now on; the next fails, as a kernel does that goes astray: it shows at the next
    /// wait, and the device gives nothing more until all that holds it is dropped.
    Launch(u64),
    /// So many calls go well from now on; then the device is lost.
    Lost(u64),
}

/// What was done since the session began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// Kernels launched, those of graphs too.
    pub launches: u64,
    /// Graphs launched.
    pub graphs: u64,
    /// Pieces of memory handed out.
    pub allocations: u64,
    /// Copies from the host to the device.
    pub to_device: u64,
    /// Copies from the device to the host.
    pub to_host: u64,
    /// Waits of the host for the device.
    pub waits: u64,
}

/// A member of the struct that a kernel takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; `outer.inner` in a struct within the struct.
    pub name: String,
    /// `f32` and so on; `*const f32` for the address of what is only read, `*mut f32` for that of what is written.
    pub kind: String,
    /// Where it lies in the struct, in bytes.
    pub offset: usize,
    /// Bytes of it.
    pub bytes: usize,
}

/// A kernel as it was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The name of the struct that it takes.
    pub structure: String,
    /// Bytes of that struct.
    pub bytes: usize,
    /// What is in it.
    pub fields: Vec<Field>,
    /// One of the emulator's own, that does what a kernel must not.
    pub for_tests: bool,
}

/// The device, for one test alone. When it is dropped, everything is as before: forward order, no faults.
#[derive(Debug)]
#[must_use = "the session ends when it is dropped"]
pub struct Session(#[allow(dead_code)] MutexGuard<'static, ()>);

/// Waits for the device, and sets the order of threads. Buffers and devices should be dropped before the session.
pub fn session(order: Order) -> Session {
    // One that `configure` left open, in a test that ran on this thread before.
    drop(HELD.take());
    let session = Session(TURN.lock().unwrap_or_else(PoisonError::into_inner));
    reset();
    session.order(order);
    session
}

impl Session {
    /// Another order of threads.
    pub fn order(&self, order: Order) {
        set(order, 0);
    }

    /// An order of threads, with this many threads of the CPU that run blocks (0: all).
    pub fn order_on(&self, order: Order, workers: u32) {
        set(order, workers);
    }

    /// Something that goes wrong, beside what was said before.
    pub fn inject(&self, fault: Fault) {
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (kind, first, second) = match fault {
            Fault::Init(code) => (0, code.into(), 0),
            Fault::DriverVersion(version) => (1, version.into(), 0),
            Fault::Capability(major, minor) => (2, major.into(), minor.into()),
            Fault::Module(code) => (3, code.into(), 0),
            Fault::OutOfMemory(bytes) => (4, number(bytes), 0),
            Fault::Launch(after) => (5, number(after), 0),
            Fault::Lost(after) => (6, number(after), 0),
        };
        control!(b"emulator_inject", fn(c_int, i64, i64), kind, first, second);
    }

    /// All as at the beginning: forward order, no faults, counts from zero.
    pub fn reset(&self) {
        reset();
    }

    /// What was done since the beginning or the last reset.
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

/// A session to the end of the calling thread, or its next one, for a test that has no more to say. To be called by a
/// thread that holds none.
pub fn configure(order: Order, workers: u32) {
    let held = HELD.take().unwrap_or_else(|| session(order));
    held.order_on(order, workers);
    HELD.set(Some(held));
}

/// Makes this process see the device; a session does it too. To be called before anything looks for a driver.
pub fn install() {
    driver();
}

/// Every kernel that was compiled.
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

/// What is in the struct of a kernel.
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
    // SAFETY: texts of the library end with 0 and last as long as it does; it is never unloaded.
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
