//! A time driver for embassy-time: a timer of the chip counts, and interrupts when something is due.
//!
//! The drivers of Embassy's HALs come only with those HALs' clocks, pins and vector tables; this one is ours, written
//! from the chips' manuals.

use core::cell::RefCell;
use core::task::Waker;

use critical_section::Mutex;
use embassy_time_driver::{Driver, TICK_HZ};
use embassy_time_queue_utils::Queue;
#[cfg(target_arch = "riscv32")]
use rtmark_board::TimerInterrupt;

#[path = "clock.rs"]
mod clock;
#[cfg(feature = "nrf_rtc")]
#[path = "counter/nrf_rtc.rs"]
mod counter;
#[cfg(any(feature = "rp2040_timer", feature = "rp2350_timer"))]
#[path = "counter/rp_timer.rs"]
mod counter;
#[cfg(feature = "stm32_timer")]
#[path = "counter/stm32_timer.rs"]
mod counter;
#[cfg(feature = "ttc_timer")]
#[path = "counter/ttc_timer.rs"]
mod counter;

use clock::Clock;
pub use clock::start;

// Nothing ticks.
rtmark_probe::setting!("tick_hz", 0);

const _: () = assert!(TICK_HZ == clock::PERIPHERAL.hertz as u64, "the timer counts otherwise");

#[cfg(feature = "stm32_timer")]
const _: () = assert!(counter::EXACT, "the timer cannot count so exactly");

/// The exception in which alarms go off.
pub const EXCEPTION: u16 = clock::INTERRUPT.exception();

struct Alarms {
    clock: Clock,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static ALARMS: Alarms = Alarms {
    clock: Clock::new(),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

/// Serves the only external interrupt that is enabled.
#[cfg(target_arch = "riscv32")]
#[riscv_rt::core_interrupt(riscv::interrupt::Interrupt::MachineExternal)]
fn machine_external() {
    while let Some(interrupt) = TimerInterrupt::next() {
        let expected = u32::from(clock::INTERRUPT.exception() - 16);
        rtmark_probe::scenario::expect("external interrupt", interrupt, expected);
        TIMER();
    }
}

#[unsafe(no_mangle)]
extern "C" fn TIMER() {
    critical_section::with(|cs| {
        counter::acknowledge();
        ALARMS.wake(&mut ALARMS.queue.borrow_ref_mut(cs));
    });
}

impl Alarms {
    /// Wakes all that is due, until the counter is certain to meet the alarm for what comes next.
    #[inline(never)]
    fn wake(&self, queue: &mut Queue) {
        loop {
            let now = self.clock.look();
            if clock::aim(now, queue.next_expiration(now)) {
                return;
            }
        }
    }
}

impl Driver for Alarms {
    fn now(&self) -> u64 {
        self.clock.now()
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
