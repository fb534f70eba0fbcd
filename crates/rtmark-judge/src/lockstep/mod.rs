//! Runs random programs on the simulator and on QEMU, compared at every checkpoint.
//!
//! Both sides run the same image and print the same log if they agree: all registers and flags after
//! every dozen instructions, and the memory that the program works on after every pass. The simulator
//! runs each program once more with an observer that sees every instruction, which must change nothing.
//! If the logs differ, the program is run again instruction by instruction to find the one responsible.

mod code;
mod double;
mod faults;
mod generate;
mod harness;
mod it_blocks;
mod layout;
mod mainline;
pub(crate) mod patterns;
mod trace;
mod units;
mod v8m;

use std::fmt::Write as _;
use std::time::Duration;

use rtmark_sim::{CoreKind, Cycles, ExitStatus, FaultPolicy, Machine, Stop, Watch};

use crate::qemu::{Qemu, QemuError, Scratch};
use crate::sides::RunResult;
use generate::{Generator, Program};
pub use harness::ProgramOptions;
use layout::Layout;

/// The time limit of QEMU for one program.
const DEADLINE: Duration = Duration::from_mins(1);
/// The cycles after which a program that should have ended is stopped.
const MOST_CYCLES: Cycles = Cycles(2_000_000_000);

/// The runs to perform.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The core.
    pub core: CoreKind,
    /// The minimum number of random instructions.
    pub instructions: u64,
    /// The seed of the first program; the others have the following ones.
    pub seed: u64,
    /// The size of each program in bytes.
    pub bytes: u32,
    /// The number of passes over each program's code.
    pub passes: u32,
}

impl Plan {
    /// A plan with programs of the usual size.
    pub const fn new(core: CoreKind, instructions: u64, seed: u64) -> Self {
        Self { core, instructions, seed, bytes: 0x2_0000, passes: 4 }
    }
}

/// What a run without a difference has compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// The number of programs.
    pub programs: u64,
    /// The number of random instructions executed, without those of the harness.
    pub instructions: u64,
    /// The number of checkpoints compared.
    pub checkpoints: u64,
    /// The number of state words compared.
    pub words: u64,
}

/// The reason why a comparison ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockstepError {
    /// QEMU failed.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// A file could not be written.
    #[error("cannot write a program for QEMU: {0}")]
    Scratch(#[from] std::io::Error),
    /// The simulator did not run the program to its end.
    #[error("{core} seed {seed}: the simulator stopped with {stop}")]
    Stopped {
        /// The core.
        core: CoreKind,
        /// The program's seed.
        seed: u64,
        /// How it stopped.
        stop: String,
    },
    /// The simulator behaves differently when it is observed.
    #[error(
        "{core} seed {seed}: an observed run of the simulator differs from the one at full speed"
    )]
    Modes {
        /// The core.
        core: CoreKind,
        /// The program's seed.
        seed: u64,
    },
    /// The sides disagree.
    #[error("{0}")]
    Diverged(String),
}

/// Runs a plan to its end or to the first difference.
///
/// # Errors
/// When QEMU fails, a program does not end, or the two sides disagree.
pub fn run(plan: &Plan, mut progress: impl FnMut(&Score)) -> Result<Score, LockstepError> {
    let mut score = Score::default();
    while score.instructions < plan.instructions {
        let seed = plan.seed + score.programs;
        let options = ProgramOptions {
            core: plan.core,
            float: plan.core.has_fpu() && seed % 2 == 1,
            faults: plan.core.is_mainline() && seed % 4 >= 2,
            prints_notes: false,
            passes: plan.passes,
            prints_window: false,
        };
        let program = Generator::program(options, seed, plan.bytes);
        compare(&program, &mut score)?;
        score.programs += 1;
        progress(&score);
    }
    Ok(score)
}

