//! PPI of nRF51 and nRF52: events of peripherals trigger tasks of others, without the core (nRF52840 PS,
//! 6.16).
//!
//! A channel names an event and up to two tasks by the addresses of their registers.
//! [`crate::devices::Devices`] looks up which device has such a register, and reports ends that have no
//! model.
//!
//! A synchronous event takes one period of 16 MHz from one end to the other, other events up to one (PS,
//! 6.16). The phase of that clock is not modelled, so all of them take one full period.

use std::collections::BTreeSet;

use super::FIRST_EVENT;
use crate::devices::{ClockRatio, DeviceModel, Env};
use crate::soc::Peripheral;

/// The clock to which signals are synchronized.
const CLOCK_HZ: u32 = 16_000_000;
const CHANNELS: usize = 32;
/// The ends of channels from this one on are fixed in hardware.
const FIXED: usize = 20;
const GROUPS: usize = 6;
/// nRF51's PPI has 16 channels whose ends a program sets, four groups, and no forks.
const FEW_CHANNELS: usize = 16;
const FEW_GROUPS: usize = 4;
/// The end of the task registers: EN and DIS of each group.
const TASKS: u32 = 8 * GROUPS as u32;
const RADIO: u32 = 0x4000_1000;
const TIMER0: u32 = 0x4000_8000;
const RTC0: u32 = 0x4000_B000;
/// AAR and CCM, which share an address.
const CCM: u32 = 0x4000_F000;

/// Event and task of the channels whose ends are fixed (PS, 6.16.1).
const FIXED_ENDS: [[u32; 2]; CHANNELS - FIXED] = [
    [TIMER0 + 0x140, RADIO],
    [TIMER0 + 0x140, RADIO + 0x004],
    [TIMER0 + 0x144, RADIO + 0x010],
    [RADIO + 0x128, CCM],
    [RADIO + 0x100, CCM],
    [RADIO + 0x104, CCM + 0x004],
    [RADIO + 0x104, TIMER0 + 0x044],
    [RADIO + 0x10C, TIMER0 + 0x048],
    [RTC0 + 0x140, RADIO],
    [RTC0 + 0x140, RADIO + 0x004],
    [RTC0 + 0x140, TIMER0 + 0x00C],
    [RTC0 + 0x140, TIMER0],
];

#[derive(Clone, Debug)]
pub struct NrfPpi {
    /// The number of channels whose ends a program sets.
    free: usize,
    enabled: u32,
    /// The addresses of each channel's event and task.
    ends: [[u32; 2]; CHANNELS],
    /// The addresses of their second tasks.
    forks: [u32; CHANNELS],
    /// The channels of each group.
    groups: [u32; GROUPS],
    /// Core cycles from an event to its tasks.
    delay: u64,
    /// Tasks that will be triggered, with the cycle. A task that several events trigger in one cycle is
    /// triggered once.
    under_way: BTreeSet<(u64, u32)>,
}

impl NrfPpi {
    pub fn new(peripheral: &Peripheral, ratio: ClockRatio) -> Self {
        let mut ends = [[0; 2]; CHANNELS];
        ends[FIXED..].copy_from_slice(&FIXED_ENDS);
        Self {
            free: peripheral.channel_count(),
            enabled: 0,
            ends,
            forks: [0; CHANNELS],
            groups: [0; GROUPS],
            delay: u64::from(ratio.core.0.div_ceil(CLOCK_HZ)).max(1),
            under_way: BTreeSet::new(),
        }
    }

