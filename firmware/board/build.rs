//! Takes what rtmark generates for a soc, and puts it where crates and the linker find it.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The folder with the generated files.
const GENERATED: &str = "RTMARK_GEN";
/// The settings that differ from the kernel's own, as words.
const CHOSEN: &str = "RTMARK_SET";

fn main() {
    println!("cargo::rerun-if-env-changed={GENERATED}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(cortex_m, cortex_r, branch_prediction)");
    if is_cortex_m() {
        println!("cargo::rustc-cfg=cortex_m");
    } else if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("arm") {
        println!("cargo::rustc-cfg=cortex_r");
        println!("cargo::rerun-if-env-changed={CHOSEN}");
        let chosen = env::var(CHOSEN).unwrap_or_default();
        if chosen.split(' ').any(|word| word == "BRANCH_PREDICTION=1") {
            println!("cargo::rustc-cfg=branch_prediction");
        }
    }
    if let Err(message) = prepare() {
        println!("cargo::error={message}");
        process::exit(1);
    }
}

fn is_cortex_m() -> bool {
    env::var("TARGET").is_ok_and(|target| target.starts_with("thumb"))
}

fn prepare() -> Result<(), String> {
    let generated = env::var_os(GENERATED).filter(|value| !value.is_empty()).ok_or_else(|| {
        format!(
            "{GENERATED} is not set. These images are made for one soc: build them through \
             rtmark (`rtmark run`), or set {GENERATED} to a folder that holds \
             the soc's memory.x and rtmark_soc.rs, as rtmark writes them \
             beside each of its builds"
        )
    })?;
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return Err("these images run without a system: name a core's target, for instance \
                    --target thumbv6m-none-eabi"
            .into());
    }
    let generated = PathBuf::from(generated);
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or("cargo sets no OUT_DIR")?;
    let memory = generated.join("memory.x");
    copy(&memory, &out.join("memory.x"))?;
    copy(&generated.join("rtmark_soc.rs"), &out.join("rtmark_soc.rs"))?;
    let shared = || copy(Path::new("../c/firmware.ld"), &out.join("link.x"));
    match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("riscv32") => append(&out.join("memory.x"), REGIONS)?,
        Ok("arm") => {
            copy(Path::new("handlers.x"), &out.join("handlers.x"))?;
            if is_cortex_m() {
                copy(Path::new("device.x"), &out.join("device.x"))?;
            } else {
                shared()?;
                append(&out.join("link.x"), "INCLUDE handlers.x\n")?;
            }
        }
        _ => shared()?,
    }

    println!("cargo::rustc-link-search={}", out.display());
    Ok(())
}

/// What riscv-rt's linker script wants to know besides. The stack grows down from the end of RAM
/// and belongs to no section, so that an image's RAM is what its data takes. Nothing unwinds it.
const REGIONS: &str = "
MEMORY { STACK (rw) : ORIGIN = ORIGIN(RAM) + LENGTH(RAM), LENGTH = 0 }
REGION_ALIAS(\"REGION_TEXT\", FLASH);
REGION_ALIAS(\"REGION_RODATA\", FLASH);
REGION_ALIAS(\"REGION_DATA\", RAM);
REGION_ALIAS(\"REGION_BSS\", RAM);
REGION_ALIAS(\"REGION_HEAP\", RAM);
REGION_ALIAS(\"REGION_STACK\", STACK);
SECTIONS { /DISCARD/ : { *(.eh_frame .eh_frame_hdr) } }
";

fn append(path: &Path, text: &str) -> Result<(), String> {
    let cannot = |error| format!("{} cannot be written: {error}", path.display());
    let before = fs::read_to_string(path).map_err(cannot)?;
    fs::write(path, before + text).map_err(cannot)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", from.display());
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| format!("{} cannot be used: {error}", from.display()))
}
