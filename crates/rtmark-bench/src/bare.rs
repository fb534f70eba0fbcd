//! Programs without kernel and library, for every core and from every kind of memory.
//!
//! They are linked for the MPS2 machines, on which QEMU runs the same file. There code is in writable
//! memory, as these machines have it; with one word of the soc file changed it is flash, and with a line more
//! flash behind a cache, for cores of chips that have such. Nothing else differs, so the difference between two
//! runs is its cost. Those for a Cortex-R5 are linked for the
//! chip, whose addresses are RAM on a QEMU machine that accepts the core; caches are on. Those for a
//! Hazard3 are linked for QEMU's virt.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use rtmark_sim::{Image, Soc};

use crate::generate;
use crate::process::{Emulator, emulate, measure, simulate};

const AN385: &str = include_str!("../../../socs/mps2-an385.toml");
const AN386: &str = include_str!("../../../socs/mps2-an386.toml");
const AN505: &str = include_str!("../../../socs/mps2-an505.toml");
const HAZARD3: &str = include_str!("../../../socs/generic-hazard3.toml");
const RP2350: &str = include_str!("../../../socs/rp2350.toml");
const ZYNQMP: &str = include_str!("../../../socs/zynqmp-r5.toml");

/// A core, with a machine that has it.
pub struct Target {
    /// Its name, and its folder's.
    pub core: &'static str,
    emulator: Emulator,
    /// The compiler, with its library.
    compiler: &'static [&'static str],
    /// Further arguments of QEMU.
    extra: &'static [&'static str],
    soc: &'static str,
    flags: &'static [&'static str],
    code: u32,
    data: u32,
    timer: u32,
}

/// A core that QEMU only offers with little memory runs on a machine with another core, which has more
/// instructions.
pub const TARGETS: [Target; 8] = [
    Target {
        core: "cortex-m0plus",
        emulator: Emulator::arm("mps2-an385"),
        compiler: NEWLIB,
        extra: &[],
        soc: AN385,
        flags: &["-mcpu=cortex-m0plus"],
        code: 0,
        data: 0x2000_0000,
        timer: 0x4000_0000,
    },
    Target {
        core: "cortex-m3",
        emulator: Emulator::arm("mps2-an385"),
        compiler: NEWLIB,
        extra: &[],
        soc: AN385,
        flags: &["-mcpu=cortex-m3"],
        code: 0,
        data: 0x2000_0000,
        timer: 0x4000_0000,
    },
    M4F,
    Target {
        core: "cortex-m7",
        emulator: Emulator::arm("mps2-an500"),
        flags: &["-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard"],
        ..M4F
    },
    Target {
        core: "cortex-m33",
        emulator: Emulator::arm("mps2-an505"),
        compiler: NEWLIB,
        extra: &[],
        soc: AN505,
        flags: &["-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"],
        code: 0x1000_0000,
        data: 0x3800_0000,
        timer: 0x5000_0000,
    },
    Target { core: "cortex-r5", flags: &["-mcpu=cortex-r5", "-marm"], ..R5_THUMB },
    R5_THUMB,
    Target {
        core: "hazard3",
        emulator: Emulator { program: "qemu-system-riscv32", machine: "virt" },
        compiler: PICOLIBC,
        extra: &["-bios", "none"],
        soc: HAZARD3,
        // For the compiler's library.
        flags: &["-march=rv32imac", "-misa-spec=2.2", "-mabi=ilp32", "-mno-relax"],
        code: 0x8000_0000,
        data: 0x8010_0000,
        timer: 0,
    },
];

const NEWLIB: &[&str] =
    &["arm-none-eabi-gcc", "-mthumb", "-specs=nano.specs", "-specs=nosys.specs"];
const PICOLIBC: &[&str] = &["riscv64-unknown-elf-gcc", "-specs=picolibc.specs"];

