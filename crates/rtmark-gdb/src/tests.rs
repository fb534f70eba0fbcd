use std::io::Read as _;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rtmark_sim::{Observer, Register, Soc};

use super::*;

mod features;
mod protocol;

const SOC: &str = r#"
    name = "bench"
    description = "memories without wait states"
    core = "cortex-m3"
    clock_hz = 1_000_000
    interrupts = 1
    priority_bits = 4

    [[memory]]
    name = "FLASH"
    kind = "flash"
    base = 0
    size = 0x1000

    [[memory]]
    name = "RAM"
    kind = "ram"
    base = 0x2000_0000
    size = 0x1000
"#;

/// Counts in R0 for ever: adds r0, #1; b back to it.
const PROGRAM: [u32; 3] = [0x2000_0400, 9, 0xE7FD_3001];

/// Prints letters for ever, from `A` on: movs r4, #65; movs r1, #0x20; lsls r1, r1, #24; strb r4, [r1];
/// movs r0, #3; bkpt 0xab; adds r4, #1; b back to the second one.
const PRINTING: [u32; 6] = [0x2000_0400, 9, 0x2120_2441, 0x700C_0609, 0xBEAB_2003, 0xE7F8_3401];
/// The call that prints, in that program.
const PRINTS: &str = "12";

/// A core that begins several instructions in one cycle, and a loop of such: adds r0, #1; adds r1, #1;
/// adds r2, #1; b back to the first.
const DUAL_ISSUE: &str = include_str!("../../../socs/generic-cortex-m7.toml");
const ADDING: [u32; 4] = [0x2000_0400, 9, 0x3101_3001, 0xE7FB_3201];

fn machine(soc: &str, program: &[u32]) -> Machine {
    let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
    for (at, word) in program.iter().enumerate() {
        machine.poke_word(4 * at as u32, *word).expect("in flash");
    }
    machine.reset().expect("vectors");
    machine
}

/// What is heard of a session: the address is passed on, the rest kept.
struct Heard {
    address: Sender<SocketAddr>,
    printed: Vec<u8>,
    lost: Option<String>,
}

impl SessionObserver for Heard {
    fn printed(&mut self, mut bytes: Vec<u8>) {
        self.printed.append(&mut bytes);
    }

    fn listening(&mut self, address: SocketAddr) {
        self.address.send(address).expect("somebody waits");
    }

    fn connection_lost(&mut self, reason: &str) {
        self.lost = Some(reason.to_owned());
    }
}

struct Debugger(TcpStream);

impl Debugger {
    /// Sends a packet and returns the answer.
    fn send_packet(&mut self, data: &str) -> String {
        self.send(data);
        self.answer()
    }

    fn send(&mut self, data: &str) {
        let sum = data.bytes().fold(0_u8, u8::wrapping_add);
        self.0.write_all(format!("${data}#{sum:02x}").as_bytes()).expect("connected");
    }

    fn answer(&mut self) -> String {
        let mut answer = String::new();
        while answer.len() < 3 || answer.as_bytes()[answer.len() - 3] != b'#' {
            let mut byte = [0];
            self.0.read_exact(&mut byte).expect("an answer");
            if !(answer.is_empty() && byte[0] == b'+') {
                answer.push(char::from(byte[0]));
            }
        }
        expanded(&answer[1..answer.len() - 3])
    }

    /// Returns what a command of `monitor` prints.
    fn monitor(&mut self, command: &str) -> String {
        let hex = command.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        let mut answer = self.send_packet(&format!("qRcmd,{hex}"));
        let mut text = Vec::new();
        while let Some(hex) = answer.strip_prefix('O').filter(|hex| *hex != "K") {
            let (pairs, _) = hex.as_bytes().as_chunks::<2>();
            let byte = |pair: &[u8; 2]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16);
            text.extend(pairs.iter().map(|pair| byte(pair).expect("hexadecimal")));
            answer = self.answer();
        }
        assert_eq!(answer, "OK");
        String::from_utf8(text).expect("text")
    }

    /// Returns R0 and the program counter.
    fn state(&mut self) -> (u32, u32) {
        (self.register(0), self.register(15))
    }

    fn register(&mut self, number: usize) -> u32 {
        let registers = self.send_packet("g");
        let text = &registers[8 * number..8 * number + 8];
        u32::from_str_radix(text, 16).expect("hexadecimal").swap_bytes()
    }

    /// Sets a register, as GDB does: by all of them.
    fn set_register(&mut self, number: usize, value: u32) {
        let mut registers = self.send_packet("g");
        let text = format!("{:08x}", value.swap_bytes());
        registers.replace_range(8 * number..8 * number + 8, &text);
        assert_eq!(self.send_packet(&format!("G{registers}")), "OK");
    }

    /// Goes on with `c` or `bc`, from breakpoint to breakpoint.
    fn goes(&mut self, to: &str, addresses: &[u32]) {
        for address in addresses {
            assert!(self.send_packet(to).starts_with("T05"));
            assert_eq!(self.register(15), *address);
        }
    }

    /// Steps forwards or backwards, with `s` or `bs`.
    fn steps(&mut self, step: &str, times: usize) {
        for _ in 0..times {
            assert_eq!(self.send_packet(step), "S05");
        }
    }
}

