//! The fast path against cycles that are simulated one by one.

use super::core::{Core, NullObserver};
use super::inputs::{Drive, Input};
use super::machine::RiscV;
use crate::machine::Machine;
use crate::soc::Soc;

const FLASH: u32 = 0x8000_0000;
const RAM: u32 = 0x8010_0000;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % limit
    }
}

fn i_type(imm: i32, rs1: u32, funct: u32, rd: u32, opcode: u32) -> u32 {
    (imm as u32) << 20 | rs1 << 15 | funct << 12 | rd << 7 | opcode
}

fn r_type(high: u32, rs2: u32, rs1: u32, funct: u32, rd: u32, opcode: u32) -> u32 {
    high << 25 | rs2 << 20 | rs1 << 15 | funct << 12 | rd << 7 | opcode
}

fn jal(rd: u32, offset: i32) -> u32 {
    let o = offset as u32;
    (o >> 20 & 1) << 31
        | (o >> 1 & 0x3FF) << 21
        | (o >> 11 & 1) << 20
        | (o >> 12 & 0xFF) << 12
        | rd << 7
        | 0x6F
}

fn branch(funct: u32, rs1: u32, rs2: u32, offset: i32) -> u32 {
    let o = offset as u32;
    r_type((o >> 12 & 1) << 6 | o >> 5 & 0x3F, rs2, rs1, funct, o & 0x1E | o >> 11 & 1, 0x63)
}

// s0 points into RAM, s1 at the code; a0 to a5 hold data.
const RA: u32 = 1;
const S0: u32 = 8;
const S1: u32 = 9;
const C_NOP: u16 = 1;

fn emit(code: &mut Vec<u8>, word: u32) {
    code.extend(word.to_le_bytes());
}

/// Appends a function: arithmetic, divisions, loads from RAM and code, stores, branches that skip a few
/// instructions, short loops.
fn function(code: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..4 + dice.below(20) {
        let [rd, rs1, rs2] = [(); 3].map(|()| 10 + dice.below(6));
        match dice.below(12) {
            0 => emit(code, i_type(4 * dice.below(64) as i32, S0, 2, rd, 0x03)),
            1 => emit(code, i_type(4 * dice.below(128) as i32, S1, 2, rd, 0x03)),
            2 => emit(code, r_type(0, rs2, S0, 2, 4 * dice.below(8), 0x23)),
            // Whatever executes twice gives another result.
            3 | 9 => emit(code, r_type(1, rs2, rd, 4 + dice.below(4), rd, 0x33)),
            4 => emit(code, r_type(1, rs2, rs1, dice.below(4), rd, 0x33)),
            5 | 6 => {
                let skipped = 1 + dice.below(4);
                let funct = [0, 1, 4, 5, 6, 7][dice.below(6) as usize];
                emit(code, branch(funct, rs1, rs2, 4 + 4 * skipped as i32));
                for _ in 0..skipped {
                    emit(code, r_type(0, rs2, rs1, 0, rd, 0x33));
                }
            }
            7 => code.extend(C_NOP.to_le_bytes()),
            8 => {
                // Counts t0 down.
                emit(code, i_type(1 + dice.below(5) as i32, 0, 0, 5, 0x13));
                emit(code, r_type(0x20, rs2, rs1, 0, rd, 0x33));
                emit(code, i_type(-1, 5, 0, 5, 0x13));
                emit(code, branch(1, 5, 0, -8));
            }
            _ => emit(code, i_type(dice.below(2048) as i32 - 1024, rs1, 0, rd, 0x13)),
        }
    }
    // ret
    emit(code, i_type(0, RA, 0, 0, 0x67));
}

/// Returns a machine with a program that calls its functions in turn for ever, in a flash with a small cache.
fn machine(dice: &mut Dice) -> RiscV {
    let text = include_str!("../../../../socs/generic-hazard3.toml");
    let base = "base = 0x8000_0000\nsize = 0x10_0000\n";
    let ways = 1 << dice.below(2);
    let burst = format!(
        ", burst = {{ wait_states = 1, selected_cycles = {}, deselect_cycles = {}, page_bytes = 64 }}",
        dice.below(30),
        dice.below(4)
    );
    let timing = format!(
        "timing = {{ wait_states = {}, line_bytes = 8, cache_lines = {}, cache_ways = {ways}{} }}\n",
        1 + dice.below(20),
        4 << dice.below(6),
        if dice.below(2) == 0 { "" } else { &burst }
    );
    assert!(text.contains(base));
    let soc = Soc::from_toml(&text.replace(base, &(base.to_owned() + &timing))).expect("a soc");
    // The handler's four instructions, and the beginning behind them.
    let mut code = Vec::new();
    emit(&mut code, i_type(1, 6, 0, 6, 0x13));
    emit(&mut code, i_type(0, S0, 2, 7, 0x03));
    emit(&mut code, i_type(1, 6, 0, 6, 0x13));
    emit(&mut code, 0x3020_0073);
    let functions: Vec<u32> = (0..2 + dice.below(6))
        .map(|_| {
            let begin = code.len() as u32;
            function(&mut code, dice);
            begin
        })
        .collect();
    let begin = code.len() as u32;
    // csrwi mie, 8; csrwi mstatus, 8
    emit(&mut code, 0x3044_5073);
    emit(&mut code, 0x3004_5073);
    let again = code.len() as i32;
    for _ in 0..12 {
        let to = functions[dice.below(functions.len() as u32) as usize] as i32;
        let here = code.len() as i32;
        emit(&mut code, jal(RA, to - here));
    }
    let here = code.len() as i32;
    emit(&mut code, jal(0, again - here));
    let mut machine = Machine::new(&soc);
    machine.poke(FLASH, &code).expect("flash");
    machine.poke(RAM, &[0x5A; 0x400]).expect("RAM");
    let mut machine = machine.riscv().expect("a RISC-V core").clone();
    let core = &mut machine.state.core;
    core.set_csr(0x305, FLASH);
    core.go_to(FLASH + begin);
    core.hart.set(S0 as u8, RAM);
    core.hart.set(S1 as u8, FLASH);
    machine
}

/// Returns everything that a program can tell.
fn visible(core: &Core) -> (u64, u64, u64, u32, Vec<u32>) {
    let registers = (0..32).map(|number| core.hart.get(number)).collect();
    (core.cycle, core.instructions, core.waited, core.hart.pc, registers)
}

/// Whatever lines its caches hold, and whenever interrupts arrive.
#[test]
fn the_fast_path_changes_no_cycle() {
    let mut dice = Dice(1);
    for program in 0..120 {
        let mut fast = machine(&mut dice);
        for _ in 0..dice.below(8) {
            let at = u64::from(dice.below(40_000));
            fast.state.core.inputs.drive(Input::Software, Drive::UntilTaken, at);
        }
        let mut slow = fast.clone();
        let mut until = 0;
        while until < 40_000 {
            until += u64::from(1 + dice.below(9000));
            while slow.state.core.cycle < until {
                slow.state.core.step_cycle(&mut NullObserver);
            }
            loop {
                fast.state.core.run_graph(until);
                if fast.state.core.cycle >= until {
                    break;
                }
                if fast.state.core.step_memoized(until, &mut NullObserver).is_none() {
                    fast.state.core.step_cycle(&mut NullObserver);
                }
            }
            assert_eq!(visible(&fast.state.core), visible(&slow.state.core), "program {program}");
        }
        assert!(slow.state.core.instructions > 1000, "program {program}");
    }
}
