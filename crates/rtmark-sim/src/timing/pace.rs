//! The pipeline at the speed of a table.
//!
//! What an instruction costs depends on the pipeline's state when it comes, on the
//! instruction, and on few facts of the one before it that only its execution could
//! tell. All three repeat: so states are numbered, and what was once worked out cycle by
//! cycle is looked up the next time. The tables only remember a pure function; with or
//! without them the cycles are the same.
//!
//! A *word* holds a state's number with the facts that have been gathered since; see the
//! constants below.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::pipeline::{Bus, Condition, Facts, Pipeline, Step, Unit};

/// Facts of the instruction that executes, in a word's low bits: the upper three bits of
/// its data address, further parts of an unaligned access, wait states, cycles beyond the
/// usual, and whether it jumped.
pub const BUS_SHIFT: u32 = 29;
const BUS: u32 = 7;
const PARTS_SHIFT: u32 = 3;
const WAITS_SHIFT: u32 = 5;
const LONGER_SHIFT: u32 = 9;
pub const TAKEN: u32 = 1 << 13;
/// The next instruction's place in an IT block.
pub const SKIPPED: u32 = 1 << 14;
pub const CONDITIONAL: u32 = 1 << 15;
/// The next instruction has entered the execute stage already and waits for its turn.
pub const ENTERED: u32 = 1 << 16;
/// All of the above.
pub const FACTS: u32 = (1 << STATE_SHIFT) - 1;
const STATE_SHIFT: u32 = 17;
const STATES: usize = 1 << (32 - STATE_SHIFT);
/// Results that are kept before all are forgotten, which bounds the memory that they take.
const KNOWN: usize = 1 << 14;
const RECENT: usize = 1 << 11;
/// The word of a pipeline that begins to be refilled, of a core that buffers its stores
/// or does not.
pub const fn refilling(buffers: bool) -> u32 {
    TAKEN | (buffers as u32) << STATE_SHIFT
}

/// A result: what came of a word at an address.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    /// The address in the upper half, the word in the lower.
    pub key: u64,
    /// The new state's word.
    pub word: u32,
    /// Cycles that it took to get there.
    pub cost: u32,
}

/// A numbered state: as it is when the newest instruction did not jump, and, if that makes
/// a difference already, as it is when it did. Addresses count from the next instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Stage {
    next: Pipeline,
    taken: Option<Box<Pipeline>>,
}

/// What the instruction at an address means for the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    pub step: Step,
    pub size: u32,
    /// The target that the instruction names.
    pub target: u32,
}

/// All that has been worked out.
#[derive(Clone, Debug)]
struct Tables {
    known: Map<u64, (u32, u32)>,
    stages: Vec<Stage>,
    numbers: Map<Stage, u32>,
}

/// Results and states.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The last result at each address, as far as there is room.
    recent: Box<[Entered; RECENT]>,
    /// Results by address and word, for addresses that are reached in several states.
    others: Box<[Entered; RECENT]>,
    /// Shared by clones of a machine until one of them learns more.
    tables: Arc<Tables>,
}

/// Equal on every host: nothing of its order or seed is seen.
type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// A plain hash: the tables need neither secrecy nor anything that differs between runs.
#[derive(Clone, Copy, Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

/// Adds further parts of an unaligned access to a word.
pub const fn with_parts(word: u32, parts: u32) -> u32 {
    word | parts << PARTS_SHIFT
}

/// Adds wait states of a data access to a word; answers also those that find no room there.
pub fn with_waits(word: u32, waits: u64) -> (u32, u64) {
    let held = u64::from(word >> WAITS_SHIFT & 15);
    let kept = (held + waits).min(15);
    let word = word & !(15 << WAITS_SHIFT) | (kept as u32) << WAITS_SHIFT;
    (word, held + waits - kept)
}

/// Adds cycles of the execute stage to a word.
pub const fn with_longer(word: u32, cycles: u8) -> u32 {
    word | (cycles as u32 & 15) << LONGER_SHIFT
}

/// Adds the place of the next instruction in an IT block to a word.
pub const fn with_condition(word: u32, condition: Condition) -> u32 {
    match condition {
        Condition::None => word,
        Condition::Passed => word | CONDITIONAL,
        Condition::Failed => word | CONDITIONAL | SKIPPED,
    }
}

const fn facts(word: u32) -> Facts {
    Facts {
        taken: word & TAKEN != 0,
        bus: match word & BUS {
            0 => Bus::Code,
            7 => Bus::Private,
            _ => Bus::System,
        },
        extra_parts: (word >> PARTS_SHIFT & 3) as u8,
        waits: (word >> WAITS_SHIFT & 15) as u8,
        longer: (word >> LONGER_SHIFT & 15) as u8,
    }
}

const fn condition(word: u32) -> Condition {
    match word & (CONDITIONAL | SKIPPED) {
        0 => Condition::None,
        CONDITIONAL => Condition::Passed,
        _ => Condition::Failed,
    }
}

const fn place(pc: u32) -> usize {
    (pc >> 1) as usize % RECENT
}

const fn mixed_place(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % RECENT
}

#[expect(clippy::large_stack_arrays, reason = "the optimiser builds it in its box")]
fn nothing_yet() -> Box<[Entered; RECENT]> {
    Box::new([NOTHING; RECENT])
}

impl Pace {
    pub fn new() -> Self {
        Self { recent: nothing_yet(), others: nothing_yet(), tables: Arc::new(Tables::new()) }
    }

    /// What was last worked out at an address, for this word or another.
    #[inline(always)]
    pub fn recent(&self, pc: u32) -> &Entered {
        &self.recent[place(pc)]
    }

