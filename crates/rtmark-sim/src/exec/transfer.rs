//! Loads and stores of registers, on the fast path and on the slow path.

use super::datum::Datum;
use super::memory::{Base, Side};
use super::{ExecContext, Executing, Flow, Outcome, Path};
use crate::isa::Op;
use crate::state::State;

impl State {
    /// Executes a load or store; passes any other operation on to those that calculate.
    #[inline(always)]
    #[expect(clippy::too_many_lines, reason = "a table: an arm an operation")]
    pub(super) fn perform_transfer<'a>(
        &mut self,
        op: Op,
        shift: Option<u32>,
        path: Path,
        sp: bool,
        at: &mut impl Executing<'a>,
    ) -> Outcome {
        let s = at.slot();
        /// A load, in each of the four addressing modes of a single transfer.
        macro_rules! load {
            ($datum:ty, I) => {
                load!($datum, self.cpu.get(s.n).wrapping_add(s.imm), _address => ())
            };
            ($datum:ty, R) => {
                load!($datum, self.indexed(s), _address => ())
            };
            ($datum:ty, Pre) => {
                load!($datum, self.cpu.get(s.n).wrapping_add(s.imm), address => {
                    set_any!(self, sp, s.n, address);
                })
            };
            ($datum:ty, Post) => {
                load!($datum, self.cpu.get(s.n), address => {
                    set_any!(self, sp, s.n, address.wrapping_add(s.imm));
                })
            };
            ($datum:ty, Lit) => {
                load!($datum, s.imm, _address => ())
            };
            ($datum:ty, $from:expr, $address:ident => $write_back:expr) => {{
                let $address = $from;
                if let Some(value) = <$datum>::load_quickly(self, $address) {
                    $write_back;
                    set_any!(self, sp, s.d, value);
                } else {
                    let value = slow_path!(path,
                        at.context().slow_path(self, |machine| <$datum>::load(machine, $address))?
                    );
                    $write_back;
                    may_halt!(at, set_any!(self, sp, s.d, value));
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
                    set_any!(self, sp, s.n, address);
                })
            };
            ($datum:ty, Post) => {
                store!($datum, self.cpu.get(s.n), address => {
                    set_any!(self, sp, s.n, address.wrapping_add(s.imm));
                })
            };
            ($datum:ty, $to:expr, $address:ident => $write_back:expr) => {{
                let ($address, value) = ($to, self.cpu.get(s.d));
                if <$datum>::store_quickly(self, $address, value) {
                    $write_back;
                } else {
                    slow_path!(path, at.context().slow_path(self, |machine| <$datum>::store(
                        machine, $address, value
                    ))?);
                    may_halt!(at, $write_back);
                }
            }};
        }
        /// A list of registers, loaded from or stored to RAM at once. Lists with the program counter jump.
        macro_rules! load_list {
            ($side:expr) => {{
                let base = Base::of(s, $side);
                if let Some(last) = self.load_registers(s.imm, base) {
                    if s.imm >> 15 == 1 {
                        return self.branch_loaded(at.context(), last);
                    }
                } else {
                    slow_path!(
                        path,
                        flow!(
                            at,
                            at.context().slow_path(self, |machine| machine.load_multiple(s, base))
                        )
                    );
                }
            }};
        }
        macro_rules! store_list {
            ($side:expr) => {{
                let base = Base::of(s, $side);
                if !self.store_registers(s.imm, base) {
                    slow_path!(
                        path,
                        may_halt!(
                            at,
                            at.context()
                                .slow_path(self, |machine| machine.store_multiple(s, base))?
                        )
                    );
                }
            }};
        }
        /// Exclusive accesses to RAM.
        macro_rules! load_exclusive {
            ($datum:ty) => {{
                let address = self.cpu.get(s.n).wrapping_add(s.imm);
                if let Some(value) = <$datum>::load_quickly(self, address) {
                    set_any!(self, sp, s.d, value);
                    self.exclusive = true;
                } else {
                    slow_path!(
                        path,
                        flow!(at, at.context().slow_path(self, |machine| machine.execute_rare(s)))
                    );
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
                    slow_path!(
                        path,
                        flow!(at, at.context().slow_path(self, |machine| machine.execute_rare(s)))
                    );
                }
            }};
        }
        match op {
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
                if let Some(value) = self.read_literal_fast(at, s.imm) {
                    set_any!(self, sp, s.d, value);
                } else if let Some(value) = slow_path!(path, self.read_literal(at.context(), s.imm))
                {
                    may_halt!(at, set_any!(self, sp, s.d, value));
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
                    slow_path!(
                        path,
                        may_halt!(
                            at,
                            at.context().slow_path(self, |machine| machine.execute_memory(s))?
                        )
                    );
                }
            }
            Op::Ldrex => load_exclusive!(u32),
            Op::Ldrexb => load_exclusive!(u8),
            Op::Ldrexh => load_exclusive!(u16),
            Op::Strex => store_exclusive!(u32),
            Op::Strexb => store_exclusive!(u8),
            Op::Strexh => store_exclusive!(u16),
            _ => return self.perform_calculation(op, shift, path, sp, at),
        }
        Ok(Flow::Next)
    }
}
