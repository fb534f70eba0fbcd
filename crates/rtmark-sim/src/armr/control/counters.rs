//! The performance monitor (DDI 0460, chapter 6; DDI 0406, C12): a cycle counter, and three
//! counters of instructions, cycles or software increments. A counter that wraps around sets its overflow flag.
//! The interrupt that it may request then and other events have no model, and it is recorded that a program has
//! asked for them.

use super::CounterValues;

/// Event numbers.
const SOFTWARE: u32 = 0;
const INSTRUCTIONS: u32 = 8;
const CYCLES: u32 = 0x11;

const ENABLED: u32 = 1;
const DIVIDED: u32 = 1 << 3;
/// The cycle counter's bit in the registers that name counters.
const CYCLE_COUNTER: u32 = 1 << 31;
const COUNTERS: usize = 3;
const ALL: u32 = CYCLE_COUNTER | 0b111;

/// Returns a counter's bit in the registers that name counters.
const fn mask(at: usize) -> u32 {
    if at == COUNTERS { CYCLE_COUNTER } else { 1 << at }
}

/// The performance monitor. Counts are computed when they are read.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    control: u32,
    enabled: u32,
    interrupts: u32,
    selected: u32,
    users: u32,
    events: [u32; COUNTERS],
    /// The value of each counter when it was last started or stopped; the cycle counter is last.
    held: [u32; COUNTERS + 1],
    since: CounterValues,
    /// The counters that have wrapped around (PMOVSR), up to `since`.
    overflows: u32,
    asked_for_interrupts: bool,
    asked_for_events: bool,
}

impl Counters {
    pub const fn allows_users(&self) -> bool {
        self.users & 1 == 1
    }

