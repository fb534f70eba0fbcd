//! The site in a real browser: it shows the same cycles and the same moments as the native program,
//! every control does what it says, no text is executed, and no request goes elsewhere.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::image::{PRINTED, faults, interrupted, prints, works};
use crate::native::{ended, moment, soc};
use crate::server::{BELOW, serve};

/// Actions in the page: images are chosen as files and run, each control is used, and what the page
/// then shows is sent.
const CHECKS: &str = include_str!("checks.html");

struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn chromium() -> Option<&'static str> {
    let runs = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs)
}

/// Builds the site in a folder; returns none if it cannot be built.
fn site() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let status = Command::new("scripts/site")
        .arg(folder.path())
        .env("RTMARK", "none")
        .current_dir(format!("{}/../..", env!("CARGO_MANIFEST_DIR")))
        .status()
        .expect("a shell");
    match status.code() {
        Some(0) => Some(folder),
        Some(13) => None,
        _ => panic!("scripts/site: {status}"),
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is passed over says so")]
fn a_browser_shows_the_same_cycles_and_moments() {
    let Some((chromium, folder)) = chromium().and_then(|name| Some((name, site()?))) else {
        eprintln!("passed over: no Chromium or no wasm32-wasip1; scripts/setup test installs both");
        return;
    };
    let images = [("stm32c031", prints()), ("stm32f405", works()), ("stm32c031", faults())];
    let cases: Vec<Value> =
        images.iter().map(|(chip, image)| json!({"chip": chip, "image": image})).collect();
    let page = CHECKS
        .replace("CASES", &Value::Array(cases).to_string())
        .replace("LOOP", &json!(interrupted()).to_string());
    std::fs::write(folder.path().join("checks.html"), page).expect("writable");
    assert_small(folder.path());
    offer(folder.path());
    darken(folder.path());
    let (port, posted) = serve(folder.path());
    let home = tempfile::tempdir().expect("a scratch folder");
    let stderr = home.path().join("said");
    let browser = Browser(
        Command::new(chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--disable-background-timer-throttling", "--disable-renderer-backgrounding"])
            .arg(format!("--user-data-dir={}", home.path().display()))
            .arg(format!("http://127.0.0.1:{port}{BELOW}checks.html"))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&stderr).expect("writable"))
            .spawn()
            .expect("the browser runs"),
    );
    let result = posted.recv_timeout(Duration::from_mins(20)).unwrap_or_else(|_| {
        let stderr = std::fs::read_to_string(&stderr).unwrap_or_default();
        panic!("the page did not come to its end, and {chromium} says:\n{stderr}")
    });
    drop(browser);
    let result: Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!(result["problems"], json!([]), "{result}");
    for program in ["jumps", "calls"] {
        let shown = result[program].as_array().expect("a list");
        assert_eq!(shown.len(), images.len(), "{result}");
        for ((chip, image), shown) in images.iter().zip(shown) {
            // A second at the clock after reset.
            let clock = if *chip == "stm32c031" { 12_000_000 } else { 16_000_000 };
            let here = ended(&soc(chip), image, clock);
            assert_eq!(shown["cycles"], here["cycles"], "{program} on {chip}: {result}");
            assert_eq!(
                shown["instructions"], here["instructions"],
                "{program} on {chip}: {result}"
            );
            let text = here["text"].as_str().expect("a text");
            assert!(shown["state"].as_str().is_some_and(|state| state.contains(text)), "{result}");
        }
        assert_eq!(shown[0]["console"], PRINTED);
    }
    let moments = result["moments"].as_array().expect("a list");
    assert_eq!(moments.len(), 5, "{result}");
    for shown in moments {
        assert_eq!(shown["aria"], 1, "{shown}");
        let cycle = shown["cycle"].as_u64().expect("a cycle");
        assert_same(shown, &moment(&soc("stm32f405"), &interrupted(), cycle));
    }
    let worst = &result["worst"];
    let cycles = |name: &str| worst[name].as_u64().expect("a cycle");
    let text = format!("Priority 0x00: at worst {} cycles", cycles("entered") - cycles("point"));
    assert!(worst["text"].as_str().is_some_and(|found| found.starts_with(&text)), "{worst}");
}

/// Asserts that what a first visit loads stays below 3 MiB without compression, with room for an image and a
/// chip's file.
fn assert_small(folder: &std::path::Path) {
    const LIMIT: u64 = 3 << 20;
    const IMAGE: u64 = 136 << 10;
    let is_loaded = |name: &str| {
        let page = ["js", "css", "json"].iter().any(|end| name.ends_with(&format!(".{end}")));
        page || ["index.html", "rtmark-jumps.wasm"].contains(&name)
    };
    let files = std::fs::read_dir(folder).expect("a folder").flatten();
    let loaded = files.filter(|file| file.file_name().to_str().is_some_and(is_loaded));
    let bytes: u64 = loaded.map(|file| file.metadata().expect("its size").len()).sum();
    assert!(bytes > 1 << 20 && bytes + IMAGE < LIMIT, "{bytes} bytes");
}

/// Adds images to those of the suite, and one that visitors see first.
fn offer(folder: &std::path::Path) {
    let list = folder.join("site.json");
    let text = std::fs::read_to_string(&list).expect("a list");
    let mut text: Value = serde_json::from_str(&text).expect("JSON");
    text["images"] = json!({"stm32f405": ["loop"], "stm32c031": ["prints"]});
    text["first"] = json!({"chip": "stm32c031", "image": "prints"});
    std::fs::write(&list, text.to_string()).expect("writable");
    for (name, image) in [("stm32f405/loop", interrupted()), ("stm32c031/prints", prints())] {
        let file = folder.join("images").join(name).with_extension("elf");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
        std::fs::write(file, image).expect("writable");
    }
}

/// Adds a second page, which is dark whatever the browser prefers.
fn darken(folder: &std::path::Path) {
    for (from, to, what, instead) in [
        ("index.html", "dark.html", "site.css", "dark.css"),
        ("site.css", "dark.css", "(prefers-color-scheme:dark)", "all"),
    ] {
        let text = std::fs::read_to_string(folder.join(from)).expect("a file");
        assert!(text.contains(what), "{from} has no {what}");
        std::fs::write(folder.join(to), text.replace(what, instead)).expect("writable");
    }
}

/// Asserts that the page shows the registers and the instruction of the native program's moment.
fn assert_same(shown: &Value, here: &Value) {
    assert_eq!(shown["cycle"], here["cycles"]);
    let registers = here["registers"].as_array().expect("a list");
    assert!(registers.len() > 16, "{here}");
    for register in registers {
        let name = register[0].as_str().expect("a name");
        assert_eq!(shown["registers"][name], register[1], "{name}: {shown}");
    }
    let code = here["code"].as_array().expect("a list");
    let row = code.iter().find(|row| row["address"] == here["pc"]).expect("the instruction");
    let text = row["text"].as_str().expect("a text");
    assert!(shown["code"].as_str().is_some_and(|shown| shown.contains(text)), "{shown}");
}
