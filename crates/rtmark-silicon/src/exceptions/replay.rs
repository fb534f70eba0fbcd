//! Runs one row on the simulator as the chip ran it.

use std::collections::HashMap;

use rtmark_sim::{Access, AccessKind, Cycles, Machine, Register, Soc};

use super::row::{ExceptionRow, ExceptionTest, Handler, Moment, PathStep};
use crate::Failure;

/// Core registers set before any row: tracing on (DEMCR.TRCENA), all counters counting (DWT_CTRL),
/// and unbuffered stores (ACTLR.DISDEFWBUF), as in the measured programs.
const SET_UP: [(u32, u32); 3] =
    [(0xE000_EDFC, 1 << 24), (0xE000_1000, 0x003E_0001), (0xE000_E008, 2)];
const VTOR: u32 = 0xE000_ED08;
const AIRCR: u32 = 0xE000_ED0C;
const AIRCR_KEY: u32 = 0x05FA_0000;
const SYST_RVR: u32 = 0xE000_E014;
const SYST_CVR: u32 = 0xE000_E018;
const DWT: std::ops::Range<u32> = 0xE000_1004..0xE000_101C;
const BASEPRI_MAX: &str = "basepri_max";
/// Addresses of vector tables, and of an endless loop that is interrupted for measurements inside a
/// handler; no row uses them otherwise.
const VECTORS_IN_FLASH: u32 = 0;
const VECTORS_IN_SRAM: u32 = 0x2000_0000;
const VECTORS_IN_GPRAM: u32 = 0x1100_1F00;
const LOOP: u32 = 0x1100_1E00;
const B_SELF: [u8; 2] = [0xFE, 0xE7];
const BX_LR: [u8; 2] = [0x70, 0x47];
/// More steps than any row takes.
const STEPS: usize = 2_000;

/// Machines ready to run rows.
#[derive(Debug)]
pub struct PreparedRun {
    usual: Machine,
    without_line_buffer: Machine,
}

impl PreparedRun {
    pub fn of(soc: &Soc) -> Result<Self, Failure> {
        let machine = |soc: &Soc| -> Result<Machine, Failure> {
            let mut machine = Machine::new(soc);
            for (address, value) in SET_UP {
                machine
                    .store_word(address, value)
                    .map_err(|_| format!("{} has no register at {address:#x}", soc.name))?;
            }
            Ok(machine)
        };
        let mut plain = soc.clone();
        for memory in &mut plain.memories {
            (memory.timing.line_buffer, memory.timing.line_bytes) = (false, 4);
        }
        Ok(Self { usual: machine(soc)?, without_line_buffer: machine(&plain)? })
    }

    fn machine(&self, row: &ExceptionRow) -> Machine {
        if row.line_buffer { self.usual.clone() } else { self.without_line_buffer.clone() }
    }
}

/// The location of an instruction: in the program or in a handler, at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CodePart {
    Thread,
    Handler(usize),
}

impl CodePart {
    /// Parses a step as named in rows.
    fn parse(text: &str) -> Option<(Self, usize)> {
        let (part, step) = text.split_once(' ')?;
        let part = match part.strip_prefix("handler") {
            Some(number) => Self::Handler(number.parse().ok()?),
            None => Self::Thread,
        };
        Some((part, step.parse().ok()?))
    }
}

/// What a run of a row showed.
#[derive(Debug, Default)]
pub struct Observations {
    /// Counters' values when they were read.
    readings: HashMap<(CodePart, usize), u32>,
    /// The registers loaded last, by number.
    loaded: HashMap<u8, u32>,
    /// What each exception interrupted: the first step not executed.
    interrupted: Vec<(CodePart, usize)>,
}

impl Observations {
    /// Returns by how much a counter, given its width, advanced between two steps that read it.
    pub fn difference(&self, from: &str, to: &str, counter: &str) -> Option<u64> {
        let reading = |text| self.readings.get(&CodePart::parse(text)?).copied();
        let passed = reading(to)?.wrapping_sub(reading(from)?);
        Some(u64::from(if counter == "CYCCNT" { passed } else { passed & 0xFF }))
    }

    pub fn loaded(&self, register: u8) -> Option<u32> {
        self.loaded.get(&register).copied()
    }

    /// Returns the first step not executed before the first exception.
    pub fn next(&self) -> Option<u64> {
        self.interrupted.first().map(|&(_, step)| step as u64)
    }
}

/// A row being run.
struct Run<'a> {
    machine: Machine,
    thread: &'a [PathStep],
    handlers: &'a [Handler],
    /// The active parts, the interrupted ones first.
    parts: Vec<CodePart>,
    entered: usize,
    shown: Observations,
}

