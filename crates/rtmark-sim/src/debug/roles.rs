//! The roles of a Cortex-M's registers and exceptions, for [`Machine`](crate::Machine)'s questions by role.

use super::core_model::{Controlled, Roles, Trials};
use crate::engine::CortexM;
use crate::state::{Convention, CoreState, Interrupted, Irq, Register, ThreadStack};

/// EPSR.ICI, which records where an instruction of several registers was suspended (DDI 0403, B1.4.2).
const CONTINUED: u32 = 0x0600_FC00;
/// The leading bits of every EXC_RETURN value in use (DDI 0403, B1.5.8).
const EXC_RETURN: u32 = 0xF000_0000;

/// The integer registers of an Arm core by number, except the program counter.
pub const ARM_INTEGERS: [&str; 15] =
    ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr"];
/// The single-precision registers of an Arm core, by number.
pub const ARM_SINGLES: [&str; 32] = [
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14",
    "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27",
    "s28", "s29", "s30", "s31",
];
const SYSTEM: [(&str, Register); 6] = [
    ("msp", Register::Msp),
    ("psp", Register::Psp),
    ("primask", Register::Primask),
    ("basepri", Register::Basepri),
    ("faultmask", Register::Faultmask),
    ("control", Register::Control),
];

impl Roles for CortexM {
    fn named_registers(&self) -> Vec<(&'static str, Register)> {
        let core = ARM_INTEGERS.into_iter().zip((0..).map(Register::R));
        let core = core.chain([("pc", Register::Pc), ("xpsr", Register::Xpsr)]);
        let float = ARM_SINGLES.into_iter().zip((0..).map(Register::S));
        let all = core.chain(SYSTEM).chain([("fpscr", Register::Fpscr)]).chain(float);
        all.filter(|(_, register)| self.has_register(*register)).collect()
    }

    fn exception(&self) -> u16 {
        self.state.cpu.ipsr
    }

    /// Reads it from the frame (DDI 0403, B1.5.6).
    fn interrupted(&self) -> Interrupted {
        let exc_return = self.state.register(Register::Link);
        let on_process_stack = exc_return & 0xC == 0xC;
        let frame =
            self.state.register(if on_process_stack { Register::Psp } else { Register::Msp });
        let word = |offset: u32| {
            let bytes = self.state.peek(frame.wrapping_add(offset), 4);
            bytes.try_into().map_or(0, u32::from_le_bytes)
        };
        let size = if exc_return & 0x10 == 0 { 0x68 } else { 0x20 };
        let psr = word(0x1C);
        Interrupted {
            pc: word(0x18) & !1,
            sp: frame.wrapping_add(size) | psr >> 7 & 4,
            frame,
            stack: if on_process_stack { ThreadStack::Process } else { ThreadStack::Main },
            bank: 0,
            exception: (psr & 0x1FF) as u16,
        }
    }

    fn thread_stack(&self) -> ThreadStack {
        match self.state.cpu.control & 2 {
            0 => ThreadStack::Main,
            _ => ThreadStack::Process,
        }
    }

    fn convention(&self) -> Convention {
        Convention::ARM
    }

    fn handler_of(&self, interrupt: Irq) -> Result<u32, (u32, u32)> {
        let table = self.vector_table();
        let address = table.wrapping_add(u32::from(interrupt.exception()) * 4);
        let bytes = self.state.peek(address, 4);
        let vector = bytes.try_into().map_or(u32::MAX, u32::from_le_bytes);
        let there = vector & 1 == 1 && self.state.peek(vector & !1, 2).len() == 2;
        if there { Ok(vector & !1) } else { Err((address, vector)) }
    }

    fn handler_table(&self) -> Option<u32> {
        Some(self.vector_table().wrapping_add(64))
    }

    fn returns_from_call(&self, link: u32) -> Option<u32> {
        (link & 1 == 1 && link < EXC_RETURN).then_some(link & !1)
    }

    fn resumes_instruction(&self) -> bool {
        self.state.register(Register::Xpsr) & CONTINUED != 0
    }
}
