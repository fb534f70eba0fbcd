//! Accesses to the registers of devices, shared by all cores.

use super::receiver::Receiver;
use super::transmitter::Transmitter;
use super::{
    AttachedDevice, ClockRatio, Device, DeviceModel, Devices, Direction, Effects, Env,
    ReceivesBytes, Strictness, each, held,
};
use crate::devices::Console;
use crate::memory::Bus;
use crate::soc::SlowRead;
use crate::timing::LineMemories;

/// What devices can reach besides their registers.
pub struct DeviceContext<'a> {
    pub bus: &'a Bus,
    pub console: &'a mut Console,
    pub memories: &'a mut LineMemories,
}

impl Devices {
    /// Performs an action on a device in a given cycle; returns its result, and its effects outside the
    /// device.
    pub fn with_device<T>(
        &mut self,
        at: usize,
        now: u64,
        around: DeviceContext<'_>,
        act: impl FnOnce(&mut AttachedDevice, &mut Env<'_>) -> T,
    ) -> (T, Effects) {
        let DeviceContext { bus, console, memories } = around;
        let ratio = self.ratio(at);
        let effects = Effects::default();
        let mut env = Env { now, ratio, bus, console, memories: &mut *memories, effects };
        let result = act(&mut self.attached[at], &mut env);
        let mut effects = env.effects;
        if self.attached[at].enabled_by.is_some() {
            self.note_enabled(at);
        }
        if effects.registers_written {
            self.follow_registers(at, now, memories, &mut effects);
        }
        if let Some(fault) = effects.send_fault {
            *self.send_faults.entry((self.attached[at].base, fault)).or_default() += 1;
        }
        if let Some(channel) = effects.channel_enabled {
            effects.without_model |= self.is_channel_without_model(at, channel);
        }
        if let Some((pin, up)) = effects.pulled {
            self.pull(pin, up, &mut effects);
        }
        (result, effects)
    }

    /// Lets other devices, the core's clock and memories follow a block of registers that has been written.
    fn follow_registers(
        &mut self,
        at: usize,
        now: u64,
        memories: &mut LineMemories,
        effects: &mut Effects,
    ) {
        if self.attached[at].resets_others {
            self.follow_reset_registers(now, memories, effects);
        }
        let changed = || std::iter::once(&at).chain(&effects.affected);
        let sets_clock = changed().any(|at| self.attached[*at].sets_clock);
        let sets_waits = changed().any(|at| self.attached[*at].sets_waits);
        let supplies = changed().any(|at| self.attached[*at].supplies_others);
        effects.clock_changed = sets_clock && self.follow_clock_registers(now);
        if sets_waits {
            self.waits.set(|address| held(&self.attached, address), memories);
            effects.memory_changed = true;
        }
        if supplies {
            self.follow_supply_registers(now, effects);
        }
    }

    /// Records a device that the program has accessed before it was enabled, unless that makes no difference.
    #[cold]
    fn note_enabled(&mut self, at: usize) {
        let read = |address| held(&self.attached, address);
        let condition = &self.attached[at].enabled_by;
        let holds = condition.as_ref().is_none_or(|condition| condition.holds(&read));
        if !holds && self.attached[at].nonzero {
            self.not_enabled.insert(self.attached[at].base);
        }
        if holds || self.attached[at].nonzero {
            self.attached[at].enabled_by = None;
        }
    }

    /// Records what a read has returned: whether the register has no model, and whether the program waits
    /// in vain for it to change. A register without a model reads as zero.
    pub fn has_read(&mut self, at: usize, address: u32, value: Option<u32>, now: u64) -> u32 {
        let has_model = value.is_some_and(|value| !self.is_polled(at, address, value, now));
        if !has_model {
            self.record_unmodelled(address, Direction::Read);
        }
        value.unwrap_or(0)
    }

    /// Records the effects of a write: whether the register has no model, and whether the write starts
    /// something that has none.
    pub fn has_written(&mut self, at: usize, address: u32, written: Option<()>, effects: &Effects) {
        self.note_written(at);
        if written.is_none() || effects.without_model {
            self.record_unmodelled(address, Direction::Write);
        }
    }

    /// Records an access without a model, and refuses it under strict checking.
    pub fn record_unmodelled(&mut self, address: u32, direction: Direction) {
        self.note(address, direction);
        if self.strictness == Strictness::Strict {
            self.refused = Some(address);
        }
    }

    /// Returns the register without a model because of which the run must end, and clears it.
    pub const fn take_refused(&mut self) -> Option<u32> {
        self.refused.take()
    }
}

impl Device {
    /// Returns the receiving and the sending side of a UART.
    fn sides(&mut self) -> Option<(&mut Receiver, &Transmitter)> {
        match self {
            Self::Pl011(uart) => Some(uart.sides()),
            Self::CmsdkUart(uart) => Some(uart.sides()),
            Self::Stm32Usart(uart) => Some(uart.sides()),
            Self::NrfUarte(uart) => Some(uart.sides()),
            Self::SamUart(uart) => Some(uart.sides()),
            Self::NxpLpuart(uart) => Some(uart.sides()),
            _ => None,
        }
    }

