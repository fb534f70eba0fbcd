//! How passages follow each other: a graph, along which a run goes without asking anew.
//!
//! A node is an instruction at its place with the numbered scoreboard that it meets. A path leads
//! from it to the next node by what the instruction has done, and says how many cycles that took.
//! Both come of what the pipeline has answered once. What an instruction does stands in `exec`; its
//! node's function does it where that is sure to take what the path says: memory that never waits
//! or is in the cache, code that is in the cache. Where it is not sure, the function has done nothing
//! yet, and the instruction is executed the long way.

mod data;
mod perform;
mod transfer;

use super::control::Now;
use super::exec::{Arch, Done};
use super::isa::{Instruction, Op};
use super::timing::{Flow, Moves, Passage, Pipeline, Place, key};
use crate::timing::memo::map::Map;

/// Does what an instruction does that issues in a cycle; answers the key of it, or [`LEAVE`].
pub type Run = fn(&mut Arch, &mut Pipeline, &Node, u64) -> u32;

/// It has to be executed the long way; nothing has been done.
pub const LEAVE: u32 = u32::MAX;
/// No node.
pub const NONE: u32 = u32::MAX;
/// Paths of a node: those of a branch, taken or not, foreseen or not.
const PATHS: usize = 4;
/// Nodes and pairs of lines, beyond which all are forgotten.
const MOST: usize = 1 << 18;
/// Nodes that are found at one look: a power of two.
const NEAR: usize = 1 << 14;
/// Bytes of a line of code.
const LINE: u32 = 32;

/// Where an instruction leads by what it has done.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    key: u16,
    pub cycles: u16,
    /// The next node, if it is known and always the same.
    pub next: u32,
    /// The number of the scoreboard there.
    pub to: u32,
    /// The lines that the next instruction is in, if they have to be looked at; see [`Lines`].
    pub lines: u32,
}

const NOWHERE: Path = Path { key: u16::MAX, cycles: 0, next: NONE, to: 0, lines: 0 };

/// An instruction that meets a numbered scoreboard.
#[derive(Clone, Debug)]
pub struct Node {
    pub run: Run,
    /// What is run if the condition holds.
    pub then: Run,
    pub it: Instruction,
    pub place: Place,
    pub number: u32,
    /// When it issues, counted from the scoreboard's next cycle.
    pub issue: i16,
    /// ITSTATE before it.
    pub state: u8,
    pub condition: u8,
    /// What it was made from may have changed.
    is_cut: bool,
    pub flow: Flow,
    pub moves: Moves,
    /// The lines that it is in.
    pub lines: u32,
    pub paths: [Path; PATHS],
}

impl Node {
    /// The path of a key.
    #[inline(always)]
    pub fn path(&self, key: u32) -> Option<&Path> {
        self.paths.iter().find(|path| u32::from(path.key) == key)
    }

    /// The spot that an outcome leads to, the number of the scoreboard aside; `target` counts where
    /// the instruction does not name where it leads.
    pub fn behind(&self, key: u32, target: u32, number: u32) -> Spot {
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
        Spot { pc, thumb: thumb != changes, state, number }
    }

    /// How many bytes it moves, and whether it loads them.
    pub fn moves(&self) -> (u32, bool) {
        transfer::moves(&self.it)
    }

    /// Whether where it leads to, if anywhere else, is not always the same.
    pub const fn is_indirect(&self) -> bool {
        !matches!(self.flow, Flow::On | Flow::Direct { .. })
    }
}

/// Where a node is: the address of its instruction with the set in the lowest bit, ITSTATE, and the
/// number of the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spot {
    pub pc: u32,
    pub thumb: bool,
    pub state: u8,
    pub number: u32,
}

impl Spot {
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

/// One line of code or two in a row, which one instruction is in.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    pub first: u32,
    pub last: u32,
    /// When it was looked last whether they are there and may be executed; 0 is never.
    pub seen: u64,
}

/// The graph.
#[derive(Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// All nodes, and those that were asked for lately.
    spots: Map<Spot, u32>,
    near: Vec<u32>,
    pub lines: Vec<Lines>,
    numbers: Map<(u32, u32), u32>,
    /// The path whose next node has not been met: its node, its place there, where it leads.
    open: Option<(u32, usize, Spot)>,
    /// There was no room for another node.
    pub is_full: bool,
    /// The first number of a scoreboard that nodes were made for.
    pub first_number: u32,
}

impl Graph {
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The node at a spot.
    #[inline]
    pub fn find(&mut self, spot: Spot) -> Option<u32> {
        let near = spot.near();
        let at = *self.near.get(near)?;
        if let Some(node) = self.nodes.get(at as usize)
            && Spot::of(node) == spot
        {
            return Some(at);
        }
        let at = *self.spots.get(&spot)?;
        self.near[near] = at;
        Some(at)
    }

