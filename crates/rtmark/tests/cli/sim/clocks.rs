//! `rtmark sim`: times by the clock registers.

use serde_json::Value;

use super::Scratch;
use crate::common::{Elf, FLASH, LOOP, Probe, run_rtmark};

/// A raw binary for an STM32F405 that performs stores, and waits about 3000 cycles after each.
fn storing(stores: &[(u32, u32)]) -> Vec<u8> {
    // For each store: ldr r0, ADDRESS; ldr r1, VALUE; str r1, [r0]; ldr r2, 1000; subs r2, #1; bne
    let literals = (8 + 12 * stores.len() + 4).next_multiple_of(4);
    let load = |register: u16, at: usize, literal: usize| {
        let from = (at + 4) & !3;
        0x4800 | register << 8 | ((literals + 4 * literal - from) / 4) as u16
    };
    let mut bytes = [0x2000_1000_u32, 0x0800_0009].map(u32::to_le_bytes).concat();
    for (number, _) in stores.iter().enumerate() {
        let at = bytes.len();
        let loads = [load(0, at, 2 * number + 1), load(1, at + 2, 2 * number + 2)];
        let rest = [0x6001, load(2, at + 6, 0), 0x3A01, 0xD1FD];
        bytes.extend(loads.into_iter().chain(rest).flat_map(u16::to_le_bytes));
    }
    bytes.extend([0xE7FE_u16, 0xBF00].into_iter().flat_map(u16::to_le_bytes));
    bytes.resize(literals, 0);
    let words = stores.iter().flat_map(|(address, value)| [*address, *value]);
    bytes.extend([1_000].into_iter().chain(words).flat_map(u32::to_le_bytes));
    bytes
}

/// Runs `rtmark sim` on such a program; returns its document and what it says.
fn clocked(stores: &[(u32, u32)], more: &[&str]) -> (Value, String) {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("clocks.bin"), storing(stores)).expect("writable");
    let base = ["sim", "clocks.bin", "--soc", "stm32f405", "--base", "0x08000000"];
    let lasts = if more.contains(&"--for") { &[][..] } else { &["--for", "1ms"] };
    let arguments = [&base[..], lasts, more].concat();
    let said = run_rtmark(scratch.folder.path(), &arguments).stderr;
    let json = [&arguments[..], &["--format", "json"]].concat();
    let document = run_rtmark(scratch.folder.path(), &json).stdout;
    (serde_json::from_str(&document).expect("JSON"), said)
}

/// RCC of the STM32F405: 168 MHz from a crystal of 8 MHz, then half of it.
const TO_168_MHZ: [(u32, u32); 4] = [
    (0x4002_3804, 0x0740_5408),
    (0x4002_3800, 0x0101_0083),
    (0x4002_3808, 0x0000_9402),
    (0x4002_3808, 0x0000_9482),
];

#[test]
fn times_follow_the_clock_registers() {
    let (document, said) = clocked(&TO_168_MHZ, &[]);
    let clocks = document["clocks"].as_array().expect("a list");
    let hertz: Vec<_> = clocks.iter().map(|it| it["clock_hz"].as_u64().expect("hertz")).collect();
    assert_eq!(hertz, [16_000_000, 168_000_000, 84_000_000]);
    assert_eq!(document["clock_source"], "registers");
    let from: Vec<_> = clocks.iter().map(|it| it["from_cycle"].as_f64().expect("cycle")).collect();
    let cycles = document["cycles"].as_f64().expect("cycles");
    let parts = [(from[1], 16.0), (from[2] - from[1], 168.0), (cycles - from[2], 84.0)];
    let time: f64 = parts.iter().map(|(cycles, mhz)| cycles * 1e3 / mhz).sum();
    let shown = document["nanoseconds"].as_f64().expect("a time");
    assert!((shown - time).abs() < 2.0 && (1e6..1.0001e6).contains(&shown), "{shown}, {time}");
    assert!(said.contains("at 16 MHz, then 168 MHz from cycle "), "{said}");
    // Another crystal, and a clock that is given.
    let (document, _) = clocked(&TO_168_MHZ[..3], &["--crystal", "4MHz"]);
    let unknown = document["clock_source"].as_str().expect("a word");
    assert_eq!((unknown, document["clocks"][0]["clock_hz"].as_u64()), ("soc", Some(168_000_000)));
    let (document, said) = clocked(&TO_168_MHZ, &["--clock", "100MHz"]);
    assert_eq!(document["cycles"].as_u64(), Some(100_000));
    assert!(said.contains("at 100 MHz") && !said.contains("then"), "{said}");
}

