//! The description of a chip: its core, clock, memories and interrupts.
//!
//! A [`Soc`] is read from a TOML file (the repository's `socs/` has examples with every key explained).
//! This module knows the file's form and checks that it makes sense. It does not know how a memory's timing
//! works out in a run; the timing models do.

mod basis;
mod bus_matrix;
mod check;
mod clock_tree;
mod core_kind;
mod core_registers;
mod flash_control;
mod memory;
mod memory_timing;
mod peripheral;
mod peripheral_kind;
mod revision;
mod unmodelled;

pub use self::check::{EXTI_LINES, VENDORS};
use std::collections::BTreeMap;

use rtmark_units::Hertz;
use serde::Deserialize;

pub use basis::{Tier, TimingBasis};
pub use bus_matrix::BusMatrix;
pub(crate) use clock_tree::ClockRate;
pub use clock_tree::{
    ClockCondition, ClockControl, ClockFactor, ClockField, ClockNode, ClockOperand, ClockTree,
};
pub use core_kind::{CoprocessorSet, CoreKind, FIRST_PRIVATE};
pub use flash_control::{Control, Erase, Program};
pub use memory::{Contents, Memory, MemoryKind};
pub use memory_timing::{Burst, CACHE_LINE_BYTES, CacheSizes, MemoryTiming};
pub use peripheral::{
    Act, ActHow, DmaRequest, Follow, FollowHow, OutputLine, Peripheral, PeripheralClock,
    PeripheralRegister, Pins, PullUp, Pulled, Routes, Scale, SlowRead, SpiInput,
};
pub use peripheral_kind::{PeripheralKind, PeripheralOutput};
pub use revision::{Generation, Revision};
pub use unmodelled::UnmodelledBlock;

/// A register write that firmware built for the soc performs first, such as one that sets flash wait
/// states. The simulator itself performs none of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InitWrite {
    /// The register's name in the reference manual.
    pub register: String,
    /// Its address.
    pub address: u32,
    /// The word to write.
    pub value: u32,
}

/// A timer by which firmware built for the soc may count time. The simulator itself does not use this.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeBase {
    /// The peripheral's name.
    pub peripheral: String,
    /// The bit that enables it.
    pub enable: TimeBaseEnable,
}

/// The bit that enables a time base: of its clock, or of its reset.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeBaseEnable {
    /// The register's name in the reference manual.
    pub register: String,
    /// Its address.
    pub address: u32,
    /// The number of the bit.
    pub bit: u8,
    /// How the bit must change.
    #[serde(default)]
    pub how: EnableHow,
}

/// How the bit that enables a time base must change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnableHow {
    /// It must be set, to start a clock.
    #[default]
    Set,
    /// It must be cleared, to end a reset.
    Clear,
}

