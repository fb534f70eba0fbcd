//! Which action a step has, if native code can execute it.

use crate::arch::armm::registers::SP;
use crate::engine::block::ScheduledOp;
use crate::engine::micro_op::{Kind, MicroOp};
use crate::engine::native::Way;
use crate::engine::native::action::{Action, Calc, Form, Mode};
use crate::engine::native::assembler::{Datum, Shift};
use crate::engine::native::fetches::Fetching;
use crate::isa::{Op, Slot};
use crate::timing::Rules;

/// What is known of steps beside themselves.
pub struct Known<'a> {
    pub fetching: Fetching,
    pub rules: &'a Rules,
    /// Data that comes from where code comes from may be read, and shows the pipeline so.
    pub code_shows: bool,
    /// How a literal is loaded, if it never changes.
    pub literal: &'a dyn Fn(&Slot) -> Option<Action>,
}

impl Action {
    /// Returns what native code does for a step, if it can execute it.
    pub fn of(step: &ScheduledOp, known: &Known<'_>) -> Option<Self> {
        let (slot, fetching) = (&step.slot, known.fetching);
        match step.begin.kind {
            Kind::Plain if slot.op == Op::LdrLit => {
                (known.literal)(slot).filter(|_| slot.d != STACK_POINTER)
            }
            Kind::Plain => of_plain(slot, known.rules)
                .filter(|action| fetching.links_passes() || !action.jumps_anywhere()),
            Kind::Followed => of_followed(slot),
            Kind::ExpectedIt | Kind::CheckCondition => {
                let condition = (slot.imm >> 4) as u8 & 15;
                Some(Self::Expect { condition, otherwise: Way::Leave })
            }
            Kind::If(condition) => Some(Self::If { condition }),
            Kind::Hop => Some(Self::Hop),
            Kind::Skip => Some(Self::Nothing),
            Kind::Line => (fetching == Fetching::Immediate).then_some(Self::EnterLine),
            Kind::CheckPrediction | Kind::CheckFacts | Kind::Watch => None,
        }
    }

    /// Returns what native code does for a step that is expected to show what the check after it says, if it can
    /// execute both.
    pub fn showing(step: &ScheduledOp, check: &MicroOp, known: &Known<'_>) -> Option<Self> {
        let slot = &step.slot;
        if known.code_shows && check.expects_code_bus() {
            return match Self::of(step, known)? {
                Self::Load { datum, mode } => Some(Self::LoadCode { datum, mode }),
                _ => None,
            };
        }
        let extra_cycles = check.expected_extra_cycles()?;
        known.rules.divider?.digits_for(extra_cycles)?;
        let divides = step.begin.kind == Kind::Plain
            && matches!(slot.op, Op::Udiv | Op::Sdiv)
            && slot.d != STACK_POINTER;
        let signed = slot.op == Op::Sdiv;
        divides.then_some(Self::Divide { signed, extra_cycles })
    }
}

const STACK_POINTER: u8 = SP as u8;

/// Returns the condition of a branch, as it is encoded.
const fn condition_of(op: Op) -> Option<u8> {
    Some(match op {
        Op::Beq => 0,
        Op::Bne => 1,
        Op::Bcs => 2,
        Op::Bcc => 3,
        Op::Bmi => 4,
        Op::Bpl => 5,
        Op::Bvs => 6,
        Op::Bvc => 7,
        Op::Bhi => 8,
        Op::Bls => 9,
        Op::Bge => 10,
        Op::Blt => 11,
        Op::Bgt => 12,
        Op::Ble => 13,
        _ => return None,
    })
}

fn of_followed(slot: &Slot) -> Option<Action> {
    let otherwise = Way::Leave;
    if let Some(condition) = condition_of(slot.op) {
        return Some(Action::Expect { condition, otherwise });
    }
    Some(match slot.op {
        Op::B => Action::Nothing,
        Op::Bl => Action::Link,
        Op::Cbz | Op::Cbnz => Action::ExpectZero { zero: slot.op == Op::Cbz, otherwise },
        Op::Bx | Op::BlxR => {
            Action::ExpectTarget { target: slot.imm | 1, links: slot.op == Op::BlxR }
        }
        Op::Ldm | Op::Pop if can_load_list(slot) && loads_pc(slot) => {
            Action::LoadList { follows: Some(slot.aux | 1) }
        }
        _ => return None,
    })
}

/// Returns whether a list has registers, and none that only its function may write.
const fn can_load_list(slot: &Slot) -> bool {
    slot.imm != 0 && slot.imm >> STACK_POINTER & 1 == 0
}