/// In T32; the other one is in A32.
const R5_THUMB: Target = Target {
    core: "cortex-r5-t32",
    emulator: Emulator::arm("integratorcp"),
    compiler: NEWLIB,
    extra: &["-cpu", "cortex-r5f", "-audiodev", "none,id=none"],
    soc: ZYNQMP,
    flags: &["-mcpu=cortex-r5"],
    code: 0x0010_0000,
    data: 0x0020_0000,
    timer: 0,
};

/// The target of the curves.
pub const M4F: Target = Target {
    core: "cortex-m4f",
    emulator: Emulator::arm("mps2-an386"),
    compiler: NEWLIB,
    extra: &[],
    soc: AN386,
    flags: &["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"],
    code: 0,
    data: 0x2000_0000,
    timer: 0x4000_0000,
};

/// The memory that contains the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    Flash,
    Ram,
    /// Flash as an RP2350's: serial, behind a cache.
    Cache,
}

/// Returns the timing of an RP2350's flash, its first memory, as a line of a soc file.
fn serial_flash() -> Option<String> {
    let (_, timing) = RP2350.split_once("[memory.timing]\n")?;
    let (timing, _) = timing.split_once("\n\n")?;
    Some(format!("timing = {{ {} }}", timing.replace('\n', ", ")))
}

impl From {
    pub const PLAIN: [Self; 2] = [Self::Flash, Self::Ram];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Flash => "flash",
            Self::Ram => "RAM",
            Self::Cache => "cache",
        }
    }
}

/// Programs that were not considered during work on the simulator's speed, with descriptions.
pub const KINDS: [(&str, &str, &str); 5] = [
    ("hash", include_str!("bare/hash.c"), "SHA-256"),
    ("pack", include_str!("bare/pack.c"), "compression and back"),
    ("parse", include_str!("bare/parse.c"), "JSON into a tree"),
    ("filter", include_str!("bare/filter.c"), "biquad and FFT, in software without an FPU"),
    ("library", include_str!("bare/library.c"), "newlib's snprintf, qsort, strtol"),
];

/// Processor seconds of a run that is long enough not to be repeated.
const LONG: f64 = 5.0;

/// The programs of the curves.
pub const INTERRUPTS: &str = include_str!("bare/interrupts.c");
pub const POLLS: &str = include_str!("bare/polls.c");
pub const REWRITES: &str = include_str!("bare/rewrites.c");

/// The common files, by name.
const COMMON: [(&str, &str); 3] = [
    ("bare.h", include_str!("bare/bare.h")),
    ("bare.c", include_str!("bare/bare.c")),
    ("bare.ld", include_str!("bare/bare.ld")),
];

/// A program that has been linked for a target.
pub struct Program<'t> {
    target: &'t Target,
    pub elf: PathBuf,
}

