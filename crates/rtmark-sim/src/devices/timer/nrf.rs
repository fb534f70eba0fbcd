//! TIMER and RTC of nRF51 and nRF52 (nRF52840 PS, 6.30 and 6.22).
//!
//! Both count, raise an event when the count equals one of their compare registers, and raise an interrupt
//! for the events enabled in INTEN.

use super::earlier;
use crate::devices::counter::{Counter, Rate};
use crate::devices::nrf::Events;
use crate::devices::{ClockRatio, DeviceModel, Env, Signals};
use crate::soc::Peripheral;

/// The number of compare register 0's event, and of its bit in INTEN.
const COMPARE: u32 = 16;
/// The clock of TIMER before its prescaler.
const TIMER_HZ: u64 = 16_000_000;
/// The clock of RTC before its prescaler.
const RTC_HZ: u64 = 32_768;

/// Returns the channel of the register at an offset, given the offset of channel 0's.
const fn channel(offset: u32, first: u32, channels: usize) -> Option<usize> {
    if offset < first {
        return None;
    }
    let at = ((offset - first) / 4) as usize;
    if at < channels { Some(at) } else { None }
}

/// The maximum number of compare registers.
const CHANNELS: usize = 6;
/// The largest PRESCALER.
const MAX_PRESCALER: u32 = 9;

#[derive(Clone, Debug)]
pub struct NrfTimer {
    /// The number of its compare registers, and the maximum width of its counter.
    channels: usize,
    bits: u32,
    counter: Counter,
    /// START has been triggered, and STOP has not since; in either mode.
    is_started: bool,
    events: Events,
    interrupts: u32,
    shorts: u32,
    mode: u32,
    bit_mode: u32,
    prescaler: u32,
    compare: [u32; CHANNELS],
}

impl NrfTimer {
    pub fn new(peripheral: &Peripheral, ratio: ClockRatio) -> Self {
        let mut timer = Self {
            channels: peripheral.channel_count(),
            bits: peripheral.counter_bits.unwrap_or(32).into(),
            counter: Counter::new(Rate::every(1), 1 << 16),
            is_started: false,
            events: Events::default(),
            interrupts: 0,
            shorts: 0,
            mode: 0,
            bit_mode: 0,
            prescaler: 4,
            compare: [0; CHANNELS],
        };
        timer.configure(0, ratio);
        timer
    }

    /// Returns the width that BITMODE selects.
    const fn selected_width(&self) -> u32 {
        match self.bit_mode {
            0 => 16,
            1 => 8,
            2 => 24,
            _ => 32,
        }
    }

    fn width(&self) -> u32 {
        self.selected_width().min(self.bits)
    }

    /// Returns whether the program has selected something that the timer does not have, after a write to a
    /// register.
    const fn exceeds(&self, offset: u32, value: u32) -> bool {
        match offset {
            0x508 => self.selected_width() > self.bits,
            0x510 => value > MAX_PRESCALER,
            _ => false,
        }
    }

    /// Returns whether there is a register at an offset.
    fn has(&self, offset: u32) -> bool {
        let channels = [0x040, 0x140, 0x540].map(|first| channel(offset, first, CHANNELS));
        channels.into_iter().flatten().all(|at| at < self.channels)
    }

    fn is_timer(&self) -> bool {
        self.mode == 0
    }

    /// Returns the value of a compare register as it is compared, with as many bits as the counter.
    fn compared(&self, at: usize) -> u64 {
        u64::from(self.compare[at]) & ((1 << self.width()) - 1)
    }

    /// Returns the count at which a short clears the counter, if one does.
    fn clears_at(&self) -> Option<u64> {
        let shorted = (0..self.channels).filter(|at| self.shorts >> at & 1 == 1);
        shorted.map(|at| self.compared(at)).filter(|count| *count > 0).min()
    }

    fn configure(&mut self, now: u64, ratio: ClockRatio) {
        let counts = TIMER_HZ >> self.prescaler;
        self.counter.set_rate(now, Rate { counts, cycles: ratio.core.0.into() });
        let full = 1 << self.width();
        self.counter.set_period(now, self.clears_at().unwrap_or(full), full);
    }

    /// Returns whether the counter restarts where this compare register's event occurs. Where a short clears
    /// the counter, the compare value itself is never seen.
    fn matches_at_end(&self, at: usize) -> bool {
        self.compared(at) == self.counter.period()
    }

    /// Returns whether a compare register's event has occurred.
    fn has_matched(&self, at: usize, now: u64) -> bool {
        if self.matches_at_end(at) {
            self.counter.has_ended(now)
        } else {
            self.counter.has_passed(now, self.compared(at))
        }
    }

