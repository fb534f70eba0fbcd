//! Whether the spans of a scenario execute the same code in two builds.

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

/// How many cycles pass between looks: a changed loop brings a hit for each of its instructions.
const LOOK: Cycles = Cycles(200_000);

/// What of an image's code is other than in an earlier build of it.
#[derive(Clone, Debug)]
pub struct CodeChange {
    before: Code,
    after: Code,
    functions: BTreeSet<String>,
}

impl CodeChange {
    /// Between two builds, as ELF files; `None` where one of them cannot be read.
    pub fn between(before: &[u8], after: &[u8]) -> Option<Self> {
        let (before, after) = (Code::of(before)?, Code::of(after)?);
        let functions = before.changed(&after);
        Some(Self { before, after, functions })
    }

    /// Whether constants and initial values are as they were.
    pub fn same_data(&self) -> bool {
        self.before.same_data(&self.after)
    }

    /// The changed functions of which the spans of a scenario execute something, in either build;
    /// `None` where that cannot be seen.
    pub fn in_spans(
        &self,
        (before, after): (&Probed, &Probed),
        soc: &Soc,
        scenario: &Scenario,
        budget: Cycles,
    ) -> Option<BTreeSet<String>> {
        if self.functions.is_empty() {
            return Some(BTreeSet::new());
        }
        let was = executed(&self.before, &self.functions, before, soc, scenario, budget)?;
        let is = executed(&self.after, &self.functions, after, soc, scenario, budget)?;
        Some(was.into_iter().chain(is).collect())
    }
}

/// Those of some functions that the spans execute.
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
    // Edges first: where a span begins, its first instruction is within, and where it ends, that
    // instruction is not.
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
        let until = session.machine.cycles().saturating_add(LOOK).min(budget);
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
