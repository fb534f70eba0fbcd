//! What the calendars of STM32's real-time clocks do by their reference manuals (RM0090, RM0394, RM0433, RM0440,
//! RM0444 and RM0490, "Real-time clock (RTC)"), and what is reported of the rest. Times are counted by hand, in periods
//! of a crystal of 32768 Hz.

use rtmark_sim::{ClockControl, Cycles, Hertz, Machine, Register, Soc};

/// What differs between chips.
#[derive(Clone, Copy)]
pub struct Chip {
    soc: &'static str,
    rtc: u32,
    /// RCC_BDCR or CSR1.
    backup_control: u32,
    /// The register with DBP.
    power: Option<u32>,
    /// SR and SCR instead of flags in ISR.
    has_flag_registers: bool,
    /// EXTI's IMR, RTSR and PR, and the lines for alarms and wake-up.
    lines: Option<([u32; 3], [u32; 2])>,
    /// The interrupts for alarms and wake-up.
    interrupts: [u16; 2],
}

macro_rules! soc {
    ($name:literal) => {
        include_str!(concat!("../../../../socs/", $name, ".toml"))
    };
}

const EXTI_F4: [u32; 3] = [0x4001_3C00, 0x4001_3C08, 0x4001_3C14];
const EXTI_L4: [u32; 3] = [0x4001_0400, 0x4001_0408, 0x4001_0414];

const F405: Chip = Chip {
    soc: soc!("stm32f405"),
    rtc: 0x4000_2800,
    backup_control: 0x4002_3870,
    power: Some(0x4000_7000),
    has_flag_registers: false,
    lines: Some((EXTI_F4, [17, 22])),
    interrupts: [41, 3],
};
const F411: Chip = Chip { soc: soc!("stm32f411"), ..F405 };
const F446: Chip = Chip { soc: soc!("stm32f446"), ..F405 };
const L432: Chip = Chip {
    soc: soc!("stm32l432"),
    backup_control: 0x4002_1090,
    lines: Some((EXTI_L4, [18, 20])),
    ..F405
};
const G431: Chip = Chip {
    soc: soc!("stm32g431"),
    has_flag_registers: true,
    lines: Some((EXTI_L4, [17, 20])),
    ..L432
};
const H743: Chip = Chip {
    soc: soc!("stm32h743"),
    rtc: 0x5800_4000,
    backup_control: 0x5802_4470,
    power: Some(0x5802_4800),
    lines: Some(([0x5800_0080, 0x5800_0000, 0x5800_0088], [17, 19])),
    ..F405
};
const G071: Chip = Chip {
    soc: soc!("stm32g071"),
    backup_control: 0x4002_105C,
    has_flag_registers: true,
    lines: None,
    interrupts: [2, 2],
    ..F405
};
const C031: Chip = Chip { soc: soc!("stm32c031"), power: None, ..G071 };
const WITH_WAKEUP: [Chip; 7] = [F405, F411, F446, L432, G431, H743, G071];

const TR: u32 = 0x00;
const DR: u32 = 0x04;
const ISR: u32 = 0x0C;
const PRER: u32 = 0x10;
const WUTR: u32 = 0x14;
const WPR: u32 = 0x24;

const RSF: u32 = 1 << 5;
const INITF: u32 = 1 << 6;
const INIT: u32 = 1 << 7;
const BYPSHAD: u32 = 1 << 5;

const LSEON: u32 = 1;
const LSE: u32 = 1 << 8;
const RTCEN: u32 = 1 << 15;
const BDRST: u32 = 1 << 16;

/// 1 January 2024 was a Monday.
const NEW_YEAR: u32 = 0x24_2101;

/// The core's clock, of which 122 cycles are a period of the crystal.
const CORE: Hertz = Hertz(4_000_000);

/// A machine that loops for ever, beside a real-time clock that counts a crystal.
struct Bench {
    machine: Machine,
    chip: Chip,
    clock: u64,
    /// The crystal's first cycle.
    start: u64,
}

