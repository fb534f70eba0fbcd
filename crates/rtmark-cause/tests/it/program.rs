//! Builds of a small program of known instructions, which runs on a soc of known timing.

use std::path::Path;
use std::process::Command;

use rtmark_cause::{KeptImages, note};
use rtmark_compare::{Comparison, Pair, RunLabel, compare};
use rtmark_firmware::{Cache, probes};
use rtmark_model::{Answer, Basis, Catalogue};
use rtmark_runner::socs::SocFile;
use rtmark_runner::{Probed, measure};
use rtmark_sim::{Image, Soc};
use rtmark_units::Cycles;
use serde_json::{Value, json};

/// Where a build's debug information has the program's source.
pub const SOURCE: &str = "tests/program/program.S";

/// A build of `tests/program/program.S`: macros with their values, which are nothing by default.
#[derive(Clone, Debug)]
pub struct Program {
    macros: Vec<(&'static str, String)>,
    /// What debug information has in place of `tests/`.
    prefix: &'static str,
}

impl Program {
    /// With these macros.
    pub fn with(macros: &[(&'static str, &str)]) -> Self {
        let macros = macros.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self { macros, prefix: "tests/" }
    }

    /// With these macros added, or in place of those of the same name.
    pub fn but(&self, macros: &[(&'static str, &str)]) -> Self {
        let mut other = self.clone();
        other.macros.retain(|(name, _)| !macros.iter().any(|(more, _)| more == name));
        other.macros.extend(Self::with(macros).macros);
        other
    }

    /// With another text for `tests/` in debug information.
    pub fn named(&self, prefix: &'static str) -> Self {
        Self { prefix, ..self.clone() }
    }

    fn elf(&self) -> Vec<u8> {
        let out = tempfile::NamedTempFile::new().expect("a file");
        let mut gcc = Command::new("arm-none-eabi-gcc");
        gcc.current_dir(env!("CARGO_MANIFEST_DIR")).args(["-mcpu=cortex-m0plus", "-mthumb"]);
        gcc.args(["-nostdlib", "-g", "-Wl,--build-id=none", "-T", "tests/program/program.ld"]);
        gcc.arg(concat!("-fdebug-prefix-map=", env!("CARGO_MANIFEST_DIR"), "="));
        gcc.arg(format!("-fdebug-prefix-map=tests/={}", self.prefix));
        let value = |name: &str| self.macros.iter().find(|(known, _)| *known == name);
        let usual = ["WORK", "A", "B", "C", "D", "OUTSIDE"].map(|name| (name, ""));
        for (name, usual) in usual.into_iter().chain([("GAP", "0"), ("NUMBER", "0")]) {
            if value(name).is_none() {
                gcc.arg(format!("-D{name}={usual}"));
            }
        }
        gcc.args(self.macros.iter().map(|(name, value)| format!("-D{name}={value}")));
        gcc.arg("-o").arg(out.path()).arg(SOURCE);
        assert!(gcc.status().expect("arm-none-eabi-gcc is installed").success(), "{self:?}");
        std::fs::read(out.path()).expect("built")
    }
}

/// A Cortex-M0+ whose flash memory takes so many wait states, for eight bytes at a time.
pub fn soc(wait_states: u32) -> SocFile {
    let text = format!(
        "name = 'wait{wait_states}'\ndescription = 'a bench'\ncore = 'cortex-m0plus'\n\
         clock_hz = 1_000_000\ninterrupts = 1\npriority_bits = 2\nvectors = 0x0800_0000\n\
         [[memory]]\nname = 'FLASH'\nkind = 'flash'\nbase = 0x0800_0000\nsize = 0x4000\n\
         [memory.timing]\nwait_states = {wait_states}\nline_bytes = 8\n\
         [[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0x2000_0000\nsize = 0x1000\n"
    );
    let sha256 = rtmark_firmware::sha256(text.as_bytes());
    let soc = Soc::from_toml(&text).expect("a soc");
    SocFile { soc, sha256, text, origin: "bench.toml".to_owned() }
}

/// The two scenarios, which may take so long.
pub fn catalogue(budget_ms: u64) -> Catalogue {
    let scenario = |id: &str| {
        format!(
            "[[scenario]]\nid = '{id}'\nanswers = '?'\nfrom = 'a'\nto = 'b'\nswitches = 0\n\
             samples = 4\nbudget_ms = {budget_ms}\n"
        )
    };
    let text = scenario("test.once") + &scenario("test.twice");
    Catalogue::from_files([("test.toml", text.as_str())]).expect("a catalogue")
}

/// What two builds are compared by, and in which circumstances.
pub struct Bench {
    pub soc: SocFile,
    pub builds: [Program; 2],
    pub scenarios: Vec<&'static str>,
    /// The scenarios' budget when causes are determined.
    pub budget_ms: u64,
    /// Folders with own kernels.
    pub own: Vec<std::path::PathBuf>,
    /// Changes an answer before or after, as the JSON of a series.
    pub edit: fn(&mut Value),
    /// How many kernels have the same answers.
    pub kernels: usize,
}

impl Bench {
    /// These two builds, `test.once` alone, and a flash memory that never waits.
    pub fn of(before: Program, after: Program) -> Self {
        Self {
            soc: soc(0),
            builds: [before, after],
            scenarios: vec!["test.once"],
            budget_ms: 2_000,
            own: Vec::new(),
            edit: |_| {},
            kernels: 1,
        }
    }

    /// Measures both builds, compares them, and looks for causes.
    pub fn noted(&self) -> Comparison {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path() as &Path);
        let [before, after] = [0, 1].map(|at| self.measured(&cache, &self.builds[at].elf()));
        let label = |id: &str| RunLabel { id: id.into(), revision: None };
        let mut comparison = compare((label("a"), &before), (label("b"), &after), &[]);
        // The right one of several.
        let socs = vec![soc(7), self.soc.clone(), soc(6)];
        let catalogue = catalogue(self.budget_ms);
        let kept = KeptImages { cache, catalogue, own: self.own.clone(), socs };
        note(&mut comparison, &before, &after, &kept);
        comparison
    }

    /// Returns what is noted at the only pair.
    pub fn pair(&self) -> Pair {
        let mut pairs = self.noted().pairs;
        assert_eq!(pairs.len(), 1);
        pairs.remove(0)
    }

    fn measured(&self, cache: &Cache, elf: &[u8]) -> Vec<Answer> {
        let digest = crate::keep(cache, elf);
        let image = Image::from_elf(elf).expect("an image");
        let records = probes::parse(image.section(probes::SECTION).expect("there")).expect("good");
        let probed = Probed { image, elf: elf.to_vec(), records, path: String::new() };
        let catalogue = catalogue(2_000);
        let scenario = |name: &&str| {
            let scenario = catalogue.get(&name.parse().expect("a name")).expect("there");
            let soc = &self.soc.soc;
            let measured =
                measure(soc, &probed, scenario, Basis::Cycles, Cycles(1_000_000), |_| {});
            let measured = measured.expect("it runs");
            let readings = json!(measured.samples);
            let mut series = crate::series(name, &soc.name, &self.soc.sha256, &digest, &readings);
            series["executed"] = json!(measured.executed);
            (self.edit)(&mut series);
            series
        };
        let series = self.scenarios.iter().map(scenario);
        let of_kernels = series.flat_map(|series| {
            (0..self.kernels).map(move |number| {
                let mut series = series.clone();
                series["key"]["kernel"] = format!("k{number}").into();
                Answer::Measured(serde_json::from_value(series).expect("a series"))
            })
        });
        of_kernels.collect()
    }
}

/// The line of the source that has this text.
pub fn line_of(text: &str) -> u32 {
    let source = include_str!("../program/program.S");
    let at = source.lines().position(|line| line.trim() == text).expect("in the source");
    at as u32 + 1
}
