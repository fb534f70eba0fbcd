//! How fast the simulator is, beside QEMU.
//!
//! The same images run here and on QEMU in three modes, in turn, several times;
//! the fastest round of each counts, since other work on the machine can only
//! slow a round down. What QEMU needs to start is measured with an image that
//! ends at once, and taken off. Absolute figures say something about this
//! computer only; the ratios are what to look at.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use comfy_table::{CellAlignment, Table, presets};
use rtmark_firmware::probes::{self, Kind, SECTION};
use rtmark_firmware::{Builder, DEFAULT_PROFILE, Tree, select_in_elf};
use rtmark_sim::{Cycles, Image, Machine, Soc, Stop};

const ROUNDS: usize = 5;
/// Longer than any of the images runs.
const BUDGET: Cycles = Cycles(10_000_000_000);

const STM32C031: &str = include_str!("../../../socs/stm32c031.toml");
const STM32F405: &str = include_str!("../../../socs/stm32f405.toml");

/// Programs for the bench alone, in a firmware tree of their own.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/firmware");

/// What is run: a soc, a kernel, a scenario, and what kind of code that is.
const LOADS: [(&str, &str, &str, &str); 9] = [
    (STM32C031, "floor", "workload.prime.single", "64-bit division in software"),
    (STM32C031, "freertos", "workload.prime.two_tasks", "the same, a task switch per division"),
    (STM32C031, "freertos", "queue.receive.poll_empty", "kernel calls"),
    (STM32F405, "floor", "workload.prime.single", "64-bit division by UDIV"),
    (STM32F405, "freertos", "workload.prime.two_tasks", "the same, a task switch per division"),
    (STM32F405, "embassy", "workload.prime.two_tasks", "the same, async tasks in Rust"),
    (STM32C031, "programs", "integer.mixed", "list, matrix, state machine, checksum"),
    (STM32F405, "programs", "integer.mixed", "list, matrix, state machine, checksum"),
    (STM32F405, "programs", "float.control", "single-precision control loop"),
];

/// The ways to run an image on QEMU: a name and the arguments.
const QEMU_MODES: [(&str, &[&str]); 3] = [
    ("plain", &[]),
    ("-icount shift=0", &["-icount", "shift=0"]),
    ("-singlestep", &["-singlestep"]),
];

/// An image with its scenario selected, ready for both.
struct Load {
    name: String,
    about: &'static str,
    soc: Soc,
    elf: Vec<u8>,
    path: PathBuf,
}

fn loads(folder: &Path) -> Result<Vec<Load>, Box<dyn Error>> {
    let builder = Builder::new(Tree::find(None)?);
    let mut kernels = builder.tree().kernels()?;
    kernels.extend(Tree::find(Some(Path::new(PROGRAMS)))?.kernels()?);
    let mut loads = Vec::new();
    for (soc, kernel, scenario, about) in LOADS {
        let soc = Soc::from_toml(soc)?;
        let kernel = kernels
            .iter()
            .find(|known| known.manifest.id.as_str() == kernel)
            .ok_or("a kernel of the list is missing from firmware/")?;
        let images = builder.build(kernel, &soc, DEFAULT_PROFILE)?;
        let group = scenario.split('.').next().unwrap_or(scenario);
        let elf = &images.get(group).ok_or("the kernel has no such image")?.elf;
        let image = Image::from_elf(elf)?;
        let records = probes::parse(image.section(SECTION).unwrap_or_default())?;
        let index = records
            .iter()
            .find_map(|record| match record.kind {
                Kind::Scenario(index) if record.scenario.as_str() == scenario => Some(index),
                _ => None,
            })
            .ok_or("the image has no such scenario")?;
        let elf = select_in_elf(elf, index).ok_or("the image has no word to select by")?;
        let path = folder.join(format!("{}.elf", loads.len()));
        std::fs::write(&path, &elf)?;
        let name = format!("{} {} {scenario}", soc.name, kernel.manifest.id);
        loads.push(Load { name, about, soc, elf, path });
    }
    Ok(loads)
}

/// Seconds and instructions of one run here, loading included.
fn simulate(load: &Load) -> Result<(f64, u64), Box<dyn Error>> {
    let start = Instant::now();
    let image = Image::from_elf(&load.elf)?;
    let mut machine = Machine::new(&load.soc);
    machine.load(&image)?;
    match machine.run(BUDGET) {
        Stop::Exit(status) if status.0 == 0 => {}
        other => return Err(format!("{}: {other:?}", load.name).into()),
    }
    Ok((start.elapsed().as_secs_f64(), machine.instructions().0))
}

/// Seconds of one run on QEMU.
fn emulate(elf: &Path, mode: &[&str]) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let status = Command::new("timeout")
        .args(["-s", "KILL", "300", "qemu-system-arm", "-M", "netduinoplus2", "-nographic"])
        .args(["-monitor", "none", "-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native"])
        .args(mode)
        .arg("-kernel")
        .arg(elf)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("qemu-system-arm: {error}; apt-get install qemu-system-arm"))?;
    if !status.success() {
        return Err(format!("QEMU {mode:?} on {}: {status}", elf.display()).into());
    }
    Ok(start.elapsed().as_secs_f64())
}

/// An image that ends at once: what is left of QEMU's time is its start.
fn start_of_qemu(folder: &Path, load: &Load) -> Result<PathBuf, Box<dyn Error>> {
    // An index that no scenario has makes the firmware fail right away; QEMU's
    // exit status tells so, and that is all that is wanted here.
    let elf = select_in_elf(&load.elf, u32::MAX).ok_or("the image has no word to select by")?;
    let path = folder.join("start.elf");
    std::fs::write(&path, elf)?;
    Ok(path)
}

fn fastest(
    rounds: usize,
    mut round: impl FnMut() -> Result<f64, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    (0..rounds).try_fold(f64::INFINITY, |best, _| Ok(best.min(round()?)))
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut say = std::io::stderr().lock();
    writeln!(say, "building")?;
    let loads = loads(folder.path())?;
    let first = loads.first().ok_or("no loads")?;
    let ends_at_once = start_of_qemu(folder.path(), first)?;
    let start = fastest(ROUNDS, || {
        let start = Instant::now();
        // Its exit status is a failure by design.
        let _ = emulate(&ends_at_once, &[]);
        Ok(start.elapsed().as_secs_f64())
    })?;

    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    let mut head = vec!["image".to_owned(), "rtmark".to_owned()];
    for (mode, _) in QEMU_MODES {
        head.extend([format!("QEMU {mode}"), "ratio".to_owned()]);
    }
    table.set_header(head);
    for load in &loads {
        writeln!(say, "{}", load.name)?;
        let mut ours = f64::INFINITY;
        let mut theirs = [f64::INFINITY; QEMU_MODES.len()];
        let mut instructions = 0;
        for round in 0..ROUNDS {
            let (seconds, executed) = simulate(load)?;
            ours = ours.min(seconds);
            instructions = executed;
            for ((mode, arguments), best) in QEMU_MODES.iter().zip(&mut theirs) {
                // One instruction at a time is slow enough to be measured once.
                if round == 0 || *mode != "-singlestep" {
                    *best = best.min(emulate(&load.path, arguments)? - start);
                }
            }
        }
        let speed = |seconds: f64| instructions as f64 / seconds.max(1e-3) / 1e6;
        let mut row = vec![format!("{}\n{}", load.name, load.about), format!("{:.0}", speed(ours))];
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
    writeln!(out, "million guest instructions a second; ratio: rtmark to QEMU, above 1 is faster")?;
    writeln!(out, "{table}")?;
    Ok(())
}
