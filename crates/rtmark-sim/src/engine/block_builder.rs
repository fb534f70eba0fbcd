//! Builds blocks: superblocks of decoded instructions along the branches that are mostly taken.
//!
//! A block continues at a branch's target if the branch mostly leads there, in the callee after a
//! call, and in the caller after a return, as far as earlier passes have shown. After an IT it
//! continues with the instructions that its condition mostly executes. The shape of blocks affects
//! speed and nothing else.

use std::sync::atomic::Ordering;

use crate::arch::armm::registers::after_it;
use crate::engine::block::Block;
use crate::engine::code_cache::{ItOutcome, Page};
use crate::engine::micro_op::MicroOp;
use crate::isa::{Group, Op, Slot};
use crate::memory::pages::Window;
use crate::state::State;

impl Window<Page> {
    /// Returns the instruction at an address, if it is in the window.
    fn slot(&self, state: &mut State, address: u32) -> Option<Slot> {
        if self.covers(address) { state.predecoded.slot(&mut state.bus, address) } else { None }
    }

    /// Returns the instructions of the IT block that starts at `address`, each with ITSTATE before
    /// it. Returns `None` if a block cannot hold them all: one must execute by itself, or begins
    /// out of reach.
    fn it_block(
        &mut self,
        state: &mut State,
        mut address: u32,
        mut it: u8,
        reach: BlockRange,
    ) -> Option<Vec<(Slot, u8)>> {
        let mut slots = Vec::new();
        while it != 0 {
            let slot = self.slot(state, address).filter(|_| reach.covers(address))?;
            let last_of_block = after_it(it) == 0;
            let alone = state.predecoded.decoder.is_standalone(&slot) || slot.is_border();
            address = address.wrapping_add(slot.size().into());
            let slot = slot.inside_it();
            let op = slot.unguarded().op;
            let (is_standalone, may_leave) = match op.group() {
                _ if alone => (true, true),
                Group::Special | Group::Security | Group::Raise | Group::Wait => (true, true),
                Group::Coprocessor => (true, true),
                // When a mask takes effect depends on ITSTATE after it, which only single steps know.
                Group::ChangeState => (true, true),
                Group::SpecialRegister if op == Op::Msr => (true, true),
                Group::Branch => (false, true),
                _ => (op == Op::It, slot.ends_block()),
            };
            if state.rules.predicts_branches && slot.needs_prediction() {
                return None;
            }
            if is_standalone || may_leave && !last_of_block || it >> 5 == 7 {
                return None;
            }
            slots.push((slot, it));
            it = after_it(it);
        }
        Some(slots)
    }

