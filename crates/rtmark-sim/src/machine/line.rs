//! What arrives at a machine from outside: bytes at its UARTs, levels at its pins.

use crate::devices::{Drive, PinChange};
use crate::machine::{Machine, on};
use crate::soc::{Peripheral, Pins};
use crate::state::CoreState;

/// There is no UART to put bytes on the line of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{soc} has no UART{name}; those that it has: {uarts}")]
pub struct NoUart {
    /// The soc's name.
    pub soc: String,
    /// The name that was asked for, behind a space; empty for any.
    pub name: String,
    /// The names of those that it has.
    pub uarts: String,
}

/// There is no pin to drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{soc} has no pin {name}; those that it has: {pins}")]
pub struct NoPin {
    /// The soc's name.
    pub soc: String,
    /// The name that was asked for.
    pub name: String,
    /// Those that it has: `PA0 to PA15, PB0 to PB15`.
    pub pins: String,
}

impl Machine {
    /// The UARTs that have this name, or all.
    fn uarts(&self, name: Option<&str>) -> Vec<&Peripheral> {
        let fits = |uart: &&Peripheral| {
            uart.kind.receives() && name.is_none_or(|name| uart.name.eq_ignore_ascii_case(name))
        };
        self.soc().peripherals.iter().filter(fits).collect()
    }

    fn lines(&self, name: Option<&str>) -> Vec<u32> {
        self.uarts(name).into_iter().map(|uart| uart.base).collect()
    }

    /// Puts bytes on the line of a UART, by its name in the soc file, or of every one that the soc
    /// has. Each arrives when the program has read the one before and a frame's time has passed; the
    /// first, when its receiver has been switched on for that time. A machine that has run already goes on with
    /// the bytes behind those that it has not read yet; it must not be within an observed run.
    ///
    /// # Errors
    /// When the soc has no such UART.
    pub fn connect_uart(&mut self, name: Option<&str>, bytes: &[u8]) -> Result<(), NoUart> {
        let lines = self.lines(name);
        if lines.is_empty() {
            let names: Vec<_> = self.uarts(None).iter().map(|uart| uart.name.as_str()).collect();
            return Err(NoUart {
                soc: self.soc().name.clone(),
                name: name.map(|name| format!(" {name}")).unwrap_or_default(),
                uarts: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            });
        }
        let now = self.cycles().0;
        on!(&mut self.core, core => core.state.devices_mut().connect(&lines, bytes, now));
        Ok(())
    }

    /// Drives a pin, by its name in the soc file, from outside: low from the first cycle on, and then
    /// as the changes say. To be called before the run; a later call replaces an earlier one for the same pin.
    ///
    /// # Errors
    /// When the soc file lists no such pin.
    pub fn drive_pin(&mut self, name: &str, changes: &[PinChange]) -> Result<(), NoPin> {
        let name = name.to_ascii_uppercase();
        let pins = || self.soc().peripherals.iter().flat_map(|peripheral| &peripheral.pins);
        if pins().all(|pins| pins.bit(&name).is_none()) {
            let known = |pins: &Pins| format!("{0}0 to {0}{1}", pins.name, pins.count - 1);
            let known: Vec<_> = pins().map(known).collect();
            return Err(NoPin {
                soc: self.soc().name.clone(),
                name,
                pins: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            });
        }
        let drive = Drive::new(changes);
        on!(&mut self.core, core => core.state.devices_mut().drive(&name, drive));
        Ok(())
    }

    /// How many bytes the program has not read of what [`Machine::connect_uart`] has put on the line
    /// of this name; of several lines where it has read most.
    pub fn unread_input(&mut self, name: Option<&str>) -> usize {
        let lines = self.lines(name);
        let devices = on!(&mut self.core, core => core.state.devices_mut());
        lines.into_iter().filter_map(|base| devices.unread(base)).min().unwrap_or(0)
    }
}
