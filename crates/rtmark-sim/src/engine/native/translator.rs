//! Translates steps into native code.

use crate::engine::block::ScheduledOp;
use crate::engine::micro_op::Kind;
use crate::engine::native::action::Action;
use crate::engine::native::assembler::{Alu, Assembler, Cond, Label, Operand, Reg};
use crate::engine::native::flags::{Flags, HostFlags, Pending, compare_written};
use crate::engine::native::registers::Registers;
use crate::engine::native::{Exit, Expected, Way, frame};
use crate::isa::Slot;
use crate::memory::MainRam;

/// Native code for steps.
#[derive(Debug)]
pub struct Translation {
    pub code: Vec<u8>,
    /// For each step, the offset at which to enter the code before it, if that is possible.
    pub entries: Vec<Option<u32>>,
}

/// The fewest steps in sequence, on average, for which native code is worthwhile.
const FEWEST: usize = 10;

/// Translates the steps of a block at an address. `constant` tells what literals are that never change. Returns
/// `None` if that is not worthwhile, or not possible.
pub fn translate(
    address: u32,
    steps: &[ScheduledOp],
    expected: &Expected,
    constant: impl Fn(&Slot) -> Option<u32>,
) -> Option<Translation> {
    let actions = actions(steps, constant);
    let possible = actions.iter().flatten().count();
    let before = std::iter::once(&None).chain(&actions);
    let runs = actions.iter().zip(before).filter(|(now, before)| now.is_some() && before.is_none());
    if possible == 0 || possible < FEWEST * runs.count() {
        return None;
    }
    let joins = joins(steps, &actions)?;
    let mut translator = Translator::new(address, steps, expected, &joins, &actions);
    translator.translate(&joins, &actions);
    translator.finish()
}

/// Returns what native code does for each step that it can execute.
fn actions(steps: &[ScheduledOp], constant: impl Fn(&Slot) -> Option<u32>) -> Vec<Option<Action>> {
    let of = |(at, step): (usize, &ScheduledOp)| {
        let next = steps.get(at + 1);
        // Only its function knows how to show what is expected of it, and that a pass ends with a jump.
        let is_special = match next {
            Some(next) => next.begin.kind == Kind::CheckFacts,
            None => step.begin.kind == Kind::Followed,
        };
        if is_special { None } else { Action::of(step, &constant) }
    };
    steps.iter().enumerate().map(of).collect()
}

/// Returns to which steps others skip. Returns `None` if some that may be skipped have no native code.
fn joins(steps: &[ScheduledOp], actions: &[Option<Action>]) -> Option<Vec<bool>> {
    let mut joins = vec![false; steps.len() + 1];
    for (at, action) in actions.iter().enumerate() {
        if matches!(action, Some(Action::If { .. } | Action::Hop)) {
            let to = skipped_to(steps, at);
            let skipped = actions.get(at + 1..to)?;
            if skipped.iter().any(|it| it.is_none_or(Action::may_leave)) {
                return None;
            }
            *joins.get_mut(to)? = true;
        }
    }
    Some(joins)
}

/// Returns where the pass continues if a step skips others.
fn skipped_to(steps: &[ScheduledOp], at: usize) -> usize {
    at.saturating_add(1).saturating_add(steps[at].slot.aux as usize)
}

/// Where native code is left, with the flags that are to be written then.
struct Leave {
    label: Label,
    exit: Exit,
    pending: Pending,
}

/// Where native code is entered in the middle.
struct Entry {
    step: usize,
    to: Label,
    registers: Registers,
}

/// A check of the stack's end that has found an address below it.
struct BelowStack {
    label: Label,
    back: Label,
    exit: Label,
}

pub(super) struct Translator<'a> {
    pub(super) asm: Assembler,
    pub(super) registers: Registers,
    pub(super) ram: MainRam,
    pub(super) no_code_in_ram: bool,
    pub(super) pending: Pending,
    /// The host's flags after the latest step, if the next one can use them.
    pub(super) host: Option<HostFlags>,
    address: u32,
    pub(super) steps: &'a [ScheduledOp],
    /// The flags that may be read before they are written again, before each step and at the end.
    pub(super) live: Vec<Flags>,
    labels: Vec<Label>,
    entries: Vec<Option<u32>>,
    leaves: Vec<Leave>,
    inner_entries: Vec<Entry>,
    below_stack: Vec<BelowStack>,
}

