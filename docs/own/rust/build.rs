//! Links images for the soc that rtmark builds for.

fn main() {
    // rtmark writes the soc's memory.x and rtmark_soc.rs there.
    println!("cargo::rerun-if-env-changed=RTMARK_GEN");
    match std::env::var("RTMARK_GEN") {
        Ok(generated) => println!("cargo::rustc-link-search={generated}"),
        Err(_) => println!("cargo::error=build this through rtmark: rtmark run --own FOLDER"),
    }
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rustc-link-arg-bins=--nmagic");
}
