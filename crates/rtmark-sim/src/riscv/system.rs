//! Everything outside the core: memories, the core-local timer, peripherals.

use super::isa::op::Width;
use super::timing::{CachedLine, FetchedLines, Memory};
use crate::devices::{
    AttachedDevice, Console, DeviceContext, Devices, Direction, Effects, Env, MachineTimer,
};
use crate::memory::{Bus, Place};
use crate::soc::Soc;
use crate::timing::{LineMemories, LineMemory};

/// Wait states of the two ports, in addition to those of the memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PortWaits {
    /// Of every instruction fetch.
    pub instruction: u8,
    /// Of every load and store.
    pub data: u8,
}

/// The most bytes after an instruction that are fetched during its passage.
const FETCH_AHEAD: u32 = 16;

/// The system outside the core.
#[derive(Clone, Debug)]
pub struct System {
    pub bus: Bus,
    pub timer: Option<MachineTimer>,
    pub devices: Devices,
    pub console: Console,
    /// The interrupt outputs of the devices, one bit for each external interrupt.
    pub outputs: u64,
    /// Whether a register outside the core has been read or written.
    touched: bool,
    /// The caches of memories that have one, which devices may control.
    edges: LineMemories,
    /// Whether each memory has a cache, in the order of the soc file.
    cached: Vec<bool>,
    /// The cycle until which a cached memory is busy with a transfer.
    busy_until: u64,
    /// The current cycle.
    pub now: u64,
    pub ports: PortWaits,
    /// Wait states of each memory, in the order of the soc file.
    waits: Vec<u8>,
}

impl System {
    pub fn new(soc: &Soc) -> Self {
        let edges = soc.memories.iter().map(|memory| LineMemory::new(memory.timing));
        let devices = Devices::new(soc);
        Self {
            bus: Bus::new(soc, |memory| {
                memory.timing.wait_states == 0 && memory.timing.cache_lines == 0
            }),
            timer: MachineTimer::of(soc, devices.clock_history().clock()),
            devices,
            console: Console::default(),
            outputs: 0,
            touched: false,
            edges: LineMemories::new(edges.collect()),
            cached: soc.memories.iter().map(|memory| memory.timing.cache_lines > 0).collect(),
            busy_until: 0,
            now: 0,
            ports: PortWaits::default(),
            waits: soc.memories.iter().map(|memory| memory.timing.wait_states).collect(),
        }
    }

    /// Empties the caches of memories.
    pub fn empty_caches(&mut self) {
        self.edges.for_each(LineMemory::empty);
    }

    /// Returns the place of an address, if it is in a memory with a cache.
    fn cached_place(&self, address: u32) -> Option<Place> {
        self.bus.place(address).filter(|place| self.cached[place.memory])
    }

    /// Returns the wait states of a transfer that begins in the next cycle. In a memory with a
    /// cache it waits for the previous one, since both ports share the path.
    fn memory_waits(&self, address: u32) -> u8 {
        if self.waits.iter().all(|waits| *waits == 0) {
            return 0;
        }
        let Some(place) = self.bus.place(address) else { return 0 };
        if !self.cached[place.memory] {
            return self.waits[place.memory];
        }
        let begins = self.busy_until.max(self.now + 1);
        let busy = begins - (self.now + 1);
        let own = self.edges[place.memory].read_wait(place.offset, begins);
        u8::try_from(busy + own).unwrap_or(u8::MAX)
    }

    /// Returns the wait states of a load or store.
    pub fn data_waits(&self, address: u32, writes: bool) -> u8 {
        let waits = self.ports.data.saturating_add(self.memory_waits(address));
        if self.bus.place(address).is_some() {
            return waits;
        }
        let device = self.devices.find(address).map(|at| &self.devices.attached[at]);
        let direction = if writes { Direction::Write } else { Direction::Read };
        let extra = device.map_or(0, |device| device.extra_cycles(address, direction));
        waits.saturating_add(u8::try_from(extra).unwrap_or(0))
    }

