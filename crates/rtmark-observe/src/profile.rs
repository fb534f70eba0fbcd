//! Where the cycles go: by function with its callers, by address, by source line.
//!
//! Every cycle of a run belongs to one instruction, to the entry of an exception, or to
//! sleep, and each of these to one stack of functions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use rtmark_model::Line;
use rtmark_sim::{Instruction, Machine, Observer, Symbols};
use schemars::JsonSchema;
use serde::Serialize;

use crate::calls::{Calls, Node};
use crate::functions::Pages;
use crate::lines::Lines;

/// What sleep is called among the functions.
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

/// What a function cost, by itself and with all that it called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FunctionCost {
    /// The function as the source names it; in brackets: an exception's entry, sleep, or an
    /// address without a symbol.
    pub name: String,
    /// Cycles of its own instructions.
    pub exclusive_cycles: u64,
    /// And of all that was called from it, exceptions left out.
    pub inclusive_cycles: u64,
    /// Its own instructions.
    pub instructions: u64,
    /// How often it was called, or its task or handler began with it.
    pub calls: u64,
}

/// A finished profile.
#[derive(Clone, Debug)]
pub struct Report {
    /// By function, the most exclusive cycles first.
    pub functions: Vec<FunctionCost>,
    /// Stacks with their cycles: `main;work;memcpy 1234`.
    pub folded: Vec<String>,
    /// By source line, the most cycles first; empty without debug information.
    pub lines: Vec<(Line, Cost)>,
    /// All cycles.
    pub cycles: u64,
}

/// Follows a run and adds up.
#[derive(Debug)]
pub struct Profile<'a> {
    calls: Calls<'a>,
    /// By node.
    own: Vec<Cost>,
    places: Pages<Cost>,
    /// Up to which cycle everything has been counted.
    counted: u64,
    /// The newest instruction, and whose it is.
    newest: Option<(Node, u32)>,
}

impl<'a> Profile<'a> {
    /// Begins where the machine stands.
    pub fn new(machine: &Machine, symbols: &'a Symbols) -> Self {
        Self {
            calls: Calls::new(symbols),
            own: Vec::new(),
            places: Pages::default(),
            counted: machine.cycles().0,
            newest: None,
        }
    }

    /// Cycles since the last time that this was asked.
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

    /// Adds everything up.
    pub fn report(&self, lines: Option<&Lines<'_>>) -> Report {
        let mut by_line: BTreeMap<Line, Cost> = BTreeMap::new();
        if let Some(lines) = lines {
            let mut places: Vec<_> =
                self.places.iter().filter(|(_, cost)| **cost != Cost::default()).collect();
            places.sort_unstable_by_key(|(address, _)| *address);
            for (address, cost) in places {
                if let Some(line) = lines.at(address) {
                    by_line.entry(line).or_default().add(cost.cycles, cost.instructions);
                }
            }
        }
        let mut lines: Vec<_> = by_line.into_iter().collect();
        lines.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.cycles));
        Report {
            functions: self.functions(),
            folded: self.folded(),
            lines,
            cycles: self.own.iter().map(|cost| cost.cycles).sum(),
        }
    }

    fn costs(&self) -> impl Iterator<Item = (Node, Cost)> {
        let own = |node: Node| self.own.get(node.number()).copied().unwrap_or_default();
        self.calls.nodes().map(move |node| (node, own(node)))
    }

    fn functions(&self) -> Vec<FunctionCost> {
        let blank = |name: &String| FunctionCost {
            name: name.clone(),
            exclusive_cycles: 0,
            inclusive_cycles: 0,
            instructions: 0,
            calls: 0,
        };
        let calls = &self.calls;
        let mut functions: Vec<_> = calls.functions().names().iter().map(blank).collect();
        for (node, own) in self.costs() {
            let function = &mut functions[calls.function(node) as usize];
            function.exclusive_cycles += own.cycles;
            function.instructions += own.instructions;
            function.calls += calls.times(node);
            // A function that calls itself counts once.
            let above = calls.upwards(node).map(|node| calls.function(node));
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

    fn folded(&self) -> Vec<String> {
        let costly = self.costs().filter(|(_, own)| own.cycles > 0);
        let line = |(node, own): (Node, Cost)| {
            format!("{} {}", self.calls.path(node).join(";"), own.cycles)
        };
        let mut folded: Vec<_> = costly.map(line).collect();
        folded.sort_unstable();
        folded
    }
}

impl Observer for Profile<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        // A pipelined core lets the next instruction enter before the newest one is done.
        let cycles = self.elapsed(machine);
        match self.newest.take().filter(|_| cycles > 0) {
            Some((node, address)) => {
                self.add(node, cycles, 0);
                self.places.at(address).add(cycles, 0);
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
        self.places.at(instruction.address).add(cycles, 1);
        if let Some(node) = self.calls.innermost() {
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
