//! Disassembles instructions in the syntax of DDI 0406.

use super::decode::{InstructionSet, decode, find, float_bits};
use super::op::{
    Address, Barrier, Bits, Exclusive, Fit, Index, Instruction, Multiply, Offset, Op, Rights,
    SecondOperand, Sign, Status, WriteBack,
};
use crate::soc::CoreKind;

const CONDITIONS: [&str; 16] =
    ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "", ""];
const REGISTERS: [&str; 16] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr",
    "pc",
];
const SHIFTS: [&str; 5] = ["lsl", "lsr", "asr", "ror", "rrx"];

fn r(register: u8) -> &'static str {
    REGISTERS[register as usize & 15]
}

/// Returns mnemonic and operands, or `None` for an invalid instruction. Within an IT block the
/// mnemonic carries the block's condition.
pub fn disassemble(
    set: InstructionSet,
    address: u32,
    bits: u32,
    block: Option<u8>,
) -> Option<(String, String)> {
    let it = decode(set, address, bits);
    if it.op == Op::Undefined {
        return None;
    }
    let condition = CONDITIONS[block.unwrap_or(it.condition) as usize & 15];
    if let Some(bits) = float_bits(set, bits) {
        return Some(float(&it, bits, condition));
    }
    let (line, ..) = find(set, bits)?;
    let s = if it.sets_flags(block.is_some()) { "s" } else { "" };
    let name = match it.op {
        Op::Data(alu, ..) if alu.compares() => alu.name().to_owned(),
        Op::Data(..) if line.name == "movw" => line.name.to_owned(),
        Op::Data(alu, SecondOperand::ByRegister, _)
            if alu.is_move() && set == InstructionSet::T32 =>
        {
            format!("{}{s}", SHIFTS[it.shift.kind as usize & 3])
        }
        Op::Data(alu, ..) if line.name.is_empty() => format!("{}{s}", alu.name()),
        Op::Multiply(..) | Op::Data(..) => format!("{}{s}", multiply_name(&it, line.name)),
        Op::LoadMultiple(order, ..) if set == InstructionSet::A32 => format!("ldm{}", order.name()),
        Op::StoreMultiple(order, ..) if set == InstructionSet::A32 => {
            format!("stm{}", order.name())
        }
        Op::StoreReturn(order, _) => format!("srs{}", order.name()),
        Op::ReturnFrom(order, _) => format!("rfe{}", order.name()),
        Op::Load(_, _, Rights::User) | Op::Store(_, _, Rights::User) => format!("{}t", line.name),
        Op::Parallel(_, fit, sign) => format!("{}{}", parallel_prefix(fit, sign), line.name),
        Op::Extend(..) if it.n == 15 => line.name.replacen("ta", "t", 1),
        Op::Differences if it.a != 15 => "usada8".to_owned(),
        Op::ChangeState => match it.a >> 1 {
            2 => "cpsie".to_owned(),
            3 => "cpsid".to_owned(),
            _ => "cps".to_owned(),
        },
        Op::IfThen => it_name(it.imm),
        _ => line.name.to_owned(),
    };
    let unconditional = matches!(it.op, Op::IfThen | Op::CompareBranch);
    let condition = if unconditional { "" } else { condition };
    Some((format!("{name}{condition}"), operands(&it, set)))
}

/// Returns the mnemonic of a multiplication, with the letters of the halves that it selects.
fn multiply_name(it: &Instruction, name: &str) -> String {
    let half = |bit: u32| if it.imm >> bit & 1 == 1 { "t" } else { "b" };
    match it.op {
        Op::Multiply(Multiply::SmulXy | Multiply::SmlaXy | Multiply::SmlalXy, _) => {
            name.replace("xy", &format!("{}{}", half(1), half(0)))
        }
        Op::Multiply(Multiply::SmulWy | Multiply::SmlaWy, _) => name.replace('y', half(0)),
        Op::Multiply(
            Multiply::Smuad
            | Multiply::Smusd
            | Multiply::Smlad
            | Multiply::Smlsd
            | Multiply::Smlald
            | Multiply::Smlsld,
            _,
        ) if it.imm & 1 == 1 => format!("{name}x"),
        Op::Multiply(Multiply::Smmul | Multiply::Smmla | Multiply::Smmls, _) if it.imm & 1 == 1 => {
            format!("{name}r")
        }
        _ => name.to_owned(),
    }
}

