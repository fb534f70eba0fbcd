//! `rtmark sim --gdb` with the real debugger, where it is installed.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// A program that counts: `movs r0, #0; ldr r1, =RAM; loop: adds r0, #1; str r0, [r1];
/// cmp r0, #20; bne loop; movs r0, #0x18; ldr r1, =0x20026; bkpt 0xab`
const COUNTING: [u16; 14] = [
    0x2000, 0x4904, 0x3001, 0x6008, 0x2814, 0xD1FB, 0x2018, 0x4902, 0xBEAB, 0xE7FE, 0x0000, 0x2000,
    0x0026, 0x0002,
];

/// The program that counts, on RISC-V: li a0, 0; lui a1, 0x80100; loop: addi a0, a0, 1; sw a0, 0(a1); li t0, 20;
/// bne a0, t0, loop; lui a1, 0x20; li a0, 0x18; addi a1, a1, 0x26; nop; and a call of the host.
const COUNTING_RISC_V: [u32; 13] = [
    0x0000_0513,
    0x8010_05B7,
    0x0015_0513,
    0x00A5_A023,
    0x0140_0293,
    0xFE55_1AE3,
    0x0002_05B7,
    0x0180_0513,
    0x0265_8593,
    0x0000_0013,
    0x01F0_1013,
    0x0010_0073,
    0x4070_5013,
];

fn image_risc_v(folder: &Path) -> String {
    let bytes: Vec<_> = COUNTING_RISC_V.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = folder.join("counting.bin");
    std::fs::write(&path, bytes).expect("writable");
    path.display().to_string()
}

fn image(folder: &Path) -> String {
    let mut bytes = [0x2000_0400_u32, 0x0800_0009].map(u32::to_le_bytes).concat();
    bytes.extend(COUNTING.iter().flat_map(|half| half.to_le_bytes()));
    let path = folder.join("counting.bin");
    std::fs::write(&path, bytes).expect("writable");
    path.display().to_string()
}

/// `rtmark` waiting for a debugger, what else it says, and where it listens.
fn serve(image: &str, soc: &str) -> (Child, Lines<BufReader<ChildStderr>>, String) {
    let base = if soc.ends_with("hazard3") { "0x80000000" } else { "0x08000000" };
    let mut rtmark = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["sim", image, "--soc", soc, "--base", base, "--gdb", ":0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rtmark runs");
    let mut lines = BufReader::new(rtmark.stderr.take().expect("piped")).lines();
    let line = lines.next().expect("a line").expect("text");
    let address = line.split('`').nth(1).and_then(|text| text.strip_prefix("target remote "));
    let address = address.unwrap_or_else(|| panic!("no address in {line}")).to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    (rtmark, lines, address)
}

/// What GDB prints for a list of commands on the program, what the monitor says to
/// it, and how `rtmark` ended.
fn debug(soc: &str, commands: &[&str]) -> Option<(String, String, i32)> {
    if Command::new("gdb-multiarch").arg("--version").output().is_err() {
        #[expect(clippy::print_stderr, reason = "the one way to say that nothing was tested")]
        {
            eprintln!("skipped: gdb-multiarch is not installed; scripts/setup test installs it");
        }
        return None;
    }
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (image, architecture) = match soc {
        "generic-hazard3" => (image_risc_v(folder.path()), "riscv:rv32"),
        _ => (image(folder.path()), "arm"),
    };
    let (mut rtmark, lines, address) = serve(&image, soc);
    let architecture = format!("set architecture {architecture}");
    let remote = format!("target remote {address}");
    let mut gdb = Command::new("gdb-multiarch");
    gdb.args(["-q", "-nx", "-batch", "-ex", &architecture, "-ex", "set confirm off"]);
    for command in std::iter::once(&remote.as_str()).chain(commands) {
        gdb.args(["-ex", command]);
    }
    let output = gdb.output().expect("gdb runs");
    // The rest is read, lest the pipe fill up.
    lines.for_each(drop);
    let status = rtmark.wait().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = status.code().expect("an exit code");
    Some((text(&output.stdout), text(&output.stderr), code))
}

