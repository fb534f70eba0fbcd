//! Compares both instruction sets of a Cortex-R5 with GNU objdump: which encodings exist, and their
//! mnemonics.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rtmark_sim::{Machine, Register, Soc};

use super::SOC;
use super::writer::InstructionSet;
use crate::disassembler::{ToolError, objdump, thumb_source};
use crate::random::Random;

/// The architecture that the assembler, and thereby objdump, is told.
const FLAGS: [&str; 2] = ["-march=armv7-r+idiv", "-mfpu=vfpv3-d16"];
/// CPSR in supervisor mode, and its bit for T32.
const STATUS: u32 = 0x1D3;
const THUMB: u32 = 1 << 5;
/// The address of an encoding that is disassembled here.
const PLACE: u32 = 0x1000;

/// The result of comparing many encodings.
#[derive(Debug, Default)]
pub struct EncodingComparison {
    /// The number of encodings that are instructions in the simulator.
    pub compared: usize,
    /// Encodings that are not instructions for objdump, or different ones: encoding, ours, theirs.
    pub differing: Vec<(u32, String, String)>,
    /// Mnemonics that objdump has for encodings of which none is an instruction in the simulator. Some
    /// encodings of most mnemonics are unpredictable, and are not compared.
    pub missing: BTreeSet<String>,
}

/// Random A32 words, this many for each value of the bits that distinguish instructions: most of them
/// without a condition.
pub fn some_a32(each: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut words = Vec::new();
    for kind in 0..0x1000 {
        let told = (kind >> 4) << 20 | (kind & 0xF) << 4;
        for _ in 0..each {
            let condition = match random.below(4) {
                0 => random.below(14),
                1 => 15,
                _ => 14,
            };
            // Fields with all zeros or ones often have a special meaning.
            let blank = *random.pick(&[0, 0, 0xF_0000, 0xF000, 0xF00]);
            let bits = random.word() & 0x000F_FF0F;
            let bits = if random.chance(1, 2) { bits | blank } else { bits & !blank };
            words.push(condition << 28 | told | bits);
        }
    }
    words
}

/// All halfwords that are T32 instructions on their own.
pub fn all_narrow() -> Vec<(u16, u16)> {
    (0..0xE800).map(|first| (first, 0)).collect()
}

/// This many second halves for each first half of T32's 32-bit instructions.
pub fn some_wide(each: u32, seed: u64) -> Vec<(u16, u16)> {
    let mut random = Random::new(seed);
    let halves = (0xE800..=0xFFFF_u16).flat_map(|first| (0..each).map(move |_| first));
    halves.map(|first| (first, random.word() as u16)).collect()
}

/// Compares A32 encodings; `folder` is used for two files.
///
/// # Errors
/// When a tool is missing or fails.
pub fn compare_a32(words: &[u32], folder: &Path) -> Result<EncodingComparison, ToolError> {
    let mut source = String::from(".syntax unified\n.arm\n");
    for word in words {
        let _ = writeln!(source, ".inst {word:#x}");
    }
    let addresses: Vec<u32> = (0..).step_by(4).take(words.len()).collect();
    compare(InstructionSet::A32, words, &source, &addresses, folder)
}

/// Compares T32 encodings; `folder` is used for two files.
///
/// # Errors
/// When a tool is missing or fails.
pub fn compare_t32(halves: &[(u16, u16)], folder: &Path) -> Result<EncodingComparison, ToolError> {
    let (source, addresses) = thumb_source(halves);
    let words: Vec<u32> =
        halves.iter().map(|(first, second)| u32::from(*first) | u32::from(*second) << 16).collect();
    compare(InstructionSet::T32, &words, &source, &addresses, folder)
}