impl Bench {
    /// Starts the clock and unlocks its registers.
    fn start(chip: Chip) -> Self {
        let mut bench = Self::without_clock(chip);
        bench.allow_writing();
        bench.start = bench.machine.cycles().0;
        bench.store(chip.backup_control, LSEON | LSE | RTCEN);
        bench.unlock();
        bench
    }

    fn without_clock(chip: Chip) -> Self {
        Self::beside(chip, CORE, ClockControl::Fixed)
    }

    fn beside(chip: Chip, core: Hertz, control: ClockControl) -> Self {
        let mut soc = Soc::from_toml(chip.soc).expect("a soc");
        (soc.clock, soc.clock_control) = (core, control);
        let clock = core.0.into();
        let mut machine = Machine::new(&soc);
        // b . and elsewhere ldr r7, [r6]
        machine.poke(0x2000_0000, &0xE7FE_u16.to_le_bytes()).expect("RAM");
        machine.poke(0x2000_0010, &0x6837_u16.to_le_bytes()).expect("RAM");
        machine.set_register(Register::Pc, 0x2000_0000);
        let start = machine.cycles().0;
        Self { machine, chip, clock, start }
    }

    fn allow_writing(&mut self) {
        if let Some(power) = self.chip.power {
            self.store(power, 1 << 8);
        }
    }

    fn unlock(&mut self) {
        self.write(WPR, 0xCA);
        self.write(WPR, 0x53);
    }

    /// Sets time and date, and divides the clock by 128 and 256.
    fn set(chip: Chip, time: u32, date: u32) -> Self {
        let mut bench = Self::start(chip);
        bench.initialize(time, date, 0x7F_00FF);
        bench
    }

    /// Sets time, date and dividers; the next second begins 4 periods and a second later.
    fn initialize(&mut self, time: u32, date: u32, dividers: u32) {
        self.write(ISR, INIT);
        self.run_ticks(3);
        for (offset, value) in [(PRER, dividers), (TR, time), (DR, date)] {
            self.write(offset, value);
        }
        self.write(ISR, 0);
        self.start = self.next_tick() + self.cycles(3);
    }

    fn store(&mut self, address: u32, value: u32) {
        self.machine.store_word(address, value).expect("a register");
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.store(self.chip.rtc + offset, value);
    }

    fn read(&mut self, offset: u32) -> u32 {
        self.load(self.chip.rtc + offset)
    }

    fn load(&mut self, address: u32) -> u32 {
        self.machine.set_register(Register::R(6), address);
        self.machine.set_register(Register::Pc, 0x2000_0010);
        self.machine.step(Cycles::MAX).expect("a step");
        self.machine.set_register(Register::Pc, 0x2000_0000);
        self.machine.register(Register::R(7))
    }

    /// Returns the cycles of so many periods, rounded up.
    fn cycles(&self, ticks: u64) -> u64 {
        (ticks * self.clock).div_ceil(32_768)
    }

    /// Returns the cycle in which the current period ends.
    fn next_tick(&self) -> u64 {
        let passed = self.machine.cycles().0 - self.start;
        self.start + self.cycles(passed * 32_768 / self.clock + 1)
    }

    fn run_until(&mut self, cycle: u64) {
        self.machine.run(Cycles(cycle));
    }

    fn run_ticks(&mut self, ticks: u64) {
        let until = self.machine.cycles().0 + self.cycles(ticks);
        self.run_until(until);
    }

    /// Runs until so many periods after the calendar has begun.
    fn run_to_tick(&mut self, tick: u64) {
        self.run_until(self.start + self.cycles(tick));
    }

    fn control(&self) -> u32 {
        if self.chip.has_flag_registers { 0x18 } else { 0x08 }
    }

    fn subseconds(&self) -> u32 {
        if self.chip.has_flag_registers { 0x08 } else { 0x28 }
    }

    fn alarm(&self, at: u32) -> [u32; 2] {
        if self.chip.has_flag_registers {
            [0x40 + 8 * at, 0x44 + 8 * at]
        } else {
            [0x1C + 4 * at, 0x44 + 4 * at]
        }
    }

