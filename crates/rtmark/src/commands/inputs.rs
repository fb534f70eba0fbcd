//! What reaches a program from outside: bytes at the UARTs of its chip, levels at its pins.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rtmark_runner::given;
use rtmark_sim::{Level, Machine, PinChange};

use super::sim::time;
use crate::error::CliError;
use crate::exit::Exit;

/// Stands for stdin.
const STDIN: &str = "-";
/// Stands for a pseudo-terminal.
const TERMINAL: &str = "pty";

/// The arguments that say so.
#[derive(Clone, Debug, Args)]
pub struct InputArgs {
    /// Send the bytes of a file, or of stdin for -, to the UARTs of the chip, or to the one named
    ///
    /// Each byte arrives when the program has read the one before and a frame's time has passed;
    /// the first one so long after its receiver is switched on. Names are those of the soc file:
    /// --uart-in USART2=commands.txt. With pty, for rtmark sim alone, they come from a pseudo-terminal,
    /// whose name is told: the run begins when another program opens it (screen, a script), the chip's
    /// clock goes no faster than the wall's, and what the program prints is shown there, too.
    #[arg(long, value_name = "[UART=]FILE|-|pty")]
    uart_in: Option<String>,
    /// Drive a pin of the chip from outside, to levels from given times on
    ///
    /// Up to the first time it is low. Names are those of the soc file (PC13, P0.11, GPIO9), times
    /// those of the soc's clock: --pin PC13=1,0@10ms,1@10500us is a button that is pressed for half a
    /// millisecond. Edges interrupt where the chip's block for that is modelled: docs/socs.md.
    #[arg(long, value_name = "PIN=LEVEL[@TIME],...", value_parser = driven)]
    pin: Vec<Driven>,
}

/// A pin, and the levels that it is driven to from times on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driven {
    pin: String,
    levels: Vec<(Duration, Level)>,
}

/// A pin and its levels: `PA0=1@10ms,0@12ms`.
fn driven(text: &str) -> Result<Driven, String> {
    let wrong = || format!("`{text}` is no pin with its levels, such as PA0=1@10ms,0@12ms");
    let (pin, levels) =
        text.split_once('=').filter(|(pin, _)| !pin.is_empty()).ok_or_else(wrong)?;
    let level = |part: &str| {
        let (level, at) =
            part.split_once('@').map_or((part, None), |(level, at)| (level, Some(at)));
        let level = match level {
            "0" => Level::Low,
            "1" => Level::High,
            _ => return Err(wrong()),
        };
        Ok((at.map_or(Ok(Duration::ZERO), time)?, level))
    };
    let levels: Vec<_> = levels.split(',').map(level).collect::<Result<_, _>>()?;
    if !levels.is_sorted_by(|(before, _), (after, _)| before < after) {
        return Err(format!("`{text}`: each time must be later than the one before"));
    }
    Ok(Driven { pin: pin.to_owned(), levels })
}

impl Driven {
    fn connect(&self, machine: &mut Machine) -> Result<(), CliError> {
        let clock = machine.soc().clock;
        let change = |&(time, level)| PinChange { cycle: clock.cycles_in(time).0, level };
        let changes: Vec<_> = self.levels.iter().map(change).collect();
        machine.drive_pin(&self.pin, &changes).map_err(|error| {
            let hint = "`pins` in its soc file lists them; see docs/socs.md";
            CliError::new(Exit::Usage, format!("--pin: {error}"), hint)
        })
    }
}

/// Bytes for a UART by its name, or for all.
#[derive(Clone, Debug)]
struct Line {
    uart: Option<String>,
    from: Origin,
}

/// Where bytes come from.
#[derive(Clone, Debug)]
enum Origin {
    Bytes(Arc<[u8]>),
    Terminal,
}

/// What reaches a program, read.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    line: Option<Line>,
    pins: Vec<Driven>,
}

impl InputArgs {
    /// Reads what is to be sent, for a run that may go on with what somebody types.
    pub fn read_or_await(&self) -> Result<Inputs, CliError> {
        let line = self.uart_in.as_deref().map(Line::read).transpose()?;
        Ok(Inputs { line, pins: self.pin.clone() })
    }

