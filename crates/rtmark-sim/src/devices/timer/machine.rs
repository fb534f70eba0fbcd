//! The core-local timer of RISC-V: MTIME, MTIMECMP and the software interrupt. RP2350's Arm cores have it as well.
//!
//! Sources: the RISC-V privileged specification, 3.2.1; for the register layouts, RP2350 datasheet,
//! 3.1.8 and 3.1.11 (SIO), and the SiFive FU540-C000 manual, 9 (CLINT).

use std::ops::Range;

use rtmark_units::Hertz;

use crate::devices::{ClockRatio, DeviceModel, Env};
use crate::soc::{Peripheral, PeripheralKind, Soc};

/// The layout of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerLayout {
    /// That of SiFive's core-local interruptor.
    Clint,
    /// That of RP2350's SIO.
    Sio,
}

impl TimerLayout {
    /// Returns the bytes of address space.
    pub const fn extent(self) -> u32 {
        match self {
            Self::Clint => 0x1_0000,
            Self::Sio => 0x1000,
        }
    }

    /// Returns the register at an offset.
    const fn register(self, offset: u32) -> Option<Register> {
        Some(match (self, offset & !3) {
            (Self::Clint, 0) => Register::Software,
            (Self::Clint, 0x4000) => Register::Compare,
            (Self::Clint, 0x4004) => Register::CompareHigh,
            (Self::Clint, 0xBFF8) => Register::Time,
            (Self::Clint, 0xBFFC) => Register::TimeHigh,
            (Self::Sio, 0x1A0) => Register::SetOrClear,
            (Self::Sio, 0x1A4) => Register::Control,
            (Self::Sio, 0x1B0) => Register::Time,
            (Self::Sio, 0x1B4) => Register::TimeHigh,
            (Self::Sio, 0x1B8) => Register::Compare,
            (Self::Sio, 0x1BC) => Register::CompareHigh,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug)]
enum Register {
    /// MSIP
    Software,
    /// RISCV_SOFTIRQ: bit 0 sets, bit 8 clears.
    SetOrClear,
    /// MTIME_CTRL, as far as it selects what is counted: with FULLSPEED (bit 1) cycles, else ticks
    /// of a microsecond.
    Control,
    Time,
    TimeHigh,
    Compare,
    CompareHigh,
}

/// A pending store. Its value takes effect in the cycle after its data phase.
#[derive(Clone, Copy, Debug)]
struct Store {
    after: u64,
    offset: u32,
    value: u32,
}

/// How often the time advances: a number of ticks in a number of core cycles, in lowest terms.
#[derive(Clone, Copy, Debug)]
struct Rate {
    ticks: u64,
    cycles: u64,
}

impl Rate {
    /// A tick in every cycle.
    const FULL: Self = Self { ticks: 1, cycles: 1 };

    /// Returns the rate of microseconds. A core's clock need not be a whole number of MHz.
    fn of_microseconds(clock: Hertz) -> Self {
        let (ticks, cycles) = (1_000_000, u64::from(clock.0.max(1)));
        let (mut divisor, mut rest) = (ticks, cycles);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self { ticks: ticks / divisor, cycles: cycles / divisor }
    }

    /// Returns the ticks before a cycle.
    const fn ticks(self, cycle: u64) -> u64 {
        if self.ticks == 1 {
            return cycle / self.cycles;
        }
        (cycle as u128 * self.ticks as u128 / self.cycles as u128) as u64
    }

    /// Returns the cycle that begins with a tick.
    fn cycle(self, tick: u64) -> Option<u64> {
        let cycles = u128::from(tick) * u128::from(self.cycles);
        u64::try_from(cycles.div_ceil(u128::from(self.ticks))).ok()
    }
}

/// The timer.
#[derive(Clone, Debug)]
pub struct MachineTimer {
    /// The address to which register offsets are relative, and the addresses of the implemented
    /// ones.
    base: u32,
    addresses: Range<u32>,
    layout: TimerLayout,
    microseconds: Rate,
    /// Whether it counts cycles rather than microseconds.
    full_speed: bool,
    /// The value added to the ticks since reset.
    ahead: u64,
    compare: u64,
    software: bool,
    coming: Option<Store>,
    /// The external interrupts that its output drives as well, one bit each.
    external: u64,
}

impl MachineTimer {
    pub fn new(addresses: Range<u32>, layout: TimerLayout, clock: Hertz) -> Self {
        // A SIO's offsets are relative to the whole block.
        let (base, full_speed) = match layout {
            TimerLayout::Clint => (addresses.start, true),
            TimerLayout::Sio => (addresses.start & !(layout.extent() - 1), false),
        };
        let microseconds = Rate::of_microseconds(clock);
        Self {
            base,
            addresses,
            layout,
            microseconds,
            full_speed,
            ahead: 0,
            compare: u64::MAX,
            software: false,
            coming: None,
            external: 0,
        }
    }

    /// Creates the timer of a soc whose core runs at a clock, if it has one.
    pub fn of(soc: &Soc, clock: Hertz) -> Option<Self> {
        soc.peripherals.iter().find_map(|peripheral| {
            let layout = match peripheral.kind {
                PeripheralKind::RiscvClint => TimerLayout::Clint,
                PeripheralKind::Rp2350RiscvTimer => TimerLayout::Sio,
                _ => return None,
            };
            Some(Self::at(peripheral, layout, clock))
        })
    }

    fn at(peripheral: &Peripheral, layout: TimerLayout, clock: Hertz) -> Self {
        let size = peripheral.size.unwrap_or(layout.extent());
        let addresses = peripheral.base..peripheral.base.saturating_add(size);
        let external = peripheral.irq.iter().fold(0, |lines, irq| lines | 1 << (irq & 63));
        Self { external, ..Self::new(addresses, layout, clock) }
    }

    /// Returns the offset of an address, if it belongs to the timer.
    pub fn offset(&self, address: u32) -> Option<u32> {
        self.addresses.contains(&address).then(|| address - self.base)
    }

    const fn rate(&self) -> Rate {
        if self.full_speed { Rate::FULL } else { self.microseconds }
    }

    const fn time(&self, cycle: u64) -> u64 {
        self.rate().ticks(cycle).wrapping_add(self.ahead)
    }

    /// Changes what a tick is, from a cycle on. The time goes on from its value.
    fn change_tick(&mut self, cycle: u64, change: impl FnOnce(&mut Self)) {
        let time = self.time(cycle);
        change(self);
        self.ahead = time.wrapping_sub(self.rate().ticks(cycle));
    }

    /// Keeps the length of a microsecond when the core's clock changes in a cycle.
    pub fn core_clock_changed(&mut self, cycle: u64, clock: Hertz) {
        self.settle(cycle);
        self.change_tick(cycle, |timer| {
            timer.microseconds = Rate::of_microseconds(clock);
        });
    }

    /// Reads a register in a cycle. Returns `None` if there is none.
    pub fn read(&mut self, offset: u32, cycle: u64) -> Option<u32> {
        self.settle(cycle);
        Some(match self.layout.register(offset)? {
            Register::Software | Register::SetOrClear => u32::from(self.software),
            // EN, and both DBGPAUSE bits: the timer pauses while a debugger halts a core.
            Register::Control => 0b1101 | u32::from(self.full_speed) << 1,
            Register::Time => self.time(cycle) as u32,
            Register::TimeHigh => (self.time(cycle) >> 32) as u32,
            Register::Compare => self.compare as u32,
            Register::CompareHigh => (self.compare >> 32) as u32,
        })
    }

    /// Writes a register; the data phase ends in `cycle`. Returns `None` if there is none, or if the time would
    /// stand still (EN = 0), which has no model.
    pub fn write(&mut self, offset: u32, value: u32, cycle: u64) -> Option<()> {
        self.settle(cycle);
        let register = self.layout.register(offset)?;
        self.coming = Some(Store { after: cycle, offset, value });
        (!matches!(register, Register::Control) || value & 1 != 0).then_some(())
    }

    /// Performs the pending store once it is due.
    fn settle(&mut self, cycle: u64) {
        let Some(Store { after, offset, value }) = self.coming else { return };
        if cycle <= after {
            return;
        }
        self.coming = None;
        let low = |whole: u64| whole & !0xFFFF_FFFF | u64::from(value);
        let high = |whole: u64| whole & 0xFFFF_FFFF | u64::from(value) << 32;
        let ticks = self.rate().ticks(after + 1);
        match self.layout.register(offset) {
            Some(Register::Software) => self.software = value & 1 != 0,
            Some(Register::SetOrClear) => {
                self.software = (self.software || value & 1 != 0) && value & 0x100 == 0;
            }
            Some(Register::Control) => {
                self.change_tick(after + 1, |timer| timer.full_speed = value & 2 != 0);
            }
            Some(Register::Time) => self.ahead = low(self.time(after + 1)).wrapping_sub(ticks),
            Some(Register::TimeHigh) => self.ahead = high(self.time(after + 1)).wrapping_sub(ticks),
            Some(Register::Compare) => self.compare = low(self.compare),
            Some(Register::CompareHigh) => self.compare = high(self.compare),
            None => {}
        }
    }

    /// Returns whether the outputs of the timer and of the software interrupt are high in a cycle.
    pub fn outputs(&mut self, cycle: u64) -> (bool, bool) {
        self.settle(cycle);
        (self.time(cycle) >= self.compare, self.software)
    }

    /// Returns the external interrupts that its output drives as well, one bit each.
    pub const fn external(&self) -> u64 {
        self.external
    }

    /// Returns the first cycle, from the given one on, in which an output changes on its own.
    pub fn due(&self, cycle: u64) -> Option<u64> {
        if let Some(store) = self.coming {
            return Some((store.after + 1).max(cycle));
        }
        let ticks = self.compare.checked_sub(self.time(cycle))?;
        let due = self.rate().cycle(self.rate().ticks(cycle).checked_add(ticks)?)?;
        (due >= cycle).then_some(due)
    }
}

/// RP2350's timer beside an Arm core, which has its interrupt at the NVIC (datasheet, 3.1.8). The software interrupt
/// reaches RISC-V cores only.
#[derive(Clone, Debug)]
pub struct SioTimer {
    timer: MachineTimer,
    /// The cycle of the last look.
    seen: u64,
}

impl SioTimer {
    pub fn new(peripheral: &Peripheral, clock: Hertz) -> Self {
        Self { timer: MachineTimer::at(peripheral, TimerLayout::Sio, clock), seen: 0 }
    }

    const fn offset(&self, within: u32) -> u32 {
        self.timer.addresses.start - self.timer.base + within
    }
}

impl DeviceModel for SioTimer {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.timer.read(self.offset(offset), env.now)
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        // At once, as those of other devices: a store of the same cycle may follow.
        let now = env.now.max(1);
        let written = self.timer.write(self.offset(offset), value, now - 1);
        self.timer.settle(now);
        written
    }

    fn outputs(&self, now: u64) -> u32 {
        (self.timer.time(now) >= self.timer.compare).into()
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        self.timer.settle(now);
        self.seen = now;
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.timer.due(self.seen)
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.timer.core_clock_changed(now, ratio.core);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Hertz = Hertz(150_000_000);
    const TIME_CTRL: u32 = 0x1A4;
    const TIME: u32 = 0x1B0;
    const COMPARE: [u32; 2] = [0x1B8, 0x1BC];

    #[test]
    fn the_due_cycle_is_right_after_any_change_of_rate() {
        for (control, since) in [(0xD, 7_u64), (0xF, 7), (0xF, 100_000), (0xD, 100_000)] {
            let mut timer = MachineTimer::new(0xD000_01A0..0xD000_01C0, TimerLayout::Sio, CLOCK);
            timer.write(TIME_CTRL, control, since).expect("a register");
            timer.write(COMPARE[1], 0, since + 2).expect("a register");
            let now = timer.read(TIME, since + 3).expect("a register");
            timer.write(COMPARE[0], now + 5, since + 4).expect("a register");
            timer.outputs(since + 6);
            let due = timer.due(since + 6).expect("an interrupt comes");
            assert!(!timer.outputs(due - 1).0, "{control:x} since {since}: not before {due}");
            assert!(timer.outputs(due).0, "{control:x} since {since}: at {due}");
        }
    }

    #[test]
    fn microseconds_keep_their_length_and_cycles_theirs() {
        let mut timer = MachineTimer::new(0xD000_01A0..0xD000_01C0, TimerLayout::Sio, CLOCK);
        timer.core_clock_changed(1_500, Hertz(12_000_000));
        assert_eq!(timer.read(TIME, 1_500 + 120), Some(10 + 10));
        timer.core_clock_changed(1_620, Hertz(150_000_000));
        assert_eq!(timer.read(TIME, 1_620 + 1_500), Some(20 + 10));
        timer.write(TIME_CTRL, 0xF, 3_119).expect("a register");
        timer.core_clock_changed(4_120, Hertz(12_000_000));
        assert_eq!(timer.read(TIME, 4_130), Some(30 + 1_000 + 10));
    }

    #[test]
    fn a_microsecond_need_not_be_a_whole_number_of_cycles() {
        let mut timer =
            MachineTimer::new(0xD000_01A0..0xD000_01C0, TimerLayout::Sio, Hertz(133_333_333));
        // 10 ms are 1333333.33 cycles.
        assert_eq!(timer.read(TIME, 1_333_333), Some(9_999));
        assert_eq!(timer.read(TIME, 1_333_334), Some(10_000));
        timer.write(COMPARE[1], 0, 1_333_340).expect("a register");
        timer.write(COMPARE[0], 20_000, 1_333_341).expect("a register");
        timer.outputs(1_333_343);
        // 20 ms are 2666666.66 cycles.
        assert_eq!(timer.due(1_333_343), Some(2_666_667));
        assert!(!timer.outputs(2_666_666).0 && timer.outputs(2_666_667).0);
    }
}
