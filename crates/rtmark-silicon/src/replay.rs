//! Runs one window on the simulator as the chip ran it.

use rtmark_sim::{Access, AccessKind, Cycles, Machine, Register, Rule, Soc};

use crate::corpus::{Row, Step};

/// Core registers set before any window: tracing on (DEMCR.TRCENA), and the cycle counter counting
/// (DWT_CTRL.CYCCNTENA).
const SET_UP: [(u32, u32); 2] = [(0xE000_EDFC, 1 << 24), (0xE000_1000, 1)];
/// ACTLR, whose DISDEFWBUF bit switches the write buffer off.
const ACTLR: u32 = 0xE000_E008;
const ISB: [u8; 4] = [0xBF, 0xF3, 0x6F, 0x8F];
/// How far behind an instruction the constants lie that it can read (DDI 0403, A7.7.43).
const LITERALS: u32 = 4 + 4096;
/// `ldr.w r0, [r0]`
const LOAD_R0: [u8; 4] = [0xD0, 0xF8, 0x00, 0x00];

/// How a test set ACTLR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBuffer {
    On,
    Off,
}

/// Prepares a chip to run windows, with the whole timing model or with one rule left out.
pub fn prepare(
    soc: &Soc,
    buffer: WriteBuffer,
    without: Option<Rule>,
) -> Result<Machine, crate::Failure> {
    let mut machine = match without {
        None => Machine::new(soc),
        Some(rule) => Machine::new_without_rule(soc, rule),
    };
    let auxiliary = match buffer {
        WriteBuffer::On => 0,
        WriteBuffer::Off => 2,
    };
    for (address, value) in SET_UP.into_iter().chain([(ACTLR, auxiliary)]) {
        machine
            .store_word(address, value)
            .map_err(|_| format!("{} has no register at {address:#x}", soc.name))?;
    }
    Ok(machine)
}

/// Returns the destination register of a load of the counter.
fn counter_register(step: &Step) -> Option<u8> {
    let half =
        |at: usize| Some(u16::from_le_bytes([*step.bytes.get(at)?, *step.bytes.get(at + 1)?]));
    Some(match half(2) {
        Some(second) => (second >> 12) as u8,
        None => (half(0)? & 7) as u8,
    })
}

/// How an instruction reads its branch target from memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Branch {
    /// TBB, TBH: an offset.
    Table,
    /// LDR, LDM, POP: an address.
    Loaded,
}

fn branch_through_memory(step: &Step) -> Option<Branch> {
    match *step.bytes.as_slice() {
        [low, 0xE8, _, 0xF0] if low & 0xF0 == 0xD0 => Some(Branch::Table),
        [_, 0xF8, _, high] if high >> 4 == 15 => Some(Branch::Loaded),
        [_, 0xE8 | 0xE9, _, high] if high >> 7 == 1 => Some(Branch::Loaded),
        [_, 0xBD] => Some(Branch::Loaded),
        _ => None,
    }
}

/// Writes to memory what makes a branch through it lead to `target`.
fn prepare_target(machine: &mut Machine, step: &Step, access: Access, target: u32) -> Option<()> {
    match branch_through_memory(step) {
        None => Some(()),
        Some(Branch::Table) => {
            let distance = target.checked_sub(step.address + 4)? / 2;
            let bytes = distance.to_le_bytes();
            machine.poke(access.address, bytes.get(..access.bytes as usize)?).ok()
        }
        Some(Branch::Loaded) => {
            machine.poke_word(access.address + access.bytes - 4, target | 1).ok()
        }
    }
}

/// The core's registers R0 to R14.
const REGISTERS: usize = 15;

/// The values of a window's registers on the chip.
struct Registers {
    held: Vec<u32>,
    /// For each register, the index of the last instruction before the window that writes it.
    written: [Option<usize>; REGISTERS],
}

impl Registers {
    /// Returns the registers at the start of a window, before which the instructions `before` run
    /// on the machine.
    fn of(row: &Row, machine: &Machine, before: &[Step]) -> Option<Self> {
        let held = row.registers()?;
        let mut written = [None; REGISTERS];
        let mut trial = machine.clone();
        for (at, step) in before.iter().enumerate() {
            let old = general(&trial);
            if trial.register(Register::Pc) != step.address || trial.step(Cycles(u64::MAX)).is_err()
            {
                break;
            }
            let changed = general(&trial).into_iter().zip(old).map(|(new, old)| new != old);
            for (last, _) in written.iter_mut().zip(changed).filter(|(_, changed)| *changed) {
                *last = Some(at);
            }
        }
        Some(Self { held, written })
    }

    /// After instruction `at`, sets the registers that already have their value of the window's
    /// start (or of the step of the window that `at` is). The others keep what instructions
    /// computed, for example addresses from which something is read before the window.
    fn set_behind(&self, machine: &mut Machine, at: usize) {
        for (number, (&value, last)) in self.held.iter().zip(self.written).enumerate() {
            if last.is_none_or(|last| last <= at) {
                machine.set_register(Register::R(number as u8), value);
            }
        }
    }
}

