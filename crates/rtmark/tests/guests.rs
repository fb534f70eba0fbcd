//! Firmware of other projects' making, built here and run unmodified: it boots,
//! waits for its clocks, prints by UART and RTT, and its timers interrupt.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Object, ObjectSegment};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/guests")
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    std::fs::create_dir_all(&folder).expect("a writable target folder");
    folder.join(name)
}

fn succeed(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{stderr}", output.status);
    output.stdout
}

fn cargo(package: &str, target: &str) -> PathBuf {
    let build = scratch("build");
    let arguments = ["build", "--release", "--locked", "-p", package, "--target", target];
    succeed(
        Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(folder())
            .env("CARGO_TARGET_DIR", &build)
            .env_remove("RUSTFLAGS"),
    );
    build.join(target).join("release").join(package)
}

/// How an image ends, what it prints, and which registers it missed.
fn run(image: &Path, soc: &str) -> (String, String, Vec<u64>) {
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["sim", "--soc", soc, "--max-cycles", "100000000", "--format", "json"])
        .arg(image)
        .output()
        .expect("rtmark runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let json: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let field = |key: &str| json[key].as_str().expect("a string").to_owned();
    let missed = json["unmodelled"].as_array().expect("a list").iter();
    let missed = missed.map(|register| register["address"].as_u64().expect("an address"));
    (field("ending"), field("console"), missed.collect())
}

/// Runs an image that ends by a breakpoint: its console, and the registers that are not modelled.
fn run_to_breakpoint(image: &Path, soc: &str) -> (String, Vec<u64>) {
    let (ending, console, missed) = run(image, soc);
    assert_eq!(ending, "breakpoint", "{console}");
    (console, missed)
}

/// An ELF file as the UF2 that a Pico takes.
fn uf2(elf: &[u8]) -> Vec<u8> {
    let file = object::File::parse(elf).expect("an ELF file");
    let mut pages = std::collections::BTreeMap::<u64, [u8; 256]>::new();
    let object::File::Elf32(elf32) = &file else { panic!("32 bits") };
    for segment in elf32.segments() {
        use object::read::elf::ProgramHeader;
        let load = u64::from(segment.elf_program_header().p_paddr(elf32.endian()));
        for (address, byte) in (load..).zip(segment.data().expect("readable")) {
            pages.entry(address & !255).or_insert([0; 256])[(address & 255) as usize] = *byte;
        }
    }
    let mut bytes = Vec::new();
    for (number, (address, page)) in (0u32..).zip(&pages) {
        // Magic twice, the family flag, address, size, number, count, RP2040's family.
        let (count, address) = (pages.len() as u32, *address as u32);
        let header =
            [0x0A32_4655, 0x9E5D_5157, 0x2000, address, 256, number, count, 0xE48B_FF56_u32];
        let start = bytes.len();
        bytes.extend(header.map(u32::to_le_bytes).concat());
        bytes.extend(page);
        bytes.resize(start + 508, 0);
        bytes.extend(0x0AB1_6F30_u32.to_le_bytes());
    }
    bytes
}

#[test]
fn rp2040_hal_runs_as_elf_and_as_uf2() {
    let elf = cargo("guest-rp2040", "thumbv6m-none-eabi");
    let (console, _) = run_to_breakpoint(&elf, "rp2040");
    let lines: Vec<_> = console.lines().collect();
    assert_eq!(lines[0], "hello from rp2040-hal at 125000000 Hz", "{console}");
    for round in 0..4 {
        let line = lines[round + 1];
        let took = line.strip_prefix(&format!("round {round}: ")).and_then(|rest| {
            let (took, rest) = rest.split_once(" us, ")?;
            let number = 1000 + round;
            (rest == format!("{number} / 7 = {}", number / 7)).then_some(took)?.parse().ok()
        });
        assert!(took.is_some_and(|took: u32| (2000..2020).contains(&took)), "{line}");
    }
    // Some 170 bytes at 115200 baud, of which the last 32 are still in the FIFO: 12 ms.
    let rings = lines[5].strip_prefix("alarm: ").and_then(|rest| rest.strip_suffix(" rings"));
    let rings: Option<u32> = rings.and_then(|rings| rings.parse().ok());
    assert!(rings.is_some_and(|rings| (4..6).contains(&rings)), "{console}");

    assert_eq!(lines[6], "float: 15.8333, 2.6458, 0.656986599", "{console}");

    let path = scratch("guest-rp2040.uf2");
    std::fs::write(&path, uf2(&std::fs::read(&elf).expect("built"))).expect("writable");
    assert_eq!(run_to_breakpoint(&path, "rp2040").0, console, "the same by another way");
}

