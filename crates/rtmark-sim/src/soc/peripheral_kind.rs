//! The kinds of peripherals that the simulator can model, and what all of a kind have in common.

use serde::Deserialize;

use super::check::EXTI_LINES;
use super::core_kind::CoreKind;

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
    /// UART of SAM E70, S70 and V70 (DS60001527, "Universal Asynchronous Receiver Transmitter (UART)"). `irq`: the UART.
    SamUart,
    /// USART of these, as a UART (DS60001527, "Universal Synchronous Asynchronous Receiver Transceiver (USART)").
    /// `irq`: the USART.
    SamUsart,
    /// LPUART of i.MX RT (IMXRT1060RM, chapter "Low Power Universal Asynchronous Receiver/Transmitter"). `irq`: the
    /// LPUART.
    NxpLpuart,
    /// General-purpose timer module of LM3S (datasheet DS-LM3S6965, general-purpose timers). `irq`: timers A and B.
    LmGptm,
    /// PIT of i.MX RT (IMXRT1060RM, chapter "Periodic Interrupt Timer"). `irq`: the PIT.
    NxpPit,
    /// GPT of i.MX RT, without pins (IMXRT1060RM, chapter "General Purpose Timer"). `irq`: the GPT.
    NxpGpt,
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
    /// RTC of STM32F1: a counter of 32 bits with an alarm (RM0008, "Real-time clock (RTC)"). `irq`: the RTC;
    /// `lines` of EXTI: alarm.
    #[serde(rename = "stm32-rtc-v1")]
    Stm32RtcV1,
    /// RTC of STM32F2, F4, F7, H7, L1 and L4: a calendar with backup registers (RM0090, "Real-time clock (RTC)").
    /// `irq` or `lines` of EXTI: alarm, wake-up.
    #[serde(rename = "stm32-rtc-v2")]
    Stm32RtcV2,
    /// RTC of STM32C0, G0 and G4: a calendar, with its flags in another register (RM0444, "Real-time clock
    /// (RTC)"). `irq` or `lines` of EXTI: alarm, wake-up.
    #[serde(rename = "stm32-rtc-v3")]
    Stm32RtcV3,
    /// IWDG of STM32, a watchdog (RM0394, "Independent watchdog (IWDG)"). No interrupts.
    Stm32Iwdg,
    /// WDT of nRF51 and nRF52, a watchdog (nRF52840 PS, "WDT - Watchdog timer"). `irq`: the WDT.
    NrfWdt,
    /// The watchdog of RP2040 and its tick (datasheet, 4.7). No interrupts.
    Rp2040Watchdog,
    /// The watchdog of RP2350, whose tick is elsewhere (datasheet, 12.9). No interrupts.
    Rp2350Watchdog,
    /// EXTI of STM32F1, F2, F4, L1 and L4 (RM0090, chapter 12), lines 0 to 15. `irq`: one number for each
    /// of these lines; several lines may share one.
    Stm32ExtiV1,
    /// EXTI of STM32C0 and G0 (RM0490, chapter 13), lines 0 to 15. `irq`: one number for each of these
    /// lines.
    Stm32ExtiV2,
    /// EXTI of STM32H7 with one core (RM0433, EXTI registers), lines 0 to 15. `irq`: one number for each of
    /// these lines.
    Stm32ExtiH7,
    /// The DMA controller of STM32F1, L4, C0, G0 and G4 (RM0008, "Direct memory access controller (DMA)"). `irq`: one
    /// number for each channel; several channels may share one.
    Stm32DmaChannels,
    /// The DMA controller of STM32F2, F4, F7 and H7 (RM0090, chapter 10). `irq`: one number for each stream.
    Stm32DmaStreams,
    /// DMAMUX of STM32 (RM0440, "DMA request multiplexer (DMAMUX)"). No interrupts: nothing overruns.
    Stm32Dmamux,
    /// SPI of STM32F1, F2, F4 and L1 (RM0090, chapter 28), as a master. `irq`: the SPI.
    Stm32SpiV1,
    /// SPI of the later families with a FIFO: C0, F0, F3, F7, G0, G4, L4 (RM0394, "Serial peripheral interface (SPI)"),
    /// as a master. `irq`: the SPI.
    Stm32SpiV2,
    /// CRC calculation unit of STM32F1, F2, F4 and L1 (RM0090, chapter 4). No interrupts.
    Stm32CrcV1,
    /// CRC calculation unit of the later families (RM0394, "Cyclic redundancy check calculation unit (CRC)"). No
    /// interrupts.
    Stm32CrcV2,
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
    /// The RISC-V timer in the SIO of RP2350 (datasheet, 3.1.8). Its interrupts are a RISC-V core's own; `irq`: MTIMECMP,
    /// which is an external interrupt as well.
    Rp2350RiscvTimer,
    /// Interrupt controller PL390 beside a Cortex-R5: the distributor, and the core's interface 0x1000
    /// after it (IHI 0048; DDI 0416).
    Pl390,
    /// UART of Zynq chips (UG1087), sending only. `irq`: the UART.
    CadenceUart,
    /// Triple timer counter of Zynq chips (UG1087), counting 100 MHz. `irq`: the three counters.
    CadenceTtc,
}

