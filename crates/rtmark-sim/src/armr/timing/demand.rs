//! The demands of each instruction on the pipeline, apart from any hazards.
//!
//! A result with a latency of *n* cycles can be used by an instruction that issues *n* cycles later
//! and needs it at the usual stage. Operands needed earlier or later shift that by the same number
//! of cycles (DDI 0363, 14.1.4, table 14-1).

mod float;

use crate::armr::isa::op::{
    Address, Alu, Bank, Bits, Exclusive, Fit, Index, Instruction, Multiply, Offset, Op,
    SecondOperand, WriteBack,
};

/// A set of registers: R0 to R14, the flags, S0 to S31.
pub type Registers = u64;

/// The index of the flags in [`Registers`].
pub const FLAGS: u8 = 15;
const FIRST_FLOAT: u8 = 16;
/// The number of registers.
pub const COUNT: usize = 48;

const fn of(register: u8) -> Registers {
    // The program counter is always available.
    if register >= 15 { 0 } else { 1 << register }
}

const fn single(register: u8) -> Registers {
    1 << (FIRST_FLOAT + (register & 31))
}

const fn double(register: u8) -> Registers {
    single(register) | single(register.wrapping_add(1))
}

/// The producer of a result, if a forwarding path from it is shorter than usual (DDI 0363, 14.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    #[default]
    Usual,
    /// A load: one cycle less to an address.
    Load,
    /// The address generator, in a pre-indexed access of one register.
    Address,
    /// A multiplication or sum of differences: one cycle less to another one's accumulator of the
    /// same width.
    Accumulator32,
    Accumulator64,
    /// VMLA.F32: three cycles less to another one's accumulator.
    FloatAccumulator,
}

/// An instruction's class in the rules of dual issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A move without a shift.
    Move,
    Alu,
    /// With a shift by a register.
    AluByRegister,
    Multiply,
    /// A load or store of one or two registers; `Accesses` are longer ones.
    Access,
    Accesses,
    /// A branch to an address in its encoding.
    Branch,
    /// NOP and IT.
    Nothing,
    FloatMove,
    FloatSimple,
    FloatSum,
    FloatMultiplyAdd,
    FloatDivide,
    FloatLoad,
    FloatStore,
    /// An instruction that always issues alone.
    Alone,
}

/// How an instruction branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    On,
    /// To an address in its encoding.
    Direct {
        links: bool,
    },
    /// To the address in a register. If it does not link, the return stack predicts it.
    Register {
        links: bool,
    },
    /// To a loaded address. The load's own extra cycles apply as well.
    Loaded {
        returns: bool,
    },
    /// Never predicted.
    Unpredicted,
}

/// The memory access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moves {
    Nothing,
    /// One register; `slow` if the address takes two more cycles.
    One {
        slow: bool,
    },
    /// Consecutive registers.
    Many {
        slow: bool,
    },
}

/// The demands of an instruction on the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The cycles for which it issues, unless memory or branches require more.
    pub cycles: u8,
    /// Operands by the time at which they are needed: two cycles earlier than usual, one earlier,
    /// as usual, one later.
    pub very_early: Registers,
    pub early: Registers,
    pub normal: Registers,
    pub late: Registers,
    /// Those operands that are accumulated to, and the producer with a shorter path to them.
    pub accumulated: Registers,
    pub by: Source,
    /// Results, and their latency in cycles.
    pub writes: Registers,
    pub latency: u8,
    /// The base register, if it is written back.
    pub base: Registers,
    /// Registers loaded by a list, in ascending order of address.
    pub list: Registers,
    pub class: Class,
    pub flow: Flow,
    pub moves: Moves,
    /// Whether it waits for all earlier instructions, and all later ones wait for it.
    pub serializes: bool,
    /// Whether it is a multiplication that sets flags.
    pub sets_flags_late: bool,
    pub sets_flags: bool,
    pub is_multiply: bool,
    pub divides: Option<Divides>,
    /// Whether only the address generator updates the base.
    pub pre_indexed: bool,
}

/// A division, which proceeds in parallel with the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Divides {
    Unsigned,
    Signed,
}

impl Divides {
    /// Returns the cycles to the result (DDI 0363, 14.8), which depend on the leading zeros of both
    /// operands.
    pub const fn latency(self, dividend: u32, divisor: u32) -> u64 {
        if divisor == 0 {
            return 3;
        }
        let (n, m) = (dividend.leading_zeros() as i32, divisor.leading_zeros() as i32);
        let steps = (m - n + 1) / 2;
        let steps = if m < n { 0 } else { steps as u64 };
        steps
            + match self {
                Self::Unsigned => 3,
                Self::Signed => 4,
            }
    }
}

