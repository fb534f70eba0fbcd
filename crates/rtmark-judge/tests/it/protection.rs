//! The memory protection unit, bit-banding and faults, here and on QEMU: random regions
//! with random accesses, random bits, and the ways in which exceptions meet faults.

mod cases;

use std::fmt::Write as _;
use std::time::Duration;

use cases::{CASES, Case};
use rtmark_judge::qemu::{self, Qemu, Scratch};
use rtmark_judge::random::Random;
use rtmark_sim::{Cycles, ExitStatus, Image, Soc, Stop};

use crate::support::*;

/// A machine of QEMU's, and its twin here.
struct Bench {
    name: &'static str,
    soc: &'static str,
    /// Where the vector table is, and with it the image.
    vectors: u32,
    ram: u32,
    mpu: Pmsa,
}

/// The architecture of a memory protection unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pmsa {
    V7,
    V8,
}

const V7M: [Bench; 2] = [
    Bench {
        name: "mps2-an385",
        soc: include_str!("../../../../socs/mps2-an385.toml"),
        vectors: 0,
        ram: RAM,
        mpu: Pmsa::V7,
    },
    Bench {
        name: "mps2-an386",
        soc: include_str!("../../../../socs/mps2-an386.toml"),
        vectors: 0,
        ram: RAM,
        mpu: Pmsa::V7,
    },
];
/// Code is at address 0 too.
const V8M: Bench = Bench {
    name: "mps2-an505",
    soc: include_str!("../../../../socs/mps2-an505.toml"),
    vectors: 0x1000_0000,
    ram: 0x3800_0000,
    mpu: Pmsa::V8,
};

const DEADLINE: Duration = Duration::from_secs(20);
/// The RAM in which programs record what happens, through r11.
const LOG: u32 = 0x8000;
/// The beginning of RAM is the field that regions divide.
const FIELD_BYTES: u32 = 0x2000;
/// Twice `bx lr`: the field is filled with it, so that it can be called anywhere.
const FILLING: u32 = 0x4770_4770;
/// The RAM for the parameters of semihosting calls.
const BLOCK: u32 = 0x7F00;
/// The position of the random test's table in the image.
const TABLE: u32 = 0x1000;
const TRIALS: u32 = 600;

