//! The fast path: runs along the graph of passages. Interrupts, access rights and time are checked only
//! where they may have changed.

use super::core::Core;
use super::graph::{GraphExit, GraphProgress, Node, NodeKey};
use super::trial::Trial;

impl Core {
    /// Executes instructions whose nodes are known, none of which ends after cycle `until`.
    pub fn run_graph(&mut self, until: u64) {
        self.graph.begin();
        if self.is_at_boundary() {
            self.sample_interrupt_lines();
        }
        let horizon = until.min(self.lines_stable_until);
        let Some(mut progress) = self.enter() else { return };
        let node_key = loop {
            let Self { hart, system, graph, memo, .. } = self;
            let halt = graph.run(&mut progress, horizon, (hart, system), memo);
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
        if self.system.is_transferring(self.cycle) {
            return None;
        }
        let interrupted = csr.takes_interrupts() && csr.wanted(&self.lines).is_some();
        let code_is_old = self.system.bus.code_writes.dirty || self.memo.is_full();
        let has_event = self.inputs.has_risen() || self.system.devices.has_watchdog_reset();
        if interrupted || code_is_old || has_event || !csr.is_unguarded() {
            return None;
        }
        let node = self.graph.find(NodeKey { pc: self.hart.pc, number })?;
        Some(GraphProgress { node, cycle: self.cycle, count: 0, waited: 0 })
    }
}
