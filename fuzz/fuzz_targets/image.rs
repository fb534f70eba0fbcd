//! Any file as an image, loaded into a machine if it is one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtmark_sim::{Image, Machine, Soc};

fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = Image::from_bytes(bytes, 0x0800_0000) else { return };
    let soc = Soc::from_toml(include_str!("../../socs/stm32f405.toml")).expect("good");
    let _ = Machine::new(&soc).load(&image);
    let _ = image.symbols().name_at(0x0800_0100);
});