/// Expands run lengths in an answer (GDB's manual, "Overview" of the protocol): `0* ` stands for
/// `0000`.
fn expanded(answer: &str) -> String {
    let mut whole = String::new();
    let mut letters = answer.chars();
    while let Some(letter) = letters.next() {
        match (letter, whole.chars().last()) {
            ('*', Some(last)) => {
                let times = letters.next().map_or(0, |count| u32::from(count) - 29);
                whole.extend((0..times).map(|_| last));
            }
            _ => whole.push(letter),
        }
    }
    whole
}

/// Runs a session with a debugger's requests on a machine, and returns how it ended and what was heard.
fn conversation(
    machine: Machine,
    limit: &(dyn Fn(&Machine) -> Cycles + Sync),
    ask: impl FnOnce(&mut Debugger),
) -> (Machine, SessionEnd, Heard) {
    let (address, told) = channel();
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let mut heard = Heard { address, printed: Vec::new(), lost: None };
            let served = serve("127.0.0.1:0", machine, limit, &mut heard);
            let (machine, end) = served.expect("it listens");
            (machine, end, heard)
        });
        let connection = TcpStream::connect(told.recv().expect("an address")).expect("it listens");
        connection.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        ask(&mut Debugger(connection));
        server.join().expect("no panic")
    })
}

/// Runs a session up to a limit, and returns how it ended and what was printed.
fn session_of(machine: Machine, ask: impl FnOnce(&mut Debugger)) -> (Machine, SessionEnd, Vec<u8>) {
    let (machine, end, heard) = conversation(machine, &|_| Cycles(12_000_000), ask);
    assert_eq!(heard.lost, None);
    (machine, end, heard.printed)
}

/// Runs a session on the program that counts.
fn session(ask: impl FnOnce(&mut Debugger)) -> (Machine, SessionEnd) {
    let (machine, end, _) = session_of(machine(SOC, &PROGRAM), ask);
    (machine, end)
}

