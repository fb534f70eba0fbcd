//! The classification of instructions for the pipeline of Cortex-M3 and M4.
//!
//! It follows the instruction set summaries (DDI 0337G, 18.2; DDI 0439, 3.3) and the load/store
//! timings (DDI 0337G, 18.3), and where these give no more than a range, measurements on CC2650,
//! CC2652 and STM32F100. The only cycle count that it knows is an instruction's minimum in the
//! execute stage.

use super::operands::{compares, float_operands};
use super::pipeline::{FloatUse, Step, Unit, has};
use crate::isa::{Group, Op, Slot};

/// The kind of multiplier of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplier {
    /// Every product takes one cycle.
    Single,
    /// Long products and accumulation take several steps.
    Iterative,
}

/// Classifies an instruction; `following` is the halfword that follows it.
#[expect(clippy::too_many_lines, reason = "a table: an arm a group of operations")]
pub fn classify(slot: &Slot, following: u16, multiplier: Multiplier) -> Step {
    let wide = slot.size() == 4;
    let mut step = Step { unit: Unit::Alu, ..Step::default() };
    let mut traits = if wide { has::WIDE } else { 0 };
    if following >> 8 == 0xBF && following & 0xF != 0 {
        traits |= has::IT_FOLLOWS;
    }
    let bit = |register: u8| 1u16 << (register & 15);
    let (d, n, m, a) = (slot.d, slot.n, slot.m, slot.a);
    let mut writes = 0;
    let op = slot.op;
    match op.group() {
        Group::Immediate | Group::Register | Group::Shifted | Group::Shift => {
            let compares = compares(op);
            if !compares {
                writes = bit(d);
            }
            if !wide {
                // r1p1 folds an IT after an instruction that writes or compares the stack pointer,
                // r2p1 does not.
                let on_stack_pointer = writes & bit(13) != 0 || compares && n == 13;
                traits |= if on_stack_pointer { has::FOLDS_EARLY } else { has::FOLDS };
            }
        }
        Group::Bits => {
            writes = bit(d);
            if !wide {
                traits |= has::FOLDS;
            }
        }
        Group::Multiply => {
            writes = bit(d);
            step.first = d;
            step.factors = bit(n) | bit(m);
            match op {
                Op::Mul | Op::Muls => {
                    if !wide {
                        // r2p1 folds an IT after it, r1p1 does not.
                        traits |= has::FOLDS_LATE;
                    }
                }
                _ if multiplier == Multiplier::Single => {
                    if !matches!(op, Op::Mla | Op::Mls) {
                        writes |= bit(a);
                    }
                }
                Op::Mla | Op::Mls => {
                    (step.unit, step.cycles) = (Unit::Long, 2);
                    traits |= has::HOLDS;
                    step.high = a;
                    if op == Op::Mla {
                        traits |= has::MLA;
                    }
                }
                _ => {
                    (step.unit, step.cycles) = (Unit::Long, 3);
                    traits |= has::HOLDS;
                    traits |=
                        if matches!(op, Op::Umull | Op::Smull) { has::MULL } else { has::MLAL };
                    writes |= bit(a);
                    step.high = d;
                    step.low = a;
                }
            }
        }
        Group::Divide => {
            writes = bit(d);
            (step.unit, step.cycles) = (Unit::Long, 2);
            traits |= has::HOLDS;
        }
        Group::Load | Group::LoadPc => {
            step.unit = Unit::Load;
            step.words = 1;
            traits |= has::HOLDS;
            step.first = if op.group() == Group::LoadPc { 15 } else { d };
            writes = bit(step.first);
            match op {
                Op::LdrLit
                | Op::LdrbLit
                | Op::LdrhLit
                | Op::LdrsbLit
                | Op::LdrshLit
                | Op::LdrPcLit => step.address = bit(15),
                Op::LdrR | Op::LdrbR | Op::LdrhR | Op::LdrsbR | Op::LdrshR | Op::LdrPcR => {
                    step.address = bit(n) | bit(m);
                    traits |= has::INDEXED;
                }
                Op::LdrI | Op::LdrbI | Op::LdrhI | Op::LdrsbI | Op::LdrshI | Op::LdrPcI => {
                    step.address = bit(n);
                }
                _ => {
                    step.address = bit(n);
                    writes |= bit(n);
                    traits |= has::WRITEBACK;
                }
            }
            if op.group() == Group::LoadPc {
                traits |= has::TO_PC;
            }
        }
        Group::StoreImmediate => {
            step.unit = Unit::Store;
            step.words = 1;
            traits |= has::HOLDS;
            step.first = d;
            step.address = bit(n);
        }
        Group::Store => {
            step.unit = Unit::Store;
            step.words = 1;
            traits |= has::HOLDS;
            step.first = d;
            step.address = bit(n);
            if matches!(op, Op::StrR | Op::StrbR | Op::StrhR) {
                step.address |= bit(m);
                traits |= has::INDEXED;
            } else {
                writes |= bit(n);
                traits |= has::WRITEBACK;
            }
        }
        Group::Dual => {
            traits |= has::HOLDS;
            step.first = d;
            step.second = a;
            step.words = 2;
            step.address = if op == Op::LdrdLit { bit(15) } else { bit(n) };
            if op == Op::Strd {
                step.unit = Unit::StoreMany;
            } else {
                step.unit = Unit::LoadMany;
                writes = bit(d) | bit(a);
            }
            if op != Op::LdrdLit && slot.aux != 0 {
                traits |= has::WRITEBACK;
                writes |= bit(n);
            }
        }
        Group::List => {
            traits |= has::HOLDS;
            let list = slot.imm as u16;
            step.factors = list;
            step.words = list.count_ones() as u8;
            let stack = matches!(op, Op::Push | Op::Pop);
            step.address = if stack { bit(13) } else { bit(n) };
            if matches!(op, Op::Ldm | Op::Ldmdb | Op::Pop) {
                step.unit = Unit::LoadMany;
                writes = list;
                if list & bit(15) != 0 {
                    traits |= has::TO_PC;
                }
                if !wide && op == Op::Ldm {
                    traits |= has::NARROW_LDM;
                }
            } else {
                step.unit = Unit::StoreMany;
            }
            if stack || slot.aux == 1 {
                traits |= has::WRITEBACK;
                writes |= step.address;
            }
        }
        Group::Exclusive => {
            traits |= has::HOLDS;
            match op {
                Op::Clrex => {}
                Op::Ldrex | Op::Ldrexb | Op::Ldrexh => {
                    step.words = 1;
                    step.unit = Unit::Load;
                    step.address = bit(n);
                    step.first = d;
                    writes = bit(d);
                }
                _ => {
                    step.words = 1;
                    step.unit = Unit::Store;
                    step.address = bit(n);
                    step.first = a;
                    writes = bit(d);
                    traits |= has::WRITEBACK;
                }
            }
        }
        Group::Branch => match op {
            // MOV PC, PC and ADD PC, PC, whose target is a constant, branch like other writes of
            // PC.
            Op::B if d == 15 => {
                step.unit = Unit::Late;
                traits |= has::AIMED;
                writes = bit(15);
            }
            Op::B => {
                step.unit = Unit::Branch;
                writes = bit(15);
            }
            Op::Cbz | Op::Cbnz => {
                step.unit = Unit::Late;
                traits |= has::HOLDS | has::AIMED;
                writes = bit(15);
            }
            _ => {
                step.unit = Unit::Conditional;
                writes = bit(15);
            }
        },
        Group::Call => {
            step.unit = Unit::Branch;
            writes = bit(14) | bit(15);
            traits |= has::LINKS;
        }
        Group::BranchRegister => {
            writes = bit(15);
            step.unit = match op {
                Op::Bx if n == 14 => Unit::Return,
                Op::MovPc if m == 14 => Unit::Return,
                Op::BlxR if n == 14 => Unit::Return,
                Op::AddPc => Unit::Computed,
                _ => Unit::Late,
            };
            if op == Op::BlxR {
                writes |= bit(14);
                traits |= has::LINKS;
            }
            if op == Op::AddPc {
                // It waits for R0 as if that were part of an address, whatever its operands
                // (CC2650, CC2652).
                step.address = bit(0);
            }
        }
        Group::BranchTable => {
            step.unit = Unit::Table;
            step.words = 1;
            traits |= has::HOLDS | has::INDEXED | has::WRITEBACK;
            step.address = bit(n) | bit(m);
            step.first = 15;
            writes = bit(15);
        }
        Group::Hint => match op {
            Op::Nop => {
                step.unit = Unit::Nop;
                if !wide {
                    traits |= has::FOLDS;
                }
            }
            Op::It => traits |= has::IT,
            _ => {}
        },
        Group::SpecialRegister => {
            step.unit = Unit::Long;
            traits |= has::HOLDS;
            if op == Op::Mrs {
                writes = bit(d);
            }
        }
        Group::ChangeState => step.unit = Unit::Long,
        Group::Barrier => {
            (step.unit, step.cycles) =
                if op == Op::Isb { (Unit::Barrier, 1) } else { (Unit::Long, 2) };
        }
        Group::Dsp => {
            writes = bit(d);
            if matches!(op, Op::Smlalxy | Op::Smlald | Op::Smlsld | Op::Umaal) {
                writes |= bit(a);
            }
        }
        Group::FloatTransfer => {
            if matches!(op, Op::VmovPairToCore | Op::VmovPairFromCore) {
                (step.unit, step.cycles) = (Unit::Long, 2);
            }
            writes = match op {
                Op::VmovToCore | Op::Vmrs if d != 15 => bit(d),
                Op::VmovPairToCore => bit(d) | bit(a),
                _ => 0,
            };
        }
        Group::FloatMemory => {
            let stores = matches!(op, Op::Vstr | Op::Vstm);
            step.unit = if stores { Unit::StoreMany } else { Unit::LoadMany };
            traits |= has::HOLDS;
            step.words = (slot.aux & 0xFF) as u8;
            (step.first, step.second) = (31, 31);
            step.address = if op == Op::VldrLit { bit(15) } else { bit(n) };
        }
        _ => {}
    }
    step.traits = traits;
    step.writes = writes;
    step.float = float_use(slot);
    step
}

/// Returns what an instruction needs of the floating-point unit (DDI 0439, table 7-1).
fn float_use(slot: &Slot) -> FloatUse {
    let operands = float_operands(slot);
    let with = |cycles, writes_late| FloatUse { cycles, reads: operands.reads, writes_late };
    match slot.op.group() {
        Group::Float => {
            // The table's note on results names sums, products and conversions.
            let is_move = matches!(slot.op, Op::Vabs | Op::Vneg | Op::VmovR | Op::VmovI);
            with(1, if is_move { 0 } else { operands.writes })
        }
        Group::FloatMultiplyAdd => with(3, operands.writes),
        Group::FloatDivide => with(14, operands.writes),
        // A list's first word is needed first, and the others in time.
        Group::FloatMemory if operands.reads != 0 => {
            FloatUse { reads: 1 << (slot.d & 31), ..with(1, 0) }
        }
        Group::FloatMemory | Group::FloatTransfer => with(1, 0),
        _ => FloatUse::default(),
    }
}
