//! Turns judged rows into answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rtmark_model::{
    Answer, Backend, Catalogue, Flag, FlagKind, KernelId, Key, LONGEST_ID, LogSource, Provenance,
    Readings, Sampled, ScenarioId, Series, Suite, UNSTATED, Unpaired,
};
use rtmark_units::Hertz;

use crate::log::Log;
use crate::row::{Figures, Row, Section, StatedFacts};
use crate::spans::Spans;
use crate::{GivenFacts, Imported, Options};

/// The length to which names from a log are truncated, in characters.
const LONGEST_NAME: usize = 200;

/// Returns all answers at once; each section has a source of its own, or all share one.
pub fn finish(
    log: Log,
    lines: u64,
    sources: &[String],
    catalogue: &Catalogue,
    options: &Options,
) -> Imported {
    let Log { rows, sections, warnings, suppressed_warnings, unreadable, .. } = log;
    let mut imported =
        Imported { warnings, suppressed_warnings, unreadable, lines, ..Imported::default() };
    for row in &rows {
        *imported.suites.entry(row.suite).or_insert(0) += 1;
    }
    imported.answers = answers(&rows, &sections, sources, catalogue, options).collect();
    imported
}

/// Returns the rows as answers, each made on demand.
pub fn answers<'a>(
    rows: &'a [Row],
    sections: &'a [Section],
    sources: &'a [String],
    catalogue: &'a Catalogue,
    options: &'a Options,
) -> impl Iterator<Item = Answer> + 'a {
    let spans = Spans::known();
    let nothing = Section::default();
    rows.iter().map(move |row| {
        let section = sections.get(row.section).unwrap_or(&nothing);
        let name = sources.get(row.section).or(sources.first()).map_or("", String::as_str);
        answer(row.clone(), section, name, &spans, catalogue, options)
    })
}

fn answer(
    row: Row,
    section: &Section,
    file: &str,
    spans: &Spans,
    catalogue: &Catalogue,
    options: &Options,
) -> Answer {
    let given = &options.given;
    let stated = row.stated.map(|stated| *stated).unwrap_or_default();
    let described = spans.describe(row.suite, &row.name, catalogue);
    let mut flags = row.flags;
    let suites_own = spans.kernel(row.suite);
    let scenario = stated.scenario.clone();
    let scenario = scenario.unwrap_or_else(|| scenario_of(row.suite, &described.name));
    let key = key_of(&stated, section, suites_own, given, scenario);
    let core = first([&stated.core, &section.core, &given.core]);
    let twin = row.twin.filter(|_| row.basis == rtmark_model::Basis::Cycles);
    let readings = match row.figures {
        Figures::Absent => {
            let reason = format!("{} says n/a, in line {} of {}", row.suite, row.line, short(file));
            return Answer::NotApplicable { key, reason };
        }
        Figures::Samples(samples, resolution) => Readings::Sampled(Sampled { resolution, samples }),
        Figures::Summary(mut summary) => {
            // The time printed beside the cycles, unless the clock is known to have been another one.
            summary.ns = twin
                .filter(|&(cycles, ns)| {
                    let by_clock = given.clock.map(|clock| cycles * 1e9 / f64::from(clock.0));
                    by_clock.is_none_or(|own| (own - ns).abs() <= 1.0 + own * 0.03)
                })
                .filter(|(cycles, _)| {
                    // Of several figures, the one that represents the row.
                    summary.typical().is_some_and(|(_, value)| (value - cycles).abs() < 0.5)
                })
                .map(|(_, ns)| ns);
            Readings::Summarised(summary)
        }
    };
    let known_clock = given.clock.map(|clock| clock.0).or(stated.clock);
    let clock = known_clock.or_else(|| implied_clock(section, &mut flags));
    let clock = clock.or(given.fallback_clock.map(|clock| clock.0));
    let of_catalogue = || {
        let scenario = stated.catalogue_span.then(|| catalogue.get(&key.scenario)).flatten()?;
        Some(scenario.span.clone())
    };
    let span = stated.span.clone().or_else(of_catalogue).unwrap_or(described.span);
    let mut facts = section.facts.clone();
    facts.extend(row.facts);
    if described.name != row.name {
        facts.insert("printed_as".into(), row.name);
    }
    Answer::Measured(Box::new(Series {
        key,
        basis: row.basis,
        span,
        clock: Hertz(clock.unwrap_or(0)),
        readings,
        executed: None,
        emptied: None,
        placements: Vec::new(),
        masked: None,
        held: None,
        no_multiple: None,
        unpaired: Unpaired::default(),
        facts: facts
            .into_iter()
            .map(|(key, text)| (short(&key), short(&text)))
            .collect::<BTreeMap<_, _>>(),
        flags,
        provenance: Provenance {
            rtmark: options.rtmark.clone(),
            core: core.unwrap_or_default(),
            compiler: section.compiler.clone(),
            settings: section.settings.clone(),
            log: Some(LogSource {
                file: short(file),
                line: row.line,
                suite: row.suite,
                row: short(&described.name),
                near: described.near,
            }),
            ..Provenance::default()
        },
    }))
}

