//! Runs along the graph of passages. What is known of interrupts, rights and time is looked at where it
//! may have changed, and nowhere else.

use super::core::Core;
use super::graph::{NONE, Node, Spot};
use super::trial::Trial;

/// How far a run along the graph has come.
#[derive(Clone, Copy, Debug)]
struct Glide {
    /// The node that comes next, or has just executed.
    node: u32,
    /// The cycle that passes next.
    cycle: u64,
    /// Instructions executed.
    count: u64,
    /// What they have waited.
    waited: u64,
}

/// Why a run along the graph has come to a halt.
#[derive(Clone, Copy, Debug)]
enum Halt {
    /// The node may not end in time.
    Time,
    /// The node is to be executed the long way, or has no path yet.
    Node,
    /// The node has been executed, and where that path of it leads has not been looked for.
    Open(usize),
}

impl Core {
    /// Executes instructions as long as their nodes are known, none of which ends after a cycle.
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

    /// Where a run along the graph begins, if nothing can come between instructions that only a look
    /// at everything would tell.
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

    /// Goes from node to node.
    #[inline]
    fn along(&mut self, glide: &mut Glide, horizon: u64) -> Halt {
        let Self { hart, system, graph, .. } = self;
        let Glide { node: mut at, mut cycle, mut count, mut waited } = *glide;
        let halt = loop {
            let Some(node) = graph.nodes.get(at as usize) else { break Halt::Time };
            if cycle + u64::from(node.most) > horizon {
                break Halt::Time;
            }
            let way = (node.run)(hart, system, node);
            let Some(path) = node.paths.get(way) else { break Halt::Node };
            cycle += u64::from(path.cycles);
            waited += u64::from(path.waits);
            count += 1;
            if path.next == NONE {
                break Halt::Open(way);
            }
            at = path.next;
        };
        *glide = Glide { node: at, cycle, count, waited };
        halt
    }
}
