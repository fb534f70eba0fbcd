//! The description of a board in a file.

use serde::Deserialize;

/// A board: a chip with a crystal, pins and a way to print.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// The board's name.
    pub name: String,
    /// One line for lists.
    pub description: String,
    /// The soc on it, by name or by the path of its file.
    pub soc: String,
    /// The chip's name in probe-rs.
    #[serde(default)]
    pub chip: Option<String>,
    /// The core's clock after reset, in hertz: rtmark's firmware sets wait states and caches, but not
    /// the clock. Cycles do not depend on it, but times and the UART do.
    pub clock_hz: u32,
    /// The UART to print through if no debugger is listening.
    #[serde(default)]
    pub console: Option<Console>,
    /// The documents that the figures come from.
    #[serde(default)]
    pub sources: Vec<String>,
}

/// A UART, by its registers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Console {
    /// Its name for people: `USART2, TX on PA2`.
    pub uart: String,
    /// Its speed, as `start` sets it.
    pub baud: u32,
    /// The data register.
    pub data: u32,
    /// The status register.
    pub status: u32,
    /// The status bits to examine.
    pub mask: u32,
    /// The value of these bits when it is ready for a byte.
    pub ready: u32,
    /// Writes that set it up with its pins, as addresses and values.
    pub start: Vec<(u32, u32)>,
}

/// The reason why a board's file was rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// Not TOML, an unknown or missing key, or a value of the wrong type, with the line.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// A value that no board can have.
    #[error("{0}")]
    Value(String),
}

impl Board {
    /// Parses a board's file.
    ///
    /// # Errors
    /// When the text is not TOML, has an unknown key, lacks one, or contains an impossible value.
    pub fn from_toml(text: &str) -> Result<Self, BoardError> {
        let board: Self = toml::from_str(text)?;
        let refuse = |message: &str| Err(BoardError::Value(message.to_owned()));
        if board.clock_hz == 0 {
            return refuse("clock_hz must not be zero");
        }
        if let Some(console) = &board.console {
            if console.baud == 0 {
                return refuse("console.baud must not be zero");
            }
            if console.mask == 0 || console.ready & !console.mask != 0 {
                return refuse("console.ready has bits outside console.mask, or the mask is zero");
            }
            let aligned = |address: &u32| address.is_multiple_of(4);
            let all = [&console.data, &console.status].into_iter();
            if !all.chain(console.start.iter().map(|(address, _)| address)).all(aligned) {
                return refuse("console: register addresses must be multiples of 4");
            }
        }
        Ok(board)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = 'b'\ndescription = 'd'\nsoc = 's'\nclock_hz = 8\n[console]\n\
        uart = 'U'\nbaud = 9600\ndata = 4\nstatus = 0\nmask = 128\nready = 128\nstart = [[8, 1]]\n";

    #[test]
    fn impossible_values_are_rejected() {
        Board::from_toml(GOOD).expect("the model to spoil is good");
        let refusal = |from: &str, to: &str| {
            assert!(GOOD.contains(from));
            Board::from_toml(&GOOD.replace(from, to)).expect_err("refused").to_string()
        };
        assert!(refusal("clock_hz = 8", "clock_hz = 0").contains("clock_hz"));
        assert!(refusal("soc =", "sock =").contains("sock"));
        assert!(refusal("baud = 9600", "baud = 0").contains("baud"));
        assert!(refusal("mask = 128", "mask = 64").contains("ready"));
        assert!(refusal("data = 4", "data = 5").contains("multiples of 4"));
    }
}
