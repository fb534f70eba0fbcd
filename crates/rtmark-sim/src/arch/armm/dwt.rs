//! The data watchpoint and trace unit: counters and comparators (DDI 0403, C1.8).
//!
//! A value: from what the core has spent cycles on so far, it computes what its registers show. Nothing
//! ticks. It does not know what a match leads to.
//!
//! Cycles are classified so that the identity of C1.8.3 holds: cycles are instructions plus CPICNT, EXCCNT,
//! SLEEPCNT and LSUCNT, less FOLDCNT. How finely the timing rules distinguish cycles decides how well the
//! counters agree with a chip's: the cost of a load and of the branch that follows from it, if a rule gives
//! it as one figure, is counted entirely in LSUCNT.

use crate::arch::armm::mpu::Purpose;
use crate::isa::Features;

/// Offsets of registers from DWT_CTRL.
const CTRL: u32 = 0x00;
const CYCCNT: u32 = 0x04;
const CPICNT: u32 = 0x08;
const FOLDCNT: u32 = 0x18;
const PCSR: u32 = 0x1C;
const COMPARATORS: std::ops::Range<u32> = 0x20..0x60;
/// CTRL: four comparators, and no bit that marks a feature as missing.
const CTRL_FIXED: u32 = 4 << 28;
const CTRL_WRITABLE: u32 = 0x007F_1FFF;
const CYCCNTENA: u32 = 1;
/// CTRL bits that enable CPICNT, EXCCNT, SLEEPCNT, LSUCNT and FOLDCNT, in the order of the counters.
const EVENT_ENABLES: [u32; 5] = [1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21];
/// FUNCTION: the comparator has matched since it was last read.
const MATCHED: u32 = 1 << 24;
/// The writable bits of FUNCTION, on ARMv7-M and ARMv8-M, and those of ARMv7-M that make it more than an
/// address match.
const FUNCTION_WRITABLE: u32 = 0x000F_FDAF;
const FUNCTION_WRITABLE_V8M: u32 = 0xC3F;
const CYCMATCH: u32 = 1 << 7;
const DATAVMATCH: u32 = 1 << 8;

/// What a core has spent cycles on since reset, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CycleCounts {
    pub cycles: u64,
    pub instructions: u64,
    /// Cycles for entering and leaving exceptions.
    pub exceptions: u64,
    pub sleep: u64,
    /// Cycles of sleep that any interrupt would have ended, held back by a mask or not.
    pub interruptible_sleep: u64,
    /// Cycles for loads and stores, beyond one each. Only counted while something reads this.
    pub load_store: u64,
    /// Instructions that took no cycle. Only counted while something reads this.
    pub folded: u64,
}

impl CycleCounts {
    /// Returns the five counts, in the order of their registers.
    const fn counts(self) -> [u64; 5] {
        let others = self.instructions + self.exceptions + self.sleep + self.load_store;
        let base = (self.cycles + self.folded).wrapping_sub(others);
        [base, self.exceptions, self.sleep, self.load_store, self.folded]
    }
}

/// A counter that is computed from a count that only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Counter {
    runs: bool,
    value: u32,
    since: u64,
}

impl Counter {
    const fn read(self, count: u64) -> u32 {
        let passed = if self.runs { count.wrapping_sub(self.since) as u32 } else { 0 };
        self.value.wrapping_add(passed)
    }

    const fn write(&mut self, value: u32, count: u64) {
        (self.value, self.since) = (value, count);
    }

    const fn run(&mut self, on: bool, count: u64) {
        self.write(self.read(count), count);
        self.runs = on;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Comparator {
    value: u32,
    mask: u32,
    function: u32,
}

impl Comparator {
    /// Returns whether it looks for an access: addresses of instructions or of data. Data values, cycles
    /// and pairs that form a range are only kept as registers.
    const fn looks_for(self, access: Purpose, v8m: bool) -> bool {
        if v8m {
            // DDI 0553, D1.2, DWT_FUNCTION: MATCH, and an ACTION that is a debug event.
            return matches!(
                (self.function & 0x3F, access),
                (0x12, Purpose::Execute)
                    | (0x14 | 0x16, Purpose::Read)
                    | (0x14 | 0x15, Purpose::Write)
            );
        }
        matches!(
            (self.function & 0xF, access),
            (4, Purpose::Execute) | (5 | 7, Purpose::Read) | (6 | 7, Purpose::Write)
        ) && self.function & (CYCMATCH | DATAVMATCH) == 0
    }

    /// Returns whether an access of this many bytes touches the comparator's address, with its low bits
    /// masked.
    const fn covers(self, address: u32, bytes: u32) -> bool {
        let mask = u32::MAX.unbounded_shl(self.mask);
        let start = self.value & mask;
        address.wrapping_sub(start) <= !mask || start.wrapping_sub(address) < bytes
    }
}

/// The state of the unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dwt {
    v8m: bool,
    /// DEMCR.TRCENA.
    powered: bool,
    control: u32,
    cycles: Counter,
    events: [Counter; 5],
    comparators: [Comparator; 4],
}

impl Dwt {
    pub fn new(features: Features) -> Self {
        Self { v8m: features.v8m, ..Self::default() }
    }

    /// Reads the register at an offset from DWT_CTRL; returns `None` where there is none. Registers read as
    /// zero without power.
    pub fn read(&mut self, offset: u32, spent: &CycleCounts, pc: u32) -> Option<u32> {
        let value = match offset {
            CTRL => CTRL_FIXED | self.control,
            CYCCNT => self.cycles.read(spent.cycles),
            CPICNT..=FOLDCNT if offset & 3 == 0 => {
                let at = ((offset - CPICNT) / 4) as usize;
                self.events[at].read(spent.counts()[at]) & 0xFF
            }
            PCSR => pc,
            _ => {
                let comparator = self.comparator(offset)?;
                match offset & 0xF {
                    0x0 => comparator.value,
                    0x4 => comparator.mask,
                    _ => {
                        let function = comparator.function;
                        comparator.function &= !MATCHED;
                        function
                    }
                }
            }
        };
        Some(if self.powered { value } else { 0 })
    }

