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

/// The interrupt of the soc's time base, in the controller of a Hazard3 (RP2350 datasheet, 3.8.6.1), whose
/// external interrupts share one trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerInterrupt(u16);

impl TimerInterrupt {
    /// That of a timer.
    ///
    /// # Panics
    /// In a constant: when the soc has no such interrupt.
    pub const fn of(timer: soc::Timer) -> Self {
        assert!((timer.interrupt as u32) < soc::INTERRUPTS, "the soc has no such interrupt");
        Self(timer.interrupt)
    }

    /// The exception's number, as on a Cortex-M.
    pub const fn exception(self) -> u16 {
        16 + self.0
    }

    /// Lets it happen.
    pub fn unmask(self) {
        // MEIEA: a window of 16 interrupts, chosen by what is written.
        let window = u32::from(self.0 / 16) | 1 << (16 + self.0 % 16);
        // SAFETY: images with a time base have its handler, and critical sections mask by mstatus.
        unsafe {
            core::arch::asm!("csrs 0xbe0, {}", in(reg) window);
            mie::enable(Interrupt::MachineExternal);
            riscv::interrupt::enable();
        }
    }

    /// The number of the most urgent interrupt that is pending, if there is one. To be asked by the trap's
    /// handler until there is none.
    #[inline]
    pub fn next() -> Option<u32> {
        let next: u32;
        // SAFETY: reads MEINEXT, for which nothing else is pending that another handler would miss.
        unsafe { core::arch::asm!("csrr {}, 0xbe4", out(reg) next) };
        (next >> 31 == 0).then_some(next >> 2 & 0x1FF)
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
