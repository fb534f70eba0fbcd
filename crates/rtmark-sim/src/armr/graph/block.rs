//! Blocks: sequences of nodes that are executed by one dispatch.
//!
//! A block begins at a frequently executed node and follows the edge of each node that is taken most
//! often. Its steps check what that edge depends on: conditions, targets, how branches are predicted,
//! and for how long stores wait. Where a check fails, the block ends before that step's node, or after
//! it with its outcome; the way from there to the block that follows is remembered. Blocks therefore
//! change neither results nor cycles.

use super::operation::{Branch, CallKind, Operation};
use super::select::{self, Draft};
use super::steps::{ANY, GraphCode, Operands};
use super::{Edge, Graph, LEAVE, NONE, Node, NodeKey};
use crate::armr::exec::Arch;
use crate::armr::isa::op::{Bank, Op};
use crate::armr::timing::{Flow, Pipeline, PredictionOutcome, key};
use crate::superblock::{ENOUGH, FORKS, LONGEST, MAX_CALL_DEPTH, Start, StepFn, is_likely};

/// The cycles after which a block ends.
const SLOWEST: u32 = 1 << 14;
/// The progress of a run at some point of a block, counted from the block's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The next node.
    pub node: u32,
    pub cycles: u32,
    pub count: u32,
    /// The address of the last byte of the instruction before.
    pub last_byte: u32,
}

impl Point {
    /// Returns the beginning of a block, at a node.
    pub const fn of(node: u32) -> Self {
        Self { node, cycles: 0, count: 0, last_byte: 0 }
    }
}

/// What a run checks before it executes a block.
#[derive(Clone, Copy, Debug)]
pub struct CodeCheck {
    /// The range of the lines that contain its instructions.
    lines: (u32, u32),
    /// The state of code when these were last found present and executable: see [`super::Lines`].
    pub seen: u64,
}

/// A block under construction.
struct Forming<'b> {
    arch: &'b Arch,
    at: Point,
    drafts: Vec<Draft>,
    points: Vec<Point>,
    lines: Vec<u32>,
    /// The instruction sets and return addresses of the calls in the block that have not returned.
    links: Vec<(bool, u32)>,
    /// Whether every part of branch prediction is on.
    predicts_fully: bool,
}

