//! Settings of the real kernels: what images tell is what their code has.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rtmark_firmware::probes::{self, Kind, Record};
use rtmark_firmware::{Builder, BuiltImage, Target, Tree, Variant, select};
use rtmark_model::Setting;
use rtmark_sim::{Cycles, Image, Machine, Register, Stop};
use serde_json::Value;

fn builds() -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build")
}

fn tree() -> Tree {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
    Tree::find(Some(&folder)).expect("there")
}

/// The images of a kernel for the Cortex-M0+ in a variant.
fn images(kernel: &str, variant: &str) -> BTreeMap<String, BuiltImage> {
    only(kernel, variant, None)
}

/// These, or only one of them: they are slow to link.
fn only(kernel: &str, variant: &str, image: Option<&str>) -> BTreeMap<String, BuiltImage> {
    let builder = Builder::new(tree()).in_folder(&builds());
    let kernels = builder.tree().kernels().expect("readable");
    let kernel = kernels.iter().find(|k| k.manifest.id.as_str() == kernel).expect("there");
    let soc = rtmark_runner::socs::find("stm32c031").expect("built in").soc;
    let variant: Variant = variant.parse().expect("good");
    let switched = variant.of(&kernel.manifest, soc.core.name()).expect("possible");
    let is_wanted = |other: &str| image.is_none_or(|it| it == other);
    let target = Target::from(&soc).only(&kernel.manifest, is_wanted);
    builder.build(kernel, target, &switched).expect("it builds")
}

/// An image of FreeRTOS.
fn image(variant: &str, name: &str) -> (Image, rtmark_model::Settings) {
    let image = &only("freertos", variant, Some(name))[name].elf;
    let image = Image::from_elf(image).expect("an image");
    let recorded = probes::settings(image.section(probes::SECTION).expect("probes")).expect("good");
    (image, recorded)
}

#[test]
fn every_switch_of_a_kernel_is_documented() {
    for kernel in tree().kernels().expect("readable") {
        let manifest = kernel.manifest;
        let switches: Vec<_> = manifest.switches.keys().collect();
        let documented: Vec<_> = manifest.documented.keys().collect();
        assert_eq!(documented, switches, "{}", manifest.id);
        // What a profile asks of all kernels, each of them has to say of itself.
        for id in ["opt", "lto"] {
            assert!(manifest.switches.contains_key(id), "{} {id}", manifest.id);
        }
        assert!(manifest.profiles.is_empty(), "{}: profiles are the same for all", manifest.id);
    }
}

#[test]
fn link_time_optimisation_keeps_probes_and_has_an_effect() {
    for kernel in ["floor", "freertos", "ring"] {
        let (apart, whole) = (images(kernel, "product+lto=off"), images(kernel, "product"));
        for (name, image) in &whole {
            let probes_of = |built: &BuiltImage| {
                let image = Image::from_elf(&built.elf).expect("an image");
                let records = probes::parse(image.section(probes::SECTION).expect("probes"));
                let kind = |record: &Record| {
                    (std::mem::discriminant(&record.kind), record.scenario.clone())
                };
                let mut kinds: Vec<_> = records.expect("good").iter().map(kind).collect();
                kinds.sort_by(|one, other| format!("{one:?}").cmp(&format!("{other:?}")));
                kinds.dedup();
                kinds
            };
            assert_eq!(probes_of(image), probes_of(&apart[name]), "{kernel} {name}");
            assert_eq!(image.settings["lto"], Setting::Switch(true));
            assert_eq!(apart[name].settings["lto"], Setting::Switch(false));
            assert_ne!(image.sha256, apart[name].sha256, "{kernel} {name}");
        }
    }
}

#[test]
fn freertos_product_profile_has_no_asserts_or_stack_checks() {
    let (documented, recorded) = image("documented", "thread");
    let has = |image: &Image, symbol: &str| image.symbols().address_of(symbol).is_some();
    assert!(has(&documented, "vAssertCalled"));
    assert!(has(&documented, "vApplicationStackOverflowHook"));
    assert_eq!(recorded["asserts"], Setting::Switch(true));
    assert_eq!(recorded["stack_check"], Setting::Number(2));
    assert_eq!(recorded["stack_fill"], Setting::Switch(true));
    assert_eq!(recorded["heap_clear"], Setting::Switch(true));
    assert_eq!(recorded["tick_hz"], Setting::Number(1000));
    assert_eq!(recorded["fpu"], Setting::Switch(false));

    let (product, recorded) = image("product", "thread");
    assert!(!has(&product, "vAssertCalled"), "no assert is left to call it");
    assert!(!has(&product, "vApplicationStackOverflowHook"), "no check is left to call it");
    for off in ["asserts", "stack_fill", "heap_clear"] {
        assert_eq!(recorded[off], Setting::Switch(false), "{off}");
    }
    assert_eq!(recorded["stack_check"], Setting::Number(0));
    // Link-time optimisation leaves no function of such names.
    let (checked, _) = image("checked+lto=off", "thread");
    assert!(has(&checked, "vAssertCalled") && has(&checked, "vApplicationStackOverflowHook"));
    let (checked, recorded) = image("checked", "thread");
    assert_eq!(recorded["asserts"], Setting::Switch(true));
    assert!(checked.flash_bytes() > product.flash_bytes());
}

