//! What the timers of an STM32 do by their reference manual (RM0090, chapters 17 and 18), and what is reported
//! of the rest. The expected cycles are counted by hand from its text.

use rtmark_sim::{Cycles, Machine, PeripheralKind, Register, Soc};

const F405: &str = include_str!("../../../../socs/stm32f405.toml");
const H743: &str = include_str!("../../../../socs/stm32h743.toml");

/// TIM1, whose counter has 16 bits, and its interrupts for updates and for compares.
const TIM1: u32 = 0x4001_0000;
const UPDATE: u16 = 25;
const COMPARE: u16 = 27;

const CR1: u32 = 0x00;
const CR2: u32 = 0x04;
const SMCR: u32 = 0x08;
const DIER: u32 = 0x0C;
const SR: u32 = 0x10;
const EGR: u32 = 0x14;
const CCMR1: u32 = 0x18;
const CCER: u32 = 0x20;
const CNT: u32 = 0x24;
const PSC: u32 = 0x28;
const ARR: u32 = 0x2C;
const RCR: u32 = 0x30;
const CCR1: u32 = 0x34;
const DMAR: u32 = 0x4C;

const CEN: u32 = 1;
const UDIS: u32 = 1 << 1;
const OPM: u32 = 1 << 3;
const DIR: u32 = 1 << 4;
const ARPE: u32 = 1 << 7;

/// How late a look may be, in cycles.
const LATE: u64 = 16;

/// A machine that loops for ever, with a timer.
struct Bench {
    machine: Machine,
    timer: u32,
    start: u64,
}

impl Bench {
    /// Configures the timer, loads its buffered registers by an update, and starts it with a value of CR1.
    fn start(soc: &str, timer: u32, registers: &[(u32, u32)], control: u32) -> Self {
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        machine.poke(0x2000_0000, &0xE7FE_u16.to_le_bytes()).expect("RAM");
        machine.set_register(Register::Pc, 0x2000_0000);
        let mut bench = Self { machine, timer, start: 0 };
        bench.write(CR1, control);
        for (offset, value) in registers {
            bench.write(*offset, *value);
        }
        bench.write(EGR, 1);
        bench.write(SR, 0);
        bench.write(DIER, 0b11);
        bench.start = bench.machine.cycles().0;
        bench.write(CR1, control | CEN);
        bench
    }

    fn tim1(registers: &[(u32, u32)], control: u32) -> Self {
        Self::start(F405, TIM1, registers, control)
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.machine.store_word(self.timer + offset, value).expect("a register");
    }

    fn read(&self, offset: u32) -> u32 {
        let mut copy = self.machine.clone();
        // ldr r7, [r6]
        copy.poke(0x2000_0000, &0x6837_u16.to_le_bytes()).expect("RAM");
        copy.set_register(Register::R(6), self.timer + offset);
        copy.set_register(Register::Pc, 0x2000_0000);
        copy.step(Cycles::MAX).expect("a step");
        copy.register(Register::R(7))
    }

    /// Runs until so many cycles after the start.
    fn run(&mut self, until: u64) {
        self.machine.run(Cycles(self.start + until));
    }

    /// Returns when an interrupt has risen until then, in cycles since the start; each time, the flags are
    /// cleared.
    fn rises(&mut self, interrupt: u16, until: u64) -> Vec<u64> {
        let mut rises = Vec::new();
        let mut now = self.machine.cycles().0 - self.start;
        while now < until {
            now += 8;
            self.run(now);
            if self.machine.is_pending_or_active(interrupt) {
                rises.push(now);
                self.write(SR, 0);
                self.machine.store_word(0xE000_E280, u32::MAX).expect("ICPR0");
                self.machine.store_word(0xE000_E284, u32::MAX).expect("ICPR1");
            }
        }
        rises
    }

    fn check(&mut self, interrupt: u16, expected: &[u64]) {
        let until = expected.last().map_or(20_000, |last| last + 50);
        let rises = self.rises(interrupt, until);
        let same = rises.len() == expected.len()
            && rises.iter().zip(expected).all(|(is, at)| (*at..=at + LATE).contains(is));
        assert!(same, "{rises:?} instead of {expected:?}");
    }
}

/// 17.3.3: the update comes after RCR + 1 overflows.
#[test]
fn the_repetition_counter_divides_the_updates() {
    let registers = [(ARR, 1_999), (RCR, 1)];
    Bench::tim1(&registers, 0).check(UPDATE, &[4_000, 8_000, 12_000]);
    // 17.3.11: one pulse ends with the update.
    let mut once = Bench::tim1(&[(ARR, 1_999), (RCR, 2)], OPM);
    once.check(UPDATE, &[6_000]);
    once.check(UPDATE, &[]);
    assert_eq!(once.read(CR1) & CEN, 0);
    // A new value counts from the next update on.
    let mut bench = Bench::tim1(&registers, 0);
    bench.write(RCR, 0);
    bench.check(UPDATE, &[4_000, 6_000, 8_000]);
}

