//! Every image on QEMU: what a scenario prints there is what it prints here.
//!
//! QEMU's netduinoplus2 has the memories of STM32s and executes the code of all
//! cores before ARMv8-M; images for a Hazard3 run on its virt. It knows no cycles, so facts that depend on timing (their
//! keys begin with `~`) are left out.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rtmark_firmware::probes::{self, Kind, SECTION};
use rtmark_firmware::{Builder, Kernel, SettingChanges, Tree, Variant, select_in_elf, select_word};
use rtmark_model::{Backend, ScenarioId};
use rtmark_runner::Session;
use rtmark_sim::{Cycles, Image, Soc};

/// A soc, the machine of QEMU that runs its images, and the kernels to run on it.
type Bench = (&'static str, &'static str, &'static [&'static str]);

const BENCHES: [Bench; 5] = [
    (include_str!("../../../socs/stm32c031.toml"), "netduinoplus2", &[]),
    (include_str!("../../../socs/stm32f405.toml"), "netduinoplus2", &[]),
    // Of the other cores, the kernels with a port of their own for them.
    (include_str!("../../../socs/stm32f100.toml"), "netduinoplus2", &["floor", "freertos"]),
    (include_str!("../../../socs/mps2-an505.toml"), "mps2-an505", &["floor", "freertos", "rtic"]),
    (include_str!("../../../socs/generic-hazard3.toml"), "virt", &["embassy", "freertos", "ring"]),
];
/// A simulated minute at 168 MHz, which no scenario comes near.
const BUDGET: Cycles = Cycles(10_000_000_000);
const DEADLINE: Duration = Duration::from_mins(2);

/// One scenario of one image.
struct Case {
    name: String,
    soc: Soc,
    machine: &'static str,
    elf: Vec<u8>,
    word: u32,
}

/// The count at which scenarios are run that measure against one: none of the catalogue's.
const POINT: u32 = 3;

/// A console without the facts that depend on timing.
fn without_timing(console: &[u8]) -> String {
    let text = String::from_utf8_lossy(console);
    let steady = |line: &str| {
        line.split(' ').filter(|word| !word.starts_with('~')).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(steady).collect::<Vec<_>>().join("\n")
}

fn on_the_simulator(case: &Case) -> String {
    let elf = select_in_elf(&case.elf, case.word).expect("an image has its word");
    let image = Image::from_elf(&elf).expect("an image");
    let mut session = Session::new(&case.soc, &image).expect("it fits");
    let mut console = Vec::new();
    session.run(BUDGET, |machine| console.append(&mut machine.take_console()));
    without_timing(&console)
}

fn on_qemu(case: &Case, folder: &Path) -> String {
    let path = folder.join(case.name.replace([' ', '.', '+'], "-"));
    let elf = select_in_elf(&case.elf, case.word).expect("an image has its word");
    std::fs::write(&path, elf).expect("a scratch file");
    // A virtual second is a milliard instructions at shift 0. Delays only pass
    // time, so that a coarser clock tells the same in a hundredth of it. Sleep ends when
    // the next interrupt is due in virtual time, however busy this computer is.
    let passes_time = case.name.contains("timer.") || case.name.contains("growth.");
    let shift = if passes_time { "shift=6,sleep=off" } else { "shift=0,sleep=off" };
    let (program, more): (_, &[&str]) = match case.machine {
        // The extensions that RP2350 has and this QEMU knows.
        "virt" => {
            let cpu = "rv32,zba=true,zbb=true,zbs=true,zbkb=true";
            ("qemu-system-riscv32", &["-bios", "none", "-cpu", cpu])
        }
        _ => ("qemu-system-arm", &[]),
    };
    let mut qemu = Command::new(program)
        .args(more)
        .args(["-M", case.machine, "-nographic", "-monitor", "none", "-serial", "none"])
        .args(["-chardev", "stdio,id=console", "-icount", shift])
        .args(["-semihosting-config", "enable=on,target=native,chardev=console", "-kernel"])
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("QEMU is there: apt-get install qemu-system-arm qemu-system-misc");
    let start = Instant::now();
    while qemu.try_wait().expect("a child").is_none() {
        if start.elapsed() > DEADLINE {
            // SIGKILL: QEMU does not always obey SIGTERM.
            qemu.kill().expect("a child");
            panic!("{} did not end on QEMU within {DEADLINE:?}", case.name);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    without_timing(&qemu.wait_with_output().expect("its output").stdout)
}

/// As in the default suite, but time is counted by SysTick: of a timer, QEMU's machine interrupts
/// when it overflows and not when it has come to a compare register's value.
fn switched(kernel: &Kernel, soc: &Soc) -> SettingChanges {
    let has_driver = !kernel.manifest.time_bases.is_empty();
    let variant = if has_driver { "product+tick_hz=1000" } else { "product" };
    let variant: Variant = variant.parse().expect("a variant");
    variant.of(&kernel.manifest, soc.core.name()).expect("it can be built this way")
}

/// Whether the scenario pends an external interrupt. QEMU's virt cannot run such: a Hazard3 pends one by a
/// register of its own extension Xh3irq (RP2350 datasheet, 3.8.6.1).
fn pends(scenario: &ScenarioId) -> bool {
    scenario.group() == "isr" || scenario.as_str().starts_with("tm.interrupt")
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    let mut builder = Builder::new(Tree::find(None).expect("the firmware tree")).in_folder(&folder);
    builder.jobs = 2;
    let kernels = builder.tree().kernels().expect("kernels");
    let mut cases = Vec::new();
    for (text, machine, wanted) in BENCHES {
        let soc = Soc::from_toml(text).expect("a soc");
        let is_wanted = |id: &str| wanted.is_empty() || wanted.contains(&id);
        for kernel in kernels.iter().filter(|kernel| is_wanted(kernel.manifest.id.as_str())) {
            let switched = switched(kernel, &soc);
            let images = builder.build(kernel, &soc, &switched).expect("it builds");
            for built in images.into_values() {
                let image = Image::from_elf(&built.elf).expect("an image");
                let records = image.section(SECTION).expect("probes");
                for record in probes::parse(records).expect("records") {
                    if let Kind::Scenario(index) = record.kind {
                        let core = soc.core.name();
                        let backend = Backend::Sim;
                        let scenario = &record.scenario;
                        let excuse =
                            kernel.manifest.not_applicable(scenario, core, &switched, backend);
                        if excuse.is_some() || (machine == "virt" && pends(&record.scenario)) {
                            continue;
                        }
                        let point = if record.scenario.group() == "growth" { POINT } else { 0 };
                        let word = select_word(index, point).expect("both are small");
                        cases.push(Case {
                            name: format!(
                                "{} {} {}",
                                soc.name, kernel.manifest.id, record.scenario
                            ),
                            soc: soc.clone(),
                            machine,
                            elf: built.elf.clone(),
                            word,
                        });
                    }
                }
            }
        }
    }
    cases
}

#[test]
fn qemu_and_the_simulator_print_the_same() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let cases = cases();
    assert!(cases.len() >= 1000, "{} cases", cases.len());
    let next = Mutex::new(cases.iter());
    let differences = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = { next.lock().expect("unpoisoned").next() } {
                    let (here, there) = (on_the_simulator(case), on_qemu(case, folder.path()));
                    if here != there || !here.contains(" ok") {
                        let line = format!("{}\n  here: {here}\n  QEMU: {there}", case.name);
                        differences.lock().expect("unpoisoned").push(line);
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().expect("unpoisoned");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
