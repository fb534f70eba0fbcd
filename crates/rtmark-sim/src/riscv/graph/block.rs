//! Blocks: sequences of nodes that are executed by one dispatch.
//!
//! A block begins at a frequently executed node and follows the edge of each node that is taken most
//! often. Its steps check what that edge depends on: conditions, targets and wait states. A step whose
//! check fails has no effect, and the block ends before that step's node; the way from there to the block
//! that follows is remembered. Blocks therefore change neither results nor cycles.

use super::super::isa::Op;
use super::operation::{Draft, Operation};
use super::steps::{Operands, Point};
use super::{EDGES, Edge, Graph, LEAVE, Node};
use crate::riscv::timing::{CachedLine, Memo};
use crate::superblock::{ENOUGH, FORKS, LONGEST, MAX_CALL_DEPTH, Start, is_likely};

impl Point {
    /// Returns the beginning of a block, at a node.
    pub const fn of(node: u32) -> Self {
        Self { node, cycles: 0, waited: 0, count: 0 }
    }

    /// Returns the point after an edge, which leads to a node.
    const fn after(self, edge: &Edge, next: u32) -> Self {
        Self {
            node: next,
            cycles: self.cycles + edge.cycles as u32,
            waited: self.waited + edge.waits as u32,
            count: self.count + 1,
        }
    }
}

/// A block under construction.
struct BlockBuilder<'m> {
    at: Point,
    steps: Vec<(Draft, Point)>,
    /// Return addresses of the calls in the block that have not returned.
    links: Vec<u32>,
    /// The wait states of loads and stores in the main RAM.
    waits: u8,
    memo: &'m Memo,
    /// The line of a cache that was used last.
    line: Option<CachedLine>,
}

impl BlockBuilder<'_> {
    /// Returns the index of the edge along which the block continues. At most `FORKS` instructions from
    /// its beginning, that is the one taken most often; from there on, only one that is likely.
    fn choose(&self, node: &Node) -> Option<usize> {
        if node.it.op == Op::JumpRegister
            && let Some(link) = self.links.last()
            && node.way(*link) != LEAVE
        {
            return Some(node.way(*link));
        }
        let known = |way: &usize| node.edges[*way].cycles != 0;
        let most = (0..EDGES).filter(known).max_by_key(|way| node.hits[*way])?;
        let all = node.hits.iter().map(|hits| u32::from(*hits)).sum::<u32>();
        let is_only = (0..EDGES).filter(known).count() == 1;
        (is_only || self.at.count < FORKS || is_likely(node.hits[most].into(), all)).then_some(most)
    }

    fn push(&mut self, draft: Draft) {
        self.steps.push((draft, self.at));
    }

    /// Appends the steps of a node that continues along an edge, and of what that fetches. Returns `false` if
    /// a block cannot hold the node.
    fn append(&mut self, node: &Node, edge: &Edge) -> bool {
        let lines = self.memo.lines(edge.fetched);
        // A line stays until another one takes its place, for which the core would have to wait, and the latest
        // of its set until another line of the set is used.
        let is_used = lines.all().first().is_some_and(|line| self.line == Some(*line));
        let lines = lines.all().get(usize::from(is_used)..).unwrap_or_default();
        if lines.is_empty() {
            return self.append_effect(node, edge);
        }
        let before = (self.steps.len(), self.links.len());
        let push = |builder: &mut Self, operation| {
            for line in lines {
                builder.push(Draft::line(operation, *line));
            }
        };
        let is_held = match node.it.op {
            // Once its outcome is the edge's, nothing else depends on it.
            Op::Branch(_) => {
                let is_held = self.append_effect(node, edge);
                push(self, Operation::Fetch);
                is_held
            }
            // It may itself use a line, and the order of uses does not matter if none changes anything.
            Op::Load(_) => {
                push(self, Operation::FetchLatest);
                self.append_effect(node, edge)
            }
            // Its outcome may be another one, or it has an effect when its outcome is known.
            Op::Store(_) | Op::Divide(_) | Op::JumpRegister => {
                push(self, Operation::Find);
                let is_held = self.append_effect(node, edge);
                push(self, Operation::Fetch);
                is_held
            }
            _ => {
                push(self, Operation::Fetch);
                self.append_effect(node, edge)
            }
        };
        if is_held {
            self.line = lines.last().copied();
        } else {
            self.steps.truncate(before.0);
            self.links.truncate(before.1);
        }
        is_held
    }

    /// Appends the steps of a node that continues along an edge, without what it fetches.
    fn append_effect(&mut self, node: &Node, edge: &Edge) -> bool {
        let it = &node.it;
        let (value, link) = (it.imm as u32, node.pc.wrapping_add(it.size.into()));
        let draft = match it.op {
            Op::Alu(..) | Op::LoadUpper | Op::AddUpperToPc if it.rd == 0 => return true,
            Op::Fence => return true,
            Op::LoadUpper => Draft::constant(it.rd, value),
            Op::AddUpperToPc => Draft::constant(it.rd, node.pc.wrapping_add(value)),
            Op::Alu(alu, second) => Draft::new(Operation::Alu(alu, second), it, 0, value),
            Op::Divide(_) | Op::Load(_) if it.rd == 0 => return false,
            Op::Divide(divide) => {
                let Ok(cycles) = edge.key.try_into() else { return false };
                Draft::new(Operation::Divide(divide), it, cycles, 0)
            }
            Op::Load(_) | Op::Store(_) => {
                let Ok(waits) = edge.key.try_into() else { return false };
                let operation = match (it.op, waits == self.waits) {
                    (Op::Load(width), true) => Operation::Load(width),
                    (Op::Load(width), false) => Operation::LoadElsewhere(width),
                    (Op::Store(width), true) => Operation::Store(width),
                    (Op::Store(width), false) => Operation::StoreElsewhere(width),
                    _ => return false,
                };
                Draft::new(operation, it, waits, value)
            }
            Op::Branch(condition) => {
                let is_taken = edge.key != 0;
                let expected = if is_taken { condition } else { condition.not() };
                Draft::new(Operation::Expect(expected), it, 0, (!is_taken).into())
            }
            Op::Jump => {
                self.push_link(it.rd, link);
                return true;
            }
            Op::JumpRegister => {
                if !self.push_jump(node, edge.key) {
                    return false;
                }
                if self.links.last() == Some(&edge.key) {
                    self.links.pop();
                }
                self.push_link(it.rd, link);
                return true;
            }
            _ => return false,
        };
        self.push(draft);
        true
    }

    /// Appends the check of an indirect jump, if its target is not certain. Returns `false` if a block
    /// cannot hold the jump.
    fn push_jump(&mut self, node: &Node, target: u32) -> bool {
        let it = &node.it;
        if let Some((Draft { operation: Operation::Constant, operands }, _)) = self.steps.last()
            && operands.a == it.rs1
            && operands.value.wrapping_add(it.imm as u32) & !1 == target
        {
            if it.rd == it.rs1 {
                // The link replaces the constant.
                self.steps.pop();
            }
            return true;
        }
        let operation = if it.rd == 0 { Operation::JumpRegister } else { Operation::ExpectTarget };
        self.push_target(node, operation, target)
    }

    fn push_target(&mut self, node: &Node, operation: Operation, value: u32) -> bool {
        let Ok(offset) = i8::try_from(node.it.imm) else { return false };
        let Operands { a, b, .. } = Draft::new(operation, &node.it, 0, 0).operands;
        let operands = Operands { a, b, c: offset as u8, waits: 0, value };
        self.push(Draft { operation, operands });
        true
    }

    fn push_link(&mut self, register: u8, link: u32) {
        if register != 0 {
            self.push(Draft::constant(register, link));
            if self.links.len() < MAX_CALL_DEPTH {
                self.links.push(link);
            }
        }
    }

    /// Ends the block with a node, whatever its outcome, if it is a branch or jump.
    fn end(&mut self, node: &Node) {
        match node.it.op {
            Op::Branch(condition) => {
                self.push(Draft::new(Operation::Branch(condition), &node.it, 0, 0));
            }
            Op::JumpRegister if node.it.rd == 0 => {
                // No target is odd.
                self.push_target(node, Operation::JumpRegister, 1);
            }
            _ => {}
        }
    }
}

