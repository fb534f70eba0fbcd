//! The core's clock as the clock registers set it. The judges are configurations whose frequencies the
//! vendors state, and what the reference manuals say of reset.

use rtmark_sim::{
    ClockControl, Cycles, Hertz, Instruction, Level, Machine, Observer, PinChange, Register, Soc,
};

/// A chip whose clock follows its registers.
fn following(text: &str) -> Soc {
    let mut soc = Soc::from_toml(text).expect("a soc");
    soc.clock_control = ClockControl::Registers;
    soc
}

const F405: &str = include_str!("../../../../socs/stm32f405.toml");
const F103: &str = include_str!("../../../../socs/stm32f103.toml");
const F411: &str = include_str!("../../../../socs/stm32f411.toml");
const F446: &str = include_str!("../../../../socs/stm32f446.toml");
const G431: &str = include_str!("../../../../socs/stm32g431.toml");
const L432: &str = include_str!("../../../../socs/stm32l432.toml");
const C031: &str = include_str!("../../../../socs/stm32c031.toml");
const G071: &str = include_str!("../../../../socs/stm32g071.toml");
const F100: &str = include_str!("../../../../socs/stm32f100.toml");
const H743: &str = include_str!("../../../../socs/stm32h743.toml");
const RP2040: &str = include_str!("../../../../socs/rp2040.toml");
const RP2350: &str = include_str!("../../../../socs/rp2350.toml");
const RP2350_RISCV: &str = include_str!("../../../../socs/rp2350-riscv.toml");
const SAME70: &str = include_str!("../../../../socs/same70.toml");
const IMXRT: &str = include_str!("../../../../socs/imxrt1062.toml");
const ZYNQMP: &str = include_str!("../../../../socs/zynqmp-r5.toml");
const LM3S: &str = include_str!("../../../../socs/lm3s6965.toml");

const F4_CR: u32 = 0x4002_3800;
const F4_PLLCFGR: u32 = 0x4002_3804;
const F4_CFGR: u32 = 0x4002_3808;

/// Stores, each with the core's frequency after it.
struct Configuration {
    /// Where it is published.
    source: &'static str,
    soc: &'static str,
    reset: u32,
    stores: &'static [(u32, u32, u32)],
}

const MHZ: u32 = 1_000_000;

