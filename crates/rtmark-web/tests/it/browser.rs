//! The site in a real browser: the same cycles as here, nothing executed that came as text, and no
//! request to anybody else.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::image::{PRINTED, faults, prints, works};
use crate::native::{events, soc};
use crate::server::{BELOW, serve};

/// What is done in the page: each image is chosen as a file, run, and what the page then shows is sent.
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

/// The site in a folder, or none where it cannot be built.
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
fn a_browser_counts_the_same_cycles() {
    let Some((chromium, folder)) = chromium().and_then(|name| Some((name, site()?))) else {
        eprintln!("passed over: no Chromium or no wasm32-wasip1; scripts/setup test installs both");
        return;
    };
    let images = [("stm32c031", prints()), ("stm32f405", works()), ("stm32c031", faults())];
    let cases: Vec<Value> =
        images.iter().map(|(chip, image)| json!({"chip": chip, "image": image})).collect();
    let page = CHECKS.replace("CASES", &Value::Array(cases).to_string());
    std::fs::write(folder.path().join("checks.html"), page).expect("writable");
    let (port, posted) = serve(folder.path());
    let home = tempfile::tempdir().expect("a scratch folder");
    let _browser = Browser(
        Command::new(chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", home.path().display()))
            .arg(format!("http://127.0.0.1:{port}{BELOW}checks.html"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser runs"),
    );
    let told = posted.recv_timeout(Duration::from_mins(2)).expect("the page came to its end");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["problems"], json!([]), "{told}");
    for program in ["jumps", "calls"] {
        let shown = told[program].as_array().expect("a list");
        assert_eq!(shown.len(), images.len(), "{told}");
        for ((chip, image), shown) in images.iter().zip(shown) {
            let clock = if *chip == "stm32c031" { 48_000_000 } else { 168_000_000 };
            let here = events(&soc(chip), image, clock);
            let last = here.last().expect("an end");
            assert_eq!(shown["cycles"], last["cycles"], "{program} on {chip}: {told}");
            assert_eq!(shown["instructions"], last["instructions"], "{program} on {chip}: {told}");
            let text = last["text"].as_str().expect("a text");
            assert!(shown["state"].as_str().is_some_and(|state| state.contains(text)), "{told}");
        }
        assert_eq!(shown[0]["console"], PRINTED);
    }
}