fn general(machine: &Machine) -> Vec<u32> {
    (0..REGISTERS as u8).map(|number| machine.register(Register::R(number))).collect()
}

/// A window with the instructions before it, and a machine about to run them.
struct Replay {
    machine: Machine,
    steps: Vec<Step>,
    /// The index of the first read of the counter.
    first: usize,
    registers: Registers,
}

/// The outcome of running a window.
struct Ran {
    cycles: u64,
    /// The last word that data was read from in a memory with wait states, if the instructions before
    /// the window read one as well.
    left: Option<u32>,
}

/// Returns the model's cycles for a window, or `None` if it cannot run it.
///
/// Rows do not record which line the flash's buffer held before the instructions that they show. No
/// line is assumed, except where those before the window read the flash themselves, as the ones of
/// `tbb_tbh_after_ldr` do: the code of such a test runs window after window outside the flash, so they
/// find the line that a window with the same data read last.
pub fn cycles(prepared: &Machine, row: &Row) -> Option<u64> {
    let ran = Replay::of(prepared, row, None)?.run()?;
    match ran.left {
        Some(word) => Some(Replay::of(prepared, row, Some(word))?.run()?.cycles),
        None => Some(ran.cycles),
    }
}

/// Returns whether an address is in a memory with wait states.
fn is_slow(machine: &Machine, address: u32) -> bool {
    let mut memories = machine.soc().memories.iter();
    memories.any(|it| it.range().contains(&u64::from(address)) && it.timing.wait_states > 0)
}

/// Returns the index of the instruction from which on those before a window can be replayed without a
/// barrier: the last one, or the first of those before it that read no more than constants beside the
/// code. The addresses of other accesses depend on registers of that moment, which rows do not record.
fn first_known(machine: &Machine, lead: &[Step]) -> usize {
    let is_known = |step: &&Step| {
        let mut machine = machine.clone();
        machine.set_register(Register::Pc, step.address);
        let access = machine.next_access();
        access.is_none_or(|it| it.address.wrapping_sub(step.address) < LITERALS)
    };
    let before = &lead[..lead.len() - 1];
    before.len() - before.iter().rev().take_while(is_known).count()
}

impl Replay {
    /// Prepares a window. `buffered` is a word of the line that the flash's buffer holds at first.
    fn of(prepared: &Machine, row: &Row, buffered: Option<u32>) -> Option<Self> {
        let window = row.steps()?;
        let mut lead = row.lead()?;
        let mut machine = prepared.clone();
        for step in lead.iter().chain(&window) {
            machine.poke(step.address, &step.bytes).ok()?;
        }
        // Barriers put the pipeline into a known state.
        let barrier = lead.iter().rposition(|step| step.bytes == ISB);
        lead.drain(..barrier.unwrap_or_else(|| first_known(&machine, &lead)));
        let first = lead.len() - 1;
        let steps: Vec<Step> = lead.into_iter().chain(window).collect();
        let start = steps.first()?.address;
        machine.set_register(Register::Pc, start);
        if let Some(word) = buffered.filter(|_| barrier.is_some()) {
            let before = start - LOAD_R0.len() as u32;
            machine.poke(before, &LOAD_R0).ok()?;
            machine.set_register(Register::Pc, before);
            machine.set_register(Register::R(0), word);
            machine.step(Cycles(u64::MAX)).ok()?;
        }
        let status = *row.registers()?.get(REGISTERS)?;
        for (number, value) in (0..REGISTERS as u8).zip(row.registers()?) {
            machine.set_register(Register::R(number), value);
        }
        machine.set_register(Register::Xpsr, status);
        let registers = Registers::of(row, &machine, &steps[..=first])?;
        Some(Self { machine, steps, first, registers })
    }

    fn run(self) -> Option<Ran> {
        let Self { mut machine, steps, first, mut registers } = self;
        let mut readings = Vec::new();
        let (mut last_read, mut is_left) = (None, false);
        for (at, step) in steps.iter().enumerate() {
            if machine.register(Register::Pc) != step.address {
                return None;
            }
            let next = steps.get(at + 1).map(|next| next.address);
            let read = machine.next_access().filter(|access| access.kind == AccessKind::Read);
            if let Some(access) = read {
                if let Some(target) = next {
                    prepare_target(&mut machine, step, access, target)?;
                }
                let last = access.address.wrapping_add(access.bytes.saturating_sub(1)) & !3;
                if is_slow(&machine, last) {
                    (last_read, is_left) = (Some(last), is_left || at < first);
                }
            }
            machine.step(Cycles(u64::MAX)).ok()?;
            if at == first || at == steps.len() - 1 {
                readings.push(machine.register(Register::R(counter_register(step)?)));
            }
            // Memory holds other values than on the chip, and the counter was read at another time.
            for &(number, value) in &step.changes {
                *registers.held.get_mut(usize::from(number))? = value;
            }
            registers.set_behind(&mut machine, at);
        }
        is_left &= !steps.iter().any(|step| is_slow(&machine, step.address));
        let [first, last] = readings.as_slice() else { return None };
        let cycles = u64::from(last.wrapping_sub(*first));
        Some(Ran { cycles, left: last_read.filter(|_| is_left) })
    }
}
