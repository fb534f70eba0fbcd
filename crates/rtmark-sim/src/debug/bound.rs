//! An upper bound on the cycles that a part of a run can take, which exposes errors of the timing model.
//!
//! The bound is not an estimate: a figure above it is one that no core could produce.

use rtmark_units::{Cycles, Instructions};

use crate::soc::{CoreKind, Soc};
use crate::state::{Hit, Overhead};

/// The maximum number of cycles in which a core refills its pipeline after a jump, while the bus is still
/// busy with earlier transfers.
const REFILL: u64 = 8;

/// What the longest instructions of a core take, without the waits that the machine counts.
#[derive(Clone, Copy)]
struct LongestInstruction {
    /// Words that one instruction transfers.
    words: u64,
    /// Cycles of a calculation, from its operands to the use of its result.
    calculation: u64,
    /// Fetches that one instruction may wait for.
    fetches: u64,
    /// Words that an exception's entry transfers, and its return again.
    frame: u64,
}

impl LongestInstruction {
    /// Returns the values for a core, from its manuals.
    const fn of(core: CoreKind) -> Self {
        match core {
            // LDM of all registers (DDI 0403, A7.7). The slow multiplier of a Cortex-M0 takes 32 (DDI 0432,
            // 3.3), SDIV 12 (DDI 0337, 3.3). Instructions extend over two words of code.
            CoreKind::CortexM0
            | CoreKind::CortexM0Plus
            | CoreKind::CortexM3
            | CoreKind::CortexM4 => Self { words: 16, calculation: 32, fetches: 2, frame: 9 },
            // VLDM of S0 to S31, with the additional words of VLSTM (DDI 0553, C2.4). VDIV and VSQRT take
            // 14 (DDI 0439, 7.2.3), twice that in double precision (`timing/cores/cortex_m7.rs`).
            CoreKind::CortexM4F | CoreKind::CortexM33 | CoreKind::CortexM7 => {
                Self { words: 34, calculation: 32, fetches: 2, frame: 42 }
            }
            // VLDM of D0 to D15 (DDI 0406, A8.6.319). VDIV and VSQRT in double precision take 96
            // (`armr/timing/demand.rs`). Instructions, not exception entry, save the registers.
            CoreKind::CortexR5 => Self { words: 32, calculation: 97, fetches: 2, frame: 0 },
            // CM.POPRETZ of RA and S0 to S11 (Zc 1.0, 2.5). A division takes 20
            // (`riscv/timing/pipeline.rs`). A jump may wait for a fetch in progress that is no longer
            // wanted, and lead to an instruction in two words.
            CoreKind::Hazard3 => Self { words: 13, calculation: 20, fetches: 3, frame: 0 },
            // A word in two transfers; a division takes 37 (`riscv/rules.rs`).
            CoreKind::Ibex => Self { words: 2, calculation: 37, fetches: 3, frame: 0 },
        }
    }
}

/// Cycles of an exception's entry or return beyond its words: Arm's documents give at most 16 for entry on
/// a Cortex-M0, of which eight words are a part (DDI 0432, 3.6).
const ENTRY: u64 = 16;

/// What a part of a run has taken, or the whole run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// Cycles.
    pub cycles: Cycles,
    /// Instructions executed.
    pub instructions: Instructions,
    /// What else the cycles were spent on.
    pub overhead: Overhead,
}

impl From<&Hit> for Elapsed {
    fn from(hit: &Hit) -> Self {
        Self { cycles: hit.cycle, instructions: hit.instructions, overhead: hit.overhead }
    }
}

impl Elapsed {
    /// Returns the difference between two moments.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let Overhead { waited, asleep, exceptions } = self.overhead;
        Self {
            cycles: self.cycles.saturating_sub(before.cycles),
            instructions: self.instructions.saturating_sub(before.instructions),
            overhead: Overhead {
                waited: waited.saturating_sub(before.overhead.waited),
                asleep: asleep.saturating_sub(before.overhead.asleep),
                exceptions: exceptions.saturating_sub(before.overhead.exceptions),
            },
        }
    }
}

/// The maximum that instructions and exceptions of a soc's core can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    instruction: u64,
    exception: u64,
}

impl Bound {
    /// Computes the bound for a soc. An instruction takes at most as long as its words, each of which may
    /// wait for a fetch on the same bus, a calculation, a refill, and the wait states of the words from
    /// which it is fetched. The machine counts what data accesses wait for.
    pub fn of(soc: &Soc) -> Self {
        let LongestInstruction { words, calculation, fetches, frame } =
            LongestInstruction::of(soc.core);
        let fetch = fetches * most_wait_states(soc);
        let instruction = (2 * words).max(calculation) + REFILL + fetch;
        // Entry and return, each with the complete frame.
        Self { instruction, exception: 2 * (2 * frame + ENTRY + REFILL + fetch) }
    }