/// A machine that is about to run a program.
fn machine(program: &Program) -> Machine {
    let mut machine = Machine::new(&program.layout.soc(program.options.core));
    machine.set_fault_policy(FaultPolicy::Deliver);
    // The image fits, because the generator stays within the layout's code memory.
    let ready = machine.poke(0, &program.image).is_ok() && machine.reset().is_ok();
    assert!(ready, "the program does not fit its soc");
    machine
}

struct Run {
    ended: RunResult,
    instructions: u64,
}

/// Runs a program on the simulator, and counts the instructions between its checkpoints.
fn simulate(program: &Program) -> Run {
    let mut machine = machine(program);
    let begins = machine.watch(Watch::Execute(program.harness.checkpoint));
    let ends = machine.watch(Watch::Execute(program.harness.checkpoint_end));
    let handlers = program.harness.handlers.iter().flat_map(faults::Handlers::addresses);
    let enters: Vec<_> = handlers.map(|at| machine.watch(Watch::Execute(at))).collect();
    if !enters.is_empty() {
        for exception in 2..16 {
            machine.watch(Watch::Return(exception));
        }
    }
    let ended = RunResult::of(&mut machine, MOST_CYCLES);
    let (mut instructions, mut last) = (0u64, None::<u64>);
    let (mut depth, mut entered, mut in_handlers) = (0u32, 0u64, 0u64);
    for hit in machine.take_hits() {
        let now = hit.instructions.0;
        if hit.watch == begins {
            // Without the checkpoint's own push and call, and the return to here.
            let since = last.map_or(0, |last| now - last);
            instructions += since.saturating_sub(3 + in_handlers);
            last = None;
        } else if hit.watch == ends {
            (last, in_handlers) = (Some(now), 0);
        } else if enters.contains(&hit.watch) {
            entered = if depth == 0 { now } else { entered };
            depth += 1;
        } else {
            depth = depth.saturating_sub(1);
            in_handlers += if depth == 0 { now - entered } else { 0 };
        }
    }
    Run { ended, instructions }
}

/// Starts QEMU with a program, translating one instruction at a time: within a translated block, and
/// from it to the next one, QEMU 7.2 continues with the conditions from before an MSR of the flags in
/// an IT block.
fn start(program: &Program, image: &Scratch) -> Result<Qemu, QemuError> {
    let Layout { machine, vectors, .. } = program.layout;
    Qemu::start(machine, image.path(), vectors, &["-singlestep"])
}

fn compare(program: &Program, score: &mut Score) -> Result<(), LockstepError> {
    let scratch = Scratch::new(&program.image)?;
    let qemu = start(program, &scratch)?;
    let Run { ended: ours, instructions } = simulate(program);
    let alike = ours.matches_observed_run(machine(program), MOST_CYCLES);
    let theirs = qemu.finish(DEADLINE)?;
    let (core, seed) = (program.options.core, program.seed);
    if !alike {
        return Err(LockstepError::Modes { core, seed });
    }
    if ours.console == theirs.console {
        if let Some(stop) = ours.failure(&theirs) {
            return Err(LockstepError::Stopped { core, seed, stop });
        }
        score.instructions += instructions;
        score.words += ours.console.len() as u64 / 4;
        let passes = u64::from(program.options.passes);
        score.checkpoints += program.blocks.len() as u64 * passes;
        return Ok(());
    }
    let mut text = describe(program, &ours.console, &theirs.console);
    if ours.stop != Stop::Exit(ExitStatus(0)) {
        // Run again, stopping at the fault that the program handled.
        let mut machine = machine(program);
        machine.set_fault_policy(FaultPolicy::Stop);
        match machine.run(MOST_CYCLES) {
            Stop::Fault(report) | Stop::Lockup(report) => {
                let _ = writeln!(text, "  here: {report}");
                text += &trace::listing(program, report.pc);
            }
            other => {
                let _ = writeln!(text, "  here: {other:?}");
            }
        }
    }
    text += &theirs.messages;
    if program.options.faults {
        text += &first_exception(program)?;
    }
    if !program.options.prints_window {
        // Run again, with the window printed each time: a load may only reveal what a store did.
        let options = ProgramOptions { prints_window: true, ..program.options };
        let closer = Generator::program(options, program.seed, program.bytes);
        compare(&closer, &mut Score::default())?;
    }
    Err(LockstepError::Diverged(text))
}