    /// Returns the receiving side of a UART.
    pub fn receiver(&mut self) -> Option<&mut Receiver> {
        self.sides().map(|(receiver, _)| receiver)
    }

    /// Returns whether it is a UART whose flags can change only when bytes arrive, on a line where none do.
    pub fn awaits_bytes(&mut self, now: u64) -> bool {
        self.sides().is_some_and(|(receiver, transmitter)| {
            receiver.listens_in_vain() && transmitter.is_idle(now)
        })
    }

    /// Connects a new device to the line of the one before, from this cycle on.
    pub fn take_line(&mut self, before: &mut Self, now: u64) {
        if let (Some(receiver), Some(before)) = (self.receiver(), before.receiver()) {
            receiver.connect(before.remaining(), now);
        }
    }
}

impl AttachedDevice {
    /// Updates the device's state for everything that has happened up to now.
    pub fn settle(&mut self, now: u64, ratio: ClockRatio) {
        each!(&mut self.device, it => it.settle(now, ratio));
    }

    /// Returns the next cycle in which an output may rise by itself.
    pub(super) fn next_date(&self, ratio: ClockRatio) -> Option<u64> {
        each!(&self.device, it => it.due(ratio))
    }

    /// Returns the interrupt outputs now, and the next cycle in which one may rise by itself.
    pub fn outputs_and_due(&mut self, now: u64, ratio: ClockRatio) -> (u32, Option<u64>) {
        each!(&mut self.device, it => {
            it.settle(now, ratio);
            (it.outputs(now), it.due(ratio))
        })
    }

    /// Returns the offset of the register at an address, also of one that an alias for atomic writes reaches.
    pub const fn offset_of(&self, address: u32) -> u32 {
        let offset = address - self.base;
        if self.atomic_aliases { offset & 0xFFF } else { offset }
    }

    /// Returns the cycles by which an access exceeds one to memory that never waits; may be negative.
    pub fn extra_cycles(&self, address: u32, direction: Direction) -> i16 {
        let extra = self.extra_cycles[direction as usize];
        let is_slow = |slow: &SlowRead| {
            direction == Direction::Read && address.wrapping_sub(self.base) == slow.offset
        };
        let slow = self.slow_read.filter(is_slow).map_or(0, |slow| slow.cycles);
        extra + i16::from(slow)
    }

    /// Reads the register at an offset; returns `None` if it has no model.
    pub fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        let value = each!(&mut self.device, it => it.read(offset, env));
        self.nonzero |= value.is_some_and(|value| value != 0);
        value
    }

    /// Writes the bits of a register that `mask` selects; returns `None` if it has no model.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        self.nonzero |= value != 0;
        each!(&mut self.device, it => it.write(offset, value, mask, env))
    }

    /// Writes the bits of a word that a mask selects, at which `value` is already. Where a block has aliases for
    /// atomic writes, a narrow write reaches the whole word, with the value replicated over it (RP2040, 2.1.2 and
    /// 2.1.4; RP2350, 2.1.3 and 2.1.5). A register whose bits ones clear takes them from the alias that clears as
    /// from a plain write (RP2040, appendix A, WC). Returns `None` if there is no such register.
    pub fn store(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        if !self.atomic_aliases {
            return self.write(offset, value & mask, mask, env);
        }
        let (offset, operation) = (offset & 0xFFF, offset >> 12);
        let value = replicate(value, mask);
        let value = match operation {
            0 => value,
            1 => self.read(offset, env)? ^ value,
            2 => self.read(offset, env)? | value,
            _ if each!(&self.device, it => it.clears_by_ones(offset)) => value,
            _ => self.read(offset, env)? & !value,
        };
        self.write(offset, value, u32::MAX, env)
    }
}

/// Replicates a narrow value into every position of a word.
const fn replicate(value: u32, mask: u32) -> u32 {
    let narrow = (value & mask) >> mask.trailing_zeros();
    match mask.count_ones() {
        8 => narrow * 0x0101_0101,
        16 => narrow * 0x0001_0001,
        _ => value,
    }
}
