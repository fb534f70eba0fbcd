//! The core in its system, instruction by instruction: what executing and the pipeline tell each
//! other.

use super::control::{Denied, Now, Place as Register};
use super::cpu::psr;
use super::exec::{Arch, Done, Exception};
use super::isa::{Instruction, Op, Set, decode, is_wide};
use super::timing::{Demand, ENTRY, Pipeline, Place, demand};
use crate::soc::Soc;

/// How many decoded instructions are kept: a power of two.
const KEPT: usize = 8192;

/// Numbers of calls of the host (Arm's semihosting specification): of A32 and of T32.
const HOST_CALLS: [u32; 2] = [0x12_3456, 0xAB];

/// What a step has led to, as far as a run may end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The instruction at this address has executed; it issued in this cycle.
    Instruction { pc: u32, issued: u64 },
    /// It was one that asks the host for something.
    HostCall { pc: u32, issued: u64 },
    /// An instruction has called the supervisor, whose handler comes next.
    Call { pc: u32, issued: u64 },
    /// Another exception has been entered: by the number of the interrupt, if it was one.
    Trap(Exception, Option<u16>),
    /// Time has passed.
    Slept,
    /// The instruction at the program counter fails, and the run is to end with it.
    Refused(Exception),
    /// It sleeps, and nothing will wake it.
    Forever,
}

/// Which exceptions end a run before they are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// None: all are taken as on the chip.
    #[default]
    Nothing,
    /// Faults and breakpoints; not calls, by which programs work.
    Faults,
}

/// An instruction decoded once: where it stood, its bits and its set.
#[derive(Clone, Copy, Debug)]
struct Decoded {
    pc: u32,
    bits: u32,
    set: Set,
    it: Instruction,
    demand: Demand,
}

impl Decoded {
    const fn is(&self, set: Set, pc: u32, bits: u32) -> bool {
        self.pc == pc && self.bits == bits && self.set as u8 == set as u8
    }
}

/// Where a decoded instruction is kept.
const fn place(pc: u32) -> usize {
    (pc >> 1) as usize % KEPT
}

/// The bits of one instruction, without those of the next one.
const fn of_one(set: Set, bits: u32) -> u32 {
    match set {
        Set::T32 if !is_wide((bits >> 16) as u16) => bits & 0xFFFF_0000,
        _ => bits,
    }
}

