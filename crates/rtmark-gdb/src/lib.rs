//! The simulator behind GDB's remote serial protocol: breakpoints, watchpoints, single steps,
//! registers and memory as on a chip, and time that goes backwards.
//!
//! [`serve`] listens on an address, waits for one debugger, and does as it says until either of
//! both ends it. What the program prints, and what there is to say of the connection, goes to an
//! [`Audience`]: the crate prints nothing itself, and knows no arguments and no exit codes.
//!
//! Going backwards rests on two facts: a machine is a value that can be copied, and it runs the
//! same way each time. So a past moment is the last copy before it and the instructions in between.
//! The idea is that of reverse debugging by checkpoints and deterministic replay (GDB's manual,
//! "Running programs backward"; B. Boothe, "Efficient algorithms for bidirectional debugging",
//! PLDI 2000).
//!
//! The protocol is that of GDB's manual, appendix "Remote Serial Protocol", by the crate `gdbstub`;
//! target descriptions are those of its appendix "Target Descriptions".

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

/// Where no connection comes about: the address and the system's words.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {source}")]
pub struct ConnectError {
    /// The address as it was given.
    pub address: String,
    /// What the system said.
    pub source: std::io::Error,
}

/// Where an address is none: what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no port, as in :3333")]
pub struct NoPort(String);

/// Who follows a session from outside.
pub trait Audience {
    /// The program has printed these bytes. What runs again after a step backwards prints nothing
    /// new.
    fn printed(&mut self, bytes: Vec<u8>);
    /// A debugger may connect to this address now.
    fn listening(&mut self, address: SocketAddr);
    /// The connection broke, for this reason.
    fn lost(&mut self, reason: &str);
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The debugger has detached: the program is to run on.
    Detached,
    /// The program is to end here: it came to this stop last, or the debugger has gone.
    Stopped(Stop),
}

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

/// An address to listen on of `[HOST]:PORT` or `PORT`: without a host, this computer's own alone.
///
/// # Errors
///
/// If the port is no number from 0 to 65535. Port 0 is any free one.
pub fn address(text: &str) -> Result<String, NoPort> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let _: u16 = port.parse().map_err(|_| NoPort(port.to_owned()))?;
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

/// Waits for a debugger at an address and does as it says; the program runs no further than to a
/// cycle limit. Answers the machine as the debugger has left it.
///
/// # Errors
///
/// If nobody can listen or connect there. A connection that breaks later is no error: the audience
/// is told, and the session ends.
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

/// The first connection to an address.
fn accept(address: &str, audience: &mut dyn Audience) -> std::io::Result<TcpStream> {
    let listener = TcpListener::bind(address)?;
    audience.listening(listener.local_addr()?);
    let (connection, _) = listener.accept()?;
    // One debugger at a time: who comes later is refused rather than left waiting.
    drop(listener);
    // Packets are small, and each is waited for.
    connection.set_nodelay(true)?;
    Ok(connection)
}

#[cfg(test)]
mod tests;
