//! What a program has used that has no model, for messages.

use std::cmp::Reverse;
use std::fmt::Write as _;

use rtmark_sim::{Machine, Soc};
use schemars::JsonSchema;
use serde::Serialize;

/// Accesses to a register without a model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unmodelled {
    /// The register's address.
    pub address: u32,
    /// The peripheral and the register's name or offset; absent if neither the soc file nor the core has a
    /// peripheral there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
    /// The number of reads. A read returns zero, or the last value written if the soc file says that it
    /// is kept.
    pub reads: u64,
    /// The number of writes, which had no effect.
    pub writes: u64,
}

/// Returns the accesses of a run to registers without a model.
pub fn unmodelled(machine: &Machine) -> Vec<Unmodelled> {
    machine.unmodelled().map(|one| Unmodelled::of(one, machine.soc())).collect()
}

impl Unmodelled {
    /// Describes the accesses to a register of a soc.
    fn of(of: rtmark_sim::Unmodelled, soc: &Soc) -> Self {
        let rtmark_sim::Unmodelled { address, reads, writes } = of;
        Self { address, register: soc.register_name(address), reads, writes }
    }

    /// Returns the address, with the register's name if known.
    pub fn place(&self) -> String {
        match &self.register {
            Some(register) => format!("{register} ({:#010x})", self.address),
            None => format!("{:#010x}", self.address),
        }
    }

    /// Returns the register, and how often it was read and written.
    pub fn text(&self) -> String {
        let mut text = self.place();
        for (times, verb) in [(self.reads, "read"), (self.writes, "written")] {
            match times {
                0 => {}
                1 => _ = write!(text, " {verb} once"),
                _ => _ = write!(text, " {verb} {times} times"),
            }
        }
        text
    }
}

/// How many registers without a model are named without --stats.
const NAMED_UNMODELLED: usize = 8;

/// Lists registers without a model in one line, and says where all are shown.
pub fn list_unmodelled(unmodelled: &[Unmodelled], all: &str) -> String {
    let mut text = String::from("no model: ");
    // The most often read first: the program may have polled it.
    let mut busiest: Vec<_> = unmodelled.iter().collect();
    busiest.sort_by_key(|register| Reverse(register.reads));
    let busiest = busiest.into_iter().take(NAMED_UNMODELLED);
    let named: Vec<_> = busiest.map(Unmodelled::text).collect();
    text.push_str(&named.join(", "));
    let more = unmodelled.len() - named.len();
    if more > 0 {
        let _ = write!(text, ", and {more} more ({all})");
    }
    text
}

/// Returns what the core and DMA controllers have done of which not everything has a model.
pub fn core_and_dma_notes(machine: &Machine) -> Vec<String> {
    let core = machine.core_without_model().into_iter().map(|what| format!("no model: {what}"));
    let items = machine.dma_transfers();
    let dma = (items > 0).then(|| {
        format!(
            "DMA moved {items} item{}: how long that takes is an estimate, and that the core waits for memories and buses \
             which DMA uses has no model",
            if items == 1 { "" } else { "s" }
        )
    });
    core.chain(dma).collect()
}

/// Returns all that a machine has used without a model, a line each.
pub fn model_notes(machine: &Machine) -> Vec<String> {
    let found = unmodelled(machine);
    let listed =
        (!found.is_empty()).then(|| list_unmodelled(&found, "`rtmark sim --stats` shows all"));
    listed.into_iter().chain(core_and_dma_notes(machine)).collect()
}

#[cfg(test)]
mod tests {
    use rtmark_sim::{Cycles, Register};

    use super::*;

    const CHIP: &str = "name = 'x'\ndescription = 'd'\ncore = 'cortex-m4'\nclock_hz = 1000\ninterrupts = 16\n\
        priority_bits = 4\n[[memory]]\nname = 'ROM'\nkind = 'flash'\nbase = 0\nsize = 64\n\
        [[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0x20000000\nsize = 64\n\
        [[peripheral]]\nname = 'DMA'\nkind = 'stm32-dma-channels'\nbase = 0x40000000\n\
        [unmodelled]\nSPI1 = [0x4000_1000, 0x400]\n";

    #[test]
    fn registers_are_named_the_most_often_read_first() {
        let mut machine = Machine::new(&Soc::from_toml(CHIP).expect("good"));
        assert!(model_notes(&machine).is_empty());
        for at in 0..10 {
            machine.store_word(0x4000_1000 + 4 * at, 0).expect("it responds");
        }
        // ldr r1, [r0]; b .
        let program = [0x40, 0, 0, 0x20, 9, 0, 0, 0, 0x01, 0x68, 0xFE, 0xE7];
        machine.poke(0, &program).expect("flash");
        machine.reset().expect("vectors");
        machine.set_register(Register::R(0), 0x4000_1008);
        machine.run(Cycles(100));
        let all: Vec<_> = [2, 0, 1, 3, 4, 5, 6, 7]
            .map(|at| {
                let read = if at == 2 { " read once" } else { "" };
                format!("SPI1+{:#x} ({:#010x}){read} written once", 4 * at, 0x4000_1000 + 4 * at)
            })
            .into();
        let listed =
            format!("no model: {}, and 2 more (`rtmark sim --stats` shows all)", all.join(", "));
        assert_eq!(model_notes(&machine), std::slice::from_ref(&listed));
        // MEM2MEM, an item from RAM to RAM.
        for (offset, value) in [(0xC, 1), (0x10, 0x2000_0000), (0x14, 0x2000_0030), (0x8, 0x4001)] {
            machine.store_word(0x4000_0000 + offset, value).expect("a register");
        }
        machine.run(Cycles(200));
        let notes = model_notes(&machine);
        assert_eq!(notes[0], listed);
        assert!(notes[1].starts_with("DMA moved 1 item: how long"), "{notes:?}");
    }
}
