//! The connection to a debugger, filtered of bytes outside packets.

use std::io;
use std::net::TcpStream;

use gdbstub::conn::{Connection, ConnectionExt};

/// Bytes with a meaning between packets: acknowledgements, and the interrupt request.
const BETWEEN: &[u8] = b"+-\x03";

/// A connection that drops meaningless bytes between packets.
pub struct Wire {
    stream: TcpStream,
    place: Place,
}

/// The position of the next byte in the stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    InPacket,
    /// In the checksum, with this many digits to come.
    InSum(u8),
}

impl Wire {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, place: Place::Between }
    }

    fn drops(&self, byte: u8) -> bool {
        self.place == Place::Between && byte != b'$' && !BETWEEN.contains(&byte)
    }

    fn pass(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Between, b'$') => Place::InPacket,
            (Place::InPacket, b'#') => Place::InSum(2),
            (Place::InSum(2), _) => Place::InSum(1),
            (Place::InSum(_), _) => Place::Between,
            (place, _) => place,
        };
    }
}

impl Connection for Wire {
    type Error = io::Error;

    fn write(&mut self, byte: u8) -> io::Result<()> {
        Connection::write(&mut self.stream, byte)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        Connection::write_all(&mut self.stream, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Connection::flush(&mut self.stream)
    }

    fn on_session_start(&mut self) -> io::Result<()> {
        self.stream.on_session_start()
    }
}

impl ConnectionExt for Wire {
    fn read(&mut self) -> io::Result<u8> {
        loop {
            let byte = ConnectionExt::read(&mut self.stream)?;
            if !self.drops(byte) {
                self.pass(byte);
                return Ok(byte);
            }
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match ConnectionExt::peek(&mut self.stream)? {
                Some(byte) if self.drops(byte) => {
                    ConnectionExt::read(&mut self.stream)?;
                }
                other => return Ok(other),
            }
        }
    }
}