    /// Writes the register at an offset from DWT_CTRL; returns whether there is one. Writes without power
    /// have no effect.
    pub fn write(&mut self, offset: u32, value: u32, spent: &CycleCounts) -> bool {
        if !self.powered {
            return offset < COMPARATORS.end;
        }
        match offset {
            CTRL => {
                let old = std::mem::replace(&mut self.control, value & CTRL_WRITABLE);
                self.settle(old, spent);
            }
            CYCCNT => self.cycles.write(value, spent.cycles),
            CPICNT..=FOLDCNT if offset & 3 == 0 => {
                let at = ((offset - CPICNT) / 4) as usize;
                self.events[at].write(value & 0xFF, spent.counts()[at]);
            }
            PCSR => {}
            _ => {
                let writable = if self.v8m { FUNCTION_WRITABLE_V8M } else { FUNCTION_WRITABLE };
                let Some(comparator) = self.comparator(offset) else { return false };
                match offset & 0xF {
                    0x0 => comparator.value = value,
                    0x4 => comparator.mask = value & 0x1F,
                    _ => comparator.function = value & writable,
                }
            }
        }
        true
    }

    fn comparator(&mut self, offset: u32) -> Option<&mut Comparator> {
        let there = COMPARATORS.contains(&offset) && matches!(offset & 0xF, 0x0 | 0x4 | 0x8);
        if there {
            self.comparators.get_mut(((offset - COMPARATORS.start) / 16) as usize)
        } else {
            None
        }
    }

    /// Starts and stops the counters according to the control register.
    fn settle(&mut self, old: u32, spent: &CycleCounts) {
        self.cycles.run(self.powered && self.control & CYCCNTENA != 0, spent.cycles);
        for ((counter, enable), count) in
            self.events.iter_mut().zip(EVENT_ENABLES).zip(spent.counts())
        {
            // A counter starts at zero when its event is enabled (C1.8.8).
            if self.control & enable != 0 && old & enable == 0 {
                counter.write(0, count);
            }
            counter.run(self.powered && self.control & enable != 0, count);
        }
    }

    /// Sets DEMCR.TRCENA.
    pub fn power(&mut self, on: bool, spent: &CycleCounts) {
        self.powered = on;
        self.settle(self.control, spent);
    }

    /// Returns whether a counter is running that needs the cycles of each instruction.
    pub fn counts_instructions(&self) -> bool {
        self.events[0].runs || self.events[3].runs || self.events[4].runs
    }

    /// Returns whether a comparator looks for accesses of a kind.
    pub fn looks_for(&self, access: Purpose) -> bool {
        self.powered
            && self.comparators.iter().any(|comparator| comparator.looks_for(access, self.v8m))
    }

    /// Compares an access; returns whether a comparator matches.
    pub fn compare(&mut self, address: u32, bytes: u32, access: Purpose) -> bool {
        let mut matches = false;
        for comparator in &mut self.comparators {
            if comparator.looks_for(access, self.v8m) && comparator.covers(address, bytes) {
                comparator.function |= MATCHED;
                matches = true;
            }
        }
        matches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(cycles: u64, instructions: u64) -> CycleCounts {
        CycleCounts { cycles, instructions, ..CycleCounts::default() }
    }

    #[test]
    fn the_cycle_counter_needs_power_and_enable() {
        let mut dwt = Dwt::default();
        assert!(dwt.write(CTRL, CYCCNTENA, &at(0, 0)), "which does nothing without power");
        dwt.power(true, &at(100, 0));
        assert_eq!(dwt.read(CTRL, &at(100, 0), 0), Some(4 << 28));
        dwt.write(CTRL, CYCCNTENA, &at(100, 0));
        assert_eq!(dwt.read(CYCCNT, &at(150, 0), 0), Some(50));
        dwt.write(CYCCNT, 0, &at(200, 0));
        let wrapped = at(u64::from(u32::MAX) + 201, 0);
        assert_eq!(dwt.read(CYCCNT, &wrapped, 0), Some(0));
        dwt.power(false, &wrapped);
        assert_eq!(dwt.read(CYCCNT, &wrapped, 0), Some(0));
    }

    #[test]
    fn the_counters_add_up_to_the_cycles() {
        let mut dwt = Dwt::default();
        dwt.power(true, &at(0, 0));
        dwt.write(CTRL, EVENT_ENABLES.iter().sum(), &at(10, 5));
        let spent = CycleCounts {
            cycles: 110,
            instructions: 55,
            exceptions: 20,
            sleep: 7,
            interruptible_sleep: 0,
            load_store: 9,
            folded: 2,
        };
        let counts = [8, 12, 16, 20, 24].map(|offset| dwt.read(offset, &spent, 0).expect("there"));
        assert_eq!(counts[1..], [20, 7, 9, 2]);
        assert_eq!(100, 50 + counts[0] + counts[1] + counts[2] + counts[3] - counts[4]);
    }

    #[test]
    fn comparators_mask_low_bits() {
        let comparator = Comparator { value: 0x2000_0013, mask: 4, function: 6 };
        assert!(comparator.covers(0x2000_001F, 1) && comparator.covers(0x2000_000E, 4));
        assert!(!comparator.covers(0x2000_0020, 4) && !comparator.covers(0x2000_000C, 4));
    }
}
