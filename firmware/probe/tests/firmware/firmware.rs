//! A firmware of a few probes, which the test builds in several ways. With `--cfg bare` each
//! probe is the barrier alone, so that what remains is the code without probes.

#![no_std]
#![no_main]

use core::hint::black_box;
use core::panic::PanicInfo;

#[cfg(not(bare))]
use rtmark_probe::{begin, end};

#[cfg(bare)]
macro_rules! barrier {
    ($name:literal) => {
        // SAFETY: nothing executes.
        unsafe { core::arch::asm!("", options(nostack, preserves_flags)) }
    };
}
#[cfg(bare)]
use {barrier as begin, barrier as end};

#[cfg(not(bare))]
mod records {
    const TICK: u16 = 15;

    rtmark_probe::begin_at_pend!("tick.cost", TICK);
    rtmark_probe::end_at_return!("tick.cost", TICK);
    rtmark_probe::begin_at_pend!("irq0.latency", 16);
    rtmark_probe::end_at_entry!("irq0.latency", "irq0");
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".vectors")]
static HANDLER: extern "C" fn() = irq0;

#[unsafe(no_mangle)]
extern "C" fn irq0() {
    work();
    work();
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn work() {
    black_box(());
}

#[inline(always)]
fn twice() {
    begin!("copied");
    work();
    end!("copied");
}

/// Enough probes and branches for the length of inline assembly to matter, if it had any.
#[unsafe(no_mangle)]
extern "C" fn start() -> u32 {
    let mut sum = 0x0123_4567_u32;
    for round in 0..black_box(9_u32) {
        if round == black_box(3) {
            continue;
        }
        begin!("loop.a");
        work();
        end!("loop.a");
        begin!("loop.b+c");
        work();
        end!("loop.b+c");
        begin!("loop.d");
        work();
        end!("loop.d");
        sum = sum.wrapping_mul(0x89AB_CDEF) ^ round;
        if sum == black_box(0x7654_3210) {
            break;
        }
    }
    twice();
    twice();
    sum
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
