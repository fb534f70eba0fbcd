//! The constraints on a soc file beyond its syntax, and the place in the file that violates one.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::peripheral::PeripheralRegister;
use super::peripheral_kind::PeripheralKind;
use super::{CoreKind, InitWrite, Memory, MemoryKind, Revision, Soc};

mod clock_tree;
mod dma;
mod memories;
mod peripherals;
mod registers;

/// The ranges in which chips may have registers of their own: units on the private peripheral bus after
/// Arm's (DDI 0403, B3.2.1), such as STM32's DBGMCU, and the vendor's region (B3.1).
pub const VENDORS: [Range<u64>; 2] = [0xE004_2000..0xE00F_F000, 0xE010_0000..0x1_0000_0000];

/// How many lines of an STM32's EXTI come from pins (RM0090, 12.2.5).
pub const EXTI_LINES: u8 = 16;

/// Most addresses from here on belong to the core itself.
const SYSTEM_SPACE: u64 = 0xE000_0000;

/// A step from a table into its contents.
#[derive(Clone, Copy, Debug)]
pub enum KeyStep {
    Key(&'static str),
    Index(usize),
}

/// What is wrong with a file, and the path of the value at fault.
#[derive(Debug)]
pub struct Refusal {
    path: Vec<KeyStep>,
    message: String,
}

pub type Checked = Result<(), Refusal>;

/// Ranges of addresses, and what is there.
pub type Taken<'a> = Vec<(Range<u64>, &'a str)>;

pub fn refuse<T>(path: &[KeyStep], message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { path: path.to_vec(), message: message.into() })
}

