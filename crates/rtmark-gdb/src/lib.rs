//! Serves the simulator over GDB's remote serial protocol: breakpoints, watchpoints, single steps,
//! registers and memory as on a chip, and reverse execution.
//!
//! [`serve`] listens on an address, waits for one debugger, and follows its commands until either side
//! ends the session. The program's output and news about the connection go to an [`Audience`]: the
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

use target::{Debugged, Reason};
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
pub trait Audience {
    /// The program has printed these bytes. Nothing is reported again when it repeats a part of the run
    /// after a step backwards.
    fn printed(&mut self, bytes: Vec<u8>);
    /// A debugger may connect to this address now.
    fn listening(&mut self, address: SocketAddr);
    /// The connection broke, for this reason.
    fn lost(&mut self, reason: &str);
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The debugger has detached: the program is to continue.
    Detached,
    /// The program is to end here: this was its last stop, or the debugger has gone.
    Stopped(Stop),
}

/// Runs the machine and checks the connection now and then.
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
            // A broken connection shows up when it is read.
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

/// Follows a debugger's commands until either side ends the session. A packet that cannot be understood
/// is refused, and the next one is read.
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

/// Waits for a debugger at an address and follows its commands; the program runs no further than the
/// cycle limit. Returns the machine as the debugger has left it.
///
/// # Errors
///
/// When listening or connecting fails. A connection that breaks later is not an error: it is reported
/// to the audience, and the session ends.
pub fn serve(
    address: &str,
    machine: Machine,
    limit: Cycles,
    audience: &mut dyn Audience,
) -> Result<(Machine, Ended), ConnectError> {
    let connection = accept(address, audience)
        .map_err(|source| ConnectError { address: address.to_owned(), source })?;
    let mut debugged = Debugged::new(machine, limit, audience);
    let conversed = converse(&connection, &mut debugged);
    let Debugged { machine, stop, audience, .. } = debugged;
    let ended = match conversed {
        Ok(DisconnectReason::Disconnect) => Ended::Detached,
        Ok(DisconnectReason::TargetExited(_) | DisconnectReason::TargetTerminated(_)) => {
            stop.map_or(Ended::Detached, Ended::Stopped)
        }
        Ok(DisconnectReason::Kill) => Ended::Stopped(Stop::Observer),
        Err(error) => {
            audience.lost(&error.to_string());
            Ended::Stopped(Stop::Observer)
        }
    };
    Ok((machine, ended))
}

/// Accepts the first connection to an address.
fn accept(address: &str, audience: &mut dyn Audience) -> std::io::Result<TcpStream> {
    let listener = TcpListener::bind(address)?;
    audience.listening(listener.local_addr()?);
    let (connection, _) = listener.accept()?;
    // One debugger at a time: others are refused rather than left waiting.
    drop(listener);
    // Packets are small, and each is waited for.
    connection.set_nodelay(true)?;
    Ok(connection)
}

#[cfg(test)]
mod tests;