    /// Whether states may soon be numbered anew, so that old words would mean other states.
    pub fn is_crowded(&self) -> bool {
        self.tables.stages.len() + 64 > STATES
    }

    /// Forgets results, after code has changed.
    pub fn forget(&mut self) {
        if !self.tables.known.is_empty() {
            Arc::make_mut(&mut self.tables).known.clear();
            self.forget_recent();
        }
    }

    fn forget_recent(&mut self) {
        self.recent.fill(NOTHING);
        self.others.fill(NOTHING);
    }

    /// Lets the instruction at `pc` enter the execute stage.
    #[inline(always)]
    pub fn enter(&mut self, pc: u32, word: u32, incoming: impl FnOnce() -> Incoming) -> Entered {
        let key = u64::from(pc) << 32 | u64::from(word);
        let other = &self.others[mixed_place(key)];
        let entered = if other.key == key { *other } else { self.look_up(key, incoming) };
        self.recent[place(pc)] = entered;
        entered
    }

    #[inline(never)]
    fn look_up(&mut self, key: u64, incoming: impl FnOnce() -> Incoming) -> Entered {
        let known = self.tables.known.get(&key).copied();
        let (word, cost) = known.unwrap_or_else(|| {
            let tables = Arc::make_mut(&mut self.tables);
            let states = tables.stages.len();
            let result = tables.work_out(key, &incoming());
            if tables.stages.len() < states {
                self.forget_recent();
            }
            result
        });
        let entered = Entered { key, word, cost };
        self.others[mixed_place(key)] = entered;
        entered
    }

    /// The word with the write buffer switched on or off.
    pub fn with_buffer(&mut self, word: u32, buffers: bool) -> u32 {
        let tables = Arc::make_mut(&mut self.tables);
        let mut stage = tables.stages[(word >> STATE_SHIFT) as usize].clone();
        stage.next.buffers = buffers;
        if let Some(taken) = &mut stage.taken {
            taken.buffers = buffers;
        }
        word & !(!0 << STATE_SHIFT) | tables.number(stage) << STATE_SHIFT
    }

    /// Cycles from the newest instruction's entry until it has left the execute stage.
    pub fn drain(&self, word: u32) -> u64 {
        let mut pipeline = self.tables.stages[(word >> STATE_SHIFT) as usize].next.clone();
        pipeline.learn(facts(word));
        u64::from(pipeline.drain())
    }

    /// Cycles from the newest instruction's entry to the cycle in which its access to the
    /// core's own registers takes place.
    pub fn data_phase(&self, word: u32) -> u64 {
        let mut pipeline = self.tables.stages[(word >> STATE_SHIFT) as usize].next.clone();
        pipeline.learn(Facts { bus: Bus::Private, ..Facts::default() });
        u64::from(pipeline.data_phase())
    }
}

const NOTHING: Entered = Entered { key: u64::MAX, word: 0, cost: 0 };

impl Tables {
    fn new() -> Self {
        let mut tables =
            Self { known: Map::default(), stages: Vec::new(), numbers: Map::default() };
        for buffers in [false, true] {
            tables.number(Stage { next: Pipeline::refilling(buffers), taken: None });
        }
        tables
    }

    fn number(&mut self, stage: Stage) -> u32 {
        if let Some(&number) = self.numbers.get(&stage) {
            return number;
        }
        let number = self.stages.len() as u32;
        self.stages.push(stage.clone());
        self.numbers.insert(stage, number);
        number
    }

    /// Works out one step, cycle by cycle, and keeps the result.
    fn work_out(&mut self, key: u64, incoming: &Incoming) -> (u32, u32) {
        let (pc, word) = ((key >> 32) as u32, key as u32);
        let facts = facts(word);
        let stage = &self.stages[(word >> STATE_SHIFT) as usize];
        let mut pipeline = match &stage.taken {
            Some(taken) if facts.taken => taken.as_ref().clone(),
            _ => stage.next.clone(),
        };
        let returning = pipeline.is_returning();
        pipeline.move_addresses(if returning { pc & !3 } else { pc });
        if returning && pc & 2 != 0 {
            pipeline.return_to_second_half(pc);
        }
        pipeline.learn(facts);
        let Incoming { step, size, target } = *incoming;
        let condition = condition(word);
        let behind = pc.wrapping_add(size);
        // A return's target is somewhere else; which half of a word it is, is learnt later.
        let (target, always) = match step.unit {
            Unit::Return => (pc & !3, true),
            Unit::Branch => (target, true),
            _ => (target, false),
        };
        let mut other = (step.unit == Unit::Conditional).then(|| Box::new(pipeline.clone()));
        let cost = pipeline.advance(pc, &step, condition, always, target);
        let jumps = always && condition != Condition::Failed;
        pipeline.move_addresses(if jumps { target } else { behind }.wrapping_neg());
        if let Some(other) = &mut other {
            other.advance(pc, &step, condition, true, target);
            other.move_addresses(target.wrapping_neg());
        }
        if self.stages.len() == STATES || self.known.len() == KNOWN {
            self.make_room();
        }
        let number = self.number(Stage { next: pipeline, taken: other });
        let result = (number << STATE_SHIFT, cost);
        self.known.insert(key, result);
        result
    }

    /// Forgets results, and the numbers of states if they ran out.
    fn make_room(&mut self) {
        self.known.clear();
        if self.stages.len() == STATES {
            self.stages.truncate(2);
            self.numbers.retain(|_, number| *number < 2);
        }
    }
}
