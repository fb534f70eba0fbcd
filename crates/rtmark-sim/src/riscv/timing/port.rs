//! A port of the core: one transfer in its data phase while the next one's address waits.

/// A port of AHB5 as the core sees it. The address of a transfer is taken in a cycle in which
/// the transfer before it ends (HREADY high); its data phase begins in the next cycle and lasts
/// one cycle and its wait states (AMBA 5 AHB, IHI 0033, 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    transfer: bool,
    /// Cycles of the data phase besides the last one.
    left: u8,
}

impl Port {
    /// Whether the data phase ends in this cycle, or there is none: HREADY.
    pub const fn is_ready(self) -> bool {
        !self.transfer || self.left == 0
    }

    /// Whether a data phase ends in this cycle.
    pub const fn ends(self) -> bool {
        self.transfer && self.left == 0
    }

    /// Whether as many cycles of the data phase are left besides this one.
    pub const fn has_left(self, cycles: u8) -> bool {
        self.transfer && self.left == cycles
    }

    /// The port in the next cycle; `address` has the wait states of the transfer whose address is
    /// on the port, if one is.
    pub const fn next(self, address: Option<u8>) -> Self {
        match address {
            _ if !self.is_ready() => Self { transfer: true, left: self.left - 1 },
            Some(waits) => Self { transfer: true, left: waits },
            None => Self { transfer: false, left: 0 },
        }
    }
}