/// Returns the words that the firmware prints, here and on QEMU, or how it fails.
fn both(bench: &Bench, image: &[u8]) -> Result<[Vec<u32>; 2], String> {
    let &Bench { name, soc, vectors, .. } = bench;
    let scratch = Scratch::new(image).expect("a scratch file");
    let qemu =
        Qemu::start(name, scratch.path(), vectors, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = rtmark_sim::Machine::new(&Soc::from_toml(soc).expect("good"));
    machine.set_fault_policy(rtmark_sim::FaultPolicy::Deliver);
    machine.load(&Image::from_raw(image, vectors).expect("an image")).expect("it fits");
    let stop = machine.run(Cycles(50_000_000));
    let theirs = qemu.finish(DEADLINE);
    if stop != Stop::Exit(ExitStatus(0)) || !theirs.as_ref().is_ok_and(|theirs| theirs.success) {
        let stop = match stop {
            Stop::Fault(report) | Stop::Lockup(report) => report.to_string(),
            other => format!("{other:?}"),
        };
        return Err(format!("{name}: {stop}; QEMU: {theirs:?}"));
    }
    let theirs = theirs.map_err(|error| error.to_string())?;
    Ok([machine.take_console(), theirs.console].map(|bytes| {
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4"))).collect()
    }))
}

/// `str rt, [r11], #4`
fn note(firmware: &mut Firmware, register: u16) {
    firmware.op(&[0xF84B, 0x0B04 | register << 12]);
}

/// Prints the records and ends the program.
fn finish(firmware: &mut Firmware, ram: u32) {
    let (block, log) = (ram + BLOCK, ram + LOG);
    // SYS_OPEN of `:tt` for writing; SYS_WRITE; SYS_EXIT. Each block of parameters is RAM.
    firmware.store(block + 12, u32::from_le_bytes(*b":tt\0"));
    firmware.store(block, block + 12).store(block + 4, 4).store(block + 8, 3);
    firmware.set(0, 1).set(1, block).op(&[0xBEAB]);
    // str r0, [r1]; str r2, [r1, #4]; the length: mov r3, r11; subs r3, r2; str r3, [r1, #8]
    firmware.set(1, block).set(2, log).op(&[0x6008, 0x604A, 0x465B, 0x1A9B, 0x608B]);
    firmware.set(0, 5).op(&[0xBEAB]).set(0, 0x18).set(1, 0x20026).op(&[0xBEAB, FOREVER]);
}

/// A program that goes through the table of [`trial`]s. `after` is where each one ends.
fn random_program(ram: u32, after: u32) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.set(0, ram + LOG).op(&[0x4683]).set(0, TABLE).op(&[0x4680]).store(SHCSR, 1 << 16);
    firmware.set(0, ram).set(1, ram + FIELD_BYTES).set(3, FILLING);
    firmware.op(&[0xC008, 0x4288, 0xD1FC]); // stmia r0!, {r3}; cmp r0, r1; bne
    let top = firmware.here();
    firmware.store(MPU_CTRL, 0).set(0, MPU_RNR);
    for number in 0..8 {
        // movs r3, #number; str r3, [r0]; ldmia r8!, {r1, r2}; str r1, [r0, #4]; str r2, [r0, #8]
        firmware.op(&[0x2300 | number, 0x6003, 0xE8B8, 0x0006, 0x6041, 0x6082]);
    }
    // ldmia r8!, {r4-r7}: MPU_CTRL, the address, the kind of access, CONTROL.
    firmware.op(&[0xE8B8, 0x00F0]).set(0, MPU_CTRL).set(3, FILLING);
    firmware.op(&[0x6004, 0xF04F, 0x0900, 0xF04F, 0x0A00]); // r9 and r10: nothing
    firmware.op(&[0xF3BF, 0x8F4F, 0xF387, 0x8814, 0xF3BF, 0x8F6F]);
    // tbb [pc, r6]
    firmware.op(&[0xE8DF, 0xF006, 0x0503, 0x0A07, 0x0F0D]);
    firmware.op(&[0x682B, 0xE00B]); // ldr r3, [r5]; b after
    firmware.op(&[0x602B, 0xE009]); // str
    firmware.op(&[0xF855, 0x3E00, 0xE006]); // ldrt
    firmware.op(&[0xF845, 0x3E00, 0xE003]); // strt
    firmware.op(&[0x782B, 0xE001]); // ldrb
    firmware.op(&[0x47A8, NOP]); // blx r5
    firmware.mark("after").op(&[0xDF00]).store(MPU_CTRL, 0); // svc
    note(&mut firmware, 10);
    note(&mut firmware, 9);
    firmware.set(0, TABLE + TRIALS * 80).op(&[0x4580]); // cmp r8, r0
    let back = (top as i32 - (firmware.here() as i32 + 2 + 4)) / 2;
    firmware.op(&[0xD000, 0xE000 | back as u16 & 0x7FF]); // beq on; b top
    finish(&mut firmware, ram);
    firmware.handler(11).set(0, 0).msr(20, 0).op(&[BX_LR]);
    firmware.handler(4).load(1, CFSR).op(&[0x468A, 0x6001]); // mov r10, r1; str r1, [r0]
    firmware.op(&[0x0609, 0xD502]); // lsls r1, #24; bpl: no MMARVALID
    firmware.load(1, MMFAR).op(&[0x4689]); // mov r9, r1
    firmware.mrs(0, 8).set(1, after).op(&[0x6181, BX_LR]);
    firmware
}

/// A region with the rights of an AP field, as its architecture writes it, RBAR first.
fn region(mpu: Pmsa, base: u32, exponent: u32, ap: u32, never: bool, more: u32) -> [u32; 2] {
    match mpu {
        Pmsa::V7 => [base, u32::from(never) << 28 | ap << 24 | (exponent - 1) << 1 | more],
        Pmsa::V8 => {
            [base | (ap & 3) << 1 | u32::from(never), (base + (1 << exponent) - 32) | more & 1]
        }
    }
}

