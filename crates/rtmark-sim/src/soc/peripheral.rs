//! Peripherals as a soc file lists them.
//!
//! This module defines the keys of `[[peripheral]]` and of the registers inside one; [`crate::devices`]
//! implements what a peripheral does.

use serde::Deserialize;

use super::clock_tree::ClockCondition;
use super::flash_control::{Control, Erase, Program};
use super::peripheral_kind::{PeripheralKind, PeripheralOutput};

/// A clock that a peripheral counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeripheralClock {
    /// The core's clock.
    #[default]
    Core,
    /// The first of the chip's divided bus clocks (`scales = "apb1"` sets its divisor).
    Apb1,
    /// The second of the chip's divided bus clocks.
    Apb2,
    /// The source of all of these, where the core's clock is faster (STM32H7).
    Ahb,
    /// The bus of the domain that stays on (STM32H7).
    Apb4,
}

/// One interrupt number, or a list of them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected an interrupt's number or a list of them")]
enum OneOrMany {
    One(u16),
    Many(Vec<u16>),
}

fn interrupts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u16>, D::Error> {
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(irq) => vec![irq],
        OneOrMany::Many(irqs) => irqs,
    })
}

/// A register that takes longer to read than the others of its peripheral, because its contents come from
/// another clock domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowRead {
    /// The register's offset.
    pub offset: u32,
    /// Cycles in addition to the `wait_states`.
    pub cycles: u8,
}

/// What an SPI finds at its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpiInput {
    /// Ones: nothing is connected, and a resistor pulls it up.
    High,
    /// Zeros.
    Low,
    /// What the SPI sends: a wire connects the two.
    Output,
}

