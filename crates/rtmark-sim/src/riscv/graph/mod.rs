//! A graph of memoized passages: a run along it does not consult the pipeline model.
//!
//! A node is an instruction at an address together with the numbered pipeline state in which it
//! executes. Each of its edges leads to the next node, depends on the instruction's outcome, and
//! takes the cycles that the pipeline model once determined. A node's function has the same effect
//! as `exec`, but acts only if the edge is known and the memory is certain to respond with the
//! edge's wait states. Otherwise it does nothing, and the instruction is executed on the slow path;
//! so it is where a cache does not hold a line that one of the node's edges fetches from.
//! Frequently executed nodes are joined into blocks (see [`block`]).

mod block;
mod operation;
mod perform;
mod run;
mod steps;

use super::hart::Hart;
use super::isa::{Instruction, Op};
use super::system::System;
use super::timing::{Demand, Memo, PassageResult, memo};
use crate::state::Landmarks;
use crate::superblock::{Blocks, Start};
use crate::timing::memo::map::Map;
pub use run::{GraphExit, GraphProgress};
use steps::GraphCode;

/// Executes an instruction. Returns the index of the edge that its node takes, or [`LEAVE`].
pub type Run = fn(&mut Hart, &mut System, &Node) -> usize;

/// The instruction must be executed on the slow path. Nothing has changed.
pub const LEAVE: usize = usize::MAX;
/// The index that denotes no node.
pub const NONE: u32 = u32::MAX;
/// The number of edges per node.
const EDGES: usize = 4;
/// The number of nodes, or of remembered jumps, at which the whole graph is discarded.
const MOST: usize = 1 << 17;

/// A transition from an instruction to the next node.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The part of the demand that the instruction does not determine: see [`memo::variant`].
    key: u32,
    /// The next node, or [`NONE`] if it is not known.
    pub next: u32,
    /// The number of the pipeline state there.
    to: u32,
    /// The number of the list of lines that it fetches from: see [`memo::Memo::lines`].
    pub fetched: u32,
    /// The wait states of its access, over all data phases.
    pub waits: u16,
    /// The cycles that it takes; 0 if there is no edge.
    pub cycles: u8,
}

const NOWHERE: Edge =
    Edge { key: 0, next: NONE, to: 0, fetched: memo::NO_LINES, waits: 0, cycles: 0 };

/// An instruction in a numbered pipeline state. The fields that every execution reads come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Node {
    pub run: Run,
    it: Instruction,
    pc: u32,
    number: u32,
    /// The cycles of its longest edge.
    pub most: u8,
    /// The edge that was replaced last.
    oldest: u8,
    /// Whether any of its edges fetches from a cache.
    fetches: bool,
    /// The number of times each edge has been taken outside of blocks, saturating.
    pub hits: [u16; EDGES],
    pub edges: [Edge; EDGES],
}

/// A node's address and the number of its pipeline state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeKey {
    pub pc: u32,
    pub number: u32,
}

impl Node {
    /// Returns the node's address and pipeline state.
    pub const fn node_key(&self) -> NodeKey {
        NodeKey { pc: self.pc, number: self.number }
    }

    /// Returns the index of the edge with a key, or [`LEAVE`].
    #[inline(always)]
    fn way(&self, key: u32) -> usize {
        let has = |edge: &Edge| edge.key == key && edge.cycles != 0;
        self.edges.iter().position(has).unwrap_or(LEAVE)
    }

    /// Returns whether caches hold whatever any of its edges fetches. A load may itself use a line, before them here
    /// and behind them on the slow path; the order does not matter if none of the uses changes anything.
    fn finds_lines(&self, system: &System, memo: &Memo) -> bool {
        let loads = matches!(self.it.op, Op::Load(_));
        let finds = |line| if loads { system.has_latest(line) } else { system.holds(line) };
        let known = self.edges.iter().filter(|edge| edge.cycles != 0);
        let mut lists = known.map(|edge| memo.lines(edge.fetched));
        lists.all(|lines| lines.all().iter().all(|line| finds(*line)))
    }

    /// Returns the index of a branch's edge, or [`LEAVE`]: 0 if not taken, 1 if taken.
    #[inline(always)]
    const fn branch(&self, taken: bool) -> usize {
        if self.edges[taken as usize].cycles == 0 { LEAVE } else { taken as usize }
    }

    /// Returns the node key that an edge leads to.
    pub fn successor_key(&self, edge: &Edge) -> NodeKey {
        let next = self.pc.wrapping_add(self.it.size.into());
        let target = self.pc.wrapping_add(self.it.imm as u32);
        let pc = match self.it.op {
            Op::Jump => target,
            Op::Branch(_) if edge.key != 0 => target,
            Op::JumpRegister => edge.key,
            _ => next,
        };
        NodeKey { pc, number: edge.to }
    }

    /// Adds an edge. If all slots are used, it replaces the oldest edge.
    fn add_edge(&mut self, edge: Edge) {
        let free = self.edges.iter().position(|edge| edge.cycles == 0);
        let at = match (self.it.op, free) {
            (Op::Branch(_), _) => edge.key as usize & 1,
            (_, Some(free)) => free,
            (_, None) => {
                self.oldest = (self.oldest + 1) % EDGES as u8;
                usize::from(self.oldest)
            }
        };
        self.edges[at] = edge;
        self.most = self.most.max(edge.cycles);
        self.fetches |= edge.fetched != memo::NO_LINES;
    }
}

