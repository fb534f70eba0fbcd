//! The core's ports, and the arbitration of the buses behind them.
//!
//! Each port has an address phase and a data phase, as in AHB-Lite (IHI 0033): while the data of
//! one transfer passes, the address of the next one is on the bus. An address that no bus has taken
//! remains. Code in the Code region is fetched over ICode, and data there is accessed over DCode;
//! everything else uses the System bus, which fetches reach through a register (DDI 0337G, 12.2 to
//! 12.5).

use super::decode::Decoding;
use super::{CoreBus, DataRead, Pipeline, Rule, Unit, has};

/// The extra cycles of a write to the bit-band alias: the bus reads, modifies and writes, and the
/// core waits if it needs the bus meanwhile (DDI 0337G, 12.10). Measured on a CC2650.
pub(super) const READ_FIRST: u8 = 3;

/// The reason why a word is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FetchPath {
    Sequential,
    /// The target of a branch whose outcome is not known yet.
    Guessed,
}

/// A fetch of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fetch {
    pub word: u32,
    /// The number of its halfwords that are wanted; 0 if the fetch has been given up.
    pub wanted: u8,
    /// The cycles that its data phase still waits.
    pub waits: u8,
    pub path: FetchPath,
    /// Whether it uses the System bus.
    pub on_system: bool,
}

/// A data transfer: a word, or an aligned part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BusTransfer {
    pub bus: CoreBus,
    pub store: bool,
    /// The number of parts that follow it (DDI 0337G, 12.7).
    pub parts: u8,
    /// The cycles that its data phase still waits.
    pub waits: u8,
    /// Whether it is a write to the bit-band alias: a read, and a write in the last cycle.
    reads_first: bool,
    /// Whether no instruction waits for it: it is in the write buffer, or the bus completes it.
    buffered: bool,
    /// Whether the data has been written although the data phase continues.
    written: bool,
    /// The word of a slow memory that it reads.
    pub reads: DataRead,
    /// Whether the bus matrix converts it: into several accesses, or into one to another address.
    converted: bool,
    /// Whether it is the first access of a converted one.
    begins: bool,
    /// Whether it is a store whose address went out while another store's data was on the System bus.
    follows_store: bool,
}

impl BusTransfer {
    /// Returns whether it begins with a read.
    const fn reads(&self) -> bool {
        !self.store || self.reads_first
    }
}

/// The port that fetches code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FetchPort {
    pub address: Option<Fetch>,
    pub data: Option<Fetch>,
    /// Whether the System bus sees only now the address of the fetch in its data phase.
    registered: bool,
    /// Whether that address is kept off the System bus as long as the data port keeps the bus.
    held: bool,
    /// Whether a store has passed that address.
    passed: bool,
    /// Whether the last fetch taken by a bus went to the System bus.
    from_system: bool,
    /// Whether the address was already presented while its memory waited.
    waited: bool,
}

impl FetchPort {
    pub fn fetches(&mut self) -> impl Iterator<Item = &mut Fetch> {
        self.data.iter_mut().chain(&mut self.address)
    }

    pub fn wanted_words(&self) -> u8 {
        self.data.iter().chain(&self.address).map(|it| u8::from(it.wanted > 0)).sum()
    }

    pub const fn is_idle(&self) -> bool {
        self.address.is_none() && self.data.is_none()
    }

    /// Gives up all fetches.
    pub fn give_up(&mut self) {
        self.fetches().for_each(|it| it.wanted = 0);
    }

    /// Gives up the fetches of the other path of a branch.
    pub fn keep(&mut self, path: FetchPath) {
        for fetch in self.fetches() {
            if (fetch.path == FetchPath::Guessed) != (path == FetchPath::Guessed) {
                fetch.wanted = 0;
            }
            fetch.path = FetchPath::Sequential;
        }
    }

    /// Gives up the fetch that no bus has taken yet. Returns the address for which it was
    /// requested.
    pub fn withdraw(&mut self) -> Option<u32> {
        let fetch = self.address.as_mut().filter(|it| it.wanted > 0)?;
        let address = fetch.word.wrapping_add(if fetch.wanted == 1 { 2 } else { 0 });
        fetch.wanted = 0;
        Some(address)
    }

    /// Presents an address, unless another one occupies the port. Returns whether it did.
    pub fn present(&mut self, fetch: Fetch, yields: bool) -> bool {
        let free = self.address.is_none_or(|old| {
            let yields_bus = yields && old.on_system;
            old.wanted == 0 && (old.word == fetch.word || yields_bus)
        });
        if free {
            self.address = Some(fetch);
        }
        free
    }

