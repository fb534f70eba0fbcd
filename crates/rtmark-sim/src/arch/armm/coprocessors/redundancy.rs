//! The redundancy coprocessor (RP2350 datasheet, 3.6.3): canaries, checks of booleans, a counter.

use super::{Answer, CoprocessorForm, CoprocessorInstruction};

/// How code that protects itself represents a boolean.
const TRUE: u32 = 0xA500_A500;
const FALSE: u32 = 0x00C3_00C3;
/// The difference between an integer and the copy that is kept for comparison.
const COPY: u32 = 0x9600_9600;
/// What the random numbers begin with: any number but 0.
const SEED: u32 = 2_463_534_242;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redundancy {
    /// What canaries are made from; on the chip, the boot ROM draws it at random.
    salt: u64,
    count: u8,
    random: u32,
}

impl Default for Redundancy {
    fn default() -> Self {
        Self { salt: 0x5A17_C0DE_5EED_F00D, count: 0, random: SEED }
    }
}

const fn is_boolean(value: u32) -> bool {
    value == TRUE || value == FALSE
}

impl Redundancy {
    /// Returns the canary of a tag: any number that depends on the salt and on the tag.
    const fn canary(&self, tag: u8) -> u32 {
        let mixed = self.salt.rotate_left(tag as u32) ^ tag as u64;
        (mixed ^ mixed >> 32) as u32
    }

