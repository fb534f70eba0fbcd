//! The buses: who may use them, and when data and code arrive.

use super::step::mask;
use super::{
    Bus, Core, Decoding, Outcome, Pipeline, Reads, Register, Step, Transfer, Unit, has,
    on_system_bus,
};

impl Pipeline {
    /// The second half of a cycle, where addresses and data are on the buses. Answers the
    /// halfwords that a fetch brings.
    pub(super) fn run_buses(
        &mut self,
        pc: u32,
        decoding: &mut Decoding,
        waiting: &Step,
        dirty: u16,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        // Data phases.
        let (mut code_asks, mut data_asks) = (false, false);
        let mut system_data = false;
        // A registered fetch comes first on the System bus; measured: as a read it waits a
        // cycle for the write before it.
        let writing = self.system_write;
        let full = self.register == Register::Full;
        let fetch_on_system = full;
        let fetch_granted_below = !(full && writing);
        // Measured on a CC2650, whose code and data are in one RAM there: as a read it waits a
        // cycle for the write before it, and nothing else gets to the RAM meanwhile.
        let late = std::mem::take(&mut self.fetch_is_late) && self.fetch_data.is_some();
        outcome.fetch_waits = late;
        // One read after the other passes the buffer of a slow memory. The address that is on
        // the bus while it waits stays there (AHB-Lite: IHI 0033, 3.6).
        let mut line_is_read = false;
        let held = std::mem::take(&mut self.fetch_held) && self.fetch_address.is_some();
        if let Some(fetch) = &mut self.fetch_data
            && fetch.waits > 0
        {
            fetch.waits -= 1;
            outcome.fetch_waits = true;
            line_is_read = true;
        }
        let fetch_reads = line_is_read;
        let mut part_waits = false;
        if let Some(data) = &mut self.data_data {
            // What is read of a slow memory waits in each part.
            part_waits = data.waits > 0 && data.reads != Reads::Nothing;
            if data.parts > 0 && !part_waits {
                match data.bus {
                    Bus::Code => code_asks = true,
                    Bus::System | Bus::Private => {}
                }
                outcome.data_waits = true;
            } else if data.waits > 0 {
                line_is_read = data.reads != Reads::Nothing;
                code_asks |= line_is_read;
                let writes = data.reads_first && data.waits == 1;
                if !(writes && fetch_on_system) {
                    data.waits -= 1;
                    system_data |= writes;
                }
                outcome.data_waits = true;
            }
        }
        // Measured on a CC2652, not on an STM32F100: meanwhile the write waits for the fetch too.
        let stores = self.data_data.is_some_and(|data| data.store && data.bus == Bus::System);
        if self.core == Core::CortexM4 && full && writing && stores {
            outcome.data_waits = true;
        }
        let mut next_part = None;
        if let Some(data) = &mut self.data_data
            && data.parts > 0
            && !part_waits
        {
            let granted = !(data.bus == Bus::System && fetch_on_system);
            if granted {
                data.parts -= 1;
                system_data |= data.bus == Bus::System && data.store;
                data.reads = data.reads.next_part(data.parts, self.slow.line_bytes);
                next_part = Some(data.reads);
            }
        }
        if let Some(address) = self.data_address {
            let busy_part = outcome.data_waits;
            // An address for another bus waits for the data on this one.
            let elsewhere = self.data_data.is_some_and(|data| data.bus != address.bus);
            match address.bus {
                _ if elsewhere => outcome.data_denied = true,
                Bus::Code if late || held => outcome.data_denied = true,
                Bus::Code if fetch_reads => {
                    data_asks = true;
                    outcome.data_denied = true;
                }
                Bus::Code => {
                    (code_asks, data_asks) = (true, true);
                    outcome.code_write = address.store && !busy_part;
                }
                Bus::System => {
                    let writes = address.store && !address.reads_first;
                    if fetch_on_system || (writing && !writes) {
                        outcome.data_denied = true;
                    } else if !busy_part {
                        system_data |= writes;
                    }
                }
                Bus::Private => {}
            }
            if !outcome.data_denied {
                outcome.address_presented = !busy_part;
            }
        }
        outcome.system_write = system_data;
        if let Some(reads) = next_part.filter(|reads| *reads != Reads::Nothing) {
            let waits = self.data_waits(reads);
            self.data_data = self.data_data.map(|data| Transfer { waits, ..data });
        }
        self.fetch_held = line_is_read && (held || self.fetch_address.is_some() && !data_asks);
        // Instruction side.
        let upstream = self.fetch_address;
        let system = upstream.is_some_and(|fetch| on_system_bus(fetch.word));
        match self.register {
            Register::Full => {
                outcome.fetch_waits = true;
                outcome.fetch_denied = true;
            }
            Register::Holding => outcome.fetch_denied = !system,
            Register::Open => {
                let elsewhere =
                    self.fetch_data.is_some_and(|data| on_system_bus(data.word) != system);
                if upstream.is_some() && (!system && code_asks || elsewhere) {
                    outcome.fetch_denied = true;
                }
            }
        }
        outcome.next_register = match self.register {
            Register::Full if !fetch_granted_below => Register::Full,
            Register::Full => {
                if upstream.is_some() && system {
                    Register::Holding
                } else {
                    Register::Open
                }
            }
            Register::Holding => Register::Full,
            Register::Open => {
                if upstream.is_some() && system {
                    Register::Full
                } else {
                    Register::Open
                }
            }
        };
        if !outcome.fetch_waits
            && let Some(fetch) = self.fetch_data.take()
        {
            outcome.arrived = fetch.wanted;
            outcome.arrives = true;
        }
        // Data that has arrived.
        if outcome.address_presented
            && let Some(main) = &mut self.main
            && matches!(main.step.unit, Unit::Load | Unit::Store)
            && main.step.is(has::WRITEBACK)
            && self.piped.is_none()
        {
            main.next_dirty &= !main.step.address_base();
        }
        if outcome.address_presented && self.buffers {
            self.buffer_store();
        }
        if !outcome.data_waits
            && let Some(data) = self.data_data.take()
            && !data.buffered
        {
            self.finish_transfer(pc, decoding, waiting, dirty);
        }
        outcome
    }

