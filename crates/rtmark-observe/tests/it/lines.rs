//! Source lines and inlined functions, against `addr2line`.

use std::collections::BTreeSet;

use rtmark_model::{Line, Owner, Source};
use rtmark_observe::{Lines, Map};

use crate::support::{CORTEX_M, CORTEX_R, Frames, Program, RISC_V, instructions, resolved};

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

/// The line in `other.c` from which on all is dropped.
const DROPPED: u32 = 20;

/// As above, where the dropped function is larger than all others together.
#[test]
fn dropped_functions_do_not_cover_others() {
    for dwarf in ["-gdwarf-2", "-gdwarf-4", "-gdwarf-5"] {
        let flags = ["-O2", dwarf, "-ffunction-sections", "-Wl,--gc-sections,-e,reset"];
        let flags = [CORTEX_M, &flags].concat();
        let program = Program::build("covered", &flags, &["app.c", "other.c"]);
        assert!(program.image.symbols().address_of("unused").is_none());
        let lines = Lines::new(&program.elf).expect("debug information");
        let map = Map::new(&program.image, Some(&lines));
        // The dropped function has inlined code, whose ranges begin at 0 as well.
        let ends = program.address("main").max(program.address("other")) + 0x100;
        assert!(lines.inlined_borders().iter().all(|border| (2..ends).contains(border)), "{dwarf}");
        let mut with_lines = 0;
        for address in instructions(&program) {
            let known = lines.inlined_at(address);
            let Some(outermost) = known.last() else {
                assert_eq!(lines.at(address), None, "{dwarf}, {address:#x}");
                continue;
            };
            assert_eq!(outermost.function, map.function(address), "{dwarf}, {address:#x}");
            let is_dropped = |line: Line| line.file.contains("other") && line.line >= DROPPED;
            assert!(!lines.at(address).is_some_and(is_dropped), "{dwarf}, {address:#x}");
            with_lines += 1;
        }
        assert!(with_lines > 40, "{dwarf}: {with_lines}");
    }
}

/// Other cores begin to execute at address 0, where a function may be.
#[test]
fn functions_at_address_0_have_lines() {
    let risc_v = [RISC_V, &["-Wl,-Ttext=0"]].concat();
    for (test, flags, file) in
        [("zero-arm", CORTEX_R, "modes.s"), ("zero-risc-v", &risc_v, "starts.s")]
    {
        let program = Program::build(test, flags, &[file]);
        let lines = Lines::new(&program.elf).expect("debug information");
        let line = lines.at(0).expect("a line");
        assert!(line.file.ends_with(file), "{line:?}");
    }
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
