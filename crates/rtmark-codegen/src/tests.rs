use super::*;

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }
}

const MEMORY: Memory = Memory { base: 0x2000_0000, bytes: 256, holds_code: false };
/// Bytes around the memory, which no function may touch.
const AROUND: usize = 128;
const END: u32 = 7;

#[derive(Clone, Debug, PartialEq)]
struct Machine {
    words: [u32; 16],
    result: u64,
    carry: bool,
    overflow: u32,
    bytes: Vec<u8>,
}

impl Machine {
    fn random(random: &mut Random) -> Self {
        let mut words = [0; 16];
        words.fill_with(|| random.below(u32::MAX));
        words[13] &= !3;
        let bytes = (0..2 * AROUND + 256).map(|_| random.below(256) as u8).collect();
        Self {
            words,
            result: random.below(3).into(),
            carry: random.below(2) == 1,
            overflow: 0,
            bytes,
        }
    }

    fn call(&mut self, function: &Function, code: (u32, u32)) -> Option<u32> {
        let registers = Registers {
            words: &mut self.words,
            result: &mut self.result,
            carry: &mut self.carry,
            overflow: &mut self.overflow,
        };
        function.call(registers, &mut self.bytes[AROUND..AROUND + 256], code)
    }
}

fn generator() -> Generator {
    Generator::new(1 << 20).expect("tests run on a host that has one")
}

/// Transfers of each size and form at random addresses, most of them near the memory's ends: inside and aligned, they
/// move what they should; otherwise the function leaves with nothing changed.
#[test]
fn transfers_stay_within_the_memory() {
    let mut random = Random(1);
    let mut generator = generator();
    let (mut inside, mut outside) = (0, 0);
    for _ in 0..600 {
        let datum = [
            Datum::Word,
            Datum::Part(Part::UnsignedByte),
            Datum::Part(Part::SignedByte),
            Datum::Part(Part::UnsignedHalf),
            Datum::Part(Part::SignedHalf),
        ][random.below(5) as usize];
        let count = 1 + random.below(8);
        let registers = (1 << count) - 1;
        let base = if random.below(3) == 0 { 13 } else { 12 };
        let by = random.below(16) * 4;
        let (before, write_back) = (random.below(2) == 1, random.below(2) == 1);
        let list = List { registers, base, before, write_back };
        let address = Address {
            base,
            offset: Offset::Immediate(by),
            write_back: [WriteBack::Never, WriteBack::Before, WriteBack::After]
                [random.below(3) as usize],
        };
        let form = random.below(6);
        let operation = match form {
            0 => Operation::Load { datum, to: 3, address },
            1 => Operation::Store { datum, from: 3, address },
            2 => Operation::LoadList(list),
            3 => Operation::StoreList(list),
            4 => Operation::LoadPair { to: [1, 2], address },
            _ => Operation::StorePair { from: [1, 2], address },
        };
        let step = Step { number: 5, operation };
        let function = generator.function(&[step], END, MEMORY).expect("a function");
        for _ in 0..40 {
            let mut machine = Machine::random(&mut random);
            let near = [MEMORY.base, MEMORY.base + MEMORY.bytes, random.below(u32::MAX)];
            let at = near[random.below(3) as usize].wrapping_add(random.below(96)).wrapping_sub(64);
            machine.words[usize::from(base)] = if base == 13 { at & !3 } else { at };
            let at = machine.words[usize::from(base)];
            let (start, size, align) = match form {
                0 | 1 => {
                    let size = match datum {
                        Datum::Word => 4,
                        Datum::Part(Part::UnsignedByte | Part::SignedByte) => 1,
                        Datum::Part(_) => 2,
                    };
                    (start_of(address, at, by), size, size)
                }
                2 | 3 => (if before { at.wrapping_sub(4 * count) } else { at }, 4 * count, 4),
                _ => (start_of(address, at, by), 8, 4),
            };
            let offset = start.wrapping_sub(MEMORY.base);
            let fits = u64::from(offset) + u64::from(size) <= 256 && offset % align == 0;
            let was = machine.clone();
            let next = machine.call(&function, (0, 0));
            if !fits {
                outside += 1;
                assert_eq!((next, &machine), (Some(5), &was), "{operation:?} at {start:#x}");
                continue;
            }
            inside += 1;
            assert_eq!(next, Some(END), "{operation:?} at {start:#x}");
            let range = AROUND + offset as usize..AROUND + (offset + size) as usize;
            for (at, (is, was)) in machine.bytes.iter().zip(&was.bytes).enumerate() {
                assert!(range.contains(&at) || is == was, "{operation:?} wrote {at}");
            }
            if form == 3 || form == 2 {
                for register in 0..count as usize {
                    let at = range.start + 4 * register;
                    let word = u32::from_le_bytes(machine.bytes[at..at + 4].try_into().expect("4"));
                    assert_eq!(machine.words[register], word, "{operation:?}");
                }
            }
        }
    }
    assert!(inside > 1000 && outside > 1000, "{inside} inside, {outside} outside");
}

fn start_of(address: Address, at: u32, by: u32) -> u32 {
    if address.write_back == WriteBack::After { at } else { at.wrapping_add(by) }
}

#[test]
fn stores_to_code_leave() {
    let address = Address { base: 0, offset: Offset::Immediate(0), write_back: WriteBack::Never };
    let step =
        Step { number: 3, operation: Operation::Store { datum: Datum::Word, from: 1, address } };
    let memory = Memory { holds_code: true, ..MEMORY };
    let function = generator().function(&[step], END, memory).expect("a function");
    let code = (MEMORY.base + 16, 8);
    for offset in (0..64).step_by(4) {
        let mut machine = Machine::random(&mut Random(5));
        machine.words[0] = MEMORY.base + offset;
        let left = (16..24).contains(&offset);
        assert_eq!(machine.call(&function, code), Some(if left { 3 } else { END }));
    }
}

#[test]
fn another_memory_is_refused() {
    let function = generator().function(&[], END, MEMORY).expect("a function");
    let mut machine = Machine::random(&mut Random(2));
    let registers = Registers {
        words: &mut machine.words,
        result: &mut machine.result,
        carry: &mut machine.carry,
        overflow: &mut machine.overflow,
    };
    assert_eq!(function.call(registers, &mut [0; 128], (0, 0)), None);
}

#[test]
fn functions_are_bounded_and_freed() {
    let mut generator = Generator::new(3 * 4096).expect("a generator");
    let mut make = || generator.function(&[], END, MEMORY);
    let mut kept: Vec<Function> = std::iter::from_fn(&mut make).take(100).collect();
    assert!((1..100).contains(&kept.len()), "{}", kept.len());
    let clone = kept.pop().expect("one");
    let copy = clone.clone();
    drop(clone);
    assert!(make().is_none(), "a clone keeps its code");
    drop(copy);
    assert!(make().is_some());
}
