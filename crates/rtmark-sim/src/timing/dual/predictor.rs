//! What branches are foreseen to do: a branch target buffer.
//!
//! The manual says that there is one (DDI 0489, 2.1.3: single-cycle turn-around of predictor state and
//! target address), and neither how many branches it keeps nor how it learns: that it has 64 places
//! by the lowest bits of addresses, each with a target and a counter of two bits, is an estimate.
//! A branch that it does not have is foreseen not to be taken; one that names its target and is
//! always taken needs no place. It is the machine's state, as memories' caches are.

/// Places, by the address of a halfword.
const PLACES: usize = 64;
/// From here on a counter says that the branch is taken, up to the highest value.
const TAKEN: u8 = 2;
const SURELY: u8 = 3;
/// Where a branch leads that is not taken. No target is odd.
pub const NOT_TAKEN: u32 = 1;

/// What is known of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    branch: u32,
    target: u32,
    counter: u8,
}

/// No branch is at an odd address.
const NOTHING: Known = Known { branch: 1, target: 0, counter: 0 };

/// The buffer; without places for a core that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Predictor {
    known: Vec<Known>,
}

const fn place(branch: u32) -> usize {
    (branch / 2) as usize % PLACES
}

impl Predictor {
    /// One that knows nothing yet.
    pub fn new() -> Self {
        Self { known: vec![NOTHING; PLACES] }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.known.fill(NOTHING);
    }

    /// Whether a branch that leads there is foreseen, and nothing is learnt of it.
    #[inline(always)]
    pub fn is_sure(&self, branch: u32, target: u32) -> bool {
        let Some(known) = self.known.get(place(branch)) else { return true };
        if target == NOT_TAKEN {
            return known.branch != branch || known.counter == 0;
        }
        known.branch == branch && known.target == target && known.counter == SURELY
    }

    /// Learns where a branch has led: whether that was foreseen.
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
    fn a_branch_is_learnt_and_forgotten_by_halves() {
        let mut predictor = Predictor::new();
        let (branch, target) = (0x1000, 0x2000);
        assert!(predictor.is_sure(branch, NOT_TAKEN) && !predictor.is_sure(branch, target));
        assert!(!predictor.learn(branch, target));
        assert!(predictor.learn(branch, target));
        assert!(predictor.is_sure(branch, target));
        // Another target is not foreseen the first time.
        assert!(!predictor.learn(branch, 0x3000));
        assert!(predictor.learn(branch, 0x3000));
        // Not taken once, and taken again: foreseen to be taken all the time.
        assert!(!predictor.learn(branch, NOT_TAKEN));
        assert!(predictor.learn(branch, 0x3000));
        for foreseen in [false, false, true, true] {
            assert_eq!(predictor.learn(branch, NOT_TAKEN), foreseen);
        }
        assert!(predictor.is_sure(branch, NOT_TAKEN));
        // Who shares its place displaces it.
        let other = branch + 2 * PLACES as u32;
        assert!(!predictor.learn(other, target));
        assert!(predictor.learn(branch, NOT_TAKEN));
        assert!(!predictor.learn(branch, 0x3000));
    }

    #[test]
    fn a_core_without_one_foresees_all() {
        let mut none = Predictor::default();
        assert!(none.is_sure(0x1000, 0x2000) && none.learn(0x1000, 0x2000));
    }
}
