//! Parses what clocked probes print and turns it into samples.
//!
//! A clocked probe is code: it reads a counter and stores the count together with its own address, and
//! the firmware prints the whole log at the end (`firmware/c/rtmark_clock.h` describes how). The
//! firmware measures at startup what the probes themselves cost, and that cost is subtracted here: once
//! for the two probes at the ends of a span, and once for every probe inside it.

use std::collections::HashMap;

use rtmark_firmware::probes::{Kind, Record};
use rtmark_model::{Samples, ScenarioId, Span, Unpaired};
use rtmark_observe::{Edge, Moment, Pairing};

/// The output of a firmware with clocked probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The logged events, in order.
    pub events: Vec<LogEntry>,
    /// The number of events that did not fit into the log.
    pub lost: u32,
    /// Everything else that the firmware printed.
    pub console: Vec<u8>,
    /// The value of `rtmark_select`, if the log states it.
    pub select: Option<u32>,
    /// The exit status printed by firmware that has no other way to report one; 0 means success.
    pub status: Option<u32>,
}

/// One entry of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEntry {
    /// A probe: the return address of its call, and the counter's value.
    Probe(u32, u32),
    /// The log was printed up to this point while the program was running.
    Printed,
}

/// A log that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A line that looks like a log line but is not a valid one.
    #[error("its probe log contains the invalid line `{0}`")]
    Line(String),
    /// The log has no end.
    #[error("its probe log is cut off")]
    Cut,
    /// Part of the log was lost or changed in transmission.
    #[error(
        "its probe log was corrupted in transmission: its words add up to {found:08x} instead of {stated:08x}"
    )]
    Spoilt {
        /// The checksum of the words received.
        found: u32,
        /// The checksum that the log states.
        stated: u32,
    },
    /// Events were dropped because the log was full.
    #[error("{0} probes were reached after the log was full")]
    Lost(u32),
    /// The firmware did not measure what its probes cost.
    #[error("its probe log lacks the spans {0}, which measure what probes cost")]
    NoCalibration(&'static str),
}

impl Log {
    /// Parses a console. If it holds several runs, the last complete one counts, otherwise the last.
    ///
    /// # Errors
    /// When a line begins like a log line but is not valid, the log has no end, or its checksum does
    /// not match.
    pub fn read(console: &[u8]) -> Result<Self, LogError> {
        let mut runs = runs(console);
        let last = runs.pop().unwrap_or_default();
        match Self::read_run(last) {
            // A run that was reset or cut off at the end may follow a complete one.
            Err(LogError::Cut) => {
                let mut whole = runs.iter().rev().filter_map(|run| Self::read_run(run).ok());
                whole.next().ok_or(LogError::Cut)
            }
            read => read,
        }
    }

    fn read_run(console: &[u8]) -> Result<Self, LogError> {
        let mut log = Self::default();
        let mut sum = 0_u32;
        let mut ended = false;
        for line in console.split_inclusive(|&byte| byte == b'\n') {
            let Some((b'@', rest)) = line.split_first() else {
                log.console.extend(line);
                continue;
            };
            if !line.ends_with(b"\n") {
                return Err(LogError::Cut);
            }
            let bad = || LogError::Line(rtmark_model::visible(line).trim_end().to_owned());
            let text = std::str::from_utf8(rest).map_err(|_| bad())?;
            let word = |word| u32::from_str_radix(word, 16).map_err(|_| bad());
            let mut characters = text.chars();
            let kind = characters.next();
            let words = characters.as_str().split_whitespace().map(word);
            let words = words.collect::<Result<Vec<_>, _>>()?;
            let add = |words: &[u32], sum: &mut u32| {
                *sum = words.iter().fold(*sum, |sum, word| sum.rotate_left(1).wrapping_add(*word));
            };
            match (kind, words.as_slice()) {
                (Some('^'), [select]) => {
                    log.select = Some(*select);
                    add(&words, &mut sum);
                }
                (Some('.'), [lost, stated]) => {
                    add(&[*lost], &mut sum);
                    if sum != *stated {
                        return Err(LogError::Spoilt { found: sum, stated: *stated });
                    }
                    (log.lost, ended) = (*lost, true);
                }
                (Some('!'), [status]) => log.status = Some(*status),
                (Some('+' | ' '), pairs) if pairs.len() % 2 == 0 => {
                    add(&words, &mut sum);
                    if kind == Some('+') && !log.events.is_empty() {
                        log.events.push(LogEntry::Printed);
                    }
                    log.events
                        .extend(pairs.chunks(2).map(|pair| LogEntry::Probe(pair[0], pair[1])));
                }
                _ => return Err(bad()),
            }
        }
        if ended { Ok(log) } else { Err(LogError::Cut) }
    }

