//! Instruction supply: requests, the queue of words, the buffer from which decoding takes
//! halfwords, and the single branch prediction.
//!
//! Only the number and state of halfwords matter here; their contents are decoded elsewhere. There
//! is one exception: the core looks for `fence.i` in its buffer even while that is empty, so that
//! stale contents of the buffer have an effect; see [`Parcel`].
//!
//! Source of all rules: cycle traces of the RTL at commit 86fc4e3f, and Hazard3's documentation,
//! "Instruction Cycle Counts" and "Branch Predictor".

use super::super::{Memory, Port};

/// A halfword as the decoder's search for `fence.i` (0x0000_100F) sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Parcel {
    #[default]
    Other,
    /// 0x100F
    FenceLow,
    /// 0x0000
    Zero,
}

impl Parcel {
    const fn of(half: u16) -> Self {
        match half {
            0x100F => Self::FenceLow,
            0 => Self::Zero,
            _ => Self::Other,
        }
    }
}

/// Returns the two halfwords of the word at an address.
fn parcels(memory: &impl Memory, address: u32) -> [Parcel; 2] {
    memory.halfwords(address).map(Parcel::of)
}

/// Which halfwords of a fetched word are on the program's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Halves {
    #[default]
    Both,
    /// A branch leads to the upper one.
    Upper,
    /// A predicted branch ends with the lower one.
    Lower,
    Neither,
}

impl Halves {
    const fn from(lower: bool, upper: bool) -> Self {
        match (lower, upper) {
            (true, true) => Self::Both,
            (false, true) => Self::Upper,
            (true, false) => Self::Lower,
            (false, false) => Self::Neither,
        }
    }

    const fn count(self) -> u8 {
        match self {
            Self::Both => 2,
            Self::Upper | Self::Lower => 1,
            Self::Neither => 0,
        }
    }
}

/// A halfword, marked if it is part of the predicted branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Half {
    parcel: Parcel,
    predicted: bool,
}

/// A fetched word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Word {
    halves: Halves,
    half: [Half; 2],
}

impl Word {
    /// Returns what the buffer is offered, whether it is taken or not: before the word has arrived,
    /// nothing that resembles `fence.i`.
    fn seen(self, arrived: bool) -> Self {
        let half = self.half.map(|half| Half { parcel: Parcel::Other, ..half });
        if arrived { self } else { Self { half, ..self } }
    }

    /// Returns the halfwords in the order in which the buffer takes them. The second one is ignored
    /// if the word has only one.
    const fn aligned(self) -> [Half; 2] {
        let first = match self.halves {
            Halves::Both | Halves::Lower => self.half[0],
            Halves::Upper | Halves::Neither => self.half[1],
        };
        [first, self.half[1]]
    }
}

/// The branch that is predicted taken: the last backward branch that was taken (a branch target
/// buffer of one entry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Prediction {
    source: u32,
    size: u8,
    target: u32,
    /// Whether requested words are compared with it. A match is followed even if this has ended
    /// since.
    compared: bool,
}

impl Prediction {
    const fn in_upper_half(self) -> bool {
        self.source & 2 != 0
    }

    /// Returns whether it continues in the next word.
    const fn straddles(self) -> bool {
        self.size == 4 && self.in_upper_half()
    }
}

/// How the prediction changes in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predict {
    Keep,
    Clear,
    /// A backward branch is taken: its address, size and target.
    Set(u32, u8, u32),
}

/// The effect of decoding on the supply in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Consumption {
    /// The halfwords taken.
    pub taken: u8,
    /// A jump, which is made unless a request is held: see [`Supply::takes_jumps`].
    pub jump: Option<Jump>,
    pub predict: Predict,
}

/// A jump of the supply.
#[derive(Clone, Copy, Debug)]
pub struct Jump {
    pub target: u32,
    /// The halfwords of the jumping instruction, if it stays because it has not completed.
    pub keeps: u8,
}

/// The capacity of the queue in words.
const QUEUE: usize = 2;

/// The instruction supply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Supply {
    port: Port,
    /// The word that is requested next.
    next: u32,
    /// Whether a request waits for the port to take its address, and therefore cannot be changed.
    held: bool,
    /// Whether the next requested word begins with a halfword before a jump's target.
    skips_lower: bool,
    /// Whether the last request was for the first word of a predicted branch that spans two.
    straddling: bool,
    /// Requests whose words have not arrived.
    outstanding: u8,
    /// Those of them that a jump has made obsolete.
    discarded: u8,
    arriving: Word,
    queue: [Word; QUEUE],
    queued: u8,
    /// The halfwords waiting for decoding. The buffer has contents even beyond that level.
    level: u8,
    buffer: [Half; 3],
    prediction: Prediction,
    /// Whether the first request has been allowed: it leaves one cycle after the reset.
    started: bool,
}

impl Supply {
    /// Creates the supply after a reset.
    pub fn new(pc: u32) -> Self {
        Self { next: pc & !3, ..Self::default() }
    }

    /// Returns whether the buffer holds a whole instruction of this size.
    pub const fn has(&self, halfwords: u8) -> bool {
        self.level >= halfwords
    }

    /// Returns whether a jump's request can be made in this cycle. A request that the port has not
    /// taken cannot be replaced.
    pub const fn takes_jumps(&self) -> bool {
        !self.held
    }

    /// Returns whether the next halfword and the one after it belong to the predicted branch.
    pub const fn predicted(&self) -> [bool; 2] {
        [self.buffer[0].predicted, self.buffer[1].predicted]
    }

