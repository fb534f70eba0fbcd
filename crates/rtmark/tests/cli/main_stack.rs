//! What is said of a main stack that has grown beyond its end.

use std::path::Path;

use serde_json::Value;

use crate::common::{
    ADD_ONE, CommandResult, EXIT, Elf, Probe, START, Second, printing_after, run_rtmark,
};
use crate::run::Tree;
use crate::worst::{json, valid, worst};

/// `push {r0-r3}`, 16 bytes.
const PUSH: u16 = 0xB40F;
const NOP: u16 = 0xBF00;
/// Where the stack of these programs begins.
const TOP: u32 = 0x2000_0400;

/// Runs a command in a folder with a program, and the end of its stack under a name.
fn run(elf: &Elf<'_>, end: (&str, u32), arguments: &[&str]) -> CommandResult {
    let folder = tempfile::tempdir().expect("a scratch folder");
    Elf { address: Some(end), ..elf.clone() }.write(&folder.path().join("a.elf"));
    run_rtmark(folder.path(), &[arguments, &["--soc", "stm32c031"]].concat())
}

/// A program that pushes so often and ends. What ends it loads a word, and so begins at one.
fn pushing(pushes: usize) -> Vec<u16> {
    [vec![PUSH; pushes], vec![NOP; pushes % 2], EXIT.to_vec()].concat()
}

/// What `sim` notes of a program that pushes so often.
fn noted(pushes: usize, name: &str, end: u32) -> String {
    let elf = Elf { code: &pushing(pushes), ..Elf::default() };
    let result = run(&elf, (name, end), &["sim", "a.elf"]);
    assert_eq!(result.code, 0, "{result:#?}");
    let document = json(&run(&elf, (name, end), &["sim", "a.elf", "--format", "json"]));
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

/// A loop whose rounds push 64 bytes and take them back, with a handler of interrupt 8 that returns at once.
fn searched(folder: &Path, end: u32) {
    let mut code = vec![NOP; 16];
    // Over the vector and the handler.
    code[0] = 0xE012;
    let handler = (START + 0x24) | 1;
    code.extend([handler as u16, (handler >> 16) as u16, 0x4770, NOP]);
    // movs r0, #20; round: four pushes; nop; add sp, #48; pop {r0-r3}; subs r0, #1; bne round; nop
    code.extend([0x2014, PUSH, PUSH, PUSH, PUSH, NOP, 0xB00C, 0xBC0F, 0x3801, 0xD1F6, NOP, NOP]);
    code.extend(EXIT);
    let probes: &[Probe<'_>] =
        &[(5, 0, "a.one"), (1, START + 0x28, "a.one"), (2, START + 0x3C, "a.one")];
    let address = Some(("_stack_end", end));
    Elf { code: &code, probes, address, ..Elf::default() }.write(&folder.join("a.elf"));
}

/// An interrupt in the depth of the stack needs 32 bytes more than the program.
#[test]
fn a_stack_that_only_an_interrupt_makes_too_deep_is_harm() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    searched(folder, TOP - 64 - 32);
    let enough = worst(folder, &["--check"]);
    assert!(enough.code == 0 && enough.stdout.contains("no race"), "{enough:#?}");
    searched(folder, TOP - 64 - 28);
    let plain = worst(folder, &[]);
    assert!(plain.code == 0 && !plain.stderr.contains("main stack"), "{plain:#?}");
    let harm = worst(folder, &["--check"]);
    harm.assert_error(11, &["moments at which the interrupt does harm"]);
    assert!(harm.stdout.contains("its main stack grows into other data"), "{harm:#?}");
    let document = worst(folder, &["--check", "--format", "json"]);
    let document = json(&document);
    valid(&document);
    assert!(document.to_string().contains("its main stack grows into other data"), "{document:#}");
}

#[test]
fn a_search_says_that_the_stack_is_too_deep_without_the_interrupt() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    searched(folder, TOP - 60);
    let plain = worst(folder, &[]);
    let said = "note: a.elf on stm32c031: the main stack grew to 0x200003c0";
    assert!(plain.code == 0 && plain.stderr.contains(said), "{plain:#?}");
    let quiet = worst(folder, &["-q"]);
    assert!(quiet.code == 0 && quiet.stderr.is_empty(), "{quiet:#?}");
    let checked = worst(folder, &["--check"]);
    checked.assert_error(11, &["without the interrupt, the main stack grew", "--defsym"]);
    // What happens behind the windows changes nothing in them.
    let before = worst(folder, &["--window", "0:8", "--interrupt", "8"]);
    assert!(!before.stderr.contains("main stack"), "{before:#?}");
}

#[test]
fn a_kernels_search_has_no_figure_then() {
    let tree = Tree::of(&["a.one"]);
    searched(&tree.path("firmware/k"), TOP - 60);
    let of_kernel = ["--catalogue", "catalogue", "--kernel", "k", "--scenario", "a.one"];
    let worst = [&["worst", "--soc", "stm32c031"], &of_kernel[..]].concat();
    let result = run_rtmark(&tree.path(""), &worst);
    result.assert_error(11, &["k a.one on stm32c031: the main stack grew", "more RAM"]);
    assert_eq!(result.stdout, "", "{result:#?}");
}

#[test]
fn images_are_measured_with_a_note() {
    let code = printing_after(&[PUSH; 6], "hello", true);
    let elf = Elf { code: &code, ..Elf::default() };
    for (end, expected) in [(TOP - 96, false), (TOP - 92, true)] {
        let run = |arguments: &[&str]| run(&elf, ("_stack_end", end), arguments);
        let result = run(&["run", "--image", "app=a.elf"]);
        let said = result.stderr.contains("app: the main stack grew to 0x200003a0");
        assert_eq!(said, expected, "{result:#?}");
        let result = run(&["footprint", "--image", "app=a.elf"]);
        let said = result.stdout.contains("         the main stack grew to 0x200003a0");
        assert_eq!((result.code, said), (0, expected), "{result:#?}");
        let document = json(&run(&["footprint", "--image", "app=a.elf", "--format", "json"]));
        let said = &document["images"][0]["stack_overflow"];
        assert_eq!(said.as_str().is_some(), expected, "{document:#}");
    }
}

/// A function that pushes and takes back 64 bytes; `bl` to it, then the end.
const CALLING: [u16; 2] = [0xF000, 0xF806];
const DEEP: [u16; 5] = [PUSH, PUSH, PUSH, PUSH, 0xB010];

#[test]
fn calls_are_timed_with_a_note() {
    let code = [&CALLING[..], EXIT, &DEEP, ADD_ONE].concat();
    let elf =
        Elf { code: &code, second: "mk_f", second_is: Second::Function(16), ..Elf::default() };
    for (end, expected) in [(TOP - 64, false), (TOP - 60, true)] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let folder = folder.path();
        Elf { address: Some(("_stack_end", end)), ..elf.clone() }.write(&folder.join("a.elf"));
        let api = "name = \"k\"\ncalls = [\"mk_*\"]\n";
        std::fs::write(folder.join("k.toml"), api).expect("writable");
        let arguments =
            ["calls", "a.elf", "--soc", "stm32c031", "--api", "k.toml", "--format", "json"];
        let document: Value = json(&run_rtmark(folder, &arguments));
        let notes = document["runs"][0]["notes"].to_string();
        assert_eq!(notes.contains("the main stack grew"), expected, "{document:#}");
    }
}
