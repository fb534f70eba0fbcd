//! Zephyr as others have built it, unmodified: MCUboot, which loads and starts an application
//! that formats a file system and logs, both on Zephyr 4.4 for Arm's MPS2. They print what
//! they print on QEMU's machine. And the same bootloader for Nordic's development kit, as far as the
//! chip's cryptographic unit, which has no model.
//!
//! The images are those that the tests of smpclient bring (PyPI, Apache-2.0), by pip. Where
//! pip cannot have them this says so and is left out.

mod others;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use others::{run_checked, scratch};

const PACKAGE: &str = "smpclient";
const VERSION: &str = "7.3.0";
const IMAGE: &str = "zephyr_4.4.0_smp_server_0eae053d_mps2_an385_serial_recovery_buf1024";
/// Where MCUboot looks for the application.
const SLOT: u32 = 0x2005_0000;
/// What the application prints last.
const LAST: &str = "smp_sample: build time";
/// Of a package for nRF52840-DK, bootloader and application.
const NORDIC: &str = "examples/duts/nrf52840dk_nrf52840/usb/a_smp_dut_1024_1_1024.merged.hex";
const PATIENCE: Duration = Duration::from_mins(2);

/// The folder that has the package, which is fetched once.
static FETCHED: LazyLock<Result<PathBuf, String>> = LazyLock::new(fetch);

fn fetch() -> Result<PathBuf, String> {
    let folder = scratch("zephyr");
    let named = format!("{PACKAGE}-{VERSION}");
    let package = folder.join(&named);
    if !package.join(NORDIC).is_file() {
        run_checked(
            Command::new("python3")
                .args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", PACKAGE])
                .args([&format!("{PACKAGE}=={VERSION}"), "--dest"])
                .arg(&folder),
        )?;
        let archive = folder.join(format!("{named}.tar.gz"));
        run_checked(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&folder))?;
    }
    Ok(package)
}

/// Bytes from an address on as lines of Intel HEX.
fn hex(from: u32, bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut record = |address: u16, kind: u8, data: &[u8]| {
        let mut all = vec![data.len() as u8];
        all.extend(address.to_be_bytes());
        all.push(kind);
        all.extend(data);
        all.push(all.iter().fold(0_u8, |sum, byte| sum.wrapping_sub(*byte)));
        text.push(':');
        for byte in all {
            let _ = write!(text, "{byte:02X}");
        }
        text.push('\n');
    };
    for (at, chunk) in (from..).step_by(16).zip(bytes.chunks(16)) {
        record(0, 4, &((at >> 16) as u16).to_be_bytes());
        record(at as u16, 0, chunk);
    }
    record(0, 1, &[]);
    text
}

/// A line without what differs: time stamps, for QEMU does not count cycles, and what steers
/// a terminal, which rtmark shows instead.
fn plain(line: &str) -> String {
    let line = line.replace("\\u{1b}", "").replace(['\r', '\x1b'], "");
    let stamped = line.starts_with("[00:").then(|| line.split_once("] ")).flatten();
    stamped.map_or(line.clone(), |(_, rest)| rest.to_owned())
}

fn here(boot: &Path, application: &[u8]) -> Vec<String> {
    let boot = std::fs::read_to_string(boot).expect("Intel HEX is text");
    let records = boot.lines().filter(|line| !line.starts_with(":00000001"));
    let mut whole: String = records.flat_map(|line| [line, "\n"]).collect();
    whole.push_str(&hex(SLOT, application));
    let image = scratch("zephyr").join("both.hex");
    std::fs::write(&image, whole).expect("writable");
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["sim", "--soc", "mps2-an385", "--max-cycles", "80000000", "--format", "json"])
        .arg(&image)
        .output()
        .expect("rtmark runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // It waits for commands by UART.
    assert_eq!(json["ending"], "limit", "{json}");
    assert_eq!(json["unmodelled"].as_array().map(Vec::len), Some(0), "{json}");
    json["console"].as_str().expect("a string").lines().map(plain).collect()
}

