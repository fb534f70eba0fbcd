//! Instructions in assembly language (UAL), from the same table that decodes them.
//!
//! The mnemonic is the operation's name without its suffix, and the operands follow from the line's
//! [`Form`]. A line with a form not handled here shows its register fields and its immediate in their usual
//! order, so that a new encoding is readable before its form is handled.

mod float;

use std::fmt;

use super::Slot;
use super::decode::Fields;
use super::encodings::NARROW;
use super::form::{Form, Isa};
use super::{Group, Op};
use crate::isa::Features;
use crate::soc::CoreKind;

/// An instruction in assembly language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembly {
    /// Bytes of the encoding, 2 or 4.
    pub size: u8,
    /// The encoding; for 32-bit instructions, the first halfword is the upper half.
    pub encoding: u32,
    /// The mnemonic with condition and width: `ldrne.w`.
    pub mnemonic: String,
    /// The operands, separated by commas; may be empty.
    pub operands: String,
    /// The address that the instruction itself encodes: a branch's target or a literal's address.
    pub target: Option<u32>,
}

impl fmt::Display for Disassembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operands.is_empty() {
            f.write_str(&self.mnemonic)
        } else {
            write!(f, "{:<7} {}", self.mnemonic, self.operands)
        }
    }
}

/// Condition suffixes by number; "always" has none.
const CONDITIONS: [&str; 15] =
    ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", ""];

impl Disassembly {
    /// Disassembles the instruction of a core at `address`; `second` is ignored for 16-bit instructions.
    /// `condition` is the condition that an IT block gives it, as encoded there. An encoding that is not an
    /// instruction of the core becomes a directive with its bits.
    ///
    /// ```
    /// use rtmark_sim::{CoreKind, Disassembly};
    ///
    /// let text = Disassembly::of(CoreKind::CortexM4F, 0x0800_0000, 0xF8D1, 0x2004, None);
    /// assert_eq!(text.to_string(), "ldr.w   r2, [r1, #4]");
    /// ```
    pub fn of(
        core: CoreKind,
        address: u32,
        first: u16,
        second: u16,
        condition: Option<u8>,
    ) -> Self {
        let features = Features::of(core);
        let wide = super::is_wide(first);
        let encoding = if wide { u32::from(first) << 16 | u32::from(second) } else { first.into() };
        let size = if wide { 4 } else { 2 };
        let known = Fields::find(address, first, second, |isa| isa.is_part_of(features))
            .and_then(|fields| Some((fields.slot()?, fields)))
            .filter(|(slot, _)| slot.op != Op::Undefined);
        let Some((slot, fields)) = known else {
            let directive = if wide { ".inst.w" } else { ".inst.n" };
            let width = usize::from(size) * 2 + 2;
            return Self {
                size,
                encoding,
                mnemonic: directive.to_owned(),
                operands: format!("{encoding:#0width$x}"),
                target: None,
            };
        };
        let text = Text { fields: &fields, slot, conditional: condition.is_some() };
        let (mut mnemonic, operands) = text.write();
        let condition = condition.and_then(|c| CONDITIONS.get(usize::from(c))).unwrap_or(&"");
        let has_narrow = wide && NARROW.iter().any(|line| same_mnemonic(line.op, &mnemonic));
        // The data type of floating-point operations comes last.
        let at = mnemonic.find('.').unwrap_or(mnemonic.len());
        mnemonic.insert_str(at, condition);
        if has_narrow {
            mnemonic.push_str(".w");
        }
        Self { size, encoding, mnemonic, operands, target: text.target() }
    }
}

/// Returns whether a 16-bit operation, inside an IT block or not, has this mnemonic.
fn same_mnemonic(op: Op, mnemonic: &str) -> bool {
    let name = base_name(op);
    name == mnemonic || name.strip_suffix('s') == Some(mnemonic) || mnemonic == "lsl"
}

