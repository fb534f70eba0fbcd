//! All kinds of devices, and which of them a peripheral of the soc file is.

use super::ClockRatio;
use super::crc::Crc;
use super::dma::{Dma, DmaLayout, DmaMux};
use super::exti::{Exti, ExtiLayout};
use super::io_bank::{IoBank, IoBankLayout};
use super::nrf::{NrfClock, NrfEgu, NrfGpio, NrfGpiote, NrfPpi};
use super::registers::Registers;
use super::rtc::{CalendarRtc, CounterRtc, RtcLayout};
use super::sio::Sio;
use super::spi::{Spi, SpiForm};
use super::timer::{self, RpChip};
use super::uart;
use super::watchdog::{Iwdg, NrfWatchdog, RpWatchdog};
use crate::soc::{Peripheral, PeripheralKind, Soc};

/// All kinds of devices.
#[derive(Clone, Debug)]
pub enum Device {
    Registers(Registers),
    Pl011(uart::Pl011),
    CmsdkUart(uart::Cmsdk),
    Stm32Usart(uart::Stm32),
    NrfUarte(uart::NrfUarte),
    SamUart(uart::Sam),
    NxpLpuart(uart::NxpLpuart),
    CmsdkTimer(timer::CmsdkTimer),
    CmsdkDualTimer(timer::CmsdkDualTimer),
    Stm32Timer(timer::Stm32Timer),
    NrfTimer(timer::NrfTimer),
    NrfRtc(timer::NrfRtc),
    NrfClock(NrfClock),
    NrfEgu(NrfEgu),
    NrfGpio(NrfGpio),
    NrfGpiote(NrfGpiote),
    NrfPpi(NrfPpi),
    Gptm(timer::Gptm),
    NxpPit(timer::NxpPit),
    NxpGpt(timer::NxpGpt),
    Rp2040Timer(timer::Rp2040Timer),
    SioTimer(timer::SioTimer),
    Sio(Sio),
    Exti(Exti),
    IoBank(IoBank),
    CadenceUart(uart::Cadence),
    CadenceTtc(timer::CadenceTtc),
    CalendarRtc(CalendarRtc),
    CounterRtc(CounterRtc),
    Iwdg(Iwdg),
    NrfWatchdog(NrfWatchdog),
    RpWatchdog(RpWatchdog),
    Dma(Dma),
    DmaMux(DmaMux),
    Spi(Spi),
    Crc(Crc),
}

macro_rules! each {
    ($device:expr, $it:ident => $what:expr) => {
        match $device {
            Device::Registers($it) => $what,
            Device::Pl011($it) => $what,
            Device::CmsdkUart($it) => $what,
            Device::Stm32Usart($it) => $what,
            Device::NrfUarte($it) => $what,
            Device::SamUart($it) => $what,
            Device::NxpLpuart($it) => $what,
            Device::CmsdkTimer($it) => $what,
            Device::CmsdkDualTimer($it) => $what,
            Device::Stm32Timer($it) => $what,
            Device::NrfTimer($it) => $what,
            Device::NrfRtc($it) => $what,
            Device::NrfClock($it) => $what,
            Device::NrfEgu($it) => $what,
            Device::NrfGpio($it) => $what,
            Device::NrfGpiote($it) => $what,
            Device::NrfPpi($it) => $what,
            Device::Gptm($it) => $what,
            Device::NxpPit($it) => $what,
            Device::NxpGpt($it) => $what,
            Device::Rp2040Timer($it) => $what,
            Device::SioTimer($it) => $what,
            Device::Sio($it) => $what,
            Device::Exti($it) => $what,
            Device::IoBank($it) => $what,
            Device::CadenceUart($it) => $what,
            Device::CadenceTtc($it) => $what,
            Device::CalendarRtc($it) => $what,
            Device::CounterRtc($it) => $what,
            Device::Iwdg($it) => $what,
            Device::NrfWatchdog($it) => $what,
            Device::RpWatchdog($it) => $what,
            Device::Dma($it) => $what,
            Device::DmaMux($it) => $what,
            Device::Spi($it) => $what,
            Device::Crc($it) => $what,
        }
    };
}

pub(super) use each;

