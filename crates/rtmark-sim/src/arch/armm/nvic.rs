//! Which exceptions are enabled, pending and active, and which has precedence.
//!
//! The nested vectored interrupt controller as a value: it decides, and never touches registers or memory
//! (DDI 0403, B1.5 and B3.4). Exceptions are identified by number: 2 NMI, 3 HardFault, 11 SVCall, 14
//! PendSV, 15 SysTick, 16 + n interrupt n.

/// NMI's exception number.
pub const NMI: u16 = 2;
/// HardFault's exception number.
pub const HARD_FAULT: u16 = 3;
/// MemManage's exception number (ARMv7-M).
pub const MEM_MANAGE: u16 = 4;
/// BusFault's exception number (ARMv7-M).
pub const BUS_FAULT: u16 = 5;
/// UsageFault's exception number (ARMv7-M).
pub const USAGE_FAULT: u16 = 6;
/// SecureFault's exception number (ARMv8-M with the Security Extension).
pub const SECURE_FAULT: u16 = 7;
/// SVCall's exception number.
pub const SVCALL: u16 = 11;
/// DebugMonitor's exception number (ARMv7-M).
pub const DEBUG_MONITOR: u16 = 12;
/// PendSV's exception number.
pub const PENDSV: u16 = 14;
/// SysTick's exception number.
pub const SYSTICK: u16 = 15;
/// The exception number of external interrupt 0.
pub const FIRST_INTERRUPT: u16 = 16;

/// The priority of thread mode with nothing masked: below every exception.
pub const THREAD_PRIORITY: i16 = 256;

/// A set of exception numbers from 0 to 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExceptionSet([u64; 4]);

impl ExceptionSet {
    pub const fn contains(self, exception: u16) -> bool {
        self.0[(exception >> 6 & 3) as usize] >> (exception & 63) & 1 == 1
    }

    pub const fn set(&mut self, exception: u16, member: bool) {
        let word = &mut self.0[(exception >> 6 & 3) as usize];
        let bit = 1 << (exception & 63);
        if member { *word |= bit } else { *word &= !bit }
    }

    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }

    /// Returns the members that another set does not have.
    pub const fn difference(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a & !e, b & !f, c & !g, d & !h])
    }

    /// Returns the members that another set has too.
    pub const fn intersection(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a & e, b & f, c & g, d & h])
    }

    /// Returns the only member, if there is exactly one and it is among the exceptions that most programs
    /// use.
    #[inline(always)]
    const fn single(self) -> Option<u16> {
        let [first, b, c, d] = self.0;
        let is_single = b | c | d == 0 && first.is_power_of_two();
        if is_single { Some(first.trailing_zeros() as u16) } else { None }
    }

    /// Returns the members in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        let (mut words, mut at) = (self.0, 0);
        std::iter::from_fn(move || {
            while let Some(word) = words.get_mut(at) {
                if *word != 0 {
                    let bit = word.trailing_zeros() as u16;
                    *word &= *word - 1;
                    return Some(at as u16 * 64 + bit);
                }
                at += 1;
            }
            None
        })
    }

    /// Returns 32 members from `first` on as bits, as the NVIC's registers show them.
    pub const fn word(self, first: u16) -> u32 {
        let at = (first >> 6) as usize;
        let shift = first & 63;
        let low = self.0[at & 3] >> shift;
        let high = if shift > 32 && at < 3 { self.0[at + 1] << (64 - shift) } else { 0 };
        (low | high) as u32
    }
}

/// The state of the interrupt controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Nvic {
    enabled: ExceptionSet,
    pending: ExceptionSet,
    /// The pending exceptions that are still on their way to the core.
    arriving: ExceptionSet,
    active: ExceptionSet,
    /// Interrupts whose input is high. They stay pending, and become pending again when their handler
    /// returns (DDI 0403, B3.4.1).
    high: ExceptionSet,
    /// Priorities as programmed, with the implemented bits at the top; bits that the soc lacks are zero.
    priority: [u8; 256],
    /// The implemented bits of a priority.
    priority_mask: u8,
    /// AIRCR.PRIGROUP.
    pub group: u8,
    /// One past the last exception number.
    count: u16,
}

/// What keeps exceptions from being taken, besides active exceptions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Masks {
    pub primask: bool,
    pub faultmask: bool,
    pub basepri: u8,
}