impl Forming<'_> {
    /// Appends a step of a node.
    fn push(&mut self, node: &Node, key: u16, mut draft: Draft) {
        // A block ends before it takes more cycles than this can be.
        draft.operands.issue = (self.at.cycles.cast_signed() + i32::from(node.issue)) as i16;
        draft.operands.key = key;
        self.drafts.push(draft);
        self.points.push(self.at);
    }

    /// Returns the guard of the last steps, if they have one.
    fn last_guard(&mut self) -> Option<&mut Draft> {
        let count = self.drafts.len();
        let is_last = |(at, draft): &(usize, &mut Draft)| {
            matches!(draft.operation, Operation::Guard(_))
                && at + 1 + draft.operands.value as usize == count
        };
        self.drafts.iter_mut().enumerate().rev().find(is_last).map(|(_, draft)| draft)
    }

    /// Appends a conditional branch, together with the operation before it that sets the flags. Returns
    /// whether there is one.
    fn push_after_data(&mut self, node: &Node, key: u16, branch: Branch) -> bool {
        if self.last_guard().is_some() {
            return false;
        }
        let Some(last) = self.drafts.last_mut() else { return false };
        let Some(operation) = last.operation.and_branch(branch) else { return false };
        last.operation = operation;
        last.operands.expect_branch(node.place.pc, key, key::SKIPPED);
        if let Some(point) = self.points.last_mut() {
            *point = self.at;
        }
        true
    }

    /// Appends the steps of a node that continues along an edge.
    fn append(&mut self, node: &Node, edge: &Edge, target: Option<NodeKey>) {
        let (it, key) = (&node.it, edge.key);
        if self.append_branch(node, key) {
            // It needs no check of its target.
        } else if node.flow != Flow::On {
            let draft = self.indirect(node, edge, target);
            self.push(node, key, draft);
        } else if node.condition < 14 {
            self.append_conditional(node, edge);
        } else {
            self.append_plain(node, edge.key);
        }
        let is_call = matches!(it.op, Op::BranchLink | Op::BranchLinkExchange);
        if is_call && u32::from(key) & key::JUMPS != 0 && self.links.len() < MAX_CALL_DEPTH {
            self.links.push((node.place.thumb, node.place.link() & !1));
        }
    }

    /// Returns the step of a branch to an address that the instruction does not encode, and that is
    /// `target` if the block continues there.
    fn indirect(&self, node: &Node, edge: &Edge, target: Option<NodeKey>) -> Draft {
        let (it, place) = (&node.it, &node.place);
        let value = target.map_or(0, |to| to.pc | u32::from(to.thumb));
        let (mut draft, other) = match (it.op, node.flow) {
            (Op::BranchExchange, Flow::Register { links: false }) if self.predicts_fully => {
                (Draft::new(Operation::Return(node.condition), (0, it.m, 0), value), place.pc)
            }
            (Op::BranchLinkExchange, Flow::Register { links: true }) if node.condition >= 14 => {
                (Draft::new(Operation::CallRegister, (0, it.m, 0), value), place.link())
            }
            _ => {
                let list = self.list_and_return(node, edge, target);
                return list.unwrap_or(Draft::with_value(Operation::Node, value));
            }
        };
        draft.operands.other = other;
        draft
    }

    /// Returns the step of a node that loads a list of registers and returns where the return stack
    /// predicts, to an address of the same instruction set.
    fn list_and_return(&self, node: &Node, edge: &Edge, target: Option<NodeKey>) -> Option<Draft> {
        let to = target.filter(|to| to.thumb == node.place.thumb)?;
        let foreseen = key::JUMPS | key::prediction(PredictionOutcome::Correct);
        let is_foreseen = u32::from(edge.key) & !key::access(true) == foreseen;
        if node.condition < 14 || !self.predicts_fully || !is_foreseen {
            return None;
        }
        match (node.it.op, node.flow) {
            (Op::LoadMultiple(order, back, Bank::Own), Flow::Loaded { returns: true }) => {
                let mut draft = select::list(Operation::LoadListAndReturn, &node.it, order, back)?;
                draft.operands.value = to.pc | u32::from(to.thumb);
                Some(draft)
            }
            _ => None,
        }
    }

    /// Appends a branch to an encoded address, if it has steps. An unconditional one needs none. Returns
    /// whether it does.
    fn append_branch(&mut self, node: &Node, key: u16) -> bool {
        let (it, place) = (&node.it, &node.place);
        let taken = u32::from(key) & key::JUMPS != 0;
        let draft = match it.op {
            Op::Branch if node.condition >= 14 => return key != ANY,
            Op::Branch if self.predicts_fully => {
                let condition = node.condition ^ u8::from(!taken);
                let branch = Branch { condition, backwards: place.backwards };
                if self.push_after_data(node, key, branch) {
                    return true;
                }
                Draft::with_value(Operation::Branch(branch), 0)
            }
            Op::CompareBranch if self.predicts_fully => {
                Draft::new(Operation::CompareWithZero((it.a == 0) == taken), (0, it.n, 0), 0)
            }
            Op::BranchLink if node.condition >= 14 && key != ANY => {
                let kind = if it.a == 1 { CallKind::Exchanging } else { CallKind::Same };
                Draft::with_value(Operation::Call(kind), place.link())
            }
            _ => return false,
        };
        self.push(node, key, draft);
        if let Some(draft) = self.drafts.last_mut() {
            // CBZ and CBNZ are unconditional.
            let skipped = if it.op == Op::CompareBranch { 0 } else { key::SKIPPED };
            draft.operands.expect_branch(place.pc, key, skipped);
        }
        true
    }

    /// Appends the steps of an instruction whose condition holds and that does not branch.
    fn append_plain(&mut self, node: &Node, key: u16) {
        if select::is_empty(&node.it) {
            return;
        }
        let step = select::step(&node.it, node.state != 0, key.into(), self.arch);
        self.push(node, key, step.unwrap_or(Draft::with_value(Operation::Node, 0)));
    }

    /// Appends the steps of a conditional instruction. If the condition makes no difference to what
    /// follows, the block continues whichever way it goes.
    fn append_conditional(&mut self, node: &Node, edge: &Edge) {
        let skips = |edge: &&Edge| u32::from(edge.key) == key::SKIPPED;
        let is_like = |other: &Edge| {
            (other.next, other.cycles) == (edge.next, edge.cycles) && edge.next != NONE
        };
        let other = node
            .edges
            .iter()
            .find(|other| other.key != ANY && is_like(other) && skips(other) != skips(&edge));
        let expect = |condition, or| Draft::with_value(Operation::Expect(condition), or);
        match other {
            Some(other) => {
                let key = if skips(&edge) { other.key } else { edge.key };
                self.append_guarded(node, key);
            }
            None if skips(&edge) => self.push(node, 0, expect(node.condition ^ 1, LEAVE)),
            None => {
                self.push(node, 0, expect(node.condition, key::SKIPPED));
                self.append_plain(node, edge.key);
            }
        }
    }

    /// Appends the steps of an instruction that is executed only if its condition holds. The guard of
    /// the instructions before it becomes its own, if it has the same condition.
    fn append_guarded(&mut self, node: &Node, key: u16) {
        let operation = Operation::Guard(node.condition);
        let is_same = |guard: &Draft| guard.operation == operation && guard.operands.d == 0;
        if !self.last_guard().is_some_and(|guard| is_same(guard)) {
            self.push(node, 0, Draft::with_value(operation, 0));
        }
        let before = self.drafts.len();
        self.append_plain(node, key);
        if self.drafts.len() == before {
            self.push(node, 0, Draft::with_value(Operation::Nothing, 0));
        }
        let sets = self.drafts.last().is_some_and(|draft| draft.operation.may_set_flags());
        let count = self.drafts.len();
        let guard = self.drafts.iter_mut().rev().find(|draft| draft.operation == operation);
        if let Some(guard) = guard {
            guard.operands.value += (count - before) as u32;
            // Its condition does not apply to instructions after one that sets the flags.
            guard.operands.d |= u8::from(sets);
        }
    }

    /// Ends the block with a node, whatever its outcome.
    fn end(&mut self, node: &Node) {
        if !self.append_branch(node, ANY) {
            let edge = Edge { key: ANY, ..super::NOWHERE };
            self.push(node, ANY, self.indirect(node, &edge, None));
        }
    }

    fn add_line(&mut self, line: u32) {
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Removes steps that do nothing, except for guarded ones.
    fn drop_nothing(&mut self) {
        let mut guarded = 0;
        let keeps = |draft: &Draft| {
            let is_guarded = guarded > 0;
            guarded = match draft.operation {
                Operation::Guard(_) => draft.operands.value,
                _ => guarded.saturating_sub(1),
            };
            is_guarded || draft.operation != Operation::Nothing
        };
        let kept: Vec<bool> = self.drafts.iter().map(keeps).collect();
        let mut is_kept = kept.iter();
        self.drafts.retain(|_| is_kept.next() == Some(&true));
        let mut is_kept = kept.iter();
        self.points.retain(|_| is_kept.next() == Some(&true));
    }

    /// Returns the steps, each with its function and the point before it.
    fn link(mut self) -> Vec<(StepFn<GraphCode>, Operands, Point)> {
        self.drafts.push(Draft::with_value(Operation::End, 0));
        self.points.push(self.at);
        select::drop_flags(&mut self.drafts);
        self.drop_nothing();
        let lasts = select::last_operands(&self.drafts);
        let steps = self.drafts.iter().zip(lasts).zip(self.points);
        let step = |((draft, last), at): ((&Draft, _), _)| {
            (draft.operation.function(last), draft.operands, at)
        };
        steps.map(step).collect()
    }
}

