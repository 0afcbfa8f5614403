//! Builds the stand-in driver, which contains the kernels.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var("OUT_DIR").unwrap()).join("libcuda_emulator.so");
    for source in ["build.sh", "runtime", "driver", "../kernels"] {
        println!("cargo:rerun-if-changed={}", root.join(source).display());
    }
    println!("cargo:rerun-if-env-changed=CXX");
    let status = Command::new("sh").arg(root.join("build.sh")).arg(&out).status().expect("a shell runs");
    assert!(status.success(), "the emulator does not compile; it needs a C++20 compiler (c++, or the one in CXX)");
    println!("cargo:rustc-env=WGPCA_EMULATOR={}", out.display());
}
