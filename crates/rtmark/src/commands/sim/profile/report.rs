//! What a profile comes to: tables, stacks in one line each, a drawing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use super::flame;
use super::lines::{Line, Lines};
use super::{Cost, Profile};

/// What a function cost, by itself and with all that it called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Debug)]
pub struct Report {
    /// By function, the most exclusive cycles first.
    pub functions: Vec<FunctionCost>,
    /// Stacks with their cycles: `main;work;memcpy 1234`.
    pub folded: Vec<String>,
    /// By source line, the most cycles first; empty without debug information.
    lines: Vec<(Line, Cost)>,
    cycles: u64,
}

impl Profile<'_> {
    /// Adds everything up.
    pub fn report(&self, lines: Option<&Lines<'_>>) -> Report {
        let functions = self.functions();
        let mut by_line: BTreeMap<Line, Cost> = BTreeMap::new();
        if let Some(lines) = lines {
            for (address, cost) in self.places.costs() {
                if let Some(line) = lines.at(address) {
                    by_line.entry(line).or_default().add(cost.cycles, cost.instructions);
                }
            }
        }
        let mut lines: Vec<_> = by_line.into_iter().collect();
        lines.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.cycles));
        let cycles = self.nodes.iter().map(|node| node.own.cycles).sum();
        Report { functions, folded: self.folded(), lines, cycles }
    }

    fn name(&self, node: u32) -> &str {
        &self.names.names[self.nodes[node as usize].name as usize]
    }

    /// The node and its callers, the innermost first.
    fn upwards(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(node), |node| self.nodes[*node as usize].parent)
    }

    fn functions(&self) -> Vec<FunctionCost> {
        let names = &self.names.names;
        let blank = |name: &String| FunctionCost {
            name: name.clone(),
            exclusive_cycles: 0,
            inclusive_cycles: 0,
            instructions: 0,
            calls: 0,
        };
        let mut functions: Vec<_> = names.iter().map(blank).collect();
        for (at, node) in self.nodes.iter().enumerate() {
            let function = &mut functions[node.name as usize];
            function.exclusive_cycles += node.own.cycles;
            function.instructions += node.own.instructions;
            function.calls += node.calls;
            // A function that calls itself counts once.
            let above = self.upwards(at as u32).map(|node| self.nodes[node as usize].name);
            for name in above.collect::<BTreeSet<_>>() {
                functions[name as usize].inclusive_cycles += node.own.cycles;
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
        let mut folded = Vec::new();
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.own.cycles > 0) {
            let mut stack: Vec<_> = self.upwards(at as u32).map(|node| self.name(node)).collect();
            stack.reverse();
            folded.push(format!("{} {}", stack.join(";"), node.own.cycles));
        }
        folded.sort_unstable();
        folded
    }
}

/// Rows that a table shows.
const ROWS: usize = 20;

impl Report {
    /// The functions and lines that cost most.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let percent = |cycles: u64| cycles as f64 * 100.0 / self.cycles.max(1) as f64;
        let _ = writeln!(
            text,
            "{:>14} {:>6} {:>14} {:>6} {:>12} {:>9}  function",
            "own cycles", "", "with callees", "", "instructions", "calls"
        );
        for function in self.functions.iter().take(ROWS) {
            let _ = writeln!(
                text,
                "{:>14} {:>5.1}% {:>14} {:>5.1}% {:>12} {:>9}  {}",
                function.exclusive_cycles,
                percent(function.exclusive_cycles),
                function.inclusive_cycles,
                percent(function.inclusive_cycles),
                function.instructions,
                function.calls,
                function.name
            );
        }
        more(&mut text, self.functions.len(), "function");
        if !self.lines.is_empty() {
            let _ = writeln!(text, "{:>14} {:>6} {:>12}  line", "cycles", "", "instructions");
            for (line, cost) in self.lines.iter().take(ROWS) {
                let _ = writeln!(
                    text,
                    "{:>14} {:>5.1}% {:>12}  {}:{}",
                    cost.cycles,
                    percent(cost.cycles),
                    cost.instructions,
                    rtmark_model::visible(shortened(&line.file).as_bytes()),
                    line.line
                );
            }
            more(&mut text, self.lines.len(), "line");
        }
        text
    }

    /// The stacks as a flame graph in SVG.
    pub fn flame_graph(&self, title: &str) -> String {
        flame::graph(title, self.folded.iter().map(String::as_str))
    }
}

/// The end of a path, as far as a table has room for it.
fn shortened(path: &str) -> &str {
    const LONGEST: usize = 60;
    let cut = path.len().saturating_sub(LONGEST);
    let from = path.char_indices().find(|&(at, c)| cut > 0 && at >= cut && c == '/');
    from.map_or(path, |(at, _)| &path[at + 1..])
}

fn more(text: &mut String, count: usize, thing: &str) {
    if count > ROWS {
        let _ = writeln!(
            text,
            "{:>14} {}",
            "and",
            crate::output::count(count - ROWS, &format!("more {thing}"))
        );
    }
}
