//! The core in its system: executes instruction by instruction, and connects execution with the
//! pipeline.

use super::code::{Code, DecodedInstruction, OFTEN, of_one};
use super::control::{AccessFault, CounterValues, Kind, SystemRegister};
use super::cpu::psr;
use super::exec::{Arch, Effects, Exception};
use super::gic::InterruptLine;
use super::isa::{Instruction, InstructionSet, decode};
use super::timing::{ENTRY, Pipeline, Place};
use crate::soc::Soc;

/// Immediates of semihosting calls (Arm's semihosting specification): SVC in A32 and in T32.
const HOST_CALLS: [u32; 2] = [0x12_3456, 0xAB];

/// The result of a step, as far as a run may end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The instruction at this address has executed; it issued in this cycle.
    Instruction { pc: u32, issued: u64 },
    /// An instruction that requested a service from the host.
    HostCall { pc: u32, issued: u64 },
    /// A supervisor call, whose handler comes next.
    Call { pc: u32, issued: u64 },
    /// Another exception has been entered; for an interrupt, with its number.
    Trap(Exception, Option<u16>),
    /// Time has passed.
    Slept,
    /// The instruction at the program counter faults, and the run is to end before it.
    Refused(Exception),
    /// The core sleeps, and nothing will wake it.
    Forever,
}

/// Which exceptions end a run before they are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// None: all are taken, as on the chip.
    #[default]
    Nothing,
    /// Faults and breakpoints, but not calls, which working programs use.
    Faults,
}

/// The attributes of the line of code being executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    /// The line's address divided by its size, which is that of the smallest protection region.
    number: u32,
    privileged: bool,
    kind: Kind,
}

/// An interrupt request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    /// The cycle since which any interrupt has been requested.
    since: u64,
    which: u16,
    line: InterruptLine,
}

/// Whether execution continues through marked instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkPolicy {
    Pass,
    Stop,
}

/// The core in its system.
#[derive(Clone, Debug)]
pub struct Core {
    pub arch: Arch,
    pub pipeline: Pipeline,
    pub code: Code,
    line: Option<Line>,
    /// A number that changes whenever coprocessor 15 may have changed access rights.
    pub rights: u32,
    pub instructions: u64,
    asleep: bool,
    request: Option<Request>,
    pub refusal: Refusal,
    /// Whether the last instruction read or wrote a device register.
    touched: bool,
    /// The number of exception returns so far.
    pub returns: u64,
}

impl Core {
    pub fn new(soc: &Soc, pc: u32) -> Self {
        let arch = Arch::new(soc, pc);
        let mut pipeline = Pipeline::new(soc);
        pipeline.configure(&arch.control);
        Self {
            arch,
            pipeline,
            code: Code::default(),
            line: None,
            rights: 1,
            instructions: 0,
            asleep: false,
            request: None,
            refusal: Refusal::default(),
            touched: false,
            returns: 0,
        }
    }

    /// Returns the next cycle in which an instruction may issue.
    pub const fn cycle(&self) -> u64 {
        self.pipeline.next()
    }

    pub const fn set(&self) -> InstructionSet {
        if self.arch.cpu.is_thumb() { InstructionSet::T32 } else { InstructionSet::A32 }
    }

    /// Returns the bits of the instruction at an address, for T32 with the first halfword in the
    /// upper half. Returns `None` if there is no memory.
    pub fn bits(&self, address: u32, set: InstructionSet) -> Option<u32> {
        let word = self.arch.system.code(address)?;
        Some(if set == InstructionSet::T32 { word.rotate_left(16) } else { word })
    }

    /// Returns the instruction at an address, decoded in the current instruction set.
    pub fn instruction_at(&self, address: u32) -> Option<Instruction> {
        let set = self.set();
        let bits = self.bits(address, set)?;
        let known = self.code.decoded(set, address, bits);
        Some(known.unwrap_or_else(|| decode(set, address, of_one(set, bits))))
    }

    /// Samples the interrupt inputs again, after a change outside the core.
    pub fn resample_interrupts(&mut self) {
        let now = self.cycle();
        self.sample_interrupts(now);
    }

    fn sample_interrupts(&mut self, now: u64) {
        let since = self.request.map_or(now, |request| request.since);
        let signalled = self.arch.system.interrupt();
        self.request = signalled.map(|(which, line)| Request { since, which, line });
    }

    /// Processes all device events due by a cycle.
    fn process_device_events(&mut self, now: u64) {
        while self.arch.system.next() <= now {
            let at = self.arch.system.next();
            self.arch.system.process_events(at);
            self.sample_interrupts(at);
        }
    }

