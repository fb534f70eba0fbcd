//! How images are linked: by cortex-m-rt's script, for the soc that `rtmark-board` was given.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    // Otherwise the linker pads segments to pages, which a microcontroller has not.
    println!("cargo::rustc-link-arg-bins=--nmagic");
    // The monotonic calls its handler as the timer; the vector table has one name for all.
    for (feature, handler) in [
        ("TIM2", "TIM2"),
        ("TIM3", "TIM3"),
        ("RP2040", "TIMER_IRQ_0"),
        ("RP2350", "TIMER0_IRQ_0"),
        ("NRF52840", "RTC1"),
    ] {
        if env::var_os(format!("CARGO_FEATURE_{feature}")).is_some() {
            println!("cargo::rustc-link-arg-bins=--defsym=TIMER={handler}");
        }
    }
}