const fn parallel_prefix(fit: Fit, sign: Sign) -> &'static str {
    match (fit, sign) {
        (Fit::Plain, Sign::Signed) => "s",
        (Fit::Plain, Sign::Unsigned) => "u",
        (Fit::Saturating, Sign::Signed) => "q",
        (Fit::Saturating, Sign::Unsigned) => "uq",
        (Fit::Halving, Sign::Signed) => "sh",
        (Fit::Halving, Sign::Unsigned) => "uh",
    }
}

fn it_name(state: u32) -> String {
    let mask = state & 0xF;
    let first = state >> 4 & 1;
    let length = 4 - mask.trailing_zeros().min(3);
    let others = (1..length).map(|at| if mask >> (4 - at) & 1 == first { 't' } else { 'e' });
    format!("it{}", others.collect::<String>())
}

fn shift_text(it: &Instruction) -> String {
    match (it.shift.kind, it.shift.amount) {
        (_, 0) => String::new(),
        (4, _) => ", rrx".to_owned(),
        (kind, amount) => format!(", {} #{amount}", SHIFTS[kind as usize & 3]),
    }
}

fn second_text(it: &Instruction, second: SecondOperand) -> String {
    match second {
        SecondOperand::Immediate | SecondOperand::ImmediateCarry => format!("#{}", it.imm as i32),
        SecondOperand::Shifted => format!("{}{}", r(it.m), shift_text(it)),
        SecondOperand::ByRegister => {
            format!("{}, {} {}", r(it.m), SHIFTS[it.shift.kind as usize & 3], r(it.a))
        }
    }
}

fn place_text(it: &Instruction, address: Address) -> String {
    if it.aux == 1 {
        return format!("{:#010x}", it.imm);
    }
    let offset = match address.offset {
        Offset::Immediate if it.imm == 0 && address.index != Index::Post => String::new(),
        Offset::Immediate => format!(", #{}", it.imm as i32),
        Offset::Add => format!(", {}{}", r(it.m), shift_text(it)),
        Offset::Subtract => format!(", -{}{}", r(it.m), shift_text(it)),
    };
    match address.index {
        Index::Offset => format!("[{}{offset}]", r(it.n)),
        Index::Pre => format!("[{}{offset}]!", r(it.n)),
        Index::Post => format!("[{}]{offset}", r(it.n)),
    }
}

/// Returns the registers of a list, with ranges.
fn list_text(list: u32) -> String {
    let mut text = Vec::new();
    let mut register = 0u8;
    while register < 16 {
        if list >> register & 1 == 0 {
            register += 1;
            continue;
        }
        let first = register;
        while register < 15 && list >> (register + 1) & 1 == 1 && register < 12 {
            register += 1;
        }
        text.push(if first == register {
            r(first).to_owned()
        } else {
            format!("{}-{}", r(first), r(register))
        });
        register += 1;
    }
    format!("{{{}}}", text.join(", "))
}

const fn mark(back: WriteBack) -> &'static str {
    match back {
        WriteBack::Yes => "!",
        WriteBack::No => "",
    }
}

