//! `rtmark sim`: what a program receives: bytes, pins, interrupts.

use super::{Scratch, json};
use crate::common::{ECHO, Elf, SLEEP};

#[test]
fn a_program_receives_its_input() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("line.txt"), "status\nmore\n").expect("written");
    let file = scratch.path("line.txt").display().to_string();
    let echoed = scratch.run_code(ECHO, &["--uart-in", &file]);
    assert_eq!((echoed.code, echoed.stdout.as_str()), (0, "status\n"), "{echoed:#?}");
    assert!(echoed.stderr.contains("5 of the 12 bytes of --uart-in were not read"), "{echoed:#?}");
    let named = scratch.run_code(ECHO, &["--uart-in", &format!("USART2={file}"), "-q"]);
    assert_eq!((named.code, named.stdout.as_str()), (0, "status\n"), "{named:#?}");
    // On another line it never comes.
    let other = format!("USART1={file}");
    let other = scratch.run_code(ECHO, &["--uart-in", &other, "--max-cycles", "50000"]);
    assert_eq!((other.code, other.stdout.as_str()), (12, ""), "{other:#?}");
    let wrong = scratch.run_code(ECHO, &["--uart-in", &format!("UART9={file}")]);
    wrong.assert_error(2, &["UART9", "USART1", "USART2"]);
    scratch.run_code(ECHO, &["--uart-in", "nothing.txt"]).assert_error(2, &["nothing.txt"]);
}

/// Waits until PA0 is high.
const WAIT_FOR_PIN: &[u16] = &[
    0x2000, 0x2450, 0x0624, // r4 = 0x5000_0000
    0x6020, // MODER: an input, no longer analog
    0x6920, 0x0840, 0xD3FC, // wait for bit 0 of IDR
    0x2018, 0x4901, 0xBEAB, 0xE7FE, 0xBF00, 0x0026, 0x0002,
];

#[test]
fn a_program_sees_the_pins_that_are_driven() {
    let scratch = Scratch::new();
    let driven = |pin: &str, cycles: &str| {
        scratch.run_code(WAIT_FOR_PIN, &["--pin", pin, "--max-cycles", cycles])
    };
    // 12 MHz after a reset: a millisecond is 12,000 cycles.
    assert_eq!(driven("PA0=1@1ms", "12100").code, 0);
    assert_eq!(driven("PA0=1@1ms", "11900").code, 12);
    assert_eq!(driven("pa0=0,1@20us,0@40us", "2000").code, 0);
    assert_eq!(driven("PA1=1", "2000").code, 12, "another pin");
    driven("PE0=1", "2000").assert_error(2, &["no pin PE0", "PA0 to PA15", "PF0 to PF15"]);
    let wrong = driven("PA0=up", "2000");
    assert!(wrong.code == 2 && wrong.stderr.contains("such as PA0=1@10ms"), "{wrong:#?}");
}

#[test]
fn interrupts_occur_at_the_given_cycles() {
    let scratch = Scratch::new();
    let result = scratch.run_code(SLEEP, &["--irq", "32@1000"]);
    result.assert_error(2, &["stm32c031 has no interrupt 32", "0 to 31"]);
    for bad in ["5", "5@", "@1", "x@1", "70000@1"] {
        let result = scratch.run_code(SLEEP, &["--irq", bad]);
        assert!(result.code == 2 && result.stderr.contains("--irq"), "{result:#?}");
    }
    // The vector of interrupt 0 stands where other programs have their first instruction;
    // NVIC_ISER is set from outside.
    let mut code = vec![0x0061, 0x0800];
    code.resize(0x10, 0);
    code.extend([0x4770, 0x46C0]); // the handler, at START + 0x20: bx lr
    code.extend([0xBF30, 0x4770]); // the function, at START + 0x24: wfi; bx lr
    let elf = Elf { code: &code, ..Elf::default() };
    let call = ["--entry", "0x08000064", "--set", "0xE000E100=1", "--format", "json"];
    assert_eq!(json(&scratch.run(&elf, &call))["ending"], "asleep");
    let ran = json(&scratch.run(&elf, &[&call[..], &["--irq", "0@1000"]].concat()));
    assert_eq!((ran["ending"].as_str(), ran["exceptions"].as_u64()), (Some("returned"), Some(1)));
    let cycles = ran["cycles"].as_u64().expect("a number");
    assert!((1_020..1_060).contains(&cycles), "{ran}");
}