    /// Records that only the second half of a word is wanted. Returns whether the word is still
    /// being fetched.
    pub fn narrow(&mut self, word: u32) -> bool {
        let fetch = self.fetches().find(|it| it.wanted == 2 && it.word == word);
        if let Some(fetch) = fetch {
            fetch.wanted = 1;
            return true;
        }
        false
    }

    /// Adds `by` to the addresses of fetches that are wanted.
    pub fn move_wanted(&mut self, by: u32) {
        let wanted = self.fetches().filter(|it| it.wanted > 0);
        wanted.for_each(|it| it.word = it.word.wrapping_add(by));
    }

    /// Adds `by` to the addresses of fetches that have been given up.
    pub fn move_given_up(&mut self, by: u32) {
        let given_up = self.fetches().filter(|it| it.wanted == 0);
        given_up.for_each(|it| it.word = it.word.wrapping_add(by));
    }
}

/// The port that loads and stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct DataPort {
    pub address: Option<BusTransfer>,
    pub data: Option<BusTransfer>,
    /// Whether it waited in the previous cycle.
    pub waits: bool,
    /// Whether a converted access, or one that directly follows it, keeps fetches off the System
    /// bus. Those already on the bus complete.
    keeps_bus: bool,
    /// Whether the last transfer that a bus took was converted.
    converts: bool,
}

impl DataPort {
    pub fn transfers(&mut self) -> impl Iterator<Item = &mut BusTransfer> {
        self.data.iter_mut().chain(&mut self.address)
    }

    const fn is_idle(&self) -> bool {
        self.address.is_none() && self.data.is_none()
    }

    /// Returns whether a store's data is on a bus.
    fn writes(&self, bus: CoreBus) -> bool {
        self.data.is_some_and(|it| it.store && it.bus == bus && it.waits == 0 && !it.written)
    }
}

/// The state of the buses at the start of a cycle.
#[derive(Clone, Copy, Debug)]
struct BusState {
    /// Whether a fetch's address is on the System bus.
    fetch_on_system: bool,
    writes_system: bool,
    writes_code: bool,
}

/// The transfers that wait in a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// The fetch in its data phase.
    fetch: bool,
    /// The next fetch, for its memory in the Code region.
    fetch_memory: bool,
    /// The transfer in its data phase.
    data: bool,
    /// The next transfer, for a slow memory in the Code region.
    data_memory: bool,
}

/// The outcome of a cycle for the data port's address.
#[derive(Clone, Copy, Debug, Default)]
struct DataAddress {
    /// Whether it is for the Code region, and no data on another bus holds it back.
    asks_code: bool,
    /// Whether it has the Code bus.
    has_code: bool,
    /// Whether the bus takes it at the clock's edge.
    is_taken: bool,
    /// Whether it goes before a fetch whose address is on the System bus.
    passes_fetch: bool,
}

impl Pipeline {
    /// Runs one cycle of ports and buses, including the edge that ends it. Returns the number of
    /// halfwords that have arrived.
    pub(super) fn run_ports(&mut self, decoding: Option<&mut Decoding<'_>>) -> u8 {
        let released = self.present_data();
        let kept = self.data_port.keeps_bus && self.fetch_port.held;
        let on_buses = BusState {
            fetch_on_system: self.fetch_port.registered && !kept,
            writes_system: self.data_port.writes(CoreBus::System),
            writes_code: self.data_port.writes(CoreBus::Code),
        };
        let waiting = self.wait(on_buses);
        let waited = std::mem::take(&mut self.fetch_port.waited)
            && self.fetch_port.address.is_some()
            && self.setup.follows(Rule::WaitingFetchFirst);
        let address = self.arbitrate_data(on_buses, waiting, waited);
        let memory_waits = waiting.fetch_memory || waiting.data_memory;
        self.fetch_port.waited =
            memory_waits && (waited || self.fetch_port.address.is_some() && !address.asks_code);
        let fetch_is_taken = self.fetch_port.address.is_some_and(|fetch| {
            let data_first = address.has_code && self.setup.follows(Rule::DataBeforeCode);
            let free = fetch.on_system || !data_first && !waiting.data_memory;
            let elsewhere = self.fetch_port.data.is_some_and(|it| it.on_system != fetch.on_system)
                && self.setup.follows(Rule::FetchBusSwitchWaits);
            free && !elsewhere && !waiting.fetch
        });
        // The clock's edge.
        if released {
            self.let_fetches_continue();
        }
        let arrived = if waiting.fetch { None } else { self.fetch_port.data.take() };
        let through = if waiting.data { None } else { self.data_port.data.take() };
        let goes_on = waiting.data && self.goes_on_while_bit_is_written();
        if self.fetch_port.registered {
            let held = on_buses.writes_system && self.setup.follows(Rule::FetchBehindStore);
            self.fetch_port.passed |= address.is_taken && address.passes_fetch;
            let passed = !held && std::mem::take(&mut self.fetch_port.passed);
            self.fetch_port.registered = kept || held || passed;
        }
        if fetch_is_taken {
            self.take_fetch(on_buses);
        }
        if address.is_taken {
            self.take_data(on_buses, through);
        }
        self.data_port.waits = waiting.data;
        if goes_on || through.is_some_and(|it| it.parts == 0 && !it.buffered) {
            self.complete(decoding);
        }
        arrived.map_or(0, |fetch| fetch.wanted)
    }

