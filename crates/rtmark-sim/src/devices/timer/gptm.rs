//! General-purpose timer module of LM3S, as a timer of 32 bits or two of 16 (datasheet DS-LM3S6965, general-purpose
//! timers). Its real-time clock, captures, PWM and triggers of the ADC have no model.

use super::down::Down;
use super::earlier;
use crate::devices::{ClockRatio, DeviceModel, Env};

/// GPTMCFG: one timer of 32 bits, or two of 16.
const WIDE: u32 = 0;
const PAIR: u32 = 4;
/// GPTMTnMR: the mode, and PWM.
const MODE: u32 = 3;
const ONE_SHOT: u32 = 1;
const PERIODIC: u32 = 2;
const PWM: u32 = 1 << 3;
/// GPTMCTL of timer A; those of B are eight bits further on, as in the registers of interrupts.
const ENABLE: u32 = 1;
const ADC_TRIGGER: u32 = 1 << 5;
/// The only interrupt with a model: the time-out.
const TIMEOUT: u32 = 1;

#[derive(Clone, Debug)]
pub struct Gptm {
    configuration: u32,
    modes: [u32; 2],
    control: u32,
    mask: u32,
    raw: u32,
    loads: [u32; 2],
    /// GPTMTnMATCHR, GPTMTnPR and GPTMTnPMR, in the order of their addresses.
    others: [u32; 6],
    downs: [Down; 2],
}

impl Default for Gptm {
    fn default() -> Self {
        Self {
            configuration: WIDE,
            modes: [0; 2],
            control: 0,
            mask: 0,
            raw: 0,
            loads: [0xFFFF; 2],
            others: [0xFFFF, 0xFFFF, 0, 0, 0, 0],
            downs: [Down::new(u32::MAX), Down::new(0xFFFF)],
        }
    }
}

impl Gptm {
    /// Returns the value from which a timer counts down.
    const fn load(&self, timer: usize) -> u32 {
        match (self.configuration, timer) {
            (PAIR, _) | (_, 1) => self.loads[timer],
            _ => self.loads[1] << 16 | self.loads[0],
        }
    }

    /// Returns whether a timer has a model as it is configured.
    const fn counts(&self, timer: usize) -> bool {
        let is_there = self.configuration == PAIR || self.configuration == WIDE && timer == 0;
        is_there && matches!(self.modes[timer] & (MODE | PWM), ONE_SHOT | PERIODIC)
    }

    /// Begins to count down from a timer's load.
    fn begin(&mut self, timer: usize, now: u64, ratio: ClockRatio) {
        let load = self.load(timer);
        let prescale = if self.configuration == PAIR { self.others[2 + timer] } else { 0 };
        let is_periodic = self.modes[timer] & MODE == PERIODIC;
        let counts = self.counts(timer) && self.control & ENABLE << (8 * timer) != 0;
        self.downs[timer].change(now, |down| {
            down.running = counts;
            down.value = load;
            down.reload = is_periodic.then_some(load);
            down.step = ratio.divisor * u64::from(prescale + 1);
        });
    }
}

impl DeviceModel for Gptm {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        let [first, second] = self.downs.map(|down| down.value_at(env.now));
        Some(match offset {
            0x00 => self.configuration,
            0x04 => self.modes[0],
            0x08 => self.modes[1],
            0x0C => self.control,
            0x18 => self.mask,
            0x1C => self.raw,
            0x20 => self.raw & self.mask,
            0x24 => 0,
            0x28 => self.load(0),
            0x2C => self.loads[1],
            0x30..=0x44 => self.others[((offset - 0x30) / 4) as usize],
            0x48 => first,
            0x4C if self.configuration == PAIR => second,
            0x4C => first >> 16,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        let Env { now, ratio, .. } = *env;
        match offset {
            0x00 => self.configuration = value & 7,
            0x04 | 0x08 => self.modes[(offset / 4 - 1) as usize] = value & 0xF,
            0x0C => {
                let rising = value & !self.control;
                self.control = value & 0x6F7F;
                env.effects.without_model |= value & (ADC_TRIGGER | ADC_TRIGGER << 8) != 0;
                for timer in 0..2 {
                    let enable = ENABLE << (8 * timer);
                    if rising & enable != 0 {
                        env.effects.without_model |= !self.counts(timer);
                        self.begin(timer, now, ratio);
                    } else if value & enable == 0 {
                        self.downs[timer].change(now, |down| down.running = false);
                    }
                }
            }
            0x18 => {
                self.mask = value & 0x070F;
                env.effects.without_model |= self.mask & !(TIMEOUT | TIMEOUT << 8) != 0;
            }
            0x1C | 0x20 | 0x48 | 0x4C => {}
            0x24 => self.raw &= !value,
            0x28 | 0x2C => {
                let timer = ((offset - 0x28) / 4) as usize;
                self.loads[timer] = value & 0xFFFF;
                if timer == 0 && self.configuration != PAIR {
                    self.loads[1] = value >> 16;
                }
                // A counter that runs goes on from there.
                self.begin(timer, now, ratio);
            }
            0x30..=0x44 => self.others[((offset - 0x30) / 4) as usize] = value & 0xFFFF,
            _ => return None,
        }
        Some(())
    }

    /// Those of timer A and of timer B.
    fn outputs(&self, _: u64) -> u32 {
        let masked = self.raw & self.mask;
        u32::from(masked & 0xFF != 0) | u32::from(masked >> 8 != 0) << 1
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        for timer in 0..2 {
            if self.downs[timer].advance(now) {
                self.raw |= TIMEOUT << (8 * timer);
                if self.downs[timer].reload.is_none() {
                    self.control &= !(ENABLE << (8 * timer));
                    self.begin(timer, now, ratio);
                }
            }
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let next = |timer: usize| {
            let waits = self.mask & !self.raw & TIMEOUT << (8 * timer) != 0;
            self.downs[timer].next_zero().filter(|_| waits)
        };
        earlier(next(0), next(1))
    }
}
