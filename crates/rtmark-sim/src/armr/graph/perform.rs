//! The functions that nodes run: their selection, the branches, and operations without a function
//! of their own.

use super::{CounterValues, Effects, LEAVE, Node, Run, transfer};
use crate::armr::exec::Arch;
use crate::armr::isa::op::{Flags, Hint, Instruction, Op, SecondOperand, Sign};
use crate::armr::timing::{Divides, Pipeline, PredictionOutcome, key};
use crate::isa::{Group, Op as FloatOp};

/// Sends an instruction to the slow path.
pub fn leave(_: &mut Arch, _: &mut Pipeline, _: &Node, _: u64) -> u32 {
    LEAVE
}

/// Executes an instruction that has no effect if its condition does not hold.
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

/// Executes an operation that only changes registers.
fn plain(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let mut done = Effects::default();
    match arch.perform(&node.it, CounterValues::default(), node.state != 0, &mut done) {
        Ok(()) => 0,
        Err(_) => LEAVE,
    }
}

/// Executes a division, if one of the same duration has an edge at this node.
fn divide(arch: &mut Arch, _: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let Op::Divide(sign) = node.it.op else { return LEAVE };
    let (n, m) = (arch.cpu.get(node.it.n), arch.cpu.get(node.it.m));
    let key = match sign {
        Sign::Unsigned => key::divided(Divides::Unsigned, n, m),
        Sign::Signed => {
            let (n, m) = (n as i32, m as i32);
            key::divided(Divides::Signed, n.unsigned_abs(), m.unsigned_abs())
        }
    };
    let is_known = node.edge(key).is_some() && m != 0;
    if is_known && arch.divide(&node.it, sign, &mut Effects::default()).is_ok() {
        key
    } else {
        LEAVE
    }
}

fn branch(_: &mut Arch, _: &mut Pipeline, _: &Node, _: u64) -> u32 {
    key::JUMPS
}

fn branch_if(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let taken = arch.cpu.holds(node.condition);
    let prediction = prediction_key(pipeline, node, taken);
    if taken { key::JUMPS | prediction } else { key::SKIPPED | prediction }
}

fn compare_and_branch(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, _: u64) -> u32 {
    let taken = (arch.cpu.get(node.it.n) == 0) == (node.it.a == 0);
    let prediction = prediction_key(pipeline, node, taken);
    if taken { key::JUMPS | prediction } else { prediction }
}

/// Returns how well a direct branch was predicted, as part of a key, and trains the predictor.
#[inline(always)]
fn prediction_key(pipeline: &mut Pipeline, node: &Node, taken: bool) -> u32 {
    let right = pipeline.check_prediction(&node.place, taken);
    key::prediction(if right {
        PredictionOutcome::Correct
    } else {
        PredictionOutcome::Mispredicted
    })
}

/// Executes a call, or a branch to an address from registers.
fn jump(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, issue: u64) -> u32 {
    let mut done = Effects::default();
    arch.cpu.pc = node.place.pc;
    let is_skipped = !arch.cpu.holds(node.condition);
    let now = CounterValues { cycle: issue, ..CounterValues::default() };
    if !is_skipped && arch.perform(&node.it, now, node.state != 0, &mut done).is_err() {
        return LEAVE;
    }
    let prediction = pipeline.branch_outcome(node.flow, node.moves, &node.place, done.jump);
    let jumps = match done.jump {
        Some(target) => {
            arch.cpu.pc = target;
            key::JUMPS
        }
        None => 0,
    };
    (if is_skipped { key::SKIPPED } else { 0 }) | jumps | key::prediction(prediction)
}

/// Returns the function that a node runs, and the one that this calls if the condition holds.
/// Returns `None` if the instruction is always executed on the slow path.
pub fn pick(it: &Instruction, condition: u8) -> Option<(Run, Run)> {
    let is_conditional = condition < 14;
    let run: Run = match it.op {
        Op::Branch if is_conditional => return Some((branch_if, leave)),
        Op::Branch => branch,
        Op::CompareBranch => compare_and_branch,
        Op::BranchExchange | Op::BranchLinkExchange if it.m == 15 => return None,
        Op::BranchLink | Op::BranchExchange | Op::BranchLinkExchange => {
            return Some((jump, leave));
        }
        Op::IfThen | Op::Hint(Hint::Nop | Hint::Yield | Hint::Debug | Hint::Preload) => nothing,
        Op::Saturate(_)
        | Op::Saturate16(_)
        | Op::Parallel(..)
        | Op::Saturating(_)
        | Op::Select
        | Op::Pack
        | Op::Differences
        | Op::Hint(Hint::SendEvent)
        | Op::Multiply(..)
        | Op::Extend(..)
        | Op::Bits(_)
        | Op::AddressOf => plain,
        Op::Data(alu, _, Flags::Kept) if it.d == 15 && !alu.compares() => {
            return Some((jump, leave));
        }
        Op::Data(alu, with, _) => {
            let by_register = with == SecondOperand::ByRegister;
            let reads_pc = it.n == 15 && !alu.is_move()
                || it.m == 15 && (by_register || with == SecondOperand::Shifted)
                || it.a == 15 && by_register;
            if reads_pc || it.d == 15 && !alu.compares() {
                return None;
            }
            plain
        }
        Op::Float(op) => float(it, op)?,
        // The key of a skipped division also contains a duration, which `conditional` does not
        // supply.
        Op::Divide(_) if is_conditional => return None,
        Op::Divide(_) => divide,
        _ => transfer::pick(it)?,
    };
    // A load or list that may branch checks its condition itself, because the branch is predicted
    // by it.
    let jumps = matches!(it.op, Op::LoadMultiple(..) if it.imm >> 15 & 1 == 1)
        || matches!(it.op, Op::Load(..) if it.d == 15)
        || it.op == Op::TableBranch;
    Some(if is_conditional && !jumps { (conditional, run) } else { (run, leave) })
}

/// Returns the function of a floating-point operation, which requires the unit to be on.
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
