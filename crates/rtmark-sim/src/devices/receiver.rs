//! The receiving side of a UART: bytes that arrive one after another.

use std::sync::Arc;

/// What arrives on a line, and when.
///
/// The sender waits until there is room for a byte, as with flow control, and then takes the time of a frame, so
/// nothing is ever overrun. It begins when the program first enables its receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    line: Arc<[u8]>,
    /// Bytes of the line that have been read.
    read: usize,
    /// The bytes behind these that have arrived.
    held: usize,
    /// How many may be held; 0 stands for one.
    room: usize,
    /// The cycle in which the next byte arrives, while the receiver is on.
    arrives_at: Option<u64>,
    /// The cycle in which the last byte arrived, until the next one begins.
    silent_since: Option<u64>,
    /// Cycles that a byte takes, while the receiver is on.
    frame: Option<u64>,
}

impl Receiver {
    /// Puts bytes on the line, after those that are still to be read.
    pub fn connect(&mut self, bytes: &[u8], now: u64) {
        // The byte that was read last may be read again.
        let kept = self.line.get(self.read.saturating_sub(1)..).unwrap_or_default();
        self.line = [kept, bytes].concat().into();
        self.read = self.read.min(1);
        if let Some(frame) = self.frame {
            self.enable(now, frame);
        }
    }

    /// Returns the bytes that have not been read.
    pub fn remaining(&self) -> &[u8] {
        self.line.get(self.read..).unwrap_or_default()
    }

    /// Returns whether the receiver is on although nothing has ever been put on its line.
    pub fn listens_in_vain(&self) -> bool {
        self.frame.is_some() && self.line.is_empty()
    }

    /// Turns the receiver on, or keeps it on; a byte takes `frame` cycles.
    pub fn enable(&mut self, now: u64, frame: u64) {
        self.frame = Some(frame);
        let has_room = self.held < self.room.max(1) && self.held < self.remaining().len();
        if has_room && self.arrives_at.is_none() {
            self.arrives_at = Some(now.saturating_add(frame.max(1)));
            self.silent_since = None;
        }
    }

    /// Sets how many bytes may wait for the program.
    pub fn set_room(&mut self, room: usize, now: u64) {
        self.room = room;
        if let Some(frame) = self.frame {
            self.enable(now, frame);
        }
    }

    /// Turns the receiver off; a byte in transit is sent again later.
    pub const fn disable(&mut self) {
        (self.arrives_at, self.silent_since, self.frame) = (None, None, None);
    }

    /// Updates the state up to a cycle; returns whether a byte has just arrived.
    pub fn settle(&mut self, now: u64) -> bool {
        let before = self.held;
        while let Some(at) = self.arrives_at.filter(|at| *at <= now) {
            self.held += 1;
            (self.arrives_at, self.silent_since) = (None, Some(at));
            if let Some(frame) = self.frame {
                self.enable(at, frame);
            }
        }
        self.held > before
    }

    /// Returns whether a byte has arrived and was not read.
    pub const fn is_full(&self) -> bool {
        self.held > 0
    }

    /// Returns how many bytes have arrived and were not read.
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Returns the cycle in which the last byte arrived, unless the next one has begun.
    pub const fn silent_since(&self) -> Option<u64> {
        self.silent_since
    }

    /// Returns the oldest byte that has arrived, or the one read last, which may be read again until the next one
    /// arrives.
    pub fn byte(&self) -> u8 {
        let at = if self.is_full() { Some(self.read) } else { self.read.checked_sub(1) };
        at.and_then(|at| self.line.get(at).copied()).unwrap_or(0)
    }

    /// Reads the oldest byte that has arrived, so that there is room for another one.
    pub fn take(&mut self, now: u64, frame: u64) -> u8 {
        let byte = self.byte();
        if self.is_full() {
            self.held -= 1;
            self.read += 1;
            // What waits for a receiver that is off stays on the line.
            if self.frame.is_some() {
                self.enable(now, frame);
            }
        }
        byte
    }

