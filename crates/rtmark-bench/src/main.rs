//! Compares the simulator's speed with QEMU's.
//!
//! The same images run here and on QEMU in three modes, in turn, several times, each run in a process
//! of its own. What counts is the processor time of the fastest round, since other work on the machine
//! can only slow a round down. QEMU's start-up time is measured in each mode with an image that ends at
//! once, and subtracted. Absolute figures only describe this computer; the ratios are what matters.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use rtmark_firmware::probes::{self, SECTION};
use rtmark_firmware::{Builder, SettingChanges, Tree, select_in_elf};
use rtmark_sim::{Cycles, Image, Machine, Soc, Stop};

mod bare;
mod calls;
mod curves;
mod generate;
mod process;
mod worst;

use curves::Programs;
use process::{Emulator, RUN, emulate, measure, simulate};

/// The number of rounds for images, and for short ones, of which QEMU's start is a large part.
const ROUNDS: usize = 5;
const SHORT_ROUNDS: usize = 20;
/// Fewer instructions than this are short.
const SHORT: u64 = 100_000_000;
/// The number of rounds for execution of one instruction at a time, which is slow.
const SLOW_ROUNDS: usize = 2;
/// The number of repetitions for parts of a run.
const PARTS: usize = 200;
/// Longer than any of the images runs.
const BUDGET: Cycles = Cycles(10_000_000_000);

const STM32C031: &str = include_str!("../../../socs/stm32c031.toml");
const STM32F405: &str = include_str!("../../../socs/stm32f405.toml");

/// The QEMU machine that runs images for chips.
const MACHINE: Emulator = Emulator::arm("netduinoplus2");

/// Programs for the benchmark alone, in a firmware tree of their own.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/firmware");

/// The loads: a soc, a kernel, a scenario, and the kind of code.
const LOADS: [(&str, &str, &str, &str); 9] = [
    (STM32C031, "programs", "prime.search", "64-bit division in software"),
    (STM32C031, "freertos", "workload.prime.two_tasks", "the same, a task switch per division"),
    (STM32C031, "freertos", "queue.receive.poll_empty", "kernel calls"),
    (STM32F405, "programs", "prime.search", "64-bit division by UDIV"),
    (STM32F405, "freertos", "workload.prime.two_tasks", "the same, a task switch per division"),
    (STM32F405, "embassy", "workload.prime.two_tasks", "the same, async tasks in Rust"),
    (STM32C031, "programs", "integer.mixed", "list, matrix, state machine, checksum"),
    (STM32F405, "programs", "integer.mixed", "list, matrix, state machine, checksum"),
    (STM32F405, "programs", "float.control", "single-precision control loop"),
];

/// The ways to run an image on QEMU: names and arguments.
const QEMU_MODES: [(&str, &[&str]); 3] = [
    ("plain", &[]),
    ("-icount shift=0", &["-icount", "shift=0"]),
    ("-singlestep", &["-singlestep"]),
];

/// An image with its scenario selected, ready to run on both.
struct Load {
    name: String,
    about: &'static str,
    soc: Soc,
    elf: Vec<u8>,
    path: PathBuf,
    soc_path: PathBuf,
}

