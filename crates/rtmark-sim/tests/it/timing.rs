//! Every row of the manuals' cycle tables, from the files in `timing/`; of the Cortex-M33, which
//! has none, what was measured: see [`rounds`].
//!
//! A line is `assembly | opcodes | cycles`. Each case runs from a fresh reset with
//! the registers that the file's head explains; its cycles are counted from its
//! first instruction to the one that follows its last, wherever that is.

mod rounds;

use std::fmt::Write as _;

use rtmark_sim::{CoreKind, Cycles, Machine, Watch};

use crate::support::{self, RAM, STACK, soc};

/// Where a case begins, and where its branches by a register and returns go.
const START: u32 = 0x1000;
const LANDING: u32 = 0x2000;
/// Instructions after which both ends of a case are surely reached.
const WATCHED: u32 = 0x400;

struct Case<'a> {
    line: usize,
    assembly: &'a str,
    opcodes: Vec<u16>,
    cycles: u64,
}

fn parse(text: &str) -> Vec<Case<'_>> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|(at, line)| {
            let [assembly, opcodes, cycles] =
                line.split('|').map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("line {}: three fields expected: {line}", at + 1)
            };
            let opcodes = opcodes.split_whitespace();
            let opcodes = opcodes.map(|half| u16::from_str_radix(half, 16).expect("hexadecimal"));
            Case {
                line: at + 1,
                assembly,
                opcodes: opcodes.collect(),
                cycles: cycles.parse().expect("a count of cycles"),
            }
        })
        .collect()
}

/// Registers at the start, as the files explain them.
fn set_up(machine: &mut Machine, core: CoreKind) {
    let values = [RAM + 0x100, 1, 8, 0x1234_5678, LANDING | 1, 5, 4, RAM + 0x200];
    let mut code: Vec<u16> = Vec::new();
    let mut pool: Vec<u32> = Vec::new();
    let mut load = |code: &mut Vec<u16>, register: u16, value: u32| {
        code.push(0x4800 | register << 8 | (0x40 - code.len() as u16 / 2 - 1 + pool.len() as u16));
        pool.push(value);
    };
    if core == CoreKind::CortexM4F {
        load(&mut code, 0, support::CPACR);
        load(&mut code, 1, 0x00F0_0000);
        code.extend([0x6001, 0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F]);
        code.extend([0xEEB7, 0x0A00, 0xEEB0, 0x1A08]); // vmov.f32 s0, #1; vmov.f32 s2, #3
    }
    for (register, value) in values.into_iter().enumerate() {
        load(&mut code, register as u16, value);
    }
    load(&mut code, 3, START | 1);
    // lr = r4; compare r5 with itself: Z and C set; then away.
    code.extend([0x46A6, 0x42AD, 0x4718]);
    code.resize(0x80, 0);
    let words = pool.iter().flat_map(|word| [*word as u16, (*word >> 16) as u16]);
    code.extend(words);
    let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(0x100, &bytes).expect("in flash");
    machine.poke_word(0, STACK - 0x100).expect("in flash");
    machine.poke_word(4, 0x101).expect("in flash");
}

fn measure(core: CoreKind, case: &Case<'_>) -> u64 {
    let mut machine = Machine::new(&soc(core));
    set_up(&mut machine, core);
    // MOV R8, R8: unlike NOP, nothing lets it pass a load or store.
    let nops = [0xC0, 0x46].repeat(WATCHED as usize);
    machine.poke(START, &nops).expect("in flash");
    machine.poke(LANDING, &nops).expect("in flash");
    let bytes: Vec<u8> = case.opcodes.iter().flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(START, &bytes).expect("in flash");
    machine.reset().expect("vectors");
    // Whatever is popped or loaded from here leads to the landing.
    for address in (RAM..STACK).step_by(4) {
        machine.poke_word(address, LANDING | 1).expect("in RAM");
    }
    machine.watch(Watch::Execute(START));
    let end = START + case.opcodes.len() as u32 * 2;
    for address in (end..end + 0x40).chain(LANDING..LANDING + 0x40).step_by(2) {
        machine.watch(Watch::Execute(address));
    }
    machine.run(Cycles(1_000));
    match machine.take_hits()[..] {
        [start, end, ..] => end.cycle.0 - start.cycle.0,
        _ => panic!("{core}: line {}: {} does not get anywhere", case.line, case.assembly),
    }
}

fn assert_table(core: CoreKind, text: &str, least: usize) {
    let cases = parse(text);
    assert!(cases.len() >= least, "{} cases of {least}", cases.len());
    let mut wrong = String::new();
    for case in &cases {
        let cycles = measure(core, case);
        if cycles != case.cycles {
            let _ = writeln!(
                wrong,
                "line {}: {}: {cycles} cycles instead of {}",
                case.line, case.assembly, case.cycles
            );
        }
    }
    assert!(wrong.is_empty(), "{core}:\n{wrong}");
}

#[test]
fn cortex_m0plus_cycles_match_the_manual() {
    assert_table(CoreKind::CortexM0Plus, include_str!("timing/cortex-m0plus.txt"), 90);
}

#[test]
fn cortex_m4f_cycles_match_the_manual() {
    assert_table(CoreKind::CortexM4F, include_str!("timing/cortex-m4f.txt"), 60);
}
