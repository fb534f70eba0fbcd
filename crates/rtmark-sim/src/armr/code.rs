//! Code that has been met: instructions decoded once, with what the pipeline remembers of them.

use super::control::Place as Register;
use super::isa::{Instruction, Op, Set, decode, is_wide};
use super::timing::{Demand, Passages, demand};

/// Instructions of a page, two bytes apart, and how many pages are kept: powers of two.
const PAGE: usize = 64;
const PAGES: usize = 128;

/// An instruction that has been met.
#[derive(Clone, Debug)]
pub struct Met {
    pc: u32,
    bits: u32,
    set: Set,
    /// Its bits have been looked at since code was last written.
    seen: u32,
    pub it: Instruction,
    pub demand: Demand,
    pub passages: Passages,
    /// It decides by a register whether it branches; it names an address before it.
    pub decides: bool,
    pub backwards: bool,
    /// The coprocessor's register that it writes.
    pub writes: Option<Register>,
    /// A run stops there, or notes that it has come there.
    pub marked: bool,
}

type Page = Box<[Option<Met>; PAGE]>;

/// Instructions by their places. Each is known with its bits, so that code which changes needs to be
/// looked at again and nothing else.
#[derive(Debug)]
pub struct Code {
    pages: Vec<Option<Page>>,
    /// Counts the times at which code has been written.
    written: u32,
    /// Addresses that are marked, in ascending order.
    marks: Vec<u32>,
}

impl Default for Code {
    fn default() -> Self {
        Self { pages: vec![None; PAGES], written: 0, marks: Vec::new() }
    }
}

/// Copies of machines begin anew, but for the marks: most of them end soon.
impl Clone for Code {
    fn clone(&self) -> Self {
        Self { marks: self.marks.clone(), ..Self::default() }
    }
}

/// The bits of one instruction, without those of the next one.
pub const fn of_one(set: Set, bits: u32) -> u32 {
    match set {
        Set::T32 if !is_wide((bits >> 16) as u16) => bits & 0xFFFF_0000,
        _ => bits,
    }
}

impl Code {
    const fn place(pc: u32) -> (usize, usize) {
        let at = pc as usize >> 1;
        (at / PAGE % PAGES, at % PAGE)
    }

    /// The instruction at an address, if its bits need not be looked at.
    #[inline]
    pub fn known(&mut self, set: Set, pc: u32) -> Option<&mut Met> {
        let (page, at) = Self::place(pc);
        let met = self.pages[page].as_mut()?[at].as_mut()?;
        (met.pc == pc && met.set as u8 == set as u8 && met.seen == self.written).then_some(met)
    }

    /// The instruction at an address, whose bits are these.
    pub fn meet(&mut self, set: Set, pc: u32, bits: u32) -> &mut Met {
        let (page, at) = Self::place(pc);
        let place =
            &mut self.pages[page].get_or_insert_with(|| Box::new([const { None }; PAGE]))[at];
        let bits = of_one(set, bits);
        let same = |met: &Met| met.pc == pc && met.set as u8 == set as u8 && met.bits == bits;
        if !place.as_ref().is_some_and(same) {
            *place = None;
        }
        let met = place.get_or_insert_with(|| {
            let it = decode(set, pc, bits);
            let marked = self.marks.binary_search(&pc).is_ok();
            Met {
                pc,
                bits,
                set,
                seen: 0,
                it,
                demand: demand(&it),
                passages: Passages::default(),
                decides: it.op == Op::CompareBranch,
                backwards: it.op == Op::Branch && it.imm <= pc,
                writes: (it.op == Op::WriteCoprocessor).then(|| Register::of(it.imm)),
                marked,
            }
        });
        met.seen = self.written;
        met
    }

    /// The instruction at an address as it has been decoded, whose bits are these.
    pub fn decoded(&self, set: Set, pc: u32, bits: u32) -> Option<Instruction> {
        let (page, at) = Self::place(pc);
        let met = self.pages[page].as_ref()?[at].as_ref()?;
        let same = met.pc == pc && met.set as u8 == set as u8 && met.bits == of_one(set, bits);
        same.then_some(met.it)
    }

    /// Code may have been written.
    pub const fn look_again(&mut self) {
        self.written = self.written.wrapping_add(1);
    }

    /// Marks addresses.
    pub fn mark(&mut self, mut addresses: Vec<u32>) {
        addresses.sort_unstable();
        if self.marks != addresses {
            *self = Self { marks: addresses, ..Self::default() };
        }
    }
}