impl Refusal {
    /// Returns the message, with the number of the line that it concerns.
    pub fn describe(&self, text: &str) -> String {
        match line_of(text, &self.path) {
            Some(line) => format!("line {line}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

/// Returns the line of the value at a path, or of the longest part of the path that exists.
fn line_of(text: &str, path: &[KeyStep]) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut span = 0..0;
    let mut value = DeValue::Table(document.into_inner());
    for step in path {
        let next = match (step, value) {
            (KeyStep::Key(key), DeValue::Table(mut table)) => table.remove(*key),
            (KeyStep::Index(at), DeValue::Array(array)) => array.into_iter().nth(*at),
            _ => None,
        };
        let Some(next) = next else { break };
        span = next.span();
        value = next.into_inner();
    }
    (span != (0..0)).then(|| text[..span.start].matches('\n').count() + 1)
}

/// Refuses addresses that belong to the core, except those that chips may use there.
fn outside_system_space(
    path: &[KeyStep],
    subject: &str,
    range: &Range<u64>,
    except: &[Range<u64>],
) -> Checked {
    let fits = |own: &Range<u64>| own.start <= range.start && range.end <= own.end;
    if range.end <= SYSTEM_SPACE || except.iter().any(fits) {
        return Ok(());
    }
    let (start, end) = (range.start, range.end);
    let except = if except.is_empty() { "" } else { ", except from 0xE0042000 and 0xE0100000 on" };
    refuse(
        path,
        format!(
            "{subject}: {start:#010x}..{end:#010x} reaches into the system space at 0xE0000000, \
             which belongs to the core{except}"
        ),
    )
}

/// Returns what is wrong with a name that two entries have, one of which would never be found.
fn another_name(subject: &str, name: &str) -> String {
    format!("{subject} {name}: an earlier {subject} has that name; give this one another")
}

/// Returns whether a field fits into a word.
fn is_field(bit: u8, width: u8) -> bool {
    width >= 1 && u16::from(bit) + u16::from(width) <= 32
}

impl Soc {
    /// Gives each block with a `like` key the registers of the block that it names.
    pub(super) fn copy_registers(&mut self) -> Checked {
        for at in 0..self.peripherals.len() {
            let Some(like) = self.peripherals[at].like.clone() else { continue };
            let path = [KeyStep::Key("peripheral"), KeyStep::Index(at), KeyStep::Key("like")];
            let name = &self.peripherals[at].name;
            let found = self.peripherals[..at].iter().find(|other| other.name == like);
            let Some(model) = found else {
                return refuse(
                    &path,
                    format!(
                        "peripheral {name} is like {like}, but no earlier peripheral has that name"
                    ),
                );
            };
            let own = &self.peripherals[at].registers;
            let is_other =
                |register: &&PeripheralRegister| own.iter().all(|one| one.name != register.name);
            let registers: Vec<_> = model.registers.iter().filter(is_other).cloned().collect();
            self.peripherals[at].registers.extend(registers);
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Checked {
        use KeyStep::Key;
        // Results contain the name in a column, and builds use it as a folder's name.
        let unfit = |letter: char| letter.is_control() || matches!(letter, '/' | '\\');
        if self.name.trim().is_empty() || self.name.starts_with('.') || self.name.contains(unfit) {
            return refuse(
                &[Key("name")],
                format!(
                    "name = {:?}: begin with a letter or digit, and use no slash and no control character",
                    self.name
                ),
            );
        }
        if self.clock.0 == 0 {
            return refuse(
                &[Key("clock_hz")],
                "clock_hz is 0: a core without a clock cannot run; give its frequency in hertz",
            );
        }
        let (most_interrupts, priority_bits) = match self.core {
            CoreKind::CortexM0 | CoreKind::CortexM0Plus => (32, 2..=2),
            // DDI 0337 and DDI 0439, NVIC: 3 to 8 bits. DDI 0489, 1.2: the same.
            CoreKind::CortexM3 | CoreKind::CortexM4 | CoreKind::CortexM4F | CoreKind::CortexM7 => {
                (240, 3..=8)
            }
            // Chips may have 480, but the 240 that this NVIC keeps in four words are enough for all known
            // socs.
            CoreKind::CortexM33 => (240, 3..=8),
            // As configured in RP2350 (datasheet, 3.8.8).
            CoreKind::Hazard3 => (52, 4..=4),
            // 15 fast interrupts and the external one, in a fixed order.
            CoreKind::Ibex => (16, 0..=0),
            // The interrupt controller keeps enough for all known socs.
            CoreKind::CortexR5 => (224, 3..=8),
        };
        if !(1..=most_interrupts).contains(&self.interrupts) {
            return refuse(
                &[Key("interrupts")],
                format!(
                    "interrupts = {}: {} has 1 to {most_interrupts}",
                    self.interrupts, self.core
                ),
            );
        }
        if !priority_bits.contains(&self.priority_bits) {
            let possible = match (priority_bits.start(), priority_bits.end()) {
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least} to {most}"),
            };
            return refuse(
                &[Key("priority_bits")],
                format!("priority_bits = {}: {} has {possible}", self.priority_bits, self.core),
            );
        }
        self.check_revision()?;
        self.check_mpu()?;
        if self.bit_bands == Some(true) && !self.core.may_have_bit_bands() {
            return refuse(
                &[Key("bit_bands")],
                format!("bit_bands = true: {} has no bit-banding", self.core),
            );
        }
        if self.memories.is_empty() {
            return refuse(&[Key("memory")], "no [[memory]]: a soc needs at least one");
        }
        if self.systick_reference_divisor == Some(0) {
            return refuse(
                &[Key("systick_reference_divisor")],
                "systick_reference_divisor is 0: leave it out if there is no reference clock",
            );
        }
        let mut taken = Vec::new();
        self.check_vectors()?;
        self.check_memories(&mut taken)?;
        self.check_peripherals(&mut taken)?;
        self.check_unmodelled(&mut taken)?;
        self.check_clock_tree()?;
        self.check_caches()?;
        if self.coprocessors.is_some() && self.core != CoreKind::CortexM33 {
            return refuse(
                &[Key("coprocessors")],
                format!("coprocessors are for a Cortex-M33, and this is a {}", self.core),
            );
        }
        self.check_init()?;
        self.check_time_base()
    }

    /// Refuses words that firmware could not write: it would fault, or write another register.
    fn check_init(&self) -> Checked {
        let unaligned = |write: &InitWrite| !write.address.is_multiple_of(4);
        let Some(at) = self.init.iter().position(unaligned) else { return Ok(()) };
        let InitWrite { register, address, .. } = &self.init[at];
        refuse(
            &[KeyStep::Key("init"), KeyStep::Index(at), KeyStep::Key("address")],
            format!("register {register}: address {address:#010x} is not a multiple of 4"),
        )
    }

    fn check_time_base(&self) -> Checked {
        let path = |key| [KeyStep::Key("time_base"), KeyStep::Key(key)];
        let Some(time_base) = &self.time_base else { return Ok(()) };
        let name = &time_base.peripheral;
        let Some(timer) = self.timer() else {
            return refuse(
                &path("peripheral"),
                format!("the time base is {name}, but no peripheral of this soc has that name"),
            );
        };
        let has_alarms = match timer.kind {
            PeripheralKind::Stm32Timer | PeripheralKind::NrfRtc => timer.irq.len() == 1,
            // Each alarm or counter has an interrupt, and drivers use the first.
            PeripheralKind::Rp2040Timer
            | PeripheralKind::Rp2350Timer
            | PeripheralKind::CadenceTtc => !timer.irq.is_empty(),
            _ => {
                return refuse(
                    &path("peripheral"),
                    format!(
                        "the time base is {name}: it must be of kind = \"stm32-timer\", \
                         rp2040-timer, rp2350-timer, nrf-rtc or cadence-ttc, for which there are drivers"
                    ),
                );
            }
        };
        if !has_alarms {
            return refuse(
                &path("peripheral"),
                format!("the time base is {name}: it must have one interrupt for everything"),
            );
        }
        let enable = &time_base.enable;
        if enable.bit >= 32 || !enable.address.is_multiple_of(4) {
            return refuse(
                &path("enable"),
                format!(
                    "register {}: bit {} at {:#010x} is outside the word (0 to 31)",
                    enable.register, enable.bit, enable.address
                ),
            );
        }
        Ok(())
    }

    /// Refuses a vector table where the core cannot have one, or where there is no memory.
    fn check_vectors(&self) -> Checked {
        let Some(vectors) = self.vectors else { return Ok(()) };
        let holds = |memory: &Memory| memory.ranges().any(|it| it.contains(&u64::from(vectors)));
        let outside = || {
            (!self.memories.iter().any(holds))
                .then(|| format!("{vectors:#010x} is in no [[memory]]"))
        };
        match self.refuse_vectors(vectors).or_else(outside) {
            Some(problem) => refuse(&[KeyStep::Key("vectors")], format!("vectors = {problem}")),
            None => Ok(()),
        }
    }

    fn check_revision(&self) -> Checked {
        let known = Revision::range(self.core);
        match self.revision.filter(|revision| !known.contains(revision)) {
            None => Ok(()),
            Some(revision) => refuse(
                &[KeyStep::Key("revision")],
                format!(
                    "revision = \"{revision}\": {} is {} to {}; leave it out where it is not known, \
                     for the newest",
                    self.core,
                    known.start(),
                    known.end()
                ),
            ),
        }
    }

    fn check_mpu(&self) -> Checked {
        let possible: &[u8] = match self.core {
            CoreKind::CortexM0 | CoreKind::Hazard3 | CoreKind::Ibex => &[0],
            // DDI 0484, DDI 0337 and DDI 0439, MPU: eight, or no unit.
            CoreKind::CortexM0Plus
            | CoreKind::CortexM3
            | CoreKind::CortexM4
            | CoreKind::CortexM4F => &[0, 8],
            // DDI 0489, MPU.
            CoreKind::CortexM7 => &[0, 8, 16],
            // 100230, MPU.
            CoreKind::CortexM33 => &[0, 4, 8, 12, 16],
            // DDI 0460, MPU.
            CoreKind::CortexR5 => &[0, 12, 16],
        };
        let regions = self.mpu_regions();
        if possible.contains(&regions) {
            return Ok(());
        }
        let possible: Vec<_> = possible.iter().map(u8::to_string).collect();
        refuse(
            &[KeyStep::Key("mpu_regions")],
            format!("mpu_regions = {regions}: {} has {}", self.core, possible.join(" or ")),
        )
    }

    fn check_memories<'a>(&'a self, taken: &mut Taken<'a>) -> Checked {
        for (at, memory) in self.memories.iter().enumerate() {
            let name = memory.name.as_str();
            let path = |key| [KeyStep::Key("memory"), KeyStep::Index(at), KeyStep::Key(key)];
            if self.memories[..at].iter().any(|other| other.name == name) {
                return refuse(&path("name"), another_name("memory", name));
            }
            if memory.size == 0 || memory.size % 4 != 0 {
                return refuse(
                    &path("size"),
                    format!(
                        "memory {name}: size {:#x} is not a positive multiple of 4",
                        memory.size
                    ),
                );
            }
            if memory.size > 0x1000_0000 {
                return refuse(
                    &path("size"),
                    format!("memory {name}: size {:#x} is over 256 MiB", memory.size),
                );
            }
            self.check_timing(at, memory)?;
            if memory.contents.is_some() && memory.kind != MemoryKind::Flash {
                return refuse(
                    &path("contents"),
                    format!("memory {name}: contents are for kind = \"flash\", which keeps them"),
                );
            }
            for range in memory.ranges() {
                if range.start % 4 != 0 {
                    return refuse(
                        &path("base"),
                        format!(
                            "memory {name}: address {:#010x} is not a multiple of 4",
                            range.start
                        ),
                    );
                }
                let subject = format!("memory {name}");
                if self.core != CoreKind::CortexR5 {
                    outside_system_space(&path("base"), &subject, &range, &[])?;
                }
                Self::take(&path("base"), &subject, name, range, taken)?;
            }
        }
        Ok(())
    }

    /// Records that a range of addresses is used, or refuses it if it overlaps another.
    pub(super) fn take<'a>(
        path: &[KeyStep],
        subject: &str,
        name: &'a str,
        range: Range<u64>,
        taken: &mut Taken<'a>,
    ) -> Checked {
        let (start, end) = (range.start, range.end);
        let clash = taken.iter().find(|(other, _)| start < other.end && other.start < end);
        if let Some((other, owner)) = clash {
            return refuse(
                path,
                format!(
                    "{subject}: {start:#010x}..{end:#010x} overlaps {owner} at {:#010x}..{:#010x}; \
                     change base or size of one of them",
                    other.start, other.end
                ),
            );
        }
        taken.push((range, name));
        Ok(())
    }

    fn check_peripherals<'a>(&'a self, taken: &mut Taken<'a>) -> Checked {
        for (at, peripheral) in self.peripherals.iter().enumerate() {
            let name = peripheral.name.as_str();
            let path = |key| [KeyStep::Key("peripheral"), KeyStep::Index(at), KeyStep::Key(key)];
            if self.peripherals[..at].iter().any(|other| other.name == name) {
                return refuse(&path("name"), another_name("peripheral", name));
            }
            let extent = peripheral.extent();
            if extent == 0 || extent % 4 != 0 || extent > 0x10_0000 {
                return refuse(
                    &path("size"),
                    format!(
                        "peripheral {name}: size {extent:#x} is not a multiple of 4 from 4 to 1 MiB"
                    ),
                );
            }
            if peripheral.atomic_aliases && extent != 0x4000 {
                return refuse(
                    &path("size"),
                    format!(
                        "peripheral {name}: with atomic_aliases its size is 0x4000; leave it out"
                    ),
                );
            }
            if peripheral.base % 4 != 0 {
                return refuse(
                    &path("base"),
                    format!(
                        "peripheral {name}: address {:#010x} is not a multiple of 4",
                        peripheral.base
                    ),
                );
            }
            let start = u64::from(peripheral.base);
            let range = start..start + u64::from(extent);
            let subject = format!("peripheral {name}");
            if self.core != CoreKind::CortexR5 {
                outside_system_space(&path("base"), &subject, &range, &VENDORS)?;
            }
            Self::take(&path("base"), &subject, name, range, taken)?;
            if let Some(irq) = peripheral.irq.iter().find(|irq| **irq >= self.interrupts) {
                return refuse(
                    &path("irq"),
                    format!(
                        "peripheral {name}: no interrupt {irq}; interrupts = {} gives 0 to {}",
                        self.interrupts,
                        self.interrupts - 1
                    ),
                );
            }
            if peripheral.io_port && self.core != CoreKind::CortexM0Plus {
                return refuse(
                    &path("io_port"),
                    format!("peripheral {name}: only the Cortex-M0+ has an I/O port"),
                );
            }
            if peripheral.kind.needs_wires() && !self.core.is_cortex_m() {
                return refuse(
                    &path("kind"),
                    format!("peripheral {name}: its kind has a model beside Cortex-M cores only"),
                );
            }
            let takes_irq = peripheral.kind == PeripheralKind::Rp2350RiscvTimer;
            if peripheral.kind.is_part_of(self.core) && !peripheral.irq.is_empty() && !takes_irq {
                return refuse(
                    &path("irq"),
                    format!("peripheral {name}: its interrupts are the core's own: leave out irq"),
                );
            }
            peripherals::check_options(peripheral, path)?;
            self.check_sources(peripheral, path)?;
            self.check_dma(peripheral, path)?;
            registers::check_pins(peripheral, &path("pins"))?;
            for (index, register) in peripheral.registers.iter().enumerate() {
                let path = |key| {
                    let [kind, at, _] = path("");
                    [kind, at, KeyStep::Key("register"), KeyStep::Index(index), KeyStep::Key(key)]
                };
                self.check_register(peripheral, register, index, path)?;
            }
        }
        Ok(())
    }
}