/// The nodes of a machine and the blocks that begin at them.
#[derive(Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// For each node, the block that begins there or the countdown to it.
    starts: Vec<Start>,
    blocks: Blocks<GraphCode>,
    keys: Map<NodeKey, u32>,
    /// Paths of indirect jumps by node and target, because a node holds only [`EDGES`] of them.
    jumps: Map<(u32, u32), Edge>,
    /// Addresses of instructions that are always executed on the slow path, in ascending order.
    marks: Vec<u32>,
    /// The landmarks of an observer that observes the run only at these, if there is one.
    landmarks: Option<Landmarks>,
    /// Whether any run uses the graph, which makes building it worthwhile.
    is_used: bool,
}

/// Clones only the marks, because most clones of a machine are short-lived.
impl Clone for Graph {
    fn clone(&self) -> Self {
        Self { marks: self.marks.clone(), ..Self::default() }
    }
}

impl Graph {
    /// Discards everything except the marks.
    pub fn forget(&mut self) {
        self.nodes.clear();
        self.starts.clear();
        self.blocks.clear();
        self.keys.clear();
        self.jumps.clear();
    }

    /// Sets the addresses at which runs stop or are recorded.
    pub fn mark(&mut self, mut addresses: Vec<u32>) {
        addresses.sort_unstable();
        if self.marks != addresses {
            self.marks = addresses;
            self.forget();
        }
    }

    /// Sends the instructions that an observer must see at landmarks to the slow path.
    pub fn observe_at(&mut self, landmarks: Option<&Landmarks>) {
        if Landmarks::replace(&mut self.landmarks, landmarks) {
            self.forget();
        }
    }

    /// Returns whether an observer is attached at landmarks.
    pub const fn is_observed(&self) -> bool {
        self.landmarks.is_some()
    }

    /// Returns whether the observer at landmarks must see an instruction. Other instructions that
    /// change masks or switch threads never have nodes.
    fn is_landmark(&self, it: &Instruction, pc: u32) -> bool {
        let Some(landmarks) = &self.landmarks else { return false };
        let target = pc.wrapping_add(it.imm as u32);
        let leads = match it.op {
            Op::JumpRegister => true,
            Op::Jump => it.rd != 0 || landmarks.is_crossed(pc, target),
            Op::Branch(_) => landmarks.is_crossed(pc, target),
            _ => false,
        };
        leads || landmarks.begins(pc)
    }

    /// Records that a run uses the graph.
    pub const fn begin(&mut self) {
        self.is_used = true;
    }

    /// Returns the node at a node key, if there is one.
    pub fn find(&self, node_key: NodeKey) -> Option<u32> {
        self.keys.get(&node_key).copied()
    }

    /// Records an instruction's passage from a numbered state.
    pub fn note(&mut self, it: &Instruction, demand: &Demand, from: u32, result: PassageResult) {
        if !self.is_used || self.marks.binary_search(&demand.pc).is_ok() {
            return;
        }
        let (Some(run), Some(key)) = (perform::pick(it), memo::variant(demand)) else { return };
        if self.is_landmark(it, demand.pc) {
            return;
        }
        if self.nodes.len() >= MOST || self.jumps.len() >= MOST {
            self.forget();
        }
        let node_key = NodeKey { pc: demand.pc, number: from };
        let at = *self.keys.entry(node_key).or_insert(self.nodes.len() as u32);
        if at as usize == self.nodes.len() {
            let (it, pc, number) = (*it, node_key.pc, node_key.number);
            let edges = [NOWHERE; EDGES];
            let (fetches, hits) = (false, [0; EDGES]);
            self.nodes.push(Node { run, it, pc, number, most: 0, oldest: 0, fetches, hits, edges });
            self.starts.push(Start::NEW);
        }
        let Some(node) = self.nodes.get_mut(at as usize) else { return };
        if node.way(key) != LEAVE {
            return;
        }
        let waits = demand.access.all_waits();
        let PassageResult { to, fetched, cycles } = result;
        let edge = Edge { key, next: NONE, to, fetched, waits, cycles };
        node.add_edge(edge);
        if it.op == Op::JumpRegister {
            self.jumps.insert((at, key), edge);
        }
    }

    /// Links a node's edge to the next node, and returns that node.
    ///
    /// # Errors
    ///
    /// Fails with the node key that the edge leads to if there is no node there, and with `None` if
    /// there is no such edge.
    pub fn link(&mut self, at: u32, way: usize) -> Result<u32, Option<NodeKey>> {
        let node = self.nodes.get(at as usize).ok_or(None)?;
        let edge = node.edges.get(way).ok_or(None)?;
        let node_key = node.successor_key(edge);
        let next = self.find(node_key).ok_or(Some(node_key))?;
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.edges[way].next = next;
        }
        Ok(next)
    }

    /// Restores the edge of an indirect jump that another edge has replaced. Returns whether there
    /// was one.
    pub fn recall(&mut self, at: u32, hart: &Hart) -> bool {
        let Some(node) = self.nodes.get_mut(at as usize) else { return false };
        if node.it.op != Op::JumpRegister {
            return false;
        }
        let target = perform::target(hart, &node.it);
        if node.way(target) != LEAVE {
            return false;
        }
        let edge = self.jumps.get(&(at, target));
        edge.is_some_and(|edge| {
            node.add_edge(*edge);
            true
        })
    }
}
