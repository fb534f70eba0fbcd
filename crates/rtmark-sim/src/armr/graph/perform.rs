//! Functions of nodes: which one an instruction has; branches; what has no function of its own.

use super::{Done, LEAVE, Node, Now, Run, data, transfer};
use crate::armr::exec::Arch;
use crate::armr::isa::op::{Hint, Instruction, Op};
use crate::armr::timing::{Lead, Pipeline, key};
use crate::isa::{Group, Op as FloatOp};

/// Executed the long way.
pub fn leave(_: &mut Arch, _: &mut Pipeline, _: &Node, _: u64) -> u32 {
    LEAVE
}

/// What does nothing if its condition does not hold.
fn conditional(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, issue: u64) -> u32 {
    if arch.cpu.holds(node.condition) {
        (node.then)(arch, pipeline, node, issue)
    } else {
        key::SKIPPED
    }
}

fn nothing(_: &mut Arch, _: &mut Pipeline, _: &Node, _: u64) -> u32 {
    0
}

/// What changes registers and never fails.
fn plain(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let mut done = Done::default();
    match arch.perform(&node.it, Now::default(), node.state != 0, &mut done) {
        Ok(()) => 0,
        Err(_) => LEAVE,
    }
}

fn branch(_: &mut Arch, _: &mut Pipeline, _: &Node, _: u64) -> u32 {
    key::JUMPS
}

fn branch_if(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let taken = arch.cpu.holds(node.condition);
    let lead = lead(pipeline, node, taken);
    if taken { key::JUMPS | lead } else { key::SKIPPED | lead }
}

fn compare_and_branch(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let taken = (arch.cpu.get(node.it.n) == 0) == (node.it.a == 0);
    let lead = lead(pipeline, node, taken);
    if taken { key::JUMPS | lead } else { lead }
}

/// How right what was foreseen of a branch to an address has been.
#[inline(always)]
fn lead(pipeline: &mut Pipeline, node: &Node, taken: bool) -> u32 {
    let right = pipeline.foresee(&node.place, taken);
    key::led(if right { Lead::Foreseen } else { Lead::Mistaken })
}

/// Calls, and branches to where a register says.
fn jump(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, issue: u64) -> u32 {
    let mut done = Done::default();
    arch.cpu.pc = node.place.pc;
    let is_skipped = !arch.cpu.holds(node.condition);
    if !is_skipped && arch.branch(&node.it, issue, &mut done).is_err() {
        return LEAVE;
    }
    let lead = pipeline.lead_elsewhere(node.flow, node.moves, &node.place, done.jump);
    let jumps = match done.jump {
        Some(target) => {
            arch.cpu.pc = target;
            key::JUMPS
        }
        None => 0,
    };
    (if is_skipped { key::SKIPPED } else { 0 }) | jumps | key::led(lead)
}

/// What a node runs, and what that runs if the condition holds.
pub fn pick(it: &Instruction, condition: u8, inside_it: bool) -> Option<(Run, Run)> {
    let is_conditional = condition < 14;
    let run: Run = match it.op {
        Op::Branch if is_conditional => return Some((branch_if, leave)),
        Op::Branch => branch,
        Op::CompareBranch => compare_and_branch,
        Op::BranchExchange | Op::BranchLinkExchange if it.m == 15 => return None,
        Op::BranchLink | Op::BranchExchange | Op::BranchLinkExchange => {
            return Some((jump, leave));
        }
        Op::IfThen
        | Op::Hint(Hint::Nop | Hint::Yield | Hint::SendEvent | Hint::Debug | Hint::Preload) => {
            nothing
        }
        Op::Saturate(_)
        | Op::Saturate16(_)
        | Op::Parallel(..)
        | Op::Saturating(_)
        | Op::Select
        | Op::Pack
        | Op::Differences => plain,
        Op::Float(op) => float(it, op)?,
        // How long it takes, if it is skipped, is a key of its own.
        Op::Divide(_) if is_conditional => return None,
        _ => data::pick(it, inside_it).or_else(|| transfer::pick(it))?,
    };
    // Where a list or a load leads elsewhere, it looks at its condition itself, by which it is
    // foreseen.
    let jumps = matches!(it.op, Op::LoadMultiple(..) if it.imm >> 15 & 1 == 1)
        || matches!(it.op, Op::Load(..) if it.d == 15)
        || it.op == Op::TableBranch;
    Some(if is_conditional && !jumps { (conditional, run) } else { (run, leave) })
}

/// The function of a floating-point operation, as long as the unit is on.
fn float(it: &Instruction, op: FloatOp) -> Option<Run> {
    match op.group() {
        Group::FloatMemory => transfer::pick(it),
        Group::FloatTransfer => {
            let other = matches!(op, FloatOp::Vmrs | FloatOp::Vmsr) && it.n != 1;
            (!other).then_some(plain)
        }
        _ => Some(plain),
    }
}