    /// What has been decoded from other bytes, or may have been, is executed the long way.
    pub fn cut(&mut self, nodes: &[u32]) {
        for at in nodes {
            if let Some(node) = self.nodes.get_mut(*at as usize) {
                node.is_cut = true;
                node.run = perform::leave;
                node.paths = [NOWHERE; PATHS];
            }
        }
    }

    /// The number of the lines of an instruction.
    fn lines_of(&mut self, place: &Place) -> u32 {
        let (first, last) = (place.pc & !(LINE - 1), place.last_byte() & !(LINE - 1));
        if self.lines.is_empty() {
            // The number of no line.
            self.lines.push(Lines { first: 1, last: 1, seen: u64::MAX });
        }
        let number = *self.numbers.entry((first, last)).or_insert(self.lines.len() as u32);
        if number as usize == self.lines.len() {
            self.lines.push(Lines { first, last, seen: 0 });
        }
        number
    }

    /// An instruction has passed, with ITSTATE before it: answers its node, if that is a new one.
    pub fn note(
        &mut self,
        (it, flow, moves): (&Instruction, Flow, Moves),
        place: &Place,
        state: u8,
        passage: &Passage,
    ) -> Option<u32> {
        let spot = Spot { pc: place.pc, thumb: place.thumb, state, number: passage.from };
        let known = self.find(spot);
        let is_known = |at: &u32| self.nodes.get(*at as usize).is_some_and(|node| !node.is_cut);
        if let Some(at) = known.filter(is_known) {
            self.close(at);
            self.lead(at, passage);
            return None;
        }
        let condition = if state == 0 { it.condition } else { state >> 4 };
        let (run, then) = perform::pick(it, condition, state != 0)?;
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
            flow,
            moves,
            lines,
            paths: [NOWHERE; PATHS],
        };
        let at = known.unwrap_or(self.nodes.len() as u32);
        match self.nodes.get_mut(at as usize) {
            Some(place) => *place = node,
            None => self.nodes.push(node),
        }
        self.spots.insert(spot, at);
        self.near[spot.near()] = at;
        self.close(at);
        self.lead(at, passage);
        Some(at)
    }

    /// Has a path lead from a node as a passage says, and leaves it open where.
    pub fn lead(&mut self, at: u32, passage: &Passage) {
        let Some(node) = self.nodes.get_mut(at as usize) else { return };
        let Ok(key) = u16::try_from(passage.outcome) else { return };
        let which = node.paths.iter().position(|path| path.key == key).unwrap_or_else(|| {
            let free = node.paths.iter().position(|path| path.key == u16::MAX);
            // The last one gives way.
            let which = free.unwrap_or(PATHS - 1);
            let Passage { to, cycles, .. } = *passage;
            node.paths[which] = Path { key, cycles, next: NONE, to, lines: 0 };
            which
        });
        let spot = node.behind(passage.outcome, 0, passage.to);
        self.open = (!node.is_indirect()).then_some((at, which, spot));
    }

    /// The path of a key from a node, which leads to a spot; it is open if nothing is known of that.
    pub fn open(&mut self, at: u32, key: u32, spot: Spot) -> Option<Path> {
        let node = self.nodes.get(at as usize)?;
        let which = node.paths.iter().position(|path| u32::from(path.key) == key)?;
        let path = node.paths[which];
        let is_open = path.next == NONE && !node.is_indirect();
        self.open = is_open.then_some((at, which, Spot { number: path.to, ..spot }));
        Some(path)
    }

    /// The node that a path leads to at a spot.
    pub fn node_behind(&mut self, path: &Path, spot: Spot) -> Option<u32> {
        if path.next == NONE { self.find(spot) } else { Some(path.next) }
    }

    /// The lines that a node is in.
    pub fn lines_at(&self, node: u32) -> Option<Lines> {
        self.lines.get(self.nodes.get(node as usize)?.lines as usize).copied()
    }

    /// Has the path that is open lead to a node, if that is where it leads.
    pub fn close(&mut self, next: u32) {
        let Some((at, which, spot)) = self.open.take() else { return };
        let Some(to) = self.nodes.get(next as usize).filter(|to| Spot::of(to) == spot) else {
            return;
        };
        let Some(from) = self.nodes.get(at as usize) else { return };
        let lines = [from.place.last_byte(), to.place.pc, to.place.last_byte()].map(|at| at / LINE);
        let stays = lines[0] == lines[1] && lines[0] == lines[2];
        let lines = if stays { 0 } else { to.lines };
        let path = &mut self.nodes[at as usize].paths[which];
        if path.to == spot.number {
            (path.next, path.lines) = (next, lines);
        }
    }
}
