//! Which of the host's registers hold the program's.
//!
//! A register is loaded when it is first read, and stored whenever it is written. So the state is always complete,
//! and native code can be left at any instruction.

use crate::engine::native::assembler::{Assembler, Operand, Reg};
use crate::engine::native::frame;

/// The registers for this purpose. A function may change them without saving them (System V ABI, AMD64).
const POOL: [Reg; 5] = [Reg::RDX, Reg::R8, Reg::R9, Reg::R10, Reg::R11];

#[derive(Clone, Copy, Debug, Default)]
struct Holder {
    /// The register of the program.
    register: Option<u8>,
    /// When it was last used.
    used: u32,
}

/// The program's registers in the host's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registers {
    holders: [Holder; POOL.len()],
    time: u32,
}

impl Registers {
    /// Returns the number of the host's register that holds a register of the program, or of the one that
    /// has not been used for longest; whether it holds it; and notes the use.
    fn find(&mut self, register: u8) -> (usize, bool) {
        self.time += 1;
        let held = self.holders.iter().position(|holder| holder.register == Some(register));
        let at = held.unwrap_or_else(|| {
            (0..POOL.len()).min_by_key(|at| self.holders[*at].used).unwrap_or(0)
        });
        self.holders[at] = Holder { register: Some(register), used: self.time };
        (at, held.is_some())
    }

    /// Returns the host's register that holds a register of the program. It does so until a number of others have
    /// been read or written that is one less than there are.
    pub fn read(&mut self, asm: &mut Assembler, register: u8) -> Reg {
        let (at, is_held) = self.find(register);
        if !is_held {
            asm.mov(POOL[at], Operand::Field(frame::register(register)));
        }
        POOL[at]
    }

    /// Writes a register of the program.
    pub fn write(&mut self, asm: &mut Assembler, register: u8, from: Reg) {
        let (at, _) = self.find(register);
        asm.mov(POOL[at], Operand::Reg(from));
        asm.store(frame::register(register), POOL[at]);
    }

    /// Gives one of the host's registers away, if it belongs to the pool.
    pub fn release(&mut self, host: Reg) {
        for (holder, _) in self.holders.iter_mut().zip(POOL).filter(|(_, reg)| *reg == host) {
            *holder = Holder::default();
        }
    }

    /// Forgets what the host's registers hold.
    pub fn forget(&mut self) {
        self.holders = <[Holder; POOL.len()]>::default();
    }

    /// Loads all registers that are held.
    pub fn load(&self, asm: &mut Assembler) {
        for (holder, host) in self.holders.iter().zip(POOL) {
            if let Some(register) = holder.register {
                asm.mov(host, Operand::Field(frame::register(register)));
            }
        }
    }
}
