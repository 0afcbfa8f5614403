//! Errors are reported with a remedy and leave the CPU engine usable; launches, memory and recorded steps behave as documented.

pub(super) mod faulty;

use super::arguments::{kernel_args, read, write};
use super::device::CudaDevice;
use super::graph::Graph;
use super::launch::Grid;
use crate::error::Result;
use crate::ot::{Points, Sinkhorn, divergence};
use faulty::{
    FaultyDeadlockArgs, FaultyDivergenceArgs, FaultyGridArgs, FaultyPeekArgs, FaultyRacesArgs, FaultyReadArgs,
    FaultyWriteArgs, NoRacesArgs, RoundsArgs, TurnsArgs,
};
use wgpca_emulator::{Counts, Fault, Order, session};

/// Asserts that the text of the error contains all parts.
fn says<T>(result: Result<T>, parts: &[&str]) {
    let text = result.err().expect("it fails").to_string();
    assert!(parts.iter().all(|p| text.contains(p)), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

/// S between a cloud and its translate is the squared length of the translation, computed on the CPU in this process.
fn the_cpu_works() {
    let cloud = |by: f64| Points::<f64>::uniform(&[by, 0.0, 1.0 + by, 2.0, by - 1.0, 0.5], 2).unwrap();
    let found = divergence(&cloud(0.0), &cloud(3.0), &Sinkhorn::default()).unwrap();
    assert!((found.value - 9.0).abs() < 1e-3, "{found:?}");
}

#[test]
fn a_device_that_cannot_be_opened_says_why() {
    let emulator = session(Order::Forward);
    let cpu = "the CPU";
    let cases: &[(Fault, &[&str])] = &[
        (Fault::Init(100), &["cuda:0: ", "no NVIDIA GPU is visible", "CUDA_VISIBLE_DEVICES", cpu]),
        (Fault::Init(803), &["libcuda and the kernel driver have different versions", "restart", cpu]),
        (Fault::Init(34), &["stub of the toolkit", cpu]),
        (Fault::Init(999), &["the GPU cannot be reached", "nvidia-smi", cpu]),
        (Fault::DriverVersion(11_080), &["supports CUDA 11.8, but 12.0 is needed", "update it", cpu]),
        (Fault::Capability(6, 1), &["compute capability is 6.1, 7.0 (Volta) is needed", "another GPU", cpu]),
        (Fault::Module(222), &["does not load the kernels", "CUDA 12.0", cpu]),
        (Fault::Module(221), &["does not load the kernels", "libnvidia-ptxjitcompiler", cpu]),
    ];
    for (fault, parts) in cases {
        emulator.inject(*fault);
        says(CudaDevice::open(0), parts);
        the_cpu_works();
        emulator.reset();
    }
    says(CudaDevice::open(1), &["cuda:1: ", "no such GPU", "only cuda:0", cpu]);
    says(CudaDevice::open(usize::MAX), &["no such GPU", cpu]);
    emulator.inject(Fault::Init(100));
    says(CudaDevice::list(), &["cuda: ", "no NVIDIA GPU is visible"]);
    emulator.reset();
    // After all these failures, the device opens.
    let device = CudaDevice::open(0).unwrap();
    assert_eq!(CudaDevice::list().unwrap(), [device.gpu().clone()]);
    assert_eq!((device.name(), device.gpu().capability, device.gpu().driver), ("emulator", (7, 0), (12, 0)));
}

/// An unusable device is listed with the reason.
#[test]
fn an_old_device_is_listed() {
    let emulator = session(Order::Forward);
    emulator.inject(Fault::Capability(6, 1));
    let listed = CudaDevice::list().unwrap();
    assert!(listed[0].problem.as_ref().unwrap().contains("6.1"), "{listed:?}");
}

/// The calls come from worker threads, none of which opened the device.
#[test]
fn a_kernel_is_found_from_any_thread() {
    let _session = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let found = std::thread::scope(|s| s.spawn(|| device.kernel("turns").map(|_| ())).join()).unwrap();
    found.unwrap();
}

/// A fit can end on a worker thread that never used the device.
#[test]
fn memory_is_freed_by_any_thread() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    emulator.inject(Fault::OutOfMemory(4000));
    for k in 0..3 {
        let buffer = device.upload(&[k; 900]).unwrap();
        std::thread::spawn(move || drop(buffer)).join().unwrap();
        // No error is left for the next call.
        device.synchronize().unwrap();
    }
    // The device itself, too, with everything that belongs to it.
    let all = (device.with_stream().unwrap(), device.upload(&[1.0f32]).unwrap(), device);
    std::thread::spawn(move || drop(all)).join().unwrap();
    CudaDevice::open(0).unwrap().synchronize().unwrap();
    // The driver refuses to free memory for a thread without a context.
    let freed = std::thread::spawn(|| {
        // SAFETY: the address belongs to no allocation, which the emulator notices.
        unsafe { cudarc::driver::result::free_async(0, std::ptr::null_mut()) }
    });
    assert_eq!(freed.join().unwrap().unwrap_err().0, cudarc::driver::sys::CUresult::CUDA_ERROR_INVALID_CONTEXT);
}

#[test]
fn out_of_memory_says_how_much() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let remedy = "smaller batch or use the CPU";
    says(device.zeros::<f32>(1 << 30), &["4.0 GiB", "2.0 GiB of 2.0 GiB are free", remedy]);
    says(device.zeros::<f64>(usize::MAX / 2), &["out of memory", remedy]);
    emulator.inject(Fault::OutOfMemory(4000));
    let kept = device.upload(&[1.0f32; 900]).unwrap();
    says(device.zeros::<f32>(900), &["3600 bytes", "400 bytes of", remedy]);
    // Nothing else changed, and freed memory can be allocated again.
    assert_eq!(device.download(&kept).unwrap(), [1.0; 900]);
    drop(kept);
    device.zeros::<f32>(900).unwrap();
    the_cpu_works();
}

