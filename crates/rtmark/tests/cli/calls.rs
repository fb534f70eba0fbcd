//! `rtmark calls` over a small image made here, whose kernel is described in a file.

use serde_json::Value;

use crate::common::{ADD_ONE, BAD_LOAD, EXIT, Elf, Second, run_rtmark};

/// Calls a function, and ends with success.
fn image(function: &str) -> Vec<u8> {
    // bl function
    let code = [&[0xF000, 0xF806], EXIT, ADD_ONE].concat();
    Elf { code: &code, second: function, second_is: Second::Function(16), ..Elf::default() }.bytes()
}

#[test]
fn the_result_matches_its_schema() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let schema = include_str!("../../../../docs/schema/calls.schema.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).expect("JSON"));
    let validator = validator.expect("a schema");
    std::fs::write(folder.path().join("a.elf"), image("mk_add")).expect("writable");
    let api = "name = \"k\"\ncalls = [\"mk_*\"]\n";
    std::fs::write(folder.path().join("k.toml"), api).expect("writable");
    let arguments = ["calls", "a.elf", "--soc=stm32c031", "--api=k.toml", "--format=json"];
    // The second has no notes.
    for more in [&[][..], &["--clock=48MHz"]] {
        let result = run_rtmark(folder.path(), &[&arguments, more].concat());
        let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
        let errors: Vec<_> = validator.iter_errors(&json).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {json:#}");
    }
}

/// Only `rtmark sim` has that option.
#[test]
fn what_to_do_about_a_fault_names_the_command() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // bl mk_add; load from where nothing is
    let code = [&[0xF000, 0xF806], BAD_LOAD, &[0xBF00; 3], ADD_ONE].concat();
    let second_is = Second::Function(16);
    let elf = Elf { code: &code, second: "mk_add", second_is, ..Elf::default() };
    elf.write(&folder.path().join("a.elf"));
    let api = "name = \"k\"\ncalls = [\"mk_*\"]\n";
    std::fs::write(folder.path().join("k.toml"), api).expect("writable");
    let arguments = ["calls", "a.elf", "--soc=stm32c031", "--api=k.toml"];
    let expected = "`rtmark sim --deliver-faults`";
    run_rtmark(folder.path(), &arguments).assert_error(11, &[expected]);
}

/// What a pattern does not match counts as the application's, so who mistyped one must learn it.
#[test]
fn patterns_that_match_nothing_are_noted() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    let calls = |function: &str, api: &str, format: &str| {
        std::fs::write(folder.join("a.elf"), image(function)).expect("writable");
        std::fs::write(folder.join("k.toml"), format!("name = \"k\"\n{api}")).expect("writable");
        let soc = ["--soc", "stm32c031", "--api", "k.toml", "--format", format];
        run_rtmark(folder, &[&["calls", "a.elf"], &soc[..]].concat())
    };
    let arguments = ["calls", "a.elf", "--soc", "stm32c031", "--api", "fretos"];
    let near = ["did you mean `freertos`?", "or one of"];
    run_rtmark(folder, &arguments).assert_error(2, &near);
    let mistyped = "calls = [\"mk_*\"]\ninternal = [\"mki::*\"]\n";
    let said = "--api: `mki::*` of `internal` matches no function of the image";
    let text = calls("mk_add", mistyped, "text");
    assert!(text.code == 0 && text.stderr.contains(said), "{text:#?}");
    assert!(!text.stderr.contains("names of C++"), "{text:#?}");
    let json: Value =
        serde_json::from_str(&calls("mk_add", mistyped, "json").stdout).expect("JSON");
    let notes = &json["runs"][0]["notes"];
    assert!(notes[0] == said, "{notes}");
    let right = calls("mk_add", "calls = [\"mk_*\"]\n", "text");
    assert!(right.code == 0 && !right.stderr.contains("--api"), "{right:#?}");
    assert!(right.stdout.contains("in neither cycles nor share of their row"), "{right:#?}");
    let back = calls("mk_add", "calls = [\"mk_*\"]\ncalls_back = [\"mk_add\"]\n", "text");
    assert!(back.stderr.contains("mk_add calls the application back"), "{back:#?}");
    let cxx = "calls = [\"mk::*\"]\ninternal = [\"_ZN2mk*\"]\n";
    let cxx = calls("_ZN2mk3addEv", cxx, "text");
    assert!(cxx.stderr.contains("names of C++ and Rust are those of the source"), "{cxx:#?}");
    assert!(cxx.code == 0 && cxx.stdout.contains("mk::add"), "{cxx:#?}");
}

