//! Branch prediction: a branch target buffer.
//!
//! The manual states that there is one (DDI 0489, 2.1.3: single-cycle turn-around of predictor
//! state and target address), but neither how many branches it holds nor how it learns. That it has
//! 64 entries selected by the low bits of addresses, each with a target and a two-bit counter, is
//! an estimate. A branch that it does not hold is predicted not taken; a branch with its target in
//! the encoding that is always taken needs no entry. The predictor is part of the machine's state,
//! as memories' caches are.

/// The number of entries, selected by the address of a halfword.
const PLACES: usize = 64;
/// The counter value from which a branch is predicted taken, and the highest value.
const TAKEN: u8 = 2;
const SURELY: u8 = 3;
/// The target of a branch that is not taken. No real target is odd.
pub const NOT_TAKEN: u32 = 1;

/// An entry: what is known of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    branch: u32,
    target: u32,
    counter: u8,
}

/// An empty entry: no branch is at an odd address.
const NOTHING: Known = Known { branch: 1, target: 0, counter: 0 };

/// The branch target buffer; empty for a core that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Predictor {
    known: Vec<Known>,
}

const fn place(branch: u32) -> usize {
    (branch / 2) as usize % PLACES
}

impl Predictor {
    /// Creates a buffer that knows no branch.
    pub fn new() -> Self {
        Self { known: vec![NOTHING; PLACES] }
    }

    /// Forgets all branches.
    pub fn clear(&mut self) {
        self.known.fill(NOTHING);
    }

    /// Returns whether a branch to this target is predicted, and would teach the buffer nothing
    /// new.
    #[inline(always)]
    pub fn is_certain(&self, branch: u32, target: u32) -> bool {
        let Some(known) = self.known.get(place(branch)) else { return true };
        if target == NOT_TAKEN {
            return known.branch != branch || known.counter == 0;
        }
        known.branch == branch && known.target == target && known.counter == SURELY
    }

    /// Records where a branch has led, and returns whether that was predicted.
    pub fn learn(&mut self, branch: u32, target: u32) -> bool {
        let Some(known) = self.known.get_mut(place(branch)) else { return true };
        let is_known = known.branch == branch;
        if target == NOT_TAKEN {
            if !is_known {
                return true;
            }
            let foreseen = known.counter < TAKEN;
            known.counter = known.counter.saturating_sub(1);
            return foreseen;
        }
        if !is_known {
            *known = Known { branch, target, counter: TAKEN };
            return false;
        }
        let foreseen = known.counter >= TAKEN && known.target == target;
        known.target = target;
        known.counter = (known.counter + 1).min(SURELY);
        foreseen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_predictor_learns_and_forgets_branches_gradually() {
        let mut predictor = Predictor::new();
        let (branch, target) = (0x1000, 0x2000);
        assert!(predictor.is_certain(branch, NOT_TAKEN) && !predictor.is_certain(branch, target));
        assert!(!predictor.learn(branch, target));
        assert!(predictor.learn(branch, target));
        assert!(predictor.is_certain(branch, target));
        // Another target is not predicted the first time.
        assert!(!predictor.learn(branch, 0x3000));
        assert!(predictor.learn(branch, 0x3000));
        // Not taken once, and taken again: predicted taken all the time.
        assert!(!predictor.learn(branch, NOT_TAKEN));
        assert!(predictor.learn(branch, 0x3000));
        for foreseen in [false, false, true, true] {
            assert_eq!(predictor.learn(branch, NOT_TAKEN), foreseen);
        }
        assert!(predictor.is_certain(branch, NOT_TAKEN));
        // A branch with the same entry displaces it.
        let other = branch + 2 * PLACES as u32;
        assert!(!predictor.learn(other, target));
        assert!(predictor.learn(branch, NOT_TAKEN));
        assert!(!predictor.learn(branch, 0x3000));
    }

    #[test]
    fn cores_without_a_predictor_never_mispredict() {
        let mut none = Predictor::default();
        assert!(none.is_certain(0x1000, 0x2000) && none.learn(0x1000, 0x2000));
    }
}
