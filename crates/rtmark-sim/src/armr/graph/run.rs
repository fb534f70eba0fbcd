//! Runs along the graph: from block to block where the way is known, and otherwise from node to node.

use super::block::Point;
use super::steps::{Carry, GraphCode, Operands, RUN_NODE, VARIES};
use super::{Graph, LEAVE, NONE, Node, NodeKey};
use crate::armr::exec::Arch;
use crate::armr::timing::{Pipeline, key};
use crate::superblock::{
    BlockExit, END, Exit, Runner, Start, StepFn, Superblock, ThreadedStep, Way,
};

/// The progress of a run along the graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphProgress {
    /// The node that executes next or has just executed.
    pub node: u32,
    /// The next cycle in which an instruction may issue.
    pub next: u64,
    /// The number of instructions executed.
    pub count: u64,
    /// The address of the last byte of the last instruction.
    pub last_byte: Option<u32>,
    /// The state of code on which validated lines depend.
    pub seen: u64,
}

impl GraphProgress {
    /// Moves to a point of a block that began here.
    #[inline(always)]
    fn advance(&mut self, point: &Point) {
        self.node = point.node;
        self.next += u64::from(point.cycles);
        self.count += u64::from(point.count);
        if point.count > 0 {
            self.last_byte = Some(point.last_byte);
        }
    }
}

/// An exit from a block whose way is not known.
#[derive(Clone, Copy, Debug)]
struct OpenExit {
    exit: BlockExit,
    /// Cycles and instructions when the block began.
    begin: (u64, u64),
}

/// How a run of blocks ended.
#[derive(Clone, Copy, Debug)]
enum BlocksEnd {
    /// Before a node that must be executed outside of blocks.
    BeforeNode,
    /// Before another block.
    BeforeBlock,
    /// At an exit after which the next block is not known.
    Open(OpenExit),
}

/// A run of blocks.
struct BlockRun<'r> {
    graph: &'r Graph,
    arch: &'r mut Arch,
    pipeline: &'r mut Pipeline,
    progress: GraphProgress,
    horizon: u64,
}

impl Runner<GraphCode> for BlockRun<'_> {
    #[inline(always)]
    fn execute(
        &mut self,
        block: &Superblock<GraphCode>,
        begin: StepFn<GraphCode>,
        steps: &[ThreadedStep<GraphCode>],
    ) -> Option<BlockExit> {
        let next = self.progress.next;
        let is_due = next + u64::from(block.most) >= self.horizon;
        if is_due || block.condition.seen != self.progress.seen {
            return None;
        }
        let mut exit = begin(self.arch, self.pipeline, Carry::of(next), steps.iter());
        if exit.key() == RUN_NODE {
            exit = self.run_nodes(block, exit);
        }
        let key = exit.key();
        let target = if key & VARIES != 0 { target(self.arch) } else { 0 };
        Some(block.exit(exit.left(), key, target))
    }

    #[inline(always)]
    fn go(&mut self, way: &Way<GraphCode>) -> bool {
        self.progress.advance(&way.point);
        true
    }
}

impl BlockRun<'_> {
    /// Executes the functions of nodes at which a block has ended, and continues it as long as it ends
    /// only for that. Returns how it ended then.
    #[inline(never)]
    fn run_nodes(&mut self, block: &Superblock<GraphCode>, mut exit: Exit) -> Exit {
        let Self { graph, arch, pipeline, progress, .. } = self;
        let steps = graph.blocks.steps(block);
        while exit.key() == RUN_NODE {
            let rest = &steps[steps.len().saturating_sub(exit.left())..];
            let point = graph.blocks.point(block.exit(exit.left(), 0, 0));
            let node = point.and_then(|point| graph.nodes.get(point.node as usize));
            let (Some((step, rest)), Some(node)) = (rest.split_first(), node) else { break };
            let Operands { key: expected, value, .. } = step.operands;
            let carry = Carry::of(progress.next);
            let key = (node.run)(arch, pipeline, node, step.operands.now(&carry));
            let varies = node.varies(key);
            exit = if key != expected.into() || varies && target(arch) != value {
                exit.with_key(if varies { key | VARIES } else { key })
            } else {
                (step.next)(arch, pipeline, carry, rest.iter())
            };
        }
        exit
    }
}

/// Returns the target of a branch that has just been executed, with the instruction set in the lowest
/// bit.
#[inline(always)]
const fn target(arch: &Arch) -> u32 {
    arch.cpu.pc | arch.cpu.is_thumb() as u32
}

impl Node {
    /// Returns whether it branches with an outcome to a target that it does not encode.
    const fn varies(&self, key: u32) -> bool {
        key != LEAVE && key & key::JUMPS != 0 && self.is_indirect()
    }
}

