//! Peripherals as a soc file lists them.
//!
//! This module defines the keys of `[[peripheral]]` and of the registers inside one; [`crate::devices`]
//! implements what a peripheral does.

use serde::Deserialize;

use super::check::EXTI_LINES;
use super::clock_tree::ClockCondition;
use super::core_kind::CoreKind;
use super::flash_control::{Control, Erase, Program};

/// The peripherals that the simulator can model.
///
/// The numbers in `irq` are the chip's interrupts for the outputs named here, in this order; outputs
/// without a number are not connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeripheralKind {
    /// Registers that follow rules of the soc file (`[[peripheral.register]]`): clock, reset, power and
    /// flash controllers, pins. The other words of the block keep what is written. No interrupts.
    Registers,
    /// Arm PrimeCell UART (DDI 0183). `irq`: the combined interrupt.
    Pl011,
    /// UART of Arm's CMSDK (DDI 0479, 4.3). `irq`: receive, transmit,
    /// overrun, combined.
    CmsdkUart,
    /// Timer of Arm's CMSDK (DDI 0479, 4.1). `irq`: the timer.
    CmsdkTimer,
    /// Dual timer of Arm's CMSDK (DDI 0479, 4.2). `irq`: combined, timer 1, timer 2.
    CmsdkDualTimer,
    /// USART of STM32F1, F2, F4 and L1 (RM0090, chapter 30). `irq`: the USART.
    Stm32UsartV1,
    /// USART of the later families: C0, F0, F3, F7, G0, G4, H7, L0, L4, WB (RM0394,
    /// chapter 38). `irq`: the USART.
    Stm32UsartV2,
    /// LPUART of STM32 (RM0394, chapter 39). `irq`: the LPUART.
    Stm32Lpuart,
    /// General-purpose, basic or advanced timer of STM32, counting up (RM0090, chapters 17 to 20). `irq`:
    /// update; capture and compare. If only one number is given, both share it.
    Stm32Timer,
    /// UARTE and UART of nRF52 at one address (nRF52840 PS, 6.33 and 6.34). `irq`: the UART.
    NrfUarte,
    /// UART of nRF51, which has no DMA (nRF51 RM, UART). `irq`: the UART.
    NrfUart,
    /// TIMER of nRF51 and nRF52 as a timer or counter of tasks (nRF52840 PS, 6.30).
    NrfTimer,
    /// RTC of nRF51 and nRF52 (nRF52840 PS, 6.22).
    NrfRtc,
    /// CLOCK and POWER of nRF51 and nRF52, whose oscillators start at once (nRF52840 PS, 5.4).
    NrfClock,
    /// EGU of nRF52: events that a program triggers (nRF52840 PS, 6.8). `irq`: the EGU.
    NrfEgu,
    /// Ports P0 and P1 of nRF52840 (PS, 6.9).
    NrfGpio,
    /// GPIOTE of nRF51 and nRF52: pins that raise events and follow tasks (nRF52840 PS, 6.10).
    /// `irq`: the GPIOTE.
    NrfGpiote,
    /// PPI of nRF51 and nRF52, which connects events to tasks (nRF52840 PS, 6.16). No interrupts.
    NrfPpi,
    /// The microsecond timer of RP2040 (datasheet, 4.6). `irq`: the four alarms.
    Rp2040Timer,
    /// The microsecond timer of RP2350, which has some registers at other offsets (datasheet, 12.8).
    Rp2350Timer,
    /// EXTI of STM32F1, F2, F4, L1 and L4 (RM0090, chapter 12), lines 0 to 15. `irq`: one number for each
    /// of these lines; several lines may share one.
    Stm32ExtiV1,
    /// EXTI of STM32C0 and G0 (RM0490, chapter 13), lines 0 to 15. `irq`: one number for each of these
    /// lines.
    Stm32ExtiV2,
    /// EXTI of STM32H7 with one core (RM0433, EXTI registers), lines 0 to 15. `irq`: one number for each of
    /// these lines.
    Stm32ExtiH7,
    /// IO_BANK0 of RP2040 (datasheet, 2.19.6.1): interrupts of pins. `irq`: core 0's.
    Rp2040IoBank,
    /// IO_BANK0 of RP2350 (datasheet, 9.11.1): interrupts of 48 pins. `irq`: core 0's.
    Rp2350IoBank,
    /// SIO of RP2040 as core 0 sees it: divider, spinlocks, pins (datasheet, 2.3.1).
    Rp2040Sio,
    /// SIO of RP2350 as core 0 sees it: spinlocks, pins (datasheet, 3.1.11).
    Rp2350Sio,
    /// Core-local interruptor of RISC-V chips: MTIME, which counts the core's cycles, MTIMECMP and
    /// the software interrupt (SiFive FU540-C000 manual, 9). Its interrupts are the core's own.
    RiscvClint,
    /// The RISC-V timer in the SIO of RP2350 (datasheet, 3.1.8). Its interrupts are the core's own; beside an Arm core,
    /// `irq`: MTIMECMP.
    Rp2350RiscvTimer,
    /// Interrupt controller PL390 beside a Cortex-R5: the distributor, and the core's interface 0x1000
    /// after it (IHI 0048; DDI 0416).
    Pl390,
    /// UART of Zynq chips (UG1087), sending only. `irq`: the UART.
    CadenceUart,
    /// Triple timer counter of Zynq chips (UG1087), counting 100 MHz. `irq`: the three counters.
    CadenceTtc,
}

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
    /// default), channels of `nrf-ppi` that a program sets (16 or 20, the default), and of an `stm32-timer` (0, 1, 2
    /// or 4, the default).
    #[serde(default)]
    pub channels: Option<u8>,
    /// Width of MAXCNT, the counts of bytes of an `nrf-uarte`: 8 or 16 (the default) bits. With 8, its CONFIG
    /// has no STOP.
    #[serde(default)]
    pub dma_bits: Option<u8>,
    /// Whether a timer has a repetition counter (RCR of STM32's): by default it has.
    #[serde(default)]
    pub repetition_counter: Option<bool>,
    /// Whether a boot loader has switched a `cadence-uart` on before the program starts.
    #[serde(default)]
    pub enabled: bool,
    /// The number of bytes that a UART can hold besides the one that it is sending, where this differs
    /// between chips with the same kind: 32 by default for a PL011; 8 for a newer STM32's USART or LPUART, of
    /// which some have none, with 0.
    #[serde(default)]
    pub fifo: Option<u8>,
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