/// Returns an operation's name without the suffixes that distinguish operands.
fn base_name(op: Op) -> String {
    let op = op.in_single();
    let name = op.name();
    let suffixes: &[&str] = match op.group() {
        Group::Immediate | Group::Register | Group::Shifted => &["I", "R", "X"],
        Group::Shift => &["R"],
        Group::Load | Group::Store | Group::StoreImmediate | Group::Dual => {
            &["Pre", "Post", "Lit", "I", "R"]
        }
        Group::LoadPc => &["PcI", "PcR", "PcPre", "PcPost", "PcLit"],
        Group::BranchRegister => &["Pc", "R"],
        Group::Float => &["FromInt", "ToInt", "Fixed", "Half", "Z", "R", "I"],
        Group::FloatTransfer => &["PairToCore", "PairFromCore", "ToCore", "FromCore"],
        Group::FloatMemory => &["Lit"],
        Group::Dsp => &["xy", "wy"],
        _ => &[],
    };
    let stem = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    stem.to_ascii_lowercase()
}

fn register(number: u8) -> String {
    match number {
        13 => "sp".to_owned(),
        14 => "lr".to_owned(),
        15 => "pc".to_owned(),
        _ => format!("r{number}"),
    }
}

/// Formats an immediate: small numbers in decimal, others, which tend to be masks and addresses, in
/// hexadecimal.
fn immediate(value: u32) -> String {
    if value < 1024 { format!("#{value}") } else { format!("#{value:#x}") }
}

fn signed(value: u32) -> String {
    if (value as i32) < 0 { format!("#-{}", value.wrapping_neg()) } else { format!("#{value}") }
}

fn list(registers: u32) -> String {
    let named: Vec<_> = (0..16).filter(|at| registers >> at & 1 == 1).map(register).collect();
    format!("{{{}}}", named.join(", "))
}

/// Formats a shift given as `type << 8 | amount`: `, lsl #3`.
fn shift(code: u32) -> String {
    let (kind, amount) = (code >> 8, code & 0xFF);
    match kind {
        0 if amount == 0 => String::new(),
        4 => ", rrx".to_owned(),
        _ => format!(", {} #{amount}", shift_name(kind)),
    }
}

const fn shift_name(kind: u32) -> &'static str {
    match kind {
        0 => "lsl",
        1 => "lsr",
        2 => "asr",
        3 => "ror",
        _ => "rrx",
    }
}

fn half(bits: u32) -> &'static str {
    if bits & 1 == 1 { "t" } else { "b" }
}

struct Text<'a> {
    fields: &'a Fields,
    slot: Slot,
    conditional: bool,
}