/// A peripheral of a soc.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peripheral {
    /// Its name in the reference manual, for messages.
    pub name: String,
    /// What it is.
    pub kind: PeripheralKind,
    /// Its first address.
    pub base: u32,
    /// The number of bytes that it covers, including atomic aliases. By default 0x1000, or 0x4000 with
    /// `atomic_aliases`, or 0x400 for kinds with `stm32` in their name.
    #[serde(default)]
    pub size: Option<u32>,
    /// The interrupts that it raises, in the order given by its kind.
    #[serde(default, deserialize_with = "interrupts")]
    pub irq: Vec<u16>,
    /// The clock by which it counts or sends, if its kind has no frequency of its own.
    #[serde(default)]
    pub clock: PeripheralClock,
    /// What must hold so that it responds: that its clock is on, or that its reset has ended. It responds all the
    /// same, but a program that has read or written something else than zero before is told of.
    #[serde(default)]
    pub enabled_by: Option<ClockCondition>,
    /// What resets it, and holds it in its reset while it holds. If it has held since power-on, it responds all the
    /// same, until it is reset for the first time.
    #[serde(default)]
    pub reset_by: Option<ClockCondition>,
    /// Width of a timer's counter in bits: of an STM32's 16 by default, 32 for some; the most that BITMODE may
    /// select of a Nordic's, 32 by default, 16 for some.
    #[serde(default)]
    pub counter_bits: Option<u8>,
    /// The number of channels where it differs between chips with the same kind: compare registers of
    /// `nrf-timer` (4 or 6, the default) and `nrf-rtc` (3 or 4, the default), pins of `nrf-gpiote` (4 or 8, the
    /// default), channels of `nrf-ppi` that a program sets (16 or 20, the default), of an `stm32-timer` (0, 1, 2
    /// or 4, the default), and alarms of a real-time clock with a calendar (1 or 2, the default).
    #[serde(default)]
    pub channels: Option<u8>,
    /// Width of MAXCNT, the counts of bytes of an `nrf-uarte`: 8 or 16 (the default) bits. With 8, its CONFIG
    /// has no STOP.
    #[serde(default)]
    pub dma_bits: Option<u8>,
    /// Whether a timer has a repetition counter (RCR of STM32's): by default it has.
    #[serde(default)]
    pub repetition_counter: Option<bool>,
    /// The clock of the clock tree that a peripheral with a clock of its own counts.
    #[serde(default)]
    pub counts: Option<String>,
    /// What must hold so that a program can write the registers of a real-time clock; nothing by default. Of a block
    /// of `registers`, likewise the bits that are `guarded`, or all if none are.
    #[serde(default)]
    pub writable_by: Option<ClockCondition>,
    /// What must hold so that an `rp2040-watchdog` or `rp2350-watchdog` resets the core; nothing by default.
    #[serde(default)]
    pub resets_core_by: Option<ClockCondition>,
    /// Whether a real-time clock with a calendar has a wake-up timer: by default it has.
    #[serde(default)]
    pub wakeup_timer: Option<bool>,
    /// The number of backup registers of an `stm32-rtc-v2`: none by default.
    #[serde(default)]
    pub backup_registers: Option<u8>,
    /// For an EXTI: the lines beyond those of pins that other peripherals drive.
    #[serde(default)]
    pub lines: Vec<OutputLine>,
    /// For an `stm32-exti-v1`: the lines that are enabled after a reset, one bit each; none by default.
    #[serde(default)]
    pub direct_lines: Option<u32>,
    /// For a DMA controller or a DMAMUX: the requests that it knows.
    #[serde(default)]
    pub requests: Vec<DmaRequest>,
    /// For a DMAMUX: the controllers whose channels it feeds, in the order of its own channels.
    #[serde(default)]
    pub feeds: Vec<String>,
    /// Whether a DMA controller copies from memory to memory: by default it does.
    #[serde(default)]
    pub memory_to_memory: Option<bool>,
    /// Whether a boot loader has switched a `cadence-uart` on before the program starts.
    #[serde(default)]
    pub enabled: bool,
    /// The number of bytes that a UART can hold besides the one that it is sending, where this differs
    /// between chips with the same kind: 32 by default for a PL011; 8 for a newer STM32's USART or LPUART, of
    /// which some have none, with 0.
    #[serde(default)]
    pub fifo: Option<u8>,
    /// What an SPI finds at its input: ones by default.
    #[serde(default)]
    pub input: Option<SpiInput>,
    /// Whether writes at 0x1000, 0x2000 and 0x3000 beyond a register flip, set and clear its bits (RP2040
    /// datasheet, 2.1.2).
    #[serde(default)]
    pub atomic_aliases: bool,
    /// Whether it is on the Cortex-M0+'s I/O port, where an access takes one cycle less than elsewhere (DDI
    /// 0484, 3.3).
    #[serde(default)]
    pub io_port: bool,
    /// Cycles that the bus bridge adds to a read and to a write, beyond those of the core.
    #[serde(default)]
    pub wait_states: (u8, u8),
    /// A register that takes longer to read than the others.
    #[serde(default)]
    pub slow_read: Option<SlowRead>,
    /// For the kind `registers`: whether the block is memory that the factory or a programmer writes, such
    /// as option bytes. The program's stores change nothing, words without a register are erased (all
    /// ones), and an image may fill them.
    #[serde(default)]
    pub nonvolatile: bool,
    /// The pins that it has, for the kinds `registers`, `rp2040-sio`, `rp2350-sio`, `nrf-gpio` and the IO banks.
    #[serde(default)]
    pub pins: Vec<Pins>,
    /// For the kind `registers`: the name of an earlier block whose registers this one has too, except
    /// those that it defines itself.
    #[serde(default)]
    pub like: Option<String>,
    /// For the kind `registers`: the registers that do more than keep what is written.
    #[serde(default, rename = "register")]
    pub registers: Vec<PeripheralRegister>,
}

impl Peripheral {
    /// Returns the number of its channels; 0 if all of its kind have the same.
    pub(crate) fn channel_count(&self) -> usize {
        let usual = self.kind.channel_counts().last().copied();
        self.channels.or(usual).map_or(0, usize::from)
    }

    /// Returns the number of a DMA controller's first channel or stream.
    pub(crate) const fn first_channel(&self) -> u8 {
        matches!(self.kind, PeripheralKind::Stm32DmaChannels) as u8
    }

