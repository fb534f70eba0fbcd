//! Inputs from outside the chip: bytes at its UARTs, levels at its pins.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rtmark_runner::input_file;
use rtmark_sim::{Level, Machine, PinChange};

use super::sim::time;
use crate::error::CliError;
use crate::exit::Exit;

/// The name that means stdin.
const STDIN: &str = "-";
/// The name that means a pseudo-terminal.
const TERMINAL: &str = "pty";

/// The options for inputs.
#[derive(Clone, Debug, Args)]
pub struct InputArgs {
    /// Send the bytes of a file (`-` is stdin) to the chip's UARTs, or to the named one
    ///
    /// A byte arrives when the program has read the previous one and the time of a frame has passed;
    /// the first one, a frame after the receiver is enabled. UART names are those of the soc file:
    /// --uart-in USART2=commands.txt. With pty (rtmark sim only) the bytes come from a
    /// pseudo-terminal, whose name is printed: the run starts when another program opens it, such as
    /// screen; the simulated clock never runs faster than real time; and the program's output also
    /// appears there.
    #[arg(long, value_name = "[UART=]FILE|-|pty")]
    uart_in: Option<String>,
    /// Drive a pin of the chip to the given levels at the given times; may be repeated
    ///
    /// The pin is low until the first time. Pin names are those of the soc file (PC13, P0.11, GPIO9),
    /// times are since reset, on the core's clock: --pin PC13=1,0@10ms,1@10500us is an active-low button that is
    /// pressed for half a millisecond. Edges raise interrupts if the chip's peripheral for that is
    /// modelled (docs/socs.md).
    #[arg(long, value_name = "PIN=LEVEL[@TIME],...", value_parser = pin_signal)]
    pin: Vec<PinSignal>,
}

/// A pin, and the levels that it is driven to, each from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinSignal {
    /// As it was given.
    text: String,
    pin: String,
    levels: Vec<(Duration, Level)>,
}

/// Parses a pin and its levels: `PA0=1@10ms,0@12ms`.
fn pin_signal(text: &str) -> Result<PinSignal, String> {
    let wrong = || format!("`{text}` is not a pin with levels, such as PA0=1@10ms,0@12ms");
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
    Ok(PinSignal { text: text.to_owned(), pin: pin.to_owned(), levels })
}

impl PinSignal {
    fn connect(&self, machine: &mut Machine) -> Result<(), CliError> {
        let clock = machine.clock_history().clock();
        let change = |&(time, level)| PinChange { cycle: clock.cycles_in(time).0, level };
        let changes: Vec<_> = self.levels.iter().map(change).collect();
        machine.drive_pin(&self.pin, &changes).map_err(|error| {
            let hint = "`pins` in the soc file lists the pins; see docs/socs.md";
            CliError::new(Exit::Usage, format!("--pin: {error}"), hint)
        })
    }
}

/// Bytes for the named UART, or for all of them.
#[derive(Clone, Debug)]
struct Line {
    uart: Option<String>,
    from: Origin,
}

/// Where the bytes come from.
#[derive(Clone, Debug)]
enum Origin {
    Bytes(Arc<[u8]>),
    Terminal,
}

/// The inputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    line: Option<Line>,
    pins: Vec<PinSignal>,
    /// The options that give them.
    arguments: Vec<String>,
}

impl InputArgs {
    /// Reads the inputs of a run that may be interactive.
    pub fn read_interactive(&self) -> Result<Inputs, CliError> {
        let line = self.uart_in.as_deref().map(Line::read).transpose()?;
        let uart = self.uart_in.iter().map(|text| format!("--uart-in={text}"));
        let arguments = uart.chain(self.pin.iter().map(|pin| format!("--pin={}", pin.text)));
        Ok(Inputs { line, pins: self.pin.clone(), arguments: arguments.collect() })
    }

    /// Reads the inputs of a run that must be reproducible.
    pub fn read(&self) -> Result<Inputs, CliError> {
        let inputs = self.read_interactive()?;
        if inputs.typed().is_some() {
            let problem = "--uart-in pty: this command needs reproducible input, and typing is not";
            let hint = "give a file, or use `rtmark sim` to talk to the program";
            return Err(CliError::new(Exit::Usage, problem, hint));
        }
        Ok(inputs)
    }

    /// Returns whether the input is typed interactively.
    pub fn are_typed(&self) -> bool {
        let named = self.uart_in.as_deref().map(Line::named);
        named.is_some_and(|(_, file)| file == TERMINAL)
    }
}

impl Line {
    fn put(&self, bytes: &[u8], machine: &mut Machine) -> Result<(), CliError> {
        machine.connect_uart(self.uart.as_deref(), bytes).map_err(|error| {
            let hint = "the soc file lists the peripherals; see docs/socs.md";
            CliError::new(Exit::Usage, format!("--uart-in: {error}"), hint)
        })
    }

    /// Splits an argument into the UART, if one is named, and the file.
    fn named(text: &str) -> (Option<&str>, &str) {
        // A file name may contain an equals sign.
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
            input_file::read_to_end(std::io::stdin().lock())
        } else {
            input_file::read_bytes(Path::new(file))
        };
        let bytes = read.map_err(|error| {
            CliError::new(Exit::Usage, format!("--uart-in: {file}: {error}"), "check the path")
        })?;
        Ok(Self { uart, from: Origin::Bytes(bytes.into()) })
    }
}

impl Inputs {
    /// Connects the inputs to a machine.
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

    /// Returns the options that give the inputs.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns the UART line that receives typed input, if there is one.
    pub fn typed(&self) -> Option<TypedLine<'_>> {
        let line = self.line.as_ref()?;
        matches!(line.from, Origin::Terminal).then_some(TypedLine(line))
    }

    /// Describes the bytes that the program has not read, if any.
    pub fn unread(&self, machine: &mut Machine) -> Option<String> {
        let line = self.line.as_ref()?;
        let unread = machine.unread_input(line.uart.as_deref());
        (unread > 0).then(|| match &line.from {
            Origin::Bytes(bytes) => {
                format!("{unread} of the {} bytes of --uart-in were not read", bytes.len())
            }
            Origin::Terminal => format!("{unread} of the typed bytes were not read"),
        })
    }
}

/// The UART line that receives typed input.
#[derive(Clone, Copy, Debug)]
pub struct TypedLine<'a>(&'a Line);

impl TypedLine<'_> {
    /// Appends bytes to those that the program has not read yet.
    pub fn put(self, bytes: &[u8], machine: &mut Machine) -> Result<(), CliError> {
        self.0.put(bytes, machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_has_a_level_from_each_time_on() {
        let pin = pin_signal("PC13=1,0@10ms,1@10500us").expect("good");
        let times = [0, 10_000, 10_500].map(Duration::from_micros);
        let levels = [Level::High, Level::Low, Level::High];
        assert_eq!(pin.pin, "PC13");
        assert_eq!(pin.levels, times.into_iter().zip(levels).collect::<Vec<_>>());
    }

    #[test]
    fn malformed_pins_are_rejected() {
        for text in ["", "PA0", "=1", "PA0=", "PA0=2@1ms", "PA0=1@", "PA0=1@5", "PA0=1@2ms,0@1ms"] {
            assert!(pin_signal(text).is_err(), "{text}");
        }
        assert!(pin_signal("PA0=1,0").is_err_and(|error| error.contains("later")));
    }
}
