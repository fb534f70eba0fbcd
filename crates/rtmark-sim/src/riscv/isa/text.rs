//! Disassembles instructions, from the same table lines that decode them.

use super::super::rules::Extensions;
use super::decode::{Instruction, decode, find};
use super::encodings::Form;
use super::op::Op;

const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// Returns the name of a register in the calling convention.
pub const fn name(register: u8) -> &'static str {
    NAMES[register as usize & 31]
}

/// Returns a register list in the syntax of the Zcmp instructions.
fn list(code: i32) -> String {
    match code & 15 {
        4 => "{ra}".to_owned(),
        5 => "{ra, s0}".to_owned(),
        15 => "{ra, s0-s11}".to_owned(),
        last => format!("{{ra, s0-s{}}}", last - 5),
    }
}

/// Disassembles an instruction at an address. Returns the text and the size in bytes, or `None` for
/// invalid bits.
pub fn disassemble(address: u32, bits: u32, extensions: Extensions) -> Option<(String, u8)> {
    let (line, bits) = find(bits, extensions)?;
    let it = decode(bits, extensions);
    if it.op == Op::Illegal {
        return None;
    }
    let Instruction { rd, rs1, rs2, imm, .. } = it;
    let (d, a, b) = (name(rd), name(rs1), name(rs2));
    let target = format!("{:#x}", address.wrapping_add(imm as u32));
    let operands = match line.form {
        Form::Bare => String::new(),
        Form::Register | Form::Same => format!("{d}, {a}, {b}"),
        Form::Unary | Form::SameUnary => format!("{d}, {a}"),
        Form::Immediate
        | Form::Shift
        | Form::SameImmediate
        | Form::SameShift
        | Form::AddToSp
        | Form::AdjustSp
        | Form::With(_) => format!("{d}, {a}, {imm}"),
        Form::Upper | Form::UpperSix => format!("{d}, {:#x}", imm as u32 >> 12),
        Form::Jump => format!("{d}, {target}"),
        Form::JumpEleven if rd == 0 => target,
        Form::JumpEleven => format!("{d}, {target}"),
        Form::Branch => format!("{a}, {b}, {target}"),
        Form::BranchZero => format!("{a}, zero, {target}"),
        Form::Load | Form::LoadWord | Form::LoadSp | Form::LoadByte | Form::LoadHalf => {
            format!("{d}, {imm}({a})")
        }
        Form::Store | Form::StoreWord | Form::StoreSp | Form::StoreByte | Form::StoreHalf => {
            format!("{b}, {imm}({a})")
        }
        Form::JumpTo(_) => format!("{d}, 0({a})"),
        Form::Reserved => format!("{d}, ({a})"),
        Form::Atomic => format!("{d}, {b}, ({a})"),
        Form::Csr if line.name.ends_with('i') => format!("{d}, {imm:#x}, {rs1}"),
        Form::Csr => format!("{d}, {imm:#x}, {a}"),
        Form::Constant => format!("{d}, {imm}"),
        Form::Move => format!("{d}, zero, {b}"),
        Form::Extract | Form::ExtractImmediate => {
            let size = line.field(b'z', bits).unwrap_or(0) + 1;
            let second = if line.form == Form::Extract { b.to_owned() } else { imm.to_string() };
            format!("{d}, {a}, {second}, {size}")
        }
        Form::List => {
            let base = match imm & 15 {
                15 => 64,
                12..=14 => 48,
                8..=11 => 32,
                _ => 16,
            };
            let sign = if it.op == Op::Push { "-" } else { "" };
            format!("{}, {sign}{}", list(imm), base + (imm & 0x30))
        }
        Form::Pair => format!("{a}, {b}"),
    };
    let name = line.name;
    let text = if operands.is_empty() { name.to_owned() } else { format!("{name} {operands}") };
    Some((text, it.size))
}
