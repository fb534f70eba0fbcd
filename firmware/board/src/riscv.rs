//! An RV32 in machine mode: its timer, which stands in the core-local interruptor, as on QEMU's `virt`,
//! unless the soc has it elsewhere; and where traps end that nobody expects.

use riscv::interrupt::Interrupt;
use riscv::register::{mepc, mie};
use rtmark_probe::scenario;

use crate::soc;

/// Where time and what it is compared with stand.
const REGISTERS: [u32; 2] = match soc::MTIME {
    Some(registers) => registers,
    None => [0x0200_BFF8, 0x0200_4000],
};
/// Counts at the soc's clock.
const MTIME: *const u32 = REGISTERS[0] as *const u32;
/// The timer's interrupt is pending while time is not less than this.
const MTIMECMP: *mut u32 = REGISTERS[1] as *mut u32;

/// The timer of the core.
#[derive(Debug)]
pub struct Timer {
    due: u64,
}

impl Timer {
    /// Interrupts for the first time after so many counts.
    pub fn start(period: u32) -> Self {
        // SAFETY: registers of the machine, which nobody else uses. The upper half does not change
        // in the first minutes.
        let now = unsafe {
            u64::from(MTIME.add(1).read_volatile()) << 32 | u64::from(MTIME.read_volatile())
        };
        let mut timer = Self { due: now };
        timer.again(period);
        // SAFETY: its handler is `MachineTimer`, and critical sections mask by mstatus.
        unsafe {
            mie::enable(Interrupt::MachineTimer);
            riscv::interrupt::enable();
        }
        timer
    }

    /// Interrupts next so many counts after it last was to.
    pub fn again(&mut self, period: u32) {
        self.due += u64::from(period);
        // SAFETY: as above. Never less on the way than it was, so that nothing comes early.
        unsafe {
            MTIMECMP.write_volatile(u32::MAX);
            MTIMECMP.add(1).write_volatile((self.due >> 32) as u32);
            MTIMECMP.write_volatile(self.due as u32);
        }
    }
}

#[unsafe(export_name = "ExceptionHandler")]
fn exception(_: &riscv_rt::TrapFrame) -> ! {
    scenario::fail_at("unexpected exception", mepc::read() as u32);
}

#[unsafe(export_name = "DefaultHandler")]
fn interrupt() -> ! {
    scenario::fail_with("nobody handles mcause", riscv::register::mcause::read().bits() as u32);
}
