//! Builds the stand-in driver with the kernels inside.

use std::env;
use std::path::PathBuf;

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var("OUT_DIR").unwrap()).join("libcuda_emulator.so");
    let (runtime, kernels) = (root.join("runtime"), root.join("../kernels"));
    println!("cargo:rerun-if-changed={}", runtime.display());
    println!("cargo:rerun-if-changed={}", kernels.display());
    let compiler = cc::Build::new().cpp(true).std("c++20").opt_level(2).pic(true).warnings(false).get_compiler();
    let mut command = compiler.to_command();
    command.args(["-shared", "-pthread", "-g", "-Wno-unknown-pragmas", "-Wl,-soname,libcuda.so"]);
    command.arg("-I").arg(&runtime).arg("-I").arg(&kernels);
    for file in ["runtime.cpp", "kernels.cpp", "driver.cpp"] {
        command.arg(runtime.join(file));
    }
    let status = command.arg("-o").arg(&out).status().expect("a C++ compiler runs");
    assert!(status.success(), "the C++ compiler failed");
    println!("cargo:rustc-env=WGPCA_EMULATOR={}", out.display());
}
