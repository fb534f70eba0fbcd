//! Loads and stores in the system control space: the registers through which software accesses its core.
//!
//! Decodes 0xE0000000 to 0xE00FFFFF (DDI 0403, B3.2; DDI 0419, B3.2 for ARMv6-M, which has fewer
//! registers). [`System`] holds the registers' values; the effects of a write (an exception that becomes
//! pending, a clock that starts) are implemented here.

use crate::arch::armm::caches::CacheWriteEffect;
use crate::arch::armm::coprocessors;
use crate::arch::armm::itm::Writer;
use crate::arch::armm::nvic::{
    DEBUG_MONITOR, FIRST_INTERRUPT, HARD_FAULT, MEM_MANAGE, NMI, PENDSV, SECURE_FAULT, SVCALL,
    SYSTICK, USAGE_FAULT,
};
use crate::arch::armm::scs::{
    AIRCR_KEY, CCR_V8M_ONES, CCR_V8M_WRITABLE, DEMCR_MON_EN, DEMCR_MON_PEND, DEMCR_TRCENA,
    DEMCR_WRITABLE, DWT, FpControl, HANDLERS_ACTIVE, HANDLERS_ENABLED, HANDLERS_PENDING, ITM,
    PRIVATE_BUS, SYSTICK_REGISTERS, System,
};
use crate::arch::armm::trap::{Done, Trap};
use crate::devices::Direction;
use crate::soc::VENDORS;
use crate::state::State;

impl State {
    /// Reads a word of the system space.
    pub(crate) fn read_system(&mut self, address: u32) -> Result<u32, Trap> {
        // On the private peripheral bus, unprivileged code can only access the ITM (B3.1.1).
        let unprivileged = !self.has_privileged_access() && !ITM.contains(&address);
        if !PRIVATE_BUS.contains(&address) {
            return self.read_peripheral(address);
        }
        if unprivileged {
            return Err(self.no_response(address));
        }
        if VENDORS[0].contains(&address.into()) {
            return self.read_peripheral(address);
        }
        let now = self.data_phase();
        self.pass_time(now);
        let mainline = self.features.mainline;
        let (spent, next) = (self.spent(now), self.cpu.pc);
        let system = &mut self.system;
        let value = match address {
            0xE000_0000..=0xE000_0FFF if mainline => {
                let value = system.itm.read(address - ITM.start);
                self.or_unmodelled(value, address)?
            }
            0xE000_1000..=0xE000_1FFF if mainline => {
                let value = system.dwt.read(address - DWT.start, &spent, next);
                self.or_unmodelled(value, address)?
            }
            0xE000_EDF0 if mainline => system.read_halting_control(),
            0xE000_EDF8 if mainline => system.debug_data,
            0xE000_EDFC if mainline => {
                let pending = system.nvic.pending().contains(DEBUG_MONITOR);
                system.debug_control | if pending { DEMCR_MON_PEND } else { 0 }
            }
            0xE000_E008 if mainline => system.auxiliary_control,
            0xE000_ED30 if mainline => system.debug_status,
            0xE000_E004 => u32::from(system.interrupts.div_ceil(32)) - 1,
            0xE000_E010 => system.systick.read_control(),
            0xE000_E014 => system.systick.read_reload(),
            0xE000_E018 => system.systick.read_value(now),
            0xE000_E01C => system.systick.calibration(),
            0xE000_E100..=0xE000_E11C => {
                system.nvic.enabled().word(System::first_of(address & 0x1F))
            }
            0xE000_E180..=0xE000_E19C => {
                system.nvic.enabled().word(System::first_of(address & 0x1F))
            }
            0xE000_E200..=0xE000_E21C => {
                system.nvic.pending().word(System::first_of(address & 0x1F))
            }
            0xE000_E280..=0xE000_E29C => {
                system.nvic.pending().word(System::first_of(address & 0x1F))
            }
            0xE000_E300..=0xE000_E31C if mainline => {
                system.nvic.active().word(System::first_of(address & 0x1F))
            }
            0xE000_E400..=0xE000_E4EC => {
                system.priorities(FIRST_INTERRUPT + (address - 0xE000_E400) as u16)
            }
            0xE000_ED00 => system.identity.cpuid,
            0xE000_ED40..=0xE000_ED70 | 0xE000_EF40..=0xE000_EF48 if mainline => {
                let value = system.identity.read(address);
                self.or_unmodelled(value, address)?
            }
            0xE000_ED04 => self.interrupt_control(),
            0xE000_ED08 if self.features.v6m_options => system.vector_table,
            0xE000_ED0C => 0xFA05_0000 | u32::from(system.nvic.group) << 8,
            0xE000_ED10 => system.sleep_control,
            0xE000_ED14 => system.configuration,
            0xE000_ED18 if mainline => system.priorities(4),
            0xE000_ED1C => system.priorities(8),
            0xE000_ED20 => system.priorities(12),
            0xE000_ED24 => system.handler_state(),
            0xE000_ED28 if mainline => system.fault_status,
            0xE000_ED2C if mainline => system.hard_fault_status,
            0xE000_ED34 if mainline => system.mem_manage_address,
            0xE000_ED38 if mainline => system.bus_fault_address,
            0xE000_ED88 if mainline => system.coprocessor_access,
            0xE000_ED90..=0xE000_EDC4 => {
                let value = system.mpu.read(address - 0xE000_ED90);
                self.or_unmodelled(value, address)?
            }
            0xE000_EDE4 if self.features.v8m => system.secure_fault_status,
            0xE000_EF34 if self.features.fp => system.fp.control,
            0xE000_EF38 if self.features.fp => system.fp.address,
            0xE000_EF3C if self.features.fp => system.fp.default_status,
            _ => {
                let value = system.caches.as_ref().and_then(|caches| caches.read(address));
                self.or_unmodelled(value, address)?
            }
        };
        Ok(value)
    }

