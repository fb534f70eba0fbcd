//! Instructions of the coprocessors that a chip adds to its core.

use super::{Flow, Outcome};
use crate::arch::armm::coprocessors::{
    Answer, CoprocessorForm, CoprocessorInstruction, PINS, PinAccess, pin_access,
};
use crate::arch::armm::nvic::NMI;
use crate::arch::armm::trap::{Done, Trap};
use crate::isa::Slot;
use crate::state::State;

/// SIO, to which the coprocessor for pins is a second way (RP2350 datasheet, 3.6.1).
const SIO: u32 = 0xD000_0000;

/// An instruction of a coprocessor that the chip adds.
pub fn of_coprocessor(state: &mut State, s: &Slot) -> Outcome {
    let decoded = CoprocessorInstruction::decode((s.imm >> 16) as u16, s.imm as u16);
    let instruction = decoded.ok_or(Trap::UnmodelledCoprocessor)?;
    let privileged = state.cpu.privileged();
    // CPACR has no field for those that are not there.
    if !state.system.allows_coprocessor(instruction.coprocessor, privileged) {
        return Err(Trap::AbsentCoprocessor);
    }
    state.execute_coprocessor(instruction)?;
    Ok(Flow::Next)
}

impl State {
    fn execute_coprocessor(&mut self, instruction: CoprocessorInstruction) -> Done {
        let (t, t2) = match instruction.form {
            CoprocessorForm::Process { .. } => (0, 0),
            CoprocessorForm::Write { t, .. } | CoprocessorForm::Read { t, .. } => (t, 0),
            CoprocessorForm::WritePair { t, t2 } | CoprocessorForm::ReadPair { t, t2 } => (t, t2),
        };
        let values = (self.cpu.get(t), self.cpu.get(t2));
        let answer = if instruction.coprocessor == PINS {
            self.access_pins(instruction, values)?
        } else {
            let units = self.system.coprocessors.as_mut();
            units.map_or(Answer::Unknown, |units| units.execute(instruction, values))
        };
        match answer {
            Answer::Done => {}
            Answer::Word(flags) if t == 15 => self.cpu.set_flags(flags),
            Answer::Word(word) => self.cpu.set(t, word),
            Answer::Pair(low, high) => {
                self.cpu.set(t, low);
                self.cpu.set(t2, high);
            }
            // It stalls, and raises the core's NMI when the access goes away (pico-sdk, hardware/rcp.h, of a panic): here
            // at once.
            Answer::Failed => {
                self.pend_by_store(NMI);
                self.request_attention();
            }
            Answer::Unknown => return Err(Trap::UnmodelledCoprocessor),
        }
        Ok(())
    }

    fn access_pins(
        &mut self,
        instruction: CoprocessorInstruction,
        values: (u32, u32),
    ) -> Result<Answer, Trap> {
        let Some(access) = pin_access(instruction, values) else { return Ok(Answer::Unknown) };
        match access {
            PinAccess::Read(offset) => self.read_peripheral(SIO + offset).map(Answer::Word),
            PinAccess::ReadPair(low, high) => {
                let low = self.read_peripheral(SIO + low)?;
                Ok(Answer::Pair(low, self.read_peripheral(SIO + high)?))
            }
            PinAccess::Write(offset, value) => {
                self.write_peripheral(SIO + offset, value, u32::MAX).map(|()| Answer::Done)
            }
            PinAccess::WritePair(low, high) => {
                for (offset, value) in [low, high] {
                    self.write_peripheral(SIO + offset, value, u32::MAX)?;
                }
                Ok(Answer::Done)
            }
        }
    }
}
