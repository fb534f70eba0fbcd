use rtmark_sim::Soc;

use super::*;
use crate::probes::parse;
use crate::tests::tiny_elf::{ARM, CODE, IN_MEMORY, OBJECT, Section, Symbol, WRITABLE, elf};

#[test]
fn index_and_point_share_a_word() {
    assert_eq!(select_word(3, 0), Some(3));
    assert_eq!(select_word(3, 64), Some(0x40_0003));
    assert_eq!(select_word(0x1_0000, 0), None);
    assert_eq!(select_word(0, 0x1_0000), None);
}

#[test]
fn files_that_are_not_images_are_left_unchanged() {
    assert_eq!(select_in_elf(b"", 1), None);
    assert_eq!(select_in_elf(b"\x7fELF\x01\x01\x01", 1), None);
    let own = std::fs::read(std::env::current_exe().expect("a path")).expect("readable");
    assert_eq!(select_in_elf(&own, 1), None);
}

/// A table of 16 vectors, the word that selects, and a byte after it; initial values; zeroed variables; and
/// something that is not loaded.
fn image(symbols: &[(&'static str, u32)]) -> Vec<u8> {
    let section = |name, address, bytes: &[u8], zeros, flags| {
        let bytes = bytes.to_vec();
        Section { name, address, bytes, zeros, flags }
    };
    let vectors: Vec<u8> = (0..64).collect();
    let sections = [
        section(".vector_table", 0x800_0000, &vectors, 0, IN_MEMORY),
        section(".text", 0x800_0040, &[0xFF, 0xFF, 0xFF, 0xFF, 0xEE], 0, IN_MEMORY | CODE),
        section(".data", 0x2000_0000, &[1, 2, 3], 0, IN_MEMORY | WRITABLE),
        section(".bss", 0x2000_0010, &[], 32, IN_MEMORY | WRITABLE),
        section(".debug", 0, &[9; 100], 0, 0),
    ];
    let symbol = |&(name, value)| Symbol { name, value, size: 4, kind: OBJECT, section: 1 };
    elf(ARM, &sections, &symbols.iter().map(symbol).collect::<Vec<_>>())
}

/// As `size` counts: text and data, and data and bss.
#[test]
fn sizes_are_those_of_what_is_loaded_and_of_what_is_written() {
    let image = image(&[]);
    let executable = Executable::read(&image).expect("an ELF file");
    assert_eq!(executable.flash_bytes(), 64 + 5 + 3);
    assert_eq!(executable.ram_bytes(), 3 + 32);
    assert_eq!(executable.section(".data"), Some([1, 2, 3].as_slice()));
    assert_eq!(executable.section(".rodata"), None);
    assert!(Executable::read(b"text").is_err());
    let ranges = memory(&image).expect("an ELF file");
    let code = [0x800_0000..0x800_0040, 0x800_0040..0x800_0045];
    let variables = [0x2000_0000..0x2000_0003, 0x2000_0010..0x2000_0030];
    assert_eq!(ranges, [code, variables].concat());
    let loaded = loaded(&image).expect("an ELF file");
    assert_eq!(loaded[2], (0x2000_0000, [1, 2, 3].as_slice()));
    assert_eq!(loaded[3], (0x2000_0010, [].as_slice()));
    assert_eq!(loaded.len(), 4);
}

/// The word is replaced in the file, and nothing else: at the first and the last place that holds one.
#[test]
fn a_word_of_the_file_selects() {
    for (address, first) in
        [(0x800_0040, 0xFF), (0x800_0041, 0xFF), (0x800_0000, 0), (0x800_003C, 60)]
    {
        let image = image(&[("other", 0x2000_0010), (SELECT_SYMBOL, address)]);
        let selected = select_in_elf(&image, 0x40_0003).expect("it has the word");
        let changed: Vec<usize> =
            (0..image.len()).filter(|at| image[*at] != selected[*at]).collect();
        let at = changed[0];
        assert_eq!(
            (image[at], &selected[at..at + 4]),
            (first, &[3, 0, 0x40, 0][..]),
            "{address:#x}"
        );
        let begin = image.windows(64).position(|bytes| bytes.iter().copied().eq(0..64));
        assert_eq!(at, begin.expect("vectors") + (address - 0x800_0000) as usize, "{address:#x}");
        assert!(changed.iter().all(|changed| (at..at + 4).contains(changed)), "{changed:?}");
    }
    for address in [0x800_0042, 0x800_003D, 0x2000_0000, 0x2000_0010, 0x7FF_FFFF, 0] {
        assert_eq!(select_in_elf(&image(&[(SELECT_SYMBOL, address)]), 3), None, "{address:#x}");
    }
    assert_eq!(select_in_elf(&image(&[("other", 0x800_0040)]), 3), None);
}

/// SysTick's vector is the sixteenth word (DDI 0403, B1.5.3), and of a Thumb function.
#[test]
fn clocked_probes_take_the_tick() {
    for handler in [0x800_0044, 0x800_0045] {
        let image = image(&[("rtmark_clock_tick", handler)]);
        let ticking = tick_in_elf(&image).expect("it has a handler");
        let executable = Executable::read(&ticking).expect("an ELF file");
        let vectors = executable.section(".vector_table").expect("vectors");
        assert!(vectors[..60].iter().copied().eq(0..60));
        assert_eq!(vectors[60..], 0x800_0045_u32.to_le_bytes());
    }
    assert_eq!(tick_in_elf(&image(&[])), None);
}

#[test]
fn a_machine_runs_the_scenario_that_is_selected() {
    let soc = include_str!("../../../../socs/stm32c031.toml");
    let soc = Soc::from_toml(soc).expect("a soc");
    let records = [5, 3].map(|index| {
        let name = if index == 5 { "thread.yield" } else { "timer.tick" };
        let mut bytes = [0x524D_0005_u32, index].map(u32::to_le_bytes).concat();
        bytes.extend(name.bytes());
        bytes.resize((bytes.len() + 1).next_multiple_of(4), 0);
        bytes
    });
    let records = parse(&records.concat()).expect("records");
    let select_at = |address: Option<u32>, scenario: &str| {
        let symbols: Vec<_> = address.map(|address| (SELECT_SYMBOL, address)).into_iter().collect();
        let image = Image::from_elf(&image(&symbols)).expect("an image");
        let mut machine = Machine::new(&soc);
        let scenario = scenario.parse().expect("a name");
        select(&mut machine, &image, &records, &scenario)?;
        Ok(machine.peek(0x800_0040, 4))
    };
    assert_eq!(select_at(Some(0x800_0040), "timer.tick"), Ok(vec![3, 0, 0, 0]));
    assert_eq!(select_at(Some(0x800_0040), "thread.yield"), Ok(vec![5, 0, 0, 0]));
    assert_eq!(select_at(None, "timer.tick"), Err(SelectError::NoWord));
    assert_eq!(select_at(Some(0x900_0000), "timer.tick"), Err(SelectError::NoMemory(0x900_0000)));
    let missing = select_at(Some(0x800_0040), "queue.send").expect_err("no such scenario");
    let wanted = "it has no scenario queue.send; it has thread.yield, timer.tick";
    assert_eq!(missing.to_string(), wanted);
}
