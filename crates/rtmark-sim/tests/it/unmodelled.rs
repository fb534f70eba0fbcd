//! Registers without a model, on each family of cores: what a program does with them is told of, or ends
//! the run.

use rtmark_sim::{Cycles, FaultKind, Machine, Register, Soc, Stop, Strictness};

use crate::support::load_word;

/// A program for a soc that reads a register, writes it, and goes on for ever.
struct Case {
    soc: &'static str,
    /// Where the program is to be, and its words.
    at: u32,
    words: &'static [u32],
    /// The place of the load, and of the register's address in register 1 or `a0`.
    load: u32,
    register: u8,
    /// A register that no model of the soc's UART has.
    unknown: u32,
}

const CASES: [Case; 3] = [
    Case {
        soc: include_str!("../../../../socs/mps2-an385.toml"),
        at: 0,
        // ldr r2, [r1]; str r2, [r1]; b .
        words: &[0x600A_680A, 0xE7FE_E7FE],
        load: 0,
        register: 1,
        unknown: 0x4000_4800,
    },
    Case {
        soc: include_str!("../../../../socs/zynqmp-r5.toml"),
        at: 0x0010_0000,
        // ldr r2, [r1]; str r2, [r1]; b .
        words: &[0xE591_2000, 0xE581_2000, 0xEAFF_FFFE],
        load: 0x0010_0000,
        register: 1,
        unknown: 0xFF00_0200,
    },
    Case {
        soc: include_str!("../../../../socs/generic-hazard3.toml"),
        at: 0x8000_0000,
        // lw a1, 0(a0); sw a1, 0(a0); j .
        words: &[0x0005_2583, 0x00B5_2023, 0x0000_006F],
        load: 0x8000_0000,
        register: 10,
        unknown: 0x1000_0800,
    },
];

impl Case {
    /// A machine that is about to execute the program.
    fn machine(&self) -> Machine {
        let mut machine = Machine::new(&Soc::from_toml(self.soc).expect("a soc"));
        for (at, word) in (self.at..).step_by(4).zip(self.words) {
            machine.poke(at, &word.to_le_bytes()).expect("memory");
        }
        machine.set_register(Register::Pc, self.load);
        machine.set_register(Register::R(self.register), self.unknown);
        machine
    }
}

#[test]
fn unmodelled_accesses_are_reported() {
    for case in &CASES {
        let mut machine = case.machine();
        assert_eq!(machine.run(Cycles(1_000)), Stop::Limit);
        let told: Vec<_> =
            machine.unmodelled().map(|it| (it.address, it.reads, it.writes)).collect();
        assert_eq!(told, [(case.unknown, 1, 1)], "{}", machine.soc().name);
    }
}

#[test]
fn strict_runs_end_at_the_first_unmodelled_access() {
    for case in &CASES {
        let mut machine = case.machine();
        machine.set_strictness(Strictness::Strict);
        let Stop::Fault(report) = machine.run(Cycles(1_000)) else {
            panic!("{} goes on", machine.soc().name);
        };
        let found = (report.kind, report.pc, report.address);
        assert_eq!(found, (FaultKind::Unmodelled, case.load, Some(case.unknown)));
    }
}

#[test]
fn polling_storage_only_registers_is_reported() {
    // Both cores of one chip: CLOCKS has a register there that only keeps what is written.
    let keeps = 0x4001_0004;
    // ldr r2, [r1]; b the load.
    let arm = (include_str!("../../../../socs/rp2350.toml"), [0xE7FD_680A, 0]);
    // lw a1, 0(a0); j the load.
    let riscv = include_str!("../../../../socs/rp2350-riscv.toml");
    let riscv = (riscv, [0x0005_2583, 0xFFDF_F06F]);
    for ((soc, words), register) in [arm, riscv].into_iter().zip([1, 10]) {
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        machine.poke(0x1000_0000, &bytes).expect("flash");
        machine.set_register(Register::Pc, 0x1000_0000);
        machine.set_register(Register::R(register), keeps);
        assert_eq!(machine.run(Cycles(machine.cycles().0 + 2_000)), Stop::Limit);
        assert_eq!(machine.unmodelled().count(), 0, "{}: not yet", machine.soc().name);
        assert_eq!(machine.run(Cycles(machine.cycles().0 + 20_000)), Stop::Limit);
        let told: Vec<_> = machine.unmodelled().map(|it| it.address).collect();
        assert_eq!(told, [keeps], "{}", machine.soc().name);
    }
}

