//! The fast path: runs along the graph of passages. The state of code, memory and time is checked
//! only where it may have changed.

use super::core::Core;
use super::cpu::psr;
use super::graph::{LEAVE, Spot};
use super::timing::{Outcome, demand};

/// The progress of a run along the graph.
#[derive(Clone, Copy, Debug)]
struct Glide {
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
    pub fn glide(&mut self, horizon: u64) {
        self.look_at_code();
        let Some(mut glide) = self.enter() else { return };
        while let Some(key) = self.follow_paths(&mut glide, horizon) {
            if !self.find_next(&mut glide, key) {
                return;
            }
        }
        if let Some(node) = self.code.graph.nodes.get(glide.node as usize) {
            let spot = Spot::of(node);
            self.leave(&glide, spot);
        }
    }

    /// Returns a number that changes whenever previously present or executable code may no longer
    /// be so.
    fn seen(&self) -> u64 {
        let changes = self.pipeline.memory.instructions.changes();
        let privileged = self.arch.cpu.is_privileged();
        u64::from(self.rights) << 33 | u64::from(changes) << 1 | u64::from(privileged)
    }

    fn enter(&mut self) -> Option<Glide> {
        let number = self.pipeline.standing()?;
        let first = self.pipeline.first_number();
        if self.code.graph.first_number != first || self.code.graph.is_full {
            self.code.forget_graph();
            self.code.graph.first_number = first;
        }
        let cpu = &self.arch.cpu;
        let spot = Spot { pc: cpu.pc, thumb: cpu.is_thumb(), state: cpu.it, number };
        let node = self.code.graph.find(spot)?;
        let next = self.pipeline.next();
        let glide = Glide { node, next, count: 0, last_byte: None, seen: self.seen() };
        let lines = self.code.graph.lines_at(node)?;
        let is_settled = |line| self.pipeline.memory.is_settled(line, next);
        let starts = is_settled(lines.first) && is_settled(lines.last);
        (starts && !cpu.bit(psr::E) && self.is_there(&glide)).then_some(glide)
    }

    /// Returns whether the code of the next node may be executed and needs no bus access. If so,
    /// closes the open path at that node.
    fn is_there(&mut self, glide: &Glide) -> bool {
        let Self { arch, pipeline, code, .. } = self;
        let Some(node) = code.graph.nodes.get(glide.node as usize) else { return false };
        let (pc, at) = (node.place.pc, node.lines as usize);
        let Some(lines) = code.graph.lines.get_mut(at) else { return false };
        if lines.seen != glide.seen {
            let Ok(kind) = arch.control.protection.code(pc, arch.cpu.is_privileged()) else {
                return false;
            };
            let holds = |line| pipeline.memory.holds_code(line, kind, pipeline.switches);
            if !holds(lines.first) || !holds(lines.last) {
                return false;
            }
            lines.seen = glide.seen;
        }
        code.graph.close(glide.node);
        true
    }

    /// Follows known paths from node to node. Returns the key of the last node's outcome if its
    /// successor must be looked up, or `None` if that node has not been executed: the horizon has been
    /// reached, or it needs the slow path.
    #[inline]
    fn follow_paths(&mut self, glide: &mut Glide, horizon: u64) -> Option<u32> {
        let Self { arch, pipeline, code, .. } = self;
        let graph = &code.graph;
        let Glide { node: mut at, mut next, mut count, seen, .. } = *glide;
        let mut node = graph.nodes.get(at as usize)?;
        let mut last = None;
        let end = loop {
            if next >= horizon {
                break LEAVE;
            }
            let issue = next.wrapping_add_signed(node.issue.into());
            let key = (node.run)(arch, pipeline, node, issue);
            let Some(path) = node.path(key) else { break key };
            let Some(behind) = graph.nodes.get(path.next as usize) else { break key };
            if path.lines != 0 && graph.lines[path.lines as usize].seen != seen {
                break key;
            }
            next += u64::from(path.cycles);
            count += 1;
            at = path.next;
            last = Some(node);
            node = behind;
        };
        (glide.node, glide.next, glide.count) = (at, next, count);
        if let Some(last) = last {
            glide.last_byte = Some(last.place.last_byte());
        }
        (end != LEAVE).then_some(end)
    }

    /// Looks up the successor of a node from the key of its outcome. Returns whether the run
    /// continues there.
    #[inline(never)]
    fn find_next(&mut self, glide: &mut Glide, key: u32) -> bool {
        let Self { arch, pipeline, code, .. } = self;
        let graph = &mut code.graph;
        let Some(node) = graph.nodes.get(glide.node as usize) else { return false };
        let place = node.place;
        let mut spot = node.behind(key, arch.cpu.pc, 0);
        spot.thumb = arch.cpu.is_thumb();
        glide.count += 1;
        glide.last_byte = Some(place.last_byte());
        if node.path(key).is_none() {
            let demand = demand(&node.it);
            let (bytes, reads) = node.moves();
            let outcome = Outcome::of(&demand, key, bytes, reads);
            let from = (node.number, glide.next);
            let Some(passage) = pipeline.pass(from, &demand, &place, &outcome, key) else {
                glide.next = pipeline.next();
                self.stop_at(glide, spot);
                return false;
            };
            graph.lead(glide.node, &passage);
        }
        let Some(path) = graph.open(glide.node, key, spot) else { return false };
        spot.number = path.to;
        glide.next += u64::from(path.cycles);
        match graph.node_behind(&path, spot) {
            Some(next) if graph.first_number == pipeline.first_number() => {
                glide.node = next;
                if self.is_there(glide) {
                    return true;
                }
            }
            _ => {}
        }
        self.leave(glide, spot);
        false
    }

    /// Ends the run before a spot, with its scoreboard.
    fn leave(&mut self, glide: &Glide, spot: Spot) {
        self.pipeline.go_on(spot.number, glide.next);
        self.stop_at(glide, spot);
    }

    fn stop_at(&mut self, glide: &Glide, spot: Spot) {
        self.arch.cpu.pc = spot.pc;
        self.arch.cpu.it = spot.state;
        self.instructions += glide.count;
        if let Some(address) = glide.last_byte {
            self.pipeline.memory.fetched(address);
        }
    }
}
