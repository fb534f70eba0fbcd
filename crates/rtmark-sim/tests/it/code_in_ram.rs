//! Code that the System bus fetches beside data that the bus matrix converts: accesses that are
//! not aligned, and bits with an address of their own (DDI 0337G, 12.7 and 12.10).

use rtmark_sim::{BusMatrix, CoreKind, Cycles, Machine, Register, Stop};

use crate::support::*;

const CODE: u32 = RAM + 0x40;
const DATA: u32 = RAM + 0x600;
/// The alias of bit 0 of [`DATA`].
const ALIAS: u32 = 0x2200_0000 + 0x600 * 32;
const ISB: [u16; 2] = [0xF3BF, 0x8F6F];

/// What the chips were set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stores {
    Buffered,
    Unbuffered,
}

/// How a chip's buses take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chip {
    /// CC2650 and CC2652.
    Cc26xx,
    /// STM32F100, and chips that nobody measured.
    Usual,
}

impl Chip {
    const fn matrix(self) -> BusMatrix {
        let waits = matches!(self, Self::Cc26xx);
        BusMatrix { stores_wait_for_fetches: waits, given_up_fetches_stay: waits }
    }
}

/// Cycles from the load of the counter with which some code begins to the one with which it ends.
/// The registers are `r0`, the counters' base, `r5`, [`DATA`], and `r6`, [`ALIAS`].
fn cycles(core: CoreKind, chip: Chip, stores: Stores, code: &[u16]) -> u32 {
    let mut soc = soc(core);
    soc.bus_matrix = chip.matrix();
    let mut machine = Machine::new(&soc);
    let auxiliary = if stores == Stores::Unbuffered { 2 } else { 0 };
    for (address, value) in [(DEMCR, 1 << 24), (0xE000_1000, 1), (ACTLR, auxiliary)] {
        machine.store_word(address, value).expect("a register");
    }
    let halves = ISB.iter().chain(code).chain(&[FOREVER]);
    let bytes: Vec<u8> = halves.flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(CODE, &bytes).expect("RAM");
    for (register, value) in [(0, 0xE000_1000), (5, DATA), (6, ALIAS), (13, STACK)] {
        machine.set_register(Register::R(register), value);
    }
    machine.set_register(Register::Pc, CODE);
    let stop = machine.run(Cycles(machine.cycles().0 + 500));
    assert_eq!(stop, Stop::Limit, "{code:04X?}");
    let [first, last] = [2, 3].map(|register| machine.register(Register::R(register)));
    last.wrapping_sub(first)
}

/// A load of `r7` or a store of `r1`, at an offset from `r5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    opcode: u16,
    offset: u16,
}

const fn word(offset: u16) -> Access {
    Access { opcode: 0xF8D5, offset }
}

const fn half(offset: u16) -> Access {
    Access { opcode: 0xF8B5, offset }
}

const fn store(offset: u16) -> Access {
    Access { opcode: 0xF8C5, offset }
}

const fn store_half(offset: u16) -> Access {
    Access { opcode: 0xF8A5, offset }
}

impl Access {
    const fn encoded(self) -> [u16; 2] {
        let register = if matches!(self.opcode, 0xF8D5 | 0xF8B5) { 0x7000 } else { 0x1000 };
        [self.opcode, register | self.offset]
    }
}

/// Those accesses between two loads of the counter, each in a word of its own.
fn window(accesses: &[Access]) -> Vec<u16> {
    let middle = accesses.iter().flat_map(|access| access.encoded());
    [0xF8D0, 0x2004].into_iter().chain(middle).chain([0xF8D0, 0x3004]).collect()
}

#[test]
fn unaligned_accesses_delay_fetches() {
    // As a CC2652 took with code and data in SRAM, its write buffer off.
    let measured: &[(&[Access], u32)] = &[
        (&[], 2),
        (&[word(0)], 4),
        (&[half(1)], 6),
        (&[word(2)], 6),
        (&[word(1)], 7),
        (&[store(0)], 5),
        (&[store(2)], 6),
        (&[store(1)], 7),
        (&[word(0), word(0)], 6),
        (&[word(0), word(2)], 8),
        (&[word(0), word(1)], 9),
        (&[word(2), word(0)], 10),
        (&[word(2), word(2)], 12),
        (&[word(2), word(1)], 13),
        (&[word(1), word(0)], 11),
        (&[word(1), word(2)], 13),
        (&[word(1), word(1)], 14),
        (&[word(2), store(0)], 10),
        (&[word(2), store(2)], 12),
        (&[word(1), store(1)], 14),
        (&[store(2), word(0)], 11),
        (&[store(2), word(2)], 13),
        (&[store(1), word(0)], 12),
        (&[store(2), store(0)], 10),
        (&[store(2), store(2)], 12),
        (&[store(1), store(1)], 14),
        (&[store_half(1), half(1)], 13),
        (&[store_half(1), store_half(0)], 10),
    ];
    for (accesses, cycles_of_chip) in measured {
        let code = window(accesses);
        let found = cycles(CoreKind::CortexM4F, Chip::Cc26xx, Stores::Unbuffered, &code);
        assert_eq!(found, *cycles_of_chip, "{accesses:?}");
    }
}