/// The registers that are told of after some words have been stored.
fn told(soc: &str, stores: &[(u32, u32)]) -> Vec<(u32, u64)> {
    let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
    for &(address, value) in stores {
        machine.store_word(address, value).expect("stored");
    }
    machine.unmodelled().map(|it| (it.address, it.writes)).collect()
}

/// They take no time here, and milliseconds on a chip.
#[test]
fn erasing_and_programming_flash_are_reported() {
    let f100 = include_str!("../../../../socs/stm32f100.toml");
    let (key, control, address) = (0x4002_2004, 0x4002_2010, 0x4002_2014);
    let unlocked = |stores: &[(u32, u32)]| {
        told(f100, &[&[(key, 0x4567_0123), (key, 0xCDEF_89AB)], stores].concat())
    };
    assert_eq!(unlocked(&[(address, 0x0800_0C10), (control, 2)]), []);
    assert_eq!(unlocked(&[(address, 0x0800_0C10), (control, 2 | 1 << 6)]), [(control, 1)]);
    // Unlocking takes no time on a chip, either; words programmed are reported once.
    assert_eq!(unlocked(&[(control, 1), (control, 0)]), []);
    let programs = [(control, 1), (0x0800_0C00, 0), (0x0800_0C04, 0)];
    assert_eq!(unlocked(&programs), [(control, 1)]);
    let nrf = include_str!("../../../../socs/nrf52840.toml");
    let (config, erase_page) = (0x4001_E504, 0x4001_E508);
    assert_eq!(told(nrf, &[(config, 2), (erase_page, 0x1000)]), [(erase_page, 1)]);
    assert_eq!(told(nrf, &[(config, 1), (0x1000, 0)]), [(config, 1)]);
}

/// What would change what happens next, or when, and has no model.
#[test]
fn what_chips_do_beyond_their_models_is_reported() {
    let [f405, l432, nrf51, nrf52, rp2040, rp2350, risc_v, zynq] = [
        include_str!("../../../../socs/stm32f405.toml"),
        include_str!("../../../../socs/stm32l432.toml"),
        include_str!("../../../../socs/nrf51822.toml"),
        include_str!("../../../../socs/nrf52840.toml"),
        include_str!("../../../../socs/rp2040.toml"),
        include_str!("../../../../socs/rp2350.toml"),
        include_str!("../../../../socs/rp2350-riscv.toml"),
        include_str!("../../../../socs/zynqmp-r5.toml"),
    ];
    for (soc, address, harmless, beyond) in [
        // CLK_PERI_CTRL's AUXSRC, CLK_PERI_DIV, FC0_SRC, ENABLE and TRIGGER of a watchdog that does not reset the core, an interpolator.
        (rp2040, 0x4000_8048, 0x800, 0x880),
        (rp2040, 0x4000_8094, 0, 1),
        (rp2040, 0x4005_8000, 0x0700_0000, 0x4000_0000),
        (rp2040, 0x4005_8000, 0, 0x8000_0000),
        (rp2350, 0x4001_0048, 0x800, 0x820),
        (rp2350, 0x4001_004C, 0x1_0000, 0x2_0000),
        (risc_v, 0x4001_00A0, 0, 1),
        (risc_v, 0x400D_8000, 0x0700_0000, 0x4000_0000),
        (rp2350, 0xD000_00AC, 0, 0x7C00),
        // MTIME stands still without EN.
        (risc_v, 0xD000_01A4, 0xD, 0xC),
        // ERASEALL, ERASEPAGEPARTIAL, CACHEPROFEN, the interrupts of RNG and TEMP, System OFF.
        (nrf51, 0x4001_E50C, 0, 1),
        (nrf52, 0x4001_E50C, 0, 1),
        (nrf52, 0x4001_E518, 0, 0x1000),
        (nrf52, 0x4001_E540, 1, 0x101),
        (nrf52, 0x4000_D304, 0, 1),
        (nrf52, 0x4000_C304, 0, 1),
        (nrf52, 0x4000_0500, 0, 1),
        // BITMODE of a timer of 16 bits and of one of 32, PRESCALER.
        (nrf51, 0x4000_9508, 1, 3),
        (nrf51, 0x4000_8510, 9, 10),
        // HDSEL of a USART, in both layouts.
        (f405, 0x4000_4414, 1 << 8, 1 << 3),
        (l432, 0x4000_4408, 1 << 8, 1 << 3),
        // An external clock, counting down, an event timer.
        (zynq, 0xFF11_0000, 0x1F, 0x20),
        (zynq, 0xFF11_000C, 0x22, 0x24),
        (zynq, 0xFF11_006C, 0, 1),
    ] {
        assert_eq!(told(soc, &[(address, harmless)]), [], "{address:#x}: {harmless:#x}");
        assert_eq!(told(soc, &[(address, beyond)]), [(address, 1)], "{address:#x}: {beyond:#x}");
    }
    assert_eq!(told(nrf51, &[(0x4000_8508, 3)]), [], "TIMER0 has 32 bits");
    // The cache's counters of hits are reported also if a program only reads them.
    let mut machine = Machine::new(&Soc::from_toml(rp2040).expect("a soc"));
    assert_eq!(load_word(&mut machine, 0x1400_000C), 0);
    assert_eq!(machine.unmodelled().map(|it| it.address).collect::<Vec<_>>(), [0x1400_000C]);
}

