//! Native code: schedules that execute often, as machine code of the host.
//!
//! A schedule states when each of its instructions executes, so native code only has to do what they do. It executes
//! steps as long as each has its expected effect: calculations, accesses to the main RAM, branches that go the
//! expected way. Before the first step that may have another one, it ends, and the step's own function
//! ([`dispatch`](super::dispatch)) continues. So native code knows nothing of cycles, exceptions and devices, and
//! every rare case is in one place. Steps without native code are executed by their functions, too, and the native
//! code is entered again after them.
//!
//! Where code is fetched from a memory that never waits, or in a way that is planned, native code that ends a pass
//! continues with that of the next one by itself ([`links`]), up to the deadline: a chain of passes, whose position is
//! in [`Chain`].
//!
//! In the order of use: [`action`] says what native code can do, and [`selection`] what it does for a step;
//! [`translator`] writes it with an [`assembler`], [`exits`] what is between two passes, [`fetches`] what these do to
//! the memory; and [`pages`] makes it executable. [`flags`] and [`registers`] hold what the translator knows of the
//! program's flags and registers at each step.

mod action;
mod assembler;
mod calculations;
mod exits;
mod fetches;
mod flags;
mod frame;
mod links;
mod pages;
mod registers;
mod selection;
#[cfg(test)]
mod tests;
mod transfers;
mod translator;

use std::slice::Iter;

use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::dispatch::{OpFn, end};
use crate::engine::fetch_plan::PlannedFetches;
use crate::exec::{Ending, ExecContext};
use crate::isa::Slot;
use crate::memory::{CodeData, MainRam};
#[cfg(doc)]
use crate::state::Chain;
use crate::state::State;
use crate::timing::Rules;

use self::action::Action;
use self::assembler::LINK_BYTES;
use self::fetches::Fetching;
use self::links::NumberedExit;
pub use self::links::{Links, NewLink};
use self::pages::Function;
pub use self::pages::NativePages;

/// The native code of a schedule. What each pass reads comes first.
#[derive(Debug)]
#[repr(C)]
pub struct NativeCode {
    function: Function,
    expected: Expected,
    /// Where it begins with the first step, if it can.
    first: Option<u32>,
    /// Where other code enters it for a pass, if that is possible.
    begin: Option<u32>,
    /// Which of its links is the number of the cached lines with which a pass begins.
    contents: Option<u32>,
    steps: Box<[NativeStep]>,
}

/// A step of a schedule that has native code.
#[derive(Clone, Copy, Debug)]
struct NativeStep {
    /// The step's own function.
    own: OpFn,
    /// Where the native code begins with it, if it can.
    entry: Option<u32>,
}

/// What native code takes for granted, because it rarely changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Expected {
    /// The memory that it accesses, at one of its addresses.
    ram: MainRam,
    /// No code has run from RAM, so that stores need not be compared with it.
    no_code_in_ram: bool,
    /// Reading a literal takes no time, and nothing checks it.
    immediate_literals: bool,
    /// How code is fetched.
    fetching: Fetching,
    /// The memory from which code comes, if reading it takes no time either, and nothing checks that.
    code: Option<CodeData>,
}

impl Expected {
    fn now(state: &State, planned: Option<&PlannedFetches>) -> Option<Self> {
        let ram = state.bus.main_ram()?;
        // Offsets are rotated, so that the highest bits show a rest.
        let is_usable = ram.base.is_multiple_of(4) && ram.bytes < 1 << 29;
        is_usable.then_some(Self {
            ram,
            no_code_in_ram: state.bus.code_writes.is_empty(),
            immediate_literals: state.has_immediate_literals(),
            fetching: Fetching::now(state, planned),
            code: state.bus.code_data().filter(|code| {
                code.base.is_multiple_of(4) && code.bytes < 1 << 29 && state.has_immediate_code()
            }),
        })
    }

