//! Writes to the registers of RP2040 and RP2350: through the aliases that set and clear bits, and of less than a word.

use rtmark_sim::{Cycles, Machine, Register, Soc};

use crate::support::load_word;

/// A register of CLOCKS that keeps what is written.
const KEEPS: u32 = 0x4001_0004;
const CODE: u32 = 0x2000_0000;

#[test]
fn narrow_writes_are_replicated_over_the_word() {
    // strb r0, [r1]; ldr r2, [r1]; strh r0, [r1, #2]; ldr r3, [r1]; strb r0, [r4]; ldr r5, [r1]; b .
    let arm = [0x680A_7008, 0x680B_8048, 0x680D_7020, 0xE7FE];
    // sb a1, 0(a0); lw a2, 0(a0); sh a1, 2(a0); lw a3, 0(a0); sb a1, 0(a4); lw a5, 0(a0); j .
    let riscv =
        [0x00B5_0023, 0x0005_2603, 0x00B5_1123, 0x0005_2683, 0x00B7_0023, 0x0005_2783, 0x0000_006F];
    let (m33, hazard3) = (
        include_str!("../../../../socs/rp2350.toml"),
        include_str!("../../../../socs/rp2350-riscv.toml"),
    );
    for (soc, words, [value, address, clear], answers) in
        [(m33, &arm[..], [0, 1, 4], [2, 3, 5]), (hazard3, &riscv, [11, 10, 14], [12, 13, 15])]
    {
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        machine.poke(CODE, &bytes).expect("RAM");
        machine.set_register(Register::Pc, CODE);
        machine.set_register(Register::R(value), 0x1234_005A);
        machine.set_register(Register::R(address), KEEPS);
        // The alias that clears bits (RP2350, 2.1.3).
        machine.set_register(Register::R(clear), KEEPS + 0x3000);
        machine.run(Cycles(machine.cycles().0 + 200));
        let read = answers.map(|at| machine.register(Register::R(at)));
        assert_eq!(read, [0x5A5A_5A5A, 0x005A_005A, 0], "{}", machine.soc().name);
    }
}

/// MicroPython changes the flash's clock so: it clears and sets SSIENR.
#[test]
fn the_flash_interface_of_the_rp2040_has_the_aliases_of_other_peripherals() {
    let soc = include_str!("../../../../socs/rp2040.toml");
    let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
    // CTRL of XIP_CTRL, SSIENR of XIP_SSI; then the aliases for setting, clearing and toggling (RP2040, 2.1.2).
    for register in [0x1400_0000, 0x1800_0008] {
        machine.store_word(register, 0).expect("a register");
        for (alias, value, expected) in [(0x2000, 3, 3), (0x3000, 2, 1), (0x1000, 3, 2)] {
            machine.store_word(register + alias, value).expect("an alias");
            assert_eq!(load_word(&mut machine, register), expected, "{register:#x}: {alias:#x}");
        }
    }
    assert_eq!(machine.unmodelled().count(), 0);
}
