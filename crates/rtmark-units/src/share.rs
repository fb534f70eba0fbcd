//! Divides work among several computers.

use std::fmt;
use std::str::FromStr;

/// One part of work that is divided among several computers: part `number` of `of`, counted from 1,
/// written `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of this part.
    pub number: usize,
    /// The number of parts.
    pub of: usize,
}

impl Share {
    /// All of the work.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Tells whether a piece belongs to this part, with neighbouring pieces in different parts.
    pub const fn holds(self, piece: usize) -> bool {
        piece % self.of == self.number - 1
    }

    /// Tells whether a piece belongs to this part, with neighbouring pieces kept together and pieces of
    /// different cost: `before` is the cost of all pieces before this one, out of `total`. Each piece
    /// belongs to exactly one part.
    pub fn holds_cost(self, before: u64, cost: u64, total: u64) -> bool {
        // Decided by its middle: a piece goes to the part that contains most of it.
        let middle = u128::from(before) * 2 + u128::from(cost);
        let part = (middle * self.of as u128).checked_div(u128::from(total) * 2).unwrap_or(0);
        part.min(self.of as u128 - 1) == self.number as u128 - 1
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// A text that is not a valid part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareError;

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part and the number of parts, such as 2/8")
    }
}

impl std::error::Error for ShareError {}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let (number, of) = text.split_once('/').ok_or(ShareError)?;
        let number = number.parse().map_err(|_| ShareError)?;
        let of = of.parse().map_err(|_| ShareError)?;
        if (1..=of).contains(&number) { Ok(Self { number, of }) } else { Err(ShareError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_parse_or_are_rejected() {
        assert_eq!("2/8".parse(), Ok(Share { number: 2, of: 8 }));
        assert_eq!(Share { number: 2, of: 8 }.to_string(), "2/8");
        for text in ["0/8", "9/8", "2", "/8", "2/", "1/0", "-1/3", "1/99999999999999999999"] {
            assert_eq!(text.parse::<Share>(), Err(ShareError), "{text}");
        }
    }

    #[test]
    fn pieces_are_dealt_out_in_turn() {
        let held = |number, of| {
            let share = Share { number, of };
            (0..8).filter(|piece| share.holds(*piece)).collect::<Vec<_>>()
        };
        assert_eq!(
            (held(1, 3), held(2, 3), held(3, 3)),
            (vec![0, 3, 6], vec![1, 4, 7], vec![2, 5])
        );
        assert_eq!(held(1, 1), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_piece_goes_to_the_part_that_has_most_of_it() {
        // Three parts of four each, and pieces that end at 3, 7 and 12.
        let parts = |before, cost| {
            let holds = |number| Share { number, of: 3 }.holds_cost(before, cost, 12);
            [1, 2, 3].map(holds)
        };
        assert_eq!(parts(0, 3), [true, false, false]);
        assert_eq!(parts(3, 4), [false, true, false]);
        assert_eq!(parts(7, 5), [false, false, true]);
        assert_eq!(parts(12, 0), [false, false, true], "what costs nothing and comes last");
    }

    #[test]
    fn each_item_is_in_one_part_and_parts_cost_about_the_same() {
        let costs = [5_u64, 1, 1, 1, 0, 9, 2, 2, 3, 1, 40, 1, 1, 0];
        let total = costs.iter().sum();
        for of in 1..=20 {
            let mut dearest = 0;
            let mut held = [0; 14];
            for number in 1..=of {
                let (mut before, mut mine) = (0, 0);
                for (piece, cost) in costs.into_iter().enumerate() {
                    if (Share { number, of }).holds_cost(before, cost, total) {
                        held[piece] += 1;
                        mine += cost;
                    }
                    before += cost;
                }
                dearest = dearest.max(mine);
            }
            assert_eq!(held, [1; 14], "{of} parts");
            // A part contains at most half a piece more than its share at either end.
            assert!(dearest <= total.div_ceil(of as u64) + 40, "{of} parts: {dearest}");
        }
        assert!(Share::WHOLE.holds_cost(0, 0, 0), "what costs nothing belongs somewhere");
        assert!(!Share { number: 2, of: 2 }.holds_cost(0, 0, 0));
    }
}