/// Returns the key of a row. Its own statements come first, then those of its section, then the
/// suite's, then the user's.
fn key_of(
    stated: &StatedFacts,
    section: &Section,
    suites_own: Option<&str>,
    given: &GivenFacts,
    scenario: ScenarioId,
) -> Key {
    let kernel = stated.kernel.as_deref().or(section.kernel.as_deref()).or(suites_own).map(id_of);
    let kernel = kernel.or_else(|| given.kernel.clone()).unwrap_or_else(|| id_of("unknown"));
    let or_unstated = |text: Option<String>| text.unwrap_or_else(|| UNSTATED.to_owned());
    Key {
        soc: or_unstated(first([&stated.soc, &section.soc, &given.soc])),
        kernel,
        version: or_unstated(first([&stated.version, &section.version, &given.version])),
        profile: or_unstated(first([&stated.profile, &None, &given.profile])),
        scenario,
        backend: Backend::Log,
    }
}

fn first(texts: [&Option<String>; 3]) -> Option<String> {
    texts.into_iter().flatten().next().map(|text| short(text))
}

/// Returns the clock implied by a section's figures, in hertz; an impossible one becomes a flag.
fn implied_clock(section: &Section, flags: &mut Vec<Flag>) -> Option<u32> {
    let (clock, _) = section.clock?;
    if clock >= f64::from(u32::MAX) + 1.0 {
        let why = format!("a clock of {clock:.0} Hz is impossible");
        flags.push(Flag::new(FlagKind::ImpossibleClock, why));
        return None;
    }
    Some(clock.round() as u32).filter(|clock| *clock > 0)
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

/// Replaces all characters that are not allowed in a name. Letters, digits, `_`, `-` and those in
/// `besides` are.
fn plain(text: &str, besides: &[char]) -> String {
    let mut name = String::new();
    for character in text.chars().take(4 * LONGEST_ID) {
        match character.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-') => {
                name.push(c);
            }
            '.' if name.ends_with('.') => {}
            c if besides.contains(&c) => name.push(c),
            _ if !name.ends_with(['_', '.']) => name.push('_'),
            _ => {}
        }
    }
    name.trim_end_matches(['_', '.']).trim_start_matches(['_', '.']).to_owned()
}

fn id_of(kernel: &str) -> KernelId {
    let name: String = plain(kernel, &[]).chars().take(48).collect();
    let name =
        if name.starts_with(|c: char| c.is_ascii_lowercase()) { name } else { format!("k{name}") };
    name.parse().unwrap_or_else(|_| id_of("unknown"))
}

/// Returns the scenario id of a foreign row: its suite and its name; a long name is shortened to its
/// beginning and a digest of the whole.
fn scenario_of(suite: Suite, row: &str) -> ScenarioId {
    let name = plain(row, &['+', '.']);
    let mut id = format!("{suite}.{}", if name.is_empty() { "row" } else { &name });
    let changed = id.len() > LONGEST_ID || row.chars().count() > 4 * LONGEST_ID;
    if changed {
        let digest = row.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        id.truncate(LONGEST_ID - 17);
        let kept = id.trim_end_matches(['.', '_']).len();
        id.truncate(kept);
        let _ = write!(id, "-{digest:016x}");
    }
    id.parse().unwrap_or_else(|_| scenario_of(suite, "row"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name() {
        let name = |row: &str| scenario_of(Suite::RtosBenchmark, row).to_string();
        assert_eq!(
            name("Thread: Start  (context switch)"),
            "rtos-benchmark.thread_start_context_switch"
        );
        assert_eq!(name(""), "rtos-benchmark.row");
        assert_eq!(name("...\u{1b}[2J"), "rtos-benchmark.2j");
        assert_eq!(name("a..b."), "rtos-benchmark.a.b");
        let (one, two) = (name(&"x".repeat(9999)), name(&("x".repeat(9998) + "y")));
        assert!(one.len() <= LONGEST_ID && one != two, "{one} {two}");
        assert_eq!(
            scenario_of(Suite::ZephyrLatencyMeasure, "semaphore.give.wake+ctx.k_to_k").as_str(),
            "zephyr-latency-measure.semaphore.give.wake+ctx.k_to_k"
        );
        assert_eq!(id_of("<script>").as_str(), "script");
        assert_eq!(id_of("9front").as_str(), "k9front");
        assert_eq!(id_of("\u{1f600}").as_str(), "k");
    }
}
