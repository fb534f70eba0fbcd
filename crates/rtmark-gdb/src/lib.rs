//! Serves the simulator over GDB's remote serial protocol: breakpoints, watchpoints, single steps,
//! registers and memory as on a chip, and reverse execution.
//!
//! [`serve`] listens on an address, waits for one debugger, and follows its commands until either side
//! ends the session. The program's output and news about the connection go to an [`SessionObserver`]: the
//! crate itself prints nothing, and knows nothing about arguments or exit codes.
//!
//! Reverse execution rests on two facts: a machine is a value that can be copied, and it runs the same
//! way every time. So a past moment can be reached from the last copy before it. The idea is that of
//! reverse debugging by checkpoints and deterministic replay (GDB's manual, "Running programs
//! backward"; B. Boothe, "Efficient algorithms for bidirectional debugging", PLDI 2000).
//!
//! The protocol is that of GDB's manual, appendix "Remote Serial Protocol", implemented by the crate
//! `gdbstub`; target descriptions follow its appendix "Target Descriptions".

mod history;
mod registers;
mod stops;
mod target;
mod wire;

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};

use gdbstub::common::Signal;
use gdbstub::conn::ConnectionExt as _;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub};
use rtmark_sim::{Cycles, Machine, Stop};

use target::{DebugTarget, TargetStopReason};
use wire::Wire;

/// No connection could be made: the address and the system's error.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {source}")]
pub struct ConnectError {
    /// The address as it was given.
    pub address: String,
    /// The system's error.
    pub source: std::io::Error,
}

/// An address that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a port such as :3333")]
pub struct NoPort(String);

/// Observes a session from outside.
pub trait SessionObserver {
    /// The program has printed these bytes. Nothing is reported again when it repeats a part of the run
    /// after a step backwards.
    fn printed(&mut self, bytes: Vec<u8>);
    /// A debugger may connect to this address now.
    fn listening(&mut self, address: SocketAddr);
    /// The connection broke, for this reason.
    fn connection_lost(&mut self, reason: &str);
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The debugger has detached: the program is to continue.
    Detached,
    /// The program is to end here: this was its last stop, or the debugger has gone.
    Stopped(Stop),
}

/// Runs the machine and checks the connection now and then.
struct Loop<'a>(std::marker::PhantomData<&'a ()>);

type WaitResult<T> = Result<T, WaitForStopReasonError<target::Never, std::io::Error>>;

impl<'a> BlockingEventLoop for Loop<'a> {
    type Target = DebugTarget<'a>;
    type Connection = Wire;
    type StopReason = TargetStopReason;

    fn wait_for_stop_reason(
        debugged: &mut DebugTarget<'a>,
        connection: &mut Wire,
    ) -> WaitResult<Event<TargetStopReason>> {
        loop {
            if let Some(reason) = debugged.advance() {
                return Ok(Event::TargetStopped(reason));
            }
            // A broken connection shows up when it is read.
            if connection.peek().map_or(true, |byte| byte.is_some()) {
                let byte = connection.read().map_err(WaitForStopReasonError::Connection)?;
                return Ok(Event::IncomingData(byte));
            }
        }
    }

    fn on_interrupt(
        _debugged: &mut DebugTarget<'a>,
    ) -> Result<Option<TargetStopReason>, target::Never> {
        Ok(Some(TargetStopReason::Signal(Signal::SIGINT)))
    }
}

/// Parses an address to listen on, `[HOST]:PORT` or `PORT`: without a host, only this computer can
/// connect.
///
/// # Errors
///
/// When the port is not a number from 0 to 65535. Port 0 means any free one.
pub fn address(text: &str) -> Result<String, NoPort> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let _: u16 = port.parse().map_err(|_| NoPort(port.to_owned()))?;
    Ok(if host.is_empty() { format!("127.0.0.1:{port}") } else { text.to_owned() })
}

/// The answer to a packet that cannot be understood: an unspecific error.
const NOT_UNDERSTOOD: &[u8] = b"$E00#a5";

/// The answer to `vKill`, without which GDB reports a lost connection. After `k` it is not read.
const KILLED: &[u8] = b"$OK#9a";

/// Follows a debugger's commands until either side ends the session. A packet that cannot be understood
/// is refused, and the next one is read.
fn run_session(
    mut connection: &TcpStream,
    debugged: &mut DebugTarget<'_>,
) -> Result<DisconnectReason, Box<dyn std::error::Error>> {
    loop {
        let ended =
            GdbStub::new(Wire::new(connection.try_clone()?)).run_blocking::<Loop<'_>>(debugged);
        match ended {
            Err(error) if !error.is_connection_error() => {
                connection.write_all(NOT_UNDERSTOOD)?;
            }
            Ok(DisconnectReason::Kill) => {
                // Who has sent `k` may be gone already.
                let _ = connection.write_all(KILLED);
                return Ok(DisconnectReason::Kill);
            }
            other => return Ok(other?),
        }
    }
}

/// Waits for a debugger at an address and follows its commands; the program runs no further than the
/// cycle limit, which is asked for again when it is reached: the program may have made its clock faster.
/// Returns the machine as the debugger has left it; if it has detached in the past, at the latest moment that it
/// has seen, with the changes made on the way there.
///
/// # Errors
///
/// When listening or connecting fails. A connection that breaks later is not an error: it is reported
/// to the audience, and the session ends.
pub fn serve(
    address: &str,
    machine: Machine,
    limit: &dyn Fn(&Machine) -> Cycles,
    observer: &mut dyn SessionObserver,
) -> Result<(Machine, SessionEnd), ConnectError> {
    let connection = accept(address, observer)
        .map_err(|source| ConnectError { address: address.to_owned(), source })?;
    let mut debugged = DebugTarget::new(machine, limit, observer);
    let conversed = run_session(&connection, &mut debugged);
    // To detach is to continue, in the past as well.
    let is_left = matches!(conversed, Ok(DisconnectReason::Disconnect));
    let ahead = if is_left { debugged.return_to_present() } else { None };
    let DebugTarget { machine, stop, observer, .. } = debugged;
    let ended = match conversed {
        Ok(DisconnectReason::Disconnect) => ahead.map_or(SessionEnd::Detached, SessionEnd::Stopped),
        Ok(DisconnectReason::TargetExited(_) | DisconnectReason::TargetTerminated(_)) => {
            stop.map_or(SessionEnd::Detached, SessionEnd::Stopped)
        }
        Ok(DisconnectReason::Kill) => SessionEnd::Stopped(Stop::Observer),
        Err(error) => {
            observer.connection_lost(&error.to_string());
            SessionEnd::Stopped(Stop::Observer)
        }
    };
    Ok((machine, ended))
}

/// Accepts the first connection to an address.
fn accept(address: &str, observer: &mut dyn SessionObserver) -> std::io::Result<TcpStream> {
    let listener = TcpListener::bind(address)?;
    observer.listening(listener.local_addr()?);
    let (connection, _) = listener.accept()?;
    // One debugger at a time: others are refused rather than left waiting.
    drop(listener);
    // Packets are small, and each is waited for.
    connection.set_nodelay(true)?;
    Ok(connection)
}

#[cfg(test)]
mod tests;
