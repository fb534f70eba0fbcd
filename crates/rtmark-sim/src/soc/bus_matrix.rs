//! How a chip arbitrates its buses, which is a property of the chip and not of the core.

use serde::Deserialize;

/// How the buses beyond a Cortex-M3 or M4 behave where code runs from memory on the System bus, which
/// fetches, loads and stores share. It makes no difference to code in the Code region.
///
/// The manuals of the cores leave this to the chip (DDI 0337G, 12.4). It has been measured on three chips;
/// one that nobody has measured is assumed to behave like the STM32F100, the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusMatrix {
    /// A store's data phase lasts until a fetch that waits for it gets its turn, as on CC2650 and CC2652.
    /// Otherwise stores that follow each other without a gap pass that fetch.
    pub stores_wait_for_fetches: bool,
    /// A fetch that is no longer wanted still takes place if its address has been presented, as on CC2650
    /// and CC2652. Otherwise it makes way for the next one.
    pub given_up_fetches_stay: bool,
}
