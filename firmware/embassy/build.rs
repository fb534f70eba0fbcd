//! How images are linked: by cortex-m-rt's script, for the soc that `rtmark-board` was given; and
//! whose 64-bit division they have.

use std::env;
use std::path::Path;
use std::process::{Command, exit};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Whether it is a Cortex-M or a Cortex-R, and whether it starts without any crate for its core.
    println!("cargo::rustc-check-cfg=cfg(cortex_m, cortex_r, own_start)");
    let target = env::var("TARGET").unwrap_or_default();
    if target.starts_with("thumb") {
        println!("cargo::rustc-cfg=cortex_m");
    } else if !target.starts_with("riscv") {
        println!("cargo::rustc-cfg=own_start");
        if target.starts_with("armv7") {
            println!("cargo::rustc-cfg=cortex_r");
        }
    }
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    // Otherwise the linker pads segments to pages, which a microcontroller has not.
    println!("cargo::rustc-link-arg-bins=--nmagic");
    if env::var_os("CARGO_FEATURE_LIBGCC_ON").is_some()
        && let Err(message) = link_libgcc()
    {
        println!("cargo::error={message}");
        exit(1);
    }
}

/// Has the linker look into GCC's library before compiler-builtins.
fn link_libgcc() -> Result<(), String> {
    let core = match env::var("TARGET").unwrap_or_default().as_str() {
        "thumbv6m-none-eabi" => "-march=armv6s-m -mfloat-abi=soft",
        "thumbv7m-none-eabi" => "-march=armv7-m -mfloat-abi=soft",
        "thumbv7em-none-eabi" => "-march=armv7e-m -mfloat-abi=soft",
        "thumbv7em-none-eabihf" => "-march=armv7e-m+fp -mfloat-abi=hard",
        "thumbv8m.main-none-eabihf" => "-march=armv8-m.main+fp -mfloat-abi=hard",
        other => return Err(format!("no libgcc is known for {other}")),
    };
    let output = Command::new("arm-none-eabi-gcc")
        .args(["-mthumb", "-print-libgcc-file-name"])
        .args(core.split(' '))
        .output()
        .map_err(|error| {
            format!("arm-none-eabi-gcc does not run: {error}; install gcc-arm-none-eabi")
        })?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let folder = Path::new(&path).parent().filter(|_| output.status.success());
    let folder = folder.ok_or_else(|| format!("arm-none-eabi-gcc names no libgcc: {path}"))?;
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=static:-bundle=gcc");
    Ok(())
}
