//! How a chip's buses take turns, which is the chip's property and not the core's.

use serde::Deserialize;

/// What the buses behind a Cortex-M3 or M4 do where code runs from memory on the System bus,
/// which fetches, loads and stores share. It makes no difference to code in the Code region.
///
/// The manuals of the cores leave this to the chip (DDI 0337G, 12.4). It has been measured on
/// three; a chip that nobody measured is taken to do as the STM32F100, the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusMatrix {
    /// A store's data phase lasts until a fetch that waits for it has its turn: so on CC2650 and
    /// CC2652.
    pub stores_wait_for_fetches: bool,
    /// A fetch that is not wanted any more takes place, if its address has been presented: so on
    /// CC2650 and CC2652. Otherwise it makes way for the next one.
    pub given_up_fetches_stay: bool,
}
