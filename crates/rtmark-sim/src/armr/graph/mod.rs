//! A graph of memoized passages: a run along it does not consult the pipeline model.
//!
//! A node is an instruction at its address together with the numbered scoreboard on which it
//! executes. An edge leads to the next node for one outcome of the instruction, and states the
//! cycles that it takes. Both were once determined by the pipeline model. The semantics of
//! instructions are in `exec`; a node's function applies them only if the memory is certain to
//! respond as the edge states: data in memory that never waits or in the cache, and code in the
//! cache. Otherwise the function does nothing, and the instruction is executed on the slow path.
//! Frequently executed nodes are joined into blocks (see [`block`]).

mod access;
mod block;
mod data;
mod operation;
mod perform;
mod run;
mod select;
mod steps;
mod transfer;

use super::control::CounterValues;
use super::exec::{Arch, Effects};
use super::isa::{Instruction, Op};
use super::timing::{Flow, Moves, Passage, Pipeline, Place, key};
pub use crate::superblock::LEAVE;
use crate::superblock::{Blocks, Start};
use crate::timing::memo::map::Map;
pub use run::GraphProgress;
use steps::GraphCode;

/// Executes an instruction that issues in a given cycle. Returns the key of its outcome, or
/// [`LEAVE`].
pub type Run = fn(&mut Arch, &mut Pipeline, &Node, u64) -> u32;

/// The index that denotes no node.
pub const NONE: u32 = u32::MAX;
/// The number of edges per node: a branch is taken or not, and predicted correctly or not.
const EDGES: usize = 4;
/// The number of nodes, or of pairs of lines, at which all are discarded.
const MOST: usize = 1 << 18;
/// The number of nodes in the direct-mapped lookup cache, a power of two.
const NEAR: usize = 1 << 14;
/// The size of a line of code in bytes.
const LINE: u32 = 32;

/// The transition to the next node for one outcome of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    key: u16,
    pub cycles: u16,
    /// The next node if it is known and always the same, or [`NONE`].
    pub next: u32,
    /// The number of the scoreboard there.
    pub to: u32,
}

const NOWHERE: Edge = Edge { key: u16::MAX, cycles: 0, next: NONE, to: 0 };

/// An instruction on a numbered scoreboard.
#[derive(Clone, Debug)]
pub struct Node {
    pub run: Run,
    /// The function that `run` calls if the condition holds.
    pub then: Run,
    pub it: Instruction,
    pub place: Place,
    pub number: u32,
    /// The cycle of its issue, counted from the scoreboard's next cycle.
    pub issue: i16,
    /// ITSTATE before it.
    pub state: u8,
    pub condition: u8,
    /// Whether the code that it was decoded from may have changed.
    is_cut: bool,
    /// Whether it has been part of a block.
    is_in_block: bool,
    /// The node to which it last branched, if it does not encode its target, or [`NONE`].
    pub last: u32,
    pub flow: Flow,
    pub moves: Moves,
    /// The lines that contain it.
    pub lines: u32,
    /// The number of times each edge has been taken outside of blocks, saturating.
    pub hits: [u16; EDGES],
    pub edges: [Edge; EDGES],
}

impl Node {
    /// Returns the index of the edge of a key.
    #[inline(always)]
    pub fn way(&self, key: u32) -> Option<usize> {
        self.edges.iter().position(|edge| u32::from(edge.key) == key)
    }

    /// Returns the edge of a key.
    #[inline(always)]
    pub fn edge(&self, key: u32) -> Option<&Edge> {
        self.edges.iter().find(|edge| u32::from(edge.key) == key)
    }

    /// Returns the node key that an outcome leads to, with the given scoreboard number. `target` is
    /// used only if the instruction does not encode its target.
    pub fn successor_key(&self, key: u32, target: u32, number: u32) -> NodeKey {
        let Place { pc, thumb, .. } = self.place;
        let jumps = key & key::JUMPS != 0;
        let pc = match (jumps, self.is_indirect()) {
            (false, _) => pc.wrapping_add(self.place.size.into()),
            (true, false) => self.it.imm,
            (true, true) => target,
        };
        let changes = jumps && self.it.op == Op::BranchLink && self.it.a == 1;
        let state = match self.it.op {
            Op::IfThen if key & key::SKIPPED == 0 => self.it.imm as u8,
            _ if self.state != 0 => super::cpu::after_it(self.state),
            _ => 0,
        };
        NodeKey { pc, thumb: thumb != changes, state, number }
    }

