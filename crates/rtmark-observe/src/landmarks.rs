//! The landmarks at which call tracking has to look at a run.

use std::collections::BTreeMap;

use rtmark_sim::{Landmarks, Symbols};

/// The size, in bytes, assumed for a function without a symbol.
pub(crate) const UNNAMED: u32 = 256;

/// Returns an image's landmarks for [`Calls`](crate::Calls) and everything built on it: the beginnings
/// of the functions in [`Functions`](crate::Functions), and the addresses in `more`, at which an
/// observer distinguishes something else.
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