const CONFIGURATIONS: [Configuration; 20] = [
    Configuration {
        source: "STM32F4DISCOVERY, STM32CubeF4: HSE 8 MHz, M = 8, N = 336, P = 2; then AHB / 2",
        soc: F405,
        reset: 16 * MHZ,
        stores: &[
            (F4_CR, 0x0001_0083, 16 * MHZ),
            (F4_PLLCFGR, 0x0740_5408, 16 * MHZ),
            (F4_CR, 0x0101_0083, 16 * MHZ),
            (F4_CFGR, 0x0000_9402, 168 * MHZ),
            (F4_CFGR, 0x0000_9482, 84 * MHZ),
            (F4_CFGR, 0x0000_9481, 4 * MHZ),
        ],
    },
    Configuration {
        source: "STM32F446, STM32CubeF4: HSE 8 MHz, M = 8, N = 360, P = 2; then PLL_R = 2 by SW = 3",
        soc: F446,
        reset: 16 * MHZ,
        stores: &[
            (F4_PLLCFGR, 0x2740_5A08, 16 * MHZ),
            (F4_CR, 0x0101_0083, 16 * MHZ),
            (F4_CFGR, 0x0000_9402, 180 * MHZ),
            (F4_CFGR, 0x0000_9403, 180 * MHZ),
        ],
    },
    Configuration {
        source: "NUCLEO-F411RE, STM32CubeF4: HSI 16 MHz, M = 16, N = 400, P = 4",
        soc: F411,
        reset: 16 * MHZ,
        stores: &[
            (F4_PLLCFGR, 0x0701_6410, 16 * MHZ),
            (F4_CR, 0x0100_0083, 16 * MHZ),
            (F4_CFGR, 0x0000_1002, 100 * MHZ),
        ],
    },
    Configuration {
        source: "NUCLEO-G431RB, STM32CubeG4: HSI16, M = 4, N = 85, R = 2, by AHB / 2 for a moment; then HSE 24 MHz",
        soc: G431,
        reset: 16 * MHZ,
        stores: &[
            (0x4002_100C, 0x0100_5532, 16 * MHZ),
            (0x4002_1000, 0x0101_0500, 16 * MHZ),
            (0x4002_1008, 0x0000_0083, 85 * MHZ),
            (0x4002_1008, 0x0000_0003, 170 * MHZ),
            (0x4002_1008, 0x0000_0002, 24 * MHZ),
        ],
    },
    Configuration {
        source: "STM32L432, STM32CubeL4: MSI 4 MHz, M = 1, N = 40, R = 2; MSI 48 MHz by its range",
        soc: L432,
        reset: 4 * MHZ,
        stores: &[
            (0x4002_100C, 0x0100_2801, 4 * MHZ),
            (0x4002_1000, 0x0100_0063, 4 * MHZ),
            (0x4002_1008, 0x0000_0003, 80 * MHZ),
            (0x4002_1008, 0x0000_0000, 4 * MHZ),
            (0x4002_1000, 0x0000_00BB, 48 * MHZ),
        ],
    },
    Configuration {
        source: "STM32C031, RM0490 6.2: HSI48 / 4 after reset, undivided by HSIDIV = 0; LSE",
        soc: C031,
        reset: 12 * MHZ,
        stores: &[
            (0x4002_1000, 0x0000_0500, 48 * MHZ),
            (0x4002_1008, 0x0000_0800, 24 * MHZ),
            (0x4002_105C, 0x0000_0001, 24 * MHZ),
            (0x4002_1008, 0x0000_0004, 32_768),
        ],
    },
    Configuration {
        source: "NUCLEO-G071RB, STM32CubeG0: HSI16, M = 1, N = 8, R = 2; HSE by the ST-LINK's MCO; HSI16 / 8",
        soc: G071,
        reset: 16 * MHZ,
        stores: &[
            (0x4002_100C, 0x3000_0802, 16 * MHZ),
            (0x4002_1000, 0x0101_0500, 16 * MHZ),
            (0x4002_1008, 0x0000_0002, 64 * MHZ),
            (0x4002_1008, 0x0000_0902, 16 * MHZ),
            (0x4002_1008, 0x0000_0001, 8 * MHZ),
            (0x4002_1000, 0x0101_1D00, 8 * MHZ),
            (0x4002_1008, 0x0000_0000, 2 * MHZ),
        ],
    },
    Configuration {
        source: "STM32VLDISCOVERY, SetSysClockTo24: HSE 8 MHz / 2 x 6",
        soc: F100,
        reset: 8 * MHZ,
        stores: &[
            (0x4002_1000, 0x0001_0083, 8 * MHZ),
            (0x4002_1004, 0x0013_0000, 8 * MHZ),
            (0x4002_1000, 0x0101_0083, 8 * MHZ),
            (0x4002_1004, 0x0013_0002, 24 * MHZ),
        ],
    },
    Configuration {
        source: "STM32F103, SetSysClockTo72: HSE 8 MHz x 9; then SetSysClockTo36 by PLLXTPRE",
        soc: F103,
        reset: 8 * MHZ,
        stores: &[
            (0x4002_1000, 0x0001_0083, 8 * MHZ),
            (0x4002_1004, 0x001D_0400, 8 * MHZ),
            (0x4002_1000, 0x0101_0083, 8 * MHZ),
            (0x4002_1004, 0x001D_0402, 72 * MHZ),
            (0x4002_1004, 0x001D_0401, 8 * MHZ),
            // Its settings stay while it is on.
            (0x4002_1004, 0x001F_0402, 72 * MHZ),
            (0x4002_1004, 0x001F_0401, 8 * MHZ),
            (0x4002_1000, 0x0001_0083, 8 * MHZ),
            (0x4002_1004, 0x001F_0401, 8 * MHZ),
            (0x4002_1000, 0x0101_0083, 8 * MHZ),
            (0x4002_1004, 0x001F_0402, 36 * MHZ),
        ],
    },
    Configuration {
        source: "STM32F103, RM0008: HSI 8 MHz / 2 x 16, the most without a crystal",
        soc: F103,
        reset: 8 * MHZ,
        stores: &[
            (0x4002_1004, 0x0038_0400, 8 * MHZ),
            (0x4002_1000, 0x0100_0083, 8 * MHZ),
            (0x4002_1004, 0x0038_0402, 64 * MHZ),
        ],
    },
    Configuration {
        source: "NUCLEO-H743ZI, STM32CubeH7: HSE 8 MHz, M = 4, N = 400, P = 2; D1CPRE / 2",
        soc: H743,
        reset: 64 * MHZ,
        stores: &[
            (0x5802_4428, 0x0202_0042, 64 * MHZ),
            (0x5802_4430, 0x0101_038F, 64 * MHZ),
            (0x5802_4400, 0x0101_C083, 64 * MHZ),
            (0x5802_4410, 0x0000_0003, 400 * MHZ),
            (0x5802_4418, 0x0000_0800, 200 * MHZ),
        ],
    },
    Configuration {
        source: "pico-sdk: XOSC 12 MHz x 125 / 6 / 2; by clk_ref on the crystal; then 48 MHz of PLL_USB",
        soc: RP2040,
        reset: 6_500_000,
        stores: &[
            (0x4002_4000, 0x00FA_BAA0, 6_500_000),
            (0x4000_8030, 0x0000_0002, 12 * MHZ),
            (0x4002_8000, 0x0000_0001, 12 * MHZ),
            (0x4002_8008, 125, 12 * MHZ),
            // The SDK clears PD and VCOPD, then POSTDIVPD, at the alias that clears bits.
            (0x4002_B004, 0x21, 12 * MHZ),
            (0x4002_800C, 0x0006_2000, 12 * MHZ),
            (0x4002_B004, 0x08, 12 * MHZ),
            (0x4000_803C, 0x0000_0000, 12 * MHZ),
            (0x4000_803C, 0x0000_0001, 125 * MHZ),
            (0x4000_8040, 0x0000_0280, 50 * MHZ),
            (0x4000_8040, 0x0000_0100, 125 * MHZ),
            (0x4002_C008, 100, 125 * MHZ),
            (0x4002_C00C, 0x0005_5000, 125 * MHZ),
            (0x4002_C004, 0, 125 * MHZ),
            (0x4000_803C, 0x0000_0021, 48 * MHZ),
        ],
    },
    Configuration {
        source: "pico-sdk: RP2350 at 150 MHz, XOSC 12 MHz x 125 / 5 / 2",
        soc: RP2350,
        reset: 11 * MHZ,
        stores: &[
            (0x4004_8000, 0x00FA_BAA0, 11 * MHZ),
            (0x4001_303C, 0x0000_0001, 11 * MHZ),
            (0x4001_0030, 0x0000_0002, 12 * MHZ),
            (0x4005_0008, 125, 12 * MHZ),
            (0x4005_000C, 0x0005_2000, 12 * MHZ),
            (0x4005_0004, 0, 12 * MHZ),
            (0x4001_003C, 0x0000_0001, 150 * MHZ),
        ],
    },
    Configuration {
        source: "pico-sdk: RP2350's RISC-V core at 150 MHz",
        soc: RP2350_RISCV,
        reset: 11 * MHZ,
        stores: &[
            (0x4004_8000, 0x00FA_BAA0, 11 * MHZ),
            (0x4001_303C, 0x0000_0001, 11 * MHZ),
            (0x4001_0030, 0x0000_0002, 12 * MHZ),
            (0x4005_0008, 125, 12 * MHZ),
            (0x4005_000C, 0x0005_2000, 12 * MHZ),
            (0x4005_0004, 0, 12 * MHZ),
            (0x4001_003C, 0x0000_0001, 150 * MHZ),
        ],
    },
    Configuration {
        source: "SAM E70 Xplained at 300 MHz: crystal of 12 MHz, MULA = 24, DIVA = 1; MCK is half; then PRES",
        soc: SAME70,
        reset: 12 * MHZ,
        stores: &[
            (0x400E_0620, 0x0037_2029, 12 * MHZ),
            (0x400E_0620, 0x0137_2029, 12 * MHZ),
            (0x400E_0628, 0x2018_3F01, 12 * MHZ),
            (0x400E_0630, 0x0000_0101, 12 * MHZ),
            (0x400E_0630, 0x0000_0102, 300 * MHZ),
            (0x400E_0630, 0x0000_0112, 150 * MHZ),
        ],
    },
    Configuration {
        source: "SAM E70 at 300 MHz, from a clock of 12 MHz on XIN as atsamx7x-hal takes it (MOSCXTBY); MCK is half",
        soc: SAME70,
        reset: 12 * MHZ,
        stores: &[
            (0x400E_0620, 0x0037_FF2A, 12 * MHZ),
            (0x400E_0620, 0x0137_FF2A, 12 * MHZ),
            (0x400E_0628, 0x2018_3F01, 12 * MHZ),
            (0x400E_0630, 0x0000_0101, 12 * MHZ),
            (0x400E_0630, 0x0000_0102, 300 * MHZ),
        ],
    },
    Configuration {
        source: "Teensy 4 at 600 MHz: by the crystal while PLL1 changes to 1200 MHz; then ARM_PODF, BYPASS",
        soc: IMXRT,
        reset: 396 * MHZ,
        stores: &[
            (0x400F_C018, 0x2DAE_9324, 396 * MHZ),
            (0x400F_C014, 0x020A_8200, 24 * MHZ),
            (0x400D_8000, 0x0000_1000, 24 * MHZ),
            (0x400D_8000, 0x0000_2064, 24 * MHZ),
            (0x400F_C014, 0x000A_8200, 600 * MHZ),
            (0x400F_C010, 0x0000_0003, 300 * MHZ),
            (0x400D_8004, 0x0001_0000, 6 * MHZ),
            (0x400D_8008, 0x0001_0000, 300 * MHZ),
        ],
    },
    Configuration {
        source: "ZCU102, AMD's psu_init: 33.333333 MHz x 90 / 2, a third of it; that of x 45 / 2, the RPLL; a sixth",
        soc: ZYNQMP,
        reset: 499_999_995,
        stores: &[
            (0xFF5E_0090, 0x0300_0300, 249_999_998),
            (0xFF5E_0090, 0x0300_0600, 124_999_999),
            (0xFF5E_0030, 0x0001_2D08, 5_555_556),
        ],
    },
    Configuration {
        source: "StellarisWare, LM3S6965 at 50 MHz: SYSCTL_SYSDIV_4 | USE_PLL | OSC_MAIN | XTAL_8MHZ",
        soc: LM3S,
        reset: 12 * MHZ,
        stores: &[
            (0x400F_E060, 0x078E_3B80, 8 * MHZ),
            (0x400F_E060, 0x01CE_1B80, 2 * MHZ),
            (0x400F_E060, 0x01CE_1380, 50 * MHZ),
        ],
    },
    Configuration {
        source: "LM3S6965 by RCC2: SYSDIV2 = 9 of the PLL's 200 MHz",
        soc: LM3S,
        reset: 12 * MHZ,
        stores: &[(0x400F_E070, 0x8780_2810, 12 * MHZ), (0x400F_E070, 0x8480_0010, 20 * MHZ)],
    },
];