    /// Presents the next data address. Returns whether the data port stops keeping fetches off the
    /// System bus when the cycle ends.
    fn present_data(&mut self) -> bool {
        let idle = self.data_port.is_idle();
        let lingers = self.data_port.converts && self.setup.follows(Rule::ConvertedLingers);
        if idle && !lingers {
            self.let_fetches_continue();
        }
        self.present_word();
        match self.data_port.address {
            None => idle,
            Some(address) if idle && !address.converted => {
                self.let_fetches_continue();
                false
            }
            Some(_) => false,
        }
    }

    /// Lets the System bus see the fetch that a converted access has kept off it.
    fn let_fetches_continue(&mut self) {
        (self.data_port.keeps_bus, self.data_port.converts) = (false, false);
        self.fetch_port.held = false;
    }

    /// Presents the address of the execute stage's next word.
    fn present_word(&mut self) {
        if self.data_port.address.is_some() {
            return;
        }
        let Some(at) = self.execute.next_transfer() else { return };
        let facts = at.facts;
        // The wait states of a list are known only as a sum over all its words.
        let waits = if at.asked == 0 { facts.waits } else { 0 };
        at.asked += 1;
        let reads = at.reads;
        at.reads =
            if at.has_more() { reads.next(self.setup.slow.line_bytes) } else { DataRead::Nothing };
        let store = matches!(at.step.unit, Unit::Store | Unit::StoreMany);
        let reads_first = store && facts.bit_band;
        let behind_transfer = reads_first
            && self.data_port.data.is_some_and(|it| it.bus == CoreBus::System && !it.reads_first)
            && self.setup.follows(Rule::BitBehindTransfer);
        let extra = if reads_first { READ_FIRST + u8::from(behind_transfer) } else { 0 };
        let converted = facts.bit_band || facts.extra_parts > 0;
        if converted && self.fetch_port.from_system && self.setup.follows(Rule::ConvertedKeepsBus) {
            self.data_port.keeps_bus = true;
        }
        self.data_port.address = Some(BusTransfer {
            bus: facts.bus.unwrap_or(at.step.bus),
            store,
            parts: facts.extra_parts,
            waits: waits.saturating_add(extra),
            reads_first,
            buffered: false,
            written: false,
            reads,
            converted,
            begins: converted,
            follows_store: false,
        });
    }

    /// Advances the waits of the data phases by one cycle. Returns which transfers wait.
    fn wait(&mut self, on_buses: BusState) -> Waiting {
        let mut waiting = Waiting { fetch: self.fetch_port.registered, ..Waiting::default() };
        if let Some(fetch) = &mut self.fetch_port.data
            && fetch.waits > 0
        {
            fetch.waits -= 1;
            (waiting.fetch, waiting.fetch_memory) = (true, true);
        }
        let Some(data) = &mut self.data_port.data else { return waiting };
        if data.waits > 0 {
            data.waits -= 1;
            let slow = data.bus == CoreBus::Code && data.reads != DataRead::Nothing;
            waiting.data = true;
            waiting.data_memory = slow && self.setup.follows(Rule::SlowReadKeepsBus);
        } else if on_buses.writes_system
            && on_buses.fetch_on_system
            && self.setup.follows(Rule::StoreWaitsForFetch)
        {
            data.written = true;
            waiting.data = true;
        }
        waiting
    }