    /// Returns the number of bytes that it transfers, and whether it loads them.
    pub fn moves(&self) -> (u32, bool) {
        transfer::moves(&self.it)
    }

    /// Returns whether it may branch to a varying target.
    pub const fn is_indirect(&self) -> bool {
        !matches!(self.flow, Flow::On | Flow::Direct { .. })
    }
}

/// The identity of a node: the address and instruction set of its instruction, ITSTATE, and the
/// number of the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeKey {
    pub pc: u32,
    pub thumb: bool,
    pub state: u8,
    pub number: u32,
}

impl NodeKey {
    #[inline]
    pub const fn of(node: &Node) -> Self {
        let Node { place, state, number, .. } = *node;
        Self { pc: place.pc, thumb: place.thumb, state, number }
    }

    #[inline]
    const fn near(self) -> usize {
        let mixed = self.pc >> 1 ^ self.number.wrapping_mul(0x9E37_79B1) >> 14;
        mixed as usize % NEAR
    }
}

/// The line of code that contains an instruction, or the two consecutive ones.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    pub first: u32,
    pub last: u32,
    /// The state of the code when the lines were last found present and executable; 0 for never.
    pub seen: u64,
}

impl Lines {
    /// Returns whether the lines of an instruction at an address may be executed and need no bus
    /// access, in the given state of code.
    pub fn are_there(
        &mut self,
        pc: u32,
        seen: u64,
        (arch, pipeline): (&mut Arch, &Pipeline),
    ) -> bool {
        if self.seen != seen {
            let protection = &mut arch.control.protection;
            let privileged = arch.cpu.is_privileged();
            let Ok(kind) = protection.code(pc, privileged) else { return false };
            let holds = |line| pipeline.memory.holds_code(line, kind, pipeline.switches);
            if !holds(self.first) || !holds(self.last) {
                return false;
            }
            self.seen = seen;
        }
        true
    }
}

/// The nodes of a core and the lookup tables that find them.
#[derive(Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// For each node, the block that begins there or the countdown to it.
    pub starts: Vec<Start>,
    blocks: Blocks<GraphCode>,
    /// The lines of the blocks.
    block_lines: Vec<u32>,
    /// The index of all nodes, and the lookup cache in front of it.
    spots: Map<NodeKey, u32>,
    near: Vec<u32>,
    pub lines: Vec<Lines>,
    numbers: Map<(u32, u32), u32>,
    /// The open edge, whose next node is not known: its node, its index there, and the node key that it
    /// leads to.
    open: Option<(u32, usize, NodeKey)>,
    /// Whether there was no room for another node.
    pub is_full: bool,
    /// The first scoreboard number for which nodes were created.
    pub first_number: u32,
}

impl Graph {
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Discards everything.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the node at a node key, if there is one.
    #[inline]
    pub fn find(&mut self, node_key: NodeKey) -> Option<u32> {
        let near = node_key.near();
        let at = *self.near.get(near)?;
        if let Some(node) = self.nodes.get(at as usize)
            && NodeKey::of(node) == node_key
        {
            return Some(at);
        }
        let at = *self.spots.get(&node_key)?;
        self.near[near] = at;
        Some(at)
    }

    /// Sends nodes to the slow path, because the code that they were decoded from may have changed.
    pub fn cut(&mut self, nodes: &[u32]) {
        let mut is_in_block = false;
        for at in nodes {
            if let Some(node) = self.nodes.get_mut(*at as usize) {
                is_in_block |= node.is_in_block;
                node.is_cut = true;
                node.run = perform::leave;
                node.edges = [NOWHERE; EDGES];
            }
        }
        if is_in_block && !self.blocks.is_empty() {
            self.forget_blocks();
        }
    }

    /// Returns the number of the lines that contain an instruction.
    fn lines_of(&mut self, place: &Place) -> u32 {
        let (first, last) = (place.pc & !(LINE - 1), place.last_byte() & !(LINE - 1));
        let number = *self.numbers.entry((first, last)).or_insert(self.lines.len() as u32);
        if number as usize == self.lines.len() {
            self.lines.push(Lines { first, last, seen: 0 });
        }
        number
    }

