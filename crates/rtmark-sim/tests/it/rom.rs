//! Floating point of RP2040's boot ROM, as its users find and call it, beside the host's.

#![expect(clippy::float_cmp, reason = "the last bit counts here")]

use rtmark_sim::{Image, Machine, Register, Soc, Stop};
use rtmark_units::Cycles;

/// Table entries (datasheet, 2.8.3.2.1).
const ADD: u32 = 0x00;
const SUB: u32 = 0x04;
const MUL: u32 = 0x08;
const DIV: u32 = 0x0C;
const SQRT: u32 = 0x18;
const TO_INT: u32 = 0x1C;
const TO_FIX: u32 = 0x20;
const TO_UINT: u32 = 0x24;
const FROM_INT: u32 = 0x2C;
const FROM_FIX: u32 = 0x30;
const FROM_UINT: u32 = 0x34;
const COS: u32 = 0x3C;
const SIN: u32 = 0x40;
const TAN: u32 = 0x44;
const EXP: u32 = 0x4C;
const LN: u32 = 0x50;
const CMP: u32 = 0x54;
const ATAN2: u32 = 0x58;
const FROM_INT64: u32 = 0x5C;
const FROM_UINT64: u32 = 0x64;
const TO_INT64: u32 = 0x6C;
const TO_UINT64: u32 = 0x74;
/// Into the other format.
const OTHER: u32 = 0x7C;

struct Rom {
    machine: Machine,
    tables: [u32; 2],
}

impl Rom {
    fn new() -> Self {
        let soc = Soc::from_toml(include_str!("../../../../socs/rp2040.toml")).expect("good");
        let mut machine = Machine::new(&soc);
        let vectors = [0x2004_0000_u32, 0x1000_0109].map(u32::to_le_bytes).concat();
        let image = Image::from_raw(&vectors, 0x1000_0100).expect("an image");
        machine.load_and_call(&image, 0x1000_0108).expect("it fits");
        let mut rom = Self { machine, tables: [0; 2] };
        let half = |rom: &Self, at| u32::from(u16::from_le_bytes(rom.peek(at)));
        let (lookup, data) = (half(&rom, 0x18), half(&rom, 0x16));
        rom.tables = [*b"SF", *b"SD"]
            .map(|code| rom.call(lookup, &[data, u16::from_le_bytes(code).into()]) as u32);
        rom
    }

    fn peek<const N: usize>(&self, address: u32) -> [u8; N] {
        self.machine.peek(address, N).try_into().expect("ROM")
    }

    fn call(&mut self, function: u32, arguments: &[u32]) -> u64 {
        self.machine.set_register(Register::Link, u32::MAX);
        self.machine.set_register(Register::Pc, function);
        for (number, argument) in (0..).zip(arguments) {
            self.machine.set_register(Register::Argument(number), *argument);
        }
        let stop = self.machine.run(Cycles(self.machine.cycles().0 + 100_000));
        assert_eq!(stop, Stop::Breakpoint(Machine::RETURN_ADDRESS), "{function:#x}");
        let [low, high] = [0, 1].map(|number| self.machine.register(Register::Argument(number)));
        u64::from(high) << 32 | u64::from(low)
    }

    fn entry(&self, table: usize, entry: u32) -> u32 {
        u32::from_le_bytes(self.peek(self.tables[table] + entry))
    }

    fn float(&mut self, entry: u32, arguments: &[f32]) -> f32 {
        f32::from_bits(self.float_to(entry, arguments) as u32)
    }

    fn float_to(&mut self, entry: u32, arguments: &[f32]) -> u64 {
        let words: Vec<_> = arguments.iter().map(|argument| argument.to_bits()).collect();
        self.call(self.entry(0, entry), &words)
    }

    fn double(&mut self, entry: u32, arguments: &[f64]) -> f64 {
        f64::from_bits(self.double_to(entry, arguments))
    }

    fn double_to(&mut self, entry: u32, arguments: &[f64]) -> u64 {
        let words = arguments.iter().map(|argument| argument.to_bits());
        let words: Vec<_> = words.flat_map(|bits| [bits as u32, (bits >> 32) as u32]).collect();
        self.call(self.entry(1, entry), &words)
    }
}

/// Numbers without a pattern (G. Marsaglia, Xorshift RNGs, 2003).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number whose exponent is within so much of 1's.
    fn double(&mut self, range: u64) -> f64 {
        let bits = self.next();
        f64::from_bits(bits & !(0x7FF << 52) | (1023 - range + self.next() % (2 * range)) << 52)
    }
}

