//! Decoded instructions by address, with what the pipeline has memoized for each of them.

use super::control::SystemRegister;
use super::graph::Graph;
use super::isa::{Instruction, InstructionSet, Op, decode};
use super::timing::{Demand, Flow, Passages, demand};
use crate::isa::is_wide;
use crate::state::Landmarks;
use crate::timing::memo::map::Map;

/// The bytes of a page, and the number of addresses at which an instruction may begin in it.
const PAGE_BYTES: u32 = 128;
const PAGE: usize = PAGE_BYTES as usize / 2;
/// The most instructions kept; one more, and all are forgotten.
const MAX_INSTRUCTIONS: usize = 1 << 18;
/// Executions after which an instruction gets graph nodes, so that short-lived copies of machines
/// build none.
pub const OFTEN: u8 = 3;
/// One less than the bytes of the longest instruction.
const MAX_OVERLAP: u32 = 3;

/// A decoded instruction.
#[derive(Debug)]
pub struct DecodedInstruction {
    pc: u32,
    bits: u32,
    set: InstructionSet,
    /// The value of `Code::written` when its bits were last checked against memory.
    seen: u32,
    pub it: Instruction,
    pub demand: Demand,
    pub passages: Passages,
    /// Whether it branches depending on a register, and whether it names an earlier address.
    pub decides: bool,
    pub backwards: bool,
    /// The coprocessor register that it writes.
    pub writes: Option<SystemRegister>,
    /// Whether a run stops at it, or records that it has been reached.
    pub marked: bool,
    /// Its graph nodes.
    pub nodes: Vec<u32>,
    /// How often it has been executed outside the graph, up to [`OFTEN`].
    pub visits: u8,
}

/// The instructions of a page by offset, as numbers counted from one; 0 where there is none.
type Page = [u32; PAGE];

/// Decoded instructions by address. Each is kept with its bits, so that a write to code requires
/// only that the bits be checked again.
#[derive(Debug, Default)]
pub struct Code {
    instructions: Vec<DecodedInstruction>,
    pages: Vec<Page>,
    places: Map<u32, u32>,
    /// The page looked up last, and its index.
    last: Option<(u32, u32)>,
    /// Counts writes to code.
    written: u32,
    /// Marked addresses, in ascending order.
    marks: Vec<u32>,
    /// The landmarks of a run that is observed there only.
    landmarks: Option<Landmarks>,
    pub graph: Graph,
}

/// Copies of machines start empty except for the marks, since most of them are short-lived.
impl Clone for Code {
    fn clone(&self) -> Self {
        Self { marks: self.marks.clone(), ..Self::default() }
    }
}

/// Returns the bits of a single instruction, without those of the next one.
pub const fn of_one(set: InstructionSet, bits: u32) -> u32 {
    match set {
        InstructionSet::T32 if !is_wide((bits >> 16) as u16) => bits & 0xFFFF_0000,
        _ => bits,
    }
}

impl Code {
    /// Returns the number of the instruction at an address, or 0 if there is none.
    #[inline]
    fn number(&mut self, pc: u32) -> u32 {
        let page = pc / PAGE_BYTES;
        let place = match self.last {
            Some((last, place)) if last == page => place,
            _ => {
                let Some(place) = self.places.get(&page) else { return 0 };
                self.last = Some((page, *place));
                *place
            }
        };
        self.pages[place as usize][pc as usize / 2 % PAGE]
    }

    /// Returns the instruction at an address, unless its bits must be checked first.
    #[inline]
    pub fn known(
        &mut self,
        set: InstructionSet,
        pc: u32,
    ) -> Option<(&mut DecodedInstruction, &mut Graph)> {
        let number = self.number(pc);
        let entry = self.instructions.get_mut((number as usize).wrapping_sub(1))?;
        (entry.pc == pc && entry.set as u8 == set as u8 && entry.seen == self.written)
            .then_some((entry, &mut self.graph))
    }

    /// Decodes the instruction at an address, or confirms that its bits have not changed.
    pub fn decode_at(&mut self, set: InstructionSet, pc: u32, bits: u32) {
        let bits = of_one(set, bits);
        let mut number = self.number(pc) as usize;
        if number == 0 {
            if self.instructions.len() >= MAX_INSTRUCTIONS {
                self.forget();
            }
            let (page, place) = (pc / PAGE_BYTES, self.pages.len() as u32);
            let place = *self.places.entry(page).or_insert(place);
            if place as usize == self.pages.len() {
                self.pages.push([0; PAGE]);
            }
            self.instructions.push(DecodedInstruction::new(set, pc, bits));
            number = self.instructions.len();
            self.pages[place as usize][pc as usize / 2 % PAGE] = number as u32;
        }
        let Some(entry) = self.instructions.get_mut(number - 1) else { return };
        if (entry.pc, entry.set as u8, entry.bits) != (pc, set as u8, bits) {
            self.graph.cut(&entry.nodes);
            *entry = DecodedInstruction::new(set, pc, bits);
        }
        let is_landmark = |landmarks| is_landmark(landmarks, entry);
        entry.marked = self.marks.binary_search(&pc).is_ok()
            || self.landmarks.as_ref().is_some_and(is_landmark);
        entry.seen = self.written;
    }

