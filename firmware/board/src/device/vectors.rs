//! The vector table of a Cortex-M, as far as it belongs to the chip.

use cortex_m::interrupt::InterruptNumber;

use super::{Interrupt, TimerInterrupt};
use crate::soc;

// SAFETY: the number is that of an interrupt which the soc has, and belongs to its timer for ever.
unsafe impl InterruptNumber for TimerInterrupt {
    fn number(self) -> u16 {
        self.0
    }
}

// SAFETY: each number is that of an interrupt which every Cortex-M has, and belongs to it for
// ever.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

type Handler = unsafe extern "C" fn();

unsafe extern "C" {
    fn BENCH();
    fn PLAIN();
    fn RUN_LOW();
    fn RUN_HIGH();
    fn BELOW();
    fn BESIDE();
    fn BENCH_QUEUE();
    fn BENCH_SEMAPHORE();
    fn INJECTED();
    fn INJECTED_TOO();
    fn TIMER();
    fn DefaultHandler();
}

/// The part of the vector table that comes after the core's own exceptions.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".vector_table.interrupts")]
pub static __INTERRUPTS: [Handler; soc::INTERRUPTS as usize] = {
    let mut handlers: [Handler; _] = [DefaultHandler; soc::INTERRUPTS as usize];
    handlers[Interrupt::BENCH as usize] = BENCH;
    handlers[Interrupt::PLAIN as usize] = PLAIN;
    handlers[Interrupt::RUN_LOW as usize] = RUN_LOW;
    handlers[Interrupt::RUN_HIGH as usize] = RUN_HIGH;
    handlers[Interrupt::BELOW as usize] = BELOW;
    handlers[Interrupt::BESIDE as usize] = BESIDE;
    handlers[Interrupt::BENCH_QUEUE as usize] = BENCH_QUEUE;
    handlers[Interrupt::BENCH_SEMAPHORE as usize] = BENCH_SEMAPHORE;
    handlers[Interrupt::INJECTED as usize] = INJECTED;
    handlers[Interrupt::INJECTED_TOO as usize] = INJECTED_TOO;
    if let Some(timer) = soc::TIMER {
        handlers[TimerInterrupt::of(timer).0 as usize] = TIMER;
    }
    handlers
};

// In a section of its own behind all else, so that nothing moves for its sake: see device.x.
core::arch::global_asm!(
    ".pushsection .injected, \"ax\", %progbits",
    ".globl rtmark_injected",
    ".type rtmark_injected, %function",
    ".thumb_func",
    "rtmark_injected: bx lr",
    ".size rtmark_injected, . - rtmark_injected",
    ".globl rtmark_injected_too",
    ".type rtmark_injected_too, %function",
    ".thumb_func",
    "rtmark_injected_too: bx lr",
    ".size rtmark_injected_too, . - rtmark_injected_too",
    ".popsection",
);