type Operation = (u32, fn(f64, f64) -> f64, fn(f32, f32) -> f32);
type Function = (u32, fn(f64) -> f64);

#[test]
fn rounding_follows_ieee_754() {
    let (mut rom, mut numbers) = (Rom::new(), Numbers(1));
    for round in 0..300 {
        // Numbers of equal size cancel out, others leave bits behind.
        let range = [2, 30, 60][round % 3];
        let (a, b) = (numbers.double(range), numbers.double(range));
        let (x, y) = (a as f32, b as f32);
        let operations: [Operation; 4] = [
            (ADD, |a, b| a + b, |x, y| x + y),
            (SUB, |a, b| a - b, |x, y| x - y),
            (MUL, |a, b| a * b, |x, y| x * y),
            (DIV, |a, b| a / b, |x, y| x / y),
        ];
        for (entry, of_doubles, of_floats) in operations {
            assert_eq!(rom.double(entry, &[a, b]), of_doubles(a, b), "{entry:#x} of {a:e}, {b:e}");
            assert_eq!(rom.float(entry, &[x, y]), of_floats(x, y), "{entry:#x} of {x:e}, {y:e}");
        }
        assert_eq!(rom.double(SQRT, &[a.abs()]), a.abs().sqrt(), "{a:e}");
        assert_eq!(rom.float(SQRT, &[x.abs()]), x.abs().sqrt(), "{x:e}");
        assert_eq!(rom.double_to(OTHER, &[a]) as u32, x.to_bits(), "{a:e}");
        assert_eq!(rom.float_to(OTHER, &[x]), f64::from(x).to_bits(), "{x:e}");
        assert_eq!(rom.double_to(CMP, &[a, b]) as i32, if a < b { -1 } else { 1 });
        assert_eq!(rom.float_to(CMP, &[x, x]) as i32, 0);
    }
}

#[test]
fn integers_round_down_and_saturate() {
    let mut rom = Rom::new();
    for value in
        [0.0, -0.0, 0.75, -0.75, 1.0, -1.0, 2.5, -2.5, 1e6, -1e9, 3e9, 5e9, -3e9, 1e30, -1e30]
    {
        let float = value as f32;
        assert_eq!(rom.double_to(TO_INT, &[value]) as i32, value.floor() as i32, "{value}");
        assert_eq!(rom.float_to(TO_INT, &[float]) as i32, float.floor() as i32, "{value}");
        assert_eq!(rom.double_to(TO_UINT, &[value]) as u32, value as u32, "{value}");
        assert_eq!(rom.float_to(TO_UINT, &[float]) as u32, float as u32, "{value}");
        assert_eq!(rom.double_to(TO_INT64, &[value]) as i64, value.floor() as i64, "{value}");
        assert_eq!(rom.float_to(TO_INT64, &[float]) as i64, float.floor() as i64, "{value}");
        assert_eq!(rom.double_to(TO_UINT64, &[value]), value as u64, "{value}");
        assert_eq!(rom.float_to(TO_UINT64, &[float]), float as u64, "{value}");
    }
    let bits = (-1.5_f32).to_bits();
    assert_eq!(rom.call(rom.entry(0, TO_FIX), &[bits, 16]) as i32, -(3 << 15));
    assert_eq!(rom.call(rom.entry(0, FROM_FIX), &[(-3_i32 << 15) as u32, 16]) as u32, bits);
    for value in [0, 1, -1, i32::MIN, i32::MAX, 16_777_217, -123_456_789] {
        let word = value as u32;
        let float = |entry, rom: &mut Rom| rom.call(rom.entry(0, entry), &[word]) as u32;
        assert_eq!(float(FROM_INT, &mut rom), (value as f32).to_bits(), "{value}");
        assert_eq!(float(FROM_UINT, &mut rom), (word as f32).to_bits(), "{value}");
        assert_eq!(rom.call(rom.entry(1, FROM_INT), &[word]), f64::from(value).to_bits());
        let long = i64::from(value).wrapping_mul(0x1_0000_0001);
        let words = [long as u32, (long >> 32) as u32];
        for (entry, float, double) in [
            (FROM_INT64, long as f32, long as f64),
            (FROM_UINT64, long as u64 as f32, long as u64 as f64),
        ] {
            assert_eq!(rom.call(rom.entry(0, entry), &words) as u32, float.to_bits(), "{long}");
            assert_eq!(rom.call(rom.entry(1, entry), &words), double.to_bits(), "{long}");
        }
    }
}