    /// Describes what a program has asked for and does not get.
    pub fn without_model(&self) -> impl Iterator<Item = &'static str> {
        let interrupts = "the interrupts of the performance monitor (PMINTENSET): it requests none";
        let events = "events of the performance monitor (PMXEVTYPER) other than instructions, cycles and software \
                      increments: a counter of them stands still";
        let interrupts = self.asked_for_interrupts.then_some(interrupts);
        interrupts.into_iter().chain(self.asked_for_events.then_some(events))
    }

    const fn counts(&self, bit: u32) -> bool {
        self.control & ENABLED != 0 && self.enabled & bit != 0
    }

    /// Returns what a counter would hold if it were wider.
    fn wide(&self, at: usize, now: CounterValues) -> u64 {
        let held = u64::from(self.held[at]);
        if !self.counts(mask(at)) {
            return held;
        }
        let cycles = now.cycle.wrapping_sub(self.since.cycle);
        let passed = match (at, self.events.get(at)) {
            (COUNTERS, _) if self.control & DIVIDED != 0 => now.cycle / 64 - self.since.cycle / 64,
            (COUNTERS, _) | (_, Some(&CYCLES)) => cycles,
            (_, Some(&INSTRUCTIONS)) => now.instructions.wrapping_sub(self.since.instructions),
            _ => 0,
        };
        held.wrapping_add(passed)
    }

    fn value(&self, at: usize, now: CounterValues) -> u32 {
        self.wide(at, now) as u32
    }

    /// Returns the counters that have wrapped around since their flags were cleared.
    fn overflows(&self, now: CounterValues) -> u32 {
        let wrapped = (0..=COUNTERS).filter(|at| self.wide(*at, now) > u64::from(u32::MAX));
        wrapped.fold(self.overflows, |overflows, at| overflows | mask(at))
    }

    /// Brings all counts up to date, before a change of what is counted.
    fn settle(&mut self, now: CounterValues) {
        self.overflows = self.overflows(now);
        let mut at = 0;
        self.held = [(); COUNTERS + 1].map(|()| {
            at += 1;
            self.value(at - 1, now)
        });
        self.since = now;
    }

    pub fn read(&self, m: u8, opc2: u8, now: CounterValues) -> Option<u32> {
        let selected = self.selected as usize;
        Some(match (m, opc2) {
            // Implementer Arm, R5, three counters.
            (12, 0) => 0x4115_0000 | (COUNTERS as u32) << 11 | self.control,
            (12, 1 | 2) => self.enabled,
            (12, 3) => self.overflows(now),
            (12, 5) => self.selected,
            (13, 0) => self.value(COUNTERS, now),
            (13, 1) => self.events.get(selected).copied().unwrap_or(0),
            (13, 2) if selected < COUNTERS => self.value(selected, now),
            (13, 2) => 0,
            (14, 0) => self.users,
            (14, 1 | 2) => self.interrupts,
            _ => return None,
        })
    }

    pub fn write(&mut self, m: u8, opc2: u8, value: u32, now: CounterValues) -> Option<()> {
        self.settle(now);
        let selected = self.selected as usize;
        match (m, opc2) {
            (12, 0) => {
                self.control = value & 0x39;
                if value & 2 != 0 {
                    self.held[..COUNTERS].fill(0);
                }
                if value & 4 != 0 {
                    self.held[COUNTERS] = 0;
                }
            }
            (12, 1) => self.enabled |= value & ALL,
            (12, 2) => self.enabled &= !value,
            (12, 3) => self.overflows &= !value,
            (12, 4) => {
                for at in 0..COUNTERS {
                    if value >> at & 1 == 1 && self.counts(1 << at) && self.events[at] == SOFTWARE {
                        let (sum, wraps) = self.held[at].overflowing_add(1);
                        self.held[at] = sum;
                        self.overflows |= u32::from(wraps) << at;
                    }
                }
            }
            (12, 5) => self.selected = value & 0x1F,
            (13, 0) => self.held[COUNTERS] = value,
            (13, 1) => {
                if let Some(event) = self.events.get_mut(selected) {
                    *event = value & 0xFF;
                    self.asked_for_events |= !matches!(*event, SOFTWARE | INSTRUCTIONS | CYCLES);
                }
            }
            (13, 2) => {
                if selected < COUNTERS {
                    self.held[selected] = value;
                }
            }
            (14, 0) => self.users = value & 1,
            (14, 1) => {
                self.interrupts |= value & ALL;
                self.asked_for_interrupts |= value & ALL != 0;
            }
            (14, 2) => self.interrupts &= !value,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_counted_while_enabled() {
        let at = |cycle| CounterValues { cycle, instructions: cycle / 2 };
        let mut counters = Counters::default();
        counters.write(12, 1, CYCLE_COUNTER, at(5)).expect("PMCNTENSET");
        counters.write(12, 0, ENABLED, at(10)).expect("PMCR");
        assert_eq!(counters.read(13, 0, at(110)), Some(100));
        counters.write(12, 2, CYCLE_COUNTER, at(210)).expect("PMCNTENCLR");
        assert_eq!(counters.read(13, 0, at(999)), Some(200));
        counters.write(12, 0, ENABLED | DIVIDED | 4, at(640)).expect("PMCR");
        counters.write(12, 1, CYCLE_COUNTER, at(640)).expect("PMCNTENSET");
        assert_eq!(counters.read(13, 0, at(640 + 640)), Some(10));
    }

    #[test]
    fn event_counters_count_the_selected_events() {
        let at = |cycle| CounterValues { cycle, instructions: cycle / 2 };
        let mut counters = Counters::default();
        counters.write(13, 1, INSTRUCTIONS, at(0)).expect("PMXEVTYPER");
        counters.write(12, 1, 3, at(0)).expect("PMCNTENSET");
        counters.write(12, 0, ENABLED, at(0)).expect("PMCR");
        counters.write(12, 4, 2, at(50)).expect("PMSWINC");
        assert_eq!(counters.read(13, 2, at(100)), Some(50));
        counters.write(12, 5, 1, at(100)).expect("PMSELR");
        assert_eq!(counters.read(13, 2, at(100)), Some(1));
        assert_eq!(counters.read(15, 0, at(100)), None);
    }

    #[test]
    fn a_counter_that_wraps_around_sets_its_flag_until_a_one_clears_it() {
        let at = |cycle| CounterValues { cycle, instructions: cycle / 2 };
        let mut counters = Counters::default();
        counters.write(13, 0, 0xFFFF_FF00, at(0)).expect("PMCCNTR");
        counters.write(13, 1, INSTRUCTIONS, at(0)).expect("PMXEVTYPER");
        counters.write(13, 2, 0xFFFF_FF00, at(0)).expect("PMXEVCNTR");
        counters.write(12, 1, CYCLE_COUNTER | 1, at(0)).expect("PMCNTENSET");
        counters.write(12, 0, ENABLED, at(0)).expect("PMCR");
        assert_eq!(counters.read(12, 3, at(0xFF)), Some(0));
        assert_eq!(counters.read(12, 3, at(0x100)), Some(CYCLE_COUNTER));
        assert_eq!(counters.read(13, 0, at(0x100)), Some(0));
        assert_eq!(counters.read(12, 3, at(0x200)), Some(CYCLE_COUNTER | 1));
        counters.write(12, 3, CYCLE_COUNTER, at(0x210)).expect("PMOVSR");
        assert_eq!(counters.read(12, 3, at(0x220)), Some(1));
        // It wraps around for the second time; resetting it does not clear the flag (DDI 0406, C12.7.4).
        let second = 0x100 + (1 << 32);
        assert_eq!(counters.read(12, 3, at(second - 1)), Some(1));
        counters.write(12, 0, ENABLED | 4, at(second)).expect("PMCR");
        assert_eq!(counters.read(12, 3, at(second + 5)), Some(CYCLE_COUNTER | 1));
        assert_eq!(counters.read(13, 0, at(second + 5)), Some(5));
    }

    #[test]
    fn what_has_no_model_is_recorded_once_it_is_asked_for() {
        let now = CounterValues::default();
        let mut counters = Counters::default();
        // What start-up code does: everything off, and events that are counted.
        counters.write(14, 2, ALL, now).expect("PMINTENCLR");
        counters.write(14, 1, 0, now).expect("PMINTENSET");
        for event in [SOFTWARE, INSTRUCTIONS, CYCLES] {
            counters.write(13, 1, event, now).expect("PMXEVTYPER");
        }
        assert_eq!(counters.without_model().count(), 0);
        counters.write(14, 1, CYCLE_COUNTER, now).expect("PMINTENSET");
        let told: Vec<_> = counters.without_model().collect();
        assert!(matches!(told[..], [interrupts] if interrupts.contains("PMINTENSET")), "{told:?}");
        // Data cache misses.
        counters.write(13, 1, 3, now).expect("PMXEVTYPER");
        assert_eq!(counters.without_model().count(), 2);
    }

    #[test]
    fn a_software_increment_may_overflow() {
        let now = CounterValues::default();
        let mut counters = Counters::default();
        counters.write(12, 5, 2, now).expect("PMSELR");
        counters.write(13, 2, u32::MAX, now).expect("PMXEVCNTR");
        counters.write(12, 1, 4, now).expect("PMCNTENSET");
        counters.write(12, 0, ENABLED, now).expect("PMCR");
        counters.write(12, 4, 4, now).expect("PMSWINC");
        assert_eq!((counters.read(13, 2, now), counters.read(12, 3, now)), (Some(0), Some(4)));
    }
}
