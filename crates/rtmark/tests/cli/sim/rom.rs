//! Programs that call the boot ROM of a chip.

use std::process::Command;

use super::Scratch;
use crate::common::run_rtmark;

/// RP2040 datasheet, 2.8.3: the function with the code UB restarts the chip in its USB loader.
#[test]
fn a_program_that_enters_the_usb_loader_is_told_so() {
    let scratch = Scratch::new();
    // movs r0, #0x14; ldrh r0, [r0]; ldr r1, ='UB'; movs r2, #0x18; ldrh r2, [r2]; blx r2; blx r0; nop
    let code = [0x2014_u16, 0x8800, 0x4902, 0x2218, 0x8812, 0x4790, 0x4780, 0xBF00, 0x4255, 0];
    let mut image = [0x2000_1000_u32, 0x1000_0109].map(u32::to_le_bytes).concat();
    image.extend(code.map(u16::to_le_bytes).concat());
    std::fs::write(scratch.path("app.bin"), image).expect("writable");
    let result = run_rtmark(
        &scratch.path(""),
        &["sim", "app.bin", "--soc", "rp2040", "--base", "0x10000100"],
    );
    result.assert_error(11, &["called the boot ROM", "reset_to_usb_boot"]);
    assert!(!result.stderr.contains("panic"), "{result:#?}");
}

/// RP2350 datasheet, 5.4: `reboot` has the code RB, and RISC-V programs find the function that looks codes up
/// by the halfword at 0x7DFA.
#[test]
fn the_function_that_calls_the_rom_is_told_on_risc_v_too() {
    let scratch = Scratch::new();
    let text = ".globl _start\n_start: la sp, 0x20010000\ncall restart\n\
                .type restart, @function\nrestart: li t0, 0x7dfa\nlhu t0, 0(t0)\nli a0, 0x4252\nli a1, 1\n\
                jalr t0\nmv t0, a0\nli a0, 0\njalr t0\nj .\n.size restart, . - restart\n";
    std::fs::write(scratch.path("app.s"), text).expect("writable");
    let mut gcc = Command::new("riscv64-unknown-elf-gcc");
    gcc.args(["-march=rv32imac", "-mabi=ilp32", "-nostdlib", "-Wl,-n,-Ttext=0x10000000"]);
    gcc.arg(scratch.path("app.s")).arg("-o").arg(scratch.path("app.elf"));
    assert!(gcc.status().expect("riscv64-unknown-elf-gcc is installed").success());
    let result = run_rtmark(&scratch.path(""), &["sim", "app.elf", "--soc", "rp2350-riscv"]);
    result.assert_error(11, &["called the boot ROM", "from restart+"]);
}