impl Run<'_> {
    fn steps(&self, part: CodePart) -> &[PathStep] {
        match part {
            CodePart::Thread => self.thread,
            CodePart::Handler(number) => self.handlers.get(number).map_or(&[], |it| &it.steps),
        }
    }

    fn pc(&self) -> u32 {
        self.machine.register(Register::Pc)
    }

    /// Returns the location of the next instruction.
    fn here(&self) -> Option<(CodePart, usize)> {
        let part = *self.parts.last()?;
        let pc = self.pc();
        let step = self.steps(part).iter().position(|step| step.address == pc)?;
        Some((part, step))
    }

    /// Executes up to and including a step, or returns `None` if the program takes another path.
    fn go(&mut self, last: (CodePart, usize)) -> Option<()> {
        for _ in 0..STEPS {
            let (before, pc) = (self.here(), self.pc());
            let access = self.machine.next_access();
            let count = self.machine.instructions();
            let active = self.machine.register(Register::Xpsr) & 0x1FF;
            self.machine.advance(Cycles(u64::MAX)).ok()?;
            let executed = self.machine.instructions() != count;
            if executed {
                let at = before?;
                self.note(at, access);
                let (part, step) = at;
                if part != CodePart::Thread && step + 1 == self.steps(part).len() {
                    self.parts.pop();
                }
                if at == last {
                    return Some(());
                }
            }
            let now = self.machine.register(Register::Xpsr) & 0x1FF;
            let next =
                self.handlers.get(self.entered).map(|it| (it.exception, it.steps[0].address));
            if next == Some((now, self.pc())) && (now != active || self.pc() != pc) {
                // If a handler is followed by the next one, where it ends.
                let &left = self.parts.last()?;
                let (part, step) = before.unwrap_or((left, 0));
                self.shown.interrupted.push((part, step + usize::from(executed)));
                self.parts.push(CodePart::Handler(self.entered));
                self.entered += 1;
            }
        }
        None
    }

    /// After an instruction, records what it loaded, and corrects values that memory held
    /// differently on the chip.
    fn note(&mut self, at: (CodePart, usize), access: Option<Access>) {
        let Some(access) = access.filter(|access| access.kind == AccessKind::Read) else { return };
        let step = &self.steps(at.0)[at.1];
        let Some(register) = loaded_register(&step.bytes) else { return };
        let value = self.machine.register(Register::R(register));
        if access.address >> 29 == 7 {
            self.shown.loaded.insert(register, value);
            if DWT.contains(&access.address) {
                self.shown.readings.insert(at, value);
            }
            return;
        }
        for (number, value) in step.changes.clone() {
            if number < 15 {
                self.machine.set_register(Register::R(number), value);
            }
        }
    }
}

/// Tells whether a row's program loads this register. Where it does not, the row's value of it is a placeholder.
pub fn loads(row: &ExceptionRow, register: u8) -> bool {
    let thread = row.thread().unwrap_or_default();
    thread.iter().any(|step| loaded_register(&step.bytes) == Some(register))
}

/// Returns the destination register of a load of one register (ARMv7-M ARM, A5.2.4, A5.3.7 to A5.3.9).
fn loaded_register(bytes: &[u8]) -> Option<u8> {
    let half = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let first = half(0)?;
    if let Some(second) = half(2) {
        return (first & 0xFE10 == 0xF810).then_some((second >> 12) as u8);
    }
    match first >> 11 {
        // From a literal, or from the stack.
        0b01001 | 0b10011 => Some((first >> 8 & 7) as u8),
        // With an immediate offset: a word, a byte, a halfword.
        0b01101 | 0b01111 | 0b10001 => Some((first & 7) as u8),
        // With a register as offset; the first three of eight are stores.
        0b01010 | 0b01011 if first >> 9 & 7 >= 3 => Some((first & 7) as u8),
        _ => None,
    }
}