    /// Returns the interrupts of its outputs, after which come those of EXTI's other lines.
    pub(crate) fn all_interrupts(&self) -> impl Iterator<Item = u16> + '_ {
        self.irq.iter().copied().chain(self.lines.iter().map(|line| line.irq))
    }

    /// Returns whether its block has a register of this name.
    pub(super) fn has_register(&self, name: &str) -> bool {
        self.registers.iter().any(|register| register.name == name)
    }

    /// Returns how many bytes of addresses it occupies.
    pub fn extent(&self) -> u32 {
        let usual = match self.kind {
            _ if self.atomic_aliases => 0x4000,
            kind if kind.is_stm32() => 0x400,
            PeripheralKind::RiscvClint => 0x1_0000,
            PeripheralKind::Pl390 => 0x2000,
            _ => 0x1000,
        };
        self.size.unwrap_or(usual)
    }
}

/// A register with rules.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeripheralRegister {
    /// Its name in the reference manual, by which the rules of other registers refer to it.
    pub name: String,
    /// Its offset from the peripheral's base; a multiple of 4.
    pub offset: u32,
    /// Its value after a reset.
    #[serde(default)]
    pub reset: u32,
    /// The bits that a write changes; the others keep their reset value.
    #[serde(default = "all_bits")]
    pub writable: u32,
    /// The bits that writing a one clears.
    #[serde(default)]
    pub clear_by_one: u32,
    /// Fields that read as another field, such as a ready bit that reads as its enable bit.
    #[serde(default)]
    pub follows: Vec<Follow>,
    /// The bits that read as the next number of a random sequence, which is the same in every run: a random
    /// number generator.
    #[serde(default)]
    pub random: u32,
    /// Fields that writes do not change while the bit `of` a register is one, such as those of a PLL that runs; or
    /// zero, with `how = "inverse"`.
    #[serde(default)]
    pub locks: Vec<Follow>,
    /// The bits that a program can write only while the block's `writable_by` holds.
    #[serde(default)]
    pub guarded: u32,
    /// The bits by which a program that writes a one starts something that has no model.
    #[serde(default)]
    pub starts: u32,
    /// Whether any write starts something that has no model.
    #[serde(default)]
    pub write_starts: bool,
    /// Whether it has no model: it reads as zero, and each access is reported.
    #[serde(default)]
    pub without_model: bool,
    /// The effects of a write on other registers.
    #[serde(default)]
    pub acts: Vec<Act>,
    /// The clock divisors that fields of this register set.
    #[serde(default)]
    pub scales: Vec<Scale>,
    /// The fields that select the ports of EXTI's lines, from bit 0 on; a field's value 0 stands for port
    /// A.
    #[serde(default)]
    pub routes: Option<Routes>,
    /// The registers by which pins that this register shows are pulled up where they are inputs.
    #[serde(default)]
    pub pulled: Option<Pulled>,
    /// The bits of this register, one of a block of pads, that pull its pin up.
    #[serde(default)]
    pub pulls_up: Option<PullUp>,
    /// The memory whose speed this register controls.
    #[serde(default)]
    pub controls: Option<Control>,
    /// The flash memory that accepts stores while a field of this register says so.
    #[serde(default)]
    pub programs: Option<Program>,
    /// The flash memory of which a write to this register erases a page.
    #[serde(default)]
    pub erases: Option<Erase>,
}

const fn all_bits() -> u32 {
    u32::MAX
}

/// Pins whose levels are in one register, from bit 0 on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// The prefix of their names, followed by their numbers from 0 on: `PA` for PA0.
    pub name: String,
    /// The number of pins.
    pub count: u8,
    /// The register that reads as the levels of the pins driven from outside. `None` for a kind that
    /// determines it itself.
    #[serde(default)]
    pub register: Option<String>,
}

impl Pins {
    /// Returns the bit of a pin, given its name.
    pub(crate) fn bit(&self, pin: &str) -> Option<u8> {
        let number = pin.strip_prefix(self.name.as_str())?;
        let is_plain = number == "0" || !number.starts_with(['0', '+']);
        number.parse().ok().filter(|bit| is_plain && *bit < self.count)
    }
}