const ALU: Demand = Demand {
    cycles: 1,
    very_early: 0,
    early: 0,
    normal: 0,
    late: 0,
    accumulated: 0,
    by: Source::Usual,
    writes: 0,
    latency: 1,
    base: 0,
    list: 0,
    class: Class::Alu,
    flow: Flow::On,
    moves: Moves::Nothing,
    serializes: false,
    sets_flags_late: false,
    sets_flags: false,
    is_multiply: false,
    divides: None,
    pre_indexed: false,
};

/// The cycles of instructions that change state and are in none of the tables read: an estimate.
/// GCC, and LLVM's description of the Cortex-R52, have four for reading status registers.
const STATE_CYCLES: u8 = 4;

/// Returns the demands of an instruction.
pub fn demand(it: &Instruction) -> Demand {
    let mut demand = match it.op {
        Op::Data(alu, second, _) => data(it, alu, second),
        Op::AddressOf => Demand { writes: of(it.d), ..ALU },
        Op::Multiply(multiply, _) => multiplication(it, multiply),
        // DDI 0363, 14.8: it issues in one cycle.
        Op::Divide(sign) => Demand {
            early: of(it.n) | of(it.m),
            writes: of(it.d),
            latency: 3,
            class: Class::Multiply,
            divides: Some(match sign {
                super::super::isa::op::Sign::Unsigned => Divides::Unsigned,
                super::super::isa::op::Sign::Signed => Divides::Signed,
            }),
            ..ALU
        },
        Op::Bits(bits) => bit_field(it, bits),
        // An estimate, as for additions with a shift; GCC has that for the plain forms.
        Op::Extend(..) => Demand { early: of(it.m), normal: of(it.n), writes: of(it.d), ..ALU },
        // An estimate, by analogy with the sum of differences and with LLVM's Cortex-R52.
        Op::Saturate(_) | Op::Saturate16(_) => {
            Demand { early: of(it.n), writes: of(it.d), latency: 2, ..ALU }
        }
        Op::Saturating(number) => {
            let doubled = if number & 2 != 0 { of(it.n) } else { 0 };
            let normal = of(it.m) | of(it.n) & !doubled;
            Demand { early: doubled, normal, writes: of(it.d), latency: 2, ..ALU }
        }
        Op::Parallel(_, fit, _) => {
            let latency = if fit == Fit::Saturating { 2 } else { 1 };
            Demand { normal: of(it.n) | of(it.m), writes: of(it.d), latency, ..ALU }
        }
        Op::Select => Demand { normal: of(it.n) | of(it.m) | 1 << FLAGS, writes: of(it.d), ..ALU },
        Op::Pack => Demand { early: of(it.m), normal: of(it.n), writes: of(it.d), ..ALU },
        // DDI 0363, 14.6, table 14-7.
        Op::Differences => Demand {
            early: of(it.n) | of(it.m),
            normal: of(it.a),
            accumulated: of(it.a),
            by: Source::Accumulator32,
            writes: of(it.d),
            latency: 2,
            ..ALU
        },
        Op::Load(..)
        | Op::Store(..)
        | Op::LoadDual(_)
        | Op::StoreDual(_)
        | Op::LoadMultiple(..)
        | Op::StoreMultiple(..)
        | Op::Swap(_)
        | Op::LoadExclusive(_)
        | Op::StoreExclusive(_)
        | Op::StoreReturn(..)
        | Op::ReturnFrom(..) => access(it),
        Op::Float(op) => float::float(it, op),
        _ => control(it),
    };
    demand.sets_flags = it.sets_flags(false);
    if demand.sets_flags {
        demand.writes |= 1 << FLAGS;
        demand.sets_flags_late = matches!(it.op, Op::Multiply(..));
    }
    let reads_carry = match it.op {
        Op::Data(alu, ..) => matches!(alu, Alu::Adc | Alu::Sbc | Alu::Rsc) || it.shift.kind == 4,
        _ => false,
    };
    // A conditional branch is predicted, and does not wait for its condition.
    let conditional = it.condition < 14 && demand.flow == Flow::On;
    if reads_carry || conditional {
        demand.normal |= 1 << FLAGS;
    }
    demand
}

