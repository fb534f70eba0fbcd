//! The branch predictor (DDI 0460, 2.1.3; DDI 0363, 5.2 and 5.3).
//!
//! A table of 256 counters indexed by recent branch history, loops of up to 31 iterations whose end
//! is predicted, and a return stack of four. Estimates: the index of the table is the exclusive or
//! of address and the last eight branches; eight loops are known at a time, by their address;
//! initially all branches are predicted not taken.

use crate::armr::control::actlr;

const COUNTERS: usize = 256;
const LOOPS: usize = 8;
/// The most iterations of a loop whose end is predicted.
const LONGEST_LOOP: u8 = 31;
const RETURNS: usize = 4;
/// The lowest counter value that predicts taken.
const TAKEN: u8 = 2;
/// The counter values after a branch that is not taken, and after one that is.
const COUNTED: [[u8; 2]; 4] = [[0, 1], [0, 2], [1, 3], [2, 3]];

/// A backward branch, and how often it has been taken in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Loop {
    branch: u32,
    rounds: u8,
    /// How often it was last taken before it fell through; 0 if unknown.
    usual: u8,
}

/// The predictor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predictor {
    counters: [u8; COUNTERS],
    history: u8,
    loops: [Loop; LOOPS],
    returns: [u32; RETURNS],
    top: usize,
}

impl Default for Predictor {
    fn default() -> Self {
        Self {
            counters: [TAKEN - 1; COUNTERS],
            history: 0,
            loops: [Loop::default(); LOOPS],
            returns: [0; RETURNS],
            top: 0,
        }
    }
}

impl Predictor {
    /// Returns whether a conditional branch is predicted taken, and trains the predictor with the
    /// outcome `is`.
    #[inline(always)]
    pub fn branch(&mut self, branch: u32, backwards: bool, is: bool, actlr: u32) -> bool {
        match actlr::policy(actlr) {
            1 => return true,
            2 => return false,
            _ => {}
        }
        let counts = actlr & actlr::DBHE == 0;
        let counter = &mut self.counters[((branch >> 1) as u8 ^ self.history) as usize];
        let counted = counts && *counter >= TAKEN;
        if counts {
            *counter = COUNTED[usize::from(*counter & 3)][usize::from(is)];
            self.history = self.history << 1 | u8::from(is);
        }
        if !backwards {
            return counted;
        }
        let entry = &mut self.loops[(branch >> 1) as usize % LOOPS];
        let Loop { rounds, usual, .. } =
            if entry.branch == branch { *entry } else { Loop::default() };
        let new = if is {
            (rounds.saturating_add(1), usual)
        } else {
            (0, if rounds < LONGEST_LOOP { rounds } else { 0 })
        };
        *entry = Loop { branch, rounds: new.0, usual: new.1 };
        // Known loops go on until the usual number of iterations, and then end.
        let ends = usual != 0 && rounds == usual && actlr & actlr::DEOLP == 0;
        rounds < usual || counted && !ends
    }

    /// Pushes the return address of a call, with the instruction set in the lowest bit.
    pub const fn push(&mut self, return_to: u32) {
        self.top = (self.top + 1) % RETURNS;
        self.returns[self.top] = return_to;
    }

    /// Pops the predicted target of a return, if that is the given address.
    #[inline(always)]
    pub const fn pop_if(&mut self, target: u32) -> bool {
        let foreseen = self.returns[self.top % RETURNS] & !1 == target;
        if foreseen {
            self.top = (self.top + RETURNS - 1) % RETURNS;
        }
        foreseen
    }

    /// Pops the predicted target of a return.
    pub const fn pop(&mut self) -> u32 {
        let target = self.returns[self.top];
        self.top = (self.top + RETURNS - 1) % RETURNS;
        target
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mispredictions in one run of a loop with a number of iterations.
    fn mistakes(predictor: &mut Predictor, rounds: u32, actlr: u32) -> u32 {
        let taken = (1..=rounds).map(|round| round < rounds);
        taken.map(|is| u32::from(predictor.branch(0x1000, true, is, actlr) != is)).sum()
    }

    #[test]
    fn loop_exits_are_predicted_up_to_31_iterations() {
        for (rounds, expected) in [(2, 0), (10, 0), (31, 0), (32, 1), (40, 1)] {
            let mut predictor = Predictor::default();
            for _ in 0..10 {
                mistakes(&mut predictor, rounds, 0);
            }
            assert_eq!(mistakes(&mut predictor, rounds, 0), expected, "{rounds} rounds");
        }
    }

    #[test]
    fn disabled_predictors_predict_nothing() {
        let mut predictor = Predictor::default();
        for _ in 0..10 {
            mistakes(&mut predictor, 10, actlr::DEOLP);
        }
        assert_eq!(mistakes(&mut predictor, 31, actlr::DEOLP), 1);
        // Always taken: only the end is mispredicted. Never taken: all but the end are.
        assert_eq!(mistakes(&mut predictor, 10, 1 << 15), 1);
        assert_eq!(mistakes(&mut predictor, 10, 2 << 15), 9);
    }

    #[test]
    fn the_return_stack_holds_four_returns() {
        let mut predictor = Predictor::default();
        (1..=5).for_each(|call| predictor.push(call * 0x100));
        let returns: Vec<_> = (0..5).map(|_| predictor.pop()).collect();
        assert_eq!(returns[..4], [0x500, 0x400, 0x300, 0x200]);
        assert_ne!(returns[4], 0x100);
    }
}
