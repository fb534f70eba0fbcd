//! WDT of nRF51 and nRF52 (nRF52840 PS, "WDT - Watchdog timer").

use rtmark_units::Hertz;

use super::EXPIRED;
use crate::devices::nrf::{Events, FIRST_EVENT};
use crate::devices::ticks::OwnTicks;
use crate::devices::{ClockRatio, DeviceModel, Env, Signals};
use crate::soc::ClockRate;

/// The low-frequency clock, which it starts itself.
const CLOCK: ClockRate = ClockRate { numerator: 32_768, denominator: 1 };
/// What a program writes to a reload request register.
const RELOAD: u32 = 0x6E52_4635;
/// CONFIG: it goes on while the core sleeps; without that, it has no model.
const RUNS_ASLEEP: u32 = 1;
/// Its only event, whose interrupt delays the reset by this many periods.
const TIMEOUT: u32 = 1;
const DELAY: u64 = 2;

#[derive(Clone, Debug)]
pub struct NrfWatchdog {
    ticks: OwnTicks,
    reload: u32,
    enabled_requests: u32,
    configuration: u32,
    interrupts: u32,
    events: Events,
    /// The reload request registers that are still to be written.
    requests: u32,
    /// The period in which it began to count, once it has been started.
    begin: Option<u64>,
    /// It has timed out since then: nothing keeps it from resetting the chip any more.
    timed_out: bool,
}

impl NrfWatchdog {
    /// Creates one that has not been started, beside a core with this clock.
    pub fn new(core: Hertz) -> Self {
        let mut ticks = OwnTicks::new(core);
        ticks.set_clock(0, Some(CLOCK));
        Self {
            ticks,
            reload: u32::MAX,
            enabled_requests: 1,
            configuration: RUNS_ASLEEP,
            interrupts: 0,
            events: Events::default(),
            requests: 0,
            begin: None,
            timed_out: false,
        }
    }

    fn begin(&mut self, now: u64) {
        self.begin = Some(self.ticks.at(now));
        self.requests = self.enabled_requests;
    }

    /// Returns the period in which it times out.
    fn times_out(&self) -> Option<u64> {
        self.begin.map(|begin| begin.saturating_add(u64::from(self.reload) + 1))
    }

    /// Returns the period in which it resets the chip.
    fn resets(&self) -> Option<u64> {
        let delay = if self.interrupts & TIMEOUT != 0 { DELAY } else { 0 };
        self.times_out().map(|tick| tick.saturating_add(delay))
    }
}

impl DeviceModel for NrfWatchdog {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x000 => 0,
            FIRST_EVENT => self.events.read(offset),
            0x304 | 0x308 => self.interrupts,
            0x400 => self.begin.is_some().into(),
            // Before it is started, that of request 0 reads as one.
            0x404 => {
                if self.begin.is_some() {
                    self.requests
                } else {
                    1
                }
            }
            0x504 => self.reload,
            0x508 => self.enabled_requests,
            0x50C => self.configuration,
            0x600..=0x61C => 0,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        let is_running = self.begin.is_some();
        match offset {
            0x000 if value & 1 == 1 && !is_running => {
                env.effects.without_model |= self.configuration & RUNS_ASLEEP == 0;
                self.begin(env.now);
            }
            0x000 | 0x400 | 0x404 => {}
            FIRST_EVENT => self.events.write(offset, value),
            0x304 => self.interrupts |= value & TIMEOUT,
            0x308 => self.interrupts &= !value,
            // These cannot be changed while it runs.
            0x504..=0x50C if is_running => {}
            0x504 => self.reload = value,
            0x508 => self.enabled_requests = value & 0xFF,
            0x50C => self.configuration = value & 9,
            0x600..=0x61C => {
                let request = 1 << ((offset - 0x600) / 4);
                let counts = is_running && !self.timed_out && self.requests & request != 0;
                if value == RELOAD && counts {
                    self.requests &= !request;
                    if self.requests == 0 {
                        self.begin(env.now);
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, now: u64) -> u32 {
        let expired = self.resets().is_some_and(|tick| tick <= self.ticks.at(now));
        u32::from(self.events.interrupt(self.interrupts)) | if expired { EXPIRED } else { 0 }
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        let has_passed = self.times_out().is_some_and(|tick| tick <= self.ticks.at(now));
        if has_passed && !self.timed_out {
            self.timed_out = true;
            self.events.raise(TIMEOUT);
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let next = if self.timed_out { self.resets() } else { self.times_out() };
        next.and_then(|tick| self.ticks.cycle_of(tick))
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.ticks.set_core(now, ratio.core);
    }

    fn has_end(&self, offset: u32) -> bool {
        matches!(offset, 0 | FIRST_EVENT)
    }

    fn publish(&mut self, events: u32) {
        self.events.publish(events);
    }

    fn signals(&mut self) -> Signals {
        Signals::of(self.events.take())
    }
}