/// A call that a jump leaves, as longjmp does, never returns; the next one from the same place is a call of its own.
#[test]
fn a_call_that_was_left_by_a_jump_is_not_the_next_one() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    // movs r4, #0; again: adds r4, #1; bl mk_f; the end. mk_f: cmp r4, #3; bne again; bx lr
    let code = [&[0x2400, 0x3401, 0xF000, 0xF806], EXIT, &[0x2C03, 0xD1F4, 0x4770]].concat();
    let elf =
        Elf { code: &code, second: "mk_f", second_is: Second::Function(20), ..Elf::default() };
    std::fs::write(folder.join("a.elf"), elf.bytes()).expect("writable");
    std::fs::write(folder.join("k.toml"), "name = \"k\"\ncalls = [\"mk_*\"]\n").expect("writable");
    let told = ["calls", "a.elf", "--soc", "stm32c031", "--api", "k.toml", "--format", "json"];
    let told = run_rtmark(folder, &told);
    let json: Value = serde_json::from_str(&told.stdout).expect("JSON");
    let paid = &json["runs"][0]["paid"];
    let called = &paid["called"];
    assert_eq!(called.as_array().map(Vec::len), Some(1), "{paid}");
    assert_eq!(called[0]["calls"], 1, "{paid}");
    let most = called[0]["cycles"]["max"].as_u64().expect("cycles");
    assert!(most < 12, "one call, and not three: {paid}");
    assert_eq!(paid["open"], serde_json::json!([["mk_f", 2]]), "{paid}");
}

/// A call that never returns has no figure, and is said to be open.
#[test]
fn a_call_that_never_returns_is_listed_without_a_figure() {
    let folder = tempfile::tempdir().expect("a folder");
    // bl mk_f; the end, which is never reached. mk_f: b .
    let code = [&[0xF000, 0xF806], EXIT, &[0xE7FE]].concat();
    let elf =
        Elf { code: &code, second: "mk_f", second_is: Second::Function(16), ..Elf::default() };
    elf.write(&folder.path().join("a.elf"));
    let api = "name = \"k\"\ncalls = [\"mk_*\"]\n";
    std::fs::write(folder.path().join("k.toml"), api).expect("writable");
    let arguments = ["calls", "a.elf", "--soc", "stm32c031", "--api", "k.toml", "--format", "json"];
    let told = run_rtmark(folder.path(), &[&arguments[..], &["--max-cycles", "1000"]].concat());
    let json: Value = serde_json::from_str(&told.stdout).expect(&told.stderr);
    let paid = &json["runs"][0]["paid"];
    assert_eq!(paid["called"], serde_json::json!([]), "{paid}");
    assert_eq!(paid["open"], serde_json::json!([["mk_f", 1]]), "{paid}");
}

/// A program that masks interrupts and never lets them in again holds them back to its end.
#[test]
fn interrupts_that_are_masked_for_good_are_listed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // cpsid i; nop; bl mk_add
    let code = [&[0xB672, 0xBF00, 0xF000, 0xF806], EXIT, ADD_ONE].concat();
    let elf =
        Elf { code: &code, second: "mk_add", second_is: Second::Function(20), ..Elf::default() };
    elf.write(&folder.path().join("a.elf"));
    let api = "name = \"k\"\ncalls = [\"mk_*\"]\n";
    std::fs::write(folder.path().join("k.toml"), api).expect("writable");
    let calls = |format: &str| {
        let arguments = ["calls", "a.elf", "--soc", "stm32c031", "--api", "k.toml"];
        run_rtmark(folder.path(), &[&arguments[..], &["--format", format]].concat()).stdout
    };
    let text = calls("text");
    assert!(text.contains("by PRIMASK, from start, still when the run ended"), "{text}");
    let json: Value = serde_json::from_str(&calls("json")).expect("JSON");
    let held = &json["runs"][0]["held"];
    assert_eq!((&held[0]["open"], &held[1]), (&Value::Bool(true), &Value::Null), "{json:#}");
}