    #[inline(always)]
    fn holds(&self, state: &State) -> bool {
        state.bus.is_main_ram(self.ram)
            && (!self.no_code_in_ram || state.bus.code_writes.is_empty())
            && (!self.immediate_literals || state.has_immediate_literals())
            && self.fetching.holds(state)
            && self.code.is_none_or(|code| {
                state.bus.is_code_data(code)
                    && state.bus.code_bytes().len() >= code.bytes as usize
                    && state.has_immediate_code()
            })
    }

    /// Returns whether these hold if others do.
    fn follow_from(&self, others: &Self) -> bool {
        self.ram == others.ram
            && self.no_code_in_ram <= others.no_code_in_ram
            && self.immediate_literals <= others.immediate_literals
            && (self.fetching == Fetching::Unplanned || self.fetching == others.fetching)
            && (self.code.is_none() || self.code == others.code)
    }
}

/// How native code ended: before a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exit {
    step: usize,
    way: Way,
    /// The number of its link among those of the code, if it may be linked.
    link: Option<u32>,
    /// It was linked, but the next pass has to wait for the deadline.
    is_late: bool,
    /// The target of its jump is not known in advance. Its links are a table of targets.
    is_indirect: bool,
}

/// How a pass continues at the step before which native code has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// With the step's own function, although native code can begin with the step.
    Own,
    /// With the function to which the step before is linked.
    Linked,
    /// It ends after the step, and the program continues in sequence.
    Leave,
    /// It ends with a jump to the step's target.
    Jump,
}

/// An exit that is not linked, by which native code has ended a pass.
#[derive(Clone, Copy, Debug)]
pub struct Unlinked<'a> {
    native: &'a NativeCode,
    exit: NumberedExit,
}

/// The bit of a late exit.
const LATE: u32 = 1 << 15;
/// The bit of an indirect exit.
const INDIRECT: u32 = 1 << 14;

/// How far a pass has brought the program when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passed {
    cycles: u32,
    instructions: u32,
    /// How many points of its plan the memory has passed, if it has a plan.
    points: u8,
}

impl Exit {
    const fn new(step: usize, way: Way) -> Self {
        Self { step, way, link: None, is_late: false, is_indirect: false }
    }

    /// Returns the exit as native code returns it.
    const fn bits(self) -> u32 {
        let link = match self.link {
            Some(link) => link + 1,
            None => 0,
        };
        let indirect = if self.is_indirect { INDIRECT } else { 0 };
        link << 16 | indirect | (self.step as u32) << 2 | self.way as u32
    }

    #[inline(always)]
    const fn from_bits(bits: u32) -> Self {
        let way = match bits & 3 {
            0 => Way::Own,
            1 => Way::Linked,
            2 => Way::Leave,
            _ => Way::Jump,
        };
        Self {
            step: ((bits & (INDIRECT - 1)) >> 2) as usize,
            way,
            link: (bits >> 16).checked_sub(1),
            is_late: bits & LATE != 0,
            is_indirect: bits & INDIRECT != 0,
        }
    }

    /// Returns how far the pass has come, if it ends here.
    fn passed(self, steps: &[ScheduledOp], rules: &Rules) -> Option<Passed> {
        let step = match self.way {
            Way::Own => return None,
            Way::Linked => steps
                .last()
                .filter(|last| self.step == steps.len() && last.begin.kind.is_instruction())?,
            Way::Leave | Way::Jump => steps.get(self.step)?,
        };
        let begin = &step.begin;
        let loaded = self.is_indirect && step.slot.loads_pc();
        let jump = match self.way {
            Way::Jump if loaded => rules.refill + rules.refill_loaded,
            Way::Jump => rules.refill,
            _ => 0,
        };
        Some(Passed {
            cycles: begin.cycles + u32::from(begin.cost) + u32::from(jump),
            instructions: u32::from(begin.count) + 1,
            points: begin.points,
        })
    }
}