    fn flags(&mut self) -> u32 {
        if self.chip.has_flag_registers { self.read(0x50) } else { self.read(ISR) >> 8 }
    }

    fn clear_flags(&mut self, flags: u32) {
        if self.chip.has_flag_registers {
            self.write(0x5C, flags);
        } else {
            self.write(ISR, !(flags << 8) & !INIT);
        }
    }

    /// Enables the lines of EXTI.
    fn enable_lines(&mut self) {
        if let Some(([mask, rising, _], lines)) = self.chip.lines {
            let lines = 1 << lines[0] | 1 << lines[1];
            self.store(rising, lines);
            self.store(mask, lines);
        }
    }

    fn clear_lines(&mut self) {
        if let Some(([_, _, pending], lines)) = self.chip.lines {
            self.store(pending, 1 << lines[0] | 1 << lines[1]);
        }
    }

    /// Returns in which periods an interrupt rises until one of them; each time, the flags are cleared.
    fn rises(&mut self, interrupt: u16, until: u64) -> Vec<u64> {
        let end = self.start + self.cycles(until) + 20;
        let mut rises = Vec::new();
        while self.machine.cycles().0 < end {
            self.store(0xE000_E280 + u32::from(interrupt) / 32 * 4, 1 << (interrupt % 32));
            let mut now = self.machine.cycles().0;
            while now < end && !self.machine.is_pending_or_active(interrupt) {
                now = (now + self.cycles(64)).min(end);
                self.run_until(now);
            }
            if now < end {
                rises.push(now);
                self.clear_flags(0x7);
                self.clear_lines();
            }
        }
        rises
    }

    fn unmodelled(&self) -> Vec<u32> {
        self.machine.unmodelled().map(|it| it.address - self.chip.rtc).collect()
    }
}

/// The values that the chips' SVD files give for a reset.
#[test]
fn registers_have_their_reset_values() {
    for chip in WITH_WAKEUP {
        let mut bench = Bench::without_clock(chip);
        let control = bench.control();
        let subseconds = bench.subseconds();
        let values = [
            (TR, 0),
            (DR, 0x2101),
            (control, 0),
            (ISR, 7),
            (PRER, 0x7F_00FF),
            (WUTR, 0xFFFF),
            (WPR, 0),
            (subseconds, 0),
            (0x2C, 0),
            (0x30, 0),
            (0x34, 0),
            (0x38, 0),
            (0x1C, 0),
            (0x28, 0),
        ];
        for (offset, value) in values {
            let is_there = !(chip.has_flag_registers && offset == 0x1C);
            assert!(!is_there || bench.read(offset) == value, "{offset:#x}");
        }
        for offset in [bench.alarm(0), bench.alarm(1)].concat() {
            assert_eq!(bench.read(offset), 0, "{offset:#x}");
        }
    }
    let mut bench = Bench::without_clock(C031);
    let values = [(TR, 0), (DR, 0x2101), (PRER, 0x7F_00FF), (0x18, 0), (0x40, 0), (0x44, 0)];
    assert!(values.into_iter().all(|(offset, value)| bench.read(offset) == value));
    assert_eq!(bench.unmodelled(), []);
    // There is one alarm, and no wake-up timer.
    for offset in [WUTR, 0x48, 0x4C] {
        bench.read(offset);
    }
    assert_eq!(bench.unmodelled(), [WUTR, 0x48, 0x4C]);
}