/// The core in its system.
#[derive(Clone, Debug)]
pub struct Core {
    pub arch: Arch,
    pub pipeline: Pipeline,
    decoded: Vec<Option<Decoded>>,
    pub instructions: u64,
    asleep: bool,
    /// Since when an interrupt asks to be taken, and which.
    asked: Option<(u64, u16)>,
    pub refusal: Refusal,
    /// Exception returns so far.
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
            decoded: vec![None; KEPT],
            instructions: 0,
            asleep: false,
            asked: None,
            refusal: Refusal::default(),
            returns: 0,
        }
    }

    /// The next cycle in which something may issue.
    pub const fn cycle(&self) -> u64 {
        self.pipeline.next
    }

    pub const fn set(&self) -> Set {
        if self.arch.cpu.is_thumb() { Set::T32 } else { Set::A32 }
    }

    /// Bits of the instruction at an address, T32 with its first halfword in the upper half; `None`
    /// where there is no memory.
    pub fn bits(&self, address: u32, set: Set) -> Option<u32> {
        let word = self.arch.system.code(address)?;
        Some(if set == Set::T32 { word.rotate_left(16) } else { word })
    }

    /// The instruction at an address, in the set that the core is in.
    pub fn instruction_at(&self, address: u32) -> Option<Instruction> {
        let set = self.set();
        let bits = of_one(set, self.bits(address, set)?);
        let known = self.decoded[place(address)].filter(|known| known.is(set, address, bits));
        Some(known.map_or_else(|| decode(set, address, bits), |known| known.it))
    }

    /// Something outside has changed: interrupt inputs are looked at again.
    pub fn look_again(&mut self) {
        let now = self.cycle();
        self.look(now);
    }

    fn look(&mut self, now: u64) {
        let asks = self.arch.system.interrupt();
        self.asked = match (asks, self.asked) {
            (Some(which), Some((since, _))) => Some((since, which)),
            (Some(which), None) => Some((now, which)),
            (None, _) => None,
        };
    }

    /// Lets happen what is due by a cycle.
    fn pass_devices(&mut self, now: u64) {
        while self.arch.system.next() <= now {
            let at = self.arch.system.next();
            self.arch.system.pass(at);
            self.look(at);
        }
    }

    /// The interrupt that is about to be taken.
    pub fn taken_next(&self) -> Option<u16> {
        let (since, which) = self.asked?;
        let masked = self.arch.cpu.bit(psr::I);
        (!masked && since <= self.cycle()).then_some(which)
    }

    /// Whether the core sleeps.
    pub const fn is_asleep(&self) -> bool {
        self.asleep && self.asked.is_none()
    }

    /// Makes a step: an instruction, an exception, or a sleep that ends no later than `until`.
    pub fn step(&mut self, until: u64) -> Passed {
        let now = self.cycle();
        if self.arch.system.next() <= now {
            self.pass_devices(now);
        }
        if let Some(which) = self.taken_next() {
            return self.interrupt(which);
        }
        if self.asleep {
            if self.asked.is_some() {
                self.asleep = false;
            } else {
                return self.sleep(until);
            }
        }
        self.execute()
    }

    fn sleep(&mut self, until: u64) -> Passed {
        let next = self.arch.system.next();
        if next == u64::MAX {
            return Passed::Forever;
        }
        let now = self.cycle();
        let to = next.min(until).max(now);
        self.pipeline.next = to;
        if to == next {
            self.pass_devices(to);
        } else if to == now {
            return Passed::Forever;
        }
        Passed::Slept
    }

    fn interrupt(&mut self, which: u16) -> Passed {
        self.asleep = false;
        self.arch.enter(Exception::Interrupt, 4);
        self.pipeline.enter(self.cycle(), ENTRY);
        self.arch.system.taken(which);
        self.asked = None;
        self.look(self.cycle());
        Passed::Trap(Exception::Interrupt, Some(which))
    }

    #[inline]
    fn fetch(&mut self, pc: u32) -> Option<(Instruction, Demand)> {
        let set = self.set();
        let bits = of_one(set, self.bits(pc, set)?);
        let at = place(pc);
        match &self.decoded[at] {
            Some(known) if known.is(set, pc, bits) => Some((known.it, known.demand)),
            _ => {
                let it = decode(set, pc, bits);
                let demand = demand(&it);
                self.decoded[at] = Some(Decoded { pc, bits, set, it, demand });
                Some((it, demand))
            }
        }
    }

    fn execute(&mut self) -> Passed {
        let pc = self.arch.cpu.pc;
        let privileged = self.arch.cpu.is_privileged();
        let kind = match self.arch.control.protection.code(pc, privileged) {
            Ok(kind) => kind,
            Err(why) => return self.raise(Exception::Code { address: pc, why }, 4, self.cycle()),
        };
        let Some((it, demand)) = self.fetch(pc) else {
            let exception = Exception::Code { address: pc, why: Denied::External };
            return self.raise(exception, 4, self.cycle());
        };
        let condition = self.arch.cpu.block_condition().unwrap_or(it.condition);
        let place = Place {
            pc,
            size: it.size,
            thumb: self.arch.cpu.is_thumb(),
            conditional: condition < 14 || it.op == Op::CompareBranch,
            backwards: it.op == Op::Branch && it.imm <= pc,
            kind,
        };
        let issued = self.pipeline.issue(&demand, &place);
        let now = Now { cycle: issued, instructions: self.instructions };
        match self.arch.execute(&it, now) {
            Ok(done) => {
                self.pipeline.finish(&demand, &place, &done, issued);
                self.instructions += 1;
                self.after(&it, &done);
                Passed::Instruction { pc, issued }
            }
            Err(Exception::Call(number)) if self.is_host_call(number) => {
                self.arch.cpu.pc = pc.wrapping_add(it.size.into());
                self.arch.cpu.advance_it();
                self.pipeline.finish(&demand, &place, &Done::default(), issued);
                self.instructions += 1;
                Passed::HostCall { pc, issued }
            }
            Err(exception) => self.raise(exception, it.size, issued),
        }
    }

    const fn is_host_call(&self, number: u32) -> bool {
        let thumb = self.arch.cpu.is_thumb();
        number == HOST_CALLS[thumb as usize]
    }

    /// What an instruction may have changed besides registers.
    fn after(&mut self, it: &Instruction, done: &Done) {
        self.asleep = done.sleeps;
        self.returns += u64::from(done.returns.is_some());
        if self.arch.system.take_touched() {
            self.look(self.cycle());
        }
        if it.op == Op::WriteCoprocessor && Register::of(it.imm).n == 1 {
            self.pipeline.configure(&self.arch.control);
        }
    }

    fn raise(&mut self, exception: Exception, size: u8, issued: u64) -> Passed {
        let works = matches!(exception, Exception::Call(_));
        if self.refusal == Refusal::Faults && !works {
            return Passed::Refused(exception);
        }
        self.instructions += u64::from(works);
        let pc = self.arch.cpu.pc;
        self.arch.enter(exception, size);
        self.pipeline.raise(issued);
        if works { Passed::Call { pc, issued } } else { Passed::Trap(exception, None) }
    }

    /// Goes on at an address, as after a jump there; its lowest bit says the set.
    pub fn go_to(&mut self, address: u32) {
        self.arch.cpu.pc = address & !1;
        self.arch.cpu.it = 0;
        self.arch.cpu.set_thumb(address & 1 == 1);
        self.asleep = false;
    }

    /// Memory has been written behind the core's back.
    pub const fn forget_code(&mut self) {
        self.pipeline.memory.refetch();
    }
}