#[test]
fn a_failed_launch_shows_at_the_next_wait_and_stays() {
    let emulator = session(Order::Forward);
    let remedy = "resume from it on the CPU";
    let device = CudaDevice::open(0).unwrap();
    let (mut counter, mut out) = (device.zeros::<u32>(1).unwrap(), device.zeros::<u32>(32).unwrap());
    emulator.inject(Fault::Launch(2));
    for _ in 0..3 {
        device.launch(Grid::new(1, 32), &TurnsArgs { counter: write(&mut counter), out: write(&mut out) }).unwrap();
    }
    says(
        device.synchronize(),
        &["work failed", "a kernel failed", "checkpoint, if there is one, is kept", remedy, "LAUNCH_FAILED"],
    );
    says(device.download(&out), &["results cannot be read", remedy]);
    says(
        device.launch(Grid::new(1, 32), &TurnsArgs { counter: write(&mut counter), out: write(&mut out) }),
        &["kernel turns", remedy],
    );
    says(device.zeros::<f32>(1), &[remedy]);
    the_cpu_works();
    drop((counter, out, device));
    let device = CudaDevice::open(0).unwrap();
    device.synchronize().unwrap();
}

#[test]
fn a_lost_device_is_said_to_be() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let buffer = device.upload(&[1u32, 2]).unwrap();
    emulator.inject(Fault::Lost(3));
    let failed = (0..10).find_map(|_| device.download(&buffer).err()).expect("the device is lost");
    says(
        Result::<()>::Err(failed),
        &["the GPU was lost", "checkpoint, if there is one, is kept", "the CPU", "nvidia-smi"],
    );
    the_cpu_works();
}

#[test]
fn copies_that_do_not_fit_are_refused() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let mut buffer = device.upload(&[1.0f32, 2.0, 3.0]).unwrap();
    says(device.copy_into(&[0.0; 4], &mut buffer), &["a write of 4 numbers", "3"]);
    says(device.read_into(&buffer, &mut [0.0; 2]), &["a read of 2 numbers", "3"]);
    let mut shorter = device.zeros::<f32>(2).unwrap();
    says(device.copy(&buffer, &mut shorter), &["a copy of 3 numbers", "2"]);
    device.copy(&buffer.slice(1..), &mut shorter).unwrap();
    assert_eq!(device.download(&shorter).unwrap(), [2.0, 3.0]);
    device.copy_into(&[7.0], &mut buffer.slice_mut(1..2)).unwrap();
    device.clear(&mut buffer.slice_mut(2..)).unwrap();
    assert_eq!(device.download(&buffer).unwrap(), [1.0, 7.0, 0.0]);
    assert_eq!(device.download(&device.zeros::<f32>(0).unwrap()).unwrap(), [0.0]);
    // The emulator also refuses if the host layer is bypassed.
    let (from, to) = (place(&device, &buffer), place(&device, &shorter));
    // SAFETY: the emulator checks the range.
    let copied = unsafe { cudarc::driver::result::memcpy_dtod_async(to, from, 12, device.stream.cu_stream()) };
    assert!(copied.is_err());
}

fn place(device: &CudaDevice, buffer: &super::memory::Buffer<f32>) -> u64 {
    use cudarc::driver::DevicePtr;
    buffer.device_ptr(&device.stream).0
}