impl<'a> Translator<'a> {
    fn new(
        address: u32,
        steps: &'a [ScheduledOp],
        &Expected { ram, no_code_in_ram, .. }: &Expected,
        joins: &[bool],
        actions: &[Option<Action>],
    ) -> Self {
        let mut asm = Assembler::default();
        let labels = joins.iter().map(|_| asm.label()).collect();
        let mut live = vec![Flags::all(); joins.len()];
        for (at, action) in actions.iter().enumerate().rev() {
            live[at] = match action {
                Some(action) if !action.may_leave() && !joins[at + 1] => {
                    live[at + 1].difference(action.written_flags(&steps[at].slot))
                        | action.read_flags()
                }
                _ => Flags::all(),
            };
        }
        Self {
            asm,
            registers: Registers::default(),
            ram,
            no_code_in_ram,
            pending: Pending::default(),
            host: None,
            address,
            steps,
            live,
            labels,
            entries: vec![None; steps.len()],
            leaves: Vec::new(),
            inner_entries: Vec::new(),
            below_stack: Vec::new(),
        }
    }

    fn translate(&mut self, joins: &[bool], actions: &[Option<Action>]) {
        let mut before: Option<Action> = None;
        for (at, &action) in actions.iter().enumerate() {
            if joins[at] {
                self.write_pending(Flags::all());
                self.registers.forget();
                self.host = None;
            }
            self.asm.bind(self.labels[at]);
            let Some(action) = action else {
                self.end_run(before, at);
                before = None;
                continue;
            };
            if before.is_none() {
                self.registers.forget();
                self.entries[at] = u32::try_from(self.asm.offset()).ok();
            }
            if before.is_some_and(Action::may_leave) {
                let (to, registers) = (self.labels[at], self.registers);
                self.inner_entries.push(Entry { step: at, to, registers });
            }
            let next = actions.get(at + 1).copied().flatten();
            let expects = match next {
                Some(Action::Expect { condition, .. }) if !joins[at + 1] => Some(condition),
                _ => None,
            };
            self.act(at, action, expects);
            before = Some(action);
        }
        let end = actions.len();
        if joins[end] {
            self.write_pending(Flags::all());
        }
        self.asm.bind(self.labels[end]);
        self.end_run(before, end);
    }

    /// Ends a run of steps, if there is one, before a step.
    fn end_run(&mut self, before: Option<Action>, at: usize) {
        if before.is_some() {
            self.write_pending(Flags::all());
            self.host = None;
            self.leave_now(Exit { step: at, way: Way::Linked });
        }
    }

    fn leave_now(&mut self, exit: Exit) {
        self.asm.mov_immediate(Reg::RAX, exit.bits());
        self.asm.ret();
    }

    /// Appends what is executed rarely.
    fn finish(mut self) -> Option<Translation> {
        for BelowStack { label, back, exit } in std::mem::take(&mut self.below_stack) {
            self.asm.bind(label);
            self.asm.compare_half(frame::IPSR, 0);
            self.asm.jump_if(Cond::NOT_EQUAL, exit);
            self.asm.test_field(frame::CONTROL, crate::arch::armm::registers::CONTROL_SPSEL as u8);
            self.asm.jump_if(Cond::EQUAL, exit);
            self.asm.jump(back);
        }
        for Leave { label, exit, mut pending } in std::mem::take(&mut self.leaves) {
            self.asm.bind(label);
            pending.write(&mut self.asm, Flags::all());
            self.leave_now(exit);
        }
        for Entry { step, to, registers } in std::mem::take(&mut self.inner_entries) {
            self.entries[step] = u32::try_from(self.asm.offset()).ok();
            registers.load(&mut self.asm);
            self.asm.jump(to);
        }
        Some(Translation { code: self.asm.finish()?, entries: self.entries })
    }

    /// Creates a way out before a step.
    pub(super) fn exit(&mut self, exit: Exit) -> Label {
        let label = self.asm.label();
        self.leaves.push(Leave { label, exit, pending: self.pending });
        label
    }

    /// Creates a jump of which the rest is elsewhere: an address is below the end of the stack.
    pub(super) fn below_stack(&mut self, cond: Cond, exit: Label) {
        let (label, back) = (self.asm.label(), self.asm.label());
        self.asm.jump_if(cond, label);
        self.asm.bind(back);
        self.below_stack.push(BelowStack { label, back, exit });
    }