impl Graph {
    /// Executes instructions up to a cycle, as long as their nodes are known. Returns the key of the last
    /// one's outcome if its successor must be looked up, or [`LEAVE`] if it has not been executed: the
    /// horizon has been reached, or it needs the slow path.
    pub fn run(
        &mut self,
        progress: &mut GraphProgress,
        horizon: u64,
        (arch, pipeline): (&mut Arch, &mut Pipeline),
    ) -> u32 {
        let mut open = None;
        while progress.next < horizon {
            let at = progress.node;
            let mut outcome = None;
            if let Some(number) = self.block_at(at, progress.seen, (arch, pipeline)) {
                if let Some(exit) = open.take() {
                    self.keep_way(&exit, progress, number);
                }
                match self.run_blocks(number, progress, horizon, (arch, pipeline)) {
                    BlocksEnd::BeforeNode => {}
                    BlocksEnd::BeforeBlock => continue,
                    BlocksEnd::Open(exit) => {
                        open = Some(exit);
                        if exit.exit.key == END {
                            continue;
                        }
                        outcome = Some(exit.exit.key & !VARIES);
                    }
                }
            } else if self.starts.get_mut(at as usize).is_some_and(Start::count_execution) {
                if self.blocks.are_full() {
                    self.forget_blocks();
                    open = None;
                }
                self.form(at, (arch, pipeline));
                continue;
            } else {
                open = None;
            }
            if let Err(key) = self.run_node(progress, outcome, (arch, pipeline)) {
                return key;
            }
        }
        LEAVE
    }

    /// Executes a block, and those after it as long as the way to them is known.
    #[inline(never)]
    fn run_blocks(
        &self,
        number: u32,
        progress: &mut GraphProgress,
        horizon: u64,
        (arch, pipeline): (&mut Arch, &mut Pipeline),
    ) -> BlocksEnd {
        let count = progress.count;
        let mut run = BlockRun { graph: self, arch, pipeline, progress: *progress, horizon };
        let exit = self.blocks.run(number, &mut run);
        *progress = run.progress;
        let begin = (progress.next, progress.count);
        let Some((exit, point)) = exit.and_then(|(_, exit)| Some((exit, self.blocks.point(exit)?)))
        else {
            let has_run = progress.count > count;
            return if has_run { BlocksEnd::BeforeBlock } else { BlocksEnd::BeforeNode };
        };
        progress.advance(point);
        if exit.key == LEAVE {
            BlocksEnd::BeforeNode
        } else {
            BlocksEnd::Open(OpenExit { exit, begin })
        }
    }

    /// Executes the node of a run, unless it has been executed with an outcome, and moves to the next
    /// one.
    ///
    /// # Errors
    /// The key of its outcome, if the next node is not known; or [`LEAVE`] if it has not been executed:
    /// its code needs a bus access, or it needs the slow path.
    #[inline(always)]
    fn run_node(
        &mut self,
        progress: &mut GraphProgress,
        outcome: Option<u32>,
        (arch, pipeline): (&mut Arch, &mut Pipeline),
    ) -> Result<(), u32> {
        let Some(node) = self.nodes.get_mut(progress.node as usize) else { return Err(LEAVE) };
        let key = if let Some(key) = outcome {
            key
        } else {
            let lines = self.lines.get_mut(node.lines as usize).ok_or(LEAVE)?;
            if !lines.are_there(node.place.pc, progress.seen, (arch, pipeline)) {
                return Err(LEAVE);
            }
            let issue = progress.next.wrapping_add_signed(node.issue.into());
            (node.run)(arch, pipeline, node, issue)
        };
        let way = node.way(key).ok_or(key)?;
        let (edge, from) = (node.edges[way], node.place.last_byte());
        if outcome.is_none() {
            // Blocks are formed from what happens outside of them.
            node.hits[way] = node.hits[way].saturating_add(1);
        }
        let mut next = edge.next;
        if next == NONE {
            if !node.varies(key) {
                return Err(key);
            }
            let cpu = &arch.cpu;
            let node_key = NodeKey { pc: cpu.pc, thumb: cpu.is_thumb(), state: 0, number: edge.to };
            next = self.find(node_key).ok_or(key)?;
            if let Some(node) = self.nodes.get_mut(progress.node as usize) {
                node.last = next;
            }
        }
        progress.next += u64::from(edge.cycles);
        progress.count += 1;
        progress.node = next;
        progress.last_byte = Some(from);
        Ok(())
    }

    /// Remembers that an exit from a block leads to another one, which begins here.
    fn keep_way(&mut self, exit: &OpenExit, progress: &GraphProgress, block: u32) {
        let (cycles, count) = (progress.next - exit.begin.0, progress.count - exit.begin.1);
        let (Ok(cycles), Ok(count)) = (cycles.try_into(), count.try_into()) else { return };
        let last_byte = progress.last_byte.unwrap_or(0);
        let point = Point { cycles, count, last_byte, ..Point::of(progress.node) };
        self.blocks.keep(Way { exit: exit.exit, point, block, needs: () });
    }
}
