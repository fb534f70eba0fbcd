//! The handlers of an image's interrupts, by their numbers. Those that an image lacks, the linker script provides.

use super::{Interrupt, TimerInterrupt};
use crate::soc;

/// Declares them as functions of an ABI.
macro_rules! declare {
    ($abi:literal) => {
        pub type Handler = unsafe extern $abi fn();

        unsafe extern $abi {
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
    };
}

// The core calls them.
#[cfg(cortex_m)]
declare!("C");
// Code looks them up, and calls them.
#[cfg(cortex_r)]
declare!("Rust");

/// One for each interrupt; none on a machine without.
pub const HANDLERS: [Handler; soc::INTERRUPTS as usize] = {
    let mut handlers: [Handler; _] = [DefaultHandler; soc::INTERRUPTS as usize];
    let known: [(Interrupt, Handler); _] = [
        (Interrupt::BENCH, BENCH),
        (Interrupt::PLAIN, PLAIN),
        (Interrupt::RUN_LOW, RUN_LOW),
        (Interrupt::RUN_HIGH, RUN_HIGH),
        (Interrupt::BELOW, BELOW),
        (Interrupt::BESIDE, BESIDE),
        (Interrupt::BENCH_QUEUE, BENCH_QUEUE),
        (Interrupt::BENCH_SEMAPHORE, BENCH_SEMAPHORE),
        (Interrupt::INJECTED, INJECTED),
        (Interrupt::INJECTED_TOO, INJECTED_TOO),
    ];
    let mut at = 0;
    while at < known.len() && soc::INTERRUPTS > 0 {
        handlers[known[at].0 as usize] = known[at].1;
        at += 1;
    }
    if let Some(timer) = soc::TIMER {
        handlers[TimerInterrupt::of(timer).0 as usize] = TIMER;
    }
    handlers
};
