//! Random programs: nested loops that call functions, and contain everything that a block of
//! predecoded instructions might get wrong. They run from flash of any kind, or from RAM, where
//! they overwrite their own code. Exceptions interrupt them, whose handlers change the flags of the
//! interrupted code.

mod code;

use rtmark_sim::{Burst, CoreKind, Cycles, FaultPolicy, Machine, MemoryTiming, Register};

use self::code::Code;
use super::{
    BX_LR, CCR, CPACR, CPSIE_I, DEMCR, ICSR, MPU_CTRL, MPU_RASR, MPU_RBAR, MPU_RNR, NOP, NVIC_IPR,
    NVIC_ISER, NVIC_ISPR, RAM, Random, SHPR2, SHPR3, STACK, SYST_CSR, SYST_CVR, SYST_RVR,
};

/// What a program may contain besides arithmetic, loads and stores, branches and calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Nothing else.
    Plain,
    /// Reads and writes of special registers, masks, privilege, the other stack, exceptions that
    /// the program raises, faults, sleep, and writes over its own code.
    Everything,
}

/// The maximum rounds of a program's loops.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    pub outer: u16,
    pub inner: u16,
}

/// Few rounds, so that little of the code has been learned; and many, so that its commonest paths
/// have.
pub const FEW: Rounds = Rounds { outer: 5, inner: 40 };
pub const MANY: Rounds = Rounds { outer: 255, inner: 60 };

/// Addresses of the handlers, their counter, the overwritten code and the other stack.
const HANDLER: u32 = 0x180;
const FAULT_HANDLER: u32 = 0x1C0;
const CALL_HANDLER: u32 = 0x200;
/// Programs also call this handler, so that its return is predicted as a return to them.
const CALLED_HANDLER: u32 = 0x220;
const COUNTER: u32 = RAM + 0x80;
const DATA: u32 = RAM + 0x100;
const OVERWRITTEN: u32 = RAM + 0x800;
const CODE_IN_RAM: u32 = RAM + 0x1000;
const PROCESS_STACK: u32 = RAM + 0x3400;
/// The table of words at R7, and its indices.
const TABLE: u32 = 0x240;
const AT_ICSR: u16 = 0;
const AT_PENDSV: u16 = 1;
const AT_ISPR: u16 = 2;
const AT_CLOCK: u16 = 3;
const AT_OVERWRITTEN: u16 = 4;
const AT_CALLED_HANDLER: u16 = 8;
const CODE_IN_FLASH: u32 = 0x280;

/// An interrupt that no program raises, for tests that inject one.
pub const SPARE_INTERRUPT: u16 = 20;

const APSR: u16 = 0;
const MSP: u16 = 8;
const PSP: u16 = 9;
const PRIMASK: u16 = 16;
const BASEPRI: u16 = 17;
const BASEPRI_MAX: u16 = 18;
const FAULTMASK: u16 = 19;
const CONTROL: u16 = 20;

/// The start of a handler: r0 becomes the frame.
const FIND_FRAME: &[u16] = &[
    0x4670, 0x2104, 0x4208, // mov r0, lr; movs r1, #4; tst r0, r1
    0xD102, // bne: the process stack
    0xF3EF, 0x8008, 0xE001, // mrs r0, msp; b
    0xF3EF, 0x8009, // mrs r0, psp
];

/// Returns the timings of flash: without wait states, with few or many kept lines, with a read
/// buffer, without any buffer, and with a cache.
pub fn timings() -> [MemoryTiming; 8] {
    let slow = MemoryTiming { wait_states: 3, line_bytes: 8, ..MemoryTiming::default() };
    let burst = Burst { wait_states: 1, selected_cycles: 6, deselect_cycles: 2, page_bytes: 64 };
    [
        MemoryTiming::default(),
        MemoryTiming { prefetch: true, instruction_lines: 2, ..slow },
        MemoryTiming { prefetch: true, instruction_lines: 4, data_lines: 1, ..slow },
        MemoryTiming { prefetch: true, instruction_lines: 64, line_bytes: 16, ..slow },
        slow,
        MemoryTiming { line_buffer: false, line_bytes: 4, ..slow },
        MemoryTiming { cache_lines: 8, cache_ways: 2, ..slow },
        MemoryTiming { cache_lines: 8, cache_ways: 2, burst: Some(burst), ..slow },
    ]
}