    /// Returns whether interrupts on a line are masked.
    pub const fn masks(&self, line: InterruptLine) -> bool {
        self.arch.cpu.bit(match line {
            InterruptLine::Irq => psr::I,
            InterruptLine::Fiq => psr::F,
        })
    }

    /// Returns whether an interrupt is about to be taken.
    pub fn is_interrupted(&self) -> bool {
        self.taken_next().is_some()
    }

    fn taken_next(&self) -> Option<Request> {
        let request = self.request?;
        (!self.masks(request.line) && request.since <= self.cycle()).then_some(request)
    }

    /// Returns whether the core sleeps.
    pub const fn is_asleep(&self) -> bool {
        self.asleep && self.request.is_none()
    }

    /// Advances by one step: an instruction, an exception, or a sleep that ends no later than
    /// `until`.
    pub fn step(&mut self, until: u64) -> StepResult {
        let now = self.cycle();
        if self.arch.system.next() <= now {
            self.process_device_events(now);
        }
        if let Some(request) = self.taken_next() {
            return self.interrupt(request);
        }
        if self.asleep {
            if self.request.is_some() {
                self.asleep = false;
            } else {
                return self.sleep(until);
            }
        }
        // `MarkPolicy::Pass` always executes the instruction.
        self.execute(MarkPolicy::Pass).unwrap_or(StepResult::Slept)
    }

    fn sleep(&mut self, until: u64) -> StepResult {
        let next = self.arch.system.next();
        if next == u64::MAX {
            return StepResult::Forever;
        }
        let now = self.cycle();
        let to = next.min(until).max(now);
        self.pipeline.wait(to);
        if to == next {
            self.process_device_events(to);
        } else if to == now {
            return StepResult::Forever;
        }
        StepResult::Slept
    }

    fn interrupt(&mut self, Request { which, line, .. }: Request) -> StepResult {
        self.asleep = false;
        let exception = match line {
            InterruptLine::Irq => Exception::Interrupt,
            InterruptLine::Fiq => Exception::FastInterrupt,
        };
        self.arch.enter(exception, 4);
        self.pipeline.enter(self.cycle(), ENTRY);
        self.arch.system.record_exception_taken(which);
        self.request = None;
        self.sample_interrupts(self.cycle());
        StepResult::Trap(exception, Some(which))
    }

    /// Returns the memory type of the code at `pc`.
    #[inline]
    fn line(&mut self, pc: u32) -> Result<Kind, AccessFault> {
        let (number, privileged) = (pc / 32, self.arch.cpu.is_privileged());
        if let Some(line) = self.line
            && (line.number, line.privileged) == (number, privileged)
        {
            return Ok(line.kind);
        }
        let kind = self.arch.control.protection.code(pc, privileged)?;
        self.line = Some(Line { number, privileged, kind });
        Ok(kind)
    }

    /// Decodes the instruction at an address and watches for writes to it. Returns whether there is
    /// one.
    fn decode_at(&mut self, set: InstructionSet, pc: u32) -> bool {
        let Some(bits) = self.bits(pc, set) else { return false };
        let bus = &mut self.arch.system.bus;
        if bus.place(pc).is_some_and(|place| bus.is_writable(place.memory)) {
            // An unaligned store may begin before the instruction.
            bus.code_writes.cover(pc.saturating_sub(4));
            bus.code_writes.cover(pc);
            self.pipeline.has_code(pc);
            self.pipeline.has_code(pc.wrapping_add(3));
        }
        self.code.decode_at(set, pc, bits);
        true
    }

    /// Executes instructions up to a cycle, as long as nothing else is due and none is marked.
    /// Returns the last result if it must be recorded.
    pub fn run_ahead(&mut self, until: u64) -> Option<StepResult> {
        if self.asleep {
            return None;
        }
        let (horizon, returns) = (until.min(self.arch.system.next()), self.returns);
        if let Some(request) = self.request {
            // Instructions that unmask the interrupt execute outside the graph.
            if self.masks(request.line) {
                self.run_graph(horizon);
            }
            return None;
        }
        loop {
            self.run_graph(horizon);
            if self.cycle() >= horizon {
                return None;
            }
            let passed = self.execute(MarkPolicy::Stop)?;
            let is_plain = matches!(passed, StepResult::Instruction { .. });
            if !is_plain || self.asleep || self.touched || self.returns != returns {
                return Some(passed);
            }
        }
    }

    /// Marks all decoded code to be checked again, if code has been written at an unknown address.
    pub fn look_at_code(&mut self) {
        if std::mem::take(&mut self.arch.system.bus.code_writes.dirty) {
            self.code.invalidate_all();
        }
    }

