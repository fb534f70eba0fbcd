//! Attributes each cycle of a span to what it was spent on.
//!
//! The cycles from one moment to another are split among the functions that executed, exception
//! entries, exception returns, and sleep. Together they equal the span's length exactly. Cycles that a
//! pipelined core takes to execute an instruction after it has fetched the next one belong to the
//! earlier instruction.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use rtmark_sim::{Cycles, Instruction, Machine, Observer, Symbols};
use schemars::JsonSchema;
use serde::Serialize;

use crate::calls::{Calls, Node};
use crate::profile::SLEEP;
use crate::role::Role;

/// The name of exception returns in the list of functions.
pub(crate) const RETURN: &str = "[exception return]";

/// What a function or other item cost within a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Share {
    /// Clock cycles, without those of the functions it called.
    pub cycles: u64,
    /// Of these, the cycles in which a memory made the core wait: wait states, cache misses. In a
    /// pipeline some of them may have been hidden behind other instructions.
    pub stalled_cycles: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// How often it was called, or started as a task or handler.
    pub calls: u64,
}

impl Share {
    pub(crate) fn add(&mut self, other: Self) {
        self.cycles += other.cycles;
        self.stalled_cycles += other.stalled_cycles;
        self.instructions += other.instructions;
        self.calls += other.calls;
    }
}

/// A function's share of a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Part {
    /// The kind of work it does. A function that runs in threads and in handlers has one part of each
    /// kind.
    pub role: Role,
    /// The function as named in the source; in brackets, an exception's entry or return, sleep, or an
    /// address without a symbol.
    pub function: String,
    /// Its own cost.
    #[serde(flatten)]
    pub own: Share,
    /// Its cycles including everything called from it.
    pub inclusive_cycles: u64,
}

/// What a span's cycles were spent on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpanCost {
    /// The total, which is the sum of the parts.
    #[serde(flatten)]
    pub whole: Share,
    /// The parts, the most expensive first.
    pub parts: Vec<Part>,
}

/// Follows a run from before a span begins until it has ended.
#[derive(Debug)]
pub struct Attribution<'a> {
    calls: Calls<'a>,
    from: u64,
    to: u64,
    /// The cost of each node.
    own: Vec<Share>,
    /// How often each node had been called when the span began.
    called_before: Option<Vec<u64>>,
    /// The cycle up to which everything has been attributed, and the memory waits until then.
    counted: u64,
    waited: u64,
    /// The latest instruction, whose cycles may not have ended.
    newest: Option<(Node, Share)>,
}

impl<'a> Attribution<'a> {
    /// Creates an attribution of the cycles from `from` to `to`, where the run ends.
    pub fn new(machine: &Machine, symbols: &'a Symbols, from: Cycles, to: Cycles) -> Self {
        Self {
            calls: Calls::new(symbols),
            from: from.0,
            to: to.0,
            own: Vec::new(),
            called_before: None,
            counted: machine.cycles().0,
            waited: machine.waited().0,
            newest: None,
        }
    }

    /// Returns what has elapsed since the last call, as far as it belongs to the span.
    fn elapsed(&mut self, machine: &Machine) -> Share {
        let (now, waited) = (machine.cycles().0, machine.waited().0);
        let began = self.counted.max(self.from);
        let cycles = now.min(self.to).saturating_sub(began);
        let stalled_cycles = waited.saturating_sub(self.waited).min(cycles);
        (self.counted, self.waited) = (now.max(self.counted), waited);
        Share { cycles, stalled_cycles, ..Share::default() }
    }

    fn is_inside(&self) -> bool {
        (self.from..self.to).contains(&self.counted)
    }

    fn add(&mut self, node: Node, share: Share) {
        if self.own.len() <= node.number() {
            self.own.resize(node.number() + 1, Share::default());
        }
        self.own[node.number()].add(share);
    }