impl Text<'_> {
    /// Returns a branch's target or a literal's address.
    fn target(&self) -> Option<u32> {
        let form = self.fields.line.form;
        let named = self.is_literal()
            || matches!(self.slot.op.group(), Group::Branch | Group::Call)
            || matches!(form, Form::PcRelative | Form::PcRelativeAdd | Form::PcRelativeSub);
        named.then_some(self.slot.imm)
    }

    /// Returns whether it loads from an address relative to the program counter.
    fn is_literal(&self) -> bool {
        matches!(self.fields.line.form, Form::Literal | Form::DualLiteral)
            || matches!(self.slot.op, Op::LdrLit | Op::VldrLit)
    }

    /// Formats a register field of the encoding.
    fn r(&self, letter: u8) -> String {
        register(self.fields.get(letter) as u8)
    }

    /// Returns the operation as written, without what the decoder has resolved further.
    fn op(&self) -> Op {
        let line = self.fields.line;
        let op = if self.fields.get(b's') == 1 { line.op_s } else { line.op };
        if self.conditional && self.fields.size == 2 { op.inside_it() } else { op }
    }

    /// Returns mnemonic and operands.
    fn write(&self) -> (String, String) {
        let (s, op) = (&self.slot, self.op());
        let name = base_name(op);
        let registers = |letters: &[u8]| {
            letters.iter().map(|&letter| self.r(letter)).collect::<Vec<_>>().join(", ")
        };
        let destination = self.r(if self.fields.has(b't') { b't' } else { b'd' });
        match self.fields.line.form {
            Form::ShiftImmediate(_) | Form::Shifted => self.shifted(op, &name),
            Form::Same if op.group() == Group::Immediate => {
                (name, format!("{destination}, {}", immediate(s.imm)))
            }
            Form::Same => (name, registers(b"dm")),
            Form::Negate => (name, format!("{}, #0", registers(b"dn"))),
            Form::HighAdd | Form::HighMove => (name, registers(b"dm")),
            Form::HighCompare => (name, registers(b"nm")),
            Form::Target => (name, self.r(b'm')),
            Form::SpTimes4 if op == Op::AddI => {
                (name, format!("{destination}, sp, {}", immediate(s.imm)))
            }
            Form::SpAdjust => (name, format!("sp, {}", immediate(s.imm))),
            Form::PcRelative | Form::PcRelativeAdd | Form::PcRelativeSub
                if matches!(op, Op::MovI) =>
            {
                ("adr".to_owned(), format!("{destination}, {:#010x}", s.imm))
            }
            Form::BranchT1 | Form::BranchT2 | Form::BranchT3 | Form::BranchT4 => {
                (base_name(s.op), format!("{:#010x}", s.imm))
            }
            Form::CompareBranch => (name, format!("{}, {:#010x}", self.r(b'n'), s.imm)),
            Form::PushList | Form::PopList => (name, list(s.imm)),
            Form::LowList | Form::List => {
                let down = matches!(op, Op::Ldmdb | Op::Stmdb);
                let back = if s.aux == 1 { "!" } else { "" };
                let name = if down { name } else { name + "ia" };
                (name, format!("{}{back}, {}", self.r(b'n'), list(s.imm)))
            }
            Form::ChangeState => {
                let name = if s.aux == 1 { "cpsid" } else { "cpsie" };
                let flags = [(4, 'a'), (2, 'i'), (1, 'f')];
                let held = flags.iter().filter(|(bit, _)| s.imm & bit != 0);
                (name.to_owned(), held.map(|(_, flag)| flag).collect())
            }
            Form::Wide => {
                let name = if op == Op::MovI { "movw".to_owned() } else { name };
                (name, format!("{destination}, {}", immediate(s.imm)))
            }
            Form::BitField => (name, format!("{}, #{}, #{}", registers(b"dn"), s.imm, s.aux)),
            Form::BitFieldInsert if op == Op::Bfc => {
                (name, format!("{destination}, #{}, #{}", s.imm, s.aux))
            }
            Form::BitFieldInsert => (name, format!("{}, #{}, #{}", registers(b"dn"), s.imm, s.aux)),
            Form::Saturate | Form::Saturate16 => {
                (name, format!("{destination}, #{}, {}{}", s.imm, self.r(b'n'), shift(s.aux)))
            }
            Form::Extend => {
                let rotation = if s.imm == 0 { String::new() } else { format!(", ror #{}", s.imm) };
                let used: &[u8] = if self.fields.has(b'n') { b"dnm" } else { b"dm" };
                (name, registers(used) + &rotation)
            }
            Form::Times2
            | Form::Times4
            | Form::SpTimes4
            | Form::PcRelative
            | Form::Offset12
            | Form::Indexed
            | Form::RegisterOffset
            | Form::Literal => self.transfer(name),
            Form::Dual | Form::DualLiteral => {
                (name, format!("{}, {}", registers(b"ta"), self.address(s.imm, s.aux)))
            }
            Form::Exclusive => self.exclusive(&name),
            Form::Ordered(bytes) => {
                let size = ["", "b", "h"].get(usize::from(bytes)).unwrap_or(&"");
                (name + size, format!("{}, {}", self.r(b't'), self.address(0, 0)))
            }
            Form::System => self.special(op, name),
            Form::Variant => self.variant(op, name),
            Form::Undefined | Form::Plain => self.plain(op, name),
            Form::Expand | Form::ExpandCarry => self.data(op, name, &immediate(s.imm)),
            _ if matches!(
                op.group(),
                Group::Float
                    | Group::FloatMultiplyAdd
                    | Group::FloatDivide
                    | Group::Double
                    | Group::DoubleMultiplyAdd
                    | Group::DoubleDivide
                    | Group::FloatTransfer
                    | Group::FloatMemory
            ) =>
            {
                self.float(op, name)
            }
            _ => (name, self.generic()),
        }
    }

    /// Formats every register field and the immediate, in their usual order.
    fn generic(&self) -> String {
        let letters = b"tdunma".iter().filter(|letter| self.fields.has(**letter));
        let mut operands: Vec<_> = letters.map(|&letter| self.r(letter)).collect();
        if self.fields.has(b'i') {
            operands.push(immediate(self.slot.imm));
        }
        operands.join(", ")
    }

    /// Formats destination, first operand and `operand`, as far as the operation has them.
    fn data(&self, op: Op, name: String, operand: &str) -> (String, String) {
        let first = match op.operands() {
            Operands::Test => self.r(b'n'),
            Operands::Move => self.r(b'd'),
            Operands::Three => format!("{}, {}", self.r(b'd'), self.r(b'n')),
        };
        (name, format!("{first}, {operand}"))
    }

    fn shifted(&self, op: Op, name: &str) -> (String, String) {
        let s = &self.slot;
        if matches!(op, Op::MovX | Op::MovsX) {
            let flags = if op == Op::MovsX { "s" } else { "" };
            let operands = format!("{}, {}", self.r(b'd'), self.r(b'm'));
            return match (s.aux >> 8, s.aux & 0xFF) {
                (0, 0) => (name.to_owned(), operands),
                (4, _) => (format!("rrx{flags}"), operands),
                (kind, amount) => {
                    (format!("{}{flags}", shift_name(kind)), format!("{operands}, #{amount}"))
                }
            };
        }
        self.data(op, name.to_owned(), &format!("{}{}", self.r(b'm'), shift(s.aux)))
    }

    /// Formats `[rn, #imm]`, with write-back according to `mode`: 0 offset, 1 pre-indexed, 2 post-indexed.
    fn address(&self, offset: u32, mode: u32) -> String {
        let base = register(self.slot.n);
        if self.is_literal() {
            return format!("[pc, {}]", signed(self.pc_offset()));
        }
        match (mode, offset) {
            (2, _) => format!("[{base}], {}", signed(offset)),
            (0, 0) => format!("[{base}]"),
            (0, _) => format!("[{base}, {}]", signed(offset)),
            _ => format!("[{base}, {}]!", signed(offset)),
        }
    }

    /// Returns the distance of a literal from the aligned program counter.
    fn pc_offset(&self) -> u32 {
        self.slot.imm.wrapping_sub(self.fields.aligned_pc())
    }

    fn transfer(&self, name: String) -> (String, String) {
        let s = &self.slot;
        let form = self.fields.line.form;
        let by_register =
            matches!(form, Form::RegisterOffset) || (form == Form::Plain && self.fields.has(b'm'));
        let indexed = form == Form::Indexed;
        let mode = match (indexed, self.fields.get(b'p'), self.fields.get(b'w')) {
            (true, 1, 1) => 1,
            (true, 0, _) => 2,
            _ => 0,
        };
        let address = if by_register {
            format!("[{}, {}{}]", register(s.n), register(s.m), shift(s.aux))
        } else {
            self.address(s.imm, mode)
        };
        // DDI 0403, A5.3.8 and A5.3.9: of the loads to the program counter that are hints, only some have
        // names.
        let hint = match name.as_str() {
            _ if s.op != Op::Pld => None,
            "ldrb" => Some("pld"),
            "ldrh" => Some("pldw"),
            "ldrsb" => Some("pli"),
            _ => None,
        };
        if let Some(hint) = hint {
            return (hint.to_owned(), address);
        }
        let unprivileged = indexed && (self.fields.get(b'p'), self.fields.get(b'u')) == (1, 1);
        let name = if unprivileged && mode == 0 { name + "t" } else { name };
        (name, format!("{}, {address}", self.r(b't')))
    }

    fn exclusive(&self, name: &str) -> (String, String) {
        let ordered = self.fields.line.isa == Isa::V8M;
        let name =
            if ordered { name.replace("dr", "da").replace("tr", "tl") } else { name.to_owned() };
        let status = if self.fields.has(b'd') { self.r(b'd') + ", " } else { String::new() };
        (name, format!("{status}{}, {}", self.r(b't'), self.address(self.slot.imm, 0)))
    }

    fn special(&self, op: Op, name: String) -> (String, String) {
        let s = &self.slot;
        let fixed = match s.imm {
            0 if op == Op::Msr => match s.aux {
                1 => "APSR_g",
                3 => "APSR_nzcvqg",
                _ => "APSR_nzcvq",
            },
            0 => "APSR",
            1 => "IAPSR",
            2 => "EAPSR",
            3 => "XPSR",
            5 => "IPSR",
            6 => "EPSR",
            7 => "IEPSR",
            8 => "MSP",
            9 => "PSP",
            10 => "MSPLIM",
            11 => "PSPLIM",
            16 => "PRIMASK",
            17 => "BASEPRI",
            18 => "BASEPRI_MAX",
            19 => "FAULTMASK",
            20 => "CONTROL",
            0x88 => "MSP_NS",
            0x89 => "PSP_NS",
            0x8A => "MSPLIM_NS",
            0x8B => "PSPLIM_NS",
            0x90 => "PRIMASK_NS",
            0x91 => "BASEPRI_NS",
            0x93 => "FAULTMASK_NS",
            0x94 => "CONTROL_NS",
            0x98 => "SP_NS",
            _ => "",
        };
        let special = if fixed.is_empty() { s.imm.to_string() } else { fixed.to_owned() };
        let operands = match op {
            Op::Msr => format!("{special}, {}", self.r(b'n')),
            _ => format!("{}, {special}", self.r(b'd')),
        };
        (name, operands)
    }

    /// Formats operations whose variant is part of the mnemonic.
    fn variant(&self, op: Op, name: String) -> (String, String) {
        let aux = self.slot.aux;
        let name = match op {
            Op::Parallel => {
                let prefix = [["s", "q", "sh"], ["u", "uq", "uh"]];
                let prefix = prefix[(aux & 1) as usize];
                let prefix = prefix.get(self.slot.imm as usize).unwrap_or(&"");
                let kinds = ["add8", "add16", "asx", "", "sub8", "sub16", "sax", ""];
                format!("{prefix}{}", kinds[(aux >> 1 & 7) as usize])
            }
            Op::Smulxy | Op::Smlaxy | Op::Smlalxy => {
                format!("{name}{}{}", half(aux >> 1), half(aux))
            }
            Op::Smulwy | Op::Smlawy => format!("{name}w{}", half(aux)),
            Op::Tt => {
                let letters = b"dn".iter().map(|&letter| self.r(letter)).collect::<Vec<_>>();
                let name = ["tt", "ttt", "tta", "ttat"][(aux & 3) as usize];
                return (name.to_owned(), letters.join(", "));
            }
            Op::Smmul | Op::Smmla | Op::Smmls if aux == 1 => name + "r",
            _ if aux == 1 => name + "x",
            _ => name,
        };
        let letters: &[u8] = match op {
            Op::Smlalxy | Op::Smlald | Op::Smlsld => b"adnm",
            _ if self.fields.has(b'a') => b"dnma",
            _ => b"dnm",
        };
        (name, letters.iter().map(|&letter| self.r(letter)).collect::<Vec<_>>().join(", "))
    }

    fn plain(&self, op: Op, name: String) -> (String, String) {
        let s = &self.slot;
        let registers = |letters: &[u8]| {
            letters.iter().map(|&letter| self.r(letter)).collect::<Vec<_>>().join(", ")
        };
        match op.group() {
            Group::Immediate => {
                // 32-bit additions and subtractions with a plain 12-bit immediate have mnemonics of their
                // own.
                let wide = self.fields.size == 4 && matches!(op, Op::AddI | Op::SubI);
                let name = if wide { name + "w" } else { name };
                self.data(op, name, &immediate(s.imm))
            }
            Group::Register => self.data(op, name, &self.r(b'm')),
            Group::Load | Group::Store | Group::StoreImmediate => self.transfer(name),
            Group::BranchTable => {
                let shift = if op == Op::Tbh { ", lsl #1" } else { "" };
                (name, format!("[{}, {}{shift}]", self.r(b'n'), self.r(b'm')))
            }
            Group::Barrier => match self.fields.bits & 0xF {
                15 => (name, "sy".to_owned()),
                other => (name, immediate(other)),
            },
            Group::Hint if op == Op::It => {
                let (mask, condition) = (s.imm & 0xF, s.imm >> 4 & 0xF);
                let length = 3 - mask.trailing_zeros().min(3);
                let then = (1..=length)
                    .map(|at| if mask >> (4 - at) & 1 == condition & 1 { 't' } else { 'e' });
                let condition = CONDITIONS.get(condition as usize).filter(|c| !c.is_empty());
                let name = name + &then.collect::<String>();
                (name, (*condition.unwrap_or(&"al")).to_owned())
            }
            Group::Hint | Group::Wait => (name, String::new()),
            Group::Raise => {
                let imm = if self.fields.has(b'j') {
                    self.fields.get(b'j') << 12 | s.imm & 0xFFF
                } else {
                    s.imm
                };
                (name, immediate(imm))
            }
            _ => match op {
                Op::Umull | Op::Smull | Op::Umlal | Op::Smlal | Op::Umaal => {
                    (name, registers(b"adnm"))
                }
                Op::Qadd | Op::Qsub | Op::Qdadd | Op::Qdsub => (name, registers(b"dmn")),
                // The register is encoded twice; which of the fields is shown varies.
                Op::Clz | Op::Rbit | Op::Rev | Op::Rev16 | Op::Revsh => (name, registers(b"dm")),
                Op::Vmsr => (name, format!("fpscr, {}", self.r(b't'))),
                Op::Vmrs if s.d == 15 => (name, "APSR_nzcv, fpscr".to_owned()),
                Op::Vmrs => (name, format!("{}, fpscr", self.r(b't'))),
                Op::Clrex => (name, String::new()),
                _ => (name, self.generic()),
            },
        }
    }
}

