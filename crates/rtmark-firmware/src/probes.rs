//! Probe records: which addresses and exceptions of an image begin and end spans.
//!
//! They are in the ELF section `.rtmark`, a sequence of records that the header `rtmark_probe.h` and
//! the crate `rtmark-probe` describe. Any input yields records or an error, never a panic. Some records
//! hold settings with which the image was compiled.

use std::fmt;

use rtmark_model::{IdError, ScenarioId, Settings, setting_info};

use crate::select::select_word;

/// The section that holds the records.
pub const SECTION: &str = rtmark_model::PROBES_SECTION;

/// The symbol of the word that selects the scenario.
pub const SELECT_SYMBOL: &str = rtmark_model::SELECT_SYMBOL;

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A span begins before the instruction at this address.
    Begin(u32),
    /// A span ends before the instruction at this address.
    End(u32),
    /// A span begins in the cycle in which this exception becomes pending.
    BeginAtPend(u16),
    /// A span ends at the first instruction after this exception's return.
    EndAtReturn(u16),
    /// A span ends when the core falls asleep.
    EndAtSleep,
    /// A span begins with the reset.
    BeginAtReset,
    /// This index selects the scenario.
    Scenario(u32),
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its content.
    pub kind: Kind,
    /// The scenario that it belongs to.
    pub scenario: ScenarioId,
}

impl Record {
    /// Tells whether it belongs to a scenario. For points of a curve, firmware only knows the curve.
    pub fn is_of(&self, scenario: &ScenarioId) -> bool {
        self.scenario == *scenario
            || scenario.point().is_some_and(|(curve, _)| self.scenario == curve)
    }
}

/// Returns the scenarios in an image with these records.
pub fn scenarios(records: &[Record]) -> impl Iterator<Item = &ScenarioId> {
    let is_scenario = |record: &&Record| matches!(record.kind, Kind::Scenario(_));
    records.iter().filter(is_scenario).map(|record| &record.scenario)
}

/// Returns the index of a scenario in an image with these records.
pub fn index_of(records: &[Record], scenario: &ScenarioId) -> Option<u32> {
    records.iter().find_map(|record| match record.kind {
        Kind::Scenario(index) if record.scenario == *scenario => Some(index),
        _ => None,
    })
}

/// Returns the value of the word at [`SELECT_SYMBOL`] for a scenario, or for a point of a curve; `None`
/// if there is no such scenario, or it does not fit into the word.
pub fn selecting(records: &[Record], scenario: &ScenarioId) -> Option<u32> {
    if let Some(index) = index_of(records, scenario) {
        return select_word(index, 0);
    }
    let (curve, n) = scenario.point()?;
    select_word(index_of(records, &curve)?, n)
}

/// A section that holds something other than valid records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("probe record at offset {offset:#x} of section {SECTION}: {problem}")]
pub struct ProbeError {
    offset: usize,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    Truncated,
    Magic(u32),
    Kind(u32),
    Exception(u32),
    Address(u32),
    Text,
    Name(IdError),
    Setting(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the section ends inside it"),
            Self::Magic(word) => write!(f, "{word:#010x} is not the beginning of a record"),
            Self::Kind(kind) => write!(f, "kind {kind} is unknown to this rtmark"),
            Self::Exception(number) => write!(f, "{number} is not an exception number"),
            Self::Address(address) => write!(f, "{address:#010x} is odd, so no code can be there"),
            Self::Text => f.write_str("its name is not ASCII text"),
            Self::Name(error) => error.fmt(f),
            Self::Setting(name) => write!(f, "no setting is called `{}`", name.escape_debug()),
        }
    }
}

const MAGIC: u32 = 0x524D_0000;

fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*word), rest))
}

/// The content of one record.
enum Content<'a> {
    Probe(Record),
    Setting(&'a str, u32),
    Padding,
}

/// Parses the records of a section in order.
///
/// # Errors
/// When the bytes are not a sequence of known records.
pub fn parse(section: &[u8]) -> Result<Vec<Record>, ProbeError> {
    parse_of(section, CodeAlignment::Two)
}

/// Where instructions can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeAlignment {
    /// At even addresses.
    Two,
    /// Anywhere.
    One,
}

impl CodeAlignment {
    /// That of a core, by its name in `kernel.toml`.
    pub fn of_core(core: &str) -> Self {
        // Xtensa has instructions of three bytes.
        if core.starts_with("lx") { Self::One } else { Self::Two }
    }
}

