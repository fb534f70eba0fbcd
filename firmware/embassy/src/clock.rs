//! A clock of 64 bits with one alarm, made from a counter that wraps.
//!
//! Something has to look at the clock at least once per round of the counter and remember which quarter of a
//! round that was: the time is then less than a round after the start of that quarter. The alarm ensures it.
//! It is set to what is due next, or half a round ahead if nothing is due before that, which leaves a quarter
//! of a round in which the look may come late.
//!
//! The file is shared: the drivers of two versions of Embassy include it, each with a module `counter` beside it.
//! It does not know who waits for the alarm, nor how many do.

use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use rtmark_board::TimerInterrupt;
use rtmark_board::soc::{self, Timer};

use super::counter;

/// The timer that counts.
pub const PERIPHERAL: Timer = match soc::TIMER {
    Some(timer) => timer,
    None => panic!("the soc file names no time base"),
};

/// The timer's interrupt.
pub const INTERRUPT: TimerInterrupt = TimerInterrupt::of(PERIPHERAL);

/// A quarter of the counter's round, in ticks.
const QUARTER: u32 = counter::LAST / 4 + 1;

/// The clock's state: all that the counter itself does not hold.
pub struct Clock {
    /// Quarters of rounds that were over at the last look.
    quarters: AtomicU32,
}

impl Clock {
    /// A clock that stands at zero.
    pub const fn new() -> Self {
        Self { quarters: AtomicU32::new(0) }
    }

    /// Returns the time in ticks.
    #[inline]
    pub fn now(&self) -> u64 {
        let quarters = u64::from(self.quarters.load(Ordering::Relaxed)) * u64::from(QUARTER);
        // The counter is read after the quarter: it is never before that quarter.
        compiler_fence(Ordering::Acquire);
        let since = counter::count().wrapping_sub(quarters as u32) & counter::LAST;
        quarters + u64::from(since)
    }

    /// Returns the time in ticks and remembers its quarter. Call it within a critical section.
    #[inline]
    pub fn look(&self) -> u64 {
        let now = self.now();
        self.quarters.store((now / u64::from(QUARTER)) as u32, Ordering::Relaxed);
        now
    }
}

/// Starts the timer, from zero.
pub fn start() {
    counter::start(PERIPHERAL.enable);
    counter::set_alarm(2 * QUARTER);
    INTERRUPT.unmask();
}

/// Sets the alarm to the moment that is due, or half a round after `now` if that is earlier.
///
/// Returns whether the counter is certain to meet the alarm. It may have passed already, and then the caller
/// looks at the clock again.
#[inline]
pub fn aim(now: u64, due: u64) -> bool {
    let ahead = (due - now).min((2 * QUARTER).into()) as u32;
    counter::set_alarm((now as u32).wrapping_add(ahead) & counter::LAST);
    let passed = counter::count().wrapping_sub(now as u32) & counter::LAST;
    passed + counter::LEAD <= ahead
}

/// A register of the timer, by its offset.
#[derive(Clone, Copy)]
pub struct Register(pub u32);

impl Register {
    /// Reads it.
    #[inline]
    pub fn read(self) -> u32 {
        // SAFETY: the timer belongs to the driver.
        unsafe { ((PERIPHERAL.base + self.0) as *const u32).read_volatile() }
    }

    /// Writes it.
    #[inline]
    pub fn write(self, value: u32) {
        // SAFETY: the timer belongs to the driver.
        unsafe { ((PERIPHERAL.base + self.0) as *mut u32).write_volatile(value) }
    }
}
