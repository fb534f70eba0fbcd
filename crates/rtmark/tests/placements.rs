//! Layouts of real images: the same code at other addresses, and what `rtmark run` makes of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use rtmark_firmware::code::{Code, Differences};
use rtmark_firmware::{Builder, Layouts, SettingChanges, Tree, probes};
use rtmark_model::{Document, Placement};
use rtmark_runner::socs;
use rtmark_sim::Image;

fn build_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("placements-build")
}

fn tree() -> Tree {
    let firmware = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
    Tree::find(Some(&firmware)).expect("the firmware's sources")
}

/// The addresses of an image's symbols.
fn addresses(elf: &[u8]) -> Vec<(u32, String)> {
    let image = Image::from_elf(elf).expect("an image");
    image.symbols().iter().map(|(address, name)| (address, name.to_owned())).collect()
}

#[test]
fn a_layout_is_the_same_code_at_other_addresses() {
    let builder = Builder::new(tree()).in_folder(&build_folder());
    let kernels = builder.tree().kernels().expect("kernels");
    for (name, soc) in [
        ("floor", "stm32c031"),
        ("freertos", "stm32f405"),
        ("freertos", "nrf52840"),
        ("lilos", "stm32c031"),
    ] {
        let kernel = kernels.iter().find(|kernel| kernel.manifest.id.as_str() == name);
        let kernel = kernel.expect("a kernel of the tree");
        let soc = socs::find(soc).expect("a soc").soc;
        let target = rtmark_firmware::Target::from(&soc);
        let target = target.only(&kernel.manifest, |image| image == "thread");
        let switched = SettingChanges::default();
        let built = builder.build(kernel, target.clone(), &switched).expect("built");
        let place = || -> Layouts {
            builder.place(kernel, &target, &switched, &built, |_| 3).expect("linked")
        };
        let layouts = place();
        let own = &built["thread"];
        let code = Code::of(&own.elf).expect("code");
        let sections = |elf: &[u8]| {
            let image = Image::from_elf(elf).expect("an image");
            let records = probes::parse(image.section(probes::SECTION).expect("probes"));
            records.expect("good").iter().map(|record| record.scenario.clone()).collect::<Vec<_>>()
        };
        assert_eq!(layouts["thread"].len(), 2, "{name}");
        for layout in &layouts["thread"] {
            let placed = Code::of(&layout.elf).expect("code");
            // Every address is known by what is there, also where flash is at address 0.
            assert_eq!(code.differences(&placed), Differences::default(), "{name}");
            assert!(code.same_data(&placed), "{name}");
            assert_eq!(sections(&layout.elf), sections(&own.elf), "{name}");
            assert_ne!(addresses(&layout.elf), addresses(&own.elf), "{name}");
        }
        assert_ne!(layouts["thread"][0].sha256, layouts["thread"][1].sha256, "{name}");
        // What was linked is found again; what is linked once more is the same.
        let digests = |layouts: &Layouts| -> Vec<String> {
            layouts["thread"].iter().map(|layout| layout.sha256.clone()).collect()
        };
        assert_eq!(digests(&place()), digests(&layouts));
        for layout in &layouts["thread"] {
            std::fs::remove_file(&layout.path).expect("there");
        }
        assert_eq!(digests(&place()), digests(&layouts), "{name}");
    }
}

/// Assembly language, where functions often have no length.
#[test]
fn a_function_without_a_length_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let built = |name: &str, more: &str| {
        let source = folder.path().join(format!("{name}.s"));
        let handler = |name: &str, body: &str| {
            format!(".thumb_func\n.global {name}\n{name}:\n{body}\nbx lr\n")
        };
        let text = format!(
            ".syntax unified\n.cpu cortex-m4\n.thumb\n{}{}",
            handler("PendSV_Handler", &format!("mrs r0, psp\n{more}")),
            handler("SVC_Handler", "movs r0, #1")
        );
        std::fs::write(&source, text).expect("writable");
        let elf = folder.path().join(name);
        let mut gcc = Command::new("arm-none-eabi-gcc");
        gcc.args(["-nostdlib", "-Wl,-Ttext=0x08000000,-e0", "-o"]).arg(&elf).arg(&source);
        assert!(gcc.status().expect("gcc runs").success());
        Code::of(&std::fs::read(&elf).expect("built")).expect("code")
    };
    let before = built("before", "nop");
    assert_eq!(before.differences(&built("same", "nop")), Differences::default());
    let changed = before.differences(&built("after", "nop\nmovs r1, #2")).changed;
    assert_eq!(changed.into_iter().collect::<Vec<_>>(), ["PendSV_Handler"]);
}