    /// Returns the cycle in which a compare register's event occurs.
    fn cycle_of_match(&self, at: usize) -> Option<u64> {
        if self.matches_at_end(at) {
            self.counter.cycle_of_end()
        } else {
            self.counter.cycle_of_value(self.compared(at))
        }
    }

    fn task(&mut self, offset: u32, now: u64) {
        match offset {
            0x00 => {
                self.is_started = true;
                if self.is_timer() {
                    self.counter.start(now);
                }
            }
            0x04 | 0x10 => {
                self.is_started = false;
                self.counter.stop(now);
            }
            0x08 if self.is_started && !self.is_timer() => self.count(now),
            0x0C => self.counter.set(now, 0),
            _ => {
                if let Some(at) = channel(offset, 0x40, self.channels) {
                    self.compare[at] = self.counter.value(now) as u32;
                }
            }
        }
    }

    /// Counts an event, in counter mode.
    fn count(&mut self, now: u64) {
        let (before, value) = (self.counter.value(now), self.counter.next_value(now));
        for at in 0..self.channels {
            let count = self.compared(at);
            if count == value || count == before + 1 && self.matches_at_end(at) {
                self.events.raise(1 << (COMPARE as usize + at));
                self.is_started &= !self.stops_at(at);
            }
        }
        self.counter.set(now, value);
    }

    /// Returns whether a short stops the timer at a compare register's event.
    const fn stops_at(&self, at: usize) -> bool {
        self.shorts >> (8 + at) & 1 == 1
    }
}

impl DeviceModel for NrfTimer {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            _ if !self.has(offset) => return None,
            0x000..=0x010 | 0x040..=0x054 => 0,
            0x140..=0x154 => self.events.read(offset),
            0x200 => self.shorts,
            0x304 | 0x308 => self.interrupts,
            0x504 => self.mode,
            0x508 => self.bit_mode,
            0x510 => self.prescaler,
            _ => self.compare[channel(offset, 0x540, CHANNELS)?],
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            _ if !self.has(offset) => return None,
            0x000..=0x010 | 0x040..=0x054 => {
                if value & 1 == 1 {
                    self.task(offset, env.now);
                }
            }
            0x140..=0x154 => self.events.write(offset, value),
            0x200 => self.shorts = value,
            0x304 => self.interrupts |= value,
            0x308 => self.interrupts &= !value,
            0x504 => self.mode = value & 3,
            0x508 => self.bit_mode = value & 3,
            0x510 => self.prescaler = (value & 15).min(MAX_PRESCALER),
            _ => self.compare[channel(offset, 0x540, CHANNELS)?] = value,
        }
        env.effects.without_model |= self.exceeds(offset, value);
        self.configure(env.now, env.ratio);
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        self.events.interrupt(self.interrupts).into()
    }

    fn has_end(&self, offset: u32) -> bool {
        self.has(offset) && matches!(offset, 0x000..=0x010 | 0x040..=0x054 | 0x140..=0x154)
    }

    fn publish(&mut self, events: u32) {
        self.events.publish(events);
    }

    fn signals(&mut self) -> Signals {
        Signals::of(self.events.take())
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        // A short that stops the counter ends its time there.
        let stops = (0..self.channels).filter(|at| self.stops_at(*at));
        let stop = stops.filter_map(|at| self.cycle_of_match(at)).min();
        let until = stop.filter(|stop| *stop <= now);
        for at in 0..self.channels {
            if self.has_matched(at, until.unwrap_or(now)) {
                self.events.raise(1 << (COMPARE as usize + at));
            }
        }
        self.counter.observe(until.unwrap_or(now));
        if let Some(stop) = until {
            self.is_started = false;
            self.counter.stop(stop);
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let wanted = self.events.observable(self.interrupts);
        (0..self.channels)
            .filter(|at| wanted >> (COMPARE as usize + at) & 1 == 1)
            .fold(None, |due, at| earlier(due, self.cycle_of_match(at)))
    }
}

const RTC_CHANNELS: usize = 4;
const TICK: u32 = 1;
const OVERFLOW: u32 = 1 << 1;
const RTC_PERIOD: u64 = 1 << 24;

#[derive(Clone, Debug)]
pub struct NrfRtc {
    /// The number of its compare registers.
    channels: usize,
    counter: Counter,
    events: Events,
    interrupts: u32,
    /// EVTEN.
    routed: u32,
    prescaler: u32,
    compare: [u32; RTC_CHANNELS],
    /// The compare registers that were written too late for their next match, which will be missed; one bit
    /// each.
    late: u32,
}

