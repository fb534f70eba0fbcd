//! The clock tree of a chip: how the frequency of its core follows from its registers.
//!
//! A tree is data of the soc file. This module knows its form and how to evaluate it; which values the
//! registers hold, and what changes with the core's clock, it does not know.

use rtmark_units::Hertz;
use serde::Deserialize;

/// The clocks from which the core's frequency follows, and the registers that determine them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockTree {
    /// The name of the clock that the core runs at.
    pub core: String,
    /// The clocks. Each derives from earlier ones only.
    #[serde(rename = "clock")]
    pub clocks: Vec<ClockNode>,
}

/// What determines the core's frequency in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockControl {
    /// The soc file's `clock_hz`, whatever the program does.
    #[default]
    Fixed,
    /// The clock registers, as the soc file's clock tree says; `clock_hz` without a tree.
    Registers,
}

/// A clock of a tree: an oscillator, or a clock derived from others.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockNode {
    /// Its name in the reference manual.
    pub name: String,
    /// The frequency of an internal oscillator.
    #[serde(default)]
    pub hz: Option<Hertz>,
    /// The frequency of an external crystal, which the board determines; this is the usual one.
    #[serde(default)]
    pub crystal_hz: Option<Hertz>,
    /// The frequencies of an oscillator, from which `select` chooses; 0 for a reserved value.
    #[serde(default)]
    pub table_hz: Vec<Hertz>,
    /// The clocks from which it derives: one, or those among which `select` chooses. An empty name
    /// stands for a reserved value, or for an input whose frequency is not known.
    #[serde(default)]
    pub from: Vec<String>,
    /// The field that chooses from `from` or `table_hz`.
    #[serde(default)]
    pub select: Option<ClockField>,
    /// By what its input is multiplied and divided, in this order.
    #[serde(default)]
    pub ratio: Vec<ClockFactor>,
    /// The lowest and the highest frequency that it can have, in hertz.
    #[serde(default)]
    pub range_hz: Option<(u64, u64)>,
    /// The conditions under which it runs, all of which must hold.
    #[serde(default)]
    pub on: Vec<ClockCondition>,
}

/// A factor between a clock and its input: exactly one of `multiply` and `divide`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockFactor {
    /// A multiplier: a number, or the field that holds it.
    #[serde(default)]
    pub multiply: Option<ClockOperand>,
    /// A divisor: a number, or the field that holds it.
    #[serde(default)]
    pub divide: Option<ClockOperand>,
    /// What is added to the field's value.
    #[serde(default)]
    pub plus: u32,
    /// The number that each of the field's values stands for; 0 if it is reserved.
    #[serde(default)]
    pub values: Vec<u32>,
    /// The least and the greatest number that the field may hold.
    #[serde(default)]
    pub range: Option<(u32, u32)>,
    /// The number that a field of zero stands for.
    #[serde(default)]
    pub zero: Option<u32>,
    /// How many of the field's bits are after the binary point.
    #[serde(default)]
    pub fraction_bits: u8,
}

/// A number, or the field that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a number, or a field such as RCC.CFGR[7:4]")]
pub enum ClockOperand {
    /// The same number always.
    Constant(u32),
    /// The number in a field.
    Field(ClockField),
}

/// A field of a register, written `PERIPHERAL.REGISTER[high:low]`, or `[bit]` for a single bit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ClockField {
    /// The peripheral's name.
    pub peripheral: String,
    /// The register's name.
    pub register: String,
    /// The lowest bit.
    pub bit: u8,
    /// The number of bits.
    pub width: u8,
    /// The register's address, once the soc file is complete.
    pub(crate) address: u32,
}

/// A condition, written as a field that must be 1, or as `FIELD = VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ClockCondition {
    /// The field.
    pub field: ClockField,
    /// The value that it must have.
    pub value: u32,
}

fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    text.strip_prefix("0x")
        .map_or_else(|| text.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())
}

impl TryFrom<String> for ClockField {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parse = || {
            let (register, bits) = text.trim().strip_suffix(']')?.split_once('[')?;
            let (peripheral, register) = register.split_once('.')?;
            let (high, low) = bits.split_once(':').unwrap_or((bits, bits));
            let (high, low): (u8, u8) = (high.trim().parse().ok()?, low.trim().parse().ok()?);
            let width = high.checked_sub(low).filter(|_| high < 32)? + 1;
            let (peripheral, register) = (peripheral.to_owned(), register.to_owned());
            Some(Self { peripheral, register, bit: low, width, address: 0 })
        };
        parse().ok_or_else(|| {
            format!(
                "`{text}` is no field: write PERIPHERAL.REGISTER[high:low], such as RCC.CFGR[7:4]"
            )
        })
    }
}

