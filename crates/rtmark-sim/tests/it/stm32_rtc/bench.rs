//! A machine beside a real-time clock, and what differs between chips.

use rtmark_sim::{ClockControl, Cycles, Hertz, Machine, Register, Soc};

/// What differs between chips.
#[derive(Clone, Copy)]
pub(super) struct Chip {
    soc: &'static str,
    pub(super) rtc: u32,
    /// RCC_BDCR or CSR1.
    pub(super) backup_control: u32,
    /// The register with DBP.
    pub(super) power: Option<u32>,
    /// SR and SCR instead of flags in ISR.
    pub(super) has_flag_registers: bool,
    /// EXTI's IMR, RTSR and PR, and the lines for alarms and wake-up.
    pub(super) lines: Option<([u32; 3], [u32; 2])>,
    /// The interrupts for alarms and wake-up.
    pub(super) interrupts: [u16; 2],
}

macro_rules! soc {
    ($name:literal) => {
        include_str!(concat!("../../../../../socs/", $name, ".toml"))
    };
}

pub(super) const EXTI_F4: [u32; 3] = [0x4001_3C00, 0x4001_3C08, 0x4001_3C14];
pub(super) const EXTI_L4: [u32; 3] = [0x4001_0400, 0x4001_0408, 0x4001_0414];

pub(super) const F405: Chip = Chip {
    soc: soc!("stm32f405"),
    rtc: 0x4000_2800,
    backup_control: 0x4002_3870,
    power: Some(0x4000_7000),
    has_flag_registers: false,
    lines: Some((EXTI_F4, [17, 22])),
    interrupts: [41, 3],
};
pub(super) const F411: Chip = Chip { soc: soc!("stm32f411"), ..F405 };
pub(super) const F446: Chip = Chip { soc: soc!("stm32f446"), ..F405 };
pub(super) const L432: Chip = Chip {
    soc: soc!("stm32l432"),
    backup_control: 0x4002_1090,
    lines: Some((EXTI_L4, [18, 20])),
    ..F405
};
pub(super) const G431: Chip = Chip {
    soc: soc!("stm32g431"),
    has_flag_registers: true,
    lines: Some((EXTI_L4, [17, 20])),
    ..L432
};
pub(super) const H743: Chip = Chip {
    soc: soc!("stm32h743"),
    rtc: 0x5800_4000,
    backup_control: 0x5802_4470,
    power: Some(0x5802_4800),
    lines: Some(([0x5800_0080, 0x5800_0000, 0x5800_0088], [17, 19])),
    ..F405
};
pub(super) const G071: Chip = Chip {
    soc: soc!("stm32g071"),
    backup_control: 0x4002_105C,
    has_flag_registers: true,
    lines: None,
    interrupts: [2, 2],
    ..F405
};
pub(super) const C031: Chip = Chip { soc: soc!("stm32c031"), power: None, ..G071 };
pub(super) const WITH_WAKEUP: [Chip; 7] = [F405, F411, F446, L432, G431, H743, G071];

pub(super) const TR: u32 = 0x00;
pub(super) const DR: u32 = 0x04;
pub(super) const ISR: u32 = 0x0C;
pub(super) const PRER: u32 = 0x10;
pub(super) const WUTR: u32 = 0x14;
pub(super) const WPR: u32 = 0x24;

pub(super) const RSF: u32 = 1 << 5;
pub(super) const INITF: u32 = 1 << 6;
pub(super) const INIT: u32 = 1 << 7;
pub(super) const BYPSHAD: u32 = 1 << 5;

pub(super) const LSEON: u32 = 1;
pub(super) const LSE: u32 = 1 << 8;
pub(super) const RTCEN: u32 = 1 << 15;
pub(super) const BDRST: u32 = 1 << 16;

/// 1 January 2024 was a Monday.
pub(super) const NEW_YEAR: u32 = 0x24_2101;

/// The core's clock, of which 122 cycles are a period of the crystal.
pub(super) const CORE: Hertz = Hertz(4_000_000);

/// A machine that loops for ever, beside a real-time clock that counts a crystal.
pub(super) struct Bench {
    pub(super) machine: Machine,
    chip: Chip,
    pub(super) clock: u64,
    /// The crystal's first cycle.
    pub(super) start: u64,
}

impl Bench {
    /// Starts the clock and unlocks its registers.
    pub(super) fn start(chip: Chip) -> Self {
        let mut bench = Self::without_clock(chip);
        bench.allow_writing();
        bench.start = bench.machine.cycles().0;
        bench.store(chip.backup_control, LSEON | LSE | RTCEN);
        bench.unlock();
        bench
    }

