//! Any halfwords on any core, decoded and written as text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtmark_sim::{CoreKind, Disassembly};

fuzz_target!(|input: (u32, u16, u16, Option<u8>)| {
    let (address, first, second, condition) = input;
    for &core in CoreKind::ALL {
        let text = Disassembly::of(core, address, first, second, condition);
        assert!(!text.to_string().is_empty());
    }
});
