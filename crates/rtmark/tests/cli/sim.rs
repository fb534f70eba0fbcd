//! `rtmark sim`: how runs end, and what is refused.

use std::path::PathBuf;

use crate::common::{
    BAD_LOAD, BREAKPOINT, EXIT_FAILED, Elf, LOCKUP, LOOP, SLEEP, START, Said, UNDEFINED, printing,
    rtmark, said,
};

struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a scratch folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sim(&self, image: &str, more: &[&str]) -> Said {
        let path = self.path(image).display().to_string();
        let arguments = [&["sim", &path, "--soc", "stm32c031"], more].concat();
        said(self.folder.path(), &arguments)
    }

    fn run(&self, elf: &Elf<'_>, more: &[&str]) -> Said {
        elf.write(&self.path("image.elf"));
        self.sim("image.elf", more)
    }

    fn run_code(&self, code: &[u16], more: &[&str]) -> Said {
        self.run(&Elf { code, ..Elf::default() }, more)
    }
}

#[test]
fn a_program_prints_and_ends() {
    let scratch = Scratch::new();
    let said = scratch.run_code(&printing("hello", true), &[]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "hello\n"), "{said:#?}");
    assert!(said.stderr.contains("cycles") && said.stderr.contains("instructions"), "{said:#?}");
    let said = scratch.run_code(&printing("hello", true), &["-q"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:#?}");
    let said = scratch.run_code(&printing("no", false), &[]);
    assert_eq!((said.code, said.stdout.as_str()), (11, "no\n"), "{said:#?}");
    assert_eq!(scratch.run_code(EXIT_FAILED, &[]).code, 11);
}

#[test]
fn a_run_as_json() {
    let scratch = Scratch::new();
    let said = scratch.run_code(&printing("\u{1b}[31mred", true), &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(json["ending"], "exit");
    assert_eq!(json["console"], "\\u{1b}[31mred\n");
    assert!(json["cycles"].as_u64() >= Some(6), "{json}");
    assert_eq!(json["instructions"], 6);
}

#[test]
fn programs_that_do_not_end_well() {
    let scratch = Scratch::new();
    let refused = |code, exit, words: &[&str]| {
        scratch.run_code(code, &["--max-cycles", "100000"]).refused(exit, words);
    };
    refused(UNDEFINED, 11, &["0x08000040", "start"]);
    refused(BAD_LOAD, 11, &["0x08000044", "start", "0x60000000"]);
    refused(BREAKPOINT, 11, &["breakpoint", "0x08000040 (start)"]);
    refused(LOCKUP, 11, &["lockup", "handling exception 2"]);
    refused(SLEEP, 12, &["asleep", "start"]);
    refused(
        LOOP,
        12,
        &["still running at 0x08000040 (start)", "cycles had passed", "--max-cycles"],
    );
}

#[test]
fn files_that_are_no_images() {
    let scratch = Scratch::new();
    scratch.sim("none.elf", &[]).refused(2, &["none.elf", "No such file"]);
    let whole = Elf::default().bytes();
    for length in [0, 1, 4, 20, 51, 60, 120, whole.len() / 2, whole.len() - 1] {
        std::fs::write(scratch.path("cut.elf"), &whole[..length]).expect("writable");
        scratch.sim("cut.elf", &[]).refused(2, &["cut.elf"]);
    }
    std::fs::write(scratch.path("a.hex"), ":10000000").expect("writable");
    scratch.sim("a.hex", &[]).refused(2, &["not an ELF file"]);
    let own = std::env::current_exe().expect("a path").display().to_string();
    let other = said(scratch.folder.path(), &["sim", &own, "--soc", "stm32c031"]);
    other.refused(2, &["64-bit", "compile for Arm"]);
    scratch.run(&Elf { relocatable: true, ..Elf::default() }, &[]).refused(2, &["object file"]);
}

#[test]
fn images_that_do_not_fit_the_soc() {
    let scratch = Scratch::new();
    let elsewhere = Elf { base: 0x6000_0000, ..Elf::default() };
    scratch.run(&elsewhere, &[]).refused(2, &["0x60000000", "stm32c031"]);
    let beyond = Elf { base: 0x0800_7F80, ..Elf::default() };
    scratch.run(&beyond, &[]).refused(2, &["0x08007f80"]);
}

#[test]
fn socs_that_are_none() {
    let scratch = Scratch::new();
    Elf::default().write(&scratch.path("image.elf"));
    let with = |soc: &str| said(scratch.folder.path(), &["sim", "image.elf", "--soc", soc]);
    with("stm32c03").refused(4, &["did you mean `stm32c031`?"]);
    with("none.toml").refused(2, &["none.toml", "No such file"]);
    let good = include_str!("../../../../socs/stm32c031.toml");
    std::fs::write(scratch.path("odd.toml"), format!("colour = 1\n{good}")).expect("writable");
    with("odd.toml").refused(2, &["odd.toml", "line 1", "unknown field `colour`"]);
    std::fs::write(scratch.path("own.toml"), good.replace("stm32c031", "mine")).expect("writable");
    assert_eq!(with("own.toml").code, 0);
}

#[test]
fn a_scenario_is_selected_by_name() {
    let scratch = Scratch::new();
    let probes = [(5, 3, "a.b"), (1, START, "a.b")];
    let elf = Elf { probes: &probes, ..Elf::default() };
    assert_eq!(scratch.run(&elf, &["--select", "a.b"]).code, 0);
    scratch.run(&elf, &["--select", "a.c"]).refused(2, &["no scenario a.c", "it holds a.b"]);
    scratch.run(&Elf::default(), &["--select", "a.b"]).refused(2, &["no probes"]);
    let said = scratch.run(&elf, &["--select", "A B"]);
    assert_eq!(said.code, 2, "{said:#?}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_stops_is_no_error() {
    use std::process::Stdio;
    let scratch = Scratch::new();
    Elf { code: &printing("hello", true), ..Elf::default() }.write(&scratch.path("image.elf"));
    let mut child = rtmark(scratch.folder.path())
        .args(["sim", "image.elf", "--soc", "stm32c031"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rtmark runs");
    drop(child.stdout.take());
    let said: Said = child.wait_with_output().expect("it ends").into();
    assert_eq!(said.code, 0, "{said:#?}");
}
