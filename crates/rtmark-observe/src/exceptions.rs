//! What exceptions are called (DDI 0403, B1.5.2), and interrupts by their handlers' symbols.

use std::collections::{BTreeMap, HashMap};

use rtmark_sim::{Machine, Symbols};

/// An exception by its number: the architecture's name, or the interrupt's number.
pub fn exception_name(exception: u16) -> String {
    let name = match exception {
        2 => "NMI",
        3 => "HardFault",
        4 => "MemManage",
        5 => "BusFault",
        6 => "UsageFault",
        7 => "SecureFault",
        11 => "SVCall",
        12 => "DebugMonitor",
        14 => "PendSV",
        15 => "SysTick",
        16.. => return format!("IRQ {}", exception - 16),
        _ => return format!("exception {exception}"),
    };
    name.to_owned()
}

/// Interrupts by what their handlers are called, as `IRQ 43 TIM8_BRK_TIM12`: by the symbols of CMSIS
/// (`TIM8_BRK_TIM12_IRQHandler`), or of Rust's peripheral access crates (`TIM8_BRK_TIM12`).
#[derive(Clone, Debug, Default)]
pub struct ExceptionNames {
    /// Where the vector table stands of which they are.
    table: Option<u32>,
    names: BTreeMap<u16, String>,
}

impl ExceptionNames {
    /// By the vector table that a machine has now.
    pub fn new(machine: &Machine, symbols: &Symbols) -> Self {
        let mut names = Self::default();
        names.look(machine, symbols);
        names
    }

    /// Looks again, if the machine has another vector table than last time.
    pub fn look(&mut self, machine: &Machine, symbols: &Symbols) {
        let table = machine.vector_table();
        if self.table == Some(table) {
            return;
        }
        self.table = Some(table);
        let count = usize::from(machine.soc().interrupts);
        let bytes = machine.peek(table.wrapping_add(64), count * 4);
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes) & !1;
        let handlers: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
        let mut times: HashMap<u32, u32> = HashMap::new();
        for handler in &handlers {
            *times.entry(*handler).or_default() += 1;
        }
        let named = |(exception, handler): (u16, &u32)| {
            // One that several share, as a default handler, tells none of them.
            let alone = times.get(handler) == Some(&1);
            let at = symbols.name_at(*handler).filter(|at| alone && at.offset == 0)?;
            Some((exception, plain(&at.symbol)?.to_owned()))
        };
        self.names = (16..).zip(&handlers).filter_map(named).collect();
    }

    /// An exception as [`exception_name`] has it, with what its handler is called.
    pub fn name(&self, exception: u16) -> String {
        let number = exception_name(exception);
        match self.names.get(&exception) {
            Some(name) => format!("{number} {name}"),
            None => number,
        }
    }
}

/// An interrupt's name in its handler's, if that has one that is more than a number.
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
    fn a_handlers_name_holds_its_interrupts() {
        assert_eq!(plain("TIM8_BRK_TIM12_IRQHandler"), Some("TIM8_BRK_TIM12"));
        assert_eq!(plain("SWI0_EGU0"), Some("SWI0_EGU0"));
        for none in ["IRQ8_Handler", "IRQ8", "IRQ_8", "_isr_wrapper", "Default_Handler", "main", ""]
        {
            assert_eq!(plain(none), None, "{none}");
        }
        assert_eq!(ExceptionNames::default().name(59), "IRQ 43");
    }
}
