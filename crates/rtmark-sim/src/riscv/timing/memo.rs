//! Memoizes the passages of instructions through the pipeline.
//!
//! An instruction's passage depends only on the pipeline's state and its [`Demand`], unless a trap
//! occurs. States are therefore numbered, and for each instruction the memo keeps from which state
//! it led to which, in how many cycles, and from which lines of caches it fetched. This changes no
//! figure: it stores what [`Pipeline::advance`] has returned.

use super::cycle::{CycleInputs, Event, Sleep, SleepDepth};
use super::demand::{Access, BusResponse, Demand, ExceptionOutcome, Flow};
use super::{FetchedLines, Memory, Pipeline};
use crate::timing::memo::map::Map;

/// The number of slots for instructions: a power of two.
const PLACES: usize = 2048;
/// The passages kept for each slot.
const WAYS: usize = 4;
/// The most states kept; one more, and everything is forgotten.
const MAX_STATES: usize = 1 << 16;
/// The most lists of lines kept, likewise.
const MAX_LISTS: usize = 1 << 18;
/// Longer passages are not kept, in cycles.
const MAX_CYCLES: u8 = 200;

/// A passage.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    pc: u32,
    /// The part of the demand that the instruction does not determine.
    variant: u32,
    from: u32,
    to: u32,
    /// The number of the list of lines that it fetches from.
    fetched: u32,
    /// The cycles; 0 if the entry is empty.
    cycles: u8,
}

/// The result of a passage.
#[derive(Clone, Copy, Debug)]
pub struct PassageResult {
    /// The number of the state after the instruction.
    pub to: u32,
    /// The number of the list of lines that caches must hold for it: see [`Memo::lines`].
    pub fetched: u32,
    /// Cycles up to the one in which the instruction leaves stage X, inclusive.
    pub cycles: u8,
}

/// The number of the list without lines.
pub const NO_LINES: u32 = 0;

/// The memoized passages.
#[derive(Clone, Debug)]
pub struct Memo {
    states: Vec<Pipeline>,
    numbers: Map<Pipeline, u32>,
    passages: Vec<[Passage; WAYS]>,
    /// The lists of lines that passages fetch from. The first one is empty.
    fetched: Vec<FetchedLines>,
    fetched_numbers: Map<FetchedLines, u32>,
}

impl Default for Memo {
    fn default() -> Self {
        Self {
            states: Vec::new(),
            numbers: Map::default(),
            passages: vec![[Passage::default(); WAYS]; PLACES],
            fetched: vec![FetchedLines::default()],
            fetched_numbers: Map::from_iter([(FetchedLines::default(), NO_LINES)]),
        }
    }
}

/// Returns the part of a demand that its instruction does not determine: whether it branches, where
/// it jumps to, and how memory responds. Returns `None` if the passage must not be kept.
pub fn variant(x: &Demand) -> Option<u32> {
    if x.raises != ExceptionOutcome::No || x.sleep != Sleep::Awake || !x.last || x.holds_interrupts
    {
        return None;
    }
    Some(match (x.flow, x.access) {
        (Flow::Jump(target), _) => target,
        (Flow::Branch { taken, .. }, _) => u32::from(taken),
        (_, Access::StoreConditional(None)) => u32::MAX,
        (
            _,
            Access::Load(waits, BusResponse::Okay)
            | Access::Store(waits, BusResponse::Okay)
            | Access::LoadReserved(waits, BusResponse::Okay)
            | Access::StoreConditional(Some((waits, BusResponse::Okay)))
            | Access::Atomic(waits),
        ) => u32::from(waits),
        // Distinct from accesses that are not split.
        (_, Access::Split([(first, BusResponse::Okay), (second, BusResponse::Okay)])) => {
            1 << 16 | u32::from(first) << 8 | u32::from(second)
        }
        (_, Access::None) => u32::from(x.calculates.unwrap_or(0)),
        _ => return None,
    })
}

impl Memo {
    /// Returns a placeholder that is never queried, for while the memo is lent.
    pub fn placeholder() -> Self {
        Self {
            states: Vec::new(),
            numbers: Map::default(),
            passages: Vec::new(),
            fetched: Vec::new(),
            fetched_numbers: Map::default(),
        }
    }

    /// Forgets everything, after a change of memory.
    pub fn forget(&mut self) {
        if !self.states.is_empty() {
            *self = Self::default();
        }
    }

    /// Returns the state with a number.
    pub fn state(&self, number: u32) -> Option<&Pipeline> {
        self.states.get(number as usize)
    }

    /// Returns the number of a state.
    pub fn number(&mut self, state: &Pipeline) -> u32 {
        if let Some(number) = self.numbers.get(state) {
            return *number;
        }
        let number = self.states.len() as u32;
        self.states.push(*state);
        self.numbers.insert(*state, number);
        number
    }

    /// Returns whether there is too much to keep.
    pub const fn is_full(&self) -> bool {
        self.states.len() >= MAX_STATES || self.fetched.len() >= MAX_LISTS
    }

    /// Returns a list of lines by its number.
    #[inline(always)]
    pub fn lines(&self, fetched: u32) -> &FetchedLines {
        self.fetched.get(fetched as usize).unwrap_or(&FetchedLines::NONE)
    }

    /// Returns the number of a list of lines.
    fn list_number(&mut self, lines: FetchedLines) -> u32 {
        let next = self.fetched.len() as u32;
        let number = *self.fetched_numbers.entry(lines).or_insert(next);
        if number == next {
            self.fetched.push(lines);
        }
        number
    }

    /// Returns the passage of an instruction from a state without a trap, or `None` if it cannot be
    /// kept. It is what happens if the caches of `memory` hold the lines that it states.
    pub fn passage(
        &mut self,
        from: u32,
        x: &Demand,
        memory: &mut impl Memory,
    ) -> Option<PassageResult> {
        let variant = variant(x)?;
        let place = x.pc as usize / 2 % PLACES;
        let same = |known: &&Passage| {
            (known.pc, known.variant, known.from) == (x.pc, variant, from) && known.cycles != 0
        };
        if let Some(known) = self.passages[place].iter().find(same) {
            let Passage { to, fetched, cycles, .. } = *known;
            return Some(PassageResult { to, fetched, cycles });
        }
        let mut state = *self.state(from)?;
        let quiet = CycleInputs {
            interrupt: false,
            wakes: false,
            unblocked: false,
            vector: 0,
            depth: SleepDepth::default(),
        };
        let cycles =
            (1..MAX_CYCLES).find_map(|cycle| match state.advance(x, &quiet, memory).event {
                Event::Stays | Event::JumpsAhead => None,
                Event::Leaves => Some(Some(cycle)),
                _ => Some(None),
            })??;
        let (to, fetched) = (self.number(&state), self.list_number(memory.granted()?));
        self.passages[place].rotate_right(1);
        self.passages[place][0] = Passage { pc: x.pc, variant, from, to, fetched, cycles };
        Some(PassageResult { to, fetched, cycles })
    }
}
