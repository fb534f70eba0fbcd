//! Building the programs in `tests/programs`, and asking the GNU tools about them.

use std::path::{Path, PathBuf};
use std::process::Command;

use rtmark_sim::{Cycles, Image, Machine, Soc, Stop};

/// Flags for programs in C or assembler for every Cortex-M, and for other cores.
pub const CORTEX_M: &[&str] = &["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m0"];
pub const RISC_V: &[&str] = &["riscv64-unknown-elf-gcc", "-march=rv32imac_zicsr", "-mabi=ilp32"];
pub const CORTEX_R: &[&str] = &["arm-none-eabi-gcc", "-marm", "-mcpu=cortex-r5"];

/// A program, as built from its sources.
pub struct Program {
    pub path: PathBuf,
    pub elf: Vec<u8>,
    pub image: Image,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Runs a program, which must succeed, and returns what it prints.
pub fn output(command: &mut Command) -> String {
    let output = command.output().expect("the GNU tools are installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

pub fn soc(name: &str) -> Soc {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../socs/{name}.toml"));
    Soc::from_toml(&std::fs::read_to_string(path).expect("a soc's file")).expect("good")
}

impl Program {
    /// Builds a program from files in `tests/programs`; the test's own name keeps its file apart.
    pub fn build(test: &str, flags: &[&str], sources: &[&str]) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.elf"));
        let mut gcc = Command::new(flags[0]);
        gcc.args(&flags[1..]).args(["-nostdlib", "-ffreestanding", "-g", "-T", "program.ld"]);
        gcc.args(["-Wl,--no-warn-rwx-segments", "-o"]).arg(&path).args(sources);
        output(gcc.current_dir(folder()));
        Self::at(path)
    }

    pub fn at(path: PathBuf) -> Self {
        let elf = std::fs::read(&path).expect("built");
        let image = Image::from_elf(&elf).expect("an image");
        Self { path, elf, image }
    }

    /// Returns a machine that is about to run it.
    pub fn on(&self, soc: &Soc) -> Machine {
        let mut machine = Machine::new(soc);
        machine.load(&self.image).expect("it fits");
        machine
    }

    /// Returns a machine that stops before the instruction at a symbol.
    pub fn until(&self, soc: &Soc, symbol: &str) -> Machine {
        let mut machine = self.on(soc);
        machine.stop_before(self.address(symbol));
        machine
    }

    pub fn address(&self, symbol: &str) -> u32 {
        self.image.symbols().address_of(symbol).expect("a symbol")
    }

    /// Returns what one of the GNU tools for Arm says of it.
    pub fn tool(&self, tool: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(format!("arm-none-eabi-{tool}"));
        output(command.args(arguments).arg(&self.path))
    }
}

/// Runs until the stop that [`Program::until`] has set.
pub fn observe(machine: &mut Machine, observer: &mut impl rtmark_sim::Observer) {
    let stop = machine.run_observed(Cycles(100_000), observer);
    assert!(matches!(stop, Stop::Breakpoint(_)), "{stop:?}");
}

/// The functions at an address with their lines, the innermost first.
pub type Frames = Vec<(String, String, u32)>;

/// Returns all addresses of the instructions of functions, by `objdump`.
pub fn instructions(program: &Program) -> Vec<u32> {
    let text = program.tool("objdump", &["-d"]);
    let address = |line: &str| {
        let (address, rest) = line.split_once(":\t")?;
        (!rest.contains(".word")).then_some(())?;
        u32::from_str_radix(address.trim(), 16).ok()
    };
    text.lines().filter_map(address).collect()
}

/// Returns what `addr2line` says of an address.
pub fn resolved(program: &Program, address: u32) -> Frames {
    let elf = program.path.to_str().expect("UTF-8");
    let mut command = Command::new("arm-none-eabi-addr2line");
    let text = output(command.args(["-f", "-i", "-e", elf, &format!("{address:#x}")]));
    let lines: Vec<_> = text.lines().collect();
    let frame = |pair: &[&str]| {
        let (file, line) = pair[1].rsplit_once(':').filter(|(file, _)| *file != "??")?;
        let line = line.split(' ').next()?.parse().ok()?;
        Some((pair[0].to_owned(), file.to_owned(), line))
    };
    lines.chunks_exact(2).filter_map(frame).collect()
}