/// Cycles between two loads of the counter: some code, a load from the address in `r2`, a branch by the
/// entry at `r0` of a table of halfwords or bytes, all of its entries zero. Data has no wait states.
fn cycles_of_table(code: &[u16], table: u32, loaded: u32) -> u32 {
    // isb; mov.w r4, #0; ldr.w r4, [r4]; ldr.w r11, [r12, #20]; ldr.w r9, [r12, #4]
    let lead = [0xF04F, 0x0400, 0xF8D4, 0x4000, 0xF8DC, 0xB014, 0xF8DC, 0x9004];
    // ldr.w r8, [r12, #4]
    let halves = ISB.iter().chain(&lead).chain(code).chain(&[0xF8DC, 0x8004, FOREVER]);
    let mut soc = soc(CoreKind::CortexM3);
    soc.bus_matrix = Chip::Cc26xx.matrix();
    let mut machine = Machine::new(&soc);
    for (address, value) in [(DEMCR, 1 << 24), (0xE000_1000, 1), (ACTLR, 2)] {
        machine.store_word(address, value).expect("a register");
    }
    let bytes: Vec<u8> = halves.flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(CODE, &bytes).expect("RAM");
    for memory in [0x1000, DATA] {
        machine.poke(memory, &[0; 24]).expect("a memory");
    }
    let registers = [(0, table), (1, 0), (2, loaded), (8, 1), (10, 2), (12, 0xE000_1000)];
    for (register, value) in registers {
        machine.set_register(Register::R(register), value);
    }
    machine.set_register(Register::Pc, CODE);
    assert_eq!(machine.run(Cycles(machine.cycles().0 + 500)), Stop::Limit, "{code:04X?}");
    let [first, last] = [9, 8].map(|register| machine.register(Register::R(register)));
    last.wrapping_sub(first)
}

#[test]
fn accesses_that_are_not_aligned_wait_for_a_fetch_and_delay_the_next() {
    const TBH: [u16; 2] = [0xE8D0, 0xF011];
    // As a CC2650 took with code in SRAM and data in its GPRAM. Table, and word before it: aligned, not.
    let (aligned, not) = ((0x1000, 0x1008), (0x1005, 0x100D));
    let measured: [(&[u16], (u32, u32), u32); 4] = [
        // add.w r8, r8, r10; ldr r4, [r2]
        (&[0xEB08, 0x080A, 0x6814, TBH[0], TBH[1]], aligned, 15),
        (&[0xEB08, 0x080A, 0x6814, TBH[0], TBH[1]], not, 20),
        // umull r10, r8, r8, r10; ldr.w r4, [r2], #4
        (&[0xFBA8, 0xA80A, 0xF852, 0x4B04, TBH[0], TBH[1]], not, 20),
        // The table is in SRAM, too. ldr.w r1, [r2], #4
        (&[0xF852, 0x1B04, TBH[0], TBH[1]], (DATA, 0x1008), 13),
    ];
    for (code, (table, loaded), cycles_of_chip) in measured {
        assert_eq!(cycles_of_table(code, table, loaded), cycles_of_chip, "{code:04X?}");
    }
}

#[test]
fn a_bit_band_read_cancels_a_fetch() {
    const LOAD: u16 = 0x6842; // ldr r2, [r0, #4]
    const AGAIN: u16 = 0x6843;
    const ADD: u16 = 0x4409; // add r1, r1
    const BIT: [u16; 2] = [0xF8D6, 0x4008];
    const SET_BIT: [u16; 2] = [0xF8C6, 0x4008];
    const WORD: [u16; 2] = [0xF8D5, 0x4000];
    // As a CC2650 and a CC2652 took.
    let measured: [(&[u16], u32); 5] = [
        (&[LOAD, BIT[0], BIT[1], AGAIN], 5),
        (&[LOAD, BIT[0], BIT[1], ADD, AGAIN], 6),
        (&[LOAD, ADD, BIT[0], BIT[1], AGAIN], 7),
        (&[LOAD, SET_BIT[0], SET_BIT[1], AGAIN], 8),
        (&[LOAD, WORD[0], WORD[1], AGAIN], 4),
    ];
    for (code, cycles_of_chip) in measured {
        // Accesses straddle words here.
        let found = cycles(CoreKind::CortexM3, Chip::Cc26xx, Stores::Unbuffered, code);
        assert_eq!(found, cycles_of_chip, "{code:04X?}");
    }
}

#[test]
fn buffered_stores_cost_no_more_than_unbuffered_ones() {
    let accesses: Vec<Access> = (0..4)
        .flat_map(|offset| [word(offset), half(offset), store(offset), store_half(offset)])
        .collect();
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        for chip in [Chip::Cc26xx, Chip::Usual] {
            for first in &accesses {
                for second in &accesses {
                    for third in [word(8), word(5), store(8), store(5)] {
                        let code = window(&[*first, *second, third]);
                        let [buffered, not] = [Stores::Buffered, Stores::Unbuffered]
                            .map(|stores| cycles(core, chip, stores, &code));
                        let what = [first, second, &third];
                        assert!(buffered <= not, "{core} {chip:?}: {buffered}, {not}: {what:?}");
                        assert!(not < 40, "{core} {chip:?}: {not}: {what:?}");
                    }
                }
            }
        }
    }
}
