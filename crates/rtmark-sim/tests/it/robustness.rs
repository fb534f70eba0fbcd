//! Firmware is not trusted: whatever it is, the simulator neither panics nor hangs.

use rtmark_sim::{Bound, CoreKind, Cycles, Elapsed, FaultPolicy, Image, Machine, Soc, Stop, Watch};

use crate::support::{self, Random, soc};

/// Runs until the cycles are used up, going on after every stop that allows it.
fn run_on(machine: &mut Machine, cycles: u64) {
    let mut stops = 0;
    while machine.cycles().0 < cycles && stops < 50 {
        match machine.run(Cycles(cycles)) {
            Stop::Limit | Stop::Asleep | Stop::Lockup(_) | Stop::Exit(_) => break,
            Stop::ResetRequested => {
                let _ = machine.reset();
            }
            Stop::Internal(error) => panic!("{error}"),
            Stop::Fault(report) => {
                assert!(!report.to_string().is_empty());
                break;
            }
            _ => {}
        }
        stops += 1;
    }
    machine.take_console();
    machine.take_hits();
}

fn try_firmware(
    core: CoreKind,
    seed: u64,
    bytes: &[u8],
    vectors: impl Fn(&mut Random) -> [u32; 2],
) {
    let mut random = Random::new(seed);
    for policy in [FaultPolicy::Stop, FaultPolicy::Deliver] {
        let mut bytes = bytes.to_vec();
        bytes[..8].copy_from_slice(&vectors(&mut random).map(u32::to_le_bytes).concat());
        try_image(&soc(core), seed, policy, &bytes, &mut random);
    }
}

/// Runs bytes that stand where a soc's code begins.
fn try_image(soc: &Soc, seed: u64, policy: FaultPolicy, bytes: &[u8], random: &mut Random) {
    let base = soc.vector_base();
    let mut machine = Machine::new(soc);
    machine.set_fault_policy(policy);
    machine.poke(base, bytes).expect("no larger than the memory");
    machine.watch(Watch::Execute(base + (random.word() & 0x3FFE)));
    machine.watch(Watch::Pend(16));
    if machine.reset().is_err() {
        return;
    }
    for interrupt in 0..8 {
        let at = u64::from(random.word() % 20_000);
        machine.pend_interrupt(interrupt * 5, Cycles(at));
    }
    run_on(&mut machine, 20_000);
    let (cycles, name) = (machine.cycles().0, &soc.name);
    assert!(cycles < 200_000, "{name} seed {seed}: ran to cycle {cycles}");
    let excess = Bound::of(soc).violation(&Elapsed::from(&machine));
    assert_eq!(excess, None, "{name} seed {seed}");
}

/// How many seeds each test tries; `RTMARK_ROBUSTNESS_SEEDS` asks for more.
fn seeds(default: u64) -> u64 {
    let asked = std::env::var("RTMARK_ROBUSTNESS_SEEDS").ok();
    asked.map_or(default, |text| text.parse().expect("a number of seeds"))
}

#[test]
fn random_bytes_as_firmware_do_not_panic() {
    for &core in CoreKind::CORTEX_M {
        for seed in 0..seeds(600) {
            let mut random = Random::new(seed);
            let bytes: Vec<u8> = (0..0x1000).flat_map(|_| random.word().to_le_bytes()).collect();
            try_firmware(core, seed, &bytes, |random| {
                [support::STACK - (random.word() & 0xFFC), random.word() & 0x3FFE | 1]
            });
        }
    }
}

/// Cores of other architectures, on memories with and without wait states and caches.
const OTHERS: [&str; 4] = [
    include_str!("../../../../socs/generic-hazard3.toml"),
    include_str!("../../../../socs/rp2350-riscv.toml"),
    include_str!("../../../../socs/zynqmp-r5.toml"),
    include_str!("../../../../socs/generic-ibex.toml"),
];

/// Where most instructions are some instruction: of each word a few bits are as they should be.
#[test]
fn random_words_as_firmware_of_other_cores_do_not_panic() {
    for text in OTHERS {
        let soc = Soc::from_toml(text).expect("a soc");
        for seed in 0..seeds(300) {
            let mut random = Random::new(seed ^ 0x3333);
            let words = (0..0x800).map(|_| match (soc.core, random.below(8)) {
                (_, 0) => random.word(),
                // AL, so that it is executed; of RISC-V, 32 bits of one of the usual groups.
                (CoreKind::CortexR5, _) => random.word() & 0x0FFF_FFFF | 0xE000_0000,
                _ => {
                    let opcodes = [0x03, 0x13, 0x23, 0x2F, 0x33, 0x37, 0x63, 0x73];
                    random.word() & !0x7F | opcodes[random.below(8) as usize]
                }
            });
            let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
            for policy in [FaultPolicy::Stop, FaultPolicy::Deliver] {
                try_image(&soc, seed, policy, &bytes, &mut random);
            }
        }
    }
}

