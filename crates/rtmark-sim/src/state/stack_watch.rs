//! Whether the main stack of a Cortex-M grows beyond the memory that the program has for it.
//!
//! What is seen: PUSH and every other STM whose base is the stack pointer, and the frames of exceptions. So a
//! function that only moves the stack pointer is seen once it calls another one that saves registers, or is
//! interrupted.

use super::State;
use crate::memory::RAM_AT_RESET;
use rtmark_units::Cycles;

/// Where the main stack first grew beyond its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackOverflow {
    /// The cycle in which the instruction began, or the exception was entered.
    pub cycle: Cycles,
    /// An address in the function that was executing.
    pub pc: u32,
    /// The lowest address that was stored to.
    pub reached: u32,
    /// The lowest address that belongs to the stack.
    pub end: u32,
}

/// The bytes of all registers that a kernel may save on the stack in use, for which it sets the stack pointer: the core's
/// and the FPU's, and some masks.
const CONTEXT: u32 = 256;

/// Looks for the first overflow, if requested.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackWatch {
    /// The lowest address that belongs to the stack; 0 while the pointer is in another one, and once nothing is looked for.
    pub end: u32,
    /// Where the stack ends and where it begins; both 0 once nothing is looked for.
    bounds: (u32, u32),
    /// The end of the stretch next to `end` that a stack fills before it grows beyond.
    filled: u32,
    /// How many more stores below `end` are looked at although nothing is in that stretch.
    patience: u16,
    overflow: Option<StackOverflow>,
}

impl StackWatch {
    /// Begins to look for an overflow of a stack that grows down from `top` to `end`.
    pub const fn begin(&mut self, end: u32, top: u32) {
        let filled = end + top.saturating_sub(end) / 4;
        *self = Self { end, bounds: (end, top), filled, patience: 1_000, overflow: None };
    }

    /// Looks for nothing any more.
    const fn finish(&mut self) {
        (self.end, self.bounds) = (0, (0, 0));
    }

    /// Called when the program sets the main stack pointer: that may be to a stack of its own.
    pub fn pointer_set(&mut self, before: u32, value: u32) {
        let (end, top) = self.bounds;
        let is_within = (end..=top).contains(&value);
        let saves_context = self.end != 0 && value < end && before.wrapping_sub(value) <= CONTEXT;
        self.end = if is_within || saves_context { end } else { 0 };
    }

    pub const fn overflow(&self) -> Option<StackOverflow> {
        self.overflow
    }
}

impl State {
    /// Returns whether a store to an address, on the stack in use, is beyond the end of the main stack.
    #[inline(always)]
    pub fn overflows_stack(&self, at: u32) -> bool {
        at < self.watches.stack.end && !self.cpu.on_process_stack()
    }

    /// Records the first overflow, and looks for no other.
    ///
    /// A program may also have moved the stack pointer to another stack of its own, among its data, without MSR. Then
    /// the stretch next to the end of the first one is still as at reset. What was just stored may have been the first
    /// there.
    #[cold]
    pub fn note_stack_overflow(&mut self, reached: u32) {
        let StackWatch { end, filled, .. } = self.watches.stack;
        let mut stretch = vec![0; (filled - end) as usize];
        self.bus.peek(end, &mut stretch);
        let stack = &mut self.watches.stack;
        if stretch.iter().any(|&byte| byte != RAM_AT_RESET) {
            let cycle = Cycles(self.cycles);
            stack.overflow = Some(StackOverflow { cycle, pc: self.cpu.pc, reached, end });
            stack.finish();
        } else {
            stack.patience -= 1;
            if stack.patience == 0 {
                stack.finish();
            }
        }
    }
}
