//! A time driver for embassy-time 0.3, whose executor sets one alarm.
//!
//! The clock and the timer's registers are those of the driver for today's Embassy. What differs is who waits: there
//! a queue of wakers, here one executor with a queue of its own (`integrated-timers`), which asks for an alarm after
//! each round of polls.

use core::cell::Cell;
use core::ptr::null_mut;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::{AlarmHandle, Driver};

#[path = "../../../embassy/src/clock.rs"]
mod clock;
#[path = "../../../embassy/src/counter/stm32_timer.rs"]
mod counter;

use clock::Clock;
pub use clock::start;

/// The alarm's time when nothing is due.
const NEVER: u64 = u64::MAX;

/// What to call when the alarm goes off.
#[derive(Clone, Copy)]
struct Callback {
    function: fn(*mut ()),
    context: *mut (),
}

// SAFETY: the context goes back to the executor that gave it, and to nobody else.
unsafe impl Send for Callback {}

struct Alarm {
    clock: Clock,
    due: Mutex<Cell<u64>>,
    /// Of the executor that has the alarm, if any has.
    callback: Mutex<Cell<Option<Callback>>>,
}

embassy_time_driver::time_driver_impl!(static ALARM: Alarm = Alarm {
    clock: Clock::new(),
    due: Mutex::new(Cell::new(NEVER)),
    callback: Mutex::new(Cell::new(None)),
});

#[unsafe(no_mangle)]
extern "C" fn TIMER() {
    critical_section::with(|cs| {
        counter::acknowledge();
        let over = !ALARM.aim(cs, ALARM.due.borrow(cs).get());
        if over && let Some(Callback { function, context }) = ALARM.callback.borrow(cs).get() {
            function(context);
        }
    });
}

impl Alarm {
    /// Sets the alarm and returns whether the moment is still to come. If it is over, nothing is due.
    fn aim(&self, cs: CriticalSection<'_>, at: u64) -> bool {
        let mut due = at;
        loop {
            let now = self.clock.look();
            if due <= now {
                due = NEVER;
            }
            if clock::aim(now, due) {
                self.due.borrow(cs).set(due);
                return due == at;
            }
        }
    }
}

impl Driver for Alarm {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    unsafe fn allocate_alarm(&self) -> Option<AlarmHandle> {
        critical_section::with(|cs| {
            let callback = self.callback.borrow(cs);
            if callback.get().is_some() {
                return None;
            }
            callback.set(Some(Callback { function: |_| (), context: null_mut() }));
            // SAFETY: it is the only alarm, and was nobody's before.
            Some(unsafe { AlarmHandle::new(0) })
        })
    }

    fn set_alarm_callback(&self, _: AlarmHandle, function: fn(*mut ()), context: *mut ()) {
        critical_section::with(|cs| {
            self.callback.borrow(cs).set(Some(Callback { function, context }));
        });
    }

    fn set_alarm(&self, _: AlarmHandle, at: u64) -> bool {
        critical_section::with(|cs| self.aim(cs, at))
    }
}