#[test]
fn published_configurations_give_their_frequencies() {
    for Configuration { source, soc, reset, stores } in CONFIGURATIONS {
        let mut machine = Machine::new(&following(soc));
        assert_eq!(machine.clock_history().clock(), Hertz(reset), "{source}: after reset");
        for (at, (address, value, clock)) in stores.iter().enumerate() {
            machine.store_word(*address, *value).expect("a register");
            let found = machine.clock_history().clock();
            let unknown = machine.unknown_clock();
            assert_eq!((found, unknown), (Hertz(*clock), None), "{source}: store {at}");
        }
    }
}

#[test]
fn a_soc_without_a_tree_or_not_following_keeps_its_clock() {
    let mut soc = Soc::from_toml(F405).expect("a soc");
    let mut machine = Machine::new(&soc);
    machine.store_word(F4_CFGR, 0x80).expect("a register");
    assert_eq!(machine.clock_history().clock(), Hertz(168 * MHZ));
    soc.clock_tree = None;
    soc.clock_control = ClockControl::Registers;
    assert_eq!(Machine::new(&soc).clock_history().clock(), Hertz(168 * MHZ));
}

/// Why the clock is not known after a store to one of the F405's clock registers.
fn unknown(stores: &[(u32, u32)]) -> String {
    let mut machine = Machine::new(&following(F405));
    for (address, value) in stores {
        machine.store_word(*address, *value).expect("a register");
    }
    assert_eq!(machine.clock_history().clock(), Hertz(16 * MHZ), "nothing is made up");
    machine.unknown_clock().expect("not known").reason.clone()
}