#[test]
fn a_second_takes_as_many_periods_as_the_dividers_say() {
    for chip in WITH_WAKEUP.into_iter().chain([C031]) {
        let mut bench = Bench::set(chip, 0x23_5958, 0x23_F231);
        let (control, subseconds) = (bench.control(), bench.subseconds());
        bench.write(control, BYPSHAD);
        for (tick, time, date, left) in [
            (0, 0x23_5958, 0x23_F231, 255),
            (127, 0x23_5958, 0x23_F231, 255),
            (129, 0x23_5958, 0x23_F231, 254),
            (32_767, 0x23_5958, 0x23_F231, 0),
            (32_769, 0x23_5959, 0x23_F231, 255),
            (65_535, 0x23_5959, 0x23_F231, 0),
            (65_537, 0, NEW_YEAR, 255),
        ] {
            bench.run_to_tick(tick);
            assert_eq!(bench.read(subseconds), left, "{tick}");
            assert_eq!((bench.read(TR), bench.read(DR)), (time, date), "{tick}");
        }
        assert_eq!(bench.unmodelled(), []);
    }
}

/// RM0090, 26.3.1: the crystal's 32768 Hz, the internal 32 kHz, and an external crystal divided by RTCPRE.
#[test]
fn registers_of_the_rcc_select_the_clock() {
    const RCC: u32 = 0x4002_3800;
    // RTCSEL, a period in nanoseconds.
    for (select, period) in [(1, 30_517.578), (2, 31_250.0), (3, 1_000.0)] {
        let mut bench = Bench::beside(F405, Hertz(168_000_000), ClockControl::Fixed);
        bench.allow_writing();
        // HSEON; RTCPRE = 8; LSION.
        bench.store(RCC, 1 << 16 | 0x83);
        bench.store(RCC + 0x08, 8 << 16);
        bench.store(RCC + 0x74, 1);
        bench.store(F405.backup_control, LSEON | select << 8 | RTCEN);
        bench.unlock();
        bench.write(ISR, INIT);
        let wait = (2.0 * period * bench.clock as f64 / 1e9) as u64;
        let begin = bench.machine.cycles().0;
        bench.run_until(begin + wait - 300);
        assert_eq!(bench.read(ISR) & INITF, 0, "{select}");
        bench.run_until(begin + wait + 100);
        assert_eq!(bench.read(ISR) & INITF, INITF, "{select}");
    }
    // Without a clock, nothing happens.
    for control in [0, LSEON | LSE, LSE | RTCEN, LSEON | RTCEN, 2 << 8 | RTCEN] {
        let mut bench = Bench::without_clock(F405);
        bench.allow_writing();
        bench.store(F405.backup_control, control);
        bench.unlock();
        bench.write(ISR, INIT);
        bench.run_ticks(1_000);
        assert_eq!(bench.read(ISR) & (INITF | INIT | RSF), INIT, "{control:#x}");
    }
    // Once selected, it changes only by a reset of the backup domain.
    let mut bench = Bench::start(F405);
    bench.store(F405.backup_control, LSEON | 2 << 8 | RTCEN);
    assert_eq!(bench.load(F405.backup_control), LSEON | 2 | LSE | RTCEN);
    bench.store(F405.backup_control, BDRST | LSE | RTCEN);
    assert_eq!(bench.load(F405.backup_control), BDRST);
    bench.store(F405.backup_control, 2 << 8 | RTCEN);
    assert_eq!(bench.load(F405.backup_control), 2 << 8 | RTCEN);
}