    /// Returns the place of an address and the wait states of loads and stores there, if it is in a
    /// memory with constant wait states.
    pub fn steady_place(&self, address: u32) -> Option<(Place, u8)> {
        let place = self.bus.place(address).filter(|place| !self.cached[place.memory])?;
        Some((place, self.ports.data.saturating_add(self.waits[place.memory])))
    }

    /// Reads from the flash that was read last, if its wait states never vary or a cache has the line as the latest
    /// of its set. Returns the bytes and the wait states.
    #[inline(always)]
    pub fn near_flash<const BYTES: usize>(&self, address: u32) -> Option<([u8; BYTES], u8)> {
        if !self.bus.is_near_code(address) {
            return None;
        }
        let (bytes, place) = self.bus.near_code(address)?;
        if self.cached[place.memory] {
            // With waits, what it takes would also depend on what is fetched meanwhile.
            let is_quick =
                self.ports.data == 0 && self.edges[place.memory].has_latest(place.offset);
            return is_quick.then_some((bytes, 0));
        }
        Some((bytes, self.ports.data.saturating_add(self.waits[place.memory])))
    }

    /// Updates the cache for a load or store whose data phase ends in a cycle.
    pub fn record_access(&mut self, address: u32, ends: u64) {
        if let Some(place) = self.cached_place(address) {
            self.edges[place.memory].has_read(place.offset, ends);
            self.busy_until = self.busy_until.max(ends);
        }
    }

    /// Returns the line at a place in a cached memory, unless its number is too large to be kept.
    fn cached_line(&self, place: Place) -> Option<CachedLine> {
        let offset = self.edges[place.memory].line_begin(place.offset);
        Some(CachedLine { memory: place.memory.try_into().ok()?, offset })
    }

    /// Returns whether a cache holds a line, so that fetching from it does not wait.
    #[inline(always)]
    pub fn holds(&self, line: CachedLine) -> bool {
        self.edges[line.memory.into()].keeps(line.offset)
    }

    /// Returns whether a cache holds a line as the latest of its set, so that using it changes nothing.
    #[inline(always)]
    pub fn has_latest(&self, line: CachedLine) -> bool {
        self.edges[line.memory.into()].has_latest(line.offset)
    }

    /// Records the use of a line that a cache holds.
    pub fn used(&mut self, line: CachedLine) {
        let _is_held = self.use_held(line);
    }

    /// Returns whether caches hold all of these lines.
    #[inline(always)]
    pub fn holds_all(&self, lines: &FetchedLines) -> bool {
        lines.all().iter().all(|line| self.holds(*line))
    }

    /// Records the uses of lines that caches hold.
    #[inline(always)]
    pub fn used_all(&mut self, lines: &FetchedLines) {
        lines.all().iter().for_each(|line| self.used(*line));
    }

    /// Uses a line if a cache holds it. Returns whether that is so.
    #[inline(always)]
    pub fn use_held(&mut self, line: CachedLine) -> bool {
        self.edges[line.memory.into()].use_held(line.offset)
    }

    /// Returns whether a transfer from a cached memory makes one that begins in this cycle wait.
    pub const fn is_transferring(&self, cycle: u64) -> bool {
        self.busy_until > cycle + 1
    }

    /// Watches for stores to known code at an address, including what is fetched ahead and stores
    /// that begin before it.
    pub fn cover(&mut self, pc: u32) {
        if self.bus.place(pc).is_some_and(|place| self.bus.is_writable(place.memory)) {
            let writes = &mut self.bus.code_writes;
            writes.cover((pc & !3).saturating_sub(4));
            writes.cover(pc.saturating_add(FETCH_AHEAD));
        }
    }

