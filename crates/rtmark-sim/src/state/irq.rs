//! The numbers by which interrupts are called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::arch::armm::nvic::{FIRST_INTERRUPT, PENDSV, SYSTICK};

/// An interrupt, numbered as CMSIS-Core numbers them (`IRQn_Type`): external interrupts from 0 on, and a
/// Cortex-M's own below.
///
/// It is written as that number, or as `SysTick` or `PendSV`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Irq(i32);

/// The names of the core's own interrupts that can be requested.
const NAMES: [(Irq, &str); 2] = [(Irq::SYSTICK, "SysTick"), (Irq::PENDSV, "PendSV")];

impl Irq {
    /// The interrupt of a Cortex-M's system timer.
    pub const SYSTICK: Self = Self::of_exception(SYSTICK);
    /// A Cortex-M's pendable request for system service.
    pub const PENDSV: Self = Self::of_exception(PENDSV);

    const fn of_exception(exception: u16) -> Self {
        Self(exception as i32 - FIRST_INTERRUPT as i32)
    }

    /// Returns the number of an external interrupt, or `None` for the core's own.
    pub fn external(self) -> Option<u16> {
        u16::try_from(self.0).ok()
    }

    /// Returns the number of an external interrupt; for the core's own, one that no soc has.
    pub(crate) fn line(self) -> u16 {
        self.external().unwrap_or(u16::MAX)
    }

    /// Returns the number of the exception that it causes: 16 is the first external interrupt on every
    /// core.
    pub fn exception(self) -> u16 {
        (self.0 + i32::from(FIRST_INTERRUPT)).clamp(0, i32::from(u16::MAX)) as u16
    }
}

impl From<u16> for Irq {
    fn from(external: u16) -> Self {
        Self(external.into())
    }
}

impl fmt::Display for Irq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(irq, _)| irq == self) {
            Some((_, name)) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

/// A text that names no interrupt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an interrupt: expected an external one's number, SysTick or PendSV")]
pub struct UnknownIrq(String);

impl FromStr for Irq {
    type Err = UnknownIrq;

    fn from_str(text: &str) -> Result<Self, UnknownIrq> {
        let named = NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
        let number = || text.parse::<u16>().ok().map(Self::from);
        let found = named.map(|(irq, _)| *irq).or_else(number);
        found.ok_or_else(|| UnknownIrq(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_written_and_read_alike() {
        for (text, irq, exception) in [
            ("0", Irq::from(0), 16),
            ("239", Irq::from(239), 255),
            ("SysTick", Irq::SYSTICK, 15),
            ("PendSV", Irq::PENDSV, 14),
        ] {
            assert_eq!((text.parse(), irq.to_string().as_str()), (Ok(irq), text));
            assert_eq!(irq.exception(), exception);
            assert_eq!(irq.external(), exception.checked_sub(16));
        }
        assert_eq!("systick".parse(), Ok(Irq::SYSTICK));
        for text in ["", "-1", "65536", "NMI", "8 "] {
            assert!(text.parse::<Irq>().is_err(), "{text}");
        }
    }
}