fn operands(it: &Instruction, set: InstructionSet) -> String {
    let (d, n, m, a) = (r(it.d), r(it.n), r(it.m), r(it.a));
    match it.op {
        Op::Data(alu, second, _) if alu.compares() => format!("{n}, {}", second_text(it, second)),
        Op::Data(alu, SecondOperand::ByRegister, _)
            if alu.is_move() && set == InstructionSet::T32 =>
        {
            format!("{d}, {m}, {a}")
        }
        Op::Data(alu, second, _) if alu.is_move() => format!("{d}, {}", second_text(it, second)),
        Op::Data(_, second, _) => format!("{d}, {n}, {}", second_text(it, second)),
        Op::AddressOf => format!("{d}, {:#010x}", it.imm),
        Op::Multiply(multiply, _) => multiply_operands(it, multiply),
        Op::Divide(_) | Op::Parallel(..) | Op::Select => format!("{d}, {n}, {m}"),
        Op::Saturating(_) => format!("{d}, {m}, {n}"),
        Op::Bits(bits) => match bits {
            Bits::Insert => format!("{d}, {n}, #{}, #{}", it.imm, it.a),
            Bits::Clear => format!("{d}, #{}, #{}", it.imm, it.a),
            Bits::Extract(_) => format!("{d}, {n}, #{}, #{}", it.imm, it.a),
            Bits::Top => format!("{d}, #{}", it.imm),
            _ => format!("{d}, {m}"),
        },
        Op::Extend(..) => {
            let rotation = if it.imm == 0 { String::new() } else { format!(", ror #{}", it.imm) };
            if it.n == 15 {
                format!("{d}, {m}{rotation}")
            } else {
                format!("{d}, {n}, {m}{rotation}")
            }
        }
        Op::Saturate(_) => format!("{d}, #{}, {n}{}", it.imm, shift_text(it)),
        Op::Saturate16(_) => format!("{d}, #{}, {n}", it.imm),
        Op::Pack => format!("{d}, {n}, {m}{}", shift_text(it)),
        Op::Differences if it.a == 15 => format!("{d}, {n}, {m}"),
        Op::Differences => format!("{d}, {n}, {m}, {a}"),
        Op::Load(_, address, _) | Op::Store(_, address, _) => {
            format!("{d}, {}", place_text(it, address))
        }
        Op::LoadDual(address) | Op::StoreDual(address) => {
            format!("{d}, {a}, {}", place_text(it, address))
        }
        Op::LoadMultiple(_, back, bank) | Op::StoreMultiple(_, back, bank) => {
            let users = if bank == super::op::Bank::User { "^" } else { "" };
            // PUSH and POP do not name their base.
            if set == InstructionSet::T32 && it.size == 2 && it.n == 13 {
                return list_text(it.imm);
            }
            format!("{n}{}, {}{users}", mark(back), list_text(it.imm))
        }
        Op::Swap(_) => format!("{d}, {m}, [{n}]"),
        Op::LoadExclusive(Exclusive::Double) => format!("{d}, {a}, [{n}]"),
        Op::LoadExclusive(_) => format!("{d}, [{n}]"),
        Op::StoreExclusive(Exclusive::Double) => format!("{d}, {m}, {a}, [{n}]"),
        Op::StoreExclusive(_) => format!("{d}, {m}, [{n}]"),
        _ => other_operands(it),
    }
}