#[test]
fn kernels_that_misbehave_are_found() {
    for order in [Order::Forward, Order::Reverse, Order::Random(5)] {
        let emulator = session(order);
        let opened = || (CudaDevice::open(0).unwrap(), Grid::new(1, 64));
        let (device, grid) = opened();
        let mut out = device.zeros::<f32>(64).unwrap();
        device.launch(grid, &FaultyDeadlockArgs { out: write(&mut out) }).unwrap();
        says(device.synchronize(), &["faulty_deadlock: deadlock in block 0,0,0", "at __syncthreads"]);
        drop((out, device));

        let (device, grid) = opened();
        let mut out = device.zeros::<f32>(64).unwrap();
        device.launch(grid, &FaultyDivergenceArgs { out: write(&mut out) }).unwrap();
        says(device.synchronize(), &["lanes of a warp met in different collectives"]);
        drop((out, device));

        let (device, _) = opened();
        let mut counter = device.zeros::<u32>(1).unwrap();
        device
            .launch(Grid::new(3, 32).cooperative(), &FaultyGridArgs { counter: write(&mut counter), blocks: 3 })
            .unwrap();
        says(device.synchronize(), &["deadlock: blocks wait at a grid barrier"]);
        drop((counter, device));

        let (device, _) = opened();
        let mut counter = device.zeros::<u32>(1).unwrap();
        device.launch(Grid::new(3, 32), &FaultyGridArgs { counter: write(&mut counter), blocks: 3 }).unwrap();
        says(device.synchronize(), &["a launch that is not cooperative"]);
        drop((counter, device));

        // A sanitizer would stop here at once.
        if std::env::var_os("WGPCA_EMULATOR_LIBRARY").is_none() {
            let (device, grid) = opened();
            let mut out = device.zeros::<f32>(63).unwrap();
            device.launch(grid, &FaultyWriteArgs { out: write(&mut out), n: 63 }).unwrap();
            says(device.synchronize(), &["ILLEGAL_ADDRESS", "wrote behind the end of a buffer of 252 bytes"]);
            drop((out, device));
        }

        let (device, grid) = opened();
        let mut out = device.zeros::<f32>(64).unwrap();
        device.launch(grid.shared(256), &FaultyReadArgs { out: write(&mut out) }).unwrap();
        let read = device.download(&out).unwrap();
        assert!(read[..16].iter().all(|&v| v == 1.0) && read[16..].iter().all(|v| v.is_nan()));
        drop((out, device));
        drop(emulator);
    }
}

/// For a run under a sanitizer, which must stop it; `.ci/run` checks that.
#[test]
#[ignore = "reads outside of memory"]
fn a_sanitizer_stops_this() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let (input, mut out) = (device.zeros::<f32>(63).unwrap(), device.zeros::<f32>(1).unwrap());
    device.launch(Grid::new(1, 1), &FaultyPeekArgs { input: read(&input), out: write(&mut out), n: 63 }).unwrap();
    device.synchronize().unwrap();
}

/// For a run under ThreadSanitizer, which must name each of the functions; `.ci/run` checks that.
#[test]
#[ignore = "has races"]
fn a_race_detector_names_these() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let (mut counter, mut numbers) = (device.zeros::<u32>(1).unwrap(), device.zeros::<u32>(128).unwrap());
    for kind in 0..6 {
        emulator.order([Order::Forward, Order::Reverse, Order::Random(3)][kind as usize % 3]);
        let args = FaultyRacesArgs { counter: write(&mut counter), numbers: write(&mut numbers), kind };
        device.launch(Grid::new(4, 64).shared(256).cooperative(), &args).unwrap();
        device.synchronize().unwrap();
    }
}

/// Barriers work as on a GPU, and a race detector takes them as an order.
#[test]
fn barriers_order_memory() {
    const BLOCKS: usize = 5;
    let mut sums = [[0u32; 64]; BLOCKS];
    for round in 0..5 {
        let each = |sums: &mut [[u32; 64]; BLOCKS], more: &dyn Fn(usize, usize) -> u32| {
            (0..BLOCKS).for_each(|b| (0..64).for_each(|t| sums[b][t] += more(b, t)));
        };
        each(&mut sums, &|_, t| round + (t as u32 ^ 1));
        let seen = sums;
        each(&mut sums, &|b, t| seen[b][t ^ 32]);
        for of in [3, 5] {
            let seen = sums;
            each(&mut sums, &|b, t| seen[(b + 1) % BLOCKS][t ^ of]);
        }
    }
    for order in [Order::Forward, Order::Reverse, Order::Random(4)] {
        let _emulator = session(order);
        let device = CudaDevice::open(0).unwrap();
        let (mut counter, mut arrivals) = (device.zeros::<u32>(1).unwrap(), device.zeros::<u64>(1).unwrap());
        let mut numbers = device.zeros::<u32>(64 * BLOCKS).unwrap();
        let args =
            NoRacesArgs { counter: write(&mut counter), arrivals: write(&mut arrivals), numbers: write(&mut numbers) };
        device.launch(Grid::new(BLOCKS as u32, 64).shared(512).cooperative(), &args).unwrap();
        assert_eq!(device.download(&numbers).unwrap(), sums.as_flattened());
    }
}

