//! `rtmark plan`, as far as it needs no kernel: what is said of a system's file.

use std::path::Path;

use crate::common::{Said, rtmark, said};
use crate::run::Tree;

fn plan(text: &str, more: &[&str]) -> Said {
    let tree = Tree::of(&["a.one"]);
    std::fs::write(tree.path("system.toml"), text).expect("writable");
    said(&tree.path(""), &[&["plan", "system.toml"], more].concat())
}

fn example() -> String {
    let said = said(&Tree::of(&["a.one"]).path(""), &["plan", "--init"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:#?}");
    said.stdout
}

#[test]
fn errors_in_a_file_are_reported_with_their_line() {
    let example = example();
    let refused = |from: &str, to: &str, words: &[&str]| {
        assert!(example.contains(from), "{from}");
        let said = plan(&example.replacen(from, to, 1), &[]);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{said:#?}");
        let shown = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
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
        let said: Said = output.expect("rtmark runs").into();
        let shown = said.stderr.split_whitespace().collect::<String>();
        let place = "system.toml:8:tick:";
        assert!(shown.contains(place) && shown.contains(&reason.replace(' ', "")), "{said:#?}");
        assert_eq!(said.code, 2, "{said:#?}");
    }
}

#[test]
fn missing_files_and_kernels_are_reported() {
    let said = plan(&example(), &["--kernel", "lilos"]);
    assert_eq!(said.code, 4, "{said:#?}");
    assert!(said.stderr.contains("--kernel"), "{said:#?}");
    let said = crate::common::said(&Tree::of(&["a.one"]).path(""), &["plan", "nowhere.toml"]);
    assert_eq!(said.code, 2, "{said:#?}");
    assert!(said.stderr.contains("rtmark plan --init"), "{said:#?}");
}
