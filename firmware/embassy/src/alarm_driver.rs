//! Time for embassy-time: a timer of an STM32 counts, and interrupts when something is due.
//!
//! Ours, from the reference manual (RM0090, 18.4), because embassy-stm32's driver comes only with
//! that HAL's clocks, pins and vector table. It does what that one does: a counter of 16 bits, whose halves
//! are counted by two interrupts each time round, and a compare register for the next alarm,
//! which is armed only when it is less than a round away.

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

const INTERRUPT: TimerInterrupt = TimerInterrupt::of(COUNTER);

/// The exception in which alarms go off.
pub const EXCEPTION: u16 = INTERRUPT.exception();

/// What PSC holds: the counter counts once in one cycle more.
const PRESCALER: u32 = {
    let cycles = soc::CLOCK_HZ as u64 / TICK_HZ;
    assert!(cycles >= 1 && cycles <= 1 << 16, "the timer cannot count so slowly");
    assert!(cycles * TICK_HZ == soc::CLOCK_HZ as u64, "the timer cannot count so exactly");
    cycles as u32 - 1
};

/// The timer's registers, by their offsets.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Register {
    Cr1 = 0x00,
    Dier = 0x0C,
    Sr = 0x10,
    Egr = 0x14,
    Cnt = 0x24,
    Psc = 0x28,
    Arr = 0x2C,
    Ccr1 = 0x34,
    Ccr2 = 0x38,
}

/// The bit of an update in DIER, SR and EGR: the counter starts again.
const UPDATE: u32 = 1;
/// That of channel 1: half of a round is over.
const HALF: u32 = 1 << 1;
/// That of channel 2: the alarm.
const ALARM: u32 = 1 << 2;
/// CR1: the counter counts.
const COUNTS: u32 = 1;
/// CR1: writing EGR sets no flag.
const FLAG_BY_OVERFLOW_ONLY: u32 = 1 << 2;

/// Counts of half a round.
const HALF_ROUND: u32 = 1 << 15;
/// An alarm that is nearer is armed at once, and the others by the interrupt that counts halves: it
/// comes when less than a round is left, in which the compare register meets the counter once.
const NEAR: u64 = 0xC000;

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
    /// Halves of rounds that are over. Only the interrupt counts them.
    halves: AtomicU32,
    /// When the queue has to be looked at.
    alarm: Mutex<Cell<u64>>,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static DRIVER: AlarmDriver = AlarmDriver {
    halves: AtomicU32::new(0),
    alarm: Mutex::new(Cell::new(u64::MAX)),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

/// Starts the timer.
pub fn start() {
    let (clocks, _, bits) = COUNTER.enable;
    // SAFETY: the register that the soc file names, of which nobody else changes this bit; and the
    // handler of the interrupt is below.
    unsafe {
        let clocks = clocks as *mut u32;
        clocks.write_volatile(clocks.read_volatile() | bits);
        // The first access may come only after the clock has: a read is long enough (RM0090, 7.2.13).
        clocks.read_volatile();
        NVIC::unmask(INTERRUPT);
    }
    Register::Psc.write(PRESCALER);
    Register::Arr.write(2 * HALF_ROUND - 1);
    Register::Ccr1.write(HALF_ROUND);
    // PSC is buffered until an update.
    Register::Cr1.write(FLAG_BY_OVERFLOW_ONLY);
    Register::Egr.write(UPDATE);
    Register::Sr.write(0);
    Register::Dier.write(UPDATE | HALF);
    Register::Cr1.write(FLAG_BY_OVERFLOW_ONLY | COUNTS);
}

#[unsafe(no_mangle)]
extern "C" fn TIMER() {
    DRIVER.on_interrupt();
}

impl AlarmDriver {
    fn on_interrupt(&self) {
        critical_section::with(|cs| {
            let raised = Register::Sr.read();
            // Looked at before a half arms the alarm: the compare register may have met an earlier
            // round.
            let armed = Register::Dier.read();
            // A flag is cleared by a zero; a one leaves it as it is.
            Register::Sr.write(!raised);
            if raised & UPDATE != 0 {
                self.next_half(cs);
            }
            if raised & HALF != 0 {
                self.next_half(cs);
            }
            if raised & armed & ALARM != 0 {
                self.go_off(cs);
            }
        });
    }

    /// Counts a half of a round, and arms the alarm if it has come near.
    fn next_half(&self, cs: CriticalSection<'_>) {
        let halves = self.halves.load(Ordering::Relaxed).wrapping_add(1);
        self.halves.store(halves, Ordering::Relaxed);
        if self.alarm.borrow(cs).get() < u64::from(halves) * u64::from(HALF_ROUND) + NEAR {
            Register::Dier.write(Register::Dier.read() | ALARM);
        }
    }

    /// Wakes whose time has come, and sets the alarm to the next one's.
    fn go_off(&self, cs: CriticalSection<'_>) {
        let mut queue = self.queue.borrow_ref_mut(cs);
        self.set_to_next(cs, &mut queue);
    }

    fn set_to_next(&self, cs: CriticalSection<'_>, queue: &mut Queue) {
        while !self.set(cs, queue.next_expiration(self.now())) {}
    }

    /// Sets the alarm; false if its time has come already.
    fn set(&self, cs: CriticalSection<'_>, at: u64) -> bool {
        let alarm = self.alarm.borrow(cs);
        let others = UPDATE | HALF;
        let now = self.now();
        if at > now {
            alarm.set(at);
            Register::Ccr2.write(at as u32 & (2 * HALF_ROUND - 1));
            let armed = if at - now < NEAR { ALARM } else { 0 };
            Register::Dier.write(others | armed);
            // Otherwise it may have come, and passed the compare register, in the meantime.
            if at > self.now() {
                return true;
            }
        }
        Register::Dier.write(others);
        alarm.set(u64::MAX);
        false
    }
}

impl Driver for AlarmDriver {
    fn now(&self) -> u64 {
        let halves = self.halves.load(Ordering::Relaxed);
        compiler_fence(Ordering::Acquire);
        let count = Register::Cnt.read();
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