/// One entry of the table: eight regions, MPU_CTRL, an address, a kind of access, CONTROL.
fn trial(random: &mut Random, bench: &Bench) -> Vec<u32> {
    let (mut entry, ram) = (Vec::new(), bench.ram);
    let mut borders = vec![ram, ram + FIELD_BYTES];
    for _ in 0..5 {
        // Where regions of PMSAv8 overlap nothing is allowed: they are smaller.
        let exponent = 5 + random.below(if bench.mpu == Pmsa::V7 { 9 } else { 7 });
        let base = (ram + random.below(FIELD_BYTES)) >> exponent << exponent;
        borders.extend([base, base + (1 << exponent)]);
        let ap = *random.pick(&[0, 1, 2, 3, 3, 5, 6, 7]);
        let never = random.chance(1, 3);
        let subregions = exponent >= 8 && random.chance(1, 2);
        let disabled = if subregions { random.below(256) } else { 0 };
        let enabled = u32::from(random.chance(4, 5));
        entry.extend(region(bench.mpu, base, exponent, ap, never, disabled << 8 | enabled));
    }
    // The log, the stack, code with the table: everything for everybody.
    let full = if bench.mpu == Pmsa::V7 { 3 } else { 1 };
    for (base, exponent) in [(ram + LOG, 15), (ram + FIELD_BYTES, 13), (0, 17)] {
        entry.extend(region(bench.mpu, base, exponent, full, false, 1));
    }
    let near = i64::from(*random.pick(&borders)) + i64::from(random.below(8)) * 4 - 16;
    let anywhere = ram + random.below(FIELD_BYTES);
    let address = if random.chance(1, 2) { near as u32 } else { anywhere };
    let address = address.clamp(ram, ram + FIELD_BYTES - 8) & !3;
    let kind = random.below(6);
    let address = if kind == 5 { address | 1 } else { address };
    entry.extend([1 | random.below(4) << 1, address, kind, u32::from(random.chance(1, 2))]);
    entry
}

#[test]
fn random_protection_regions_match_qemu() {
    if qemu::is_unwanted() {
        return;
    }
    for bench in V7M.iter().chain([&V8M]) {
        let after = random_program(bench.ram, 0).address("after");
        let mut image = random_program(bench.ram, after).image();
        image[..4].copy_from_slice(&(bench.ram + 2 * FIELD_BYTES).to_le_bytes());
        image.resize(TABLE as usize, 0);
        let mut random = Random::new(1);
        let table: Vec<_> = (0..TRIALS).map(|_| trial(&mut random, bench)).collect();
        image.extend(table.iter().flatten().flat_map(|word| word.to_le_bytes()));
        let [ours, theirs] = both(bench, &image).unwrap_or_else(|error| panic!("{error}"));
        let name = bench.name;
        assert_eq!(ours.len(), TRIALS as usize * 2, "{name}");
        let refused = ours.iter().step_by(2).filter(|&&status| status != 0).count();
        assert!((100..500).contains(&refused), "{name}: {refused} of {TRIALS} are refused");
        for (at, entry) in table.iter().enumerate() {
            let [here, there] = [&ours, &theirs].map(|words| &words[at * 2..at * 2 + 2]);
            assert_eq!(here, there, "{name}, trial {at}: {entry:08x?}");
        }
    }
}

/// The program of a case: faults have handlers of their own, or do not.
fn program_of(case: &Case, enabled: u32) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.set(0, RAM + LOG).op(&[0x4683]).store(SHCSR, enabled).store(RAM + LOG, 0);
    // The flags, which are unknown at reset: cmp r0, r0.
    firmware.op(&[0x4280]);
    (case.program)(&mut firmware);
    firmware.forever();
    for exception in 3..=6 {
        firmware.handler(exception);
        firmware.store(MPU_CTRL, 0).mrs(1, 5);
        note(&mut firmware, 1);
        for register in [HFSR, SHCSR] {
            firmware.load(1, register);
            note(&mut firmware, 1);
        }
        firmware.load(2, CFSR);
        note(&mut firmware, 2);
        for (address, valid) in [(MMFAR, 24), (BFAR, 16)] {
            // lsls r3, r2, #valid; bpl over the load
            firmware.load(1, address).op(&[0x0013 | valid << 6, 0xD400, 0x2100]);
            note(&mut firmware, 1);
        }
        for special in [8, 9, 20] {
            firmware.mrs(1, special);
            note(&mut firmware, 1);
        }
        firmware.op(&[0xF84B, 0xEB04]); // str lr, [r11], #4
        if case.frame {
            // tst lr, #4; ite eq; mrseq r0, msp; mrsne r0, psp; the frame's last words
            firmware.op(&[0xF01E, 0x0F04, 0xBF0C]).mrs(0, 8).mrs(0, 9);
            for offset in [24, 28] {
                firmware.op(&[0x6801 | offset << 4]);
                note(&mut firmware, 1);
            }
        }
        finish(&mut firmware, RAM);
    }
    firmware
}