    /// Builds the block at an address, which may be inside an IT block. It has at most `slots`
    /// slots, and continues after at most `unsure` branches without a likely direction.
    pub fn block(
        &mut self,
        state: &mut State,
        address: u32,
        it_outcome: Option<ItOutcome>,
        BlockLimits { slots: most, unsure: most_unsure }: BlockLimits,
    ) -> Option<Block> {
        let reach = BlockRange { block: address };
        let mut slots: Vec<MicroOp> = Vec::with_capacity(most);
        let (mut at, mut reached) = (address, address);
        let (base, line_bytes) = (self.base, self.line_bytes);
        let predicts_branches = state.rules.predicts_branches;
        let mut push = |slots: &mut Vec<MicroOp>, watch: Option<Slot>, micro: MicroOp| {
            let (slot, address) = (&micro.slot, at);
            let last = at.wrapping_add(u32::from(slot.size()) - 2);
            // Entering a block fetches its first instruction.
            if let Some(bytes) = line_bytes
                && let Some(before) = slots.iter().rfind(|before| !before.kind.is_check())
                && if before.is_followed() {
                    (at ^ reached) & !(bytes - 1) != 0
                } else {
                    slot.crosses_line()
                }
            {
                slots.push(MicroOp::line(slot, last, last.wrapping_sub(base) / bytes));
            }
            slots.extend(watch.map(MicroOp::watch));
            slots.push(micro);
            if predicts_branches && slot.needs_prediction() {
                slots.push(micro.check_prediction(address));
            }
            reached = last;
            at = if micro.is_followed() { micro.target() } else { last.wrapping_add(2) };
            at
        };
        let mut next = address;
        let mut returns = Vec::new();
        let mut unsure = 0;
        let (mut its, skip) = (Vec::new(), state.rules.skip);
        // ITSTATE after the last slot.
        let mut undecided = 0;
        // The instructions of an IT block that are next, and whether their condition is to hold.
        let mut conditional = match it_outcome {
            Some(ItOutcome { it, holds }) => {
                Some((self.it_block(state, address, it, reach)?, holds))
            }
            None => None,
        };
        loop {
            while let Some((group, holds)) = conditional.take() {
                let resolved = ResolvedItBlock::by(holds, group, skip);
                for (slot, before) in resolved.slots {
                    next = push(&mut slots, None, slot);
                    // A fetch has the ITSTATE of its instruction.
                    its.resize(slots.len(), before);
                }
                let Some((_, it)) = resolved.rest.first() else { break };
                if slots.len() >= most || unsure >= most_unsure {
                    undecided = *it;
                    break;
                }
                // An instruction that sets flags has decided the condition of the rest anew.
                let holds = self.taken(next) >= 0;
                unsure += usize::from(self.is_unsure(next));
                slots.push(MicroOp::check_condition(*it, holds));
                its.resize(slots.len(), *it);
                conditional = Some((resolved.rest, holds));
            }
            let is_full = slots.len() >= most || unsure >= most_unsure;
            if undecided != 0 || is_full || has_ended(&slots) || !reach.covers(next) {
                break;
            }
            let Some(slot) = self.slot(state, next) else { break };
            let is_border = !slots.is_empty() && slot.is_border();
            if slot.op == Op::Stop || state.predecoded.decoder.is_standalone(&slot) || is_border {
                break;
            }
            let (watch, slot) = match watched(state, next, slot) {
                Some(instruction) => (Some(slot), instruction),
                None => (None, slot),
            };
            if slot.op == Op::It || slot.op.group() == Group::Branch && slot.op != Op::B {
                unsure += usize::from(self.is_unsure(next));
            }
            if slot.op != Op::It {
                let followed = self.followed(state, next, &slot, reach, &mut returns);
                next = push(&mut slots, watch, followed.unwrap_or(MicroOp::plain(slot)));
                continue;
            }
            let (behind, it) = (next.wrapping_add(slot.size().into()), slot.imm as u8);
            let Some(group) = self.it_block(state, behind, it, reach) else {
                if slots.is_empty() {
                    // The IT block executes by single steps.
                    push(&mut slots, None, MicroOp::plain(slot));
                }
                break;
            };
            let holds = self.taken(next) >= 0;
            push(&mut slots, None, MicroOp::expected_it(slot, holds));
            its.resize(slots.len(), 0);
            conditional = Some((group, holds));
        }
        if undecided != 0 {
            its.push(undecided);
        }
        let line = (address - base) >> self.line_shift;
        (!slots.is_empty()).then(|| Block::new(address, line, slots, its, it_outcome, state.rules))
    }

    /// Returns whether the branch or IT at an address has no likely direction.
    fn is_unsure(&mut self, address: u32) -> bool {
        self.taken(address).unsigned_abs() < SURE
    }

    /// Returns how many more times the branch at an address was taken than not.
    fn taken(&mut self, address: u32) -> i8 {
        let (_, within) = self.place(address);
        self.page(address).taken[within].load(Ordering::Relaxed)
    }