/// Ended by force: QEMU may not listen to anything else.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn on_qemu(boot: &Path, application: &Path) -> Vec<String> {
    let binary = scratch("zephyr").join("boot.bin");
    let made = run_checked(
        Command::new("arm-none-eabi-objcopy")
            .args(["-I", "ihex", "-O", "binary"])
            .arg(boot)
            .arg(&binary),
    );
    made.expect("objcopy");
    let mut qemu = Command::new("qemu-system-arm")
        .args(["-M", "mps2-an385", "-display", "none", "-monitor", "none"])
        // The console is the second UART.
        .args(["-serial", "null", "-serial", "stdio", "-kernel"])
        .arg(&binary)
        .arg("-device")
        .arg(format!("loader,file={},addr={SLOT:#x},force-raw=on", application.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map(Killed)
        .expect("QEMU starts");
    let printed = BufReader::new(qemu.0.stdout.take().expect("piped"));
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in printed.split(b'\n').map_while(Result::ok) {
            let _ = sender.send(plain(&String::from_utf8_lossy(&line)));
        }
    });
    let (began, mut lines) = (Instant::now(), Vec::<String>::new());
    while !lines.last().is_some_and(|line| line.contains(LAST)) {
        let left = PATIENCE.saturating_sub(began.elapsed());
        lines.push(receiver.recv_timeout(left).unwrap_or_else(|_| panic!("{lines:#?}")));
    }
    lines
}

#[test]
#[expect(clippy::print_stderr, reason = "who reads the tests should know what was left out")]
fn zephyr_boots_and_prints_the_same_as_on_qemu() {
    let images = match &*FETCHED {
        Ok(package) => package.join("tests/fixtures/smp-server"),
        Err(problem) => return eprintln!("left out, for pip has no images: {problem}"),
    };
    let boot = images.join(format!("{IMAGE}.hex"));
    let application = images.join(format!("{IMAGE}.signed.bin"));
    let here = here(&boot, &std::fs::read(&application).expect("an application"));
    assert!(here.iter().any(|line| line.starts_with("*** Booting MCUboot")), "{here:#?}");
    assert!(here.iter().any(|line| line.starts_with("*** Booting Zephyr OS")), "{here:#?}");
    assert!(here.iter().any(|line| line.contains("littlefs: /lfs1 mounted")), "{here:#?}");
    let there = on_qemu(&boot, &application);
    let differ = here.iter().zip(&there).find(|(here, there)| here != there);
    assert_eq!(differ, None);
    assert_eq!(here.len(), there.len(), "{:?} {:?}", here.last(), there.last());
}

/// Zephyr's default console there: each piece of text goes by UARTE's DMA, whose end a channel of the PPI
/// leads to STOPTX.
#[test]
#[expect(clippy::print_stderr, reason = "who reads the tests should know what was left out")]
fn the_default_console_of_nordic_chips_prints() {
    let image = match &*FETCHED {
        Ok(package) => package.join(NORDIC),
        Err(problem) => return eprintln!("left out, for pip has no images: {problem}"),
    };
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["sim", "--soc", "nrf52840", "--for", "100ms", "--format", "json"])
        .arg(&image)
        .output()
        .expect("rtmark runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let console = json["console"].as_str().expect("a string");
    let lines: Vec<&str> = console.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "*** Booting nRF Connect SDK v3.5.99-ncs1 ***",
            "I: Starting bootloader",
            "I: Primary image: magic=unset, swap_type=0x1, copy_done=0x3, image_ok=0x3",
            "I: Secondary image: magic=unset, swap_type=0x1, copy_done=0x3, image_ok=0x3",
            "I: Boot source: none",
            "I: Image index: 0, Swap type: none",
        ]
    );
    // It checks a signature by the cryptographic unit, and nothing else is missing.
    let unmodelled = json["unmodelled"].as_array().expect("a list");
    assert!(!unmodelled.is_empty(), "{json}");
    for register in unmodelled {
        let name = register["register"].as_str().expect("a name");
        assert!(name.starts_with("CRYPTOCELL.") || name.starts_with("CC_HOST_RGF."), "{name}");
    }
}
