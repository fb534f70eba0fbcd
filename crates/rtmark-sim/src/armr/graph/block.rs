//! Blocks: sequences of nodes that are executed by one dispatch.
//!
//! A block begins at a frequently executed node and follows the likely edge of each node. Its steps
//! check what that edge depends on: conditions, targets, how branches are predicted, and for how
//! long stores wait. Where a check fails, the run continues at that step's node, or with its
//! outcome, as if there were no block. Blocks therefore change neither results nor cycles.

use super::steps::{ANY, Code, Step};
use super::{Edge, Graph, NONE, Node, NodeKey, select};
use crate::armr::exec::Arch;
use crate::armr::isa::op::Op;
use crate::armr::timing::{Flow, Pipeline, PredictionOutcome, key};
use crate::superblock::{BlockUse, MAX_CALL_DEPTH, MAX_STEPS, Start, is_likely};

/// The maximum number of instructions in a block.
const LONGEST: u32 = 192;
/// From this many instructions on, a block ends where it reaches its own beginning or another
/// block.
const ENOUGH: u32 = 64;
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

/// A block and its statistics.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The range of its steps.
    first: u32,
    last: u32,
    /// The range of the lines that contain its instructions.
    lines: (u32, u32),
    /// The state of code when these were last found present and executable: see [`super::Lines`].
    seen: u64,
    /// The cycle in which its last instruction may issue, counted from its beginning.
    pub most: u32,
    /// The point after its last step.
    pub end: Point,
    pub usage: BlockUse,
}

/// The blocks of a graph.
#[derive(Debug, Default)]
pub struct Blocks {
    all: Vec<Block>,
    steps: Vec<Step>,
    /// The progress of a run before each step.
    points: Vec<Point>,
    /// The lines of the blocks.
    lines: Vec<u32>,
}

impl Blocks {
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&Block> {
        self.all.get(number as usize)
    }

    /// Discards all blocks.
    pub fn clear(&mut self) {
        self.all.clear();
        self.steps.clear();
        self.points.clear();
        self.lines.clear();
    }

    /// Returns the steps of a block, and the progress of a run before each.
    #[inline(always)]
    pub fn steps(&self, block: &Block) -> (&[Step], &[Point]) {
        let range = block.first as usize..block.last as usize;
        let steps = self.steps.get(range.clone()).unwrap_or_default();
        (steps, self.points.get(range).unwrap_or_default())
    }
}

/// A block under construction.
struct Forming<'b> {
    blocks: &'b mut Blocks,
    at: Point,
    /// The first of its steps, and the first of its lines.
    first: usize,
    first_line: usize,
    /// The instruction sets and return addresses of the calls in the block that have not returned.
    links: Vec<(bool, u32)>,
    /// Whether every part of branch prediction is on.
    predicts_fully: bool,
}