/// The lines that are numbers.
fn numbers(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

#[track_caller]
fn assert_in_order(text: &str, words: &[&str]) {
    let mut rest = text;
    for word in words {
        let at = rest.find(word).unwrap_or_else(|| panic!("no `{word}` left in {text}"));
        rest = &rest[at + word.len()..];
    }
}

#[test]
fn breakpoints_steps_registers_and_memory_work() {
    let commands = [
        "break *0x0800000c",
        "continue",
        "ignore 1 2",
        "continue",
        "print $r0",
        "stepi",
        "print $r0",
        "x/xw 0x20000000",
        "set var $r0 = 18",
        "set var *(int *)0x20000000 = 77",
        "x/dw 0x20000000",
        "delete",
        "monitor instructions",
        "continue",
    ];
    let Some((text, monitor, code)) = debug("stm32c031", &commands) else { return };
    let words = [
        "Breakpoint 1, 0x0800000c",
        "Breakpoint 1, 0x0800000c",
        "$1 = 3",
        "$2 = 4",
        "0x20000000:\t0x00000003",
        "0x20000000:\t77",
        "exited normally",
    ];
    assert_in_order(&text, &words);
    assert_eq!(numbers(&monitor), [15], "{monitor}");
    assert_eq!(code, 0, "{text}");
}

#[test]
fn reverse_execution_works() {
    let commands = [
        "watch *(int *)0x20000000 if *(int *)0x20000000 == 5",
        "continue",
        "print $r0",
        "delete",
        "monitor cycles",
        "break *0x0800000e",
        "reverse-continue",
        "print $r0",
        "reverse-continue",
        "print $r0",
        "reverse-stepi",
        "print $pc",
        "delete",
        "reverse-continue",
        "print $pc",
        "monitor cycles",
        "watch *(int *)0x20000000 if *(int *)0x20000000 == 5",
        "continue",
        "print $r0",
        "monitor cycles",
        "kill",
    ];
    let Some((text, monitor, code)) = debug("stm32c031", &commands) else { return };
    let words = [
        "New value = 5",
        "0x08000010 in",
        "$1 = 5",
        "Breakpoint 2, 0x0800000e",
        "$2 = 5",
        "Breakpoint 2, 0x0800000e",
        "$3 = 4",
        "$4 = (void (*)()) 0x800000c",
        "No more reverse-execution history",
        "$5 = (void (*)()) 0x8000008",
        "New value = 5",
        "$6 = 5",
    ];
    assert_in_order(&text, &words);
    let cycles = numbers(&monitor);
    assert!(cycles.len() == 3 && cycles[0] == cycles[2] && cycles[1] == 0, "{monitor}");
    assert_eq!(code, 0, "{text}");
}

#[test]
fn what_the_debugger_changes_is_part_of_the_past() {
    let commands = [
        "break *0x0800000c",
        "continue",
        "set var $r0 = 10",
        "set var *(int *)0x20000010 = 77",
        "set var $sp = 0x20000300",
        "continue",
        "print $r0",
        "reverse-continue",
        "print $r0",
        "print $sp",
        "reverse-stepi",
        "print $sp",
        "print *(int *)0x20000010 == 77",
        "stepi",
        "print $r0",
        "print *(int *)0x20000010 == 77",
        "delete",
        "continue",
    ];
    let Some((text, _, code)) = debug("stm32c031", &commands) else { return };
    let words = [
        "$1 = 11",
        "$2 = 10",
        "$3 = (void *) 0x20000300",
        "$4 = (void *) 0x20000400",
        "$5 = 0",
        "$6 = 10",
        "$7 = 1",
        "exited normally",
    ];
    assert_in_order(&text, &words);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn the_fpu_and_system_registers_are_accessible() {
    let commands = [
        "set var $d0 = 1.5",
        "print $d0",
        "print $s1",
        "set var $basepri = 0x40",
        "print $basepri",
        "print $msp",
        "print/x $xpsr",
        "kill",
    ];
    let Some((text, ..)) = debug("stm32f405", &commands) else { return };
    assert_in_order(&text, &["$1 = 1.5", "$2 = 1.9375", "$3 = 64", "= 536871936", "0x1000000"]);
}

#[test]
fn a_risc_v_core_has_its_own_registers() {
    let commands = [
        "break *0x8000000c",
        "continue",
        "ignore 1 2",
        "continue",
        "print $a0",
        "stepi",
        "print/x $pc",
        "x/xw 0x80100000",
        "reverse-stepi",
        "print/x $pc",
        "print/x $mstatus",
        "set var $a0 = 18",
        "print $x10",
        "delete",
        "continue",
    ];
    let Some((text, _, code)) = debug("generic-hazard3", &commands) else { return };
    let words = [
        "Breakpoint 1, 0x8000000c",
        "Breakpoint 1, 0x8000000c",
        "$1 = 4",
        "$2 = 0x80000010",
        "0x80100000:\t0x00000004",
        "$3 = 0x8000000c",
        "$4 = 0x1800",
        "$5 = 18",
        "exited normally",
    ];
    assert_in_order(&text, &words);
    assert_eq!(code, 0, "{text}");
}

/// Without GDB, in its protocol: a program that runs is stopped by one byte.
#[test]
fn a_running_program_can_be_interrupted() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("loop.bin");
    let bytes = [0x2000_0400_u32, 0x0800_0009, 0xE7FE].map(u32::to_le_bytes).concat();
    std::fs::write(&path, bytes).expect("writable");
    let (mut rtmark, lines, address) = serve(&path.display().to_string(), "stm32c031");
    let mut connection = TcpStream::connect(address).expect("it listens");
    connection.set_read_timeout(Some(Duration::from_mins(1))).expect("a limit");
    connection.write_all(b"+$c#63").expect("sent");
    // Longer than ten seconds of the chip take.
    std::thread::sleep(Duration::from_millis(500));
    connection.write_all(b"\x03").expect("sent");
    let mut reply = Vec::new();
    let mut byte = [0];
    while !reply.ends_with(b"02") && reply.len() < 100 {
        connection.read_exact(&mut byte).expect("an answer");
        reply.push(byte[0]);
    }
    let reply = String::from_utf8_lossy(&reply).into_owned();
    assert!(reply.ends_with("S02") || reply.ends_with("T02"), "{reply}");
    drop(connection);
    lines.for_each(drop);
    assert_eq!(rtmark.wait().expect("it ends").code(), Some(0));
}
