//! Time for embassy-time: the microsecond timer of RP2040 and RP2350, and its first alarm.
//!
//! Ours, from the datasheets (RP2040, 4.6; RP2350, 12.8), because embassy-rp's driver comes only with that
//! HAL's clocks, pins and vector table. It does what that one does: a counter of 64 bits, which nobody
//! has to help along, and an alarm that is armed at once, however far away it is. An alarm is compared with
//! the lower 32 bits only, so that a distant one goes off early, and is armed again.
//!
//! The tick that the timer counts is taken to run, as the core's clock is: a HAL's clocks see to both.

use core::cell::{Cell, RefCell};
use core::task::Waker;

use cortex_m::peripheral::NVIC;
use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::{Driver, TICK_HZ};
use embassy_time_queue_utils::Queue;
use rtmark_board::device::TimerInterrupt;
use rtmark_board::soc::{self, Timer};

// Nothing ticks.
rtmark_probe::setting!("tick_hz", 0);

const COUNTER: Timer = match soc::TIMER {
    Some(timer) => timer,
    None => panic!("the soc file names no time base"),
};

const _: () = assert!(TICK_HZ == COUNTER.hertz as u64, "the timer counts microseconds");

const INTERRUPT: TimerInterrupt = TimerInterrupt::of(COUNTER);

/// The exception in which alarms go off.
pub const EXCEPTION: u16 = INTERRUPT.exception();

/// RP2350 has two registers more before those of the interrupts.
const MORE: u32 = if cfg!(feature = "rp2350_timer") { 8 } else { 0 };

/// The timer's registers, by their offsets.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Register {
    Alarm0 = 0x10,
    Armed = 0x20,
    TimeRawHigh = 0x24,
    TimeRawLow = 0x28,
    Intr = 0x34 + MORE,
    Inte = 0x38 + MORE,
}

/// The bit of the first alarm.
const ALARM: u32 = 1;

/// From a register of resets to the one that says which blocks are out of theirs.
const RESET_DONE: u32 = 8;

impl Register {
    fn read(self) -> u32 {
        // SAFETY: a register of the timer, which is this driver's.
        unsafe { ((COUNTER.base + self as u32) as *const u32).read_volatile() }
    }

    fn write(self, value: u32) {
        // SAFETY: as above.
        unsafe { ((COUNTER.base + self as u32) as *mut u32).write_volatile(value) }
    }
}

struct AlarmDriver {
    /// When the queue has to be looked at.
    alarm: Mutex<Cell<u64>>,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static DRIVER: AlarmDriver = AlarmDriver {
    alarm: Mutex::new(Cell::new(u64::MAX)),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

/// Starts the timer.
pub fn start() {
    let (resets, bits, _) = COUNTER.enable;
    // SAFETY: the register that the soc file names, of which nobody else changes this bit, and the one
    // that tells when its block is ready; and the handler of the interrupt is below.
    unsafe {
        let register = resets as *mut u32;
        register.write_volatile(register.read_volatile() & !bits);
        let done = (resets + RESET_DONE) as *const u32;
        while done.read_volatile() & bits != bits {}
        NVIC::unmask(INTERRUPT);
    }
    Register::Inte.write(ALARM);
}

#[unsafe(no_mangle)]
extern "C" fn TIMER() {
    DRIVER.on_interrupt();
}

impl AlarmDriver {
    fn on_interrupt(&self) {
        critical_section::with(|cs| {
            Register::Intr.write(ALARM);
            let at = self.alarm.borrow(cs).get();
            if at <= self.now() {
                self.set_to_next(cs, &mut self.queue.borrow_ref_mut(cs));
            } else {
                // Only its lower half has come.
                Register::Alarm0.write(at as u32);
            }
        });
    }

    /// Wakes whose time has come, and sets the alarm to the next one's.
    fn set_to_next(&self, cs: CriticalSection<'_>, queue: &mut Queue) {
        while !self.set(cs, queue.next_expiration(self.now())) {}
    }

    /// Sets the alarm; false if its time has come already.
    fn set(&self, cs: CriticalSection<'_>, at: u64) -> bool {
        let alarm = self.alarm.borrow(cs);
        alarm.set(at);
        // This arms it.
        Register::Alarm0.write(at as u32);
        // The timer interrupts when it meets an alarm, not when it is past one.
        if at > self.now() {
            return true;
        }
        Register::Armed.write(ALARM);
        alarm.set(u64::MAX);
        false
    }
}

impl Driver for AlarmDriver {
    fn now(&self) -> u64 {
        loop {
            let high = Register::TimeRawHigh.read();
            let low = Register::TimeRawLow.read();
            // Otherwise the lower half began anew between the two.
            if Register::TimeRawHigh.read() == high {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            let mut queue = self.queue.borrow_ref_mut(cs);
            if queue.schedule_wake(at, waker) {
                self.set_to_next(cs, &mut queue);
            }
        });
    }
}
