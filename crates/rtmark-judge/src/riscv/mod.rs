//! Runs random programs for a Hazard3 on the simulator and on QEMU's RV32, compared at every record.
//!
//! Both run the same image, which records all registers after a dozen instructions, and writes its
//! records and its memory out at its end. QEMU 7.2 supports neither Zcb and Zcmp nor the core's own
//! extensions: those are judged by traces of the RTL alone.

pub(crate) mod encode;
mod generate;

use std::fmt::Write as _;
use std::time::Duration;

use rtmark_sim::{CoreKind, Cycles, Machine, Soc};

use crate::lockstep::{LockstepError, Score};
use crate::qemu::{Emulator, Qemu, Scratch};
use crate::sides::{RunResult, words};
use generate::{BASE, NOTE, Program};

/// The time limit of QEMU for one program.
const DEADLINE: Duration = Duration::from_mins(1);
/// The cycles after which a program that should have ended is stopped.
const MOST_CYCLES: Cycles = Cycles(100_000_000);
/// The number of records of each program, whose code and records fit the memories.
const BLOCKS: usize = 2_000;

const SOC: &str = include_str!("../../../../socs/generic-hazard3.toml");
/// QEMU's machine with the same memories, and the extensions that a Hazard3 has.
const MACHINE: &str = "virt";
const CPU: &str = "rv32,zba=true,zbb=true,zbs=true,zbkb=true,zbc=false";

fn machine(program: &Program) -> Machine {
    let soc = Soc::from_toml(SOC).unwrap_or_else(|error| panic!("generic-hazard3: {error}"));
    let mut machine = Machine::new(&soc);
    let fits = machine.poke(BASE, &program.image).is_ok();
    assert!(fits, "the program does not fit its soc");
    machine
}

/// Runs at least this many random instructions, or up to the first difference.
///
/// # Errors
/// When QEMU fails, a program does not end, or the two sides disagree.
pub fn run(
    instructions: u64,
    seed: u64,
    mut progress: impl FnMut(&Score),
) -> Result<Score, LockstepError> {
    let mut score = Score::default();
    while score.instructions < instructions {
        let seed = seed + score.programs;
        let program = Program::new(seed, BLOCKS);
        let words = compare(&program, seed)?;
        score.programs += 1;
        score.instructions += program.instructions;
        score.checkpoints += program.blocks.len() as u64;
        score.words += words;
        progress(&score);
    }
    Ok(score)
}

/// Runs a program on both sides; returns the number of equal words.
fn compare(program: &Program, seed: u64) -> Result<u64, LockstepError> {
    let core = CoreKind::Hazard3;
    let scratch = Scratch::new(&program.image)?;
    let extra = ["-bios", "none", "-cpu", CPU];
    let qemu = Qemu::start_on(Emulator::RiscV, MACHINE, scratch.path(), BASE, &extra)?;
    let ours = RunResult::of(&mut machine(program), MOST_CYCLES);
    if !ours.matches_observed_run(machine(program), MOST_CYCLES) {
        return Err(LockstepError::Modes { core, seed });
    }
    let theirs = qemu.finish(DEADLINE)?;
    if let Some(stop) = ours.failure(&theirs) {
        return Err(LockstepError::Stopped { core, seed, stop });
    }
    if ours.console != theirs.console {
        return Err(LockstepError::Diverged(describe(
            program,
            seed,
            &ours.console,
            &theirs.console,
        )));
    }
    Ok(ours.console.len() as u64 / 4)
}

/// Describes where the records differ, with the instructions that lead there.
fn describe(program: &Program, seed: u64, ours: &[u8], theirs: &[u8]) -> String {
    let mut text = format!(
        "hazard3 and QEMU's {MACHINE} differ: seed {seed}, {} and {} bytes of notes\n",
        ours.len(),
        theirs.len()
    );
    let (ours, theirs) = (words(ours), words(theirs));
    let Some(at) = ours.iter().zip(&theirs).position(|(a, b)| a != b) else { return text };
    let (block, register) = (at / NOTE, at % NOTE + 1);
    let (here, there) = (ours[at], theirs[at]);
    let Some(&begin) = program.blocks.get(block) else {
        let _ = writeln!(text, "  memory, word {at}: {here:#010x} here, {there:#010x} there");
        return text;
    };
    let _ =
        writeln!(text, "  block {block}: x{register} is {here:#010x} here, {there:#010x} there");
    let machine = machine(program);
    let end = program.blocks.get(block + 1).copied().unwrap_or(begin + 64);
    let mut address = begin;
    while address < end
        && let Some(instruction) = machine.disassembly(address)
    {
        let _ = writeln!(text, "    {address:#010x}  {instruction}");
        address += u32::from(instruction.size);
        // The record itself.
        if instruction.to_string().starts_with("sw      ra, 0(tp)") {
            break;
        }
    }
    text
}
