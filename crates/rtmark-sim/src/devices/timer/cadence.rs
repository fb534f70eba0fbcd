//! The triple timer counter of Zynq and Zynq UltraScale+, by Cadence (UG1085, chapter 14; registers:
//! UG1087, module TTC).
//!
//! Three 32-bit counters of the bus clock, divided by a power of two. Both the interval and the overflow
//! mode are modelled. Counting down, external clocks and event timers are not; a program that selects them is
//! told of.

use super::earlier;
use crate::devices::counter::{Counter, Rate};
use crate::devices::{ClockRatio, DeviceModel, Env};

/// The clock that the counters divide. An estimate: boards usually configure the bus of the low-power
/// domain for 100 MHz.
const INPUT_HZ: u64 = 100_000_000;
const COUNTERS: usize = 3;
const WHOLE: u64 = 1 << 32;

const PRESCALES: u32 = 1;
/// Clock control: an external clock.
const EXTERNAL: u32 = 1 << 5;
const DISABLED: u32 = 1;
const INTERVAL_MODE: u32 = 1 << 1;
const DECREMENTS: u32 = 1 << 2;
const MATCHES: u32 = 1 << 3;
const RESET: u32 = 1 << 4;

/// The interrupts: the interval, three matches, an overflow.
const INTERVAL: u32 = 1;
const OVERFLOW: u32 = 1 << 4;

/// One of the three counters.
#[derive(Clone, Debug)]
struct One {
    clock: u32,
    control: u32,
    interval: u32,
    matches: [u32; 3],
    raised: u32,
    enabled: u32,
    counter: Counter,
}

impl One {
    fn new(ratio: ClockRatio) -> Self {
        Self {
            clock: 0,
            control: 0x21,
            interval: 0,
            matches: [0; 3],
            raised: 0,
            enabled: 0,
            counter: Counter::new(rate(0, ratio), WHOLE),
        }
    }

    const fn has_interval(&self) -> bool {
        self.control & INTERVAL_MODE != 0
    }

    fn settle(&mut self, now: u64) {
        if self.has_interval() && self.counter.has_ended(now) {
            self.raised |= INTERVAL;
        }
        if !self.has_interval() && self.counter.has_passed(now, 0) {
            self.raised |= OVERFLOW;
        }
        if self.control & MATCHES != 0 {
            for (at, value) in self.matches.iter().enumerate() {
                if self.counter.has_passed(now, (*value).into()) {
                    self.raised |= 2 << at;
                }
            }
        }
        self.counter.observe(now);
    }

    fn due(&self) -> Option<u64> {
        let wanted = self.enabled & !self.raised;
        let mut due = match self.has_interval() {
            true if wanted & INTERVAL != 0 => self.counter.cycle_of_end(),
            false if wanted & OVERFLOW != 0 => self.counter.cycle_of_value(0),
            _ => None,
        };
        for (at, value) in self.matches.iter().enumerate() {
            if self.control & MATCHES != 0 && wanted & 2 << at != 0 {
                due = earlier(due, self.counter.cycle_of_value((*value).into()));
            }
        }
        due
    }

    /// Sets the period. The counter is reset when it equals the interval (UG1085, "Interval Mode"), so a
    /// shorter interval that it has passed takes effect in the next round.
    fn follow_interval(&mut self, now: u64) {
        let interval = u64::from(self.interval) + 1;
        self.counter.set_period(now, if self.has_interval() { interval } else { WHOLE }, WHOLE);
    }

    fn read(&mut self, register: u32, now: u64) -> u32 {
        match register {
            0x00 => self.clock,
            0x0C => self.control,
            0x18 => self.counter.value(now) as u32,
            0x24 => self.interval,
            0x30 => self.matches[0],
            0x3C => self.matches[1],
            0x48 => self.matches[2],
            // Reading the register clears it.
            0x54 => std::mem::take(&mut self.raised),
            0x60 => self.enabled,
            _ => 0,
        }
    }

