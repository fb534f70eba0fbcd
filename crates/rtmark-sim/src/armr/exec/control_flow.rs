//! Branches.

use super::{Arch, Effects, Result};
use crate::armr::isa::op::{Instruction, Op};

impl Arch {
    /// Executes a branch, which may load its target.
    ///
    /// # Errors
    /// The exception that the load raises.
    pub fn branch(&mut self, it: &Instruction, cycle: u64, done: &mut Effects) -> Result<()> {
        let next = self.cpu.pc.wrapping_add(it.size.into());
        let link = next | u32::from(self.cpu.is_thumb());
        match it.op {
            Op::BranchLink => {
                self.cpu.set(14, link);
                if it.a == 1 {
                    let thumb = !self.cpu.is_thumb();
                    self.cpu.set_thumb(thumb);
                }
                done.jump = Some(it.imm);
            }
            Op::BranchExchange => {
                let target = self.cpu.operand(it.m);
                self.exchange(target, done);
            }
            Op::BranchLinkExchange => {
                let target = self.cpu.get(it.m);
                self.cpu.set(14, link);
                self.exchange(target, done);
            }
            Op::CompareBranch => {
                let is_zero = self.cpu.get(it.n) == 0;
                if is_zero == (it.a == 0) {
                    done.jump = Some(it.imm);
                }
            }
            // TBB and TBH.
            _ => {
                let (bytes, shift) = if it.a == 1 { (2, 1) } else { (1, 0) };
                let base = self.cpu.operand(it.n);
                let entry = base.wrapping_add(self.cpu.get(it.m) << shift);
                let distance = self.load(entry, bytes, cycle, done)?;
                done.jump = Some(self.cpu.pc.wrapping_add(4).wrapping_add(2 * distance));
            }
        }
        Ok(())
    }
}
