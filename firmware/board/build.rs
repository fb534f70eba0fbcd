//! Takes what rtmark generates for a soc, and puts it where crates and the linker find it.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The folder with the generated files.
const GENERATED: &str = "RTMARK_GEN";

fn main() {
    println!("cargo::rerun-if-env-changed={GENERATED}");
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(message) = prepare() {
        println!("cargo::error={message}");
        process::exit(1);
    }
}

fn prepare() -> Result<(), String> {
    let generated = env::var_os(GENERATED).filter(|value| !value.is_empty()).ok_or_else(|| {
        format!(
            "{GENERATED} is not set. These images are made for one soc: build them through \
             rtmark (`rtmark run`), or set {GENERATED} to a folder that holds \
             the soc's memory.x and rtmark_soc.rs, as rtmark writes them to \
             build/<soc>/generated"
        )
    })?;
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return Err("these images run on a Cortex-M: name its target, for instance \
                    --target thumbv6m-none-eabi"
            .into());
    }
    let generated = PathBuf::from(generated);
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or("cargo sets no OUT_DIR")?;
    copy(&generated.join("memory.x"), &out.join("memory.x"))?;
    copy(&generated.join("rtmark_soc.rs"), &out.join("rtmark_soc.rs"))?;
    copy(Path::new("device.x"), &out.join("device.x"))?;

    println!("cargo::rustc-link-search={}", out.display());
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", from.display());
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| format!("{} cannot be used: {error}", from.display()))
}