impl PeripheralKind {
    /// Returns whether it is a UART that can receive bytes.
    pub const fn receives(self) -> bool {
        matches!(
            self,
            Self::Pl011
                | Self::CmsdkUart
                | Self::Stm32UsartV1
                | Self::Stm32UsartV2
                | Self::Stm32Lpuart
                | Self::NrfUarte
                | Self::NrfUart
        )
    }

    /// Returns whether the kind itself determines which registers show its pins.
    pub const fn determines_its_pins(self) -> bool {
        matches!(
            self,
            Self::Rp2040Sio
                | Self::Rp2350Sio
                | Self::Rp2040IoBank
                | Self::Rp2350IoBank
                | Self::NrfGpio
        )
    }

    /// Returns whether it sends signals to other devices or to memory, which is only supported beside a
    /// Cortex-M.
    pub const fn needs_wires(self) -> bool {
        matches!(
            self,
            Self::NrfUarte | Self::NrfUart | Self::NrfGpio | Self::NrfGpiote | Self::NrfPpi
        )
    }

    /// Returns the numbers of channels that it may have, if chips with the same kind differ in it; the last is the
    /// largest, and the default.
    pub const fn channel_counts(self) -> &'static [u8] {
        match self {
            Self::NrfTimer => &[4, 6],
            Self::NrfRtc => &[3, 4],
            Self::NrfGpiote => &[4, 8],
            Self::NrfPpi => &[16, 20],
            Self::Stm32Timer => &[0, 1, 2, 4],
            _ => &[],
        }
    }

    /// Returns the number of interrupts that it can raise.
    pub const fn outputs(self) -> usize {
        match self {
            Self::Registers
            | Self::NrfGpio
            | Self::NrfPpi
            | Self::Rp2040Sio
            | Self::Rp2350Sio
            | Self::RiscvClint
            | Self::Pl390 => 0,
            Self::Pl011
            | Self::CmsdkTimer
            | Self::Stm32UsartV1
            | Self::Stm32UsartV2
            | Self::Stm32Lpuart
            | Self::NrfUarte
            | Self::NrfUart
            | Self::NrfTimer
            | Self::NrfRtc
            | Self::NrfClock
            | Self::NrfEgu
            | Self::NrfGpiote
            | Self::Rp2040IoBank
            | Self::Rp2350IoBank
            | Self::Rp2350RiscvTimer
            | Self::CadenceUart => 1,
            Self::Stm32Timer => 2,
            Self::CmsdkDualTimer | Self::CadenceTtc => 3,
            Self::CmsdkUart | Self::Rp2040Timer | Self::Rp2350Timer => 4,
            Self::Stm32ExtiV1 | Self::Stm32ExtiV2 | Self::Stm32ExtiH7 => EXTI_LINES as usize,
        }
    }

    /// Returns whether it is part of a core, which implements it itself.
    pub const fn is_part_of(self, core: CoreKind) -> bool {
        match self {
            Self::RiscvClint | Self::Pl390 => true,
            Self::Rp2350RiscvTimer => !core.is_cortex_m(),
            _ => false,
        }
    }
}

impl Peripheral {
    /// Returns the number of its channels; 0 if all of its kind have the same.
    pub(crate) fn channel_count(&self) -> usize {
        let usual = self.kind.channel_counts().last().copied();
        self.channels.or(usual).map_or(0, usize::from)
    }

    /// Returns whether its block has a register of this name.
    pub(super) fn has_register(&self, name: &str) -> bool {
        self.registers.iter().any(|register| register.name == name)
    }

    /// Returns how many bytes of addresses it occupies.
    pub fn extent(&self) -> u32 {
        use PeripheralKind::{
            Pl390, RiscvClint, Stm32ExtiH7, Stm32ExtiV1, Stm32ExtiV2, Stm32Lpuart, Stm32Timer,
            Stm32UsartV1, Stm32UsartV2,
        };
        let usual = match self.kind {
            _ if self.atomic_aliases => 0x4000,
            Stm32Timer | Stm32UsartV1 | Stm32UsartV2 | Stm32Lpuart | Stm32ExtiV1 | Stm32ExtiV2
            | Stm32ExtiH7 => 0x400,
            RiscvClint => 0x1_0000,
            Pl390 => 0x2000,
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
    /// The bits by which a program that writes a one starts something that has no model.
    #[serde(default)]
    pub starts: u32,
    /// Whether any write starts something that has no model.
    #[serde(default)]
    pub write_starts: bool,
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
