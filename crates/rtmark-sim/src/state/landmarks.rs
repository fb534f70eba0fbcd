//! The addresses that matter to an observer that need not see every instruction.

use std::sync::Arc;

/// The parts into which an observer divides the code, such as its functions. A run observed at landmarks
/// reports the first instruction of a part, and every instruction that may lead to another part, change
/// what holds interrupts back, or wait; everything between them executes at full speed.
#[derive(Clone, Debug)]
pub struct Landmarks(Arc<[LandmarkRange]>);

#[derive(Clone, Copy, Debug)]
struct LandmarkRange {
    begins: u32,
    /// The part is divided further into parts of this many bytes each; `None` if it extends to the next in
    /// the list.
    every: Option<u32>,
}

impl Landmarks {
    /// Creates landmarks from the parts' first addresses. Each part extends to the next one; a part with a
    /// number of bytes stands for a sequence of parts of that size.
    pub fn new(parts: impl IntoIterator<Item = (u32, Option<u32>)>) -> Self {
        let part = |(begins, every): (u32, Option<u32>)| LandmarkRange {
            begins,
            every: every.filter(|bytes| *bytes > 0),
        };
        let mut parts: Vec<LandmarkRange> = parts.into_iter().map(part).collect();
        parts.sort_by_key(|part| part.begins);
        Self(parts.into())
    }

    /// Returns an identifier that distinguishes the part at an address from every other.
    fn part(&self, address: u32) -> (usize, u32) {
        let at = self.0.partition_point(|part| part.begins <= address);
        let part = at.checked_sub(1).and_then(|at| self.0.get(at));
        (at, part.and_then(|part| part.every).map_or(0, |bytes| address / bytes))
    }

    /// Returns whether a part begins at an address.
    pub(crate) fn begins(&self, address: u32) -> bool {
        self.part(address) != self.part(address.wrapping_sub(1))
    }

    /// Returns whether a branch leads to another part, or to the beginning of one.
    pub(crate) fn is_crossed(&self, from: u32, to: u32) -> bool {
        self.part(from) != self.part(to) || self.begins(to)
    }

    /// Replaces the landmarks, and returns whether that changed anything.
    pub(crate) fn replace(known: &mut Option<Self>, by: Option<&Self>) -> bool {
        let same = match (&*known, by) {
            (None, None) => true,
            (Some(known), Some(by)) => Arc::ptr_eq(&known.0, &by.0),
            _ => false,
        };
        if !same {
            *known = by.cloned();
        }
        !same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks_begin_at_parts_and_at_each_full_subpart() {
        let landmarks = Landmarks::new([(0x200, None), (0, Some(0x100)), (0x240, Some(0x100))]);
        let begins: Vec<u32> = (0..0x420).filter(|at| landmarks.begins(*at)).collect();
        assert_eq!(begins, [0, 0x100, 0x200, 0x240, 0x300, 0x400]);
        assert!(!landmarks.is_crossed(0x202, 0x23E));
        assert!(landmarks.is_crossed(0x202, 0x200), "to the beginning of its own");
        assert!(landmarks.is_crossed(0x202, 0x242));
        assert!(!landmarks.is_crossed(0x142, 0x104));
        assert!(landmarks.is_crossed(0x142, 0x0FE));
    }
}
