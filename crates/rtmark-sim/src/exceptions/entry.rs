//! Entering and leaving exceptions (DDI 0403, B1.5; DDI 0419, B1.5 for ARMv6-M; DDI 0553, B3 for ARMv8-M).
//!
//! This module defines what is stacked and unstacked, and in which order decisions are made; the core's
//! timing rules define what that costs.

use crate::arch::armm::mpu::Purpose;
use crate::arch::armm::nvic::{HARD_FAULT, Masks, NMI, SVCALL};
use crate::arch::armm::registers::{CONTROL_FPCA, CONTROL_NPRIV, CONTROL_SFPA, CONTROL_SPSEL};
use crate::arch::armm::trap::{Done, Trap};
use crate::exceptions::float_context::FP_WORDS;
use crate::state::stop::{FaultKind, Stop};
use crate::state::{Sleep, State};
use crate::timing::exceptions::{self, BusWaits, EntryBuses};
use crate::timing::pipeline::CoreBus;

/// Bytes of the frame that every exception stacks.
const BASIC_FRAME: u32 = 8 * 4;
/// EXC_RETURN: return to thread mode, on the process stack, with a basic frame.
const TO_THREAD: u32 = 1 << 3;
const TO_PROCESS_STACK: u32 = 1 << 2;
const BASIC: u32 = 1 << 4;
/// The other bits of EXC_RETURN are ones, except bit 1. With the Security Extension, three of them say that
/// exception and background are Secure and that only the usual registers are stacked.
const ALWAYS_SET: u32 = 0xFFFF_FFE1;
/// Bits of the stacked program status: the frame was aligned; the floating-point state is the Secure
/// program's (ARMv8-M).
const ALIGNED: u32 = 1 << 9;
const SECURE_FP: u32 = 1 << 20;

/// How a handler is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrival {
    /// By stacking a frame, starting in cycle `began`; floating-point registers took `more` additional
    /// cycles.
    Entry { began: u64, more: u64 },
    /// By tail-chaining from another handler, or onto a frame whose exception has been abandoned.
    Chain(u64),
}

/// The cycle of an entry or a return that DWT_EXCCNT does not count, in which the next instruction is
/// fetched, on a core whose rules are constants.
const UNCOUNTED: u64 = 1;

impl State {
    /// Takes a pending exception: stacks a frame, determines which exception is most urgent by then, and
    /// jumps to its handler.
    pub(crate) fn take(&mut self, exception: u16) -> Result<(), Stop> {
        self.finish_first();
        let masks = self.masks();
        let (began, spent) = (self.cycles, self.spent.exceptions);
        self.watches.entry_began = began;
        let overlaps = self.rules.model_buses();
        let (return_address, sp) = (self.cpu.pc, self.cpu.r[13]);
        let exc_return = self.exception_return_value();
        if let Err(trap) = self.stack_frame(return_address) {
            self.stacking_failed(trap, sp)?;
        }
        let more = self.cycles - began;
        self.cycles += u64::from(self.rules.entry);
        let exception = self.late_arrival(exception, masks);
        let result = self.begin_handler(exception, exc_return, Arrival::Entry { began, more });
        let uncounted = if overlaps { 0 } else { UNCOUNTED };
        self.spent.exceptions = spent + (self.cycles - began).saturating_sub(uncounted);
        result
    }

    /// Returns the exception that is most urgent when the vector is fetched.
    fn late_arrival(&mut self, exception: u16, masks: Masks) -> u16 {
        self.pass_time(self.cycles - u64::from(self.rules.late_arrival));
        self.system.nvic.exception_to_take(masks).unwrap_or(exception)
    }

    /// Takes an exception without stacking a frame, because an existing frame is reused or remains from an
    /// exception that was left.
    pub(crate) fn chain(&mut self, exception: u16, exc_return: u32) -> Result<(), Stop> {
        let (began, spent) = (self.cycles, self.spent.exceptions);
        self.cycles += u64::from(self.rules.tail_chain);
        let exception = self.late_arrival(exception, self.masks());
        let result = self.begin_handler(exception, exc_return, Arrival::Chain(began));
        self.spent.exceptions = spent + (self.cycles - began);
        result
    }