/// A chip: a core with clock, memories and interrupts.
///
/// ```
/// let soc = rtmark_sim::Soc::from_toml(
///     r#"
///     name = "tiny"
///     description = "a Cortex-M0+ with zero-wait memories"
///     core = "cortex-m0plus"
///     clock_hz = 48_000_000
///     interrupts = 32
///     priority_bits = 2
///
///     [[memory]]
///     name = "FLASH"
///     kind = "flash"
///     base = 0
///     size = 0x8000
///
///     [[memory]]
///     name = "RAM"
///     kind = "ram"
///     base = 0x2000_0000
///     size = 0x2000
///     "#,
/// )?;
/// assert_eq!(soc.memories.len(), 2);
/// # Ok::<(), rtmark_sim::SocError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soc {
    /// The name by which commands and results refer to it.
    pub name: String,
    /// A one-line description for lists.
    pub description: String,
    /// The core.
    pub core: CoreKind,
    /// The core's revision (`r2p1`); if not given, the newest one.
    #[serde(default)]
    pub revision: Option<Revision>,
    /// The caches inside a Cortex-M7. Memories with wait states are behind them, except those whose `base` and size
    /// make them the tightly coupled memories, at 0 and at 0x20000000.
    #[serde(default)]
    pub caches: CacheSizes,
    /// How the buses beyond the core are arbitrated.
    #[serde(default)]
    pub bus_matrix: BusMatrix,
    /// The coprocessors that the chip adds to a Cortex-M33.
    #[serde(default)]
    pub coprocessors: Option<CoprocessorSet>,
    /// The core's clock, in times of runs that do not follow the clock registers.
    #[serde(rename = "clock_hz", deserialize_with = "clock")]
    pub clock: Hertz,
    /// How the core's clock follows from registers, if that is known.
    #[serde(default)]
    pub clock_tree: Option<ClockTree>,
    /// Whether the core's clock follows the registers; no key of the file.
    #[serde(skip)]
    pub clock_control: ClockControl,
    /// External interrupts of the NVIC (1 to 240; at most 32 on ARMv6-M).
    pub interrupts: u16,
    /// Bits of priority that the NVIC implements (2 on ARMv6-M, 2 to 8 elsewhere).
    pub priority_bits: u8,
    /// Regions of the memory protection unit; 0: no unit. Up to Cortex-M4 it may have 8, a Cortex-M7 8 or
    /// 16, a Cortex-M33 4, 8, 12 or 16, a Cortex-R5 12 or 16. If not given, 16 on a Cortex-R5, none on cores
    /// that cannot have one, 8 on the others.
    #[serde(default)]
    pub mpu_regions: Option<u8>,
    /// Whether the bits of the first MiB of SRAM and of peripherals have aliases. If not given, they have
    /// on Cortex-M3 and M4. Other cores never have bit-banding.
    #[serde(default)]
    pub bit_bands: Option<bool>,
    /// The address of the vector table at reset; if not given, the first memory's base.
    #[serde(default)]
    pub vectors: Option<u32>,
    /// What SysTick counts when its CLKSOURCE bit selects the reference clock, as a divisor of the core's
    /// clock; `None` if there is no such clock.
    #[serde(default)]
    pub systick_reference_divisor: Option<u16>,
    /// The memories, the one with the reset vectors first.
    #[serde(rename = "memory")]
    pub memories: Vec<Memory>,
    /// The peripherals that firmware finds; addresses outside them read as zero.
    #[serde(default, rename = "peripheral")]
    pub peripherals: Vec<Peripheral>,
    /// The peripherals without a model, by name, for messages.
    #[serde(default)]
    pub unmodelled: BTreeMap<String, UnmodelledBlock>,
    /// The timer by which alarm-based drivers count time; SysTick if none is given.
    #[serde(default)]
    pub time_base: Option<TimeBase>,
    /// The register writes that firmware for this soc performs first.
    #[serde(default)]
    pub init: Vec<InitWrite>,
    /// Documents and measurements that the file's figures come from.
    #[serde(default)]
    pub sources: Vec<String>,
}

fn clock<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Hertz, D::Error> {
    u32::deserialize(deserializer).map(Hertz)
}

/// Why a soc file was refused.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocError {
    /// The text is not TOML, has an unknown or missing key, or a value of the wrong type. The message shows
    /// the line.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// A value that no chip can have. The message begins with the line.
    #[error("{0}")]
    Value(String),
}

impl Soc {
    /// Reads a soc file.
    ///
    /// # Errors
    /// When the text is not TOML, has an unknown key or lacks one, or describes an impossible chip.
    // Compiled by the caller: the page's program wants it small, this crate wants to be fast.
    #[inline]
    pub fn from_toml(text: &str) -> Result<Self, SocError> {
        let mut soc: Self = toml::from_str(text)?;
        soc.copy_registers()
            .and_then(|()| soc.find_clock_registers())
            .and_then(|()| soc.check())
            .map_err(|refusal| SocError::Value(refusal.describe(text)))?;
        Ok(soc)
    }

    /// Returns which of the behaviours that differ between revisions the core has.
    pub const fn generation(&self) -> Generation {
        Generation::of(self.core, self.revision)
    }

    /// Returns the address of the vector table at reset.
    pub fn vector_base(&self) -> u32 {
        self.vectors.unwrap_or_else(|| self.memories.first().map_or(0, |memory| memory.base))
    }