#[test]
fn rom_functions_are_within_call_range() {
    let (mut rom, mut numbers) = (Rom::new(), Numbers(7));
    for _ in 0..100 {
        let (a, b) = (numbers.double(5), numbers.double(5));
        let functions: [Function; 5] =
            [(SIN, f64::sin), (COS, f64::cos), (TAN, f64::tan), (EXP, f64::exp), (LN, f64::ln)];
        for (entry, function) in functions {
            let x = if entry == LN { a.abs() } else { a };
            // What is left of an argument near a multiple of a quarter turn has fewer bits.
            let near = |there: f64, bits: i32| {
                (there.abs() + f64::from(bits != 24)) * 2_f64.powi(3 - bits)
            };
            let (here, there) = (rom.double(entry, &[x]), function(x));
            assert!(
                (here - there).abs() <= near(there, 53) + 1e-15,
                "{entry:#x} of {x}: {here} {there}"
            );
            let float = x as f32;
            let (here, there) = (f64::from(rom.float(entry, &[float])), function(float.into()));
            assert!(
                (here - there).abs() <= near(there, 24),
                "{entry:#x} of {float}: {here} {there}"
            );
        }
        let (here, there) = (rom.double(ATAN2, &[a, b]), a.atan2(b));
        assert!((here - there).abs() < 3e-15, "{a} {b}: {here} {there}");
    }
    assert_eq!(rom.float(ATAN2, &[0.0, -1.0]), std::f32::consts::PI);
    assert_eq!(rom.double(EXP, &[1000.0]), f64::INFINITY);
    assert_eq!(rom.double(LN, &[0.0]), f64::NEG_INFINITY);
    assert_eq!(rom.float(DIV, &[1.0, -0.0]), f32::NEG_INFINITY);
    assert_eq!(rom.float(MUL, &[1e-30, 1e-30]), 0.0);
}

#[test]
fn the_rp2350_rom_has_the_functions_start_up_code_calls() {
    let soc = Soc::from_toml(include_str!("../../../../socs/rp2350.toml")).expect("good");
    let mut machine = Machine::new(&soc);
    let vectors = [0x2008_0000_u32, 0x1000_0009].map(u32::to_le_bytes).concat();
    let image = Image::from_raw(&vectors, 0x1000_0000).expect("an image");
    machine.load_and_call(&image, 0x1000_0008).expect("it fits");
    let mut rom = Rom { machine, tables: [0; 2] };
    assert_eq!(rom.peek(0x10), *b"Mu\x02\x02");
    let lookup = u32::from(u16::from_le_bytes(rom.peek(0x16)));
    let find = |rom: &mut Rom, code: &[u8; 2], flags| {
        rom.call(lookup, &[u16::from_le_bytes(*code).into(), flags]) as u32
    };
    let (secure, data) = (0x4, 0x40);
    assert_eq!([find(&mut rom, b"SR", data), find(&mut rom, b"??", secure)], [0, 0]);
    let reset_state = find(&mut rom, b"SR", secure);
    rom.call(reset_state, &[4]);
    let flash = find(&mut rom, b"FO", secure);
    assert_eq!(rom.call(flash, &[0, 0x1000_0000, 4096, 0]) as i32, -4, "not permitted");
    let info = find(&mut rom, b"GS", secure);
    let calls = [b"OA", b"GP"].map(|code| find(&mut rom, code, secure));
    assert_what_is_known(&mut rom, info, calls);
    let revision = find(&mut rom, b"GR", data);
    assert_eq!(rom.peek(revision), *b"rtm\0");
    let [program, erase] = [b"RP", b"RE"].map(|code| find(&mut rom, code, secure));
    assert_flash_is_written(&mut rom, program, erase);
}

#[test]
fn the_rp2040_rom_writes_flash() {
    let mut rom = Rom::new();
    let half = |rom: &Rom, at| u32::from(u16::from_le_bytes(rom.peek(at)));
    let (lookup, functions) = (half(&rom, 0x18), half(&rom, 0x14));
    let [program, erase] = [*b"RP", *b"RE"]
        .map(|code| rom.call(lookup, &[functions, u16::from_le_bytes(code).into()]) as u32);
    assert_flash_is_written(&mut rom, program, erase);
}

