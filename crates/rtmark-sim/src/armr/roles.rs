//! The roles of registers, stacks and vectors on a Cortex-R5, for [`Machine`](crate::Machine)'s queries
//! by role.

use super::cpu::{Mode, psr};
use super::gic::{FIRST_SHARED, InterruptLine};
use super::machine::CortexR5;
use super::state::State;
use crate::debug::{ARM_INTEGERS, ARM_SINGLES, Roles, Trials};
use crate::state::{Convention, Interrupted, Irq, Register, ThreadStack};

/// The offsets of IRQ and FIQ in the vector table (DDI 0406, B1.8.1).
const IRQ_VECTOR: u32 = 0x18;
const FIQ_VECTOR: u32 = 0x1C;
/// The offset of data aborts, which save an address further on than prefetch aborts.
const DATA_ABORT_VECTOR: u32 = 0x10;

/// Returns the number of a mode's stack pointer.
const fn bank(mode: Mode) -> u8 {
    match mode {
        Mode::User | Mode::System => 0,
        Mode::Supervisor => 1,
        Mode::Irq => 2,
        Mode::Fiq => 3,
        Mode::Abort => 4,
        Mode::Undefined => 5,
    }
}

impl State {
    /// Returns what the exception has interrupted that was entered last, at the first instruction of its
    /// handler: the interrupted state is in LR and SPSR of the mode that was entered (DDI 0406, table B1-7),
    /// and not in memory.
    pub fn last_interrupted(&self) -> Interrupted {
        let cpu = &self.core.arch.cpu;
        let link = cpu.get(14);
        let status = cpu.saved_status().unwrap_or(cpu.cpsr());
        let ahead = match cpu.mode() {
            Mode::Abort if cpu.pc & 0x1F == DATA_ABORT_VECTOR => 8,
            Mode::Irq | Mode::Fiq | Mode::Abort => 4,
            Mode::Undefined if status & psr::T != 0 => 2,
            Mode::Undefined => 4,
            Mode::Supervisor | Mode::User | Mode::System => 0,
        };
        let mode = Mode::of(status);
        let sp = mode.map_or_else(|| cpu.get(13), |mode| cpu.stack_pointer(mode));
        Interrupted {
            pc: link.wrapping_sub(ahead),
            sp,
            frame: sp,
            stack: ThreadStack::Only,
            bank: mode.map_or(0, bank),
            exception: self.session.handlers.before(),
        }
    }
}

impl Roles for CortexR5 {
    fn exception(&self) -> u16 {
        self.state.session.handlers.current()
    }

    fn named_registers(&self) -> Vec<(&'static str, Register)> {
        let core = ARM_INTEGERS.into_iter().zip((0..).map(Register::R));
        let status = [("pc", Register::Pc), ("cpsr", Register::Xpsr)];
        let float = ARM_SINGLES.into_iter().zip((0..).map(Register::S));
        core.chain(status).chain([("fpscr", Register::Fpscr)]).chain(float).collect()
    }

    /// See [`Machine::interrupted`](crate::Machine::interrupted).
    fn interrupted(&self) -> Interrupted {
        self.state.session.handlers.interrupted().unwrap_or_else(|| self.state.last_interrupted())
    }

    /// Each mode has a stack pointer, but the kernel decides which of them threads use.
    fn thread_stack(&self) -> ThreadStack {
        ThreadStack::Only
    }

    /// User and System mode share one stack pointer (DDI 0406, B1.3.2).
    fn stack_bank(&self) -> u8 {
        bank(self.state.core.arch.cpu.mode())
    }

    fn convention(&self) -> Convention {
        Convention::ARM
    }

    /// See [`Machine::handler_of`](crate::Machine::handler_of): all interrupts share the vector of
    /// IRQ, or that of FIQ.
    fn handler_of(&self, interrupt: Irq) -> Result<u32, (u32, u32)> {
        let gic = self.state.core.arch.system.gic.as_ref();
        let line = gic.map(|gic| gic.line(interrupt.line().saturating_add(FIRST_SHARED)));
        let vector = if line == Some(InterruptLine::Fiq) { FIQ_VECTOR } else { IRQ_VECTOR };
        let vector = self.vector_table().wrapping_add(vector);
        let there = self.state.core.arch.system.code(vector).is_some();
        if there { Ok(vector) } else { Err((vector, vector)) }
    }

    fn handler_table(&self) -> Option<u32> {
        None
    }

    /// The lowest bit selects the instruction set, as in a jump.
    fn returns_from_call(&self, link: u32) -> Option<u32> {
        (link != 0).then_some(link & !1)
    }

    /// An instruction abandoned for an interrupt starts again.
    fn resumes_instruction(&self) -> bool {
        false
    }
}
