//! Parses the values of `rtmark sim`'s options: numbers, places, registers.

use std::time::Duration;

use rtmark_runner::nearest;
use rtmark_sim::{Image, Irq, Register, UnknownIrq, riscv};

/// An address, or a symbol to be resolved.
#[derive(Clone, Debug)]
pub enum Place {
    Address(u32),
    Symbol { name: String, offset: u32 },
}

/// A range of memory to show after the run.
#[derive(Clone, Debug)]
pub struct Dump {
    /// The place, as given.
    pub what: String,
    pub place: Place,
    pub length: u32,
}

/// Where a value is stored before the run.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    Register(Register),
    Word(u32),
}

/// A value to store in a register or word before the run.
#[derive(Clone, Debug)]
pub struct Setting {
    pub name: String,
    pub target: Target,
    pub value: u32,
}

/// An interrupt that becomes pending in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Pend {
    pub interrupt: Irq,
    pub cycle: u64,
}

/// An interrupt to enable.
#[derive(Clone, Copy, Debug)]
pub struct Arming {
    pub interrupt: Irq,
    /// As its register holds it.
    pub priority: u8,
}

/// Parses a decimal number, or a hexadecimal one with the prefix `0x`; underscores are ignored.
pub fn number(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((digits.as_str(), 10), |hex| (hex, 16));
    // `from_str_radix` would accept a sign.
    if !digits.starts_with(|first: char| first.is_digit(radix)) {
        return Err(format!("`{text}` is not a number, such as 4096 or 0x1000"));
    }
    u64::from_str_radix(digits, radix)
        .map_err(|_| format!("`{text}` is not a number of up to 64 bits, such as 4096 or 0x1000"))
}

/// Parses a number of cycles, which must not be 0.
pub fn cycles(text: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err("it must be at least 1".to_owned()),
        cycles => Ok(cycles),
    }
}

/// Parses a number of table lines, which must not be 0.
pub fn lines(text: &str) -> Result<usize, String> {
    cycles(text).map(|lines| usize::try_from(lines).unwrap_or(usize::MAX))
}