    /// Returns the enabled channels in a mask.
    fn channels(&self, among: u32) -> impl Iterator<Item = usize> + '_ {
        (0..CHANNELS).filter(move |channel| self.enabled & among & 1 << channel != 0)
    }

    /// Returns the addresses of a channel's tasks.
    fn tasks(&self, channel: usize) -> impl Iterator<Item = u32> + '_ {
        [self.ends[channel][1], self.forks[channel]].into_iter().filter(|task| *task != 0)
    }

    /// Returns the addresses of events that enabled channels listen to.
    pub fn subscribed_events(&self) -> impl Iterator<Item = u32> + '_ {
        self.channels(u32::MAX).map(|channel| self.ends[channel][0])
    }

    /// Returns the addresses of the events and of the tasks that enabled channels in a mask connect.
    pub fn connected(&self, among: u32) -> (Vec<u32>, Vec<u32>) {
        let (mut events, mut tasks) = (Vec::new(), Vec::new());
        for channel in self.channels(among) {
            let event = self.ends[channel][0];
            if event != 0 && self.tasks(channel).next().is_some() {
                events.push(event);
                tasks.extend(self.tasks(channel));
            }
        }
        (events, tasks)
    }

    /// Receives events of the peripheral at an address, one bit each.
    pub fn notify(&mut self, base: u32, events: u32, now: u64) {
        let at = now.saturating_add(self.delay);
        let incoming = |event: u32| {
            let number = event.wrapping_sub(base.wrapping_add(FIRST_EVENT)) / 4;
            number < 32 && events >> number & 1 == 1
        };
        let channels = self.channels(u32::MAX).filter(|channel| incoming(self.ends[*channel][0]));
        let tasks: Vec<_> = channels.flat_map(|channel| self.tasks(channel)).collect();
        self.under_way.extend(tasks.into_iter().map(|task| (at, task)));
    }

    /// Returns the addresses of the tasks that are triggered by now.
    pub fn take_due_tasks(&mut self, now: u64) -> Vec<u32> {
        let mut tasks = Vec::new();
        while let Some((_, task)) = self.under_way.first().copied().filter(|(at, _)| *at <= now) {
            self.under_way.pop_first();
            tasks.push(task);
        }
        tasks
    }

    /// Returns the channel and the end that the register at an offset sets.
    fn end(offset: u32) -> Option<(usize, usize)> {
        let word = (offset.checked_sub(0x510)? / 4) as usize;
        (word < 2 * CHANNELS).then_some((word / 2, word % 2))
    }

    const fn groups(&self) -> usize {
        if self.free > FEW_CHANNELS { GROUPS } else { FEW_GROUPS }
    }

    /// Returns whether there is a register at an offset.
    fn has(&self, offset: u32) -> bool {
        let has_all = self.free > FEW_CHANNELS;
        let in_end = Self::end(offset).is_none_or(|(at, _)| at < self.free || at >= FIXED);
        let in_task = offset >= TASKS || (offset as usize) < 8 * self.groups();
        let in_group = Self::word(offset, 0x800, GROUPS).is_none_or(|at| at < self.groups());
        let in_fork = has_all || Self::word(offset, 0x910, CHANNELS).is_none();
        in_end && in_task && in_group && in_fork
    }

    /// Returns the channels among some that exist.
    const fn existing(&self, channels: u32) -> u32 {
        channels & !((1 << FIXED) - (1 << self.free))
    }

    fn word(offset: u32, first: u32, count: usize) -> Option<usize> {
        let word = (offset.checked_sub(first)? / 4) as usize;
        (word < count).then_some(word)
    }
}

impl DeviceModel for NrfPpi {
    fn read(&mut self, offset: u32, _: &mut Env<'_>) -> Option<u32> {
        Some(match offset {
            _ if !self.has(offset) => return None,
            0x000..TASKS => 0,
            0x500 | 0x504 | 0x508 => self.enabled,
            _ => {
                if let Some((channel, which)) = Self::end(offset) {
                    self.ends[channel][which]
                } else if let Some(group) = Self::word(offset, 0x800, GROUPS) {
                    self.groups[group]
                } else {
                    self.forks[Self::word(offset, 0x910, CHANNELS)?]
                }
            }
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        let before = self.enabled;
        let mut changed = 0;
        match offset {
            _ if !self.has(offset) => return None,
            0x000..TASKS if value & 1 == 0 => {}
            0x000..TASKS => {
                let group = self.groups[(offset / 8) as usize];
                let enables = offset & 4 == 0;
                self.enabled = if enables { self.enabled | group } else { self.enabled & !group };
            }
            0x500 => self.enabled = self.existing(value),
            0x504 => self.enabled |= self.existing(value),
            0x508 => self.enabled &= !value,
            _ => {
                if let Some((channel, which)) = Self::end(offset) {
                    if channel < FIXED {
                        self.ends[channel][which] = value;
                        changed = 1 << channel;
                    }
                } else if let Some(group) = Self::word(offset, 0x800, GROUPS) {
                    self.groups[group] = self.existing(value);
                } else {
                    let channel = Self::word(offset, 0x910, CHANNELS)?;
                    self.forks[channel] = value;
                    changed = 1 << channel;
                }
            }
        }
        if self.enabled != before || self.enabled & changed != 0 {
            env.effects.connected = Some(self.enabled & (!before | changed));
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        0
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.under_way.first().map(|(at, _)| *at)
    }

    fn has_end(&self, offset: u32) -> bool {
        offset < TASKS && self.has(offset)
    }
}
