//! Curves: how speed depends on other things than a program's instructions.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};

use crate::bare::{From, INTERRUPTS, KINDS, M4F, POLLS, REWRITES, Speed, TARGETS};
use crate::worst;

/// How often each run is repeated.
const ROUNDS: usize = 5;
/// The numbers of functions in generated programs.
const FUNCTIONS: [usize; 5] = [1, 10, 100, 300, 1000];
/// The lengths of the windows that are searched for the worst moment.
const WINDOWS: [u64; 4] = [10_000, 100_000, 400_000, 1_600_000];
const ICOUNT: &[&str] = &["-icount", "shift=0"];

/// The programs that run: this one, and optionally one that was built before a change.
pub struct Programs {
    now: PathBuf,
    before: Option<PathBuf>,
}

impl Programs {
    pub fn new(before: Option<PathBuf>) -> Result<Self, Box<dyn Error>> {
        Ok(Self { now: std::env::current_exe()?, before })
    }

    fn all(&self) -> impl Iterator<Item = &Path> {
        self.before.iter().chain([&self.now]).map(PathBuf::as_path)
    }

    /// Returns the header with the given columns for each program.
    fn head(&self, first: &[&str], what: &[&str], last: &[&str]) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        let mut head: Vec<_> = first.iter().map(ToString::to_string).collect();
        let names = self.before.iter().map(|_| "before ").chain([""]);
        head.extend(names.flat_map(|name| what.iter().map(move |what| format!("{name}{what}"))));
        head.extend(last.iter().map(ToString::to_string));
        table.set_header(head);
        table
    }
}

fn show(out: &mut impl Write, title: &str, table: &mut Table) -> Result<(), Box<dyn Error>> {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\n{title}\n{table}")?;
    Ok(())
}

fn speed(Speed { mips, .. }: Speed) -> String {
    if mips < 10.0 { format!("{mips:.2}") } else { format!("{mips:.0}") }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 / f64::from(1 << 20))
}

/// Measures speed against the size of the code.
pub fn code(
    out: &mut impl Write,
    folder: &Path,
    programs: &Programs,
) -> Result<(), Box<dyn Error>> {
    let mut table = programs.head(
        &["functions", "code", "KiB"],
        &["rtmark", "of one", "MiB"],
        &["QEMU -icount"],
    );
    for from in From::PLAIN {
        let mut one = [0.0; 2];
        for functions in FUNCTIONS {
            let program = M4F.generate(folder, functions)?;
            let kibibytes = program.code_bytes()?.div_ceil(1024);
            let mut row = vec![functions.to_string(), from.name().into(), kibibytes.to_string()];
            let mut instructions = 0;
            for (at, simulator) in programs.all().enumerate() {
                let run = program.run(simulator, from, if functions > 100 { 2 } else { ROUNDS })?;
                if functions == 1 {
                    one[at] = run.mips;
                }
                let of_one = format!("{:.2}", run.mips / one[at]);
                row.extend([speed(run), of_one, mebibytes(run.bytes)]);
                instructions = run.instructions;
            }
            let seconds = program.emulate(ICOUNT, 2)?;
            row.push(format!("{:.0}", instructions as f64 / seconds / 1e6));
            table.add_row(row);
        }
    }
    show(out, "speed against the size of the code, million instructions a second", &mut table)
}

/// Measures programs of other kinds, on every core and from every kind of memory.
pub fn kinds(
    out: &mut impl Write,
    folder: &Path,
    programs: &Programs,
) -> Result<(), Box<dyn Error>> {
    let last = &["QEMU -icount", "ratio"];
    let mut table = programs.head(&["program", "core", "code"], &["rtmark"], last);
    let (mut logarithms, mut count) = (0.0, 0.0);
    for target in &TARGETS {
        for (name, source, about) in KINDS {
            let program = target.compile(folder, name, source)?;
            let theirs = program.emulate(ICOUNT, ROUNDS)?;
            for &from in target.memories() {
                let title = format!("{name}: {about}");
                let mut row = vec![title, target.core.into(), from.name().into()];
                let mut ratio = 0.0;
                for simulator in programs.all() {
                    let run = program.run(simulator, from, ROUNDS)?;
                    row.push(speed(run));
                    ratio = run.mips / (run.instructions as f64 / theirs / 1e6);
                }
                row.push(format!("{theirs:.2} s"));
                row.push(format!("{ratio:.2}×"));
                logarithms += f64::ln(ratio);
                count += 1.0;
                table.add_row(row);
            }
        }
    }
    let mean = f64::exp(logarithms / count);
    show(out, "programs that were not tuned for, million instructions a second", &mut table)?;
    writeln!(out, "geometric mean of the ratios: {mean:.2}×")?;
    Ok(())
}

/// Measures interrupts, polls and code that is overwritten.
pub fn events(
    out: &mut impl Write,
    folder: &Path,
    programs: &Programs,
) -> Result<(), Box<dyn Error>> {
    let mut table = programs.head(&["program", "code"], &["rtmark"], &[]);
    let kinds = [
        ("interrupts", INTERRUPTS, "SysTick every 500 cycles"),
        ("polls", POLLS, "a timer that is polled"),
        ("rewrites", REWRITES, "a function written anew before each call"),
    ];
    for (name, source, about) in kinds {
        let program = M4F.compile(folder, name, source)?;
        for from in From::PLAIN {
            let mut row = vec![about.to_owned(), from.name().into()];
            for simulator in programs.all() {
                row.push(speed(program.run(simulator, from, ROUNDS)?));
            }
            table.add_row(row);
        }
    }
    show(out, "events, million instructions a second", &mut table)
}

/// Measures the search for the worst moment against the length of the window.
pub fn windows(out: &mut impl Write, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["window in cycles", "thousand moments a second"]);
    let elf = std::fs::read(M4F.generate(folder, 100)?.elf)?;
    for cycles in WINDOWS {
        let (points, _) = worst::points_per_second(&M4F.soc(From::Flash)?, &elf, cycles)?;
        table.add_row([cycles.to_string(), format!("{:.0}", points / 1e3)]);
    }
    show(out, "worst: one core, 100 generated functions", &mut table)
}
