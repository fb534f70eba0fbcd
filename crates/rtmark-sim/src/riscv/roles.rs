//! What plays which part on a Hazard3, for [`Machine`](crate::Machine)'s questions by role.

use super::csr::Interrupt;
use super::machine::Hazard3;
use super::state::number;
use crate::state::{Convention, Interrupted, Register, ThreadStack};

/// Bytes of ECALL, behind which its handler returns.
const ECALL_BYTES: u32 = 4;

#[expect(clippy::unused_self, reason = "all cores answer to the same methods")]
impl Hazard3 {
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
            exception: self.state.handler_before(),
        }
    }

    pub(crate) const fn thread_stack(&self) -> ThreadStack {
        ThreadStack::Only
    }

    pub(crate) const fn convention(&self) -> Convention {
        Convention::RISC_V
    }

    /// See [`Machine::handler_of`](crate::Machine::handler_of): all external interrupts share what
    /// MTVEC leads to.
    pub(crate) fn handler_of(&self, _interrupt: u16) -> Result<u32, (u32, u32)> {
        let handler = self.state.core.hart.csr.vector(Some(Interrupt::External));
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
