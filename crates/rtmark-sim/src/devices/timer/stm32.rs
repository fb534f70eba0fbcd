//! The timers of STM32 (RM0090, chapters 17 to 20): they count up, raise an interrupt at an update and when
//! the count equals a compare register, and can stop after one period. Not modelled: counting down,
//! repetition, captures, outputs, triggers.

use super::earlier;
use crate::devices::counter::{Counter, Rate};
use crate::devices::{ClockRatio, DeviceModel, Env};

const CR1: usize = 0;
const DIER: usize = 0x0C / 4;
const PSC: usize = 0x28 / 4;
const ARR: usize = 0x2C / 4;
const CCR1: usize = 0x34 / 4;
const ENABLE: u32 = 1;
const UPDATES_BY_OVERFLOW_ONLY: u32 = 1 << 2;
const ONE_PULSE: u32 = 1 << 3;
const PRELOAD_ARR: u32 = 1 << 7;
const COPY_UPDATE_FLAG: u32 = 1 << 11;
const UPDATE: u32 = 1;
/// The flags of the four channels.
const CHANNELS: u32 = 0b11110;

/// How the outputs are connected to interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wiring {
    /// All to one interrupt.
    Together,
    /// Updates to the first, captures and compares to the second.
    Apart,
}

#[derive(Clone, Debug)]
pub struct Stm32Timer {
    registers: [u32; 32],
    status: u32,
    /// The largest value of the counter.
    most: u32,
    /// The values of PSC and ARR that are in effect; both registers are buffered.
    prescaler: u32,
    reload: u32,
    counter: Counter,
    wiring: Wiring,
}

impl Stm32Timer {
    pub fn new(bits: u8, wiring: Wiring) -> Self {
        let most = if bits >= 32 { u32::MAX } else { 0xFFFF };
        let mut registers = [0; 32];
        registers[ARR] = most;
        Self {
            registers,
            status: 0,
            most,
            prescaler: 0,
            reload: most,
            counter: Counter::new(Rate::every(1), u64::from(most) + 1),
            wiring,
        }
    }

    /// Returns the counting rate. A timer counts twice as fast as a divided bus clock (RM0090, 7.2).
    const fn rate(&self, ratio: ClockRatio) -> Rate {
        let bus = if ratio.divisor > 1 { ratio.divisor / 2 } else { 1 };
        Rate::every((self.prescaler as u64 + 1) * bus)
    }

    /// Sets flags for everything up to a cycle, with the settings of one period.
    fn note(&mut self, now: u64) {
        if self.counter.has_passed(now, 0) {
            self.status |= UPDATE;
        }
        for channel in 0..4 {
            if self.counter.has_passed(now, self.registers[CCR1 + channel].into()) {
                self.status |= 2 << channel;
            }
        }
        self.counter.observe(now);
    }

    /// Puts PSC and ARR into effect.
    fn load(&mut self, now: u64, ratio: ClockRatio) {
        self.prescaler = self.registers[PSC] & 0xFFFF;
        self.reload = self.registers[ARR];
        self.counter.set_rate(now, self.rate(ratio));
        self.counter.set_period(now, u64::from(self.reload) + 1);
        self.run(now);
    }

    /// Starts the counter, unless its period is a single count: a counter that would restart at zero right
    /// after zero does not count.
    fn run(&mut self, now: u64) {
        if self.registers[CR1] & ENABLE != 0 && self.reload > 0 {
            self.counter.start(now);
        } else {
            self.counter.stop(now);
        }
    }

    /// Returns whether the next update changes something.
    fn waits_for_update(&self) -> bool {
        self.registers[CR1] & ONE_PULSE != 0
            || self.prescaler != self.registers[PSC] & 0xFFFF
            || self.reload != self.registers[ARR]
    }
}

impl DeviceModel for Stm32Timer {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x10 => self.status,
            0x14 => 0,
            0x24 => {
                let copy = self.registers[CR1] & COPY_UPDATE_FLAG != 0;
                self.counter.value(env.now) as u32 | (u32::from(copy) & self.status) << 31
            }
            0x00..=0x7C => self.registers[(offset / 4) as usize],
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x10 => self.status &= value | !mask,
            0x14 => {
                self.status |= value & CHANNELS;
                if value & UPDATE != 0 {
                    if self.registers[CR1] & UPDATES_BY_OVERFLOW_ONLY == 0 {
                        self.status |= UPDATE;
                    }
                    self.counter.set(env.now, 0);
                    self.load(env.now, env.ratio);
                }
            }
            0x24 => self.counter.set(env.now, (value & self.most).into()),
            0x00..=0x7C => {
                let at = (offset / 4) as usize;
                self.registers[at] = self.registers[at] & !mask | value;
                match at {
                    CR1 => self.run(env.now),
                    ARR => {
                        self.registers[ARR] &= self.most;
                        if self.registers[CR1] & PRELOAD_ARR == 0 {
                            self.reload = self.registers[ARR];
                            self.counter.set_period(env.now, u64::from(self.reload) + 1);
                            self.run(env.now);
                        }
                    }
                    _ => {}
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        let raised = self.status & self.registers[DIER];
        match self.wiring {
            Wiring::Together => u32::from(raised & (UPDATE | CHANNELS) != 0),
            Wiring::Apart => raised & UPDATE | u32::from(raised & CHANNELS != 0) << 1,
        }
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        if self.waits_for_update()
            && let Some(update) = self.counter.cycle_of_value(0).filter(|update| *update <= now)
        {
            self.note(update);
            if self.registers[CR1] & ONE_PULSE != 0 {
                self.registers[CR1] &= !ENABLE;
                self.counter.stop(update);
            }
            self.load(update, ratio);
        }
        self.note(now);
        self.counter.set_rate(now, self.rate(ratio));
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let wanted = self.registers[DIER] & !self.status;
        let mut due = self.counter.cycle_of_value(0).filter(|_| wanted & UPDATE != 0);
        for channel in 0..4 {
            if wanted & 2 << channel != 0 {
                due = earlier(
                    due,
                    self.counter.cycle_of_value(self.registers[CCR1 + channel].into()),
                );
            }
        }
        due
    }
}
