//! The report in a real browser: it loads without console messages and without requests under its own
//! policy, each control does what it says, its height, legibility and contrast are right at each width,
//! and hostile text stays text.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use rtmark_model::Catalogue;
use rtmark_report::{OtherRun, Report, RunFacts};

use crate::fixture::Fixture;
use crate::suite::{changed, suite};

/// Helpers for the checks: the page is in a frame, whose document is `d`.
const WORDS: &str = include_str!("browser/words.js");
/// Actions on the fixture's page, and what must hold afterwards.
const CONTROLS: &str = include_str!("browser/controls.js");
/// Actions on a page of several runs.
const RUNS: &str = include_str!("browser/runs.js");
/// What must hold at each width, in light and in dark.
const LOOKS: &str = include_str!("browser/looks.js");

fn browser() -> Option<&'static str> {
    let runs = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs)
}

/// Returns the browser, or none if it is not installed, which is printed.
#[expect(clippy::print_stderr, reason = "a test that is passed over says so")]
fn found() -> Option<&'static str> {
    let found = browser();
    if found.is_none() {
        eprintln!("passed over: no Chromium here; scripts/setup test installs it");
    }
    found
}

/// Returns the page after its scripts have run, and what the browser printed meanwhile.
fn loaded(browser: &str, page: &Path, home: &Path) -> (String, String) {
    let output = Command::new("timeout")
        .args(["-s", "KILL", "120", browser, "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--virtual-time-budget=20000"])
        .args(["--allow-file-access-from-files", "--window-size=1600,1200", "--dump-dom"])
        .arg(format!("--user-data-dir={}", home.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Shows a page in a frame of this size, runs the script, and returns each check's name and whether it
/// held.
fn verdicts(browser: &str, report: &str, script: &str, size: (u32, u32)) -> Vec<(String, bool)> {
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("report.html"), report).expect("writable");
    let (width, height) = size;
    let page = format!(
        "<!doctype html><body><iframe id=\"frame\" width=\"{width}\" height=\"{height}\" \
         style=\"border:0\"></iframe><script>{WORDS}\nconst act = async () => {{\n{script}\n}};\n\
         begin();</script></body>"
    );
    let checks = home.path().join("checks.html");
    std::fs::write(&checks, page).expect("writable");
    let (dom, stderr) = loaded(browser, &checks, home.path());
    assert!(!stderr.contains("CONSOLE"), "{stderr}");
    let open = "<pre id=\"verdicts\">";
    let begin = dom.find(open).unwrap_or_else(|| panic!("the checks came to their end: {stderr}"));
    let text = &dom[begin + open.len()..];
    let text = text[..text.find("</pre>").expect("an end")].replace("&gt;", ">");
    serde_json::from_str(&text.replace("&lt;", "<").replace("&amp;", "&")).expect("JSON")
}

fn assert_all(verdicts: &[(String, bool)], least: usize) {
    let mut failed = String::new();
    for (name, _) in verdicts.iter().filter(|(_, fine)| !fine) {
        let _ = writeln!(failed, "{name}");
    }
    assert!(failed.is_empty(), "{failed}");
    assert!(verdicts.len() >= least, "{} checks came to their end", verdicts.len());
}

#[test]
fn every_control_works() {
    let Some(browser) = found() else { return };
    let fixture = Fixture::new();
    let report = fixture.report().html().expect("rendered");
    assert_all(&verdicts(browser, &report, CONTROLS, (1400, 900)), 40);
}

#[test]
fn runs_are_switched_and_compared() {
    let Some(browser) = found() else { return };
    let catalogue = Catalogue::builtin().expect("good");
    let answers = suite(&catalogue, "product");
    let run = |id: &str| RunFacts {
        id: id.into(),
        when: "2026-01-01 00:00".into(),
        revision: Some("0123456789abcdef".into()),
        complete: true,
        command: "rtmark run".into(),
    };
    let documented = changed(suite(&catalogue, "documented"), |series| {
        series.provenance.settings.insert("opt".into(), rtmark_model::Setting::Text("s".into()));
        if series.key.scenario.as_str() == "thread.yield" {
            series.span.switches += 1;
        }
        if series.key.kernel.as_str() == "lilos" {
            series.provenance.compiler.version = "gcc 2".into();
        }
        if series.key.scenario.as_str() == "queue.receive.immediate" {
            series.placements.truncate(1);
        }
        if series.key.scenario.as_str() == "queue.handover" {
            let mut samples = rtmark_model::Samples::new();
            for _ in 0..3 {
                samples.push(7, rtmark_model::Disturbance::NONE);
            }
            series.readings = rtmark_model::Readings::Exact(rtmark_model::Exact(samples));
        }
    });
    let first = run("aaaa");
    let runs = [OtherRun { run: run("bbbb"), answers: documented }];
    let report = Report { run: Some(&first), runs: &runs, ..Report::of(&answers, &catalogue) };
    let report = report.html().expect("rendered");
    assert_all(&verdicts(browser, &report, RUNS, (1400, 900)), 10);
}

#[test]
fn the_page_is_readable_at_each_width_in_light_and_dark() {
    let Some(browser) = found() else { return };
    let catalogue = Catalogue::builtin().expect("good");
    let answers = suite(&catalogue, "product");
    let report = Report::of(&answers, &catalogue).html().expect("rendered");
    for (width, height, most) in [(1400, 900, 12_000), (820, 1100, 14_000), (390, 800, 20_000)] {
        let script = format!("const most = {most};\n{LOOKS}");
        let verdicts = verdicts(browser, &report, &script, (width, height));
        let at: Vec<_> =
            verdicts.into_iter().map(|(name, fine)| (format!("{width}: {name}"), fine)).collect();
        assert_all(&at, 8);
    }
}

#[test]
fn an_empty_page_logs_no_errors() {
    let Some(browser) = found() else { return };
    let catalogue = Catalogue::builtin().expect("good");
    let report = Report::of(&[], &catalogue).html().expect("rendered");
    let script = "check('a heading', seen(q('h1'))); check('no view', !q('.block')); \
                  await find('x'); await select('theme', 'dark');";
    assert_all(&verdicts(browser, &report, script, (1400, 900)), 2);
}

#[test]
fn the_page_loads_nothing_and_runs_only_its_own_script() {
    let fixture = Fixture::new();
    let report = fixture.report().html().expect("rendered");
    assert!(report.contains("default-src 'none'"));
    // Markup of its own leads nowhere but within the page; hostile text has none.
    for markup in
        ["<img", "<link", "<iframe", "href=\"http", "url(", "@import", "onclick=", " style=\""]
    {
        assert!(!report.contains(markup), "{markup}");
    }
    assert_eq!(report.matches("<script").count(), 1, "its own");
    assert_eq!(report.matches("</script").count(), 1);
}