#[test]
fn writes_need_the_backup_domain_and_the_keys() {
    let attempt = |bench: &mut Bench| {
        bench.write(ISR, INIT);
        let control = bench.control();
        bench.write(control, BYPSHAD);
        bench.run_ticks(3);
        (bench.read(ISR) & (INIT | INITF), bench.read(control))
    };
    for chip in WITH_WAKEUP {
        let mut bench = Bench::without_clock(chip);
        bench.store(chip.backup_control, LSEON | LSE | RTCEN);
        assert_eq!(bench.load(chip.backup_control), 0, "without DBP");
        bench.allow_writing();
        bench.store(chip.backup_control, LSEON | LSE | RTCEN);
        bench.store(chip.power.expect("DBP"), 0);
        bench.unlock();
        assert_eq!(attempt(&mut bench), (0, 0), "without DBP");
        bench.allow_writing();
        assert_eq!(attempt(&mut bench), (0, 0), "without keys");
        for keys in [[0x53, 0xCA], [0xCA, 0x00], [0xCA, 0xCA]] {
            for key in keys {
                bench.write(WPR, key);
            }
            assert_eq!(attempt(&mut bench), (0, 0), "{keys:x?}");
        }
        bench.write(WPR, 0x12);
        bench.unlock();
        assert_eq!(attempt(&mut bench), (INIT | INITF, BYPSHAD));
        // Any other key locks them again.
        bench.write(WPR, 0xFF);
        bench.write(ISR, 0);
        assert_eq!(bench.read(ISR) & INIT, INIT);
        // TR, DR and PRER change in initialization only.
        bench.unlock();
        bench.write(ISR, 0);
        for (offset, value) in [(TR, 0x12_0000), (DR, NEW_YEAR), (PRER, 0)] {
            bench.write(offset, value);
        }
        assert_eq!([TR, DR, PRER].map(|it| bench.read(it)), [0, 0x2101, 0x7F_00FF]);
    }
}

#[test]
fn initialization_and_copies_take_periods_of_the_clock() {
    let mut bench = Bench::start(F405);
    assert_eq!(bench.read(ISR), 7);
    bench.run_to_tick(2);
    assert_eq!(bench.read(ISR), 7 | RSF, "a copy each two periods");
    bench.write(ISR, !RSF & !INIT);
    assert_eq!(bench.read(ISR), 7);
    bench.run_to_tick(4);
    assert_eq!(bench.read(ISR), 7 | RSF);
    bench.write(ISR, !0);
    assert_eq!(bench.read(ISR), 7 | RSF | INIT, "around two periods");
    bench.run_to_tick(6);
    assert_eq!(bench.read(ISR), 7 | INIT | INITF);
    bench.run_to_tick(50);
    for (offset, value) in [(PRER, 0), (TR, 0x12_3456), (DR, NEW_YEAR)] {
        bench.write(offset, value);
    }
    bench.write(ISR, 0);
    assert_eq!(bench.read(ISR), 7 | 1 << 4, "INITS: the year is set");
    // Until the first copy, what has been copied before is there; it begins four periods later.
    assert_eq!((bench.read(TR), bench.read(DR)), (0, 0x2101));
    bench.run_to_tick(55);
    assert_eq!(bench.read(ISR) & RSF, 0);
    bench.run_to_tick(56);
    assert_eq!(bench.read(ISR) & RSF, RSF);
    // Each period is a second now.
    assert_eq!((bench.read(TR), bench.read(DR)), (0x12_3458, NEW_YEAR));
    bench.run_to_tick(57);
    assert_eq!(bench.read(TR), 0x12_3458);
    bench.read(DR);
    bench.run_to_tick(58);
    assert_eq!(bench.read(TR), 0x12_3500);
}

#[test]
fn what_has_been_read_locks_what_is_read_next() {
    let mut bench = Bench::set(F405, 0x23_5959, 0x23_F231);
    bench.run_to_tick(32_760);
    assert_eq!(bench.read(0x28), 0);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(TR), bench.read(DR)), (0x23_5959, 0x23_F231), "locked by SSR");
    assert_eq!((bench.read(0x28), bench.read(TR), bench.read(DR)), (254, 0, NEW_YEAR));
    let mut bench = Bench::set(F405, 0x23_5959, 0x23_F231);
    bench.run_to_tick(32_760);
    bench.read(TR);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(0x28), bench.read(DR)), (254, 0x23_F231), "locked by TR");
    assert_eq!(bench.read(DR), NEW_YEAR);
    // What TR has locked does not hold TR itself.
    bench.read(TR);
    bench.run_ticks(32_768);
    assert_eq!((bench.read(TR), bench.read(DR)), (1, NEW_YEAR));
}