/// Down to 125 kHz, and up again: each instruction takes microseconds there.
#[test]
fn a_run_lasts_as_long_as_asked_however_slow_the_clock_becomes() {
    let slow = (0x4002_3808, 0xD0);
    for more in [&[][..], &["--masked"], &["--profile"]] {
        for (stores, last) in [([slow, slow], 125_000), ([slow, (0x4002_3808, 0x90)], 4_000_000)] {
            let (document, _) = clocked(&stores, &[&["--for", "60ms"], more].concat());
            let lasted = document["nanoseconds"].as_u64().expect("a time");
            assert!((60_000_000..60_050_000).contains(&lasted), "{more:?}: {lasted} ns");
            let clocks = document["clocks"].as_array().expect("a list");
            assert_eq!(clocks[clocks.len() - 1]["clock_hz"], last, "{more:?}");
        }
    }
}

/// An image that leaves its clock at 16 MHz.
#[test]
fn runs_that_are_observed_last_as_long_as_asked_on_their_own_clock() {
    let scratch = Scratch::new();
    Elf { code: LOOP, second: "other", ..Elf::default() }.write(&scratch.path("a.elf"));
    let soc = ["--soc", "stm32f405"];
    for (limit, cycles) in
        [(&[][..], 16_000_000), (&["--for", "10us"], 160), (&["--max-cycles", "1000"], 1_000)]
    {
        let image = ["--image", "a=a.elf", "--format", "json"];
        let footprint = [&["footprint"], &image[..], &soc, limit].concat();
        let document = run_rtmark(scratch.folder.path(), &footprint).stdout;
        let document: Value = serde_json::from_str(&document).expect("JSON");
        assert_eq!(document["images"][0]["cycles"], cycles, "{limit:?}");
        let trace = [&["trace", "a.elf", "-o", "a.pftrace"], &soc[..], limit].concat();
        let traced = run_rtmark(scratch.folder.path(), &trace);
        let shown = format!(" in cycles 0 to {cycles}\n");
        assert!(traced.code == 0 && traced.stdout.ends_with(&shown), "{limit:?}: {traced:#?}");
    }
}

#[test]
fn what_the_clock_registers_do_not_tell_is_said() {
    let (document, said) = clocked(&[(0x4002_3804, 0)], &[]);
    assert_eq!(
        (document["cycles"].as_u64(), document["nanoseconds"].as_u64()),
        (Some(16_000), Some(1_000_000))
    );
    assert!(said.contains("at the clock after reset, 16 MHz, of the soc's 168 MHz"), "{said}");
    let (document, said) = clocked(&[(0x4002_3808, 1)], &[]);
    assert_eq!(document["clock_source"], "soc");
    assert!(
        said.contains("HSE needs RCC.CR[16] to be 0x1, and it is 0x0; times are at 168 MHz"),
        "{said}"
    );
    // The run ends after a millisecond of the times that it reports, and says of which clock.
    assert_eq!(
        (document["cycles"].as_u64(), document["nanoseconds"].as_u64()),
        (Some(168_000), Some(1_000_000))
    );
    assert!(said.contains("--for: the clock that the registers select is not known"), "{said}");
    assert!(said.contains("its time passed at 168 MHz"), "{said}");
}

/// Probes may be in anybody's firmware; only images that rtmark builds are of the soc's clock.
#[test]
fn probes_do_not_decide_the_clock() {
    let scratch = Scratch::new();
    let probes: &[Probe<'_>] = &[(1, FLASH + 0x40, "a.b"), (2, FLASH + 0x42, "a.b")];
    for (second, clock) in [("other", "16 MHz"), ("rtmark_select", "168 MHz")] {
        Elf { probes, second, ..Elf::default() }.write(&scratch.path("p.elf"));
        let ran = run_rtmark(scratch.folder.path(), &["sim", "p.elf", "--soc", "stm32f405"]);
        assert!(ran.stderr.contains(&format!("at {clock}\n")), "{second}: {ran:#?}");
        let reset = ran.stderr.contains("leaves the core at the clock after reset");
        assert_eq!(reset, second == "other", "{ran:#?}");
    }
}

#[test]
fn a_crystal_is_refused_where_there_is_none() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a.elf"), Elf::default().bytes()).expect("writable");
    for command in [
        &["sim", "a.elf"][..],
        &["run", "--image", "a=a.elf"],
        &["footprint", "--image", "a=a.elf"],
    ] {
        let arguments = [command, &["--soc", "mps2-an385", "--crystal", "8MHz"]].concat();
        run_rtmark(scratch.folder.path(), &arguments)
            .assert_error(2, &["--crystal", "mps2-an385", "has no crystal", "--clock"]);
    }
}
