//! Reports a mistake of the simulator itself: where it happened, and what is needed to find it.

use rtmark_model::visible;
use rtmark_observe::Lines;
use rtmark_sim::{Image, InternalError, TIMING_MODEL};

/// Describes a mistake of the simulator, with the symbol and the source line if they are known.
pub fn describe(error: &InternalError, image: &Image, elf: &[u8]) -> String {
    let place = location(error.pc, image, elf).map_or_else(String::new, |at| format!("; in {at}"));
    visible(format!("internal error: {error}{place}").as_bytes())
}

/// Locates an address by symbols and debug information: `main+0x4, main.c:12`.
pub(crate) fn location(address: u32, image: &Image, elf: &[u8]) -> Option<String> {
    let address = address & !1;
    let symbol = image.symbols().name_at(address)?.to_string();
    let source = Lines::new(elf).and_then(|lines| lines.source(address));
    Some(source.map_or_else(|| symbol.clone(), |source| format!("{symbol}, {source}")))
}

/// Returns what to do about it.
pub fn hint() -> String {
    format!(
        "this is a bug in rtmark, and no figure of this run is valid: please report it with \
         this message, the ELF file, the soc file and the command (timing model {TIMING_MODEL})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_sim::{Cycles, Machine, Stop};

    #[test]
    fn internal_errors_show_location_and_how_to_report_them() {
        let mut machine =
            Machine::new(&crate::socs::find("generic-cortex-m3").expect("built in").soc);
        for (address, word) in [(0, 0x2000_1000), (4, 0x41), (0x40, 0xE7FE_BF00)] {
            machine.poke_word(address, word).expect("in flash");
        }
        machine.reset().expect("vectors");
        machine.inject_pipeline_stall(0x40);
        let Stop::Internal(error) = machine.run(Cycles(100)) else { panic!("it goes on") };
        let image = Image::from_bytes(&[0; 8], 0).expect("raw");
        let text = describe(&error, &image, &[]);
        for part in ["internal error", "0x00000040", "`nop`", "cycle"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in ["bug in rtmark", "ELF file", "soc file", "command", TIMING_MODEL] {
            assert!(hint().contains(part), "{part}: {}", hint());
        }
    }
}
