//! The connection to a debugger, filtered of bytes outside packets.

use std::io;
use std::net::TcpStream;

use gdbstub::conn::{Connection, ConnectionExt};

/// Bytes with a meaning between packets: acknowledgements, and the interrupt request.
const BETWEEN: &[u8] = b"+-\x03";

/// A connection that drops meaningless bytes between packets.
pub struct Wire {
    stream: TcpStream,
    place: PacketPosition,
}

/// The position of the next byte in the stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PacketPosition {
    Between,
    InPacket,
    /// In the checksum, with this many digits to come.
    InSum(u8),
}

impl Wire {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, place: PacketPosition::Between }
    }

    fn is_noise(&self, byte: u8) -> bool {
        self.place == PacketPosition::Between && byte != b'$' && !BETWEEN.contains(&byte)
    }

    fn pass(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (PacketPosition::Between, b'$') => PacketPosition::InPacket,
            (PacketPosition::InPacket, b'#') => PacketPosition::InSum(2),
            (PacketPosition::InSum(2), _) => PacketPosition::InSum(1),
            (PacketPosition::InSum(_), _) => PacketPosition::Between,
            (place, _) => place,
        };
    }
}

impl Connection for Wire {
    type Error = io::Error;

    fn write(&mut self, byte: u8) -> io::Result<()> {
        Connection::write(&mut self.stream, byte)
    }

    fn flush(&mut self) -> io::Result<()> {
        Connection::flush(&mut self.stream)
    }
}

impl ConnectionExt for Wire {
    fn read(&mut self) -> io::Result<u8> {
        loop {
            let byte = ConnectionExt::read(&mut self.stream)?;
            if !self.is_noise(byte) {
                self.pass(byte);
                return Ok(byte);
            }
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match ConnectionExt::peek(&mut self.stream)? {
                Some(byte) if self.is_noise(byte) => {
                    ConnectionExt::read(&mut self.stream)?;
                }
                other => return Ok(other),
            }
        }
    }
}
