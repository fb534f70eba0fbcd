//! Turns the results of runs into answers with their provenance.

use rtmark_board::Capture;
use rtmark_model::{Answer, Basis, Board, Key, Overhead, Provenance, Readings, Sampled, Series};
use rtmark_units::Cycles;

use super::{Done, LineTables, Suite, Task};
use crate::images::Program;
use crate::measure::Measured;
use crate::observer::SuiteObserver;
use crate::placed::Placed;
use crate::platform::Platform;
use crate::recording::Recorded;

impl Suite {
    /// Returns the observer's stored answer to a task, as if it had been measured now.
    pub(super) fn recalled<O: SuiteObserver>(
        &self,
        task: &Task<'_>,
        key: Key,
        commit: Option<&str>,
        observer: &mut O,
    ) -> Option<Answer> {
        let Answer::Measured(known) = observer.recall(task.question.as_ref()?)? else {
            return None;
        };
        let Readings::Exact(samples) = known.readings else { return None };
        let measured = Measured {
            samples,
            executed: known.executed,
            unpaired: known.unpaired,
            facts: known.facts,
            masked: None,
            held: known.held.map(Box::new),
            ran: Cycles::ZERO,
            declined: None,
        };
        let mut series = self.series(task, key, measured, commit);
        (series.masked, series.emptied) = (known.masked, known.emptied);
        (series.placements, series.provenance.firmware) =
            (known.placements, known.provenance.firmware);
        Some(Answer::Measured(Box::new(series)))
    }

    /// Turns a run's result into an answer; `chip` is the board's description of itself.
    pub(super) fn answer<'a>(
        &self,
        task: &Task<'a>,
        done: Done,
        chip: Option<Board>,
        commit: Option<&str>,
        lines: &mut LineTables<'a>,
    ) -> Answer {
        let key = task.unit.key(task.scenario);
        let Placed { measured, emptied, middle, placements } = match done {
            Ok(placed) => placed,
            Err(failure) => return Answer::Failed { key, failure },
        };
        if let Some(reason) = measured.declined {
            return Answer::NotApplicable { key, reason };
        }
        let layouts = task.images();
        let image = layouts.get(middle).copied().unwrap_or(task.image);
        let masked = measured.masked;
        let mut series = self.series(task, key, measured, commit);
        if let (Some(masked), Program::Observed(probed)) = (masked, &image.program) {
            let map = probed.map(&image.firmware.elf_sha256, lines);
            series.masked = Some(map.masked(&masked));
        }
        series.provenance.firmware = image.firmware.clone();
        (series.emptied, series.placements) = (emptied, placements);
        if chip.is_some() {
            series.provenance.board = chip;
        }
        Answer::Measured(Box::new(series))
    }

    pub(super) fn series(
        &self,
        task: &Task<'_>,
        key: Key,
        measured: Measured,
        commit: Option<&str>,
    ) -> Series {
        let unit = task.unit;
        let mut span = task.scenario.span.clone();
        if matches!(task.image.program, Program::Clocked(_)) {
            span.overhead = Overhead::Subtracted;
        }
        Series {
            key,
            basis: unit.platform.basis(),
            span,
            clock: unit.platform.clock(),
            readings: match &unit.platform {
                Platform::Board(_) => {
                    let samples = measured.samples.0;
                    Readings::Sampled(Sampled { resolution: 1, samples })
                }
                _ => Readings::Exact(measured.samples),
            },
            executed: measured.executed,
            unpaired: measured.unpaired,
            facts: measured.facts,
            flags: Vec::new(),
            masked: None,
            held: measured.held.map(|held| *held),
            emptied: None,
            placements: Vec::new(),
            no_multiple: task.scenario.no_multiple.clone(),
            provenance: self.provenance(task, commit),
        }
    }

    fn provenance(&self, task: &Task<'_>, commit: Option<&str>) -> Provenance {
        let platform = &task.unit.platform;
        let modelled = matches!(platform, Platform::Sim(..) | Platform::Rehearsal(_))
            && platform.basis() == Basis::Cycles;
        Provenance {
            rtmark: self.rtmark.clone(),
            rtmark_sha256: self.rtmark_sha256.clone(),
            timing_model: modelled.then(|| rtmark_sim::TIMING_MODEL.to_owned()),
            timing_basis: platform.timing_basis(),
            emulator: task.image.emulator.clone(),
            soc_sha256: platform.sha256().to_owned(),
            core: platform.core().to_owned(),
            firmware: task.image.firmware.clone(),
            compiler: task.image.compiler.clone(),
            settings: task.image.settings.clone(),
            commit: commit.map(str::to_owned),
            log: None,
            board: match platform {
                Platform::Board(bench) => Some(Board {
                    name: bench.file.board.name.clone(),
                    link: bench.link.clone(),
                    chip: bench.file.board.chip.clone(),
                    chip_id: None,
                }),
                _ => None,
            },
        }
    }

    /// Packs a scenario's run into a recording entry.
    pub(super) fn recorded(
        &self,
        task: &Task<'_>,
        capture: Capture,
        commit: Option<&str>,
    ) -> Option<Recorded> {
        let Program::Clocked(image) = &task.image.program else { return None };
        let mut provenance = self.provenance(task, commit);
        if let Some(board) = &mut provenance.board {
            board.chip_id = capture.chip_id;
        }
        Some(Recorded::new(
            task.unit.key(task.scenario),
            task.unit.platform.clock(),
            provenance,
            image,
            task.scenario,
            &capture.console,
        ))
    }
}
