//! Runs random programs for a Cortex-R5 in A32 and T32 and all modes, on the simulator and on QEMU.
//!
//! Both run the same image. Calls record the registers of all modes, and handlers of other exceptions
//! record their state on entry; at its end the program writes out its records and its memory.
//! Interrupts and timing are not covered: QEMU's machine has another controller and no cycles.

mod generate;
mod patterns;
pub mod text;
mod writer;

use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use rtmark_sim::{CoreKind, Cycles, FaultPolicy, Machine, Register, Soc};

use crate::lockstep::{LockstepError, Score};
use crate::qemu::{Emulator, Qemu, QemuError, Scratch};
use crate::sides::{RunResult, words};
use generate::{BASE, CodeBlock, Program};
use writer::{InstructionSet, MODES, WINDOW};

/// The time limit of QEMU for one program.
const DEADLINE: Duration = Duration::from_mins(1);
/// The cycles after which a program that should have ended is stopped.
const MOST_CYCLES: Cycles = Cycles(5_000_000);
/// The number of calls in each program.
const BLOCKS: usize = 2_000;

const SOC: &str = include_str!("soc.toml");
const HARNESS: &str = include_str!("harness.s");
/// The QEMU machine that accepts a Cortex-R5 and has RAM at 0. It translates one instruction at a time:
/// within a block, QEMU 7.2 continues with the conditions from before an MSR of the flags.
const MACHINE: &str = "integratorcp";
const EXTRA: [&str; 5] = ["-cpu", "cortex-r5f", "-singlestep", "-audiodev", "none,id=none"];

/// The words of the window, which is written out before the records.
const WINDOW_WORDS: usize = 0x1000;
/// The words of each kind of record, and their names.
const KINDS: [(u32, &[&str]); 3] = [
    (0xC0DE_0001, &["undefined", "lr", "spsr"]),
    (0xC0DE_0002, &["data abort", "lr", "spsr", "dfsr", "dfar"]),
    (0xC0DE_0003, &["prefetch abort", "lr", "spsr", "ifsr"]),
];
const NOTE: u32 = 0xC0DE_0000;
const NAMES: [&str; 36] = [
    "call", "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12",
    "cpsr", "lr_svc", "sp_usr", "lr_usr", "r12_fiq", "sp_fiq", "lr_fiq", "spsr_fiq", "r8_fiq",
    "r9_fiq", "r10_fiq", "r11_fiq", "sp_irq", "lr_irq", "spsr_irq", "sp_abt", "lr_abt", "spsr_abt",
    "sp_und", "lr_und", "spsr_und", "fpscr",
];
const NOTE_WORDS: usize = NAMES.len() + 32;

/// What a run without a difference has compared: instructions by set (A32, T32) and by mode (user, FIQ,
/// IRQ, supervisor, abort, undefined, system), and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// The sums.
    pub all: Score,
    /// The number of random instructions; branches may skip some of them.
    pub by_mode: [[u64; 7]; 2],
    /// Exceptions other than calls: undefined instructions, data aborts, prefetch aborts.
    pub exceptions: [u64; 3],
}

/// The harness as bytes, by GNU as.
fn harness() -> Result<Vec<u8>, LockstepError> {
    let source = Scratch::new(HARNESS.as_bytes())?;
    let (object, binary) = (Scratch::new(&[])?, Scratch::new(&[])?);
    let run = |tool: &str, command: &mut Command| -> Result<(), LockstepError> {
        let output = command.output()?;
        if output.status.success() {
            return Ok(());
        }
        let problem = format!("{tool}: {}", String::from_utf8_lossy(&output.stderr));
        Err(std::io::Error::other(problem).into())
    };
    let mut assemble = Command::new("arm-none-eabi-as");
    run("arm-none-eabi-as", assemble.arg("-o").arg(object.path()).arg(source.path()))?;
    let mut copy = Command::new("arm-none-eabi-objcopy");
    copy.args(["-O", "binary"]).arg(object.path()).arg(binary.path());
    run("arm-none-eabi-objcopy", &mut copy)?;
    Ok(std::fs::read(binary.path())?)
}

fn machine(program: &Program) -> Machine {
    let soc = Soc::from_toml(SOC).unwrap_or_else(|error| panic!("lockstep-r5: {error}"));
    let mut machine = Machine::new(&soc);
    machine.set_fault_policy(FaultPolicy::Deliver);
    let fits = machine.poke(0, &program.image).is_ok();
    assert!(fits, "the program does not fit its soc");
    machine.set_register(Register::Pc, 0);
    machine
}

/// Runs at least this many random instructions, or up to the first difference.
///
/// # Errors
/// When QEMU or the assembler fails, a program does not end, or the two sides disagree.
pub fn run(
    instructions: u64,
    seed: u64,
    mut progress: impl FnMut(&Scores),
) -> Result<Scores, LockstepError> {
    let harness = harness()?;
    let mut scores = Scores::default();
    while scores.all.instructions < instructions {
        let seed = seed + scores.all.programs;
        let program = Program::new(&harness, seed, BLOCKS);
        compare(&program, seed, &mut scores)?;
        progress(&scores);
    }
    Ok(scores)
}