/// Installs the vector table and the priorities.
fn prepare(machine: &mut Machine, row: &ExceptionRow, handlers: &[Handler]) -> Option<()> {
    let table = match row.vectors.as_deref() {
        // The rows say SRAM, where a word with the handler's address was found; but the cycles are
        // those of vectors in flash: nine with the bus idle, and more depending on the phase of its
        // reads.
        _ if row.kind == ExceptionTest::Sweep => VECTORS_IN_FLASH,
        Some("gpram") => VECTORS_IN_GPRAM,
        _ => VECTORS_IN_SRAM,
    };
    machine.store_word(VTOR, table).ok()?;
    for handler in handlers {
        let first = handler.steps.first()?.address;
        machine.poke_word(table + 4 * handler.exception, first | 1).ok()?;
        if let Some(interrupt) = handler.exception.checked_sub(16) {
            machine.arm_interrupt(interrupt as u16, 0);
        }
    }
    if let Some(priorities) = &row.priorities {
        let handler = handlers.first()?.steps.first()?.address;
        for (interrupt, priority) in (0..).zip(priorities) {
            machine.arm_interrupt(interrupt, u8::from_str_radix(priority, 16).ok()?);
            let vector = table + 4 * (16 + u32::from(interrupt));
            if handlers.iter().all(|it| it.exception != 16 + u32::from(interrupt)) {
                machine.poke_word(vector, handler | 1).ok()?;
            }
        }
    }
    if let Some(group) = row.prigroup {
        machine.store_word(AIRCR, AIRCR_KEY | group << 8).ok()?;
    }
    Some(())
}

fn set_registers(machine: &mut Machine, registers: &[u32]) -> Option<()> {
    for (number, &value) in registers.iter().enumerate().take(15) {
        machine.set_register(Register::R(number as u8), value);
    }
    machine.set_register(Register::Xpsr, *registers.get(15)?);
    Some(())
}

/// Runs a row other than a sweep; returns `None` if it cannot be run.
pub fn run(prepared: &PreparedRun, row: &ExceptionRow) -> Option<Observations> {
    let (thread, handlers) = (row.thread()?, row.handlers()?);
    let mut machine = prepared.machine(row);
    let inside = row.kind == ExceptionTest::Handler;
    let lead = if inside { Vec::new() } else { row.lead()? };
    let all = handlers.iter().flat_map(|handler| &handler.steps);
    for step in lead.iter().chain(&thread).chain(all) {
        machine.poke(step.address, &step.bytes).ok()?;
    }
    prepare(&mut machine, row, &handlers)?;
    if let Some(reload) = row.reload {
        machine.store_word(SYST_RVR, reload).ok()?;
        machine.store_word(SYST_CVR, 0).ok()?;
    }
    if inside {
        return run_inside(machine, row, &handlers);
    }
    let last = (CodePart::Thread, thread.len().checked_sub(1)?);
    run_behind(machine, row, &lead, &thread, &handlers, last)
}

/// Runs a program after the instructions that precede it.
fn run_behind(
    mut machine: Machine,
    row: &ExceptionRow,
    lead: &[PathStep],
    thread: &[PathStep],
    handlers: &[Handler],
    last: (CodePart, usize),
) -> Option<Observations> {
    let first = lead.first().or(thread.first())?.address;
    machine.set_register(Register::Pc, first);
    for _ in lead {
        machine.advance(Cycles(u64::MAX)).ok()?;
    }
    set_registers(&mut machine, &row.registers()?)?;
    let parts = vec![CodePart::Thread];
    let mut run =
        Run { machine, thread, handlers, parts, entered: 0, shown: Observations::default() };
    run.go(last)?;
    Some(run.shown)
}

/// Runs what was measured inside a handler.
fn run_inside(
    mut machine: Machine,
    row: &ExceptionRow,
    handlers: &[Handler],
) -> Option<Observations> {
    let handler = handlers.first()?;
    machine.poke(LOOP, &B_SELF).ok()?;
    machine.set_register(Register::R(13), 0x2000_5000);
    machine.set_register(Register::Pc, LOOP);
    match handler.exception.checked_sub(16) {
        Some(interrupt) => machine.pend_interrupt(interrupt as u16, machine.cycles()),
        None => machine.store_word(0xE000_ED04, 1 << 31).ok()?,
    }
    let first = handler.steps.first()?.address;
    for _ in 0..STEPS {
        machine.advance(Cycles(u64::MAX)).ok()?;
        if machine.register(Register::Pc) == first {
            break;
        }
    }
    for (number, &value) in row.registers()?.iter().enumerate().take(13) {
        machine.set_register(Register::R(number as u8), value);
    }
    if let (Some(BASEPRI_MAX), Some(0)) = (row.special.as_deref(), row.first_written) {
        // BASEPRI_MAX only raises the urgency, so the register keeps what earlier runs left.
        machine.set_register(Register::Basepri, row.read_back.unwrap_or_default());
    }
    let parts = vec![CodePart::Thread, CodePart::Handler(0)];
    let shown = Observations::default();
    let mut run = Run { machine, thread: &[], handlers, parts, entered: 1, shown };
    run.go((CodePart::Handler(0), handler.steps.len() - 1))?;
    Some(run.shown)
}

/// Returns whether the step is a wide STR with an immediate offset.
fn is_store(step: &PathStep) -> bool {
    matches!(*step.bytes, [low, 0xF8, _, _] if low >> 4 == 0xC)
}