    /// Executes an instruction; `values` are those of the core's registers.
    pub fn execute(
        &mut self,
        instruction: CoprocessorInstruction,
        (first, second): (u32, u32),
    ) -> Answer {
        let m = instruction.m;
        let tag = |n: u8| n << 4 | m;
        let holds = match (instruction.form, instruction.opcode) {
            (CoprocessorForm::Read { n, extra: 1, .. }, 0) => {
                return Answer::Word(self.canary(tag(n)));
            }
            // Whether the salt has been set, which the boot ROM has done.
            (CoprocessorForm::Read { n: 0, extra: 0, .. }, 1) if m == 0 => {
                return Answer::Word(TRUE);
            }
            (CoprocessorForm::Read { n: 0, extra: 0, .. }, 2) if m == 0 => {
                // Marsaglia's xorshift.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 17;
                self.random ^= self.random << 5;
                return Answer::Word(self.random & 0xFF);
            }
            (CoprocessorForm::Write { n, extra: 1, .. }, 0) => first == self.canary(tag(n)),
            (CoprocessorForm::Write { n: 0, extra: 0, .. }, 1) if m == 0 => is_boolean(first),
            (CoprocessorForm::Write { n: 0, extra: 0, .. }, 2) if m == 0 => first == TRUE,
            (CoprocessorForm::Write { n: 0, extra: 1, .. }, 3) if m == 0 => first == FALSE,
            (CoprocessorForm::Write { n, extra: 0, .. }, 4) => {
                self.count = tag(n);
                true
            }
            (CoprocessorForm::Write { n, extra: 1, .. }, 5) => {
                let holds = self.count == tag(n);
                self.count = self.count.wrapping_add(1);
                holds
            }
            (CoprocessorForm::WritePair { .. }, opcode) => match (opcode, m) {
                (0, 8) => is_boolean(first) && is_boolean(second),
                (1, 0) => first == TRUE && second == TRUE,
                (2, 0) => {
                    is_boolean(first) && is_boolean(second) && (first == TRUE || second == TRUE)
                }
                (3, 8) => is_boolean(first ^ second),
                (4, 0) => first ^ second == TRUE,
                (5, 8) => first ^ second == FALSE,
                (6, 8) => first ^ second == COPY,
                (7, 0) => first == second,
                (8, 0) => {
                    self.salt = u64::from(second) << 32 | u64::from(first);
                    true
                }
                // The other core's.
                (8, 1) => true,
                _ => return Answer::Unknown,
            },
            (CoprocessorForm::Process { extra: 1 }, 0) if m == 0 => false,
            _ => return Answer::Unknown,
        };
        if holds { Answer::Done } else { Answer::Failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Values<'a> = &'a [(u32, u32)];

    fn execute(
        unit: &mut Redundancy,
        form: CoprocessorForm,
        opcode: u8,
        m: u8,
        values: (u32, u32),
    ) -> Answer {
        let instruction = CoprocessorInstruction { coprocessor: 7, second: true, form, opcode, m };
        unit.execute(instruction, values)
    }

    #[test]
    fn canaries_are_those_of_their_tag_and_salt() {
        let unit = &mut Redundancy::default();
        let get = |unit: &mut Redundancy, n, m| match execute(
            unit,
            CoprocessorForm::Read { t: 0, n, extra: 1 },
            0,
            m,
            (0, 0),
        ) {
            Answer::Word(canary) => canary,
            other => panic!("{other:?}"),
        };
        let check = CoprocessorForm::Write { t: 0, n: 4, extra: 1 };
        let canary = get(unit, 4, 2);
        assert_eq!(execute(unit, check, 0, 2, (canary, 0)), Answer::Done);
        assert_eq!(execute(unit, check, 0, 3, (canary, 0)), Answer::Failed);
        assert_eq!(execute(unit, check, 0, 2, (canary ^ 1, 0)), Answer::Failed);
        let mut seen: Vec<_> = (0..=255).map(|tag| get(unit, tag >> 4, tag & 15)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 256);
        let salted = execute(unit, CoprocessorForm::WritePair { t: 0, t2: 1 }, 8, 0, (1, 2));
        assert_eq!(salted, Answer::Done);
        assert_ne!(get(unit, 4, 2), canary);
    }

    #[test]
    fn checks_hold_for_what_they_are_for() {
        let unit = &mut Redundancy::default();
        let pair = CoprocessorForm::WritePair { t: 0, t2: 1 };
        let one = |extra| CoprocessorForm::Write { t: 0, n: 0, extra };
        let (yes, no, odd) = (TRUE, FALSE, 1);
        let checks: [(CoprocessorForm, u8, u8, Values<'_>, Values<'_>); 11] = [
            (one(0), 1, 0, &[(yes, 0), (no, 0)], &[(odd, 0), (0, yes)]),
            (one(0), 2, 0, &[(yes, 0)], &[(no, 0), (odd, 0)]),
            (one(1), 3, 0, &[(no, 0)], &[(yes, 0), (odd, 0)]),
            (pair, 0, 8, &[(yes, no)], &[(yes, odd), (odd, no)]),
            (pair, 1, 0, &[(yes, yes)], &[(yes, no), (no, yes)]),
            (pair, 2, 0, &[(yes, no), (no, yes)], &[(no, no), (yes, odd)]),
            (pair, 3, 8, &[(yes ^ 7, 7), (no ^ 7, 7)], &[(yes, 7)]),
            (pair, 4, 0, &[(yes ^ 7, 7)], &[(no ^ 7, 7)]),
            (pair, 5, 8, &[(no ^ 7, 7)], &[(yes ^ 7, 7)]),
            (pair, 6, 8, &[(5, 5 ^ 0x9600_9600)], &[(5, 5)]),
            (pair, 7, 0, &[(5, 5)], &[(5, 4)]),
        ];
        for (form, opcode, m, good, bad) in checks {
            for &values in good {
                assert_eq!(execute(unit, form, opcode, m, values), Answer::Done, "{opcode}");
            }
            for &values in bad {
                assert_eq!(execute(unit, form, opcode, m, values), Answer::Failed, "{opcode}");
            }
        }
        let count = |n| CoprocessorForm::Write { t: 0, n, extra: 0 };
        let counted = |n| CoprocessorForm::Write { t: 0, n, extra: 1 };
        assert_eq!(execute(unit, count(4), 4, 2, (0, 0)), Answer::Done);
        assert_eq!(execute(unit, counted(4), 5, 2, (0, 0)), Answer::Done);
        assert_eq!(execute(unit, counted(4), 5, 3, (0, 0)), Answer::Done, "it counts");
        assert_eq!(execute(unit, counted(4), 5, 3, (0, 0)), Answer::Failed);
        assert_eq!(
            execute(unit, CoprocessorForm::Process { extra: 1 }, 0, 0, (0, 0)),
            Answer::Failed
        );
        assert_eq!(
            execute(unit, CoprocessorForm::Process { extra: 0 }, 0, 0, (0, 0)),
            Answer::Unknown
        );
    }
}