    /// Returns whether a write to a register selects something without a model.
    const fn exceeds(register: u32, value: u32) -> bool {
        let without = match register {
            0x00 => EXTERNAL,
            0x0C => DECREMENTS,
            // Event control: the event timer is on.
            0x6C => 1,
            _ => 0,
        };
        value & without != 0
    }

    fn write(&mut self, register: u32, value: u32, now: u64, ratio: ClockRatio) {
        match register {
            0x00 => {
                self.clock = value & 0x7F;
                self.counter.set_rate(now, rate(self.clock, ratio));
            }
            0x0C => {
                self.control = value & 0x6F;
                self.follow_interval(now);
                if value & RESET != 0 {
                    self.counter.set(now, 0);
                }
                if value & DISABLED != 0 {
                    self.counter.stop(now);
                } else {
                    self.counter.start(now);
                }
            }
            0x24 => {
                self.interval = value;
                self.follow_interval(now);
            }
            0x30 => self.matches[0] = value,
            0x3C => self.matches[1] = value,
            0x48 => self.matches[2] = value,
            0x60 => self.enabled = value & 0x3F,
            _ => {}
        }
    }
}

/// Returns the counter's rate in core cycles, given the clock control register.
fn rate(clock: u32, ratio: ClockRatio) -> Rate {
    let divisor = if clock & PRESCALES != 0 { 2 << (clock >> 1 & 15) } else { 1 };
    Rate { counts: INPUT_HZ, cycles: u64::from(ratio.core.0) * divisor }
}

/// The timer with its three counters.
#[derive(Clone, Debug)]
pub struct CadenceTtc([One; COUNTERS]);

impl CadenceTtc {
    pub fn new(ratio: ClockRatio) -> Self {
        Self([One::new(ratio), One::new(ratio), One::new(ratio)])
    }
}

/// Returns which counter an offset belongs to, and which of its registers.
const fn place(offset: u32) -> Option<(usize, u32)> {
    if offset > 0x80 {
        return None;
    }
    let which = (offset / 4 % 3) as usize;
    Some((which, offset - 4 * which as u32))
}

impl DeviceModel for CadenceTtc {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        let (which, register) = place(offset)?;
        Some(self.0[which].read(register, env.now))
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        let (which, register) = place(offset)?;
        self.0[which].write(register, value, env.now, env.ratio);
        env.effects.without_model |= One::exceeds(register, value);
        Some(())
    }

    /// Returns the interrupts of the three counters.
    fn outputs(&self, _: u64) -> u32 {
        let raised = self.0.iter().enumerate();
        raised
            .filter(|(_, one)| one.raised & one.enabled != 0)
            .fold(0, |outputs, (at, _)| outputs | 1 << at)
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        self.0.iter_mut().for_each(|one| one.settle(now));
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        for one in &mut self.0 {
            one.settle(now);
            one.counter.set_rate(now, rate(one.clock, ratio));
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.0.iter().fold(None, |due, one| earlier(due, one.due()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_units::Hertz;

    #[test]
    fn an_interval_that_has_been_passed_takes_effect_in_the_next_round() {
        let ratio = ClockRatio::undivided(Hertz(INPUT_HZ as u32));
        let mut one = One::new(ratio);
        one.write(0x24, 9_999, 0, ratio);
        one.write(0x60, INTERVAL | OVERFLOW, 0, ratio);
        one.write(0x0C, INTERVAL_MODE | RESET, 0, ratio);
        assert_eq!(one.due(), Some(10_000));
        one.settle(5_000);
        one.write(0x24, 99, 5_000, ratio);
        assert_eq!([5_000, 10_000].map(|now| one.read(0x18, now)), [5_000, 10_000]);
        // It equals the interval 100 counts after it has wrapped around.
        let end = WHOLE + 100;
        assert_eq!(one.due(), Some(end));
        one.settle(end - 1);
        assert_eq!((one.raised, one.read(0x18, end - 1)), (0, 99));
        one.settle(end);
        assert_eq!((one.raised, one.read(0x18, end)), (INTERVAL, 0));
        one.raised = 0;
        assert_eq!(one.due(), Some(end + 100));
    }
}