impl TryFrom<String> for ClockCondition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (field, value) = text
            .split_once('=')
            .map_or((text.as_str(), Some(1)), |(field, value)| (field, number(value)));
        let value = value.ok_or_else(|| format!("`{text}`: expected a number after ="))?;
        let field: ClockField = field.to_owned().try_into()?;
        if value > field.largest() {
            return Err(format!(
                "`{text}` never holds: {} is the most that it can be",
                field.largest()
            ));
        }
        Ok(Self { field, value })
    }
}

impl ClockCondition {
    /// Returns whether it holds, given the values of registers.
    pub(crate) fn holds(&self, read: &dyn Fn(u32) -> u32) -> bool {
        self.field.of(read) == self.value
    }
}

impl std::fmt::Display for ClockCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {:#x}", self.field, self.value)
    }
}

impl std::fmt::Display for ClockField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { peripheral, register, bit, width, .. } = self;
        match width {
            1 => write!(f, "{peripheral}.{register}[{bit}]"),
            _ => write!(f, "{peripheral}.{register}[{}:{bit}]", bit + width - 1),
        }
    }
}

impl ClockField {
    /// Returns the largest value that the field can have.
    const fn largest(&self) -> u32 {
        if self.width >= 32 { u32::MAX } else { (1 << self.width) - 1 }
    }

    /// Returns the field's value, given its register's.
    fn of(&self, read: &dyn Fn(u32) -> u32) -> u32 {
        read(self.address) >> self.bit & self.largest()
    }
}

/// A frequency in hertz, as a fraction.
#[derive(Clone, Copy, Debug)]
struct Frequency {
    numerator: u128,
    denominator: u128,
}

/// A frequency in hertz, as a fraction of numbers of the size that clocks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRate {
    /// Not 0.
    pub numerator: u32,
    /// Not 0.
    pub denominator: u32,
}

impl Frequency {
    const fn of(clock: Hertz) -> Self {
        Self { numerator: clock.0 as u128, denominator: 1 }
    }

    /// Returns it with smaller numbers, if that is possible.
    fn reduced(self) -> Option<ClockRate> {
        let (mut common, mut rest) = (self.numerator, self.denominator);
        while rest > 0 {
            (common, rest) = (rest, common % rest);
        }
        let [numerator, denominator] = [self.numerator, self.denominator]
            .map(|it| u32::try_from(it / common.max(1)).ok().filter(|it| *it > 0));
        Some(ClockRate { numerator: numerator?, denominator: denominator? })
    }

    /// Returns it in hertz, rounded to the nearest.
    const fn hertz(self) -> u128 {
        let rest = self.numerator % self.denominator;
        self.numerator / self.denominator + (rest >= self.denominator - rest) as u128
    }
}

impl ClockFactor {
    /// Applies the factor to a frequency.
    fn apply(&self, to: Frequency, read: &dyn Fn(u32) -> u32) -> Result<Frequency, String> {
        let operand = self.multiply.as_ref().or(self.divide.as_ref());
        let Some(operand) = operand else { return Ok(to) };
        let by = u128::from(self.number(operand, read)?);
        let one = 1_u128 << self.fraction_bits;
        let (up, down) = if self.multiply.is_some() { (by, one) } else { (one, by) };
        let scaled = to.numerator.checked_mul(up).zip(to.denominator.checked_mul(down));
        let Some((numerator, denominator)) = scaled else {
            return Err(format!("{by} is more than any clock can be scaled by"));
        };
        Ok(Frequency { numerator, denominator })
    }

    /// Returns what it multiplies by; `None` if the field holds a reserved value, or if it divides.
    pub(crate) fn multiplier(&self, read: &dyn Fn(u32) -> u32) -> Option<u32> {
        self.number(self.multiply.as_ref()?, read).ok()
    }

    /// Returns the number that an operand stands for, which is not 0.
    fn number(&self, operand: &ClockOperand, read: &dyn Fn(u32) -> u32) -> Result<u32, String> {
        let field = match operand {
            ClockOperand::Constant(number) => return Ok(*number),
            ClockOperand::Field(field) => field,
        };
        let held = field.of(read);
        if let (0, Some(number)) = (held, self.zero) {
            return Ok(number);
        }
        let found = match self.values.as_slice() {
            [] => held.checked_add(self.plus),
            values => values.get(held as usize).copied(),
        };
        let fits = |number: &u32| {
            *number > 0 && self.range.is_none_or(|(least, most)| (least..=most).contains(&held))
        };
        found.filter(fits).ok_or_else(|| format!("{field} is {held}, which is reserved"))
    }
}

