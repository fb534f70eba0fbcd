//! A port of the core: one transfer in its data phase while the next one's address waits.

/// An AHB5 port as the core sees it. The address of a transfer is taken in a cycle in which the
/// previous transfer ends (HREADY high). The data phase begins in the next cycle and takes one
/// cycle plus the wait states (AMBA 5 AHB, IHI 0033, 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    transfer: bool,
    /// Remaining cycles of the data phase, besides the last one.
    left: u8,
}

impl Port {
    /// Returns whether the data phase ends in this cycle, or there is none: HREADY.
    pub const fn is_ready(self) -> bool {
        !self.transfer || self.left == 0
    }

    /// Returns whether a data phase ends in this cycle.
    pub const fn ends(self) -> bool {
        self.transfer && self.left == 0
    }

    /// Returns whether this many cycles of the data phase are left after this one.
    pub const fn has_left(self, cycles: u8) -> bool {
        self.transfer && self.left == cycles
    }

    /// Returns the port in the next cycle; `address` has the wait states of the transfer whose
    /// address is on the port, if there is one.
    pub const fn next(self, address: Option<u8>) -> Self {
        match address {
            _ if !self.is_ready() => Self { transfer: true, left: self.left - 1 },
            Some(waits) => Self { transfer: true, left: waits },
            None => Self { transfer: false, left: 0 },
        }
    }
}