#[test]
fn impossible_settings_name_their_field() {
    assert_eq!(unknown(&[(F4_CFGR, 1)]), "HSE needs RCC.CR[16] to be 0x1, and it is 0x0");
    assert_eq!(unknown(&[(F4_CFGR, 2)]), "VCO needs RCC.CR[24] to be 0x1, and it is 0x0");
    assert_eq!(
        unknown(&[(F4_CFGR, 3)]),
        "SYSCLK: the source that RCC.CFGR[1:0] = 3 selects is not known"
    );
    assert_eq!(
        unknown(&[(F4_PLLCFGR, 0x2400_3001), (F4_CR, 0x0100_0083), (F4_CFGR, 2)]),
        "PLL input: RCC.PLLCFGR[5:0] is 1, which is reserved"
    );
    assert_eq!(
        unknown(&[(F4_PLLCFGR, 0x2400_3004), (F4_CR, 0x0100_0083), (F4_CFGR, 2)]),
        "PLL input would be 4000000 Hz, outside its 950000 to 2100000 Hz"
    );
}

#[test]
fn a_clock_is_known_again_once_its_settings_are() {
    let mut machine = Machine::new(&following(F405));
    machine.store_word(F4_CFGR, 2).expect("a register");
    assert!(machine.unknown_clock().is_some());
    machine.store_word(F4_CR, 0x0100_0083).expect("a register");
    assert_eq!((machine.clock_history().clock(), machine.unknown_clock()), (Hertz(96 * MHZ), None));
}

