//! Tells whether the spans of a scenario execute the same code in two builds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rtmark_firmware::code::Code;
use rtmark_firmware::probes::Kind;
use rtmark_firmware::select;
use rtmark_model::Scenario;
use rtmark_sim::{Soc, Watch, WatchId};
use rtmark_units::Cycles;

use crate::measure::Probed;
use crate::pair::Edge;
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

/// The code of an image that differs from an earlier build.
#[derive(Clone, Debug)]
pub struct CodeChange {
    before: Code,
    after: Code,
    functions: BTreeSet<String>,
    /// Functions with words that may be addresses which moved, or numbers which were changed.
    unclear: BTreeSet<String>,
}

impl CodeChange {
    /// Compares two builds, given as ELF files; returns `None` if one of them cannot be read.
    pub fn between(before: &[u8], after: &[u8]) -> Option<Self> {
        let (before, after) = (Code::of(before)?, Code::of(after)?);
        let (functions, unclear) = (before.changed(&after), before.unclear(&after));
        Some(Self { before, after, functions, unclear })
    }

    /// Tells whether constants and initial values are unchanged, as far as words that may be addresses show.
    pub fn same_data(&self) -> bool {
        self.before.same_data(&self.after)
    }

    /// Returns the functions that differ in this way and of which the spans of a scenario execute something,
    /// in either build; `None` if that cannot be determined.
    pub fn in_spans(
        &self,
        difference: CodeDifference,
        (before, after): (&Probed, &Probed),
        soc: &Soc,
        scenario: &Scenario,
        budget: Cycles,
    ) -> Option<BTreeSet<String>> {
        let functions = match difference {
            CodeDifference::Changed => &self.functions,
            CodeDifference::Unclear => &self.unclear,
        };
        if functions.is_empty() {
            return Some(BTreeSet::new());
        }
        let was = executed(&self.before, functions, before, soc, scenario, budget)?;
        let is = executed(&self.after, functions, after, soc, scenario, budget)?;
        Some(was.into_iter().chain(is).collect())
    }
}

/// Returns those of some functions that the spans execute.
fn executed(
    code: &Code,
    functions: &BTreeSet<String>,
    probed: &Probed,
    soc: &Soc,
    scenario: &Scenario,
    budget: Cycles,
) -> Option<BTreeSet<String>> {
    let mut session = Session::new(soc, &probed.image).ok()?;
    let machine = &mut session.machine;
    let id = scenario.held_back.as_ref().map_or(&scenario.id, |held_back| &held_back.program);
    select(machine, &probed.image, &probed.records, id).ok()?;
    let mut inside = false;
    // Edges first: the first instruction of a span is inside it, and the instruction at its end is not.
    let mut edges: HashMap<WatchId, Edge> = HashMap::new();
    for record in probed.records.iter().filter(|record| record.scenario == *scenario.in_firmware())
    {
        inside |= matches!(record.kind, Kind::BeginAtReset);
        let Some((watch, edge)) = Edge::watched(record.kind) else { continue };
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
            for hit in machine.take_hits() {
                match (edges.get(&hit.watch), watched.get(&hit.watch)) {
                    (Some(edge), _) => inside = *edge == Edge::Begin,
                    (None, Some(function)) if inside => {
                        found.insert(String::clone(function));
                    }
                    _ => {}
                }
            }
            machine.take_console();
        });
        let all = found.len() == functions.len();
        match ending {
            Ending::Limit if session.machine.cycles() < budget && !all => {}
            Ending::Internal(_) => return None,
            _ => return Some(found),
        }
    }
}