    /// Returns a register's value; where there is no register, records the access and returns zero.
    fn or_unmodelled(&mut self, value: Option<u32>, address: u32) -> Result<u32, Trap> {
        if value.is_none() {
            self.note_unmodelled(address, Direction::Read)?;
        }
        Ok(value.unwrap_or(0))
    }

    /// Returns ICSR without its write-only bits.
    fn interrupt_control(&self) -> u32 {
        let nvic = &self.system.nvic;
        let pending = nvic.pending();
        let external = pending.iter().any(|exception| exception >= FIRST_INTERRUPT);
        // Defined for handler mode only: "whether there is an active exception other than the exception
        // indicated by the current value of the IPSR" (DDI 0403, B3.2.4). In thread mode, for which the
        // manual says nothing, it reads zero on chips and in QEMU.
        let ipsr = self.cpu.ipsr;
        let returns_to_base = ipsr != 0 && nvic.active().iter().all(|exception| exception == ipsr);
        u32::from(ipsr)
            | u32::from(self.features.mainline && returns_to_base) << 11
            | u32::from(nvic.vect_pending()) << 12
            | u32::from(external) << 22
            | u32::from(pending.contains(SYSTICK)) << 26
            | u32::from(pending.contains(PENDSV)) << 28
            | u32::from(pending.contains(NMI)) << 31
    }