/// Which operands are written for an operation of the data-processing groups.
enum Operands {
    /// No destination: it only sets flags.
    Test,
    /// A destination only.
    Move,
    /// A destination, a first operand and the second one.
    Three,
}

impl Op {
    fn operands(self) -> Operands {
        let name = self.name();
        if ["Tst", "Teq", "Cmp", "Cmn"].iter().any(|test| name.starts_with(test)) {
            Operands::Test
        } else if name.starts_with("Mov") || name.starts_with("Mvn") {
            Operands::Move
        } else {
            Operands::Three
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(first: u16, second: u16, condition: Option<u8>) -> String {
        let text = Disassembly::of(CoreKind::CortexM4F, 0x1000, first, second, condition);
        text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn conditions_come_before_widths_and_types() {
        assert_eq!(text(0x1840, 0, None), "adds r0, r0, r1");
        assert_eq!(text(0x1840, 0, Some(1)), "addne r0, r0, r1");
        assert_eq!(text(0xF8D1, 0x2004, Some(0)), "ldreq.w r2, [r1, #4]");
        assert_eq!(text(0xEE30, 0x0A01, Some(10)), "vaddge.f32 s0, s0, s2");
        assert_eq!(text(0xBF14, 0, None), "ite ne");
    }

    #[test]
    fn targets_are_named() {
        let branch = Disassembly::of(CoreKind::CortexM0Plus, 0x1000, 0xE7FE, 0, None);
        assert_eq!(
            (branch.to_string().as_str(), branch.target),
            ("b       0x00001000", Some(0x1000))
        );
        let literal = Disassembly::of(CoreKind::CortexM0Plus, 0x1000, 0x4B02, 0, None);
        assert_eq!(literal.target, Some(0x100C));
        assert_eq!(literal.operands, "r3, [pc, #8]");
    }

    #[test]
    fn undefined_encodings_disassemble_as_directives() {
        assert_eq!(text(0xE840, 0x0000, None), "strex r0, r0, [r0]");
        assert_eq!(text(0xFFFF, 0xFFFF, None), ".inst.w 0xffffffff");
        let older = Disassembly::of(CoreKind::CortexM0Plus, 0, 0xB100, 0, None);
        assert_eq!(older.operands, "0xb100");
    }
}
