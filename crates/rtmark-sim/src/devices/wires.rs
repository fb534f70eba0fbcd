//! Signals between the devices of a chip: events to the PPI, tasks from it, pins.
//!
//! Devices do not know each other. After each look at a device, its [`Signals`] are taken from it and
//! passed on by [`Devices`].

use super::nrf::{self, DrivenByTasks, FIRST_EVENT, NrfGpiote};
use super::{AttachedDevice, Device, DeviceModel, Devices, each};

/// The edges of a device's outputs, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputEdges {
    pub rising: u32,
    pub falling: u32,
}

impl OutputEdges {
    /// Adds those from some levels to others.
    pub const fn note(&mut self, before: u32, after: u32) {
        self.rising |= after & !before;
        self.falling |= before & !after;
    }

    const fn are_none(self) -> bool {
        self.rising | self.falling == 0
    }
}

/// What a device has to signal to others since this was last queried.
#[derive(Debug, Default)]
pub struct Signals {
    /// Events that a channel of the PPI listens to, one bit each.
    pub events: u32,
    /// Bytes that it has written to memory by itself, with their addresses.
    pub stores: Vec<(u32, u8)>,
    /// The pins driven by its tasks, if these or their levels have changed.
    pub driven: Option<DrivenByTasks>,
    /// A pin has the level for which the device senses.
    pub sensed: bool,
    /// The edges of its outputs, for EXTI: for a port, those of the pins that nothing outside drives.
    pub edges: OutputEdges,
    /// The levels of the pins of a bank that nothing outside drives, if any has changed.
    pub levels: Option<[u32; 2]>,
}

impl Signals {
    pub fn of(events: u32) -> Self {
        Self { events, ..Self::default() }
    }

    pub const fn is_empty(&self) -> bool {
        self.events == 0
            && self.stores.is_empty()
            && self.driven.is_none()
            && !self.sensed
            && self.edges.are_none()
            && self.levels.is_none()
    }
}

impl AttachedDevice {
    /// Returns the bit of the event at an address, if it belongs to this device.
    fn event(&self, address: u32) -> Option<u32> {
        nrf::event_at(address.checked_sub(self.base)?)
    }

    fn has_end(&self, offset: u32) -> bool {
        each!(&self.device, it => it.has_end(offset))
    }

    fn publish(&mut self, events: u32) {
        each!(&mut self.device, it => it.publish(events));
    }
}

impl Devices {
    /// Returns the position of the PPI, if there is one.
    fn ppi(&self) -> Option<usize> {
        self.attached.iter().position(|attached| matches!(attached.device, Device::NrfPpi(_)))
    }

    /// Tells each device which of its events channels listen to. Returns the positions of the devices for
    /// which that has changed.
    pub fn publish(&mut self, now: u64) -> Vec<usize> {
        let Some(ppi) = self.ppi() else { return Vec::new() };
        let Device::NrfPpi(channels) = &self.attached[ppi].device else { return Vec::new() };
        let heard: Vec<_> = channels.subscribed_events().collect();
        let mut changed = Vec::new();
        for at in 0..self.attached.len() {
            let ratio = self.ratio(at);
            let attached = &mut self.attached[at];
            let events = heard.iter().filter_map(|event| attached.event(*event));
            let events = events.fold(0, |events, event| events | event);
            if std::mem::replace(&mut attached.heard, events) != events {
                attached.settle(now, ratio);
                attached.publish(events);
                changed.push(at);
            }
        }
        changed
    }

    /// Returns the addresses of those ends of enabled channels in a mask that have no model.
    pub fn unmodelled_ends(&self, channels: u32) -> Vec<u32> {
        let Some(ppi) = self.ppi() else { return Vec::new() };
        let Device::NrfPpi(ppi) = &self.attached[ppi].device else { return Vec::new() };
        let (mut events, mut tasks) = ppi.connected(channels);
        events.retain(|event| !self.is_end(*event, |offset| offset >= FIRST_EVENT));
        tasks.retain(|task| !self.is_end(*task, |offset| offset < FIRST_EVENT));
        events.append(&mut tasks);
        events.sort_unstable();
        events.dedup();
        events
    }

    /// Returns whether the register at an address is a task or an event of the wanted kind.
    fn is_end(&self, address: u32, wanted: impl Fn(u32) -> bool) -> bool {
        self.find(address).is_some_and(|at| {
            let attached = &self.attached[at];
            let offset = address - attached.base;
            wanted(offset) && offset.is_multiple_of(4) && attached.has_end(offset)
        })
    }

    /// Takes a device's signals since the last call.
    pub fn signals(&mut self, at: usize) -> Signals {
        each!(&mut self.attached[at].device, it => it.signals())
    }

    /// Passes a device's signals on to others. Returns the positions of the devices that received one.
    pub fn deliver(&mut self, at: usize, signals: &Signals, now: u64) -> Vec<usize> {
        let base = self.attached[at].base;
        let mut changed = Vec::new();
        for (place, attached) in self.attached.iter_mut().enumerate() {
            match &mut attached.device {
                Device::NrfPpi(ppi) if signals.events != 0 => ppi.notify(base, signals.events, now),
                Device::NrfGpiote(gpiote) if signals.sensed => gpiote.handle_detect(),
                Device::Exti(exti) if !signals.edges.are_none() => {
                    exti.notify(base, signals.edges, now);
                }
                Device::IoBank(bank) => match signals.levels {
                    Some(levels) => bank.follow(levels, now),
                    None => continue,
                },
                Device::NrfGpio(gpio) => match signals.driven {
                    Some(driven) => gpio.drive_by_tasks(driven, now),
                    None => continue,
                },
                _ => continue,
            }
            changed.push(place);
        }
        changed
    }

    /// Returns the addresses of the tasks that a device has to trigger by now, if it is the PPI, in the
    /// order in which they take place.
    pub fn triggered(&mut self, at: usize, now: u64) -> Vec<u32> {
        let base = self.attached[at].base;
        let Device::NrfPpi(ppi) = &mut self.attached[at].device else { return Vec::new() };
        let mut tasks = ppi.take_due_tasks(now);
        // A channel that one group enables and another one disables is enabled (PS, 6.16).
        tasks.sort_by_key(|task| (task.wrapping_sub(base) < 0x100 && task & 4 == 0, *task));
        let gpiote = self
            .attached
            .iter()
            .find(|attached| matches!(attached.device, Device::NrfGpiote(_)))
            .map(|attached| attached.base);
        if let Some(base) = gpiote {
            let all = tasks.clone();
            tasks.retain(|task| {
                let overrides = |other: &u32| {
                    NrfGpiote::overrides(other.wrapping_sub(base), task.wrapping_sub(base))
                };
                !all.iter().any(overrides)
            });
        }
        tasks
    }

    /// Returns the position of the device that has a task at an address.
    pub fn with_task(&self, task: u32) -> Option<usize> {
        let at = self.find(task)?;
        let offset = task - self.attached[at].base;
        (offset < FIRST_EVENT && self.attached[at].has_end(offset)).then_some(at)
    }
}