#[test]
fn reverse_steps_undo_steps() {
    let (machine, ended) = session(|debugger| {
        let mut seen = vec![debugger.state()];
        for _ in 0..5 {
            assert_eq!(debugger.send_packet("s"), "S05");
            seen.push(debugger.state());
        }
        assert_eq!(seen[5].0, seen[0].0 + 3, "{seen:x?}");
        for before in seen.iter().rev().skip(1) {
            assert_eq!(debugger.send_packet("bs"), "S05");
            assert_eq!(debugger.state(), *before);
        }
        assert!(debugger.send_packet("bs").contains("replaylog:begin"), "there is nothing before");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert_eq!(ended, SessionEnd::Detached);
    assert_eq!(machine.instructions().0, 5, "it goes on from where it had come");
}

/// To detach is to continue: in the past, the known future comes first, with what was changed there.
#[test]
fn a_program_left_in_the_past_meets_the_changes_ahead() {
    let debugged = |machine: &Machine, ahead: usize, backwards: usize| {
        let (mut machine, ended, _) = session_of(machine.clone(), |debugger| {
            debugger.steps("s", 6);
            assert_eq!(debugger.send_packet("M20000010,4:01020304"), "OK");
            debugger.set_register(0, 100);
            debugger.steps("s", ahead);
            // At the last moment as well.
            debugger.set_register(0, 200);
            debugger.steps("bs", backwards);
            assert_eq!(debugger.send_packet("D"), "OK");
        });
        assert_eq!(ended, SessionEnd::Detached);
        machine.run(Cycles(1_000));
        let r0 = machine.register(Register::R(0));
        (machine.instructions(), machine.cycles(), r0, machine.peek(0x2000_0010, 4))
    };
    for machine in [machine(SOC, &PROGRAM), machine(DUAL_ISSUE, &ADDING)] {
        // Some of these moments are in the middle of a cycle.
        for ahead in 2..6 {
            let present = debugged(&machine, ahead, 0);
            assert!(present.2 > 200 && present.3 == [1, 2, 3, 4], "{present:?}");
            for backwards in [1, 2, ahead + 1, ahead + 6] {
                let found = debugged(&machine, ahead, backwards);
                assert_eq!(found, present, "{backwards} of {ahead} steps back");
            }
        }
    }
}

/// What ended the known future ends it again, unless the debugger led the program beyond it.
#[test]
fn a_program_left_in_the_past_ends_where_it_ended() {
    // movs r0, #1; movs r0, #2; an undefined instruction; b to itself.
    let faulting = machine(SOC, &[0x2000_0400, 9, 0x2002_2001, 0xE7FE_DE00]);
    for goes_beyond in [false, true] {
        let (machine, ended, _) = session_of(faulting.clone(), |debugger| {
            assert_eq!(debugger.send_packet("c"), "S0b");
            if goes_beyond {
                debugger.set_register(15, 0xE);
                debugger.steps("s", 1);
            }
            debugger.steps("bs", 2);
            assert_eq!(debugger.send_packet("D"), "OK");
        });
        assert_eq!(ended == SessionEnd::Detached, goes_beyond, "{ended:?}");
        assert_eq!(matches!(ended, SessionEnd::Stopped(Stop::Fault(_))), !goes_beyond);
        let at = if goes_beyond { 0xE } else { 0xC };
        assert_eq!((machine.register(Register::R(0)), machine.register(Register::Pc)), (2, at));
    }
}

#[test]
fn a_program_left_in_the_past_prints_nothing_twice() {
    let (mut machine, ended, mut printed) = session_of(machine(SOC, &PRINTING), |debugger| {
        assert_eq!(debugger.send_packet(&format!("Z0,{PRINTS},2")), "OK");
        for to in ["c", "c", "c", "c", "bc", "bc"] {
            assert!(debugger.send_packet(to).starts_with("T05"));
        }
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert_eq!(ended, SessionEnd::Detached);
    machine.run(Cycles(500));
    printed.extend(machine.take_console());
    assert!(printed.len() > 10, "{printed:?}");
    assert!(printed.iter().copied().eq((b'A'..).take(printed.len())), "{printed:?}");
}

#[test]
fn reverse_continue_stops_at_the_previous_breakpoint() {
    let (_, ended) = session(|debugger| {
        for _ in 0..7 {
            debugger.send_packet("s");
        }
        let (count, _) = debugger.state();
        // The branch: R0 is what the preceding addition has made it.
        assert_eq!(debugger.send_packet("Z0,a,2"), "OK");
        for passed in 0..3 {
            assert!(debugger.send_packet("bc").starts_with("T05"));
            assert_eq!(debugger.state(), (count - 1 - passed, 10));
        }
        // A write from outside starts a new history.
        assert_eq!(debugger.send_packet("M20000000,4:01020304"), "OK");
        assert_eq!(debugger.send_packet("m20000000,4"), "01020304");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert_eq!(ended, SessionEnd::Detached);
}

/// GDB's own recordings repeat what was changed while recording (its manual, "Recording Inferior's
/// Execution and Replaying It").
#[test]
fn changes_are_undone_backwards_and_made_again_forwards() {
    let (_, ended) = session(|debugger| {
        let word = |debugger: &mut Debugger| debugger.send_packet("m20000010,4");
        debugger.steps("s", 6);
        assert_eq!(debugger.state(), (3, 8));
        assert_eq!(debugger.send_packet("M20000010,4:01020304"), "OK");
        debugger.set_register(0, 100);
        debugger.steps("s", 4);
        assert_eq!(debugger.state(), (102, 8));
        debugger.steps("bs", 4);
        assert_eq!((debugger.state(), word(debugger).as_str()), ((100, 8), "01020304"));
        debugger.steps("bs", 2);
        assert_eq!((debugger.state(), word(debugger).as_str()), ((2, 8), "a5a5a5a5"));
        // Step by step, and backwards from behind the change.
        debugger.steps("s", 2);
        assert_eq!((debugger.state(), word(debugger).as_str()), ((100, 8), "01020304"));
        debugger.steps("s", 2);
        assert_eq!((debugger.state(), word(debugger).as_str()), ((101, 8), "01020304"));
        debugger.steps("bs", 1);
        assert_eq!((debugger.state(), word(debugger).as_str()), ((101, 10), "01020304"));
        debugger.steps("bs", 4);
        assert_eq!((debugger.state(), word(debugger).as_str()), ((2, 10), "a5a5a5a5"));
        // A breakpoint at the very moment of the change is found in both directions.
        assert_eq!(debugger.send_packet("Z0,8,2"), "OK");
        for (to, count) in [("c", 2), ("c", 100), ("c", 101), ("bc", 100), ("bc", 2), ("bc", 1)] {
            assert!(debugger.send_packet(to).starts_with("T05"));
            assert_eq!(debugger.state(), (count, 8));
        }
        assert_eq!(debugger.send_packet("z0,8,2"), "OK");
        // Without it at full speed, past the change and further than one slice.
        assert_eq!(debugger.send_packet("c"), "S18");
        let end = debugger.register(0);
        assert_eq!(word(debugger), "01020304");
        assert!(end > 1_000_000);
        debugger.steps("bs", 2);
        assert_eq!((debugger.register(0), word(debugger).as_str()), (end - 1, "01020304"));
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert_eq!(ended, SessionEnd::Detached);
}

/// SP is another name of MSP here, and GDB writes both.
#[test]
fn the_stack_pointer_can_be_set() {
    session(|debugger| {
        debugger.steps("s", 2);
        debugger.set_register(13, 0x2000_0300);
        assert_eq!(debugger.register(13), 0x2000_0300);
        debugger.steps("s", 1);
        debugger.steps("bs", 2);
        assert_eq!(debugger.register(13), 0x2000_0400);
        debugger.steps("s", 2);
        assert_eq!(debugger.register(13), 0x2000_0300);
        assert_eq!(debugger.send_packet("D"), "OK");
    });
}

#[test]
fn a_change_in_the_past_begins_another_future() {
    let (_, ended) = session(|debugger| {
        let words = |debugger: &mut Debugger| debugger.send_packet("m20000010,8");
        debugger.steps("s", 4);
        assert_eq!(debugger.send_packet("M20000010,4:01010101"), "OK");
        debugger.steps("s", 4);
        debugger.steps("bs", 6);
        assert_eq!(debugger.send_packet("M20000014,4:02020202"), "OK");
        debugger.steps("s", 6);
        assert_eq!(words(debugger), "a5a5a5a502020202");
        debugger.steps("bs", 1);
        assert_eq!(words(debugger), "a5a5a5a502020202", "of the same history");
        debugger.steps("bs", 6);
        assert_eq!(words(debugger), "a5a5a5a5a5a5a5a5");
        // A write that fails changes nothing, and neither does one of what is there.
        assert!(debugger.send_packet("M70000000,4:01020304").starts_with('E'));
        let count = debugger.register(0);
        debugger.set_register(0, count);
        debugger.steps("s", 1);
        assert_eq!(words(debugger), "a5a5a5a502020202");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert_eq!(ended, SessionEnd::Detached);
}

/// Returns the cycles in which the next instructions begin.
fn beginnings(machine: &Machine, count: usize) -> Vec<u64> {
    struct Beginnings(Vec<u64>, usize);
    impl Observer for Beginnings {
        fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
            self.0.push(machine.cycles().0);
            if self.0.len() < self.1 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
    }
    let mut beginnings = Beginnings(Vec::new(), count);
    machine.clone().run_observed(Cycles(u64::MAX), &mut beginnings);
    beginnings.0
}

/// Also in the middle of a cycle.
#[test]
fn more_changes_than_copies_are_kept() {
    let cores = [machine(SOC, &PROGRAM), machine(DUAL_ISSUE, &ADDING)];
    let begun = beginnings(&cores[1], 200);
    assert!(begun.windows(2).filter(|pair| pair[0] == pair[1]).count() > 50, "{begun:?}");
    cores.into_iter().for_each(keep_many_changes);
}

fn keep_many_changes(machine: Machine) {
    let (_, ended, _) = session_of(machine, |debugger| {
        for number in 0..200_u32 {
            let write = format!("M20000010,4:{:08x}", number.swap_bytes());
            assert_eq!(debugger.send_packet(&write), "OK");
            debugger.steps("s", 1);
        }
        for number in (0..200_u32).rev() {
            debugger.steps("bs", 1);
            let word = format!("{:08x}", number.swap_bytes());
            assert_eq!(debugger.send_packet("m20000010,4"), word);
        }
        for number in 0..150_u32 {
            let word = format!("{:08x}", number.swap_bytes());
            assert_eq!(debugger.send_packet("m20000010,4"), word);
            debugger.steps("s", 1);
        }
        assert_eq!(debugger.send_packet("c"), "S18");
        assert_eq!(debugger.send_packet("m20000010,4"), "c7000000");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert_eq!(ended, SessionEnd::Detached);
}

/// Sleeps until SysTick's handler, which is empty: wfi; adds r0, #1; b back. The handler's bx lr is at 0x10.
const SLEEPING: [u32; 16] =
    [0x2000_0400, 9, 0x3001_BF30, 0xBF00_E7FC, 0xBF00_4770, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11];

/// Restarting SysTick's count changes when the core wakes. No copy of that moment is left when it is gone through
/// again.
#[test]
fn a_change_while_the_core_sleeps_is_made_again_at_its_moment() {
    let asked = AtomicUsize::new(0);
    let limit = |_: &Machine| Cycles([1_000, 1_000, 1_000_000][asked.fetch_add(1, Relaxed).min(2)]);
    let (.., heard) = conversation(machine(SOC, &SLEEPING), &limit, |debugger| {
        for write in ["Me000e014,4:dc050000", "Me000e018,4:00000000", "Me000e010,4:07000000"] {
            assert_eq!(debugger.send_packet(write), "OK");
        }
        assert_eq!(debugger.send_packet("c"), "S18");
        assert_eq!(debugger.monitor("cycles"), "1000\n");
        assert_eq!(debugger.send_packet("Me000e018,4:00000000"), "OK");
        let mut cycles = Vec::new();
        for number in 0..80 {
            debugger.steps("s", 1);
            cycles.push(debugger.monitor("cycles"));
            assert_eq!(debugger.send_packet(&format!("M20000010,4:000000{number:02x}")), "OK");
        }
        assert!(cycles[0].trim().parse().is_ok_and(|woken: u64| woken > 2_500), "{cycles:?}");
        for before in cycles.iter().rev().skip(1) {
            debugger.steps("bs", 1);
            assert_eq!(debugger.monitor("cycles"), *before);
        }
        debugger.steps("bs", 1);
        assert_eq!(debugger.register(15), 8);
        for again in &cycles {
            debugger.steps("s", 1);
            assert_eq!(debugger.monitor("cycles"), *again);
        }
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert_eq!(heard.lost, None);
}

#[test]
fn nothing_is_printed_twice() {
    let (.., printed) = session_of(machine(SOC, &PRINTING), |debugger| {
        assert_eq!(debugger.send_packet(&format!("Z0,{PRINTS},2")), "OK");
        for to in ["c", "c", "c", "c", "bc", "bc", "c", "bc", "bc"] {
            assert!(debugger.send_packet(to).starts_with("T05"));
        }
        assert_eq!(debugger.register(4), u32::from(b'A'));
        assert_eq!(debugger.send_packet(&format!("z0,{PRINTS},2")), "OK");
        // In one go past the end of what was printed.
        assert_eq!(debugger.send_packet("c"), "S18");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert!(printed.len() > 100_000);
    let numbered = (b'A'..=u8::MAX).chain((0..=u8::MAX).cycle());
    assert_eq!(printed.iter().copied().zip(numbered).position(|(one, other)| one != other), None);
}

#[test]
fn what_is_new_after_a_change_in_the_past_is_printed() {
    let (.., printed) = session_of(machine(SOC, &PRINTING), |debugger| {
        let forwards = |debugger: &mut Debugger, times: usize| {
            for _ in 0..times {
                assert!(debugger.send_packet("c").starts_with("T05"));
            }
        };
        assert_eq!(debugger.send_packet(&format!("Z0,{PRINTS},2")), "OK");
        forwards(debugger, 5);
        for _ in 0..3 {
            assert!(debugger.send_packet("bc").starts_with("T05"));
        }
        assert_eq!(debugger.register(4), u32::from(b'B'));
        assert_eq!(debugger.send_packet("M20000000,1:78"), "OK");
        debugger.set_register(4, u32::from(b'p'));
        forwards(debugger, 3);
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    // The letter is in memory already, so the first new one is what was written there.
    assert_eq!(String::from_utf8_lossy(&printed), "ABCDxqr");
}

#[test]
fn reaching_the_limit_ends_the_session_with_that_stop() {
    let (machine, ended) = session(|debugger| {
        assert_eq!(debugger.send_packet("c"), "S18", "SIGXCPU: out of cycles");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert!(machine.cycles().0 >= 12_000_000);
    assert_eq!(ended, SessionEnd::Detached);
}

#[test]
fn addresses_default_to_localhost() {
    assert_eq!(address(":3333"), Ok("127.0.0.1:3333".to_owned()));
    assert_eq!(address("3333"), Ok("127.0.0.1:3333".to_owned()));
    assert_eq!(address("[::1]:3333"), Ok("[::1]:3333".to_owned()));
    for wrong in ["", ":", ":x", "host", ":65536"] {
        assert!(address(wrong).is_err(), "{wrong}");
    }
}
