//! Profiles where the cycles go: by function with its callers, by address, by source line.
//!
//! Every cycle of a run belongs to an instruction, to the entry of an exception, or to sleep, and each
//! of these belongs to one call stack.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use rtmark_model::Source;
use rtmark_sim::{Instruction, Machine, Observer, Register, Symbols};
use schemars::JsonSchema;
use serde::Serialize;

use crate::calls::{Calls, Node};
use crate::functions::{display_name, shared_name};
use crate::hash::FastBuildHasher;
use crate::lines::Lines;

/// The name of sleep in the list of functions.
pub(crate) const SLEEP: &str = "[sleep]";

/// Cycles and instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Clock cycles.
    pub cycles: u64,
    /// Instructions executed.
    pub instructions: u64,
}

impl Cost {
    fn add(&mut self, cycles: u64, instructions: u64) {
        self.cycles += cycles;
        self.instructions += instructions;
    }
}

/// What a function cost, by itself and including everything that it called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FunctionCost {
    /// The function as named in the source; in brackets, an exception's entry, sleep, or an address
    /// without a symbol.
    pub name: String,
    /// Cycles of its own instructions.
    pub exclusive_cycles: u64,
    /// Cycles of its own instructions and of everything called from it, without exceptions.
    pub inclusive_cycles: u64,
    /// Its own instructions.
    pub instructions: u64,
    /// How often it was called, or started as a task or handler.
    pub calls: u64,
    /// Where the functions begin that have this name and ran, if there are several: the figures are
    /// their sums.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namesakes: Vec<u32>,
}

impl FunctionCost {
    /// Returns the name for a table: with the number of functions that have it, if there are several.
    pub fn label(&self) -> String {
        shared_name(&self.name, &self.namesakes)
    }
}

/// A finished profile.
#[derive(Clone, Debug)]
pub struct Report {
    /// The functions, the most exclusive cycles first.
    pub functions: Vec<FunctionCost>,
    /// Folded stacks with their cycles: `main;work;memcpy 1234`. With debug information they include
    /// inlined functions, marked in the way that flame-graph tools understand: `main;work;next_[i] 56`.
    pub folded: Vec<String>,
    /// The costs by source line, and by what was inlined there; the author's own line if there is one.
    /// The most cycles first; empty without debug information.
    pub lines: Vec<(Source, Cost)>,
    /// The total number of cycles.
    pub cycles: u64,
}

/// A node's number, and an address.
type Place = (u32, u32);

/// Follows a run and sums up costs.
#[derive(Debug)]
pub struct Profile<'a> {
    calls: Calls<'a>,
    /// The cost of each node.
    own: Vec<Cost>,
    /// The cost by call stack and instruction address.
    places: HashMap<Place, Cost, FastBuildHasher>,
    /// The cycle up to which everything has been counted.
    counted: u64,
    /// The latest instruction, and its node.
    newest: Option<(Node, u32)>,
}

impl<'a> Profile<'a> {
    /// Begins at the machine's position.
    pub fn new(machine: &Machine, symbols: &'a Symbols) -> Self {
        Self {
            calls: Calls::new(symbols),
            own: Vec::new(),
            places: HashMap::default(),
            counted: machine.cycles().0,
            newest: None,
        }
    }

    /// Returns the cycles since the last call.
    fn elapsed(&mut self, machine: &Machine) -> u64 {
        let now = machine.cycles().0;
        let elapsed = now.saturating_sub(self.counted);
        self.counted = now;
        elapsed
    }

    fn add(&mut self, node: Node, cycles: u64, instructions: u64) {
        if self.own.len() <= node.number() {
            self.own.resize(node.number() + 1, Cost::default());
        }
        self.own[node.number()].add(cycles, instructions);
    }

    fn place(&mut self, node: Node, address: u32) -> &mut Cost {
        self.places.entry((node.number() as u32, address)).or_default()
    }