#[test]
fn hours_may_be_twelve() {
    let mut bench = Bench::start(L432);
    bench.write(ISR, INIT);
    bench.run_ticks(3);
    // FMT, only now.
    bench.write(0x08, 1 << 6 | BYPSHAD);
    // A second is 4 periods.
    bench.initialize(0x51_5959, NEW_YEAR, 3);
    assert_eq!(bench.read(0x08), 1 << 6 | BYPSHAD);
    bench.run_to_tick(1);
    assert_eq!((bench.read(TR), bench.read(DR)), (0x51_5959, NEW_YEAR));
    bench.run_to_tick(5);
    assert_eq!((bench.read(TR), bench.read(DR)), (0x12_0000, 0x24_4102));
    bench.run_to_tick(5 + 12 * 3_600 * 4);
    assert_eq!(bench.read(TR), 0x52_0000);
    bench.write(0x08, BYPSHAD);
    assert_eq!(bench.read(0x08), 1 << 6 | BYPSHAD);
}

#[test]
fn alarms_interrupt_by_their_lines() {
    for chip in WITH_WAKEUP {
        for alarm in [0, 1] {
            // A second is 2048 periods.
            let mut bench = Bench::start(chip);
            bench.initialize(0x12_0000, NEW_YEAR, 0x7F_000F);
            bench.enable_lines();
            let [time, subseconds] = bench.alarm(alarm);
            let control = bench.control();
            // Each minute, in its third second.
            bench.write(time, 0x8080_8003);
            bench.write(subseconds, 0);
            bench.write(control, 0x1100 << alarm);
            assert_eq!(bench.read(ISR) & 3, 2 >> alarm, "a running alarm cannot be changed");
            bench.write(time, 0);
            assert_eq!(bench.read(time), 0x8080_8003);
            let expected = [3, 63, 123].map(|at| bench.start + bench.cycles(at * 2_048));
            let rises = bench.rises(chip.interrupts[0], 125 * 2_048);
            let same =
                rises.iter().zip(expected).all(|(is, at)| (at..at + bench.cycles(65)).contains(is));
            assert!(same && rises.len() == 3, "{rises:?} instead of {expected:?}");
            // Without its interrupt there is still the flag.
            bench.write(control, 0x100 << alarm);
            assert_eq!(bench.rises(chip.interrupts[0], 190 * 2_048), []);
            assert_eq!(bench.flags() & 7, 1 << alarm);
            // Two periods after it has been switched off, it can be changed.
            bench.write(control, 0);
            assert_eq!(bench.read(ISR) & 3, 2 >> alarm);
            bench.run_ticks(2);
            assert_eq!(bench.read(ISR) & 3, 3);
            assert_eq!(bench.unmodelled(), []);
        }
    }
}

#[test]
fn alarms_may_compare_fractions_of_a_second() {
    let mut bench = Bench::set(G071, 0x12_0000, NEW_YEAR);
    // Of 256 counts, those of which the lower six bits are 10: four a second.
    bench.write(0x44, 0x0600_000A);
    bench.write(0x40, 0x8080_8080);
    bench.write(0x18, 0x1100);
    let rises = bench.rises(2, 65_536);
    let seconds = rises.iter().map(|at| (at - bench.start) as f64 / bench.clock as f64);
    let expected = [53, 117, 181, 245, 309, 373, 437, 501].map(|count| f64::from(count) / 256.0);
    assert_eq!(rises.len(), 8);
    for (is, at) in seconds.zip(expected) {
        assert!((0.0..0.003).contains(&(is - at)), "{is} instead of {at}");
    }
}

