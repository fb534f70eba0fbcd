//! The GDB server beside debuggers that err, by packets as they stand on the wire.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use crate::common::{Elf, LOOP, rtmark};

/// A packet with its checksum.
fn packet(data: &str) -> Vec<u8> {
    let sum = data.bytes().fold(0_u8, u8::wrapping_add);
    format!("${data}#{sum:02x}").into_bytes()
}

/// Sends bytes and reads one answer, acknowledgements aside.
fn ask(connection: &mut TcpStream, bytes: &[u8]) -> String {
    connection.write_all(bytes).expect("connected");
    let (mut answer, mut byte) = (String::new(), [0]);
    while !(answer.len() > 3 && answer.as_bytes()[answer.len() - 3] == b'#') {
        connection.read_exact(&mut byte).expect("an answer");
        if !(answer.is_empty() && matches!(byte[0], b'+' | b'-')) {
            answer.push(char::from(byte[0]));
        }
    }
    answer
}

/// Starts a run that waits for a debugger; returns it with its stderr and the address.
fn serve(home: &Path) -> (Child, BufReader<ChildStderr>, String) {
    Elf { code: LOOP, ..Elf::default() }.write(&home.join("a.elf"));
    let arguments = ["sim", "a.elf", "--soc", "stm32c031", "--gdb", ":0", "--max-cycles", "1000"];
    let mut command = rtmark(home);
    let mut server = command.args(arguments).stderr(Stdio::piped()).spawn().expect("rtmark runs");
    let mut stderr_reader = BufReader::new(server.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr_reader.read_line(&mut line).expect("a line");
    let address = line.trim().trim_end_matches('`').rsplit(' ').next().expect("an address");
    let address = address.to_owned();
    (server, stderr_reader, address)
}

fn connect(address: &str) -> TcpStream {
    let connection = TcpStream::connect(address).expect("it listens");
    connection.set_read_timeout(Some(Duration::from_mins(1))).expect("a time");
    connection
}

#[test]
fn invalid_debugger_requests_are_rejected_and_the_session_continues() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let (mut server, _stderr, address) = serve(home.path());
    let mut connection = connect(&address);
    let supported = ask(&mut connection, &packet("qSupported:swbreak+"));
    assert!(supported.contains("PacketSize="), "{supported}");
    assert!(TcpStream::connect(&address).is_err(), "a second one is refused");

    let longer = format!("M20000000,4000:{}", "00".repeat(0x4000));
    let wrong = ["mzz,4", "m20000000", "M20000000,4:zz", "G00", "Pzz=1", "Z0,zz,2", "vCont;c:zz"];
    let wrong = wrong.iter().map(|data| packet(data)).chain([packet(&longer)]);
    let unframed = [b"$?#00".to_vec(), b"$#00".to_vec(), b"$?#zz".to_vec()];
    for bytes in wrong.chain(unframed) {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(30)]).into_owned();
        let answer = ask(&mut connection, &bytes);
        assert!(answer.starts_with("$E") || answer == "$#00", "{shown}: {answer}");
        let noise = [b"\x00\xffnoise".to_vec(), packet("g")].concat();
        let registers = ask(&mut connection, &noise);
        assert!(registers.starts_with("$0") && registers.len() > 20, "{shown}: {registers}");
    }
    let detached = ask(&mut connection, &packet("D"));
    assert_eq!(detached, "$OK#9a");
    let ended = server.wait().expect("it ends").code();
    assert_eq!(ended, Some(12), "it runs on alone, out of its cycles");
}

/// A run that a debugger continues ends at its limit as well: the debugger is told, and nothing runs on.
#[test]
fn the_limit_of_a_run_holds_under_a_debugger() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let (mut server, _stderr, address) = serve(home.path());
    let mut connection = connect(&address);
    for again in [false, true] {
        let stopped = ask(&mut connection, &packet("vCont;c"));
        assert!(stopped.starts_with("$S18") || stopped.starts_with("$T18"), "{again}: {stopped}");
    }
    assert_eq!(ask(&mut connection, &packet("D")), "$OK#9a");
    assert_eq!(server.wait().expect("it ends").code(), Some(12), "out of its cycles");
}

/// GDB's `kill` waits for the answer, and reports a lost connection without one.
#[test]
fn a_kill_is_answered() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let (mut server, _stderr, address) = serve(home.path());
    assert_eq!(ask(&mut connect(&address), &packet("vKill;1")), "$OK#9a");
    assert_eq!(server.wait().expect("it ends").code(), Some(0));
}
