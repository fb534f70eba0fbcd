//! `rtmark sim`: prepares a run from the arguments, executes it, and presents the result.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rtmark_model::ScenarioId;

use crate::cli::Verbosity;
use crate::commands::clock::ClockArgs;
use crate::commands::inputs::InputArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::file;
use crate::replacement;

mod defmt;
pub mod ending;
mod execute;
mod flame;
mod masked;
mod observers;
mod outcome;
mod patience;
mod prepare;
mod present;
mod profile;
mod snapshot;
mod terminal;
mod trace;
mod values;
mod waiting;

pub use patience::INTERRUPT_CODE;
pub use snapshot::keep_moment;
use values::{Arming, Dump, Pend, Place, Setting, When};
pub use values::{byte, cycles, irq, number, time};

/// The file name that means stdout.
const NO_FILE: &str = "-";

/// Run any firmware on the simulator: show its output, and how it ended
///
/// The image is an ELF file, Intel HEX, UF2, DfuSe or a raw binary, recognised by its contents. The
/// program's output, and that of --stats and --dump, goes to stdout; how the run ended goes to
/// stderr. Numbers are decimal, or hexadecimal with the prefix 0x, and may contain underscores.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark sim app.elf --soc stm32f405
  rtmark sim app.elf --soc stm32f405 --entry crc32 --set r0=0x20000000 --set r1=64
  rtmark sim app.elf --soc stm32f405 --trace=app.trace --trace-from main
  rtmark sim app.elf --soc stm32f405 --profile=app.folded --flame app.svg
  rtmark sim new.elf --soc stm32f405 --flame new.svg --flame-base app.folded
  rtmark sim app.elf --soc stm32f405 --masked=5 --masked-priority 2
  rtmark sim app.elf --soc stm32f405 --snapshot=crash.snapshot
  rtmark sim --resume crash.snapshot --gdb :3333
  rtmark sim app.elf --soc nrf52840 --vectors 0x26000
  rtmark sim shell.elf --soc stm32f405 --uart-in USART2=pty
  rtmark sim app.elf --soc nrf52840 --defmt | defmt-print -e app.elf
  rtmark sim app.bin --soc stm32f405 --base 0x08000000 --until 0x08000124 --dump 0x20000000:64

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// Image: an ELF file, Intel HEX, UF2, DfuSe or a raw binary
    #[arg(required_unless_present = "resume")]
    image: Option<PathBuf>,
    /// Soc, by name or path of a soc file
    #[arg(long, required_unless_present = "resume")]
    soc: Option<String>,
    #[command(flatten)]
    clock: ClockArgs,
    /// Load address of a raw binary [default: the start of the soc's first memory]
    #[arg(long, value_name = "ADDR", value_parser = values::word)]
    base: Option<u32>,
    /// Address of the vector table that the core starts from [default: that of the soc]
    ///
    /// For applications that a bootloader starts: VTOR has this value at the start, as the bootloader
    /// would leave it. It is not needed for a raw binary with --base that starts with its vector
    /// table. With 0, a Cortex-R5 has its vectors there, and otherwise at 0xFFFF0000 until the program
    /// clears SCTLR.V.
    #[arg(long, value_name = "ADDR|SYMBOL", value_parser = values::place)]
    vectors: Option<Place>,
    /// Call this function instead of starting from the reset vector
    ///
    /// The stack pointer still comes from the vector table, unless --set sp=VALUE sets it. The run
    /// ends when the function returns, and shows its result (r0, or a0 on RISC-V). No startup code
    /// runs: memory contains only what the image loads, and an FPU is off unless
    /// --set 0xE000ED88=0xF00000 enables it.
    #[arg(long, value_name = "ADDR|SYMBOL", value_parser = values::place)]
    entry: Option<Place>,
    /// Stop before the instruction at this address first executes
    ///
    /// This takes no simulated time and does not modify memory. An instruction whose condition fails
    /// does not count. If it is never executed, the exit code is 12, even if the program exits with 0 or
    /// the time of --for elapses.
    #[arg(long, value_name = "ADDR|SYMBOL", value_parser = values::place)]
    until: Option<Place>,
    /// Cycles after which to give up on the run [default: ten seconds of the soc's clock; under --gdb, never]
    #[arg(long, value_name = "N", value_parser = values::cycles)]
    max_cycles: Option<u64>,
    /// End the run successfully when the program prints this text; may be repeated
    ///
    /// For programs that never exit: --until-output 'PROJECT EXECUTION SUCCESSFUL'. If such a text is
    /// never printed, the exit code is 12, even if the program exits with 0 or the time of --for elapses.
    #[arg(long, value_name = "TEXT", value_parser = values::text)]
    until_output: Vec<String>,
    /// End the run as failed when the program prints this text; may be repeated
    #[arg(long, value_name = "TEXT", value_parser = values::text)]
    fail_output: Vec<String>,
    /// End the run after this time on the soc's clock, such as 100ms, 1.5s or 50us; successfully, unless
    /// --until or --until-output awaits something
    #[arg(long = "for", value_name = "TIME", value_parser = values::time,
          conflicts_with = "max_cycles")]
    lasts: Option<Duration>,
    /// Show LENGTH bytes of memory after the run; may be repeated
    #[arg(long, value_name = "ADDR|SYMBOL:LENGTH", value_parser = values::dump)]
    dump: Vec<Dump>,
    /// Set a register, or a word of memory, before the run; may be repeated
    ///
    /// Arm cores have r0 to r14, sp, lr, pc, s0 to s31 and fpscr; Cortex-M also xpsr, msp, psp,
    /// primask, basepri, faultmask and control, Cortex-R also cpsr. RISC-V cores have x0 to x31, by
    /// number or ABI name, pc, and CSRs such as mstatus. s0=1.5 and s0=2 set a floating-point value,
    /// s0=0x3FC00000 sets the bits. With an address instead of a register, a word is stored there:
    /// --set 0x20000000=1.
    #[arg(long, value_name = "REG=VALUE", value_parser = values::setting)]
    set: Vec<Setting>,
    /// Make an interrupt pending in this cycle: external interrupt N, SysTick or PendSV; may be repeated
    #[arg(long, value_name = "N@CYCLE", value_parser = values::pend)]
    irq: Vec<Pend>,
    /// Enable an interrupt before the run, with this priority as its register holds it; may be repeated
    ///
    /// For interrupts that the program leaves alone, as `rtmark worst` does with the one that it
    /// searches. On cores without priorities, it is 0.
    #[arg(long, value_name = "N=PRIORITY", value_parser = values::arming)]
    arm: Vec<Arming>,
    /// End the run at the first access to a peripheral register without a model
    ///
    /// By default such registers read as zero, and are listed at the end of the run.
    #[arg(long)]
    strict: bool,
    /// Run the program's own fault handlers, as the chip would
    ///
    /// By default a fault that only the HardFault handler would take ends the run and is shown with
    /// its address and state; so does a breakpoint.
    #[arg(long, conflicts_with = "gdb")]
    deliver_faults: bool,
    /// Show cycles, instructions, exceptions, accesses without a model, and registers
    #[arg(long)]
    stats: bool,
    /// Write a line per instruction: cycle, address, encoding, symbol, disassembly
    ///
    /// The trace goes to FILE, or else to stdout; the program's output then goes to stderr.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = NO_FILE)]
    trace: Option<PathBuf>,
    /// Start the trace at this address or cycle, each time that it is reached
    #[arg(long, value_name = "ADDR|SYMBOL|@CYCLE", value_parser = values::when, requires = "trace")]
    trace_from: Option<When>,
    /// End the trace before the instruction at this address or cycle
    #[arg(long, value_name = "ADDR|SYMBOL|@CYCLE", value_parser = values::when, requires = "trace")]
    trace_to: Option<When>,
    /// Show the cycles of functions and source lines; with FILE, write all stacks there
    ///
    /// The table gives a function's own cycles and those including its callees. Each handler and each
    /// task has its own stack. FILE gets one line per stack, in the folded format of flame graph tools;
    /// names of inlined functions end in `_[i]`.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = NO_FILE)]
    profile: Option<PathBuf>,
    /// Write the program's defmt log (over RTT), still encoded
    ///
    /// The log goes to FILE, or else to stdout; the program's output then goes to stderr. defmt-print
    /// decodes it, as in the examples.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = NO_FILE)]
    defmt: Option<PathBuf>,
    /// Draw the profile as a flame graph, in this SVG file; a browser zooms and searches in it
    #[arg(long, value_name = "FILE")]
    flame: Option<PathBuf>,
    /// With --flame: colour the difference to another run, whose stacks --profile=FILE has written
    #[arg(long, value_name = "FILE", requires = "flame")]
    flame_base: Option<PathBuf>,
    /// Show the N longest intervals in which PRIMASK, BASEPRI or FAULTMASK masked interrupts: their
    /// length in cycles, start, end and callers [default: 10]
    ///
    /// An interval lasts from the end of the instruction that sets a mask to the end of the one that
    /// clears it, without a sleep that an interrupt would have ended although it is masked. One in which
    /// the run ends says so. Intervals with the same start and end are shown once, with their number.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "10", conflicts_with = "gdb", value_parser = values::lines)]
    masked: Option<usize>,
    /// With --masked: show what held back an interrupt of this priority, not only masks
    ///
    /// Handlers of the same or a more urgent priority, and long instructions, then count as well. The
    /// priority is given as for NVIC_SetPriority: 0 is the most urgent, except on a Hazard3, where it
    /// is the least urgent.
    #[arg(long, value_name = "PRIORITY", requires = "masked")]
    masked_priority: Option<u8>,
    /// Wait for GDB before the first instruction, and let it control the run
    ///
    /// GDB can use breakpoints, watchpoints, single steps, registers and memory as on a chip, and also
    /// reverse-stepi and reverse-continue; `monitor help` lists more. Without a host, only connections
    /// from this computer are accepted; port 0 means any free port.
    #[arg(long, value_name = "[HOST]:PORT", value_parser = rtmark_gdb::address,
          conflicts_with_all = ["trace", "profile", "flame"])]
    gdb: Option<String>,
    /// Save a snapshot of the end of the run in this file, for --resume
    ///
    /// The file also contains the image and the soc, so that it can be used on another computer.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gdb", "uart_in", "pin"])]
    snapshot: Option<PathBuf>,
    /// With --snapshot: save this cycle instead of the end, and run on
    #[arg(long, value_name = "CYCLE", requires = "snapshot",
          value_parser = values::cycles)]
    snapshot_at: Option<u64>,
    /// Continue from a file written by --snapshot
    ///
    /// The run is repeated at full speed up to that point, and its state is verified.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
          "image", "soc", "base", "vectors", "entry", "set", "irq", "arm", "strict", "deliver_faults",
          "select", "snapshot", "uart_in", "pin"])]
    resume: Option<PathBuf>,
    /// Let the program use the files of this folder through semihosting
    ///
    /// It can open, read, write, rename and remove files in this folder, and nothing outside. By default
    /// it cannot open any file.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["gdb", "snapshot", "resume"])]
    semihosting_dir: Option<PathBuf>,
    #[command(flatten)]
    inputs: InputArgs,
    /// Scenario to run, for images built by rtmark
    #[arg(long, value_name = "SCENARIO")]
    select: Option<ScenarioId>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The program's output as it comes, then how the run ended
    Text,
    /// JSON at the end of the run: docs/schema/sim.schema.json
    Json,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let profile = self.profile.as_deref().and_then(file);
        let files = [profile, self.flame.as_deref(), self.snapshot.as_deref()];
        replacement::check(files.into_iter().flatten())?;
        let source = self.source(verbosity)?;
        let mut folder = self.folder()?;
        let prepared = self.prepare(&source, folder.as_mut())?;
        let executed = self.execute(&source, prepared, verbosity)?;
        self.present(&source, &executed, verbosity)
    }
}
