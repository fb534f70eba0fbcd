//! Queries and changes of a Cortex-M state between instructions.

use rtmark_units::{Cycles, Instructions};

use super::stop::FaultPolicy;
use super::{
    AfterReset, Convention, CoreState, Irq, LoadError, NO_LINE, NOT_FETCHED, Overhead,
    ProgramPoint, Register, Sleep, State, Watch, Watches, program,
};
use crate::arch::armm::dwt::CycleCounts;
use crate::arch::armm::nvic::Masks;
use crate::arch::armm::registers::Cpu;
use crate::arch::armm::scs::System;
use crate::devices::{Console, Devices};
use crate::image::{Beginning, Image};
use crate::isa::{Disassembly, is_wide};
use crate::memory::Bus;
use crate::soc::Soc;
use crate::timing::LineMemory;
use crate::timing::pipeline::FloatUnit;

impl CoreState for State {
    fn soc(&self) -> &Soc {
        &self.soc
    }

    fn bus(&self) -> &Bus {
        &self.bus
    }

    fn bus_mut(&mut self) -> &mut Bus {
        &mut self.bus
    }

    fn devices(&self) -> &Devices {
        &self.devices
    }

    fn devices_mut(&mut self) -> &mut Devices {
        &mut self.devices
    }

    fn console_mut(&mut self) -> &mut Console {
        &mut self.console
    }

    fn watches(&self) -> &Watches {
        &self.watches
    }

    fn watches_mut(&mut self) -> &mut Watches {
        &mut self.watches
    }

    fn stops_mut(&mut self) -> &mut Vec<u32> {
        &mut self.predecoded.decoder.stops
    }

    fn code_changed(&mut self) {
        self.predecoded.forget_all();
        self.memo.forget();
    }

    fn marks_changed(&mut self) {
        self.predecoded.decoder.watched = self.watches.addresses();
        self.predecoded.forget_all();
    }

    fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        for segment in image.segments() {
            let address = segment.load_address;
            if self.devices.takes_image(address, segment.bytes.len()) {
                self.initial.push((address, segment.bytes.as_slice().into()));
                continue;
            }
            if program(&mut self.bus, &self.soc, segment)? == AfterReset::ProgrammedAgain {
                self.initial.push((address, segment.bytes.as_slice().into()));
            }
        }
        self.boot = image.boot();
        self.calls.load(&self.soc, image);
        self.rtt.expect(image);
        self.code_changed();
        self.reset()
    }

    fn reset(&mut self) -> Result<(), LoadError> {
        self.bus.reset();
        for (address, bytes) in &self.initial {
            self.bus.program(*address, bytes);
        }
        self.predecoded.forget_own();
        self.memo.forget();
        self.cpu = Cpu::new();
        self.system = System::new(&self.soc, self.features);
        self.spent = CycleCounts::default();
        self.update_protection();
        self.lines.for_each(LineMemory::reset);
        self.lines.caches.clear();
        self.switch_caches();
        self.devices.reset(&self.soc, &mut self.lines);
        self.update_lead();
        for (address, bytes) in &self.initial {
            self.devices.program(*address, bytes);
        }
        self.rtt.reset();
        (self.line, self.line_mask, self.fetched) = (NO_LINE, u32::MAX, NOT_FETCHED);
        self.slow.reset();
        (self.cycles, self.instructions, self.deadline) = (0, 0, 0);
        self.abandoned_instructions = 0;
        self.failed = None;
        self.pipe = self.refilling();
        self.predictor.clear();
        (self.exclusive, self.event, self.reset_requested) = (false, false, false);
        self.watches.masking.reset();
        self.watches.forget_counts();
        self.calls.reset();
        self.sleeping = None;
        self.scheduled.clear();
        self.arrivals.clear();
        self.code_free = 0;
        self.float_unit = (0, FloatUnit::default());
        let word = |bus: &Bus, address| {
            let mut bytes = [0; 4];
            bus.peek(address, &mut bytes);
            u32::from_le_bytes(bytes)
        };
        let Beginning { entry, vectors, .. } = self.boot;
        let address = vectors.unwrap_or(self.soc.vector_base());
        let first = || (word(&self.bus, address), word(&self.bus, address.wrapping_add(4)));
        let (sp, reset) = entry.map_or_else(first, |(entry, sp)| (sp, entry | 1));
        // Other bits of VTOR are zero.
        self.system.vector_table = vectors.map_or(self.system.vector_table, |it| it & !0x7F);
        self.cpu.r[13] = sp & !3;
        if reset & 1 == 0 || self.bus.place(reset & !1).is_none() {
            return Err(LoadError::NoVectors { address, sp, reset });
        }
        self.cpu.r[14] = u32::MAX;
        self.cpu.pc = reset & !1;
        Ok(())
    }

    fn set_fault_policy(&mut self, policy: FaultPolicy) {
        self.fault_policy = policy;
    }

    fn register(&self, register: Register) -> u32 {
        let cpu = &self.cpu;
        match register.in_convention(Convention::ARM) {
            Register::R(number) => cpu.get(number),
            Register::Pc => cpu.pc,
            Register::Xpsr => cpu.xpsr(),
            Register::Msp => cpu.msp(),
            Register::Psp => cpu.psp(),
            Register::Primask => u32::from(cpu.primask),
            Register::Basepri => u32::from(cpu.basepri),
            Register::Faultmask => u32::from(cpu.faultmask),
            Register::Control => cpu.control,
            Register::S(number) => cpu.s[usize::from(number & 31)],
            Register::Fpscr => cpu.fpscr,
            _ => 0,
        }
    }

    fn set_register(&mut self, register: Register, value: u32) {
        let cpu = &mut self.cpu;
        match register.in_convention(Convention::ARM) {
            Register::R(number) => cpu.set_any(number, value),
            Register::Pc => {
                cpu.pc = value & !1;
                self.pipe = self.refilling();
            }
            Register::Xpsr => {
                cpu.restore_psr(value, self.features);
                cpu.arm = false;
            }
            Register::Msp => cpu.set_msp(value),
            Register::Psp => cpu.set_psp(value),
            Register::Primask => cpu.primask = value & 1 == 1,
            Register::Basepri => cpu.basepri = self.system.nvic.mask_priority(value as u8),
            Register::Faultmask => cpu.faultmask = value & 1 == 1,
            Register::Control => cpu.switch(|cpu| cpu.control = value & 7),
            Register::S(number) => cpu.s[usize::from(number & 31)] = value,
            Register::Fpscr => cpu.fpscr = value,
            _ => {}
        }
        self.request_attention();
    }

    fn pend_interrupt(&mut self, interrupt: Irq, at: Cycles) {
        self.schedule(interrupt.exception(), at.0);
    }

    fn cycles(&self) -> Cycles {
        Cycles(self.cycles)
    }

    fn instructions(&self) -> Instructions {
        Instructions(self.instructions)
    }

    fn waited(&self) -> Cycles {
        Cycles(self.lines.iter().map(LineMemory::waited).sum())
    }

    fn asleep(&self) -> Cycles {
        Cycles(self.spent.sleep)
    }

    fn overhead(&self) -> Overhead {
        Overhead {
            waited: Cycles(self.waited().0 + self.devices.waited),
            asleep: Cycles(self.spent.sleep),
            exceptions: self.watches.taken,
        }
    }

    fn take_console(&mut self) -> Vec<u8> {
        self.show_rtt();
        self.console.take()
    }

    fn empty_caches(&mut self) {
        self.lines.empty();
        self.predictor.clear();
        (self.line, self.line_mask) = (NO_LINE, u32::MAX);
        self.empty_slow_lines();
    }

    fn take_stimulus(&mut self, port: u8) -> Vec<u8> {
        self.system.itm.take(port)
    }

    fn abandoned_instructions(&self) -> Instructions {
        Instructions(self.abandoned_instructions)
    }
}