/// Bits of A32 that should have a fixed value but have no meaning (DDI 0406, A5): with another value,
/// behaviour is unpredictable, which the core's decoder does not check but objdump does. Each entry has
/// the bits that identify the instructions with their values, then the bits that should be ones, and
/// those that should be zeros.
const A32_SHOULD_BE: &[[u32; 4]] = &[
    [0x0FF0_00F0, 0x0120_0010, 0x000F_FF00, 0], // BX, BXJ, BLX
    [0x0FF0_00F0, 0x0120_0020, 0x000F_FF00, 0],
    [0x0FF0_00F0, 0x0120_0030, 0x000F_FF00, 0],
    [0x0FF0_00F0, 0x0120_0070, 0xE000_0000, 0x1000_0000], // BKPT, whose condition is always
    [0x0FF0_00F0, 0x0160_0010, 0x000F_0F00, 0],           // CLZ
    [0x0FB0_00F0, 0x0100_0000, 0x000F_0000, 0x0000_0F0F], // MRS, MSR
    [0x0FB0_00F0, 0x0120_0000, 0x0000_F000, 0x0000_0F00],
    [0x0FB0_0000, 0x0320_0000, 0x0000_F000, 0],
    [0x0FFF_0000, 0x0320_0000, 0x0000_F000, 0x0000_0F00], // hints
    [0x0F90_00F0, 0x0100_0050, 0, 0x0000_0F00],           // QADD and its kin
    [0x0E40_00F0, 0x0000_00B0, 0, 0x0000_0F00],           // halves and pairs by a register
    [0x0E40_00F0, 0x0000_00D0, 0, 0x0000_0F00],
    [0x0E40_00F0, 0x0000_00F0, 0, 0x0000_0F00],
    [0x0D90_0000, 0x0110_0000, 0, 0x0000_F000], // TST, TEQ, CMP, CMN
    [0x0DA0_0000, 0x01A0_0000, 0, 0x000F_0000], // MOV, MVN
    [0x0FE0_00F0, 0x0000_0090, 0, 0x0000_F000], // MUL, SMULxy, SMULWy
    [0x0FF0_0090, 0x0160_0080, 0, 0x0000_F000],
    [0x0FF0_00B0, 0x0120_00A0, 0, 0x0000_F000],
    [0x0FB0_00F0, 0x0100_0090, 0, 0x0000_0F00], // SWP
    [0x0F90_00F0, 0x0190_0090, 0x0000_0F0F, 0], // LDREX, STREX
    [0x0F90_00F0, 0x0180_0090, 0x0000_0F00, 0],
    [0x0F80_0010, 0x0600_0010, 0x0000_0F00, 0], // parallel sums, SEL, SSAT16
    [0x0FF0_00F0, 0x0680_00B0, 0x0000_0F00, 0],
    [0x0FB0_00F0, 0x06A0_0030, 0x0000_0F00, 0],
    [0x0FB0_0070, 0x06B0_0030, 0x000F_0F00, 0], // REV and its kin
    [0x0F80_00F0, 0x0680_0070, 0, 0x0000_0300], // extensions
    [0x0FD0_00F0, 0x0710_0010, 0x0000_F000, 0], // divisions
    [0xFFF0_00F0, 0xF570_0010, 0x000F_F00F, 0x0000_0F00], // CLREX
    [0xFFF0_0000, 0xF570_0000, 0x000F_F000, 0x0000_0F00], // barriers
    [0xFF70_0000, 0xF550_0000, 0x0000_F000, 0], // preloads
    [0xFFF1_0000, 0xF100_0000, 0, 0x0000_FE20], // CPS, SETEND
    [0xFFFE_0000, 0xF102_0000, 0, 0x0000_01C0],
    [0xFFF1_0000, 0xF101_0000, 0, 0x0000_FDFF],
    [0xFE50_0000, 0xF840_0000, 0x000D_0500, 0x0002_FAE0], // SRS, RFE
    [0xFE50_0000, 0xF810_0000, 0x0000_0A00, 0x0000_F5FF],
];

