//! Tells the feature `clock` which register counts, and whether a UART prints.

use std::env;

/// Address of the counter; without it, the core's own.
const COUNTER: &str = "RTMARK_COUNTER";
/// Writes that start the counter: `address=value`, parted by commas.
const START: &str = "RTMARK_COUNTER_START";
/// A UART to print by: address of its data register, address of its status register, mask, and
/// what the masked status is when it takes a byte; then writes that start it. All parted by
/// commas. Without it, semihosting prints.
const CONSOLE: &str = "RTMARK_CONSOLE";

/// DWT_CYCCNT: enabled by DEMCR, reset and started (ARM DDI 0403, C1.8).
const DWT: (&str, &str) = ("0xe0001004", "0xe000edfc=0x1000000,0xe0001004=0x0,0xe0001000=0x1");
/// SysTick, for cores that have no other: from its longest time on, with its exception, which
/// `rtmark_clock_tick` handles.
const SYSTICK: (&str, &str) = ("0xe000e018", "0xe000e014=0xffffff,0xe000e018=0x0,0xe000e010=0x7");

fn main() {
    for name in [COUNTER, START, CONSOLE] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(rtmark_uart, cortex_m)");
    let target = env::var("TARGET").unwrap_or_default();
    if target.starts_with("thumb") {
        println!("cargo::rustc-cfg=cortex_m");
    }
    let given = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let own = if target.starts_with("thumbv6m") { SYSTICK } else { DWT };
    let (counter, start) = match given(COUNTER) {
        Some(counter) => (counter, given(START).unwrap_or_default()),
        None => (own.0.to_owned(), own.1.to_owned()),
    };
    println!("cargo::rustc-env=RTMARK_COUNTER={counter}");
    println!("cargo::rustc-env=RTMARK_COUNTER_START={start}");
    let console = given(CONSOLE);
    if console.is_some() {
        println!("cargo::rustc-cfg=rtmark_uart");
    }
    println!("cargo::rustc-env=RTMARK_CONSOLE={}", console.unwrap_or_default());
}
