//! Tells the linker where a Pico's memories are.

const MEMORY: &str = "MEMORY {
    BOOT2 : ORIGIN = 0x10000000, LENGTH = 0x100
    FLASH : ORIGIN = 0x10000100, LENGTH = 2048K - 0x100
    RAM : ORIGIN = 0x20000000, LENGTH = 256K
}
EXTERN(BOOT2)
SECTIONS { .boot2 ORIGIN(BOOT2) : { KEEP(*(.boot2)); } > BOOT2 } INSERT BEFORE .text;
";

fn main() {
    let folder = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(format!("{folder}/memory.x"), MEMORY).expect("a writable folder");
    println!("cargo:rustc-link-search={folder}");
}