/// Reads the records of a section, whose addresses are those of code so aligned, in their order.
///
/// # Errors
/// When the bytes are anything but a sequence of known records.
pub fn parse_of(section: &[u8], code: CodeAlignment) -> Result<Vec<Record>, ProbeError> {
    let mut records = Vec::new();
    each(section, code, |content| {
        if let Content::Probe(record) = content {
            records.push(record);
        }
        Ok(())
    })?;
    Ok(records)
}

/// Parses the settings in the records of a section.
///
/// # Errors
/// When the bytes are not a sequence of known records, or the name of a setting is unknown.
pub fn settings(section: &[u8]) -> Result<Settings, ProbeError> {
    let mut settings = Settings::new();
    each(section, CodeAlignment::One, |content| {
        if let Content::Setting(name, word) = content {
            let info = setting_info(name).ok_or_else(|| Problem::Setting(name.to_owned()))?;
            settings.insert(name.to_owned(), info.value(word));
        }
        Ok(())
    })?;
    Ok(settings)
}

fn each<'a>(
    section: &'a [u8],
    code: CodeAlignment,
    mut take: impl FnMut(Content<'a>) -> Result<(), Problem>,
) -> Result<(), ProbeError> {
    let mut rest = section;
    while !rest.is_empty() {
        let offset = section.len() - rest.len();
        let at = |problem| ProbeError { offset, problem };
        let (content, after) = parse_one(rest, code).map_err(at)?;
        take(content).map_err(at)?;
        rest = after;
    }
    Ok(())
}

fn parse_one(bytes: &[u8], code: CodeAlignment) -> Result<(Content<'_>, &[u8]), Problem> {
    let (magic, rest) = word(bytes).ok_or(Problem::Truncated)?;
    // Linkers pad the contributions of object files with zeros.
    if magic == 0 {
        return Ok((Content::Padding, rest));
    }
    if magic & 0xFFFF_0000 != MAGIC {
        return Err(Problem::Magic(magic));
    }
    let (place, rest) = word(rest).ok_or(Problem::Truncated)?;
    let kind = match magic & 0xFFFF {
        1 => Some(Kind::Begin(address(place, code)?)),
        2 => Some(Kind::End(address(place, code)?)),
        3 => Some(Kind::BeginAtPend(exception(place)?)),
        4 => Some(Kind::EndAtReturn(exception(place)?)),
        5 => Some(Kind::Scenario(place)),
        6 => None,
        7 => Some(Kind::EndAtSleep),
        8 => Some(Kind::BeginAtReset),
        other => return Err(Problem::Kind(other)),
    };
    let length = rest.iter().position(|&byte| byte == 0).ok_or(Problem::Truncated)?;
    let name = std::str::from_utf8(&rest[..length]).map_err(|_| Problem::Text)?;
    let content = match kind {
        Some(kind) => {
            Content::Probe(Record { kind, scenario: name.parse().map_err(Problem::Name)? })
        }
        None => Content::Setting(name, place),
    };
    let padded = (length + 1).next_multiple_of(4);
    let rest = rest.get(padded..).ok_or(Problem::Truncated)?;
    Ok((content, rest))
}

fn address(place: u32, code: CodeAlignment) -> Result<u32, Problem> {
    if code == CodeAlignment::One || place & 1 == 0 {
        Ok(place)
    } else {
        Err(Problem::Address(place))
    }
}

