//! Blocks: sequences of nodes that are executed by one dispatch.
//!
//! A block begins at a frequently executed node and follows the likely edge of each node. Its steps
//! check what that edge depends on: conditions, targets and wait states. A step whose check fails
//! has no effect, and the run continues at that step's node as if there were no block. Blocks
//! therefore change neither results nor cycles.

use super::super::isa::Op;
use super::steps::{RareStep, Step};
use super::{EDGES, Edge, Graph, LEAVE, Node};
use crate::superblock::{BlockUse, MAX_CALL_DEPTH, MAX_STEPS, Start, is_likely};

/// The maximum number of instructions in a block.
const LONGEST: u32 = 128;
/// From this many instructions on, a block ends where it reaches its own beginning or another
/// block.
const ENOUGH: u32 = 24;
/// The progress of a run at some point of a block, counted from the block's beginning.
#[derive(Clone, Copy, Debug)]
pub struct BlockPoint {
    /// The next node.
    pub node: u32,
    pub cycles: u32,
    pub waited: u32,
    pub count: u32,
}

/// A block and its statistics.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The range of its steps.
    first: u32,
    last: u32,
    /// The cycles of the longer of its two ends.
    pub most: u32,
    /// The points after its two ends: branch not taken, branch taken. Both are the same if it does
    /// not end in a branch.
    pub ends: [BlockPoint; 2],
    pub usage: BlockUse,
}

/// The blocks of a graph.
#[derive(Debug, Default)]
pub struct Blocks {
    pub all: Vec<Block>,
    steps: Vec<Step>,
    /// The progress of a run before each step.
    points: Vec<BlockPoint>,
    pub rare: Vec<RareStep>,
}

impl Blocks {
    /// Discards all blocks.
    pub fn clear(&mut self) {
        self.all.clear();
        self.steps.clear();
        self.points.clear();
        self.rare.clear();
    }

    /// Returns the steps of a block.
    #[inline(always)]
    pub fn steps(&self, block: &Block) -> &[Step] {
        self.steps.get(block.first as usize..block.last as usize).unwrap_or_default()
    }

    /// Returns the progress of a run before a step of a block.
    pub fn point(&self, block: &Block, step: usize) -> Option<BlockPoint> {
        self.points.get(block.first as usize + step).copied()
    }
}

/// A block under construction.
struct BlockBuilder<'b> {
    blocks: &'b mut Blocks,
    at: BlockPoint,
    /// Return addresses of the calls in the block that have not returned.
    links: Vec<u32>,
}

impl BlockBuilder<'_> {
    /// Returns the index of the edge along which the block continues, if one is likely.
    fn choose(&self, node: &Node) -> Option<usize> {
        if node.it.op == Op::JumpRegister
            && let Some(link) = self.links.last()
            && node.way(*link) != LEAVE
        {
            return Some(node.way(*link));
        }
        if node.forks {
            return None;
        }
        let known = |way: &usize| node.edges[*way].cycles != 0;
        let likely = (0..EDGES).filter(known).max_by_key(|way| node.hits[*way])?;
        let all = node.hits.iter().map(|hits| u32::from(*hits)).sum::<u32>();
        let is_only = (0..EDGES).filter(known).count() == 1;
        (is_only || is_likely(node.hits[likely].into(), all)).then_some(likely)
    }

    fn push(&mut self, step: Step) {
        self.blocks.steps.push(step);
        self.blocks.points.push(self.at);
    }

    /// Appends the steps of a node that continues along an edge. Returns `false` if a block cannot
    /// hold the node.
    fn append(&mut self, node: &Node, edge: &Edge) -> bool {
        let it = &node.it;
        let link = node.pc.wrapping_add(it.size.into());
        match it.op {
            Op::Alu(..) | Op::LoadUpper | Op::AddUpperToPc if it.rd == 0 => {}
            Op::Fence => {}
            Op::LoadUpper => self.push(Step::constant(it.rd, it.imm as u32)),
            Op::AddUpperToPc => {
                self.push(Step::constant(it.rd, node.pc.wrapping_add(it.imm as u32)));
            }
            Op::Alu(alu, second) => match Step::alu(it, alu, second) {
                Some(step) => self.push(step),
                None => self.push_rare(node, edge),
            },
            Op::Divide(_) => self.push_rare(node, edge),
            Op::Load(_) | Op::Store(_) => {
                let Ok(waits) = edge.key.try_into() else { return false };
                let Some(step) = Step::access(it, waits) else { return false };
                self.push(step);
            }
            Op::Branch(condition) => self.push(Step::branch(it, condition, edge.key != 0)),
            Op::Jump => self.push_link(it.rd, link),
            Op::JumpRegister => {
                self.push(Step::jump_register(it, edge.key));
                if self.links.last() == Some(&edge.key) {
                    self.links.pop();
                }
                self.push_link(it.rd, link);
            }
            _ => return false,
        }
        true
    }

    fn push_rare(&mut self, node: &Node, edge: &Edge) {
        let value = self.blocks.rare.len() as u32;
        self.blocks.rare.push(RareStep { it: node.it, key: edge.key });
        self.push(Step { code: super::steps::Code::Rare, a: 0, b: 0, c: 0, value });
    }

    fn push_link(&mut self, register: u8, link: u32) {
        if register != 0 {
            self.push(Step::constant(register, link));
            if self.links.len() < MAX_CALL_DEPTH {
                self.links.push(link);
            }
        }
    }

    /// Returns the progress of a run after an edge.
    fn point_after(&self, edge: &Edge, next: u32) -> BlockPoint {
        let BlockPoint { cycles, waited, count, .. } = self.at;
        BlockPoint {
            node: next,
            cycles: cycles + u32::from(edge.cycles),
            waited: waited + u32::from(edge.waits),
            count: count + 1,
        }
    }
}