/// Returns how many instructions after the pending store were executed before an exception.
pub fn between(row: &ExceptionRow, shown: &Observations, exception: usize) -> Option<u64> {
    let &(part, step) = shown.interrupted.get(exception)?;
    let (handlers, thread) = (row.handlers()?, row.thread()?);
    let (steps, store) = match part {
        CodePart::Thread => (&thread, row.pend?),
        CodePart::Handler(number) => {
            let steps = &handlers.get(number)?.steps;
            (steps, steps.iter().position(is_store)?)
        }
    };
    let counted = &steps.get(store + 1)?.bytes;
    let done = steps.get(store + 1..step)?;
    Some(done.iter().filter(|step| step.bytes == *counted).count() as u64)
}

/// Runs one moment of a sweep.
pub fn run_moment(
    prepared: &PreparedRun,
    row: &ExceptionRow,
    moment: &Moment,
) -> Option<Observations> {
    let (mut thread, mut lead, handlers) = (row.thread()?, row.lead()?, row.handlers()?);
    let by = moment.address.wrapping_sub(thread.first()?.address);
    for step in thread.iter_mut().chain(&mut lead) {
        step.address = step.address.wrapping_add(by);
    }
    let mut machine = prepared.machine(row);
    let all = handlers.iter().flat_map(|handler| &handler.steps);
    for step in lead.iter().chain(&thread).chain(all) {
        machine.poke(step.address, &step.bytes).ok()?;
    }
    let behind = handlers.first()?.steps.last()?;
    machine.poke(behind.address + behind.bytes.len() as u32, &BX_LR).ok()?;
    prepare(&mut machine, row, &handlers)?;
    machine.store_word(SYST_RVR, moment.reload).ok()?;
    machine.store_word(SYST_CVR, 0).ok()?;
    let last = (CodePart::Handler(0), handlers.first()?.steps.len() - 1);
    run_behind(machine, row, &lead, &thread, &handlers, last)
}

#[cfg(test)]
mod tests {
    use super::loaded_register;

    fn loaded(code: &[u16]) -> Option<u8> {
        let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
        loaded_register(&bytes)
    }

    /// Encodings as `arm-none-eabi-as` prints them.
    #[test]
    fn only_loads_of_one_register_load_it() {
        for (code, register) in [
            (&[0x4B02][..], 3),      // ldr r3, [pc, #8]
            (&[0x9E01], 6),          // ldr r6, [sp, #4]
            (&[0x6851], 1),          // ldr r1, [r2, #4]
            (&[0x7851], 1),          // ldrb r1, [r2, #1]
            (&[0x8851], 1),          // ldrh r1, [r2, #2]
            (&[0x58D1], 1),          // ldr r1, [r2, r3]
            (&[0x56D1], 1),          // ldrsb r1, [r2, r3]
            (&[0x5AD1], 1),          // ldrh r1, [r2, r3]
            (&[0x5ED1], 1),          // ldrsh r1, [r2, r3]
            (&[0xF8D2, 0xB004], 11), // ldr.w r11, [r2, #4]
            (&[0xF852, 0x8023], 8),  // ldr.w r8, [r2, r3, lsl #2]
            (&[0xF85F, 0x1004], 1),  // ldr.w r1, [pc, #-4]
            (&[0xF892, 0x1004], 1),  // ldrb.w r1, [r2, #4]
            (&[0xF9B2, 0x1004], 1),  // ldrsh.w r1, [r2, #4]
        ] {
            assert_eq!(loaded(code), Some(register), "{code:04X?}");
        }
        for code in [
            &[0x6051][..],     // str r1, [r2, #4]
            &[0x7051],         // strb r1, [r2, #1]
            &[0x8051],         // strh r1, [r2, #2]
            &[0x9601],         // str r6, [sp, #4]
            &[0x50D1],         // str r1, [r2, r3]
            &[0x54D1],         // strb r1, [r2, r3]
            &[0x52D1],         // strh r1, [r2, r3]
            &[0x2104],         // movs r1, #4
            &[0x4611],         // mov r1, r2
            &[0xBF00],         // nop
            &[0xF8C2, 0xB004], // str.w r11, [r2, #4]
            &[0xF842, 0x8023], // str.w r8, [r2, r3, lsl #2]
            &[0xF802, 0x1B01], // strb.w r1, [r2], #1
            &[0xF240, 0x1104], // movw r1, #260
            &[0xE9D2, 0x1201], // ldrd r1, r2, [r2, #4]
        ] {
            assert_eq!(loaded(code), None, "{code:04X?}");
        }
    }
}
