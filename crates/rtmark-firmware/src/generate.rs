//! Generates the files that describe the soc to a firmware's build.

use std::fmt::Write as _;

use crate::target::{Probes, Region, Target, Timer};

/// Returns the generated files, as names and contents.
///
/// # Errors
/// When the target lacks a kind of memory that firmware needs.
pub fn files(target: &Target) -> Result<[(&'static str, String); 3], String> {
    Ok([
        ("memory.x", memory_x(target)?),
        ("rtmark_soc.h", header(target)),
        ("rtmark_soc.rs", rust(target)),
    ])
}

fn memory_x(target: &Target) -> Result<String, String> {
    let region = |region: Option<Region>, kind: &str| {
        region.ok_or_else(|| format!("soc {} has no memory of kind {kind}", target.name))
    };
    let (flash, ram) = (region(target.flash, "flash")?, region(target.ram, "ram")?);
    Ok(format!(
        "/* Generated from the soc file of {}. */\n\
         MEMORY\n{{\n\
         \x20   FLASH (rx) : ORIGIN = {:#010x}, LENGTH = {:#x}\n\
         \x20   RAM (rwx) : ORIGIN = {:#010x}, LENGTH = {:#x}\n}}\n",
        target.name, flash.base, flash.size, ram.base, ram.size
    ))
}

fn header(target: &Target) -> String {
    let writes = |writes: &[(u32, u32)]| {
        let writes: Vec<_> = writes
            .iter()
            .map(|(address, value)| format!("write({address:#010x}u, {value:#010x}u)"))
            .collect();
        writes.join("; ")
    };
    let counter = match &target.probes {
        Probes::Clocked(Some(counter)) => format!(
            "#define RTMARK_COUNTER {:#010x}u\n#define RTMARK_COUNTER_START(write) {}\n",
            counter.address,
            writes(&counter.start)
        ),
        Probes::Clocked(None) | Probes::Addresses => String::new(),
    };
    let console = target.console.as_ref().map_or_else(String::new, |console| {
        format!(
            "#define RTMARK_CONSOLE_DATA {:#010x}u\n#define RTMARK_CONSOLE_STATUS {:#010x}u\n\
             #define RTMARK_CONSOLE_MASK {:#010x}u\n#define RTMARK_CONSOLE_READY {:#010x}u\n\
             #define RTMARK_CONSOLE_START(write) {}\n",
            console.data,
            console.status,
            console.mask,
            console.ready,
            writes(&console.start)
        )
    });
    let mtime = target.mtime.map_or_else(String::new, |[time, compare]| {
        format!("#define RTMARK_MTIME {time:#010x}u\n#define RTMARK_MTIMECMP {compare:#010x}u\n")
    });
    format!(
        "/* Generated from the soc file of {}. */\n\
         #ifndef RTMARK_SOC_H\n#define RTMARK_SOC_H\n\n\
         #define RTMARK_CLOCK_HZ {}u\n\
         #define RTMARK_INTERRUPTS {}\n\
         #define RTMARK_PRIORITY_BITS {}\n\
         #define RTMARK_SOC_INIT(write) {}\n{counter}{console}{mtime}\n#endif\n",
        target.name,
        target.clock.0,
        target.interrupts,
        target.priority_bits,
        writes(&target.init)
    )
}

fn rust(target: &Target) -> String {
    let mut text = format!(
        "// Generated from the soc file of {}.\n\
         /// The clock of the core, in hertz.\n\
         pub const CLOCK_HZ: u32 = {};\n\
         /// External interrupts.\n\
         pub const INTERRUPTS: u32 = {};\n\
         /// Bits that an interrupt's priority has.\n\
         pub const PRIORITY_BITS: u8 = {};\n\
         /// Bytes of the RAM that holds data and stacks.\n\
         pub const RAM_BYTES: u32 = {};\n\
         /// A timer of the soc that sets alarms.\n\
         #[derive(Clone, Copy, Debug)]\n\
         pub struct Timer {{\n\
         \x20   /// Its first register.\n\
         \x20   pub base: u32,\n\
         \x20   /// Its interrupt, or that of its first alarm.\n\
         \x20   pub interrupt: u16,\n\
         \x20   /// How often its drivers have it count in a second.\n\
         \x20   pub hertz: u32,\n\
         \x20   /// The register that lets it count, the bits to clear there, and those to set.\n\
         \x20   pub enable: (u32, u32, u32),\n\
         }}\n\
         /// The timer that time may be counted by.\n\
         pub const TIMER: Option<Timer> = {};\n\
         /// Where a RISC-V core has MTIME and MTIMECMP, if not in a core-local interruptor.\n\
         pub const MTIME: Option<[u32; 2]> = {};\n\
         /// Registers and what to write to them at start.\n\
         pub const INIT: &[(u32, u32)] = &[",
        target.name,
        target.clock.0,
        target.interrupts,
        target.priority_bits,
        target.ram.map_or(0, |ram| ram.size),
        timer(target),
        target.mtime.map_or_else(
            || "None".to_owned(),
            |[time, compare]| format!("Some([{time:#010x}, {compare:#010x}])")
        )
    );
    for (address, value) in &target.init {
        let _ = write!(text, "({address:#010x}, {value:#010x}), ");
    }
    text.truncate(text.trim_end_matches([',', ' ']).len());
    text.push_str("];\n");
    text
}

fn timer(target: &Target) -> String {
    target.timer().map_or_else(
        || "None".to_owned(),
        |timer| {
            let Timer { base, interrupt, enable, .. } = timer;
            format!(
                "Some(Timer {{ base: {base:#010x}, interrupt: {interrupt}, hertz: {}, \
                 enable: ({:#010x}, {:#x}, {:#x}) }})",
                timer.hertz(),
                enable.register,
                enable.clear,
                enable.set
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Counter;
    use rtmark_sim::Soc;

    #[test]
    fn generated_files_match_the_soc() {
        let text = include_str!("../../../socs/stm32c031.toml");
        let soc = Soc::from_toml(text).expect("good");
        let [(_, memory), (_, header), (_, rust)] =
            files(&Target::from(&soc)).expect("both memories");
        assert!(memory.contains("FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 0x8000"), "{memory}");
        assert!(memory.contains("RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 0x3000"), "{memory}");
        assert!(header.contains("#define RTMARK_CLOCK_HZ 48000000u\n"), "{header}");
        assert!(header.contains("(write) write(0x40022000u, 0x00040701u)"), "{header}");
        assert!(rust.contains("&[(0x40022000, 0x00040701)"), "{rust}");
        assert!(rust.contains("RAM_BYTES: u32 = 12288;"), "{rust}");
        assert!(rust.ends_with(")];\n"), "{rust}");
        let timer = "Some(Timer { base: 0x40000400, interrupt: 16, hertz: 1000000, \
                     enable: (0x4002103c, 0x0, 0x2) });";
        assert!(rust.contains(timer), "{rust}");
        // A reset that ends, and the first of four alarms.
        let text = include_str!("../../../socs/rp2040.toml");
        let [_, _, (_, rust)] =
            files(&Target::from(&Soc::from_toml(text).expect("good"))).expect("both memories");
        let timer = "Some(Timer { base: 0x40054000, interrupt: 0, hertz: 1000000, \
                     enable: (0x4000c000, 0x200000, 0x0) });";
        assert!(rust.contains(timer), "{rust}");
        // A counter at the clock of its bus.
        let text = include_str!("../../../socs/zynqmp-r5.toml");
        let [_, _, (_, rust)] =
            files(&Target::from(&Soc::from_toml(text).expect("good"))).expect("both memories");
        let timer = "Some(Timer { base: 0xff110000, interrupt: 36, hertz: 100000000, \
                     enable: (0xff11000c, 0x1, 0x0) });";
        assert!(rust.contains(timer), "{rust}");
        assert!(!header.contains("COUNTER"), "{header}");
        let target = Target::from(&soc);
        assert_eq!([0x0800_0124, 0x2000_0010].map(|at| target.code_in(at)), ["flash", "ram"]);

        let counter = Counter { address: 0x4000_0024, start: vec![(0x4000_0000, 1)] };
        let probes = Probes::Clocked(Some(counter));
        let [_, (_, header), (_, rust)] =
            files(&Target { probes, ..Target::from(&soc) }).expect("both memories");
        assert!(rust.contains("TIMER: Option<Timer> = None;"), "{rust}");
        assert!(header.contains("#define RTMARK_COUNTER 0x40000024u\n"), "{header}");
        assert!(header.contains("START(write) write(0x40000000u, 0x00000001u)\n"), "{header}");
    }

    #[test]
    fn socs_without_flash_are_rejected() {
        let text = include_str!("../../../socs/generic-cortex-m0plus.toml")
            .replace("\"flash\"", "\"ram\"")
            .replace("\"FLASH\"", "\"ROM\"");
        let soc = Soc::from_toml(&text).expect("a soc still");
        assert!(
            files(&Target::from(&soc)).expect_err("refused").contains("no memory of kind flash")
        );
    }
}