impl Nvic {
    pub fn new(interrupts: u16, priority_bits: u8) -> Self {
        let mut enabled = ExceptionSet::default();
        for exception in [NMI, HARD_FAULT, SVCALL, PENDSV, SYSTICK] {
            enabled.set(exception, true);
        }
        Self {
            enabled,
            pending: ExceptionSet::default(),
            arriving: ExceptionSet::default(),
            active: ExceptionSet::default(),
            high: ExceptionSet::default(),
            priority: [0; 256],
            priority_mask: !(0xFFu16 >> priority_bits) as u8,
            group: 0,
            count: FIRST_INTERRUPT + interrupts,
        }
    }

    pub const fn enabled(&self) -> ExceptionSet {
        self.enabled
    }

    /// Returns whether any external interrupt is enabled.
    pub const fn enables_interrupts(&self) -> bool {
        let [first, rest @ ..] = self.enabled.0;
        first >> FIRST_INTERRUPT | rest[0] | rest[1] | rest[2] != 0
    }

    pub const fn pending(&self) -> ExceptionSet {
        self.pending
    }

    pub const fn active(&self) -> ExceptionSet {
        self.active
    }

    /// Enables or disables an exception; numbers that the soc lacks are ignored.
    pub const fn enable(&mut self, exception: u16, on: bool) {
        if exception < self.count {
            self.enabled.set(exception, on);
        }
    }

    /// Sets or clears an exception's pending state; returns whether that changed anything.
    pub const fn pend(&mut self, exception: u16, on: bool) -> bool {
        let held = !on && self.high.contains(exception);
        if exception >= self.count || self.pending.contains(exception) == on || held {
            return false;
        }
        self.pending.set(exception, on);
        self.arriving.set(exception, false);
        true
    }

    /// Marks an exception that has just become pending as on its way to the core.
    pub const fn send(&mut self, exception: u16) {
        self.arriving.set(exception, self.pending.contains(exception));
    }

    /// Lets an exception reach the core, which may take it from now on.
    pub const fn arrive(&mut self, exception: u16) {
        self.arriving.set(exception, false);
    }

    pub const fn activate(&mut self, exception: u16) {
        self.pending.set(exception, false);
        self.arriving.set(exception, false);
        self.active.set(exception, true);
    }

    pub const fn set_active(&mut self, exception: u16, on: bool) {
        if !on && self.active.contains(exception) && self.high.contains(exception) {
            self.pending.set(exception, true);
        }
        self.active.set(exception, on);
    }

    /// Sets the level of an interrupt's input. A rising edge makes it pending; see [`Self::pend`].
    pub const fn drive(&mut self, exception: u16, high: bool) {
        self.high.set(exception, high);
    }

    /// Clears which exceptions are active.
    pub fn clear_active(&mut self) {
        self.active = ExceptionSet::default();
    }

    pub const fn priority_register(&self, exception: u16) -> u8 {
        self.priority[exception as usize & 0xFF]
    }

    pub const fn set_priority(&mut self, exception: u16, value: u8) {
        if exception < self.count && exception > HARD_FAULT {
            self.priority[exception as usize] = value & self.priority_mask;
        }
    }

    /// Returns the implemented bits of a priority value.
    pub const fn mask_priority(&self, value: u8) -> u8 {
        value & self.priority_mask
    }

    /// Returns an exception's priority; lower values are more urgent.
    fn priority_of(&self, exception: u16) -> i16 {
        match exception {
            1 => -3,
            NMI => -2,
            HARD_FAULT => -1,
            _ => i16::from(self.priority[exception as usize & 0xFF]),
        }
    }

    /// Returns the part of a priority that decides about preemption.
    pub fn group_of(&self, priority: i16) -> i16 {
        if !(0..THREAD_PRIORITY).contains(&priority) {
            return priority;
        }
        priority & !((2i16 << self.group) - 1)
    }

    /// Returns the execution priority that results from active exceptions and masks.
    pub fn execution_priority(&self, masks: Masks) -> i16 {
        let mut priority = self.active_priority();
        if masks.basepri != 0 {
            priority = priority.min(self.group_of(i16::from(masks.basepri)));
        }
        if masks.primask {
            priority = priority.min(0);
        }
        if masks.faultmask {
            priority = priority.min(-1);
        }
        priority
    }

