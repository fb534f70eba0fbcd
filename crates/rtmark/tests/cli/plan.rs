//! `rtmark plan`, as far as it needs no kernel: what is said of a system's file.

use std::path::Path;

use crate::common::{ADD_ONE, CommandResult, EXIT, Elf, LOOP, Second, rtmark, run_rtmark};
use crate::run::Tree;

fn plan(text: &str, more: &[&str]) -> CommandResult {
    let tree = Tree::of(&["a.one"]);
    std::fs::write(tree.path("system.toml"), text).expect("writable");
    run_rtmark(&tree.path(""), &[&["plan", "system.toml"], more].concat())
}

fn example() -> String {
    let result = run_rtmark(&Tree::of(&["a.one"]).path(""), &["plan", "--init"]);
    assert_eq!((result.code, result.stderr.as_str()), (0, ""), "{result:#?}");
    result.stdout
}

/// Work that is a function of one's own firmware is measured; if a call does not return, or its stack overwrites
/// data, nobody knows how long it takes.
#[test]
fn work_of_a_function_without_a_valid_call_is_refused() {
    let tree = Tree::of(&["a.one"]);
    let manifest = tree.path("firmware/k/kernel.toml");
    let text = std::fs::read_to_string(&manifest).expect("readable");
    std::fs::write(&manifest, text.replace("\"k\"", "\"freertos\"")).expect("writable");
    let endless = "has not returned from its call in cycle";
    let deep = "the main stack grew to 0x200003f0";
    // `push {r0-r3}; add sp, #16`, before `adds r0, #1; bx lr`.
    let pushing = [&[0xB40F, 0xB004], ADD_ONE].concat();
    let cases = [
        (LOOP, 0, Some(endless)),
        (ADD_ONE, 0, None),
        (&pushing, 0x2000_03F0, None),
        (&pushing, 0x2000_03F4, Some(deep)),
    ];
    for (body, stack_end, refusal) in cases {
        // bl work; the end.
        let code = [&[0xF000, 0xF806], EXIT, body].concat();
        let elf =
            Elf { code: &code, second: "work", second_is: Second::Function(16), ..Elf::default() };
        let elf = Elf { address: Some(("_stack_end", stack_end)), ..elf };
        elf.write(&tree.path("app.elf"));
        let work = "work = { elf = \"app.elf\", function = \"work\" }";
        let system = example().replacen("work = \"30us\"", work, 1);
        let system = system.replace("\"freertos\", \"embassy\", \"rtic\"", "\"freertos\"");
        std::fs::write(tree.path("system.toml"), system).expect("writable");
        let result = run_rtmark(&tree.path(""), &["plan", "system.toml"]);
        let said = result.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for reason in [endless, deep] {
            assert_eq!(said.contains(reason), refusal == Some(reason), "{result:#?}");
        }
        assert!(!said.contains("kernel `"), "the file is read: {result:#?}");
        let refused = result.stdout.is_empty() && result.code == 2;
        assert!(refusal.is_none() || refused, "{result:#?}");
    }
}

#[test]
fn errors_in_a_file_are_reported_with_their_line() {
    let example = example();
    let refused = |from: &str, to: &str, words: &[&str]| {
        assert!(example.contains(from), "{from}");
        let result = plan(&example.replacen(from, to, 1), &[]);
        assert_eq!((result.code, result.stdout.as_str()), (2, ""), "{result:#?}");
        let shown = result.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(shown.contains(word), "{word}: {shown}");
        }
    };
    refused("period = \"2ms\"", "period = \"2mins\"", &["system.toml:", "is not a time"]);
    refused("stm32f405", "stm32f4O5", &["system.toml:4: soc", "stm32f4O5"]);
    // The firmware's folder has one kernel, and it is none of these.
    refused(
        "work = \"30us\"",
        "work = \"30us\"\nwrok = 1",
        &["system.toml:", "unknown field `wrok`"],
    );
    let no_number = &["system.toml:20: -4", "a number from 0 to", "\"assign\""];
    refused("priority = 4", "priority = -4", no_number);
    refused("\"freertos\", ", "\"k\", ", &["system.toml:5: kernels", "no model of k"]);
    refused("\"freertos\", ", "\"l\", ", &["system.toml:5: kernels", "no kernel `l`"]);
}

#[test]
fn impossible_ticks_are_rejected_at_their_line() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("system.toml");
    for (tick, reason) in
        [("0us", "0 cycles"), ("5", "not 33600000"), ("33us", "not a whole number")]
    {
        let text = example().replacen("tick = \"100us\"", &format!("tick = \"{tick}\""), 1);
        std::fs::write(&path, text.replace("\"5\"", "5")).expect("writable");
        let mut plan = rtmark(folder.path());
        let output = plan.current_dir(&checkout).arg("plan").arg(&path).output();
        let result: CommandResult = output.expect("rtmark runs").into();
        let shown = result.stderr.split_whitespace().collect::<String>();
        let place = "system.toml:8:tick:";
        assert!(shown.contains(place) && shown.contains(&reason.replace(' ', "")), "{result:#?}");
        assert_eq!(result.code, 2, "{result:#?}");
    }
}

#[test]
fn missing_files_and_kernels_are_reported() {
    let result = plan(&example(), &["--kernel", "lilos"]);
    assert_eq!(result.code, 4, "{result:#?}");
    assert!(result.stderr.contains("--kernel"), "{result:#?}");
    let result = run_rtmark(&Tree::of(&["a.one"]).path(""), &["plan", "nowhere.toml"]);
    assert_eq!(result.code, 2, "{result:#?}");
    assert!(result.stderr.contains("rtmark plan --init"), "{result:#?}");
}

/// A kernel that was misspelt would otherwise be left out without a word.
#[test]
fn each_kernel_asked_for_has_to_be_one_of_the_file() {
    let tree = Tree::of(&["a.one"]);
    let manifest = tree.path("firmware/k/kernel.toml");
    let text = std::fs::read_to_string(&manifest).expect("readable");
    std::fs::write(&manifest, text.replace("\"k\"", "\"freertos\"")).expect("writable");
    let system = example().replace("\"freertos\", \"embassy\", \"rtic\"", "\"freertos\"");
    std::fs::write(tree.path("system.toml"), system).expect("writable");
    let refused = "none of the file's kernels fits `fretos`; did you mean `freertos`?";
    for kernels in [&["fretos"][..], &["freertos", "fretos"]] {
        let arguments = [&["plan", "system.toml", "--kernel"], kernels].concat();
        run_rtmark(&tree.path(""), &arguments).assert_error(4, &[refused]);
    }
}

/// A sweep runs no sets: what is for runs only would be ignored.
#[test]
fn a_sweep_takes_no_options_of_runs() {
    for more in [&["--report", "plan.html"][..], &["--offsets", "3"], &["--max-cycles", "5"]] {
        let result = plan(&example(), &[&["--sweep", "clock=24"], more].concat());
        assert_eq!(result.code, 2, "{result:#?}");
        assert!(result.stderr.contains("cannot be used with"), "{result:#?}");
    }
}
