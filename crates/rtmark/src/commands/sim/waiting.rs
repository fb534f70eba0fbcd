//! Hints for programs that seem to wait for what has no model.

use rtmark_observe::Unmodelled;

/// The number of reads of a register without a model that suggests polling.
const MANY_READS: u64 = 1_000;

/// Returns a hint if a program seems to poll one of the registers without a model that it accessed.
pub fn polling_hint(unmodelled: &[Unmodelled]) -> Option<String> {
    let busiest = unmodelled.iter().max_by_key(|register| register.reads)?;
    (busiest.reads >= MANY_READS).then(|| {
        let (place, reads) = (busiest.place(), busiest.reads);
        format!(
            "the program may be waiting for {place}, which has no model and was read {reads} times: add a \
             [[peripheral]] for it to the soc file (docs/socs.md)"
        )
    })
}

/// Returns a hint if a program that nothing wakes wrote to a register without a model. Whether that was to start
/// something is unknown: it may just as well wait for what the run can be given.
pub fn wake_hint(unmodelled: &[Unmodelled]) -> Option<String> {
    let mut started = unmodelled.iter().filter(|register| register.writes > 0);
    let place = started.next()?.place();
    let others = if started.next().is_some() { " or another register that" } else { ", which" };
    Some(format!(
        "the program may be waiting for bytes for a UART (--uart-in) or the level of a pin (--pin), or for something \
         that it started through {place}{others} has no model: add a [[peripheral]] for it to the soc file \
         (docs/socs.md)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(address: u32, register: &str, writes: u64) -> Unmodelled {
        Unmodelled { address, register: Some(register.to_owned()), reads: 1, writes }
    }

    /// A shell that waits to be typed to has often written to a peripheral without a model before.
    #[test]
    fn a_program_that_nothing_wakes_may_wait_for_input() {
        let all = [(0x10, "DMA.ISR", 0), (0x14, "DMA.CR", 1), (0x20, "ADC.CR", 2)];
        let all = all.map(|(address, name, writes)| written(address, name, writes));
        assert_eq!(wake_hint(&all[..1]), None);
        let one = wake_hint(&all[..2]).unwrap_or_default();
        assert!(one.contains("(--uart-in)") && one.contains("(--pin)"), "{one}");
        assert!(one.contains("through DMA.CR (0x00000014), which has no model"), "{one}");
        let more = wake_hint(&all).unwrap_or_default();
        assert!(
            more.contains("DMA.CR (0x00000014) or another register that has no model"),
            "{more}"
        );
    }
}
