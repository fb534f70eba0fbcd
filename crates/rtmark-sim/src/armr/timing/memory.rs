//! The waits that memory causes: line fills, uncached reads, and stores in flight.
//!
//! Hits and misses are exact given the replacement that `cache` documents. The soc file has the
//! latency of a miss: the cycles to the first 64 bits, and between the following ones. The rest
//! follows DDI 0460, 8.5, and DDI 0363, 9.3, as far as they specify it.

use super::cache::{Cache, LINE, Replacement};
use crate::armr::control::{CachePolicy, Kind};
use crate::armr::exec::Traffic;
use crate::soc::Soc;

/// The response time of a memory, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// To the first 64 bits; 0 for tightly coupled memory, which is never cached.
    pub first: u64,
    /// Between the following units of 64 bits.
    pub beat: u64,
}

/// The latency of a peripheral register. An estimate: no figure for accesses from this core has
/// been found.
const PERIPHERAL: Latency = Latency { first: 20, beat: 1 };
/// How many cycles before issue code is requested, if nothing stalls it: the queue holds four times
/// 64 bits (an estimate).
const FETCH_AHEAD: u64 = 4;
/// The age in cycles from which available code cannot delay any instruction.
pub const LONG_AGO: u64 = 256;
/// The most cycles until all earlier stores are done, for a store whose wait is computed in
/// advance.
const STORE_HORIZON: u64 = 100;
/// The most stores in flight (DDI 0460, 8.5.1).
const STORES: usize = 4;
/// The most line fills for data at a time (DDI 0460, 8.5.1).
const FILLS: usize = 2;

/// A line fill in progress, in units of 64 bits, the requested one first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fill {
    line: u32,
    /// The cycle in which the first 64 bits arrive, which unit that is, and the cycles between the
    /// others.
    first: u64,
    wanted: u32,
    beat: u64,
}

impl Fill {
    /// Returns when the 64 bits that contain an address arrive.
    const fn at(&self, address: u32) -> u64 {
        let place = (address / 8).wrapping_sub(self.wanted) % 4;
        self.first + place as u64 * self.beat
    }

    const fn end(&self) -> u64 {
        self.first + 3 * self.beat
    }
}

/// The delays of a load or store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Cycles for which no later instruction issues.
    pub stalls: u64,
    /// Cycles by which loaded words come late, for each line that they are in, from the first on.
    pub late: [u64; 6],
}

impl Waits {
    /// Returns the cycles for which no later instruction issues, if they are all that it waits, and
    /// fewer than 256.
    pub fn only_stalls(&self) -> Option<u64> {
        (self.late == [0; 6] && self.stalls < 256).then_some(self.stalls)
    }
}

/// The target of a store.
#[derive(Clone, Copy, Debug)]
struct Target {
    kind: Kind,
    /// Its cache policy, and whether its line hits.
    policy: Option<CachePolicy>,
    hits: bool,
    switches: Switches,
    latency: Latency,
}

/// Returns whether a condition holds for all lines of up to 16 words.
#[inline(always)]
fn in_lines(address: u32, words: u8, holds: impl Fn(u32) -> bool) -> bool {
    let last = address.wrapping_add(4 * u32::from(words)).wrapping_sub(4);
    holds(address) && holds(last) && (words <= 8 || holds(address.wrapping_add(LINE)))
}

/// The timing of the memory system.
#[derive(Clone, Debug)]
pub struct MemoryTimes {
    places: Vec<(u32, u32, Latency)>,
    pub instructions: Cache,
    pub data: Cache,
    fills: [Fill; FILLS],
    /// The cycle in which the last of them ends.
    quiet: u64,
    /// The line of code that has been fetched, or is being fetched.
    code: Fill,
    /// The cycle in which the bus is free for the next burst.
    bus: u64,
    /// The cycle in which an uncached read may begin.
    uncached: u64,
    /// The cycle in which each store in flight is done, the latest last, and the address of that
    /// one.
    stores: [u64; STORES],
    newest: u32,
    /// The cycles for which reads have waited.
    pub waited: u64,
}

/// The cache settings in SCTLR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    pub instructions: bool,
    pub data: bool,
    pub replacement: Replacement,
}

impl MemoryTimes {
    pub fn new(soc: &Soc) -> Self {
        let places = soc.memories.iter().map(|memory| {
            let timing = memory.timing;
            let first = u64::from(timing.wait_states);
            let beat = u64::from(timing.beat_cycles);
            (memory.base, memory.size, Latency { first, beat })
        });
        Self {
            places: places.collect(),
            instructions: Cache::default(),
            data: Cache::default(),
            fills: [Fill::default(); FILLS],
            quiet: 0,
            code: Fill { line: 1, ..Fill::default() },
            bus: 0,
            uncached: 0,
            stores: [0; STORES],
            newest: 1,
            waited: 0,
        }
    }

