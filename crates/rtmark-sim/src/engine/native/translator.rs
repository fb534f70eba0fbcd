//! Translates steps into native code.
//!
//! Code that may be linked begins a pass only if all its steps begin before the deadline, and moves the chain on when
//! it leaves one.

use crate::engine::block::ScheduledOp;
use crate::engine::fetch_plan::PlannedFetches;
use crate::engine::micro_op::Kind;
use crate::engine::native::action::{Action, Mode};
use crate::engine::native::assembler::{Alu, Assembler, Cond, Datum, Label, Operand, Reg};
use crate::engine::native::exits::Indirect;
use crate::engine::native::fetches::Fetching;
use crate::engine::native::flags::{Flags, HostFlags, Pending, compare_written};
use crate::engine::native::registers::Registers;
use crate::engine::native::selection::Known;
use crate::engine::native::{Exit, Expected, LATE, Way, frame};
use crate::isa::Slot;
use crate::memory::{CodeData, MainRam};
use crate::timing::Rules;
use crate::timing::pipeline::CoreBus;

/// Native code for steps.
#[derive(Debug)]
pub struct Translation {
    pub code: Vec<u8>,
    /// For each step, the offset at which to enter the code before it, if that is possible.
    pub entries: Vec<Option<u32>>,
    /// The offset at which other code enters it for a pass, if that is possible.
    pub begin: Option<u32>,
    /// How many links it has.
    pub exits: u32,
    /// Which of these is the number of the cached lines with which a pass begins.
    pub contents: Option<u32>,
    /// Whether it changes the memory from which code comes.
    pub is_planned: bool,
    /// Whether it reads the memory from which code comes.
    pub reads_code: bool,
    /// The offsets of the words to which the place of the first link is to be added.
    pub link_places: Vec<usize>,
}

/// The fewest steps in sequence, on average, for which native code is worthwhile: if passes may be linked, and if not.
const FEWEST_LINKED: usize = 5;
const FEWEST: usize = 10;

/// Translates the steps of a block at an address, which may have planned fetches. `literal` tells how literals are
/// loaded that never change. Returns `None` if that is not worthwhile, or not possible.
pub fn translate(
    address: u32,
    steps: &[ScheduledOp],
    expected: &Expected,
    planned: Option<&PlannedFetches>,
    rules: &Rules,
    literal: impl Fn(&Slot) -> Option<Action>,
) -> Option<Translation> {
    let code_shows = expected.code.is_some() && !is_code_usual(rules, address);
    let fetching = expected.fetching;
    let actions = actions(steps, &Known { fetching, rules, code_shows, literal: &literal });
    let possible = actions.iter().flatten().count();
    let before = std::iter::once(&None).chain(&actions);
    let runs = actions.iter().zip(before).filter(|(now, before)| now.is_some() && before.is_none());
    let fewest = if fetching.links_passes() { FEWEST_LINKED } else { FEWEST };
    if possible == 0 || possible < fewest * runs.count() {
        return None;
    }
    let joins = joins(steps, &actions)?;
    let mut translator = Translator::new(address, steps, expected, rules, &joins, &actions);
    translator.planned = planned.filter(|_| fetching.is_planned());
    translator.translate(&joins, &actions);
    translator.finish()
}

/// Returns whether reading the memory of the code at an address shows the pipeline nothing.
fn is_code_usual(rules: &Rules, address: u32) -> bool {
    !rules.model_buses() || CoreBus::of(address) == CoreBus::USUAL
}

/// Returns what native code does for each step that it can execute.
fn actions(steps: &[ScheduledOp], known: &Known<'_>) -> Vec<Option<Action>> {
    let mut actions: Vec<Option<Action>> = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        if actions.last().is_some_and(|before| before.is_some_and(Action::is_checked)) {
            actions.push(Some(Action::Checked));
            continue;
        }
        let action = match steps.get(at + 1) {
            // Only its function knows how to show something else that is expected of it.
            Some(next) if next.begin.kind == Kind::CheckFacts => {
                // A pass does not end with the check.
                let continues = at + 2 < steps.len();
                Action::showing(step, &next.micro(), known).filter(|_| continues)
            }
            // And that a pass ends with a jump.
            None if step.begin.kind == Kind::Followed => None,
            _ => Action::of(step, known),
        };
        actions.push(action);
    }
    actions
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

/// A load that has found an address outside the main RAM.
pub(super) struct CodeLoad {
    pub label: Label,
    pub back: Label,
    pub exit: Label,
    pub slot: Slot,
    pub datum: Datum,
    pub mode: Mode,
    pub registers: Registers,
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
    pub(super) address: u32,
    pub(super) steps: &'a [ScheduledOp],
    /// The flags that may be read before they are written again, before each step and at the end.
    pub(super) live: Vec<Flags>,
    labels: Vec<Label>,
    entries: Vec<Option<u32>>,
    leaves: Vec<Leave>,
    inner_entries: Vec<Entry>,
    below_stack: Vec<BelowStack>,
    /// The memory from which code comes, if it may be read, and whether that shows the pipeline nothing.
    pub(super) code: Option<CodeData>,
    pub(super) reads_plain_code: bool,
    pub(super) code_loads: Vec<CodeLoad>,
    pub(super) reads_code: bool,
    pub(super) rules: &'a Rules,
    pub(super) fetching: Fetching,
    /// The fetches of a pass, if these are planned and passes may be linked.
    pub(super) planned: Option<&'a PlannedFetches>,
    pub(super) contents: Option<u32>,
    pub(super) indirect: Vec<Indirect>,
    /// Where other code enters for a pass, and where it returns if that would be too late.
    pub(super) begin: Option<(u32, Label)>,
    pub(super) exits: u32,
}

