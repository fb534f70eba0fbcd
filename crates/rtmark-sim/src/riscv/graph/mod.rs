//! A graph of memoized passages, along which a run goes without asking the pipeline again.
//!
//! A node is an instruction at an address together with the numbered pipeline state that it meets. Each
//! of its paths leads to the next node, depends on what the instruction has done, and takes the number of
//! cycles that the pipeline once answered. A node's function has the effect that `exec` would have, but
//! only where the path is known and memory is sure to wait as long as the path says. Otherwise the
//! function does nothing, and the instruction is executed the long way. Nodes that are met often are
//! strung together into blocks (see [`block`]).

mod block;
mod perform;
pub mod steps;

use super::hart::Hart;
use super::isa::{Instruction, Op};
use super::system::System;
use super::timing::{Demand, Led, memo};
use crate::state::Landmarks;
use crate::timing::memo::map::Map;
use block::{Blocks, Start};

/// Executes an instruction and returns which of its node's paths that takes, or [`LEAVE`].
pub type Run = fn(&mut Hart, &mut System, &Node) -> usize;

/// The instruction has to be executed the long way; nothing has been done.
pub const LEAVE: usize = usize::MAX;
/// No node.
pub const NONE: u32 = u32::MAX;
/// Paths of a node.
const PATHS: usize = 4;
/// The number of nodes, and of remembered jumps, at which the whole graph is forgotten.
const MOST: usize = 1 << 17;

/// One way in which an instruction leads to the next node.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The part of the demand that is not in the instruction itself: see [`memo::variant`].
    key: u32,
    /// The next node, if it is known.
    pub next: u32,
    /// The number of the pipeline's state there.
    to: u32,
    /// Wait states of its access, all data phases together.
    pub waits: u16,
    /// 0 where there is no path.
    pub cycles: u8,
}

const NOWHERE: Path = Path { key: 0, next: NONE, to: 0, waits: 0, cycles: 0 };

/// An instruction that meets a numbered pipeline state. The fields that every execution reads come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Node {
    pub run: Run,
    it: Instruction,
    pc: u32,
    number: u32,
    /// Cycles of its longest path.
    pub most: u8,
    /// The path that was replaced last.
    oldest: u8,
    /// None of its paths is likely enough for a block to continue along it.
    forks: bool,
    /// How often each path has been taken outside of blocks; saturates.
    pub hits: [u16; PATHS],
    pub paths: [Path; PATHS],
}

/// A node's address and the number of the pipeline state that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spot {
    pub pc: u32,
    pub number: u32,
}

impl Node {
    /// The node's address and pipeline state.
    pub const fn spot(&self) -> Spot {
        Spot { pc: self.pc, number: self.number }
    }

    /// The index of the path with a key, or [`LEAVE`].
    #[inline(always)]
    fn way(&self, key: u32) -> usize {
        let has = |path: &Path| path.key == key && path.cycles != 0;
        self.paths.iter().position(has).unwrap_or(LEAVE)
    }

    /// The index of a branch's path, or [`LEAVE`]: not taken is always 0, taken is always 1.
    #[inline(always)]
    const fn branch(&self, taken: bool) -> usize {
        if self.paths[taken as usize].cycles == 0 { LEAVE } else { taken as usize }
    }

    /// The spot that a path leads to.
    pub fn behind(&self, path: &Path) -> Spot {
        let next = self.pc.wrapping_add(self.it.size.into());
        let target = self.pc.wrapping_add(self.it.imm as u32);
        let pc = match self.it.op {
            Op::Jump => target,
            Op::Branch(_) if path.key != 0 => target,
            Op::JumpRegister => path.key,
            _ => next,
        };
        Spot { pc, number: path.to }
    }

    /// Adds a path; if there is no room, it replaces the oldest one.
    fn lead(&mut self, path: Path) {
        let free = self.paths.iter().position(|path| path.cycles == 0);
        let at = match (self.it.op, free) {
            (Op::Branch(_), _) => path.key as usize & 1,
            (_, Some(free)) => free,
            (_, None) => {
                self.oldest = (self.oldest + 1) % PATHS as u8;
                usize::from(self.oldest)
            }
        };
        self.paths[at] = path;
        self.most = self.most.max(path.cycles);
    }
}

