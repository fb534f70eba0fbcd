//! The simulator's disassembler against GNU objdump, which shares nothing with it.
//!
//! Encodings are assembled as bare words and disassembled by objdump, and both texts
//! are normalised: the same names for the same thing, numbers as numbers.
//! Encodings that the simulator does not know, and those that objdump calls
//! unpredictable, are left out: [`crate::decoder`] looks after them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use rtmark_sim::isa_check::is_defined;
use rtmark_sim::{CoreKind, Disassembly};

use crate::random::Random;

/// The result of comparing many instructions.
#[derive(Debug, Default)]
pub struct TextComparison {
    /// Instructions whose texts were compared.
    pub compared: usize,
    /// Those that differ: encoding, ours, theirs.
    pub differing: Vec<(u32, String, String)>,
}

/// Why nothing was compared.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The assembler or objdump is not installed, or refused.
    #[error("{tool}: {problem}")]
    Tool {
        /// Which.
        tool: &'static str,
        /// What happened.
        problem: String,
    },
    /// A file could not be written.
    #[error("{0}")]
    File(#[from] std::io::Error),
}

const ASSEMBLER: &str = "arm-none-eabi-as";
const OBJDUMP: &str = "arm-none-eabi-objdump";

/// Every 16-bit encoding of a core.
pub fn all_narrow(core: CoreKind) -> Vec<(u16, u16)> {
    (0..0xE800).map(|first| (first, 0)).filter(|&(first, _)| is_defined(core, first, 0)).collect()
}

/// For every halfword that begins a 32-bit encoding, this many random second halves
/// that make it an instruction of the core.
pub fn some_wide(core: CoreKind, seconds: u32, seed: u64) -> Vec<(u16, u16)> {
    let mut random = Random::new(seed);
    let mut pairs = Vec::new();
    for first in 0xE800..=0xFFFFu16 {
        let tried = (0..seconds).map(|_| (first, random.word() as u16));
        pairs.extend(tried.filter(|&(first, second)| is_defined(core, first, second)));
    }
    pairs
}

/// Compares the texts of encodings; `folder` takes two files.
///
/// # Errors
/// When a tool is missing or fails.
pub fn compare(
    core: CoreKind,
    encodings: &[(u16, u16)],
    folder: &Path,
) -> Result<TextComparison, ToolError> {
    let (source, addresses) = thumb_source(encodings);
    let (cpu, fpu) = match core {
        CoreKind::CortexM4F => ("cortex-m4", "fpv4-sp-d16"),
        CoreKind::CortexM7 => ("cortex-m7", "fpv5-d16"),
        CoreKind::CortexM33 => ("cortex-m33", "fpv5-sp-d16"),
        other => (other.name(), "softvfp"),
    };
    let flags = ["-mthumb".to_owned(), format!("-mcpu={cpu}"), format!("-mfpu={fpu}")];
    let texts = objdump(&source, &flags, &addresses, folder)?;
    let mut comparison = TextComparison::default();
    for ((&(first, second), &address), theirs) in encodings.iter().zip(&addresses).zip(texts) {
        let encoding = u32::from(first) << 16 | u32::from(second);
        if is_unjudged(core, &theirs, encoding) {
            continue;
        }
        comparison.compared += 1;
        let ours = Disassembly::of(core, address, first, second, None).to_string();
        if normal(&ours, address) != normal(&theirs, address) {
            comparison.differing.push((encoding, ours, theirs));
        }
    }
    Ok(comparison)
}

/// Encodings of T32 as bare words, with the address of each.
pub(crate) fn thumb_source(encodings: &[(u16, u16)]) -> (String, Vec<u32>) {
    let mut source = String::from(".syntax unified\n.thumb\n");
    let mut addresses = Vec::new();
    let mut address = 0;
    for &(first, second) in encodings {
        addresses.push(address);
        if first >= 0xE800 {
            let _ = writeln!(source, ".inst.w 0x{first:04x}{second:04x}");
            address += 4;
        } else {
            let _ = writeln!(source, ".inst.n 0x{first:04x}");
            address += 2;
        }
        // What follows an IT is under its spell for up to four instructions.
        if first >> 8 == 0xBF && first & 0xF != 0 {
            source.push_str(".inst.n 0xbf00\n".repeat(4).as_str());
            address += 8;
        }
    }
    (source, addresses)
}

