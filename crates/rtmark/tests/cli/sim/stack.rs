//! What `sim` says of a main stack that has grown beyond its end.

use super::Scratch;
use crate::common::{EXIT, Elf, Second};

/// `push {r0-r3}`, 16 bytes.
const PUSH: u16 = 0xB40F;
const NOP: u16 = 0xBF00;
/// Where the stack of these programs begins.
const TOP: u32 = 0x2000_0400;

/// Runs a program that pushes so often, with the end of its stack under a name; returns what is noted.
fn noted(pushes: usize, name: &str, end: u32) -> String {
    let scratch = Scratch::new();
    // What ends it loads a word, and so begins at one.
    let aligned = vec![NOP; pushes % 2];
    let code = [vec![PUSH; pushes], aligned, EXIT.to_vec()].concat();
    let elf = Elf { code: &code, second: name, second_is: Second::Address(end), ..Elf::default() };
    elf.write(&scratch.path("a.elf"));
    let result = scratch.sim("a.elf", &[]);
    assert_eq!(result.code, 0, "{result:#?}");
    let json = scratch.sim("a.elf", &["--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    let notes = document["notes"].to_string();
    let said = result.stderr.contains("the main stack grew");
    assert_eq!(said, notes.contains("the main stack grew"), "{notes}: {result:#?}");
    if said { result.stderr } else { String::new() }
}

#[test]
fn a_stack_beyond_its_end_is_noted_under_each_of_the_names_for_it() {
    let names =
        ["_stack_end", "__StackLimit", "firmware_bss_end", "_ebss", "__bss_end__", "__bss_end"];
    for name in names {
        assert_eq!(noted(4, name, TOP - 64), "", "{name}: it just fits");
        let note = noted(5, name, TOP - 64);
        for words in ["grew to 0x200003b0 in cycle ", "16 bytes beyond its end at 0x200003c0"] {
            assert!(note.contains(words), "{name}: {note}");
        }
    }
    assert_eq!(noted(5, "of_no_stack", TOP - 64), "");
}

#[test]
fn stacks_without_a_known_end_are_not_looked_at() {
    // Below the data, in another memory, nowhere.
    for end in [TOP, TOP + 64, 0x0800_0100, 0] {
        assert_eq!(noted(5, "_stack_end", end), "", "{end:#x}");
    }
}