    /// Converts each count with `convert`. Counts only grow: one that is below its predecessor has wrapped
    /// around at 2^32.
    pub fn convert_counts(&mut self, convert: impl Fn(u64) -> u64) {
        let mut whole = 0_u64;
        for event in &mut self.events {
            if let LogEntry::Probe(_, count) = event {
                let passed = count.wrapping_sub(whole as u32);
                whole += u64::from(passed);
                *count = convert(whole) as u32;
            }
        }
    }

    /// Returns the address of a probe that the given program does not have, if there is one: the log is
    /// then from another image.
    pub fn unknown_probe(&self, records: &[Record]) -> Option<u32> {
        let sites = Sites::new(records);
        self.events.iter().find_map(|event| match *event {
            LogEntry::Probe(site, _) if sites.of(site).is_none() => Some(site),
            _ => None,
        })
    }
}

/// The text that begins a run's first line.
const BEGIN: &[u8] = b"@^ ";

/// Splits a console into runs, each starting at its first line. Anything before the first such line
/// belongs to a run whose beginning was not received.
fn runs(console: &[u8]) -> Vec<&[u8]> {
    let starts: Vec<usize> = (0..console.len())
        .filter(|&at| console[at..].starts_with(BEGIN) && (at == 0 || console[at - 1] == b'\n'))
        .collect();
    if starts.is_empty() {
        return vec![console];
    }
    let ends = starts[1..].iter().copied().chain([console.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &console[start..end]).collect()
}

/// What probes cost, in counter units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The pair of probes at the ends of a span.
    pub ends: u64,
    /// A begin probe inside a span.
    pub begin: u64,
    /// An end probe inside a span.
    pub end: u64,
}

/// The probes of an image, by the return addresses of their calls.
#[derive(Clone, Debug)]
pub struct Sites<'a>(HashMap<u32, (&'a ScenarioId, Edge)>);

impl<'a> Sites<'a> {
    /// Collects the probes of an image.
    pub fn new(records: &'a [Record]) -> Self {
        let site = |record: &'a Record| match record.kind {
            Kind::Begin(address) => Some((address, (&record.scenario, Edge::Begin))),
            Kind::End(address) => Some((address, (&record.scenario, Edge::End))),
            _ => None,
        };
        Self(records.iter().filter_map(site).collect())
    }

    /// Returns the probe at a site. In Thumb code bit 0 of the address is set.
    fn of(&self, site: u32) -> Option<(&'a ScenarioId, Edge)> {
        self.0.get(&site).or_else(|| self.0.get(&(site & !1))).copied()
    }
}

/// Tells whether a scenario's spans can be clocked, that is, both ends are instructions.
pub fn can_be_clocked(records: &[Record], scenario: &ScenarioId) -> bool {
    let of = |fits: fn(&Kind) -> bool| {
        records.iter().any(|record| record.scenario == *scenario && fits(&record.kind))
    };
    // If an exception begins or ends some of its spans, clocking the rest would give different samples.
    of(|kind| matches!(kind, Kind::Begin(_)))
        && of(|kind| matches!(kind, Kind::End(_)))
        && !of(|kind| {
            matches!(
                kind,
                Kind::BeginAtPend(_) | Kind::EndAtReturn(_) | Kind::EndAtSleep | Kind::BeginAtReset
            )
        })
}

/// What a log contains for one scenario.
#[derive(Clone, Debug)]
pub struct Clocking {
    /// The samples.
    pub samples: Samples,
    /// Probe hits that did not form a sample.
    pub unpaired: Unpaired,
    /// Spans during which the log was printed. They are not samples, and count among those that were
    /// restarted.
    pub spoilt: u64,
    /// What was subtracted from each sample.
    pub cost: Cost,
}

/// Extracts the samples of one scenario from a log.
///
/// # Errors
/// When events were lost, or the log does not contain the cost of probes.
pub fn samples(
    log: &Log,
    records: &[Record],
    span: &Span,
    scenario: &ScenarioId,
) -> Result<Clocking, LogError> {
    if log.lost > 0 {
        return Err(LogError::Lost(log.lost));
    }
    let sites = Sites::new(records);
    let cost = calibrate(log, &sites, span)?;
    let (pairing, spoilt) = pair(log, &sites, span, scenario.as_str(), cost);
    let (samples, unpaired) = pairing.finish();
    Ok(Clocking { samples, unpaired, spoilt, cost })
}

