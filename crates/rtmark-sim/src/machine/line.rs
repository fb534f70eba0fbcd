//! Input to a machine from outside: bytes at its UARTs and levels at its pins.

use crate::devices::{Drive, PinChange};
use crate::machine::{Machine, on};
use crate::soc::{Peripheral, Pins};
use crate::state::CoreState;

/// There is no such UART to send bytes to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{soc} has no UART{name}; it has {uarts}")]
pub struct UnknownUart {
    /// The soc's name.
    pub soc: String,
    /// The name that was asked for, preceded by a space; empty if any UART would do.
    pub name: String,
    /// The names of the UARTs that it has.
    pub uarts: String,
}

/// There is no such pin to drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{soc} has no pin {name}; it has {pins}")]
pub struct UnknownPin {
    /// The soc's name.
    pub soc: String,
    /// The name that was asked for.
    pub name: String,
    /// The pins that it has, such as `PA0 to PA15, PB0 to PB15`.
    pub pins: String,
}

impl Machine {
    /// Returns the UARTs with this name, or all UARTs for `None`.
    fn uarts(&self, name: Option<&str>) -> Vec<&Peripheral> {
        let fits = |uart: &&Peripheral| {
            uart.kind.receives() && name.is_none_or(|name| uart.name.eq_ignore_ascii_case(name))
        };
        self.soc().peripherals.iter().filter(fits).collect()
    }

    fn lines(&self, name: Option<&str>) -> Vec<u32> {
        self.uarts(name).into_iter().map(|uart| uart.base).collect()
    }

    /// Sends bytes to a UART, given by its name in the soc file, or to every UART of the soc.
    ///
    /// A byte arrives once the program has read the previous one and a frame's time has passed; the first
    /// arrives a frame's time after the program switches the receiver on. If the machine has already run,
    /// the new bytes follow those that the program has not read yet. Must not be called during an observed
    /// run.
    ///
    /// # Errors
    /// When the soc has no such UART.
    pub fn connect_uart(&mut self, name: Option<&str>, bytes: &[u8]) -> Result<(), UnknownUart> {
        let lines = self.lines(name);
        if lines.is_empty() {
            let names: Vec<_> = self.uarts(None).iter().map(|uart| uart.name.as_str()).collect();
            return Err(UnknownUart {
                soc: self.soc().name.clone(),
                name: name.map(|name| format!(" {name}")).unwrap_or_default(),
                uarts: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            });
        }
        let now = self.cycles().0;
        on!(&mut self.core, core => core.state.devices_mut().connect(&lines, bytes, now));
        Ok(())
    }

    /// Drives a pin, given by its name in the soc file, from outside: low from the first cycle on, then
    /// according to `changes`. Must be called before the run; a later call for the same pin replaces the
    /// earlier one.
    ///
    /// # Errors
    /// When the soc file lists no such pin.
    pub fn drive_pin(&mut self, name: &str, changes: &[PinChange]) -> Result<(), UnknownPin> {
        let name = name.to_ascii_uppercase();
        let pins = || self.soc().peripherals.iter().flat_map(|peripheral| &peripheral.pins);
        if pins().all(|pins| pins.bit(&name).is_none()) {
            let known = |pins: &Pins| format!("{0}0 to {0}{1}", pins.name, pins.count - 1);
            let known: Vec<_> = pins().map(known).collect();
            return Err(UnknownPin {
                soc: self.soc().name.clone(),
                name,
                pins: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            });
        }
        let drive = Drive::new(changes);
        on!(&mut self.core, core => core.state.devices_mut().drive(&name, drive));
        Ok(())
    }

    /// Returns how many bytes sent by [`Machine::connect_uart`] the program has not read yet. If the name
    /// covers several UARTs, the result is for the one of which the program has read the most.
    pub fn unread_input(&mut self, name: Option<&str>) -> usize {
        let lines = self.lines(name);
        let devices = on!(&mut self.core, core => core.state.devices_mut());
        lines.into_iter().filter_map(|base| devices.unread_bytes(base)).min().unwrap_or(0)
    }
}