    /// Returns why the core cannot have its vectors at an address, if it cannot.
    ///
    /// A table for VTOR is aligned to its size, rounded up to a power of two, and at least to 128 bytes (DDI
    /// 0403, B1.5.3; DDI 0553, B3.30), to 256 on a Cortex-M0+, whose VTOR has no bit 7 here. MTVEC has bits 31
    /// to 2 on a Hazard3 (RP2350 datasheet, 3.8.9), and 31 to 8 on an Ibex (Ibex Reference Guide, "Control and
    /// Status Registers").
    pub fn refuse_vectors(&self, address: u32) -> Option<String> {
        let (unit, why) = match self.core {
            CoreKind::Ibex => (256, "an Ibex's MTVEC has no lower bits".to_owned()),
            CoreKind::Hazard3 => (4, "a Hazard3's MTVEC has no lower bits".to_owned()),
            CoreKind::CortexR5 => (4, "vectors are instructions of four bytes".to_owned()),
            core => {
                let vectors = 16 + u32::from(self.interrupts);
                let least = if core == CoreKind::CortexM0Plus { 256 } else { 128 };
                let why = format!("a table of {vectors} vectors is aligned to its size");
                ((4 * vectors).next_power_of_two().max(least), why)
            }
        };
        (!address.is_multiple_of(unit))
            .then(|| format!("{address:#010x} is not a multiple of {unit}: {why}"))
    }

    /// Names the register at an address, with its peripheral's name (`RCC.CR`, `NVIC.ISER0`); where only the
    /// peripheral is known, by its offset in it (`TIM2+0x4c`). `None`: neither in the soc's file nor the core's.
    pub fn register_name(&self, address: u32) -> Option<String> {
        let holds = |block: &&Peripheral| address.wrapping_sub(block.base) < block.extent();
        let Some(block) = self.peripherals.iter().find(holds) else {
            let core = || core_registers::name(address).filter(|_| self.core.is_cortex_m());
            let named = |(name, block): (&String, &UnmodelledBlock)| {
                Some(format!("{name}+{:#x}", block.offset(address)?))
            };
            return self.unmodelled.iter().find_map(named).or_else(core);
        };
        let offset = address - block.base;
        let offset = if block.atomic_aliases { offset & 0xFFF } else { offset };
        let named = block.registers.iter().find(|register| register.offset == offset);
        let named = named.map(|register| register.name.clone());
        Some(match named.or_else(|| block.kind.control_register(offset)) {
            Some(register) => format!("{}.{register}", block.name),
            None => format!("{}+{offset:#x}", block.name),
        })
    }

    /// Returns the number of regions of the memory protection unit; 0 if there is none.
    pub fn mpu_regions(&self) -> u8 {
        self.mpu_regions.unwrap_or(match self.core {
            CoreKind::CortexM0 | CoreKind::Hazard3 | CoreKind::Ibex => 0,
            CoreKind::CortexR5 => 16,
            _ => 8,
        })
    }

    /// Returns whether there is a cache, in the core or in front of a memory.
    pub fn has_caches(&self) -> bool {
        self.caches.has_any() || self.memories.iter().any(|memory| memory.timing.has_caches())
    }

    /// Returns whether the core reaches a memory through its own caches.
    pub(crate) fn is_behind_caches(&self, memory: &Memory) -> bool {
        let is_tcm = |address| memory.range().contains(&address);
        self.caches.has_any() && !is_tcm(0) && !is_tcm(0x2000_0000)
    }

    /// Returns whether the chip has bit-banding.
    pub fn has_bit_bands(&self) -> bool {
        self.bit_bands.unwrap_or(self.core.may_have_bit_bands())
    }

    /// Returns the peripheral by which alarm-based drivers count time.
    pub fn timer(&self) -> Option<&Peripheral> {
        let named = &self.time_base.as_ref()?.peripheral;
        self.peripherals.iter().find(|peripheral| peripheral.name == *named)
    }

    /// Returns the exceptions that become pending before they are taken: PendSV and SysTick (software and
    /// timer interrupts elsewhere), external interrupts, and a Cortex-R5's SGIs and PPIs.
    pub fn pended_exceptions(&self) -> impl Iterator<Item = u16> + use<> {
        let private = if self.core == CoreKind::CortexR5 { 32 } else { 0 };
        (14..16 + self.interrupts).chain(FIRST_PRIVATE..FIRST_PRIVATE + private)
    }