impl Forming<'_> {
    /// Appends a step of a node.
    fn push(&mut self, node: &Node, key: u16, step: Step) {
        let issue = self.at.cycles.cast_signed() + i32::from(node.issue);
        self.blocks.steps.push(Step { issue, key, ..step });
        self.blocks.points.push(self.at);
    }

    /// Appends a conditional branch, together with the comparison before it, if that is the last
    /// step. Returns whether it was.
    fn push_compared(&mut self, node: &Node, key: u16) -> bool {
        let steps = &self.blocks.steps[self.first..];
        let [before @ .., last] = steps else { return false };
        let is_guarded = before.last().is_some_and(|step| step.code == Code::Guard);
        let is_branch = node.it.op == Op::Branch && node.condition < 14;
        if !is_branch || is_guarded || !self.predicts_fully {
            return false;
        }
        let Some(code) = Code::compare_and_branch(last.code, node.condition) else { return false };
        let issue = node.place.pc.cast_signed();
        let step = Step { code, a: node.place.backwards.into(), issue, key, ..*last };
        self.blocks.steps.pop();
        self.blocks.points.pop();
        self.blocks.steps.push(step);
        self.blocks.points.push(self.at);
        true
    }

    /// Appends the steps of a node that continues along an edge.
    fn append(&mut self, node: &Node, edge: &Edge, target: Option<NodeKey>) {
        let (it, key) = (&node.it, edge.key);
        if self.push_compared(node, key) {
            // The comparison's step is the branch's, too.
        } else if let Some(step) = self.branch(node, edge) {
            if step.code != Code::Nothing {
                self.push(node, key, step);
            }
        } else if node.flow != Flow::On {
            let step = match target {
                Some(to) if self.returns(node, edge, to) => {
                    let target = to.pc | u32::from(to.thumb);
                    Step::new(Code::Return, 0, it.m, 0, target)
                }
                Some(to) => Step::new(Code::NodeTo, to.thumb.into(), 0, 0, to.pc),
                None => Step::new(Code::Node, 0, 0, 0, 0),
            };
            self.push(node, key, step);
        } else if node.condition < 14 {
            self.append_conditional(node, edge);
        } else {
            self.append_plain(node, edge.key);
        }
        let is_call = matches!(it.op, Op::BranchLink | Op::BranchLinkExchange);
        if is_call && u32::from(key) & key::JUMPS != 0 && self.links.len() < MAX_CALL_DEPTH {
            let link = node.place.pc.wrapping_add(it.size.into());
            self.links.push((node.place.thumb, link));
        }
    }

    /// Returns whether a node is a branch to the address in a register that returns where the return
    /// stack predicts, to an address of the same instruction set.
    fn returns(&self, node: &Node, edge: &Edge, to: NodeKey) -> bool {
        let foreseen = key::JUMPS | key::prediction(PredictionOutcome::Correct);
        node.it.op == Op::BranchExchange
            && node.flow == Flow::Register { links: false }
            && node.condition >= 14
            && self.predicts_fully
            && to.thumb == node.place.thumb
            && u32::from(edge.key) == foreseen
    }

    /// Returns the step of a branch to an encoded address, if it has one. An unconditional one needs
    /// nothing.
    fn branch(&self, node: &Node, edge: &Edge) -> Option<Step> {
        let (it, pc) = (&node.it, node.place.pc);
        let link = pc.wrapping_add(it.size.into()) | u32::from(node.place.thumb);
        match it.op {
            Op::Branch if node.condition >= 14 => Some(Step::new(Code::Nothing, 0, 0, 0, 0)),
            Op::Branch if self.predicts_fully => {
                let backwards = node.place.backwards;
                let code = if backwards { Code::BranchBackward } else { Code::BranchForward };
                Some(Step::new(code, node.condition, 0, 0, pc))
            }
            Op::CompareBranch if self.predicts_fully => {
                Some(Step::new(Code::CompareBranch, it.a, it.n, 0, pc))
            }
            Op::BranchLink if node.condition >= 14 && it.a != 1 && edge.key != ANY => {
                Some(Step::new(Code::Call, 0, 0, 0, link))
            }
            _ => None,
        }
    }

    /// Appends the steps of an instruction whose condition holds and that does not branch.
    fn append_plain(&mut self, node: &Node, key: u16) {
        let step = match select::step(&node.it, node.state != 0, key.into()) {
            _ if select::is_empty(&node.it) => return,
            Some(step) => step,
            None => Step::new(Code::Node, 0, 0, 0, 0),
        };
        self.push(node, key, step);
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
        let guard = |code, condition| Step::new(code, condition, 0, 0, 0);
        let key = match other {
            Some(other) if skips(&edge) => other.key,
            _ => edge.key,
        };
        if other.is_some() {
            self.push(node, 0, guard(Code::Guard, node.condition));
            let before = self.blocks.steps.len();
            self.append_plain(node, key);
            if self.blocks.steps.len() == before {
                self.push(node, 0, guard(Code::Nothing, 0));
            }
        } else if skips(&edge) {
            self.push(node, 0, guard(Code::Expect, node.condition ^ 1));
        } else {
            self.push(node, 0, guard(Code::Expect, node.condition));
            self.append_plain(node, key);
        }
    }

    /// Ends the block with a node, whatever its outcome.
    fn end(&mut self, node: &Node) {
        if self.push_compared(node, ANY) {
            return;
        }
        let edge = Edge { key: ANY, ..super::NOWHERE };
        let step = self.branch(node, &edge).filter(|step| step.code != Code::Nothing);
        self.push(node, ANY, step.unwrap_or(Step::new(Code::Node, 0, 0, 0, 0)));
    }

    fn add_line(&mut self, line: u32) {
        if !self.blocks.lines[self.first_line..].contains(&line) {
            self.blocks.lines.push(line);
        }
    }
}