impl Graph {
    /// Returns the node that an edge leads to, if it is known.
    fn next_node(&self, node: &Node, edge: &Edge) -> Option<u32> {
        (edge.cycles != 0).then(|| self.find(node.successor_key(edge)))?
    }

    /// Forms the block that begins at a node.
    #[inline(never)]
    pub fn form(&mut self, start: u32) {
        if self.blocks.steps.len() >= MAX_STEPS {
            self.blocks.clear();
            self.starts.fill(Start::NEW);
        }
        let mut blocks = std::mem::take(&mut self.blocks);
        let (first, rare) = (blocks.steps.len() as u32, blocks.rare.len());
        let at = BlockPoint { node: start, cycles: 0, waited: 0, count: 0 };
        let mut builder = BlockBuilder { blocks: &mut blocks, at, links: Vec::new() };
        let ends = self.follow(&mut builder, start);
        if ends[0].count >= 2 {
            let last = blocks.steps.len() as u32;
            let most = ends[0].cycles.max(ends[1].cycles);
            if let Some(begun) = self.starts.get_mut(start as usize) {
                begun.block = blocks.all.len() as u32;
            }
            blocks.all.push(Block { first, last, most, ends, usage: BlockUse::default() });
        } else {
            blocks.steps.truncate(first as usize);
            blocks.points.truncate(first as usize);
            blocks.rare.truncate(rare);
            if let Some(begun) = self.starts.get_mut(start as usize) {
                begun.cool();
            }
        }
        self.blocks = blocks;
    }

    fn follow(&self, builder: &mut BlockBuilder<'_>, start: u32) -> [BlockPoint; 2] {
        loop {
            let here = builder.at;
            let begins = |node: u32| {
                node == start
                    || self.starts.get(node as usize).copied().is_some_and(Start::has_block)
            };
            if here.count >= LONGEST || here.count >= ENOUGH && begins(here.node) {
                return [here; 2];
            }
            let Some(node) = self.nodes.get(here.node as usize) else { return [here; 2] };
            let chosen = builder.choose(node).map(|way| &node.edges[way]);
            let next = chosen.and_then(|edge| Some((edge, self.next_node(node, edge)?)));
            match next {
                Some((edge, next)) if builder.append(node, edge) => {
                    builder.at = builder.point_after(edge, next);
                }
                Some(_) => return [here; 2],
                None => return self.fork(builder, node).unwrap_or([here; 2]),
            }
        }
    }

    /// Ends a block in a branch with both outcomes, if the next nodes of both are known.
    fn fork(&self, builder: &mut BlockBuilder<'_>, node: &Node) -> Option<[BlockPoint; 2]> {
        let Op::Branch(condition) = node.it.op else { return None };
        let [not_taken, taken, ..] = &node.edges;
        let behind = |edge| Some(builder.point_after(edge, self.next_node(node, edge)?));
        let ends = [behind(not_taken)?, behind(taken)?];
        builder.push(Step::fork(&node.it, condition));
        Some(ends)
    }

    /// Records that a block exited early, before the node in `at`. A block that does so too often
    /// is discarded, and the next one ends at that node.
    #[inline(never)]
    pub fn record_early_exit(&mut self, start: u32, at: &BlockPoint) {
        let Some(begun) = self.starts.get_mut(start as usize) else { return };
        let Some(block) = self.blocks.all.get_mut(begun.block as usize) else { return };
        let is_worth = block.usage.record_early_exit(at.count, block.ends[0].count);
        if !is_worth {
            *begun = Start::NEW;
            if let Some(node) = self.nodes.get_mut(at.node as usize) {
                node.forks = true;
            }
        }
    }
}