    /// Sums everything up, at the end of the machine's run.
    pub fn report(mut self, machine: &Machine, lines: Option<&Lines<'_>>) -> Report {
        // What was not complete, such as the instruction by which the program exited.
        let rest = self.elapsed(machine);
        let current = || Some((self.calls.innermost()?, machine.register(Register::Pc)));
        if rest > 0
            && let Some((node, address)) = self.newest.or_else(current)
        {
            self.add(node, rest, 0);
            self.place(node, address).add(rest, 0);
        }
        let mut by_address: BTreeMap<u32, Cost> = BTreeMap::new();
        for ((_, address), cost) in &self.places {
            by_address.entry(*address).or_default().add(cost.cycles, cost.instructions);
        }
        let mut by_line: BTreeMap<Source, Cost> = BTreeMap::new();
        for (address, cost) in &by_address {
            if let Some(line) = lines.and_then(|lines| lines.source(*address)) {
                by_line.entry(line).or_default().add(cost.cycles, cost.instructions);
            }
        }
        let folded = self.folded(lines, by_address.keys().copied());
        let mut lines: Vec<_> = by_line.into_iter().collect();
        lines.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.cycles));
        Report {
            functions: self.functions(),
            folded,
            lines,
            cycles: self.own.iter().map(|cost| cost.cycles).sum(),
        }
    }

    fn costs(&self) -> impl Iterator<Item = (Node, Cost)> {
        let own = |node: Node| self.own.get(node.number()).copied().unwrap_or_default();
        self.calls.nodes().map(move |node| (node, own(node)))
    }

    fn functions(&self) -> Vec<FunctionCost> {
        let calls = &self.calls;
        let blank = |(number, name): (usize, &String)| FunctionCost {
            name: name.clone(),
            namesakes: calls.functions().namesakes(number as u32),
            exclusive_cycles: 0,
            inclusive_cycles: 0,
            instructions: 0,
            calls: 0,
        };
        let mut functions: Vec<_> =
            calls.functions().names().iter().enumerate().map(blank).collect();
        for (node, own) in self.costs() {
            let function = &mut functions[calls.function(node) as usize];
            function.exclusive_cycles += own.cycles;
            function.instructions += own.instructions;
            function.calls += calls.times(node);
            // A recursive function counts once.
            let above = calls.ancestors(node).map(|node| calls.function(node));
            for name in above.collect::<BTreeSet<_>>() {
                functions[name as usize].inclusive_cycles += own.cycles;
            }
        }
        functions.retain(|function| function.inclusive_cycles > 0);
        functions.sort_by(|one, other| {
            let key = |f: &FunctionCost| (f.exclusive_cycles, f.inclusive_cycles);
            key(other).cmp(&key(one)).then_with(|| one.name.cmp(&other.name))
        });
        functions
    }

    /// Returns the folded stacks with their cycles; `addresses` has those of all instructions.
    fn folded(
        &self,
        lines: Option<&Lines<'_>>,
        addresses: impl Iterator<Item = u32>,
    ) -> Vec<String> {
        let inlined: HashMap<u32, String> =
            addresses.filter_map(|address| Some((address, inlined(lines?, address)?))).collect();
        let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
        let mut paths: HashMap<u32, String> = HashMap::new();
        for (node, own) in self.costs() {
            let path = self.calls.path(node).join(";");
            *stacks.entry(path.clone()).or_default() += own.cycles;
            paths.insert(node.number() as u32, path);
        }
        // The cost of inlined functions is their own.
        for ((node, address), cost) in &self.places {
            let (Some(path), Some(inlined)) = (paths.get(node), inlined.get(address)) else {
                continue;
            };
            if let Some(own) = stacks.get_mut(path) {
                *own = own.saturating_sub(cost.cycles);
            }
            *stacks.entry(format!("{path}{inlined}")).or_default() += cost.cycles;
        }
        let stacks = stacks.into_iter().filter(|(_, cycles)| *cycles > 0);
        stacks.map(|(path, cycles)| format!("{path} {cycles}")).collect()
    }
}

/// Returns the functions inlined at an address, the outermost first: `;take_[i];min_[i]`.
fn inlined(lines: &Lines<'_>, address: u32) -> Option<String> {
    let frames = lines.inlined_at(address);
    let (_, inlined) = frames.split_last()?;
    let names = inlined.iter().rev().filter_map(|frame| frame.function.as_deref());
    let names: Vec<_> = names.map(|name| format!("{}_[i]", display_name(name))).collect();
    (!names.is_empty()).then(|| format!(";{}", names.join(";")))
}

impl Observer for Profile<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        // A pipelined core lets the next instruction enter before the latest one is done.
        let cycles = self.elapsed(machine);
        match self.newest.take().filter(|_| cycles > 0) {
            Some((node, address)) => {
                self.add(node, cycles, 0);
                self.place(node, address).add(cycles, 0);
            }
            None => self.counted -= cycles,
        }
        self.calls.before(machine)
    }

    fn slept(&mut self, machine: &Machine) {
        self.newest = None;
        let cycles = self.elapsed(machine);
        let node = self.calls.leaf(self.calls.innermost(), SLEEP);
        self.add(node, cycles, 0);
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        let cycles = self.elapsed(machine);
        if let Some(node) = self.calls.innermost() {
            self.place(node, instruction.address).add(cycles, 1);
            self.add(node, cycles, 1);
            self.newest = Some((node, instruction.address));
        }
        self.calls.executed(machine, instruction);
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.newest = None;
        self.calls.entered(machine, exception);
        let cycles = self.elapsed(machine);
        if let Some(node) = self.calls.innermost() {
            self.add(node, cycles, 0);
        }
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.newest = None;
        self.calls.returned(machine, exception);
    }
}

#[cfg(test)]
mod tests {
    use rtmark_sim::{Cycles, Image, Soc, Stop};

    use super::*;

    #[test]
    fn the_last_instructions_cycles_are_counted() {
        let soc = include_str!("../../../socs/generic-hazard3.toml");
        let soc = Soc::from_toml(soc).expect("a soc");
        // li a0, 0x18; li a1, 0x20026; and the call of semihosting by which a program exits.
        let words: [u32; 6] =
            [0x0180_0513, 0x0002_05B7, 0x0265_8593, 0x01F0_1013, 0x0010_0073, 0x4070_5013];
        let bytes = words.map(u32::to_le_bytes).concat();
        let image = Image::from_bytes(&bytes, soc.vector_base()).expect("an image");
        let mut machine = Machine::new(&soc);
        machine.load(&image).expect("fits");
        let mut profile = Profile::new(&machine, image.symbols());
        let stop = machine.run_observed(Cycles(1_000), &mut profile);
        assert!(matches!(stop, Stop::Exit { .. }), "{stop:?}");
        assert_eq!(profile.report(&machine, None).cycles, machine.cycles().0);
    }
}
