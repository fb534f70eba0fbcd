//! How images are linked: by cortex-m-rt's script, for the soc that `rtmark-board` was given.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    // Otherwise the linker pads segments to pages, which a microcontroller has not.
    println!("cargo::rustc-link-arg-bins=--nmagic");
}