    /// Writes to the system space. Only priority and fault status registers accept less than a word.
    #[expect(clippy::too_many_lines, reason = "a table: a line a register")]
    pub(crate) fn write_system(&mut self, address: u32, value: u32, size: u32) -> Done {
        let user_trigger = address == 0xE000_EF00 && self.system.configuration & 2 != 0;
        let privileged = self.has_privileged_access();
        let unprivileged = !privileged && !ITM.contains(&address) && !user_trigger;
        let is_private = PRIVATE_BUS.contains(&address);
        if is_private && unprivileged {
            return Err(self.no_response(address));
        }
        if !is_private || VENDORS[0].contains(&address.into()) {
            let (shift, mask) = (8 * (address & 3), u32::MAX >> (32 - 8 * size));
            return self.write_peripheral(address & !3, (value & mask) << shift, mask << shift);
        }
        let now = self.data_phase();
        let mainline = self.features.mainline;
        let spent = self.spent(now);
        if SYSTICK_REGISTERS.contains(&address) {
            // First update the count up to this cycle.
            self.pass_time(now + 1);
        }
        let system = &mut self.system;
        match address {
            0xE000_0000..=0xE000_0FFF if mainline => {
                let writer = if privileged { Writer::Privileged } else { Writer::Unprivileged };
                let bytes = &value.to_le_bytes()[..size as usize];
                if !system.itm.write(address - ITM.start, bytes, writer) {
                    self.note_unmodelled(address, Direction::Write)?;
                } else if address == ITM.start {
                    self.console.extend(system.itm.take(0));
                    if self.console.has_found() {
                        self.request_attention();
                    }
                }
            }
            0xE000_1000..=0xE000_1FFF if mainline => {
                if !system.dwt.write(address - DWT.start, value, &spent) {
                    self.note_unmodelled(address, Direction::Write)?;
                }
                self.update_watchers();
            }
            // Software can neither enable nor use halting debug (C1.6.2).
            0xE000_EDF0 | 0xE000_EDF4 if mainline => {}
            0xE000_EDF8 if mainline => system.debug_data = value,
            0xE000_EDFC if mainline => self.write_debug_control(value),
            0xE000_E008 if mainline => {
                system.auxiliary_control = value & system.identity.auxiliary_control;
                self.update_write_buffer();
            }
            0xE000_ED30 if mainline => system.debug_status &= !value,
            0xE000_E010 => {
                system.systick.write_control(value, now + 1);
                if system.systick.lacks_clock(value) {
                    self.note_unmodelled(address, Direction::Write)?;
                }
            }
            0xE000_E014 => system.systick.write_reload(value, now + 1),
            0xE000_E018 => system.systick.write_value(now + 1),
            0xE000_E100..=0xE000_E11C => self.for_each_bit(address, value, Self::enable_interrupt),
            0xE000_E180..=0xE000_E19C => self.for_each_bit(address, value, Self::disable_interrupt),
            0xE000_E200..=0xE000_E21C => self.for_each_bit(address, value, Self::pend_by_store),
            0xE000_E280..=0xE000_E29C => self.for_each_bit(address, value, Self::unpend),
            0xE000_E400..=0xE000_E4EF => {
                let first = FIRST_INTERRUPT + (address - 0xE000_E400) as u16;
                self.set_priorities(first, value, size);
            }
            0xE000_ED04 => self.write_interrupt_control(value),
            0xE000_ED08 if self.features.v6m_options => {
                system.vector_table = value & if mainline { !0x7F } else { !0xFF };
            }
            0xE000_ED0C if value >> 16 == AIRCR_KEY => {
                if mainline {
                    system.nvic.group = (value >> 8 & 7) as u8;
                }
                self.reset_requested = value & 4 != 0;
                // VECTCLRACTIVE, which is meant for a halted core.
                if value & 2 != 0 {
                    system.nvic.clear_active();
                    self.cpu.switch(|cpu| cpu.ipsr = 0);
                }
            }
            0xE000_ED10 => system.sleep_control = value & 0x16,
            0xE000_ED14 if self.features.v8m => {
                system.configuration = value & CCR_V8M_WRITABLE | CCR_V8M_ONES;
            }
            0xE000_ED14 if mainline => {
                system.write_configuration(value);
                self.switch_caches();
            }
            // ARMv6-M's CCR is read-only (DDI 0419, B3.2.8).
            0xE000_ED14 => {}
            0xE000_ED18..=0xE000_ED23 => {
                let first = 4 + (address - 0xE000_ED18) as u16;
                self.set_priorities(first, value, size);
            }
            0xE000_ED24 if mainline => self.write_handler_state(value),
            0xE000_ED28..=0xE000_ED2B if mainline => {
                system.fault_status &= !(value << (8 * (address & 3)));
            }
            0xE000_ED2C if mainline => system.hard_fault_status &= !value,
            0xE000_ED34 if mainline => system.mem_manage_address = value,
            0xE000_ED38 if mainline => system.bus_fault_address = value,
            0xE000_ED88 if mainline => {
                let fpu = if system.features.fp { 0x00F0_0000 } else { 0 };
                let others = system.coprocessors.as_ref().map_or(0, |_| coprocessors::ACCESS);
                system.coprocessor_access = value & (fpu | others);
            }
            0xE000_ED90..=0xE000_EDC4 => {
                if !system.mpu.write(address - 0xE000_ED90, value) {
                    self.note_unmodelled(address, Direction::Write)?;
                }
            }
            0xE000_EF00 if mainline => self.pend_by_store(FIRST_INTERRUPT + (value & 0x1FF) as u16),
            0xE000_EDE4 if self.features.v8m => system.secure_fault_status &= !value,
            0xE000_EF34 if self.features.fp => {
                system.fp.control = value & FpControl::writable(self.features);
            }
            0xE000_EF38 if self.features.fp => system.fp.address = value & !7,
            0xE000_EF3C if self.features.fp => system.fp.default_status = value & 0x07C0_0000,
            _ => self.write_caches(address, value)?,
        }
        self.request_attention();
        Ok(())
    }