/// Returns objdump's texts at some addresses of an assembled source, in ascending order.
pub(crate) fn objdump(
    source: &str,
    flags: &[String],
    addresses: &[u32],
    folder: &Path,
) -> Result<Vec<String>, ToolError> {
    let (text, object) = (folder.join("encodings.s"), folder.join("encodings.o"));
    std::fs::write(&text, source)?;
    let mut assemble = Command::new(ASSEMBLER);
    output(ASSEMBLER, assemble.args(flags).arg("-o").arg(&object).arg(&text))?;
    let mut dump = Command::new(OBJDUMP);
    dump.args(["-d", "-z", "-M", "reg-names-std"]).arg(&object);
    let listing = output(OBJDUMP, &mut dump)?;
    let mut lines = listing.lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let address = u32::from_str_radix(columns.next()?.trim().strip_suffix(':')?, 16).ok()?;
        let _encoding = columns.next()?;
        Some((address, columns.collect::<Vec<_>>().join(" ")))
    });
    let text = |address: &u32| {
        let found = lines.find(|(at, _)| at == address).map(|(_, text)| text);
        let problem = || format!("no line for address {address:#x}");
        found.ok_or_else(|| ToolError::Tool { tool: OBJDUMP, problem: problem() })
    };
    addresses.iter().map(text).collect()
}

