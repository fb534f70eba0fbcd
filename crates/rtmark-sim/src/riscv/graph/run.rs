//! Runs along the graph: from block to block where the way is known, and otherwise from node to node.

use super::steps::{GraphCode, Point};
use super::{Graph, NONE};
use crate::riscv::hart::Hart;
use crate::riscv::system::System;
use crate::riscv::timing::Memo;
use crate::riscv::timing::memo::NO_LINES;
use crate::superblock::{BlockExit, END, LEAVE, Runner, StepFn, Superblock, ThreadedStep, Way};

/// The progress of a run along the graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphProgress {
    /// The next node, or the one just executed if its edge is open.
    pub node: u32,
    /// The next cycle.
    pub cycle: u64,
    /// Instructions executed so far.
    pub count: u64,
    /// The wait states of their loads and stores.
    pub waited: u64,
}

impl GraphProgress {
    /// Moves to a point of a block that began here.
    #[inline(always)]
    fn advance(&mut self, point: &Point) {
        self.node = point.node;
        self.cycle += u64::from(point.cycles);
        self.waited += u64::from(point.waited);
        self.count += u64::from(point.count);
    }
}

/// The reason why a run along the graph has stopped.
#[derive(Clone, Copy, Debug)]
pub enum GraphExit {
    /// The node could end after the horizon.
    Time,
    /// The node must be executed on the slow path, or has no edge for this outcome yet.
    Node,
    /// The node was executed, and its edge with this index is not linked to a next node.
    Open(usize),
}

/// A run of blocks.
struct BlockRun<'r> {
    hart: &'r mut Hart,
    system: &'r mut System,
    memo: &'r Memo,
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
        if self.progress.cycle + u64::from(block.most) > self.horizon {
            return None;
        }
        let exit = begin(self.hart, self.system, 0, steps.iter());
        Some(block.exit(exit.left(), exit.key(), 0))
    }

    #[inline(always)]
    fn go(&mut self, way: &Way<GraphCode>) -> bool {
        let goes = way.needs == NO_LINES || self.use_lines(way.needs);
        if goes {
            self.progress.advance(&way.point);
        }
        goes
    }
}

impl BlockRun<'_> {
    /// Uses the lines of a list if caches hold them all. Returns whether that is so.
    fn use_lines(&mut self, fetched: u32) -> bool {
        let lines = self.memo.lines(fetched);
        let are_held = self.system.holds_all(lines);
        if are_held {
            self.system.used_all(lines);
        }
        are_held
    }
}

/// An exit from a block whose way is not known.
#[derive(Clone, Copy, Debug)]
struct OpenExit {
    exit: BlockExit,
    /// The block, and the progress when it began.
    block: u32,
    begin: GraphProgress,
    /// The number of the list of lines that the next node has fetched from.
    fetched: u32,
}

impl Graph {
    /// Executes instructions whose nodes are known, none of which ends after a cycle.
    pub fn run(
        &mut self,
        progress: &mut GraphProgress,
        horizon: u64,
        (hart, system): (&mut Hart, &mut System),
        memo: &Memo,
    ) -> GraphExit {
        let mut open = None;
        loop {
            let at = progress.node;
            let Some(start) = self.starts.get_mut(at as usize) else { return GraphExit::Time };
            if start.has_block() {
                let number = start.block;
                if let Some(exit) = open.take() {
                    self.keep_way(&exit, progress, number);
                }
                open = self.run_blocks(number, progress, horizon, (hart, system), memo);
                if open.is_some_and(|open| open.exit.key == END) {
                    continue;
                }
            } else if start.count_execution() {
                if self.blocks.are_full() {
                    self.forget_blocks();
                    open = None;
                }
                self.form(at, system.ports.data, memo);
                continue;
            } else {
                open = None;
            }
            let at = progress.node as usize;
            let Some(node) = self.nodes.get_mut(at) else { return GraphExit::Time };
            if progress.cycle + u64::from(node.most) > horizon {
                return GraphExit::Time;
            }
            if node.fetches && !node.finds_lines(system, memo) {
                return GraphExit::Node;
            }
            let way = (node.run)(hart, system, node);
            let Some(edge) = node.edges.get(way) else { return GraphExit::Node };
            if edge.fetched != NO_LINES {
                system.used_all(memo.lines(edge.fetched));
                if let Some(open) = &mut open {
                    open.fetched = edge.fetched;
                }
            }
            progress.cycle += u64::from(edge.cycles);
            progress.waited += u64::from(edge.waits);
            progress.count += 1;
            // Blocks are formed from what happens outside of them.
            node.hits[way] = node.hits[way].saturating_add(1);
            if edge.next == NONE {
                return GraphExit::Open(way);
            }
            progress.node = edge.next;
        }
    }

    /// Executes a block, and those after it as long as the way to them is known. Returns the exit if its
    /// way can be known.
    #[inline(never)]
    fn run_blocks(
        &self,
        number: u32,
        progress: &mut GraphProgress,
        horizon: u64,
        (hart, system): (&mut Hart, &mut System),
        memo: &Memo,
    ) -> Option<OpenExit> {
        let mut run = BlockRun { hart, system, memo, progress: *progress, horizon };
        let exit = self.blocks.run(number, &mut run);
        *progress = run.progress;
        let ((block, exit), begin) = (exit?, *progress);
        progress.advance(self.blocks.point(exit)?);
        (exit.key != LEAVE).then_some(OpenExit { exit, block, begin, fetched: NO_LINES })
    }

    /// Remembers that an exit from a block leads to another one, which begins here.
    fn keep_way(&mut self, exit: &OpenExit, progress: &GraphProgress, block: u32) {
        let OpenExit { exit, block: before, begin, fetched: needs } = *exit;
        let since = |now: u64, then: u64| u32::try_from(now - then).unwrap_or(u32::MAX);
        let point = Point {
            node: progress.node,
            cycles: since(progress.cycle, begin.cycle),
            waited: since(progress.waited, begin.waited),
            count: since(progress.count, begin.count),
        };
        if let Some(before) = self.blocks.get_mut(before) {
            before.most = before.most.max(point.cycles);
        }
        self.blocks.keep(Way { exit, point, block, needs });
    }
}