impl Graph {
    /// Returns the index of the edge along which a block continues after a node. At most `FORKS`
    /// instructions from its beginning, that is the one taken most often; from there on, only one that
    /// is likely.
    fn choose(node: &Node, count: u32) -> Option<usize> {
        let known = |at: &usize| node.edges[*at].key != ANY;
        let most = (0..node.edges.len()).filter(known).max_by_key(|at| node.hits[*at])?;
        let all = node.hits.iter().map(|hits| u32::from(*hits)).sum::<u32>();
        let is_only = (0..node.edges.len()).filter(known).count() == 1;
        (is_only
            || count < FORKS
            || is_likely(node.hits[most].into(), all)
            || Self::converges(node))
        .then_some(most)
    }

    /// Returns whether all edges of a node lead to the same next node in the same time.
    fn converges(node: &Node) -> bool {
        let first = &node.edges[0];
        let is_like =
            |edge: &Edge| edge.key == ANY || (edge.next, edge.cycles) == (first.next, first.cycles);
        node.flow == Flow::On && first.next != NONE && node.edges.iter().all(is_like)
    }

    /// Returns the node after an edge, and its key if the edge does not determine it.
    fn block_successor(
        &self,
        node: &Node,
        edge: &Edge,
        links: &mut Vec<(bool, u32)>,
    ) -> Option<(u32, Option<NodeKey>)> {
        if edge.next != NONE {
            return Some((edge.next, None));
        }
        if !node.is_indirect() {
            return None;
        }
        let mut node_key = node.successor_key(edge.key.into(), 0, edge.to);
        if u32::from(edge.key) & key::JUMPS == 0 {
            return Some((self.spots.get(&node_key).copied()?, None));
        }
        let returns =
            matches!(node.flow, Flow::Register { links: false } | Flow::Loaded { returns: true });
        (node_key.thumb, node_key.pc) = if let Some(link) = links.pop_if(|_| returns) {
            link
        } else {
            let last = self.nodes.get(node.last as usize)?;
            (last.place.thumb, last.place.pc)
        };
        Some((self.spots.get(&node_key).copied()?, Some(node_key)))
    }

