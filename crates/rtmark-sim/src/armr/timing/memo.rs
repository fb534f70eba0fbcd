//! Memoizes the passages of instructions over the scoreboard.
//!
//! An instruction's passage depends only on the scoreboard, the instruction and its outcome, unless
//! it waits for memory. Scoreboards are therefore numbered relative to their next cycle, and each
//! instruction keeps which scoreboard it turned into which other. This changes no figure: it stores
//! what [`Scoreboard::issue`] and [`Scoreboard::finish`] have returned.

use super::demand::{COUNT, Class, FLAGS, Registers, Source};
use super::scoreboard::{PairCandidate, Scoreboard};
use crate::timing::memo::map::Map;

/// The passages kept for each instruction.
const WAYS: usize = 4;
/// The most scoreboards kept; one more, and all are forgotten.
const MAX_BOARDS: usize = 1 << 15;
/// The most cycles by which an operand is needed before its instruction issues.
const LOOKBACK: u64 = 2;
/// Scoreboards are not numbered if the first instruction of a pair issued longer ago than this, in
/// cycles.
const MAX_AGE: u64 = 200;

/// The first instruction of a pair, in a numbered scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RelativeCandidate {
    class: Class,
    writes: Registers,
    thumb: bool,
    room: Option<u8>,
}

/// A scoreboard relative to its next cycle. Times count from `LOOKBACK` cycles before the next
/// instruction may issue. Results available by then are 0, whatever their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RelativeBoard {
    /// How many cycles ago the first instruction of a pair issued.
    ago: u8,
    first: Option<RelativeCandidate>,
    ready: [u8; COUNT],
    source: [Source; COUNT],
    flags_late: bool,
    division: u8,
    fresh: bool,
}

impl RelativeBoard {
    /// Returns the relative form of a scoreboard, or `None` if it cannot be numbered.
    fn of(board: &Scoreboard) -> Option<Self> {
        let ago = board.first.map_or(0, |first| board.next - first.issue);
        if ago > MAX_AGE {
            return None;
        }
        let begin = (board.next - ago).checked_sub(LOOKBACK)?;
        let mut ready = [0; COUNT];
        let mut source = [Source::Usual; COUNT];
        let times = board.ready.iter().zip(&board.source);
        for ((place, from), (time, whence)) in ready.iter_mut().zip(&mut source).zip(times) {
            *place = u8::try_from(time.saturating_sub(begin)).ok()?;
            if *place != 0 {
                *from = *whence;
            }
        }
        let first = board.first.map(|PairCandidate { class, writes, thumb, room, .. }| {
            RelativeCandidate { class, writes, thumb, room }
        });
        // A division that ends before the next issue takes no issue cycle any more.
        let division = if board.division <= begin + LOOKBACK { 0 } else { board.division - begin };
        Some(Self {
            ago: ago as u8,
            first,
            ready,
            source,
            flags_late: board.flags_late && ready[FLAGS as usize] != 0,
            division: u8::try_from(division).ok()?,
            fresh: board.fresh,
        })
    }

    /// Returns this scoreboard at an absolute next cycle.
    fn at(&self, next: u64) -> Scoreboard {
        let issue = next - u64::from(self.ago);
        let begin = issue - LOOKBACK;
        let first = self.first.map(|RelativeCandidate { class, writes, thumb, room }| {
            PairCandidate { issue, class, writes, thumb, room }
        });
        Scoreboard {
            next,
            first,
            ready: self.ready.map(|ready| begin + u64::from(ready)),
            source: self.source,
            flags_late: self.flags_late,
            division: if self.division == 0 { 0 } else { begin + u64::from(self.division) },
            fresh: self.fresh,
        }
    }
}

/// One memoized step from a scoreboard to another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    /// The numbers of scoreboards; 0 is none.
    pub from: u32,
    pub to: u32,
    pub outcome: u32,
    /// Cycles from the old next cycle to that in which the instruction issues, and from the old
    /// next cycle to the new one. The first is negative if the instruction joins an earlier one.
    pub issue: i16,
    pub cycles: u16,
}

impl Passage {
    /// Creates a passage from a numbered scoreboard, its next cycle, and the cycle of issue to
    /// another scoreboard.
    pub fn new(
        (from, next): (u32, u64),
        outcome: u32,
        issued: u64,
        (to, then): (u32, u64),
    ) -> Option<Self> {
        let issue = i16::try_from(issued.cast_signed() - next.cast_signed()).ok()?;
        let cycles = u16::try_from(then - next).ok()?;
        Some(Self { from, to, outcome, issue, cycles })
    }
}

/// The passages of one instruction, the newest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passages([Passage; WAYS]);

impl Passages {
    /// Returns when an instruction issues from a numbered scoreboard with this next cycle.
    #[inline]
    pub fn issue(&self, from: u32, next: u64) -> Option<u64> {
        let known = self.0.iter().find(|known| known.from == from)?;
        Some(next.wrapping_add_signed(known.issue.into()))
    }

    /// Returns the passage from a numbered scoreboard with an outcome.
    #[inline]
    pub fn find(&self, from: u32, outcome: u32) -> Option<&Passage> {
        self.0.iter().find(|known| known.from == from && known.outcome == outcome)
    }

    /// Keeps a passage.
    pub const fn keep(&mut self, passage: Passage) {
        self.0.rotate_right(1);
        self.0[0] = passage;
    }
}

/// Numbered scoreboards. Numbers are never reused: after forgetting, an old number finds nothing.
#[derive(Debug)]
pub struct Memo {
    boards: Vec<RelativeBoard>,
    numbers: Map<RelativeBoard, u32>,
    /// The number of the first scoreboard.
    begin: u32,
}

impl Default for Memo {
    fn default() -> Self {
        Self { boards: Vec::new(), numbers: Map::default(), begin: 1 }
    }
}

/// Copies of machines start empty, since most of them are short-lived.
impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Memo {
    /// Returns the number of a scoreboard, if it can have one.
    pub fn number(&mut self, board: &Scoreboard) -> Option<u32> {
        let relative = RelativeBoard::of(board)?;
        if let Some(number) = self.numbers.get(&relative) {
            return Some(*number);
        }
        if self.boards.len() >= MAX_BOARDS {
            self.forget();
        }
        let number = self.begin.checked_add(self.boards.len() as u32)?;
        self.boards.push(relative);
        self.numbers.insert(relative, number);
        Some(number)
    }

    /// Returns the scoreboard with a number, at a next cycle.
    pub fn board(&self, number: u32, next: u64) -> Option<Scoreboard> {
        let relative = self.boards.get(number.checked_sub(self.begin)? as usize)?;
        Some(relative.at(next))
    }

    /// Returns the first number that has not been forgotten.
    pub const fn first(&self) -> u32 {
        self.begin
    }

    /// Forgets all scoreboards.
    pub fn forget(&mut self) {
        self.begin = self.begin.saturating_add(self.boards.len() as u32);
        self.boards.clear();
        self.numbers.clear();
    }
}