    pub(crate) fn begin_handler(
        &mut self,
        exception: u16,
        exc_return: u32,
        way: Arrival,
    ) -> Result<(), Stop> {
        let address = self.system.vector_table.wrapping_add(u32::from(exception) * 4);
        let Some((vector, met)) = self.vector(address) else {
            return self.vector_failed(exception, address, exc_return, way);
        };
        self.system.nvic.activate(exception);
        self.watches.enter(exception);
        self.cpu.switch(|cpu| {
            cpu.ipsr = exception;
            cpu.arm = vector & 1 == 0;
            cpu.control &= !(CONTROL_SPSEL | CONTROL_FPCA | CONTROL_SFPA);
        });
        self.cpu.r[14] = exc_return;
        self.cpu.it = 0;
        self.exclusive = false;
        self.event = true;
        self.request_attention();
        self.cpu.pc = vector & !1;
        self.refill_behind(way, met);
        if self.cpu.arm {
            return self.fault(FaultKind::InvalidState, None, vector);
        }
        Ok(())
    }

    /// Lets the first instruction of a handler enter the pipeline, after its vector was read from a memory.
    fn refill_behind(&mut self, way: Arrival, vector: BusWaits) {
        match way {
            Arrival::Entry { began, more } => {
                let stack = self.entry_waits(self.cpu.r[13]);
                let handler = CoreBus::of(self.cpu.pc);
                let code_free = self.code_free.saturating_sub(began);
                let entry = EntryBuses { stack, vector, handler, code_free };
                self.refill(began, exceptions::enter(&entry).behind(more));
            }
            Arrival::Chain(began) => self.refill(began, exceptions::chain(vector)),
        }
    }

    /// Returns the bus and wait states of an address, as exception entry encounters them.
    fn entry_waits(&self, address: u32) -> BusWaits {
        let place = self.bus.place(address);
        let waits = place.map_or(0, |place| self.soc.memories[place.memory].timing.wait_states);
        BusWaits { bus: CoreBus::of(address), waits: waits.into() }
    }

    /// Reads a vector; returns it with the bus and wait states of its memory. The read is assumed to be like a
    /// load's: exceptions have not been measured on any chip that has caches.
    fn vector(&mut self, address: u32) -> Option<(u32, BusWaits)> {
        let (bytes, place) = self.bus.load::<4>(address)?;
        let waits = self.load_from(place);
        let met = if self.slow.is_at(place) {
            self.entry_waits(address)
        } else {
            BusWaits { bus: CoreBus::of(address), waits }
        };
        if !self.rules.model_buses() {
            self.cycles += waits;
        }
        Some((u32::from_le_bytes(bytes), met))
    }

    /// Returns the EXC_RETURN value that returns from an exception taken now.
    fn exception_return_value(&self) -> u32 {
        let control = self.cpu.control;
        let flag = |holds, bit| if holds { bit } else { 0 };
        // ARMv8-M records CONTROL.SPSEL even where it has no effect, in handler mode.
        ALWAYS_SET
            | flag(self.cpu.ipsr == 0, TO_THREAD)
            | flag(control & CONTROL_SPSEL != 0, TO_PROCESS_STACK)
            | flag(control & CONTROL_FPCA == 0, BASIC)
    }