impl Graph {
    /// Discards all blocks.
    pub fn forget_blocks(&mut self) {
        self.blocks.clear();
        self.starts.fill(Start::NEW);
    }

    /// Returns the node that an edge leads to, if it is known.
    fn next_node(&self, node: &Node, edge: &Edge) -> Option<u32> {
        (edge.cycles != 0).then(|| self.find(node.successor_key(edge)))?
    }

    /// Forms the block that begins at a node. `waits` are the wait states of loads and stores in the main
    /// RAM.
    #[inline(never)]
    pub fn form(&mut self, start: u32, waits: u8, memo: &Memo) {
        let (at, line) = (Point::of(start), None);
        let mut builder =
            BlockBuilder { at, steps: Vec::new(), links: Vec::new(), waits, memo, line };
        let most = self.follow(&mut builder, start);
        let Some(begun) = self.starts.get_mut(start as usize) else { return };
        if builder.steps.is_empty() {
            begun.cool();
            return;
        }
        builder.push(Draft::END);
        let mut last = None;
        let steps = builder.steps.iter();
        let steps = steps.map(|(draft, at)| (draft.function(&mut last), draft.operands, *at));
        begun.block = self.blocks.push(&steps.collect::<Vec<_>>(), most, ());
    }

    /// Appends node after node. Returns the most cycles that they may need.
    fn follow(&self, builder: &mut BlockBuilder<'_>, start: u32) -> u32 {
        let mut most = 0;
        loop {
            let here = builder.at;
            let begins = |node: u32| {
                node == start
                    || self.starts.get(node as usize).copied().is_some_and(Start::has_block)
            };
            if here.count >= LONGEST || here.count >= ENOUGH && begins(here.node) {
                return most;
            }
            let Some(node) = self.nodes.get(here.node as usize) else { return most };
            let chosen = builder.choose(node).map(|way| &node.edges[way]);
            let next = chosen.and_then(|edge| Some((edge, self.next_node(node, edge)?)));
            let Some((edge, next)) = next else {
                builder.end(node);
                return most.max(here.cycles + u32::from(node.most));
            };
            if !builder.append(node, edge) {
                return most;
            }
            most = most.max(here.cycles + u32::from(node.most));
            builder.at = here.after(edge, next);
        }
    }
}
