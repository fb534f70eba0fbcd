//! Xh3irq, Hazard3's interrupt controller: enables, forced interrupts, priorities and preemption.
//!
//! Source: Hazard3's documentation, "Xh3irq" and the CSRs `meiea` to `meicontext` (RP2350
//! datasheet, 3.8.6.1).

/// The number of external interrupts in RP2350's configuration.
pub const INTERRUPTS: u16 = 52;
const LINES: u64 = (1 << INTERRUPTS) - 1;
/// The preemption level above all priorities.
const NO_PREEMPTION: u32 = 16;

pub const MEIEA: u16 = 0xBE0;
pub const MEIPA: u16 = 0xBE1;
pub const MEIFA: u16 = 0xBE2;
pub const MEIPRA: u16 = 0xBE3;
pub const MEINEXT: u16 = 0xBE4;
pub const MEICONTEXT: u16 = 0xBE5;

/// The controller's registers.
#[derive(Clone, Debug)]
pub struct Controller {
    enabled: u64,
    forced: u64,
    /// The priority of each interrupt, in four bits.
    priority: [u8; INTERRUPTS as usize],
    context: Context,
}

/// MEICONTEXT: the preempted contexts, and the priorities that preempt.
#[derive(Clone, Copy, Debug)]
struct Context {
    /// The lowest preempting priorities, now and in the two preempted contexts.
    preempt: u32,
    before: u32,
    before_that: u32,
    interrupt: Option<u16>,
    /// Whether MRET restores the priorities.
    restores: bool,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            enabled: 0,
            forced: 0,
            priority: [0; INTERRUPTS as usize],
            context: Context {
                preempt: 0,
                before: 0,
                before_that: 0,
                interrupt: None,
                restores: false,
            },
        }
    }
}

/// Returns the 16-bit window of an array that an index selects.
const fn window(array: u64, index: u32) -> u32 {
    let index = index & 31;
    if index > 3 { 0 } else { ((array >> (16 * index)) as u32 & 0xFFFF) << 16 }
}

fn set_window(array: &mut u64, index: u32, value: u32) {
    let index = index & 31;
    if index <= 3 {
        let at = 16 * index;
        *array = (*array & !(0xFFFF << at) | u64::from(value >> 16) << at) & LINES;
    }
}

impl Controller {
    fn pending(&self, lines: u64) -> u64 {
        (lines & LINES) | self.forced
    }

