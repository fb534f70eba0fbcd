//! The sentences of the first screen follow from the figures and change with them.

use rtmark_model::{Answer, Catalogue};
use rtmark_report::Report;
use serde_json::json;

/// Returns a kernel's figure; for waits, with what holds the interrupt back and where.
fn answer(kernel: &str, scenario: &str, cycles: u64, by: &str) -> Answer {
    let held = json!({"cycles": cycles, "began": 0, "ended": cycles, "times": 1, "total_cycles": cycles,
        "by": [by], "from": {"address": 1, "line": {"file": format!("/x/{kernel}/src/exec.rs"), "line": 7}},
        "to": {"address": 2}});
    serde_json::from_value(json!({
        "answer": "measured",
        "key": {"soc": "one", "kernel": kernel, "version": "1", "profile": "product",
                "scenario": scenario, "backend": "sim"},
        "basis": "cycles",
        "span": {"from": "x", "to": "y", "switches": 0, "overhead": "none", "ticks": 0, "interrupts": 0},
        "clock": 100_000_000,
        "readings": {"exact": [{"value": cycles, "times": 9}]},
        "held": scenario.starts_with("load.held").then_some(held),
        "provenance": {"rtmark": "0", "timing_model": "2", "soc_sha256": "aa", "core": "cortex-m4f",
                       "settings": {}, "compiler": {"version": "gcc"},
                       "firmware": {"image": "load", "elf_sha256": "11", "flash_bytes": 5000, "ram_bytes": 400}},
    }))
    .expect("an answer")
}

/// Returns the sentences of a report of these answers, each with its link target.
fn sentences(answers: &[Answer]) -> Vec<(String, String)> {
    let catalogue = Catalogue::builtin().expect("good");
    let page = Report::of(answers, &catalogue).html().expect("rendered");
    let Some((_, list)) = page.split_once("<ul class=\"findings\">") else { return Vec::new() };
    let list = list.split("</ul>").next().expect("an end");
    let item = |item: &str| {
        let link = item.split("href=\"#").nth(1).and_then(|rest| rest.split('"').next());
        let text = item.split('>').nth(1).and_then(|rest| rest.split("</a").next());
        let text = text.expect("a text").to_owned();
        let link = link.expect("a link").to_owned();
        assert!(page.contains(&format!("id=\"{link}\"")), "{link} is there");
        (text, link)
    };
    let plain = |each: &str| each.replace("<wbr>", "").replace("&nbsp;", " ");
    list.split("<li>").skip(1).map(|each| item(&plain(each))).collect()
}

fn waits(freertos: u64, lilos: u64) -> Vec<Answer> {
    let by = |cycles| if cycles < 20 { "one instruction" } else { "PRIMASK" };
    vec![
        answer("floor", "load.held.most_urgent", 1, "PRIMASK"),
        answer("freertos", "load.held.most_urgent", freertos, by(freertos)),
        answer("lilos", "load.held.most_urgent", lilos, by(lilos)),
    ]
}

#[test]
fn findings_about_held_interrupts_follow_the_figures() {
    let (text, link) = sentences(&waits(14, 2835)).remove(0);
    assert_eq!(
        text,
        "Under one mixed load, FreeRTOS never holds back the most urgent interrupt for longer \
         than one instruction takes; lilos does so for up to 2835 cycles (28.4 \u{b5}s), at \
         lilos/src/exec.rs:7."
    );
    assert_eq!(link, "r1-load.held.most_urgent");
    let (text, _) = sentences(&waits(2835, 14)).remove(0);
    assert!(
        text.contains("lilos never holds") && text.contains("FreeRTOS does so for up to 2835"),
        "{text}"
    );
    let (text, _) = sentences(&waits(300, 200)).remove(0);
    assert!(
        text.contains("lilos holds back the most urgent interrupt least, for 200 cycles"),
        "{text}"
    );
    assert!(text.contains("FreeRTOS does so most, for 300 cycles"), "{text}");
    let (text, _) = sentences(&waits(300, 300)).remove(0);
    assert!(text.contains("every kernel"), "{text}");
    let alone = waits(300, 300).into_iter().take(2).collect::<Vec<_>>();
    let (text, _) = sentences(&alone).remove(0);
    assert!(text.starts_with("Under a mixed load, FreeRTOS holds back"), "{text}");
}

#[test]
fn library_lines_are_shown_with_their_caller() {
    let mut all = waits(100, 2835);
    for each in &mut all {
        let Answer::Measured(series) = each else { continue };
        let held = series.held.as_mut().expect("a wait");
        held.from = serde_json::from_value(json!({
            "address": 1, "function": "core::ptr::drop_in_place<a::B>", "callers": ["main", "TIMER"],
            "line": {"file": "/rustc/0123/library/core/src/ptr/mod.rs", "line": 805},
        }))
        .expect("a place");
        held.to = serde_json::from_value(json!({
            "address": 2, "function": "f", "line": {"file": "/y/b/../a-1.0/src/time.rs", "line": 9},
        }))
        .expect("a place");
    }
    let (text, _) = sentences(&all).remove(0);
    let lines = "from TIMER (core/src/ptr/mod.rs:805) to a-1.0/src/time.rs:9.";
    assert!(text.ends_with(lines), "{text}");
}

fn operations(embassy: [u64; 3], freertos: [u64; 3]) -> Vec<Answer> {
    let mut all = Vec::new();
    for (at, scenario) in ["queue.send.16b", "thread.yield", "isr.wake.thread"].iter().enumerate() {
        all.push(answer("floor", scenario, 1, ""));
        all.push(answer("embassy", scenario, embassy[at], ""));
        all.push(answer("freertos", scenario, freertos[at], ""));
    }
    all
}

#[test]
fn findings_about_the_fastest_kernel_follow_the_figures() {
    let found = sentences(&operations([50, 100, 170], [150, 110, 160]));
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Of 3 operations that several kernels offer, Embassy is the fastest in 2 and FreeRTOS in 1.",
            "Sending 16 bytes takes Embassy 50 cycles, but FreeRTOS 150: 3.0 times as many.",
        ]
    );
    assert_eq!(found[0].1, "operations-1");
    assert_eq!(found[1].1, "r1-queue.send.16b");
    let found = sentences(&operations([150, 110, 160], [50, 100, 170]));
    assert!(found[0].0.contains("FreeRTOS is the fastest in 2 and Embassy in 1"), "{found:?}");
    assert!(found[1].0.contains("takes FreeRTOS 50 cycles, but Embassy 150"), "{found:?}");
    let found = sentences(&operations([100, 100, 700], [100, 100, 100]));
    assert!(
        found[1].0.starts_with("Waking a thread from an interrupt takes FreeRTOS"),
        "{found:?}"
    );
    assert!(found[1].0.ends_with("7.0 times as many."), "{found:?}");
}

#[test]
fn without_data_there_are_no_findings() {
    assert!(sentences(&[]).is_empty());
    let alone = [answer("freertos", "thread.yield", 100, "")];
    assert!(sentences(&alone).is_empty());
    // Neither flagged figures nor requested ones are ranked.
    let mut both = operations([50, 100, 170], [150, 110, 160]);
    for each in &mut both {
        if let Answer::Measured(series) = each {
            series.no_multiple = Some("it is asked for".into());
        }
    }
    assert!(sentences(&both).is_empty());
}