fn output(tool: &'static str, command: &mut Command) -> Result<String, ToolError> {
    let problem = |problem: String| ToolError::Tool { tool, problem };
    let output = command.output().map_err(|error| problem(error.to_string()))?;
    if !output.status.success() {
        return Err(problem(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether objdump's text says nothing about an encoding that a core without the newer
/// extensions executes: it is unpredictable, or read as another profile's.
fn is_unjudged(core: CoreKind, theirs: &str, encoding: u32) -> bool {
    let lower = theirs.to_ascii_lowercase();
    let mnemonic = lower.split(' ').next().unwrap_or_default();
    let is_v8m = core == CoreKind::CortexM33;
    let v8m = ["bxns", "blxns", "tt", "ttt", "tta", "ttat", "sg", "vlstm", "vlldm"];
    let newer = ["clrm", "vscclrm", "autg", "bxaut", "pacg"];
    let special = ["msr", "mrs"].contains(&mnemonic);
    let other_profile = newer.contains(&mnemonic)
        || (v8m.contains(&mnemonic) && !is_v8m)
        || ["mrc", "mcr"].contains(&mnemonic)
        || (special && (encoding & 0x20 != 0 || (lower.contains("_ns") && !is_v8m)));
    // Miscellaneous operations encode their register twice; two different ones are unpredictable.
    let twice = ["rbit", "rev.w", "rev16.w", "revsh.w", "clz"].contains(&mnemonic)
        && encoding >> 16 & 15 != encoding & 15;
    // DDI 0403, A7.7.43 on: with the program counter as the base these are literal loads.
    let unprivileged = mnemonic.ends_with('t') && lower.contains("[pc");
    let dual = mnemonic == "ldrd"
        && (lower.contains("[pc]") || (lower.contains("[pc") && lower.contains('!')));
    // A write-back of nothing, which objdump leaves out.
    let nothing = encoding & 0xFE60_00FF == 0xE860_0000;
    lower.contains("undef")
        || lower.contains("unpredictable")
        || lower.contains("<unknown>")
        || lower.contains("<und>")
        || other_profile
        || twice
        || unprivileged
        || dual
        || nothing
}

/// One form for both texts.
pub(crate) fn normal(text: &str, address: u32) -> String {
    let text = text.to_ascii_lowercase();
    let (instruction, comment) = text.split_once('@').unwrap_or((&text, ""));
    let instruction = instruction.split('<').next().unwrap_or_default().trim();
    let (mnemonic, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
    let wide_add = mnemonic == "add.w";
    let mut mnemonic = mnemonic.trim_end_matches(".w").trim_end_matches(".n").to_owned();
    let mut operands = operands.replace(' ', "");
    // objdump's own names, and the manual's.
    match mnemonic.as_str() {
        "negs" => {
            "rsbs".clone_into(&mut mnemonic);
            operands.push_str(",#0");
        }
        "nop" if comment.contains("mov r8") => return "mov r8,r8".to_owned(),
        "nop" | "sevl" => return "nop".to_owned(),
        "svc" | "bkpt" | "udf" => operands = format!("#{}", operands.trim_start_matches('#')),
        "mov" | "movs" => {
            let parts: Vec<_> = operands.splitn(3, ',').map(str::to_owned).collect();
            if let [d, m, shift] = parts.as_slice() {
                let (kind, amount) = shift.split_once('#').unwrap_or((shift, ""));
                mnemonic = mnemonic.replace("mov", kind);
                let amount = if amount.is_empty() { String::new() } else { format!(",#{amount}") };
                operands = format!("{d},{m}{amount}");
            }
        }
        "add" | "addw" | "subw" if operands.contains(",pc,#") && !wide_add => {
            let (d, offset) = operands.split_once(",pc,#").unwrap_or_default();
            let offset: u32 = offset.parse().unwrap_or_default();
            let pc = (address + 4) & !3;
            let place =
                if mnemonic == "subw" { pc.wrapping_sub(offset) } else { pc.wrapping_add(offset) };
            operands = format!("{d},0x{place:x}");
            "adr".clone_into(&mut mnemonic);
        }
        "msr" | "mrs" => {
            let names = operands.split(',').map(|name| if name == "psr" { "xpsr" } else { name });
            operands = names.collect::<Vec<_>>().join(",");
        }
        "vmov.f32" if operands.contains('#') => {
            let (d, value) = operands.split_once(",#").unwrap_or_default();
            let bits = match comment.trim().split_once(' ') {
                Some((bits, _)) => u32::from_str_radix(bits.trim_start_matches("0x"), 16).ok(),
                None => value.parse::<f32>().ok().map(f32::to_bits),
            };
            return format!("vmov.f32 {d} {bits:?}");
        }
        "vmov.f64" if operands.contains('#') => {
            let (d, value) = operands.split_once(",#").unwrap_or_default();
            // objdump's comment gives the number as a single one.
            let bits = match comment.trim().split_once(' ') {
                Some((bits, _)) => u32::from_str_radix(bits.trim_start_matches("0x"), 16).ok(),
                None => value.parse::<f32>().ok().map(f32::to_bits),
            };
            return format!("vmov.f64 {d} {bits:?}");
        }
        _ => {}
    }
    let is_branch =
        mnemonic.starts_with("cb") || (mnemonic.starts_with('b') && !operands.contains(','));
    if is_branch && !operands.starts_with(['r', 'l', 's', 'p', '#']) {
        let at = operands.find(',').map_or(0, |comma| comma + 1);
        let (before, target) = operands.split_at(at);
        operands = format!("{before}0x{}", target.trim_start_matches("0x"));
    }
    let mut normal = mnemonic + " ";
    let mut rest = operands.replace(",#0]", "]").replace(",#-0]", "]");
    // Numbers, whatever their base.
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit() || c == '-') {
        let (before, number) = rest.split_at(at);
        let named = before.ends_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let length = number[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        let length = length.map_or(number.len(), |length| length + 1);
        let (number, after) = number.split_at(length);
        normal.push_str(before);
        match value(number, before.ends_with('#')).filter(|_| !named) {
            Some(value) => {
                let _ = write!(normal, "{value}");
            }
            None => normal.push_str(number),
        }
        rest = after.to_owned();
    }
    normal + &rest
}

/// A number: after a `#` in decimal unless it says otherwise, else an address.
fn value(text: &str, is_immediate: bool) -> Option<u32> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None if is_immediate => digits.parse().ok()?,
        None => i64::from_str_radix(digits, 16).ok()?,
    };
    Some((sign * value) as u32)
}