    /// Returns the enabled and pending interrupts of at least a priority.
    fn active(&self, lines: u64, least: u32) -> impl Iterator<Item = (u16, u32)> + '_ {
        let mut left = self.pending(lines) & self.enabled;
        std::iter::from_fn(move || {
            let number = left.trailing_zeros() as u16;
            (left != 0).then(|| {
                left &= left - 1;
                (number, u32::from(self.priority[usize::from(number)]))
            })
        })
        .filter(move |(_, priority)| *priority >= least)
    }

    /// Returns whether an external interrupt is signalled to the core: MIP.MEIP.
    pub fn is_pending(&self, lines: u64) -> bool {
        self.pending(lines) & self.enabled != 0
            && self.active(lines, self.context.preempt).next().is_some()
    }

    /// Returns the next interrupt to handle and its priority: that of the highest priority, and
    /// among equal ones the lowest number.
    fn next(&self, lines: u64) -> Option<(u16, u32)> {
        self.active(lines, self.context.before)
            .max_by_key(|(number, priority)| (*priority, std::cmp::Reverse(*number)))
    }

    /// Returns the external interrupt for which a trap would be entered now.
    pub fn taken(&self, lines: u64) -> Option<u16> {
        self.active(lines, self.context.preempt)
            .max_by_key(|(number, priority)| (*priority, std::cmp::Reverse(*number)))
            .map(|(number, _)| number)
    }

    /// Returns the priority of an interrupt, 0 to 15.
    pub fn priority(&self, interrupt: u16) -> u8 {
        self.priority.get(usize::from(interrupt)).copied().unwrap_or(0)
    }

    /// Returns whether an interrupt of a priority would preempt the current handler.
    pub const fn would_preempt(&self, priority: u8) -> bool {
        priority as u32 >= self.context.preempt
    }

    /// Returns whether an interrupt is enabled.
    pub const fn is_enabled(&self, interrupt: u16) -> bool {
        interrupt < INTERRUPTS && self.enabled >> interrupt & 1 == 1
    }

    /// Enables an interrupt at a priority.
    pub fn arm(&mut self, interrupt: u16, priority: u8) {
        if let Some(own) = self.priority.get_mut(usize::from(interrupt)) {
            *own = priority & 15;
            self.enabled |= 1 << interrupt;
        }
    }

    fn level_above(next: Option<(u16, u32)>) -> u32 {
        next.map_or(NO_PREEMPTION, |(_, priority)| priority + 1)
    }

    /// Returns the value of a register; `index` is the written operand, which selects the window.
    pub fn read(&self, number: u16, index: u32, lines: u64) -> u32 {
        match number {
            MEIEA => window(self.enabled, index),
            MEIPA => window(self.pending(lines), index),
            MEIFA => window(self.forced, index),
            MEIPRA => (0..4).fold(0, |word, at| {
                let line = (index & 127) as usize * 4 + at;
                word | u32::from(self.priority.get(line).copied().unwrap_or(0)) << (16 + 4 * at)
            }),
            MEINEXT => self.next(lines).map_or(1 << 31, |(next, _)| u32::from(next) << 2),
            _ => {
                let Context { preempt, before, before_that, interrupt, restores } = self.context;
                before_that << 28
                    | before << 24
                    | preempt << 16
                    | u32::from(interrupt.is_none()) << 15
                    | u32::from(interrupt.unwrap_or(0)) << 4
                    | u32::from(restores)
            }
        }
    }

    /// Applies the side effect of reading MEINEXT: a forced interrupt that it names is no longer
    /// forced. Returns the interrupt that it names.
    pub fn was_read(&mut self, number: u16, lines: u64) -> Option<u16> {
        if number != MEINEXT {
            return None;
        }
        let (next, _) = self.next(lines)?;
        self.forced &= !(1 << next);
        Some(next)
    }

    /// Returns the interrupts that the program has forced.
    pub const fn forced(&self) -> u64 {
        self.forced
    }

    /// Returns the enabled and pending interrupt that would be taken before `interrupt` if that
    /// became pending.
    pub fn preceding_interrupt(&self, interrupt: u16, lines: u64) -> Option<u16> {
        let with = lines | 1 << interrupt.min(63);
        self.taken(with).filter(|first| *first != interrupt)
    }

    /// Writes a register; `index` is the instruction's operand, which selects the window.
    pub fn write(&mut self, number: u16, index: u32, value: u32, lines: u64) {
        match number {
            MEIEA => set_window(&mut self.enabled, index, value),
            MEIFA => set_window(&mut self.forced, index, value),
            MEIPRA => {
                for at in 0..4 {
                    let line = (index & 127) as usize * 4 + at;
                    if let Some(priority) = self.priority.get_mut(line) {
                        *priority = (value >> (16 + 4 * at)) as u8 & 15;
                    }
                }
            }
            MEINEXT if value & 1 != 0 => {
                let next = self.next(lines);
                self.context.preempt = Self::level_above(next);
                self.context.interrupt = next.map(|(next, _)| next);
            }
            MEICONTEXT => {
                let number = (value >> 4 & 0x1FF) as u16;
                self.context = Context {
                    before_that: value >> 28,
                    before: value >> 24 & 15,
                    preempt: value >> 16 & 31,
                    interrupt: (value >> 15 & 1 == 0).then_some(number),
                    restores: value & 1 != 0,
                };
            }
            _ => {}
        }
    }

    /// Updates the preemption context when a trap is entered, external or not.
    pub fn enter(&mut self, external: bool, lines: u64) {
        if external {
            let next = self.next(lines);
            self.context.before_that = self.context.before;
            self.context.before = self.context.preempt & 15;
            self.context.preempt = Self::level_above(next);
        }
        self.context.restores = external;
    }

    /// Restores the preemption context at MRET.
    pub fn leave(&mut self) {
        if self.context.restores {
            self.context.preempt = self.context.before;
            self.context.before = self.context.before_that;
            self.context.before_that = 0;
        }
        self.context.restores = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A controller with interrupts enabled at priorities.
    fn armed(interrupts: &[(u16, u8)]) -> Controller {
        let mut controller = Controller::default();
        for &(number, priority) in interrupts {
            controller.arm(number, priority);
        }
        controller
    }

    fn lines(numbers: &[u16]) -> u64 {
        numbers.iter().fold(0, |lines, number| lines | 1 << number)
    }

    /// MEICONTEXT: PPPREEMPT, PPREEMPT, PREEMPT, NOIRQ, IRQ and MRETEIRQ.
    fn context(controller: &Controller) -> [u32; 6] {
        let value = controller.read(MEICONTEXT, 0, 0);
        let field = |low: u32, bits: u32| value >> low & ((1 << bits) - 1);
        [field(28, 4), field(24, 4), field(16, 5), field(15, 1), field(4, 9), field(0, 1)]
    }

    #[test]
    fn arrays_are_read_and_written_in_windows_of_16_interrupts() {
        for number in 0..INTERRUPTS {
            let (index, bit) = (u32::from(number) / 16, 1_u32 << (16 + number % 16));
            for register in [MEIEA, MEIFA] {
                let mut controller = Controller::default();
                // The lower half holds the index, and nothing else.
                controller.write(register, index, bit | 0xFFE0, 0);
                for at in 0..32 {
                    let expected = if at == index { bit } else { 0 };
                    assert_eq!(controller.read(register, at, 0), expected, "{number} {at}");
                }
                assert_eq!(controller.is_enabled(number), register == MEIEA, "{number}");
                let forced = if register == MEIFA { 1 << number } else { 0 };
                assert_eq!(controller.forced(), forced, "{number}");
                assert_eq!(controller.read(MEIPA, index, 0) != 0, register == MEIFA, "{number}");
                // A window is replaced as a whole, and the others stay.
                controller.write(register, index ^ 1, 0, 0);
                assert_eq!(controller.read(register, index, 0), bit, "{number}");
                controller.write(register, index, 0, 0);
                assert_eq!(controller.read(register, index, 0), 0, "{number}");
            }
            let pending = Controller::default().read(MEIPA, index, lines(&[number]));
            assert_eq!(pending, bit, "{number}");
        }
        // There are 52.
        let mut controller = Controller::default();
        controller.write(MEIEA, 3, 0xFFFF_0000, 0);
        assert_eq!(controller.read(MEIEA, 3, u64::MAX), 0x000F_0000);
        assert_eq!(controller.read(MEIPA, 3, u64::MAX), 0x000F_0000);
        assert!(!controller.is_enabled(52) && controller.priority(52) == 0);
    }

    #[test]
    fn priorities_are_read_and_written_in_windows_of_four_interrupts() {
        for number in 0..INTERRUPTS {
            let mut controller = Controller::default();
            let (index, shift) = (u32::from(number) / 4, 16 + 4 * u32::from(number % 4));
            controller.write(MEIPRA, index, 0xB << shift, 0);
            assert_eq!(controller.read(MEIPRA, index, 0), 0xB << shift, "{number}");
            assert_eq!(controller.read(MEIPRA, index ^ 1, 0), 0, "{number}");
            for other in 0..INTERRUPTS {
                let expected = if other == number { 0xB } else { 0 };
                assert_eq!(controller.priority(other), expected, "{number} {other}");
            }
        }
    }

    #[test]
    fn the_highest_priority_comes_first_and_the_lowest_number_among_equals() {
        let controller = armed(&[(3, 2), (20, 9), (40, 9), (51, 1)]);
        let named = |numbers: &[u16]| controller.read(MEINEXT, 0, lines(numbers));
        // NOIRQ is bit 31, IRQ bits 10 to 2.
        assert_eq!(named(&[]), 1 << 31);
        assert_eq!(named(&[7]), 1 << 31, "it is not enabled");
        assert_eq!(named(&[3, 51]), 3 << 2);
        assert_eq!(named(&[3, 40, 51]), 40 << 2);
        assert_eq!(named(&[3, 20, 40, 51]), 20 << 2);
        assert_eq!(controller.taken(lines(&[3, 20, 40])), Some(20));
        assert_eq!(controller.preceding_interrupt(3, lines(&[40])), Some(40));
        assert_eq!(controller.preceding_interrupt(40, lines(&[3])), None);
        assert_eq!(controller.preceding_interrupt(40, lines(&[20])), Some(20));
    }

    #[test]
    fn reading_the_next_interrupt_ends_its_forcing_only() {
        let mut controller = armed(&[(5, 1), (6, 2)]);
        controller.write(MEIFA, 0, 0x0060_0000, 0);
        assert_eq!(controller.was_read(MEIFA, 0), None);
        assert_eq!(controller.forced(), 0x60);
        assert_eq!(controller.was_read(MEINEXT, 0), Some(6));
        assert_eq!(controller.forced(), 0x20);
        assert_eq!(controller.was_read(MEINEXT, 0), Some(5));
        assert_eq!((controller.was_read(MEINEXT, 0), controller.forced()), (None, 0));
    }

    #[test]
    fn entries_raise_the_preemption_level_and_returns_restore_it() {
        let mut controller = armed(&[(1, 3), (2, 5), (3, 7)]);
        assert_eq!(context(&controller), [0, 0, 0, 1, 0, 0]);
        let all = lines(&[1, 2, 3]);
        controller.enter(true, lines(&[1]));
        assert_eq!(context(&controller), [0, 0, 4, 1, 0, 1]);
        // Only what is more urgent preempts; MEINEXT names what the preempted context did not exclude.
        assert!(!controller.would_preempt(3) && controller.would_preempt(4));
        assert!(!controller.is_pending(lines(&[1])) && controller.is_pending(lines(&[1, 2])));
        assert_eq!((controller.taken(lines(&[1])), controller.taken(all)), (None, Some(3)));
        assert_eq!(controller.read(MEINEXT, 0, lines(&[1])), 1 << 2);
        controller.enter(true, lines(&[1, 2]));
        assert_eq!(context(&controller), [0, 4, 6, 1, 0, 1]);
        assert_eq!(controller.read(MEINEXT, 0, lines(&[1])), 1 << 31);
        controller.enter(true, all);
        assert_eq!(context(&controller), [4, 6, 8, 1, 0, 1]);
        controller.leave();
        assert_eq!(context(&controller), [0, 4, 6, 1, 0, 0]);
        // Without MRETEIRQ, MRET restores nothing.
        controller.leave();
        assert_eq!(context(&controller), [0, 4, 6, 1, 0, 0]);
    }

    #[test]
    fn other_traps_leave_the_preemption_level_and_its_return_alone() {
        let mut controller = armed(&[(1, 3)]);
        controller.enter(true, lines(&[1]));
        controller.enter(false, lines(&[1]));
        assert_eq!(context(&controller), [0, 0, 4, 1, 0, 0]);
        controller.leave();
        assert_eq!(context(&controller), [0, 0, 4, 1, 0, 0]);
    }

    #[test]
    fn updating_the_context_names_the_interrupt_that_is_handled() {
        let mut controller = armed(&[(9, 15), (33, 6)]);
        controller.write(MEINEXT, 0, 0, lines(&[33]));
        assert_eq!(context(&controller), [0, 0, 0, 1, 0, 0], "UPDATE is not set");
        controller.write(MEINEXT, 0, 1, lines(&[33]));
        assert_eq!(context(&controller), [0, 0, 7, 0, 33, 0]);
        controller.write(MEINEXT, 0, 1, lines(&[9, 33]));
        assert_eq!(context(&controller), [0, 0, 16, 0, 9, 0], "nothing is above priority 15");
        controller.write(MEINEXT, 0, 1, 0);
        assert_eq!(context(&controller), [0, 0, 16, 1, 0, 0], "no interrupt: no preemption");
    }

    #[test]
    fn the_context_can_be_saved_and_restored() {
        let mut controller = Controller::default();
        let saved = 0xA << 28 | 0x5 << 24 | 0x10 << 16 | 0x2A << 4 | 1;
        controller.write(MEICONTEXT, 0, saved, 0);
        assert_eq!(controller.read(MEICONTEXT, 0, 0), saved);
        assert_eq!(context(&controller), [0xA, 0x5, 0x10, 0, 0x2A, 1]);
        controller.write(MEICONTEXT, 0, 1 << 15, 0);
        assert_eq!(context(&controller), [0, 0, 0, 1, 0, 0]);
    }
}