#[test]
fn threads_run_in_the_order_asked_for() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let turns = || {
        let (mut counter, mut out) = (device.zeros::<u32>(1).unwrap(), device.zeros::<u32>(100).unwrap());
        device.launch(Grid::new(1, 100), &TurnsArgs { counter: write(&mut counter), out: write(&mut out) }).unwrap();
        device.download(&out).unwrap()
    };
    let forward: Vec<u32> = (0..100).collect();
    assert_eq!(turns(), forward);
    emulator.order(Order::Reverse);
    assert_eq!(turns(), (0..100).rev().collect::<Vec<u32>>());
    emulator.order(Order::Random(1));
    let (first, again) = (turns(), turns());
    emulator.order(Order::Random(2));
    let other = turns();
    assert_eq!(first, again);
    assert!(first != forward && other != first);
    let mut sorted = other;
    sorted.sort();
    assert_eq!(sorted, forward);
}

/// A struct whose size differs from the kernel's.
#[allow(dead_code)]
mod wrong {
    use crate::cuda::arguments::DevicePtrMut;
    super::kernel_args! { struct TurnsArgs<'a> for "turns" { counter: DevicePtrMut<'a, u32>, } }
}

#[allow(dead_code)]
mod unknown {
    super::kernel_args! { struct Args for "no_such_kernel" { n: u64, } }
}

#[test]
fn arguments_are_compared_with_the_kernel() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let (mut counter, mut out) = (device.zeros::<u32>(1).unwrap(), device.zeros::<u32>(4).unwrap());
    let grid = Grid::new(1, 4);
    says(
        device.launch(grid, &wrong::TurnsArgs { counter: write(&mut counter) }),
        &["kernel turns takes 16 bytes of arguments, 8 were given", "build.py"],
    );
    says(device.launch(grid, &unknown::Args { n: 1 }), &["there is no kernel no_such_kernel", "build.py"]);
    says(device.launch(grid.instance(8), &unknown::Args { n: 1 }), &["no instance 8", "no_such_kernel"]);
    // What the driver itself refuses.
    says(
        device.launch(Grid::new(1, 2000), &TurnsArgs { counter: write(&mut counter), out: write(&mut out) }),
        &["cannot be launched", "the CPU"],
    );
    says(
        device.launch(Grid::new(0, 32), &TurnsArgs { counter: write(&mut counter), out: write(&mut out) }),
        &["cannot be launched"],
    );
    device.synchronize().unwrap();
}

/// The driver's compiler says why it refuses the kernels.
#[test]
fn a_refusal_of_the_kernels_has_the_log() {
    let emulator = session(Order::Forward);
    emulator.inject(Fault::Module(218));
    says(CudaDevice::open(0), &["the kernels cannot be loaded (ptxas fatal : refused by the emulator)", "INVALID_PTX"]);
    emulator.reset();
    let device = CudaDevice::open(0).unwrap();
    assert_eq!(device.compile_log().unwrap(), "info : no compilation on the emulator");
}

/// The pool keeps memory for the next allocation, and an upload does not wait for the device.
#[test]
fn allocations_and_uploads_are_cheap() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    // SAFETY: the device comes from the driver, and the attribute is a u64.
    let kept = unsafe {
        let pool = cudarc::driver::result::device::get_default_mem_pool(device.stream.context().cu_device()).unwrap();
        let mut bytes = 0u64;
        let attribute = cudarc::driver::sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        cudarc::driver::result::mem_pool::get_attribute(pool, attribute, (&raw mut bytes).cast()).unwrap();
        bytes
    };
    assert!(kept >= 256 << 20, "{kept}");
    let before = emulator.counts().waits;
    let buffers: Vec<_> = (0..5).map(|k| device.upload(&[k as f32; 100]).unwrap()).collect();
    assert_eq!(emulator.counts().waits, before);
    assert_eq!(device.download(&buffers[4]).unwrap(), [4.0; 100]);
}

