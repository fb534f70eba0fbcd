//! What no symbol with a length names: functions of assemblers, and data.

use std::collections::BTreeSet;
use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

/// Joins ranges that overlap or touch, and sorts them.
pub(super) fn union(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

/// Returns the functions without a length, as assemblers leave them: each up to the next symbol,
/// without what fills up its end. `named` is the [`union`] of the others' ranges.
pub(super) fn unsized_functions<'a>(
    file: &object::File<'a>,
    named: &[Range<u64>],
) -> Vec<(String, u32, &'a [u8])> {
    let mut found = Vec::new();
    let is_named = |address: u64| {
        let behind = named.partition_point(|range| range.start <= address);
        behind > 0 && named[behind - 1].contains(&address)
    };
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let here = |symbol: &object::Symbol<'_, '_>| {
            symbol.section_index() == Some(section.index())
                && symbol.name().is_ok_and(|name| !name.is_empty() && !name.starts_with('$'))
        };
        let symbols: Vec<_> = file.symbols().filter(here).collect();
        let begins: BTreeSet<u64> = symbols.iter().map(|symbol| symbol.address() & !1).collect();
        let end = section.address().saturating_add(section.size());
        // Others are places of the linker's.
        let is_function = |symbol: &&object::Symbol<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.size() == 0
        };
        for symbol in symbols.iter().filter(is_function) {
            let address = symbol.address() & !1;
            let next = begins.range(address + 1..).next().copied().unwrap_or(end).min(end);
            let bytes = section.data_range(address, next.saturating_sub(address)).ok().flatten();
            let (Ok(name), Ok(base), Some(bytes)) =
                (symbol.name(), u32::try_from(address), bytes.filter(|_| !is_named(address)))
            else {
                continue;
            };
            let is_filling = |half: &&[u8]| matches!(half, [0, 0] | [0x00, 0xBF]);
            let filling = bytes.chunks(2).rev().take_while(is_filling).count() * 2;
            let length = bytes.len().saturating_sub(filling);
            if length > 0 {
                found.push((name.to_owned(), base, &bytes[..length]));
            }
        }
    }
    found
}

/// Returns the parts of a section at an address that no symbol names, without zeros at their ends; `named`
/// is the [`union`] of their ranges.
pub(super) fn unnamed<'a>(base: u64, data: &'a [u8], named: &[Range<u64>]) -> Vec<&'a [u8]> {
    let end = base.saturating_add(data.len() as u64);
    let mut parts = Vec::new();
    let mut at = base;
    let behind = end..end;
    for range in named.iter().filter(|range| range.end > base && range.start < end).chain([&behind])
    {
        if range.start > at {
            let part = &data[(at - base) as usize..(range.start - base) as usize];
            // Words keep their alignment.
            let first = part.iter().position(|byte| *byte != 0).map(|first| first & !3);
            let last = part.iter().rposition(|byte| *byte != 0);
            parts.extend(first.zip(last).map(|(first, last)| &part[first..=last]));
        }
        at = at.max(range.end);
    }
    parts
}
