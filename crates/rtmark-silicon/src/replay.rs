//! Runs one window on the simulator as the chip ran it.

use rtmark_sim::{Cycles, Machine, Register, Soc, Stop};

use crate::corpus::{Row, Step};

/// Switches the cycle counter on: DEMCR.TRCENA, DWT_CTRL.CYCCNTENA; then `b .`.
const PROLOGUE: [u16; 14] = [
    0x4803, // ldr r0, =0xE000EDFC
    0x4904, // ldr r1, =0x01000000
    0x6001, // str r1, [r0]
    0x4804, // ldr r0, =0xE0001000
    0x2101, // movs r1, #1
    0x6001, // str r1, [r0]
    0xE7FE, // b .
    0x46C0, // nop
    0xEDFC, 0xE000, 0x0000, 0x0100, 0x1000, 0xE000,
];

/// A chip ready to run windows: its counter counts.
pub fn prepare(soc: &str) -> Result<Machine, crate::Failure> {
    let soc = Soc::from_toml(soc)?;
    let mut machine = Machine::new(&soc);
    let base = soc.vector_base();
    let code: Vec<u8> = PROLOGUE.iter().flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(base, &code)?;
    machine.set_register(Register::Pc, base);
    machine.run(Cycles(100));
    Ok(machine)
}

/// The register that a load of the counter names.
fn counter_register(step: &Step) -> Option<u8> {
    let half =
        |at: usize| Some(u16::from_le_bytes([*step.bytes.get(at)?, *step.bytes.get(at + 1)?]));
    Some(match half(2) {
        Some(second) => (second >> 12) as u8,
        None => (half(0)? & 7) as u8,
    })
}

/// The cycles that the model gives for a window, or `None` where it cannot run it.
pub fn cycles(prepared: &Machine, row: &Row) -> Option<u64> {
    let steps = row.steps()?;
    let mut machine = prepared.clone();
    for step in &steps {
        machine.poke(step.address, &step.bytes).ok()?;
    }
    let registers = row.registers()?;
    for (number, &value) in registers.iter().enumerate().take(15) {
        machine.set_register(Register::R(number as u8), value);
    }
    machine.set_register(Register::Xpsr, *registers.get(15)?);
    machine.set_register(Register::Pc, steps.first()?.address);
    let mut readings = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if machine.run(machine.cycles() + Cycles(1)) != Stop::Limit {
            return None;
        }
        let reads_counter = at == 0 || at == steps.len() - 1;
        if reads_counter {
            readings.push(machine.register(Register::R(counter_register(step)?)));
        }
        // The first reading's place holds what the chip had there.
        let chip = if at == 0 { counter_register(step) } else { None };
        if let Some(number) = chip {
            machine.set_register(Register::R(number), registers[usize::from(number)]);
        }
        for &(number, value) in &step.changes {
            machine.set_register(Register::R(number), value);
        }
        if let Some(next) = steps.get(at + 1) {
            machine.set_register(Register::Pc, next.address);
        }
    }
    let [first, last] = readings.as_slice() else { return None };
    Some(u64::from(last.wrapping_sub(*first)))
}