#[test]
fn stm32f4xx_hal_prints_by_uart_and_rtt() {
    let elf = cargo("guest-stm32f4", "thumbv7em-none-eabihf");
    let (console, _) = run_to_breakpoint(&elf, "stm32f405");
    for line in [
        "hello from stm32f4xx-hal at 168000000 Hz",
        "round 0: led true, half 0.0",
        "round 3: led false, half 1.5",
        "RTT of 168000000 Hz",
        "many updates",
    ] {
        assert!(console.contains(line), "no `{line}` in\n{console}");
    }
}

#[test]
fn bare_c_runs_on_an_mps2() {
    let image = scratch("mps2.elf");
    let source = folder().join("mps2");
    succeed(
        Command::new("arm-none-eabi-gcc")
            .args(["-mcpu=cortex-m3", "-mthumb", "-O2", "-Wall", "-Werror", "-nostdlib", "-T"])
            .args([source.join("mps2.ld"), source.join("main.c")])
            .arg("-o")
            .arg(&image),
    );
    let (console, missed) = run_to_breakpoint(&image, "mps2-an385");
    assert_eq!(console, "hello from an MPS2\n>interrupts print\ntwenty ticks\n");
    assert_eq!(missed, [0; 0], "everything that it touches is modelled");
}

/// By UART, flash controller, timers, pins and interrupts: the program ends by semihosting.
#[test]
fn a_micro_bit_prints_the_same_as_on_qemu() {
    let image = scratch("microbit.elf");
    let source = folder().join("microbit");
    succeed(
        Command::new("arm-none-eabi-gcc")
            .args(["-mcpu=cortex-m0", "-mthumb", "-O2", "-Wall", "-Werror", "-nostdlib", "-T"])
            .args([source.join("microbit.ld"), source.join("main.c")])
            .arg("-o")
            .arg(&image),
    );
    let qemu = succeed(
        Command::new("timeout")
            .args(["-s", "KILL", "60", "qemu-system-arm", "-M", "microbit", "-display", "none"])
            .args(["-monitor", "none", "-serial", "stdio", "-semihosting", "-kernel"])
            .arg(&image)
            .stdin(Stdio::null()),
    );
    let there = String::from_utf8(qemu).expect("text");
    assert_eq!(there.lines().count(), 12, "{there}");
    for soc in ["nrf51822", "nrf52832"] {
        let (ending, console, missed) = run(&image, soc);
        // It programs and erases flash, by NVMC's CONFIG and ERASEPAGE, which takes no time here.
        let untimed = vec![0x4001_E504, 0x4001_E508];
        assert_eq!((ending.as_str(), missed), ("exit", untimed), "{console}");
        // Of another chip the factory's registers are others.
        let same = |text: &str| -> Vec<String> {
            let others = ["bytes of a page", "pages"];
            let is_same = |line: &&str| {
                soc == "nrf51822" || !others.iter().any(|other| line.starts_with(other))
            };
            text.lines().filter(is_same).map(str::to_owned).collect()
        };
        assert_eq!(same(&console), same(&there), "{soc}");
    }
}

/// The timeline of a program that has the control blocks of a kernel, as text.
fn threads_of(name: &str, options: &[&str]) -> String {
    let (image, file) = (scratch(&format!("{name}.elf")), scratch(&format!("{name}.pftrace")));
    succeed(
        Command::new("arm-none-eabi-gcc")
            .args(["-mcpu=cortex-m3", "-mthumb", "-O1", "-g", "-Wall", "-Werror", "-nostdlib"])
            .args(["-ffreestanding", "-fno-tree-loop-distribute-patterns", "-T"])
            .arg(folder().join("mps2/mps2.ld"))
            .arg(folder().join("threads/threads.c"))
            .args(options)
            .arg("-o")
            .arg(&image),
    );
    succeed(
        Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(["trace", "--soc", "mps2-an385", "--max-cycles", "200000", "-o"])
            .args([&file, &image]),
    );
    String::from_utf8_lossy(&std::fs::read(file).expect("written")).into_owned()
}

#[test]
fn threads_have_the_names_their_kernel_gives_them() {
    let threadx = threads_of("threadx", &["-DTHREADX"]);
    for name in ["sensor", "radio", "radio 0x2"] {
        assert!(threadx.contains(name), "{name}");
    }
    // One without a name of its own is called as the variable is.
    let zephyr = threads_of("zephyr", &[]);
    for name in ["sensor", "radio", "third_thread"] {
        assert!(zephyr.contains(name), "{name}");
    }
    for timeline in [threadx, zephyr] {
        assert!(timeline.contains("running") && timeline.contains("ready"));
        // Before it is cleared, the pointer to the running thread points nowhere.
        assert!(!timeline.contains("task 0x"), "a thread that is none");
    }
    for (kernel, lists_ready) in
        [("CHIBIOS", true), ("RTX", true), ("RIOT", false), ("NUTTX", false)]
    {
        let timeline = threads_of(kernel, &[&format!("-D{kernel}")]);
        for name in ["sensor", "radio", "third_thread", "running"] {
            assert!(timeline.contains(name), "{kernel}: {name}");
        }
        assert_eq!(timeline.contains("ready"), lists_ready, "{kernel}");
    }
    // Without debug information nothing is guessed: there is one stack.
    let unknown = threads_of("stripped", &["-DTHREADX", "-g0"]);
    assert!(unknown.contains("reset") && !unknown.contains("radio"));
}