    /// Returns whether a load or store at an address gets a response without an error.
    pub fn answers(&self, address: u32, writes: bool) -> bool {
        match self.bus.place(address) {
            Some(Place { memory, .. }) => {
                !writes || self.bus.is_writable(memory) || self.devices.is_open(memory)
            }
            None => {
                self.timer.as_ref().is_some_and(|timer| timer.offset(address).is_some())
                    || self.devices.find(address).is_some()
                    || self.devices.is_unmodelled(address)
            }
        }
    }

    /// Returns the bits of the instruction at an address, with the upper half zero at the end of
    /// memory. Returns `None` if there is no memory.
    pub fn code(&self, address: u32) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.bus.peek(address, &mut bytes) >= 2).then_some(u32::from_le_bytes(bytes))
    }

    /// Loads a value; the data phase ends in `cycle`. Returns `None` if nothing responds.
    pub fn load(&mut self, address: u32, width: Width, cycle: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        let length = width.bytes() as usize;
        if self.bus.peek(address, &mut bytes[..length]) < length {
            let word = u64::from(self.read_register(address & !3, cycle)?);
            let crosses = (address & 3) as usize + length > 4;
            let behind = if crosses { self.read_register((address & !3) + 4, cycle)? } else { 0 };
            let both = u64::from(behind) << 32 | word;
            bytes = ((both >> (8 * (address & 3))) as u32).to_le_bytes();
        }
        let word = u32::from_le_bytes(bytes);
        Some(match width {
            Width::Byte => word as i8 as u32,
            Width::ByteUnsigned => word & 0xFF,
            Width::Half => word as i16 as u32,
            Width::HalfUnsigned => word & 0xFFFF,
            Width::Word => word,
        })
    }

    /// Stores a value; the data phase ends in `cycle`. Returns `None` if nothing accepts it.
    pub fn store(&mut self, address: u32, width: Width, value: u32, cycle: u64) -> Option<()> {
        let [a, b, c, d] = value.to_le_bytes();
        let stored = match width.bytes() {
            1 => self.bus.store(address, [a]),
            2 => self.bus.store(address, [a, b]),
            _ => self.bus.store(address, [a, b, c, d]),
        };
        if stored.is_some() {
            return Some(());
        }
        let bits = 8 * (address & 3);
        let mask = u64::from(u32::MAX >> (32 - 8 * width.bytes())) << bits;
        let value = u64::from(value) << bits;
        self.write_register(address, mask as u32, value as u32, cycle)?;
        match (mask >> 32) as u32 {
            0 => Some(()),
            mask => self.write_register((address & !3) + 4, mask, (value >> 32) as u32, cycle),
        }
    }

    /// Returns whether a register outside the core has been read or written since the last call.
    pub const fn take_register_access(&mut self) -> bool {
        std::mem::replace(&mut self.touched, false)
    }

    fn read_register(&mut self, address: u32, cycle: u64) -> Option<u32> {
        self.touched = true;
        if let Some(timer) = &mut self.timer
            && let Some(offset) = timer.offset(address)
        {
            return Some(timer.read(offset, cycle).unwrap_or(0));
        }
        let Some(at) = self.devices.find(address) else {
            return self.devices.access_unmodelled(address, Direction::Read);
        };
        let offset = self.devices.attached[at].offset_of(address) & !3;
        let (value, _) = self.with_device(at, cycle, |device, env| device.read(offset, env));
        Some(self.devices.has_read(at, address, value, cycle))
    }

    /// Writes the bits of a register that a mask selects.
    fn write_register(&mut self, address: u32, mask: u32, value: u32, cycle: u64) -> Option<()> {
        self.touched = true;
        if let Some(timer) = &mut self.timer
            && let Some(offset) = timer.offset(address)
        {
            if timer.write(offset, value >> (8 * (address & 3)), cycle).is_none() {
                self.devices.record_unmodelled(address, Direction::Write);
            }
            return Some(());
        }
        let Some(at) = self.devices.find(address) else {
            if let Some(programmed) =
                self.devices.program_flash(&mut self.bus, address, value, mask)
            {
                self.bus.code_writes.dirty = true;
                if let Some(register) = programmed.without_model {
                    self.devices.record_unmodelled(register, Direction::Write);
                }
                return Some(());
            }
            return self.devices.access_unmodelled(address, Direction::Write).map(drop);
        };
        let offset = (address - self.devices.attached[at].base) & !3;
        let (written, effects) =
            self.with_device(at, cycle, |device, env| device.store(offset, value, mask, env));
        self.devices.has_written(at, address, written, &effects);
        self.bus.code_writes.dirty |= self.devices.apply_to_flash(&effects.flash, &mut self.bus);
        for at in &effects.affected {
            self.look_at_device(*at, cycle);
        }
        if effects.clock_changed
            && let Some(timer) = &mut self.timer
        {
            timer.core_clock_changed(cycle, self.devices.clock_history().clock());
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
        let context = DeviceContext { bus, console, memories };
        let result = self.devices.with_device(at, now, context, act);
        self.look_at_device(at, now);
        result
    }

    /// Takes over a device's outputs and the cycle of its next event.
    fn look_at_device(&mut self, at: usize, now: u64) {
        self.devices.update_outputs(at, now);
        let signals = self.devices.signals(at);
        if !signals.is_empty() {
            for changed in self.devices.deliver(at, &signals, now) {
                self.devices.update_outputs(changed, now);
            }
        }
        let high = self.devices.attached.iter().flat_map(|attached| {
            let lines = attached.irq.iter().enumerate();
            lines.filter(|(output, _)| attached.outputs >> output & 1 == 1).map(|(_, irq)| *irq)
        });
        self.outputs = high.filter(|irq| *irq < 64).fold(0, |lines, irq| lines | 1 << irq);
    }

    /// Processes all device events due by a cycle.
    pub fn process_device_events(&mut self, now: u64) {
        if self.devices.next > now {
            return;
        }
        for at in 0..self.devices.attached.len() {
            if self.devices.attached[at].due.is_some_and(|due| due <= now) {
                self.look_at_device(at, now);
            }
        }
    }
}

