//! `rtmark sim`: a run is prepared by the arguments, executed, and presented.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rtmark_model::ScenarioId;

use crate::cli::Verbosity;
use crate::commands::inputs::InputArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::file;

mod defmt;
pub mod ending;
mod execute;
mod flame;
mod masked;
mod observers;
mod outcome;
mod prepare;
mod present;
mod profile;
mod snapshot;
mod terminal;
mod trace;
mod values;

pub use snapshot::keep_moment;
use values::{Dump, Pend, Place, Setting, When};
pub use values::{cycles, number, time};

/// Stands for stdout where an option takes a file.
const NO_FILE: &str = "-";

/// Run any firmware in the simulator: print its console, say how it ended
///
/// The image is an ELF file, Intel HEX, UF2 or a raw binary, recognised by its contents.
/// What the program prints, and what --stats and --dump show, goes to stdout; how it
/// ended goes to stderr. Numbers are decimal, or hexadecimal after 0x, and may have
/// underscores.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark sim app.elf --soc stm32f405
  rtmark sim app.elf --soc stm32f405 --entry crc32 --set r0=0x20000000 --set r1=64
  rtmark sim app.elf --soc stm32f405 --trace=app.trace --trace-from main
  rtmark sim app.elf --soc stm32f405 --profile=app.folded --flame app.svg
  rtmark sim app.elf --soc stm32f405 --masked=5 --masked-priority 2
  rtmark sim app.elf --soc stm32f405 --snapshot=crash.snapshot
  rtmark sim --resume crash.snapshot --gdb :3333
  rtmark sim app.elf --soc nrf52840 --vectors 0x26000
  rtmark sim shell.elf --soc stm32f405 --uart-in USART2=pty
  rtmark sim app.elf --soc nrf52840 --defmt | defmt-print -e app.elf
  rtmark sim app.bin --soc stm32f405 --base 0x08000000 --until 0x08000124 --dump 0x20000000:64

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// The image: an ELF file, Intel HEX, UF2 or a raw binary
    #[arg(required_unless_present = "resume")]
    image: Option<PathBuf>,
    /// The soc, by name or path of a soc file
    #[arg(long, required_unless_present = "resume")]
    soc: Option<String>,
    /// Where a raw binary belongs [default: where the soc's first memory begins]
    #[arg(long, value_name = "ADDR", value_parser = values::word)]
    base: Option<u32>,
    /// Where the vector table is that the core starts from [default: where the soc says]
    ///
    /// For applications that a bootloader starts: VTOR is there at the beginning, as the
    /// bootloader leaves it. A raw binary with --base that is such an application is taken
    /// for one.
    #[arg(long, value_name = "ADDR|SYMBOL", value_parser = values::place)]
    vectors: Option<Place>,
    /// Call the function there instead of starting from the reset vector
    ///
    /// The stack pointer still comes from the vector table unless --set sp=VALUE gives it.
    /// The run ends when the function returns, and tells r0. No startup code has run:
    /// memories hold what the image puts there, and an FPU is off unless
    /// --set 0xE000ED88=0xF00000 switches it on.
    #[arg(long, value_name = "ADDR|SYMBOL", value_parser = values::place)]
    entry: Option<Place>,
    /// Stop before the instruction there executes for the first time
    ///
    /// This takes no time and changes no memory. An instruction that its condition
    /// skips does not count.
    #[arg(long, value_name = "ADDR|SYMBOL", value_parser = values::place)]
    until: Option<Place>,
    /// Cycles after which to stop [default: ten seconds of the soc's clock]
    #[arg(long, value_name = "N", value_parser = values::cycles)]
    max_cycles: Option<u64>,
    /// End the run, as a success, when the program prints this; may be repeated
    ///
    /// For programs that never end by themselves: --until-output 'PROJECT EXECUTION SUCCESSFUL'.
    #[arg(long, value_name = "TEXT", value_parser = values::text)]
    until_output: Vec<String>,
    /// End the run, as a failure, when the program prints this; may be repeated
    #[arg(long, value_name = "TEXT", value_parser = values::text)]
    fail_output: Vec<String>,
    /// End the run, as a success, after so long on the soc's clock: 100ms, 2s, 50us
    #[arg(long = "for", value_name = "TIME", value_parser = values::time,
          conflicts_with = "max_cycles")]
    lasts: Option<Duration>,
    /// Show so many bytes of memory after the run; may be repeated
    #[arg(long, value_name = "ADDR|SYMBOL:LENGTH", value_parser = values::dump)]
    dump: Vec<Dump>,
    /// Put a value into a register before the run; may be repeated
    ///
    /// Registers of an Arm core are r0 to r14, sp, lr, pc, s0 to s31 and fpscr, xpsr, msp, psp,
    /// primask, basepri, faultmask and control of a Cortex-M, cpsr of a Cortex-R; of a RISC-V core
    /// x0 to x31 by number or by name, pc and CSRs such as mstatus. s0=1.5 and s0=2 are numbers,
    /// s0=0x3FC00000 is bits. An address in the place of a register stores a word there:
    /// --set 0x20000000=1.
    #[arg(long, value_name = "REG=VALUE", value_parser = values::setting)]
    set: Vec<Setting>,
    /// Make external interrupt N pending in a cycle; may be repeated
    #[arg(long, value_name = "N@CYCLE", value_parser = values::pend)]
    irq: Vec<Pend>,
    /// End the run at the first access to a device's register that has no model
    ///
    /// Without it such a register reads as zero, and the run's end tells which there were.
    #[arg(long)]
    strict: bool,
    /// Let the program's own fault handlers run, as on the chip
    ///
    /// Without it a fault that no handler but HardFault would take ends the run, with the
    /// faulting place and state in view; so does a breakpoint.
    #[arg(long, conflicts_with = "gdb")]
    deliver_faults: bool,
    /// Show cycles, instructions, exceptions, devices without a model, and registers
    #[arg(long)]
    stats: bool,
    /// Write a line for each instruction: cycle, address, encoding, symbol, assembly language
    ///
    /// To FILE, or to stdout, when what the program prints goes to stderr.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = NO_FILE)]
    trace: Option<PathBuf>,
    /// Begin the trace there, each time that the place is reached
    #[arg(long, value_name = "ADDR|SYMBOL|@CYCLE", value_parser = values::when, requires = "trace")]
    trace_from: Option<When>,
    /// End the trace before the instruction there
    #[arg(long, value_name = "ADDR|SYMBOL|@CYCLE", value_parser = values::when, requires = "trace")]
    trace_to: Option<When>,
    /// Show which functions and source lines took the cycles; with FILE also every stack
    ///
    /// A function's own cycles, and those with all that it calls. Handlers have stacks of
    /// their own, and so has each task. FILE takes one line a stack, as flame graph tools
    /// read them; functions that were inlined stand there with `_[i]` behind their names.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = NO_FILE)]
    profile: Option<PathBuf>,
    /// Write what the program logs by defmt over RTT, as defmt encodes it
    ///
    /// To FILE, or to stdout, when what the program prints goes to stderr:
    /// rtmark sim app.elf --soc stm32f405 --defmt | defmt-print -e app.elf
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = NO_FILE)]
    defmt: Option<PathBuf>,
    /// Draw the profile as a flame graph in SVG
    #[arg(long, value_name = "FILE")]
    flame: Option<PathBuf>,
    /// Show the N longest times for which interrupts were held back by PRIMASK, BASEPRI or
    /// FAULTMASK: how long, from where to where, called by whom [default: 10]
    ///
    /// From the end of the instruction that sets a mask to the end of the one that clears
    /// it, time asleep left out. Equal ways count once, with how often they occurred.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "10", conflicts_with = "gdb", value_parser = values::lines)]
    masked: Option<usize>,
    /// With --masked: held back by whatever it is, for an interrupt of this priority
    ///
    /// As NVIC_SetPriority takes it: 0 is the most urgent, except on a Hazard3, where it is the
    /// least. Then handlers of this priority and of more urgent ones count, too, and instructions
    /// that take long.
    #[arg(long, value_name = "PRIORITY", requires = "masked")]
    masked_priority: Option<u8>,
    /// Wait for GDB before the first instruction, and do as it says
    ///
    /// Breakpoints, watchpoints, single steps, registers and memory as on a chip;
    /// reverse-stepi and reverse-continue, too. `monitor help` lists more. Without a
    /// host it listens on this computer's own address alone; port 0 is any free one.
    #[arg(long, value_name = "[HOST]:PORT", value_parser = rtmark_gdb::address,
          conflicts_with_all = ["trace", "profile", "flame"])]
    gdb: Option<String>,
    /// Keep the moment at which the run ends in a file, for --resume
    ///
    /// It holds the image and the soc, too, and is all that another computer needs.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gdb", "uart_in", "pin"])]
    snapshot: Option<PathBuf>,
    /// Keep this cycle instead, and run on
    #[arg(long, value_name = "CYCLE", requires = "snapshot",
          value_parser = values::cycles)]
    snapshot_at: Option<u64>,
    /// Begin at the moment that a file of --snapshot holds
    ///
    /// The machine runs there again at full speed, and its state is compared.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
          "image", "soc", "base", "vectors", "entry", "set", "irq", "strict", "deliver_faults",
          "select", "snapshot", "uart_in", "pin"])]
    resume: Option<PathBuf>,
    /// Let the program use the files of this folder by semihosting
    ///
    /// It can open, read, write, rename and remove what is in it, and nothing outside.
    /// Without it every file is refused.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["gdb", "snapshot", "resume"])]
    semihosting_dir: Option<PathBuf>,
    #[command(flatten)]
    inputs: InputArgs,
    /// For images of rtmark's own: the scenario to run
    #[arg(long, value_name = "SCENARIO")]
    select: Option<ScenarioId>,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The console as it comes, then the ending in words
    Text,
    /// One JSON object at the end
    Json,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let source = self.source(verbosity)?;
        let mut folder = self.folder()?;
        let prepared = self.prepare(&source, folder.as_mut())?;
        let executed = self.execute(&source, prepared)?;
        self.present(&source, &executed, verbosity)
    }
}