/// A machine whose program counts down from 1000, switches to the PLL at 168 MHz, counts again, halves the
/// core's clock, and goes on for ever.
fn switching() -> Machine {
    let mut machine = Machine::new(&following(F405));
    // subs r4, #1; bne; str r1, [r0]; subs r5, #1; bne; str r2, [r0]; b .
    let code = [0x3C01_u16, 0xD1FD, 0x6001, 0x3D01, 0xD1FD, 0x6002, 0xE7FE, 0xBF00];
    let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(0x0800_0000, &bytes).expect("flash");
    for (address, value) in [(F4_PLLCFGR, 0x0740_5408), (F4_CR, 0x0101_0083)] {
        machine.store_word(address, value).expect("a register");
    }
    machine.set_register(Register::Pc, 0x0800_0000);
    let values = [(0, F4_CFGR), (1, 0x9402), (2, 0x9482), (4, 1_000), (5, 1_000)];
    for (register, value) in values {
        machine.set_register(Register::R(register), value);
    }
    machine
}

struct Nothing;

impl Observer for Nothing {
    fn executed(&mut self, _: &Machine, _: &Instruction) {}
}

#[test]
fn time_is_the_same_however_the_program_runs() {
    let end = Cycles(20_000);
    let mut machine = switching();
    let mut stepped = machine.clone();
    let mut observed = machine.clone();
    machine.run(end);
    while stepped.step(end).is_ok() {}
    observed.run_observed(end, &mut Nothing);
    let history = machine.clock_history();
    assert_eq!(history, stepped.clock_history());
    assert_eq!(history, observed.clock_history());
    let changes: Vec<_> = history.changes().collect();
    let [reset, fast, half] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!([reset, fast, half].map(|it| it.clock.0 / MHZ), [16, 168, 84]);
    let (fast, half) = (fast.cycle.0, half.cycle.0);
    let time = |cycle: u64| history.time_at(Cycles(cycle)).0 as f64;
    let at = |cycles: u64, mhz: f64| cycles as f64 * 1e3 / mhz;
    assert!((time(fast) - at(fast, 16.0)).abs() <= 1.0);
    assert!((time(half) - time(fast) - at(half - fast, 168.0)).abs() <= 1.0);
    assert!((time(half + 840) - time(half) - 10_000.0).abs() <= 1.0);
    // A copy goes on by itself.
    let mut copy = machine.clone();
    copy.store_word(F4_CFGR, 0).expect("a register");
    assert_eq!((copy.clock_history().clock().0, history.clock().0), (16 * MHZ, 84 * MHZ));
}