fn bytes(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

/// Writes handlers that count, change the flags of the interrupted code, skip faulting
/// instructions, and restore privilege.
fn write_handlers(machine: &mut Machine, core: CoreKind) {
    // r1: the saved status register, whose flags change with the exception's number.
    let flags = [0x69C1, 0xF3EF, 0x8205, 0x0712, 0x4051, 0x61C1];
    // ldr r3, =COUNTER; ldr r1, [r3]; adds r1, #1; str r1, [r3]; bx lr
    let count = [0x4B02, 0x6819, 0x3101, 0x6019, BX_LR];
    // vldm r0, {s0-s3}: the program's own values are saved.
    let float: &[u16] = if core.has_fpu() { &[0xEC90, 0x0A04] } else { &[] };
    let mut handler = [FIND_FRAME, &flags, float].concat();
    if handler.len() % 2 == 1 {
        handler.push(NOP);
    }
    handler.extend(count);
    handler.push(NOP);
    handler.extend([COUNTER as u16, (COUNTER >> 16) as u16]);
    // Continues after the instruction, privileged and with nothing masked.
    // ldr r1, [r0, #24]; ldrh r2, [r1]; lsrs r2, #11; cmp r2, #29
    let place = [0x6981, 0x880A, 0x0AD2, 0x2A1D];
    // bcc; adds r1, #2; adds r1, #2; str r1, [r0, #24]
    let behind = [0xD300, 0x3102, 0x3102, 0x6181];
    let unmasked = [0x2100, 0xF381, 0x8800 | CONTROL, CPSIE_I];
    let unmask: &[u16] = if core.is_mainline() { &[0xF381, 0x8800 | BASEPRI] } else { &[] };
    let fault = [FIND_FRAME, &place, &behind, &unmasked, unmask, &[BX_LR]].concat();
    let call = [0x2000, 0xF380, 0x8800 | CONTROL, 0xF3BF, 0x8F6F, BX_LR];
    // push {r3, lr}; adds r3, #1; pop {r3, pc}
    let called = [0xB508, 0x3301, 0xBD08];
    let handlers = [
        (HANDLER, &handler[..]),
        (FAULT_HANDLER, &fault),
        (CALL_HANDLER, &call),
        (CALLED_HANDLER, &called),
    ];
    for (at, code) in handlers {
        machine.poke(at, &bytes(code)).expect("flash");
    }
    for exception in 1..64 {
        let handler = match exception {
            3..=7 => FAULT_HANDLER,
            11 => CALL_HANDLER,
            // Two of the external interrupts.
            18 | 19 => CALLED_HANDLER,
            _ => HANDLER,
        };
        machine.poke(4 * exception, &(handler | 1).to_le_bytes()).expect("flash");
    }
}

/// Denies unprivileged code the words at R6 and, on cores whose regions may overlap, some of the
/// code.
fn protect(mut store: impl FnMut(u32, u32), core: CoreKind) {
    if core == CoreKind::CortexM33 {
        // All memory is normal; the words are privileged, and the memory around them is accessible
        // to all.
        store(MPU_RNR + 0x28, 0xFF);
        let regions = [(0, DATA - 32, 1), (DATA, DATA + 0xE0, 0), (DATA + 0x100, 0x3FFF_FFE0, 1)];
        for (number, (base, limit, access)) in (0..).zip(regions) {
            store(MPU_RNR, number);
            store(MPU_RBAR, base | access << 1);
            store(MPU_RASR, limit | 1);
        }
    } else {
        // The size and access of everything, of the words, and of 256 bytes of code.
        let regions = [(0, 31, 3), (DATA, 7, 1), (0x400, 7, 1)];
        for (number, (base, size, access)) in (0..).zip(regions) {
            store(MPU_RBAR, base | 1 << 4 | number);
            store(MPU_RASR, access << 24 | size << 1 | 1);
        }
    }
    store(MPU_CTRL, 5);
}

/// Sets up the memory, registers and units that a program needs.
fn prepare(
    machine: &mut Machine,
    random: &mut Random,
    core: CoreKind,
    rounds: Rounds,
    contents: Contents,
) {
    let clock = if core.is_mainline() { 0xE000_1004 } else { SYST_CVR };
    let words = [
        ICSR,
        1 << 28,
        NVIC_ISPR,
        clock,
        OVERWRITTEN | 1,
        random.word(),
        7,
        0x8000_0001,
        CALLED_HANDLER | 1,
    ];
    for (at, word) in (0..).zip(words) {
        machine.poke_word(TABLE + 4 * at, word).expect("flash");
    }
    machine.reset().expect("vectors");
    // it; adds.n r0, #1; eors r1, r0; bx lr
    let function: &[u16] =
        if core.is_mainline() { &[0xBF08, 0x3001, 0x4041, BX_LR] } else { &[0x2000, BX_LR] };
    machine.poke(OVERWRITTEN, &bytes(function)).expect("RAM");
    machine.poke_word(COUNTER, 0).expect("RAM");
    for at in 0..64 {
        machine.poke_word(DATA + 4 * at, random.word()).expect("RAM");
    }
    for register in 0..4 {
        machine.set_register(Register::R(register), random.word());
    }
    machine.set_register(Register::R(6), DATA);
    machine.set_register(Register::R(7), TABLE);
    machine.set_register(Register::Psp, PROCESS_STACK);
    let mut store = |address, value| machine.store_word(address, value).expect("a register");
    store(NVIC_ISER, 0xFF);
    for at in 0..2 {
        store(NVIC_IPR + 4 * at, random.word());
    }
    store(SHPR2, random.word() & 0xC000_0000);
    store(SHPR3, random.word() & 0xC0C0_0000);
    if core.is_mainline() {
        // The cycle counter; other cores use SysTick's counter instead.
        store(DEMCR, 1 << 24);
        store(0xE000_1000, 1);
    }
    if core.has_fpu() {
        store(CPACR, 0x00F0_0000);
    }
    if core.is_mainline() && contents == Contents::Everything {
        // Divisions by zero and unaligned accesses may fault.
        store(CCR, [0x200, 0x200, 0x218][random.below(3) as usize]);
        if random.below(4) == 0 {
            protect(&mut store, core);
        }
    }
    store(SYST_RVR, [60, 1000, 30_000][random.below(3) as usize] + random.below(1000));
    store(SYST_CVR, 0);
    store(SYST_CSR, 7);
    for interrupt in 0..8 {
        let at = random.below(100 * u32::from(rounds.outer));
        machine.pend_interrupt(interrupt, Cycles(at.into()));
    }
}

/// Creates a machine that is about to run a random program.
pub fn machine(
    core: CoreKind,
    timing: MemoryTiming,
    seed: u64,
    rounds: Rounds,
    contents: Contents,
) -> Machine {
    let mut soc = super::soc(core);
    super::set_flash_timing(&mut soc, timing);
    let mut random = Random::new(seed);
    let in_ram = contents == Contents::Everything && seed % 4 == 3;
    let place = if in_ram { CODE_IN_RAM } else { CODE_IN_FLASH };
    let base = place + 4 * random.below(32);
    let (halves, functions, is_leaf) = (Vec::new(), Vec::new(), false);
    let mut code = Code { random, core, contents, base, halves, functions, is_leaf };
    let start = base + code.program(rounds);
    let Code { halves, mut random, .. } = code;
    let mut machine = Machine::new(&soc);
    machine.set_fault_policy(FaultPolicy::Deliver);
    machine.poke(0, &STACK.to_le_bytes()).expect("flash");
    write_handlers(&mut machine, core);
    prepare(&mut machine, &mut random, core, rounds, contents);
    if soc.caches.has_any() && !seed.is_multiple_of(3) {
        super::switch_caches_on(&mut machine);
    }
    assert!(machine.arm_interrupt(SPARE_INTERRUPT, random.word() as u8));
    machine.poke(base, &bytes(&halves)).expect("it fits");
    machine.set_register(Register::Pc, start);
    machine
}