/// Returns whether a list has the program counter.
const fn loads_pc(slot: &Slot) -> bool {
    slot.imm >> 15 == 1
}

fn of_plain(slot: &Slot, rules: &Rules) -> Option<Action> {
    let otherwise = Way::Jump;
    if let Some(condition) = condition_of(slot.op) {
        return Some(Action::Expect { condition: condition ^ 1, otherwise });
    }
    if let Some(action) = of_transfer(slot) {
        return Some(action);
    }
    if let Some((calc, form, sets_flags, writes)) = calculation(slot.op) {
        return calculate(slot, calc, form, sets_flags, writes);
    }
    let action = match slot.op {
        Op::Nop | Op::Yield | Op::Pld | Op::Dmb | Op::Dsb | Op::Isb => Action::Nothing,
        Op::Bx | Op::BlxR => Action::JumpTo,
        Op::Cbz | Op::Cbnz => Action::ExpectZero { zero: slot.op == Op::Cbnz, otherwise },
        Op::LslR => Action::ShiftByRegister { shift: Shift::Shl, sets_flags: false },
        Op::LslsR => Action::ShiftByRegister { shift: Shift::Shl, sets_flags: true },
        Op::LsrR => Action::ShiftByRegister { shift: Shift::Shr, sets_flags: false },
        Op::LsrsR => Action::ShiftByRegister { shift: Shift::Shr, sets_flags: true },
        Op::AsrR => Action::ShiftByRegister { shift: Shift::Sar, sets_flags: false },
        Op::AsrsR => Action::ShiftByRegister { shift: Shift::Sar, sets_flags: true },
        Op::RorR => Action::ShiftByRegister { shift: Shift::Ror, sets_flags: false },
        Op::RorsR => Action::ShiftByRegister { shift: Shift::Ror, sets_flags: true },
        Op::Clz => Action::CountLeadingZeros,
        Op::Mul => Action::Multiply { sets_flags: false },
        Op::Muls => Action::Multiply { sets_flags: true },
        Op::Mla => Action::MultiplyAccumulate { subtracts: false },
        Op::Mls => Action::MultiplyAccumulate { subtracts: true },
        Op::Umull | Op::Smull | Op::Umlal | Op::Smlal => {
            let is_possible = rules.long_multiply.is_none() && slot.a != STACK_POINTER;
            is_possible.then_some(Action::MultiplyLong {
                signed: matches!(slot.op, Op::Smull | Op::Smlal),
                accumulates: matches!(slot.op, Op::Umlal | Op::Smlal),
            })?
        }
        Op::Smulxy => Action::MultiplyHalves { accumulates: false },
        Op::Smlaxy => Action::MultiplyHalves { accumulates: true },
        Op::Uxtb => Action::Extend { datum: Datum::UNSIGNED_BYTE, adds: false },
        Op::Uxth => Action::Extend { datum: Datum::UNSIGNED_HALF, adds: false },
        Op::Sxtb => Action::Extend { datum: Datum::SIGNED_BYTE, adds: false },
        Op::Sxth => Action::Extend { datum: Datum::SIGNED_HALF, adds: false },
        Op::Uxtab => Action::Extend { datum: Datum::UNSIGNED_BYTE, adds: true },
        Op::Uxtah => Action::Extend { datum: Datum::UNSIGNED_HALF, adds: true },
        Op::Sxtab => Action::Extend { datum: Datum::SIGNED_BYTE, adds: true },
        Op::Sxtah => Action::Extend { datum: Datum::SIGNED_HALF, adds: true },
        Op::Rev => Action::SwapBytes,
        Op::Movt => Action::MoveTop,
        Op::Ubfx => Action::ExtractField { signed: false },
        Op::Sbfx => Action::ExtractField { signed: true },
        Op::Bfi => Action::InsertField { clears: false },
        Op::Bfc => Action::InsertField { clears: true },
        _ => return None,
    };
    let has_field = matches!(action, Action::ExtractField { .. } | Action::InsertField { .. });
    // Other fields are unpredictable, and so is the stack pointer as the destination.
    let is_predictable = slot.d != STACK_POINTER || action.written_registers(slot).next().is_none();
    (is_predictable && (!has_field || slot.aux >= 1 && slot.imm + slot.aux <= 32)).then_some(action)
}

