//! Compares a Hazard3's encodings and mnemonics with GNU objdump.
//!
//! This version of the assembler knows neither Zcb and Zcmp nor the core's own instructions, and more
//! privileged instructions than the core has: those are left out.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use rtmark_judge::random::Random;
use rtmark_sim::{Machine, Soc};

const BASE: u32 = 0x8000_0000;
const ARCHITECTURE: &str = "rv32imac_zba_zbb_zbs_zbkb_zicsr_zifencei";
/// Random words for each of the major opcodes.
const WORDS: usize = 4_000;
/// LOAD, MISC-MEM, OP-IMM, AUIPC, STORE, AMO, OP, LUI, BRANCH, JALR, JAL, SYSTEM, and some that only
/// other cores have.
const OPCODES: [u32; 16] = [
    0x03, 0x0F, 0x13, 0x17, 0x23, 0x2F, 0x33, 0x37, 0x63, 0x67, 0x6F, 0x73, 0x07, 0x1B, 0x3B, 0x53,
];

fn tool(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(name).args(arguments).output().unwrap_or_else(|error| {
        panic!("{name}: {error}; scripts/setup test installs it");
    });
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns objdump's mnemonics for encodings, `None` for those that are not instructions.
fn theirs(encodings: &[u32], folder: &Path) -> Vec<Option<String>> {
    let mut source = String::from(".text\n");
    for encoding in encodings {
        let _ = writeln!(source, ".insn {encoding:#x}");
    }
    let (text, object) = (folder.join("encodings.s"), folder.join("encodings.o"));
    std::fs::write(&text, source).expect("writable");
    let (text, object) = (text.display().to_string(), object.display().to_string());
    let march = format!("-march={ARCHITECTURE}");
    tool("riscv64-unknown-elf-as", &[&march, "-mabi=ilp32", "-o", &object, &text]);
    let listing = tool("riscv64-unknown-elf-objdump", &["-d", "-z", "-M", "no-aliases", &object]);
    let lines = listing.lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let address = columns.next()?.trim().strip_suffix(':')?;
        u32::from_str_radix(address, 16).ok()?;
        let mnemonic = columns.nth(1)?.trim().to_owned();
        Some((!mnemonic.starts_with('.') && !mnemonic.starts_with("0x")).then_some(mnemonic))
    });
    lines.collect()
}

/// Returns the mnemonics of the simulator.
fn ours(encodings: &[u32]) -> Vec<Option<String>> {
    let soc = include_str!("../../../../socs/generic-hazard3.toml");
    let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
    let name = |encoding: &u32| {
        machine.poke(BASE, &encoding.to_le_bytes()).expect("in flash");
        let mnemonic = machine.disassembly(BASE).expect("memory").mnemonic;
        (!mnemonic.starts_with('.')).then_some(mnemonic)
    };
    encodings.iter().map(name).collect()
}

/// Returns the first encodings on which both differ.
fn differing(encodings: &[u32], same: impl Fn(&Option<String>, &Option<String>) -> bool) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, theirs) = (ours(encodings), theirs(encodings, folder.path()));
    assert_eq!(ours.len(), theirs.len(), "a line for each");
    assert!(ours.iter().flatten().count() > encodings.len() / 20);
    let pairs = encodings.iter().zip(ours.iter().zip(&theirs));
    let mut differing = pairs.filter(|(_, (ours, theirs))| !same(ours, theirs)).collect::<Vec<_>>();
    let count = differing.len();
    differing.truncate(20);
    if count == 0 { String::new() } else { format!("{count} differ: {differing:x?}") }
}

/// Whether a halfword is one of Zcb or Zcmp.
fn is_newer(half: u32) -> bool {
    let (quadrant, funct3) = (half & 3, half >> 13);
    let zcb = quadrant == 0 && funct3 == 4 || half & 0xFC43 == 0x9C41;
    zcb || quadrant == 2 && funct3 == 5
}

/// Whether a halfword is reserved, and read by one of both all the same: shifts by 32 and more, which
/// RV64 has, and c.addi4spn and c.addi16sp of nothing.
fn is_reserved(half: u32) -> bool {
    let (quadrant, funct3) = (half & 3, half >> 13);
    let shifts =
        quadrant == 2 && funct3 == 0 || quadrant == 1 && funct3 == 4 && half >> 11 & 1 == 0;
    shifts && half >> 12 & 1 == 1 || half & 0xFFE3 == 0 || half == 0x6101
}

#[test]
fn every_halfword_is_valid_for_both_or_neither() {
    let halves: Vec<u32> =
        (0..0x1_0000).filter(|it| it & 3 != 3 && !is_newer(*it) && !is_reserved(*it)).collect();
    let found = differing(&halves, |ours, theirs| ours.is_some() == theirs.is_some());
    assert_eq!(found, "");
}

#[test]
fn random_words_have_the_same_names() {
    let mut random = Random::new(1);
    let mut words = Vec::new();
    for opcode in OPCODES {
        for _ in 0..WORDS {
            let mut word = random.word() & !0x7F | opcode;
            // What is rare among all is made less so: the upper bits that tell extensions apart.
            if random.chance(1, 2) {
                word &= 0x7DFF_FFFF & !(random.word() & 0x4900_0000);
            }
            // Privileged instructions that other cores have, and fences, whose fields have names.
            let is_other = opcode == 0x73 && word >> 12 & 7 == 0 || opcode == 0x0F;
            // Shifts by 32 and more, which RV64 has.
            let is_far = opcode == 0x13 && matches!(word >> 12 & 7, 1 | 5) && word >> 25 & 1 == 1;
            if !is_other && !is_far {
                words.push(word);
            }
        }
    }
    let plain = |name: &Option<String>| {
        let name = name.as_deref()?.trim_end_matches(".aqrl").trim_end_matches(".aq");
        let name = name.trim_end_matches(".rl");
        // One encoding, by Zbb and by Zbkb.
        Some(if name == "zext.h" { "pack" } else { name }.to_owned())
    };
    assert_eq!(differing(&words, |ours, theirs| plain(ours) == plain(theirs)), "");
}