impl Target {
    /// Compiles a program in a folder.
    pub fn compile(
        &self,
        folder: &Path,
        name: &str,
        source: &str,
    ) -> Result<Program<'_>, Box<dyn Error>> {
        let folder = folder.join(self.core);
        std::fs::create_dir_all(&folder)?;
        for (name, text) in COMMON {
            std::fs::write(folder.join(name), text)?;
        }
        let file = folder.join(format!("{name}.c"));
        std::fs::write(&file, source)?;
        let elf = file.with_extension("elf");
        let (compiler, library) = self.compiler.split_first().ok_or("no compiler")?;
        let mut compile = Command::new(compiler);
        compile.args(library).args(self.flags).args(["-std=gnu11", "-O2", "-nostartfiles"]);
        compile.args(["-fno-tree-loop-distribute-patterns", "-Wl,--build-id=none"]);
        compile.arg(format!("-DTIMER={:#x}", self.timer));
        compile.arg(format!("-Wl,--defsym=CODE={:#x}", self.code));
        compile.arg(format!("-Wl,--defsym=DATA={:#x}", self.data));
        compile.arg("-T").arg(folder.join("bare.ld")).arg("-o").arg(&elf);
        measure(compile.arg(folder.join("bare.c")).arg(&file))?;
        Ok(Program { target: self, elf })
    }

    /// Compiles a program with this many functions.
    pub fn generate(&self, folder: &Path, functions: usize) -> Result<Program<'_>, Box<dyn Error>> {
        self.compile(folder, &format!("functions-{functions}"), &generate::program(functions))
    }

    /// Returns the kinds of memory from which its programs run.
    pub fn memories(&self) -> &'static [From] {
        const WITH_CACHE: [From; 3] = [From::Flash, From::Ram, From::Cache];
        let on_chips_with_it = ["cortex-m0plus", "cortex-m33", "hazard3"].contains(&self.core);
        if on_chips_with_it { &WITH_CACHE } else { &From::PLAIN }
    }

    /// Returns the soc file with this core and with code in a kind of memory. Code is in the first
    /// memory.
    fn soc_text(&self, from: From) -> Result<String, Box<dyn Error>> {
        let is_m = self.core.starts_with("cortex-m");
        let line = |line: &str| match line.split_once(" = ") {
            Some(("core", _)) if is_m => format!("core = \"{}\"", self.core),
            // The only possible number.
            Some(("priority_bits", _)) if self.core == "cortex-m0plus" => {
                "priority_bits = 2".to_owned()
            }
            _ => line.to_owned(),
        };
        let lines = self.soc.lines().map(line);
        let text = lines.collect::<Vec<_>>().join("\n");
        let kind = match from {
            From::Flash => "kind = \"flash\"".to_owned(),
            From::Ram => "kind = \"ram\"".to_owned(),
            From::Cache => {
                let timing = serial_flash().ok_or("rp2350.toml: no timing")?;
                format!("kind = \"flash\"\n{timing}")
            }
        };
        let kinds = ["kind = \"ram\"", "kind = \"flash\""];
        Ok(match kinds.iter().filter_map(|kind| text.find(kind).map(|at| (at, kind))).min() {
            Some((at, before)) => [&text[..at], &kind, &text[at + before.len()..]].concat(),
            None => text,
        })
    }

    /// Returns the soc with code in a kind of memory.
    pub fn soc(&self, from: From) -> Result<Soc, Box<dyn Error>> {
        Ok(Soc::from_toml(&self.soc_text(from)?)?)
    }
}

/// Speed in million instructions per second of processor time, and the resources used.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    pub mips: f64,
    pub instructions: u64,
    pub bytes: u64,
}

impl Program<'_> {
    /// Returns the number of bytes loaded from its file.
    pub fn code_bytes(&self) -> Result<usize, Box<dyn Error>> {
        let image = Image::from_elf(&std::fs::read(&self.elf)?)?;
        Ok(image.segments().iter().map(|segment| segment.bytes.len()).sum())
    }

    /// Returns the fastest of several runs here, by this program or by another build of it.
    pub fn run(&self, program: &Path, from: From, rounds: usize) -> Result<Speed, Box<dyn Error>> {
        let soc = self.elf.with_extension(from.name());
        std::fs::write(&soc, self.target.soc_text(from)?)?;
        let mut best = Speed { mips: 0.0, instructions: 0, bytes: 0 };
        for _ in 0..rounds {
            let (run, instructions) = simulate(program, &self.elf, &soc)?;
            let mips = instructions as f64 / run.seconds.max(1e-3) / 1e6;
            if mips > best.mips {
                best = Speed { mips, instructions, bytes: run.bytes };
            }
            if run.seconds > LONG {
                break;
            }
        }
        Ok(best)
    }

    /// Returns the processor seconds of the fastest of several runs on QEMU, including its start.
    pub fn emulate(&self, mode: &[&str], rounds: usize) -> Result<f64, Box<dyn Error>> {
        (0..rounds).try_fold(f64::INFINITY, |best, _| {
            let mode = [self.target.extra, mode].concat();
            Ok(best.min(emulate(self.target.emulator, &self.elf, &mode)?))
        })
    }
}
