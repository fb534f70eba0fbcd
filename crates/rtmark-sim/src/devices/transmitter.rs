//! The sending side of a UART: bytes that leave one after another.

/// Why a chip does not send a byte as the program expects that has written it to a UART.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SendFault {
    /// The transmitter is off. The byte is lost, here as on the chip.
    Off,
    /// There was no room: a chip loses a byte. Here all are sent.
    Full,
    /// The divisor stands for no baud rate. Here, the byte has been sent at once.
    NoRate,
}

/// The bytes that a UART has accepted and not finished sending. Nothing is ticked: the cycle in which the
/// last one leaves determines how many are left at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmitter {
    /// The cycle in which the last byte has been sent.
    idle_at: u64,
    /// Cycles that a byte takes, including start and stop bits.
    frame: u64,
}

impl Transmitter {
    /// Accepts a byte that takes `frame` cycles to send, where `room` bytes can wait besides the one in transit.
    pub fn accept(&mut self, now: u64, frame: u64, room: u64) -> Option<SendFault> {
        let fault = match frame {
            0 => Some(SendFault::NoRate),
            _ => (self.held(now) > room).then_some(SendFault::Full),
        };
        self.send(now, frame);
        fault
    }

    fn send(&mut self, now: u64, frame: u64) {
        self.frame = frame;
        self.idle_at = self.idle_at.max(now).saturating_add(frame);
    }

    /// Returns how many bytes have not been sent completely, including the one in transit.
    pub fn held(&self, now: u64) -> u64 {
        self.idle_at.saturating_sub(now).div_ceil(self.frame.max(1))
    }

    pub fn is_idle(&self, now: u64) -> bool {
        self.idle_at <= now
    }

    /// Returns the first cycle in which at most `held` bytes are left.
    pub fn drains_to(&self, held: u64) -> u64 {
        self.idle_at.saturating_sub(held.saturating_mul(self.frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_sent_one_after_another() {
        let mut sender = Transmitter::default();
        assert!(sender.is_idle(0));
        sender.send(100, 10);
        sender.send(101, 10);
        assert_eq!([101, 109, 110, 119, 120].map(|now| sender.held(now)), [2, 2, 1, 1, 0]);
        assert_eq!([sender.drains_to(1), sender.drains_to(0)], [110, 120]);
        sender.send(200, 10);
        assert_eq!(sender.drains_to(0), 210, "it had been idle");
    }

    #[test]
    fn a_byte_without_room_or_rate_is_noticed() {
        let mut sender = Transmitter::default();
        let faults = [(0, 10), (1, 10), (2, 10), (11, 10), (12, 0)];
        let faults = faults.map(|(now, frame)| sender.accept(now, frame, 1));
        let (full, no_rate) = (Some(SendFault::Full), Some(SendFault::NoRate));
        assert_eq!(faults, [None, None, full, full, no_rate]);
    }
}