/// Executes words, which end with a loop, and answers what is wrong with the cycles of the loop, and how
/// many an instruction takes.
fn excess_of(soc: &Soc, words: &[u32]) -> (Option<String>, u64) {
    let mut machine = Machine::new(soc);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let image = Image::from_bytes(&bytes, soc.vector_base()).expect("code");
    machine.load(&image).expect("it fits");
    assert_eq!(machine.run(Cycles(2_000)), Stop::Limit);
    let before = Elapsed::from(&machine);
    assert_eq!(machine.run(Cycles(20_000)), Stop::Limit);
    let taken = Elapsed::from(&machine).since(before);
    (Bound::of(soc).violation(&taken), taken.cycles.0 / taken.instructions.0)
}

#[test]
fn the_longest_instructions_are_not_reported_as_internal_errors() {
    // Without wait states, which would hide how long a division takes.
    let text = OTHERS[2].replace("wait_states = 120", "wait_states = 0");
    let r5 = Soc::from_toml(&text.replace("wait_states = 50", "wait_states = 0")).expect("a soc");
    // CPACR and FPEXC turn floating point on. 1: vdiv.f64 d0, d0, d0, nine times; b 1b
    let mut words = vec![0xE3A0_060F, 0xEE01_0F50, 0xE3A0_0101, 0xEEE8_0A10];
    words.extend([0xEE80_0B00; 9]);
    words.push(0xEAFF_FFF5);
    let (excess, each) = excess_of(&r5, &words);
    assert_eq!(excess, None);
    assert!(each > 80, "{each}: it divides in double precision");
    // lui sp, 0x10000; 1: cm.pop {ra, s0-s11}, 64; j 1b: from flash that no cache holds yet.
    let hazard3 = Soc::from_toml(OTHERS[1]).expect("a soc");
    let (excess, each) = excess_of(&hazard3, &[0x1000_0137, 0xBFFD_BAF2]);
    assert_eq!(excess, None);
    assert!(each > 250, "{each}: it waits for flash");
    // Vectors, then 1: div a0, a1, ra, nine times; lw a0, 1(sp); j 1b.
    let ibex = Soc::from_toml(OTHERS[3]).expect("a soc");
    let mut words = vec![0; 32];
    words.extend([0x8010_0137, 0x0010_0093]);
    words.extend([0x0215_C533; 9]);
    words.extend([0x0011_2503, 0xFD9F_F06F]);
    let (excess, each) = excess_of(&ibex, &words);
    assert_eq!(excess, None);
    assert!(each >= 30, "{each}: it divides");
}

#[test]
fn random_stack_addresses_do_not_panic() {
    // Around the ends of the address space and of RAM, where sums overflow.
    let corners = [0, 4, 0x20, 0x60, 0x64, 0x68, 0x2000_0000, 0x2000_0010, 0x2000_4000];
    for &core in CoreKind::CORTEX_M {
        for seed in 0..seeds(600) {
            let mut random = Random::new(seed ^ 0x5555);
            let bytes: Vec<u8> = (0..0x1000).flat_map(|_| random.word().to_le_bytes()).collect();
            try_firmware(core, seed, &bytes, |random| {
                let near: u32 = corners[random.word() as usize % corners.len()];
                let sp = near.wrapping_add(random.word() % 128).wrapping_sub(random.word() % 128);
                [sp, random.word() & 0x3FFE | 1]
            });
        }
    }
}