    /// Returns the most urgent exception that is pending and enabled.
    fn first_pending(&self) -> Option<u16> {
        self.first_of(self.pending)
    }

    fn first_of(&self, exceptions: ExceptionSet) -> Option<u16> {
        let enabled = exceptions.intersection(self.enabled);
        let rank = |&exception: &u16| (self.priority_of(exception), exception);
        enabled.single().or_else(|| enabled.iter().min_by_key(rank))
    }

    /// Returns the exception to take now, if one is more urgent than what is executing.
    #[inline(always)]
    pub fn exception_to_take(&self, masks: Masks) -> Option<u16> {
        if self.pending.is_empty() {
            return None;
        }
        self.to_take_of_pending(masks)
    }

    fn to_take_of_pending(&self, masks: Masks) -> Option<u16> {
        let exception = self.first_of(self.pending.difference(self.arriving))?;
        let group = self.group_of(self.priority_of(exception));
        (group < self.execution_priority(masks)).then_some(exception)
    }

    /// Returns the most urgent of this exception and those that are enabled and have reached the core.
    pub fn first_pending_with(&self, exception: u16) -> u16 {
        let rank = |exception: u16| (self.priority_of(exception), exception);
        let first = self.first_of(self.pending.difference(self.arriving));
        first.filter(|&first| rank(first) < rank(exception)).unwrap_or(exception)
    }

    /// Returns the most urgent exception that is enabled and has reached the core, if it precedes every
    /// external interrupt with this value in its priority register.
    pub fn first_pending_before(&self, priority: u8) -> Option<u16> {
        let rank = (i16::from(self.mask_priority(priority)), FIRST_INTERRUPT);
        let first = self.first_of(self.pending.difference(self.arriving))?;
        ((self.priority_of(first), first) < rank).then_some(first)
    }

    /// Returns whether an exception is pending and has reached the core.
    pub const fn has_arrived(&self, exception: u16) -> bool {
        self.pending.contains(exception) && !self.arriving.contains(exception)
    }

    /// Makes an exception neither pending nor active, as if it had never occurred.
    pub const fn withdraw(&mut self, exception: u16) {
        self.pending.set(exception, false);
        self.arriving.set(exception, false);
        self.active.set(exception, false);
    }

    /// Returns the priority of the active exceptions, without masks.
    pub fn active_priority(&self) -> i16 {
        let priority_of = |exception| self.group_of(self.priority_of(exception));
        if self.active.is_empty() {
            THREAD_PRIORITY
        } else if let Some(exception) = self.active.single() {
            priority_of(exception)
        } else {
            self.active.iter().map(priority_of).min().unwrap_or(THREAD_PRIORITY)
        }
    }

    /// Returns whether an interrupt with this value in its priority register would be taken at once if it
    /// were pending.
    pub fn would_preempt(&self, priority: u8, masks: Masks) -> bool {
        let priority = i16::from(self.mask_priority(priority));
        self.group_of(priority) < self.execution_priority(masks)
    }

    /// Returns whether an exception would be taken at once if it were pending.
    pub fn could_take(&self, exception: u16, masks: Masks) -> bool {
        self.group_of(self.priority_of(exception)) < self.execution_priority(masks)
    }