/// Returns the demands of data processing (DDI 0363, 14.2 and 14.3).
fn data(it: &Instruction, alu: Alu, second: SecondOperand) -> Demand {
    let first = if alu.is_move() { 0 } else { of(it.n) };
    let written = if alu.compares() { 0 } else { of(it.d) };
    let flow = if it.d == 15 && !alu.compares() { Flow::Unpredicted } else { Flow::On };
    let plain = Demand { normal: first, writes: written, flow, ..ALU };
    // GCC's description: a move without a shift needs its operand a cycle later, and pairs.
    let moves = alu == Alu::Mov;
    match second {
        SecondOperand::Immediate | SecondOperand::ImmediateCarry if moves => {
            Demand { class: Class::Move, ..plain }
        }
        SecondOperand::Immediate | SecondOperand::ImmediateCarry => plain,
        SecondOperand::Shifted if it.shift.is_none() && moves => {
            Demand { late: of(it.m), class: Class::Move, ..plain }
        }
        SecondOperand::Shifted if it.shift.is_none() => {
            Demand { normal: first | of(it.m), ..plain }
        }
        SecondOperand::Shifted => Demand { early: of(it.m), ..plain },
        SecondOperand::ByRegister => {
            Demand { early: of(it.m) | of(it.a), class: Class::AluByRegister, ..plain }
        }
    }
}

/// Returns the demands of bit-field operations. GCC classes them with the plain operations, whose
/// operands are needed as usual.
fn bit_field(it: &Instruction, bits: Bits) -> Demand {
    let normal = match bits {
        Bits::Clz | Bits::Rbit | Bits::Rev | Bits::Rev16 | Bits::Revsh => of(it.m),
        Bits::Insert => of(it.n) | of(it.d),
        Bits::Clear | Bits::Top => of(it.d),
        Bits::Extract(_) => of(it.n),
    };
    Demand { normal, writes: of(it.d), ..ALU }
}

/// Returns the demands of a multiplication (DDI 0460, B.7, table B.9).
fn multiplication(it: &Instruction, multiply: Multiply) -> Demand {
    use Multiply as M;
    let operands = of(it.n) | of(it.m);
    let (long, short) = ((2, 3), (1, 2));
    let base = |(cycles, latency)| Demand {
        cycles,
        early: operands,
        writes: of(it.d),
        latency,
        class: Class::Multiply,
        is_multiply: true,
        by: Source::Accumulator32,
        ..ALU
    };
    let pair = of(it.d) | of(it.a);
    match multiply {
        M::Mul | M::Smmul => base(long),
        M::Mla | M::Mls | M::Smmla | M::Smmls => {
            Demand { late: of(it.a), accumulated: of(it.a), ..base(long) }
        }
        M::Umull | M::Smull => Demand { writes: pair, by: Source::Accumulator64, ..base(long) },
        M::Umlal | M::Smlal | M::Umaal | M::SmlalXy => Demand {
            late: pair,
            accumulated: pair,
            writes: pair,
            by: Source::Accumulator64,
            ..base(long)
        },
        M::Smlald | M::Smlsld => Demand {
            normal: pair,
            accumulated: pair,
            writes: pair,
            by: Source::Accumulator64,
            ..base(short)
        },
        M::SmulXy | M::SmulWy | M::Smuad | M::Smusd => base(short),
        M::SmlaXy | M::SmlaWy | M::Smlad | M::Smlsd => {
            Demand { normal: of(it.a), accumulated: of(it.a), ..base(short) }
        }
    }
}

/// Returns whether the address takes two more cycles: a subtracted register, or a shift other than
/// to the left or by more than three (DDI 0363, 14.11).
const fn is_slow(it: &Instruction, address: Address) -> bool {
    let shifted = it.shift.amount > 3 || it.shift.kind != 0 && it.shift.amount != 0;
    match (address.index, address.offset) {
        (Index::Post, _) | (_, Offset::Immediate) => false,
        (_, Offset::Subtract) => true,
        (_, Offset::Add) => shifted,
    }
}

const fn index_register(it: &Instruction, address: Address) -> Registers {
    match address.offset {
        Offset::Immediate => 0,
        Offset::Add | Offset::Subtract => of(it.m),
    }
}

const fn moved_base(it: &Instruction, address: Address) -> Registers {
    match address.index {
        Index::Offset => 0,
        Index::Pre | Index::Post => of(it.n),
    }
}

