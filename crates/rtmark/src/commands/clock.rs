//! `--clock`: the clock of a core whose firmware sets another than the soc's file says.

use rtmark_runner::StatedClock;
use rtmark_runner::socs::SocFile;
use rtmark_sim::{Image, Machine};
use rtmark_units::Hertz;

use crate::error::CliError;

/// Parses a clock, with a unit or in hertz.
pub fn parse(text: &str) -> Result<Hertz, String> {
    let lower = text.trim().to_lowercase();
    let (number, scale) = match lower.strip_suffix("hz") {
        None => (lower.as_str(), 1.0),
        Some(rest) => match rest.strip_suffix(['m', 'k']) {
            Some(number) if rest.ends_with('m') => (number, 1e6),
            Some(number) => (number, 1e3),
            None => (rest, 1.0),
        },
    };
    let hertz = number.trim().parse::<f64>().ok().map(|number| (number * scale).round());
    let fits = |hertz: &f64| (1.0..=f64::from(u32::MAX)).contains(hertz);
    hertz.filter(fits).map(|hertz| Hertz(hertz as u32)).ok_or_else(|| {
        "expected a clock such as 168MHz, 32.768kHz or 48000000, of up to 4294967295 Hz".to_owned()
    })
}

/// Gives a soc's core the clock of the option, if there is one.
pub fn apply(clock: Option<Hertz>, soc: SocFile) -> Result<SocFile, CliError> {
    Ok(match clock {
        Some(clock) => soc.at_clock(clock)?,
        None => soc,
    })
}

/// Returns a note if the program states another clock than the one by which times are calculated.
pub fn note(machine: &Machine, image: &Image) -> Option<String> {
    let used = machine.soc().clock;
    let StatedClock { clock, symbol } =
        StatedClock::read(machine, image.symbols()).filter(|stated| stated.differs_from(used))?;
    let option = clock.to_string().replace(' ', "");
    Some(format!(
        "the program's {symbol} states {clock}, not {used}: for its times, --clock {option}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_parse_as_written() {
        for (text, hertz) in [
            ("168MHz", 168_000_000),
            ("32.768 kHz", 32_768),
            ("48000000", 48_000_000),
            ("10hz", 10),
        ] {
            assert_eq!(parse(text), Ok(Hertz(hertz)), "{text}");
        }
        for bad in ["", "0", "fast", "5GHz", "-1", "1e400MHz"] {
            parse(bad).expect_err(bad);
        }
    }
}