/// Instructions that random bytes seldom give: the system's registers, written with anything.
#[test]
fn random_writes_to_the_system_space_do_not_panic() {
    let registers = [
        0xE000_E010,
        0xE000_E014,
        0xE000_E018,
        0xE000_E100,
        0xE000_E180,
        0xE000_E200,
        0xE000_E280,
        0xE000_E400,
        0xE000_ED04,
        0xE000_ED08,
        0xE000_ED0C,
        0xE000_ED10,
        0xE000_ED14,
        0xE000_ED18,
        0xE000_ED1C,
        0xE000_ED20,
        0xE000_ED24,
        0xE000_ED28,
        0xE000_ED2C,
        0xE000_ED38,
        0xE000_ED88,
        0xE000_EDFC,
        0xE000_EF00,
        0xE000_EF34,
        0xE000_EF38,
        0xE000_EF3C,
        0xE000_E008,
        0xE000_ED30,
        0xE000_ED94,
        0xE000_ED94,
        0xE000_ED98,
        0xE000_ED9C,
        0xE000_EDA0,
        0xE000_EDA4,
        0xE000_EDA8,
        0xE000_EDC0,
        0xE000_EDF0,
        0xE000_1000,
        0xE000_1000,
        0xE000_1004,
        0xE000_1008,
        0xE000_100C,
        0xE000_1014,
        0xE000_1020,
        0xE000_1024,
        0xE000_1028,
        0xE000_1028,
        0xE000_1038,
        0xE000_0000,
        0xE000_007C,
        0xE000_0E00,
        0xE000_0E40,
        0xE000_0E80,
        0xE000_0FB0,
        0x2200_0000,
        0x2208_0000,
        0x4200_0000,
        0xFFFF_FFF0,
        0x4000_0000,
    ];
    for &core in CoreKind::CORTEX_M {
        for seed in 0..seeds(1_500) {
            let mut random = Random::new(seed ^ 0xAAAA);
            let mut code: Vec<u16> = Vec::new();
            for _ in 0..200 {
                let register = registers[random.word() as usize % registers.len()];
                let value = match random.word() % 4 {
                    0 => 1 << (random.word() % 32),
                    1 => 0x05FA_0000 | random.word() & 0x702,
                    2 => [u32::MAX, 0xC5AC_CE55, 0x010D_0000, 5, 7][random.word() as usize % 5],
                    _ => random.word(),
                };
                // ldr r0, [pc, #4]; ldr r1, [pc, #8]; b over; the literals; over: a store or load
                code.extend([0x4801, 0x4902, 0xE004, 0xBF00]);
                for word in [register, value] {
                    code.extend([word as u16, (word >> 16) as u16]);
                }
                code.push([0x6001, 0x6801, 0x8001, 0x7001][random.word() as usize % 4]);
                // Then something to react: a call, a wait, a change of masks or mode, FP, or nothing.
                code.extend(match random.word() % 10 {
                    0 => [0xDF00, 0xBF00, 0xBF00],
                    1 => [0xBF30, 0xBF00, 0xBF00],
                    2 => [0xBF20, 0xBF40, 0xBF00],
                    3 => [0xB672, 0xB662, 0xBF00],
                    4 => [0xF381, 0x8814, 0xBF00],
                    5 => [0xF381, 0x8808, 0xBF00],
                    6 => [0xEE30, 0x0A00, 0xBF00],
                    7 => [0xF381, 0x8811, 0xBF00],
                    _ => [0xBF00; 3],
                });
            }
            code.resize(0x2000, 0x4770); // bx lr
            let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
            try_firmware(core, seed, &bytes[..0x4000], |_| [support::STACK, 0x101]);
        }
    }
}

#[test]
fn damaged_images_are_rejected_or_loaded() {
    // Every prefix and many single-byte changes of a small ELF file.
    let elf = small_elf();
    assert!(Image::from_elf(&elf).is_ok());
    for length in 0..elf.len() {
        let _ = Image::from_elf(&elf[..length]);
    }
    let mut random = Random::new(7);
    for _ in 0..20_000 {
        let mut damaged = elf.clone();
        for _ in 0..=random.word() % 3 {
            let at = random.word() as usize % damaged.len();
            damaged[at] = random.word() as u8;
        }
        if let Ok(image) = Image::from_elf(&damaged) {
            let mut machine = Machine::new(&soc(CoreKind::CortexM0Plus));
            if machine.load(&image).is_ok() {
                run_on(&mut machine, 1_000);
            }
            let _ = image.symbols().name_at(random.word());
        }
    }
}

/// An ELF header, one program header, a vector table with a loop.
fn small_elf() -> Vec<u8> {
    let code: [u8; 12] = [0, 0x40, 0, 0x20, 9, 0, 0, 0, 0xFE, 0xE7, 0, 0];
    let mut elf = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let halves = |elf: &mut Vec<u8>, values: &[u16]| {
        elf.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let words = |elf: &mut Vec<u8>, values: &[u32]| {
        elf.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    halves(&mut elf, &[2, 40]);
    words(&mut elf, &[1, 9, 52, 0, 0x0500_0000]);
    halves(&mut elf, &[52, 32, 1, 40, 0, 0]);
    let size = code.len() as u32;
    words(&mut elf, &[1, 84, 0, 0, size, size, 5, 4]);
    elf.extend(code);
    elf
}
