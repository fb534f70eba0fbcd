//! The fast path: runs along the graph of passages. The state of code, memory and time is checked
//! only where it may have changed.

use super::core::Core;
use super::cpu::psr;
use super::graph::{LEAVE, NONE, NodeKey, steps};
use super::timing::{Outcome, demand, key};
use crate::superblock::Start;

/// The progress of a run along the graph.
#[derive(Clone, Copy, Debug)]
struct GraphProgress {
    /// The node that executes next or has just executed.
    node: u32,
    /// The next cycle in which an instruction may issue.
    next: u64,
    /// The number of instructions executed.
    count: u64,
    /// The address of the last byte of the last instruction.
    last_byte: Option<u32>,
    /// The state of code on which validated lines depend: see [`Core::seen`].
    seen: u64,
}

impl Core {
    /// Executes instructions up to a cycle, as long as their nodes are known.
    pub fn run_graph(&mut self, horizon: u64) {
        self.look_at_code();
        let Some(mut progress) = self.enter() else { return };
        while let Some(key) = self.follow_edges(&mut progress, horizon) {
            if !self.find_next(&mut progress, key) {
                return;
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

    /// Follows known edges from node to node. Returns the key of the last node's outcome if its
    /// successor must be looked up, or `None` if that node has not been executed: the horizon has been
    /// reached, or it needs the slow path.
    #[inline]
    fn follow_edges(&mut self, progress: &mut GraphProgress, horizon: u64) -> Option<u32> {
        let Self { arch, pipeline, code, .. } = self;
        let graph = &mut code.graph;
        let GraphProgress { node: mut at, mut next, mut count, mut last_byte, seen } = *progress;
        let end = loop {
            if next >= horizon {
                break LEAVE;
            }
            // Blocks are formed from what happens outside of them.
            let (mut key, mut counts) = (LEAVE, 1);
            let number = graph.block_at(at, seen, (arch, pipeline));
            if let Some(block) = number.and_then(|number| graph.blocks.get(number)) {
                if next + u64::from(block.most) < horizon {
                    let (steps, points) = graph.blocks.steps(block);
                    let exit = steps::run(steps, points, &graph.nodes, arch, pipeline, next);
                    let point = points.get(exit.step).copied().unwrap_or(block.end);
                    let last = steps.get(exit.step).map(|step| step.key);
                    if last.is_some_and(|key| key != steps::ANY) {
                        graph.ended_early(at, &point);
                    }
                    if point.count > 0 {
                        last_byte = Some(point.last_byte);
                    }
                    next += u64::from(point.cycles);
                    count += u64::from(point.count);
                    at = point.node;
                    if last.is_none() {
                        continue;
                    }
                    (key, counts) = (exit.key, 0);
                }
            } else if graph.starts.get_mut(at as usize).is_some_and(Start::count_execution) {
                graph.form(at, pipeline);
                continue;
            }
            let Some(node) = graph.nodes.get_mut(at as usize) else { break LEAVE };
            if key == LEAVE {
                let issue = next.wrapping_add_signed(node.issue.into());
                key = (node.run)(arch, pipeline, node, issue);
            }
            let Some(way) = node.way(key) else { break key };
            let edge = &node.edges[way];
            node.hits[way] = node.hits[way].saturating_add(counts);
            let (from, to) = (node.place.last_byte(), edge.to);
            let (cycles, mut then, mut lines) = (edge.cycles, edge.next, edge.lines);
            if then == NONE && key & key::JUMPS != 0 && node.is_indirect() {
                let cpu = &arch.cpu;
                let node_key = NodeKey { pc: cpu.pc, thumb: cpu.is_thumb(), state: 0, number: to };
                let last = node.last;
                match graph.nodes.get(last as usize) {
                    Some(node) if NodeKey::of(node) == node_key => {
                        (then, lines) = (last, node.lines);
                    }
                    _ => break key,
                }
            }
            if then == NONE || lines != 0 && graph.lines[lines as usize].seen != seen {
                break key;
            }
            next += u64::from(cycles);
            count += 1;
            at = then;
            last_byte = Some(from);
        };
        *progress = GraphProgress { node: at, next, count, last_byte, seen };
        (end != LEAVE).then_some(end)
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