impl State {
    #[inline(always)]
    pub const fn progress(&self) -> ProgramPoint {
        ProgramPoint {
            pc: self.cpu.pc,
            cycles: self.cycles,
            instructions: self.instructions,
            pipe: self.pipe,
        }
    }

    #[inline(always)]
    pub const fn set_progress(&mut self, at: ProgramPoint) {
        self.cpu.pc = at.pc;
        self.cycles = at.cycles;
        self.instructions = at.instructions;
        self.pipe = at.pipe;
    }

    /// Empties the caches if a watch that requests it has been hit.
    #[inline]
    pub fn empty_caches_if_asked(&mut self) {
        if std::mem::take(&mut self.watches.empty) {
            self.empty_caches();
        }
    }

    pub fn masks(&self) -> Masks {
        Masks {
            primask: self.cpu.primask,
            faultmask: self.cpu.faultmask,
            basepri: self.cpu.basepri,
        }
    }

    pub fn execution_priority(&self) -> i16 {
        self.system.nvic.execution_priority(self.masks())
    }

    /// Makes the machine check for due events before the next instruction.
    #[inline(always)]
    pub fn request_attention(&mut self) {
        self.deadline = 0;
    }

    /// Puts the core to sleep in the current cycle.
    pub fn start_sleep(&mut self, sleep: Sleep) {
        self.sleeping = Some(sleep);
        self.slept_deeply |= self.system.sleeps_deeply();
        self.note_now(Watch::Sleep);
    }

    #[inline(never)]
    pub fn forget_overwritten_code(&mut self, address: u32) {
        self.bus.code_writes.dirty = false;
        if self.predecoded.forget(address) {
            self.memo.forget();
            self.request_attention();
        }
    }

    /// See [`Machine::disassembly`](crate::Machine::disassembly).
    pub fn disassembly(&self, address: u32) -> Option<Disassembly> {
        let mut bytes = [0; 4];
        let there = self.bus.peek(address & !1, &mut bytes);
        let first = u16::from_le_bytes([bytes[0], bytes[1]]);
        if there < 2 || (is_wide(first) && there < 4) {
            return None;
        }
        let second = u16::from_le_bytes([bytes[2], bytes[3]]);
        let here = address & !1 == self.cpu.pc && self.cpu.it != 0;
        let condition = here.then_some(self.cpu.it >> 4);
        Some(Disassembly::of(self.soc().core, address & !1, first, second, condition))
    }
}
