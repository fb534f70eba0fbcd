//! What a program is sent: bytes that arrive at the UARTs of its chip.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use rtmark_sim::Machine;

use crate::error::CliError;
use crate::exit::Exit;

/// Stands for stdin.
const STDIN: &str = "-";

/// The arguments that say so.
#[derive(Clone, Debug, Args)]
pub struct UartIn {
    /// Send the bytes of a file, or of stdin for -, to the UARTs of the chip, or to the one named
    ///
    /// Each byte arrives when the program has read the one before and a frame's time has passed;
    /// the first one so long after its receiver is switched on. Names are those of the soc file:
    /// --uart-in USART2=commands.txt.
    #[arg(long, value_name = "[UART=]FILE|-")]
    uart_in: Option<String>,
}

/// Bytes for a UART by its name, or for all.
#[derive(Clone, Debug)]
pub struct Line {
    uart: Option<String>,
    bytes: Arc<[u8]>,
}

impl UartIn {
    /// Reads what is to be sent.
    pub fn read(&self) -> Result<Option<Line>, CliError> {
        let Some(text) = &self.uart_in else { return Ok(None) };
        // A file may have an equals sign in its name.
        let named = text.split_once('=').filter(|_| !Path::new(text).exists());
        let (uart, file) = named.map_or((None, text.as_str()), |(uart, file)| (Some(uart), file));
        let mut bytes = Vec::new();
        let read = if file == STDIN {
            std::io::stdin().lock().read_to_end(&mut bytes)
        } else {
            std::fs::File::open(file).and_then(|mut file| file.read_to_end(&mut bytes))
        };
        read.map_err(|error| {
            CliError::new(Exit::Usage, format!("--uart-in: {file}: {error}"), "check the path")
        })?;
        Ok(Some(Line { uart: uart.map(str::to_owned), bytes: bytes.into() }))
    }
}

impl Line {
    /// Puts the bytes on the line.
    pub fn connect(&self, machine: &mut Machine) -> Result<(), CliError> {
        machine.connect_uart(self.uart.as_deref(), &self.bytes).map_err(|error| {
            let hint = "its soc file lists its peripherals; see docs/socs.md";
            CliError::new(Exit::Usage, format!("--uart-in: {error}"), hint)
        })
    }

    /// What to say of bytes that the program has not read.
    pub fn unread(&self, machine: &mut Machine) -> Option<String> {
        let unread = machine.unread_input(self.uart.as_deref());
        (unread > 0).then(|| {
            format!("{unread} of the {} bytes of --uart-in were not read", self.bytes.len())
        })
    }
}
