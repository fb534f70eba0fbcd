//! Files that tell a firmware's build about the soc.

use std::fmt::Write as _;

use rtmark_sim::{MemoryKind, Soc};

/// The generated files, name and contents.
///
/// # Errors
/// When the soc has no memory of a kind that firmware needs.
pub fn files(soc: &Soc) -> Result<[(&'static str, String); 3], String> {
    Ok([("memory.x", memory_x(soc)?), ("rtmark_soc.h", header(soc)), ("rtmark_soc.rs", rust(soc))])
}

fn memory_x(soc: &Soc) -> Result<String, String> {
    let region = |name: &str, kind: MemoryKind| {
        // Where code lies may be a RAM that is called so, as on boards for development.
        let named = soc.memories.iter().find(|m| m.name == name);
        named.or_else(|| soc.memories.iter().find(|m| m.kind == kind)).ok_or_else(|| {
            format!("soc {} has no memory of kind {}", soc.name, name.to_lowercase())
        })
    };
    let (flash, ram) = (region("FLASH", MemoryKind::Flash)?, region("RAM", MemoryKind::Ram)?);
    Ok(format!(
        "/* Generated from the soc file of {}. */\n\
         MEMORY\n{{\n\
         \x20   FLASH (rx) : ORIGIN = {:#010x}, LENGTH = {:#x}\n\
         \x20   RAM (rwx) : ORIGIN = {:#010x}, LENGTH = {:#x}\n}}\n",
        soc.name, flash.base, flash.size, ram.base, ram.size
    ))
}

fn header(soc: &Soc) -> String {
    let writes: Vec<_> = soc
        .init
        .iter()
        .map(|w| format!("write({:#010x}u, {:#010x}u)", w.address, w.value))
        .collect();
    format!(
        "/* Generated from the soc file of {}. */\n\
         #ifndef RTMARK_SOC_H\n#define RTMARK_SOC_H\n\n\
         #define RTMARK_CLOCK_HZ {}u\n\
         #define RTMARK_INTERRUPTS {}\n\
         #define RTMARK_PRIORITY_BITS {}\n\
         #define RTMARK_SOC_INIT(write) {}\n\n#endif\n",
        soc.name,
        soc.clock.0,
        soc.interrupts,
        soc.priority_bits,
        writes.join("; ")
    )
}

fn rust(soc: &Soc) -> String {
    let mut text = format!(
        "// Generated from the soc file of {}.\n\
         /// The clock of the core, in hertz.\n\
         pub const CLOCK_HZ: u32 = {};\n\
         /// External interrupts.\n\
         pub const INTERRUPTS: u32 = {};\n\
         /// Bits that an interrupt's priority has.\n\
         pub const PRIORITY_BITS: u8 = {};\n\
         /// Registers and what to write to them at start.\n\
         pub const INIT: &[(u32, u32)] = &[",
        soc.name, soc.clock.0, soc.interrupts, soc.priority_bits
    );
    for write in &soc.init {
        let _ = write!(text, "({:#010x}, {:#010x}), ", write.address, write.value);
    }
    text.truncate(text.trim_end_matches([',', ' ']).len());
    text.push_str("];\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_say_what_the_soc_says() {
        let text = include_str!("../../../socs/stm32c031.toml");
        let soc = Soc::from_toml(text).expect("good");
        let [(_, memory), (_, header), (_, rust)] = files(&soc).expect("both memories");
        assert!(memory.contains("FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 0x8000"), "{memory}");
        assert!(memory.contains("RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 0x3000"), "{memory}");
        assert!(header.contains("#define RTMARK_CLOCK_HZ 48000000u\n"), "{header}");
        assert!(header.contains("(write) write(0x40022000u, 0x00040701u)"), "{header}");
        assert!(rust.contains("&[(0x40022000, 0x00040701)"), "{rust}");
        assert!(rust.ends_with(")];\n"), "{rust}");
    }

    #[test]
    fn a_soc_without_flash_is_refused() {
        let text = include_str!("../../../socs/stm32c031.toml")
            .replace("\"flash\"", "\"ram\"")
            .replace("\"FLASH\"", "\"ROM\"");
        let soc = Soc::from_toml(&text).expect("a soc still");
        assert!(files(&soc).expect_err("refused").contains("no memory of kind flash"));
    }
}
