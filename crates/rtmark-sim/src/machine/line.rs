//! What arrives at a machine's UARTs.

use crate::machine::{Machine, on};
use crate::soc::Peripheral;

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
    /// first, when its receiver has been switched on for that time. To be called before the run.
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
        on!(&mut self.core, core => core.state.devices_mut().connect(&lines, bytes));
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