    /// Executes the instruction at the program counter, unless it is marked and marks stop
    /// execution.
    #[inline]
    fn execute(&mut self, marks: MarkPolicy) -> Option<StepResult> {
        let pc = self.arch.cpu.pc;
        let kind = match self.line(pc) {
            Ok(kind) => kind,
            Err(why) => return Some(self.refuse(Exception::Code { address: pc, why })),
        };
        let set = self.set();
        self.look_at_code();
        let state = self.arch.cpu.it;
        let Some((entry, graph)) = self.code.known(set, pc) else {
            if self.decode_at(set, pc) {
                return self.execute(marks);
            }
            let why = AccessFault::External;
            return Some(self.refuse(Exception::Code { address: pc, why }));
        };
        if entry.marked && marks == MarkPolicy::Stop {
            return None;
        }
        let DecodedInstruction { it, demand, passages, .. } = entry;
        let condition = self.arch.cpu.block_condition().unwrap_or(it.condition);
        let place = Place {
            pc,
            size: it.size,
            thumb: set == InstructionSet::T32,
            conditional: condition < 14 || entry.decides,
            backwards: entry.backwards,
            kind,
        };
        let issued = self.pipeline.issue(demand, passages, &place);
        let now = CounterValues { cycle: issued, instructions: self.instructions };
        Some(match self.arch.execute(it, now) {
            Ok(done) => {
                let passage = self.pipeline.finish(demand, passages, &place, &done, issued);
                self.instructions += 1;
                let written = entry.writes;
                entry.visits = OFTEN.min(entry.visits + 1);
                let is_often = entry.visits == OFTEN && marks == MarkPolicy::Stop;
                if let Some(passage) = passage.filter(|_| is_often) {
                    let what = (&*it, demand.flow, demand.moves);
                    let node = graph.note(what, &place, state, &passage);
                    entry.nodes.extend(node.filter(|node| !entry.nodes.contains(node)));
                }
                self.after(&done, written);
                StepResult::Instruction { pc, issued }
            }
            Err(Exception::Call(number)) if number == HOST_CALLS[usize::from(place.thumb)] => {
                self.arch.cpu.pc = pc.wrapping_add(it.size.into());
                self.arch.cpu.advance_it();
                let _passage =
                    self.pipeline.finish(demand, passages, &place, &Effects::default(), issued);
                self.instructions += 1;
                StepResult::HostCall { pc, issued }
            }
            Err(exception) => {
                let works = matches!(exception, Exception::Call(_));
                if self.refusal == Refusal::Faults && !works {
                    return Some(StepResult::Refused(exception));
                }
                self.pipeline.raise(demand, &place, issued);
                self.instructions += u64::from(works);
                self.arch.enter(exception, it.size);
                if works {
                    StepResult::Call { pc, issued }
                } else {
                    StepResult::Trap(exception, None)
                }
            }
        })
    }

    /// Applies the effects of an instruction beyond registers.
    #[inline]
    fn after(&mut self, done: &Effects, written: Option<SystemRegister>) {
        self.asleep = done.sleeps;
        self.returns += u64::from(done.returns.is_some());
        self.touched = self.arch.system.take_register_access();
        if self.touched {
            self.sample_interrupts(self.cycle());
        }
        let written_code = self.arch.system.bus.code_writes.dirty;
        if let Some(traffic) = done.traffic.filter(|traffic| written_code && traffic.writes) {
            self.arch.system.bus.code_writes.dirty = false;
            self.code.invalidate(traffic.address, traffic.bytes);
        }
        if let Some(register) = written {
            self.line = None;
            self.rights = self.rights.wrapping_add(1);
            self.pipeline.forget_rights();
            if register.n == 1 {
                self.pipeline.configure(&self.arch.control);
            }
        }
    }

    /// Handles a refused instruction fetch.
    fn refuse(&mut self, exception: Exception) -> StepResult {
        if self.refusal == Refusal::Faults {
            return StepResult::Refused(exception);
        }
        self.arch.enter(exception, 4);
        self.pipeline.refuse();
        StepResult::Trap(exception, None)
    }

    /// Continues at an address as after a jump; its lowest bit selects the instruction set.
    pub fn go_to(&mut self, address: u32) {
        self.arch.cpu.pc = address & !1;
        self.arch.cpu.it = 0;
        self.arch.cpu.set_thumb(address & 1 == 1);
        self.asleep = false;
    }

    /// Discards decoded code, after memory was written from outside the core.
    pub fn forget_code(&mut self) {
        self.code.invalidate_all();
        self.pipeline.memory.refetch();
    }
}
