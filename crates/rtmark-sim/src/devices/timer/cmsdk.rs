//! Timer and dual timer of Arm's Cortex-M System Design Kit (DDI 0479, 4.1 and 4.2).

use super::down::Down;
use super::earlier;
use crate::devices::{ClockRatio, DeviceModel, Env};

const ENABLE: u32 = 1;
/// The pin EXTIN enables or clocks the timer.
const EXTERNAL_ENABLE: u32 = 1 << 1;
const EXTERNAL_CLOCK: u32 = 1 << 2;
const INTERRUPT: u32 = 1 << 3;

#[derive(Clone, Debug)]
pub struct Timer {
    control: u32,
    reload: u32,
    down: Down,
    status: bool,
}

impl Default for Timer {
    fn default() -> Self {
        Self { control: 0, reload: 0, down: Down::new(0), status: false }
    }
}

impl DeviceModel for Timer {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x0 => self.control,
            0x4 => self.down.value_at(env.now),
            0x8 => self.reload,
            0xC => u32::from(self.status),
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x0 => {
                self.control = value & 0xF;
                env.effects.without_model |= value & (EXTERNAL_ENABLE | EXTERNAL_CLOCK) != 0;
                self.down.change(env.now, |down| down.running = value & ENABLE != 0);
            }
            0x4 => self.down.change(env.now, |down| down.value = value),
            0x8 => {
                self.reload = value;
                self.down.change(env.now, |down| {
                    down.reload = Some(value).filter(|value| *value > 0);
                });
            }
            0xC => self.status &= value & 1 == 0,
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        u32::from(self.status)
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        // A zero is only recorded while the interrupt is enabled.
        self.status |= self.down.advance(now) && self.control & INTERRUPT != 0;
        if self.down.step != ratio.divisor {
            self.down.change(now, |down| down.step = ratio.divisor);
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.down.next_zero().filter(|_| self.control & INTERRUPT != 0 && !self.status)
    }
}

const DUAL_ONE_SHOT: u32 = 1;
const DUAL_32_BITS: u32 = 1 << 1;
const DUAL_INTERRUPT: u32 = 1 << 5;
const DUAL_PERIODIC: u32 = 1 << 6;
const DUAL_ENABLE: u32 = 1 << 7;

/// One of the two timers.
#[derive(Clone, Copy, Debug)]
struct Half {
    control: u32,
    load: u32,
    down: Down,
    raw: bool,
}

impl Half {
    fn configure(&mut self, now: u64, ratio: ClockRatio) {
        let (control, load) = (self.control, self.load);
        let most = if control & DUAL_32_BITS != 0 { u32::MAX } else { 0xFFFF };
        self.down.change(now, |down| {
            down.running = control & DUAL_ENABLE != 0;
            down.value &= most;
            down.reload = match control {
                _ if control & DUAL_ONE_SHOT != 0 => None,
                _ if control & DUAL_PERIODIC != 0 => Some(load & most),
                _ => Some(most),
            };
            down.step = ratio.divisor << (4 * (control >> 2 & 3).min(2));
        });
    }

    fn masked(&self) -> bool {
        self.raw && self.control & DUAL_INTERRUPT != 0
    }

    fn read(&self, offset: u32, now: u64) -> Option<u32> {
        Some(match offset {
            0x00 | 0x18 => self.load,
            0x04 => self.down.value_at(now),
            0x08 => self.control,
            0x0C => 0,
            0x10 => u32::from(self.raw),
            0x14 => u32::from(self.masked()),
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, env: &Env<'_>) -> Option<()> {
        match offset {
            0x00 => {
                self.load = value;
                self.down.value = value;
                self.down.since = env.now;
            }
            0x08 => self.control = value & 0xEF,
            0x0C => self.raw = false,
            0x18 => self.load = value,
            _ => return None,
        }
        if offset != 0x0C {
            self.configure(env.now, env.ratio);
        }
        Some(())
    }
}

#[derive(Clone, Debug)]
pub struct DualTimer {
    halves: [Half; 2],
}

impl Default for DualTimer {
    fn default() -> Self {
        let half = Half { control: 0x20, load: 0, down: Down::new(u32::MAX), raw: false };
        Self { halves: [half; 2] }
    }
}

impl DeviceModel for DualTimer {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        self.halves.get((offset / 0x20) as usize)?.read(offset % 0x20, env.now)
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        self.halves.get_mut((offset / 0x20) as usize)?.write(offset % 0x20, value, env)
    }

    /// Combined, first, second.
    fn outputs(&self, _: u64) -> u32 {
        let [one, two] = self.halves.map(|half| u32::from(half.masked()));
        (one | two) | one << 1 | two << 2
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        for half in &mut self.halves {
            half.raw |= half.down.advance(now);
            if half.down.step != ratio.divisor << (4 * (half.control >> 2 & 3).min(2)) {
                half.configure(now, ratio);
            }
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let [one, two] = self.halves.map(|half| {
            half.down.next_zero().filter(|_| half.control & DUAL_INTERRUPT != 0 && !half.raw)
        });
        earlier(one, two)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_reaches_zero_once_per_period() {
        let mut down = Down::new(3);
        down.change(10, |down| (down.running, down.reload) = (true, Some(4)));
        let values: Vec<_> = (10..20).map(|now| down.value_at(now)).collect();
        assert_eq!(values, [3, 2, 1, 0, 4, 3, 2, 1, 0, 4]);
        assert_eq!(down.next_zero(), Some(13));
        assert!(!down.advance(12) && down.advance(13) && !down.advance(17));
        assert_eq!(down.next_zero(), Some(18));
        assert!(down.advance(100));
        assert_eq!(down.next_zero(), Some(103));
        down.change(100, |down| down.reload = None);
        assert_eq!((down.value_at(500), down.next_zero()), (0, Some(103)));
        assert!(down.advance(200) && !down.advance(300));
        assert_eq!(down.next_zero(), None);
    }
}
