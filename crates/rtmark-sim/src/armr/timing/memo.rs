//! Passages of instructions over the scoreboard, remembered.
//!
//! How an instruction passes depends on the scoreboard, the instruction and its outcome alone, as
//! long as memory is not waited for. So scoreboards are numbered as they stand to the next cycle,
//! and each instruction keeps from which one it led to which. What is kept changes no figure: it is
//! what [`Scoreboard::issue`] and [`Scoreboard::finish`] have answered.

use super::demand::{COUNT, Class, FLAGS, Registers, Source};
use super::scoreboard::{First, Scoreboard};
use crate::timing::memo::map::Map;

/// Passages of one instruction that are kept.
const WAYS: usize = 4;
/// Scoreboards, beyond which all are forgotten.
const MOST: usize = 1 << 15;
/// An operand is wanted no sooner than so many cycles before its instruction issues.
const BEFORE: u64 = 2;
/// What has issued so long ago is numbered no more.
const LONGEST: u64 = 200;

/// The first of two, as numbers have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FirstStanding {
    class: Class,
    writes: Registers,
    thumb: bool,
    room: Option<u8>,
}

/// A scoreboard as it stands to its next cycle. Times count from `BEFORE` cycles before the next
/// instruction may issue; what is there by then is 0, wherever it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Standing {
    /// How long ago the first of two has issued.
    ago: u8,
    first: Option<FirstStanding>,
    ready: [u8; COUNT],
    source: [Source; COUNT],
    flags_late: bool,
    division: u8,
    fresh: bool,
}

impl Standing {
    /// How a scoreboard stands; `None` where a number does not say it.
    fn of(board: &Scoreboard) -> Option<Self> {
        let ago = board.first.map_or(0, |first| board.next - first.issue);
        if ago > LONGEST {
            return None;
        }
        let begin = (board.next - ago).checked_sub(BEFORE)?;
        let mut ready = [0; COUNT];
        let mut source = [Source::Usual; COUNT];
        let times = board.ready.iter().zip(&board.source);
        for ((place, from), (time, whence)) in ready.iter_mut().zip(&mut source).zip(times) {
            *place = u8::try_from(time.saturating_sub(begin)).ok()?;
            if *place != 0 {
                *from = *whence;
            }
        }
        let first = board.first.map(|First { class, writes, thumb, room, .. }| FirstStanding {
            class,
            writes,
            thumb,
            room,
        });
        // Before the next issue it takes none away any more.
        let division = if board.division <= begin + BEFORE { 0 } else { board.division - begin };
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

    /// The scoreboard that stands so to a cycle.
    fn at(&self, next: u64) -> Scoreboard {
        let issue = next - u64::from(self.ago);
        let begin = issue - BEFORE;
        let first = self.first.map(|FirstStanding { class, writes, thumb, room }| First {
            issue,
            class,
            writes,
            thumb,
            room,
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

/// A passage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    /// Numbers of scoreboards; 0 is none.
    pub from: u32,
    pub to: u32,
    pub outcome: u32,
    /// Cycles from the next one to that in which the instruction issues, and to the next one then.
    /// The first may be less than nothing: it joins one before.
    pub issue: i16,
    pub cycles: u16,
}

impl Passage {
    /// From a scoreboard and its next cycle, with when the instruction issued, to another one.
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
    /// When an instruction issues from a numbered scoreboard whose next cycle this is.
    #[inline]
    pub fn issue(&self, from: u32, next: u64) -> Option<u64> {
        let known = self.0.iter().find(|known| known.from == from)?;
        Some(next.wrapping_add_signed(known.issue.into()))
    }

    /// What an outcome has led to from a numbered scoreboard.
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

/// Numbered scoreboards. Numbers are given once: what has been forgotten is not met again by an old
/// one.
#[derive(Debug)]
pub struct Memo {
    standings: Vec<Standing>,
    numbers: Map<Standing, u32>,
    /// The number of the first one.
    begin: u32,
}

impl Default for Memo {
    fn default() -> Self {
        Self { standings: Vec::new(), numbers: Map::default(), begin: 1 }
    }
}

/// Copies of machines begin anew: most of them end soon.
impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Memo {
    /// The number of a scoreboard, if it has one.
    pub fn number(&mut self, board: &Scoreboard) -> Option<u32> {
        let standing = Standing::of(board)?;
        if let Some(number) = self.numbers.get(&standing) {
            return Some(*number);
        }
        if self.standings.len() >= MOST {
            self.forget();
        }
        let number = self.begin.checked_add(self.standings.len() as u32)?;
        self.standings.push(standing);
        self.numbers.insert(standing, number);
        Some(number)
    }

    /// The scoreboard of a number, at a cycle.
    pub fn board(&self, number: u32, next: u64) -> Option<Scoreboard> {
        let standing = self.standings.get(number.checked_sub(self.begin)? as usize)?;
        Some(standing.at(next))
    }

    /// The number of the first one that is not forgotten.
    pub const fn first(&self) -> u32 {
        self.begin
    }

    /// Forgets all of them.
    pub fn forget(&mut self) {
        self.begin = self.begin.saturating_add(self.standings.len() as u32);
        self.standings.clear();
        self.numbers.clear();
    }
}
