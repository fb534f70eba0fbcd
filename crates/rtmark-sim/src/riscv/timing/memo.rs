//! Passages of instructions through the pipeline, remembered.
//!
//! How an instruction passes depends on the pipeline's state and its [`Demand`] alone, as long as no
//! trap comes. So states are numbered, and for each instruction it is kept from which state it led
//! to which, in how many cycles. What is kept changes no figure: it is what [`Pipeline::pass`] has
//! answered.

use super::cycle::{Around, Depth, Event, Sleep};
use super::demand::{Access, Answer, Demand, Excepts, Flow};
use super::{Memory, Pipeline};
use crate::timing::memo::map::Map;

/// How many instructions' passages are kept: a power of two.
const PLACES: usize = 2048;
/// Passages of one instruction.
const WAYS: usize = 4;
/// States, beyond which all is forgotten.
const MOST_STATES: usize = 1 << 16;
/// No passage that takes longer is kept.
const LONGEST: u8 = 200;

/// A passage.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    pc: u32,
    /// What the demand adds to the instruction.
    variant: u32,
    from: u32,
    to: u32,
    /// 0 where there is none.
    cycles: u8,
}

/// What leads from one state to the next.
#[derive(Clone, Copy, Debug)]
pub struct Led {
    /// The number of the state behind the instruction.
    pub to: u32,
    /// Cycles up to the one in which the instruction leaves stage X, that one included.
    pub cycles: u8,
}

/// The passages.
#[derive(Clone, Debug)]
pub struct Memo {
    states: Vec<Pipeline>,
    numbers: Map<Pipeline, u32>,
    passages: Vec<[Passage; WAYS]>,
}

impl Default for Memo {
    fn default() -> Self {
        Self {
            states: Vec::new(),
            numbers: Map::default(),
            passages: vec![[Passage::default(); WAYS]; PLACES],
        }
    }
}

/// What a demand adds to its instruction: whether it branches and where it jumps to, and how memory
/// answers. `None` where its passage is not to be kept.
pub fn variant(x: &Demand) -> Option<u32> {
    if x.excepts != Excepts::No || x.sleep != Sleep::No || !x.last || x.holds_interrupts {
        return None;
    }
    Some(match (x.flow, x.access) {
        (Flow::Jump(target), _) => target,
        (Flow::Branch { taken, .. }, _) => u32::from(taken),
        (_, Access::StoreConditional(None)) => u32::MAX,
        (
            _,
            Access::Load(waits, Answer::Okay)
            | Access::Store(waits, Answer::Okay)
            | Access::LoadReserved(waits, Answer::Okay)
            | Access::StoreConditional(Some((waits, Answer::Okay)))
            | Access::Atomic(waits),
        ) => u32::from(waits),
        // Apart from those that are not split.
        (_, Access::Split([(first, Answer::Okay), (second, Answer::Okay)])) => {
            1 << 16 | u32::from(first) << 8 | u32::from(second)
        }
        (_, Access::None) => u32::from(x.calculates.unwrap_or(0)),
        _ => return None,
    })
}

impl Memo {
    /// One that is never asked, in the place of one that is elsewhere.
    pub fn hollow() -> Self {
        Self { states: Vec::new(), numbers: Map::default(), passages: Vec::new() }
    }

    /// Forgets everything: memory has changed.
    pub fn forget(&mut self) {
        if !self.states.is_empty() {
            *self = Self::default();
        }
    }

    /// The state with a number.
    pub fn state(&self, number: u32) -> Option<&Pipeline> {
        self.states.get(number as usize)
    }

    /// The number of a state.
    pub fn number(&mut self, state: &Pipeline) -> u32 {
        if let Some(number) = self.numbers.get(state) {
            return *number;
        }
        let number = self.states.len() as u32;
        self.states.push(*state);
        self.numbers.insert(*state, number);
        number
    }

    /// Whether more states have been met than are worth keeping.
    pub const fn is_full(&self) -> bool {
        self.states.len() >= MOST_STATES
    }

    /// What an instruction leads to from a state, if no trap comes; `None` where that is not kept.
    pub fn pass(&mut self, from: u32, x: &Demand, memory: &mut impl Memory) -> Option<Led> {
        let variant = variant(x)?;
        let place = x.pc as usize / 2 % PLACES;
        let same = |known: &&Passage| {
            (known.pc, known.variant, known.from) == (x.pc, variant, from) && known.cycles != 0
        };
        if let Some(known) = self.passages[place].iter().find(same) {
            return Some(Led { to: known.to, cycles: known.cycles });
        }
        let mut state = *self.state(from)?;
        let quiet = Around {
            interrupt: false,
            wakes: false,
            unblocked: false,
            vector: 0,
            depth: Depth::default(),
        };
        let cycles =
            (1..LONGEST).find_map(|cycle| match state.pass(x, &quiet, memory).event {
                Event::Stays | Event::JumpsAhead => None,
                Event::Leaves => Some(Some(cycle)),
                _ => Some(None),
            })??;
        let to = self.number(&state);
        self.passages[place].rotate_right(1);
        self.passages[place][0] = Passage { pc: x.pc, variant, from, to, cycles };
        Some(Led { to, cycles })
    }
}
