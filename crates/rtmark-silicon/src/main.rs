//! Scores the timing models against cycle counts measured on real chips.
//!
//! Reads the files in the directory given as argument or by `RTMARK_SILICON` (default
//! `shared/reference/silicon` beside the project), runs every window on the simulator with the
//! settings of its test, and prints how many measurements the model gets exactly right, how many
//! within one cycle, the bias and the mean error, by chip, memory of the code, setting, and kind of
//! test. Rules are fitted on one half of the tests and scored on the other; both are shown. Windows
//! that ran with a cache are shown separately, since their cycles depend on what it held.
//!
//! `--ablate` leaves out each rule of the pipeline model in turn and shows what changes. `--missed
//! TEXT` lists the windows that the model misses and whose chip, setting, half or test contains the
//! text. `rtl` scores only the Hazard3, against traces of its RTL; with a text it lists the
//! programs that differ and whose name contains it. The measurements are not part of the project;
//! if they are missing, the program says so and ends.

mod ablation;
mod chip;
mod corpus;
mod exceptions;
mod replay;
mod rtl;
mod score;
mod settings;
mod test;

use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::chip::{CHIPS, Measurements};
use crate::settings::Settings;
use crate::test::Half;

type Failure = Box<dyn Error + Send + Sync>;

const HELP: &str = "usage: rtmark-silicon [--ablate | --missed TEXT | rtl [TEXT]] [FOLDER]";

/// What to print.
enum Request {
    Scores,
    Ablation,
    /// The missed windows whose description contains a text.
    Missed(String),
}

/// Returns the directory of the measurements: as named, or beside the project.
fn folder(named: Option<OsString>) -> PathBuf {
    named.or_else(|| std::env::var_os("RTMARK_SILICON")).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/silicon"),
        PathBuf::from,
    )
}

/// Parses the command line: the request, and the directory of the measurements.
fn request() -> Result<(Request, PathBuf), Failure> {
    let mut arguments = std::env::args_os().skip(1);
    let Some(first) = arguments.next() else { return Ok((Request::Scores, folder(None))) };
    match first.to_str() {
        Some("--ablate") => Ok((Request::Ablation, folder(arguments.next()))),
        Some("--missed") => {
            let text =
                arguments.next().ok_or("--missed lacks a text; give one, even an empty one")?;
            let text = text.to_string_lossy().into_owned();
            Ok((Request::Missed(text), folder(arguments.next())))
        }
        Some(option) if option.starts_with('-') => {
            Err(format!("unknown option {option}; {HELP}").into())
        }
        _ => Ok((Request::Scores, folder(Some(first)))),
    }
}

fn read(folder: &Path) -> Result<Vec<Measurements>, Failure> {
    let settings = Settings::read(folder)?;
    CHIPS.par_iter().map(|chip| chip.read(folder, &settings)).collect()
}

/// Prints the missed windows whose description contains a text: the chip's cycles, the model's, and
/// the opcodes.
fn print_missed(
    out: &mut impl std::io::Write,
    measured: &Measurements,
    text: &str,
) -> Result<(), Failure> {
    let prepared = measured.chip.prepare(None)?;
    for sample in &measured.samples {
        let row = measured.row(sample);
        let half = match Half::of(&row.test) {
            Half::Fitting => "fitting",
            Half::Scoring => "scoring",
        };
        let group = score::Group::of(measured, sample);
        let described = format!("{half} {group}: {} {}", row.test, row.number);
        if !described.contains(text) {
            continue;
        }
        let model = match prepared.cycles(row, sample.setting) {
            Some(model) if model == row.cycles => continue,
            Some(model) => format!("{model} modelled"),
            None => "not run".to_owned(),
        };
        let steps = row.steps.iter().map(|(address, opcode, _)| format!("{address}:{opcode}"));
        let steps = steps.collect::<Vec<_>>().join(" ");
        let (cycles, count) = (row.cycles, sample.count);
        writeln!(out, "{described}: {cycles} measured, {model}, {count} times: {steps}")?;
    }
    Ok(())
}

/// Prints all scores.
fn print_scores(out: &mut impl std::io::Write, chips: &[Measurements]) -> Result<(), Failure> {
    let (mut scores, mut bounds) = (score::Scores::new(), std::collections::BTreeMap::new());
    for measured in chips {
        scores.extend(score::scores(measured)?);
        bounds.extend(score::bounds(measured)?);
    }
    writeln!(out, "{}", score::score_table(&scores))?;
    writeln!(
        out,
        "With the cache on: measurements that take as long as, fewer or more cycles than the model\n\
         gives for a cache that holds everything to one that holds nothing.\n{}",
        score::bounds_table(&bounds)
    )?;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == exceptions::WORD).is_some() {
        return exceptions::tell(&folder(None), exceptions::missed(arguments).as_deref());
    }
    if arguments.next_if(|argument| argument == rtl::WORD).is_some() {
        let text = arguments.next().map(|text| text.to_string_lossy().into_owned());
        return rtl::tell(&folder(arguments.next()), text.as_deref());
    }
    let (request, folder) = request()?;
    let mut out = std::io::stdout().lock();
    if !folder.is_dir() {
        writeln!(
            out,
            "no silicon measurements in {}: nothing scored (RTMARK_SILICON names another place)",
            folder.display()
        )?;
        return Ok(());
    }
    let chips = read(&folder)?;
    match request {
        Request::Scores => {
            print_scores(&mut out, &chips)?;
            write!(out, "{}", ablation::tell(&chips)?)?;
            out.flush()?;
            drop(out);
            exceptions::tell(&folder, None)?;
            return rtl::tell(&folder, None);
        }
        Request::Ablation => write!(out, "{}", ablation::tell(&chips)?)?,
        Request::Missed(text) => {
            chips.iter().try_for_each(|measured| print_missed(&mut out, measured, &text))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_match_those_in_the_core_files() {
        let folder = folder(None);
        if !folder.is_dir() {
            let mut say = std::io::stderr();
            writeln!(say, "not scored: no measurements in {}", folder.display()).expect("told");
            return;
        }
        for measured in read(&folder).expect("readable") {
            let core = measured.chip.soc().expect("valid").core;
            let scores = score::scores(&measured).expect("scored");
            let said = core.scores().iter().filter(|said| said.chip == measured.chip.name);
            for said in said {
                let name = format!("{} {} {}", said.chip, said.code, said.setting);
                let found = scores.iter().find(|(group, _)| {
                    group.place == said.code && group.setting.to_string() == said.setting
                });
                let (_, (halves, _)) = found.unwrap_or_else(|| panic!("nothing of {name}"));
                let score = halves.all;
                assert_eq!(score.measurements, u64::from(said.measurements), "{name}");
                let near = |said: u16, is: f64| (f64::from(said) / 10.0 - is).abs() < 0.06;
                let (exact, within) = (score.exact_percent(), score.within_one_percent());
                assert!(near(said.exact, exact), "{name}: {exact:.2} % exact, not {said:?}");
                assert!(near(said.within_one, within), "{name}: {within:.2} %, not {said:?}");
            }
        }
    }
}
