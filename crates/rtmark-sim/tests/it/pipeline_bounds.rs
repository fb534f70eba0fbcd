//! No instruction of the pipelined cores takes longer than its accesses and those before it can.
//!
//! The bounds are those of the bus, not of the model: an access takes a cycle for its address and
//! one for its data, which overlap with those of its neighbours (DDI 0337, 12; AHB-Lite); one that
//! is not aligned is made of two or three (DDI 0337, 12.7); and nothing here waits for a memory.
//! What they are for is whatever goes on for ever, or nearly so.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use rtmark_sim::{CoreKind, Cycles, FaultPolicy, Machine, Observer, Register, Stop};

use crate::support::*;

const PIPELINED: [CoreKind; 2] = [CoreKind::CortexM3, CoreKind::CortexM4F];

/// What becomes of a store that its bus has taken: the write buffer is on after a reset, and off
/// with ACTLR.DISDEFWBUF (DDI 0439, 4.3; DDI 0337, 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stores {
    Buffered,
    Unbuffered,
}

/// Where the first instruction stands in its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    First,
    Second,
}

/// An instruction, and how many accesses it makes on the bus.
#[derive(Clone, Debug)]
struct Asm {
    text: String,
    halves: Vec<u16>,
    accesses: u64,
    /// It jumps: what follows is fetched anew, which takes up to three cycles more (DDI 0337, 18.1).
    jumps: bool,
}

impl Asm {
    fn new(text: impl Into<String>, halves: &[u16], accesses: u64) -> Self {
        Self { text: text.into(), halves: halves.to_vec(), accesses, jumps: false }
    }
}

/// Aligned accesses that one of so many bytes at an offset from a word is made of.
fn parts(bytes: u32, offset: u32) -> u64 {
    match (bytes, offset & 3) {
        (4, 2) | (2, 1 | 3) => 2,
        (4, 1 | 3) => 3,
        _ => 1,
    }
}

/// A load or store of a register at an offset from r0, which is aligned to eight bytes.
fn access(name: &str, opcode: u16, bytes: u32, register: u16, offset: u16) -> Asm {
    Asm::new(
        format!("{name}.w r{register}, [r0, #{offset}]"),
        &[opcode, register << 12 | offset],
        parts(bytes, offset.into()),
    )
}

fn store(bytes: u32, offset: u16) -> Asm {
    let (name, opcode) =
        [("strb", 0xF880), ("strh", 0xF8A0), ("str", 0xF8C0)][bytes.ilog2() as usize];
    access(name, opcode, bytes, 1, offset)
}

fn load(bytes: u32, register: u16, offset: u16) -> Asm {
    let (name, opcode) =
        [("ldrb", 0xF890), ("ldrh", 0xF8B0), ("ldr", 0xF8D0)][bytes.ilog2() as usize];
    access(name, opcode, bytes, register, offset)
}

fn add() -> Asm {
    Asm::new("adds r5, #1", &[0x3501], 0)
}

struct Entries {
    to: u32,
    cycles: Vec<(u32, u64)>,
}

