//! The machine: a soc that runs an image.
//!
//! A [`Machine`] is a value. It does nothing on its own, reads no clock and no
//! file, and a clone runs on exactly as the original would. [`Machine::run`]
//! executes until something worth telling happens, the [`Stop`](crate::Stop).

use crate::state::{NO_LINE, NOT_FETCHED, ProgramPoint, Sleep};
use std::sync::Arc;

use rtmark_units::{Cycles, Hertz, Instructions};

use crate::arch::armm::dwt::Spent;
use crate::arch::armm::nvic::Masks;
use crate::arch::armm::registers::Cpu;
use crate::arch::armm::scs::System;
use crate::devices::Devices;
use crate::engine::code_cache::Code;
use crate::engine::cursor::Cursor;
use crate::engine::decoder::Decoder;
use crate::host::FileCalls;
use crate::host::rtt::Rtt;
use crate::image::Image;
use crate::isa::Features;
use crate::memory::Bus;
use crate::soc::Soc;
use crate::state::Guards;
use crate::state::Trial;
use crate::state::stop::{FaultPolicy, InternalError};
use crate::state::{Besides, Counts, Hit, Watch, WatchId, Watches};
use crate::timing::SlowLines;
use crate::timing::memo::{PipeState, PipelineMemo};
use crate::timing::pipeline;
use crate::timing::{LineMemories, LineMemory, Rule, Rules};

/// Why an image was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A segment lies where the soc has no memory.
    #[error(
        "{size} bytes at {address:#010x} do not fit {soc}: its memories are {memories}; \
         check the linker script or choose another soc"
    )]
    DoesNotFit {
        /// Where the segment begins.
        address: u32,
        /// Its size in bytes.
        size: u32,
        /// The soc's name.
        soc: String,
        /// Its memories as text.
        memories: String,
    },
    /// The vector table has no usable first entries.
    #[error(
        "no vector table at {address:#010x}: stack pointer {sp:#010x}, reset vector {reset:#010x}; \
         is the image linked for this soc?"
    )]
    NoVectors {
        /// Where the table was looked for.
        address: u32,
        /// Its first word.
        sp: u32,
        /// Its second word.
        reset: u32,
    },
}

/// An address that no memory backs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory at {0:#010x}")]
pub struct NoMemory(pub u32);

/// A register, for [`Machine::register`] and [`Machine::set_register`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Register {
    /// R0 to R14, by number; 13 is the current stack pointer.
    R(u8),
    /// The address of the next instruction.
    Pc,
    /// Flags, Thumb bit, ITSTATE and exception number.
    Xpsr,
    /// The main stack pointer.
    Msp,
    /// The process stack pointer.
    Psp,
    /// PRIMASK, 0 or 1.
    Primask,
    /// BASEPRI.
    Basepri,
    /// FAULTMASK, 0 or 1.
    Faultmask,
    /// CONTROL.
    Control,
    /// S0 to S31, by number.
    S(u8),
    /// FPSCR.
    Fpscr,
}