    /// PushStack. The stack pointer moves even if not everything could be stored.
    fn stack_frame(&mut self, return_address: u32) -> Done {
        let with_fp = self.cpu.control & CONTROL_FPCA != 0;
        let size = BASIC_FRAME + if with_fp { self.fp_frame_size() } else { 0 };
        let sp = self.cpu.r[13];
        // ARMv6-M frames and extended frames are always aligned to eight bytes.
        let align = self.system.aligns_stack() || with_fp;
        let padding = if align { sp & 4 } else { 0 };
        let frame = sp.wrapping_sub(padding).wrapping_sub(size);
        let secure_fp = if self.cpu.control & CONTROL_SFPA != 0 { SECURE_FP } else { 0 };
        let xpsr = self.cpu.xpsr() & !ALIGNED | padding << 7 | secure_fp;
        let limit = self.stack_limit();
        let mut stored = Ok(());
        if frame < limit {
            // Nothing is stored, neither below the limit nor above it.
            self.cpu.r[13] = limit;
            self.trap_value = frame;
            stored = Err(Trap::StackLimit);
        } else {
            self.cpu.r[13] = frame;
        }
        let r = &self.cpu.r;
        let words = [r[0], r[1], r[2], r[3], r[12], r[14], return_address, xpsr];
        stored =
            stored.and_then(|()| self.move_frame(frame, 0, |it| it.store_frame(frame, &words)));
        if with_fp {
            let place = frame.wrapping_add(BASIC_FRAME);
            if self.features.v8m && self.system.fp.lazy_pending() {
                stored = stored.and(Err(Trap::LazyState));
            } else if self.system.fp.lazy_enabled() {
                self.leave_fp_registers(place, stored == Err(Trap::StackLimit));
            } else {
                stored = stored.and_then(|()| {
                    self.move_frame(place, FP_WORDS, |it| it.store_fp_registers(place))
                });
                self.cycles += u64::from(self.rules.fp_frame);
            }
        }
        if self.overflows_stack(frame) && stored != Err(Trap::StackLimit) {
            self.note_stack_overflow(frame);
        }
        stored
    }

    /// Does what stores or loads a part of a frame. Where the core's pipeline is modelled, the time of the entry or
    /// return contains what the basic frame waits for its memory ([`EntryBuses`]), and `more` words wait
    /// one after the other besides.
    pub(crate) fn move_frame<T>(
        &mut self,
        at: u32,
        more: u64,
        act: impl FnOnce(&mut Self) -> Result<T, Trap>,
    ) -> Result<T, Trap> {
        let (began, pipe) = (self.cycles, self.pipe);
        let result = act(self);
        if self.rules.model_buses() {
            self.cycles = began + more * self.entry_waits(at).waits;
            self.pipe = pipe;
        }
        result
    }

    /// Stores a part of a frame.
    pub(crate) fn store_frame(&mut self, to: u32, words: &[u32]) -> Done {
        // While accesses are checked, the main RAM is closed to this.
        if let Some(frame) = self.bus.ram_words_mut(to, words.len() as u32) {
            for (stored, word) in frame.iter_mut().zip(words) {
                *stored = word.to_le_bytes();
            }
            return Ok(());
        }
        self.check_frame(to, words.len(), Purpose::Write)?;
        for (at, &word) in (0..).step_by(4).zip(words) {
            self.write_aligned_word(to.wrapping_add(at), word)?;
        }
        Ok(())
    }

    /// Loads a part of a frame. What this takes is in the time of the return, but for the waits of a slow
    /// memory: see [`State::move_frame`].
    pub(crate) fn load_frame<const N: usize>(&mut self, from: u32) -> Result<[u32; N], Trap> {
        let mut words = [0; N];
        if let Some(frame) = self.bus.ram_words(from, N as u32) {
            for (word, stored) in words.iter_mut().zip(frame) {
                *word = u32::from_le_bytes(*stored);
            }
            return Ok(words);
        }
        self.check_frame(from, N, Purpose::Read)?;
        for (at, word) in (0..).step_by(4).zip(&mut words) {
            *word = self.read_aligned_word(from.wrapping_add(at))?;
        }
        Ok(words)
    }

