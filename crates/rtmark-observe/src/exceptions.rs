//! Names exceptions, and interrupts by their handlers' symbols.

use std::collections::{BTreeMap, HashMap};

use rtmark_sim::{CoreKind, Irq, Machine, Symbols};

/// The part of all handled interrupts that must share a handler for it to be the default one, and how many of
/// them at least: a handler of one's own may serve several.
const SHARED_PART: usize = 4;
const LEAST_SHARED: usize = 3;
/// How many bytes of a handler are searched for a read of the exception's number.
const SEARCHED: usize = 64;
/// Where a handler ends at the latest: `b .`, `bx lr`.
const ENDS: [u16; 2] = [0xE7FE, 0x4770];

/// Names interrupts after their handlers, as in `IRQ 43 TIM8_BRK_TIM12`. The names come from the
/// symbols of CMSIS (`TIM8_BRK_TIM12_IRQHandler`) or of Rust's peripheral access crates
/// (`TIM8_BRK_TIM12`).
#[derive(Clone, Debug)]
pub struct ExceptionNames {
    core: CoreKind,
    /// The address of the vector table that the names come from.
    table: Option<u32>,
    names: BTreeMap<u16, String>,
}

impl ExceptionNames {
    /// Reads the names from the vector table that a machine has now, if its core has one.
    pub fn new(machine: &Machine, symbols: &Symbols) -> Self {
        let mut names = Self { core: machine.soc().core, table: None, names: BTreeMap::new() };
        names.refresh(machine, symbols);
        names
    }

    /// Reads the names again if the machine's vector table has moved.
    pub fn refresh(&mut self, machine: &Machine, symbols: &Symbols) {
        let table = machine.handler_table();
        if self.table == table {
            return;
        }
        self.table = table;
        let count = usize::from(machine.soc().interrupts);
        let bytes = table.map_or_else(Vec::new, |table| machine.peek(table, count * 4));
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes) & !1;
        let handlers: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
        let mut times: HashMap<u32, u32> = HashMap::new();
        for handler in &handlers {
            *times.entry(*handler).or_default() += 1;
        }
        let named = |(exception, handler): (u16, &u32)| {
            // A handler shared by several interrupts, such as a default handler, identifies none of
            // them.
            let alone = times.get(handler) == Some(&1);
            let at = symbols.name_at(*handler).filter(|at| alone && at.offset == 0)?;
            Some((exception, plain(&at.symbol)?.to_owned()))
        };
        self.names = (16..).zip(&handlers).filter_map(named).collect();
    }

    /// Returns an exception's name as [`CoreKind::exception_name`] does, with its handler's name.
    pub fn name(&self, exception: u16) -> String {
        let number = self.core.exception_name(exception);
        match self.names.get(&exception) {
            Some(name) => format!("{number} {name}"),
            None => number,
        }
    }
}

/// Says that an interrupt has no handler of its own, if its vector leads where those of many others lead: to a
/// default handler, perhaps because the name of its own handler is not the one that the table expects. Handlers
/// that read the exception's number from IPSR call others by it, and are no default handlers.
pub fn handler_note(machine: &Machine, symbols: &Symbols, interrupt: Irq) -> Option<String> {
    machine.handler_table()?;
    let handler = machine.handler_of(interrupt).ok()?;
    let others = (0..machine.soc().interrupts).map(Irq::from).filter(|other| *other != interrupt);
    let others: Vec<u32> = others.filter_map(|other| machine.handler_of(other).ok()).collect();
    let sharing = others.iter().filter(|other| **other == handler).count();
    if sharing < LEAST_SHARED || sharing * SHARED_PART < others.len() {
        return None;
    }
    let halves: Vec<u16> = machine
        .peek(handler, SEARCHED)
        .chunks_exact(2)
        .map(|half| u16::from_le_bytes([half[0], half[1]]))
        .take_while(|half| !ENDS.contains(half))
        .collect();
    // MRS Rd, IPSR.
    if halves.windows(2).any(|pair| pair[0] == 0xF3EF && pair[1] & 0xF0FF == 0x8005) {
        return None;
    }
    let at = symbols.name_at(handler).filter(|at| at.offset == 0);
    let at = at.map_or_else(|| format!("{handler:#010x}"), |at| at.symbol);
    let name = machine.soc().core.exception_name(interrupt.exception());
    Some(format!(
        "{name} has no handler of its own: its vector leads to {at}, as those of {sharing} other interrupts do"
    ))
}

/// Extracts an interrupt's name from its handler's, if it is more than a number.
fn plain(handler: &str) -> Option<&str> {
    let name = handler.strip_suffix("_IRQHandler").unwrap_or(handler);
    let is_plain = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let is_number = name
        .strip_prefix("IRQ")
        .is_some_and(|rest| rest.trim_start_matches('_').chars().all(|c| c.is_ascii_digit()));
    (is_plain && !is_number).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_name_covers_its_interrupts() {
        assert_eq!(plain("TIM8_BRK_TIM12_IRQHandler"), Some("TIM8_BRK_TIM12"));
        assert_eq!(plain("SWI0_EGU0"), Some("SWI0_EGU0"));
        for none in ["IRQ8_Handler", "IRQ8", "IRQ_8", "_isr_wrapper", "Default_Handler", "main", ""]
        {
            assert_eq!(plain(none), None, "{none}");
        }
    }

    #[test]
    fn every_core_names_its_own_exceptions() {
        let name = |core: CoreKind, exception| {
            let names = ExceptionNames { core, table: None, names: BTreeMap::new() };
            names.name(exception)
        };
        assert_eq!(name(CoreKind::CortexM4, 59), "IRQ 43");
        assert_eq!(name(CoreKind::CortexM4, 15), "SysTick");
        assert_eq!(name(CoreKind::Hazard3, 15), "timer interrupt");
        assert_eq!(name(CoreKind::Hazard3, 11), "ECALL");
        assert_eq!(name(CoreKind::Hazard3, 59), "IRQ 43");
    }
}