/// Should-be bits of T32 encodings, with the first halfword in the upper half.
const T32_SHOULD_BE: &[[u32; 4]] = &[
    [0xFE00_0000, 0xEA00_0000, 0, 0x0000_8000], // by a shifted register
    [0xFB40_8000, 0xF340_0000, 0, 0x0400_0020], // bit fields
    [0xFBD0_8000, 0xF300_0000, 0, 0x0400_0020], // saturation
    [0xFBD0_8000, 0xF380_0000, 0, 0x0400_0020],
    [0xFB70_F0C0, 0xF320_0000, 0, 0x0400_0030],
    [0xFBF0_F0C0, 0xF3A0_0000, 0, 0x0400_0030],
    [0xFFD0_00F0, 0xFB90_00F0, 0x0000_F000, 0], // divisions
    [0xFFD0_0000, 0xE810_0000, 0x0000_C000, 0x0000_3FFF], // RFE, SRS
    [0xFFD0_0000, 0xE990_0000, 0x0000_C000, 0x0000_3FFF],
    [0xFFD0_0000, 0xE800_0000, 0x000D_C000, 0x0000_3FE0],
    [0xFFD0_0000, 0xE980_0000, 0x000D_C000, 0x0000_3FE0],
    [0xFFF0_D000, 0xF3D0_8000, 0x000E_0F00, 0x0000_2000], // SUBS PC
    [0xFFF0_0000, 0xE850_0000, 0x0000_0F00, 0],           // LDREX, TBB and their kin
    [0xFFF0_00E0, 0xE8D0_0040, 0x0000_0F0F, 0],
    [0xFFF0_00F0, 0xE8D0_0070, 0x0000_000F, 0],
    [0xFFF0_00E0, 0xE8C0_0040, 0x0000_0F00, 0],
    [0xFFF0_00E0, 0xE8D0_0000, 0x0000_F000, 0x0000_0F00],
    [0xFF80_F000, 0xFA00_F000, 0, 0x0000_0040], // extensions
    [0xFFE0_D000, 0xF380_8000, 0, 0x0000_20FF], // MSR, MRS, CPS, hints, barriers, BXJ
    [0xFFF0_D000, 0xF3A0_8000, 0x000F_0000, 0x0000_2800],
    [0xFFF0_D700, 0xF3A0_8100, 0, 0x0000_00E0],
    [0xFFF0_D000, 0xF3B0_8000, 0x000F_0F00, 0x0000_2000],
    [0xFFF0_D000, 0xF3C0_8000, 0x0000_0F00, 0x0000_20FF],
    [0xFFE0_D000, 0xF3E0_8000, 0x000F_0000, 0x0000_20FF],
    [0xFF80_0000, 0x4700_0000, 0, 0x0007_0000], // BX, BLX
    [0xFF80_0000, 0x4780_0000, 0, 0x0007_0000],
    [0xFFE0_0000, 0xB660_0000, 0, 0x0008_0000], // CPS, SETEND
    [0xFFE0_0000, 0xB640_0000, 0x0010_0000, 0x0007_0000],
];

/// Tells whether bits without meaning have another value than they should.
fn is_unpredictable(table: &[[u32; 4]], bits: u32) -> bool {
    table.iter().any(|[mask, value, ones, zeros]| {
        bits & mask == *value && (bits & ones != *ones || bits & zeros != 0)
    })
}

/// Compares words, in memory order, with a source that has them at these addresses.
fn compare(
    set: InstructionSet,
    words: &[u32],
    source: &str,
    addresses: &[u32],
    folder: &Path,
) -> Result<EncodingComparison, ToolError> {
    let flags = FLAGS.map(str::to_owned);
    let texts = objdump(source, &flags, addresses, folder)?;
    let soc = Soc::from_toml(SOC).unwrap_or_else(|error| panic!("lockstep-r5: {error}"));
    let mut machine = Machine::new(&soc);
    let thumb = if set == InstructionSet::T32 { THUMB } else { 0 };
    machine.set_register(Register::Xpsr, STATUS | thumb);
    let mut reading = EncodingComparison::default();
    let mut known = BTreeSet::new();
    for (word, theirs) in words.iter().zip(texts) {
        let bits = if set == InstructionSet::T32 { word.rotate_left(16) } else { *word };
        if is_unjudged(set, bits, &theirs) {
            continue;
        }
        let written = machine.poke(PLACE, &word.to_le_bytes()).is_ok();
        assert!(written, "there is memory at {PLACE:#x}");
        let ours = machine.disassembly(PLACE).filter(|it| !it.mnemonic.starts_with('.'));
        let their_name = (!is_none(&theirs)).then(|| name(&theirs));
        let Some(ours) = ours.map(|it| it.to_string()) else {
            // In A32 nothing else distinguishes unconditional encodings from conditional ones.
            let always = set == InstructionSet::T32 || bits >> 28 >= 14;
            // Floating-point encodings are the same in both sets, and are compared for Cortex-M.
            let missing = their_name.filter(|name| always && !name.starts_with('v'));
            reading.missing.extend(missing);
            continue;
        };
        reading.compared += 1;
        let our_name = name(&ours);
        if their_name.as_ref() != Some(&our_name) {
            reading.differing.push((bits, ours, theirs));
        }
        known.insert(our_name);
    }
    reading.missing.retain(|name| !known.contains(name));
    Ok(reading)
}

/// Tells whether objdump knows no such instruction.
fn is_none(theirs: &str) -> bool {
    let lower = theirs.to_ascii_lowercase();
    let marks = ["undef", "<und>"].iter().any(|mark| lower.contains(mark));
    marks || lower.contains("??") || lower.starts_with(['.', '@']) || lower.starts_with("udf")
}