/// Fields that select the ports of EXTI's lines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routes {
    /// The line of the lowest field.
    pub first: u8,
    /// The number of fields.
    pub count: u8,
    /// The width of each field in bits.
    pub width: u8,
}

impl Routes {
    /// Returns the lines with the ports that a register's value selects for them.
    pub(crate) fn of(&self, value: u32) -> impl Iterator<Item = (u8, u8)> + use<> {
        let Self { first, count, width } = *self;
        (0..count).map(move |at| {
            let port = value >> (at * width) & u32::MAX >> (32 - width);
            (first + at, port as u8)
        })
    }
}

/// Registers of a port with two bits for each pin (RM0090, 8.4): a pin is an output where those of `mode` are 1,
/// and elsewhere pulled up where those of `pull` are 1.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pulled {
    /// The register of the pins' modes.
    pub mode: String,
    /// The register of their resistors.
    pub pull: String,
}

/// A line of EXTI that another peripheral's output drives.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputLine {
    /// Its number.
    pub line: u8,
    /// The peripheral.
    pub of: String,
    /// The output.
    pub output: PeripheralOutput,
    /// Its interrupt.
    pub irq: u16,
}

/// What lets a DMA controller move an item.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DmaRequest {
    /// The channel or stream that it reaches; if not given, all, as through a DMAMUX.
    #[serde(default)]
    pub channel: Option<u8>,
    /// The number by which the channel selects it; if not given, it always does.
    #[serde(default)]
    pub number: Option<u8>,
    /// The peripheral.
    pub of: String,
    /// The peripheral's output.
    pub output: PeripheralOutput,
}

/// A pad's resistor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PullUp {
    /// The pin's number; from 32 on, those in GPIO_HI_IN.
    pub pin: u8,
    /// The bit that pulls it up.
    pub bit: u8,
}

impl PullUp {
    /// Returns the pin, and whether a register's value pulls it up.
    pub(crate) const fn of(self, value: u32) -> (u8, bool) {
        (self.pin, value >> self.bit & 1 == 1)
    }
}

/// A field that reads as another field's value, or depends on one of its bits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// The lowest bit of the field.
    pub bit: u8,
    /// Its width in bits, which is also that of the other field.
    #[serde(default = "one")]
    pub width: u8,
    /// The lowest bit of the field that it follows.
    pub of: u8,
    /// The register of that field; if not given, this register.
    #[serde(default)]
    pub register: Option<String>,
    /// How it follows.
    #[serde(default)]
    pub how: FollowHow,
}

pub(super) const fn one() -> u8 {
    1
}

/// How a field follows another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FollowHow {
    /// It has the same value.
    #[default]
    Equal,
    /// Its bits are the inverse of the other field's bits.
    Inverse,
    /// The bit whose number is the other field's value is set: `width` bits select one of 2^width.
    OneHot,
    /// Its bits are set by those of the other field as well, beside what the rules before say.
    Or,
}

/// The effect of a write on another register: bits are set or cleared there, or a task leads to an event.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// The register that changes.
    pub on: String,
    /// What happens to its bits.
    pub how: ActHow,
    /// The lowest bit of the written value that has the effect.
    #[serde(default)]
    pub bit: u8,
    /// How many bits have the effect.
    #[serde(default = "word_bits")]
    pub width: u8,
    /// What is stored, set or cleared, if any of the bits was written as one; if not given, the bits themselves.
    #[serde(default)]
    pub value: Option<u32>,
}

const fn word_bits() -> u8 {
    32
}

/// What an [`Act`] does with the written bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActHow {
    /// Ones set bits.
    Set,
    /// Ones clear bits.
    Clear,
    /// Ones flip bits.
    Flip,
    /// The register is set to a value.
    Store,
}

/// A field that sets a clock's divisor, encoded as STM32's PPRE: values below 4 divide by one, the others
/// by 2, 4, 8, 16.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// The clock: `apb1`, `apb2`, `apb4` or `ahb`.
    pub clock: PeripheralClock,
    /// The lowest of the field's three bits, or of the four bits for `ahb`.
    pub bit: u8,
}
