//! The interrupts that the images use, by the names that handlers have.
//!
//! A chip's own crate (its "PAC") would say the same, with a name for each of its interrupts.
//! Those of [`Interrupt`] are pended by software; which devices they belong to does not matter.
//! `TIMER` is the soc's time base, where it has one.

use crate::soc;

mod handlers;
#[cfg(cortex_m)]
mod vectors;

#[cfg(cortex_r)]
pub(crate) use handlers::{HANDLERS, Handler};

#[cfg(cortex_m)]
pub use self::Interrupt as interrupt;
#[cfg(cortex_m)]
pub use cortex_m_rt::interrupt;

/// How many bits of a priority the chip has, as far as frameworks count: with more than these,
/// as no silicon has but models have, there are steps between the levels that nobody uses.
#[cfg(cortex_m)]
pub const NVIC_PRIO_BITS: u8 = if soc::PRIORITY_BITS < 4 { soc::PRIORITY_BITS } else { 4 };

/// The first of those that an image pends by itself: the chip's first, unless its time base has one of
/// them. Their order, by which those of one priority take turns, is the same everywhere.
const FIRST: u16 = match soc::TIMER {
    Some(timer) if timer.interrupt < FIRST_INJECTED => FIRST_INJECTED + 2,
    _ => 0,
};

/// The first of the two that `rtmark worst` pends, which knows them by these numbers.
const FIRST_INJECTED: u16 = 8;

/// External interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[expect(non_camel_case_types, reason = "PACs have the names of the reference manual")]
pub enum Interrupt {
    /// The interrupt that is measured.
    BENCH = FIRST,
    /// One whose handler only counts.
    PLAIN = FIRST + 1,
    /// One that runs tasks for a kernel.
    RUN_LOW = FIRST + 2,
    /// One that runs tasks above those.
    RUN_HIGH = FIRST + 3,
    /// One that pends `PLAIN`, of a lower priority than that.
    BELOW = FIRST + 4,
    /// One that pends `PLAIN`, of the same priority.
    BESIDE = FIRST + 5,
    /// One whose handler sends an item.
    BENCH_QUEUE = FIRST + 6,
    /// One whose handler gives a semaphore.
    BENCH_SEMAPHORE = FIRST + 7,
    /// The one that `rtmark worst` injects: nothing in an image enables or pends it. Its
    /// handler returns at once unless an image has another one: exception 24.
    INJECTED = FIRST_INJECTED,
    /// A second one beside it, whose handler returns at once in every image: exception 25.
    INJECTED_TOO = FIRST_INJECTED + 1,
}

impl Interrupt {
    /// The exception's number.
    pub const fn exception(self) -> u16 {
        16 + self as u16
    }
}

/// The interrupt of the soc's time base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerInterrupt(u16);

impl TimerInterrupt {
    /// That of a timer.
    ///
    /// # Panics
    /// In a constant: when it is one of those that images use otherwise.
    pub const fn of(timer: soc::Timer) -> Self {
        let used = Interrupt::INJECTED as u16 <= timer.interrupt
            && timer.interrupt <= Interrupt::INJECTED_TOO as u16
            || Interrupt::BENCH as u16 <= timer.interrupt
                && timer.interrupt <= Interrupt::BENCH_SEMAPHORE as u16;
        assert!(!used, "images use this interrupt");
        assert!((timer.interrupt as u32) < soc::INTERRUPTS, "the soc has no such interrupt");
        Self(timer.interrupt)
    }

    /// The exception's number.
    pub const fn exception(self) -> u16 {
        16 + self.0
    }

    /// Lets it happen.
    pub fn unmask(self) {
        // SAFETY: images with a time base have its handler, and no critical section relies on the mask.
        #[cfg(cortex_m)]
        unsafe {
            cortex_m::peripheral::NVIC::unmask(self);
        }
        #[cfg(cortex_r)]
        crate::cortex_r::unmask_number(self.0);
    }
}
