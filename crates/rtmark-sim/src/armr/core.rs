//! The core in its system: executes instruction by instruction, and connects execution with the
//! pipeline.

use super::code::{Code, Met, OFTEN, of_one};
use super::control::{Denied, Kind, Now, SystemRegister};
use super::cpu::psr;
use super::exec::{Arch, Done, Exception};
use super::gic::InterruptLine;
use super::isa::{Instruction, Set, decode};
use super::timing::{ENTRY, Pipeline, Place};
use crate::soc::Soc;

/// Immediates of semihosting calls (Arm's semihosting specification): SVC in A32 and in T32.
const HOST_CALLS: [u32; 2] = [0x12_3456, 0xAB];

/// The result of a step, as far as a run may end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
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
enum Marks {
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

    pub const fn set(&self) -> Set {
        if self.arch.cpu.is_thumb() { Set::T32 } else { Set::A32 }
    }

    /// Returns the bits of the instruction at an address, for T32 with the first halfword in the
    /// upper half. Returns `None` if there is no memory.
    pub fn bits(&self, address: u32, set: Set) -> Option<u32> {
        let word = self.arch.system.code(address)?;
        Some(if set == Set::T32 { word.rotate_left(16) } else { word })
    }

    /// Returns the instruction at an address, decoded in the current instruction set.
    pub fn instruction_at(&self, address: u32) -> Option<Instruction> {
        let set = self.set();
        let bits = self.bits(address, set)?;
        let known = self.code.decoded(set, address, bits);
        Some(known.unwrap_or_else(|| decode(set, address, of_one(set, bits))))
    }

    /// Samples the interrupt inputs again, after a change outside the core.
    pub fn look_again(&mut self) {
        let now = self.cycle();
        self.look(now);
    }

    fn look(&mut self, now: u64) {
        let since = self.request.map_or(now, |request| request.since);
        let signalled = self.arch.system.interrupt();
        self.request = signalled.map(|(which, line)| Request { since, which, line });
    }