    #[inline]
    pub fn latency(&self, address: u32) -> Latency {
        let found = self.places.iter().find(|(base, size, _)| address.wrapping_sub(*base) < *size);
        found.map_or(PERIPHERAL, |(.., latency)| *latency)
    }

    /// Starts a burst of four times 64 bits, requested in a cycle.
    fn burst(&mut self, address: u32, asked: u64, latency: Latency) -> Fill {
        let first = (asked + latency.first).max(self.bus);
        let fill =
            Fill { line: address & !(LINE - 1), first, wanted: address / 8, beat: latency.beat };
        self.bus = fill.end() + latency.beat;
        fill
    }

    /// Returns when the code at an address is available, for an instruction that issues no sooner
    /// than `now`.
    pub fn fetch(&mut self, address: u32, kind: Kind, switches: Switches, now: u64) -> u64 {
        let line = address & !(LINE - 1);
        if self.code.line == line {
            return self.code.at(address);
        }
        let latency = self.latency(address);
        let cached = switches.instructions && !matches!(kind, Kind::Normal(CachePolicy::Uncached));
        let cached = cached && matches!(kind, Kind::Normal(_));
        if latency.first == 0 || cached && self.instructions.hits(line) {
            self.code = Fill { line, ..Fill::default() };
            return 0;
        }
        // The fill in progress completes first.
        let asked = now.saturating_sub(FETCH_AHEAD).max(self.code.end());
        self.code = self.burst(address, asked, latency);
        if cached {
            self.instructions.bring(line, switches.replacement);
        }
        self.waited += self.code.at(address).saturating_sub(now);
        self.code.at(address)
    }

    /// Returns whether a line of code needs no bus access: it is in the cache, or tightly coupled.
    pub fn holds_code(&self, address: u32, kind: Kind, switches: Switches) -> bool {
        let cached = switches.instructions
            && matches!(
                kind,
                Kind::Normal(CachePolicy::WriteThrough | CachePolicy::WriteBack { .. })
            );
        self.latency(address).first == 0 || cached && self.instructions.hits(address)
    }

    /// Returns whether a line is not the current line of code, or has been available for long.
    pub const fn is_settled(&self, line: u32, now: u64) -> bool {
        self.code.line != line || self.code.end() + LONG_AGO <= now
    }

    /// Records that code has been fetched up to an address, from lines that need no bus access.
    pub fn fetched(&mut self, address: u32) {
        let line = address & !(LINE - 1);
        if self.code.line != line {
            self.code = Fill { line, ..Fill::default() };
        }
    }

    /// Returns whether a read that hits the cache does not wait, whatever its address.
    #[inline(always)]
    pub const fn is_quiet(&self, now: u64) -> bool {
        self.quiet <= now
    }

    /// Returns whether stores in flight delay a store for less than 256 cycles.
    #[inline(always)]
    pub const fn takes_stores(&self, now: u64) -> bool {
        self.stores[STORES - 1] <= now + STORE_HORIZON
    }

    /// Returns whether a cached read of these bytes, in one line or two, does not wait.
    #[inline(always)]
    pub fn reads_without_wait(&self, address: u32, bytes: u32, now: u64) -> bool {
        let (first, last) = (address & !(LINE - 1), (address + bytes - 1) & !(LINE - 1));
        let is_cached = |line: u32| {
            let incoming = |fill: &Fill| fill.line == line && fill.end() > now;
            self.data.hits(line) && !self.fills.iter().any(incoming)
        };
        is_cached(first) && (last == first || is_cached(last))
    }

    /// Returns whether a cached store of these bytes waits only for earlier stores, and for less
    /// than 256 cycles.
    #[inline]
    pub fn stores_soon(&self, address: u32, bytes: u32, now: u64) -> bool {
        let (first, last) = (address / LINE, (address + bytes - 1) / LINE);
        let one = address / 8 == (address + bytes - 1) / 8;
        self.takes_stores(now) && (one || (first..=last).all(|line| self.data.hits(line * LINE)))
    }

    /// Performs a cached store to normal memory within 64 bits. Returns the cycles that it waits
    /// for a slot among the stores in flight.
    #[inline(always)]
    pub fn store_cached(
        &mut self,
        address: u32,
        policy: CachePolicy,
        switches: Switches,
        latency: Latency,
        now: u64,
    ) -> u64 {
        let line = address & !(LINE - 1);
        let hits = self.data.hits(line);
        if let (true, CachePolicy::WriteBack { .. }) = (hits, policy) {
            self.data.write(line);
        }
        let target =
            Target { kind: Kind::Normal(policy), policy: Some(policy), hits, switches, latency };
        let stalls = self.write_unit(address / 8, target, now);
        self.waited += stalls;
        stalls
    }

