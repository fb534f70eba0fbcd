//! The real-time clock of STM32F1: a counter of 32 bits with an alarm (RM0008, "Real-time clock (RTC)").
//!
//! What a program writes between the beginning and the end of configuration takes effect three periods of the clock
//! after its end, the least that the manual gives.

use crate::devices::supplies::OwnSupply;
use crate::devices::ticks::OwnTicks;
use crate::devices::{ClockRatio, DeviceModel, Env, OutputEdges, Signals};

/// Flags in CRL, and the interrupts that they enable in CRH.
const SECOND: u32 = 1;
const ALARM: u32 = 1 << 1;
const OVERFLOW: u32 = 1 << 2;
const FLAGS: u32 = SECOND | ALARM | OVERFLOW;
/// RSF.
const SYNCHRONIZED: u32 = 1 << 3;
/// CNF.
const CONFIGURES: u32 = 1 << 4;
/// RTOFF.
const IS_DONE: u32 = 1 << 5;
/// The output to EXTI; the other one is the interrupt.
const ALARM_OUTPUT: u32 = 1 << 1;
/// How many periods of the clock a write takes.
const WRITING: u64 = 3;
const FULL: u64 = 1 << 32;

/// The registers that are written by configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Configured {
    /// PRL.
    reload: u32,
    /// CNT, if it was written.
    counter: Option<u32>,
    /// ALR.
    alarm: u32,
}

#[derive(Clone, Debug)]
pub struct CounterRtc {
    ticks: OwnTicks,
    /// DBP.
    writable: bool,
    interrupts: u32,
    flags: u32,
    configures: bool,
    /// The tick at which the last write is complete.
    done_at: u64,
    /// What the registers will be then.
    next: Configured,
    /// Whether the next counter and divider are still to be taken over.
    is_written: bool,
    reload: u32,
    alarm: u32,
    /// The counter's value at the tick `begin`, and the increments announced since.
    counter: u32,
    begin: u64,
    announced: u64,
    /// The tick at which the program has last cleared RSF.
    cleared: u64,
    edges: OutputEdges,
}

impl CounterRtc {
    pub const fn new(ratio: ClockRatio) -> Self {
        let (reload, alarm) = (0x8000, u32::MAX);
        Self {
            ticks: OwnTicks::new(ratio.core),
            writable: true,
            interrupts: 0,
            flags: 0,
            configures: false,
            done_at: 0,
            next: Configured { reload, counter: None, alarm },
            is_written: false,
            reload,
            alarm,
            counter: 0,
            begin: 0,
            announced: 0,
            cleared: 0,
            edges: OutputEdges { rising: 0, falling: 0 },
        }
    }

    fn each(&self) -> u64 {
        u64::from(self.reload) + 1
    }

    /// Returns the counter and the divider's counter, which counts down.
    fn counted(&self, tick: u64) -> (u32, u32) {
        let passed = tick.saturating_sub(self.begin);
        let counter = u64::from(self.counter).wrapping_add(passed / self.each());
        (counter as u32, self.reload - (passed % self.each()) as u32)
    }

    /// Returns how many increments have been announced by a tick: flags rise in the period of the clock before the
    /// counter changes (RM0008, "RTC flag assertion").
    fn announced_by(&self, tick: u64) -> u64 {
        tick.saturating_add(1).saturating_sub(self.begin) / self.each()
    }

    /// Returns the first increment after some by which the counter reaches a value.
    fn increment_to(&self, value: u32, after: u64) -> u64 {
        let first = u64::from(value.wrapping_sub(self.counter));
        let rounds = after.checked_sub(first).map_or(0, |beyond| beyond / FULL + 1);
        first.saturating_add(rounds.saturating_mul(FULL))
    }

    /// Returns the tick at which an increment is announced.
    fn tick_of(&self, increment: u64) -> u64 {
        self.begin.saturating_add(increment.saturating_mul(self.each())).saturating_sub(1)
    }

    /// Raises the flags of everything that has happened up to a tick.
    fn count_to(&mut self, tick: u64) {
        if self.is_written && tick >= self.done_at {
            self.announce(self.done_at);
            self.take_over(self.done_at);
        }
        self.announce(tick);
    }

    fn announce(&mut self, tick: u64) {
        let now = self.announced_by(tick);
        if now <= self.announced {
            return;
        }
        self.flags |= SECOND;
        if self.increment_to(0, self.announced) <= now {
            self.flags |= OVERFLOW;
        }
        if self.increment_to(self.alarm.wrapping_add(1), self.announced) <= now {
            self.flags |= ALARM;
            self.edges.rising |= ALARM_OUTPUT;
            self.edges.falling |= ALARM_OUTPUT;
        }
        self.announced = now;
    }