    /// Returns the branch at an address as one that the block follows, if it should: an
    /// unconditional branch, one that is mostly taken, or, without a profile, a backward one, as
    /// loops have. A return is followed to the most recently followed call's successor.
    fn followed(
        &mut self,
        state: &mut State,
        address: u32,
        slot: &Slot,
        reach: BlockRange,
        returns: &mut Vec<u32>,
    ) -> Option<MicroOp> {
        let (_, within) = self.place(address);
        let returning = slot.is_indirect() && slot.op != Op::BlxR;
        let target = if slot.is_indirect() {
            let caller = if returning { returns.pop() } else { None };
            let seen = self.page(address).leads[within].load(Ordering::Relaxed);
            caller.or(Some(seen).filter(|&seen| seen != 0))?
        } else {
            slot.imm
        };
        let followed = MicroOp::followed(slot, target)?;
        let expected = matches!(slot.op, Op::B | Op::Bl)
            || slot.is_indirect()
            || match self.taken(address) {
                0 => target <= address,
                more => more > 0,
            };
        if !expected || !reach.covers(target) {
            return None;
        }
        let size = self.slot(state, target)?.size();
        let last = target.wrapping_add(u32::from(size) - 2);
        // A jump fetches the lines of its target one at a time.
        let one_line = self.line_bytes.is_none_or(|bytes| (target ^ last) & !(bytes - 1) == 0);
        if matches!(slot.op, Op::Bl | Op::BlxR) {
            returns.push(address.wrapping_add(slot.size().into()));
        }
        one_line.then_some(followed)
    }
}

/// The limits of a block's length.
#[derive(Clone, Copy, Debug)]
pub struct BlockLimits {
    /// The most slots.
    pub slots: usize,
    /// The most branches and ITs without a likely direction. Half of the passes leave at each of
    /// them, so that what is prepared after it is mostly wasted.
    pub unsure: usize,
}

/// The surplus of one direction from which a branch counts as biased.
const SURE: u8 = 12;

/// Returns the instruction that a watch's slot at an address replaces, if a block can execute it.
fn watched(state: &mut State, address: u32, watch: Slot) -> Option<Slot> {
    if watch.op != Op::Watch {
        return None;
    }
    let instruction = state.predecoded.watched_instruction(&state.bus, address);
    let decoder = &state.predecoded.decoder;
    let is_in_blocks = instruction.op != Op::It && !decoder.is_standalone(&instruction);
    // It reaches a new line where the watch does.
    is_in_blocks.then_some(Slot { extent: watch.extent, ..instruction })
}

/// Returns whether no slot can follow the last instruction of `slots`.
fn has_ended(slots: &[MicroOp]) -> bool {
    slots.iter().rfind(|micro| !micro.kind.is_check()).is_some_and(MicroOp::ends_block)
}

/// The range of addresses that a block may contain.
#[derive(Clone, Copy)]
struct BlockRange {
    block: u32,
}

impl BlockRange {
    const fn covers(self, address: u32) -> bool {
        let distance = address.wrapping_sub(self.block) as i32;
        -FAR < distance && distance < FAR
    }
}

/// The largest distance in bytes of an instruction from the beginning of its block.
const FAR: i32 = i16::MAX as i32 - 4;

/// The leading instructions of an IT block whose conditions are decided by one outcome.
struct ResolvedItBlock {
    /// The slots, each with ITSTATE before it.
    slots: Vec<(MicroOp, u8)>,
    /// The instructions left if the last of these sets the flags that decide them, each with ITSTATE
    /// before it.
    rest: Vec<(Slot, u8)>,
}

impl ResolvedItBlock {
    /// Decides `group` by whether the condition of its first instruction holds. A skipped
    /// instruction takes `skip` cycles.
    fn by(holds: bool, mut group: Vec<(Slot, u8)>, skip: u8) -> Self {
        let first = group.first().map_or(0, |(_, it)| it >> 4);
        let is_executed = |it: u8| (it >> 4 == first) == holds;
        let decides = |(slot, it): &(Slot, u8)| is_executed(*it) && slot.writes_flags();
        let count = group.iter().position(decides).map_or(group.len(), |at| at + 1);
        let rest = group.split_off(count);
        let resolve = |(slot, it): (Slot, u8)| {
            (if is_executed(it) { MicroOp::plain(slot) } else { MicroOp::skip(slot, skip) }, it)
        };
        Self { slots: group.into_iter().map(resolve).collect(), rest }
    }
}