    /// A store with an immediate offset is through as soon as the bus takes its address
    /// (DDI 0337, 18.3): the write buffer does the rest.
    pub(super) fn buffer_store(&mut self) {
        let Some(newest) = self.piped.as_mut().or(self.main.as_mut()) else { return };
        if newest.step.unit == Unit::Store
            && !newest.step.is(has::INDEXED | has::WRITEBACK)
            && let Some(address) = &mut self.data_address
        {
            address.buffered = true;
            newest.next_dirty = 0;
            newest.done = true;
        }
    }

    pub(super) fn finish_transfer(
        &mut self,
        pc: u32,
        decoding: &mut Decoding,
        waiting: &Step,
        dirty: u16,
    ) {
        let piped = self.piped;
        let Some(main) = &mut self.main else { return };
        match main.step.unit {
            Unit::Table => {
                main.table = 1;
                return;
            }
            Unit::Store => {
                main.next_dirty = 0;
                main.done = true;
                return;
            }
            Unit::StoreMany => {
                main.arrived += 1;
                if main.arrived == main.step.words {
                    main.next_dirty = 0;
                    main.done = true;
                }
                return;
            }
            _ => {}
        }
        let register = main.step.nth(main.arrived);
        main.arrived += 1;
        if main.step.unit == Unit::Load || main.arrived == main.step.words {
            main.done = true;
        }
        main.next_dirty &= !mask(register);
        if register == 15 {
            main.next_dirty = 0;
            self.delayed = Some(pc);
            return;
        }
        let mask = mask(register);
        if piped.is_some_and(|piped| piped.dirty & mask != 0) {
            return;
        }
        let writeback = main.step.is(has::WRITEBACK | has::NARROW_LDM);
        if (!writeback || piped.is_some())
            && *decoding == Decoding::Address
            && waiting.address & dirty & !mask == 0
        {
            *decoding = Decoding::Ready;
        }
    }
}
