//! `rtmark worst --window`: of a program that ends, and of one that does not.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Elf, LOOP, START, rtmark, run_rtmark};
use crate::worst::{expect_success, image, json, worst};

/// A program that runs for ever, with a handler for interrupt 8.
fn endless(folder: &Path) {
    let mut code = vec![0xBF00; 16];
    code[0] = 0xE012;
    let handler = (START + 0x24) | 1;
    code.extend([handler as u16, (handler >> 16) as u16, 0x4770, 0xBF00, 0xBF00, 0xE7FD]);
    Elf { code: &code, ..Elf::default() }.write(&folder.join("a.elf"));
}

#[test]
fn windows_end_with_the_program() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image(folder);
    // It ends by itself some cycles behind its last span.
    let end = json(&expect_success(run_rtmark(
        folder,
        &["sim", "a.elf", "--soc", "stm32c031", "--format", "json"],
    )));
    let end = end["cycles"].as_u64().expect("a number");
    let points = |to: u64| {
        let window = format!("{}:{to}", end - 100);
        let found =
            json(&expect_success(worst(folder, &["--format", "json", "--window", &window])));
        assert_eq!(found["results"][0]["complete"], true);
        found["results"][0]["points"].as_u64().expect("a number")
    };
    let to_the_end = points(end);
    assert!((90..=100).contains(&to_the_end), "{to_the_end}");
    assert_eq!((points(end + 1), points(u64::MAX)), (to_the_end, to_the_end));
    let behind = format!("{}:{}", end + 1000, end + 2000);
    worst(folder, &["--window", &behind])
        .assert_error(2, &["starts after the end", "exits successfully"]);
    // Within one instruction: a nop takes a cycle, the branch that is taken two.
    let within = (900..920).map(|at| format!("{at}:{}", at + 1));
    let refused: Vec<_> = within
        .map(|window| worst(folder, &["--window", &window]))
        .filter(|result| result.code != 0)
        .collect();
    assert!(!refused.is_empty());
    for result in refused {
        result.assert_error(2, &["no instruction starts in cycles", "a longer one"]);
    }
}

#[test]
fn endless_programs_have_windows_up_to_the_budget() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    endless(folder);
    let endless = format!("100:{}", u64::MAX);
    worst(folder, &["--max-cycles", "0x1_000", "--window", &endless])
        .assert_error(12, &["still running after 4096 cycles", "--max-cycles"]);
    expect_success(worst(folder, &["--max-cycles", "1000", "--window", "100:1000"]));
}

/// A run that takes long is not needed for that.
#[test]
fn an_interrupt_without_a_handler_is_refused_before_the_window_is_run() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    Elf { code: LOOP, ..Elf::default() }.write(&folder.join("a.elf"));
    let endless = ["--max-cycles", "1000", "--window", "100:2000"];
    worst(folder, &endless).assert_error(2, &["interrupt 8 has no handler"]);
    let unknown = [&endless[..], &["--interrupt", "200"]].concat();
    worst(folder, &unknown).assert_error(2, &["interrupts 0 to", "not 200"]);
}

/// Before the search there is nothing to keep.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_what_comes_before_a_search() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    endless(folder);
    let mut command = rtmark(folder);
    command.args(["worst", "a.elf", "--soc", "stm32c031", "--max-cycles", "1000000000000000"]);
    let mut child = command.args(["--window", "0:900000000000000"]).spawn().expect("rtmark runs");
    sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("a state").is_none(), "it runs");
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let sent = Instant::now();
    while child.try_wait().expect("a state").is_none() {
        if sent.elapsed() > Duration::from_secs(10) {
            child.kill().expect("it can be killed");
            panic!("Ctrl-C had no effect");
        }
        sleep(Duration::from_millis(20));
    }
}