fn of_transfer(slot: &Slot) -> Option<Action> {
    use Mode::{Indexed, Offset, PostIndexed, PreIndexed};
    let (datum, mode, loads) = match slot.op {
        Op::LdrI => (Datum::WORD, Offset, true),
        Op::LdrbI => (Datum::UNSIGNED_BYTE, Offset, true),
        Op::LdrhI => (Datum::UNSIGNED_HALF, Offset, true),
        Op::LdrsbI => (Datum::SIGNED_BYTE, Offset, true),
        Op::LdrshI => (Datum::SIGNED_HALF, Offset, true),
        Op::LdrR => (Datum::WORD, Indexed, true),
        Op::LdrbR => (Datum::UNSIGNED_BYTE, Indexed, true),
        Op::LdrhR => (Datum::UNSIGNED_HALF, Indexed, true),
        Op::LdrsbR => (Datum::SIGNED_BYTE, Indexed, true),
        Op::LdrshR => (Datum::SIGNED_HALF, Indexed, true),
        Op::LdrPre => (Datum::WORD, PreIndexed, true),
        Op::LdrbPre => (Datum::UNSIGNED_BYTE, PreIndexed, true),
        Op::LdrhPre => (Datum::UNSIGNED_HALF, PreIndexed, true),
        Op::LdrsbPre => (Datum::SIGNED_BYTE, PreIndexed, true),
        Op::LdrshPre => (Datum::SIGNED_HALF, PreIndexed, true),
        Op::LdrPost => (Datum::WORD, PostIndexed, true),
        Op::LdrbPost => (Datum::UNSIGNED_BYTE, PostIndexed, true),
        Op::LdrhPost => (Datum::UNSIGNED_HALF, PostIndexed, true),
        Op::LdrsbPost => (Datum::SIGNED_BYTE, PostIndexed, true),
        Op::LdrshPost => (Datum::SIGNED_HALF, PostIndexed, true),
        Op::StrI => (Datum::WORD, Offset, false),
        Op::StrbI => (Datum::UNSIGNED_BYTE, Offset, false),
        Op::StrhI => (Datum::UNSIGNED_HALF, Offset, false),
        Op::StrR => (Datum::WORD, Indexed, false),
        Op::StrbR => (Datum::UNSIGNED_BYTE, Indexed, false),
        Op::StrhR => (Datum::UNSIGNED_HALF, Indexed, false),
        Op::StrPre => (Datum::WORD, PreIndexed, false),
        Op::StrbPre => (Datum::UNSIGNED_BYTE, PreIndexed, false),
        Op::StrhPre => (Datum::UNSIGNED_HALF, PreIndexed, false),
        Op::StrPost => (Datum::WORD, PostIndexed, false),
        Op::StrbPost => (Datum::UNSIGNED_BYTE, PostIndexed, false),
        Op::StrhPost => (Datum::UNSIGNED_HALF, PostIndexed, false),
        Op::Ldrex | Op::Ldrexb | Op::Ldrexh | Op::Strex | Op::Strexb | Op::Strexh => {
            let datum = match slot.op {
                Op::Ldrexb | Op::Strexb => Datum::UNSIGNED_BYTE,
                Op::Ldrexh | Op::Strexh => Datum::UNSIGNED_HALF,
                _ => Datum::WORD,
            };
            let loads = matches!(slot.op, Op::Ldrex | Op::Ldrexb | Op::Ldrexh);
            let action = if loads {
                Action::LoadExclusive { datum }
            } else {
                Action::StoreExclusive { datum }
            };
            return (slot.d != STACK_POINTER).then_some(action);
        }
        Op::Ldrd | Op::Strd => {
            let mode = [Offset, PreIndexed, PostIndexed].get(slot.aux as usize).copied()?;
            if slot.op == Op::Strd {
                return Some(Action::StorePair { mode });
            }
            // A loaded base is not written back.
            let may_not_load =
                if mode.moves_base() { [STACK_POINTER, slot.n] } else { [STACK_POINTER; 2] };
            let possible = ![slot.d, slot.a].iter().any(|it| may_not_load.contains(it));
            return possible.then_some(Action::LoadPair { mode });
        }
        Op::Ldm | Op::Pop => {
            let action = if loads_pc(slot) {
                Action::LoadTarget
            } else {
                Action::LoadList { follows: None }
            };
            return can_load_list(slot).then_some(action);
        }
        Op::Stm | Op::Push | Op::Stmdb => {
            let before = slot.op != Op::Stm;
            return (slot.imm != 0).then_some(Action::StoreList { before });
        }
        _ => return None,
    };
    let moves_sp = mode.moves_base() && slot.n == STACK_POINTER;
    let writes_sp = moves_sp || loads && slot.d == STACK_POINTER;
    let action = if loads { Action::Load { datum, mode } } else { Action::Store { datum, mode } };
    (!writes_sp).then_some(action)
}