    /// Forms the block that begins at a node.
    #[inline(never)]
    pub fn form(&mut self, start: u32, (arch, pipeline): (&Arch, &Pipeline)) {
        let at = Point::of(start);
        let predicts_fully = pipeline.predicts_fully();
        let (drafts, points, lines, links) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut forming = Forming { arch, at, drafts, points, lines, links, predicts_fully };
        let most = self.follow(&mut forming, start);
        let Some(begun) = self.starts.get_mut(start as usize) else { return };
        if forming.drafts.is_empty() && forming.at.count == 0 {
            begun.cool();
            return;
        }
        let first_line = self.block_lines.len() as u32;
        self.block_lines.append(&mut forming.lines);
        let check = CodeCheck { lines: (first_line, self.block_lines.len() as u32), seen: 0 };
        begun.block = self.blocks.push(&forming.link(), most, check);
    }

    /// Appends node after node. Returns the cycle in which the last one begins.
    fn follow(&mut self, forming: &mut Forming<'_>, start: u32) -> u32 {
        let mut most = 0;
        loop {
            let here = forming.at;
            let begins = |node: u32| {
                node == start
                    || self.starts.get(node as usize).copied().is_some_and(Start::has_block)
            };
            let is_full = here.count >= LONGEST || here.cycles >= SLOWEST;
            if is_full || here.count >= ENOUGH && begins(here.node) {
                return most;
            }
            let Some(node) = self.nodes.get(here.node as usize).filter(|node| !node.is_cut) else {
                return most;
            };
            let edge = Self::choose(node, here.count).map(|way| node.edges[way]);
            let successor = edge.and_then(|edge| {
                let (next, target) = self.block_successor(node, &edge, &mut forming.links)?;
                Some((edge, next, target))
            });
            most = here.cycles;
            forming.add_line(node.lines);
            if let Some((edge, next, target)) = successor {
                forming.append(node, &edge, target);
                forming.at = Point {
                    node: next,
                    cycles: here.cycles + u32::from(edge.cycles),
                    count: here.count + 1,
                    last_byte: node.place.last_byte(),
                };
            } else {
                forming.end(node);
            }
            if let Some(node) = self.nodes.get_mut(here.node as usize) {
                node.is_in_block = true;
            }
            if successor.is_none() {
                return most;
            }
        }
    }

    /// Discards all blocks.
    pub fn forget_blocks(&mut self) {
        self.blocks.clear();
        self.block_lines.clear();
        self.starts.fill(Start::NEW);
    }

    /// Returns the block that begins at a node, if its code is present and executable.
    #[inline(always)]
    pub fn block_at(
        &mut self,
        at: u32,
        seen: u64,
        (arch, pipeline): (&mut Arch, &Pipeline),
    ) -> Option<u32> {
        let number = self.starts.get(at as usize)?.block;
        let is_checked = self.blocks.get(number)?.condition.seen == seen;
        (is_checked || self.check_lines(number, seen, (arch, pipeline)).is_some()).then_some(number)
    }

    #[inline(never)]
    fn check_lines(
        &mut self,
        number: u32,
        seen: u64,
        (arch, pipeline): (&mut Arch, &Pipeline),
    ) -> Option<()> {
        let block = self.blocks.get_mut(number)?;
        let (first, last) = block.condition.lines;
        for number in self.block_lines.get(first as usize..last as usize)? {
            let lines = self.lines.get_mut(*number as usize)?;
            if !lines.are_there(lines.first, seen, (arch, pipeline)) {
                return None;
            }
        }
        block.condition.seen = seen;
        Some(())
    }
}
