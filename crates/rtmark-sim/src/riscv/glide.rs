//! Runs along the graph of passages. They check interrupts, access rights and time only where these
//! may have changed.

use super::core::Core;
use super::graph::{NONE, Node, NodeKey, steps};
use super::trial::Trial;

/// The progress of a run along the graph.
#[derive(Clone, Copy, Debug)]
struct GraphProgress {
    /// The next node, or the one just executed if its edge is open.
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
enum GraphExit {
    /// The node could end after the horizon.
    Time,
    /// The node must be executed on the slow path, or has no edge for this outcome yet.
    Node,
    /// The node was executed, and its edge with this index is not linked to a next node.
    Open(usize),
}

impl Core {
    /// Executes instructions whose nodes are known, none of which ends after cycle `until`.
    pub fn run_graph(&mut self, until: u64) {
        self.graph.begin();
        let horizon = until.min(self.lines_stable_until);
        let Some(mut progress) = self.enter() else { return };
        let node_key = loop {
            let halt = self.run_blocks(&mut progress, horizon);
            if let GraphExit::Open(way) = halt {
                match self.graph.link(progress.node, way) {
                    Ok(next) => progress.node = next,
                    Err(node_key) => break node_key,
                }
            } else if !matches!(halt, GraphExit::Node)
                || !self.graph.recall(progress.node, &self.hart)
            {
                break self.graph.nodes.get(progress.node as usize).map(Node::node_key);
            }
        };
        if let Some(NodeKey { pc, number }) = node_key
            && progress.count > 0
        {
            self.hart.pc = pc;
            self.number = Some(number);
            self.cycle = progress.cycle;
            self.instructions += progress.count;
            self.waited += progress.waited;
            self.hart.csr.retire_many(progress.count);
        }
    }

    /// Returns the start of a run along the graph. Returns `None` if an event that only the slow
    /// path checks for could occur between two instructions.
    fn enter(&self) -> Option<GraphProgress> {
        let number =
            self.number.filter(|_| self.is_at_boundary() && self.trial == Trial::Inactive)?;
        let csr = &self.hart.csr;
        let interrupted = csr.takes_interrupts() && csr.wanted(&self.lines).is_some();
        let code_is_old = self.system.bus.code_writes.dirty || self.memo.is_full();
        let has_event = self.inputs.has_risen();
        if interrupted || code_is_old || has_event || !csr.is_unguarded() {
            return None;
        }
        let node = self.graph.find(NodeKey { pc: self.hart.pc, number })?;
        Some(GraphProgress { node, cycle: self.cycle, count: 0, waited: 0 })
    }

    /// Executes block after block, and single nodes where there is no block.
    #[inline]
    fn run_blocks(&mut self, progress: &mut GraphProgress, horizon: u64) -> GraphExit {
        let Self { hart, system, graph, .. } = self;
        let GraphProgress { node: mut at, mut cycle, mut count, mut waited } = *progress;
        let halt = loop {
            let Some(start) = graph.starts.get_mut(at as usize) else { break GraphExit::Time };
            if let Some(block) = graph.blocks.all.get_mut(start.block as usize)
                && cycle + u64::from(block.most) <= horizon
            {
                block.usage.runs = block.usage.runs.wrapping_add(1);
                let block = *block;
                let steps = graph.blocks.steps(&block);
                let done = steps::run(steps, &graph.blocks.rare, hart, system);
                let way = done.checked_sub(steps.len());
                let end = if let Some(way) = way {
                    block.ends[way & 1]
                } else {
                    let Some(point) = graph.blocks.point(&block, done) else {
                        break GraphExit::Time;
                    };
                    graph.record_early_exit(at, &point);
                    point
                };
                at = end.node;
                cycle += u64::from(end.cycles);
                waited += u64::from(end.waited);
                count += u64::from(end.count);
                if way.is_some() {
                    continue;
                }
            } else if start.count_execution() {
                graph.form(at);
                continue;
            }
            let Some(node) = graph.nodes.get_mut(at as usize) else { break GraphExit::Time };
            if cycle + u64::from(node.most) > horizon {
                break GraphExit::Time;
            }
            let way = (node.run)(hart, system, node);
            let Some(edge) = node.edges.get(way) else { break GraphExit::Node };
            cycle += u64::from(edge.cycles);
            waited += u64::from(edge.waits);
            count += 1;
            node.hits[way] = node.hits[way].saturating_add(1);
            if edge.next == NONE {
                break GraphExit::Open(way);
            }
            at = edge.next;
        };
        *progress = GraphProgress { node: at, cycle, count, waited };
        halt
    }
}
