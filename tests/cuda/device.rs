//! Devices in the library and the command line: listed, opened, refused with a remedy; the CPU engine stays usable.

use wgpca::cuda::CudaDevice;
use wgpca::ot::{Points, Sinkhorn, divergence};
use wgpca::{Error, Result};
use wgpca_emulator::{Fault, Order, session};

fn problem<T>(result: Result<T>) -> String {
    match result.err() {
        Some(Error::Device { problem, .. }) => problem,
        other => panic!("no refusal by the device: {other:?}"),
    }
}

/// Each fault is reported with a remedy. Afterwards the CPU works in the same process, and so does the device once the fault is
/// gone.
#[test]
fn the_cpu_goes_on_without_a_device() {
    let emulator = session(Order::Forward);
    let x = Points::<f32>::uniform(&[0.0, 0.0, 1.0, 2.0, -1.0, 0.5, 2.0, 1.0], 2).unwrap();
    let y = Points::<f32>::uniform(&[0.5, 0.1, 1.5, 2.0, -1.0, 1.5, 0.0, 1.0], 2).unwrap();
    let cpu = || divergence(&x, &y, &Sinkhorn::default()).unwrap().value;
    let before = cpu();
    for (fault, said) in [
        (Fault::Init(100), "CUDA_VISIBLE_DEVICES"),
        (Fault::DriverVersion(11_040), "11.4"),
        (Fault::Capability(6, 0), "6.0"),
        (Fault::Module(222), "ptxjitcompiler"),
    ] {
        emulator.inject(fault);
        let text = problem(CudaDevice::open(0));
        assert!(text.contains(said) && text.contains("use the CPU"), "{text}");
        assert_eq!(cpu(), before);
        emulator.reset();
    }
    emulator.inject(Fault::Lost(0));
    assert!(problem(CudaDevice::open(0)).contains("use the CPU"));
    assert_eq!(cpu(), before);
    emulator.reset();
    let device = CudaDevice::open(0).unwrap();
    device.synchronize().unwrap();
    assert!(device.free_memory().unwrap() > 0);
    assert_eq!(device.gpu(), &CudaDevice::list().unwrap()[0]);
}

/// A device can be used and dropped on any thread.
#[test]
fn a_device_travels_between_threads() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let there = device.clone();
    let name = std::thread::spawn(move || there.synchronize().map(|()| there.name().to_owned())).join().unwrap();
    assert_eq!(name.unwrap(), device.name());
}

#[cfg(feature = "cli")]
mod command_line {
    use serde_json::Value;
    use std::process::{Command, Output};

    fn devices(more: &[&str], emulated: bool) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgpca"));
        command.args(["info", "--devices"]).args(more);
        if emulated {
            let before = std::env::var("LD_PRELOAD").unwrap_or_default();
            command.env("LD_PRELOAD", format!("{before} {}", wgpca_emulator::library().display()));
        }
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        output
    }

    fn json(emulated: bool) -> Value {
        serde_json::from_slice(&devices(&["--json"], emulated).stdout).unwrap()
    }

    #[test]
    fn devices_are_listed() {
        let text = String::from_utf8(devices(&[], true).stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("cpu     ") && lines[0].contains(" thread"), "{text}");
        assert!(lines[1].starts_with("cuda:0  emulator, compute capability 7.0, 2.0 GiB, 4 multi"), "{text}");
        assert_eq!(lines.len(), 2);
        let object = json(true);
        assert!(object["cpu"]["threads"].as_u64().unwrap() > 0);
        assert_eq!(object["cpu"]["instruction_set"], wgpca::instruction_set());
        let gpu = &object["gpus"][0];
        assert_eq!((&gpu["index"], &gpu["name"]), (&0.into(), &"emulator".into()));
        assert_eq!((&gpu["compute_capability"], &gpu["driver"]), (&"7.0".into(), &"12.0".into()));
        assert_eq!((&gpu["memory_bytes"], &gpu["problem"]), (&(2u64 << 30).into(), &Value::Null));
        assert_eq!(object["problem"], Value::Null);
    }

    /// On the real machine, which possibly has a driver.
    #[test]
    fn without_a_device_the_reason_is_given() {
        let object = json(false);
        match &object["problem"] {
            Value::Null => assert!(!object["gpus"].as_array().unwrap().is_empty()),
            problem => {
                assert_eq!(object["gpus"], Value::Array(vec![]));
                assert!(!problem.as_str().unwrap().contains("--"), "{problem}");
            }
        }
    }

    #[test]
    fn a_model_and_devices_are_two_questions() {
        for arguments in [&["info"][..], &["info", "m.safetensors", "--devices"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_wgpca")).args(arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(2));
        }
    }
}
