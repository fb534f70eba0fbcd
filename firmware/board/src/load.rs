//! The mixed load, `load.mixed`: what it is, and when all is well.
//!
//! The same as `firmware/c/load.h` has it, which tells the jobs and their periods. In short: a
//! hyperperiod of twelve short ticks with three periodic tasks, a device, timers, a queue, a
//! lock and a semaphore; and the alarm, an interrupt that `rtmark worst` pends in any cycle.

use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(cortex_r)]
use aarch32_cpu::interrupt::disable;
#[cfg(cortex_m)]
use cortex_m::interrupt::{disable, free};
#[cfg(cortex_m)]
use cortex_m::peripheral::SYST;
#[cfg(cortex_r)]
use critical_section::with as free;
use rtmark_probe::scenario;

use crate::Counter;

/// So short that the whole takes no more cycles than can be gone through from each; twice as long on a
/// Cortex-R5, so that every kernel keeps up.
pub const TICK_CYCLES: u32 = if cfg!(cortex_r) { 12_000 } else { 6000 };
/// Ticks after which the jobs come again as before.
const HYPERPERIOD: u32 = 12;
/// Ticks from one job of the fast task to the next.
pub const FAST: u32 = 2;
/// How many it has in a hyperperiod.
pub const FAST_JOBS: u32 = HYPERPERIOD / FAST;
/// Ticks from one job of the middle task to the next.
pub const MIDDLE: u32 = 3;
/// How many it has.
pub const MIDDLE_JOBS: u32 = HYPERPERIOD / MIDDLE;
/// Ticks from one job of the slow task to the next.
pub const SLOW: u32 = 4;
/// How many it has.
pub const SLOW_JOBS: u32 = HYPERPERIOD / SLOW;
/// Ticks from one expiry of the timer that repeats to the next.
pub const TIMER: u32 = 3;
/// How many it has.
pub const TIMER_JOBS: u32 = HYPERPERIOD / TIMER;
/// The tick after which the judge looks, when there are so many hyperperiods.
pub const fn end(hyperperiods: u32) -> u32 {
    hyperperiods * HYPERPERIOD + 2
}

/// Ticks that the judge waits for what is not done yet.
pub const GRACE: u32 = 4;
/// How many items find room in the queue.
pub const ITEMS: usize = 8;

/// Who sends items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The device's interrupt.
    Device,
    /// The middle task.
    Middle,
    /// The alarm.
    Alarm,
}

const SOURCES: usize = 3;

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    source: Source,
    sequence: u32,
}

/// What two tasks change under a lock.
#[derive(Debug)]
pub struct Record {
    /// Changed first.
    pub first: u32,
    /// Changed later under the same lock.
    pub second: u32,
}

impl Record {
    /// Unchanged.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: 0, second: 0 }
    }
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}

/// What has happened. Each counter has one writer, but for `events`.
#[derive(Debug)]
#[expect(missing_docs, reason = "the module says who these are")]
pub struct Load {
    sent: [Counter; SOURCES],
    received: [Counter; SOURCES],
    pub given_by_alarm: Counter,
    pub taken: Counter,
    pub timers: Counter,
    pub wakes: Counter,
    pub woken: Counter,
    pub fast: Counter,
    pub middle: Counter,
    pub slow: Counter,
    /// Counted by tasks and the alarm, in critical sections.
    events: AtomicU32,
}

/// The load of the image.
pub static LOAD: Load = Load {
    sent: [const { Counter::new() }; SOURCES],
    received: [const { Counter::new() }; SOURCES],
    given_by_alarm: Counter::new(),
    taken: Counter::new(),
    timers: Counter::new(),
    wakes: Counter::new(),
    woken: Counter::new(),
    fast: Counter::new(),
    middle: Counter::new(),
    slow: Counter::new(),
    events: AtomicU32::new(0),
};

/// Has SysTick, which a kernel's own code has started, tick as the load does.
#[cfg(cortex_m)]
pub fn start_ticks(systick: &mut SYST) {
    systick.set_reload(TICK_CYCLES - 1);
    systick.clear_current();
}

impl Load {
    /// The next item of a source; counted by [`Load::was_sent`].
    pub fn next(&self, source: Source) -> Item {
        Item { source, sequence: self.sent[source as usize].get() }
    }

    /// Counts an item; ends the run if there was no room for it.
    pub fn was_sent(&self, source: Source, was_sent: bool) {
        if !was_sent {
            scenario::fail("an item found no room");
        }
        self.sent[source as usize].increment();
    }

    /// Counts an item; ends the run if it is not the next one of its source.
    pub fn received(&self, item: Item) {
        let received = &self.received[item.source as usize];
        scenario::expect("sequence of an item", item.sequence, received.get());
        received.increment();
    }

    /// Counts an event.
    pub fn count_event(&self) {
        free(|_| {
            let events = self.events.load(Ordering::Relaxed) + 1;
            self.events.store(events, Ordering::Relaxed);
        });
    }

    /// What has been given to the server.
    pub fn given(&self) -> u32 {
        self.timers.get() + self.given_by_alarm.get()
    }

    /// With interrupts masked: whether everything that so many hyperperiods begin is done.
    pub fn is_quiet(&self, hyperperiods: u32) -> bool {
        self.sent.iter().zip(&self.received).all(|(sent, received)| sent.get() == received.get())
            && self.taken.get() == self.given()
            && self.woken.get() == self.wakes.get()
            && self.fast.get() == hyperperiods * FAST_JOBS
            && self.middle.get() == hyperperiods * MIDDLE_JOBS
            && self.slow.get() == hyperperiods * SLOW_JOBS
            && self.timers.get() == hyperperiods * (TIMER_JOBS + SLOW_JOBS)
    }

    /// Ends the run; says what is missing if anything is. `record` is none while it is locked.
    pub fn judge(&self, hyperperiods: u32, record: Option<&Record>) -> ! {
        disable();
        let [fast, middle, slow, timers] =
            [FAST_JOBS, MIDDLE_JOBS, SLOW_JOBS, TIMER_JOBS].map(|jobs| hyperperiods * jobs);
        let items = |of: &[Counter; SOURCES], source: Source| of[source as usize].get();
        scenario::expect("jobs of fast", self.fast.get(), fast);
        scenario::expect("jobs of middle", self.middle.get(), middle);
        scenario::expect("jobs of slow", self.slow.get(), slow);
        scenario::expect("expiries of timers", self.timers.get(), timers + slow);
        scenario::expect("items of the device", items(&self.sent, Source::Device), fast);
        let received = |source| items(&self.received, source);
        scenario::expect("items of the device received", received(Source::Device), fast);
        scenario::expect("items of middle received", received(Source::Middle), middle);
        let alarms = items(&self.sent, Source::Alarm);
        scenario::expect("items of the alarm received", received(Source::Alarm), alarms);
        scenario::expect("takes", self.taken.get(), self.given());
        scenario::expect("times urgent was woken", self.woken.get(), self.wakes.get());
        let Some(record) = record else { scenario::fail("the record is locked for ever") };
        scenario::expect("first half of the record", record.first, middle + slow);
        scenario::expect("second half of the record", record.second, middle + slow);
        let events = fast + middle + slow + self.wakes.get();
        scenario::expect("events", self.events.load(Ordering::Relaxed), events);
        scenario::ok();
    }
}
