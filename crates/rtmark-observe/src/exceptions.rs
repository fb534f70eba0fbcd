//! Names exceptions, and interrupts by their handlers' symbols.

use std::collections::{BTreeMap, HashMap};

use rtmark_sim::{CoreKind, Machine, Symbols};

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
