//! Programs that call the boot ROM of a chip.

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
