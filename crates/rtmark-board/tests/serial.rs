//! A pseudo-terminal that plays a board: slow, fragmented, noisy, truncated, silent, reset half-way.
#![cfg(unix)]

use std::io::Write as _;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rtmark_board::{Capture, Device, DeviceError, Loader, OutputChannel, Serial, Silence};
use serialport::{SerialPort, TTYPort};

const RUN: &str = "\n@^ 00000003\n@+ 00000101 00000010 00000121 0000001c\n@. 00000000 00000000\n\
                   a.b ok\n@! 0\n";

/// What a board does after its firmware was loaded: sends pieces, each after a pause.
type Script = Vec<(Duration, Vec<u8>)>;

fn at_once(bytes: &[u8]) -> Script {
    vec![(Duration::ZERO, bytes.to_vec())]
}

/// What happens to the line after everything was sent.
#[derive(Clone, Copy, PartialEq)]
enum LineState {
    StaysOpen,
    Closes,
}

struct ScriptedPort {
    serial: Serial,
    board: JoinHandle<()>,
    folder: tempfile::TempDir,
}

/// A board that begins to play when it is loaded, and records what was loaded.
fn serve_script(script: Script, then: LineState) -> ScriptedPort {
    let (mut line, far) = TTYPort::pair().expect("pseudo-terminals");
    let port = far.name().expect("a path");
    let folder = tempfile::tempdir().expect("a folder");
    let (file, done) = (folder.path().join("loaded.elf"), folder.path().join("done"));
    let begun = file.clone();
    let board = std::thread::spawn(move || {
        let started = Instant::now();
        while !begun.exists() && started.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
        }
        for (pause, bytes) in script {
            std::thread::sleep(pause);
            if line.write_all(&bytes).is_err() {
                return;
            }
        }
        while then == LineState::StaysOpen
            && !done.exists()
            && started.elapsed() < Duration::from_secs(20)
        {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let loader = Some(Loader(format!("cp {{elf}} '{}'", file.display())));
    // The listener opens it again.
    drop(far);
    let silence = Duration::from_millis(400);
    ScriptedPort { serial: Serial { port, baud: 115_200, loader, silence }, board, folder }
}

fn capture(script: Script, then: LineState) -> Result<Capture, DeviceError> {
    let mut played = serve_script(script, then);
    assert_eq!(played.serial.output_channel(), OutputChannel::Uart);
    let heard = played.serial.run(b"an image");
    let loaded: PathBuf = played.folder.path().join("loaded.elf");
    assert_eq!(std::fs::read(loaded).expect("it was loaded"), b"an image");
    std::fs::write(played.folder.path().join("done"), "").expect("a file");
    played.board.join().expect("it played");
    heard
}

fn console(script: Script) -> String {
    let heard = capture(script, LineState::StaysOpen).expect("a run");
    String::from_utf8(heard.console).expect("text")
}

#[test]
fn a_run_is_captured_however_output_is_split() {
    assert_eq!(console(at_once(RUN.as_bytes())), RUN);
    let chopped = RUN.as_bytes().chunks(3).map(|c| (Duration::from_millis(2), c.to_vec()));
    assert_eq!(console(chopped.collect()), RUN);
    // Slower than a read's timeout, and in total longer than the permitted silence.
    let slow = RUN.as_bytes().chunks(20).map(|c| (Duration::from_millis(150), c.to_vec()));
    assert_eq!(console(slow.collect()), RUN);
    let then_more = [RUN.as_bytes(), b"and the loop goes on"].concat();
    assert_eq!(console(at_once(&then_more)), RUN, "what comes after the end is no part of it");
}

#[test]
fn a_reset_restarts_the_capture() {
    let twice = [&RUN.as_bytes()[..40], RUN.as_bytes()].concat();
    let chopped = twice.chunks(11).map(|c| (Duration::from_millis(1), c.to_vec())).collect();
    assert_eq!(console(chopped).as_bytes(), twice);
    // The end of a run that began before listening started, then noise of the reset.
    let late = [b"0121 0000001c\n@. 0 0\na.b ok\n@! 0\n\xff\x00\xfe".as_slice(), RUN.as_bytes()];
    let heard = capture(at_once(&late.concat()), LineState::StaysOpen).expect("the second");
    assert!(heard.console.ends_with(RUN.as_bytes()));
}

fn silence(script: Script) -> (Silence, String, String) {
    match capture(script, LineState::StaysOpen) {
        Err(error @ DeviceError::Silent { .. }) => {
            let (text, hint) = (error.to_string(), error.hint());
            let DeviceError::Silent { silence, .. } = error else { unreachable!() };
            (silence, text, hint)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn silences_are_explained_with_a_remedy() {
    let (nothing, text, hint) = silence(Script::new());
    assert!(matches!(nothing, Silence::NoOutput(_)), "{text}");
    assert!(hint.contains("reset button") && hint.contains("--timeout"), "{hint}");

    let noise: Vec<u8> = (0..200_u8).map(|n| n.wrapping_mul(73) | 0x80).collect();
    let (noise, text, hint) = silence(at_once(&noise));
    assert!(matches!(noise, Silence::Noise(200, 200, _)), "{text}");
    assert!(hint.contains("--baud"), "{hint}");

    let (other, text, hint) = silence(at_once(b"*** Booting Zephyr OS ***\r\n"));
    assert!(matches!(other, Silence::OtherProgram(_)), "{text}");
    assert!(hint.contains("--load"), "{hint}");

    let (unfinished, text, hint) = silence(at_once(&RUN.as_bytes()[..50]));
    assert!(matches!(unfinished, Silence::Unfinished(_)), "{text}");
    assert!(hint.contains("--timeout"), "{hint}");
}

#[test]
fn a_lost_connection_is_reported() {
    let error = capture(at_once(&RUN.as_bytes()[..50]), LineState::Closes).expect_err("cut");
    assert!(matches!(error, DeviceError::Disconnected { .. }), "{error:?}");
    assert!(error.to_string().contains("went away"), "{error}");
    assert!(error.hint().contains("cable"), "{}", error.hint());
}

#[test]
fn loader_errors_are_quoted() {
    let mut played = serve_script(Script::new(), LineState::Closes);
    played.serial.loader = Some(Loader("echo no probe found >&2; exit 3".into()));
    let error = played.serial.run(b"an image").expect_err("failed");
    let text = error.to_string();
    assert!(text.contains("no probe found") && text.contains("exit status: 3"), "{text}");
    std::fs::write(played.folder.path().join("loaded.elf"), "").expect("a file");
    played.board.join().expect("it played");
}

/// The link is part of a figure's provenance.
#[test]
fn firmware_that_was_not_loaded_is_not_taken_for_compared() {
    let serial = |loader| {
        let (port, silence) = ("/dev/ttyACM0".to_owned(), Duration::from_millis(10));
        Serial { port, baud: 115_200, loader, silence }.link()
    };
    let loaded = serial(Some(Loader("cp {elf} x".to_owned())));
    assert_eq!(loaded, "serial port /dev/ttyACM0 at 115200 baud");
    let found = serial(None);
    assert!(found.starts_with(&loaded) && found.contains("content not compared"), "{found}");
}

#[test]
fn missing_ports_are_reported() {
    let silence = Duration::from_millis(10);
    let port = "/dev/rtmark-no-such-port".to_owned();
    let mut serial = Serial { port, baud: 115_200, loader: None, silence };
    let error = serial.run(b"").expect_err("none");
    assert!(matches!(error, DeviceError::Open { .. }), "{error:?}");
    assert!(error.to_string().contains("/dev/rtmark-no-such-port"), "{error}");
    let open = |kind: std::io::ErrorKind| DeviceError::Open {
        port: "/dev/ttyACM0".into(),
        source: kind.into(),
        others: vec!["/dev/ttyUSB0".into()],
    };
    let hint = open(std::io::ErrorKind::PermissionDenied).hint();
    assert!(hint.contains("usermod -aG dialout"), "{hint}");
    let hint = open(std::io::ErrorKind::NotFound).hint();
    assert!(hint.contains("/dev/ttyUSB0"), "{hint}");
}
