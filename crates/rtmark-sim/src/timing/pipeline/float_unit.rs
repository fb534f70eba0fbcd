//! The floating-point unit of a Cortex-M4: it works beside the execute stage.
//!
//! An instruction occupies it for a number of cycles, during which other instructions go on, and another one for the
//! unit waits. The result of arithmetic arrives a cycle later than that; the addend of a multiply-accumulate is needed
//! a cycle later than its factors (DDI 0439, 7.2.3, the table's notes, and the counts of the table). That integer
//! instructions go on is from GCC's description of the core (`cortex-m4-fpu.md`), which agrees with the notes in
//! everything else. No chip has been measured.

use super::decode::Decoding;
use super::{Pipeline, Step};

/// What an instruction needs of the unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FloatUse {
    /// The cycles for which it occupies the unit; 0: it is no instruction of the unit.
    pub cycles: u8,
    /// The registers that it needs at its beginning, as bits.
    pub reads: u32,
    /// The registers whose values arrive a cycle after the unit is free again, as bits.
    pub writes_late: u32,
}

/// The unit, between two cycles.
///
/// It goes on while an exception is entered or left: VDIV and VSQRT are not terminated, and complete while the frame
/// is stacked or in the handler (Arm's erratum 776924).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FloatUnit {
    /// Cycles until the late results are there; in the last of them the unit is free.
    left: u8,
    late: u32,
}

impl FloatUnit {
    /// Applies the clock's edge.
    pub(super) const fn clock(&mut self) {
        *self = self.after(1);
    }

    /// Returns the unit after a number of cycles in which it receives no instruction.
    pub const fn after(self, cycles: u64) -> Self {
        match (self.left as u64).saturating_sub(cycles) {
            0 => Self { left: 0, late: 0 },
            left => Self { left: left as u8, late: self.late },
        }
    }

    /// Returns whether the unit takes an instruction at the clock's edge.
    const fn accepts(self, needs: &FloatUse) -> bool {
        needs.cycles == 0 || self.left == 0 || self.left == 1 && self.late & needs.reads == 0
    }

    /// Takes an instruction.
    const fn take(&mut self, needs: &FloatUse) {
        let FloatUse { cycles, writes_late, .. } = *needs;
        if cycles > 0 {
            // In the next cycle nothing is left of an instruction of one cycle without late results.
            let is_brief = cycles == 1 && writes_late == 0;
            *self = Self { left: if is_brief { 0 } else { cycles + 1 }, late: writes_late };
        }
    }
}

impl Pipeline {
    /// Returns the floating-point unit when the newest instruction has just entered the execute stage.
    pub const fn float_unit(&self) -> FloatUnit {
        self.float_unit
    }

    /// Returns the pipeline with a floating-point unit that still has something to do.
    pub fn with_float_unit(self, float_unit: FloatUnit) -> Self {
        Self { float_unit, ..self }
    }

    /// Returns whether the floating-point unit does not keep an instruction in the decode stage.
    pub(super) fn has_float_unit_for(&self, it: &Decoding<'_>) -> bool {
        it.is_skipped() || self.float_unit.accepts(&it.step.float)
    }

    /// Hands an instruction that enters the execute stage to the floating-point unit.
    pub(super) fn begin_float(&mut self, step: &Step, is_skipped: bool) {
        if !is_skipped {
            self.float_unit.take(&step.float);
        }
    }
}
