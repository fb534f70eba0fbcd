//! Settings of the real kernels: what images tell is what their code has.

use std::path::Path;
use std::process::Command;

use rtmark_firmware::{Builder, Tree, Variant, probes};
use rtmark_model::Setting;
use rtmark_sim::Image;
use serde_json::Value;

/// Kept from run to run; not where other tests look for the kernels' own variants.
fn builds() -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("settings-build")
}

/// An image of FreeRTOS for the Cortex-M0+ in a variant.
fn image(variant: &str, name: &str) -> (Image, rtmark_model::Settings) {
    let tree = Tree::find(Some(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")));
    let builder = Builder::new(tree.expect("there")).in_folder(&builds());
    let kernels = builder.tree().kernels().expect("readable");
    let kernel = kernels.iter().find(|k| k.manifest.id.as_str() == "freertos").expect("there");
    let soc = rtmark_runner::socs::find("stm32c031").expect("built in").soc;
    let variant: Variant = variant.parse().expect("good");
    let switched = variant.of(&kernel.manifest, soc.core.name()).expect("possible");
    let images = builder.build(kernel, &soc, &switched).expect("it builds");
    let image = Image::from_elf(&images[name].elf).expect("an image");
    let told = probes::settings(image.section(probes::SECTION).expect("probes")).expect("good");
    (image, told)
}

#[test]
fn a_lean_freertos_has_no_asserts_and_no_stack_checks() {
    let (default, told) = image("default", "thread");
    let has = |image: &Image, symbol: &str| image.symbols().address_of(symbol).is_some();
    assert!(has(&default, "vAssertCalled") && has(&default, "vApplicationStackOverflowHook"));
    assert_eq!(told["asserts"], Setting::Switch(true));
    assert_eq!(told["stack_check"], Setting::Number(2));
    assert_eq!(told["tick_hz"], Setting::Number(1000));
    assert_eq!(told["fpu"], Setting::Switch(false));

    let (lean, told) = image("lean", "thread");
    assert!(!has(&lean, "vAssertCalled"), "no assert is left to call it");
    assert!(!has(&lean, "vApplicationStackOverflowHook"), "no check is left to call it");
    assert_eq!(told["asserts"], Setting::Switch(false));
    assert_eq!(told["stack_check"], Setting::Number(0));
    assert!(lean.flash_bytes() < default.flash_bytes());
    assert_eq!(lean.ram_bytes(), default.ram_bytes());
}

#[test]
fn a_lean_freertos_is_faster_and_known_by_its_name() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["fairness", "freertos:lean", "freertos", "--soc", "stm32c031"])
        .args(["--scenario", "thread.yield", "--format", "json", "--measure", "-q", "--store"])
        .arg(home.path().join("store.sqlite"))
        .env_remove("RTMARK_FIRMWARE")
        .env_remove("RTMARK_CATALOGUE")
        .env("RTMARK_BUILD", builds())
        .output()
        .expect("rtmark runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let schema = include_str!("../../../docs/schema/fairness.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&json), "{json:#}");

    let list = |key: &str| json[key].as_array().expect("a list").clone();
    let differences = list("differences");
    let names: Vec<_> = differences.iter().map(|d| d["setting"].as_str()).collect();
    assert_eq!(names, [Some("asserts"), Some("stack_check")], "{json:#}");
    assert!(differences.iter().all(|d| d["kind"] == "matters"));
    // Either setting by itself, from either side.
    let effects = list("effects");
    assert_eq!(effects.len(), 4, "{json:#}");
    for effect in effects {
        let (before, after) = (effect["before"].as_u64(), effect["after"].as_u64());
        let lean = effect["subject"] == "freertos:lean";
        let (with, without) = if lean { (after, before) } else { (before, after) };
        // A yield passes no assertion on some cores, but its stack is always checked.
        let costs = if effect["setting"] == "asserts" { with >= without } else { with > without };
        assert!(costs, "{effect:#}");
    }
}