impl ClockTree {
    /// Returns the core's frequency, or the field because of which it has none. `read` returns the value of
    /// the register at an address.
    pub(crate) fn core_clock(&self, read: &dyn Fn(u32) -> u32) -> Result<Hertz, String> {
        let found = self.frequency(&self.core, read)?;
        let fits = u32::try_from(found.hertz()).ok().filter(|hertz| *hertz > 0);
        fits.map(Hertz).ok_or_else(|| format!("{} would be {} Hz", self.core, found.hertz()))
    }

    /// Returns the frequency of a clock, unless it is off or not known.
    pub(crate) fn clock(&self, name: &str, read: &dyn Fn(u32) -> u32) -> Option<ClockRate> {
        self.frequency(name, read).ok()?.reduced()
    }

    /// Returns the addresses of all registers that the tree reads.
    pub(crate) fn registers(&self) -> impl Iterator<Item = u32> + '_ {
        self.clocks.iter().flat_map(ClockNode::fields).map(|field| field.address)
    }

    /// Returns whether the core's clock may derive from the board's crystal.
    pub fn has_crystal(&self) -> bool {
        self.clocks.iter().any(|clock| clock.crystal_hz.is_some())
    }

    /// Returns the frequency of the clock with a name. A clock derives only from earlier ones, so this ends.
    fn frequency(&self, name: &str, read: &dyn Fn(u32) -> u32) -> Result<Frequency, String> {
        let Some(node) = self.clocks.iter().find(|clock| clock.name == name) else {
            return Err(format!("there is no clock {name}"));
        };
        let off = node.on.iter().find(|condition| !condition.holds(read));
        if let Some(ClockCondition { field, value }) = off {
            let held = field.of(read);
            return Err(format!("{name} needs {field} to be {value:#x}, and it is {held:#x}"));
        }
        let mut found = self.input(node, read)?;
        for factor in &node.ratio {
            found = factor.apply(found, read).map_err(|why| format!("{name}: {why}"))?;
        }
        let hertz = found.hertz();
        match node.range_hz {
            Some((least, most)) if hertz < least.into() || hertz > most.into() => {
                Err(format!("{name} would be {hertz} Hz, outside its {least} to {most} Hz"))
            }
            _ => Ok(found),
        }
    }

    /// Returns the frequency from which a clock derives, or that of an oscillator.
    fn input(&self, node: &ClockNode, read: &dyn Fn(u32) -> u32) -> Result<Frequency, String> {
        if let Some(clock) = node.hz.or(node.crystal_hz) {
            return Ok(Frequency::of(clock));
        }
        let selected = node.select.as_ref().map_or(0, |field| field.of(read)) as usize;
        let reserved = || {
            let field = node.select.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{}: the source that {field} = {selected} selects is not known", node.name)
        };
        if !node.table_hz.is_empty() {
            let found = node.table_hz.get(selected).filter(|clock| clock.0 > 0);
            return found.map(|clock| Frequency::of(*clock)).ok_or_else(reserved);
        }
        let from = node.from.get(selected).filter(|name| !name.is_empty());
        self.frequency(from.ok_or_else(reserved)?, read)
    }
}

impl ClockNode {
    /// Returns every field that it depends on.
    fn fields(&self) -> impl Iterator<Item = &ClockField> {
        self.select
            .iter()
            .chain(self.on.iter().map(|condition| &condition.field))
            .chain(self.ratio.iter().filter_map(ClockFactor::field))
    }

    /// Returns every field that it depends on, to be completed.
    pub(super) fn fields_mut(&mut self) -> impl Iterator<Item = &mut ClockField> {
        self.select
            .iter_mut()
            .chain(self.on.iter_mut().map(|condition| &mut condition.field))
            .chain(self.ratio.iter_mut().filter_map(ClockFactor::field_mut))
    }
}

impl ClockFactor {
    pub(crate) const fn field(&self) -> Option<&ClockField> {
        match (&self.multiply, &self.divide) {
            (Some(ClockOperand::Field(field)), _) | (_, Some(ClockOperand::Field(field))) => {
                Some(field)
            }
            _ => None,
        }
    }

    pub(super) const fn field_mut(&mut self) -> Option<&mut ClockField> {
        match (&mut self.multiply, &mut self.divide) {
            (Some(ClockOperand::Field(field)), _) | (_, Some(ClockOperand::Field(field))) => {
                Some(field)
            }
            _ => None,
        }
    }
}