    /// Checks that a frame is in memory; the address ranges of devices and of the core cannot hold one.
    fn check_frame(&mut self, at: u32, words: usize, access: Purpose) -> Done {
        for address in [at, at.wrapping_add(words as u32 * 4 - 4)] {
            if self.protected {
                self.check_access(address, 4, access)?;
            }
            if self.bus.ram_load::<4>(address).is_none() && self.bus.place(address).is_none() {
                return Err(self.no_response(address));
            }
        }
        Ok(())
    }

    /// ExceptionReturn, requested by the instruction at `pc`.
    pub(crate) fn return_from_exception(&mut self, exc_return: u32, pc: u32) -> Result<(), Stop> {
        let returning = self.cpu.ipsr;
        let nvic = &self.system.nvic;
        let nested = nvic.active().iter().count() > 1;
        let to_thread = exc_return & TO_THREAD != 0;
        let valid = self.accepts(exc_return, nested) && nvic.active().contains(returning);
        // With the Security Extension, FAULTMASK outlives HardFault (DDI 0553, B3.16).
        let negative = self.features.v8m && nvic.active_priority() < 0;
        // DeActivate, which comes first whether or not the return is valid.
        self.deactivate(returning);
        if returning != NMI && !negative {
            self.cpu.faultmask = false;
            self.mask_written(0);
        }
        self.request_attention();
        if self.features.v8m {
            // Handler mode is still in effect, so this stack is not in use yet.
            let process = exc_return & TO_PROCESS_STACK != 0;
            let stack = if process { CONTROL_SPSEL } else { 0 };
            self.cpu.control = self.cpu.control & !CONTROL_SPSEL | stack;
            if self.clear_fp_registers_on_return().is_err() {
                return self.return_failed(FaultKind::LazyState, None, exc_return, pc);
            }
        }
        if !valid {
            return self.return_failed(FaultKind::InvalidReturn, None, exc_return, pc);
        }
        self.exclusive = false;
        self.event = true;
        self.pass_time(self.cycles);
        let (began, spent) = (self.cycles, self.spent.exceptions);
        if self.rules.model_buses()
            && let Some(at) = self.first_exception_within(began, began + exceptions::LEFT_OFF)
        {
            self.cycles = at;
            self.pass_time(at);
        }
        if let Some(next) = self.system.nvic.exception_to_take(self.masks()) {
            let chained = self.cycles;
            self.cycles += u64::from(self.rules.tail_chain);
            let next = self.late_arrival(next, self.masks());
            self.note_return(returning);
            let result = self.begin_handler(next, exc_return, Arrival::Chain(chained));
            self.spent.exceptions = spent + (self.cycles - began);
            return result;
        }
        self.update_protection();
        let stack = self.entry_waits(self.frame_of(exc_return));
        let user = to_thread && self.cpu.control & CONTROL_NPRIV != 0;
        match self.access_as(user, |machine| machine.unstack_frame(exc_return)) {
            Ok(()) => {}
            Err(Trap::InvalidReturn) => {
                return self.return_failed(FaultKind::InvalidReturn, None, exc_return, pc);
            }
            Err(trap) => return self.unstacking_failed(trap, exc_return, pc),
        }
        let more = self.cycles - began;
        self.cycles += u64::from(self.rules.exit);
        let code = CoreBus::of(self.cpu.pc);
        self.refill(began, exceptions::leave(stack, code).behind(more));
        let uncounted = if self.rules.model_buses() { 0 } else { UNCOUNTED };
        self.spent.exceptions += (self.cycles - began).saturating_sub(uncounted);
        self.note_return(returning);
        let (pc, sp) = (self.cpu.pc, self.cpu.get(13));
        self.watches.returns_to(pc, sp, self.cpu.ipsr);
        if to_thread && !nested && self.system.sleep_control & 2 != 0 {
            self.start_sleep(Sleep::Interrupt);
        }
        if self.cpu.arm {
            return self.fault(FaultKind::InvalidState, None, self.cpu.pc);
        }
        Ok(())
    }