impl Observer for Entries {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let pc = machine.register(Register::Pc);
        self.cycles.push((pc, machine.cycles().0));
        if pc == self.to { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What each instruction of a sequence takes: cycles until the next one begins.
fn costs(
    core: CoreKind,
    stores: Stores,
    place: Place,
    sequence: &[Asm],
) -> Result<Vec<u64>, String> {
    let mut firmware = Firmware::new();
    if core == CoreKind::CortexM4F {
        firmware.fpu();
    }
    if stores == Stores::Unbuffered {
        firmware.store(ACTLR, 2);
    }
    // The table that TBB reads.
    firmware.store(RAM + 0x200, 0);
    firmware.set(0, RAM + 0x100).set(1, 0).set(6, 0).set(7, RAM + 0x201);
    if !(firmware.here().is_multiple_of(4) ^ (place == Place::Second)) {
        firmware.nops(1);
    }
    firmware.op(&[0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F]); // dsb; isb
    let mut addresses = Vec::new();
    for asm in sequence {
        addresses.push(firmware.here());
        firmware.op(&asm.halves);
    }
    let to = firmware.here();
    firmware.nops(4).forever();
    let mut machine = firmware.on(core).machine;
    machine.set_fault_policy(FaultPolicy::Stop);
    let mut entries = Entries { to, cycles: Vec::new() };
    let stop = machine.run_observed(Cycles(100_000), &mut entries);
    if stop != Stop::Observer {
        return Err(match stop {
            Stop::Internal(error) => error.to_string().chars().take(90).collect(),
            Stop::Fault(report) => report.to_string(),
            stop => format!("{stop:?}"),
        });
    }
    addresses.push(to);
    let when = |address: &u32| {
        let entry = entries.cycles.iter().find(|(pc, _)| pc == address);
        entry.map(|(_, cycle)| *cycle).ok_or_else(|| format!("{address:#x} is not executed"))
    };
    let when = addresses.iter().map(when).collect::<Result<Vec<_>, _>>()?;
    Ok(when.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

/// The most that an instruction of a sequence can take: its own cycle, one in which its word is
/// fetched and one in which a register that its address is made of arrives, its accesses, and those
/// of the two transfers that may still be on the bus when it comes, one in its data phase and one in
/// the write buffer.
fn max_cycles(sequence: &[Asm], at: usize) -> u64 {
    let accesses: u64 = sequence[at.saturating_sub(2)..=at].iter().map(|asm| asm.accesses).sum();
    3 + accesses + if sequence[at].jumps { 3 } else { 0 }
}

fn text(sequence: &[Asm]) -> String {
    sequence.iter().map(|asm| asm.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// What is wrong with a sequence, on each core and with stores buffered and not.
fn violations(sequence: &[Asm], wrong: &mut Vec<String>) {
    for core in PIPELINED {
        for place in [Place::First, Place::Second] {
            let mut totals = Vec::new();
            for stores in [Stores::Buffered, Stores::Unbuffered] {
                let what = format!("{core}, {stores:?}, {place:?}: {}", text(sequence));
                match costs(core, stores, place, sequence) {
                    Err(problem) => wrong.push(format!("{what}: {problem}")),
                    Ok(costs) => {
                        let exceeding =
                            (0..costs.len()).find(|&at| costs[at] > max_cycles(sequence, at));
                        let total: u64 = costs.iter().sum();
                        if exceeding.is_some() || total < sequence.len() as u64 {
                            wrong.push(format!("{what}: {costs:?}"));
                        }
                        totals.push(total);
                    }
                }
            }
            if let [buffered, unbuffered] = totals[..]
                && buffered > unbuffered
            {
                let what = text(sequence);
                wrong.push(format!(
                    "{core}, {place:?}: {buffered} buffered, {unbuffered} not: {what}"
                ));
            }
        }
    }
}

fn check<'a>(sequences: impl IntoIterator<Item = &'a Vec<Asm>>) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for sequence in sequences {
        violations(sequence, &mut wrong);
        count += 1;
    }
    // Those that go on come first: what is wrong with them is another matter.
    wrong.sort_by_key(|line| line.contains("cannot go on"));
    let mut shown = String::new();
    for line in wrong.iter().take(12) {
        let _ = writeln!(shown, "{line}");
    }
    assert!(wrong.is_empty(), "{} wrong in {count} sequences:\n{shown}", wrong.len());
}

/// Loads and stores of each size at each offset in a word.
fn kinds(register: u16) -> Vec<Asm> {
    let places = [(4, 0), (4, 1), (4, 2), (4, 3), (2, 0), (2, 1), (2, 3), (1, 0), (1, 1)];
    let stores = places.iter().map(|&(bytes, offset)| store(bytes, offset));
    stores.chain(places.iter().map(|&(bytes, offset)| load(bytes, register, offset))).collect()
}

/// Two of each: aligned and not, load and store, apart from what comes first and not.
fn followers(register: u16) -> [Asm; 6] {
    [
        load(4, register, 8),
        load(4, register, 5),
        load(2, register, 0),
        store(4, 8),
        store(4, 5),
        store(1, 0),
    ]
}

/// 648 sequences: a load or store, two more, an addition.
#[test]
fn load_and_store_sequences_stay_within_bounds() {
    let mut sequences = Vec::new();
    for first in kinds(2) {
        for second in followers(3) {
            for third in followers(4) {
                sequences.push(vec![first.clone(), second.clone(), third, add()]);
            }
        }
    }
    assert!(sequences.len() >= 560);
    check(&sequences);
}

/// `str.w r1, [r0, #1]; str.w r1, [r0, #5]; strb r1, [r0]` and what compilers make of
/// `struct __attribute__((packed)) { char kind; int length; }` that is written, and read behind.
#[test]
fn packed_structures() {
    let structure = vec![
        Asm::new("strb r1, [r0]", &[0x7001], 1),
        store(4, 1),
        Asm::new("ldr r2, [r0, #8]", &[0x6882], 1),
        Asm::new("ldr r3, [r0, #12]", &[0x68C3], 1),
        add(),
    ];
    check(&[vec![store(4, 1), store(4, 5), store(1, 0)], structure]);
    for core in PIPELINED {
        let sequence = [store(4, 1), store(4, 5), store(1, 0)];
        let costs = costs(core, Stores::Buffered, Place::First, &sequence).expect("it goes on");
        // Seven accesses, one after the other.
        let total: u64 = costs.iter().sum();
        assert!((3..=10).contains(&total), "{core}: {costs:?}");
    }
}

/// Transfers of several registers, exclusive ones, and table branches, between loads and stores
/// that are not aligned.
#[test]
fn multi_access_instructions_stay_within_bounds() {
    let list = 0b1_1100; // r2 to r4
    let mut others = vec![
        Asm::new("ldrd r2, r3, [r0]", &[0xE9D0, 0x2300], 2),
        Asm::new("strd r2, r3, [r0, #8]", &[0xE9C0, 0x2302], 2),
        Asm::new("ldrex r2, [r0]", &[0xE850, 0x2F00], 1),
        Asm::new("strex r8, r1, [r0]", &[0xE840, 0x1800], 1),
        Asm::new("ldm r0, {r2-r4}", &[0xE890, list], 3),
        Asm::new("stm r0, {r2-r4}", &[0xE880, list], 3),
        Asm::new("ldmdb r0, {r2-r4}", &[0xE910, list], 3),
        Asm::new("stmdb r0, {r2-r4}", &[0xE900, list], 3),
        Asm::new("push {r2-r4}", &[0xB41C], 3),
        Asm::new("pop {r2-r4}", &[0xBC1C], 3),
        // A table at an odd address, of zeros: the next instruction is the target.
        Asm { jumps: true, ..Asm::new("tbb [r7, r6]", &[0xE8D7, 0xF006], 1) },
    ];
    // Below the stack's end there is room for both.
    let sequences = |others: &[Asm]| {
        let mut sequences = Vec::new();
        for other in others {
            for odd in kinds(9) {
                for last in [load(4, 10, 8), store(4, 12), store(2, 1)] {
                    let (other, odd) = (other.clone(), odd.clone());
                    sequences.push(vec![odd.clone(), other.clone(), last.clone(), add()]);
                    sequences.push(vec![other, odd, last, add()]);
                }
            }
        }
        sequences
    };
    let pop = |asm: &Asm| asm.text.starts_with("pop");
    // What is popped lies beyond the end of the stack, unless it was pushed.
    others.retain(|asm| !pop(asm));
    check(&sequences(&others));
    check(&[vec![
        store(4, 1),
        Asm::new("push {r2-r4}", &[0xB41C], 3),
        load(2, 9, 3),
        Asm::new("pop {r2-r4}", &[0xBC1C], 3),
        store(2, 1),
        add(),
    ]]);
}

#[test]
fn float_lists_stay_within_bounds() {
    let others = [
        Asm::new("vldm r0, {s0-s3}", &[0xEC90, 0x0A04], 4),
        Asm::new("vstm r0, {s0-s3}", &[0xEC80, 0x0A04], 4),
        Asm::new("vldr s1, [r0, #4]", &[0xEDD0, 0x0A01], 1),
        Asm::new("vstr s1, [r0, #4]", &[0xEDC0, 0x0A01], 1),
    ];
    let mut wrong = Vec::new();
    for other in &others {
        for odd in kinds(9) {
            for last in [load(4, 10, 8), store(4, 12), store(2, 1)] {
                let around = [vec![odd.clone(), other.clone()], vec![other.clone(), odd.clone()]];
                for mut sequence in around {
                    sequence.extend([last.clone(), add()]);
                    for stores in [Stores::Buffered, Stores::Unbuffered] {
                        let costs = costs(CoreKind::CortexM4F, stores, Place::First, &sequence);
                        let bounded = costs.as_ref().is_ok_and(|costs| {
                            (0..costs.len()).all(|at| costs[at] <= max_cycles(&sequence, at))
                        });
                        if !bounded {
                            wrong.push(format!("{stores:?}: {}: {costs:?}", text(&sequence)));
                        }
                    }
                }
            }
        }
    }
    wrong.truncate(8);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An empty list is UNPREDICTABLE (DDI 0403, A7.7.40, A7.7.159, A7.7.99, A7.7.101): it must neither
/// hang nor take long, among loads and stores of any kind. Here it is an undefined instruction, or
/// an access of nothing.
#[test]
fn empty_register_lists_stay_within_bounds() {
    let empty = [
        Asm::new("ldm r0, {}", &[0xE890, 0], 0),
        Asm::new("stm r0, {}", &[0xE880, 0], 0),
        Asm::new("ldm r0!, {} (narrow)", &[0xC800], 0),
        Asm::new("stm r0!, {} (narrow)", &[0xC000], 0),
        Asm::new("push {} (narrow)", &[0xB400], 0),
        Asm::new("pop {} (narrow)", &[0xBC00], 0),
        Asm::new("push {}", &[0xE92D, 0], 0),
        Asm::new("pop {}", &[0xE8BD, 0], 0),
        Asm::new("ldmdb r0, {}", &[0xE910, 0], 0),
        Asm::new("stmdb r0, {}", &[0xE900, 0], 0),
        Asm::new("vldm r0, {}", &[0xEC90, 0x0A00], 0),
        Asm::new("vstm r0, {}", &[0xEC80, 0x0A00], 0),
    ];
    let mut wrong = Vec::new();
    for empty in empty {
        let sequences = [
            vec![empty.clone(), add(), add()],
            vec![empty.clone(), load(4, 2, 0), store(4, 4), add()],
            vec![store(4, 0), empty.clone(), load(4, 2, 0), add()],
            vec![load(4, 2, 0), empty, store(4, 1), store(4, 8), add()],
        ];
        for core in PIPELINED {
            for sequence in &sequences {
                let result = costs(core, Stores::Buffered, Place::First, sequence);
                let bounded = match &result {
                    // It is no instruction, which ends in the handler for that: there is none.
                    Err(problem) => {
                        problem.starts_with("undefined instruction")
                            || problem.starts_with("floating-point instruction")
                    }
                    Ok(costs) => (0..costs.len()).all(|at| costs[at] <= max_cycles(sequence, at)),
                };
                if !bounded {
                    wrong.push(format!("{core}: {}: {result:?}", text(sequence)));
                }
            }
        }
    }
    let count = wrong.len();
    wrong.truncate(12);
    assert!(wrong.is_empty(), "{count}:\n{}", wrong.join("\n"));
}