fn calibrate(log: &Log, sites: &Sites<'_>, span: &Span) -> Result<Cost, LogError> {
    let nothing = Cost { ends: 0, begin: 0, end: 0 };
    let least = |name| {
        let (samples, _) = pair(log, sites, span, name, nothing).0.finish();
        samples.iter().map(|(value, _)| value).min().ok_or(LogError::NoCalibration(name))
    };
    let ends = least("rtmark.empty")?;
    let begin = least("rtmark.begin")?.saturating_sub(ends);
    let end = least("rtmark.end")?.saturating_sub(ends);
    Ok(Cost { ends, begin, end })
}

fn pair(log: &Log, sites: &Sites<'_>, span: &Span, id: &str, cost: Cost) -> (Pairing, u64) {
    let mut pairing = Pairing::default();
    let mut spoilt = 0;
    // The count without the probes' own cost: each probe is charged at the point of its call.
    let (mut now, mut last, mut spent) = (0_u64, None, 0_u64);
    for event in &log.events {
        let (site, count) = match *event {
            LogEntry::Probe(site, count) => (site, count),
            LogEntry::Printed => {
                spoilt += u64::from(pairing.forget_open());
                continue;
            }
        };
        // The counter has 32 bits: it may wrap around once between two probes.
        now += u64::from(last.map_or(0, |last| count.wrapping_sub(last)));
        last = Some(count);
        let Some((scenario, edge)) = sites.of(site) else { continue };
        let at = |count| Moment { count, instructions: 0, ticks: 0, interrupts: 0 };
        match edge {
            _ if scenario.as_str() != id => {
                spent += if edge == Edge::Begin { cost.begin } else { cost.end };
            }
            // Counting starts here: the cost of both ends is subtracted at the beginning.
            Edge::Begin => {
                pairing.hit(span, edge, at((now + cost.ends).saturating_sub(spent)));
            }
            Edge::End => {
                pairing.hit(span, edge, at(now.saturating_sub(spent)));
            }
        }
    }
    (pairing, spoilt)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rtmark_model::{Counted, Expected, Overhead};

    pub(crate) const CALIBRATION: &str = "@+ 00000010 00000100 00000020 0000010c\n\
        @  00000011 00000200 00000071 00000210 00000021 00000230\n\
        @  00000012 00000300 00000081 00000310 00000022 00000340\n";

    pub(crate) fn records() -> Vec<Record> {
        let record = |name: &str, kind| Record { kind, scenario: name.parse().expect("good") };
        vec![
            record("rtmark.empty", Kind::Begin(0x10)),
            record("rtmark.empty", Kind::End(0x20)),
            record("rtmark.begin", Kind::Begin(0x11)),
            record("rtmark.begin", Kind::End(0x21)),
            record("rtmark.end", Kind::Begin(0x12)),
            record("rtmark.end", Kind::End(0x22)),
            record("rtmark.other", Kind::Begin(0x71)),
            record("rtmark.other", Kind::End(0x81)),
            record("a.b", Kind::Begin(0x30)),
            record("a.b", Kind::End(0x40)),
            record("a.c", Kind::BeginAtPend(16)),
            record("a.c", Kind::End(0x50)),
            record("a.e", Kind::BeginAtReset),
            record("a.e", Kind::End(0x60)),
        ]
    }

    fn span() -> Span {
        Span {
            from: String::new(),
            to: String::new(),
            counted: Counted::All,
            switches: 0,
            overhead: Overhead::None,
            ticks: Expected::Any,
            interrupts: Expected::Any,
        }
    }

    /// With the sum at its end.
    pub(crate) fn ended(lines: &str, lost: u32) -> String {
        let logged = lines.lines().filter(|line| line.starts_with('@'));
        let words = logged.flat_map(|line| line[2..].split_whitespace());
        let words = words.map(|word| u32::from_str_radix(word, 16).expect("hexadecimal"));
        let sum = words.chain([lost]).fold(0_u32, |sum, w| sum.rotate_left(1).wrapping_add(w));
        format!("{lines}@. {lost:08x} {sum:08x}\n")
    }

    fn of(lines: &str) -> Result<(Vec<u64>, Unpaired, Cost), LogError> {
        let log = Log::read(lines.as_bytes())?;
        let id = "a.b".parse().expect("good");
        let clocking = samples(&log, &records(), &span(), &id)?;
        let values = clocking.samples.iter().map(|(value, _)| value).collect();
        assert!(clocking.spoilt <= clocking.unpaired.restarted);
        Ok((values, clocking.unpaired, clocking.cost))
    }

    #[test]
    fn counts_are_converted_across_counter_overflow() {
        let probe = |count| LogEntry::Probe(0x30, count);
        let events = vec![probe(0x100), probe(0xFFFF_FFFE), LogEntry::Printed, probe(2)];
        let mut log = Log { events, ..Log::default() };
        log.convert_counts(|count| count / 2);
        let halves = [probe(0x80), probe(0x7FFF_FFFF), LogEntry::Printed, probe(0x8000_0001)];
        assert_eq!(log.events, halves);
    }

    #[test]
    fn the_cost_of_probes_is_subtracted() {
        let lines = format!(
            "{CALIBRATION}@+ 00000031 00001000 00000041 00001020\n\
             @  00000031 fffffff0 00000071 fffffff8 00000081 00000008 00000041 00000100\n"
        );
        let lines = ended(&lines, 0) + "a.b ok\n";
        let (samples, unpaired, cost) = of(&lines).expect("good");
        assert_eq!(cost, Cost { ends: 0xC, begin: 0x24, end: 0x34 });
        // The second sample spans the counter's wrap-around and contains a begin and an end probe.
        assert_eq!(samples, [0x20 - 0xC, 0x110 - 0xC - 0x24 - 0x34]);
        assert_eq!(unpaired, Unpaired::default());
        assert_eq!(Log::read(lines.as_bytes()).expect("good").console, b"a.b ok\n");
    }

    #[test]
    fn samples_in_which_the_log_was_printed_are_dropped() {
        let lines = format!(
            "{CALIBRATION}@  00000030 00001000\n@+ 00000040 00009000 00000030 00009100 00000040 00009110\n"
        );
        let (samples, unpaired, _) = of(&ended(&lines, 0)).expect("good");
        assert_eq!(samples, [0x10 - 0xC]);
        assert_eq!((unpaired.restarted, unpaired.ends), (1, 0));
    }

    #[test]
    fn unusable_logs_are_reported() {
        let cut = of(CALIBRATION).expect_err("no end");
        assert_eq!(cut, LogError::Cut);
        let lost = of(&ended(CALIBRATION, 10)).expect_err("lost");
        assert_eq!(lost.to_string(), "10 probes were reached after the log was full");
        let none = of(&ended("@+ 00000030 00000001\n", 0)).expect_err("none");
        assert_eq!(none, LogError::NoCalibration("rtmark.empty"));
        for bad in ["@? 1\n", "@+ 1\n", "@. \n", "@. 0\n", "@! \n", "@+ x y\n", "@\n"] {
            assert!(matches!(Log::read(bad.as_bytes()), Err(LogError::Line(_))), "{bad}");
        }
    }

    #[test]
    fn a_run_is_found_among_others_and_checked() {
        let run = |count: u32| ended(&format!("@^ 00000007\n@+ 00000030 {count:08x}\n"), 0);
        let read = |text: &str| Log::read(text.as_bytes());
        // The tail of an earlier run, a run that was reset, a complete run, and one that has just
        // begun.
        let text =
            format!("0 00000012\nx\n@^ 00000007\n@+ 00000030 0000\n{}a.b ok\n@! 0\n", run(5));
        let log = read(&text).expect("one is whole");
        assert_eq!((log.select, log.status), (Some(7), Some(0)));
        assert_eq!(log.events, [LogEntry::Probe(0x30, 5)]);
        assert_eq!(log.console, b"a.b ok\n");
        let begun = format!("{text}\n@^ 00000007\n@+ 0000");
        assert_eq!(read(&begun).expect("the whole one").events, log.events);
        let two = read(&(run(4) + &run(5))).expect("both are whole");
        assert_eq!(two.events, log.events, "the last one");
        let two_and_begun = format!("{}{}@^ 00000007\n", run(4), run(5));
        assert_eq!(read(&two_and_begun).expect("two are whole").events, log.events);
        let spoilt = run(5).replace("00000005", "00000006");
        assert!(matches!(read(&spoilt), Err(LogError::Spoilt { .. })), "a digit was changed");
        let shorter = run(5).replace("@+ 00000030 00000005\n", "");
        assert!(matches!(read(&shorter), Err(LogError::Spoilt { .. })), "a line was lost");
        assert_eq!(log.unknown_probe(&records()), None);
        assert_eq!(log.unknown_probe(&records()[..6]), Some(0x30));
    }

    #[test]
    fn exceptions_cannot_be_clocked() {
        let can = |id: &str| can_be_clocked(&records(), &id.parse().expect("good"));
        assert!(can("a.b"));
        assert!(!can("a.c"));
        assert!(!can("a.d"));
        assert!(!can("a.e"));
    }
}