/// An output of a peripheral that a line of EXTI or a DMA controller can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeripheralOutput {
    /// The alarms of a real-time clock.
    Alarm,
    /// The wake-up timer of a real-time clock.
    WakeUp,
    /// The DMA request of a USART or SPI for data that has arrived.
    Rx,
    /// That for data to send.
    Tx,
    /// A timer's DMA request at its updates.
    Update,
    /// A timer's DMA request when the count equals the first compare register.
    Compare1,
    /// The second.
    Compare2,
    /// The third.
    Compare3,
    /// The fourth.
    Compare4,
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
                | Self::SamUart
                | Self::SamUsart
                | Self::NxpLpuart
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
            Self::NrfUarte
                | Self::NrfUart
                | Self::NrfGpio
                | Self::NrfGpiote
                | Self::NrfPpi
                | Self::NrfWdt
        ) || self.has_own_clock() && !self.is_rp_watchdog()
            || self.is_dma()
            || matches!(self, Self::Stm32Dmamux)
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
            Self::Stm32RtcV2 | Self::Stm32RtcV3 => &[1, 2],
            Self::Stm32DmaChannels => &[3, 5, 6, 7, 8],
            Self::Stm32DmaStreams => &[8],
            _ => &[],
        }
    }

    /// Returns the number of interrupts that it can raise.
    pub const fn outputs(self) -> usize {
        match self {
            Self::Registers
            | Self::NrfGpio
            | Self::NrfPpi
            | Self::Stm32Dmamux
            | Self::Stm32CrcV1
            | Self::Stm32CrcV2
            | Self::Stm32Iwdg
            | Self::Rp2040Watchdog
            | Self::Rp2350Watchdog
            | Self::Rp2040Sio
            | Self::Rp2350Sio
            | Self::RiscvClint
            | Self::Pl390 => 0,
            Self::Pl011
            | Self::CmsdkTimer
            | Self::Stm32UsartV1
            | Self::Stm32UsartV2
            | Self::Stm32Lpuart
            | Self::Stm32SpiV1
            | Self::Stm32SpiV2
            | Self::NrfUarte
            | Self::NrfUart
            | Self::SamUart
            | Self::SamUsart
            | Self::NxpLpuart
            | Self::NxpPit
            | Self::NxpGpt
            | Self::NrfTimer
            | Self::NrfRtc
            | Self::NrfClock
            | Self::NrfEgu
            | Self::NrfGpiote
            | Self::NrfWdt
            | Self::Rp2040IoBank
            | Self::Rp2350IoBank
            | Self::Rp2350RiscvTimer
            | Self::Stm32RtcV1
            | Self::CadenceUart => 1,
            Self::LmGptm | Self::Stm32Timer | Self::Stm32RtcV2 | Self::Stm32RtcV3 => 2,
            Self::CmsdkDualTimer | Self::CadenceTtc => 3,
            Self::CmsdkUart | Self::Rp2040Timer | Self::Rp2350Timer => 4,
            Self::Stm32DmaChannels | Self::Stm32DmaStreams => 8,
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

    /// Returns whether it is one of STM32's.
    pub const fn is_stm32(self) -> bool {
        matches!(
            self,
            Self::Stm32CrcV1
                | Self::Stm32CrcV2
                | Self::Stm32Timer
                | Self::Stm32Iwdg
                | Self::Stm32RtcV1
                | Self::Stm32RtcV2
                | Self::Stm32RtcV3
                | Self::Stm32Dmamux
        ) || self.has_serial_requests()
            || self.is_exti()
            || self.is_dma()
    }

    /// Returns whether it is a DMA controller.
    pub const fn is_dma(self) -> bool {
        matches!(self, Self::Stm32DmaChannels | Self::Stm32DmaStreams)
    }

    /// Returns whether it is an EXTI.
    pub const fn is_exti(self) -> bool {
        matches!(self, Self::Stm32ExtiV1 | Self::Stm32ExtiV2 | Self::Stm32ExtiH7)
    }

    /// Returns whether it counts a clock of its own.
    pub const fn has_own_clock(self) -> bool {
        matches!(
            self,
            Self::Stm32Iwdg
                | Self::SamUart
                | Self::SamUsart
                | Self::NxpLpuart
                | Self::NxpPit
                | Self::NxpGpt
        ) || self.is_real_time_clock()
            || self.is_rp_watchdog()
    }

    /// Returns whether it is a watchdog of RP2040 or RP2350.
    pub const fn is_rp_watchdog(self) -> bool {
        matches!(self, Self::Rp2040Watchdog | Self::Rp2350Watchdog)
    }

    /// Returns whether it is a real-time clock.
    pub const fn is_real_time_clock(self) -> bool {
        matches!(self, Self::Stm32RtcV1) || self.has_calendar()
    }

    /// Returns whether it is a real-time clock with a calendar.
    pub const fn has_calendar(self) -> bool {
        matches!(self, Self::Stm32RtcV2 | Self::Stm32RtcV3)
    }

    /// Returns the number of an output that a line of EXTI can take; `None` if it has none of that name.
    pub const fn output(self, output: PeripheralOutput) -> Option<u8> {
        match (self, output) {
            (Self::Stm32RtcV1, PeripheralOutput::Alarm) => Some(1),
            (Self::Stm32RtcV2 | Self::Stm32RtcV3, PeripheralOutput::Alarm) => Some(0),
            (Self::Stm32RtcV2 | Self::Stm32RtcV3, PeripheralOutput::WakeUp) => Some(1),
            _ => None,
        }
    }

    /// Names the control register of a channel at an offset, if it is a DMA controller or a DMAMUX.
    pub(super) fn control_register(self, offset: u32) -> Option<String> {
        let at = |first: u32, step: u32| {
            let beyond = offset.checked_sub(first)?;
            beyond.is_multiple_of(step).then_some(beyond / step)
        };
        match self {
            Self::Stm32DmaChannels => at(0x08, 0x14).map(|at| format!("CCR{}", at + 1)),
            Self::Stm32DmaStreams => at(0x10, 0x18).map(|at| format!("S{at}CR")),
            Self::Stm32Dmamux if offset < 0x80 => at(0, 4).map(|at| format!("C{at}CR")),
            _ => None,
        }
    }

    /// Returns whether a DMA controller can send and receive for it.
    const fn has_serial_requests(self) -> bool {
        matches!(
            self,
            Self::Stm32UsartV1
                | Self::Stm32UsartV2
                | Self::Stm32Lpuart
                | Self::Stm32SpiV1
                | Self::Stm32SpiV2
        )
    }

    /// Returns whether it is an SPI.
    pub const fn is_spi(self) -> bool {
        matches!(self, Self::Stm32SpiV1 | Self::Stm32SpiV2)
    }

    /// Returns the number of one of its DMA requests; `None` if it has none of that name.
    pub const fn request(self, output: PeripheralOutput) -> Option<u8> {
        use PeripheralOutput as Output;
        match (self, output) {
            (serial, Output::Rx) if serial.has_serial_requests() => Some(0),
            (serial, Output::Tx) if serial.has_serial_requests() => Some(1),
            (Self::Stm32Timer, Output::Update) => Some(0),
            (Self::Stm32Timer, Output::Compare1) => Some(1),
            (Self::Stm32Timer, Output::Compare2) => Some(2),
            (Self::Stm32Timer, Output::Compare3) => Some(3),
            (Self::Stm32Timer, Output::Compare4) => Some(4),
            _ => None,
        }
    }
}