    /// Returns the cycle in which the next byte arrives.
    pub const fn due(&self) -> Option<u64> {
        self.arrives_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_arrives_one_frame_after_the_previous_one_was_read() {
        let mut line = Receiver::default();
        line.enable(0, 10);
        assert_eq!((line.due(), line.take(5, 10)), (None, 0), "nothing is on the line");
        line.disable();
        line.connect(b"hi", 50);
        assert_eq!(line.due(), None, "nobody listens");
        line.enable(100, 10);
        assert_eq!(line.due(), Some(110));
        assert!(!line.settle(109) && !line.is_full());
        assert!(line.settle(110) && line.is_full() && !line.settle(111));
        line.enable(120, 10);
        assert_eq!(line.due(), None, "the sender waits");
        assert_eq!((line.take(200, 10), line.due()), (b'h', Some(210)));
        assert_eq!((line.byte(), line.remaining()), (b'h', b"i".as_slice()));
        line.disable();
        assert!(!line.settle(300));
        line.enable(300, 10);
        assert!(line.settle(310));
        assert_eq!(
            (line.take(310, 10), line.due(), line.remaining()),
            (b'i', None, b"".as_slice())
        );
    }

    #[test]
    fn a_byte_that_is_read_from_a_receiver_that_is_off_does_not_turn_it_on() {
        let mut line = Receiver::default();
        line.connect(b"ab", 0);
        line.enable(0, 10);
        assert!(line.settle(10));
        line.disable();
        assert_eq!(
            (line.take(20, 10), line.due(), line.remaining()),
            (b'a', None, b"b".as_slice())
        );
        line.enable(30, 10);
        assert_eq!(line.due(), Some(40));
    }

    #[test]
    fn bytes_follow_each_other_while_there_is_room() {
        let mut line = Receiver::default();
        line.connect(b"abcdef", 0);
        line.set_room(3, 0);
        line.enable(0, 10);
        assert!(line.settle(25) && line.held() == 2);
        assert_eq!((line.silent_since(), line.due()), (None, Some(30)));
        assert!(line.settle(95) && !line.settle(96));
        assert_eq!((line.held(), line.silent_since(), line.due()), (3, Some(30), None));
        assert_eq!((line.take(100, 10), line.take(101, 10)), (b'a', b'b'));
        assert_eq!((line.due(), line.silent_since()), (Some(110), None));
        assert!(line.settle(125));
        assert_eq!((line.held(), line.due(), line.remaining()), (3, None, b"cdef".as_slice()));
        // With less room, those that have arrived stay.
        line.set_room(1, 125);
        assert_eq!((line.take(130, 10), line.take(130, 10), line.due()), (b'c', b'd', None));
        assert_eq!((line.take(130, 10), line.due()), (b'e', Some(140)));
        assert!(line.settle(150));
        assert_eq!((line.silent_since(), line.remaining()), (Some(140), b"f".as_slice()));
    }

    #[test]
    fn unread_bytes_stay_on_the_line() {
        let mut line = Receiver::default();
        line.connect(b"a", 0);
        line.connect(b"b", 0);
        line.enable(0, 1);
        line.settle(1);
        assert_eq!(line.take(1, 1), b'a');
        line.connect(b"c", 1);
        assert_eq!((line.remaining(), line.byte()), (b"bc".as_slice(), b'a'));
        line.settle(2);
        assert_eq!((line.take(2, 1), line.remaining()), (b'b', b"c".as_slice()));
    }

    #[test]
    fn an_enabled_receiver_gets_bytes_sent_later() {
        let mut line = Receiver::default();
        line.enable(0, 10);
        line.connect(b"a", 1000);
        assert_eq!(line.due(), Some(1010));
        // Adding bytes while one is in transit does not delay it.
        line.connect(b"b", 1005);
        assert!(line.settle(1010));
        assert_eq!((line.take(1020, 10), line.due()), (b'a', Some(1030)));
    }
}
