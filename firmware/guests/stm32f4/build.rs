//! Tells the linker where the memories of an STM32F405 are.

const MEMORY: &str = "MEMORY {
    FLASH : ORIGIN = 0x08000000, LENGTH = 1024K
    RAM : ORIGIN = 0x20000000, LENGTH = 128K
}
";

fn main() {
    let folder = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(format!("{folder}/memory.x"), MEMORY).expect("a writable folder");
    println!("cargo:rustc-link-search={folder}");
}
