//! What a write to a device changes elsewhere.

use super::CLOCKS;
use super::transmitter::SendFault;
use crate::soc::Erase;

/// The effects of a write outside the device.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// New divisors of the clocks, in the order of [`PeripheralClock`].
    pub scaled: [Option<u64>; CLOCKS],
    /// The access time of a memory has changed.
    pub memory_changed: bool,
    /// A register of a block that follows rules has been written.
    pub registers_written: bool,
    /// The core's clock has another frequency from now on.
    pub clock_changed: bool,
    /// The write started something that has no model.
    pub without_model: bool,
    /// The positions of the devices that have been reset, or whose own clock may have changed.
    pub affected: Vec<usize>,
    /// Why a chip would not have sent the byte that was written to a UART.
    pub send_fault: Option<SendFault>,
    /// The effects on flash memories, which are numbered as in the soc file.
    pub flash: Vec<(usize, FlashEffect)>,
    /// Lines of EXTI, with the ports to which they are now connected.
    pub routed: Vec<(u8, u8)>,
    /// A pin's pad pulls it up from now on, or not.
    pub pulled: Option<(u8, bool)>,
    /// The DMA channel that has been enabled.
    pub channel_enabled: Option<usize>,
    /// Channels of a DMAMUX may have selected other requests.
    pub requests_selected: bool,
    /// The PPI's connections have changed, these channels' among them.
    pub connected: Option<u32>,
}

/// The effect of a write on a flash memory.
#[derive(Clone, Debug)]
pub enum FlashEffect {
    /// It accepts stores from now on.
    Open,
    /// It no longer accepts stores.
    Close,
    /// A page is erased.
    Erase { pages: Erase, which: FlashPage },
}

/// How the program selects a page of a flash memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashPage {
    Number(u32),
    /// By an address in it.
    At(u32),
    /// All pages.
    All,
}
