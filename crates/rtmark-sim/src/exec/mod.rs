//! What each operation does to registers, flags and memory.
//!
//! The meaning of an instruction is written here, once, close to the pseudo-code
//! of the Architecture Reference Manual (DDI 0403; DDI 0419 for ARMv6-M, DDI 0553 for
//! ARMv8-M), and never looks at the clock. What an instruction costs is told by [`crate::timing`];
//! the arms below only report what the cost depends on: a branch that was taken,
//! a memory that made the core wait, operands of a division.

mod alu;
mod bit_band;
mod datum;
mod dsp;
mod fp;
#[cfg(test)]
mod knowledge;
mod memory;
mod outcome;
pub mod partial;
mod peripherals;
mod protect;
mod rare;
mod secure;
mod system;
mod system_space;

use self::datum::Datum;
pub use self::memory::{Base, Side};
pub use self::outcome::{Ending, Flow, Outcome};
use crate::engine::block::{Cursor, ScheduledOp};
use crate::engine::dispatch::{OpCursor, OpFn, Path};
use crate::isa::{Op, Slot};
use crate::machine::Machine;
use crate::state::ProgramPoint;

impl Machine {
    /// Executes one decoded instruction, away from the hot path. The program counter
    /// stands behind it, and where it leads afterwards.
    #[inline(never)]
    pub(crate) fn execute_alone(&mut self, slot: &Slot) -> Outcome {
        let step = ScheduledOp::alone(*slot);
        let mut at = Cursor::alone(&step, self.progress());
        let outcome = self.execute(&mut at).into();
        let ProgramPoint { pc, mut pipe, .. } = at.progress();
        if outcome == Ok(Flow::Jump) {
            pipe = self.note_leap(slot, pipe, pc, at.target);
        }
        self.set_progress(ProgramPoint { pc: at.target, pipe, ..at.progress() });
        outcome
    }

    /// Executes what is left of a pass, as far as one instruction follows the other.
    #[inline(always)]
    pub(crate) fn execute(&mut self, at: &mut Cursor<'_>) -> Ending {
        at.goes_on();
        let Some(next) = at.next() else { return Ending::Next };
        self.execute_from(next.run(), at)
    }

    /// Executes what is left of a pass, whose next instruction is executed by `run`.
    #[inline(always)]
    pub(crate) fn execute_from(&mut self, run: OpFn, at: &mut Cursor<'_>) -> Ending {
        let mut ending = run(self, at, at.rest());
        while at.goes_on() {
            let Some(next) = at.next() else { return Ending::Next };
            ending = next.run()(self, at, at.rest());
        }
        ending
    }

    /// Whether a branch is taken that looks at flags or at a register.
    #[inline(always)]
    pub(crate) fn is_branch_taken(&self, op: Op, s: &Slot) -> bool {
        match op {
            Op::Beq => self.cpu.holds(0),
            Op::Bne => self.cpu.holds(1),
            Op::Bcs => self.cpu.holds(2),
            Op::Bcc => self.cpu.holds(3),
            Op::Bmi => self.cpu.holds(4),
            Op::Bpl => self.cpu.holds(5),
            Op::Bvs => self.cpu.holds(6),
            Op::Bvc => self.cpu.holds(7),
            Op::Bhi => self.cpu.holds(8),
            Op::Bls => self.cpu.holds(9),
            Op::Bge => self.cpu.holds(10),
            Op::Blt => self.cpu.holds(11),
            Op::Bgt => self.cpu.holds(12),
            Op::Ble => self.cpu.holds(13),
            Op::Cbz => self.cpu.get(s.n) == 0,
            Op::Cbnz => self.cpu.get(s.n) != 0,
            _ => true,
        }
    }