#[test]
fn the_wakeup_timer_interrupts_by_its_line() {
    for chip in WITH_WAKEUP {
        // WUCKSEL, WUTR, periods until the first wake-up and between two.
        for (clock, reload, period) in [(0, 99, 1_600), (3, 999, 2_000), (4, 0, 32_768)] {
            let mut bench = Bench::set(chip, 0x12_0000, NEW_YEAR);
            bench.enable_lines();
            let control = bench.control();
            bench.write(control, clock);
            bench.write(WUTR, reload);
            bench.run_to_tick(0);
            bench.write(control, clock | 0x4400);
            assert_eq!(bench.read(ISR) & 4, 0);
            bench.write(WUTR, 7);
            bench.write(control, 7 | 0x4400);
            assert_eq!((bench.read(WUTR), bench.read(control)), (reload, clock | 0x4400));
            let expected: Vec<_> =
                (1..=3).map(|it| bench.start + bench.cycles(it * period)).collect();
            let rises = bench.rises(chip.interrupts[1], 3 * period + 100);
            let late = bench.cycles(65);
            let same = rises.iter().zip(&expected).all(|(is, at)| (*at..at + late).contains(is));
            assert!(same && rises.len() == 3, "{clock}: {rises:?} instead of {expected:?}");
            bench.write(control, 0);
            assert_eq!(bench.read(ISR) & 4, 0);
            bench.run_ticks(2);
            assert_eq!(bench.read(ISR) & 4, 4);
            assert_eq!(bench.unmodelled(), []);
        }
    }
}

#[test]
fn a_line_of_exti_interrupts_only_if_it_is_selected() {
    let mut bench = Bench::set(F405, 0x12_0000, NEW_YEAR);
    bench.write(0x1C, 0x8080_8080);
    bench.write(0x08, 0x1100);
    bench.store(EXTI_F4[0], 1 << 17);
    assert_eq!(bench.rises(41, 2 * 32_768), [], "no edge is selected");
    bench.store(EXTI_F4[1], 1 << 17);
    bench.store(EXTI_F4[0], 0);
    bench.clear_flags(7);
    assert_eq!(bench.rises(41, 4 * 32_768), [], "it is masked");
    assert_eq!(bench.load(EXTI_F4[2]), 1 << 17, "but pending");
    assert_eq!(bench.machine.unmodelled().count(), 0);
    // Lines of peripherals without a model are still reported.
    bench.store(EXTI_F4[0], 1 << 18);
    assert_eq!(bench.machine.unmodelled().count(), 1);
}

/// The values that the chips' SVD files give for a reset.
#[test]
fn lines_of_other_peripherals_are_enabled_after_a_reset() {
    let values = [(F405, 0), (L432, 0xFF82_0000), (G431, 0xFF82_0000), (H743, 0xFFC0_0000)];
    for (chip, value) in values {
        let mut bench = Bench::without_clock(chip);
        let ([mask, ..], _) = chip.lines.expect("lines");
        assert_eq!(bench.load(mask), value);
    }
}

#[test]
fn a_reset_of_the_backup_domain_resets_everything() {
    for chip in WITH_WAKEUP {
        let mut bench = Bench::set(chip, 0x12_0000, NEW_YEAR);
        let backup = match chip.interrupts[0] {
            2 => 0x4000_B100,
            _ if chip.has_flag_registers => 0x4000_2500,
            _ => chip.rtc + 0x50,
        };
        bench.store(backup, 0x1234_5678);
        assert_eq!(bench.load(backup), 0x1234_5678);
        bench.store(chip.power.expect("DBP"), 0);
        bench.store(backup, 0);
        assert_eq!(bench.load(backup), 0x1234_5678, "without DBP");
        bench.allow_writing();
        bench.store(chip.backup_control, BDRST);
        bench.store(chip.backup_control, 0);
        assert_eq!(bench.load(backup), 0);
        assert_eq!([DR, ISR].map(|it| bench.read(it)), [0x2101, 7]);
        bench.write(PRER, 0);
        bench.write(ISR, INIT);
        assert_eq!(bench.read(ISR), 7, "it is locked again");
        assert_eq!(bench.machine.unmodelled().count(), 0);
    }
}

#[test]
fn backup_registers_need_no_keys_and_are_as_many_as_the_manual_says() {
    for (chip, count) in [(F405, 20), (F411, 20), (F446, 20), (L432, 32), (H743, 32)] {
        let mut bench = Bench::without_clock(chip);
        bench.write(0x50, 1);
        assert_eq!(bench.read(0x50), 0, "without DBP");
        bench.allow_writing();
        let last = 0x50 + 4 * (count - 1);
        bench.write(last, 0xFFFF_FFFF);
        assert_eq!((bench.read(last), bench.unmodelled()), (0xFFFF_FFFF, vec![]));
        bench.read(last + 4);
        assert_eq!(bench.unmodelled(), [last + 4]);
    }
}

