//! Tells whether the spans of a scenario execute the same code in two builds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rtmark_firmware::code::{Code, CodeError, Differences};
use rtmark_firmware::probes::Kind;
use rtmark_firmware::select;
use rtmark_model::Scenario;
use rtmark_observe::Edge;
use rtmark_sim::{Soc, Watch, WatchId};
use rtmark_units::Cycles;

use crate::measure::Probed;
use crate::probe_watch::probe_watch;
use crate::run::{Ending, Session};

/// The number of cycles between looks: a changed loop causes a hit for each of its instructions.
const POLL_INTERVAL: Cycles = Cycles(200_000);

/// How a function differs between two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeDifference {
    /// Its code was changed.
    Changed,
    /// Only by words that may be addresses which moved, or numbers which were changed.
    Unclear,
}

/// One of two builds that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// The one before the change.
    Earlier,
    /// The one after it.
    Later,
}

/// The code of an image that differs from an earlier build.
#[derive(Clone, Debug)]
pub struct CodeChange {
    before: Code,
    after: Code,
    functions: Differences,
    same_data: bool,
}

impl CodeChange {
    /// Compares two builds, given as ELF files.
    ///
    /// # Errors
    /// When the code of one of them cannot be compared: [`Build`] says which.
    pub fn between(before: &[u8], after: &[u8]) -> Result<Self, (Build, CodeError)> {
        let before = Code::of(before).map_err(|error| (Build::Earlier, error))?;
        let after = Code::of(after).map_err(|error| (Build::Later, error))?;
        let (functions, same_data) = (before.differences(&after), before.same_data(&after));
        Ok(Self { before, after, functions, same_data })
    }

    /// Tells whether constants and initial values are unchanged, as far as words that may be addresses show.
    pub fn same_data(&self) -> bool {
        self.same_data
    }

    /// Returns the functions that differ in this way and of which the spans of a scenario execute something,
    /// in either build.
    ///
    /// # Errors
    /// When one of the builds cannot be run so: which, and why.
    pub fn in_spans(
        &self,
        difference: CodeDifference,
        (before, after): (&Probed, &Probed),
        soc: &Soc,
        scenario: &Scenario,
        budget: Cycles,
    ) -> Result<BTreeSet<String>, (Build, String)> {
        let functions = match difference {
            CodeDifference::Changed => &self.functions.changed,
            CodeDifference::Unclear => &self.functions.unclear,
        };
        if functions.is_empty() {
            return Ok(BTreeSet::new());
        }
        let was = executed(&self.before, functions, before, soc, scenario, budget);
        let was = was.map_err(|error| (Build::Earlier, error))?;
        let is = executed(&self.after, functions, after, soc, scenario, budget);
        let is = is.map_err(|error| (Build::Later, error))?;
        Ok(was.into_iter().chain(is).collect())
    }
}

/// Returns those of some functions that the spans execute, or why the run cannot be repeated.
fn executed(
    code: &Code,
    functions: &BTreeSet<String>,
    probed: &Probed,
    soc: &Soc,
    scenario: &Scenario,
    budget: Cycles,
) -> Result<BTreeSet<String>, String> {
    let mut session = Session::new(soc, &probed.image).map_err(|error| error.to_string())?;
    let machine = &mut session.machine;
    let id = scenario.held_back.as_ref().map_or(&scenario.id, |held_back| &held_back.program);
    select(machine, &probed.image, &probed.records, id).map_err(|error| error.to_string())?;
    let mut inside = false;
    // Edges first: the first instruction of a span is inside it, and the instruction at its end is not.
    let mut edges: HashMap<WatchId, Edge> = HashMap::new();
    for record in probed.records.iter().filter(|record| record.scenario == *scenario.in_firmware())
    {
        inside |= matches!(record.kind, Kind::BeginAtReset);
        let Some((watch, edge)) = probe_watch(record.kind) else { continue };
        edges.insert(machine.watch(watch), edge);
    }
    let mut watched: BTreeMap<WatchId, &String> = BTreeMap::new();
    for function in functions {
        for address in code.instructions(function) {
            watched.insert(machine.watch(Watch::Execute(address)), function);
        }
    }
    let mut found = BTreeSet::new();
    loop {
        let until = session.machine.cycles().saturating_add(POLL_INTERVAL).min(budget);
        let ending = session.run(until, |machine| {
            for hit in machine.hits() {
                match (edges.get(&hit.watch), watched.get(&hit.watch)) {
                    (Some(edge), _) => inside = *edge == Edge::Begin,
                    (None, Some(function)) if inside => {
                        found.insert(String::clone(function));
                    }
                    _ => {}
                }
            }
            machine.clear_hits();
            machine.take_console();
        });
        let all = found.len() == functions.len();
        match ending {
            Ending::Limit if session.machine.cycles() < budget && !all => {}
            Ending::Internal(error) => return Err(error.to_string()),
            _ => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests;
