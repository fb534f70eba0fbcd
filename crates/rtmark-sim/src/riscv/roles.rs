//! The roles of registers, stacks and vectors on a RISC-V core, for [`Machine`](crate::Machine)'s
//! queries by role.

use super::machine::RiscV;
use super::state::number;
use crate::debug::Roles;
use crate::state::{Convention, CoreState, Interrupted, Irq, Register, ThreadStack};

/// The bytes of ECALL. Its handler returns to the instruction after it.
const ECALL_BYTES: u32 = 4;

impl Roles for RiscV {
    fn exception(&self) -> u16 {
        self.state.session.handlers.current()
    }

    fn named_registers(&self) -> Vec<(&'static str, Register)> {
        super::state::named_registers().collect()
    }

    /// See [`Machine::interrupted`](crate::Machine::interrupted): the interrupted state is in MEPC,
    /// and not in memory.
    fn interrupted(&self) -> Interrupted {
        let sp = self.state.register(Register::Sp);
        let behind =
            if self.state.session.handlers.current() == number::CALL { ECALL_BYTES } else { 0 };
        Interrupted {
            pc: self.state.core.hart.csr.mepc.wrapping_add(behind),
            sp,
            frame: sp,
            stack: ThreadStack::Only,
            bank: 0,
            exception: self.state.session.handlers.before(),
        }
    }

    fn thread_stack(&self) -> ThreadStack {
        ThreadStack::Only
    }

    fn stack_bank(&self) -> u8 {
        0
    }

    fn convention(&self) -> Convention {
        Convention::RISC_V
    }

    /// See [`Machine::handler_of`](crate::Machine::handler_of): the target of MTVEC, which all
    /// external interrupts share that reach the core by one line.
    fn handler_of(&self, interrupt: Irq) -> Result<u32, (u32, u32)> {
        let csr = &self.state.core.hart.csr;
        let handler = csr.vector(Some(csr.interrupt_of(interrupt.line())));
        let there = self.state.core.system.code(handler).is_some();
        if there { Ok(handler) } else { Err((handler, handler)) }
    }

    fn handler_table(&self) -> Option<u32> {
        None
    }

    fn returns_from_call(&self, link: u32) -> Option<u32> {
        (link != 0).then_some(link & !1)
    }

    /// An instruction abandoned for an interrupt starts again.
    fn resumes_instruction(&self) -> bool {
        false
    }
}