    /// Leaves the rest of a write to the bit-band alias to the bus if only the write is left of it.
    /// Returns whether the instruction is complete with that.
    fn goes_on_while_bit_is_written(&mut self) -> bool {
        let follows = self.setup.follows(Rule::BitIsWrittenBehind);
        let Some(data) = &mut self.data_port.data else { return false };
        let is_read = follows && data.reads_first && data.waits == 0 && !data.buffered;
        data.buffered |= is_read;
        is_read
    }

    /// Determines whether the data port's address gets a bus.
    fn arbitrate_data(
        &self,
        on_buses: BusState,
        waiting: Waiting,
        fetch_first: bool,
    ) -> DataAddress {
        let Some(address) = self.data_port.address else { return DataAddress::default() };
        let elsewhere = self.data_port.data.is_some_and(|it| it.bus != address.bus)
            && self.setup.follows(Rule::BusSwitchWaits);
        let behind_store =
            on_buses.writes_system && address.reads() && self.setup.follows(Rule::LoadBehindStore);
        let passes_fetch = on_buses.fetch_on_system
            && on_buses.writes_system
            && address.bus == CoreBus::System
            && self.data_port.data.is_some_and(|it| it.follows_store)
            && self.setup.follows(Rule::StoresPassFetch);
        let behind_fetch =
            on_buses.fetch_on_system && address.bus == CoreBus::System && !passes_fetch;
        let unconverted = address.begins
            && self.fetch_port.from_system
            && self.fetch_port.data.is_some()
            && !self.fetch_port.held
            && self.setup.follows(Rule::ConvertedBehindFetch);
        let free = !elsewhere
            && !behind_fetch
            && !unconverted
            && match address.bus {
                CoreBus::Code => !fetch_first && !waiting.fetch_memory,
                CoreBus::System => !behind_store,
                CoreBus::Private => true,
            };
        let on_code = address.bus == CoreBus::Code;
        DataAddress {
            asks_code: on_code && !elsewhere,
            has_code: on_code && free,
            is_taken: free && !waiting.data,
            passes_fetch,
        }
    }

    /// Begins the data phase of the presented fetch.
    fn take_fetch(&mut self, on_buses: BusState) {
        let Some(fetch) = self.fetch_port.address.take() else { return };
        let on_system = fetch.on_system;
        let behind_write =
            on_buses.writes_code && !on_system && self.setup.follows(Rule::CodeReadBehindWrite);
        let waits = self.fetch_waits(fetch).saturating_add(behind_write.into());
        self.fetch_port.registered = on_system;
        self.fetch_port.held = on_system && self.data_port.keeps_bus;
        self.fetch_port.from_system = on_system;
        self.fetch_port.data = Some(Fetch { waits, ..fetch });
    }

    /// Begins the data phase of the presented transfer, which follows `before` directly, and presents its
    /// next part.
    fn take_data(&mut self, on_buses: BusState, before: Option<BusTransfer>) {
        let Some(mut transfer) = self.data_port.address.take() else { return };
        if !transfer.buffered
            && let Some(asking) = self.execute.last_asking()
        {
            asking.address_is_taken(&self.setup);
            // A store with an immediate offset completes once the bus has its address (DDI 0337G,
            // 18.3): the write buffer does the rest. The core's private region is Strongly-ordered,
            // and thus not buffered (DDI 0403, B3.1).
            if self.buffers
                && asking.step.unit == Unit::Store
                && !asking.step.is(has::INDEXED | has::WRITEBACK)
                && transfer.bus != CoreBus::Private
            {
                transfer.buffered = true;
                asking.finish();
            }
        }
        if let Some(parts) = transfer.parts.checked_sub(1) {
            let reads = transfer.reads.next_part(parts, self.setup.slow.line_bytes);
            self.data_port.address =
                Some(BusTransfer { parts, begins: false, reads, waits: 0, ..transfer });
        }
        self.data_port.converts = transfer.converted;
        let behind_write = on_buses.writes_code
            && transfer.bus == CoreBus::Code
            && !transfer.store
            && self.setup.follows(Rule::CodeReadBehindWrite);
        let waits = self.data_waits(transfer.reads).saturating_add(behind_write.into());
        transfer.waits = transfer.waits.saturating_add(waits);
        let stores_on_system = |it: BusTransfer| it.store && it.bus == CoreBus::System;
        transfer.follows_store = stores_on_system(transfer) && before.is_some_and(stores_on_system);
        self.data_port.data = Some(transfer);
    }
}