/// The typical sample of each scenario of a kernel on stm32f405 that a pattern selects, in cycles, with a switch set.
fn typical(kernel: &str, scenarios: &str, switch: &str) -> BTreeMap<String, u64> {
    let home = tempfile::tempdir().expect("a scratch folder");
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["run", "--soc", "stm32f405", "--kernel", kernel, "--scenario", scenarios])
        .args(["--set", switch, "--placements", "1", "--format", "json", "-q", "--store"])
        .arg(home.path().join("store.sqlite"))
        .env_remove("RTMARK_FIRMWARE")
        .env_remove("RTMARK_CATALOGUE")
        .env("RTMARK_BUILD", builds())
        .output()
        .expect("rtmark runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let sample = |answer: &Value| {
        let id = answer["key"]["scenario"].as_str()?.to_owned();
        Some((id, answer["statistics"]["steady"]["p50"].as_u64()?))
    };
    json["answers"].as_array().expect("answers").iter().filter_map(sample).collect()
}

/// The mixed load has two stretches of two ticks each in which nothing is ready: 24000 of 72000 cycles. The firmware
/// checks that every job was done.
#[test]
fn freertos_sleeps_through_ticks_without_releases() {
    let awake = typical("freertos", "duty.awake", "tickless_idle=on")["duty.awake"];
    assert!((48_000..66_000).contains(&awake), "awake for {awake} cycles of 72000");
}

/// A millisecond is no tick then, but a delay of one lasts one. The firmware checks its times by itself.
#[test]
fn rtic_keeps_time_by_ticks_of_ten_milliseconds() {
    let typical = typical("rtic", "timer.*", "tick_hz=100");
    // At 168 MHz.
    assert_eq!(typical["timer.period.10ms"], 1_680_000);
    let delay = typical["timer.delay.1000ms"];
    assert!((168_000_000..=169_680_000).contains(&delay), "up to a tick more: {delay}");
    assert!(typical["timer.jitter"] < 10_000 && typical["timer.wake"] < 10_000, "{typical:?}");
}

/// Nothing of what a program does with the time is part of asking for it: at the caller's depth of the stack, no
/// instruction of the span stores there.
#[test]
fn asking_for_the_time_stores_no_result() {
    let id = "timer.now".parse().expect("a name");
    let soc = rtmark_runner::socs::find("stm32c031").expect("built in").soc;
    for kernel in ["embassy", "lilos", "rtic"] {
        let image = only(kernel, "product", Some("timer")).remove("timer").expect("built");
        let image = Image::from_elf(&image.elf).expect("an image");
        let records = probes::parse(image.section(probes::SECTION).expect("probes")).expect("good");
        let of = |record: &Record| match record.kind {
            Kind::Begin(at) if record.scenario == id => Some((at, true)),
            Kind::End(at) if record.scenario == id => Some((at, false)),
            _ => None,
        };
        let edges: BTreeMap<u32, bool> = records.iter().filter_map(of).collect();
        let mut machine = Machine::new(&soc);
        machine.load(&image).expect("it fits");
        select(&mut machine, &image, &records, &id).expect("it has the scenario");
        for at in edges.keys() {
            machine.stop_before(*at);
        }
        let limit = Cycles(100_000_000);
        let begun = machine.run(limit);
        let Stop::Breakpoint(begin) = begun else { panic!("{kernel}: {begun:?}") };
        assert_eq!(edges.get(&begin), Some(&true), "{kernel}");
        for at in edges.keys() {
            machine.remove_stop(*at);
        }
        let caller = machine.register(Register::Sp);
        let mut instructions = 0;
        loop {
            let pc = machine.register(Register::Pc);
            if edges.get(&pc) == Some(&false) {
                break;
            }
            let half = machine.peek(pc, 2);
            let first = u16::from_le_bytes([half[0], half[1]]);
            // STR (immediate) with SP, T2: DDI 0419, A6.7.59.
            let stores = first >> 11 == 0b10010 && machine.register(Register::Sp) == caller;
            assert!(!stores, "{kernel}: {first:#06x} at {pc:#x} is part of the span");
            machine.step(limit).expect("it executes");
            instructions += 1;
            assert!(instructions < 1000, "{kernel}: the span ends");
        }
    }
}

#[test]
fn products_without_checks_are_faster_and_named() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["fairness", "freertos:checked", "freertos", "--soc", "stm32c031"])
        .args(["--scenario", "thread.yield", "--format", "json", "--measure", "-q", "--store"])
        .arg(home.path().join("store.sqlite"))
        .env_remove("RTMARK_FIRMWARE")
        .env_remove("RTMARK_CATALOGUE")
        .env("RTMARK_BUILD", builds())
        .output()
        .expect("rtmark runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let schema = include_str!("../../../docs/schema/fairness.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&json), "{json:#}");

    let list = |key: &str| json[key].as_array().expect("a list").clone();
    let differences = list("differences");
    let names: Vec<_> = differences.iter().map(|d| d["setting"].as_str()).collect();
    assert_eq!(names, [Some("asserts"), Some("stack_check"), Some("stack_fill")], "{json:#}");
    assert!(differences.iter().all(|d| d["kind"] == "matters"));
    // Either setting by itself, from either side.
    let effects = list("effects");
    assert_eq!(effects.len(), 4, "{json:#}");
    for effect in effects {
        let (before, after) = (effect["before"].as_u64(), effect["after"].as_u64());
        let product = effect["subject"] == "freertos:product";
        let (with, without) = if product { (after, before) } else { (before, after) };
        // A yield passes no assertion on some cores, but its stack is always checked.
        let costs = if effect["setting"] == "asserts" { with >= without } else { with > without };
        assert!(costs, "{effect:#}");
    }
}