    /// Reads what is to be sent, for runs that must be equal each time.
    pub fn read(&self) -> Result<Inputs, CliError> {
        let inputs = self.read_or_await()?;
        if inputs.typed().is_some() {
            let problem = "--uart-in pty: figures must be the same each time, and nobody types the same twice";
            let hint = "give a file, or talk to the program by `rtmark sim`";
            return Err(CliError::new(Exit::Usage, problem, hint));
        }
        Ok(inputs)
    }

    /// Whether what is sent is what somebody types.
    pub fn are_typed(&self) -> bool {
        let named = self.uart_in.as_deref().map(Line::named);
        named.is_some_and(|(_, file)| file == TERMINAL)
    }
}

impl Line {
    fn put(&self, bytes: &[u8], machine: &mut Machine) -> Result<(), CliError> {
        machine.connect_uart(self.uart.as_deref(), bytes).map_err(|error| {
            let hint = "its soc file lists its peripherals; see docs/socs.md";
            CliError::new(Exit::Usage, format!("--uart-in: {error}"), hint)
        })
    }

    /// The UART, if one is named, and the file.
    fn named(text: &str) -> (Option<&str>, &str) {
        // A file may have an equals sign in its name.
        let named = text.split_once('=').filter(|_| !Path::new(text).exists());
        named.map_or((None, text), |(uart, file)| (Some(uart), file))
    }

    fn read(text: &str) -> Result<Self, CliError> {
        let (uart, file) = Self::named(text);
        let uart = uart.map(str::to_owned);
        if file == TERMINAL {
            return Ok(Self { uart, from: Origin::Terminal });
        }
        let read = if file == STDIN {
            given::all_of(std::io::stdin().lock())
        } else {
            given::read_bytes(Path::new(file))
        };
        let bytes = read.map_err(|error| {
            CliError::new(Exit::Usage, format!("--uart-in: {file}: {error}"), "check the path")
        })?;
        Ok(Self { uart, from: Origin::Bytes(bytes.into()) })
    }
}

impl Inputs {
    /// Puts the bytes on the line, and drives the pins.
    pub fn connect(&self, machine: &mut Machine) -> Result<(), CliError> {
        if let Some(line) = &self.line {
            let bytes = match &line.from {
                Origin::Bytes(bytes) => &**bytes,
                Origin::Terminal => &[],
            };
            line.put(bytes, machine)?;
        }
        self.pins.iter().try_for_each(|pin| pin.connect(machine))
    }

    /// The line on which is put what somebody types, if there is one.
    pub fn typed(&self) -> Option<TypedLine<'_>> {
        let line = self.line.as_ref()?;
        matches!(line.from, Origin::Terminal).then_some(TypedLine(line))
    }

    /// What to say of bytes that the program has not read.
    pub fn unread(&self, machine: &mut Machine) -> Option<String> {
        let line = self.line.as_ref()?;
        let unread = machine.unread_input(line.uart.as_deref());
        (unread > 0).then(|| match &line.from {
            Origin::Bytes(bytes) => {
                format!("{unread} of the {} bytes of --uart-in were not read", bytes.len())
            }
            Origin::Terminal => format!("{unread} bytes that were typed were not read"),
        })
    }
}

/// The line on which is put what somebody types.
#[derive(Clone, Copy, Debug)]
pub struct TypedLine<'a>(&'a Line);

impl TypedLine<'_> {
    /// Puts bytes on the line, behind those that the program has not read.
    pub fn put(self, bytes: &[u8], machine: &mut Machine) -> Result<(), CliError> {
        self.0.put(bytes, machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_has_levels_from_times_on() {
        let pin = driven("PC13=1,0@10ms,1@10500us").expect("good");
        let times = [0, 10_000, 10_500].map(Duration::from_micros);
        let levels = [Level::High, Level::Low, Level::High];
        assert_eq!(pin.pin, "PC13");
        assert_eq!(pin.levels, times.into_iter().zip(levels).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_pin_is_refused() {
        for text in ["", "PA0", "=1", "PA0=", "PA0=2@1ms", "PA0=1@", "PA0=1@5", "PA0=1@2ms,0@1ms"] {
            assert!(driven(text).is_err(), "{text}");
        }
        assert!(driven("PA0=1,0").is_err_and(|error| error.contains("later")));
    }
}
