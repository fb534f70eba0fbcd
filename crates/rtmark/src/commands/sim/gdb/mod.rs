//! `--gdb`: the machine under GDB, backwards too.

mod history;
mod registers;
mod stops;
mod target;
mod wire;

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};

use gdbstub::common::Signal;
use gdbstub::conn::ConnectionExt as _;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub};
use rtmark_sim::{Cycles, Machine, Stop};

use crate::exit::Exit;
use crate::output::say;
use crate::trouble::Trouble;
use target::{Debugged, Reason};
use wire::Wire;

/// Runs the machine and looks at the connection now and then.
struct Loop<'a>(std::marker::PhantomData<&'a ()>);

type Waited<T> = Result<T, WaitForStopReasonError<target::Never, std::io::Error>>;

impl<'a> BlockingEventLoop for Loop<'a> {
    type Target = Debugged<'a>;
    type Connection = Wire;
    type StopReason = Reason;

    fn wait_for_stop_reason(
        debugged: &mut Debugged<'a>,
        connection: &mut Wire,
    ) -> Waited<Event<Reason>> {
        loop {
            if let Some(reason) = debugged.advance() {
                return Ok(Event::TargetStopped(reason));
            }
            // A connection that is gone shows up when it is read.
            if connection.peek().map_or(true, |byte| byte.is_some()) {
                let byte = connection.read().map_err(WaitForStopReasonError::Connection)?;
                return Ok(Event::IncomingData(byte));
            }
        }
    }

    fn on_interrupt(_debugged: &mut Debugged<'a>) -> Result<Option<Reason>, target::Never> {
        Ok(Some(Reason::Signal(Signal::SIGINT)))
    }
}

/// Listens on the host's own address, or on another one that is named.
pub fn parse(text: &str) -> Result<String, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let _: u16 = port.parse().map_err(|_| format!("`{port}` is no port, as in :3333"))?;
    Ok(if host.is_empty() { format!("127.0.0.1:{port}") } else { text.to_owned() })
}

/// What a packet that cannot be understood is answered with: an error of no particular kind.
const NOT_UNDERSTOOD: &[u8] = b"$E00#a5";

/// Does as a debugger says until one of both ends it. A packet that cannot be understood is refused,
/// and the next one is read.
fn converse(
    mut connection: &TcpStream,
    debugged: &mut Debugged<'_>,
) -> Result<DisconnectReason, Box<dyn std::error::Error>> {
    loop {
        let ended =
            GdbStub::new(Wire::new(connection.try_clone()?)).run_blocking::<Loop<'_>>(debugged);
        match ended {
            Err(error) if !error.is_connection_error() && !error.is_target_error() => {
                connection.write_all(NOT_UNDERSTOOD)?;
            }
            other => return Ok(other?),
        }
    }
}

/// Waits for a debugger and does as it says. Answers the machine, and why it came
/// back last unless the debugger has gone before: then it is to run on, or not.
pub fn serve(
    address: &str,
    machine: Machine,
    limit: Cycles,
    print: &mut dyn FnMut(Vec<u8>),
) -> Result<(Machine, Option<Stop>), Trouble> {
    let trouble = |error: &dyn std::fmt::Display| {
        let message = format!("--gdb: {address}: {error}");
        Trouble::new(Exit::Usage, message, "choose another port, as in --gdb :3334")
    };
    let listener = TcpListener::bind(address).map_err(|error| trouble(&error))?;
    let local = listener.local_addr().map_err(|error| trouble(&error))?;
    say(format!("waiting for GDB on {local}: `target remote {local}`"));
    let (connection, _) = listener.accept().map_err(|error| trouble(&error))?;
    // One debugger at a time: who comes later is refused rather than left waiting.
    drop(listener);
    // Packets are small, and each is waited for.
    connection.set_nodelay(true).map_err(|error| trouble(&error))?;
    let mut debugged = Debugged::new(machine, limit, print);
    let stop = match converse(&connection, &mut debugged) {
        Ok(DisconnectReason::Disconnect) => None,
        Ok(DisconnectReason::TargetExited(_) | DisconnectReason::TargetTerminated(_)) => {
            debugged.stop
        }
        Ok(DisconnectReason::Kill) => Some(Stop::Observer),
        Err(error) => {
            say(format!("GDB has gone: {error}"));
            Some(Stop::Observer)
        }
    };
    Ok((debugged.machine, stop))
}
