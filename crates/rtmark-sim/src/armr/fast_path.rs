//! The fast path: runs along the graph of passages. The state of code, memory and time is checked
//! only where it may have changed.

use super::core::Core;
use super::cpu::psr;
use super::graph::{GraphProgress, LEAVE, NodeKey};
use super::timing::{Outcome, demand, key};

impl Core {
    /// Executes instructions up to a cycle, as long as their nodes are known.
    pub fn run_graph(&mut self, horizon: u64) {
        self.look_at_code();
        let Some(mut progress) = self.enter() else { return };
        loop {
            let Self { arch, pipeline, code, .. } = self;
            match code.graph.run(&mut progress, horizon, (arch, pipeline)) {
                LEAVE => break,
                key if self.find_next(&mut progress, key) => {}
                _ => return,
            }
        }
        if let Some(node) = self.code.graph.nodes.get(progress.node as usize) {
            let node_key = NodeKey::of(node);
            self.leave(&progress, node_key);
        }
    }

    /// Returns a number that changes whenever previously present or executable code may no longer
    /// be so.
    fn code_version(&self) -> u64 {
        let changes = self.pipeline.memory.instructions.changes();
        let privileged = self.arch.cpu.is_privileged();
        u64::from(self.rights) << 33 | u64::from(changes) << 1 | u64::from(privileged)
    }

    fn enter(&mut self) -> Option<GraphProgress> {
        let number = self.pipeline.state_number()?;
        let privileged = self.arch.cpu.is_privileged();
        self.pipeline.memory.data.lines.set_mode(privileged);
        let first = self.pipeline.first_number();
        if self.code.graph.first_number != first || self.code.graph.is_full {
            self.code.forget_graph();
            self.code.graph.first_number = first;
        }
        let cpu = &self.arch.cpu;
        let node_key = NodeKey { pc: cpu.pc, thumb: cpu.is_thumb(), state: cpu.it, number };
        let node = self.code.graph.find(node_key)?;
        let next = self.pipeline.next();
        let progress =
            GraphProgress { node, next, count: 0, last_byte: None, seen: self.code_version() };
        let lines = self.code.graph.lines_at(node)?;
        let is_settled = |line| self.pipeline.memory.is_settled(line, next);
        let starts = is_settled(lines.first) && is_settled(lines.last);
        (starts && !cpu.bit(psr::E) && self.can_continue(&progress)).then_some(progress)
    }

    /// Returns whether the code of the next node may be executed and needs no bus access. If so,
    /// closes the open edge at that node.
    fn can_continue(&mut self, progress: &GraphProgress) -> bool {
        let Self { arch, pipeline, code, .. } = self;
        let Some(node) = code.graph.nodes.get(progress.node as usize) else { return false };
        let (pc, at) = (node.place.pc, node.lines as usize);
        let Some(lines) = code.graph.lines.get_mut(at) else { return false };
        if !lines.are_there(pc, progress.seen, (arch, pipeline)) {
            return false;
        }
        code.graph.close(progress.node);
        true
    }

    /// Looks up the successor of a node from the key of its outcome. Returns whether the run
    /// continues there.
    #[inline(never)]
    fn find_next(&mut self, progress: &mut GraphProgress, key: u32) -> bool {
        let Self { arch, pipeline, code, .. } = self;
        let graph = &mut code.graph;
        let Some(node) = graph.nodes.get(progress.node as usize) else { return false };
        let place = node.place;
        let mut node_key = node.successor_key(key, arch.cpu.pc, 0);
        node_key.thumb = arch.cpu.is_thumb();
        progress.count += 1;
        progress.last_byte = Some(place.last_byte());
        if node.edge(key).is_none() {
            let demand = demand(&node.it);
            let (bytes, reads) = node.moves();
            let outcome = Outcome::of(&demand, key, bytes, reads);
            let from = (node.number, progress.next);
            let Some(passage) = pipeline.compute_passage(from, &demand, &place, &outcome, key)
            else {
                progress.next = pipeline.next();
                self.stop_at(progress, node_key);
                return false;
            };
            graph.add_edge(progress.node, &passage);
        }
        let Some(edge) = graph.open(progress.node, key, node_key) else { return false };
        node_key.number = edge.to;
        progress.next += u64::from(edge.cycles);
        match graph.successor(&edge, node_key) {
            Some(next) if graph.first_number == pipeline.first_number() => {
                let from = std::mem::replace(&mut progress.node, next);
                if let Some(node) = graph.nodes.get_mut(from as usize)
                    && key & key::JUMPS != 0
                    && node.is_indirect()
                {
                    node.last = next;
                }
                if self.can_continue(progress) {
                    return true;
                }
            }
            _ => {}
        }
        self.leave(progress, node_key);
        false
    }

    /// Ends the run before a node key, with its scoreboard.
    fn leave(&mut self, progress: &GraphProgress, node_key: NodeKey) {
        self.pipeline.set_state_number(node_key.number, progress.next);
        self.stop_at(progress, node_key);
    }

    fn stop_at(&mut self, progress: &GraphProgress, node_key: NodeKey) {
        self.arch.cpu.pc = node_key.pc;
        self.arch.cpu.it = node_key.state;
        self.instructions += progress.count;
        if let Some(address) = progress.last_byte {
            self.pipeline.memory.fetched(address);
        }
    }
}