    /// Takes over what has been written; the divider begins again if it or the counter has changed.
    fn take_over(&mut self, tick: u64) {
        self.is_written = false;
        let Configured { reload, counter, alarm } = self.next;
        self.next.counter = None;
        self.alarm = alarm;
        if counter.is_some() || reload != self.reload {
            self.counter = counter.unwrap_or(self.counted(tick).0);
            (self.reload, self.begin, self.announced) = (reload, tick, 0);
        }
    }

    fn status(&self, tick: u64) -> u32 {
        let bit = |bit, is_set| if is_set { bit } else { 0 };
        self.flags
            | bit(SYNCHRONIZED, tick > self.cleared)
            | bit(CONFIGURES, self.configures)
            | bit(IS_DONE, tick >= self.done_at)
    }

    fn write_status(&mut self, value: u32, mask: u32, tick: u64) {
        let cleared = mask & !value;
        self.flags &= !cleared;
        if cleared & SYNCHRONIZED != 0 {
            self.cleared = tick;
        }
        if value & mask & CONFIGURES != 0 {
            self.configures = true;
        } else if cleared & CONFIGURES != 0 && self.configures {
            self.configures = false;
            self.done_at = tick.saturating_add(WRITING);
            self.is_written = true;
        }
    }

    /// Writes half of a register that only configuration may change.
    fn configure(&mut self, offset: u32, value: u32, tick: u64) {
        let upper = |held: u32| held & 0xFFFF | value << 16;
        let lower = |held: u32| held & 0xFFFF_0000 | value & 0xFFFF;
        let counter = self.next.counter.unwrap_or(self.counted(tick).0);
        match offset {
            0x08 => self.next.reload = upper(self.next.reload) & 0xF_FFFF,
            0x0C => self.next.reload = lower(self.next.reload),
            0x18 => self.next.counter = Some(upper(counter)),
            0x1C => self.next.counter = Some(lower(counter)),
            0x20 => self.next.alarm = upper(self.next.alarm),
            0x24 => self.next.alarm = lower(self.next.alarm),
            _ => {}
        }
    }

    fn settle_to(&mut self, now: u64) -> u64 {
        let tick = self.ticks.at(now);
        self.count_to(tick);
        tick
    }
}

impl DeviceModel for CounterRtc {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        let tick = self.settle_to(env.now);
        let (counter, divider) = self.counted(tick);
        Some(match offset {
            0x00 => self.interrupts,
            0x04 => self.status(tick),
            // PRL and ALR can only be written.
            0x08 | 0x0C | 0x20 | 0x24 => 0,
            0x10 => divider >> 16,
            0x14 => divider & 0xFFFF,
            0x18 => counter >> 16,
            0x1C => counter & 0xFFFF,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        let tick = self.settle_to(env.now);
        if offset > 0x24 {
            return None;
        }
        // Nothing can be written before the last write is complete.
        if self.writable && tick >= self.done_at {
            match offset {
                0x00 => self.interrupts = (self.interrupts & !mask | value & mask) & FLAGS,
                0x04 => self.write_status(value, mask, tick),
                _ if self.configures => self.configure(offset, value, tick),
                _ => {}
            }
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        u32::from(self.flags & self.interrupts != 0)
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        self.settle_to(now);
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let wanted = self.interrupts & !self.flags;
        let announced = self.announced;
        let second = (wanted & SECOND != 0).then_some(announced.saturating_add(1));
        let overflow = (wanted & OVERFLOW != 0).then(|| self.increment_to(0, announced));
        // EXTI sees each alarm.
        let alarm = Some(self.increment_to(self.alarm.wrapping_add(1), announced));
        let increment = [second, overflow, alarm].into_iter().flatten().min()?;
        let written = self.is_written.then_some(self.done_at);
        let tick = written.map_or(u64::MAX, |tick| tick).min(self.tick_of(increment));
        self.ticks.cycle_of(tick)
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.ticks.set_core(now, ratio.core);
    }

    fn supply(&mut self, now: u64, supply: OwnSupply) {
        self.settle_to(now);
        self.ticks.set_clock(now, supply.clock);
        self.writable = supply.permitted;
    }

    fn signals(&mut self) -> Signals {
        Signals { edges: std::mem::take(&mut self.edges), ..Signals::default() }
    }
}