    /// Returns whether an aligned read is within a known line, and does not wait.
    #[inline(always)]
    pub const fn reads_known(&self, (address, bytes): (u32, u32), now: u64) -> bool {
        self.data.lines.reads(address, bytes) && self.is_quiet(now)
    }

    /// Returns whether reads of up to 16 words are within known lines, and do not wait.
    #[inline(always)]
    pub fn reads_known_words(&self, address: u32, count: u8, now: u64) -> bool {
        let lines = &self.data.lines;
        in_lines(address, count, |at| lines.reads(at, 4)) && self.is_quiet(now)
    }

    /// Returns whether an aligned write is within a known line, and waits only for earlier stores.
    #[inline(always)]
    pub const fn writes_known(&self, (address, bytes): (u32, u32), now: u64) -> bool {
        self.data.lines.writes(address, bytes) && self.takes_stores(now)
    }

    /// Returns whether writes of up to 16 words are within known lines, and wait only for earlier
    /// stores.
    #[inline(always)]
    pub fn writes_known_words(&self, address: u32, count: u8, now: u64) -> bool {
        let lines = &self.data.lines;
        in_lines(address, count, |at| lines.writes(at, 4)) && self.takes_stores(now)
    }

    /// Performs a store within 64 bits to a dirty line of a write-back page. Returns the cycles that
    /// it waits for a slot among the stores in flight.
    #[inline(always)]
    pub fn store_dirty(&mut self, address: u32, now: u64) -> u64 {
        let stalls = self.put_in_flight(address / 8, true, now, |_, before| before + 1);
        self.waited += stalls;
        stalls
    }

    /// Performs stores of words to dirty lines of write-back pages. Returns the cycles that they wait.
    #[inline(always)]
    pub fn store_dirty_words(&mut self, address: u32, count: u8, now: u64) -> u64 {
        let units = u32::from(count).div_ceil(2) + u32::from(count & 1 == 0 && address & 4 != 0);
        (0..units).fold(0, |stalls, unit| {
            stalls + self.store_dirty(address.wrapping_add(8 * unit), now + stalls)
        })
    }

    /// Discards fetched code.
    pub const fn refetch(&mut self) {
        self.code.line = 1;
    }

    /// Returns the delays of a load or store that issues in a cycle, if there are any.
    #[inline]
    pub fn access(&mut self, traffic: &Traffic, switches: Switches, now: u64) -> Option<Waits> {
        if self.hits(traffic, switches, now) {
            return None;
        }
        let waits = self.access_all(traffic, switches, now);
        (waits != Waits::default()).then_some(waits)
    }

    /// Returns whether a read within one line hits the cache while no fill is in progress.
    #[inline]
    fn hits(&self, traffic: &Traffic, switches: Switches, now: u64) -> bool {
        let Traffic { address, bytes, .. } = *traffic;
        let cached = matches!(
            traffic.kind,
            Kind::Normal(CachePolicy::WriteThrough | CachePolicy::WriteBack { .. })
        );
        switches.data
            && cached
            && !traffic.writes
            && address / LINE == address.wrapping_add(bytes - 1) / LINE
            && self.fills.iter().all(|fill| fill.end() <= now)
            && self.latency(address).first != 0
            && self.data.hits(address)
    }

    fn access_all(&mut self, traffic: &Traffic, switches: Switches, now: u64) -> Waits {
        let latency = self.latency(traffic.address);
        let mut waits = Waits::default();
        if latency.first == 0 {
            return waits;
        }
        let policy = match traffic.kind {
            Kind::Normal(policy) if switches.data => {
                Some(policy).filter(|it| *it != CachePolicy::Uncached)
            }
            _ => None,
        };
        let (begin, end) = (traffic.address, traffic.address.wrapping_add(traffic.bytes - 1));
        let lines = (end / LINE).wrapping_sub(begin / LINE) + 1;
        for at in 0..lines.min(6) {
            let line = (begin & !(LINE - 1)).wrapping_add(at * LINE);
            let from = if at == 0 { begin } else { line };
            let to = if at + 1 == lines { end } else { line | (LINE - 1) };
            let begins = now + waits.stalls;
            if traffic.reads {
                let (stalls, late) = match policy {
                    Some(_) => self.read_cached(from, switches, begins, latency),
                    None => self.read_bus(from, to, traffic.kind, begins, latency),
                };
                waits.stalls += stalls;
                waits.late[at as usize] = waits.stalls + late;
            }
            if traffic.writes {
                let begins = now + waits.stalls;
                waits.stalls +=
                    self.write(from, to, traffic.kind, policy, switches, begins, latency);
            }
        }
        self.waited += waits.late.iter().max().copied().unwrap_or(0).max(waits.stalls);
        waits
    }