/// Returns the coprocessor that an encoding refers to, if any.
const fn coprocessor(set: InstructionSet, bits: u32) -> Option<u32> {
    let within = match set {
        InstructionSet::A32 => bits >> 26 & 3 == 3 && bits >> 24 & 15 != 15,
        InstructionSet::T32 => bits >> 26 & 0x3B == 0x3B && bits >> 24 & 3 != 3,
    };
    if within { Some(bits >> 8 & 15) } else { None }
}

/// Tells whether objdump's text is irrelevant: the encoding is unpredictable, or belongs to something
/// that this core does not have but objdump disassembles: other coprocessors, Advanced SIMD, later
/// versions of the architecture.
fn is_unjudged(set: InstructionSet, bits: u32, theirs: &str) -> bool {
    let lower = theirs.to_ascii_lowercase();
    let mnemonic = lower.split([' ', '\t']).next().unwrap_or_default();
    let (table, unconditional) = match set {
        InstructionSet::A32 => (A32_SHOULD_BE, bits >> 28 == 15),
        InstructionSet::T32 => (T32_SHOULD_BE, bits >> 28 == 15),
    };
    let other = match coprocessor(set, bits) {
        Some(15) => !mnemonic.starts_with("mcr") && !mnemonic.starts_with("mrc"),
        // Both sets encode these in the same way, and they are compared for Cortex-M.
        Some(10 | 11) => unconditional || is_none(theirs) || !mnemonic.starts_with('v'),
        Some(_) => true,
        None => false,
    };
    let simd = match set {
        InstructionSet::A32 => bits >> 25 == 0x79 || bits >> 24 == 0xF4 && bits >> 20 & 1 == 0,
        InstructionSet::T32 => {
            bits >> 24 & 0xEF == 0xEF || bits >> 24 == 0xF9 && bits >> 20 & 1 == 0
        }
    };
    let later = [
        "hlt", "setpan", "bxns", "blxns", "bf", "bfx", "bfl", "bflx", "bfcsel", "le", "dls",
        "autg", "bxaut", "pacg",
    ];
    let is_later = later.contains(&mnemonic) || mnemonic.starts_with("wls");
    // Memory hints, of which the core implements two and ignores the others.
    let preload = mnemonic.starts_with("pl")
        || set == InstructionSet::T32
            && bits >> 25 == 0x7C
            && bits >> 20 & 1 == 1
            && bits >> 12 & 15 == 15
        || set == InstructionSet::A32 && bits >> 26 == 0x3D && bits >> 20 & 1 == 1;
    let literal = mnemonic.starts_with("ldr") && mnemonic.ends_with('t') && lower.contains("[pc");
    // Banked registers, which were added with the virtualization extensions.
    let banked = ["msr", "mrs"].iter().any(|name| mnemonic.starts_with(name)) && bits & 0x200 != 0;
    lower.contains("unpredictable")
        || lower.contains("illegal")
        || lower.contains("{}")
        || other
        || simd
        || preload
        || set == InstructionSet::T32 && literal
        || lower.starts_with("it") && lower.contains("<und>")
        || is_later
        || banked
        || is_unpredictable(table, bits)
}

/// Normalises the mnemonic of an instruction for both texts.
fn name(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    let name = text.split([' ', '\t']).next().unwrap_or_default();
    let name = name.trim_end_matches(".w").trim_end_matches(".n");
    if text.contains("(mov r8") {
        return "mov".to_owned();
    }
    let places = ["add", "addw", "sub", "subw"];
    if places.contains(&name) && text.contains(", pc, #") {
        return "adr".to_owned();
    }
    // A shift is a move, load and store multiple with the stack pointer have mnemonics of their own,
    // and so has the subtraction from 0.
    let same = [
        ("lsl", "mov"),
        ("lsr", "mov"),
        ("asr", "mov"),
        ("ror", "mov"),
        ("rrx", "mov"),
        ("ldmia", "ldm"),
        ("ldmfd", "ldm"),
        ("pop", "ldm"),
        ("stmia", "stm"),
        ("push", "stmdb"),
        ("stmfd", "stmdb"),
        ("neg", "rsb"),
        ("sevl", "nop"),
    ];
    let single = !text.contains(['-', ',']);
    let same = same.iter().find_map(|(from, to)| Some(((*from, *to), name.strip_prefix(from)?)));
    match same {
        // A list of one register is a single access.
        Some((("pop", _), rest)) if single => format!("ldr{rest}"),
        Some((("push", _), rest)) if single => format!("str{rest}"),
        Some(((_, to), rest)) => format!("{to}{rest}"),
        None => name.to_owned(),
    }
}