/// RM0090: TIM2 to TIM5 (18.4), TIM9 to TIM14 (19.4, 19.5) and TIM6 and TIM7 (20.4) have no RCR; RM0433: TIM15 to
/// TIM17 have one (40.5, 40.6).
#[test]
fn timers_without_a_repetition_counter_ignore_its_register() {
    const TIM3: u32 = 0x4000_0400;
    let mut bench = Bench::start(F405, TIM3, &[(ARR, 1_999), (RCR, 1)], 0);
    assert_eq!(bench.read(RCR), 0);
    let noted: Vec<_> = bench.machine.unmodelled().map(|it| (it.address, it.writes)).collect();
    assert_eq!(noted, [(TIM3 + RCR, 1)], "a program is told");
    // TIM3 counts twice its bus clock, as TIM1 does; its interrupt is 29.
    bench.check(29, &[2_000, 4_000, 6_000]);
    // What is there after a reset may be written.
    let bench = Bench::start(F405, TIM3, &[(RCR, 0)], 0);
    assert_eq!(bench.machine.unmodelled().count(), 0);

    let socs = [
        F405,
        H743,
        include_str!("../../../../socs/stm32c031.toml"),
        include_str!("../../../../socs/stm32f100.toml"),
        include_str!("../../../../socs/stm32f103.toml"),
        include_str!("../../../../socs/stm32f411.toml"),
        include_str!("../../../../socs/stm32f446.toml"),
        include_str!("../../../../socs/stm32g431.toml"),
        include_str!("../../../../socs/stm32g071.toml"),
        include_str!("../../../../socs/stm32l432.toml"),
    ];
    let mut seen = 0;
    for soc in socs.map(|soc| Soc::from_toml(soc).expect("a soc")) {
        for timer in soc.peripherals.iter().filter(|it| it.kind == PeripheralKind::Stm32Timer) {
            let mut machine = Machine::new(&soc);
            machine.store_word(timer.base + RCR, 3).expect("a register");
            let repeats =
                matches!(timer.name.as_str(), "TIM1" | "TIM8" | "TIM15" | "TIM16" | "TIM17");
            assert_eq!(
                machine.unmodelled().count() == 0,
                repeats,
                "{} of {}",
                timer.name,
                soc.name
            );
            seen += usize::from(repeats);
        }
    }
    assert!(seen > 15, "{seen}");
}

/// 17.3.2: from 0 to ARR - 1, an overflow, from ARR to 1, an underflow.
#[test]
fn a_centre_aligned_counter_takes_twice_its_reload_value() {
    for control in [0x20, 0x40, 0x60] {
        let mut bench = Bench::tim1(&[(ARR, 2_000)], control);
        bench.check(UPDATE, &[2_000, 4_000, 6_000]);
        Bench::tim1(&[(ARR, 2_000), (RCR, 1)], control).check(UPDATE, &[4_000, 8_000]);
    }
    let mut bench = Bench::tim1(&[(ARR, 2_000)], 0x20);
    for (cycle, value, down) in
        [(500, 500, 0), (2_500, 1_500, DIR), (3_900, 100, DIR), (4_300, 300, 0)]
    {
        bench.run(cycle);
        assert!(bench.read(CNT).abs_diff(value) <= LATE as u32, "{} at {cycle}", bench.read(CNT));
        assert_eq!(bench.read(CR1) & DIR, down, "at {cycle}");
    }
}

/// 17.4.1, CMS: compare flags are set on the way down, up, or both.
#[test]
fn centre_aligned_modes_differ_in_when_channels_match() {
    for (control, expected) in [
        (0x20, &[3_500, 7_500, 11_500][..]),
        (0x40, &[500, 4_500, 8_500]),
        (0x60, &[500, 3_500, 4_500, 7_500]),
    ] {
        Bench::tim1(&[(ARR, 2_000), (CCR1, 500)], control).check(COMPARE, expected);
    }
}

/// 17.3.2, downcounting: from ARR to 0, and again from ARR.
#[test]
fn a_counter_counts_down() {
    let registers = [(ARR, 1_999), (CCR1, 500)];
    let mut bench = Bench::tim1(&registers, DIR);
    bench.run(100);
    assert!(bench.read(CNT).abs_diff(1_899) <= LATE as u32, "{}", bench.read(CNT));
    Bench::tim1(&registers, DIR).check(UPDATE, &[2_000, 4_000, 6_000]);
    Bench::tim1(&registers, DIR).check(COMPARE, &[1_499, 3_499, 5_499]);
    // The new period begins with the new value.
    let mut bench = Bench::tim1(&registers, DIR | ARPE);
    bench.write(ARR, 999);
    bench.check(UPDATE, &[2_000, 3_000, 4_000]);
    // A shorter one that is not buffered does not concern a counter on its way down.
    let mut bench = Bench::tim1(&registers, DIR);
    bench.run(400);
    bench.write(ARR, 499);
    bench.check(UPDATE, &[2_000, 2_500, 3_000]);
}