impl NrfRtc {
    pub fn new(peripheral: &Peripheral, ratio: ClockRatio) -> Self {
        let mut rtc = Self {
            channels: peripheral.channel_count(),
            counter: Counter::new(Rate::every(1), RTC_PERIOD),
            events: Events::default(),
            interrupts: 0,
            routed: 0,
            prescaler: 0,
            compare: [0; RTC_CHANNELS],
            late: 0,
        };
        rtc.configure(0, ratio);
        rtc
    }

    /// Writes a compare register. With the counter at N, only a match from N + 2 on is certain; one at N +
    /// 1 "may not trigger" (6.22.7), and here it does not, so that no program can rely on it.
    fn set_compare(&mut self, at: usize, value: u32, now: u64) {
        self.compare[at] = value & 0xFF_FFFF;
        let next = (self.counter.value(now) + 1) % RTC_PERIOD;
        let is_late = self.counter.is_running() && u64::from(self.compare[at]) == next;
        self.late = self.late & !(1 << at) | u32::from(is_late) << at;
    }

    fn configure(&mut self, now: u64, ratio: ClockRatio) {
        let cycles = u64::from(ratio.core.0) * (u64::from(self.prescaler) + 1);
        self.counter.set_rate(now, Rate { counts: RTC_HZ, cycles });
    }

    fn is_event(&self, offset: u32) -> bool {
        matches!(offset, 0x100 | 0x104) || channel(offset, 0x140, self.channels).is_some()
    }
}

