//! What the debug information says of structures, and what is said of files without it.

use rtmark_observe::{Lines, Member, member_of, missing_debug_info, offset_of};

use crate::support::{CORTEX_M, Program};

fn program(test: &str) -> Program {
    Program::build(test, &[CORTEX_M, &["-O2"]].concat(), &["app.c", "other.c"])
}

/// Returns a word of flash, which begins at address 0.
fn word(program: &Program, address: u32) -> u32 {
    let segment = &program.image.segments()[0];
    let at = (address - segment.address) as usize;
    u32::from_le_bytes(segment.bytes[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn members_are_where_the_compiler_has_put_them() {
    let program = program("members");
    let table = program.address("members");
    for (row, name) in (0..).zip(["state", "stack", "within", "name", "ticks", "last"]) {
        let [offset, size] = [0, 4].map(|at| word(&program, table + row * 8 + at));
        // The size of an array is that of its elements, times their number.
        let size = (name != "name").then_some(size);
        assert_eq!(member_of(&program.elf, "task", name), Some(Member { offset, size }), "{name}");
        assert_eq!(offset_of(&program.elf, "task", name), Some(offset), "{name}");
    }
}

#[test]
fn only_members_of_the_structure_itself_count() {
    let program = program("no-members");
    let offset = |structure, member| offset_of(&program.elf, structure, member);
    assert_eq!(offset("list", "length"), Some(0), "in the first file");
    assert_eq!(
        (offset("list", "last"), offset("list", "end")),
        (Some(2), Some(4)),
        "in the second"
    );
    assert_eq!(offset("inner", "b"), Some(2));
    for (structure, member) in
        [("task", "b"), ("empty_handed", "length"), ("list", "state"), ("nothing", "state")]
    {
        assert_eq!(offset(structure, member), None, "{structure} {member}");
    }
    assert_eq!(member_of(b"no file", "task", "state"), None);
}

#[test]
fn members_of_nested_structures_are_not_the_outer_ones() {
    let flags = [CORTEX_M, &["-O2", "-Wl,-e,0"]].concat();
    let program = Program::build("nested-structures", &flags, &["nested.cpp"]);
    let offset = |structure, member| offset_of(&program.elf, structure, member);
    assert_eq!((offset("Outer", "value"), offset("Inner", "value")), (Some(12), Some(4)));
    assert_eq!(offset("Outer", "only_inner"), None);
}

/// What `objcopy` makes of a file, and what is missing from it.
fn missing(program: &Program, name: &str, arguments: &[&str]) -> Option<String> {
    let made = program.path.with_extension(name);
    let path = made.to_str().expect("UTF-8");
    let mut command = std::process::Command::new("arm-none-eabi-objcopy");
    crate::support::output(command.args(arguments).arg(&program.path).arg(path));
    missing_debug_info(&std::fs::read(made).expect("made"))
}

#[test]
fn what_a_file_lacks_is_said_with_the_reason() {
    let program = program("missing");
    assert_eq!(missing_debug_info(&program.elf), None);
    assert_eq!(missing_debug_info(b"no ELF file"), None);
    let without = "built without debug information (-g), or stripped";
    let compressed = "compressed; `arm-none-eabi-objcopy --decompress-debug-sections";
    let all = "functions and source lines are unknown";
    let lines = "source lines, and what the compiler has inlined, are unknown";
    let link = format!("--add-gnu-debuglink={}", program.path.display());
    let elsewhere =
        "in a file of their own, missing.elf; `eu-unstrip -o whole.elf THIS missing.elf`";
    for (name, arguments, what, why) in [
        ("stripped", &["--strip-all"][..], all, without),
        ("no-lines", &["--strip-debug"][..], lines, without),
        ("compressed", &["--compress-debug-sections"][..], lines, compressed),
        ("linked", &["--strip-debug", &link][..], lines, elsewhere),
        (
            "no-names",
            &["--wildcard", "--strip-symbol=*"][..],
            "functions are unknown",
            "cannot be read",
        ),
    ] {
        let said = missing(&program, name, arguments).expect(name);
        assert!(said.starts_with(&format!("{what}: ")) && said.contains(why), "{name}: {said}");
    }
    assert!(Lines::new(&program.elf).is_some());
}