#[test]
fn stacks_have_the_names_of_their_threads() {
    let image = scratch("stacks.elf");
    succeed(
        Command::new("arm-none-eabi-gcc")
            .args(["-mcpu=cortex-m3", "-mthumb", "-O1", "-g", "-Wall", "-Werror", "-nostdlib"])
            .args(["-ffreestanding", "-T"])
            .args([folder().join("mps2/mps2.ld"), folder().join("threads/stacks.c")])
            .arg("-o")
            .arg(&image),
    );
    let found = succeed(
        Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(["footprint", "--soc", "mps2-an385", "--format", "json", "--image"])
            .arg(format!("stacks={}", image.display())),
    );
    let document: serde_json::Value = serde_json::from_slice(&found).expect("JSON");
    let stacks = document["images"][0]["stacks"].as_array().expect("stacks");
    let tasks = stacks.iter().filter(|stack| stack["kind"] == "task");
    let tasks: Vec<_> = tasks
        .map(|task| {
            let name = task["name"].as_str().expect("a name");
            (name, task["bytes"].as_u64().expect("bytes"))
        })
        .collect();
    // Start-up code left its stack for main's, right beside it; and of the two threads that had the
    // worker's stack, one after the other, the second used more.
    let [(boot, of_boot), ("main", of_main), ("worker", of_worker)] = tasks.as_slice() else {
        panic!("{tasks:?}");
    };
    assert_eq!(*boot, "boot");
    assert!((100..200).contains(of_boot), "{tasks:?}");
    assert!((200..300).contains(of_main), "{tasks:?}");
    assert!((300..400).contains(of_worker), "{tasks:?}");
}

#[test]
fn interrupts_are_named_after_their_handlers() {
    let (image, file) = (scratch("handlers.elf"), scratch("handlers.pftrace"));
    succeed(
        Command::new("arm-none-eabi-gcc")
            .args(["-mcpu=cortex-m3", "-mthumb", "-O1", "-g", "-Wall", "-Werror", "-nostdlib"])
            .args(["-ffreestanding", "-T"])
            .args([folder().join("mps2/mps2.ld"), folder().join("columns/handlers.c")])
            .arg("-o")
            .arg(&image),
    );
    succeed(
        Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(["trace", "--soc", "mps2-an385", "-o"])
            .args([&file, &image]),
    );
    let timeline = String::from_utf8_lossy(&std::fs::read(file).expect("written")).into_owned();
    assert!(timeline.contains("IRQ 8 TIMER0"), "by its own handler");
    // Two have the other handler: its name tells neither.
    assert!(timeline.contains("IRQ 10") && !timeline.contains("IRQ 10 TIMER1"));
}

#[test]
fn boot_roms_match_their_sources() {
    let arm = "arm-none-eabi";
    let float = ["-mcpu=cortex-m0plus", "-mthumb", "-O2", "-ffreestanding"];
    made_from(arm, "rp2040_rom", &float, &["rp2040_rom.s", "rp2040_float.c"]);
    made_from(arm, "rp2350_rom", &["-mcpu=cortex-m33", "-mthumb"], &["rp2350_rom.s"]);
    let risc_v = ["-march=rv32imac_zicsr", "-mabi=ilp32"];
    made_from("riscv64-unknown-elf", "rp2350_riscv_rom", &risc_v, &["rp2350_riscv_rom.s"]);
}

fn made_from(tools: &str, rom: &str, options: &[&str], sources: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rtmark-sim/src/soc");
    let (elf, binary) = (scratch(&format!("{rom}.elf")), scratch(&format!("{rom}.bin")));
    succeed(
        Command::new(format!("{tools}-gcc"))
            .args(options)
            .args(["-nostdlib", "-Wl,-Ttext=0,-e0"])
            .args(sources.iter().map(|source| folder.join(source)))
            .arg("-o")
            .arg(&elf),
    );
    succeed(Command::new(format!("{tools}-objcopy")).args(["-O", "binary"]).arg(&elf).arg(&binary));
    let made = std::fs::read(binary).expect("made");
    let kept = std::fs::read(folder.join(format!("{rom}.bin"))).expect("kept");
    assert!(made == kept, "{rom}.bin is not what its sources give: see the head of {rom}.s");
}
