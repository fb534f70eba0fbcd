//! What the real-time clock of STM32F1 does by its manual (RM0008, "Real-time clock (RTC)"). Times are counted by
//! hand, in periods of a crystal of 32768 Hz.

use rtmark_sim::{Cycles, Hertz, Machine, Register, Soc};

const SOCS: [&str; 2] = [
    include_str!("../../../../../socs/stm32f100.toml"),
    include_str!("../../../../../socs/stm32f103.toml"),
];

const RTC: u32 = 0x4000_2800;
const BDCR: u32 = 0x4002_1020;
const PWR_CR: u32 = 0x4000_7000;
const EXTI: u32 = 0x4001_0400;
/// The RTC's interrupt, and that of its line of EXTI.
const GLOBAL: u16 = 3;
const ALARM: u16 = 41;

const CRH: u32 = 0x00;
const CRL: u32 = 0x04;
const PRLH: u32 = 0x08;
const PRLL: u32 = 0x0C;
const DIVH: u32 = 0x10;
const DIVL: u32 = 0x14;
const CNTH: u32 = 0x18;
const CNTL: u32 = 0x1C;
const ALRH: u32 = 0x20;
const ALRL: u32 = 0x24;

const SECF: u32 = 1;
const ALRF: u32 = 2;
const OWF: u32 = 4;
const RSF: u32 = 8;
const CNF: u32 = 16;
const RTOFF: u32 = 32;

struct Bench {
    machine: Machine,
    clock: u64,
    start: u64,
}

impl Bench {
    fn without_clock(soc: &str) -> Self {
        let mut soc = Soc::from_toml(soc).expect("a soc");
        soc.clock = Hertz(4_000_000);
        let clock = soc.clock.0.into();
        let mut machine = Machine::new(&soc);
        // b . and elsewhere ldr r7, [r6]
        machine.poke(0x2000_0000, &0xE7FE_u16.to_le_bytes()).expect("RAM");
        machine.poke(0x2000_0010, &0x6837_u16.to_le_bytes()).expect("RAM");
        machine.set_register(Register::Pc, 0x2000_0000);
        let mut bench = Self { machine, clock, start: 0 };
        bench.store(PWR_CR, 1 << 8);
        bench
    }

    /// LSEON, RTCSEL, RTCEN.
    fn start(soc: &str) -> Self {
        let mut bench = Self::without_clock(soc);
        bench.start = bench.machine.cycles().0;
        bench.store(BDCR, 0x8101);
        bench
    }

    /// Configures registers; what they hold takes effect in the tick that this returns.
    fn configure(&mut self, registers: &[(u32, u32)]) -> u64 {
        self.write(CRL, CNF);
        for (offset, value) in registers {
            self.write(*offset, *value);
        }
        self.write(CRL, 0);
        (self.machine.cycles().0 - self.start) * 32_768 / self.clock + 3
    }

    fn store(&mut self, address: u32, value: u32) {
        self.machine.store_word(address, value).expect("a register");
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.store(RTC + offset, value);
    }

    fn read(&mut self, offset: u32) -> u32 {
        self.machine.set_register(Register::R(6), RTC + offset);
        self.machine.set_register(Register::Pc, 0x2000_0010);
        self.machine.step(Cycles::MAX).expect("a step");
        self.machine.set_register(Register::Pc, 0x2000_0000);
        self.machine.register(Register::R(7))
    }

    fn count(&mut self) -> u32 {
        self.read(CNTH) << 16 | self.read(CNTL)
    }

    fn divider(&mut self) -> u32 {
        self.read(DIVH) << 16 | self.read(DIVL)
    }

    fn run_to_tick(&mut self, tick: u64) {
        let cycle = self.start + (tick * self.clock).div_ceil(32_768);
        self.machine.run(Cycles(cycle));
    }

    /// Returns whether an interrupt is pending a little after a tick.
    fn is_pending_after(&mut self, interrupt: u16, tick: u64) -> bool {
        self.run_to_tick(tick);
        let soon = self.machine.cycles().0 + 10;
        self.machine.run(Cycles(soon));
        self.machine.is_pending_or_active(interrupt)
    }

    fn unmodelled(&self) -> usize {
        self.machine.unmodelled().count()
    }
}

/// The values that the chips' SVD files give for a reset.
#[test]
fn registers_have_their_reset_values() {
    for soc in SOCS {
        let mut bench = Bench::without_clock(soc);
        let values =
            [(CRH, 0), (CRL, RTOFF), (DIVH, 0), (CNTH, 0), (CNTL, 0), (PRLL, 0), (ALRH, 0)];
        for (offset, value) in values {
            assert_eq!(bench.read(offset), value, "{offset:#x}");
        }
        assert_eq!((bench.divider(), bench.unmodelled()), (0x8000, 0));
    }
}

