//! The operations that calculate with registers.

use super::alu::{self, arithmetic, logic};
use super::{ExecContext, Executing, Flow, Outcome, Path};
use crate::isa::Op;
use crate::state::State;

impl State {
    /// Executes an operation that calculates. `shift` gives the shift's type if it is known at compile
    /// time. Rare operations come last.
    #[inline(always)]
    #[expect(clippy::too_many_lines, reason = "a table: an arm an operation")]
    pub(super) fn perform_calculation<'a>(
        &mut self,
        op: Op,
        shift: Option<u32>,
        path: Path,
        sp: bool,
        at: &mut impl Executing<'a>,
    ) -> Outcome {
        let s = at.slot();
        /// Evaluates a second operand: an immediate, a register, or a shifted register with its carry.
        macro_rules! op2 {
            (I) => {
                (s.imm, self.cpu.c)
            };
            (R) => {
                (self.cpu.get(s.m), self.cpu.c)
            };
            (X) => {{
                let shift = shift.unwrap_or(s.aux >> 8);
                alu::shift_some(self.cpu.get(s.m), shift, s.aux & 0x3F, self.cpu.c)
            }};
        }
        macro_rules! logical {
            ($kind:tt, $function:expr) => {{
                let (operand, _) = op2!($kind);
                self.cpu.set(s.d, $function(self.cpu.get(s.n), operand));
            }};
            (s $kind:tt, $function:expr) => {{
                let result = logical!(test $kind, $function);
                self.cpu.set(s.d, result);
            }};
            (test I, $function:expr) => {{
                let result = $function(self.cpu.get(s.n), s.imm);
                self.cpu.set_nz(result);
                if s.aux == 1 {
                    self.cpu.c = s.imm >> 31 != 0;
                }
                result
            }};
            (test $kind:tt, $function:expr) => {{
                let (operand, carry) = op2!($kind);
                let result = $function(self.cpu.get(s.n), operand);
                self.cpu.set_nz(result);
                self.cpu.c = carry;
                result
            }};
        }
        macro_rules! sum {
            ($kind:tt, $function:expr) => {{
                let (operand, _) = op2!($kind);
                let (x, y, carry) = $function(self.cpu.get(s.n), operand, self.cpu.c);
                set_any!(self, sp, s.d, x.wrapping_add(y).wrapping_add(carry as u32));
            }};
            (s $kind:tt, $function:expr) => {{
                let (operand, _) = op2!($kind);
                let (x, y, carry) = $function(self.cpu.get(s.n), operand, self.cpu.c);
                let result = self.cpu.add_with_flags(x, y, carry);
                set_any!(self, sp, s.d, result);
            }};
            (test $kind:tt, $function:expr) => {{
                let (operand, _) = op2!($kind);
                let (x, y, carry) = $function(self.cpu.get(s.n), operand, self.cpu.c);
                self.cpu.add_with_flags(x, y, carry);
            }};
        }
        /// Subtractions that set the flags, with the register and the second operand in either order.
        macro_rules! difference {
            ($kind:tt) => {{
                let (operand, _) = op2!($kind);
                let result = self.cpu.subtract_with_flags(self.cpu.get(s.n), operand);
                set_any!(self, sp, s.d, result);
            }};
            (reverse $kind:tt) => {{
                let (operand, _) = op2!($kind);
                let result = self.cpu.subtract_with_flags(operand, self.cpu.get(s.n));
                set_any!(self, sp, s.d, result);
            }};
            (test $kind:tt) => {{
                let (operand, _) = op2!($kind);
                self.cpu.subtract_with_flags(self.cpu.get(s.n), operand);
            }};
        }
        macro_rules! shift_by_register {
            ($kind:expr) => {{
                let amount = self.cpu.get(s.m) & 0xFF;
                let (result, _) = alu::shift(self.cpu.get(s.n), $kind, amount, self.cpu.c);
                self.cpu.set(s.d, result);
            }};
            (s $kind:expr) => {{
                let amount = self.cpu.get(s.m) & 0xFF;
                let (result, carry) = alu::shift(self.cpu.get(s.n), $kind, amount, self.cpu.c);
                self.cpu.set(s.d, result);
                self.cpu.set_nz(result);
                self.cpu.c = carry;
            }};
        }
        match op {
            Op::AndI => logical!(I, logic::and),
            Op::AndsI => logical!(s I, logic::and),
            Op::OrrI => logical!(I, logic::orr),
            Op::OrrsI => logical!(s I, logic::orr),
            Op::EorI => logical!(I, logic::eor),
            Op::EorsI => logical!(s I, logic::eor),
            Op::BicI => logical!(I, logic::bic),
            Op::BicsI => logical!(s I, logic::bic),
            Op::OrnI => logical!(I, logic::orn),
            Op::OrnsI => logical!(s I, logic::orn),
            Op::MovI => set_any!(self, sp, s.d, s.imm),
            Op::MovsI => logical!(s I, logic::mov),
            Op::MvnI => logical!(I, logic::mvn),
            Op::MvnsI => logical!(s I, logic::mvn),
            Op::TstI => {
                logical!(test I, logic::and);
            }
            Op::TeqI => {
                logical!(test I, logic::eor);
            }
            Op::AndR => logical!(R, logic::and),
            Op::AndsR => logical!(s R, logic::and),
            Op::OrrR => logical!(R, logic::orr),
            Op::OrrsR => logical!(s R, logic::orr),
            Op::EorR => logical!(R, logic::eor),
            Op::EorsR => logical!(s R, logic::eor),
            Op::BicR => logical!(R, logic::bic),
            Op::BicsR => logical!(s R, logic::bic),
            Op::OrnR => logical!(R, logic::orn),
            Op::OrnsR => logical!(s R, logic::orn),
            Op::MovR => set_any!(self, sp, s.d, self.cpu.get(s.m)),
            Op::MovsR => logical!(s R, logic::mov),
            Op::MvnR => logical!(R, logic::mvn),
            Op::MvnsR => logical!(s R, logic::mvn),
            Op::TstR => {
                logical!(test R, logic::and);
            }
            Op::TeqR => {
                logical!(test R, logic::eor);
            }
            Op::AndX => logical!(X, logic::and),
            Op::AndsX => logical!(s X, logic::and),
            Op::OrrX => logical!(X, logic::orr),
            Op::OrrsX => logical!(s X, logic::orr),
            Op::EorX => logical!(X, logic::eor),
            Op::EorsX => logical!(s X, logic::eor),
            Op::BicX => logical!(X, logic::bic),
            Op::BicsX => logical!(s X, logic::bic),
            Op::OrnX => logical!(X, logic::orn),
            Op::OrnsX => logical!(s X, logic::orn),
            Op::MovX => logical!(X, logic::mov),
            Op::MovsX => logical!(s X, logic::mov),
            Op::MvnX => logical!(X, logic::mvn),
            Op::MvnsX => logical!(s X, logic::mvn),
            Op::TstX => {
                logical!(test X, logic::and);
            }
            Op::TeqX => {
                logical!(test X, logic::eor);
            }

            Op::AddI => sum!(I, arithmetic::add),
            Op::AddsI => sum!(s I, arithmetic::add),
            Op::SubI => sum!(I, arithmetic::sub),
            Op::SubsI => difference!(I),
            Op::AdcI => sum!(I, arithmetic::adc),
            Op::AdcsI => sum!(s I, arithmetic::adc),
            Op::SbcI => sum!(I, arithmetic::sbc),
            Op::SbcsI => sum!(s I, arithmetic::sbc),
            Op::RsbI => sum!(I, arithmetic::rsb),
            Op::RsbsI => difference!(reverse I),
            Op::CmpI => difference!(test I),
            Op::CmnI => sum!(test I, arithmetic::add),
            Op::AddR => sum!(R, arithmetic::add),
            Op::AddsR => sum!(s R, arithmetic::add),
            Op::SubR => sum!(R, arithmetic::sub),
            Op::SubsR => difference!(R),
            Op::AdcR => sum!(R, arithmetic::adc),
            Op::AdcsR => sum!(s R, arithmetic::adc),
            Op::SbcR => sum!(R, arithmetic::sbc),
            Op::SbcsR => sum!(s R, arithmetic::sbc),
            Op::RsbR => sum!(R, arithmetic::rsb),
            Op::RsbsR => difference!(reverse R),
            Op::CmpR => difference!(test R),
            Op::CmnR => sum!(test R, arithmetic::add),
            Op::AddX => sum!(X, arithmetic::add),
            Op::AddsX => sum!(s X, arithmetic::add),
            Op::SubX => sum!(X, arithmetic::sub),
            Op::SubsX => difference!(X),
            Op::AdcX => sum!(X, arithmetic::adc),
            Op::AdcsX => sum!(s X, arithmetic::adc),
            Op::SbcX => sum!(X, arithmetic::sbc),
            Op::SbcsX => sum!(s X, arithmetic::sbc),
            Op::RsbX => sum!(X, arithmetic::rsb),
            Op::RsbsX => difference!(reverse X),
            Op::CmpX => difference!(test X),
            Op::CmnX => sum!(test X, arithmetic::add),

            Op::LslR => shift_by_register!(0),
            Op::LslsR => shift_by_register!(s 0),
            Op::LsrR => shift_by_register!(1),
            Op::LsrsR => shift_by_register!(s 1),
            Op::AsrR => shift_by_register!(2),
            Op::AsrsR => shift_by_register!(s 2),
            Op::RorR => shift_by_register!(3),
            Op::RorsR => shift_by_register!(s 3),

            Op::Movt => self.cpu.set(s.d, (self.cpu.get(s.d) & 0xFFFF) | s.imm << 16),
            Op::Uxtb => self.cpu.set(s.d, self.cpu.get(s.m).rotate_right(s.imm) & 0xFF),
            Op::Uxth => self.cpu.set(s.d, self.cpu.get(s.m).rotate_right(s.imm) & 0xFFFF),
            Op::Sxtb => {
                self.cpu.set(s.d, self.cpu.get(s.m).rotate_right(s.imm) as i8 as u32);
            }
            Op::Sxth => {
                self.cpu.set(s.d, self.cpu.get(s.m).rotate_right(s.imm) as i16 as u32);
            }
            Op::Mul => self.cpu.set(s.d, self.cpu.get(s.n).wrapping_mul(self.cpu.get(s.m))),
            Op::Muls => {
                let result = self.cpu.get(s.n).wrapping_mul(self.cpu.get(s.m));
                self.cpu.set(s.d, result);
                self.cpu.set_nz(result);
            }
            Op::Mla => {
                let product = self.cpu.get(s.n).wrapping_mul(self.cpu.get(s.m));
                self.cpu.set(s.d, self.cpu.get(s.a).wrapping_add(product));
            }
            Op::Mls => {
                let product = self.cpu.get(s.n).wrapping_mul(self.cpu.get(s.m));
                self.cpu.set(s.d, self.cpu.get(s.a).wrapping_sub(product));
            }
            Op::Umull | Op::Smull | Op::Umlal | Op::Smlal => {
                slow_path!(path, may_halt!(at, self.multiply_long(s, at.context())));
            }
            Op::Udiv | Op::Sdiv => slow_path!(path, may_halt!(at, self.divide(s, at.context())?)),
            Op::Ubfx => {
                let mask = u32::MAX >> (32 - s.aux.min(32));
                self.cpu.set(s.d, self.cpu.get(s.n) >> s.imm & mask);
            }
            Op::Clz
            | Op::Bfi
            | Op::Bfc
            | Op::Sbfx
            | Op::Rev
            | Op::Rbit
            | Op::Rev16
            | Op::Revsh
            | Op::Sxtab
            | Op::Sxtah
            | Op::Uxtab
            | Op::Uxtah
            | Op::Ssat
            | Op::Usat => slow_path!(path, self.execute_integer(s)?),
            Op::Smulxy | Op::Smlaxy => self.multiply_halves(op, s),
            Op::Smulwy
            | Op::Smlawy
            | Op::Smlalxy
            | Op::Smuad
            | Op::Smusd
            | Op::Smlad
            | Op::Smlsd
            | Op::Smlald
            | Op::Smlsld
            | Op::Smmul
            | Op::Smmla
            | Op::Smmls
            | Op::Umaal
            | Op::Qadd
            | Op::Qsub
            | Op::Pkhbt
            | Op::Pkhtb
            | Op::Parallel
            | Op::Sel
            | Op::Usad8
            | Op::Usada8
            | Op::Qdadd
            | Op::Qdsub
            | Op::Sxtb16
            | Op::Uxtb16
            | Op::Sxtab16
            | Op::Uxtab16
            | Op::Ssat16
            | Op::Usat16 => slow_path!(path, self.execute_dsp(s)?),
            // Rare operations, and whatever is undefined.
            _ => {
                slow_path!(
                    path,
                    flow!(at, at.context().slow_path(self, |machine| machine.execute_rare(s)))
                );
            }
        }
        Ok(Flow::Next)
    }
}