/// The shape of a calculation before its shift is known.
#[derive(Clone, Copy)]
enum Second {
    I,
    R,
    X,
}

/// Returns a calculation, the form of its second operand, whether it sets flags, and whether it writes a
/// register.
fn calculation(op: Op) -> Option<(Calc, Second, bool, bool)> {
    use Calc::{Adc, Add, And, Bic, Eor, Mov, Mvn, Orn, Orr, Rsb, Sbc, Sub};
    use Second::{I, R, X};
    macro_rules! calculations {
        ($($op:ident $calc:ident $form:ident $sets:literal $writes:literal;)*) => {
            match op {
                $(Op::$op => ($calc, $form, $sets, $writes),)*
                _ => return None,
            }
        };
    }
    Some(calculations! {
        MovI Mov I false true; MovR Mov R false true; MovX Mov X false true;
        MovsI Mov I true true; MovsR Mov R true true; MovsX Mov X true true;
        MvnI Mvn I false true; MvnR Mvn R false true; MvnX Mvn X false true;
        MvnsI Mvn I true true; MvnsR Mvn R true true; MvnsX Mvn X true true;
        AndI And I false true; AndR And R false true; AndX And X false true;
        AndsI And I true true; AndsR And R true true; AndsX And X true true;
        BicI Bic I false true; BicR Bic R false true; BicX Bic X false true;
        BicsI Bic I true true; BicsR Bic R true true; BicsX Bic X true true;
        OrrI Orr I false true; OrrR Orr R false true; OrrX Orr X false true;
        OrrsI Orr I true true; OrrsR Orr R true true; OrrsX Orr X true true;
        OrnI Orn I false true; OrnR Orn R false true; OrnX Orn X false true;
        OrnsI Orn I true true; OrnsR Orn R true true; OrnsX Orn X true true;
        EorI Eor I false true; EorR Eor R false true; EorX Eor X false true;
        EorsI Eor I true true; EorsR Eor R true true; EorsX Eor X true true;
        AddI Add I false true; AddR Add R false true; AddX Add X false true;
        AddsI Add I true true; AddsR Add R true true; AddsX Add X true true;
        AdcI Adc I false true; AdcR Adc R false true; AdcX Adc X false true;
        AdcsI Adc I true true; AdcsR Adc R true true; AdcsX Adc X true true;
        SubI Sub I false true; SubR Sub R false true; SubX Sub X false true;
        SubsI Sub I true true; SubsR Sub R true true; SubsX Sub X true true;
        SbcI Sbc I false true; SbcR Sbc R false true; SbcX Sbc X false true;
        SbcsI Sbc I true true; SbcsR Sbc R true true; SbcsX Sbc X true true;
        RsbI Rsb I false true; RsbR Rsb R false true; RsbX Rsb X false true;
        RsbsI Rsb I true true; RsbsR Rsb R true true; RsbsX Rsb X true true;
        TstI And I true false; TstR And R true false; TstX And X true false;
        TeqI Eor I true false; TeqR Eor R true false; TeqX Eor X true false;
        CmpI Sub I true false; CmpR Sub R true false; CmpX Sub X true false;
        CmnI Add I true false; CmnR Add R true false; CmnX Add X true false;
    })
}

fn calculate(
    slot: &Slot,
    calc: Calc,
    second: Second,
    sets_flags: bool,
    writes: bool,
) -> Option<Action> {
    let form = match second {
        Second::I => Form::Immediate,
        Second::R => Form::Register,
        Second::X => {
            let shift = match slot.aux >> 8 {
                0 => Shift::Shl,
                1 => Shift::Shr,
                2 => Shift::Sar,
                3 => Shift::Ror,
                _ => return None,
            };
            let amount = (slot.aux & 0x3F) as u8;
            (1..32).contains(&amount).then_some(Form::Shifted(shift, amount))?
        }
    };
    // Operations that may write the stack pointer keep its low bits clear; others do with it what they do.
    let keeps_alignment = calc.is_sum() || calc == Calc::Mov && !matches!(form, Form::Shifted(..));
    let possible = !writes || slot.d != STACK_POINTER || keeps_alignment && !sets_flags;
    possible.then_some(Action::Calculate { calc, form, sets_flags, writes })
}
