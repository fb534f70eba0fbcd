use std::io::Read as _;
use std::sync::mpsc::{Sender, channel};

use rtmark_sim::Soc;

use super::*;

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

fn machine() -> Machine {
    let mut machine = Machine::new(&Soc::from_toml(SOC).expect("a soc"));
    for (at, word) in PROGRAM.iter().enumerate() {
        machine.poke_word(4 * at as u32, *word).expect("in flash");
    }
    machine.reset().expect("vectors");
    machine
}

/// Passes the address on.
struct Waiting(Sender<SocketAddr>);

impl SessionObserver for Waiting {
    fn printed(&mut self, _: Vec<u8>) {}

    fn listening(&mut self, address: SocketAddr) {
        self.0.send(address).expect("somebody waits");
    }

    fn connection_lost(&mut self, reason: &str) {
        panic!("{reason}");
    }
}

struct Debugger(TcpStream);

impl Debugger {
    /// Sends a packet and returns the answer.
    fn send_packet(&mut self, data: &str) -> String {
        let sum = data.bytes().fold(0_u8, u8::wrapping_add);
        self.0.write_all(format!("${data}#{sum:02x}").as_bytes()).expect("connected");
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

    /// Returns R0 and the program counter.
    fn state(&mut self) -> (u32, u32) {
        let registers = self.send_packet("g");
        let word = |at: usize| {
            let text = &registers[8 * at..8 * at + 8];
            u32::from_str_radix(text, 16).expect("hexadecimal").swap_bytes()
        };
        (word(0), word(15))
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

/// Runs a session with a debugger's requests, and returns how it ended.
fn session(ask: impl FnOnce(&mut Debugger)) -> (Machine, SessionEnd) {
    let (send, address) = channel();
    let server = std::thread::spawn(move || {
        serve("127.0.0.1:0", machine(), Cycles(1_000_000), &mut Waiting(send)).expect("it listens")
    });
    let connection = TcpStream::connect(address.recv().expect("an address")).expect("it listens");
    ask(&mut Debugger(connection));
    server.join().expect("no panic")
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
    assert_eq!(machine.instructions().0, 0);
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

#[test]
fn reaching_the_limit_ends_the_session_with_that_stop() {
    let (machine, ended) = session(|debugger| {
        assert_eq!(debugger.send_packet("c"), "S18", "SIGXCPU: out of cycles");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert!(machine.cycles().0 >= 1_000_000);
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