    pub(super) fn without_clock(chip: Chip) -> Self {
        Self::beside(chip, CORE, ClockControl::Fixed)
    }

    pub(super) fn beside(chip: Chip, core: Hertz, control: ClockControl) -> Self {
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

    pub(super) fn allow_writing(&mut self) {
        if let Some(power) = self.chip.power {
            self.store(power, 1 << 8);
        }
    }

    pub(super) fn unlock(&mut self) {
        self.write(WPR, 0xCA);
        self.write(WPR, 0x53);
    }

    /// Sets time and date, and divides the clock by 128 and 256.
    pub(super) fn set(chip: Chip, time: u32, date: u32) -> Self {
        let mut bench = Self::start(chip);
        bench.initialize(time, date, 0x7F_00FF);
        bench
    }

    /// Sets time, date and dividers; the next second begins 4 periods and a second later.
    pub(super) fn initialize(&mut self, time: u32, date: u32, dividers: u32) {
        self.write(ISR, INIT);
        self.run_ticks(3);
        for (offset, value) in [(PRER, dividers), (TR, time), (DR, date)] {
            self.write(offset, value);
        }
        self.write(ISR, 0);
        self.start = self.next_tick() + self.cycles(3);
    }

    pub(super) fn store(&mut self, address: u32, value: u32) {
        self.machine.store_word(address, value).expect("a register");
    }

    pub(super) fn write(&mut self, offset: u32, value: u32) {
        self.store(self.chip.rtc + offset, value);
    }

    pub(super) fn read(&mut self, offset: u32) -> u32 {
        self.load(self.chip.rtc + offset)
    }

    pub(super) fn load(&mut self, address: u32) -> u32 {
        self.machine.set_register(Register::R(6), address);
        self.machine.set_register(Register::Pc, 0x2000_0010);
        self.machine.step(Cycles::MAX).expect("a step");
        self.machine.set_register(Register::Pc, 0x2000_0000);
        self.machine.register(Register::R(7))
    }

    /// Returns the cycles of so many periods, rounded up.
    pub(super) fn cycles(&self, ticks: u64) -> u64 {
        (ticks * self.clock).div_ceil(32_768)
    }

    /// Returns the cycle in which the current period ends.
    pub(super) fn next_tick(&self) -> u64 {
        let passed = self.machine.cycles().0 - self.start;
        self.start + self.cycles(passed * 32_768 / self.clock + 1)
    }

    pub(super) fn run_until(&mut self, cycle: u64) {
        self.machine.run(Cycles(cycle));
    }

    pub(super) fn run_ticks(&mut self, ticks: u64) {
        let until = self.machine.cycles().0 + self.cycles(ticks);
        self.run_until(until);
    }

    /// Runs until so many periods after the calendar has begun.
    pub(super) fn run_to_tick(&mut self, tick: u64) {
        self.run_until(self.start + self.cycles(tick));
    }

    pub(super) fn control(&self) -> u32 {
        if self.chip.has_flag_registers { 0x18 } else { 0x08 }
    }

    pub(super) fn subseconds(&self) -> u32 {
        if self.chip.has_flag_registers { 0x08 } else { 0x28 }
    }

    pub(super) fn alarm(&self, at: u32) -> [u32; 2] {
        if self.chip.has_flag_registers {
            [0x40 + 8 * at, 0x44 + 8 * at]
        } else {
            [0x1C + 4 * at, 0x44 + 4 * at]
        }
    }

    pub(super) fn flags(&mut self) -> u32 {
        if self.chip.has_flag_registers { self.read(0x50) } else { self.read(ISR) >> 8 }
    }

    pub(super) fn clear_flags(&mut self, flags: u32) {
        if self.chip.has_flag_registers {
            self.write(0x5C, flags);
        } else {
            self.write(ISR, !(flags << 8) & !INIT);
        }
    }

    /// Enables the lines of EXTI.
    pub(super) fn enable_lines(&mut self) {
        if let Some(([mask, rising, _], lines)) = self.chip.lines {
            let lines = 1 << lines[0] | 1 << lines[1];
            self.store(rising, lines);
            self.store(mask, lines);
        }
    }

    pub(super) fn clear_lines(&mut self) {
        if let Some(([_, _, pending], lines)) = self.chip.lines {
            self.store(pending, 1 << lines[0] | 1 << lines[1]);
        }
    }

    /// Returns in which periods an interrupt rises until one of them; each time, the flags are cleared.
    pub(super) fn rises(&mut self, interrupt: u16, until: u64) -> Vec<u64> {
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

    pub(super) fn unmodelled(&self) -> Vec<u32> {
        self.machine.unmodelled().map(|it| it.address - self.chip.rtc).collect()
    }
}