    pub(super) fn read(&mut self, register: u8) -> Reg {
        self.registers.read(&mut self.asm, register)
    }

    pub(super) fn write(&mut self, register: u8, from: Reg) {
        self.registers.write(&mut self.asm, register, from);
    }

    fn write_pending(&mut self, flags: Flags) {
        self.pending.write(&mut self.asm, flags);
    }

    /// Appends the code of a step. If the next one expects a condition, the host's flags may be left to it.
    fn act(&mut self, at: usize, action: Action, expects: Option<u8>) {
        let slot = self.steps[at].slot;
        let host = self.host.take();
        let written = action.written_flags(&slot);
        self.write_pending(action.read_flags());
        // Flags that follow from a register which the step writes are written before, if something still needs them.
        let changing: Flags = action
            .written_registers(&slot)
            .map(|register| self.pending.depending_on(register))
            .collect();
        self.write_pending(changing & self.live[at + 1] & !written);
        if !action.may_leave() {
            self.pending.set(changing, None);
        }
        match action {
            Action::Calculate { .. }
            | Action::ShiftByRegister { .. }
            | Action::Multiply { .. }
            | Action::MultiplyAccumulate { .. }
            | Action::Extend { .. }
            | Action::SwapBytes
            | Action::MoveTop
            | Action::ExtractField { .. }
            | Action::InsertField { .. }
            | Action::Constant(_) => self.calculate(at, action, expects),
            Action::Load { datum, mode } => self.load(at, &slot, datum, mode),
            Action::Store { datum, mode } => self.store(at, &slot, datum, mode),
            Action::LoadPair => self.load_pair(at, &slot),
            Action::StorePair => self.store_pair(at, &slot),
            Action::LoadList { follows } => self.load_list(at, &slot, follows),
            Action::StoreList { before } => self.store_list(at, &slot, before),
            Action::Nothing => {}
            Action::Expect { condition, otherwise } => {
                let exit = self.exit(Exit { step: at, way: otherwise });
                self.jump_unless(condition, host, exit);
            }
            Action::ExpectZero { zero, otherwise } => {
                let exit = self.exit(Exit { step: at, way: otherwise });
                let x = self.read(slot.n);
                self.asm.test(x);
                self.asm.jump_if(if zero { Cond::NOT_EQUAL } else { Cond::EQUAL }, exit);
            }
            Action::ExpectTarget { target, links } => {
                let exit = self.exit_at(at);
                let x = self.read(slot.n);
                self.asm.alu_immediate(Alu::Cmp, Operand::Reg(x), target);
                self.asm.jump_if(Cond::NOT_EQUAL, exit);
                if links {
                    self.link(at);
                }
            }
            Action::Link => self.link(at),
            Action::If { condition } => {
                let to = self.labels[skipped_to(self.steps, at)];
                self.jump_unless(condition, None, to);
            }
            Action::Hop => self.asm.jump(self.labels[skipped_to(self.steps, at)]),
        }
        if action.may_leave() {
            self.pending.set(changing, None);
        }
    }

    /// Sets the link register to the address after a step.
    fn link(&mut self, at: usize) {
        let step = &self.steps[at];
        let next = step.address(self.address).wrapping_add(step.slot.size().into());
        self.asm.mov_immediate(Reg::RAX, next | 1);
        self.write(14, Reg::RAX);
    }

    /// Jumps unless a condition holds.
    fn jump_unless(&mut self, condition: u8, host: Option<HostFlags>, to: Label) {
        if condition >= 14 {
            return;
        }
        let needed = Flags::of_condition(condition);
        let known = host.and_then(|host| host.condition(condition));
        let holds = if let Some(cond) = known {
            cond
        } else if let Some(recipe) = self.pending.common(needed)
            && let host = recipe.repeat(&mut self.asm)
            && let Some(cond) = host.condition(condition)
        {
            cond
        } else {
            self.write_pending(needed);
            compare_written(&mut self.asm, condition)
        };
        self.asm.jump_if(holds.inverse(), to);
    }

    /// The way out before a step whose function decides what happens.
    pub(super) fn exit_at(&mut self, at: usize) -> Label {
        self.exit(Exit { step: at, way: Way::Own })
    }
}