impl Memory for System {
    fn fetch_waits(&mut self, address: u32) -> u8 {
        let waits = self.memory_waits(address);
        if let Some(place) = self.cached_place(address) {
            let ends = self.now + 1 + u64::from(waits);
            self.edges[place.memory].has_read(place.offset, ends);
            self.busy_until = ends + 1;
        }
        self.ports.instruction.saturating_add(waits)
    }

    fn halfwords(&self, address: u32) -> [u16; 2] {
        let mut bytes = [0xFF; 4];
        self.bus.peek(address, &mut bytes);
        let [a, b, c, d] = bytes;
        [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])]
    }
}

/// The system, as far as its caches hold whatever is fetched: determines what happens then, and remembers the lines.
pub struct CachedFetches<'s> {
    system: &'s mut System,
    lines: Option<FetchedLines>,
}

impl<'s> CachedFetches<'s> {
    pub fn new(system: &'s mut System) -> Self {
        Self { system, lines: Some(FetchedLines::default()) }
    }
}

impl Memory for CachedFetches<'_> {
    fn fetch_waits(&mut self, address: u32) -> u8 {
        let Some(place) = self.system.cached_place(address) else {
            return self.system.fetch_waits(address);
        };
        let mut lines = self.lines;
        let line = self.system.cached_line(place);
        let is_kept = lines.as_mut().zip(line).is_some_and(|(lines, line)| lines.add(line));
        self.lines = lines.filter(|_| is_kept);
        self.system.ports.instruction
    }

    fn halfwords(&self, address: u32) -> [u16; 2] {
        self.system.halfwords(address)
    }

    fn granted(&self) -> Option<FetchedLines> {
        self.lines
    }
}
