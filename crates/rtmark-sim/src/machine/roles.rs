//! What observers and searches ask of any core by the part that it plays: which handler executes,
//! what it has interrupted, where arguments are.
//!
//! So they know no core's registers, frames or exception numbers. A core answers here by its
//! [`Convention`] and by what its traps save.

use crate::debug::Roles;
use crate::machine::{Machine, on};
use crate::state::{Convention, Interrupted, Register, ThreadStack, Watch};

/// The exception number of the first external interrupt.
const FIRST_INTERRUPT: u16 = 16;

impl Machine {
    /// The number of the exception whose handler executes, 0 outside of handlers. 16 is the first
    /// external interrupt on every core; [`CoreKind::exception_name`](crate::CoreKind::exception_name)
    /// has the others.
    pub fn exception(&self) -> u16 {
        on!(&self.core, core => core.exception())
    }

    /// What the newest exception has interrupted. Wants a machine that is about to execute its
    /// handler's first instruction.
    pub fn interrupted(&self) -> Interrupted {
        on!(&self.core, core => core.interrupted())
    }

    /// Which stack code outside of handlers is on now.
    pub fn thread_stack(&self) -> ThreadStack {
        on!(&self.core, core => core.thread_stack())
    }

    /// Which of several stack pointers is in use, on a core on which each mode has one and handlers change
    /// modes as they like: another number for each, and 0 for that of System mode. On other cores 0:
    /// there [`Machine::thread_stack`] tells all that there is to know.
    pub fn stack_bank(&self) -> u8 {
        on!(&self.core, core => core.stack_bank())
    }

    /// Where the handlers' stack pointer stands.
    pub fn handler_sp(&self) -> u32 {
        match self.thread_stack() {
            ThreadStack::Main | ThreadStack::Process => self.register(Register::Msp),
            ThreadStack::Only => self.register(Register::Sp),
        }
    }

    /// Which registers the core's calling convention gives a part to.
    pub fn convention(&self) -> Convention {
        on!(&self.core, core => core.convention())
    }

    /// An argument of the function whose first instruction is about to execute, counted from 0 in
    /// words: from its register, or from the stack; `None` where there is no memory.
    pub fn argument(&self, number: u8) -> Option<u32> {
        let arguments = self.convention().arguments;
        if number < arguments {
            return Some(self.register(Register::Argument(number)));
        }
        let offset = u32::from(number - arguments) * 4;
        let bytes = self.peek(self.register(Register::Sp).wrapping_add(offset), 4);
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// The address of the first instruction that executes when an external interrupt is taken as
    /// things stand: its own handler's, or the common one of a core that has one.
    ///
    /// # Errors
    /// Where no handler is: the address of the vector, and what it holds.
    pub fn handler_of(&self, interrupt: u16) -> Result<u32, (u32, u32)> {
        on!(&self.core, core => core.handler_of(interrupt))
    }

    /// What to watch for the first instruction of an external interrupt's handler: its address, or
    /// the interrupt where others have the same code.
    ///
    /// # Errors
    /// As [`Machine::handler_of`].
    pub fn handler_watch(&self, interrupt: u16) -> Result<Watch, (u32, u32)> {
        let handler = self.handler_of(interrupt)?;
        Ok(match self.handler_table() {
            Some(_) => Watch::Execute(handler),
            None => Watch::Handle(FIRST_INTERRUPT.saturating_add(interrupt)),
        })
    }

    /// Where the code of each external interrupt's handler is told by a table of the core's, that
    /// table's address; `None` for a core that takes all of them in one handler.
    pub fn handler_table(&self) -> Option<u32> {
        on!(&self.core, core => core.handler_table())
    }

    /// Where a call returns to whose link register holds this; `None` where it is no address, such
    /// as what handlers return by.
    pub fn returns_from_call(&self, link: u32) -> Option<u32> {
        on!(&self.core, core => core.returns_from_call(link))
    }

    /// Whether the instruction that is about to execute has begun before, and goes on behind an
    /// interrupt.
    pub fn goes_on(&self) -> bool {
        on!(&self.core, core => core.goes_on())
    }
}