impl DeviceModel for NrfRtc {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x000..=0x00C => 0,
            0x304 | 0x308 => self.interrupts,
            0x340 | 0x344 | 0x348 => self.routed,
            0x504 => self.counter.value(env.now) as u32,
            0x508 => self.prescaler,
            _ if self.is_event(offset) => self.events.read(offset),
            _ => self.compare[channel(offset, 0x540, self.channels)?],
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x000..=0x00C if value & 1 == 0 => {}
            0x000 => self.counter.start(env.now),
            0x004 => self.counter.stop(env.now),
            0x008 => self.counter.set(env.now, 0),
            0x00C => self.counter.set(env.now, 0xFF_FFF0),
            0x304 => self.interrupts |= value,
            0x308 => self.interrupts &= !value,
            0x340 => self.routed = value,
            0x344 => self.routed |= value,
            0x348 => self.routed &= !value,
            // It can only be written while the counter is stopped.
            0x508 if !self.counter.is_running() => self.prescaler = value & 0xFFF,
            0x504 | 0x508 => {}
            _ if self.is_event(offset) => self.events.write(offset, value),
            _ => self.set_compare(channel(offset, 0x540, self.channels)?, value, env.now),
        }
        self.configure(env.now, env.ratio);
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        self.events.interrupt(self.interrupts).into()
    }

    fn has_end(&self, offset: u32) -> bool {
        matches!(offset, 0x000..=0x00C) || self.is_event(offset)
    }

    fn publish(&mut self, events: u32) {
        self.events.publish(events);
    }

    fn signals(&mut self) -> Signals {
        Signals::of(self.events.take())
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        let mut happened = 0;
        if self.counter.has_counted(now) {
            happened |= TICK;
        }
        if self.counter.has_passed(now, 0) {
            happened |= OVERFLOW;
        }
        for (at, count) in self.compare[..self.channels].iter().enumerate() {
            if self.counter.has_passed(now, (*count).into()) {
                happened |= (!self.late >> at & 1) << (COMPARE as usize + at);
                self.late &= !(1 << at);
            }
        }
        // Events are only generated if INTEN or EVTEN enables them, and those in EVTEN go to the PPI
        // (6.22.5).
        self.events
            .raise_separately(happened & (self.interrupts | self.routed), happened & self.routed);
        self.counter.observe(now);
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let routed = self.events.subscribed() & self.routed;
        let wanted = self.interrupts & !self.events.held() | routed;
        let mut due = self.counter.cycle_of_value(0).filter(|_| wanted & OVERFLOW != 0);
        if wanted & TICK != 0 {
            due = earlier(due, self.counter.next_count());
        }
        for (at, count) in self.compare[..self.channels].iter().enumerate() {
            if wanted >> (COMPARE as usize + at) & 1 == 1 {
                due = earlier(due, self.counter.cycle_of_value((*count).into()));
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::Soc;
    use rtmark_units::Hertz;

    const NRF51: &str = include_str!("../../../../../socs/nrf51822.toml");
    const NRF52: &str = include_str!("../../../../../socs/nrf52832.toml");

    /// A timer of a soc whose core runs at 16 MHz here.
    fn timer(soc: &str, name: &str) -> (NrfTimer, ClockRatio) {
        let ratio = ClockRatio::undivided(Hertz(TIMER_HZ as u32));
        let soc = Soc::from_toml(soc).expect("good");
        let peripheral = soc.peripherals.iter().find(|it| it.name == name).expect("it has one");
        (NrfTimer::new(peripheral, ratio), ratio)
    }

    #[test]
    fn a_compare_value_that_has_been_passed_is_reached_after_the_full_width() {
        let (mut timer, ratio) = timer(NRF52, "TIMER0");
        (timer.prescaler, timer.shorts, timer.compare[0]) = (0, 1, 10_000);
        timer.interrupts = 1 << COMPARE;
        timer.configure(0, ratio);
        timer.task(0x00, 0);
        assert_eq!(timer.due(ratio), Some(10_000));
        timer.settle(5_000, ratio);
        timer.compare[0] = 100;
        timer.configure(5_000, ratio);
        // The counter of 16 bits wraps around without an event, and is cleared at 100 from then on.
        let end = 0x1_0000 + 100;
        assert_eq!(timer.due(ratio), Some(end));
        timer.settle(end - 1, ratio);
        assert_eq!((timer.events.read(0x140), timer.counter.value(end - 1)), (0, 99));
        timer.settle(end, ratio);
        assert_eq!((timer.events.read(0x140), timer.counter.value(end)), (1, 0));
        timer.events.write(0x140, 0);
        assert_eq!(timer.due(ratio), Some(end + 100));
    }

    #[test]
    fn a_counter_of_events_compares_for_equality() {
        let (mut timer, ratio) = timer(NRF52, "TIMER0");
        // COUNTER, 8 bits, cleared at 3; compare register 1 is 2.
        (timer.mode, timer.bit_mode, timer.shorts) = (1, 1, 1);
        (timer.compare[0], timer.compare[1]) = (3, 2);
        timer.configure(0, ratio);
        let count = |timer: &mut NrfTimer| {
            timer.events.write(0x140, 0);
            timer.events.write(0x144, 0);
            timer.task(0x08, 0);
            (timer.counter.value(0), timer.events.read(0x140), timer.events.read(0x144))
        };
        assert_eq!(count(&mut timer), (0, 0, 0), "it is not started");
        timer.task(0x00, 0);
        let all = [(); 4].map(|()| count(&mut timer));
        assert_eq!(all, [(1, 0, 0), (2, 0, 1), (0, 1, 0), (1, 0, 0)]);
        timer.compare[0] = 1;
        timer.counter.set(0, 254);
        timer.configure(0, ratio);
        let all = [(); 3].map(|()| count(&mut timer));
        assert_eq!(all, [(255, 0, 0), (0, 0, 0), (0, 1, 0)]);
        // Compare register 1 stops it, until it is started again.
        timer.shorts |= 1 << 9;
        timer.compare[0] = 3;
        timer.configure(0, ratio);
        let all = [(); 3].map(|()| count(&mut timer));
        assert_eq!(all, [(1, 0, 0), (2, 0, 1), (2, 0, 0)]);
        timer.task(0x00, 0);
        assert_eq!(count(&mut timer), (0, 1, 0));
        timer.task(0x04, 0);
        assert_eq!(count(&mut timer), (0, 0, 0));
    }

    /// PS, TIMER, CC: no more bits are compared than BITMODE selects.
    #[test]
    fn compare_registers_are_as_wide_as_the_counter() {
        for (bit_mode, clears, at) in
            [(0, 0, 0x2345), (1, 0, 0x45), (2, 0, 0x1_2345), (0, 1, 0x2345)]
        {
            let (mut timer, ratio) = timer(NRF52, "TIMER0");
            (timer.prescaler, timer.bit_mode, timer.shorts) = (0, bit_mode, clears);
            (timer.compare[0], timer.interrupts) = (0x1_2345, 1 << COMPARE);
            timer.configure(0, ratio);
            timer.task(0x00, 0);
            assert_eq!(timer.due(ratio), Some(at), "{bit_mode} {clears}");
        }
    }

    /// nRF51822 PS v3.1, "Timer/counters": TIMER0 counts up to 32 bits, TIMER1 and TIMER2 up to 16.
    #[test]
    fn a_narrow_counter_wraps_whatever_width_is_selected() {
        for (name, seen) in [("TIMER0", 0x1_0005), ("TIMER1", 5), ("TIMER2", 5)] {
            let (mut timer, ratio) = timer(NRF51, name);
            (timer.prescaler, timer.bit_mode) = (0, 3);
            timer.configure(0, ratio);
            timer.task(0x00, 0);
            assert_eq!(timer.counter.value(0x1_0005), seen, "{name}");
        }
    }
}