/// A simulated soc.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use rtmark_sim::{Cycles, Machine, Soc, Stop};
///
/// let soc = Soc::from_toml(include_str!("../../../socs/stm32c031.toml"))?;
/// let mut machine = Machine::new(&soc);
/// // A stack pointer, a reset vector, and `b .` to jump to.
/// machine.poke(0x0800_0000, &[0x00, 0x10, 0x00, 0x20, 0x09, 0x00, 0x00, 0x08, 0xFE, 0xE7])?;
/// machine.reset()?;
/// let mut twin = machine.clone();
/// assert_eq!(machine.run(Cycles(1_000)), Stop::Limit);
/// assert_eq!(twin.run(Cycles(1_000)), Stop::Limit);
/// assert_eq!(machine.instructions(), twin.instructions());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) cpu: Cpu,
    pub(crate) bus: Bus,
    pub(crate) code: Code,
    pub(crate) rules: &'static Rules,
    pub(crate) features: Features,
    pub(crate) system: System,
    /// Cycles since reset, up to the instruction that executes.
    pub(crate) cycles: u64,
    pub(crate) instructions: u64,
    /// When the next look at anything but instructions is due.
    pub(crate) deadline: u64,
    pub(crate) limit: u64,
    /// Cycles before something becomes pending from which on instructions are looked at one
    /// by one, see [`crate::exceptions::interruptible`].
    pub(crate) lead: u64,
    /// Instructions that have given way to an interrupt.
    pub(crate) gave_way: u64,
    /// Whether all of this is about to be taken back.
    pub(crate) trial: Trial,
    /// The mistake of the simulator that ends the run.
    pub(crate) failed: Option<Box<InternalError>>,
    /// How the pipeline stands: see [`crate::timing::memo`].
    pub(crate) pipe: PipeState,
    pub(crate) memo: PipelineMemo,
    /// The bus that leads to the main RAM.
    pub(crate) data_bus: pipeline::Bus,
    /// An address of the line that code is fetched from, which are those that are equal to
    /// it under the mask; [`NO_LINE`] when it is to be entered anew.
    pub(crate) line: u32,
    pub(crate) line_mask: u32,
    pub(crate) lines: LineMemories,
    /// The memory whose lines the pipeline waits for.
    pub(crate) slow: SlowLines,
    /// The instruction that has been fetched before it entered the pipeline, or [`NOT_FETCHED`].
    pub(crate) fetched: u32,
    /// Accesses or instructions are looked at, see [`crate::exec::protect`].
    pub(crate) protected: bool,
    pub(crate) guards: Guards,
    /// What the DWT's counters are worked out from. Cycles and instructions are not
    /// kept here.
    pub(crate) spent: Spent,
    /// Accesses count as unprivileged whatever the mode.
    pub(crate) as_user: bool,
    /// Stores that nothing answers are dropped: their fault is known already.
    pub(crate) drops_stores: bool,
    pub(crate) has_bit_bands: bool,
    pub(crate) exclusive: bool,
    /// The event register of WFE and SEV.
    pub(crate) event: bool,
    pub(crate) sleeping: Option<Sleep>,
    pub(crate) reset_requested: bool,
    /// Exceptions that will become pending, with the cycle, the earliest first.
    pub(crate) scheduled: Vec<(u64, u16)>,
    /// Exceptions on their way to the core, with the cycle in which they come there, the
    /// earliest first.
    pub(crate) arrivals: Vec<(u64, u16)>,
    /// The first cycle in which the Code bus has no fetch left for the program that an exception
    /// is about to interrupt; past, where that is of no interest.
    pub(crate) code_free: u64,
    /// What a trap is about: the address of an access, or an EXC_RETURN value.
    pub(crate) trap_value: u32,
    pub(crate) console: Vec<u8>,
    pub(crate) clock: Hertz,
    pub(crate) fault_policy: FaultPolicy,
    pub(crate) file_calls: FileCalls,
    /// How far the program has read what semihosting offers.
    pub(crate) features_read: u32,
    pub(crate) watches: Watches,
    pub(crate) devices: Devices,
    pub(crate) rtt: Rtt,
    /// Bytes that the image puts into RAM and registers, for [`Machine::reset`].
    initial: Vec<(u32, Vec<u8>)>,
    soc: Arc<Soc>,
}

impl Machine {
    #[inline(always)]
    pub(crate) const fn progress(&self) -> ProgramPoint {
        ProgramPoint {
            pc: self.cpu.pc,
            cycles: self.cycles,
            instructions: self.instructions,
            pipe: self.pipe,
        }
    }

    #[inline(always)]
    pub(crate) const fn set_progress(&mut self, at: ProgramPoint) {
        self.cpu.pc = at.pc;
        self.cycles = at.cycles;
        self.instructions = at.instructions;
        self.pipe = at.pipe;
    }

    /// Does something that needs the whole machine, in the middle of an instruction.
    #[inline(always)]
    pub(crate) fn slow_path<T>(
        &mut self,
        at: &mut Cursor<'_>,
        act: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = at.progress();
        self.set_progress(before);
        self.settle_memory(at);
        let result = act(self);
        at.target = self.cpu.pc;
        if self.pipe != before.pipe {
            at.deviate(self.pipe);
        }
        at.take_longer(self.cycles.wrapping_sub(before.cycles), self.deadline);
        result
    }

