//! Finds the spans of a run, which are the windows of a search.

use rtmark_sim::{Cycles, Machine, Stop, Watch};

use crate::path::Window;

/// How far a machine runs before its hits are collected.
const SLICE: u64 = 10_000_000;

/// A run without any interrupt from outside, and its spans.
#[derive(Clone, Debug)]
pub struct Spans {
    /// The spans in order. A span that restarts before its end counts from its last beginning.
    pub windows: Vec<Window>,
    /// How the run ended.
    pub stop: Stop,
    /// The cycle in which it ended.
    pub cycles: u64,
    /// What it printed.
    pub console: Vec<u8>,
    /// The machine at the end.
    pub machine: Machine,
}

/// Runs a machine until it ends or the budget is used up, to find its spans.
pub fn spans(start: &Machine, begins: &[Watch], ends: &[Watch], budget: Cycles) -> Spans {
    let mut machine = start.clone();
    // Where one span ends as the next begins, the end is reported first.
    let ends: Vec<_> = ends.iter().map(|watch| machine.watch(*watch)).collect();
    let begins: Vec<_> = begins.iter().map(|watch| machine.watch(*watch)).collect();
    let (mut windows, mut open, mut console) = (Vec::new(), None, Vec::new());
    loop {
        let until = machine.cycles().0.saturating_add(SLICE).min(budget.0);
        let stop = machine.run(Cycles(until));
        for hit in machine.hits() {
            if ends.contains(&hit.watch)
                && let Some(from) = open.take()
                && hit.cycle.0 > from
            {
                windows.push(Window { from, to: hit.cycle.0 });
            }
            if begins.contains(&hit.watch) {
                open = Some(hit.cycle.0);
            }
        }
        machine.clear_hits();
        console.extend(machine.take_console());
        if stop != Stop::Limit || machine.cycles() >= budget {
            return Spans { windows, stop, cycles: machine.cycles().0, console, machine };
        }
    }
}