impl NativeCode {
    /// Translates the steps of a block at an address, or of a plan for it. Returns `None` if that is not worthwhile, or
    /// not possible.
    pub fn of(
        state: &State,
        pages: &NativePages,
        address: u32,
        steps: &[ScheduledOp],
        planned: Option<&PlannedFetches>,
    ) -> Option<Self> {
        if pages.are_full() {
            return None;
        }
        let expected = Expected::now(state, planned)?;
        let literal = |slot: &Slot| {
            let (value, offset) = state.literal(slot)?;
            if expected.immediate_literals {
                return Some(Action::Constant(value));
            }
            let line = state.lines.near().line_of(offset);
            expected.fetching.caches_data().then_some(Action::CachedConstant { value, line })
        };
        let translation =
            translator::translate(address, steps, &expected, planned, state.rules, literal)?;
        let steps: Box<[_]> = steps
            .iter()
            .zip(&translation.entries)
            .map(|(step, &entry)| NativeStep { own: step.run(), entry })
            .collect();
        let first = steps.first()?.entry;
        let (begin, contents) = (translation.begin, translation.contents);
        // Linked code may read it, too.
        let reads_code = translation.reads_code || translation.exits > 0;
        let expected = Expected { code: expected.code.filter(|_| reads_code), ..expected };
        let function = pages.publish(translation)?;
        Some(Self { function, expected, first, begin, contents, steps })
    }

    /// Returns whether its passes may follow those of other code, whenever one of these ends.
    fn may_follow(&self, other: &Self) -> bool {
        self.begin.is_some() && self.expected.follow_from(&other.expected)
    }

    /// Returns the number of an exit among all of them.
    const fn number(&self, link: u32) -> u32 {
        self.function.exits.start + link
    }

    /// Links the steps that it was made of, so that it continues after steps that it does not execute.
    pub fn link(&self, steps: &mut [ScheduledOp]) {
        for (step, next) in steps.iter_mut().zip(self.steps.iter().skip(1)) {
            step.next = if next.entry.is_some() { run } else { next.own };
        }
    }

    /// Returns the function that it is.
    const fn function(&self) -> &Function {
        &self.function
    }

    /// Returns the address at which other code begins a pass, if that is possible.
    fn address(&self) -> Option<usize> {
        Some(self.function.address(self.begin?))
    }

    /// Continues with the function of a step.
    #[inline(always)]
    fn continue_at<'a>(
        &self,
        step: usize,
        state: &mut State,
        pass: &mut Cursor<'a>,
        rest: Iter<'a, ScheduledOp>,
    ) -> Ending {
        match self.steps.get(step) {
            Some(step) => (step.own)(state, pass, rest),
            None => end(state, pass, rest),
        }
    }

    /// Executes steps from one on, and passes that are linked. Returns `None` if it cannot begin there, or not now.
    #[inline(always)]
    fn execute(&self, state: &mut State, step: usize, links: &Links) -> Option<Exit> {
        let entry = if step == 0 { self.first } else { self.steps.get(step)?.entry }?;
        if !self.expected.holds(state) {
            return None;
        }
        Some(Exit::from_bits(self.function.call(entry, state, links)?))
    }

    /// Returns the exit as one that may be linked, if it may.
    #[inline(always)]
    fn unlinked(&self, exit: Exit) -> Option<Unlinked<'_>> {
        let link = exit.link.filter(|_| !exit.is_late)?;
        let exit = NumberedExit { number: self.number(link), is_indirect: exit.is_indirect };
        Some(Unlinked { native: self, exit })
    }

    /// Returns which link is the number of the cached lines with which a pass begins.
    #[inline(always)]
    fn contents(&self) -> Option<u32> {
        self.contents.map(|contents| self.number(contents))
    }

    /// Continues a pass where native code has ended: `left` are the steps from `begin` on.
    #[inline(always)]
    fn resume<'a>(
        &'a self,
        state: &mut State,
        pass: &mut Cursor<'a>,
        left: &'a [ScheduledOp],
        begin: usize,
        exit: Exit,
    ) -> Ending {
        let Exit { step, way, is_indirect, .. } = exit;
        pass.unlinked = self.unlinked(exit);
        let executed = step.wrapping_sub(begin);
        let mut rest = left.get(executed..).unwrap_or_default().iter();
        match way {
            Way::Own => return self.continue_at(step, state, pass, rest),
            Way::Linked => {
                if let Some(before) = left.get(executed.wrapping_sub(1)) {
                    return (before.next)(state, pass, rest);
                }
            }
            Way::Leave | Way::Jump => {}
        }
        let Some(current) = rest.next() else { return end(state, pass, rest) };
        pass.move_to(current, &rest);
        if way != Way::Jump {
            return Ending::Next;
        }
        let mut target = current.slot.imm;
        if is_indirect {
            target = state.chain.target;
            if current.slot.loads_pc() {
                pass.has_loaded_target(state);
            }
        }
        pass.jumps(state, target & !1);
        Ending::Jump
    }
}

