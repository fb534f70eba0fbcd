//! `rtmark sim --uart-in pty`: programs that somebody talks to, by a real terminal.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use crate::common::{ECHO, Elf, LOOP, rtmark, run_rtmark};

/// As [`ECHO`], asleep until USART2's interrupt is pending, with nothing else that could wake it.
const SLEEPS: &[u16] = &[
    0xB672, 0x4C0B, 0x480B, 0x490C, 0x6001, // PRIMASK; r4 = 0x4000_4400; ISER = 1 << 28
    0x2010, 0x60E0, 0x202D, 0x6020, // BRR = 16; CR1 = UE, RXNEIE, TE, RE
    0xBF30, 0x69E0, 0x0980, 0xD3FB, // WFI until RXNE
    0x6A61, 0x62A1, // RDR to TDR
    0x4807, 0x4A05, 0x6002, // ICPR = 1 << 28
    0x290A, 0xD1F4, // until a line ends
    0x2018, 0x4905, 0xBEAB, 0xE7FE, // SYS_EXIT
    0x4400, 0x4000, 0xE100, 0xE000, 0x0000, 0x1000, 0xE280, 0xE000, 0x0026, 0x0002,
];

/// A run that waits for a terminal.
struct Run {
    _home: tempfile::TempDir,
    child: Child,
    stderr_reader: BufReader<ChildStderr>,
    terminal: String,
}

impl Run {
    fn begin(code: &[u16], line: &str, more: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a scratch folder");
        Elf { code, ..Elf::default() }.write(&home.path().join("a.elf"));
        let arguments = [&["sim", "a.elf", "--soc", "stm32c031", "--uart-in", line], more].concat();
        let mut command = rtmark(home.path());
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("rtmark runs");
        let mut stderr_reader = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr_reader.read_line(&mut line).expect("a line");
        let terminal = line.trim().trim_end_matches('`').rsplit(' ').next().expect("a name");
        assert!(terminal.starts_with("/dev/"), "{line}");
        Self { _home: home, terminal: terminal.to_owned(), child, stderr_reader }
    }

    fn open(&self) -> File {
        OpenOptions::new().read(true).write(true).open(&self.terminal).expect("a terminal")
    }

    /// Its exit code, stdout, and the rest of stderr.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("text");
        self.stderr_reader.read_to_string(&mut stderr).expect("text");
        (self.child.wait().expect("it ends").code(), stdout, stderr)
    }
}

#[test]
fn a_program_talks_to_a_terminal() {
    for (code, line) in [(ECHO, "pty"), (SLEEPS, "USART2=pty")] {
        let run = Run::begin(code, line, &[]);
        let mut terminal = run.open();
        // Each part is typed when the one before was echoed.
        for typed in ["s", "tatus ", "\u{e4}\r\n"] {
            terminal.write_all(typed.as_bytes()).expect("typed");
            let mut shown = vec![0; typed.len()];
            terminal.read_exact(&mut shown).expect("an echo");
            assert_eq!(shown, typed.as_bytes());
        }
        let (code, stdout, stderr) = run.end();
        assert_eq!((code, stdout.as_str()), (Some(0), "status \u{e4}\r\n"), "{stderr}");
        assert!(stderr.contains("success") && !stderr.contains("not read"), "{stderr}");
    }
}

#[test]
fn excess_input_is_reported() {
    let run = Run::begin(ECHO, "pty", &[]);
    let mut terminal = run.open();
    terminal.write_all(b"one\ntwo\n").expect("typed");
    let mut shown = [0; 4];
    terminal.read_exact(&mut shown).expect("an echo");
    let (code, stdout, stderr) = run.end();
    assert_eq!((code, stdout.as_str(), &shown), (Some(0), "one\n", b"one\n"), "{stderr}");
    assert!(stderr.contains("4 of the typed bytes were not read"), "{stderr}");
}

#[test]
fn a_closed_terminal_ends_the_run_unless_reopened() {
    let run = Run::begin(SLEEPS, "pty", &[]);
    run.open().write_all(b"a").expect("typed");
    // It is open again before two seconds have passed.
    let mut again = run.open();
    let mut shown = [0];
    again.read_exact(&mut shown).expect("an echo");
    assert_eq!(&shown, b"a");
    drop(again);
    let name = run.terminal.clone();
    let (code, stdout, stderr) = run.end();
    assert_eq!((code, stdout.as_str()), (Some(0), "a"), "{stderr}");
    assert!(stderr.contains(&format!("{name} was closed")), "{stderr}");
}

#[test]
fn runs_with_a_terminal_can_end_by_themselves() {
    // Asleep for ever, and busy for ever, for a tenth of a second of the chip's, and no faster.
    for code in [SLEEPS, LOOP] {
        let run = Run::begin(code, "pty", &["--for", "100ms", "--stats"]);
        let terminal = run.open();
        let began = std::time::Instant::now();
        let (code, stdout, stderr) = run.end();
        assert!(code == Some(0) && stdout.contains("instructions"), "{stdout}{stderr}");
        assert!(began.elapsed() >= Duration::from_millis(80), "{:?}", began.elapsed());
        drop(terminal);
    }
}

#[test]
fn a_terminal_without_a_keyboard_is_rejected() {
    let home = tempfile::tempdir().expect("a scratch folder");
    Elf { code: ECHO, ..Elf::default() }.write(&home.path().join("a.elf"));
    let refused = |arguments: &[&str], words: &[&str]| {
        let image = ["a.elf", "--soc", "stm32c031", "--uart-in"];
        let arguments = [&arguments[..1], &image, &arguments[1..]].concat();
        run_rtmark(home.path(), &arguments).assert_error(2, words);
    };
    refused(&["sim", "UART9=pty"], &["UART9", "USART1, USART2"]);
    refused(&["sim", "pty", "--gdb", ":0"], &["under GDB"]);
    for command in [&["worst", "pty"][..], &["calls", "pty"], &["trace", "pty", "-o", "a.pftrace"]]
    {
        refused(command, &["--uart-in pty", "needs reproducible input", "rtmark sim"]);
    }
}
