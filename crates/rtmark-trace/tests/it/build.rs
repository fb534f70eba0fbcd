//! Compiles the programs of these tests.

use std::path::Path;
use std::process::Command;

/// Compiles a file of `tests/programs` for a Cortex-M3, with these arguments.
pub fn compiled(file: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let out = tempfile::NamedTempFile::new().expect("a file");
    let mut gcc = Command::new("arm-none-eabi-gcc");
    gcc.args(["-mcpu=cortex-m3", "-mthumb", "-O2", "-nostdlib", "-ffreestanding", "-Wall"]);
    gcc.args(["-Werror", "-fno-toplevel-reorder", "-Wl,--build-id=none"]).args(arguments);
    gcc.arg("-T").arg(folder.join("ram.ld")).arg("-o").arg(out.path()).arg(folder.join(file));
    assert!(gcc.status().expect("arm-none-eabi-gcc is installed").success(), "{arguments:?}");
    std::fs::read(out.path()).expect("compiled")
}