impl Device {
    /// Creates a peripheral's device in its reset state.
    pub fn of(peripheral: &Peripheral, soc: &Soc) -> Self {
        use PeripheralKind as Kind;
        let ratio = ClockRatio::undivided(soc.clock);
        let has_requests = soc.has_dma_requests(&peripheral.name);
        match peripheral.kind {
            Kind::Registers => Self::Registers(Registers::new(peripheral, soc)),
            Kind::Pl011 => Self::Pl011(uart::Pl011::new(peripheral.fifo.unwrap_or(32))),
            Kind::CmsdkUart => Self::CmsdkUart(uart::Cmsdk::default()),
            Kind::CmsdkTimer => Self::CmsdkTimer(timer::CmsdkTimer::default()),
            Kind::CmsdkDualTimer => Self::CmsdkDualTimer(timer::CmsdkDualTimer::default()),
            Kind::Stm32UsartV1 => Self::Stm32Usart(uart::Stm32::v1().with_dma(has_requests)),
            Kind::Stm32UsartV2 => {
                Self::Stm32Usart(uart::Stm32::v2(peripheral.fifo).with_dma(has_requests))
            }
            Kind::Stm32Lpuart => {
                Self::Stm32Usart(uart::Stm32::low_power(peripheral.fifo).with_dma(has_requests))
            }
            Kind::Stm32Timer => Self::Stm32Timer(timer::Stm32Timer::new(peripheral, has_requests)),
            Kind::NrfUarte => Self::NrfUarte(uart::NrfUarte::new(peripheral)),
            Kind::NrfUart => Self::NrfUarte(uart::NrfUarte::without_dma()),
            Kind::SamUart => Self::SamUart(uart::Sam::new(uart::SamKind::Uart)),
            Kind::SamUsart => Self::SamUart(uart::Sam::new(uart::SamKind::Usart)),
            Kind::NxpLpuart => Self::NxpLpuart(uart::NxpLpuart::default()),
            Kind::NrfTimer => Self::NrfTimer(timer::NrfTimer::new(peripheral, ratio)),
            Kind::NrfRtc => Self::NrfRtc(timer::NrfRtc::new(peripheral, ratio)),
            Kind::NrfClock => Self::NrfClock(NrfClock::default()),
            Kind::NrfEgu => Self::NrfEgu(NrfEgu::default()),
            Kind::NrfGpio => Self::NrfGpio(NrfGpio::default()),
            Kind::NrfGpiote => Self::NrfGpiote(NrfGpiote::new(peripheral)),
            Kind::NrfPpi => Self::NrfPpi(NrfPpi::new(peripheral, ratio)),
            Kind::LmGptm => Self::Gptm(timer::Gptm::default()),
            Kind::NxpPit => Self::NxpPit(timer::NxpPit::new(soc.clock)),
            Kind::NxpGpt => Self::NxpGpt(timer::NxpGpt::new(soc.clock)),
            Kind::Rp2040Timer => Self::Rp2040Timer(timer::Rp2040Timer::new(ratio, RpChip::Rp2040)),
            Kind::Rp2350Timer => Self::Rp2040Timer(timer::Rp2040Timer::new(ratio, RpChip::Rp2350)),
            Kind::Rp2040Sio => Self::Sio(Sio::new(soc, peripheral, RpChip::Rp2040)),
            Kind::Rp2350Sio => Self::Sio(Sio::new(soc, peripheral, RpChip::Rp2350)),
            Kind::Rp2040IoBank => Self::IoBank(IoBank::new(IoBankLayout::RP2040, peripheral)),
            Kind::Rp2350IoBank => Self::IoBank(IoBank::new(IoBankLayout::RP2350, peripheral)),
            Kind::Stm32ExtiV1 => Self::Exti(Exti::new(ExtiLayout::V1, peripheral, soc)),
            Kind::Stm32ExtiV2 => Self::Exti(Exti::new(ExtiLayout::V2, peripheral, soc)),
            Kind::Stm32ExtiH7 => Self::Exti(Exti::new(ExtiLayout::H7, peripheral, soc)),
            Kind::Stm32RtcV1 => Self::CounterRtc(CounterRtc::new(ratio)),
            Kind::Stm32RtcV2 => {
                Self::CalendarRtc(CalendarRtc::new(RtcLayout::V2, peripheral, ratio))
            }
            Kind::Stm32RtcV3 => {
                Self::CalendarRtc(CalendarRtc::new(RtcLayout::V3, peripheral, ratio))
            }
            Kind::Stm32Iwdg => Self::Iwdg(Iwdg::new(soc.clock)),
            Kind::NrfWdt => Self::NrfWatchdog(NrfWatchdog::new(soc.clock)),
            Kind::Rp2040Watchdog => Self::RpWatchdog(RpWatchdog::new(soc.clock, RpChip::Rp2040)),
            Kind::Rp2350Watchdog => Self::RpWatchdog(RpWatchdog::new(soc.clock, RpChip::Rp2350)),
            Kind::Stm32DmaChannels => Self::Dma(Dma::new(DmaLayout::Channels, peripheral, soc)),
            Kind::Stm32DmaStreams => Self::Dma(Dma::new(DmaLayout::Streams, peripheral, soc)),
            Kind::Stm32SpiV1 => Self::Spi(Spi::new(SpiForm::Buffered, peripheral.input)),
            Kind::Stm32SpiV2 => Self::Spi(Spi::new(SpiForm::Fifo, peripheral.input)),
            Kind::Stm32CrcV1 => Self::Crc(Crc::new(false)),
            Kind::Stm32CrcV2 => Self::Crc(Crc::new(true)),
            Kind::Stm32Dmamux => Self::DmaMux(DmaMux::default()),
            Kind::CadenceUart => Self::CadenceUart(uart::Cadence::new(peripheral.enabled)),
            Kind::CadenceTtc => Self::CadenceTtc(timer::CadenceTtc::new(ratio)),
            Kind::Rp2350RiscvTimer => Self::SioTimer(timer::SioTimer::new(peripheral, soc.clock)),
            // The core implements these itself, so nothing remains to be done here.
            Kind::RiscvClint | Kind::Pl390 => Self::Registers(Registers::new(peripheral, soc)),
        }
    }

    /// Returns whether it acts on other devices or on memory in the cycle in which it is due.
    pub const fn acts_when_due(&self) -> bool {
        matches!(self, Self::NrfPpi(_) | Self::Dma(_))
    }
}
