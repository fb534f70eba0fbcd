//! Runs along the graph of passages. They check interrupts, access rights and time only where these
//! may have changed.

use super::core::Core;
use super::graph::{NONE, Node, Spot, steps};
use super::trial::Trial;

/// The progress of a run along the graph.
#[derive(Clone, Copy, Debug)]
struct Glide {
    /// The next node, or the one just executed if its path is open.
    node: u32,
    /// The next cycle.
    cycle: u64,
    /// Instructions executed so far.
    count: u64,
    /// The wait states of their loads and stores.
    waited: u64,
}

/// The reason why a run along the graph has stopped.
#[derive(Clone, Copy, Debug)]
enum Halt {
    /// The node could end after the horizon.
    Time,
    /// The node must be executed on the slow path, or has no path for this outcome yet.
    Node,
    /// The node was executed, and its path with this index is not linked to a next node.
    Open(usize),
}

impl Core {
    /// Executes instructions whose nodes are known, none of which ends after cycle `until`.
    pub fn glide(&mut self, until: u64) {
        self.graph.begin();
        let horizon = until.min(self.lines_hold_until);
        let Some(mut glide) = self.enter() else { return };
        let spot = loop {
            let halt = self.along(&mut glide, horizon);
            if let Halt::Open(way) = halt {
                match self.graph.link(glide.node, way) {
                    Ok(next) => glide.node = next,
                    Err(spot) => break spot,
                }
            } else if !matches!(halt, Halt::Node) || !self.graph.recall(glide.node, &self.hart) {
                break self.graph.nodes.get(glide.node as usize).map(Node::spot);
            }
        };
        if let Some(Spot { pc, number }) = spot
            && glide.count > 0
        {
            self.hart.pc = pc;
            self.number = Some(number);
            self.cycle = glide.cycle;
            self.instructions += glide.count;
            self.waited += glide.waited;
            self.hart.csr.retire_many(glide.count);
        }
    }

    /// Returns the start of a run along the graph. Returns `None` if an event that only the slow
    /// path checks for could occur between two instructions.
    fn enter(&self) -> Option<Glide> {
        let number = self.number.filter(|_| self.is_between() && self.trial == Trial::No)?;
        let csr = &self.hart.csr;
        let interrupted = csr.takes_interrupts() && csr.wanted(&self.lines).is_some();
        let code_is_old = self.system.bus.code_writes.dirty || self.memo.is_full();
        let is_told = self.inputs.has_risen();
        if interrupted || code_is_old || is_told || !csr.is_unguarded() {
            return None;
        }
        let node = self.graph.find(Spot { pc: self.hart.pc, number })?;
        Some(Glide { node, cycle: self.cycle, count: 0, waited: 0 })
    }

    /// Executes block after block, and single nodes where there is no block.
    #[inline]
    fn along(&mut self, glide: &mut Glide, horizon: u64) -> Halt {
        let Self { hart, system, graph, .. } = self;
        let Glide { node: mut at, mut cycle, mut count, mut waited } = *glide;
        let halt = loop {
            let Some(start) = graph.starts.get_mut(at as usize) else { break Halt::Time };
            if let Some(block) = graph.blocks.all.get_mut(start.block as usize)
                && cycle + u64::from(block.most) <= horizon
            {
                block.runs = block.runs.wrapping_add(1);
                let block = *block;
                let steps = graph.blocks.steps(&block);
                let done = steps::run(steps, &graph.blocks.rare, hart, system);
                let way = done.checked_sub(steps.len());
                let end = if let Some(way) = way {
                    block.ends[way & 1]
                } else {
                    let Some(point) = graph.blocks.point(&block, done) else {
                        break Halt::Time;
                    };
                    graph.ended_early(at, &point);
                    point
                };
                at = end.node;
                cycle += u64::from(end.cycles);
                waited += u64::from(end.waited);
                count += u64::from(end.count);
                if way.is_some() {
                    continue;
                }
            } else if start.warms() {
                graph.form(at);
                continue;
            }
            let Some(node) = graph.nodes.get_mut(at as usize) else { break Halt::Time };
            if cycle + u64::from(node.most) > horizon {
                break Halt::Time;
            }
            let way = (node.run)(hart, system, node);
            let Some(path) = node.paths.get(way) else { break Halt::Node };
            cycle += u64::from(path.cycles);
            waited += u64::from(path.waits);
            count += 1;
            node.hits[way] = node.hits[way].saturating_add(1);
            if path.next == NONE {
                break Halt::Open(way);
            }
            at = path.next;
        };
        *glide = Glide { node: at, cycle, count, waited };
        halt
    }
}