    /// Records an instruction's passage; `state` is ITSTATE before it. Returns its node if that is
    /// new.
    pub fn note(
        &mut self,
        (it, flow, moves): (&Instruction, Flow, Moves),
        place: &Place,
        state: u8,
        passage: &Passage,
    ) -> Option<u32> {
        let node_key = NodeKey { pc: place.pc, thumb: place.thumb, state, number: passage.from };
        let known = self.find(node_key);
        let is_known = |at: &u32| self.nodes.get(*at as usize).is_some_and(|node| !node.is_cut);
        if let Some(at) = known.filter(is_known) {
            self.close(at);
            self.add_edge(at, passage);
            return None;
        }
        let condition = if state == 0 { it.condition } else { state >> 4 };
        let (run, then) = perform::pick(it, condition)?;
        if self.nodes.len() >= MOST || self.lines.len() >= MOST {
            self.is_full = true;
            return None;
        }
        if self.near.is_empty() {
            self.near = vec![NONE; NEAR];
        }
        let lines = self.lines_of(place);
        let node = Node {
            run,
            then,
            it: *it,
            place: *place,
            number: passage.from,
            issue: passage.issue,
            state,
            condition,
            is_cut: false,
            is_in_block: false,
            last: NONE,
            flow,
            moves,
            lines,
            hits: [0; EDGES],
            edges: [NOWHERE; EDGES],
        };
        let at = known.unwrap_or(self.nodes.len() as u32);
        if let Some(place) = self.nodes.get_mut(at as usize) {
            *place = node;
        } else {
            self.nodes.push(node);
            self.starts.push(Start::NEW);
        }
        self.spots.insert(node_key, at);
        self.near[node_key.near()] = at;
        self.close(at);
        self.add_edge(at, passage);
        Some(at)
    }

    /// Adds the edge of a passage to a node, and leaves it open.
    pub fn add_edge(&mut self, at: u32, passage: &Passage) {
        let Some(node) = self.nodes.get_mut(at as usize) else { return };
        let Ok(key) = u16::try_from(passage.outcome) else { return };
        let which = node.edges.iter().position(|edge| edge.key == key).unwrap_or_else(|| {
            let free = node.edges.iter().position(|edge| edge.key == u16::MAX);
            // The last edge is replaced.
            let which = free.unwrap_or(EDGES - 1);
            let Passage { to, cycles, .. } = *passage;
            node.edges[which] = Edge { key, cycles, next: NONE, to };
            which
        });
        let node_key = node.successor_key(passage.outcome, 0, passage.to);
        self.open = (!node.is_indirect()).then_some((at, which, node_key));
    }

    /// Returns the edge of a key at a node, which leads to a node key. If the next node is not known,
    /// the edge becomes the open one.
    pub fn open(&mut self, at: u32, key: u32, node_key: NodeKey) -> Option<Edge> {
        let node = self.nodes.get(at as usize)?;
        let which = node.edges.iter().position(|edge| u32::from(edge.key) == key)?;
        let edge = node.edges[which];
        let is_open = edge.next == NONE && !node.is_indirect();
        self.open = is_open.then_some((at, which, NodeKey { number: edge.to, ..node_key }));
        Some(edge)
    }

    /// Returns the node that an edge leads to, looked up by its node key if it is not linked.
    pub fn successor(&mut self, edge: &Edge, node_key: NodeKey) -> Option<u32> {
        if edge.next == NONE { self.find(node_key) } else { Some(edge.next) }
    }

    /// Returns the lines that contain a node.
    pub fn lines_at(&self, node: u32) -> Option<Lines> {
        self.lines.get(self.nodes.get(node as usize)?.lines as usize).copied()
    }

    /// Links the open edge to a node, if it leads to that node's node key.
    pub fn close(&mut self, next: u32) {
        let Some((at, which, node_key)) = self.open.take() else { return };
        if self.nodes.get(next as usize).is_none_or(|to| NodeKey::of(to) != node_key) {
            return;
        }
        let Some(from) = self.nodes.get_mut(at as usize) else { return };
        let edge = &mut from.edges[which];
        if edge.to == node_key.number {
            edge.next = next;
        }
    }
}