/// Executes the steps of a pass in native code as far as they follow each other, and then continues with their
/// functions, if need be those of another pass to which the code is linked.
pub fn run<'a>(state: &mut State, pass: &mut Cursor<'a>, rest: Iter<'a, ScheduledOp>) -> Ending {
    let left = rest.as_slice();
    let Some(first) = left.first() else { return end(state, pass, rest) };
    let (Some(native), Some(links)) = (pass.native, pass.links) else {
        return first.run()(state, pass, rest);
    };
    let begin = native.steps.len().wrapping_sub(left.len());
    let may_be_linked = !native.function.has_no_links();
    if may_be_linked {
        state.unsettle_memory(pass);
        let chain = &mut state.chain;
        (chain.cycles, chain.instructions) = (pass.from.cycles, pass.from.instructions);
        chain.deadline = if pass.is_single { 0 } else { state.deadline };
        chain.current = native.number(0) * LINK_BYTES;
    }
    let Some(exit) = native.execute(state, begin, links) else {
        return native.continue_at(begin, state, pass, rest);
    };
    if !may_be_linked || state.chain.instructions == pass.from.instructions {
        native.resume(state, pass, left, begin, exit)
    } else {
        move_on(state, pass, native, links, exit)
    }
}

/// Continues with the pass to which native code has come.
#[inline(never)]
fn move_on<'a>(
    state: &mut State,
    pass: &mut Cursor<'a>,
    mut native: &'a NativeCode,
    links: &'a Links,
    exit: Exit,
) -> Ending {
    let chain = state.chain;
    let (mut cycles, mut instructions) = (chain.cycles, chain.instructions);
    let first_exit = chain.current / LINK_BYTES;
    if first_exit != native.number(0)
        && let Some(code) = links.code(first_exit)
    {
        native = code.native;
        pass.begin_linked(code.entry, code.plan, native);
    }
    let steps = pass.steps();
    let late = if exit.is_late { exit.passed(steps, state.rules) } else { None };
    if let Some(passed) = late {
        cycles -= u64::from(passed.cycles);
        instructions -= u64::from(passed.instructions);
    }
    (pass.from.cycles, pass.from.instructions) = (cycles, instructions);
    if let Some(plan) = &mut pass.plan {
        // The memory has been left as it is after a late exit.
        (plan.began, plan.stood) = (cycles, late.map_or(0, |passed| passed.points));
    }
    let continues = match exit.way {
        Way::Own => true,
        Way::Linked => exit.step < steps.len(),
        Way::Leave | Way::Jump => false,
    };
    if continues {
        // Each call of a step's function may come here again, so these calls must not be nested.
        pass.unlinked = native.unlinked(exit);
        pass.halt_before(exit.step);
        return Ending::Next;
    }
    native.resume(state, pass, steps, 0, exit)
}

impl State {
    /// Returns whether a literal in the memory of the code is read in no time, and nothing checks that.
    #[inline(always)]
    const fn has_immediate_literals(&self) -> bool {
        self.lines.near().is_immediate() && !self.protected
    }

    /// Returns whether data in the memory of the code is read in no time, and nothing checks that.
    #[inline(always)]
    const fn has_immediate_code(&self) -> bool {
        self.has_immediate_literals() && !self.slow.exists()
    }
}
