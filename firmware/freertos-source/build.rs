//! Passes on where the kernel's sources are: Cargo tells it to build scripts only.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DEP_FREERTOS_KERNEL");
    let directory = std::env::var("DEP_FREERTOS_KERNEL")
        .expect("the crate freertos-next gives the directory of its kernel sources");
    println!("cargo::rustc-env=FREERTOS_KERNEL_OF_CRATE={directory}");
}
