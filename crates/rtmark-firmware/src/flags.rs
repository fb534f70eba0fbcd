//! What a build reports: the compiler's arguments, and the settings that follow from them.

use std::collections::BTreeMap;
use std::path::Path;

use rtmark_model::{Setting, Settings, setting_info};

/// Parses what the C build records in `obj/settings`: those compiler arguments that affect the output,
/// without paths, and the optimisation level of the image's own source file. Returns them with the
/// settings that follow.
pub(crate) fn c_flags(out: &Path, image: &str) -> (Vec<String>, Settings) {
    let recorded = std::fs::read_to_string(out.join("obj").join("settings")).unwrap_or_default();
    let mut flags: Vec<String> = Vec::new();
    let mut optimisation = ["", ""];
    let mut settings = Settings::new();
    let own = format!("{image}=");
    for word in recorded.split_whitespace() {
        let makes_code = ["-m", "-O", "-f", "-std=", "-D"].iter().any(|p| word.starts_with(p));
        if makes_code && !word.contains('/') && !flags.iter().any(|flag| flag == word) {
            flags.push(word.to_owned());
        }
        if let Some((id, value)) = word.strip_prefix("told:").and_then(|word| word.split_once('='))
        {
            let known = setting_info(id).and_then(|info| info.parse(value).ok());
            let value = known.unwrap_or_else(|| Setting::Text(value.to_owned()));
            settings.insert(id.to_owned(), value);
        }
        if let Some(level) = word.strip_prefix("OPT=") {
            optimisation[0] = level;
        } else if let Some(level) = word.strip_prefix(&own).filter(|level| !level.is_empty()) {
            optimisation[1] = level;
        }
    }
    let [all, own] = optimisation;
    let level = |flag: &str| flag.trim_start_matches("-O").to_owned();
    let mut opt = level(all);
    if !all.is_empty() {
        flags.push(all.to_owned());
    }
    if !own.is_empty() && own != all {
        flags.push(format!("{own} ({image}.c)"));
        opt = format!("{opt}, {} in {image}.c", level(own));
    }
    if !all.is_empty() {
        settings.insert("opt".to_owned(), Setting::Text(opt));
    }
    (flags, settings)
}

/// Returns the release profile of the firmware's Cargo workspace, and the settings that follow from it.
pub(crate) fn rustc_flags(root: &Path, overridden: &[(&str, String)]) -> (Vec<String>, Settings) {
    let text = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let release = manifest.get("profile").and_then(|p| p.get("release")).and_then(|r| r.as_table());
    let plain = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Table(_) | toml::Value::Array(_) => None,
        other => Some(other.to_string()),
    };
    let mut profile: BTreeMap<String, String> = release
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), plain(value)?)))
        .collect();
    for (key, value) in overridden {
        profile.insert((*key).to_owned(), value.trim_matches('"').to_owned());
    }
    let is_on = |key: &str| Setting::Switch(profile.get(key).is_some_and(|value| value == "true"));
    let settings = RUST_PROFILE.iter().map(|&(id, key)| match id {
        // Cargo's own default.
        "opt" => (id, Setting::Text(profile.get(key).map_or("3", |level| level).to_owned())),
        // Without the key, or with another value than true, each crate is optimised separately.
        "lto" => {
            let whole = |value: &String| ["true", "fat", "thin"].contains(&value.as_str());
            (id, Setting::Switch(profile.get(key).is_some_and(whole)))
        }
        _ => (id, is_on(key)),
    });
    let settings = settings.map(|(id, value)| (id.to_owned(), value)).collect();
    let flags = profile.iter().map(|(key, value)| format!("{key}={value}")).collect();
    (flags, settings)
}

/// The settings that are keys of Cargo's profile.
const RUST_PROFILE: [(&str, &str); 4] = [
    ("debug_assertions", "debug-assertions"),
    ("lto", "lto"),
    ("opt", "opt-level"),
    ("overflow_checks", "overflow-checks"),
];