/// With CLKSOURCE clear, SysTick counts a clock that some soc files do not state.
#[test]
fn unknown_reference_clocks_of_systick_are_reported() {
    let control = 0xE000_E010;
    let mps2 = include_str!("../../../../socs/mps2-an385.toml");
    assert_eq!(told(mps2, &[(control, 3)]), [(control, 1)]);
    assert_eq!(told(mps2, &[(control, 7), (control, 2), (control, 0)]), []);
    let f405 = include_str!("../../../../socs/stm32f405.toml");
    assert_eq!(told(f405, &[(control, 3)]), []);
}

/// A program that polls a UART for bytes is told of, if none are to come and nothing else can change the flags.
#[test]
fn polling_a_uart_without_input_is_told_of() {
    let f405 = Soc::from_toml(include_str!("../../../../socs/stm32f405.toml")).expect("a soc");
    let (usart, receives, sends) = (0x4000_4400, 1 << 2, 1 << 3);
    for (enabled, input, sending, told) in [
        (receives | sends, "", false, true),
        (receives, "", false, true),
        (sends, "", false, false),
        (receives | sends, "ok", false, false),
        (receives | sends, "", true, false),
    ] {
        let mut machine = Machine::new(&f405);
        // ldr r2, [r1]; b the load.
        machine.poke(0x0800_0000, &0xE7FD_680A_u32.to_le_bytes()).expect("flash");
        machine.set_register(Register::Pc, 0x0800_0000);
        machine.set_register(Register::R(1), usart);
        // A frame takes 52080 cycles, longer than the program runs.
        machine.store_word(usart + 8, 0x1458).expect("BRR");
        machine.store_word(usart + 0xC, 1 << 13 | enabled).expect("CR1");
        machine.connect_uart(Some("USART2"), input.as_bytes()).expect("a UART");
        if sending {
            machine.store_word(usart + 4, u32::from(b'a')).expect("DR");
        }
        assert_eq!(machine.run(Cycles(20_000)), Stop::Limit);
        let polled = machine.polled_uart();
        assert_eq!(polled, told.then_some(usart), "{enabled:#x}, {input:?}, {sending}");
        assert_eq!(machine.unmodelled().count(), 0);
    }
}
