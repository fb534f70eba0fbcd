//! The coprocessors of an RP2350, as a program reaches them. What they calculate is tested where they are.

use rtmark_sim::{Cycles, FaultKind, Image, Machine, Register, Soc, Stop};

const RP2350: &str = include_str!("../../../../socs/rp2350.toml");
const CODE: u32 = 0x2000_1000;
const NMI_HANDLER: u32 = 0x2000_2000;
const CPACR: u32 = 0xE000_ED88;
/// Full access to coprocessors 0, 4 and 7.
const ENABLED: u32 = 0xC303;

/// A machine about to run these instructions, with r0 to r3 as given, and then to loop.
fn machine(code: &[u32], registers: [u32; 4]) -> Machine {
    let soc = Soc::from_toml(RP2350).expect("a soc");
    let vectors = [0x2000_4000, CODE | 1, NMI_HANDLER | 1];
    let table: Vec<u8> = vectors.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut machine = Machine::new(&soc);
    machine.load(&Image::from_raw(&table, soc.vector_base()).expect("an image")).expect("loads");
    let halves = code.iter().flat_map(|wide| [(wide >> 16) as u16, *wide as u16]);
    let bytes: Vec<u8> = halves.chain([0xE7FE]).flat_map(u16::to_le_bytes).collect();
    machine.poke(CODE, &bytes).expect("memory");
    machine.poke(NMI_HANDLER, &[0xFE, 0xE7]).expect("memory");
    machine.store_word(CPACR, ENABLED).expect("a register");
    for (number, value) in (0..).zip(registers) {
        machine.set_register(Register::R(number), value);
    }
    machine.set_register(Register::Pc, CODE);
    machine
}

fn registers(machine: &Machine) -> [u32; 4] {
    [0, 1, 2, 3].map(|number| machine.register(Register::R(number)))
}

/// mcr p0, #2, r0, c0, c4 (OE), mcr p0, #2, r1, c0, c0 (OUT), mrc p0, #0, r2, c0, c8 (IN),
/// mcrr p0, #4, r3, r0, c0, mrc p0, #0, r3, c0, c0, mrc p0, #0, r1, c0, c4. The registers are SIO's.
#[test]
fn pins_are_set_and_read() {
    let code = [0xEE40_0014, 0xEE40_1010, 0xEE10_2018, 0xEC40_3040, 0xEE10_3010, 0xEE10_1014];
    let mut machine = machine(&code, [0b101, 0b001, 0, 7]);
    machine.store_word(0xD000_0018, 0x100).expect("OUT_SET");
    machine.store_word(0xD000_0038, 0b10).expect("OE_SET");
    machine.run(machine.cycles() + Cycles(50));
    assert_eq!(registers(&machine), [0b101, 0b111, 0b001, 0x181]);
}

/// mcrr p4, #1, r0, r1, c0; mcrr p4, #1, r2, r3, c1; cdp p4, #0, c0, c0, c1, #0; cdp p4, #1, c0, c0, c1, #0;
/// cdp p4, #8, c0, c0, c0, #1; mrrc p4, #1, r0, r1, c0.
#[test]
fn doubles_are_added_and_compared() {
    let [x, y] = [2.5_f64, -0.75].map(f64::to_bits);
    let values = [x as u32, (x >> 32) as u32, y as u32, (y >> 32) as u32];
    let begin = [0xEC41_0410, 0xEC43_2411, 0xEE00_0401];
    let add = [0xEE10_0401, 0xEE80_0420, 0xEC51_0410];
    let mut adding = machine(&[begin, add].concat(), values);
    adding.run(adding.cycles() + Cycles(50));
    let [low, high, ..] = registers(&adding);
    assert_eq!(u64::from(high) << 32 | u64::from(low), 1.75_f64.to_bits());
    // mrc p4, #0, apsr_nzcv, c0, c0, #1: greater, that is C without Z; a calculation goes on, that is N.
    let mut comparing = machine(&[begin.as_slice(), &[0xEE10_F430]].concat(), values);
    comparing.run(comparing.cycles() + Cycles(50));
    assert_eq!(comparing.register(Register::Xpsr) >> 28, 0b1010);
}

/// mrc p7, #0, r0, c4, c2, #1; mcr p7, #0, r0, c4, c2, #1, and the same for another canary.
#[test]
fn a_check_that_fails_raises_nmi() {
    for (check, at) in [(0xEE04_0732, CODE + 8), (0xEE04_0733, NMI_HANDLER)] {
        let mut machine = machine(&[0xEE14_0732, check], [0; 4]);
        machine.run(machine.cycles() + Cycles(100));
        assert_eq!(machine.register(Register::Pc), at, "{check:#x}");
    }
}

#[test]
fn other_coprocessors_are_absent_and_none_works_before_it_is_enabled() {
    let kind = |instruction: u32, access: u32| {
        let mut machine = machine(&[instruction], [0; 4]);
        machine.store_word(CPACR, access).expect("a register");
        match machine.run(machine.cycles() + Cycles(50)) {
            Stop::Fault(report) => Some((report.kind, report.pc)),
            _ => None,
        }
    };
    let absent = Some((FaultKind::AbsentCoprocessor, CODE));
    // mrc p4, #0, r0, c0, c0, #1, with CPACR all ones, one for privileged code only, and off.
    assert_eq!(kind(0xEE10_0430, u32::MAX), None);
    assert_eq!(kind(0xEE10_0430, 0x100), None);
    assert_eq!(kind(0xEE10_0430, 0xC003), absent);
    // The same of coprocessor 3, ldc p4, c0, [r0], and RXVD, whose value is not known.
    assert_eq!(kind(0xEE10_0330, u32::MAX), absent);
    assert_eq!(kind(0xED90_0400, u32::MAX), absent);
    assert_eq!(kind(0xEE10_0410, u32::MAX), Some((FaultKind::UnmodelledCoprocessor, CODE)));
    // A chip without coprocessors.
    let text = RP2350.replace("coprocessors = \"rp2350\"\n", "");
    assert!(Soc::from_toml(&text).expect("a soc").coprocessors.is_none());
    let other = text.replace("cortex-m33", "cortex-m4f").replace("r1p0", "r0p1");
    let with = other.replacen("clock_hz", "coprocessors = \"rp2350\"\nclock_hz", 1);
    let refused = Soc::from_toml(&with).expect_err("no such chip").to_string();
    assert!(refused.contains("coprocessors are for a Cortex-M33"), "{refused}");
}
