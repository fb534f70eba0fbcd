//! Scores the Hazard3 against cycle traces of its RTL.
//!
//! The traces are stored beside the measurements of chips, in `rtl`, and are not part of the
//! project either. The model executes every program without being given its path, and everything
//! the RTL did is compared: the cycle of each instruction, traps, register writes, and registers
//! and memory at the end.

mod program;
mod replay;
mod score;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::Failure;
use crate::corpus;
use program::{Line, Meta, Program, bytes};
use replay::agreement;
use score::{Kind, Scores};

/// The argument that requests these scores.
pub const WORD: &str = "rtl";

const FILE: &str = "hazard3-cycles-train.jsonl.xz";

/// Returns the file of traces, if it exists.
pub fn file(measurements: &Path) -> Option<PathBuf> {
    let file = measurements.parent()?.join("rtl").join(FILE);
    file.is_file().then_some(file)
}

/// Reads the common settings, and the programs with their kinds.
fn read(file: &Path) -> Result<(Meta, Vec<(Kind, Program)>), Failure> {
    let (mut meta, mut programs) = (None, Vec::new());
    for line in corpus::read::<Line>(file)? {
        match line {
            Line::Meta { base, data_base, data_block } => {
                let data = bytes(&data_block).ok_or("the data block is not hexadecimal text")?;
                meta = Some(Meta { base, data_base, data });
            }
            Line::Random(program) => programs.push((Kind::Random, program)),
            Line::Micro(program) => programs.push((Kind::Micro, program)),
            Line::Irq(program) => programs.push((Kind::Interrupts, program)),
            Line::C(program) => programs.push((Kind::Compiled, program)),
        }
    }
    let meta = meta.ok_or("the file lacks its first line, which states the programs' address")?;
    Ok((meta, programs))
}

/// Returns the scores of all programs.
fn scores(file: &Path) -> Result<Scores, Failure> {
    let (meta, programs) = read(file)?;
    let each = programs.par_iter().flat_map_iter(|(kind, program)| {
        let meta = &meta;
        program.runs.iter().map(move |run| {
            let id = &program.id;
            let agreement = agreement(meta, program, run)
                .ok_or_else(|| format!("{id}: the program cannot be run; is the file complete?"))?;
            Ok((*kind, program.id.as_str(), run, agreement))
        })
    });
    let each: Vec<Result<_, Failure>> = each.collect();
    let mut scores = Scores::default();
    for one in each {
        let (kind, id, run, agreement) = one?;
        scores.add(kind, id, (run.iw, run.dw), agreement);
    }
    Ok(scores)
}

/// Prints the scores, or the differing runs of programs whose id contains a text.
pub fn tell(measurements: &Path, missed: Option<&str>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let Some(file) = file(measurements) else {
        writeln!(
            out,
            "no traces of RTL beside {}: nothing scored (RTMARK_SILICON names another place)",
            measurements.display()
        )?;
        return Ok(());
    };
    match missed {
        None => writeln!(out, "{}", scores(&file)?.table())?,
        Some(text) => print_missed(&mut out, &file, text)?,
    }
    Ok(())
}

fn print_missed(out: &mut impl std::io::Write, file: &Path, text: &str) -> Result<(), Failure> {
    let (meta, programs) = read(file)?;
    for (_, program) in programs.iter().filter(|(_, program)| program.id.contains(text)) {
        for run in &program.runs {
            let Some(agreement) = agreement(&meta, program, run) else { continue };
            if agreement.is_whole() {
                continue;
            }
            let replay::Agreement { registers, writes, memory, traps, .. } = agreement;
            writeln!(
                out,
                "{} {}/{}: {} of {} instructions, {} of {} entries; registers {registers}, writes {writes}, memory {memory}, traps {traps}",
                program.id,
                run.iw,
                run.dw,
                agreement.exact,
                agreement.instructions,
                agreement.exact_entries,
                agreement.entries,
            )?;
            let (Some(deltas), Some((trace, _))) =
                (run.deltas(), replay::execute(&meta, program, run))
            else {
                continue;
            };
            let places = replay::places(program, run, deltas.len()).unwrap_or_default();
            let before = std::iter::once((0, run.t0)).chain(trace.left.iter().copied());
            let own = before.zip(&trace.left).map(|((_, from), (place, to))| (*place, to - from));
            let differs = own.zip(places.into_iter().zip(deltas)).enumerate();
            for (index, (own, rtl)) in differs.filter(|(_, (own, rtl))| own != rtl).take(4) {
                writeln!(
                    out,
                    "  {index}: {:#x} in {}, not {:#x} in {}",
                    own.0, own.1, rtl.0, rtl.1
                )?;
            }
            for (own, rtl) in trace
                .traps
                .iter()
                .zip(run.traps.iter().flatten())
                .filter(|(own, rtl)| own != rtl)
                .take(4)
            {
                writeln!(out, "  trap {own:?}, not {rtl:?}")?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hazard3_matches_its_rtl_cycle_for_cycle() {
        let folder = crate::folder(None);
        let Some(file) = file(&folder) else {
            let mut say = std::io::stderr();
            writeln!(say, "not scored: no traces of RTL beside {}", folder.display())
                .expect("told");
            return;
        };
        let scores = scores(&file).expect("scored");
        assert!(!scores.0.is_empty(), "no programs");
        for ((kind, waits), halves) in &scores.0 {
            for score in halves {
                let score::Score { runs, instructions, entries, .. } = *score;
                let found = (score.whole, score.exact, score.exact_entries);
                assert_eq!(found, (runs, instructions, entries), "{kind} {waits:?}");
                let ends = [score.registers, score.memory, score.writes, score.traps];
                assert_eq!(ends, [runs; 4], "{kind} {waits:?}");
            }
        }
    }
}