impl<'a> Translator<'a> {
    fn new(
        address: u32,
        steps: &'a [ScheduledOp],
        &Expected { ram, no_code_in_ram, fetching, code, .. }: &Expected,
        rules: &'a Rules,
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
            code,
            reads_plain_code: code.is_some() && is_code_usual(rules, address),
            code_loads: Vec::new(),
            reads_code: false,
            rules,
            fetching,
            planned: None,
            contents: None,
            indirect: Vec::new(),
            begin: None,
            exits: 0,
        }
    }

    fn translate(&mut self, joins: &[bool], actions: &[Option<Action>]) {
        if self.fetching.links_passes() && actions.first().is_some_and(Option::is_some) {
            self.begin_pass();
        }
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
            // If its function has executed the load, it has to check what that has shown.
            if before.is_some_and(Action::may_leave) && action != Action::Checked {
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
        if !before.is_some_and(Action::jumps_anywhere) {
            self.end_run(before, end);
        }
    }

    /// Ends a run of steps, if there is one, before a step.
    fn end_run(&mut self, before: Option<Action>, at: usize) {
        if before.is_some() {
            self.write_pending(Flags::all());
            self.host = None;
            self.leave_now(Exit::new(at, Way::Linked));
        }
    }

    /// Appends what is executed rarely.
    fn finish(mut self) -> Option<Translation> {
        let reads_code = self.reads_code || !self.code_loads.is_empty();
        for indirect in std::mem::take(&mut self.indirect) {
            self.leave_indirect(indirect);
        }
        for load in std::mem::take(&mut self.code_loads) {
            self.finish_code_load(&load);
        }
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
        let begin = self.begin.map(|(offset, late)| {
            self.asm.bind(late);
            self.asm.alu_immediate(Alu::Or, Operand::Reg(Reg::RAX), LATE);
            self.asm.ret();
            offset
        });
        for Entry { step, to, registers } in std::mem::take(&mut self.inner_entries) {
            self.entries[step] = u32::try_from(self.asm.offset()).ok();
            registers.load(&mut self.asm);
            self.asm.jump(to);
        }
        let link_places = self.asm.link_places();
        let is_planned = self.planned.is_some();
        let Self { asm, entries, exits, contents, .. } = self;
        // The number of its first exit identifies code.
        let exits = exits.max(u32::from(begin.is_some()));
        let code = asm.finish()?;
        Some(Translation {
            code,
            entries,
            begin,
            exits,
            contents,
            is_planned,
            reads_code,
            link_places,
        })
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
            | Action::CountLeadingZeros
            | Action::SwapBytes
            | Action::MoveTop
            | Action::ExtractField { .. }
            | Action::InsertField { .. }
            | Action::MultiplyLong { .. }
            | Action::MultiplyHalves { .. }
            | Action::Divide { .. }
            | Action::Constant(_) => self.calculate(at, action, expects),
            Action::Load { datum, mode } => self.load(at, &slot, datum, mode),
            Action::Store { datum, mode } => self.store(at, &slot, datum, mode),
            Action::LoadCode { datum, mode } => self.load_code(at, &slot, datum, mode),
            Action::CachedConstant { value, line } => self.load_literal(at, &slot, value, line),
            Action::LoadExclusive { datum } => self.load_exclusive(at, &slot, datum),
            Action::StoreExclusive { datum } => self.store_exclusive(at, &slot, datum),
            Action::LoadPair { mode } => self.load_pair(at, &slot, mode),
            Action::StorePair { mode } => self.store_pair(at, &slot, mode),
            Action::LoadList { follows } => self.load_list(at, &slot, follows),
            Action::LoadTarget => self.load_target(at, &slot),
            Action::JumpTo => {
                let there = self.indirect(at);
                self.asm.jump(there);
            }
            Action::StoreList { before } => self.store_list(at, &slot, before),
            Action::Nothing | Action::Checked => {}
            Action::Expect { condition, otherwise } => {
                let exit = self.exit(Exit::new(at, otherwise));
                self.jump_unless(condition, host, exit);
            }
            Action::ExpectZero { zero, otherwise } => {
                let exit = self.exit(Exit::new(at, otherwise));
                let x = self.read(slot.n);
                self.asm.test(x);
                self.asm.jump_if(if zero { Cond::NOT_EQUAL } else { Cond::EQUAL }, exit);
            }
            Action::ExpectTarget { target, links } => {
                let other = self.indirect(at);
                let x = self.read(slot.n);
                self.asm.alu_immediate(Alu::Cmp, Operand::Reg(x), target);
                self.asm.jump_if(Cond::NOT_EQUAL, other);
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
            Action::EnterLine => self.asm.store_immediate(frame::LINE, slot.imm),
        }
        if action.may_leave() {
            self.pending.set(changing, None);
        }
    }

    /// Sets the link register to the address after a step.
    pub(super) fn link(&mut self, at: usize) {
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
        self.exit(Exit::new(at, Way::Own))
    }
}
