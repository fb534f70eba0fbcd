//! Why a machine cannot be searched.

use rtmark_sim::{InternalError, Irq, Machine};

/// A machine that cannot be searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The soc does not have the interrupt.
    #[error("the soc has interrupts 0 to {last}, not {interrupt}")]
    NoInterrupt {
        /// The requested number.
        interrupt: Irq,
        /// The last one.
        last: u16,
    },
    /// The interrupt's vector does not lead to a handler.
    #[error(
        "interrupt {interrupt} has no handler: its vector at {address:#010x} is {vector:#010x}"
    )]
    NoHandler {
        /// The interrupt.
        interrupt: Irq,
        /// The address of its vector.
        address: u32,
        /// The contents of its vector.
        vector: u32,
    },
    /// The priority has bits that the core does not implement, so that the interrupt would get another one.
    #[error(
        "interrupt {interrupt} cannot have priority {asked:#04x}: its register would hold {held:#04x}"
    )]
    UnheldPriority {
        /// The interrupt.
        interrupt: Irq,
        /// The requested priority.
        asked: u8,
        /// The contents of the register after that has been written.
        held: u8,
    },
    /// The program sets another priority for the interrupt than the question assumes.
    #[error(
        "interrupt {interrupt} was requested with priority {asked:#04x}, but the program sets {found:#04x}"
    )]
    Priority {
        /// The interrupt.
        interrupt: Irq,
        /// The requested priority, as the register holds it.
        asked: u8,
        /// The register's contents when the first window begins.
        found: u8,
    },
    /// A handler does not return, so that pairs have no greatest distance.
    #[error(
        "the handler of interrupt {interrupt} does not return within {cycles} cycles, which would be the \
         greatest distance between the two"
    )]
    NoReturn {
        /// The interrupt.
        interrupt: Irq,
        /// How long it was waited for.
        cycles: u64,
    },
    /// The two interrupts cannot be distinguished.
    #[error("interrupts {0} and {1} are equal or share a handler: they cannot be distinguished")]
    Same(Irq, Irq),
    /// There is no point to search.
    #[error("no window to search: {0}")]
    NoWindow(String),
    /// The simulator made a mistake before the first window.
    #[error("internal error: {0}")]
    Internal(Box<InternalError>),
}

impl PathError {
    pub(super) fn no_interrupt(machine: &Machine, interrupt: Irq) -> Self {
        Self::NoInterrupt { interrupt, last: machine.soc().interrupts.saturating_sub(1) }
    }

    pub(super) const fn no_handler(interrupt: Irq, (address, vector): (u32, u32)) -> Self {
        Self::NoHandler { interrupt, address, vector }
    }
}