#[test]
fn a_driven_pin_keeps_its_times() {
    // High after a millisecond of the 16 MHz after reset.
    let change = PinChange { cycle: 16_000, level: Level::High };
    let mut machine = switching();
    machine.drive_pin("PC13", &[change]).expect("a pin");
    machine.run(Cycles(20_000));
    let due = machine.clock_history().cycle_at(std::time::Duration::from_millis(1));
    assert!(due.0 > 50_000, "{due}");
    let level = |machine: &Machine, until: Cycles| {
        let mut machine = machine.clone();
        machine.run(until);
        // ldr r7, [r6], of IDR
        machine.poke(0x0800_000C, &0x6837_u16.to_le_bytes()).expect("flash");
        machine.set_register(Register::R(6), 0x4002_0810);
        machine.set_register(Register::Pc, 0x0800_000C);
        machine.step(Cycles::MAX).expect("a step");
        machine.register(Register::R(7)) >> 13 & 1
    };
    assert_eq!(level(&machine, due - Cycles(100)), 0);
    assert_eq!(level(&machine, due + Cycles(100)), 1);
}

#[test]
fn microseconds_of_a_timer_keep_their_length() {
    // RP2040's TIMER counts microseconds whatever clk_sys is.
    let mut machine = Machine::new(&following(RP2040));
    machine.poke(0x2000_0000, &0xE7FE_u16.to_le_bytes()).expect("RAM");
    machine.set_register(Register::Pc, 0x2000_0000);
    machine.run(Cycles(6_500));
    for (address, value) in [(0x4002_4000, 0x00FA_BAA0), (0x4000_8030, 2)] {
        machine.store_word(address, value).expect("a register");
    }
    machine.run(Cycles(6_500 + 12_000));
    let time = machine.clock_history().time_at(machine.cycles()).0;
    assert!((1_999_000..2_001_000).contains(&time), "{time}");
    // ldr r7, [r6], of TIMERAWL
    machine.poke(0x2000_0000, &0x6837_u16.to_le_bytes()).expect("RAM");
    machine.set_register(Register::R(6), 0x4005_4028);
    machine.set_register(Register::Pc, 0x2000_0000);
    machine.step(Cycles::MAX).expect("a step");
    let counted = machine.register(Register::R(7));
    assert!((1_999..=2_001).contains(&counted), "{counted}");
}

/// A jump to itself and a load to R7 or X7 from the address in R6 or X6, of a core.
struct Code {
    jump: u32,
    load: u32,
}