/// 16 MHz after reset, 8 MHz from the crystal later: seconds stay seconds.
#[test]
fn the_core_s_clock_makes_no_difference() {
    let mut bench = Bench::beside(F405, Hertz(16_000_000), ClockControl::Registers);
    bench.allow_writing();
    bench.store(F405.backup_control, LSEON | LSE | RTCEN);
    bench.unlock();
    bench.write(0x08, BYPSHAD);
    let begin = bench.machine.cycles().0;
    bench.run_until(begin + 8_000_000);
    bench.store(0x4002_3800, 1 << 16 | 0x83);
    bench.store(0x4002_3808, 1);
    bench.run_until(begin + 8_000_000 + 3_990_000);
    assert_eq!(bench.read(TR), 0);
    bench.run_until(begin + 8_000_000 + 4_010_000);
    assert_eq!(bench.read(TR), 1);
    bench.run_until(begin + 8_000_000 + 4_010_000 + 8 * 8_000_000);
    assert_eq!(bench.read(TR), 9);
}

#[test]
fn a_copy_of_a_machine_goes_on_alike() {
    let mut bench = Bench::set(G431, 0x12_0000, NEW_YEAR);
    bench.run_to_tick(1_000);
    let mut copy = bench.machine.clone();
    bench.read(0x08);
    std::mem::swap(&mut copy, &mut bench.machine);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(0x08), bench.read(TR)), (254, 0x12_0001), "nothing is locked here");
    bench.read(DR);
    std::mem::swap(&mut copy, &mut bench.machine);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(0x08), bench.read(TR)), (254, 0x12_0000));
}

#[test]
fn what_has_no_model_is_reported() {
    const TSE: u32 = 1 << 11;
    let cases: [(u32, u32); 9] = [
        (0x08, TSE),
        (0x08, 1 << 15),
        (0x08, 1 << 16),
        (0x08, 1 << 17),
        (0x18, 0x1F),
        (0x2C, 1 << 31),
        (0x3C, 1 << 15),
        (0x3C, 0x1FF),
        (0x40, 1),
    ];
    for (offset, value) in cases {
        let mut bench = Bench::set(F405, 0, NEW_YEAR);
        bench.write(offset, 0);
        assert_eq!(bench.unmodelled(), []);
        bench.write(offset, value);
        assert_eq!(bench.unmodelled(), [offset], "{value:#x}");
    }
    // In the other layout.
    for (offset, value) in [(0x18, TSE), (0x28, 1), (0x2C, 1), (WUTR, 1 << 16)] {
        let mut bench = Bench::set(G071, 0, NEW_YEAR);
        bench.write(offset, value);
        assert_eq!(bench.unmodelled(), [offset], "{value:#x}");
    }
    // Dates and times that there are not stand still. Programs that leave out the weekday are many.
    for (time, date) in [(0x24_0000, NEW_YEAR), (0, 0x23_2229)] {
        let mut bench = Bench::set(F405, time, date);
        assert_eq!(bench.unmodelled(), [ISR], "{time:#x} {date:#x}");
        bench.run_to_tick(32_900);
        assert_eq!((bench.read(TR), bench.read(DR)), (time, date));
    }
    let mut bench = Bench::set(F405, 0x23_5959, 0x24_0101);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(TR), bench.read(DR)), (0, 0x24_2102));
    assert_eq!(bench.unmodelled(), []);
    // A wake-up timer that counts each second period may not have the value 0.
    let mut bench = Bench::set(F405, 0, NEW_YEAR);
    bench.write(0x08, 3);
    bench.write(WUTR, 0);
    bench.write(0x08, 0x403);
    assert_eq!(bench.unmodelled(), [0x08]);
}
