//! Time for embassy-time 0.3 as Embassy's HAL for the STM32 has it: a timer of 16 bits at
//! 32768 Hz, whose halves are counted, and whose second channel goes off for the executor's
//! alarm.

use core::cell::Cell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use cortex_m_rt::exception;
use critical_section::Mutex;
use embassy_time_driver::{AlarmHandle, Driver, TICK_HZ};

/// Where the STM32C0, F0, G0 and others have it, and its interrupt on the STM32C0.
const TIM3: usize = 0x4000_0400;
const TIM3_INTERRUPT: i16 = 16;
/// The clock of TIM3 on the STM32C0: RCC_APBENR1, bit 1.
const RCC_APBENR1: usize = 0x4002_103C;
/// The core's register that lets interrupts happen.
const NVIC_ISER: usize = 0xE000_E100;

const CR1: usize = 0x00;
const DIER: usize = 0x0C;
const SR: usize = 0x10;
const EGR: usize = 0x14;
const CNT: usize = 0x24;
const PSC: usize = 0x28;
const ARR: usize = 0x2C;
const CCR1: usize = 0x34;
const CCR2: usize = 0x38;

const UPDATE: u32 = 1 << 0;
const COMPARE_1: u32 = 1 << 1;
const COMPARE_2: u32 = 1 << 2;

fn read(offset: usize) -> u32 {
    // SAFETY: a register of the timer, which belongs to this driver.
    unsafe { ((TIM3 + offset) as *const u32).read_volatile() }
}

fn write(offset: usize, value: u32) {
    // SAFETY: a register of the timer, which belongs to this driver.
    unsafe { ((TIM3 + offset) as *mut u32).write_volatile(value) };
}

struct Alarm {
    at: Cell<u64>,
    callback: Cell<fn(*mut ())>,
    context: Cell<*mut ()>,
}

// SAFETY: the pointer is the executor's, and is given back to it alone.
unsafe impl Send for Alarm {}

struct Tim3 {
    /// Halves of the 16 bits that have passed.
    period: AtomicU32,
    alarm: Mutex<Alarm>,
}

fn nobody(_: *mut ()) {}

embassy_time_driver::time_driver_impl!(static DRIVER: Tim3 = Tim3 {
    period: AtomicU32::new(0),
    alarm: Mutex::new(Alarm {
        at: Cell::new(u64::MAX),
        callback: Cell::new(nobody),
        context: Cell::new(null_mut()),
    }),
});

/// Starts the timer.
pub fn start(clock_hz: u32) {
    // SAFETY: switches the timer's clock on; nothing else uses that register.
    unsafe { (RCC_APBENR1 as *mut u32).write_volatile(1 << 1) };
    write(CR1, 0);
    write(CNT, 0);
    write(PSC, (u64::from(clock_hz) / TICK_HZ - 1) as u32);
    write(ARR, 0xFFFF);
    write(EGR, UPDATE);
    write(SR, 0);
    write(CCR1, 0x8000);
    write(DIER, UPDATE | COMPARE_1);
    // SAFETY: its handler is below, and no critical section relies on the mask.
    unsafe { (NVIC_ISER as *mut u32).write_volatile(1 << TIM3_INTERRUPT) };
    write(CR1, 1);
}

#[exception]
unsafe fn DefaultHandler(interrupt: i16) {
    if interrupt == TIM3_INTERRUPT {
        DRIVER.interrupted();
    } else {
        rtmark_probe::scenario::fail("an interrupt that nobody enabled");
    }
}

impl Tim3 {
    fn interrupted(&self) {
        critical_section::with(|cs| {
            let pending = read(SR) & read(DIER);
            write(SR, !pending);
            if pending & (UPDATE | COMPARE_1) != 0 {
                let period = self.period.load(Ordering::Relaxed) + 1;
                self.period.store(period, Ordering::Relaxed);
                // A half further an alarm may come within reach of the comparison.
                let at = self.alarm.borrow(cs).at.get();
                if at < (u64::from(period) << 15) + 0xC000 {
                    write(DIER, read(DIER) | COMPARE_2);
                }
            }
            if pending & COMPARE_2 != 0 {
                let alarm = self.alarm.borrow(cs);
                alarm.at.set(u64::MAX);
                (alarm.callback.get())(alarm.context.get());
            }
        });
    }
}

impl Driver for Tim3 {
    fn now(&self) -> u64 {
        let period = self.period.load(Ordering::Relaxed);
        compiler_fence(Ordering::Acquire);
        let counter = read(CNT);
        // In an odd period the counter is in its upper half, or has just left it.
        (u64::from(period) << 15) + u64::from(counter ^ ((period & 1) << 15))
    }

    unsafe fn allocate_alarm(&self) -> Option<AlarmHandle> {
        // SAFETY: the one executor asks once; there is one alarm.
        Some(unsafe { AlarmHandle::new(0) })
    }

    fn set_alarm_callback(&self, _: AlarmHandle, callback: fn(*mut ()), context: *mut ()) {
        critical_section::with(|cs| {
            let alarm = self.alarm.borrow(cs);
            alarm.callback.set(callback);
            alarm.context.set(context);
        });
    }

    fn set_alarm(&self, _: AlarmHandle, at: u64) -> bool {
        critical_section::with(|cs| {
            let alarm = self.alarm.borrow(cs);
            alarm.at.set(at);
            let now = self.now();
            if at <= now {
                write(DIER, read(DIER) & !COMPARE_2);
                alarm.at.set(u64::MAX);
                return false;
            }
            // The counter may pass a nearer moment before the comparison is set.
            write(CCR2, (at.max(now + 3) & 0xFFFF) as u32);
            let near = at - now < 0xC000;
            let others = read(DIER) & !COMPARE_2;
            write(DIER, if near { others | COMPARE_2 } else { others });
            true
        })
    }
}