    /// Performs a cached read. Returns its stall, and by how much it comes later than a hit.
    fn read_cached(
        &mut self,
        address: u32,
        switches: Switches,
        now: u64,
        latency: Latency,
    ) -> (u64, u64) {
        let line = address & !(LINE - 1);
        if self.data.hits(line) {
            let coming = self.fills.iter().find(|fill| fill.line == line && fill.end() > now);
            return (0, coming.map_or(0, |fill| fill.at(address).saturating_sub(now)));
        }
        let (stalls, fill) = self.bring(address, switches, now, latency);
        (stalls, fill.first - (now + stalls))
    }

    /// Fills a line of data. Returns how long it waits for one of the two buffers, and the fill.
    fn bring(
        &mut self,
        address: u32,
        switches: Switches,
        now: u64,
        latency: Latency,
    ) -> (u64, Fill) {
        let free = self.fills.iter().map(Fill::end).min().unwrap_or(0);
        let stalls = free.saturating_sub(now);
        let fill = self.burst(address, now + stalls, latency);
        self.quiet = self.quiet.max(fill.end());
        if let Some(oldest) = self.fills.iter_mut().min_by_key(|fill| fill.end()) {
            *oldest = fill;
        }
        // A dirty line is written back after the fill.
        if self.data.bring(address, switches.replacement) {
            self.bus += 4 * latency.beat;
        }
        (stalls, fill)
    }

    /// Performs an uncached read, one at a time (on an AM263x, 32 consecutive reads take 32 times
    /// as long as one: TI's memory access benchmark).
    fn read_bus(
        &mut self,
        from: u32,
        to: u32,
        kind: Kind,
        now: u64,
        latency: Latency,
    ) -> (u64, u64) {
        let ordered = !matches!(kind, Kind::Normal(_));
        let stores = if ordered { self.stores[STORES - 1] } else { 0 };
        let begins = now.max(self.uncached).max(stores);
        let beats = u64::from(to / 8 - from / 8);
        let end = (begins + latency.first).max(self.bus) + beats * latency.beat;
        self.uncached = end;
        (begins - now, end - begins)
    }

    /// Performs a store. Returns the cycles that it waits for a slot among the stores in flight.
    #[expect(clippy::too_many_arguments, reason = "one place calls it, with what it has at hand")]
    fn write(
        &mut self,
        from: u32,
        to: u32,
        kind: Kind,
        policy: Option<CachePolicy>,
        switches: Switches,
        now: u64,
        latency: Latency,
    ) -> u64 {
        let line = from & !(LINE - 1);
        let hits = policy.is_some() && self.data.hits(line);
        if let (true, Some(CachePolicy::WriteBack { .. })) = (hits, policy) {
            self.data.write(line);
        }
        let target = Target { kind, policy, hits, switches, latency };
        (from / 8..=to / 8)
            .fold(0, |stalls, unit| stalls + self.write_unit(unit, target, now + stalls))
    }

    /// Performs a store within 64 bits. Returns the cycles that it waits for a slot among the
    /// stores in flight.
    #[inline(always)]
    fn write_unit(&mut self, unit: u32, target: Target, now: u64) -> u64 {
        let Target { kind, policy, hits, switches, latency } = target;
        let merges = matches!(kind, Kind::Normal(_));
        self.put_in_flight(unit, merges, now, |memory, before| match (policy, kind) {
            (Some(CachePolicy::WriteBack { .. }), _) if hits => before + 1,
            (Some(CachePolicy::WriteBack { allocates: true }), _) => {
                let (_, fill) = memory.bring(unit * 8, switches, before, latency);
                memory.data.write(unit * 8);
                fill.end()
            }
            (_, Kind::Normal(_)) => before + latency.beat,
            _ => before + latency.first,
        })
    }

    /// Puts a store within 64 bits among those in flight, unless it merges with the newest one.
    /// `finish` returns when it is done, from when those before it are. Returns the cycles that it
    /// waits for a slot.
    #[inline(always)]
    fn put_in_flight(
        &mut self,
        unit: u32,
        merges: bool,
        now: u64,
        finish: impl FnOnce(&mut Self, u64) -> u64,
    ) -> u64 {
        if merges && self.newest == unit * 8 && self.stores[STORES - 1] > now {
            return 0;
        }
        let stalls = self.stores[0].saturating_sub(now);
        let before = self.stores[STORES - 1].max(now + stalls);
        let done = finish(self, before);
        let [_, second, third, last] = self.stores;
        self.stores = [second, third, last, done];
        self.newest = unit * 8;
        stalls
    }

    /// Returns when every store is done.
    pub const fn drained(&self) -> u64 {
        self.stores[STORES - 1]
    }

    /// Empties both caches, as if nothing had been read yet. No data are lost, since all contents
    /// are in memory.
    pub fn clear(&mut self) {
        self.instructions.clear();
        self.data.clear();
        self.refetch();
    }
}