    /// Returns whether the start of the buffer reads as `fence.i`, whether valid or not. That
    /// clears the prediction even if it is not executed (RTL traces).
    pub const fn reads_as_fence(&self) -> bool {
        matches!((self.buffer[0].parcel, self.buffer[1].parcel), (Parcel::FenceLow, Parcel::Zero))
    }

    /// Returns whether the queue is full, so that fetching pauses.
    pub const fn is_paused(&self) -> bool {
        self.queued == QUEUE as u8
    }

    /// Returns whether another word may be requested: no more are while words are in flight or
    /// there is no room for them.
    const fn may_request(&self) -> bool {
        let queue_blocks = match self.queued {
            0 => false,
            1 => self.outstanding > 0,
            _ => true,
        };
        !queue_blocks && self.outstanding <= 1
    }

    /// Advances by one cycle.
    pub fn step(&mut self, decoding: Consumption, memory: &mut impl Memory) {
        let before = *self;
        let jump = decoding.jump.filter(|_| before.takes_jumps());
        let arrived = before.port.ends();
        let valid = arrived && before.discarded == 0;
        self.fill(&before, decoding.taken, arrived, valid);
        if let Some(jump) = jump {
            (self.level, self.queued) = (jump.keeps, 0);
        }

        let requests = before.started && (before.held || jump.is_some() || before.may_request());
        let from = jump.map_or(before.next, |jump| jump.target & !3);
        let accepted = requests && before.port.is_ready();
        self.port = before.port.next(accepted.then(|| memory.fetch_waits(from)));
        self.started = true;
        self.held = requests && !accepted;
        self.outstanding += u8::from(requests && !before.held);
        self.outstanding -= u8::from(arrived);
        if jump.is_some() {
            self.discarded = before.outstanding - u8::from(arrived);
        } else if before.discarded > 0 && arrived {
            self.discarded -= 1;
        }
        match jump {
            Some(jump) => self.jump(&before, jump.target, accepted, memory),
            None if accepted => self.advance(&before, memory),
            None => {}
        }
        match decoding.predict {
            Predict::Keep => {}
            Predict::Clear => self.prediction.compared = false,
            Predict::Set(source, size, target) => {
                self.prediction = Prediction { source, size, target, compared: true };
            }
        }
    }

    /// Removes halfwords from the buffer, and puts a word into it or the queue.
    ///
    /// A word enters the buffer if at most one halfword is left, or two if only one of its
    /// halfwords is valid. It bypasses an empty queue.
    fn fill(&mut self, before: &Self, taken: u8, arrived: bool, valid: bool) {
        let [low, high, third] = before.buffer;
        let shifted = match taken {
            0 => [low, high, third],
            1 => [high, third, third],
            _ => [third, high, third],
        };
        let left = before.level - taken;
        let from_queue = before.queued > 0;
        let word = if from_queue { before.queue[0] } else { before.arriving.seen(arrived) };
        let room = left <= if word.halves == Halves::Both { 1 } else { 2 };
        let [first, second] = word.aligned();
        self.buffer = match left {
            _ if !room => shifted,
            0 => [first, second, shifted[2]],
            1 => [shifted[0], first, second],
            _ => [shifted[0], shifted[1], first],
        };
        let enters = room && (from_queue || valid);
        self.level = left + if enters { word.halves.count() } else { 0 };
        if room && from_queue {
            self.queue[0] = before.queue[1];
            self.queued -= 1;
        }
        let queues = valid && (from_queue || !room) && before.arriving.halves != Halves::Neither;
        if queues && let Some(place) = self.queue.get_mut(usize::from(self.queued)) {
            *place = before.arriving;
            self.queued += 1;
        }
    }

    fn jump(&mut self, before: &Self, target: u32, accepted: bool, memory: &impl Memory) {
        let lower = target & 2 == 0;
        self.straddling = false;
        if accepted {
            self.next = (target & !3).wrapping_add(4);
            self.skips_lower = false;
            let parcels = parcels(memory, target & !3);
            self.arriving = Word {
                halves: Halves::from(lower, true),
                half: parcels.map(|parcel| Half { parcel, predicted: false }),
            };
        } else {
            self.next = target & !3;
            self.skips_lower = !lower;
            self.arriving = before.arriving;
            self.arriving.half.iter_mut().for_each(|half| half.predicted = false);
        }
    }

    /// Handles a sequential request that the port has taken. Its word is compared with that of the
    /// predicted branch; the first word of a jump is not.
    fn advance(&mut self, before: &Self, memory: &impl Memory) {
        let parcels = parcels(memory, before.next);
        let known = before.prediction;
        let matching = (known.compared && known.source & !3 == before.next).then_some(known);
        // The branch ends with the lower halfword, and the path begins with the upper one.
        let passed =
            |branch: &Prediction| branch.size == 2 && !branch.in_upper_half() && before.skips_lower;
        let starts = matching.filter(|branch| branch.straddles());
        let ends = matching
            .filter(|branch| !branch.straddles() && !passed(branch))
            .or(before.straddling.then_some(known));
        let marks = match matching {
            Some(branch) if branch.in_upper_half() => [false, true],
            Some(branch) if branch.size == 4 => [true, true],
            Some(_) => [true, false],
            None => [before.straddling, false],
        };
        let loses_upper = ends.is_some_and(|branch| branch.in_upper_half() == (branch.size == 4));
        self.arriving = Word {
            halves: Halves::from(!before.skips_lower, !loses_upper),
            half: [0, 1].map(|at| Half { parcel: parcels[at], predicted: marks[at] }),
        };
        self.skips_lower = ends.is_some_and(|branch| branch.target & 2 != 0);
        self.next = ends.map_or(before.next.wrapping_add(4), |branch| branch.target & !3);
        self.straddling = starts.is_some();
    }
}