    /// Returns whether an EXC_RETURN value is valid now.
    fn accepts(&self, exc_return: u32, nested: bool) -> bool {
        let whole = exc_return & ALWAYS_SET == ALWAYS_SET && exc_return & 2 == 0;
        if !whole || (exc_return & BASIC == 0 && !self.features.fp) {
            return false;
        }
        if exc_return & TO_THREAD != 0 {
            !nested || self.system.thread_from_any_level()
        } else {
            self.features.v8m || exc_return & TO_PROCESS_STACK == 0
        }
    }

    /// DeActivate. At HardFault's priority, ARMv8-M deactivates HardFault, whatever the program has done to
    /// IPSR. (It does so for NMI, too, but while NMI is active, IPSR always names it.)
    fn deactivate(&mut self, returning: u16) {
        let nvic = &mut self.system.nvic;
        let hard_fault = self.features.v8m && nvic.active_priority() == -1;
        nvic.set_active(if hard_fault { HARD_FAULT } else { returning }, false);
    }

    /// Returns the address of the frame that a return unstacks.
    fn frame_of(&self, exc_return: u32) -> u32 {
        let on_process_stack = exc_return & TO_THREAD != 0 && exc_return & TO_PROCESS_STACK != 0;
        if on_process_stack { self.cpu.psp() } else { self.cpu.msp() }
    }

    /// PopStack. Changes nothing if it fails.
    fn unstack_frame(&mut self, exc_return: u32) -> Done {
        let to_thread = exc_return & TO_THREAD != 0;
        let on_process_stack = to_thread && exc_return & TO_PROCESS_STACK != 0;
        let with_fp = exc_return & BASIC == 0;
        let frame = self.frame_of(exc_return);
        let [r0, r1, r2, r3, r12, lr, pc, xpsr] =
            self.move_frame(frame, 0, |it| it.load_frame(frame))?;
        let handler = (xpsr & 0x1FF) as u16;
        if to_thread != (handler == 0) {
            return Err(Trap::InvalidReturn);
        }
        let mut size = BASIC_FRAME;
        if with_fp {
            size += self.fp_frame_size();
            self.restore_fp_registers(frame.wrapping_add(BASIC_FRAME))?;
        }
        let end = frame.wrapping_add(size) | (xpsr >> 9 & 1) << 2;
        let secure_fp = self.features.v8m && xpsr & SECURE_FP != 0;
        self.cpu.switch(|cpu| {
            cpu.ipsr = handler;
            if to_thread {
                let stack = if on_process_stack { CONTROL_SPSEL } else { 0 };
                cpu.control = cpu.control & !CONTROL_SPSEL | stack;
            }
            let live = if with_fp { CONTROL_FPCA } else { 0 };
            let secure = if secure_fp { CONTROL_SFPA } else { 0 };
            cpu.control = cpu.control & !(CONTROL_FPCA | CONTROL_SFPA) | live | secure;
        });
        if on_process_stack {
            self.cpu.set_psp(end);
        } else {
            self.cpu.set_msp(end);
        }
        self.cpu.r[..4].copy_from_slice(&[r0, r1, r2, r3]);
        self.cpu.r[12] = r12;
        self.cpu.r[14] = lr;
        self.cpu.pc = pc & !1;
        self.cpu.restore_psr(xpsr, self.features);
        Ok(())
    }

    /// SVC at `pc`: taken at once, or a fault if it cannot be taken. Either way it has been executed: the frame
    /// holds the address after it (B1.5.6).
    pub(crate) fn supervisor_call(&mut self, pc: u32) -> Result<(), Stop> {
        if self.system.nvic.could_take(SVCALL, self.masks()) {
            self.pend(SVCALL, self.cycles);
            return self.take(SVCALL);
        }
        match self.raise(self.report(FaultKind::SupervisorCall, None, pc)) {
            Ok(exception) => self.take(exception),
            Err(stop) => {
                self.cpu.pc = pc;
                Err(stop)
            }
        }
    }
}
