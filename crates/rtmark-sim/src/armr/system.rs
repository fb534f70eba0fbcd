//! Everything outside the core: memories, the interrupt controller, peripherals.

use super::gic::{FIRST_EXTERNAL, FIRST_SHARED, Gic, InterruptLine, exception};
use crate::devices::{
    AttachedDevice, Console, DeviceContext, Devices, Direction, Effects, Env, OutputChanges,
};
use crate::memory::Bus;
use crate::soc::{MemoryTiming, Soc};
use crate::timing::{LineMemories, LineMemory};

/// The system outside the core.
#[derive(Clone, Debug)]
pub struct System {
    pub bus: Bus,
    pub devices: Devices,
    pub console: Console,
    pub gic: Option<Gic>,
    /// Interrupt inputs of a soc without a controller; each is high until it is taken.
    pub direct: Vec<u16>,
    /// Interrupts that become pending later, the earliest first.
    pub scheduled: Vec<(u64, u16)>,
    /// Exceptions that have become pending, with their cycles, for watches.
    pub risen: Vec<(u64, u16)>,
    /// The read paths that devices would control; memories have none in this model.
    edges: LineMemories,
    /// Whether a register has been read or written.
    touched: bool,
}

impl System {
    pub fn new(soc: &Soc) -> Self {
        let edges = soc.memories.iter().map(|_| LineMemory::new(MemoryTiming::default()));
        Self {
            // The timing of memories is modelled elsewhere, not by the bus.
            bus: Bus::new(soc, |_| true),
            devices: Devices::new(soc),
            console: Console::default(),
            gic: Gic::of(soc),
            direct: Vec::new(),
            scheduled: Vec::new(),
            risen: Vec::new(),
            edges: LineMemories::new(edges.collect()),
            touched: false,
        }
    }

    /// Returns whether a register has been read or written since the last call.
    pub const fn take_register_access(&mut self) -> bool {
        std::mem::replace(&mut self.touched, false)
    }