    /// Writes to a register of the caches.
    fn write_caches(&mut self, address: u32, value: u32) -> Done {
        let caches = self.system.caches.as_mut();
        match caches.map_or(CacheWriteEffect::Nowhere, |caches| caches.write(address, value)) {
            CacheWriteEffect::Nowhere => self.note_unmodelled(address, Direction::Write)?,
            effect => self.maintain_caches(effect),
        }
        Ok(())
    }

    fn for_each_bit(&mut self, address: u32, value: u32, act: impl Fn(&mut Self, u16)) {
        let first = System::first_of(address & 0x1C);
        (0..32).filter(|bit| value >> bit & 1 == 1).for_each(|bit| act(self, first + bit));
    }

    fn enable_interrupt(&mut self, exception: u16) {
        self.system.nvic.enable(exception, true);
    }

    fn disable_interrupt(&mut self, exception: u16) {
        self.system.nvic.enable(exception, false);
    }

    fn set_priorities(&mut self, first: u16, value: u32, size: u32) {
        for (at, priority) in value.to_le_bytes().into_iter().take(size as usize).enumerate() {
            let exception = first + at as u16;
            // DDI 0403, B3.2.10 to B3.2.12; ARMv6-M has SVCall, PendSV and SysTick only.
            let exists = match exception {
                MEM_MANAGE..=USAGE_FAULT | DEBUG_MONITOR => self.features.mainline,
                SECURE_FAULT => self.features.v8m,
                SVCALL | PENDSV.. => true,
                _ => false,
            };
            if exists {
                self.system.nvic.set_priority(exception, priority);
            }
        }
    }

    fn write_interrupt_control(&mut self, value: u32) {
        for (set, clear, exception) in [(28, 27, PENDSV), (26, 25, SYSTICK)] {
            if value >> set & 1 == 1 {
                self.pend_by_store(exception);
            } else if value >> clear & 1 == 1 {
                self.unpend(exception);
            }
        }
        if value >> 31 == 1 {
            self.pend_by_store(NMI);
        }
    }

    fn write_handler_state(&mut self, value: u32) {
        let v8m = self.features.v8m;
        let nvic = &mut self.system.nvic;
        let bits = |table: &'static [(u32, u16)]| {
            let there =
                table.iter().filter(move |&&(_, exception)| v8m || exception != SECURE_FAULT);
            there.map(move |&(bit, exception)| (exception, value >> bit & 1 == 1))
        };
        bits(HANDLERS_ENABLED).for_each(|(exception, on)| nvic.enable(exception, on));
        bits(HANDLERS_ACTIVE).for_each(|(exception, on)| nvic.set_active(exception, on));
        bits(HANDLERS_PENDING).for_each(|(exception, on)| {
            nvic.pend(exception, on);
        });
    }

    /// DEMCR: enables the debug monitor's exception and the trace units.
    fn write_debug_control(&mut self, value: u32) {
        let now = self.data_phase();
        let spent = self.spent(now);
        self.system.dwt.power(value & DEMCR_TRCENA != 0, &spent);
        self.system.nvic.enable(DEBUG_MONITOR, value & DEMCR_MON_EN != 0);
        if value & DEMCR_MON_PEND == 0 {
            self.unpend(DEBUG_MONITOR);
        } else {
            self.pend_by_store(DEBUG_MONITOR);
        }
        self.system.debug_control = value & DEMCR_WRITABLE;
        self.update_watchers();
    }

    /// Returns whether a configurable fault is handled by its own handler.
    pub(crate) fn handles_fault(&self, exception: u16) -> bool {
        exception != HARD_FAULT && self.system.nvic.enabled().contains(exception)
    }
}
