//! The constraints on a soc file's clock tree, and on the wait states that follow from its registers.

use super::{Checked, KeyStep, refuse};
use crate::soc::clock_tree::{ClockFactor, ClockField, ClockNode, ClockOperand, ClockTree};
use crate::soc::{CoreKind, Memory, Peripheral, PeripheralKind, Soc};

/// The number of bits after the binary point of any chip's divider is below this.
const MAX_FRACTION_BITS: u8 = 24;

/// The path of the factors of a memory's wait states.
const fn wait_states_by(at: usize) -> [KeyStep; 3] {
    [KeyStep::Key("memory"), KeyStep::Index(at), KeyStep::Key("wait_states_by")]
}

/// The path of a clock, or of one of its keys.
fn path(at: usize, key: &'static str) -> [KeyStep; 4] {
    let [tree, clock] = ["clock_tree", "clock"].map(KeyStep::Key);
    [tree, clock, KeyStep::Index(at), KeyStep::Key(key)]
}

impl Soc {
    /// Completes the fields of the clock tree, of factors of wait states, and of what enables and resets peripherals
    /// with the addresses of their registers.
    pub(in crate::soc) fn find_clock_registers(&mut self) -> Checked {
        for at in 0..self.peripherals.len() {
            let block = &self.peripherals[at];
            let Peripheral { name, enabled_by, reset_by, writable_by, resets_core_by, .. } = block;
            let name = name.clone();
            let mut conditions =
                [enabled_by, reset_by, writable_by, resets_core_by].map(Clone::clone);
            let keys = ["enabled_by", "reset_by", "writable_by", "resets_core_by"];
            for (key, condition) in keys.into_iter().zip(&mut conditions) {
                let Some(condition) = condition else { continue };
                find_register(&self.peripherals, &mut condition.field).or_else(|problem| {
                    let path = [KeyStep::Key("peripheral"), KeyStep::Index(at), KeyStep::Key(key)];
                    refuse(&path, format!("peripheral {name}: {problem}"))
                })?;
            }
            let block = &mut self.peripherals[at];
            [block.enabled_by, block.reset_by, block.writable_by, block.resets_core_by] =
                conditions;
        }
        for (at, Memory { name, wait_states_by: factors, .. }) in
            self.memories.iter_mut().enumerate()
        {
            for field in factors.iter_mut().filter_map(ClockFactor::field_mut) {
                find_register(&self.peripherals, field).or_else(|problem| {
                    refuse(&wait_states_by(at), format!("memory {name}: {problem}"))
                })?;
            }
        }
        let Some(tree) = &mut self.clock_tree else { return Ok(()) };
        for (at, clock) in tree.clocks.iter_mut().enumerate() {
            let name = clock.name.clone();
            for field in clock.fields_mut() {
                find_register(&self.peripherals, field).or_else(|problem| {
                    refuse(&path(at, "name"), format!("clock {name}: {problem}"))
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn check_clock_tree(&self) -> Checked {
        let Some(tree) = &self.clock_tree else { return Ok(()) };
        for (at, clock) in tree.clocks.iter().enumerate() {
            check_clock(tree, clock, at)?;
        }
        let crystals = tree.clocks.iter().filter(|clock| clock.crystal_hz.is_some());
        if crystals.count() > 1 {
            let path = [KeyStep::Key("clock_tree")];
            return refuse(&path, "clock_tree: at most one clock has crystal_hz");
        }
        let reset = |address| {
            let found = self.peripherals.iter().find_map(|peripheral| {
                let offset = address - peripheral.base.min(address);
                peripheral
                    .registers
                    .iter()
                    .find(|register| peripheral.base <= address && register.offset == offset)
            });
            found.map_or(0, |register| register.reset)
        };
        match tree.core_clock(&reset) {
            Ok(_) => Ok(()),
            Err(why) => refuse(
                &[KeyStep::Key("clock_tree"), KeyStep::Key("core")],
                format!("clock_tree: after a reset the core has no clock: {why}"),
            ),
        }
    }
}

/// Completes a field with the address of its register; otherwise says what is wrong with it.
fn find_register(peripherals: &[Peripheral], field: &mut ClockField) -> Result<(), String> {
    let is_its_block =
        |one: &&Peripheral| one.name == field.peripheral && one.kind == PeripheralKind::Registers;
    let address = peripherals.iter().find(is_its_block).and_then(|block| {
        let found = block.registers.iter().find(|one| one.name == field.register)?;
        Some(block.base + found.offset)
    });
    field.address = address.ok_or_else(|| {
        format!("{field} is no register of a peripheral with kind = \"registers\"")
    })?;
    Ok(())
}

fn check_clock(tree: &ClockTree, clock: &ClockNode, at: usize) -> Checked {
    let name = &clock.name;
    let earlier = &tree.clocks[..at];
    if name.is_empty() || earlier.iter().any(|other| other.name == *name) {
        return refuse(&path(at, "name"), format!("clock {name:?}: another name is needed"));
    }
    let origins = [
        clock.hz.is_some(),
        clock.crystal_hz.is_some(),
        !clock.table_hz.is_empty(),
        !clock.from.is_empty(),
    ];
    if origins.into_iter().filter(|given| *given).count() != 1 {
        let message =
            format!("clock {name}: give exactly one of hz, crystal_hz, table_hz and from");
        return refuse(&path(at, "name"), message);
    }
    if [clock.hz, clock.crystal_hz].iter().flatten().any(|hertz| hertz.0 == 0) {
        return refuse(&path(at, "name"), format!("clock {name}: its frequency is 0"));
    }
    let unknown = clock
        .from
        .iter()
        .find(|from| !from.is_empty() && earlier.iter().all(|other| other.name != **from));
    if let Some(from) = unknown {
        let message =
            format!("clock {name} derives from {from}, but no earlier clock has that name");
        return refuse(&path(at, "from"), message);
    }
    let choices = clock.table_hz.len().max(clock.from.len());
    let fits = match &clock.select {
        Some(field) => (1..=1_u64 << field.width).contains(&(choices as u64)),
        None => choices <= 1,
    };
    if !fits {
        let message = format!(
            "clock {name}: select is for from and table_hz, which have an entry for each of its values"
        );
        return refuse(&path(at, "select"), message);
    }
    clock.ratio.iter().try_for_each(|factor| check_factor(clock, factor, at))
}

fn check_factor(clock: &ClockNode, factor: &ClockFactor, at: usize) -> Checked {
    let wrong = mistake(factor);
    wrong.map_or(Ok(()), |it| refuse(&path(at, "ratio"), format!("clock {}: {it}", clock.name)))
}

/// Returns what is wrong with a factor.
fn mistake(factor: &ClockFactor) -> Option<&'static str> {
    let ClockFactor { multiply, divide, plus, values, range, zero, fraction_bits } = factor;
    let encoded = *plus > 0 || !values.is_empty() || range.is_some() || *fraction_bits > 0;
    match multiply.as_ref().xor(divide.as_ref()) {
        None => Some("each factor has either multiply or divide"),
        Some(ClockOperand::Constant(0)) => Some("a factor is not 0"),
        Some(ClockOperand::Constant(_)) if encoded || zero.is_some() => {
            Some("plus, values, range, zero and fraction_bits are for fields")
        }
        _ if *plus > 0 && !values.is_empty() => Some("give plus or values, not both"),
        _ if *zero == Some(0) => Some("a factor is not 0"),
        _ if *fraction_bits > MAX_FRACTION_BITS => Some("fraction_bits is at most 24"),
        Some(_) => None,
    }
}

impl Soc {
    /// Returns whether a register controls the wait states of a memory.
    pub(super) fn has_wait_states_register(&self, memory: &Memory) -> bool {
        let mut registers = self.peripherals.iter().flat_map(|it| &it.registers);
        registers.any(|register| {
            let controls = register.controls.as_ref();
            controls.is_some_and(|it| it.memory == memory.name && it.wait_states.is_some())
        })
    }

    /// Refuses factors of wait states that have no model.
    pub(super) fn check_wait_states_by(&self, at: usize, memory: &Memory) -> Checked {
        let Memory { name, wait_states_by: factors, .. } = memory;
        if factors.is_empty() {
            return Ok(());
        }
        let divides = |factor: &ClockFactor| factor.divide.is_some() || factor.fraction_bits > 0;
        let wrong = if self.core.is_riscv() || self.core == CoreKind::CortexR5 {
            Some("wait_states_by is modelled on Cortex-M only")
        } else if memory.timing.wait_states == 0 {
            Some("wait_states_by changes wait_states, of which the memory has none")
        } else if factors.iter().any(divides) {
            Some("factors of wait_states_by multiply whole numbers")
        } else if self.has_wait_states_register(memory) {
            Some("a register controls its wait_states: give wait_states_by or that")
        } else {
            factors.iter().find_map(mistake)
        };
        wrong.map_or(Ok(()), |it| refuse(&wait_states_by(at), format!("memory {name}: {it}")))
    }
}