#[test]
fn shared_memory_is_asked_for() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let mut out = device.zeros::<f32>(64).unwrap();
    device.launch(Grid::new(1, 64).shared(90 << 10), &FaultyReadArgs { out: write(&mut out) }).unwrap();
    device.synchronize().unwrap();
    let (most, grid) = (device.shared_memory() as usize, Grid::new(1, 64));
    says(
        device.launch(grid.shared(most + 1), &FaultyReadArgs { out: write(&mut out) }),
        &["98305 bytes of shared memory", "98304"],
    );
}

#[test]
fn blocks_that_wait_for_each_other_all_fit() {
    for order in [Order::Forward, Order::Reverse, Order::Random(9)] {
        let _emulator = session(order);
        let device = CudaDevice::open(0).unwrap();
        let blocks = device.max_cooperative_blocks("rounds", 64, 0).unwrap();
        assert_eq!(blocks, 16);
        assert_eq!(device.max_cooperative_blocks("rounds", 1024, 0).unwrap(), 8);
        assert_eq!(device.max_cooperative_blocks("rounds", 32, 96 << 10).unwrap(), 4);
        let start: Vec<u32> = (0..blocks).collect();
        let (mut counter, mut values) = (device.zeros::<u32>(1).unwrap(), device.upload(&start).unwrap());
        let grid = Grid::new(blocks, 64).cooperative();
        device
            .launch(grid, &RoundsArgs { counter: write(&mut counter), values: write(&mut values), count: 20 })
            .unwrap();
        let expected: Vec<u32> = start.iter().map(|k| (k + 20) % blocks + 20).collect();
        assert_eq!(device.download(&values).unwrap(), expected);
        let grid = Grid::new(blocks + 1, 64).cooperative();
        says(
            device.launch(grid, &RoundsArgs { counter: write(&mut counter), values: write(&mut values), count: 1 }),
            &["exceeds the resources of the GPU"],
        );
    }
}

#[test]
fn a_recorded_step_is_replayed() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let (mut counter, mut out) = (device.zeros::<u32>(1).unwrap(), device.zeros::<u32>(40).unwrap());
    let mut kept = device.zeros::<u32>(40).unwrap();
    let mut graph = Graph::capture(&device, |device| {
        device.launch(Grid::new(1, 40), &TurnsArgs { counter: write(&mut counter), out: write(&mut out) })?;
        device.copy(&out, &mut kept)?;
        device.clear(&mut out)
    })
    .unwrap();
    // Nothing has run yet.
    assert_eq!(device.download(&counter).unwrap(), [0]);
    emulator.reset();
    for _ in 0..3 {
        graph.launch().unwrap();
    }
    assert_eq!(emulator.counts(), Counts { launches: 3, graphs: 3, ..Counts::default() });
    assert_eq!(device.download(&counter).unwrap(), [120]);
    assert_eq!(device.download(&kept).unwrap(), (80..120).collect::<Vec<u32>>());
    assert_eq!(device.download(&out).unwrap(), [0; 40]);
    // A failure inside the graph appears at the next wait.
    emulator.inject(Fault::Launch(1));
    graph.launch().unwrap();
    graph.launch().unwrap();
    says(device.synchronize(), &["a kernel failed"]);
}

#[test]
fn what_a_capture_forbids_is_refused() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let mut buffer = device.zeros::<f32>(4).unwrap();
    let forbidden = &["the capture of a step"];
    says(Graph::capture(&device, |d| d.synchronize()), forbidden);
    says(Graph::capture(&device, |d| d.zeros::<f32>(1).map(|_| ())), forbidden);
    says(Graph::capture(&device, |d| d.download(&buffer).map(|_| ())), forbidden);
    says(Graph::capture(&device, |d| d.copy_into(&[1.0], &mut buffer)), forbidden);
    let gone = device.zeros::<f32>(1).unwrap();
    says(
        Graph::capture(&device, |_| {
            drop(gone);
            Ok(())
        }),
        forbidden,
    );
    // If the error is ignored, the capture fails at its end.
    says(
        Graph::capture(&device, |d| {
            let _ = d.synchronize();
            d.clear(&mut buffer)
        }),
        &["the capture of a step"],
    );
    // The stream is usable again.
    device.copy_into(&[5.0], &mut buffer).unwrap();
    let mut graph = Graph::capture(&device, |d| d.clear(&mut buffer)).unwrap();
    graph.launch().unwrap();
    assert_eq!(device.download(&buffer).unwrap(), [0.0; 4]);
}
