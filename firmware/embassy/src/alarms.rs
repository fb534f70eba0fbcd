//! Time for embassy-time: a timer of the chip counts, and interrupts when something is due.
//!
//! Ours, from the chips' manuals, because the drivers of Embassy's HALs come only with those HALs' clocks,
//! pins and vector tables. What counts goes round sooner or later, so that somebody has to look at it in
//! each round, and remember which quarter of a round that was: the time is less than a round after the beginning
//! of that quarter. The alarm sees to it. It is set to what is due next, or half a round ahead if nothing is due
//! before, and so there is always a quarter left in which the look may come late.

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};
use core::task::Waker;

use cortex_m::peripheral::NVIC;
use critical_section::Mutex;
use embassy_time_driver::{Driver, TICK_HZ};
use embassy_time_queue_utils::Queue;
use rtmark_board::device::TimerInterrupt;
use rtmark_board::soc::{self, Timer};

#[cfg(feature = "nrf_rtc")]
#[path = "counter/nrf_rtc.rs"]
mod counter;
#[cfg(any(feature = "rp2040_timer", feature = "rp2350_timer"))]
#[path = "counter/rp_timer.rs"]
mod counter;
#[cfg(feature = "stm32_timer")]
#[path = "counter/stm32_timer.rs"]
mod counter;

// Nothing ticks.
rtmark_probe::setting!("tick_hz", 0);

const PERIPHERAL: Timer = match soc::TIMER {
    Some(timer) => timer,
    None => panic!("the soc file names no time base"),
};

const _: () = assert!(TICK_HZ == PERIPHERAL.hertz as u64, "the timer counts otherwise");

const INTERRUPT: TimerInterrupt = TimerInterrupt::of(PERIPHERAL);

/// The exception in which alarms go off.
pub const EXCEPTION: u16 = INTERRUPT.exception();

/// Counts of a quarter of a round.
const QUARTER: u32 = counter::LAST / 4 + 1;

struct Alarms {
    /// Quarters of rounds that were over at the last look.
    quarters: AtomicU32,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static ALARMS: Alarms = Alarms {
    quarters: AtomicU32::new(0),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

/// Starts the timer, from zero.
pub fn start() {
    counter::start(PERIPHERAL.enable);
    counter::set_alarm(2 * QUARTER);
    // SAFETY: its handler is below.
    unsafe { NVIC::unmask(INTERRUPT) };
}

#[unsafe(no_mangle)]
extern "C" fn TIMER() {
    critical_section::with(|cs| {
        counter::acknowledge();
        ALARMS.wake(&mut ALARMS.queue.borrow_ref_mut(cs));
    });
}

impl Alarms {
    /// Wakes all that is due, until the alarm stands where the counter is certain to meet it.
    #[inline(never)]
    fn wake(&self, queue: &mut Queue) {
        loop {
            let now = self.now();
            self.quarters.store((now / u64::from(QUARTER)) as u32, Ordering::Relaxed);
            let left = queue.next_expiration(now) - now;
            let ahead = left.min((2 * QUARTER).into()) as u32;
            counter::set_alarm((now as u32).wrapping_add(ahead) & counter::LAST);
            let passed = counter::count().wrapping_sub(now as u32) & counter::LAST;
            if passed + counter::LEAD <= ahead {
                return;
            }
        }
    }
}

impl Driver for Alarms {
    fn now(&self) -> u64 {
        let quarters = u64::from(self.quarters.load(Ordering::Relaxed)) * u64::from(QUARTER);
        // The look at the counter is the later one: it is never before that quarter.
        compiler_fence(Ordering::Acquire);
        let since = counter::count().wrapping_sub(quarters as u32) & counter::LAST;
        quarters + u64::from(since)
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            let mut queue = self.queue.borrow_ref_mut(cs);
            if queue.schedule_wake(at, waker) {
                self.wake(&mut queue);
            }
        });
    }
}

/// A register of the timer, by its offset.
#[derive(Clone, Copy)]
struct Register(u32);

impl Register {
    fn read(self) -> u32 {
        // SAFETY: the timer is this driver's.
        unsafe { ((PERIPHERAL.base + self.0) as *const u32).read_volatile() }
    }

    fn write(self, value: u32) {
        // SAFETY: as above.
        unsafe { ((PERIPHERAL.base + self.0) as *mut u32).write_volatile(value) }
    }
}
