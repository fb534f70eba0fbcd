//! Time for embassy-time: SysTick counts, and wakes whose time has come. On RISC-V the core-local
//! interruptor does, on a Cortex-R5 a triple timer's counter.
//!
//! For chips whose timers rtmark has no description of. SysTick cannot be set to a distant moment,
//! so it interrupts at every tick; `alarms.rs` sets alarms, as its HALs do.

use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Waker;

#[cfg(cortex_m)]
use cortex_m::peripheral::SYST;
#[cfg(cortex_m)]
use cortex_m::peripheral::syst::SystClkSource;
#[cfg(cortex_m)]
use cortex_m_rt::exception;
use critical_section::Mutex;
use embassy_time_driver::{Driver, TICK_HZ};
use embassy_time_queue_utils::Queue;

#[cfg(target_arch = "riscv32")]
use riscv_rt::core_interrupt;
use rtmark_board::soc;

rtmark_probe::setting!("tick_hz", TICK_HZ as u32);

/// The exception in which what waits is woken: SysTick, or the interrupt of the counter in its place.
pub const EXCEPTION: u16 = match soc::TIMER {
    Some(timer) if cfg!(cortex_r) => rtmark_board::TimerInterrupt::of(timer).exception(),
    _ => 15,
};

/// SysTick's reload value.
#[cfg(cortex_m)]
const RELOAD: u32 = {
    let cycles = soc::CLOCK_HZ as u64 / TICK_HZ;
    assert!(1 < cycles && cycles <= 1 << 24, "SysTick cannot count to a tick of this clock");
    cycles as u32 - 1
};

struct TickDriver {
    /// The ticks that have passed, in halves. Only the tick itself writes them, both within
    /// one critical section, so that readers need none.
    low: AtomicU32,
    high: AtomicU32,
    /// When the queue has to be looked at.
    alarm: Mutex<Cell<u64>>,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static DRIVER: TickDriver = TickDriver {
    low: AtomicU32::new(0),
    high: AtomicU32::new(0),
    alarm: Mutex::new(Cell::new(u64::MAX)),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

/// Starts the tick.
#[cfg(cortex_m)]
pub fn start(systick: &mut SYST) {
    systick.set_clock_source(SystClkSource::Core);
    systick.set_reload(RELOAD);
    systick.clear_current();
    systick.enable_interrupt();
    systick.enable_counter();
}

#[cfg(cortex_m)]
#[exception]
fn SysTick() {
    DRIVER.tick();
}

/// The core's cycles in a tick.
#[cfg(not(cortex_m))]
const PERIOD: u32 = (soc::CLOCK_HZ as u64 / TICK_HZ) as u32;

/// Starts the tick.
#[cfg(cortex_r)]
pub fn start() {
    rtmark_board::Timer::start(PERIOD);
}

#[cfg(cortex_r)]
#[unsafe(export_name = "TIMER")]
fn timer() {
    rtmark_board::Timer::acknowledge();
    DRIVER.tick();
}

#[cfg(target_arch = "riscv32")]
static TIMER: Mutex<RefCell<Option<rtmark_board::Timer>>> = Mutex::new(RefCell::new(None));

/// Starts the tick.
#[cfg(target_arch = "riscv32")]
pub fn start() {
    critical_section::with(|cs| {
        TIMER.borrow_ref_mut(cs).replace(rtmark_board::Timer::start(PERIOD));
    });
}

#[cfg(target_arch = "riscv32")]
#[core_interrupt(riscv::interrupt::Interrupt::MachineTimer)]
fn machine_timer() {
    critical_section::with(|cs| {
        if let Some(timer) = TIMER.borrow_ref_mut(cs).as_mut() {
            timer.again(PERIOD);
        }
    });
    DRIVER.tick();
}

impl TickDriver {
    fn tick(&self) {
        critical_section::with(|cs| {
            let low = self.low.load(Ordering::Relaxed).wrapping_add(1);
            self.low.store(low, Ordering::Relaxed);
            if low == 0 {
                let high = self.high.load(Ordering::Relaxed).wrapping_add(1);
                self.high.store(high, Ordering::Relaxed);
            }

            let alarm = self.alarm.borrow(cs);
            let now = self.now();
            if now >= alarm.get() {
                alarm.set(self.queue.borrow_ref_mut(cs).next_expiration(now));
            }
        });
    }
}

impl Driver for TickDriver {
    fn now(&self) -> u64 {
        loop {
            let high = self.high.load(Ordering::Acquire);
            let low = self.low.load(Ordering::Acquire);
            // Otherwise a tick came between the two, and the halves may not belong together.
            if self.high.load(Ordering::Acquire) == high {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            let mut queue = self.queue.borrow_ref_mut(cs);
            if queue.schedule_wake(at, waker) {
                self.alarm.borrow(cs).set(queue.next_expiration(self.now()));
            }
        });
    }
}