/// Asks for a number of the chip, a random one and the way of the start (pico-sdk, bootrom_constants.h: 3, 4 and 4 words
/// after the flags of what there is), and for what is not known: that is reported, as are OTP and partitions.
fn assert_what_is_known(rom: &mut Rom, info: u32, [otp, partitions]: [u32; 2]) {
    let buffer = 0x2000_0000;
    let word = |rom: &Rom, at: u32| u32::from_le_bytes(rom.peek(buffer + 4 * at));
    for (flags, answered, words) in [(1, 1, 4), (0x10, 0x10, 5), (0x11, 0x11, 8), (0, 0, 1)] {
        assert_eq!(rom.call(info, &[buffer, 9, flags]) as i32, words);
        assert_eq!(word(rom, 0), answered);
    }
    rom.call(info, &[buffer, 5, 0x10]);
    assert!(word(rom, 1) != 0 && word(rom, 1) != word(rom, 2));
    for (flags, room) in [(1, 3), (0x11, 7), (0, 0)] {
        assert_eq!(rom.call(info, &[buffer, room, flags]) as i32, -13, "the buffer is too small");
    }
    let told = |rom: &Rom| rom.machine.unmodelled().map(|it| it.address & 0xFF).collect::<Vec<_>>();
    let before = told(rom);
    assert_eq!(before, [0xC], "checked_flash_op");
    assert_eq!(rom.call(info, &[buffer, 5, 0x40]) as i32, 5);
    // No partition, an ordinary start.
    assert_eq!([word(rom, 0), word(rom, 1)], [0x40, 0x00FF_00FF]);
    assert_eq!(told(rom), [8, 0xC]);
    assert_eq!(rom.call(info, &[buffer, 9, 0x20]) as i32, 1);
    assert_eq!(word(rom, 0), 0);
    assert_eq!(rom.call(otp, &[buffer, 4, 0]) as i32, -4);
    assert_eq!(rom.call(partitions, &[buffer, 4, 1]) as i32, -14);
    assert_eq!(told(rom), [8, 0xC, 0x10, 0x14]);
}

/// Programs a word in the second sector of the flash from the beginning of RAM, twice, and erases it.
fn assert_flash_is_written(rom: &mut Rom, program: u32, erase: u32) {
    let (source, sector, word) = (0x2000_0000, 0x1000, 0x1000_1FFC);
    for (value, held) in [(0xFFFF_00F0_u32, 0xFFFF_00F0_u32), (0x0FFF_0F80, 0x0FFF_0080)] {
        rom.machine.poke(source, &value.to_le_bytes()).expect("RAM");
        rom.call(program, &[word - 0x1000_0000, source, 4]);
        assert_eq!(rom.peek(word), held.to_le_bytes());
    }
    let before: [u8; 4] = rom.peek(0x1000_0000);
    rom.call(erase, &[sector, 0x1000, 0x1_0000, 0xD8]);
    assert_eq!(rom.peek(word), [0xFF; 4]);
    assert_eq!(rom.peek(0x1000_0000), before);
}

/// On RISC-V, the value of a function's entry is an instruction that jumps there (datasheet, 5.5.1).
#[test]
fn the_rp2350_rom_has_the_same_functions_on_risc_v() {
    let soc = Soc::from_toml(include_str!("../../../../socs/rp2350-riscv.toml")).expect("good");
    let mut machine = Machine::new(&soc);
    let image = Image::from_raw(&[0x01, 0xA0], 0x1000_0000).expect("an image");
    machine.load_and_call(&image, 0x1000_0000).expect("it fits");
    let mut rom = Rom { machine, tables: [0; 2] };
    assert_eq!(rom.peek(0x10), *b"Mu\x02\x02");
    let [data, lookup] = [0x7DF8, 0x7DFA].map(|at| u32::from(u16::from_le_bytes(rom.peek(at))));
    let find = |rom: &mut Rom, code: &[u8; 2]| {
        rom.call(lookup, &[u16::from_le_bytes(*code).into(), 1]) as u32
    };
    assert_eq!(find(&mut rom, b"??"), 0);
    let revision = rom.call(data, &[u16::from_le_bytes(*b"GR").into(), 0x40]) as u32;
    assert_eq!(rom.peek(revision), *b"rtm\0");
    let flash = find(&mut rom, b"FO");
    assert_eq!(rom.call(flash, &[0, 0x1000_0000, 4096, 0]) as i32, -4);
    let info = find(&mut rom, b"GS");
    let calls = [b"OA", b"GP"].map(|code| find(&mut rom, code));
    assert_what_is_known(&mut rom, info, calls);
    let [program, erase] = [b"RP", b"RE"].map(|code| find(&mut rom, code));
    assert_flash_is_written(&mut rom, program, erase);
}