    /// Returns the word at an address, if there is memory. Bytes past its end are zero.
    pub fn code(&self, address: u32) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.bus.peek(address, &mut bytes) >= 2).then_some(u32::from_le_bytes(bytes))
    }

    /// Returns whether a load or store at an address gets a response.
    pub fn answers(&self, address: u32, writes: bool) -> bool {
        match self.bus.place(address) {
            Some(place) => !writes || self.bus.is_writable(place.memory),
            None => {
                self.gic.as_ref().is_some_and(|gic| gic.offset(address).is_some())
                    || self.devices.find(address).is_some()
                    || self.devices.is_unmodelled(address)
            }
        }
    }

    /// Loads 1, 2 or 4 bytes, little-endian. Returns `None` if nothing responds.
    #[inline]
    pub fn load(&mut self, address: u32, bytes: u32, cycle: u64) -> Option<u32> {
        let loaded = match bytes {
            1 => self.bus.ram_load(address).map(|[byte]: [u8; 1]| byte.into()),
            2 => self.bus.ram_load(address).map(|half| u16::from_le_bytes(half).into()),
            _ => self.bus.ram_load(address).map(u32::from_le_bytes),
        };
        loaded.or_else(|| self.load_elsewhere(address, bytes, cycle))
    }

    fn load_elsewhere(&mut self, address: u32, bytes: u32, cycle: u64) -> Option<u32> {
        let loaded = match bytes {
            1 => self.bus.load(address).map(|([byte], _)| byte.into()),
            2 => self.bus.load(address).map(|(half, _)| u16::from_le_bytes(half).into()),
            _ => self.bus.load(address).map(|(word, _)| u32::from_le_bytes(word)),
        };
        if loaded.is_some() {
            return loaded;
        }
        let value = self.read_register(address & !3, cycle)? >> (8 * (address & 3));
        Some(if bytes == 4 { value } else { value & (u32::MAX >> (32 - 8 * bytes)) })
    }

    /// Stores 1, 2 or 4 bytes. Returns `None` if nothing accepts them.
    #[inline]
    pub fn store(&mut self, address: u32, bytes: u32, value: u32, cycle: u64) -> Option<()> {
        let [a, b, c, d] = value.to_le_bytes();
        let stored = match bytes {
            1 => self.bus.ram_store(address, [a]),
            2 => self.bus.ram_store(address, [a, b]),
            _ => self.bus.ram_store(address, [a, b, c, d]),
        };
        if stored { Some(()) } else { self.store_elsewhere(address, bytes, value, cycle) }
    }

    fn store_elsewhere(&mut self, address: u32, bytes: u32, value: u32, cycle: u64) -> Option<()> {
        let [a, b, c, d] = value.to_le_bytes();
        let stored = match bytes {
            1 => self.bus.store(address, [a]),
            2 => self.bus.store(address, [a, b]),
            _ => self.bus.store(address, [a, b, c, d]),
        };
        if stored.is_some() {
            return Some(());
        }
        self.write_register(address, bytes, value, cycle)
    }

    /// Loads or stores consecutive words if that has no other effect. Returns whether it did.
    #[inline]
    pub fn move_words(&mut self, address: u32, words: &mut [u32], writes: bool) -> bool {
        let count = words.len() as u32;
        if writes {
            let Some(places) = self.bus.ram_words_mut(address, count) else { return false };
            places.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        } else {
            let Some(places) = self.bus.ram_words(address, count) else { return false };
            places.iter().zip(words).for_each(|(place, word)| *word = u32::from_le_bytes(*place));
        }
        true
    }

    fn read_register(&mut self, address: u32, cycle: u64) -> Option<u32> {
        if let Some(gic) = &mut self.gic
            && let Some(offset) = gic.offset(address)
        {
            self.touched = true;
            return Some(gic.read(offset));
        }
        let Some(at) = self.devices.find(address) else {
            return self.devices.access_unmodelled(address, Direction::Read);
        };
        self.touched = true;
        let offset = address - self.devices.attached[at].base;
        let (value, _) = self.with_device(at, cycle, |device, env| device.read(offset, env));
        Some(self.devices.has_read(at, address, value, cycle))
    }

    fn write_register(&mut self, address: u32, bytes: u32, value: u32, cycle: u64) -> Option<()> {
        let bits = 8 * (address & 3);
        let mask = (u32::MAX >> (32 - 8 * bytes.min(4))) << bits;
        if let Some(gic) = &mut self.gic
            && let Some(offset) = gic.offset(address)
        {
            self.touched = true;
            let before = Gic::writes_pending(offset).then(|| gic.all_pending());
            gic.write(offset & !3, value << bits, mask);
            for (word, before) in (0..).zip(before.into_iter().flatten()) {
                let mut rises = gic.all_pending()[usize::from(word)] & !before;
                while rises != 0 {
                    let id = 32 * word + rises.trailing_zeros() as u16;
                    self.risen.push((cycle, exception(id)));
                    rises &= rises - 1;
                }
            }
            return Some(());
        }
        let Some(at) = self.devices.find(address) else {
            return self.devices.access_unmodelled(address, Direction::Write).map(drop);
        };
        self.touched = true;
        let offset = (address - self.devices.attached[at].base) & !3;
        let value = value << bits & mask;
        let (written, effects) =
            self.with_device(at, cycle, |device, env| device.write(offset, value, mask, env));
        self.devices.has_written(at, address, written, &effects);
        for at in &effects.affected {
            self.look_at_device(*at, cycle);
        }
        Some(())
    }

    fn with_device<T>(
        &mut self,
        at: usize,
        now: u64,
        act: impl FnOnce(&mut AttachedDevice, &mut Env<'_>) -> T,
    ) -> (T, Effects) {
        let (bus, console, memories) = (&self.bus, &mut self.console, &mut self.edges);
        let around = DeviceContext { bus, console, memories };
        let result = self.devices.with_device(at, now, around, act);
        self.look_at_device(at, now);
        result
    }

    /// Takes over a device's outputs and the cycle of its next event.
    fn look_at_device(&mut self, at: usize, now: u64) {
        let OutputChanges { changed, .. } = self.devices.update_outputs(at, now);
        let attached = &self.devices.attached[at];
        let irqs = attached.irq.iter().enumerate();
        for (output, irq) in irqs.filter(|(output, _)| changed >> output & 1 == 1) {
            let high = attached.outputs >> output & 1 == 1;
            if let Some(gic) = &mut self.gic {
                gic.drive(irq + FIRST_SHARED, high);
            } else if high {
                self.direct.push(*irq);
            } else {
                self.direct.retain(|other| other != irq);
            }
            if high {
                self.risen.push((now, FIRST_EXTERNAL + *irq));
            }
        }
    }

    /// Returns the next cycle in which an interrupt input may change.
    pub fn next(&self) -> u64 {
        let scheduled = self.scheduled.first().map_or(u64::MAX, |(at, _)| *at);
        self.devices.next.min(scheduled)
    }

    /// Schedules an interrupt to become pending at a cycle; see `pass`.
    pub fn schedule(&mut self, interrupt: u16, at: u64) {
        let place = self.scheduled.partition_point(|(other, _)| *other <= at);
        self.scheduled.insert(place, (at, interrupt));
    }

    /// Processes all events due by a cycle.
    pub fn process_events(&mut self, now: u64) {
        while let Some(&(at, interrupt)) = self.scheduled.first()
            && at <= now
        {
            self.scheduled.remove(0);
            self.risen.push((at, FIRST_EXTERNAL + interrupt));
            match &mut self.gic {
                Some(gic) => gic.pend(interrupt + FIRST_SHARED),
                None => self.direct.push(interrupt),
            }
        }
        for at in 0..self.devices.attached.len() {
            if let Some(due) = self.devices.attached[at].due.filter(|due| *due <= now) {
                self.look_at_device(at, due);
            }
        }
    }

    /// Returns the interrupt signalled to the core: the exception, as far as it is known yet, and
    /// the line.
    pub fn interrupt(&self) -> Option<(u16, InterruptLine)> {
        match &self.gic {
            Some(gic) => gic.signalled().map(|id| (exception(id), gic.line(id))),
            None => self
                .direct
                .first()
                .map(|interrupt| (FIRST_EXTERNAL + *interrupt, InterruptLine::Irq)),
        }
    }

    /// Records that an exception has been taken. Without a controller, that clears its input.
    pub fn record_exception_taken(&mut self, exception: u16) {
        if self.gic.is_none() {
            self.direct.retain(|other| FIRST_EXTERNAL + *other != exception);
        }
    }
}