    /// Returns the maximum number of cycles that something can have taken. A moment may be inside an
    /// instruction or an exception's entry, so one more of each is allowed for.
    pub fn max_cycles(self, elapsed: &Elapsed) -> Cycles {
        let Overhead { waited, asleep, exceptions } = elapsed.overhead;
        let instructions =
            elapsed.instructions.0.saturating_add(1).saturating_mul(self.instruction);
        let exceptions = exceptions.saturating_add(1).saturating_mul(self.exception);
        let all = instructions.saturating_add(exceptions);
        Cycles(all.saturating_add(waited.0).saturating_add(asleep.0))
    }

    /// Returns a description of the error if a figure is impossible for the core, otherwise `None`.
    pub fn violation(self, elapsed: &Elapsed) -> Option<String> {
        let most = self.max_cycles(elapsed);
        let Elapsed { cycles, instructions, overhead } = elapsed;
        let Overhead { waited, asleep, exceptions } = overhead;
        (*cycles > most).then(|| {
            format!(
                "{cycles} were counted where at most {most} are possible: \
                 {instructions} of {} each, {exceptions} exceptions of {}, waits of {waited} and a \
                 sleep of {asleep}",
                self.instruction, self.exception
            )
        })
    }
}

/// Returns the maximum wait states that a memory of a soc can have, as given by its file or as set by
/// registers.
fn most_wait_states(soc: &Soc) -> u64 {
    let as_given = soc.memories.iter().map(|memory| u64::from(memory.timing.wait_states));
    let registers = soc.peripherals.iter().flat_map(|peripheral| &peripheral.registers);
    let fields = registers.filter_map(|register| register.controls.as_ref()?.wait_states);
    let as_set = fields.map(|(_, width)| (1 << width.min(8)) - 1);
    let mut memories = soc.memories.iter();
    let as_product = memories.any(|memory| !memory.wait_states_by.is_empty());
    let as_product = as_product.then_some(u64::from(u8::MAX));
    as_given.chain(as_set).chain(as_product).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soc(name: &str) -> Soc {
        let file = format!("{}/../../socs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        Soc::from_toml(&std::fs::read_to_string(file).expect("readable")).expect("good")
    }

    fn elapsed(cycles: u64, instructions: u64) -> Elapsed {
        let (cycles, instructions) = (Cycles(cycles), Instructions(instructions));
        Elapsed { cycles, instructions, overhead: Overhead::default() }
    }

    #[test]
    fn pipelines_that_take_401_cycles_per_instruction_are_rejected() {
        for name in ["stm32f405", "nrf52840", "stm32f100", "lm3s6965", "stm32l432"] {
            let bound = Bound::of(&soc(name));
            for instructions in [10, 50, 1_000, 1_000_000] {
                let excess = bound.violation(&elapsed(instructions * 401, instructions));
                let excess = excess.unwrap_or_else(|| panic!("{name}: {instructions}"));
                for part in [instructions * 401, instructions] {
                    assert!(excess.contains(&part.to_string()), "{excess}");
                }
            }
        }
    }

    /// The figures are those that timing model 7 printed for Embassy's queue.send.immediate and for the
    /// first sample of RTIC's queue.handover, built with `--opt 2`.
    #[test]
    fn impossible_figures_of_timing_model_7_are_rejected() {
        let bound = Bound::of(&soc("stm32f405"));
        assert!(bound.violation(&elapsed(19_649, 49)).is_some());
        assert!(bound.violation(&elapsed(135_643, 338)).is_some());
        assert_eq!(bound.violation(&elapsed(585, 347)), None);
    }

    #[test]
    fn possible_figures_are_accepted() {
        let bound = Bound::of(&soc("stm32f405"));
        // A division loop; a span that is mostly spent asleep; one that consists of waits.
        assert_eq!(bound.violation(&elapsed(14_000, 1_000)), None);
        let mut asleep = elapsed(1_000_000, 50);
        assert!(bound.violation(&asleep).is_some());
        asleep.overhead.asleep = Cycles(999_000);
        assert_eq!(bound.violation(&asleep), None);
        let mut waiting = elapsed(1_000_000, 50);
        waiting.overhead.waited = Cycles(999_000);
        assert_eq!(bound.violation(&waiting), None);
        let mut interrupted = elapsed(10_000, 50);
        interrupted.overhead.exceptions = 100;
        assert_eq!(bound.violation(&interrupted), None);
    }

    #[test]
    fn a_span_is_the_difference_between_two_moments() {
        let mut before = elapsed(100, 10);
        before.overhead = Overhead { waited: Cycles(5), asleep: Cycles(6), exceptions: 7 };
        let mut after = elapsed(250, 30);
        after.overhead = Overhead { waited: Cycles(15), asleep: Cycles(26), exceptions: 37 };
        let mut between = elapsed(150, 20);
        between.overhead = Overhead { waited: Cycles(10), asleep: Cycles(20), exceptions: 30 };
        assert_eq!(after.since(before), between);
    }
}