    /// Processes all device events due by a cycle.
    fn pass_devices(&mut self, now: u64) {
        while self.arch.system.next() <= now {
            let at = self.arch.system.next();
            self.arch.system.pass(at);
            self.look(at);
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
    pub fn step(&mut self, until: u64) -> Passed {
        let now = self.cycle();
        if self.arch.system.next() <= now {
            self.pass_devices(now);
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
        // `Marks::Pass` always executes the instruction.
        self.execute(Marks::Pass).unwrap_or(Passed::Slept)
    }

    fn sleep(&mut self, until: u64) -> Passed {
        let next = self.arch.system.next();
        if next == u64::MAX {
            return Passed::Forever;
        }
        let now = self.cycle();
        let to = next.min(until).max(now);
        self.pipeline.wait(to);
        if to == next {
            self.pass_devices(to);
        } else if to == now {
            return Passed::Forever;
        }
        Passed::Slept
    }

    fn interrupt(&mut self, Request { which, line, .. }: Request) -> Passed {
        self.asleep = false;
        let exception = match line {
            InterruptLine::Irq => Exception::Interrupt,
            InterruptLine::Fiq => Exception::FastInterrupt,
        };
        self.arch.enter(exception, 4);
        self.pipeline.enter(self.cycle(), ENTRY);
        self.arch.system.taken(which);
        self.request = None;
        self.look(self.cycle());
        Passed::Trap(exception, Some(which))
    }

    /// Returns the memory type of the code at `pc`.
    #[inline]
    fn line(&mut self, pc: u32) -> Result<Kind, Denied> {
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
    fn meet(&mut self, set: Set, pc: u32) -> bool {
        let Some(bits) = self.bits(pc, set) else { return false };
        let bus = &mut self.arch.system.bus;
        if bus.place(pc).is_some_and(|place| bus.is_writable(place.memory)) {
            // An unaligned store may begin before the instruction.
            bus.code_writes.cover(pc.saturating_sub(4));
            bus.code_writes.cover(pc);
            self.pipeline.windows.has_code(pc);
            self.pipeline.windows.has_code(pc.wrapping_add(3));
        }
        self.code.meet(set, pc, bits);
        true
    }

    /// Executes instructions up to a cycle, as long as nothing else is due and none is marked.
    /// Returns the last result if it must be recorded.
    pub fn leap(&mut self, until: u64) -> Option<Passed> {
        if self.asleep {
            return None;
        }
        let (horizon, returns) = (until.min(self.arch.system.next()), self.returns);
        if let Some(request) = self.request {
            // Instructions that unmask the interrupt execute outside the graph.
            if self.masks(request.line) {
                self.glide(horizon);
            }
            return None;
        }
        loop {
            self.glide(horizon);
            if self.cycle() >= horizon {
                return None;
            }
            let passed = self.execute(Marks::Stop)?;
            let is_plain = matches!(passed, Passed::Instruction { .. });
            if !is_plain || self.asleep || self.touched || self.returns != returns {
                return Some(passed);
            }
        }
    }

    /// Marks all decoded code to be checked again, if code has been written at an unknown address.
    pub fn look_at_code(&mut self) {
        if std::mem::take(&mut self.arch.system.bus.code_writes.dirty) {
            self.code.look_again();
        }
    }

    /// Executes the instruction at the program counter, unless it is marked and marks stop
    /// execution.
    #[inline]
    fn execute(&mut self, marks: Marks) -> Option<Passed> {
        let pc = self.arch.cpu.pc;
        let kind = match self.line(pc) {
            Ok(kind) => kind,
            Err(why) => return Some(self.refuse(Exception::Code { address: pc, why })),
        };
        let set = self.set();
        self.look_at_code();
        let state = self.arch.cpu.it;
        let Some((met, graph)) = self.code.known(set, pc) else {
            if self.meet(set, pc) {
                return self.execute(marks);
            }
            let why = Denied::External;
            return Some(self.refuse(Exception::Code { address: pc, why }));
        };
        if met.marked && marks == Marks::Stop {
            return None;
        }
        let Met { it, demand, passages, .. } = met;
        let condition = self.arch.cpu.block_condition().unwrap_or(it.condition);
        let place = Place {
            pc,
            size: it.size,
            thumb: set == Set::T32,
            conditional: condition < 14 || met.decides,
            backwards: met.backwards,
            kind,
        };
        let issued = self.pipeline.issue(demand, passages, &place);
        let now = Now { cycle: issued, instructions: self.instructions };
        Some(match self.arch.execute(it, now) {
            Ok(done) => {
                let passage = self.pipeline.finish(demand, passages, &place, &done, issued);
                self.instructions += 1;
                let written = met.writes;
                met.visits = OFTEN.min(met.visits + 1);
                let is_often = met.visits == OFTEN && marks == Marks::Stop;
                if let Some(passage) = passage.filter(|_| is_often) {
                    let what = (&*it, demand.flow, demand.moves);
                    let node = graph.note(what, &place, state, &passage);
                    met.nodes.extend(node.filter(|node| !met.nodes.contains(node)));
                }
                self.after(&done, written);
                Passed::Instruction { pc, issued }
            }
            Err(Exception::Call(number)) if number == HOST_CALLS[usize::from(place.thumb)] => {
                self.arch.cpu.pc = pc.wrapping_add(it.size.into());
                self.arch.cpu.advance_it();
                let _passage =
                    self.pipeline.finish(demand, passages, &place, &Done::default(), issued);
                self.instructions += 1;
                Passed::HostCall { pc, issued }
            }
            Err(exception) => {
                let works = matches!(exception, Exception::Call(_));
                if self.refusal == Refusal::Faults && !works {
                    return Some(Passed::Refused(exception));
                }
                self.pipeline.raise(demand, &place, issued);
                self.instructions += u64::from(works);
                self.arch.enter(exception, it.size);
                if works { Passed::Call { pc, issued } } else { Passed::Trap(exception, None) }
            }
        })
    }

    /// Applies the effects of an instruction beyond registers.
    #[inline]
    fn after(&mut self, done: &Done, written: Option<SystemRegister>) {
        self.asleep = done.sleeps;
        self.returns += u64::from(done.returns.is_some());
        self.touched = self.arch.system.take_touched();
        if self.touched {
            self.look(self.cycle());
        }
        let written_code = self.arch.system.bus.code_writes.dirty;
        if let Some(traffic) = done.traffic.filter(|traffic| written_code && traffic.writes) {
            self.arch.system.bus.code_writes.dirty = false;
            self.code.look_again_at(traffic.address, traffic.bytes);
        }
        if let Some(register) = written {
            self.line = None;
            self.rights = self.rights.wrapping_add(1);
            self.pipeline.windows.forget();
            if register.n == 1 {
                self.pipeline.configure(&self.arch.control);
            }
        }
    }

    /// Handles a refused instruction fetch.
    fn refuse(&mut self, exception: Exception) -> Passed {
        if self.refusal == Refusal::Faults {
            return Passed::Refused(exception);
        }
        self.arch.enter(exception, 4);
        self.pipeline.refuse();
        Passed::Trap(exception, None)
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
        self.code.look_again();
        self.pipeline.memory.refetch();
    }
}
