//! What observers and searches ask of any core in terms of roles: which handler is executing, what it
//! interrupted, where arguments are.
//!
//! With these they need not know any core's registers, frames or exception numbers. A core answers from its
//! [`Convention`] and from what its exception entry saves.

use crate::debug::Roles;
use crate::machine::{Machine, on};
use crate::state::{Convention, Interrupted, Irq, Register, ThreadStack, Watch};

impl Machine {
    /// Returns the number of the exception whose handler is executing, or 0 outside handlers. 16 is the
    /// first external interrupt on every core;
    /// [`CoreKind::exception_name`](crate::CoreKind::exception_name) names the others.
    pub fn exception(&self) -> u16 {
        on!(&self.core, core => core.exception())
    }

    /// Returns what the newest exception has interrupted. The machine must be about to execute the first
    /// instruction of that exception's handler.
    pub fn interrupted(&self) -> Interrupted {
        on!(&self.core, core => core.interrupted())
    }

    /// Returns which stack code outside handlers is currently using.
    pub fn thread_stack(&self) -> ThreadStack {
        on!(&self.core, core => core.thread_stack())
    }

    /// Returns which stack pointer is in use, on a core where each mode has its own and handlers change
    /// modes freely: a distinct number for each mode, 0 for System mode. Other cores return 0, because
    /// [`Machine::thread_stack`] is all there is to know.
    pub fn stack_bank(&self) -> u8 {
        on!(&self.core, core => core.stack_bank())
    }

    /// Returns the current value of the handlers' stack pointer.
    pub fn handler_sp(&self) -> u32 {
        match self.thread_stack() {
            ThreadStack::Main | ThreadStack::Process => self.register(Register::Msp),
            ThreadStack::Only => self.register(Register::Sp),
        }
    }

    /// Returns which registers the core's calling convention assigns a role to.
    pub fn convention(&self) -> Convention {
        on!(&self.core, core => core.convention())
    }

    /// Returns a word-sized argument, counted from 0, of the function whose first instruction is about to
    /// execute, from its register or from the stack. Returns `None` if the stack slot is not in memory.
    pub fn argument(&self, number: u8) -> Option<u32> {
        let arguments = self.convention().arguments;
        if number < arguments {
            return Some(self.register(Register::Argument(number)));
        }
        let offset = u32::from(number - arguments) * 4;
        let bytes = self.peek(self.register(Register::Sp).wrapping_add(offset), 4);
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// Returns the address of the first instruction that executes when an external interrupt is taken with
    /// the current settings: of its own handler, or of the common handler on a core that has only one.
    ///
    /// # Errors
    /// Where there is no handler: the vector's address, and its contents.
    pub fn handler_of(&self, interrupt: impl Into<Irq>) -> Result<u32, (u32, u32)> {
        on!(&self.core, core => core.handler_of(interrupt.into()))
    }

    /// Returns the watch for the first instruction of an external interrupt's handler: its address, or the
    /// interrupt itself if other interrupts share that code.
    ///
    /// # Errors
    /// The errors of [`Machine::handler_of`].
    pub fn handler_watch(&self, interrupt: impl Into<Irq>) -> Result<Watch, (u32, u32)> {
        let interrupt = interrupt.into();
        let handler = self.handler_of(interrupt)?;
        Ok(match self.handler_table() {
            Some(_) => Watch::Execute(handler),
            None => Watch::Handle(interrupt.exception()),
        })
    }

    /// Returns the address of the core's table of interrupt handlers, or `None` for a core that takes all
    /// interrupts in one handler.
    pub fn handler_table(&self) -> Option<u32> {
        on!(&self.core, core => core.handler_table())
    }

    /// Returns the address to which a call returns whose link register holds `link`, or `None` if `link` is
    /// not an address, such as the value by which handlers return.
    pub fn returns_from_call(&self, link: u32) -> Option<u32> {
        on!(&self.core, core => core.returns_from_call(link))
    }

    /// Returns whether the instruction that is about to execute continues after an interrupt that suspended
    /// it.
    pub fn resumes_instruction(&self) -> bool {
        on!(&self.core, core => core.resumes_instruction())
    }
}