/// Describes the first exception that the two sides see differently.
fn first_exception(program: &Program) -> Result<String, LockstepError> {
    let options = ProgramOptions { prints_notes: true, ..program.options };
    let program = Generator::program(options, program.seed, program.bytes);
    let scratch = Scratch::new(&program.image)?;
    let qemu = start(&program, &scratch)?;
    let ours = simulate(&program).ended.console;
    let theirs = qemu.finish(DEADLINE)?.console;
    let stride = faults::NAMES.len() * 4;
    let at = first_difference(&ours, &theirs) / stride;
    let mut text = format!("  exceptions, the last one they agree on and number {at}:\n");
    for (index, name) in faults::NAMES.iter().enumerate() {
        let word = |log, at: usize| hex(word(log, at * stride + index * 4));
        let before = at.checked_sub(1).map(|before| word(&ours, before)).unwrap_or_default();
        let (here, there) = (word(&ours, at), word(&theirs, at));
        let mark = if here == there { "" } else { "  <" };
        let _ = writeln!(text, "    {name:16} {before:12} {here:12} {there:12}{mark}");
    }
    Ok(text)
}

/// The location of a byte in the log: the pass, the record in it, the offset in the record.
struct LogLocation {
    pass: usize,
    record: usize,
    within: usize,
}

fn place(program: &Program, offset: usize) -> LogLocation {
    let stride = program.options.record_stride(&program.layout) as usize;
    let records = program.blocks.len();
    let pass_length = records * stride + program.layout.window_size as usize;
    let (pass, offset) = (offset / pass_length, offset % pass_length);
    LogLocation {
        pass,
        record: (offset / stride).min(records),
        within: offset - (offset / stride).min(records) * stride,
    }
}

fn first_difference(ours: &[u8], theirs: &[u8]) -> usize {
    let differs = ours.iter().zip(theirs).position(|(a, b)| a != b);
    differs.unwrap_or(ours.len().min(theirs.len())) & !3
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Describes where the logs differ, and which instruction is responsible.
fn describe(program: &Program, ours: &[u8], theirs: &[u8]) -> String {
    let offset = first_difference(ours, theirs);
    let at = place(program, offset);
    let mut text = format!(
        "{} and QEMU's {} differ: seed {}, pass {}, ",
        program.options.core, program.layout.machine, program.seed, at.pass
    );
    let Some(block) = program.blocks.get(at.record) else {
        let _ = writeln!(text, "window at {:#x} ", program.layout.window + at.within as u32);
        return text;
    };
    let _ = writeln!(text, "block {} at {:#x} to {:#x}", at.record, block.start, block.end);
    if let Some(within) = (at.within as u32).checked_sub(program.options.record_size()) {
        let _ = writeln!(text, "  window at {:#x}; one of", program.layout.window + within);
        return text + &trace::listing(program, (block.end & !1) - 8);
    }
    let names = program.options.record_names();
    let start = offset - at.within;
    for (index, name) in names.iter().enumerate() {
        let (mine, other) = (word(ours, start + index * 4), word(theirs, start + index * 4));
        if mine != other && mine.is_some() {
            let _ = writeln!(text, "  {name}: {} here, {} there", hex(mine), hex(other));
        }
    }
    match trace::locate(program, *block, at.pass) {
        Ok(located) => text += &located,
        Err(error) => {
            let _ = writeln!(text, "  (not traced: {error})");
        }
    }
    text
}

fn hex(word: Option<u32>) -> String {
    word.map_or_else(|| "nothing".to_owned(), |word| format!("{word:#010x}"))
}
