//! What plays which part on a RISC-V core, for [`Machine`](crate::Machine)'s questions by role.

use super::machine::RiscV;
use super::state::number;
use crate::state::{Convention, Interrupted, Register, ThreadStack};

/// Bytes of ECALL, behind which its handler returns.
const ECALL_BYTES: u32 = 4;

#[expect(clippy::unused_self, reason = "all cores answer to the same methods")]
impl RiscV {
    pub(crate) fn exception(&self) -> u16 {
        self.state.handler()
    }

    pub(crate) fn named_registers(&self) -> Vec<(&'static str, Register)> {
        super::state::named_registers().collect()
    }

    /// See [`Machine::interrupted`](crate::Machine::interrupted): MEPC, and nothing in memory.
    pub(crate) fn interrupted(&self) -> Interrupted {
        let sp = self.state.register(Register::Sp);
        let behind = if self.state.handler() == number::CALL { ECALL_BYTES } else { 0 };
        Interrupted {
            pc: self.state.core.hart.csr.mepc.wrapping_add(behind),
            sp,
            frame: sp,
            stack: ThreadStack::Only,
            bank: 0,
            exception: self.state.handler_before(),
        }
    }

    pub(crate) const fn thread_stack(&self) -> ThreadStack {
        ThreadStack::Only
    }

    pub(crate) const fn stack_bank(&self) -> u8 {
        0
    }

    pub(crate) const fn convention(&self) -> Convention {
        Convention::RISC_V
    }

    /// See [`Machine::handler_of`](crate::Machine::handler_of): what MTVEC leads to, which all external
    /// interrupts share that reach the core by one line.
    pub(crate) fn handler_of(&self, interrupt: u16) -> Result<u32, (u32, u32)> {
        let csr = &self.state.core.hart.csr;
        let handler = csr.vector(Some(csr.interrupt_of(interrupt)));
        let there = self.state.core.system.code(handler).is_some();
        if there { Ok(handler) } else { Err((handler, handler)) }
    }

    pub(crate) const fn handler_table(&self) -> Option<u32> {
        None
    }

    pub(crate) fn returns_from_call(&self, link: u32) -> Option<u32> {
        (link != 0).then_some(link & !1)
    }

    /// What an interrupt abandons begins anew.
    pub(crate) const fn goes_on(&self) -> bool {
        false
    }
}
