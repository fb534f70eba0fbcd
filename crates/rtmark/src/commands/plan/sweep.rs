//! Which clocks and ticks a sweep has.

use std::str::FromStr;

/// The clocks of a range, both ends among them.
const CLOCKS: u64 = 8;

/// The ticks of a range: those that every kernel with a tick can be built for.
const TICKS: [u64; 3] = [100, 1_000, 10_000];

/// The values of one quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Clocks, in Hz.
    Clocks(Vec<u64>),
    /// Ticks a second.
    Ticks(Vec<u64>),
}

impl FromStr for Swept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || {
            format!(
                "`{text}` is no sweep: write clock=24..168 in MHz or tick=100..10000 in Hz, or \
                 values with commas between them, as clock=24,48,72"
            )
        };
        let (key, values) = text.split_once('=').ok_or_else(wanted)?;
        let scale = match key {
            "clock" => 1_000_000,
            "tick" => 1,
            _ => return Err(wanted()),
        };
        let number = |text: &str| {
            let value: u64 = text.trim().parse().map_err(|_| wanted())?;
            value.checked_mul(scale).filter(|value| *value > 0).ok_or_else(wanted)
        };
        let mut found = match values.split_once("..") {
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to {
                    return Err(format!("`{text}`: the range ends before it begins"));
                }
                if key == "clock" { clocks(from, to, scale) } else { ticks(from, to) }
            }
            None => values.split(',').map(number).collect::<Result<_, _>>()?,
        };
        found.sort_unstable();
        found.dedup();
        if found.is_empty() {
            return Err(format!(
                "`{text}`: a range of ticks has those of 100, 1000 and 10000 in it, here none"
            ));
        }
        Ok(if key == "clock" { Self::Clocks(found) } else { Self::Ticks(found) })
    }
}

/// Clocks from one to another, in equal steps of whole units.
fn clocks(from: u64, to: u64, unit: u64) -> Vec<u64> {
    (0..CLOCKS).map(|step| from + (to - from) / unit * step / (CLOCKS - 1) * unit).collect()
}

fn ticks(from: u64, to: u64) -> Vec<u64> {
    TICKS.into_iter().filter(|tick| (from..=to).contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists() {
        let hertz = |megahertz: &[u64]| megahertz.iter().map(|it| it * 1_000_000).collect();
        let swept = |text: &str| text.parse::<Swept>();
        assert_eq!(swept("clock=48,24"), Ok(Swept::Clocks(hertz(&[24, 48]))));
        assert_eq!(
            swept("clock=24..168"),
            Ok(Swept::Clocks(hertz(&[24, 44, 65, 85, 106, 126, 147, 168])))
        );
        assert_eq!(swept("clock=16..18"), Ok(Swept::Clocks(hertz(&[16, 17, 18]))));
        assert_eq!(swept("tick=100..1000"), Ok(Swept::Ticks(vec![100, 1000])));
        assert_eq!(swept("tick=250"), Ok(Swept::Ticks(vec![250])));
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for text in ["clock", "clocks=3", "clock=", "clock=0", "tick=9..1", "tick=2..3", "tick=x"] {
            let refusal = text.parse::<Swept>().expect_err(text);
            assert!(refusal.contains(text), "{refusal}");
        }
        assert!("clock=99999999999999999999".parse::<Swept>().is_err());
        assert!("clock=1..18446744073709".parse::<Swept>().is_ok());
    }
}
