//! Native code: schedules that execute often, as machine code of the host.
//!
//! A schedule states when each of its instructions executes, so native code only has to do what they do. It executes
//! steps as long as each has its expected effect: calculations, accesses to the main RAM, branches that go the
//! expected way. Before the first step that may have another one, it ends, and the step's own function
//! ([`dispatch`](super::dispatch)) continues. So native code knows nothing of cycles, exceptions and devices, and
//! every rare case is in one place. Steps without native code are executed by their functions, too, and the native
//! code is entered again after them.
//!
//! In the order of use: [`action`] says what native code does for a step, [`translator`] writes it with an
//! [`assembler`], and [`pages`] makes it executable. [`flags`] and [`registers`] hold what the translator knows of the
//! program's flags and registers at each step.

mod action;
mod assembler;
mod calculations;
mod flags;
mod frame;
mod pages;
mod registers;
#[cfg(test)]
mod tests;
mod transfers;
mod translator;

use std::cell::Cell;
use std::slice::Iter;

use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::dispatch::{OpFn, end};
use crate::exec::{Ending, ExecContext};
use crate::isa::Slot;
use crate::memory::MainRam;
use crate::state::State;

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
}

impl Expected {
    fn now(state: &State) -> Option<Self> {
        let ram = state.bus.main_ram()?;
        // Offsets are rotated, so that the highest bits show a rest.
        let is_usable = ram.base.is_multiple_of(4) && ram.bytes < 1 << 29;
        is_usable.then_some(Self {
            ram,
            no_code_in_ram: state.bus.code_writes.is_empty(),
            immediate_literals: false,
        })
    }

    #[inline(always)]
    const fn holds(&self, state: &State) -> bool {
        state.bus.is_main_ram(self.ram)
            && (!self.no_code_in_ram || state.bus.code_writes.is_empty())
            && (!self.immediate_literals || state.has_immediate_literals())
    }
}

/// How native code ended: before a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exit {
    step: usize,
    way: Way,
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

impl Exit {
    /// Returns the exit as native code returns it.
    const fn bits(self) -> u32 {
        (self.step as u32) << 2 | self.way as u32
    }

    #[inline(always)]
    const fn from_bits(bits: u32) -> Self {
        let way = match bits & 3 {
            0 => Way::Own,
            1 => Way::Linked,
            2 => Way::Leave,
            _ => Way::Jump,
        };
        Self { step: (bits >> 2) as usize, way }
    }
}

impl NativeCode {
    /// Translates the steps of a block at an address. Returns `None` if that is not worthwhile, or not possible.
    pub fn of(
        state: &State,
        pages: &NativePages,
        address: u32,
        steps: &[ScheduledOp],
    ) -> Option<Self> {
        if pages.are_full() {
            return None;
        }
        let mut expected = Expected::now(state)?;
        let has_literals = Cell::new(false);
        let constant = |slot: &Slot| {
            let (value, _) = state.literal(slot).filter(|_| state.has_immediate_literals())?;
            has_literals.set(true);
            Some(value)
        };
        let translation = translator::translate(address, steps, &expected, constant)?;
        expected.immediate_literals = has_literals.get();
        let function = pages.publish(&translation.code)?;
        let steps: Box<[_]> = steps
            .iter()
            .zip(translation.entries)
            .map(|(step, entry)| NativeStep { own: step.run(), entry })
            .collect();
        let first = steps.first()?.entry;
        Some(Self { function, expected, first, steps })
    }

    /// Links the steps that it was made of, so that it continues after steps that it does not execute.
    pub fn link(&self, steps: &mut [ScheduledOp]) {
        for (step, next) in steps.iter_mut().zip(self.steps.iter().skip(1)) {
            step.next = if next.entry.is_some() { run } else { next.own };
        }
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

    /// Executes steps from one on. Returns `None` if it cannot begin there, or not now.
    #[inline(always)]
    fn execute(&self, state: &mut State, step: usize) -> Option<Exit> {
        let entry = if step == 0 { self.first } else { self.steps.get(step)?.entry }?;
        let can = self.expected.holds(state);
        can.then(|| Exit::from_bits(self.function.call(entry, state)))
    }
}

/// Executes the steps of a pass in native code as far as they follow each other, and then continues with their
/// functions.
pub fn run<'a>(state: &mut State, pass: &mut Cursor<'a>, rest: Iter<'a, ScheduledOp>) -> Ending {
    let left = rest.as_slice();
    let Some(first) = left.first() else { return end(state, pass, rest) };
    let Some(native) = pass.native else { return first.run()(state, pass, rest) };
    let begin = native.steps.len().wrapping_sub(left.len());
    let Some(Exit { step, way }) = native.execute(state, begin) else {
        return native.continue_at(begin, state, pass, rest);
    };
    let executed = step.wrapping_sub(begin);
    let mut rest = left.get(executed..).unwrap_or_default().iter();
    match way {
        Way::Own => return native.continue_at(step, state, pass, rest),
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
    pass.jumps(state, current.slot.imm & !1);
    Ending::Jump
}

impl State {
    /// Returns whether a literal in the memory of the code is read in no time, and nothing checks that.
    #[inline(always)]
    const fn has_immediate_literals(&self) -> bool {
        self.lines.near().is_immediate() && !self.protected
    }
}