/// Parses a text that a program prints, which must not be empty.
pub fn text(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("an empty text always matches: give a text".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses a time with its unit: `100ms`, `1.5s`, `50us`, `800ns`.
pub fn time(text: &str) -> Result<Duration, String> {
    let time = rtmark_units::picoseconds(text)
        .ok_or_else(|| format!("`{text}` is not a time, such as 100ms, 1.5s or 50us"))?;
    match (u64::try_from(time / 1_000), time % 1_000) {
        (Ok(0), 0) => Err(format!("`{text}` is no time at all: give a longer one, such as 50us")),
        (Ok(time), 0) => Ok(Duration::from_nanos(time)),
        (Ok(_), _) => Err(format!("`{text}` is no whole number of nanoseconds")),
        (Err(_), _) => Err(format!(
            "`{text}` is too long: the longest time is {}s, 584 years",
            u64::MAX / 1_000_000_000
        )),
    }
}

/// Parses a number of up to 32 bits.
pub fn word(text: &str) -> Result<u32, String> {
    u32::try_from(number(text)?).map_err(|_| format!("`{text}` does not fit in 32 bits"))
}

/// Parses a number of 32 bits that may be negative.
fn signed_word(text: &str) -> Result<u32, String> {
    let Some(positive) = text.strip_prefix('-') else { return word(text) };
    let value = i64::try_from(number(positive)?).ok().and_then(|value| i32::try_from(-value).ok());
    value.map(|value| value as u32).ok_or_else(|| format!("`{text}` does not fit in 32 bits"))
}

pub fn place(text: &str) -> Result<Place, String> {
    if text.is_empty() {
        return Err("an address or a symbol is missing".to_owned());
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return word(text).map(Place::Address);
    }
    let offset = text.rsplit_once('+').and_then(|(name, offset)| Some((name, word(offset).ok()?)));
    let (name, offset) = offset.unwrap_or((text, 0));
    Ok(Place::Symbol { name: name.to_owned(), offset })
}

/// A place, or a cycle, written `@CYCLE`.
#[derive(Clone, Debug)]
pub enum When {
    Cycle(u64),
    Place(Place),
}

pub fn when(text: &str) -> Result<When, String> {
    match text.strip_prefix('@') {
        Some(cycle) => number(cycle).map(When::Cycle),
        None => place(text).map(When::Place),
    }
}

pub fn dump(text: &str) -> Result<Dump, String> {
    // Rust and C++ names contain colons.
    let (at, length) = text.rsplit_once(':').ok_or("a length is missing, as in buffer:16")?;
    if at.ends_with(':') {
        return Err(format!("a length is missing, as in {text}:16"));
    }
    let length = word(length)?;
    if length == 0 {
        return Err("the length is 0".to_owned());
    }
    Ok(Dump { what: at.to_owned(), place: place(at)?, length })
}

pub fn pend(text: &str) -> Result<Pend, String> {
    let (interrupt, cycle) = text.split_once('@').ok_or("a cycle is missing, as in 5@1000")?;
    Ok(Pend { interrupt: irq(interrupt)?, cycle: number(cycle)? })
}

/// Parses an interrupt and its priority: `5=0x40`.
pub fn arming(text: &str) -> Result<Arming, String> {
    let (interrupt, priority) =
        text.split_once('=').ok_or("a priority is missing, as in 5=0x40")?;
    Ok(Arming { interrupt: irq(interrupt)?, priority: byte(priority)? })
}

/// Parses a number from 0 to 255.
pub fn byte(text: &str) -> Result<u8, String> {
    let value = number(text).ok().and_then(|value| u8::try_from(value).ok());
    value.ok_or_else(|| "expected a number from 0 to 255, such as 0x40".into())
}

/// Parses an interrupt: an external one's number, `SysTick` or `PendSV`.
pub fn irq(text: &str) -> Result<Irq, String> {
    let external = number(text).ok().and_then(|number| u16::try_from(number).ok());
    external.map_or_else(
        || text.parse().map_err(|error: UnknownIrq| error.to_string()),
        |it| Ok(it.into()),
    )
}

/// The named registers of Arm cores, and their counterparts on other cores.
const NAMED_REGISTERS: [(&str, Register); 11] = [
    ("sp", Register::Sp),
    ("lr", Register::Link),
    ("pc", Register::Pc),
    ("xpsr", Register::Xpsr),
    ("msp", Register::Msp),
    ("psp", Register::Psp),
    ("primask", Register::Primask),
    ("basepri", Register::Basepri),
    ("faultmask", Register::Faultmask),
    ("control", Register::Control),
    ("fpscr", Register::Fpscr),
];

/// Alternative names of some registers.
const ALIASES: [(&str, Register); 3] =
    [("r15", Register::Pc), ("ip", Register::R(12)), ("cpsr", Register::Xpsr)];

fn register(name: &str) -> Option<Register> {
    if let Some((_, register)) =
        NAMED_REGISTERS.iter().chain(&ALIASES).find(|(known, _)| *known == name)
    {
        return Some(*register);
    }
    let is_it = |(known, _): &(&str, Register)| *known == name;
    // A name that both architectures have means Arm's register; RISC-V's `s0` can be set as `x8`.
    let is_float = name.strip_prefix('s').is_some_and(|rest| rest.parse::<u8>().is_ok());
    if let Some((_, register)) = riscv::named_registers().find(is_it).filter(|_| !is_float) {
        return Some(register);
    }
    let bank = name.get(..1)?;
    let digits = name.get(1..).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    match (bank, digits.parse().ok()?) {
        ("r", at @ 0..=14) | ("x", at @ 0..=31) => Some(Register::R(at)),
        ("s", at @ 0..=31) => Some(Register::S(at)),
        _ => None,
    }
}

/// Parses the contents of a single-precision register: its bits in hexadecimal, else a number.
fn float(text: &str) -> Result<u32, String> {
    if text.starts_with("0x") || text.starts_with("0X") {
        return word(text);
    }
    let value: Result<f32, _> = text.parse();
    value
        .map(f32::to_bits)
        .map_err(|_| format!("`{text}` is not a number, such as 1.5 or 0x3FC00000"))
}

pub fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or("a value is missing, as in r0=1")?;
    let name = name.to_ascii_lowercase();
    let (target, value) = if name.starts_with(|first: char| first.is_ascii_digit()) {
        (Target::Word(word(&name)?), signed_word(value)?)
    } else {
        let register = register(&name).ok_or_else(|| {
            format!(
                "no register is called `{name}`; the registers are r0 to r14, sp, lr, pc, xpsr, msp, psp, \
                 primask, basepri, faultmask, control, s0 to s31 and fpscr; cpsr on Cortex-R; on RISC-V \
                 x0 to x31, ra, sp, gp, tp, t0 to t6, fp, a0 to a7, pc, mstatus, mie, mtvec, \
                 mscratch, mepc and mcause"
            )
        })?;
        let float = matches!(register, Register::S(_)).then(|| float(value));
        (Target::Register(register), float.unwrap_or_else(|| signed_word(value))?)
    };
    Ok(Setting { name, target, value })
}

/// Resolves a place in an image.
///
/// # Errors
/// If there is no such symbol, or several: the problem and a hint.
pub fn resolve(place: &Place, image: &Image) -> Result<u32, (String, String)> {
    let (name, offset) = match place {
        Place::Address(address) => return Ok(*address),
        Place::Symbol { name, offset } => (name, offset),
    };
    let symbols = image.symbols();
    // Functions of different files may share a name; there is no way to prefer one.
    let same = symbols.iter().filter(|(_, other)| other == name);
    let same: Vec<_> = same.map(|(address, _)| format!("{address:#010x}")).collect();
    if same.len() > 1 {
        let problem = format!("{} symbols are called `{name}`", same.len());
        return Err((problem, format!("give one of their addresses: {}", same.join(", "))));
    }
    if let Some(address) = symbols.find(name) {
        return Ok(address.wrapping_add(*offset));
    }
    let mut known: Vec<String> = symbols.names().collect();
    if known.is_empty() {
        let hint =
            format!("the image's format is {}; give an address such as 0x08000100", image.format());
        return Err((format!("no symbol `{name}`: the image has no symbols"), hint));
    }
    let mut near = Vec::new();
    while near.len() < 3
        && let Some(next) = nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
    {
        known.retain(|other| *other != next);
        near.push(format!("`{next}`"));
    }
    let hint = match near.as_slice() {
        [] => "`arm-none-eabi-nm` lists the symbols; an address such as 0x08000100 also works"
            .to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Err((format!("no symbol `{name}`"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_parse_as_decimal_and_hexadecimal() {
        assert_eq!(word("0x0800_0041"), Ok(0x0800_0041));
        assert_eq!(word("1_000"), Ok(1000));
        assert_eq!(signed_word("-1"), Ok(u32::MAX));
        assert_eq!(signed_word("-2147483648"), Ok(0x8000_0000));
        for bad in ["", "0x", "x", "-1", "+1", "0x+1", "4294967296", "0x1_0000_0000", "1e3", "_"] {
            assert!(word(bad).is_err(), "{bad}");
        }
        assert!(signed_word("-2147483649").is_err() && signed_word("--1").is_err());
        assert_eq!((cycles("1_000"), cycles("0x3E8")), (Ok(1000), Ok(1000)));
        assert!(cycles("0").is_err() && cycles("0x0").is_err() && cycles("+1").is_err());
    }

    #[test]
    fn times_parse_with_their_unit() {
        for (text, nanoseconds) in
            [("800ns", 800), ("1_000us", 1_000_000), ("2µs", 2_000), ("1.5s", 1_500_000_000)]
        {
            assert_eq!(time(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
        for bad in ["", "s", "_s", "5", "-1s", "1,5s", "0x10s", "1h"] {
            assert!(time(bad).is_err_and(|error| error.contains("not a time")), "{bad}");
        }
        assert!(time("1.5ns").is_err_and(|error| error.contains("whole number")));
        assert!(time("0ms").is_err_and(|error| error.contains("longer one")));
        for long in ["99999999999s", "18446744074s", "999999999999999999999999ns"] {
            assert!(time(long).is_err_and(|error| error.contains("18446744073s")), "{long}");
        }
        assert!(time("18446744073s").is_ok());
    }

    #[test]
    fn lengths_parse_after_the_last_colon() {
        let dump = dump("app::buffer+0x10:0x20").expect("good");
        assert_eq!((dump.what.as_str(), dump.length), ("app::buffer+0x10", 32));
        assert!(matches!(dump.place, Place::Symbol { name, offset: 16 } if name == "app::buffer"));
        for bad in ["a", "a:", "a:0", ":4", "a::16", "a:b"] {
            assert!(super::dump(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn registers_parse_by_name() {
        let bits = |text: &str| setting(text).map(|setting| setting.value);
        assert_eq!(bits("R12=-2"), Ok(0xFFFF_FFFE));
        assert_eq!(bits("s0=1.5"), Ok(0x3FC0_0000));
        assert_eq!(bits("s31=2"), Ok(0x4000_0000));
        assert_eq!(bits("s0=0x2"), Ok(2));
        assert_eq!(bits("0xE000ED88=0xF00000"), Ok(0x00F0_0000));
        for bad in ["r0", "r16=1", "s32=1", "é=1", "=1", "r=1", "s0=x", "r0=1.5", "r+1=1"] {
            assert!(bits(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn interrupts_parse_with_their_cycle() {
        let pend = pend("5@1_000").expect("good");
        assert_eq!((pend.interrupt, pend.cycle), (5.into(), 1000));
        assert_eq!(super::pend("SysTick@7").map(|pend| pend.interrupt), Ok(Irq::SYSTICK));
        for bad in ["5", "5@", "@5", "70000@1", "-1@1"] {
            assert!(super::pend(bad).is_err(), "{bad}");
        }
    }
}
