//! PIT of i.MX RT (IMXRT1060RM, chapter "Periodic Interrupt Timer"): four timers that count down and begin again.

use rtmark_units::Hertz;

use crate::devices::supplies::OwnSupply;
use crate::devices::ticks::OwnTicks;
use crate::devices::{ClockRatio, DeviceModel, Env};

const CHANNELS: u32 = 4;
/// MCR: MDIS, which is set after a reset, and FRZ, which only concerns debuggers.
const DISABLED: u32 = 1 << 1;
const MCR_BITS: u32 = 3;
/// TCTRL: TEN, TIE and CHN; timers that are chained have no model.
const ENABLE: u32 = 1;
const INTERRUPT: u32 = 1 << 1;
const CHAINED: u32 = 1 << 2;

/// One of the timers.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    /// LDVAL, from which it counts the next time.
    load: u32,
    /// From what it has counted since the period `begin` of its clock.
    from: u32,
    begin: u64,
    control: u32,
    flag: bool,
}

impl Channel {
    const fn is_enabled(&self) -> bool {
        self.control & ENABLE != 0
    }

    /// Returns the period of the clock in which it next sets its flag.
    const fn expires(&self) -> u64 {
        self.begin + self.from as u64 + 1
    }

    /// Lets it count up to a period of the clock.
    fn settle(&mut self, tick: u64) {
        if !self.is_enabled() || tick < self.expires() {
            return;
        }
        self.flag = true;
        let each = u64::from(self.load) + 1;
        let more = (tick - self.expires()) / each;
        (self.begin, self.from) = (self.expires() + more * each, self.load);
    }
}

#[derive(Clone, Debug)]
pub struct NxpPit {
    ticks: OwnTicks,
    control: u32,
    channels: [Channel; CHANNELS as usize],
    /// Since which period of the clock all of them stand still.
    stopped: Option<u64>,
}

impl NxpPit {
    /// Creates one that is off, beside a core with this clock.
    pub fn new(core: Hertz) -> Self {
        Self {
            ticks: OwnTicks::new(core),
            control: DISABLED,
            channels: Default::default(),
            stopped: Some(0),
        }
    }

    /// Returns the period of the clock up to which the timers have counted.
    fn tick(&self, now: u64) -> u64 {
        self.stopped.unwrap_or_else(|| self.ticks.at(now))
    }

    /// Stops or continues all timers.
    fn set_control(&mut self, value: u32, now: u64) {
        self.control = value & MCR_BITS;
        let tick = self.ticks.at(now);
        match (self.control & DISABLED != 0, self.stopped) {
            (true, None) => self.stopped = Some(tick),
            (false, Some(since)) => {
                self.stopped = None;
                for channel in &mut self.channels {
                    channel.begin += tick - since;
                }
            }
            _ => {}
        }
    }
}

/// Returns the timer to which an offset belongs, and its register: LDVAL, CVAL, TCTRL, TFLG.
fn place(offset: u32) -> Option<(usize, u32)> {
    let offset = offset.checked_sub(0x100).filter(|offset| *offset < 0x10 * CHANNELS)?;
    Some(((offset / 0x10) as usize, offset % 0x10))
}

impl DeviceModel for NxpPit {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        if offset == 0 {
            return Some(self.control);
        }
        let tick = self.tick(env.now);
        let (at, register) = place(offset)?;
        let channel = &self.channels[at];
        Some(match register {
            0x0 => channel.load,
            0x4 if channel.is_enabled() => channel.from - (tick - channel.begin) as u32,
            0x4 => 0,
            0x8 => channel.control,
            _ => channel.flag.into(),
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        if offset == 0 {
            self.set_control(value, env.now);
            return Some(());
        }
        let tick = self.tick(env.now);
        let (at, register) = place(offset)?;
        let channel = &mut self.channels[at];
        match register {
            0x0 => channel.load = value,
            0x8 => {
                if value & ENABLE != 0 && !channel.is_enabled() {
                    (channel.begin, channel.from) = (tick, channel.load);
                }
                channel.control = value & (ENABLE | INTERRUPT | CHAINED);
                env.effects.without_model |= value & CHAINED != 0;
            }
            0xC => channel.flag &= value & 1 == 0,
            // CVAL is read-only.
            _ => {}
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        let requests = |it: &Channel| it.flag && it.control & INTERRUPT != 0;
        self.channels.iter().any(requests).into()
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        let tick = self.tick(now);
        self.channels.iter_mut().for_each(|channel| channel.settle(tick));
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let wanted = self.channels.iter().filter(|channel| {
            channel.is_enabled() && channel.control & INTERRUPT != 0 && !channel.flag
        });
        let first = wanted.map(Channel::expires).min().filter(|_| self.stopped.is_none())?;
        self.ticks.cycle_of(first)
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.ticks.set_core(now, ratio.core);
    }

    fn supply(&mut self, now: u64, supply: OwnSupply) {
        self.ticks.set_clock(now, supply.clock);
    }
}