/// Its counter is incremented each PRL + 1 periods.
#[test]
fn the_divider_counts_down_and_the_counter_up() {
    for soc in SOCS {
        let mut bench = Bench::start(soc);
        bench.run_to_tick(1);
        assert_eq!(bench.read(CRL), RTOFF | RSF);
        assert_eq!((bench.count(), bench.divider()), (0, 0x7FFF));
        let begin = bench.configure(&[(PRLH, 0), (PRLL, 9), (CNTH, 0x1234), (CNTL, 0xFFFF)]);
        assert_eq!(bench.read(CRL) & (RTOFF | CNF), 0);
        bench.write(CRH, 7);
        assert_eq!(bench.read(CRH), 0, "the write before is not complete");
        bench.run_to_tick(begin);
        assert_eq!(bench.read(CRL) & RTOFF, RTOFF);
        for (tick, count, divider) in
            [(0, 0x1234_FFFF, 9), (9, 0x1234_FFFF, 0), (10, 0x1235_0000, 9), (25, 0x1235_0001, 4)]
        {
            bench.run_to_tick(begin + tick);
            assert_eq!((bench.count(), bench.divider()), (count, divider), "{tick}");
        }
        assert_eq!(bench.unmodelled(), 0);
    }
}

#[test]
fn registers_need_configuration_and_the_backup_domain() {
    let mut bench = Bench::start(SOCS[1]);
    bench.write(CNTL, 5);
    bench.write(CRL, 0);
    bench.run_to_tick(10);
    assert_eq!(bench.count(), 0);
    bench.store(PWR_CR, 0);
    bench.configure(&[(CNTL, 5)]);
    bench.write(CRH, 7);
    bench.run_to_tick(20);
    assert_eq!((bench.count(), bench.read(CRH)), (0, 0));
    bench.store(PWR_CR, 1 << 8);
    bench.configure(&[(CNTL, 5)]);
    bench.run_to_tick(30);
    assert_eq!(bench.count(), 5);
    bench.store(BDCR, 1 << 16);
    bench.store(BDCR, 0);
    assert_eq!((bench.count(), bench.divider(), bench.read(CRL)), (0, 0x8000, RTOFF));
    // Without its clock, a write is never complete.
    bench.configure(&[(CNTL, 5)]);
    bench.run_to_tick(100_000);
    assert_eq!((bench.count(), bench.read(CRL)), (0, 0));
}

/// "RTC flag assertion": flags rise in the last period before the counter changes, that of the alarm before it is
/// more than the alarm's value.
#[test]
fn flags_rise_a_period_before_the_counter_changes() {
    let mut bench = Bench::start(SOCS[1]);
    let registers = [(PRLL, 9), (CNTH, 0xFFFF), (CNTL, 0xFFFD), (ALRH, 0), (ALRL, 1)];
    let begin = bench.configure(&registers);
    bench.run_to_tick(begin);
    bench.write(CRL, 0);
    let flags = |bench: &mut Bench, tick| {
        bench.run_to_tick(begin + tick);
        bench.read(CRL) & (SECF | ALRF | OWF)
    };
    assert_eq!([8, 9].map(|tick| flags(&mut bench, tick)), [0, SECF]);
    bench.write(CRL, !SECF & !CNF);
    assert_eq!([18, 19, 28].map(|tick| flags(&mut bench, tick)), [0, SECF, SECF]);
    assert_eq!(flags(&mut bench, 29), SECF | OWF, "from 0xFFFF_FFFF to 0");
    assert_eq!(flags(&mut bench, 48), SECF | OWF);
    assert_eq!(flags(&mut bench, 49), SECF | OWF | ALRF, "from 1 to 2");
    bench.write(CRL, 0);
    assert_eq!(flags(&mut bench, 58), 0);
}

#[test]
fn interrupts_come_directly_and_by_a_line() {
    for soc in SOCS {
        for (enabled, tick) in [(SECF, 9), (ALRF, 49), (OWF, 29)] {
            let mut bench = Bench::start(soc);
            let registers = [(PRLL, 9), (CNTH, 0xFFFF), (CNTL, 0xFFFD), (ALRH, 0), (ALRL, 1)];
            let begin = bench.configure(&registers);
            bench.run_to_tick(begin);
            bench.write(CRL, 0);
            bench.write(CRH, enabled);
            assert!(!bench.is_pending_after(GLOBAL, begin + tick - 1));
            assert!(bench.is_pending_after(GLOBAL, begin + tick), "{enabled}");
        }
        // IMR, RTSR.
        let mut bench = Bench::start(soc);
        bench.store(EXTI, 1 << 17);
        bench.store(EXTI + 8, 1 << 17);
        let begin = bench.configure(&[(PRLL, 9), (ALRH, 0), (ALRL, 1)]);
        assert!(!bench.is_pending_after(ALARM, begin + 18));
        assert!(bench.is_pending_after(ALARM, begin + 19));
        assert!(!bench.machine.is_pending_or_active(GLOBAL));
        assert_eq!(bench.unmodelled(), 0);
    }
}

/// BKP_RTCCR and BKP_CR.
#[test]
fn calibration_and_tampers_are_reported() {
    for (offset, value) in [(0x2C, 1), (0x30, 1)] {
        let mut bench = Bench::start(SOCS[1]);
        bench.store(0x4000_6C00 + offset, 0);
        bench.store(0x4000_6C04, 0xFFFF);
        assert_eq!(bench.unmodelled(), 0);
        bench.store(0x4000_6C00 + offset, value);
        assert_eq!(bench.unmodelled(), 1);
    }
}