    /// Lists every memory with its addresses, for messages.
    pub fn memory_map(&self) -> String {
        let memories = self.memories.iter().map(|memory| {
            format!("{} {:#010x}..{:#010x}", memory.name, memory.range().start, memory.range().end)
        });
        memories.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = 'x'\ndescription = 'd'\ncore = 'cortex-m0plus'\nclock_hz = 1000\n\
        interrupts = 32\npriority_bits = 2\n[[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0\nsize = 64\n";

    fn refusal(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from));
        Soc::from_toml(&GOOD.replace(from, to)).expect_err("refused").to_string()
    }

    #[test]
    fn errors_name_the_offending_value() {
        Soc::from_toml(GOOD).expect("the model to spoil is good");
        assert!(refusal("clock_hz = 1000", "clock_hz = 0").contains("clock_hz"));
        assert!(refusal("clock_hz", "clock_mhz").contains("unknown field `clock_mhz`"));
        assert!(
            refusal("cortex-m0plus", "cortex-m99")
                .contains("expected one of cortex-m0, cortex-m0plus")
        );
        assert!(refusal("interrupts = 32", "interrupts = 33").contains("1 to 32"));
        assert!(refusal("interrupts", "vectors = 0x40\ninterrupts").contains("line 5: vectors"));
        let vectors = refusal("interrupts", "vectors = 0x1080\ninterrupts");
        assert!(vectors.contains("0x00001080 is not a multiple of 256"), "{vectors}");
        let vectors = refusal("interrupts", "vectors = 0x100\ninterrupts");
        assert!(vectors.contains("line 5: vectors = 0x00000100 is in no [[memory]]"), "{vectors}");
        let of_revision = |text| refusal("interrupts", &format!("revision = '{text}'\ninterrupts"));
        assert!(of_revision("2p1").contains("not of the form rNpM"));
        assert!(of_revision("2p1").contains("line 5"));
        assert!(of_revision("r2p1").contains("line 5: revision = \"r2p1\""));
        assert!(of_revision("r2p1").contains("is r0p0 to r0p1"));
        assert!(refusal("base = 0", "base = 0xE0000000").contains("system space"));
        assert!(refusal("size = 64", "size = 62").contains("multiple of 4"));
        assert!(refusal("size = 64", "size = 64\naliases = [32]").contains("overlaps RAM"));
        for name in ["''", "' '", "'../x'", "'a/b'", "'.x'", "'a\\b'", "\"a\\n\""] {
            assert!(refusal("'x'", name).contains("line 1: name = "), "{name}");
        }
        for name in ["'my board'", "'stm32f405.2'", "'größer'"] {
            Soc::from_toml(&GOOD.replace("'x'", name)).expect("good");
        }
    }

    const BLOCK: &str = "[[peripheral]]\nname = 'RCC'\nkind = 'registers'\nbase = 0x40000000\n\
        [[peripheral.register]]\nname = 'CR'\noffset = 0\n";

    #[test]
    fn bursts_need_a_cache_and_fit_its_lines() {
        let refusal = |timing: &str, burst: &str| {
            let rest = "selected_cycles = 9, deselect_cycles = 0";
            let burst = format!("burst = {{ {burst}, {rest} }}");
            let timing = format!("size = 64\ntiming = {{ wait_states = 9, {timing}{burst} }}");
            Soc::from_toml(&GOOD.replace("size = 64", &timing)).map_err(|error| error.to_string())
        };
        let good = "wait_states = 3, page_bytes = 64";
        refusal("cache_lines = 8, ", good).expect("it fits");
        for (timing, burst, wanted) in [
            ("", good, "line 12: memory RAM: burst: is for a memory with cache_lines"),
            ("cache_lines = 8, prefetch = true, ", good, "and without prefetch"),
            (
                "cache_lines = 8, ",
                "wait_states = 10, page_bytes = 64",
                "wait_states = 10 is not from",
            ),
            (
                "cache_lines = 8, ",
                "wait_states = 0, page_bytes = 64",
                "wait_states = 0 is not from",
            ),
            ("cache_lines = 8, ", "wait_states = 3, page_bytes = 96", "page_bytes = 96 is not"),
            ("cache_lines = 8, ", "wait_states = 3, page_bytes = 2", "page_bytes = 2 is not"),
        ] {
            let error = refusal(timing, burst).expect_err(wanted);
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn peripheral_errors_name_line_and_key() {
        let good = format!("{GOOD}{BLOCK}");
        Soc::from_toml(&good).expect("the model to spoil is good");
        let refusal = |from: &str, to: &str| {
            assert!(good.contains(from));
            Soc::from_toml(&good.replace(from, to)).expect_err("refused").to_string()
        };
        let cases: &[(&str, &str, &str)] = &[
            ("clock_hz = 1000", "clock_hz = 0", "line 4: clock_hz"),
            (
                "[[peripheral]]",
                "[[init]]\nregister = 'CR'\naddress = 0x40000001\nvalue = 1\n[[peripheral]]",
                "line 14: register CR: address 0x40000001 is not a multiple of 4",
            ),
            ("size = 64", "size = 62", "line 11: memory RAM: size"),
            (
                "size = 64",
                "size = 64\ntiming = { line_bytes = 8, line_buffer = false }",
                "memory RAM: line_bytes = 8 without a line buffer",
            ),
            (
                "size = 64",
                "size = 64\ntiming = { line_bytes = 16, cache_ways = 2 }",
                "line 12: memory RAM: cache_ways = 2 without cache_lines",
            ),
            (
                "size = 64",
                "size = 64\ntiming = { line_bytes = 16, cache_lines = 8, data_lines = 8 }",
                "not both",
            ),
            (
                "[[peripheral]]",
                "[[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0x20000000\nsize = 64\n[[peripheral]]",
                "line 13: memory RAM: an earlier memory has that name",
            ),
            (
                "[[peripheral]]",
                "[[peripheral]]\nname = 'RCC'\nkind = 'pl011'\nbase = 0x40001000\n[[peripheral]]",
                "line 17: peripheral RCC: an earlier peripheral has that name",
            ),
            ("base = 0x40000000", "base = 0x40000000\nirq = 3", "raises no interrupts"),
            ("'registers'", "'rp2350-riscv-timer'\nirq = [1, 2]", "its kind has one interrupt"),
            (
                "base = 0x40000000",
                "base = 0x40000000\nenabled_by = 'RCC.NONE[3]'",
                "RCC.NONE[3] is no register of a peripheral",
            ),
            (
                "base = 0x40000000",
                "base = 0x40000000\nenabled_by = 'RCC.CR[3] = 2'",
                "never holds: 1 is the most",
            ),
            ("base = 0x40000000", "base = 0x40000000\nenabled = true", "enabled is for kind"),
            ("base = 0x40000000", "base = 0x40000000\nfifo = 3", "line 16: peripheral RCC: fifo"),
            ("base = 0x40000000", "base = 0x40000000\ncounter_bits = 16", "stm32-timer"),
            ("base = 0x40000000", "base = 0x40000000\nchannels = 4", "channels is for nrf-timer"),
            ("'registers'", "'nrf-rtc'\nchannels = 5", "line 15: peripheral RCC: channels = 5"),
            ("'registers'", "'stm32-timer'\nchannels = 3", "its kind has 0, 1, 2 or 4"),
            ("base = 0x40000000", "base = 0x40000000\ndma_bits = 8", "kind = \"nrf-uarte\""),
            ("'registers'", "'nrf-uarte'\ndma_bits = 9", "dma_bits is 8 or 16"),
            (
                "base = 0x40000000",
                "base = 0x40000000\nslow_read = { offset = 0x1000, cycles = 2 }",
                "slow_read: offset 0x1000 is not a multiple of 4 below 0x1000",
            ),
            ("base = 0x40000000", "base = 0x20", "line 15: peripheral RCC: 0x00000020"),
            ("base = 0x40000000", "base = 0x40000000\nirq = 32", "line 16: peripheral RCC: no int"),
            ("'registers'", "'pl011'", "is for kind = \"registers\""),
            ("'registers'", "'pl012'", "unknown variant `pl012`"),
            ("'registers'", "'registers'\nlike = 'RTC'", "line 15: peripheral RCC is like RTC"),
            ("offset = 0", "offset = 2", "line 18: register CR: offset 0x2"),
            ("offset = 0", "offset = 0x1000", "below 0x1000"),
            (
                "offset = 0",
                "offset = 0\nfollows = [{ bit = 1, of = 0, register = 'XX' }]",
                "line 19: register CR follows XX",
            ),
            ("offset = 0", "offset = 0\nfollows = [{ bit = 31, width = 2, of = 0 }]", "2 bits at"),
            ("offset = 0", "offset = 0\nacts = [{ on = 'XX', how = 'set' }]", "acts on XX"),
            ("offset = 0", "offset = 0\nscales = [{ clock = 'core', bit = 0 }]", "apb1 or apb2"),
            ("offset = 0", "offset = 0\ncontrols = { memory = 'XX' }", "controls XX, which is no"),
            (
                "offset = 0",
                "offset = 0\nprograms = { memory = 'RAM', bit = 0 }",
                "kind = \"flash\"",
            ),
            (
                "offset = 0",
                "offset = 0\nerases = { memory = 'RAM', pages = [63] }",
                "multiples of 64 bytes",
            ),
        ];
        for (from, to, expected) in cases {
            let said = refusal(from, to);
            assert!(said.contains(expected), "{to}: {said}");
        }
    }

    #[test]
    fn time_bases_must_be_timers_of_the_soc() {
        let timer = "[[peripheral]]\nname = 'TIM2'\nkind = 'stm32-timer'\nbase = 0x40000400\n\
                     irq = 28\n[time_base]\nperipheral = 'TIM2'\n\
                     enable = { register = 'ENR', address = 0x40001000, bit = 0 }\n";
        let good = format!("{GOOD}{BLOCK}{timer}").replace("'RCC'", "'RCC'\nsize = 0x400");
        let soc = Soc::from_toml(&good).expect("good");
        assert_eq!(soc.timer().map(|timer| timer.base), Some(0x4000_0400));
        for (from, to, expected) in [
            ("peripheral = 'TIM2'", "peripheral = 'TIM3'", "line 26: the time base is TIM3, but"),
            ("peripheral = 'TIM2'", "peripheral = 'RCC'", "must be of kind = \"stm32-timer\", "),
            ("irq = 28", "irq = [27, 28]", "one interrupt for everything"),
            ("bit = 0", "bit = 32", "line 27: register ENR: bit 32"),
            ("bit = 0", "bit = 0, how = 'flip'", "unknown variant `flip`"),
        ] {
            assert!(good.contains(from), "{from}");
            let said = Soc::from_toml(&good.replace(from, to)).expect_err("refused").to_string();
            assert!(said.contains(expected), "{to}: {said}");
        }
        // The first of four alarms is as good as a timer with one interrupt; there is no driver for
        // Nordic's TIMER.
        let of = |kind: &str, irq: &str| {
            Soc::from_toml(&good.replace("stm32-timer", kind).replace("irq = 28", irq))
        };
        for (kind, irq) in [
            ("rp2350-timer", "irq = [0, 1, 2, 3]"),
            ("nrf-rtc", "irq = 28"),
            ("cadence-ttc", "irq = [26, 27, 28]"),
        ] {
            let soc = of(kind, irq).unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert!(soc.timer().is_some(), "{kind}");
        }
        let said = of("nrf-timer", "irq = 28").expect_err("refused").to_string();
        assert!(said.contains("rp2350-timer, nrf-rtc or cadence-ttc"), "{said}");
    }

    #[test]
    fn the_mpu_has_as_many_regions_as_the_core_may_have() {
        let regions = |core: &str, count: u8| {
            let bits = if core == "cortex-m0plus" { "2" } else { "4" };
            let text = GOOD.replace("cortex-m0plus", core).replace(
                "priority_bits = 2",
                &format!("priority_bits = {bits}\nmpu_regions = {count}"),
            );
            Soc::from_toml(&text).map_err(|refused| refused.to_string())
        };
        for (core, possible, words) in [
            ("cortex-m0plus", &[0, 8][..], "0 or 8"),
            ("cortex-m3", &[0, 8], "0 or 8"),
            ("cortex-m7", &[0, 8, 16], "0 or 8 or 16"),
            ("cortex-m33", &[0, 4, 8, 12, 16], "0 or 4 or 8 or 12 or 16"),
        ] {
            for count in 0..=17 {
                match regions(core, count) {
                    Ok(_) => assert!(possible.contains(&count), "{core}: {count}"),
                    Err(said) => {
                        let expected = format!("mpu_regions = {count}: {core} has {words}");
                        assert!(!possible.contains(&count) && said.contains(&expected), "{said}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_reference_documentations_example_is_valid() {
        let reference = include_str!("../../../../docs/socs.md");
        let example = reference.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let soc = Soc::from_toml(example.expect("an example")).expect("good");
        assert_eq!((soc.memories.len(), soc.peripherals.len()), (2, 9));
    }

    #[test]
    fn all_soc_files_in_the_repository_are_valid() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../socs");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).expect("socs/ is there") {
            let path = entry.expect("readable").path();
            let text = std::fs::read_to_string(&path).expect("readable");
            let soc = Soc::from_toml(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert_eq!(path.file_stem().and_then(|s| s.to_str()), Some(soc.name.as_str()));
            seen += 1;
        }
        assert!(seen >= 2);
    }
}