fn exception(place: u32) -> Result<u16, Problem> {
    // 1 to 15 are the system's; the architecture allows 496 external interrupts.
    u16::try_from(place)
        .ok()
        .filter(|number| (1..16 + 496).contains(number))
        .ok_or(Problem::Exception(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u32, place: u32, name: &str) -> Vec<u8> {
        let mut bytes = (MAGIC | kind).to_le_bytes().to_vec();
        bytes.extend(place.to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn three_byte_instructions_may_be_at_odd_addresses() {
        let section = record(1, 0x5000_0111, "a.b");
        assert!(parse(&section).is_err());
        let records = parse_of(&section, CodeAlignment::of_core("lx106")).expect("good");
        assert_eq!(records[0].kind, Kind::Begin(0x5000_0111));
        assert_eq!(CodeAlignment::of_core("cortex-m0"), CodeAlignment::Two);
    }

    #[test]
    fn records_are_read_in_order() {
        let mut section = record(5, 3, "thread.yield");
        section.extend(record(1, 0x0800_0124, "thread.yield"));
        section.extend([0; 4]);
        section.extend(record(4, 15, "timer.tick"));
        section.extend(record(7, 0, "timer.idle"));
        section.extend(record(8, 0, "boot.first_task"));
        let records = parse(&section).expect("good");
        let kinds: Vec<_> = records.iter().map(|r| r.kind).collect();
        let begin = Kind::Begin(0x0800_0124);
        let last = [Kind::EndAtReturn(15), Kind::EndAtSleep, Kind::BeginAtReset];
        assert_eq!(kinds[..2], [Kind::Scenario(3), begin]);
        assert_eq!(kinds[2..], last);
        assert_eq!(records[2].scenario.as_str(), "timer.tick");
        assert_eq!(parse(&[]).expect("none"), []);
    }

    #[test]
    fn names_have_any_length() {
        let names: Vec<_> = (1..10).map(|length| format!("a.{}", "b".repeat(length))).collect();
        let section: Vec<u8> = names.iter().flat_map(|name| record(5, 3, name)).collect();
        let records = parse(&section).expect("good");
        let read: Vec<_> = records.iter().map(|record| record.scenario.as_str()).collect();
        assert_eq!(read, names);
    }

    #[test]
    fn a_point_is_selected_by_its_curve_and_its_count() {
        let records = parse(&record(5, 3, "growth.tick.due")).expect("good");
        let word = |name: &str| selecting(&records, &name.parse().expect("a name"));
        assert_eq!(word("growth.tick.due"), Some(3));
        assert_eq!(word("growth.tick.due.16"), Some(16 << 16 | 3));
        assert_eq!(word("growth.tick"), None);
        assert!(records[0].is_of(&"growth.tick.due.16".parse().expect("a name")));
        assert!(!records[0].is_of(&"growth.tick.late.16".parse().expect("a name")));
    }

    #[test]
    fn settings_are_distinguished_from_probes() {
        use rtmark_model::Setting;
        let mut section = record(6, 0, "asserts");
        section.extend(record(5, 3, "thread.yield"));
        section.extend(record(6, 1000, "tick_hz"));
        let settings_read = settings(&section).expect("good");
        assert_eq!(settings_read["asserts"], Setting::Switch(false));
        assert_eq!(settings_read["tick_hz"], Setting::Number(1000));
        assert_eq!(settings_read.len(), 2);
        assert_eq!(parse(&section).expect("good").len(), 1);
        let error = settings(&record(6, 1, "speed")).expect_err("on no list").to_string();
        assert!(error.contains("`speed`"), "{error}");
    }

    /// Exceptions are numbered from 1, the external ones from 16, of which there are at most 496 (DDI 0403, B1.5.2).
    #[test]
    fn exceptions_have_the_numbers_of_the_architecture() {
        for (number, is_one) in
            [(0, false), (1, true), (15, true), (16, true), (511, true), (512, false)]
        {
            for (kind, wanted) in [(3, Kind::BeginAtPend(number)), (4, Kind::EndAtReturn(number))] {
                let records = parse(&record(kind, number.into(), "a.b"));
                let found = records.ok().map(|records| records[0].kind);
                assert_eq!(found, is_one.then_some(wanted), "{number}");
            }
        }
    }

    #[test]
    fn errors_are_reported_with_their_offset() {
        let refusal = |bytes: &[u8]| parse(bytes).expect_err("refused").to_string();
        let good = record(1, 4, "a.b");
        let second = |bytes: &[u8]| refusal(&[&good, bytes].concat());
        assert!(second(&record(9, 0, "a")).contains("offset 0xc"));
        assert!(second(&record(9, 0, "a")).contains("kind 9"));
        assert!(refusal(&record(1, 5, "a")).contains("odd"));
        assert!(refusal(&record(3, 0, "a")).contains("not an exception number"));
        assert!(refusal(&record(3, 0x1_0010, "a")).contains("not an exception number"));
        assert!(refusal(&record(1, 4, "a b")).contains("`a b`"));
        assert!(refusal(&good[..good.len() - 4]).contains("ends inside"));
        assert!(refusal(b"ELF!").contains("not the beginning"));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
            let _ = settings(&bytes);
        }

        #[test]
        fn corrupted_records_are_handled(at in 0..48_usize, to in any::<u8>(), cut in 0..48_usize) {
            let mut bytes = record(2, 0x100, "thread.resume.preempt");
            bytes.extend(record(3, 16, "isr.e"));
            let at = at % bytes.len();
            bytes[at] = to;
            let _ = parse(&bytes[..cut.min(bytes.len())]);
            let _ = parse(&bytes);
        }
    }
}