#[test]
fn fault_reports_match_qemu() {
    if qemu::is_unwanted() {
        return;
    }
    let names = [
        "exception",
        "HFSR",
        "SHCSR",
        "CFSR",
        "MMFAR",
        "BFAR",
        "MSP",
        "PSP",
        "CONTROL",
        "LR",
        "stacked PC",
        "stacked xPSR",
    ];
    let jobs: Vec<_> = CASES
        .iter()
        .flat_map(|case| [0, 7 << 16].map(|enabled| (case, enabled)))
        .flat_map(|(case, enabled)| V7M.iter().map(move |bench| (case, enabled, bench)))
        .collect();
    let next = std::sync::Mutex::new(jobs.iter());
    let differences = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((case, enabled, bench)) = { next.lock().expect("ok").next() } {
                    let image = program_of(case, *enabled).image();
                    let mut lines = format!("{enabled:#x}, {}: {}:", case.what, bench.name);
                    let (ours, theirs) = match both(bench, &image) {
                        Ok([ours, theirs]) => (ours, theirs),
                        Err(error) => {
                            differences.lock().expect("ok").push(lines + " " + &error);
                            continue;
                        }
                    };
                    if ours != theirs || ours.is_empty() {
                        for (at, name) in names.iter().enumerate() {
                            let (here, there) = (ours.get(at), theirs.get(at));
                            if here != there {
                                write!(lines, " {name} {here:08x?}, QEMU {there:08x?};")
                                    .expect("ok");
                            }
                        }
                        differences.lock().expect("ok").push(lines);
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().expect("ok");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Loads and stores through the aliases of bits: where, what is stored, which access.
fn bits_program(count: u32) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.set(0, RAM + LOG).op(&[0x4683]).set(0, TABLE).op(&[0x4680]);
    firmware.set(0, RAM).set(1, RAM + 0x100).set(3, 0x1234_5678);
    firmware.op(&[0xC008, 0x4288, 0xD1FC]); // stmia r0!, {r3}; cmp r0, r1; bne
    let top = firmware.here();
    // ldmia r8!, {r5, r6, r7}; mov r3, r6; tbb [pc, r7]
    firmware.op(&[0xE8B8, 0x00E0, 0x4633, 0xE8DF, 0xF007, 0x0503, 0x0907, 0x0D0B]);
    for (at, access) in [0x682B, 0x882B, 0x782B, 0x602B, 0x802B, 0x702B].into_iter().enumerate() {
        firmware.op(&[access, 0xE000 | (10 - 2 * at as u16) & 0x7FF]); // b to what follows
    }
    firmware.op(&[NOP]);
    note(&mut firmware, 3);
    firmware.set(0, TABLE + count * 12).op(&[0x4580]); // cmp r8, r0
    let back = (top as i32 - (firmware.here() as i32 + 2 + 4)) / 2;
    firmware.op(&[0xD000, 0xE000 | back as u16 & 0x7FF]); // beq on; b top
    // The words that the aliases refer to are recorded too: ldmia r0!, {r3}
    firmware.set(0, RAM).set(1, RAM + 0x100).op(&[0xC808]);
    note(&mut firmware, 3);
    firmware.op(&[0x4288, 0xD1FA]); // cmp r0, r1; bne
    finish(&mut firmware, RAM);
    firmware
}

#[test]
fn bit_band_aliases_match_qemu() {
    const COUNT: u32 = 400;
    if qemu::is_unwanted() {
        return;
    }
    let mut random = Random::new(2);
    let mut image = bits_program(COUNT).image();
    image.resize(TABLE as usize, 0);
    for _ in 0..COUNT {
        let bit = random.below(0x100 * 8);
        let entry = [0x2200_0000 + bit * 4, random.word(), random.below(6)];
        image.extend(entry.iter().flat_map(|word| word.to_le_bytes()));
    }
    for bench in &V7M {
        let [ours, theirs] = both(bench, &image).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(ours.len(), COUNT as usize + 64);
        assert!(ours[..COUNT as usize].contains(&0) && ours[..COUNT as usize].contains(&1));
        assert_eq!(ours, theirs, "{}", bench.name);
    }
}