    /// Returns the decoded instruction at an address, if it was decoded from these bits.
    pub fn decoded(&self, set: InstructionSet, pc: u32, bits: u32) -> Option<Instruction> {
        let page = self.pages.get(*self.places.get(&(pc / PAGE_BYTES))? as usize)?;
        let number = page[pc as usize / 2 % PAGE] as usize;
        let entry = self.instructions.get(number.wrapping_sub(1))?;
        let same =
            entry.pc == pc && entry.set as u8 == set as u8 && entry.bits == of_one(set, bits);
        same.then_some(entry.it)
    }

    /// Marks all decoded code to be checked again, after a write to an unknown address.
    pub fn invalidate_all(&mut self) {
        self.written = self.written.wrapping_add(1);
        self.forget_graph();
    }

    /// Marks the instructions that overlap some written bytes to be checked again.
    pub fn invalidate(&mut self, address: u32, bytes: u32) {
        let before = self.written.wrapping_sub(1);
        let first = address.saturating_sub(MAX_OVERLAP) & !1;
        for at in (0..=bytes + MAX_OVERLAP).step_by(2) {
            let pc = first.wrapping_add(at);
            let number = self.number(pc) as usize;
            if let Some(entry) = self.instructions.get_mut(number.wrapping_sub(1)) {
                entry.seen = before;
                self.graph.cut(&entry.nodes);
            }
        }
    }

    /// Forgets the graph of passages.
    pub fn forget_graph(&mut self) {
        if !self.graph.is_empty() {
            self.graph.forget();
            self.instructions.iter_mut().for_each(|entry| entry.nodes.clear());
        }
    }

    fn forget(&mut self) {
        let (marks, landmarks) = (std::mem::take(&mut self.marks), self.landmarks.take());
        *self = Self { marks, landmarks, ..Self::default() };
    }

    /// Marks the given landmarks and no others.
    pub fn observe_at(&mut self, landmarks: Option<&Landmarks>) {
        if Landmarks::replace(&mut self.landmarks, landmarks) {
            self.forget();
        }
    }

    /// Returns whether the run is observed at landmarks.
    pub const fn is_observed(&self) -> bool {
        self.landmarks.is_some()
    }

    /// Marks addresses, and no others.
    pub fn mark(&mut self, mut addresses: Vec<u32>) {
        addresses.sort_unstable();
        if self.marks != addresses {
            let landmarks = self.landmarks.take();
            *self = Self { marks: addresses, landmarks, ..Self::default() };
        }
    }
}

/// Returns whether an observer stops at an instruction: it may branch to another part of the code,
/// change modes, masks or rights, or wait.
fn is_landmark(landmarks: &Landmarks, entry: &DecodedInstruction) -> bool {
    let leads = match entry.demand.flow {
        Flow::On => false,
        Flow::Direct { links: false } => landmarks.is_crossed(entry.pc, entry.it.imm),
        _ => true,
    };
    let changes = matches!(
        entry.it.op,
        Op::WriteStatus(_)
            | Op::ChangeState
            | Op::StoreReturn(..)
            | Op::ReturnFrom(..)
            | Op::SubtractReturn
            | Op::Call
            | Op::Breakpoint
            | Op::Hint(_)
            | Op::WriteCoprocessor
            | Op::WriteCoprocessorPair
    );
    leads || changes || landmarks.begins(entry.pc)
}

impl DecodedInstruction {
    fn new(set: InstructionSet, pc: u32, bits: u32) -> Self {
        let it = decode(set, pc, bits);
        Self {
            pc,
            bits,
            set,
            seen: 0,
            it,
            demand: demand(&it),
            passages: Passages::default(),
            decides: it.op == Op::CompareBranch,
            backwards: it.op == Op::Branch && it.imm <= pc,
            writes: (it.op == Op::WriteCoprocessor).then(|| SystemRegister::of(it.imm)),
            marked: false,
            nodes: Vec::new(),
            visits: 0,
        }
    }
}