/// Counts that a timer of another clock makes while the core's clock is set and 1000 microseconds pass. The
/// counter at an address counts upwards.
fn counted(soc: &str, code: &Code, ram: u32, stores: &[(u32, u32)], counter: u32) -> u32 {
    let mut machine = Machine::new(&following(soc));
    machine.poke(ram, &code.jump.to_le_bytes()).expect("RAM");
    machine.set_register(Register::Pc, ram);
    let read = |machine: &Machine| {
        let mut copy = machine.clone();
        copy.poke(ram, &code.load.to_le_bytes()).expect("RAM");
        copy.set_register(Register::R(6), counter);
        copy.set_register(Register::Pc, ram);
        copy.step(Cycles::MAX).expect("a step");
        copy.register(Register::R(7))
    };
    for (address, value) in stores {
        machine.store_word(*address, *value).expect("a register");
    }
    let before = read(&machine);
    let history = machine.clock_history();
    let later = history.elapsed_at(machine.cycles()) + std::time::Duration::from_millis(1);
    machine.run(history.cycle_at(later));
    read(&machine) - before
}

#[test]
fn timers_of_other_clocks_keep_their_rates() {
    let riscv = Code { jump: 0x0000_006F, load: 0x0003_2383 };
    let crystal = [(0x4004_8000, 0x00FA_BAA0), (0x4001_0030, 0x0000_0002)];
    let mtime = counted(RP2350_RISCV, &riscv, 0x2000_0000, &crystal, 0xD000_01B0);
    assert!((999..=1_001).contains(&mtime), "{mtime} microseconds");
    let r5 = Code { jump: 0xEAFF_FFFE, load: 0xE596_7000 };
    let halved = [(0xFF11_000C, 0x20), (0xFF5E_0090, 0x0300_0600)];
    let ttc = counted(ZYNQMP, &r5, 0x0020_0000, &halved, 0xFF11_0018);
    assert!((99_990..=100_010).contains(&ttc), "{ttc} counts of 10 ns");
}

#[test]
fn the_cores_of_an_rp2350_have_the_same_clocks() {
    let [arm, riscv] = [RP2350, RP2350_RISCV].map(|text| Soc::from_toml(text).expect("a soc"));
    assert_eq!(arm.clock_tree, riscv.clock_tree);
}

#[test]
fn a_tree_that_makes_no_sense_is_refused_with_its_line() {
    let refusal = |from: &str, to: &str| {
        let text = F405.replacen(from, to, 1);
        assert_ne!(text, F405, "{from}");
        Soc::from_toml(&text).expect_err(to).to_string()
    };
    for (from, to, expected) in [
        ("\"RCC.CR[0]\"", "\"RCC.CRX[0]\"", "RCC.CRX[0] is no register of a peripheral"),
        ("\"RCC.CR[0]\"", "\"RCC.CR[32]\"", "`RCC.CR[32]` is no field"),
        ("\"RCC.CR[0]\"", "\"RCC.CR[0] = x\"", "expected a number after ="),
        ("\"RCC.CR[0]\"", "\"RCC.CR[5:4] = 4\"", "never holds: 3 is the most"),
        (
            "from = [\"HSI\", \"HSE\"]",
            "from = [\"HSI\", \"HSX\"]",
            "derives from HSX, but no earlier",
        ),
        (
            "core = \"HCLK\"",
            "core = \"HCLX\"",
            "after a reset the core has no clock: there is no clock HCLX",
        ),
        ("name = \"HSE\", crystal_hz", "name = \"HSI\", crystal_hz", "another name is needed"),
        ("hz = 16_000_000, on", "hz = 16_000_000, crystal_hz = 1, on", "give exactly one of"),
        ("divide = \"RCC.PLLCFGR[5:0]\"", "plus = 1", "either multiply or divide"),
        ("values = [2, 4, 6, 8]", "values = [2, 4, 6, 8], plus = 1", "give plus or values"),
        ("from = [\"VCO\"]", "from = [\"VCO\", \"HSI\"]", "select is for from and table_hz"),
        ("RCC.CR[0]", "RCC.CR[2]", "after a reset the core has no clock: HSI needs RCC.CR[2]"),
    ] {
        let said = refusal(from, to);
        assert!(said.contains(expected) && said.contains("line "), "{to}: {said}");
    }
}