/// Builds the loads of some kernels.
fn loads(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Load>, Box<dyn Error>> {
    let builder = Builder::new(Tree::find(None)?);
    let mut kernels = builder.tree().kernels()?;
    kernels.extend(Tree::find(Some(Path::new(PROGRAMS)))?.kernels()?);
    let mut loads = Vec::new();
    for (soc_text, kernel, scenario, about) in LOADS.into_iter().filter(|load| wanted(load.1)) {
        let soc = Soc::from_toml(soc_text)?;
        let kernel = kernels
            .iter()
            .find(|known| known.manifest.id.as_str() == kernel)
            .ok_or("a kernel of the list is missing from firmware/")?;
        let images = builder.build(kernel, &soc, &SettingChanges::default())?;
        let group = scenario.split('.').next().unwrap_or(scenario);
        let elf = &images.get(group).ok_or("the kernel has no such image")?.elf;
        let image = Image::from_elf(elf)?;
        let records = probes::parse(image.section(SECTION).unwrap_or_default())?;
        let word = probes::selecting(&records, &scenario.parse()?);
        let word = word.ok_or("the image has no such scenario")?;
        let elf = select_in_elf(elf, word).ok_or("the image has no word to select by")?;
        let path = folder.join(format!("{}.elf", loads.len()));
        std::fs::write(&path, &elf)?;
        let soc_path = folder.join(format!("{}.toml", soc.name));
        std::fs::write(&soc_path, soc_text)?;
        let name = format!("{} {} {scenario}", soc.name, kernel.manifest.id);
        loads.push(Load { name, about, soc, elf, path, soc_path });
    }
    Ok(loads)
}

/// Runs one image to its end, and prints how many instructions it executed.
fn run_one(elf: &Path, soc: &Path) -> Result<(), Box<dyn Error>> {
    let soc = Soc::from_toml(&std::fs::read_to_string(soc)?)?;
    let image = Image::from_elf(&std::fs::read(elf)?)?;
    let mut machine = Machine::new(&soc);
    machine.load(&image)?;
    match machine.run(BUDGET) {
        Stop::Exit(status) if status.0 == 0 => {}
        other => return Err(format!("{}: {other:?}", elf.display()).into()),
    }
    writeln!(std::io::stdout(), "{}", machine.instructions().0)?;
    Ok(())
}

/// Builds a program that does nothing but end, to determine QEMU's start-up time.
fn empty_program(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let source = folder.join("end.S");
    let path = folder.join("end.elf");
    std::fs::write(&source, include_str!("end.S"))?;
    let mut compile = Command::new("arm-none-eabi-gcc");
    compile.args([
        "-mcpu=cortex-m0",
        "-nostdlib",
        "-Ttext=0x08000000",
        "-Wl,--build-id=none",
        "-o",
    ]);
    measure(compile.arg(&path).arg(&source))?;
    Ok(path)
}

/// Returns the fastest of several runs of an operation.
fn quickest(
    mut part: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    (0..PARTS).try_fold(Duration::MAX, |best, _| {
        let start = Instant::now();
        part()?;
        Ok(best.min(start.elapsed()))
    })
}

/// Measures the time from a file's bytes to the first instruction.
fn start(load: &Load) -> Result<Duration, Box<dyn Error>> {
    quickest(|| {
        let mut machine = Machine::new(&load.soc);
        machine.load(&Image::from_elf(&load.elf)?)?;
        machine.run(Cycles(1));
        Ok(())
    })
}

/// Measures the time to clone a machine that has run for a while, with its RAM or another size.
fn clone(load: &Load, ram: Option<u32>) -> Result<Duration, Box<dyn Error>> {
    let mut soc = load.soc.clone();
    for memory in soc.memories.iter_mut().filter(|memory| memory.name == "RAM") {
        memory.size = ram.unwrap_or(memory.size);
    }
    let mut machine = Machine::new(&soc);
    machine.load(&Image::from_elf(&load.elf)?)?;
    machine.run(Cycles(1_000_000));
    quickest(|| {
        std::hint::black_box(machine.clone());
        Ok(())
    })
}

/// The parts of the benchmark, by name: all of them if none is named.
const SECTIONS: [&str; 6] = ["images", "code", "programs", "events", "worst", "calls"];
/// The argument with another build of this program to run beside this one.
const BESIDE: &str = "--beside";

/// What `--help` prints.
const HELP: &str = "\
Compare the simulator's speed with QEMU's, in processor time

Usage: rtmark-bench [SECTION]... [--beside PROGRAM]

Sections, all of them if none is named:
  images    kernels' images on both, start and copy of a machine
  code      speed by the size of the code
  programs  programs of other kinds, on every core and from every kind of memory
  events    interrupts, polls, and code that is overwritten
  worst     the search for the worst moment, by the size of its window
  calls     observed runs, as of `rtmark calls`

Options:
  --beside PROGRAM  another build of this program to run in turn with this one
  -h, --help        print this help
";

/// That of rtmark itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(std::io::stdout().write_all(HELP.as_bytes())?);
    }
    if let [run, elf, soc, manner @ ..] = arguments.as_slice()
        && run == RUN
    {
        let (elf, soc) = (Path::new(elf), Path::new(soc));
        return match manner.first() {
            Some(manner) => calls::run_one(elf, soc, &manner.to_string_lossy()),
            None => run_one(elf, soc),
        };
    }
    let (mut sections, mut before) = (Vec::new(), None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == BESIDE {
            before = Some(PathBuf::from(arguments.next().ok_or("--beside names a program")?));
        } else if let Some(section) = SECTIONS.iter().find(|section| argument == *section) {
            sections.push(*section);
        } else {
            let known = SECTIONS.join(", ");
            return Err(format!("{}: name any of {known}", argument.display()).into());
        }
    }
    let wants = |section| sections.is_empty() || sections.contains(&section);
    let programs = Programs::new(before)?;
    let folder = tempfile::tempdir()?;
    let (folder, mut out) = (folder.path(), std::io::stdout());
    if wants("images") {
        bench()?;
    }
    if wants("code") {
        curves::code(&mut out, folder, &programs)?;
    }
    if wants("programs") {
        curves::kinds(&mut out, folder, &programs)?;
    }
    if wants("events") {
        curves::events(&mut out, folder, &programs)?;
    }
    if wants("worst") {
        curves::windows(&mut out, folder)?;
    }
    if wants("calls") {
        calls(&mut out, folder)?;
    }
    Ok(())
}