    /// Does something that advances the progress of the whole machine.
    #[inline(always)]
    pub(crate) fn within<T>(&mut self, act: impl FnOnce(&mut Self, &mut Cursor<'_>) -> T) -> T {
        let mut at = Cursor::from(self.progress());
        let result = act(self, &mut at);
        self.set_progress(ProgramPoint { pc: at.target, ..at.progress() });
        result
    }

    /// A machine with empty memories.
    pub fn new(soc: &Soc) -> Self {
        Self::with_rules(soc, pipeline::LeftOut::default())
    }

    /// A machine whose timing lacks a rule, to see what the rule is worth. Its cycles are no
    /// figures.
    pub fn new_without(soc: &Soc, rule: Rule) -> Self {
        Self::with_rules(soc, pipeline::LeftOut::one(rule))
    }

    fn with_rules(soc: &Soc, left_out: pipeline::LeftOut) -> Self {
        let features = Features::of(soc.core);
        let rules = Rules::of(soc.core);
        let bus = Bus::new(soc);
        let data_bus = pipeline::Bus::of(bus.main_ram_base());
        let slow = SlowLines::of(soc, rules);
        let setup = pipeline::Setup {
            generation: soc.generation(),
            matrix: soc.bus_matrix,
            slow: slow.memory(),
            left_out,
        };
        let (watched, stops, tells_leaps) = (Vec::new(), Vec::new(), slow.exists());
        let decoder = Decoder { rules, features, watched, stops, tells_leaps };
        let mut machine = Self {
            cpu: Cpu::new(),
            bus,
            code: Code::new(soc, decoder),
            rules,
            features,
            system: System::new(soc, features),
            cycles: 0,
            instructions: 0,
            deadline: 0,
            limit: 0,
            lead: 0,
            gave_way: 0,
            trial: Trial::No,
            failed: None,
            pipe: PipeState::refilling(true),
            memo: PipelineMemo::new(rules, setup),
            slow,
            data_bus,
            line: NO_LINE,
            fetched: NOT_FETCHED,
            line_mask: u32::MAX,
            lines: LineMemories::new(slow.read_paths(soc)),
            protected: false,
            guards: Guards::default(),
            spent: Spent::default(),
            as_user: false,
            drops_stores: false,
            has_bit_bands: soc.has_bit_bands(),
            exclusive: false,
            event: false,
            sleeping: None,
            reset_requested: false,
            scheduled: Vec::new(),
            arrivals: Vec::new(),
            code_free: 0,
            trap_value: 0,
            console: Vec::new(),
            clock: soc.clock,
            fault_policy: FaultPolicy::default(),
            file_calls: FileCalls::default(),
            features_read: 0,
            watches: Watches::default(),
            devices: Devices::new(soc),
            rtt: Rtt::default(),
            initial: Vec::new(),
            soc: Arc::new(soc.clone()),
        };
        machine.update_lead();
        machine
    }

    /// Programs an image into the memories and resets.
    ///
    /// # Errors
    /// When a segment lies outside the soc's memories, or there is no vector
    /// table where the soc looks for it.
    pub fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        for segment in image.segments() {
            let (address, size) = (segment.load_address, segment.bytes.len() as u32);
            if self.devices.takes_image(address, segment.bytes.len()) {
                self.initial.push((address, segment.bytes.clone()));
                continue;
            }
            let end_of_memory = segment.address.wrapping_add(segment.memory_size.max(1) - 1);
            let loaded = size == 0 || self.bus.peek_len(address) >= segment.bytes.len();
            let runs = self.bus.place(segment.address).is_some()
                && self.bus.place(end_of_memory).is_some();
            if !loaded || !runs {
                return Err(LoadError::DoesNotFit {
                    address: if loaded { segment.address } else { address },
                    size: segment.memory_size,
                    soc: self.soc.name.clone(),
                    memories: self.soc.memory_map(),
                });
            }
            self.bus.program(address, &segment.bytes);
            if self.bus.place(address).is_some_and(|place| self.bus.is_writable(place.memory)) {
                self.initial.push((address, segment.bytes.clone()));
            }
        }
        self.rtt.expect(image);
        self.code.forget_all();
        self.memo.forget();
        self.reset()
    }

