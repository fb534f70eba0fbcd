//! Any text as a soc file, and a machine of what is accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtmark_sim::{Machine, Soc};

fuzz_target!(|text: &str| {
    if let Ok(soc) = Soc::from_toml(text) {
        let _ = Machine::new(&soc).reset();
    }
});