/// 17.4.1, UDIS: the counter goes on, without updates, and buffered registers keep what is in effect.
#[test]
fn updates_can_be_disabled() {
    let registers = [(ARR, 1_999), (CCR1, 100)];
    // The update by software, too, was disabled, so that ARR still has its reset value.
    Bench::tim1(&registers, ARPE | UDIS).check(UPDATE, &[]);
    let mut bench = Bench::tim1(&registers, ARPE);
    bench.write(CR1, ARPE | UDIS | CEN);
    bench.write(PSC, 9);
    bench.check(COMPARE, &[100, 2_100, 4_100]);
    bench.write(CR1, ARPE | CEN);
    bench.check(COMPARE, &[6_000 + 1_000, 26_000 + 1_000]);
}

/// 17.4.7, OC1PE: a compare register takes effect at once, or at the update.
#[test]
fn compare_registers_may_be_buffered() {
    for (mode, expected) in [(0x00, &[100, 1_100, 2_100][..]), (0x08, &[500, 1_100, 2_100])] {
        let mut bench = Bench::tim1(&[(ARR, 999), (CCMR1, mode), (CCR1, 500)], 0);
        bench.run(50);
        bench.write(CCR1, 100);
        assert_eq!(bench.read(CCR1), 100);
        bench.check(COMPARE, expected);
    }
}

/// 17.3.2: the counter restarts after the value of ARR, not above it.
#[test]
fn a_counter_beyond_a_shorter_reload_value_goes_on_to_its_full_width() {
    let mut bench = Bench::tim1(&[(ARR, 9_999)], 0);
    bench.run(5_000);
    bench.write(ARR, 99);
    bench.run(9_000);
    assert!(bench.read(CNT).abs_diff(9_000) <= LATE as u32);
    bench.check(UPDATE, &[65_536 + 100, 65_536 + 200, 65_536 + 300]);
}

/// 17.3.1: a new prescaler is taken into account at the next update.
#[test]
fn a_smaller_prescaler_brings_the_next_match_forward() {
    let mut bench = Bench::tim1(&[(PSC, 9), (ARR, 999), (CCR1, 100)], ARPE);
    // Nothing else is due at the update.
    bench.write(DIER, 0b10);
    bench.check(COMPARE, &[1_000]);
    bench.write(PSC, 0);
    bench.check(COMPARE, &[10_100, 11_100, 12_100]);
}

/// 17.4.5, CC1IF: "when the contents of TIMx_CCR1 are greater than the contents of TIMx_ARR".
#[test]
fn a_compare_value_beyond_the_reload_value_counts_as_reached_at_the_overflow() {
    let registers = [(ARR, 1_999), (CCR1, 20_000)];
    Bench::tim1(&registers, 0).check(COMPARE, &[2_000, 4_000, 6_000]);
    Bench::tim1(&registers, DIR).check(COMPARE, &[2_000, 4_000]);
    Bench::tim1(&[(ARR, 2_000), (CCR1, 20_000)], 0x60).check(COMPARE, &[2_000, 6_000]);
}

#[test]
fn rounds_that_nobody_looks_at_are_not_forgotten() {
    let later = 1_000_000;
    for (registers, control, interrupt, expected) in [
        ([(ARR, 999), (RCR, 2), (CCR1, 0)], 0, UPDATE, [1_002_000, 1_005_000]),
        ([(ARR, 1_000), (RCR, 4), (CCR1, 0)], 0x20, UPDATE, [1_005_000, 1_010_000]),
        ([(ARR, 1_000), (RCR, 4), (CCR1, 300)], 0x40, COMPARE, [1_002_300, 1_004_300]),
        ([(ARR, 999), (RCR, 2), (CCR1, 300)], DIR, COMPARE, [1_000_699, 1_001_699]),
    ] {
        let mut bench = Bench::tim1(&registers, control);
        bench.write(DIER, 0);
        bench.run(later + 400);
        assert_eq!(bench.read(SR) & 3, 3);
        bench.write(SR, 0);
        bench.write(DIER, 3);
        bench.check(interrupt, &expected);
    }
}

