//! Time for embassy-time: a real-time counter of Nordic's chips, 32768 times a second.
//!
//! Ours, from the product specification (nRF52840 PS, 6.22), because embassy-nrf's driver comes only with
//! that HAL's clocks, pins and vector table. It does what that one does: a counter of 24 bits, whose halves
//! are counted by two interrupts each time round, every 256 seconds; and a compare register for the next
//! alarm, which is enabled only when it is less than a round away. An alarm that is too near for the
//! compare register is waited for on the spot, with interrupts masked.

use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};
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

const _: () = assert!(TICK_HZ == COUNTER.hertz as u64, "the low-frequency clock has 32768 Hz");

const INTERRUPT: TimerInterrupt = TimerInterrupt::of(COUNTER);

/// The exception in which alarms go off.
pub const EXCEPTION: u16 = INTERRUPT.exception();

/// The counter's registers, by their offsets.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Register {
    TasksStart = 0x000,
    TasksClear = 0x008,
    /// The counter starts again.
    EventsOverflow = 0x104,
    /// The alarm.
    EventsCompare0 = 0x140,
    /// Half of a round is over.
    EventsCompare3 = 0x14C,
    IntEnSet = 0x304,
    IntEnClr = 0x308,
    Counter = 0x504,
    Cc0 = 0x540,
    Cc3 = 0x54C,
}

/// The bit of an overflow among the interrupts.
const OVERFLOW: u32 = 1 << 1;
/// That of the alarm.
const ALARM: u32 = 1 << 16;
/// That of half a round.
const HALF: u32 = 1 << 19;

/// Counts of half a round.
const HALF_ROUND: u32 = 1 << 23;
/// An alarm that is nearer is enabled at once, and the others by the interrupt that counts halves: it
/// comes when less than a round is left, in which the compare register meets the counter once.
const NEAR: u64 = 0xC0_0000;
/// The compare register meets what is so far ahead of the counter: two counts are safe by the
/// specification (6.22.7), and one more may pass between a look at the counter and the write.
const SAFE: u64 = 3;

/// From the task that starts the low-frequency clock to the event that says that it runs.
const STARTED: u32 = 0xFC;

impl Register {
    fn read(self) -> u32 {
        // SAFETY: a register of the counter, which is this driver's.
        unsafe { ((COUNTER.base + self as u32) as *const u32).read_volatile() }
    }

    fn write(self, value: u32) {
        // SAFETY: as above.
        unsafe { ((COUNTER.base + self as u32) as *mut u32).write_volatile(value) }
    }

    /// Whether an event has come; if so it is over.
    fn take(self) -> bool {
        let has_come = self.read() != 0;
        if has_come {
            self.write(0);
        }
        has_come
    }
}

struct RtcDriver {
    /// Halves of rounds that are over. Only the interrupt counts them.
    halves: AtomicU32,
    /// When the queue has to be looked at.
    alarm: Mutex<Cell<u64>>,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static DRIVER: RtcDriver = RtcDriver {
    halves: AtomicU32::new(0),
    alarm: Mutex::new(Cell::new(u64::MAX)),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

/// Starts the counter.
pub fn start() {
    let (clock, _, task) = COUNTER.enable;
    // SAFETY: the task that the soc file names, and its event; and the handler of the interrupt is
    // below.
    unsafe {
        (clock as *mut u32).write_volatile(task);
        while ((clock + STARTED) as *const u32).read_volatile() == 0 {}
        NVIC::unmask(INTERRUPT);
    }
    Register::Cc3.write(HALF_ROUND);
    Register::IntEnSet.write(OVERFLOW | HALF);
    Register::TasksClear.write(1);
    Register::TasksStart.write(1);
    // The task takes up to 46 microseconds.
    while Register::Counter.read() != 0 {}
}

#[unsafe(no_mangle)]
extern "C" fn TIMER() {
    DRIVER.on_interrupt();
}

impl RtcDriver {
    fn on_interrupt(&self) {
        if Register::EventsOverflow.take() {
            self.next_half();
        }
        if Register::EventsCompare3.take() {
            self.next_half();
        }
        if Register::EventsCompare0.take() {
            critical_section::with(|cs| self.go_off(cs));
        }
    }

    /// Counts a half of a round, and enables the alarm if it has come near.
    fn next_half(&self) {
        critical_section::with(|cs| {
            let halves = self.halves.load(Ordering::Relaxed).wrapping_add(1);
            self.halves.store(halves, Ordering::Relaxed);
            if self.alarm.borrow(cs).get() < u64::from(halves) * u64::from(HALF_ROUND) + NEAR {
                Register::IntEnSet.write(ALARM);
            }
        });
    }

    /// Wakes whose time has come, and sets the alarm to the next one's.
    fn go_off(&self, cs: CriticalSection<'_>) {
        Register::IntEnClr.write(ALARM);
        self.alarm.borrow(cs).set(u64::MAX);
        self.set_to_next(cs, &mut self.queue.borrow_ref_mut(cs));
    }

    fn set_to_next(&self, cs: CriticalSection<'_>, queue: &mut Queue) {
        while !self.set(cs, queue.next_expiration(self.now())) {}
    }

    /// Sets the alarm; false if its time has come already, or has come meanwhile.
    fn set(&self, cs: CriticalSection<'_>, at: u64) -> bool {
        let alarm = self.alarm.borrow(cs);
        alarm.set(at);
        loop {
            let now = self.now();
            if at <= now {
                Register::IntEnClr.write(ALARM);
                alarm.set(u64::MAX);
                return false;
            }
            Register::Cc0.write(at.max(now + SAFE) as u32 & (2 * HALF_ROUND - 1));
            if at - now >= NEAR {
                Register::IntEnClr.write(ALARM);
                return true;
            }
            Register::IntEnSet.write(ALARM);
            // Otherwise it may have been too late for the compare register: once more, until its time
            // has come.
            if self.now() + 2 <= at {
                return true;
            }
        }
    }
}

impl Driver for RtcDriver {
    fn now(&self) -> u64 {
        let halves = self.halves.load(Ordering::Relaxed);
        compiler_fence(Ordering::Acquire);
        let count = Register::Counter.read();
        // Where the two do not belong together, the interrupt that counts the half is yet to come,
        // or has come between them: then the count is of the next half.
        let odd = (halves & 1) * HALF_ROUND;
        u64::from(halves) * u64::from(HALF_ROUND) + u64::from(count ^ odd)
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