impl Graph {
    /// Returns the index of the edge along which a block continues after a node, if one is likely.
    fn choose(node: &Node) -> Option<usize> {
        if node.forks {
            return None;
        }
        let known = |at: &usize| node.edges[*at].key != ANY;
        let likely = (0..node.edges.len()).filter(known).max_by_key(|at| node.hits[*at])?;
        let all = node.hits.iter().map(|hits| u32::from(*hits)).sum::<u32>();
        let is_only = (0..node.edges.len()).filter(known).count() == 1;
        (is_only || is_likely(node.hits[likely].into(), all) || Self::converges(node))
            .then_some(likely)
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
    pub fn form(&mut self, start: u32, pipeline: &Pipeline) {
        if self.blocks.steps.len() >= MAX_STEPS {
            self.forget_blocks();
        }
        let mut blocks = std::mem::take(&mut self.blocks);
        let (first, first_line) = (blocks.steps.len(), blocks.lines.len());
        let at = Point { node: start, cycles: 0, count: 0, last_byte: 0 };
        let predicts_fully = pipeline.predicts_fully();
        let links = Vec::new();
        let mut forming =
            Forming { blocks: &mut blocks, at, first, first_line, links, predicts_fully };
        let most = self.follow(&mut forming, start);
        let end = forming.at;
        select::drop_flags(&mut blocks.steps[first..]);
        let Some(begun) = self.starts.get_mut(start as usize) else { return };
        if end.count >= 2 {
            begun.block = blocks.all.len() as u32;
            let lines = (first_line as u32, blocks.lines.len() as u32);
            let (first, last) = (first as u32, blocks.steps.len() as u32);
            let usage = BlockUse::default();
            blocks.all.push(Block { first, last, lines, seen: 0, most, end, usage });
        } else {
            blocks.steps.truncate(first);
            blocks.points.truncate(first);
            blocks.lines.truncate(first_line);
            begun.cool();
        }
        self.blocks = blocks;
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
            if here.count >= LONGEST || here.count >= ENOUGH && begins(here.node) {
                return most;
            }
            let Some(node) = self.nodes.get(here.node as usize).filter(|node| !node.is_cut) else {
                return most;
            };
            let edge = Self::choose(node).map(|way| node.edges[way]);
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
                // Only for deciding whether the block is worth keeping; its end is not reached.
                forming.at.count += 1;
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
        let start = self.starts.get(at as usize)?;
        let block = self.blocks.all.get_mut(start.block as usize)?;
        if block.seen == seen {
            block.usage.runs = block.usage.runs.wrapping_add(1);
            return Some(start.block);
        }
        self.check_lines(at, seen, (arch, pipeline))
    }

    #[inline(never)]
    fn check_lines(
        &mut self,
        at: u32,
        seen: u64,
        (arch, pipeline): (&mut Arch, &Pipeline),
    ) -> Option<u32> {
        let start = self.starts.get(at as usize)?;
        let block = self.blocks.all.get_mut(start.block as usize)?;
        let numbers = self.blocks.lines.get(block.lines.0 as usize..block.lines.1 as usize)?;
        for number in numbers {
            let lines = self.lines.get_mut(*number as usize)?;
            if !lines.are_there(lines.first, seen, (arch, pipeline)) {
                return None;
            }
        }
        block.seen = seen;
        Some(start.block)
    }

    /// Records that a block exited early, before the node in `at`. A block that does so too often
    /// is discarded, and the next one ends at that node.
    #[inline(never)]
    pub fn ended_early(&mut self, start: u32, at: &Point) {
        let Some(begun) = self.starts.get_mut(start as usize) else { return };
        let Some(block) = self.blocks.all.get_mut(begun.block as usize) else { return };
        let is_worth = block.usage.record_early_exit(at.count, block.end.count);
        if !is_worth {
            *begun = Start::NEW;
            if let Some(node) = self.nodes.get_mut(at.node as usize) {
                node.forks = true;
            }
        }
    }
}