    fn settle(&mut self) {
        if let Some((node, share)) = self.newest.take() {
            self.add(node, share);
        }
    }

    /// Keeps how often everything has been called, once the span has begun.
    fn count_calls_before(&mut self) {
        if self.called_before.is_none() && self.counted >= self.from {
            self.called_before = Some(self.calls.nodes().map(|n| self.calls.times(n)).collect());
        }
    }

    /// Attributes cycles that passed without an event of their own to the latest instruction.
    fn attribute_elapsed(&mut self, machine: &Machine) {
        let share = self.elapsed(machine);
        match (&mut self.newest, self.calls.innermost()) {
            (Some((_, newest)), _) => newest.add(share),
            (None, Some(node)) => self.add(node, share),
            (None, None) if share.cycles > 0 => {
                let node = self.calls.leaf(None, RETURN);
                self.add(node, share);
            }
            (None, None) => {}
        }
    }

    /// Returns the result.
    pub fn cost(&self) -> SpanCost {
        let calls = &self.calls;
        let before = |node: Node| {
            self.called_before.as_ref().and_then(|times| times.get(node.number())).copied()
        };
        let mut parts: BTreeMap<(Role, u32), (Share, u64)> = BTreeMap::new();
        let role = |node: Node| {
            let outermost = calls.ancestors(node).last().unwrap_or(node);
            Role::of(calls.name(node), calls.name(outermost))
        };
        for node in calls.nodes() {
            let mut own = self.own.get(node.number()).copied().unwrap_or_default();
            if let Some((_, share)) = self.newest.filter(|(newest, _)| *newest == node) {
                own.add(share);
            }
            own.calls = calls.times(node) - before(node).unwrap_or(0);
            parts.entry((role(node), calls.function(node))).or_default().0.add(own);
            // A recursive function counts once.
            let above = calls.ancestors(node).map(|node| (role(node), calls.function(node)));
            for key in above.collect::<BTreeSet<_>>() {
                parts.entry(key).or_default().1 += own.cycles;
            }
        }
        let mut whole = Share::default();
        for (own, _) in parts.values() {
            whole.add(*own);
        }
        let named = |((role, function), (own, inclusive_cycles))| {
            let function = calls.functions().name(function).to_owned();
            Part { role, function, own, inclusive_cycles }
        };
        let mut parts: Vec<Part> = parts.into_iter().map(named).collect();
        parts.retain(|part| part.inclusive_cycles > 0 || part.own.instructions > 0);
        parts.sort_by(|one, other| {
            let key = |part: &Part| (part.own.cycles, part.inclusive_cycles);
            key(other).cmp(&key(one)).then_with(|| one.function.cmp(&other.function))
        });
        SpanCost { whole, parts }
    }
}

impl Observer for Attribution<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        self.attribute_elapsed(machine);
        self.settle();
        if machine.cycles().0 >= self.to {
            return ControlFlow::Break(());
        }
        self.count_calls_before();
        self.calls.before(machine)
    }

    fn slept(&mut self, machine: &Machine) {
        self.settle();
        let share = self.elapsed(machine);
        let node = self.calls.leaf(self.calls.innermost(), SLEEP);
        self.add(node, share);
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        let counts = self.is_inside();
        let mut share = self.elapsed(machine);
        share.instructions = u64::from(counts);
        if let Some(node) = self.calls.innermost() {
            self.newest = Some((node, share));
        }
        self.calls.executed(machine, instruction);
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.settle();
        self.count_calls_before();
        self.calls.entered(machine, exception);
        let share = self.elapsed(machine);
        if let Some(node) = self.calls.innermost() {
            self.add(node, share);
        }
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        // The latest instruction was the return; what has elapsed since belongs to it.
        if let Some((node, mut share)) = self.newest.take() {
            share.add(self.elapsed(machine));
            let node = self.calls.leaf(Some(node), RETURN);
            self.add(node, share);
        }
        self.calls.returned(machine, exception);
    }
}
