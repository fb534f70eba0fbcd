//! The supply of instructions: requests, the queue of words, the buffer that decoding takes
//! halfwords from, and the one branch that is predicted.
//!
//! Only how much there is of what kind matters here; what the halfwords say is read elsewhere.
//! One exception: the core looks for `fence.i` in its buffer even while that is empty, so that
//! the buffer's stale contents count, see [`Parcel`].
//!
//! Source of all rules: cycle traces of the RTL at commit 86fc4e3f, and Hazard3's documentation,
//! "Instruction Cycle Counts" and "Branch Predictor".

use super::super::{Memory, Port};

/// What a halfword is to the decoder's search for `fence.i` (0x0000_100F).
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

/// What the two halfwords of the word at an address are.
fn parcels(memory: &impl Memory, address: u32) -> [Parcel; 2] {
    memory.halfwords(address).map(Parcel::of)
}

/// Which halfwords of a fetched word are on the program's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Halves {
    #[default]
    Both,
    /// A branch to the upper one.
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

/// A halfword with its mark: part of the branch that is predicted.
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
    /// What the buffer is offered, be it taken or not: nothing of note before the word has come.
    fn seen(self, arrived: bool) -> Self {
        let half = self.half.map(|half| Half { parcel: Parcel::Other, ..half });
        if arrived { self } else { Self { half, ..self } }
    }

    /// The halfwords in the order in which the buffer takes them; the second of a word with just
    /// one is not looked at.
    const fn aligned(self) -> [Half; 2] {
        let first = match self.halves {
            Halves::Both | Halves::Lower => self.half[0],
            Halves::Upper | Halves::Neither => self.half[1],
        };
        [first, self.half[1]]
    }
}

/// The branch that is predicted to be taken: the last backward one that was (branch target
/// buffer of one entry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Prediction {
    source: u32,
    size: u8,
    target: u32,
    /// Whether words are compared with it. What has been compared is followed even if this has
    /// ended.
    compared: bool,
}

impl Prediction {
    const fn in_upper_half(self) -> bool {
        self.source & 2 != 0
    }

    /// Whether it continues in the next word.
    const fn straddles(self) -> bool {
        self.size == 4 && self.in_upper_half()
    }
}

/// What becomes of the prediction in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predict {
    Keep,
    Clear,
    /// A backward branch is taken: its address, size and target.
    Set(u32, u8, u32),
}

/// What decoding does to the supply in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Consumption {
    /// Halfwords taken.
    pub taken: u8,
    /// A jump, which is made if no request is held: see [`Supply::takes_jumps`].
    pub jump: Option<Jump>,
    pub predict: Predict,
}

/// A jump of the supply.
#[derive(Clone, Copy, Debug)]
pub struct Jump {
    pub target: u32,
    /// Halfwords of the instruction that jumps and stays, as it has not completed.
    pub keeps: u8,
}

/// Words that the queue holds.
const QUEUE: usize = 2;

/// The supply of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Supply {
    port: Port,
    /// The word that the next request is for.
    next: u32,
    /// A request waits for the port to take its address: it cannot be changed.
    held: bool,
    /// Whether the word of the next request begins with a halfword before a jump's target.
    skips_lower: bool,
    /// The last request was for the first word of a predicted branch that lies in two.
    straddling: bool,
    /// Requests whose words have not come.
    outstanding: u8,
    /// How many of them are for code that a jump has left behind.
    discarded: u8,
    arriving: Word,
    queue: [Word; QUEUE],
    queued: u8,
    /// Halfwords that wait for decoding, and contents even where there are none.
    level: u8,
    buffer: [Half; 3],
    prediction: Prediction,
    /// The first request leaves one cycle after the reset.
    started: bool,
}

impl Supply {
    /// After a reset.
    pub fn new(pc: u32) -> Self {
        Self { next: pc & !3, ..Self::default() }
    }

    /// Whether all of an instruction is there.
    pub const fn has(&self, halfwords: u8) -> bool {
        self.level >= halfwords
    }

    /// Whether a jump's request can be made in this cycle. One that the port has not taken cannot
    /// be replaced.
    pub const fn takes_jumps(&self) -> bool {
        !self.held
    }

    /// Whether the next halfword and the one behind it belong to the branch that was predicted.
    pub const fn predicted(&self) -> [bool; 2] {
        [self.buffer[0].predicted, self.buffer[1].predicted]
    }

    /// Whether the buffer's beginning reads as `fence.i`, be it valid or not. It clears the
    /// prediction even when it is not executed (RTL traces).
    pub const fn shows_fence(&self) -> bool {
        matches!((self.buffer[0].parcel, self.buffer[1].parcel), (Parcel::FenceLow, Parcel::Zero))
    }

    /// Whether the queue is full, so that fetching rests.
    pub const fn rests(&self) -> bool {
        self.queued == QUEUE as u8
    }

    /// No more is requested while words are on their way, or there is no room for them.
    const fn may_request(&self) -> bool {
        let queue_blocks = match self.queued {
            0 => false,
            1 => self.outstanding > 0,
            _ => true,
        };
        !queue_blocks && self.outstanding <= 1
    }

    /// Lets a cycle pass.
    pub fn pass(&mut self, decoding: Consumption, memory: &mut impl Memory) {
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

    /// Takes halfwords off the buffer, and puts a word into it or the queue.
    ///
    /// A word enters the buffer where at most one halfword is left, or two if it has only one
    /// that counts; it goes past the queue if that is empty.
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

    /// The port has taken a request of the sequence. Its word is compared with that of the
    /// predicted branch; a jump's own word is not.
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
