//! Builds a small firmware in several ways, and looks into it: every probe has its record,
//! at the right place, and the code is the same as without probes.
//!
//! Needs the Rust targets that it names: `rustup target add thumbv6m-none-eabi
//! thumbv7em-none-eabihf`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGETS: [&str; 2] = ["thumbv6m-none-eabi", "thumbv7em-none-eabihf"];

/// Ways to build, as options of rustc.
const PROFILES: [(&str, &[&str]); 3] = [
    ("debug", &["-Copt-level=0", "-Cdebuginfo=2"]),
    ("release", &["-Copt-level=3", "-Ccodegen-units=4"]),
    ("lto", &["-Copt-level=s", "-Ccodegen-units=1", "-Clto=fat", "-Cembed-bitcode=yes"]),
];

struct Elf(Vec<u8>);

impl Elf {
    fn half(&self, at: usize) -> usize {
        u16::from_le_bytes([self.0[at], self.0[at + 1]]).into()
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn text_at(&self, at: usize) -> &str {
        let length = self.0[at..].iter().position(|&byte| byte == 0).expect("a zero");
        std::str::from_utf8(&self.0[at..at + length]).expect("a name")
    }

    /// A section's header: its words.
    fn section(&self, name: &str) -> Option<[u32; 10]> {
        let header = |index: usize| -> [u32; 10] {
            let at = self.word(32) as usize + index * self.half(46);
            std::array::from_fn(|word| self.word(at + 4 * word))
        };
        let names = header(self.half(50))[4] as usize;
        (0..self.half(48))
            .map(header)
            .find(|header| self.text_at(names + header[0] as usize) == name)
    }

    fn bytes(&self, name: &str) -> &[u8] {
        let header = self.section(name).expect("the section is there");
        &self.0[header[4] as usize..][..header[5] as usize]
    }

    fn symbol(&self, wanted: &str) -> u32 {
        let symbols = self.section(".symtab").expect("symbols");
        let names = self.section(".strtab").expect("their names")[4] as usize;
        let entries = (symbols[4]..symbols[4] + symbols[5]).step_by(16);
        let found = entries
            .map(|at| at as usize)
            .find(|&at| self.text_at(names + self.word(at) as usize) == wanted);
        self.word(found.expect("the symbol is there") + 4) & !1
    }

    /// The records: kind, where, name.
    fn records(&self) -> Vec<(u32, u32, String)> {
        let section = Self(self.bytes(".rtmark").to_vec());
        let mut records = Vec::new();
        let mut at = 0;
        while at < section.0.len() {
            assert_eq!(section.word(at) >> 16, 0x524D, "a record begins at {at:#x}");
            let name = section.text_at(at + 8).to_owned();
            let after = at + 8 + (name.len() + 1).next_multiple_of(4);
            records.push((section.word(at) & 0xFFFF, section.word(at + 4), name));
            at = after;
        }
        records
    }
}

fn rustc(arguments: &[&str]) {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition=2024", "-Cpanic=abort"])
        .args(arguments)
        .output()
        .expect("rustc runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "rustc {}:\n{said}", arguments.join(" "));
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Builds the firmware twice: with its probes, and with barriers in their place.
fn build(folder: &Path, target: &str, options: &[&str]) -> [Elf; 2] {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = folder.join("librtmark_probe.rlib");
    let common = [&["--target", target], options].concat();

    let source = here.join("src/lib.rs");
    // As its build script says of these targets.
    let named = ["--cfg=cortex_m", "--crate-name=rtmark_probe", "--crate-type=rlib"];
    let output = [&named[..], &[path(&source), "-o"]].concat();
    rustc(&[&common[..], &output, &[path(&library)]].concat());

    ["probes", "bare"].map(|which| {
        let elf = folder.join(which);
        let source = here.join("tests/firmware/firmware.rs");
        let script = format!("-Clink-arg=-T{}", path(&here.join("tests/firmware/link.x")));
        let library = format!("rtmark_probe={}", path(&library));
        let mut arguments = common.clone();
        arguments.extend([path(&source), "--crate-name=firmware", "--crate-type=bin", &script]);
        arguments.extend(["--extern", &library, "--check-cfg=cfg(bare)", "-o", path(&elf)]);
        if which == "bare" {
            arguments.extend(["--cfg", "bare"]);
        }
        rustc(&arguments);
        Elf(fs::read(&elf).expect("rustc made it"))
    })
}

fn check(target: &str, profile: &str, options: &[&str]) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(target).join(profile);
    fs::create_dir_all(&folder).expect("a folder");
    let [probes, bare] = build(&folder, target, options);

    let header = probes.section(".rtmark").expect("the records are there");
    assert_eq!(header[1..4], [1, 0, 0], "data that is not loaded: type, flags, address");

    let records = probes.records();
    let mut count = BTreeMap::new();
    for (kind, _, name) in &records {
        *count.entry((name.as_str(), *kind)).or_insert(0) += 1;
    }
    // Loops may be unrolled; then each copy has its own record.
    for name in ["loop.a", "loop.b+c", "loop.d", "copied"] {
        assert_eq!(count.get(&(name, 1)), count.get(&(name, 2)), "{name}: {count:?}");
    }
    assert_eq!(count[&("copied", 1)], 2, "inlined twice");
    assert!(count[&("loop.b+c", 1)] >= 1);

    let of = |name: &str, kind: u32| {
        let place = |r: &&(u32, u32, String)| r.2 == name && r.0 == kind;
        records.iter().filter(place).map(|r| r.1).collect::<Vec<_>>()
    };
    assert_eq!([of("tick.cost", 3), of("tick.cost", 4)], [[15], [15]]);
    assert_eq!([of("irq0.latency", 3), of("irq0.latency", 2)], [[16], [probes.symbol("irq0")]]);

    // In the midst of others, where the compiler has nothing to prepare or to save, there is
    // the call alone between begin and end: a BL of four bytes.
    for (begin, end) in of("loop.b+c", 1).into_iter().zip(of("loop.b+c", 2)) {
        assert_eq!(begin % 2, 0);
        assert_eq!(end - begin, 4, "{begin:#x} to {end:#x}");
        let text = probes.section(".text").expect("code");
        let at = (begin - text[3] + text[4]) as usize;
        assert_eq!(probes.half(at) & 0xF800, 0xF000, "the first half of BL");
    }

    assert!(bare.section(".rtmark").is_none());
    assert_eq!(probes.bytes(".text"), bare.bytes(".text"), "probes change the code");
}

#[test]
fn probes_are_recorded_and_cost_nothing() {
    for target in TARGETS {
        for (profile, options) in PROFILES {
            println!("{target} {profile}");
            check(target, profile, options);
        }
    }
}
