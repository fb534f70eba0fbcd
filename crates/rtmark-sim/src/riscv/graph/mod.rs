//! How passages follow each other: a graph, along which a run goes without asking anew.
//!
//! A node is an instruction at its place with the numbered pipeline state that it meets. A path leads
//! from it to the next node by what the instruction has done, and says how many cycles that took: what
//! the pipeline has answered once. What a node's function does is what `exec` would do; it does it only
//! where a path is known and memory is sure to take what the path says. Where it is not sure, it has done
//! nothing yet, and the instruction is executed the long way.

mod perform;

use super::hart::Hart;
use super::isa::{Instruction, Op};
use super::system::System;
use super::timing::{Demand, Led, memo};
use crate::state::Landmarks;
use crate::timing::memo::map::Map;

/// Does what an instruction does; answers which of its node's paths that takes, or [`LEAVE`].
pub type Run = fn(&mut Hart, &mut System, &Node) -> usize;

/// It has to be executed the long way; nothing has been done.
pub const LEAVE: usize = usize::MAX;
/// No node.
pub const NONE: u32 = u32::MAX;
/// Paths of a node.
const PATHS: usize = 4;
/// Nodes, and jumps that have no path, beyond which all are forgotten.
const MOST: usize = 1 << 17;

/// Where an instruction leads by what it has done.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// What its demand adds to the instruction: see [`memo::variant`].
    key: u32,
    /// The next node, if it is known.
    pub next: u32,
    /// The number of the pipeline's state there.
    to: u32,
    /// Wait states of its access.
    pub waits: u16,
    /// 0 where there is no path.
    pub cycles: u8,
}

const NOWHERE: Path = Path { key: 0, next: NONE, to: 0, waits: 0, cycles: 0 };

/// An instruction that meets a numbered pipeline state. What is looked at each time lies together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Node {
    pub run: Run,
    it: Instruction,
    pc: u32,
    number: u32,
    /// The cycles of its longest path.
    pub most: u8,
    /// Which path gives way next.
    oldest: u8,
    pub paths: [Path; PATHS],
}

/// Where a node is: its address, and the number of the pipeline's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spot {
    pub pc: u32,
    pub number: u32,
}

impl Node {
    /// Where it is.
    pub const fn spot(&self) -> Spot {
        Spot { pc: self.pc, number: self.number }
    }

    /// Which path has a key.
    #[inline(always)]
    fn way(&self, key: u32) -> usize {
        let has = |path: &Path| path.key == key && path.cycles != 0;
        self.paths.iter().position(has).unwrap_or(LEAVE)
    }

    /// The same of a branch, whose two paths have places of their own.
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

    /// Has a path lead from it; one gives way if there is no room.
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

/// The graph.
#[derive(Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    spots: Map<Spot, u32>,
    /// Where jumps to registers have led, by their nodes and targets.
    jumps: Map<(u32, u32), Path>,
    /// Addresses that are to be executed the long way, in ascending order.
    marks: Vec<u32>,
    /// Where a run is observed that is not observed everywhere.
    landmarks: Option<Landmarks>,
    /// Runs go along it, so that it is worth making.
    is_used: bool,
}

/// Copies of machines begin anew, but for the marks: most of them end soon.
impl Clone for Graph {
    fn clone(&self) -> Self {
        Self { marks: self.marks.clone(), ..Self::default() }
    }
}

impl Graph {
    /// Forgets everything but the marks.
    pub fn forget(&mut self) {
        self.nodes.clear();
        self.spots.clear();
        self.jumps.clear();
    }

    /// Marks addresses at which runs stop, or note that they have come there.
    pub fn mark(&mut self, mut addresses: Vec<u32>) {
        addresses.sort_unstable();
        if self.marks != addresses {
            self.marks = addresses;
            self.forget();
        }
    }

    /// Has landmarks be executed the long way, and no others.
    pub fn observe_at(&mut self, landmarks: Option<&Landmarks>) {
        if Landmarks::replace(&mut self.landmarks, landmarks) {
            self.forget();
        }
    }

    /// Whether a run is observed at landmarks.
    pub const fn is_observed(&self) -> bool {
        self.landmarks.is_some()
    }

    /// Whether an observer looks at an instruction. What changes masks or threads otherwise has no nodes.
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

    /// Runs are about to go along it.
    pub const fn begin(&mut self) {
        self.is_used = true;
    }

    /// The node at a spot.
    pub fn find(&self, spot: Spot) -> Option<u32> {
        self.spots.get(&spot).copied()
    }

    /// An instruction has passed from a numbered state.
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
            self.nodes.push(Node { run, it, pc, number, most: 0, oldest: 0, paths });
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

    /// Has the path of a node lead on to the next one, if that is known.
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

    /// Has the path of a jump to a register that has given way lead from its node again; answers
    /// whether there is one.
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