#[test]
fn what_timers_lack_is_reported() {
    for (registers, told) in [
        // A slave of another timer, an external clock; a selected trigger alone does nothing.
        (&[(SMCR, 0x07)][..], Some(SMCR)),
        (&[(SMCR, 0x4000)], Some(SMCR)),
        (&[(SMCR, 0x30)], None),
        // DMA requests of triggers, and of channels at updates; the interrupt of triggers.
        (&[(DIER, 0x0101)], None),
        (&[(DIER, 0x4000)], Some(DIER)),
        (&[(CR2, 0x08)], Some(CR2)),
        (&[(DIER, 0x40)], Some(DIER)),
        (&[(EGR, 0x40)], Some(EGR)),
        // A capture, once it is enabled; an output.
        (&[(CCMR1, 0x01), (CCER, 0x10)], None),
        (&[(CCMR1, 0x01), (CCER, 0x01)], Some(CCER)),
        (&[(CCMR1, 0x60), (CCER, 0x01)], None),
        (&[(DMAR, 0)], Some(DMAR)),
    ] {
        let mut bench = Bench::tim1(&[], 0);
        for (offset, value) in registers {
            bench.write(*offset, *value);
        }
        let found: Vec<_> = bench.machine.unmodelled().map(|it| it.address - TIM1).collect();
        assert_eq!(found, Vec::from_iter(told), "{registers:x?}");
    }
}

/// RM0433, RCC: HPRE divides the source of all buses, and D2PPRE1 APB1, whose timers count twice as fast as
/// it.
#[test]
fn buses_of_an_stm32h7_are_slower_than_its_core() {
    for (d1, d2, cycles) in
        [(0x0, 0x00, 1), (0x8, 0x00, 2), (0x8, 0x40, 2), (0x8, 0x50, 4), (0xC, 0x50, 128)]
    {
        let mut bench = Bench::start(H743, 0x4000_0400, &[(ARR, 999)], 0);
        bench.machine.store_word(0x5802_4418, d1).expect("D1CFGR");
        bench.machine.store_word(0x5802_441C, d2).expect("D2CFGR");
        let period = 1_000 * cycles;
        bench.check(29, &[period, 2 * period]);
    }
}

/// Ten bits of 100 clocks each, of a bus at a quarter of the core's clock.
#[test]
fn a_byte_of_an_stm32h7_takes_as_long_as_its_bus_clock_says() {
    // The registers of a USART: CR1, BRR, TDR. Of D2CFGR: D2PPRE1, D2PPRE2; of D3CFGR: D3PPRE.
    for (uart, interrupt, divider, value) in
        [(0x4001_1000, 37, 0x5802_441C, 0x400), (0x4000_4800, 39, 0x5802_441C, 0x040)]
    {
        let mut bench = Bench::start(H743, uart, &[], 0);
        for (address, value) in [
            (0x5802_4418, 0x8),
            (divider, value),
            (uart, 0),
            (uart + 0x0C, 100),
            (uart, 0x9),
            (uart + 0x28, 0x55),
            (uart, 0x49),
        ] {
            bench.machine.store_word(address, value).expect("a register");
        }
        bench.start = bench.machine.cycles().0;
        let mut now = 0;
        while !bench.machine.is_pending_or_active(interrupt) && now < 10_000 {
            now += 8;
            bench.run(now);
        }
        assert!((4_000..=4_000 + LATE).contains(&now), "{now}");
    }
}

/// Kernel clocks that are selected without a model.
#[test]
fn selected_kernel_clocks_are_reported() {
    const F446: &str = include_str!("../../../../socs/stm32f446.toml");
    const L432: &str = include_str!("../../../../socs/stm32l432.toml");
    const G071: &str = include_str!("../../../../socs/stm32g071.toml");
    const C031: &str = include_str!("../../../../socs/stm32c031.toml");
    for (soc, register, harmless, selects) in [
        (F446, 0x4002_388C, 0x0000_0800, 0x0100_0000),
        (L432, 0x4002_1088, 0x3000_0000, 0x0000_0002),
        (G071, 0x4002_1054, 0x0000_2000, 0x0000_0001),
        (C031, 0x4002_1054, 0x0000_3000, 0x0000_0002),
        (H743, 0x5802_4410, 0x0000_0003, 0x0000_8000),
        (H743, 0x5802_4454, 0x0000_0000, 0x0000_0001),
        (H743, 0x5802_4458, 0x0000_0000, 0x0000_0003),
    ] {
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        machine.store_word(register, harmless).expect("a register");
        assert_eq!(machine.unmodelled().count(), 0, "{}", machine.soc().name);
        machine.store_word(register, selects).expect("a register");
        let told: Vec<_> = machine.unmodelled().map(|it| it.address).collect();
        assert_eq!(told, [register], "{}", machine.soc().name);
    }
}