/// The nodes of a machine, with the blocks that begin at them.
#[derive(Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// What is known of blocks that begin at each node.
    pub starts: Vec<Start>,
    pub blocks: Blocks,
    spots: Map<Spot, u32>,
    /// Paths of jumps to registers, by node and target: a node has room for [`PATHS`] of them only.
    jumps: Map<(u32, u32), Path>,
    /// Addresses of instructions that are always executed the long way, in ascending order.
    marks: Vec<u32>,
    /// The landmarks of an observer, if one observes the run at these alone.
    landmarks: Option<Landmarks>,
    /// Some run uses the graph, so that building it is worthwhile.
    is_used: bool,
}

/// A copy keeps the marks only: most copies of a machine end soon.
impl Clone for Graph {
    fn clone(&self) -> Self {
        Self { marks: self.marks.clone(), ..Self::default() }
    }
}

impl Graph {
    /// Forgets everything but the marks.
    pub fn forget(&mut self) {
        self.nodes.clear();
        self.starts.clear();
        self.blocks.clear();
        self.spots.clear();
        self.jumps.clear();
    }

    /// Sets the addresses at which runs stop or are noted.
    pub fn mark(&mut self, mut addresses: Vec<u32>) {
        addresses.sort_unstable();
        if self.marks != addresses {
            self.marks = addresses;
            self.forget();
        }
    }

    /// Has the instructions that an observer wants to see at landmarks executed the long way.
    pub fn observe_at(&mut self, landmarks: Option<&Landmarks>) {
        if Landmarks::replace(&mut self.landmarks, landmarks) {
            self.forget();
        }
    }

    /// Whether an observer looks at landmarks.
    pub const fn is_observed(&self) -> bool {
        self.landmarks.is_some()
    }

    /// Whether the observer at landmarks has to see an instruction. Others that change masks or threads
    /// never have nodes.
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

    /// Notes that a run uses the graph.
    pub const fn begin(&mut self) {
        self.is_used = true;
    }

    /// The node at a spot, if there is one.
    pub fn find(&self, spot: Spot) -> Option<u32> {
        self.spots.get(&spot).copied()
    }

    /// Notes how an instruction has passed from a numbered state.
    pub fn note(&mut self, it: &Instruction, demand: &Demand, from: u32, led: Led) {
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
        let spot = Spot { pc: demand.pc, number: from };
        let at = *self.spots.entry(spot).or_insert(self.nodes.len() as u32);
        if at as usize == self.nodes.len() {
            let (it, pc, number) = (*it, spot.pc, spot.number);
            let paths = [NOWHERE; PATHS];
            let (forks, hits) = (false, [0; PATHS]);
            self.nodes.push(Node { run, it, pc, number, most: 0, oldest: 0, forks, hits, paths });
            self.starts.push(Start::NEW);
        }
        let Some(node) = self.nodes.get_mut(at as usize) else { return };
        if node.way(key) != LEAVE {
            return;
        }
        let waits = demand.access.all_waits();
        let path = Path { key, next: NONE, to: led.to, waits, cycles: led.cycles };
        node.lead(path);
        if it.op == Op::JumpRegister {
            self.jumps.insert((at, key), path);
        }
    }

    /// Links a node's path to the next node.
    ///
    /// # Errors
    /// The spot that the path leads to, if there is no node there; `None` if there is no such path.
    pub fn link(&mut self, at: u32, way: usize) -> Result<u32, Option<Spot>> {
        let node = self.nodes.get(at as usize).ok_or(None)?;
        let path = node.paths.get(way).ok_or(None)?;
        let spot = node.behind(path);
        let next = self.find(spot).ok_or(Some(spot))?;
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.paths[way].next = next;
        }
        Ok(next)
    }

    /// Restores the path of a jump to a register that another path has replaced; returns whether there
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
        let path = self.jumps.get(&(at, target));
        path.is_some_and(|path| {
            node.lead(*path);
            true
        })
    }
}