    /// Writes memory as a debugger or programmer would, flash included.
    ///
    /// # Errors
    /// When the bytes do not all lie in one memory.
    pub fn poke(&mut self, address: u32, bytes: &[u8]) -> Result<(), NoMemory> {
        let written = self.bus.program(address, bytes);
        self.code.forget_all();
        self.memo.forget();
        if written == bytes.len() { Ok(()) } else { Err(NoMemory(address + written as u32)) }
    }

    /// Writes a word as a debugger or programmer would.
    ///
    /// # Errors
    /// When there is no memory at the address.
    pub fn poke_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        self.poke(address, &value.to_le_bytes())
    }

    /// Reads memory without any effect; answers fewer bytes where memory ends.
    pub fn peek(&self, address: u32, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length.min(self.bus.peek_len(address))];
        self.bus.peek(address, &mut bytes);
        bytes
    }

    /// Resets the core and fills RAM with its reset value; the watches stay.
    ///
    /// # Errors
    /// When the vector table's stack pointer and reset vector cannot be used.
    pub fn reset(&mut self) -> Result<(), LoadError> {
        self.bus.reset();
        for (address, bytes) in &self.initial {
            self.bus.program(*address, bytes);
        }
        self.code.forget_own();
        self.memo.forget();
        self.cpu = Cpu::new();
        self.system = System::new(&self.soc, self.features);
        self.spent = Spent::default();
        self.update_protection();
        self.lines.for_each(LineMemory::reset);
        self.devices.reset(&self.soc, &mut self.lines);
        self.update_lead();
        for (address, bytes) in &self.initial {
            self.devices.program(*address, bytes);
        }
        self.rtt.reset();
        (self.line, self.line_mask, self.fetched) = (NO_LINE, u32::MAX, NOT_FETCHED);
        self.slow.reset();
        (self.cycles, self.instructions, self.deadline) = (0, 0, 0);
        self.gave_way = 0;
        self.failed = None;
        self.pipe = self.refilling();
        (self.exclusive, self.event, self.reset_requested) = (false, false, false);
        self.watches.masking.reset();
        self.sleeping = None;
        self.scheduled.clear();
        self.arrivals.clear();
        self.code_free = 0;
        let word = |bus: &Bus, address| {
            let mut bytes = [0; 4];
            bus.peek(address, &mut bytes);
            u32::from_le_bytes(bytes)
        };
        let address = self.soc.vector_base();
        let (sp, reset) = (word(&self.bus, address), word(&self.bus, address.wrapping_add(4)));
        if reset & 1 == 0 || self.bus.place(reset & !1).is_none() {
            return Err(LoadError::NoVectors { address, sp, reset });
        }
        self.cpu.r[13] = sp & !3;
        self.cpu.r[14] = u32::MAX;
        self.cpu.pc = reset & !1;
        Ok(())
    }

    /// Notes every occurrence of something from now on.
    pub fn watch(&mut self, watch: Watch) -> WatchId {
        let id = self.watches.add(watch);
        if let Watch::Execute(_) = watch {
            self.code.decoder.watched = self.watches.addresses();
            self.code.forget_all();
        }
        id
    }

    /// What has been noted since [`Machine::take_hits`] was last called, in order.
    pub fn hits(&self) -> &[Hit] {
        &self.watches.hits
    }

    /// What has been noted since the last call, in order.
    pub fn take_hits(&mut self) -> Vec<Hit> {
        std::mem::take(&mut self.watches.hits)
    }

    /// What the program has printed since the last call.
    pub fn take_console(&mut self) -> Vec<u8> {
        self.show_rtt();
        std::mem::take(&mut self.console)
    }

    /// The bytes that the program has written to a stimulus port of the ITM since the last
    /// call. Port 0 is the console, see [`Machine::take_console`].
    pub fn take_stimulus(&mut self, port: u8) -> Vec<u8> {
        self.system.itm.take(port)
    }

    /// Decides what happens when a fault would enter HardFault.
    pub fn set_fault_policy(&mut self, policy: FaultPolicy) {
        self.fault_policy = policy;
    }

    /// The soc that is simulated.
    pub fn soc(&self) -> &Soc {
        &self.soc
    }

    /// Cycles since reset.
    pub fn cycles(&self) -> Cycles {
        Cycles(self.cycles)
    }

    /// Cycles since reset for which memories have made the core wait. A pipeline may have
    /// hidden some of them behind other instructions.
    pub fn waited(&self) -> Cycles {
        Cycles(self.lines.iter().map(LineMemory::waited).sum())
    }

    /// What has taken cycles besides the execution of instructions, since reset.
    pub fn besides(&self) -> Besides {
        Besides {
            waited: Cycles(self.waited().0 + self.devices.waited),
            asleep: Cycles(self.spent.sleep),
            exceptions: self.watches.taken,
        }
    }

    /// The counts of this moment, for what is watched.
    pub(crate) fn counts(&self) -> Counts {
        Counts { cycle: self.cycles, instructions: self.instructions, besides: self.besides() }
    }

    /// Empties the buffers and caches of all memories, as if nothing had been read yet.
    pub fn empty_caches(&mut self) {
        self.lines.for_each(LineMemory::empty);
        (self.line, self.line_mask) = (NO_LINE, u32::MAX);
        self.empty_slow_lines();
    }

    /// Does [`Machine::empty_caches`] each time that something watched is hit.
    pub fn empty_caches_at(&mut self, watch: WatchId) {
        self.watches.empties.push(watch);
    }

    /// Empties the caches if a watch was hit that asks for it.
    #[inline]
    pub(crate) fn empty_caches_if_asked(&mut self) {
        if std::mem::take(&mut self.watches.empty) {
            self.empty_caches();
        }
    }

    /// Instructions executed since reset.
    pub fn instructions(&self) -> Instructions {
        Instructions(self.instructions)
    }

    /// Instructions that have been left off for an interrupt since reset, to be gone on with or
    /// begun anew (DDI 0403, B1.5.10).
    pub fn gave_way(&self) -> Instructions {
        Instructions(self.gave_way)
    }

    /// The value of a register.
    pub fn register(&self, register: Register) -> u32 {
        let cpu = &self.cpu;
        match register {
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
        }
    }

    /// Sets a register as a debugger would. What the architecture keeps at zero stays
    /// zero; the exception number cannot be set.
    pub fn set_register(&mut self, register: Register, value: u32) {
        let cpu = &mut self.cpu;
        match register {
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
        }
        self.attend_soon();
    }

    /// Makes an external interrupt pending at a cycle, as a device would; at once
    /// when that cycle has passed. Interrupts that the soc lacks are ignored.
    pub fn pend_interrupt(&mut self, interrupt: u16, at: Cycles) {
        self.schedule(crate::arch::armm::nvic::FIRST_INTERRUPT.saturating_add(interrupt), at.0);
    }

    pub(crate) fn masks(&self) -> Masks {
        Masks {
            primask: self.cpu.primask,
            faultmask: self.cpu.faultmask,
            basepri: self.cpu.basepri,
        }
    }

    pub(crate) fn execution_priority(&self) -> i16 {
        self.system.nvic.execution_priority(self.masks())
    }

    /// Has the machine look around before the next instruction.
    #[inline(always)]
    pub(crate) fn attend_soon(&mut self) {
        self.deadline = 0;
    }

    /// Falls asleep, now.
    pub(crate) fn fall_asleep(&mut self, sleep: Sleep) {
        self.sleeping = Some(sleep);
        self.note_now(Watch::Sleep);
    }

    #[inline(never)]
    pub(crate) fn forget_overwritten_code(&mut self, address: u32) {
        self.bus.code_writes.dirty = false;
        if self.code.forget(address) {
            self.memo.forget();
            self.attend_soon();
        }
    }
}