    /// Executes an operation, with a shift of a known type if `shift` says so. It is inlined for
    /// each operation, where only what that one does remains: see
    /// [`dispatch`](crate::engine::dispatch). By the quick way nothing has changed yet where that
    /// does not lead to the end.
    #[inline(always)]
    pub(crate) fn perform(
        &mut self,
        op: Op,
        shift: Option<u32>,
        path: Path,
        sp: bool,
        at: &mut OpCursor<'_, '_>,
    ) -> Outcome {
        use alu::{arithmetic, logic};
        let s = at.slot();
        /// Writes a register that may be the stack pointer.
        macro_rules! set_any {
            ($register:expr, $value:expr) => {
                if sp {
                    self.cpu.set_any($register, $value);
                } else {
                    self.cpu.set($register, $value);
                }
            };
        }
        /// A second operand: immediate, register, or shifted register with its carry.
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
                set_any!(s.d, x.wrapping_add(y).wrapping_add(carry as u32));
            }};
            (s $kind:tt, $function:expr) => {{
                let (operand, _) = op2!($kind);
                let (x, y, carry) = $function(self.cpu.get(s.n), operand, self.cpu.c);
                let result = self.cpu.add_with_flags(x, y, carry);
                set_any!(s.d, result);
            }};
            (test $kind:tt, $function:expr) => {{
                let (operand, _) = op2!($kind);
                let (x, y, carry) = $function(self.cpu.get(s.n), operand, self.cpu.c);
                self.cpu.add_with_flags(x, y, carry);
            }};
        }
        /// Differences that set the flags, by the register and the second operand in
        /// either order.
        macro_rules! difference {
            ($kind:tt) => {{
                let (operand, _) = op2!($kind);
                let result = self.cpu.subtract_with_flags(self.cpu.get(s.n), operand);
                set_any!(s.d, result);
            }};
            (reverse $kind:tt) => {{
                let (operand, _) = op2!($kind);
                let result = self.cpu.subtract_with_flags(operand, self.cpu.get(s.n));
                set_any!(s.d, result);
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
        /// What the quick way does not lead through.
        macro_rules! slow_path {
            ($act:expr) => {{
                if path == Path::Fast {
                    return Ok(Flow::SlowPath);
                }
                $act
            }};
        }
        /// What may take longer than expected, behind which the pass may be over.
        macro_rules! may_halt {
            ($act:expr) => {{
                $act;
                if at.halts() {
                    return Ok(Flow::Leave);
                }
            }};
        }
        /// What may or may not jump.
        macro_rules! flow {
            ($outcome:expr) => {
                may_halt!(if $outcome? == Flow::Jump {
                    return Ok(Flow::Jump);
                })
            };
        }
        /// Loads, by the four ways to address a single transfer.
        macro_rules! load {
            ($datum:ty, I) => {
                load!($datum, self.cpu.get(s.n).wrapping_add(s.imm), _address => ())
            };
            ($datum:ty, R) => {
                load!($datum, self.indexed(s), _address => ())
            };
            ($datum:ty, Pre) => {
                load!($datum, self.cpu.get(s.n).wrapping_add(s.imm), address => {
                    set_any!(s.n, address);
                })
            };
            ($datum:ty, Post) => {
                load!($datum, self.cpu.get(s.n), address => {
                    set_any!(s.n, address.wrapping_add(s.imm));
                })
            };
            ($datum:ty, Lit) => {
                load!($datum, s.imm, _address => ())
            };
            ($datum:ty, $from:expr, $address:ident => $write_back:expr) => {{
                let $address = $from;
                if let Some(value) = <$datum>::load_quickly(self, $address) {
                    $write_back;
                    set_any!(s.d, value);
                } else {
                    let value = slow_path!(
                        self.slow_path(at.pass(), |machine| <$datum>::load(machine, $address))?
                    );
                    $write_back;
                    may_halt!(set_any!(s.d, value));
                }
            }};
        }
        macro_rules! store {
            ($datum:ty, I) => {
                store!($datum, self.cpu.get(s.n).wrapping_add(s.imm), _address => ())
            };
            ($datum:ty, R) => {
                store!($datum, self.indexed(s), _address => ())
            };
            ($datum:ty, Pre) => {
                store!($datum, self.cpu.get(s.n).wrapping_add(s.imm), address => {
                    set_any!(s.n, address);
                })
            };
            ($datum:ty, Post) => {
                store!($datum, self.cpu.get(s.n), address => {
                    set_any!(s.n, address.wrapping_add(s.imm));
                })
            };
            ($datum:ty, $to:expr, $address:ident => $write_back:expr) => {{
                let ($address, value) = ($to, self.cpu.get(s.d));
                if <$datum>::store_quickly(self, $address, value) {
                    $write_back;
                } else {
                    slow_path!(self.slow_path(at.pass(), |machine| <$datum>::store(
                        machine, $address, value
                    ))?);
                    may_halt!($write_back);
                }
            }};
        }
        /// Lists of registers, from or to RAM at once. Those with the program counter jump.
        macro_rules! load_list {
            ($side:expr) => {{
                let base = Base::of(s, $side);
                if let Some(last) = self.load_registers(s.imm, base) {
                    if s.imm >> 15 == 1 {
                        return self.branch_loaded(at.pass(), last);
                    }
                } else {
                    slow_path!(flow!(
                        self.slow_path(at.pass(), |machine| machine.load_multiple(s, base))
                    ));
                }
            }};
        }
        macro_rules! store_list {
            ($side:expr) => {{
                let base = Base::of(s, $side);
                if !self.store_registers(s.imm, base) {
                    slow_path!(may_halt!(
                        self.slow_path(at.pass(), |machine| machine.store_multiple(s, base))?
                    ));
                }
            }};
        }
        /// Exclusive accesses to RAM.
        macro_rules! load_exclusive {
            ($datum:ty) => {{
                let address = self.cpu.get(s.n).wrapping_add(s.imm);
                if let Some(value) = <$datum>::load_quickly(self, address) {
                    set_any!(s.d, value);
                    self.exclusive = true;
                } else {
                    slow_path!(flow!(self.slow_path(at.pass(), |machine| machine.execute_rare(s))));
                }
            }};
        }
        macro_rules! store_exclusive {
            ($datum:ty) => {{
                let (address, value) = (self.cpu.get(s.n).wrapping_add(s.imm), self.cpu.get(s.a));
                if self.exclusive && <$datum>::store_quickly(self, address, value) {
                    self.cpu.set(s.d, 0);
                    self.exclusive = false;
                } else {
                    slow_path!(flow!(self.slow_path(at.pass(), |machine| machine.execute_rare(s))));
                }
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
            Op::MovI => set_any!(s.d, s.imm),
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
            Op::MovR => set_any!(s.d, self.cpu.get(s.m)),
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
                slow_path!(may_halt!(self.multiply_long(s, at.pass())));
            }
            Op::Udiv | Op::Sdiv => slow_path!(may_halt!(self.divide(s, at.pass())?)),
            Op::Ubfx => {
                let mask = u32::MAX >> (32 - s.aux.min(32));
                self.cpu.set(s.d, self.cpu.get(s.n) >> s.imm & mask);
            }

            Op::LdrI => load!(u32, I),
            Op::LdrbI => load!(u8, I),
            Op::LdrhI => load!(u16, I),
            Op::LdrsbI => load!(i8, I),
            Op::LdrshI => load!(i16, I),
            Op::LdrR => load!(u32, R),
            Op::LdrbR => load!(u8, R),
            Op::LdrhR => load!(u16, R),
            Op::LdrsbR => load!(i8, R),
            Op::LdrshR => load!(i16, R),
            Op::LdrPre => load!(u32, Pre),
            Op::LdrbPre => load!(u8, Pre),
            Op::LdrhPre => load!(u16, Pre),
            Op::LdrsbPre => load!(i8, Pre),
            Op::LdrshPre => load!(i16, Pre),
            Op::LdrPost => load!(u32, Post),
            Op::LdrbPost => load!(u8, Post),
            Op::LdrhPost => load!(u16, Post),
            Op::LdrsbPost => load!(i8, Post),
            Op::LdrshPost => load!(i16, Post),
            Op::LdrLit => {
                if let Some(value) = self.read_literal_at_once(at, s.imm) {
                    set_any!(s.d, value);
                } else if let Some(value) = slow_path!(self.read_literal(at.pass(), s.imm)) {
                    may_halt!(set_any!(s.d, value));
                } else {
                    load!(u32, Lit);
                }
            }
            Op::LdrbLit => load!(u8, Lit),
            Op::LdrhLit => load!(u16, Lit),
            Op::LdrsbLit => load!(i8, Lit),
            Op::LdrshLit => load!(i16, Lit),
            Op::StrI => store!(u32, I),
            Op::StrbI => store!(u8, I),
            Op::StrhI => store!(u16, I),
            Op::StrR => store!(u32, R),
            Op::StrbR => store!(u8, R),
            Op::StrhR => store!(u16, R),
            Op::StrPre => store!(u32, Pre),
            Op::StrbPre => store!(u8, Pre),
            Op::StrhPre => store!(u16, Pre),
            Op::StrPost => store!(u32, Post),
            Op::StrbPost => store!(u8, Post),
            Op::StrhPost => store!(u16, Post),
            Op::Ldm | Op::Pop => load_list!(Side::From),
            Op::Ldmdb => load_list!(Side::Before),
            Op::Stm => store_list!(Side::From),
            Op::Stmdb | Op::Push => store_list!(Side::Before),
            Op::Ldrd | Op::Strd => {
                if !self.move_pair(s) {
                    slow_path!(may_halt!(
                        self.slow_path(at.pass(), |machine| machine.execute_memory(s))?
                    ));
                }
            }

            Op::B => return Ok(self.branch(at.pass(), s.imm)),
            Op::Beq
            | Op::Bne
            | Op::Bcs
            | Op::Bcc
            | Op::Bmi
            | Op::Bpl
            | Op::Bvs
            | Op::Bvc
            | Op::Bhi
            | Op::Bls
            | Op::Bge
            | Op::Blt
            | Op::Bgt
            | Op::Ble
            | Op::Cbz
            | Op::Cbnz => {
                if self.is_branch_taken(op, s) {
                    return Ok(self.branch(at.pass(), s.imm));
                }
            }
            Op::Bl => {
                self.cpu.set(14, at.pass().behind() | 1);
                return Ok(self.branch(at.pass(), s.imm));
            }
            Op::Bx => return self.branch_exchange(at.pass(), self.cpu.get(s.n)),
            Op::BlxR => {
                let target = self.cpu.get(s.n);
                self.cpu.set(14, at.pass().behind() | 1);
                return self.branch_linked(at.pass(), target);
            }
            Op::MovPc => return Ok(self.branch(at.pass(), self.cpu.get(s.m))),
            Op::AddPc => {
                return Ok(self.branch(at.pass(), s.imm.wrapping_add(self.cpu.get(s.m))));
            }
            // One core with strongly ordered memory: barriers only take their time.
            Op::Nop | Op::Yield | Op::Pld | Op::Dmb | Op::Dsb | Op::Isb => {}
            Op::Mrs => self.cpu.set(s.d, self.read_special(s.imm)),
            Op::Msr => {
                let longer = self.raises_priority(s.imm, self.cpu.get(s.n));
                if !self.write_mask_at_once(s.imm, self.cpu.get(s.n)) {
                    slow_path!(flow!(self.slow_path(at.pass(), |machine| {
                        machine.cycles += u64::from(longer);
                        machine.execute_rare(s)
                    })));
                } else if longer {
                    may_halt!(at.pass().take_longer(1, self.deadline));
                }
            }
            Op::Cps => {
                if !self.change_mask_at_once(s) {
                    slow_path!(flow!(self.slow_path(at.pass(), |machine| machine.execute_rare(s))));
                }
            }
            Op::Ldrex => load_exclusive!(u32),
            Op::Ldrexb => load_exclusive!(u8),
            Op::Ldrexh => load_exclusive!(u16),
            Op::Strex => store_exclusive!(u32),
            Op::Strexb => store_exclusive!(u8),
            Op::Strexh => store_exclusive!(u16),
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
            | Op::Usat => slow_path!(self.execute_integer(s)?),
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
            | Op::Usat16 => slow_path!(self.execute_dsp(s)?),
            Op::Vadd
            | Op::Vsub
            | Op::Vmul
            | Op::Vmla
            | Op::Vmls
            | Op::Vfma
            | Op::Vfms
            | Op::Vdiv
            | Op::Vabs
            | Op::Vneg
            | Op::Vcmp
            | Op::Vcmpe
            | Op::VcmpZ
            | Op::VcmpeZ
            | Op::VcvtFromInt
            | Op::VcvtToInt
            | Op::VmovI
            | Op::VmovR => {
                let is_live = self.has_live_fp();
                if !(is_live && self.fp_at_once(op, s)) {
                    slow_path!(if is_live {
                        self.fp_arithmetic(s);
                    } else {
                        may_halt!(self.slow_path(at.pass(), |machine| machine.execute_fp(s))?);
                    });
                }
            }
            Op::Vmrs | Op::VmovToCore | Op::VmovFromCore => {
                if self.has_live_fp() {
                    self.fp_transfer(op, s);
                } else {
                    slow_path!(may_halt!(
                        self.slow_path(at.pass(), |machine| machine.execute_fp(s))?
                    ));
                }
            }
            Op::Vldr => {
                let address = self.cpu.get(s.n).wrapping_add(s.imm);
                if !(self.has_live_fp() && self.load_float(s, address)) {
                    slow_path!(may_halt!(
                        self.slow_path(at.pass(), |machine| machine.execute_fp(s))?
                    ));
                }
            }
            Op::VldrLit => {
                if !(self.has_live_fp() && self.load_float_literal(at, s)) {
                    slow_path!(may_halt!(
                        self.slow_path(at.pass(), |machine| machine.execute_fp(s))?
                    ));
                }
            }
            Op::Vstr => {
                let address = self.cpu.get(s.n).wrapping_add(s.imm);
                if !(self.has_live_fp() && self.store_float(s, address)) {
                    slow_path!(may_halt!(
                        self.slow_path(at.pass(), |machine| machine.execute_fp(s))?
                    ));
                }
            }
            Op::Guarded => {
                slow_path!(flow!(self.slow_path(at.pass(), |machine| machine.execute_guarded(s))));
            }
            Op::Watch
            | Op::Stop
            | Op::Undefined
            | Op::Udf
            | Op::Ldrt
            | Op::Ldrbt
            | Op::Ldrht
            | Op::Ldrsbt
            | Op::Ldrsht
            | Op::Strt
            | Op::Strbt
            | Op::Strht
            | Op::LdrPcI
            | Op::LdrPcR
            | Op::LdrPcPre
            | Op::LdrPcPost
            | Op::LdrPcLit
            | Op::LdrdLit
            | Op::Lda
            | Op::Stl
            | Op::Clrex
            | Op::Tbb
            | Op::Tbh
            | Op::Sev
            | Op::It
            | Op::Wfe
            | Op::Wfi
            | Op::Sg
            | Op::Tt
            | Op::Bxns
            | Op::Blxns
            | Op::Svc
            | Op::Bkpt
            | Op::Vnmul
            | Op::VcvtFixed
            | Op::VcvtHalf
            | Op::Vsel
            | Op::Vmaxnm
            | Op::Vminnm
            | Op::Vrint
            | Op::VcvtDirected
            | Op::Vnmla
            | Op::Vnmls
            | Op::Vfnma
            | Op::Vfnms
            | Op::Vsqrt
            | Op::VmovPairToCore
            | Op::VmovPairFromCore
            | Op::Vmsr
            | Op::Vldm
            | Op::Vstm
            | Op::Vlstm
            | Op::Vlldm => {
                slow_path!(flow!(self.slow_path(at.pass(), |machine| machine.execute_rare(s))));
            }
        }
        Ok(Flow::Next)
    }
}