#[test]
fn the_legend_states_the_number_of_layouts() {
    let store = tempfile::tempdir().expect("a folder");
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(["run", "-k", "freertos", "--soc", "stm32f405", "-s", "heap.malloc.16b"])
            .args(["-s", "growth.yield.ready.1"])
            .args(more)
            .env("RTMARK_STORE", store.path().join("store.sqlite"))
            .env("RTMARK_BUILD", build_folder())
            .env("XDG_CONFIG_HOME", store.path())
            .output()
            .expect("rtmark runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout)
            .expect("text")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let usual = run(&[]);
    assert!(usual.contains("of 9 placements (3 for curves and long scenarios)"), "{usual}");
    let exact = run(&["--placements", "4"]);
    assert!(exact.contains("the best and the worst of 4 placements of the same code"), "{exact}");
}

#[test]
fn a_series_is_the_median_layouts_and_keeps_all_layouts() {
    let store = tempfile::tempdir().expect("a folder");
    let run = |placements: &str, format: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(["run", "-k", "freertos", "-s", "thread.yield*", "thread.create", "--soc"])
            .args(["stm32f405", "--placements", placements, "--format", format])
            .env("RTMARK_STORE", store.path().join("store.sqlite"))
            .env("RTMARK_BUILD", build_folder())
            .env("XDG_CONFIG_HOME", store.path())
            .output()
            .expect("rtmark runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let document = |placements: &str| -> Document {
        serde_json::from_str(&run(placements, "json")).expect("a document")
    };
    let (alone, several) = (document("1"), document("5"));
    let mut spread = 0;
    for (one, five) in alone.answers.iter().zip(&several.answers) {
        let (own, series) = (one.answer.series(), five.answer.series());
        let (own, series) = (own.expect("measured"), series.expect("measured"));
        assert!(own.placements.is_empty() && one.spread.is_none());
        let layouts: Vec<u32> = series.placements.iter().map(|placed| placed.layout).collect();
        assert_eq!(layouts, [0, 1, 2, 3, 4]);
        // Layout 0 is what is measured where nobody asks for others.
        assert_eq!(Some(&series.placements[0].samples), own.readings.samples());
        let firmware = &series.provenance.firmware;
        let middle = &series.placements[Placement::middle(&series.placements).expect("one")];
        assert_eq!((middle.layout, &middle.elf_sha256), (firmware.layout, &firmware.elf_sha256));
        assert_eq!(Some(&middle.samples), series.readings.samples());
        let executed = series.executed.as_ref().expect("the simulator counts them");
        assert_eq!(executed.0.len(), middle.samples.len());
        let typical = |samples: &rtmark_model::Samples| samples.statistics().map(|s| s.typical());
        let found = five.spread.expect("of five");
        let below =
            series.placements.iter().filter(|p| typical(&p.samples) < typical(&middle.samples));
        let above =
            series.placements.iter().filter(|p| typical(&p.samples) > typical(&middle.samples));
        assert!(below.count() <= 2 && above.count() <= 2);
        spread += found.max - found.min;
    }
    assert!(spread > 0, "placement moves something here");
    let (table, csv) = (run("5", "table"), run("5", "csv"));
    assert!(
        table.contains("a..b: the medians of the best and the worst of 5 placements"),
        "{table}"
    );
    let head = csv.lines().next().expect("a head");
    assert!(head.contains(",placements,placed_min,placed_max,layout,instructions"), "{head}");
}
