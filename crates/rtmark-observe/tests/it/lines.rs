//! Source lines and inlined functions, against `addr2line`.

use std::collections::BTreeSet;

use rtmark_model::{Owner, Source};
use rtmark_observe::{Lines, Map};

use crate::support::{CORTEX_M, Frames, Program, instructions, resolved};

fn program(test: &str) -> Program {
    Program::build(test, &[CORTEX_M, &["-O2"]].concat(), &["app.c", "other.c"])
}

#[test]
fn every_instruction_has_the_lines_that_addr2line_gives() {
    let program = program("lines");
    let lines = Lines::new(&program.elf).expect("debug information");
    let (mut borders, mut before) = (BTreeSet::new(), Vec::new());
    let addresses = instructions(&program);
    assert!(addresses.len() > 40);
    for address in addresses {
        let expected = resolved(&program, address);
        let frames = lines.inlined_at(address).into_iter();
        let known = frames.filter_map(|frame| {
            let line = frame.line?;
            Some((frame.function?, line.file, line.line))
        });
        assert_eq!(known.collect::<Frames>(), expected, "{address:#x}");
        let innermost = expected.first().map(|(_, file, line)| (file.clone(), *line));
        assert_eq!(lines.at(address).map(|line| (line.file, line.line)), innermost, "{address:#x}");
        let names: Vec<_> = expected.into_iter().map(|frame| frame.0).collect();
        if names.len().max(before.len()) > 1 && names != before {
            borders.insert(address);
        }
        before = names;
    }
    assert!(!borders.is_empty());
    assert_eq!(lines.inlined_borders(), Vec::from_iter(borders));
}

#[test]
fn addresses_outside_code_have_no_lines() {
    let program = program("no-lines");
    let lines = Lines::new(&program.elf).expect("debug information");
    for address in [program.address("task"), 0x1000_0000, program.address("stop") & !1] {
        assert!(lines.inlined_at(address).is_empty(), "{address:#x}");
        assert_eq!((lines.at(address), lines.source(address)), (None, None));
    }
}

/// Functions that the linker has dropped keep their lines, at address 0, where flash may appear as well.
#[test]
fn dropped_functions_have_no_lines() {
    let flags = ["-O2", "-ffunction-sections", "-Wl,--gc-sections,-e,reset,-Ttext=0x08000000"];
    let flags = [CORTEX_M, &flags].concat();
    let program = Program::build("dropped", &flags, &["app.c", "other.c"]);
    assert!(program.image.symbols().address_of("unused").is_none());
    assert!(program.tool("objdump", &["--dwarf=info"]).contains(": unused\n"));
    let lines = Lines::new(&program.elf).expect("debug information");
    assert_eq!((lines.inlined_at(2), lines.at(2)), (Vec::new(), None));
    assert!(lines.at(program.address("main") & !1).is_some());
}

/// As above, where vectors are in the section that has the code.
#[test]
fn vectors_have_no_lines() {
    let flags = ["-O2", "-ffunction-sections", "-Wl,--gc-sections,-e,reset"];
    let flags = [CORTEX_M, &flags].concat();
    let program = Program::build("vectors", &flags, &["app.c", "other.c"]);
    assert!(program.image.symbols().address_of("unused").is_none());
    let lines = Lines::new(&program.elf).expect("debug information");
    for address in [0, 2, 4] {
        assert_eq!((lines.inlined_at(address), lines.at(address)), (Vec::new(), None), "{address}");
    }
    assert!(lines.at(program.address("main") & !1).is_some());
}

#[test]
fn a_librarys_code_is_reported_at_the_authors_line() {
    let program = program("owners");
    let lines = Lines::new(&program.elf).expect("debug information");
    let find = |address: &u32| resolved(&program, *address).len() == 3;
    let inside = instructions(&program).into_iter().find(find).expect("inlined twice");
    let expected = resolved(&program, inside);
    let owners: Vec<_> = lines.inlined_at(inside).iter().map(|frame| frame.owner).collect();
    assert_eq!(owners, [Owner::Library, Owner::Library, Owner::Author]);
    let Source { line, inlined } = lines.source(inside).expect("a line");
    assert_eq!((line.file, line.line), (expected[2].1.clone(), expected[2].2));
    let inlined = inlined.expect("a library's function");
    assert_eq!(inlined.function.as_deref(), Some("ring_take"));
    // The place has the function itself first.
    let place = Map::new(&program.image, Some(&lines)).place(inside);
    assert_eq!((place.function.as_deref(), place.address), (Some("helper"), inside));
    assert_eq!(place.inlined, ["ring_take", "ring_slot"]);
    assert_eq!(place.line.map(|line| line.line), Some(expected[2].2));
    let frames: Vec<_> = place.frames.into_iter().filter_map(|frame| frame.function).collect();
    assert_eq!(frames, ["helper", "ring_take", "ring_slot"]);
}
