//! Stage IF: word requests, the buffer of arrived words, and the instruction that can move on.
//!
//! Sources: the Ibex Reference Guide, "Instruction Fetch"; where it leaves a question open, runs of
//! the RTL at commit 5da1679f.

use super::super::{Memory, Port};

/// The most requests in flight, granted and not answered (RTL).
const MAX_OUTSTANDING: u8 = 2;

/// A request that the port has not taken and that therefore cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct HeldRequest {
    address: u32,
    /// Whether a jump has made it obsolete, so that its word will not be used.
    discarded: bool,
}

/// Stage IF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fetch {
    port: Port,
    /// The word that is requested next.
    next: u32,
    held: Option<HeldRequest>,
    /// Requests whose words have not arrived.
    outstanding: u8,
    /// Those of them, the oldest ones, that a jump has made obsolete.
    discarded: u8,
    /// Words in the buffer, three at most.
    words: u8,
    /// The address of the next instruction to move on.
    head: u32,
}

/// What stage ID/EX and the controller request of fetching in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest {
    /// Whether words are requested at all: not before the first jump, nor asleep.
    pub fetches: bool,
    /// The target of a jump, which discards everything in the buffer and in flight.
    pub jump: Option<u32>,
    /// Whether stage ID/EX takes an instruction.
    pub takes: bool,
}

impl Fetch {
    /// Returns whether a requested word might find no room: with two words in the buffer while one
    /// is in flight, with three in the buffer, or with two in flight while one is in the buffer
    /// (RTL).
    const fn is_full(&self) -> bool {
        (self.words >= 2 || self.outstanding >= 2) && (self.words >= 3 || self.outstanding >= 1)
    }

    /// Advances by one cycle. Returns whether an instruction moves on to stage ID/EX.
    pub fn advance(&mut self, fetch_request: FetchRequest, memory: &mut impl Memory) -> bool {
        let FetchRequest { fetches, jump, takes } = fetch_request;
        let before = *self;
        let answered = before.port.ends();
        // A word bypasses an empty buffer in the cycle in which it arrives ("Instruction Fetch").
        self.words += u8::from(answered && before.discarded == 0);
        let advances = takes && jump.is_none() && self.give(memory);
        if let Some(target) = jump {
            (self.words, self.head) = (0, target);
        }

        let asks = fetches
            && (jump.is_some() || !before.is_full())
            && before.outstanding < MAX_OUTSTANDING;
        let begins = asks && before.held.is_none();
        let next = jump.unwrap_or(before.next) & !3;
        let request = match before.held {
            Some(HeldRequest { address, discarded }) => {
                Some(HeldRequest { address, discarded: discarded || jump.is_some() })
            }
            None => begins.then_some(HeldRequest { address: next, discarded: false }),
        };
        self.next = if begins { next.wrapping_add(4) } else { next };
        let granted = request.filter(|_| before.port.is_ready());
        self.port = before.port.next(granted.map(|request| memory.fetch_waits(request.address)));
        self.held = if granted.is_some() { None } else { request };

        let left_behind = if jump.is_some() { before.outstanding } else { before.discarded };
        let left_behind = left_behind + u8::from(granted.is_some_and(|request| request.discarded));
        self.discarded = left_behind.saturating_sub(u8::from(answered));
        self.outstanding = before.outstanding + u8::from(granted.is_some()) - u8::from(answered);
        advances
    }

    /// Takes the next instruction from the buffer if it is complete. A 32-bit instruction that
    /// begins in a word's upper half needs the next word, too.
    fn give(&mut self, memory: &impl Memory) -> bool {
        if self.words == 0 {
            return false;
        }
        let upper = self.head & 2 != 0;
        let first = memory.halfwords(self.head & !3)[usize::from(upper)];
        let wide = first & 3 == 3;
        if upper && wide && self.words < 2 {
            return false;
        }
        self.words -= u8::from(upper || wide);
        self.head = self.head.wrapping_add(if wide { 4 } else { 2 });
        true
    }
}