/// Returns the demands of a load or store. Bases and offsets are needed very early, stored data
/// late (DDI 0363, 14.11 to 14.15).
fn access(it: &Instruction) -> Demand {
    let memory = |class, moves| Demand { latency: 2, class, moves, very_early: of(it.n), ..ALU };
    let single = |address: Address| Demand {
        very_early: if it.aux == 1 { 0 } else { of(it.n) | index_register(it, address) },
        base: moved_base(it, address),
        pre_indexed: address.index == Index::Pre,
        ..memory(Class::Access, Moves::One { slow: is_slow(it, address) })
    };
    let dual = |address: Address| Demand {
        pre_indexed: false,
        moves: Moves::Many { slow: is_slow(it, address) },
        ..single(address)
    };
    match it.op {
        Op::Load(_, address, _) if it.d == 15 => {
            let returns = address.index == Index::Post && it.n == 13 && it.imm == 4;
            Demand { flow: Flow::Loaded { returns }, ..single(address) }
        }
        Op::Load(_, address, _) => Demand { writes: of(it.d), ..single(address) },
        Op::Store(_, address, _) => Demand { late: of(it.d), ..single(address) },
        Op::LoadDual(address) => Demand { list: of(it.d) | of(it.a), ..dual(address) },
        Op::StoreDual(address) => Demand { late: of(it.d) | of(it.a), ..dual(address) },
        Op::LoadMultiple(_, back, bank) => {
            let loads_pc = it.imm >> 15 & 1 == 1;
            let flow = match (loads_pc, bank) {
                (false, _) => Flow::On,
                (true, Bank::User) => Flow::Unpredicted,
                // Of the other ways to return, only POP is predicted (DDI 0363, 5.3).
                (true, Bank::Own) => Flow::Loaded { returns: true },
            };
            Demand {
                list: Registers::from(it.imm & 0x7FFF),
                base: if back == WriteBack::Yes { of(it.n) } else { 0 },
                flow,
                ..memory(list_class(it.imm), Moves::Many { slow: false })
            }
        }
        Op::StoreMultiple(_, back, _) => Demand {
            late: Registers::from(it.imm & 0x7FFF),
            base: if back == WriteBack::Yes { of(it.n) } else { 0 },
            ..memory(list_class(it.imm), Moves::Many { slow: false })
        },
        // Table 14-20.
        Op::Swap(_) => Demand {
            cycles: 2,
            late: of(it.m),
            writes: of(it.d),
            latency: 3,
            ..memory(Class::Accesses, Moves::One { slow: false })
        },
        Op::LoadExclusive(Exclusive::Double) => Demand {
            writes: of(it.d) | of(it.a),
            ..memory(Class::Accesses, Moves::One { slow: false })
        },
        Op::LoadExclusive(_) => {
            Demand { writes: of(it.d), ..memory(Class::Accesses, Moves::One { slow: false }) }
        }
        Op::StoreExclusive(_) => Demand {
            late: of(it.m) | of(it.a),
            writes: of(it.d),
            ..memory(Class::Accesses, Moves::One { slow: false })
        },
        // An estimate: like lists of two.
        Op::StoreReturn(..) => Demand {
            very_early: 0,
            serializes: true,
            ..memory(Class::Alone, Moves::Many { slow: false })
        },
        _ => Demand {
            flow: Flow::Unpredicted,
            serializes: true,
            base: of(it.n),
            ..memory(Class::Alone, Moves::Many { slow: false })
        },
    }
}

/// Returns the class of a register list. GCC: lists of one or two registers pair like single
/// accesses.
const fn list_class(list: u32) -> Class {
    if list.count_ones() <= 2 { Class::Access } else { Class::Accesses }
}

fn control(it: &Instruction) -> Demand {
    let alone = Demand { class: Class::Alone, ..ALU };
    let serial = Demand { serializes: true, cycles: STATE_CYCLES, ..alone };
    match it.op {
        Op::Branch => Demand { class: Class::Branch, flow: Flow::Direct { links: false }, ..ALU },
        Op::BranchLink => Demand {
            writes: of(14),
            flow: Flow::Direct { links: true },
            class: Class::Branch,
            ..alone
        },
        Op::BranchExchange => {
            Demand { normal: of(it.m), flow: Flow::Register { links: false }, ..alone }
        }
        Op::BranchLinkExchange => Demand {
            normal: of(it.m),
            writes: of(14),
            flow: Flow::Register { links: true },
            ..alone
        },
        Op::CompareBranch => {
            Demand { normal: of(it.n), flow: Flow::Direct { links: false }, ..alone }
        }
        Op::TableBranch => Demand {
            very_early: of(it.n) | of(it.m),
            flow: Flow::Unpredicted,
            moves: Moves::One { slow: false },
            ..alone
        },
        Op::IfThen => Demand { class: Class::Nothing, ..ALU },
        Op::Hint(_) => Demand { class: Class::Nothing, ..ALU },
        Op::ClearExclusive => alone,
        Op::ReadStatus(_) => Demand { normal: 1 << FLAGS, writes: of(it.d), ..alone },
        // Writing only the flags behaves as a data operation's result (an estimate).
        Op::WriteStatus(_) if it.a == 8 => Demand { normal: of(it.n), writes: 1 << FLAGS, ..alone },
        Op::SubtractReturn => Demand { flow: Flow::Unpredicted, normal: of(14), ..alone },
        Op::ReadCoprocessor => {
            let writes = if it.d == 15 { 1 << FLAGS } else { of(it.d) };
            Demand { writes, ..serial }
        }
        Op::Barrier(_) => Demand { serializes: true, ..alone },
        _ => serial,
    }
}