/// Runs a program on both sides.
fn compare(program: &Program, seed: u64, scores: &mut Scores) -> Result<(), LockstepError> {
    let core = CoreKind::CortexR5;
    let scratch = Scratch::new(&program.image)?;
    let qemu = Qemu::start_on(Emulator::Arm, MACHINE, scratch.path(), 0, &EXTRA)?;
    let mut at_end = machine(program);
    let ours = RunResult::of(&mut at_end, MOST_CYCLES);
    if !ours.matches_observed_run(machine(program), MOST_CYCLES) {
        return Err(LockstepError::Modes { core, seed });
    }
    let theirs = match qemu.finish(DEADLINE) {
        Err(error @ QemuError::Deadline(_)) => {
            let stop = format!("{:?}; {error}; {}", ours.stop, last_block(program, &at_end));
            return Err(LockstepError::Stopped { core, seed, stop });
        }
        other => other?,
    };
    if let Some(stop) = ours.failure(&theirs) {
        let stop = format!("{stop}; {}", last_block(program, &at_end));
        return Err(LockstepError::Stopped { core, seed, stop });
    }
    let (ours, theirs) = (words(&ours.console), words(&theirs.console));
    if ours != theirs {
        return Err(LockstepError::Diverged(describe(program, seed, &ours, &theirs)));
    }
    scores.all.programs += 1;
    scores.all.words += ours.len() as u64;
    for (sum, count) in scores.by_mode.iter_mut().flatten().zip(program.counts.iter().flatten()) {
        *sum += count;
        scores.all.instructions += count;
    }
    for note in LogRecords::of(&ours) {
        match KINDS.iter().position(|(kind, _)| *kind == note.words[0]) {
            Some(kind) => scores.exceptions[kind] += 1,
            None => scores.all.checkpoints += 1,
        }
    }
    Ok(())
}

/// Describes the block after the last one that a machine in the middle of a program has recorded.
fn last_block(program: &Program, machine: &Machine) -> String {
    let end = machine.register(Register::Msp);
    let log = words(&machine.peek(WINDOW, end.saturating_sub(WINDOW) as usize));
    let calls = LogRecords::of(&log).filter(|note| note.words[0] == NOTE).count();
    let block = program.blocks.get(calls).map(|block| listing(program, *block));
    let pc = machine.register(Register::Pc);
    format!("at {pc:#x} after {calls} calls\n{}", block.unwrap_or_default())
}

/// A record in a log.
struct LogRecord<'a> {
    begin: usize,
    words: &'a [u32],
}

/// Parses the complete records of a log.
struct LogRecords<'a> {
    log: &'a [u32],
    at: usize,
}

impl<'a> LogRecords<'a> {
    const fn of(log: &'a [u32]) -> Self {
        Self { log, at: WINDOW_WORDS }
    }
}

impl<'a> Iterator for LogRecords<'a> {
    type Item = LogRecord<'a>;

    fn next(&mut self) -> Option<LogRecord<'a>> {
        let first = *self.log.get(self.at)?;
        let length = match KINDS.iter().find(|(kind, _)| *kind == first) {
            Some((_, names)) => names.len(),
            None if first == NOTE => NOTE_WORDS,
            None => return None,
        };
        let begin = self.at;
        self.at += length;
        Some(LogRecord { begin, words: self.log.get(begin..self.at)? })
    }
}

/// Describes where the records differ, with the instructions that lead there.
fn describe(program: &Program, seed: u64, ours: &[u32], theirs: &[u32]) -> String {
    let first = ours.iter().zip(theirs).position(|(a, b)| a != b);
    let first_note = ours.iter().zip(theirs).skip(WINDOW_WORDS).position(|(a, b)| a != b);
    let at = first_note.map(|at| at + WINDOW_WORDS).or(first);
    let mut text = format!(
        "cortex-r5 and QEMU's {MACHINE} differ: seed {seed}, {} and {} words of notes\n",
        ours.len(),
        theirs.len()
    );
    let Some(at) = at else { return text };
    let mut last = None;
    for note in LogRecords::of(ours) {
        if note.begin + note.words.len() <= at {
            last = Some(note);
            continue;
        }
        let names = KINDS.iter().find(|(kind, _)| *kind == note.words[0]);
        let names = names.map_or(&NAMES[..], |(_, names)| names);
        let _ = writeln!(text, "  {}", names[0]);
        for (index, word) in note.words.iter().enumerate() {
            let there = theirs.get(note.begin + index);
            if there != Some(word) {
                let name = names
                    .get(index)
                    .map_or_else(|| format!("s{}", index - names.len()), |name| (*name).to_owned());
                let there = there.map_or_else(|| "nothing".to_owned(), |it| format!("{it:#010x}"));
                let _ = writeln!(text, "    {name}: {word:#010x} here, {there} there");
            }
        }
        break;
    }
    // A call's LR is the block's end, so these are the instructions after the last record that agrees.
    let done = LogRecords::of(ours).take_while(|note| note.begin + note.words.len() <= at);
    let calls = done.filter(|note| note.words[0] == NOTE).count();
    if let Some(last) = last.filter(|last| last.words[0] != NOTE) {
        let _ = writeln!(text, "  after an exception with {:x?}", &last.words[1..]);
    }
    match program.blocks.get(calls) {
        Some(block) => text + &listing(program, *block),
        None => text + "  in memory, after the last call\n",
    }
}

/// Disassembles a block, in the set in which it begins.
fn listing(program: &Program, block: CodeBlock) -> String {
    let mut machine = machine(program);
    let mode = MODES.iter().position(|mode| *mode == block.mode);
    let mut text = format!("  {:?}, mode {:#x} ({mode:?})\n", block.set, block.mode);
    let thumb = u32::from(block.set == InstructionSet::T32) << 5;
    machine.set_register(Register::Xpsr, 0x1F | thumb);
    let mut address = block.start.max(BASE);
    while address < block.end
        && let Some(instruction) = machine.disassembly(address)
    {
        let encoding = instruction.encoding;
        let _ = writeln!(text, "    {address:#010x}  {encoding:08x}  {instruction}");
        address += u32::from(instruction.size);
    }
    text
}