/// Measures `rtmark calls`, image by image.
fn calls(out: &mut impl Write, folder: &Path) -> Result<(), Box<dyn Error>> {
    let (own, known) = (std::env::current_exe()?, |kernel: &str| calls::KERNELS.contains(&kernel));
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["image", "plain", "observed", "ratio", "calls", "ratio"]);
    for load in loads(folder, known)? {
        let [plain, looped, calls] = calls::speeds(&own, &load)?;
        let slower = |speed: f64| format!("{:.1}×", plain / speed);
        table.add_row([
            load.name.clone(),
            format!("{plain:.0}"),
            format!("{looped:.1}"),
            slower(looped),
            format!("{calls:.1}"),
            slower(calls),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(
        out,
        "million guest instructions per second of processor time: plain, observed by nobody, and by `rtmark calls`; \
         ratio: how many times as long it takes"
    )?;
    writeln!(out, "{table}")?;
    Ok(())
}

fn bench() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let own = std::env::current_exe()?;
    let mut say = std::io::stderr().lock();
    writeln!(say, "building")?;
    let loads = loads(folder.path(), |_| true)?;
    let first = loads.first().ok_or("no loads")?;
    let empty = empty_program(folder.path())?;
    let mut starts = [f64::INFINITY; QEMU_MODES.len()];
    for ((_, arguments), start) in QEMU_MODES.iter().zip(&mut starts) {
        for _ in 0..SHORT_ROUNDS {
            *start = start.min(emulate(MACHINE, &empty, arguments)?);
        }
    }

    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    let mut head = vec!["image".to_owned(), "rtmark".to_owned(), "MiB".to_owned()];
    for (mode, _) in QEMU_MODES {
        head.extend([format!("QEMU {mode}"), "ratio".to_owned()]);
    }
    table.set_header(head);
    for load in &loads {
        writeln!(say, "{}", load.name)?;
        let mut ours = f64::INFINITY;
        let mut theirs = [f64::INFINITY; QEMU_MODES.len()];
        let (mut instructions, mut bytes) = (0, 0);
        let mut rounds = 0..SHORT_ROUNDS;
        while let Some(round) = rounds.next() {
            let (run, executed) = simulate(&own, &load.path, &load.soc_path)?;
            ours = ours.min(run.seconds);
            bytes = bytes.max(run.bytes);
            instructions = executed;
            if instructions >= SHORT {
                rounds.end = ROUNDS;
            }
            for ((mode, arguments), best) in QEMU_MODES.iter().zip(&mut theirs) {
                let often = instructions < SHORT || *mode != "-singlestep";
                if often || round < SLOW_ROUNDS {
                    *best = best.min(emulate(MACHINE, &load.path, arguments)?);
                }
            }
        }
        for (best, start) in theirs.iter_mut().zip(starts) {
            *best -= start;
        }
        let speed = |seconds: f64| instructions as f64 / seconds.max(1e-3) / 1e6;
        let mut row = vec![
            format!("{}\n{}", load.name, load.about),
            format!("{:.0}", speed(ours)),
            format!("{:.0}", bytes as f64 / f64::from(1 << 20)),
        ];
        for seconds in theirs {
            row.push(format!("{:.0}", speed(seconds)));
            row.push(format!("{:.2}×", speed(ours) / speed(seconds)));
        }
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "million guest instructions per second of processor time; ratio: rtmark to QEMU, above 1 is faster"
    )?;
    writeln!(out, "{table}")?;
    let time = start(first)?;
    writeln!(out, "from an ELF file's bytes to the first instruction: {time:.1?}")?;
    let time = clone(first, Some(0x4_0000))?;
    writeln!(out, "clone of a machine with 256 KiB of RAM: {time:.1?}")?;
    for soc in ["stm32c031", "stm32f405"] {
        if let Some(load) = loads.iter().find(|load| load.soc.name == soc) {
            let time = clone(load, None)?;
            writeln!(out, "clone of a machine of {soc}: {time:.1?}")?;
        }
    }
    for load in loads.iter().filter(|load| load.name.contains("two_tasks")) {
        let (points, tries) = worst::points_per_second(&load.soc, &load.elf, worst::CYCLES)?;
        writeln!(
            out,
            "worst case, {}: {points:.0} moments a second on one core, {tries:.0} entries",
            load.name
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_section_and_option() {
        for word in SECTIONS.into_iter().chain([BESIDE, "--help"]) {
            assert!(
                HELP.contains(&format!("  {word}")) || HELP.contains(&format!(" {word} ")),
                "{word}"
            );
        }
    }
}
