//! The units of rtmark's figures.
//!
//! Cycle counts, instruction counts and times are different types, so that no sum, comparison or table
//! column can mix them by accident. The only conversion is explicit: [`Cycles::at`] turns cycles into
//! time for a given clock.
//!
//! ```
//! use rtmark_units::{Cycles, Hertz, Nanoseconds};
//!
//! let switch = Cycles(96);
//! assert_eq!(switch.at(Hertz(48_000_000)), Nanoseconds(2_000));
//! assert_eq!(switch + Cycles(4), Cycles(100));
//! ```

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

mod share;
mod time;

pub use share::{Share, ShareError};
pub use time::picoseconds;

macro_rules! count {
    ($(#[$doc:meta])* $name:ident, $suffix:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// None of it.
            pub const ZERO: Self = Self(0);
            /// More than any run can reach.
            pub const MAX: Self = Self(u64::MAX);

            /// Returns the difference, or zero if `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// Returns the sum, or [`Self::MAX`] if it does not fit.
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// Returns the difference, or `None` if `other` is larger.
            #[must_use]
            pub const fn checked_sub(self, other: Self) -> Option<Self> {
                match self.0.checked_sub(other.0) {
                    Some(difference) => Some(Self(difference)),
                    None => None,
                }
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
                counts.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $suffix), self.0)
            }
        }
    };
}

count! {
    /// Clock cycles of a core: the simulator's model, or a board's cycle counter.
    Cycles, "cycles"
}
count! {
    /// Executed instructions, which QEMU counts; not a time.
    Instructions, "instructions"
}
count! {
    /// Time in nanoseconds of the simulated or real clock, depending on the context.
    Nanoseconds, "ns"
}

count! {
    /// Bytes of memory.
    Bytes, "bytes"
}

/// A clock rate in hertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hertz(pub u32);

impl Cycles {
    /// Returns how long this many cycles last at `clock`, rounded to the nearest nanosecond.
    ///
    /// A clock of 0 Hz never advances: the result is then [`Nanoseconds::MAX`] (or zero for zero
    /// cycles), as it is for times beyond 584 years.
    pub fn at(self, clock: Hertz) -> Nanoseconds {
        if self.0 == 0 {
            return Nanoseconds::ZERO;
        }
        let clock = u128::from(clock.0);
        (u128::from(self.0) * 1_000_000_000 + clock / 2)
            .checked_div(clock)
            .and_then(|ns| u64::try_from(ns).ok())
            .map_or(Nanoseconds::MAX, Nanoseconds)
    }
}

impl Hertz {
    /// Returns the whole cycles in a time, at most [`Cycles::MAX`].
    pub fn cycles_in(self, time: Duration) -> Cycles {
        let cycles = time.as_nanos().saturating_mul(self.0.into()) / 1_000_000_000;
        u64::try_from(cycles).map_or(Cycles::MAX, Cycles)
    }
}

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            hz if hz >= 1_000_000 && hz.is_multiple_of(1_000_000) => {
                write!(f, "{} MHz", hz / 1_000_000)
            }
            hz if hz >= 1_000_000 => write!(f, "{} MHz", f64::from(hz) / 1e6),
            hz if hz >= 1_000 && hz.is_multiple_of(1_000) => write!(f, "{} kHz", hz / 1_000),
            hz => write!(f, "{hz} Hz"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converting_cycles_to_time_needs_a_clock() {
        assert_eq!(Cycles(168_000_000).at(Hertz(168_000_000)), Nanoseconds(1_000_000_000));
        assert_eq!(Cycles(1).at(Hertz(3_000_000_000)), Nanoseconds(0));
        assert_eq!(Cycles(2).at(Hertz(3_000_000_000)), Nanoseconds(1));
        assert_eq!(Cycles(5).at(Hertz(0)), Nanoseconds::MAX);
        assert_eq!(Cycles::MAX.at(Hertz(1)), Nanoseconds::MAX);
    }

    #[test]
    fn counts_add_up_and_do_not_wrap() {
        let (five, seven) = (Cycles(5), Cycles(7));
        assert_eq!((five + seven, seven - five), (Cycles(12), Cycles(2)));
        assert_eq!([five, seven, seven].into_iter().sum::<Cycles>(), Cycles(19));
        let mut sum = five;
        sum += seven;
        assert_eq!(sum, Cycles(12));
        assert_eq!((seven.checked_sub(five), five.checked_sub(seven)), (Some(Cycles(2)), None));
        assert_eq!(
            (seven.saturating_sub(five), five.saturating_sub(seven)),
            (Cycles(2), Cycles(0))
        );
        assert_eq!(
            (five.saturating_add(seven), Cycles::MAX.saturating_add(five)),
            (sum, Cycles::MAX)
        );
    }

    #[test]
    fn a_duration_holds_whole_cycles() {
        let clock = Hertz(168_000_000);
        assert_eq!(clock.cycles_in(Duration::from_millis(10)), Cycles(1_680_000));
        assert_eq!(clock.cycles_in(Duration::from_nanos(17)), Cycles(2));
        assert_eq!(Hertz(0).cycles_in(Duration::MAX), Cycles::ZERO);
        assert_eq!(Hertz(u32::MAX).cycles_in(Duration::MAX), Cycles::MAX);
    }

    #[test]
    fn clocks_parse_as_engineers_write_them() {
        let shown = [48_000_000, 64_500_000, 32_000, 32_768].map(|hz| Hertz(hz).to_string());
        assert_eq!(shown, ["48 MHz", "64.5 MHz", "32 kHz", "32768 Hz"]);
    }
}
