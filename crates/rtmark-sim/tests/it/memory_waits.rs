//! Wait states that are a product of what registers hold. The judges are the manuals' units: a flash word takes
//! LATENCY or FWS and one cycles of the bus, and the bus is as many times slower than the core as HPRE or MDIV say.

use rtmark_sim::{ClockControl, Cycles, Image, Machine, Register, Soc, Watch};

use crate::rv32::{A0, A1, Code, NOP, i_type};

const H743: &str = include_str!("../../../../socs/stm32h743.toml");
const SAME70: &str = include_str!("../../../../socs/same70.toml");

const H7_ACR: u32 = 0x5200_2000;
const H7_D1CFGR: u32 = 0x5802_4418;
const SAM_FMR: u32 = 0x400E_0C00;
const SAM_MCKR: u32 = 0x400E_0630;

/// LATENCY = 4 and HPRE = 2, as at 480 MHz; FWS = 6 and MDIV = 2, as at 300 MHz.
const SLOW_H7: [(u32, u32); 2] = [(H7_ACR, 0x24), (H7_D1CFGR, 8)];
const SLOW_SAM: [(u32, u32); 2] = [(SAM_FMR, 0x0400_0600), (SAM_MCKR, 0x101)];

/// A chip whose clock follows its registers.
fn following(text: &str) -> Soc {
    let soc = Soc::from_toml(text).expect("a soc");
    Soc { clock_control: ClockControl::Registers, ..soc }
}

/// How long the core waits for the line of an instruction at an address, after stores.
fn waited(machine: &Machine, address: u32, stores: &[(u32, u32)]) -> u64 {
    let mut machine = machine.clone();
    for &(register, value) in stores {
        machine.store_word(register, value).expect("a register");
    }
    machine.poke(address, &[0x00, 0xBF, 0x00, 0xBF]).expect("memory");
    machine.set_register(Register::Pc, address);
    machine.step(Cycles::MAX).expect("a nop");
    machine.waited().0
}

/// A chip after a reset, with a vector table and nothing else.
fn reset(soc: &Soc) -> Machine {
    let (base, stack) = (soc.vector_base(), 0x2040_1000_u32);
    let table: Vec<u8> = [stack, base + 0x401].into_iter().flat_map(u32::to_le_bytes).collect();
    let mut machine = Machine::new(soc);
    machine.load(&Image::from_raw(&table, base).expect("an image")).expect("loads");
    machine
}

#[test]
fn a_line_takes_as_long_as_latency_and_bus_clock_say() {
    let machine = reset(&following(H743));
    let (flash, axi, backup) = (0x0800_1000, 0x2400_0000, 0x3880_0000);
    assert_eq!(waited(&machine, flash, &[]), 7 + 5, "LATENCY = 7 after a reset (RM0433)");
    assert_eq!(waited(&machine, flash, &SLOW_H7[..1]), 4 + 5);
    assert_eq!(waited(&machine, flash, &SLOW_H7), (4 + 5) * 2);
    assert_eq!(waited(&machine, flash, &[(H7_D1CFGR, 9), (H7_ACR, 0x12)]), (2 + 5) * 4);
    assert_eq!([axi, backup].map(|it| waited(&machine, it, &[])), [6; 2]);
    assert_eq!([axi, backup].map(|it| waited(&machine, it, &SLOW_H7)), [12; 2]);
    assert_eq!(waited(&machine, axi, &[(H7_D1CFGR, 0xF)]), 255, "no more are counted");

    let machine = reset(&following(SAME70));
    let (flash, ram) = (0x0040_1000, 0x2040_0000);
    assert_eq!(waited(&machine, flash, &[]), 2, "FWS = 0 after a reset (DS60001527)");
    assert_eq!(waited(&machine, flash, &SLOW_SAM[..1]), 2 * 7);
    assert_eq!(waited(&machine, flash, &SLOW_SAM), 2 * 7 * 2);
    assert_eq!(waited(&machine, flash, &[(SAM_MCKR, 0x301), (SAM_FMR, 0x0400_0500)]), 2 * 6 * 3);
    assert_eq!([waited(&machine, ram, &[]), waited(&machine, ram, &SLOW_SAM)], [6, 12]);
}

#[test]
fn where_the_clock_is_the_file_s_the_waits_are() {
    for (text, stores) in
        [(H743, [(H7_ACR, 0x12), (H7_D1CFGR, 0)]), (SAME70, [(SAM_FMR, 0), (SAM_MCKR, 1)])]
    {
        let soc = Soc::from_toml(text).expect("a soc");
        let slow = soc.memories.iter().filter(|memory| !memory.wait_states_by.is_empty());
        for memory in slow {
            let found = waited(&reset(&soc), memory.base + 0x100, &stores);
            assert_eq!(found, memory.timing.wait_states.into(), "{}: {}", soc.name, memory.name);
        }
    }
}

#[test]
fn the_file_s_waits_are_those_of_the_registers_at_its_clock() {
    for (text, stores) in [(H743, SLOW_H7), (SAME70, SLOW_SAM)] {
        let soc = following(text);
        let slow = soc.memories.iter().filter(|memory| !memory.wait_states_by.is_empty());
        for memory in slow {
            let found = waited(&reset(&soc), memory.base + 0x100, &stores);
            assert_eq!(found, memory.timing.wait_states.into(), "{}: {}", soc.name, memory.name);
        }
    }
}

