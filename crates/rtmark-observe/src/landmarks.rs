//! Where those who follow calls look at a run.

use std::collections::BTreeMap;

use rtmark_sim::{Landmarks, Symbols};

/// Bytes that are taken for a function where no symbol says anything.
pub(crate) const UNNAMED: u32 = 256;

/// The landmarks of an image for [`Calls`](crate::Calls) and what builds on it: where the functions of
/// [`Functions`](crate::Functions) begin, and `more` addresses at which something else does that an observer
/// tells apart.
pub fn landmarks(symbols: &Symbols, more: impl IntoIterator<Item = u32>) -> Landmarks {
    let mut parts = BTreeMap::from([(0, Some(UNNAMED))]);
    let mut extents = symbols.extents().peekable();
    while let Some((start, size)) = extents.next() {
        parts.insert(start, None);
        let next = extents.peek().map(|(next, _)| *next);
        let end = start.checked_add(size).filter(|_| size > 0);
        if let Some(end) = end.filter(|end| next.is_none_or(|next| *end < next)) {
            parts.insert(end, Some(UNNAMED));
        }
    }
    let more = more.into_iter().filter_map(|border| {
        let (_, every) = parts.range(..=border).next_back()?;
        Some((border, *every))
    });
    let more: Vec<_> = more.collect();
    Landmarks::new(parts.into_iter().chain(more))
}