/// Returns a compiler's name and version: `gcc 12.2.1`.
pub(crate) fn short_version(version: &str) -> String {
    let number = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.contains('.')
            && word.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let name = ["clang", "gcc", "rustc"].into_iter().find(|name| version.contains(name));
    match (name, version.split_whitespace().find(number)) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        _ => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_from_what_the_build_records() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::create_dir(folder.path().join("obj")).expect("made");
        let settings = "arm-none-eabi-gcc 12.2.1 -mthumb -mcpu=cortex-m0plus -g -Wall -DX=1 \
                        -I/a/b -mthumb OPT=-O2 told:lto=on told:heap=heap_5 thread= workload=-O3 SOURCES=/a/-mx.c";
        std::fs::write(folder.path().join("obj/settings"), settings).expect("written");
        let common = ["-mthumb", "-mcpu=cortex-m0plus", "-DX=1", "-O2"];
        let (flags, settings) = c_flags(folder.path(), "thread");
        assert_eq!(
            (flags.as_slice(), settings["opt"].to_string()),
            (&common.map(Into::into)[..], "2".into())
        );
        assert_eq!(settings["lto"], Setting::Switch(true));
        assert_eq!(settings["heap"], Setting::Text("heap_5".into()));
        let (flags, settings) = c_flags(folder.path(), "workload");
        assert_eq!(flags[4], "-O3 (workload.c)");
        assert_eq!(settings["opt"].to_string(), "2, 3 in workload.c");

        let manifest = "[profile.release]\nopt-level = \"s\"\nlto = true\n[profile.release.package.x]\nopt-level = 3\n";
        std::fs::write(folder.path().join("Cargo.toml"), manifest).expect("written");
        let (flags, settings) = rustc_flags(folder.path(), &[]);
        assert_eq!(flags, ["lto=true", "opt-level=s"]);
        assert_eq!(settings["overflow_checks"], Setting::Switch(false));
        assert_eq!(settings["lto"], Setting::Switch(true));
        // Cargo's words for link-time optimisation of everything, and of each crate.
        for (word, whole) in [("fat", true), ("thin", true), ("off", false), ("false", false)] {
            let (_, settings) = rustc_flags(folder.path(), &[("lto", word.to_owned())]);
            assert_eq!(settings["lto"], Setting::Switch(whole), "{word}");
        }
        let kernel = "id = 'k'\nname = 'K'\nversion = '1'\nlicense = 'MIT'\nsource = 's'\n\
                      language = 'Rust'\nbuild = 'cargo'\npackage = 'k'\nimages = []\n\
                      cores = ['cortex-m3']\n[switches]\nopt = ['s', '3']\n\
                      overflow_checks = [false, true]\nlto = [true, false]\n";
        let kernel = crate::Manifest::from_toml(kernel).expect("good");
        let variant: crate::Variant =
            "documented+opt=3+overflow_checks=on+lto=off".parse().expect("good");
        let changes = variant.of(&kernel, "cortex-m3").expect("possible");
        let (flags, settings) = rustc_flags(folder.path(), &changes.cargo_profile(&kernel));
        assert_eq!(flags, ["codegen-units=16", "lto=false", "opt-level=3", "overflow-checks=true"]);
        assert_eq!(settings["overflow_checks"], Setting::Switch(true));
        assert_eq!(settings["opt"], Setting::Text("3".into()));
        assert_eq!(settings["lto"], Setting::Switch(false));
    }

    #[test]
    fn compilers_have_short_names() {
        let gcc = "arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205";
        assert_eq!(short_version(gcc), "gcc 12.2.1");
        assert_eq!(short_version("Debian clang version 14.0.6"), "clang 14.0.6");
        assert_eq!(short_version("rustc 1.95.0 (59807616e 2026-04-14)"), "rustc 1.95.0");
        let gcc =
            "arm-none-eabi-gcc (Arm GNU Toolchain 13.2.Rel1 (Build arm-13.7)) 13.2.1 20231009";
        assert_eq!(short_version(gcc), "gcc 13.2.1");
        assert_eq!(short_version("gcc (GCC 7) 12 20221205 7.5.0"), "gcc 7.5.0");
        assert_eq!(short_version("tcc"), "tcc");
    }
}