fn other_operands(it: &Instruction) -> String {
    let (d, n, m, a) = (r(it.d), r(it.n), r(it.m), r(it.a));
    match it.op {
        Op::Branch | Op::BranchLink => format!("{:#010x}", it.imm),
        Op::BranchExchange | Op::BranchLinkExchange => m.to_owned(),
        Op::CompareBranch => format!("{n}, {:#010x}", it.imm),
        Op::TableBranch if it.a == 1 => format!("[{n}, {m}, lsl #1]"),
        Op::TableBranch => format!("[{n}, {m}]"),
        Op::IfThen => CONDITIONS[it.imm as usize >> 4 & 15].to_owned(),
        Op::ReadStatus(Status::Current) => format!("{d}, apsr"),
        Op::ReadStatus(Status::Saved) => format!("{d}, spsr"),
        Op::WriteStatus(which) => {
            let name = if which == Status::Saved { "spsr" } else { "cpsr" };
            let parts = ["c", "x", "s", "f"];
            let parts = parts.iter().enumerate().filter(|(at, _)| it.a >> at & 1 == 1);
            let parts: String = parts.map(|(_, part)| *part).rev().collect();
            let value = if it.n == 15 { format!("#{}", it.imm) } else { n.to_owned() };
            format!("{name}_{parts}, {value}")
        }
        Op::ChangeState => {
            let bits = ["f", "i", "a"];
            let bits = bits.iter().enumerate().filter(|(at, _)| it.d >> at & 1 == 1);
            let bits: String = bits.map(|(_, bit)| *bit).rev().collect();
            match (it.a >> 1 & 2, it.a & 1) {
                (0, _) => format!("#{}", it.imm),
                (_, 1) => format!("{bits}, #{}", it.imm),
                _ => bits,
            }
        }
        Op::SetEndian => if it.imm == 1 { "be" } else { "le" }.to_owned(),
        Op::StoreReturn(_, back) => format!("sp{}, #{}", mark(back), it.imm),
        Op::ReturnFrom(_, back) => format!("{n}{}", mark(back)),
        Op::SubtractReturn => format!("pc, lr, #{}", it.imm),
        Op::Call | Op::Breakpoint => format!("{:#x}", it.imm),
        Op::Barrier(Barrier::Instruction) => "sy".to_owned(),
        Op::ReadCoprocessor | Op::WriteCoprocessor => {
            let place = it.imm;
            let field = |at: u32| place >> at & 15;
            let (number, opc1, opc2) = (field(16), field(12), field(0));
            format!("{number}, {opc1}, {d}, cr{}, cr{}, {{{opc2}}}", field(8), field(4))
        }
        Op::ReadCoprocessorPair | Op::WriteCoprocessorPair => {
            format!(
                "{}, {}, {d}, {a}, cr{}",
                it.imm >> 16 & 15,
                it.imm >> 12 & 15,
                it.imm >> 4 & 15
            )
        }
        _ => String::new(),
    }
}

fn multiply_operands(it: &Instruction, multiply: Multiply) -> String {
    use Multiply as M;
    let (d, n, m, a) = (r(it.d), r(it.n), r(it.m), r(it.a));
    match multiply {
        M::Mul | M::SmulXy | M::SmulWy | M::Smuad | M::Smusd | M::Smmul => format!("{d}, {n}, {m}"),
        M::Umull
        | M::Smull
        | M::Umlal
        | M::Smlal
        | M::Umaal
        | M::SmlalXy
        | M::Smlald
        | M::Smlsld => format!("{a}, {d}, {n}, {m}"),
        _ => format!("{d}, {n}, {m}, {a}"),
    }
}

/// Disassembles floating point with the other decoder. The condition follows the name, before a
/// type.
fn float(it: &Instruction, bits: u32, condition: &str) -> (String, String) {
    let (first, second) = ((bits >> 16) as u16, bits as u16);
    // The Cortex-M7 has every instruction that this core has.
    let text = crate::isa::Disassembly::of(CoreKind::CortexM7, 0, first, second, None);
    let known = !matches!(it.op, Op::Float(crate::isa::Op::Vmrs | crate::isa::Op::Vmsr));
    let (mnemonic, operands) = match text {
        text if known => (text.mnemonic, text.operands),
        _ => {
            let unit = match it.n {
                0 => "fpsid",
                1 => "fpscr",
                6 => "mvfr1",
                7 => "mvfr0",
                _ => "fpexc",
            };
            match it.op {
                Op::Float(crate::isa::Op::Vmrs) => {
                    ("vmrs".to_owned(), format!("{}, {unit}", r(it.d)))
                }
                _ => ("vmsr".to_owned(), format!("{unit}, {}", r(it.d))),
            }
        }
    };
    let (name, kind) = mnemonic.split_once('.').map_or((mnemonic.as_str(), ""), |it| it);
    let dot = if kind.is_empty() { "" } else { "." };
    (format!("{name}{condition}{dot}{kind}"), operands)
}
