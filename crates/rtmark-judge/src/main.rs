//! Runs the judges at length, from the command line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use rtmark_judge::decoder::Comparison;
use rtmark_judge::lockstep::{self, Plan, Score};
use rtmark_judge::{armr, riscv, rtl};
use rtmark_sim::CoreKind;

/// Compares the simulator with independent judges.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    judge: Judge,
}

#[derive(Subcommand)]
enum Judge {
    /// Run random programs here and on QEMU, and compare registers, flags and memory
    Lockstep {
        /// The core to run
        #[arg(long, value_parser = core)]
        core: CoreKind,
        /// The minimum number of random instructions
        #[arg(long, default_value_t = 10_000_000)]
        instructions: u64,
        /// The seed of the first program; the others have the following ones
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Bytes of each program
        #[arg(long, default_value_t = 0x2_0000)]
        bytes: u32,
        /// The number of passes over each program's code
        #[arg(long, default_value_t = 8)]
        passes: u32,
    },
    /// Run random programs for a Hazard3 here and on QEMU's RV32
    RiscV {
        /// The minimum number of random instructions
        #[arg(long, default_value_t = 10_000_000)]
        instructions: u64,
        /// The seed of the first program; the others have the following ones
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Run random programs for an Ibex here and on its RTL, and compare cycles, registers and memory
    Rtl {
        /// The testbench that scripts/rtl builds
        #[arg(long, default_value = "target/rtl/ibex/bench")]
        bench: PathBuf,
        /// The minimum number of instructions to compare
        #[arg(long, default_value_t = 1_000_000)]
        instructions: u64,
        /// The seed of the first program; the others have the following ones
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Run random programs for a Cortex-R5 in A32 and T32 and in all modes, here and on QEMU
    ArmR {
        /// The minimum number of random instructions
        #[arg(long, default_value_t = 10_000_000)]
        instructions: u64,
        /// The seed of the first program; the others have the following ones
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Compare the set of valid encodings with an independent decoder
    Decoder {
        /// The core whose encodings to compare
        #[arg(long, value_parser = core)]
        core: CoreKind,
        /// Random second halfwords for each of the 6144 first ones
        #[arg(long, default_value_t = 2000)]
        seconds: u32,
        /// The seed of the second halfwords
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

fn core(name: &str) -> Result<CoreKind, String> {
    let known = || CoreKind::CORTEX_M.iter().map(|core| core.name()).collect::<Vec<_>>().join(", ");
    CoreKind::CORTEX_M
        .iter()
        .copied()
        .find(|core| core.name() == name)
        .ok_or_else(|| format!("no such core; there are {}", known()))
}

type Done = Result<(), Box<dyn std::error::Error>>;

/// Reports the result of a comparison with QEMU.
fn report(
    out: &mut impl Write,
    core: CoreKind,
    seed: u64,
    score: &Score,
    start: Instant,
) -> std::io::Result<()> {
    writeln!(
        out,
        "{core}: {} instructions of {} programs from seed {seed} on in lockstep with QEMU: \
         {} words of state at {} checkpoints agree ({:.1?})",
        score.instructions,
        score.programs,
        score.words,
        score.checkpoints,
        start.elapsed()
    )
}

/// Compares with the RTL of an Ibex, and shows how far both agree.
fn judge_rtl(out: &mut impl Write, bench: &Path, instructions: u64, seed: u64) -> Done {
    let start = Instant::now();
    let scores = rtl::run(bench, instructions, seed)?;
    write!(out, "{scores}")?;
    let compared = scores.instructions();
    writeln!(out, "{compared} instructions from seed {seed} on ({:.1?})", start.elapsed())?;
    if scores.differ() {
        return Err("the model differs from the RTL: see the first difference of each row".into());
    }
    Ok(())
}

fn run(judge: &Judge) -> Done {
    let mut out = std::io::stdout();
    let start = Instant::now();
    match *judge {
        Judge::Lockstep { core, instructions, seed, bytes, passes } => {
            let plan = Plan { core, instructions, seed, bytes, passes };
            let mut shown = 0;
            let score = lockstep::run(&plan, |score| {
                if score.instructions / 10_000_000 > shown {
                    shown = score.instructions / 10_000_000;
                    // Progress is optional: a closed pipe is not a reason to stop.
                    let _ = writeln!(
                        std::io::stderr(),
                        "{core}: {} of {instructions} instructions, {:.0?}",
                        score.instructions,
                        start.elapsed()
                    );
                }
            })?;
            report(&mut out, core, seed, &score, start)?;
        }
        Judge::RiscV { instructions, seed } => {
            let score = riscv::run(instructions, seed, |_| {})?;
            report(&mut out, CoreKind::Hazard3, seed, &score, start)?;
        }
        Judge::Rtl { ref bench, instructions, seed } => {
            judge_rtl(&mut out, bench, instructions, seed)?;
        }
        Judge::ArmR { instructions, seed } => {
            let scores = armr::run(instructions, seed, |_| {})?;
            report(&mut out, CoreKind::CortexR5, seed, &scores.all, start)?;
            let modes = ["user", "FIQ", "IRQ", "supervisor", "abort", "undefined", "system"];
            for (set, counts) in ["A32", "T32"].iter().zip(scores.by_mode) {
                let counts =
                    modes.iter().zip(counts).map(|(mode, count)| format!("{mode} {count}"));
                writeln!(out, "  {set}: {}", counts.collect::<Vec<_>>().join(", "))?;
            }
            let [undefined, data, code] = scores.exceptions;
            writeln!(
                out,
                "  exceptions: {undefined} undefined instructions, {data} data aborts, \
                 {code} prefetch aborts"
            )?;
        }
        Judge::Decoder { core, seconds, seed } => {
            let comparison = Comparison::new(core);
            for agreement in [comparison.all_narrow(), comparison.sample_wide(seconds, seed)] {
                writeln!(
                    out,
                    "{core}: {} encodings compared, {} differ without an excuse",
                    agreement.compared,
                    agreement.disagreements.len()
                )?;
                for (why, uses) in agreement.excused {
                    writeln!(out, "  {uses:8}  {why}")?;
                }
                if let Some((encoding, ours)) = agreement.disagreements.first() {
                    let whose = if *ours { "ours" } else { "the other decoder's" };
                    return Err(
                        format!("{encoding:#010x} is an instruction of {whose} only").into()
                    );
                }
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Arguments::parse().judge) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}