    /// Returns the pending exception with the highest priority, masked or not, as ICSR.VECTPENDING shows
    /// it.
    pub fn vect_pending(&self) -> u16 {
        self.first_pending().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_ordered_by_priority_then_number() {
        let mut nvic = Nvic::new(32, 2);
        for (exception, priority) in [(16, 0xC0), (17, 0x40), (18, 0x40)] {
            nvic.enable(exception, true);
            nvic.set_priority(exception, priority);
            nvic.pend(exception, true);
        }
        assert_eq!(nvic.exception_to_take(Masks::default()), Some(17));
        nvic.activate(17);
        assert_eq!(nvic.exception_to_take(Masks::default()), None, "18 is of the same priority");
        assert_eq!(nvic.exception_to_take(Masks { primask: true, ..Masks::default() }), None);
        assert!(nvic.pend(NMI, true));
        assert_eq!(nvic.exception_to_take(Masks { primask: true, ..Masks::default() }), Some(NMI));
    }

    #[test]
    fn group_priority_decides_preemption() {
        let mut nvic = Nvic::new(8, 4);
        for (exception, priority) in [(16, 0x50), (17, 0x40)] {
            nvic.enable(exception, true);
            nvic.set_priority(exception, priority);
        }
        nvic.activate(16);
        nvic.pend(17, true);
        assert_eq!(nvic.exception_to_take(Masks::default()), Some(17));
        nvic.group = 4; // bits 7 to 5 preempt, bit 4 only orders
        assert_eq!(nvic.exception_to_take(Masks::default()), None);
    }

    #[test]
    fn base_priority_masks_exceptions_that_are_not_more_urgent() {
        let mut nvic = Nvic::new(8, 4);
        nvic.enable(16, true);
        nvic.set_priority(16, 0x50);
        nvic.pend(16, true);
        let masked = |basepri| nvic.exception_to_take(Masks { basepri, ..Masks::default() });
        assert_eq!(masked(0x50), None);
        assert_eq!(masked(0x60), Some(16));
        assert_eq!(masked(0), Some(16));
    }

    #[test]
    fn registers_show_the_sets_word_by_word() {
        let mut set = ExceptionSet::default();
        set.set(16, true);
        set.set(47, true);
        set.set(48, true);
        assert_eq!(set.word(16), 1 | 1 << 31);
        assert_eq!(set.word(48), 1);
        assert_eq!(set.iter().collect::<Vec<_>>(), [16, 47, 48]);
    }

    fn set_of(members: &[u16]) -> ExceptionSet {
        let mut set = ExceptionSet::default();
        for &member in members {
            set.set(member, true);
        }
        set
    }

    #[test]
    fn sets_hold_any_of_256_exceptions() {
        // Pairs with the same bit in different words among them.
        const SOME: &[u16] = &[5, 16, 40, 63, 69, 80, 133, 170, 192, 197, 255];
        for (&a, &b) in SOME.iter().flat_map(|a| SOME.iter().map(move |b| (a, b))) {
            let (one, both) = (set_of(&[a]), set_of(&[a, b]));
            let members: Vec<_> = if a < b { vec![a, b] } else { vec![b, a] };
            assert!(!both.is_empty() && both.contains(a) && both.contains(b), "{a} {b}");
            assert_eq!(
                both.difference(one),
                if a == b { ExceptionSet::default() } else { set_of(&[b]) }
            );
            assert_eq!(both.intersection(set_of(&[b])), set_of(&[b]), "{a} {b}");
            assert_eq!(one.single(), (a < 64).then_some(a), "{a}");
            if a != b {
                assert_eq!(both.iter().collect::<Vec<_>>(), members);
                assert_eq!(both.single(), None, "{a} {b}");
                assert!(one.intersection(set_of(&[b])).is_empty(), "{a} {b}");
                assert_eq!(set_of(&[3, a, b]).single(), None, "{a} {b}");
            }
            let mut left = both;
            left.set(b, false);
            assert_eq!(left.contains(a), a != b, "{a} {b}");
        }
        assert!(ExceptionSet::default().is_empty());
    }

    #[test]
    fn registers_show_words_that_begin_anywhere() {
        for first in (16..256).step_by(32) {
            let shown: Vec<u16> =
                (0..32).filter(|bit| bit % 3 == 0).map(|bit| first + bit).collect();
            let held: Vec<u16> = shown.iter().copied().filter(|&member| member < 256).collect();
            let expected = held.iter().fold(0, |word, &member| word | 1u32 << (member - first));
            assert_eq!(set_of(&held).word(first), expected, "from {first}");
        }
    }

    #[test]
    fn external_interrupts_are_those_from_16_on() {
        let mut nvic = Nvic::new(240, 8);
        nvic.enable(USAGE_FAULT, true);
        assert!(!nvic.enables_interrupts());
        for pair in [[16, 64], [64, 128], [128, 192], [17, 255]] {
            for exception in pair {
                nvic.enable(exception, true);
                assert!(nvic.enables_interrupts(), "{exception}");
            }
            for exception in pair {
                nvic.enable(exception, false);
            }
            assert!(!nvic.enables_interrupts(), "{pair:?}");
        }
    }

    #[test]
    fn pending_changes_once_and_stays_while_the_input_is_high() {
        // DDI 0403, B3.4.1.
        let mut nvic = Nvic::new(8, 4);
        assert!(nvic.pend(16, true) && !nvic.pend(16, true));
        assert!(nvic.pend(16, false) && !nvic.pend(16, false));
        assert!(!nvic.pend(24, true), "the soc has eight");
        nvic.drive(16, true);
        assert!(nvic.pend(16, true));
        assert!(!nvic.pend(16, false) && nvic.pending().contains(16));
        nvic.activate(16);
        nvic.set_active(16, false);
        assert!(nvic.pending().contains(16), "its handler has returned");
        nvic.pend(17, true);
        nvic.activate(17);
        nvic.set_active(17, false);
        assert!(!nvic.pending().contains(17), "its input is low");
        nvic.withdraw(16);
        nvic.set_active(16, false);
        assert!(!nvic.pending().contains(16), "it was not active");
        nvic.set_active(16, true);
        assert!(!nvic.pending().contains(16), "nothing has returned");
    }

    #[test]
    fn exceptions_on_their_way_to_the_core_are_not_taken() {
        let mut nvic = Nvic::new(8, 4);
        nvic.enable(16, true);
        assert!(!nvic.has_arrived(16));
        nvic.pend(16, true);
        nvic.send(16);
        assert_eq!((nvic.has_arrived(16), nvic.exception_to_take(Masks::default())), (false, None));
        nvic.arrive(16);
        assert_eq!(
            (nvic.has_arrived(16), nvic.exception_to_take(Masks::default())),
            (true, Some(16))
        );
    }

    #[test]
    fn priorities_belong_to_exceptions_from_memmanage_on() {
        // DDI 0403, B1.5.4: the priorities of NMI and HardFault are fixed.
        let mut nvic = Nvic::new(8, 4);
        for (exception, shown) in
            [(NMI, 0), (HARD_FAULT, 0), (MEM_MANAGE, 0xF0), (23, 0xF0), (24, 0)]
        {
            nvic.set_priority(exception, 0xFF);
            assert_eq!(nvic.priority_register(exception), shown, "{exception}");
        }
        let fixed = [1, NMI, HARD_FAULT].map(|exception| nvic.priority_of(exception));
        assert_eq!(fixed, [-3, -2, -1]);
    }

    #[test]
    fn each_group_leaves_the_bits_above_it_to_preemption() {
        // DDI 0403, B1.5.4, table B1-5: PRIGROUP n leaves bits 7 to n + 1.
        let mut nvic = Nvic::new(8, 8);
        for group in 0..8 {
            nvic.group = group;
            for bit in 0..8 {
                let expected = if bit > group { 1i16 << bit } else { 0 };
                assert_eq!(nvic.group_of(1 << bit), expected, "group {group}, bit {bit}");
            }
            assert_eq!(nvic.group_of(-1), -1);
            assert_eq!(nvic.group_of(THREAD_PRIORITY), THREAD_PRIORITY);
        }
        // BASEPRI is grouped, too (B1.4.3).
        nvic.group = 5;
        let priority = |basepri| nvic.execution_priority(Masks { basepri, ..Masks::default() });
        assert_eq!([0x7F, 0x80, 0xBF, 0xC0].map(priority), [0x40, 0x80, 0x80, 0xC0]);
    }

    #[test]
    fn what_is_pending_precedes_a_less_urgent_exception() {
        let mut nvic = Nvic::new(8, 4);
        for (exception, priority) in [(16, 0x40), (17, 0x80), (18, 0x80)] {
            nvic.enable(exception, true);
            nvic.set_priority(exception, priority);
        }
        assert_eq!(nvic.first_pending_with(17), 17);
        nvic.pend(17, true);
        assert_eq!([16, 17, 18].map(|exception| nvic.first_pending_with(exception)), [16, 17, 17]);
    }

    #[test]
    fn an_interrupt_does_not_precede_those_of_its_own_priority() {
        // DDI 0403, B1.5.4: among equal priorities the lowest number comes first.
        let mut nvic = Nvic::new(8, 4);
        nvic.enable(16, true);
        nvic.set_priority(16, 0x40);
        nvic.set_priority(SYSTICK, 0x40);
        nvic.pend(16, true);
        let before = |nvic: &Nvic, priority| nvic.first_pending_before(priority);
        assert_eq!((before(&nvic, 0x40), before(&nvic, 0x50)), (None, Some(16)));
        nvic.pend(SYSTICK, true);
        assert_eq!((before(&nvic, 0x30), before(&nvic, 0x4F)), (None, Some(SYSTICK)));
    }
}