#[test]
fn factors_without_a_model_are_refused() {
    let acr = "wait_states_by = [{ multiply = \"FLASH_IF.ACR[3:0]\", plus = 5 }";
    let wrong = [
        (acr, acr.replace("ACR", "ACRX"), "memory FLASH: FLASH_IF.ACRX[3:0] is no register"),
        (acr, acr.replace("multiply", "divide"), "multiply whole numbers"),
        (acr, acr.replace("plus = 5", "plus = 5, fraction_bits = 2"), "multiply whole numbers"),
        (acr, acr.replace("plus = 5", "plus = 5, values = [1]"), "plus or values, not both"),
        ("wait_states = 18", "wait_states = 0".to_owned(), "of which the memory has none"),
        (
            "reset = 0x37\n",
            "reset = 0x37\ncontrols = { memory = \"FLASH\", wait_states = [0, 4] }\n".to_owned(),
            "a register controls its wait_states",
        ),
    ];
    for (good, bad, message) in wrong {
        let text = H743.replacen(good, &bad, 1);
        assert!(text != H743, "{good}");
        let refused = Soc::from_toml(&text).expect_err(&bad).to_string();
        assert!(refused.contains(message), "{refused}");
    }
}

/// The QMI of an RP2350 as its boot ROM leaves it: a transfer takes 36 clocks of three cycles, and 16 when it
/// goes on where the last one ended, up to the end of a page of 1024 bytes (datasheet, 12.14).
#[test]
fn straight_code_in_serial_flash_continues_transfers() {
    const PAGE: u32 = 0x1000_0400;
    let socs = [
        (include_str!("../../../../socs/rp2350.toml"), 0xBF00_u16),
        (include_str!("../../../../socs/rp2350-riscv.toml"), 0x0001),
    ];
    for (text, nop) in socs {
        let soc = Soc::from_toml(text).expect("a soc");
        let mut machine = Machine::new(&soc);
        let code: Vec<u8> = [nop; 1024].into_iter().flat_map(u16::to_le_bytes).collect();
        machine.poke(PAGE, &code).expect("flash");
        machine.set_register(Register::Pc, PAGE);
        // The cycles from one line's last instruction to the next one's.
        let mut line = |until: u32| {
            let began = machine.cycles().0;
            while machine.register(Register::Pc) < until {
                machine.step(Cycles::MAX).expect("a nop");
            }
            machine.cycles().0 - began
        };
        let lines: Vec<_> = (1..=160).map(|number| line(PAGE + 8 * number)).collect();
        let within = lines[1];
        assert!((48..=56).contains(&within), "{}: {within}", soc.name);
        for (at, &cycles) in lines.iter().enumerate().skip(1).take(157) {
            let wanted = if at == 127 || at == 128 { None } else { Some(within) };
            assert!(wanted.is_none_or(|it| it == cycles), "{}: line {at}: {lines:?}", soc.name);
        }
        // Around the page's end there is one new transfer.
        assert_eq!(lines[127] + lines[128], 2 * within + 108 - 48, "{}", soc.name);
    }
}

/// Loads from flash by code in RAM, whose lines do not follow each other: a miss takes as long behind a hundred
/// instructions in RAM as behind none of the flash's, since nothing of the flash's is under way any more. Behind
/// fifty the flash is still selected, and takes 9 cycles to be deselected (QMI: MIN_DESELECT is 7).
#[test]
fn flash_misses_from_code_in_ram_wait_the_same_after_any_pause() {
    assert_eq!(rounds_with_misses(100), [100 + 109; 4]);
    assert_eq!(rounds_with_misses(200), [200 + 109; 4]);
    let [first, rest @ ..] = rounds_with_misses(50);
    assert_eq!((first, rest), (50 + 109, [50 + 109 + 9; 3]));
}

/// Returns the cycles of a load from a line of an RP2350's flash and of so many other instructions in RAM.
fn rounds_with_misses(pause: u32) -> [u64; 4] {
    const FLASH: u32 = 0x1000_0000;
    const CODE: u32 = 0x2000_0000;
    let soc = Soc::from_toml(include_str!("../../../../socs/rp2350-riscv.toml")).expect("a soc");
    let mut machine = Machine::new(&soc);
    let mut words = vec![NOP; pause as usize];
    for line in 0..4 {
        // lw a1, 256 * line(a0)
        words.push(i_type(256 * line, A0, 2, A1, 0x03));
        words.extend(vec![NOP; pause as usize]);
    }
    machine.poke(CODE, &Code::words(&words).0).expect("RAM");
    machine.set_register(Register::R(A0 as u8), FLASH);
    machine.set_register(Register::Pc, CODE);
    for line in 0..=4 {
        machine.watch(Watch::Execute(CODE + 4 * (pause - 10 + (pause + 1) * line)));
    }
    machine.run(Cycles(5_000));
    let reached: Vec<u64> = machine.take_hits().iter().map(|hit| hit.cycle.0).collect();
    let rounds: Vec<u64> = reached.windows(2).map(|pair| pair[1] - pair[0]).collect();
    rounds.try_into().expect("four rounds")
}
