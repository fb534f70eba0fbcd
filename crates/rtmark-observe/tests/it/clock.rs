//! The clock of a run, against what programs write to the clock registers of an STM32C031 (RM0490) and state.

use rtmark_observe::{ClockOrigin, RunClock, clock_control, ignored_clock};
use rtmark_sim::{ClockControl, Cycles, Hertz, Machine, MemoryTiming, Soc, Stop};
use rtmark_units::Nanoseconds;

use crate::support::{CORTEX_M, Program, soc};

const RCC_CR: u32 = 0x4002_1000;
const RCC_CFGR: u32 = 0x4002_1008;
/// RCC_CR with the 48 MHz oscillator on, divided by four as after reset, and not at all.
const DIVIDED: u32 = 0x1540;
const UNDIVIDED: u32 = 0x0540;
/// RCC_CFGR with a prescaler of 2, of 4 and of 8, and with a reserved value that selects no clock.
const HALF: u32 = 8 << 8;
const QUARTER: u32 = 9 << 8;
const EIGHTH: u32 = 10 << 8;
const RESERVED: u32 = 2;

/// Where a program finds what it is to store, and where symbols are that the linker is told of.
const LIST: u32 = 0x2000_0400;
const STATED: u32 = 0x2000_0800;

/// Returns an STM32C031 without wait states, so that cycles can be counted.
fn stm32c031(clock_control: ClockControl) -> Soc {
    let mut soc = soc("stm32c031");
    soc.memories[0].timing = MemoryTiming::default();
    soc.init.clear();
    Soc { clock_control, ..soc }
}

/// Runs a program that stores values and states a clock, for so many cycles.
fn run(
    test: &str,
    soc: &Soc,
    stores: &[(u32, u32)],
    symbols: &[&str],
    stated: u32,
) -> (Machine, RunClock) {
    let symbols: Vec<_> = symbols.iter().map(|symbol| format!("-Wl,--defsym={symbol}")).collect();
    let flags: Vec<_> =
        CORTEX_M.iter().copied().chain(symbols.iter().map(String::as_str)).collect();
    let program = Program::build(&format!("clock-{test}"), &flags, &["clocks.s"]);
    let mut machine = program.on(soc);
    machine.poke_word(STATED, stated).expect("RAM");
    for (at, (address, value)) in (LIST..).step_by(8).zip(stores.iter().chain(&[(0, 0)])) {
        machine.poke_word(at, *address).expect("RAM");
        machine.poke_word(at + 4, *value).expect("RAM");
    }
    assert_eq!(machine.run(Cycles(12_000)), Stop::Limit);
    let clock = RunClock::of(&machine, &program.image);
    (machine, clock)
}

fn notes(clock: &RunClock) -> Vec<String> {
    clock.notes.iter().map(ToString::to_string).collect()
}

#[test]
fn times_follow_the_registers() {
    let soc = stm32c031(ClockControl::Registers);
    let (machine, clock) = run("registers", &soc, &[(RCC_CR, UNDIVIDED)], &[], 0);
    assert_eq!((clock.origin, clock.origin.word()), (ClockOrigin::Registers, "registers"));
    // ldr, ldmia, cmp and beq take 7 cycles; the store takes two.
    let changes: Vec<_> = clock.history.changes().map(|it| (it.cycle.0, it.clock)).collect();
    let [(0, Hertz(12_000_000)), (since @ 7..=9, Hertz(48_000_000))] = changes[..] else {
        panic!("{changes:?}")
    };
    assert_eq!(clock.main(), Hertz(48_000_000));
    let cycles = machine.cycles().0;
    let nanoseconds = since as f64 * 1e3 / 12.0 + (cycles - since) as f64 * 1e3 / 48.0;
    assert_eq!(clock.duration(), Nanoseconds(nanoseconds.round() as u64));
    assert_eq!(clock.describe(), format!("12 MHz, then 48 MHz from cycle {since}"));
    assert_eq!(notes(&clock), [""; 0]);
}

#[test]
fn only_some_of_many_changes_are_listed() {
    let soc = stm32c031(ClockControl::Registers);
    let stores = |count: usize| {
        let all = [HALF, QUARTER, HALF, QUARTER, HALF, EIGHTH];
        all.map(|value| (RCC_CFGR, value)).into_iter().take(count).collect::<Vec<_>>()
    };
    // One turn of the loop: ldmia, cmp, beq, str and b.
    let begins = |text: &str| {
        text.split("from cycle ")
            .skip(1)
            .map(|rest| {
                rest.split(',').next().and_then(|it| it.parse::<u64>().ok()).expect("a cycle")
            })
            .collect::<Vec<_>>()
    };
    let (_, clock) = run("four", &soc, &stores(4), &[], 0);
    let described = clock.describe();
    let since = begins(&described);
    assert_eq!(since.windows(2).map(|two| two[1] - two[0]).collect::<Vec<_>>(), [9; 3]);
    assert!(described.starts_with("12 MHz, then 6 MHz from cycle ") && !described.contains("more"));
    let (_, clock) = run("six", &soc, &stores(6), &[], 0);
    let described = clock.describe();
    assert_eq!(begins(&described).len(), 4, "{described}");
    assert!(described.ends_with(", and 2 more changes, the last to 1.5 MHz"), "{described}");
    assert_eq!(clock.main(), Hertz(1_500_000));
}

#[test]
fn a_program_that_leaves_the_clock_alone_is_told_so() {
    let soc = stm32c031(ClockControl::Registers);
    let (_, clock) = run("left", &soc, &[], &[], 0);
    let text = "the program leaves the core at the clock after reset, 12 MHz, of the soc's 48 MHz";
    assert_eq!(notes(&clock), [text]);
    // Not if that is the soc's clock, nor if no register could change it.
    let same = Soc { clock: Hertz(12_000_000), ..soc.clone() };
    assert_eq!(notes(&run("same", &same, &[], &[], 0).1), [""; 0]);
    let mut constant = soc;
    let tree = constant.clock_tree.as_mut().expect("a tree");
    tree.clocks.retain(|clock| clock.name == "HSI48");
    tree.core = "HSI48".to_owned();
    let other = Soc { clock: Hertz(24_000_000), ..constant };
    let (_, clock) = run("constant", &other, &[], &[], 0);
    assert_eq!((clock.main(), notes(&clock)), (Hertz(48_000_000), Vec::new()));
}

#[test]
fn a_clock_that_cannot_be_determined_is_the_stated_one() {
    let soc = stm32c031(ClockControl::Registers);
    let stores = [(RCC_CFGR, RESERVED)];
    let (_, clock) = run("reserved", &soc, &stores, &[], 0);
    assert_eq!((clock.origin, clock.main()), (ClockOrigin::Soc, Hertz(48_000_000)));
    let [note] = &notes(&clock)[..] else { panic!("{:?}", clock.notes) };
    assert!(
        note.starts_with("from cycle ")
            && note.contains("times are at 48 MHz, as the soc's file says")
    );
    assert!(
        note.ends_with("; for others, --clock; for a board with another crystal, --crystal"),
        "{note}"
    );
    let symbol = format!("SystemCoreClock={STATED}");
    let (_, clock) = run("reserved-stated", &soc, &stores, &[&symbol], 16_000_000);
    assert_eq!(
        (clock.origin, clock.origin.word()),
        (ClockOrigin::Program("SystemCoreClock"), "program")
    );
    assert_eq!(clock.main(), Hertz(16_000_000));
    assert!(
        notes(&clock)[0].contains("times are at 16 MHz, as the program's SystemCoreClock states")
    );
}

#[test]
fn a_program_may_state_another_clock_than_its_registers_give() {
    let soc = stm32c031(ClockControl::Registers);
    let symbol = format!("SystemCoreClock={STATED}");
    // One per cent is rounding; values that are no clock are not stated.
    for (stated, is_another) in [
        (48_000_000, false),
        (47_520_000, false),
        (48_480_000, false),
        (47_519_999, true),
        (48_480_001, true),
        (999, false),
        (1_000, true),
        (2_000_000_000, true),
        (2_000_000_001, false),
    ] {
        let (_, clock) = run("stated", &soc, &[(RCC_CR, UNDIVIDED)], &[&symbol], stated);
        assert_eq!((clock.origin, clock.main()), (ClockOrigin::Registers, Hertz(48_000_000)));
        assert_eq!(clock.notes.len(), usize::from(is_another), "{stated} {:?}", clock.notes);
    }
    let (_, clock) = run("stated", &soc, &[(RCC_CR, UNDIVIDED)], &[&symbol], 16_000_000);
    let text = "times are at the 48 MHz that the clock registers give; the program's SystemCoreClock states 16 MHz: \
                for that, --clock 16MHz; for a board with another crystal, --crystal";
    assert_eq!(notes(&clock), [text]);
}

/// A program for a board with another crystal than the soc's file states: the crystal follows from the clock that it states.
#[test]
fn the_crystal_that_a_program_is_for_is_named() {
    let soc = stm32c031(ClockControl::Registers);
    let symbol = format!("SystemCoreClock={STATED}");
    // HSEON and the internal oscillator; then SW selects HSE.
    let stores = [(RCC_CR, 1 << 16 | DIVIDED), (RCC_CFGR, 1)];
    let named = |clock: u32, crystal: u32| {
        format!(
            "; with a crystal of {crystal} MHz the registers give {clock} MHz: --crystal {crystal}MHz"
        )
    };
    for (stated, crystal) in [(25, Some(25)), (12, Some(12)), (11, None)] {
        let (_, clock) = run("crystal", &soc, &stores, &[&symbol], stated * 1_000_000);
        let [note] = &notes(&clock)[..] else { panic!("{stated}: {:?}", clock.notes) };
        let other = "; for a board with another crystal, --crystal".to_owned();
        let expected = crystal.map_or(other, |crystal| named(stated, crystal));
        assert!(note.ends_with(&expected), "{stated}: {note}");
    }
}

#[test]
fn without_a_clock_tree_the_program_says_how_fast_it_runs() {
    let soc = Soc { clock_control: ClockControl::Registers, ..soc("generic-cortex-m0") };
    let zephyr = "CONFIG_SYS_CLOCK_HW_CYCLES_PER_SEC=8000000";
    let [systick, no_systick] = [1, 0].map(|value| format!("CONFIG_CORTEX_M_SYSTICK={value}"));
    for (symbols, origin, clock) in [
        (vec![], ClockOrigin::Soc, 100),
        (vec![zephyr, &systick], ClockOrigin::Program("CONFIG_SYS_CLOCK_HW_CYCLES_PER_SEC"), 8),
        (vec![zephyr, &no_systick], ClockOrigin::Soc, 100),
        (vec![zephyr], ClockOrigin::Soc, 100),
    ] {
        let (_, found) = run("zephyr", &soc, &[], &symbols, 0);
        assert_eq!((found.origin, found.main()), (origin, Hertz(clock * 1_000_000)), "{symbols:?}");
        assert_eq!(found.notes.len(), usize::from(clock != 100));
    }
    let symbol = format!("rcc_ahb_frequency={STATED}");
    let (machine, clock) = run("libopencm3", &soc, &[], &[&symbol], 24_000_000);
    assert_eq!(clock.duration(), Nanoseconds(machine.cycles().0 * 1_000 / 24));
    let text = "times are at 24 MHz, as the program's rcc_ahb_frequency states, but peripherals that count time run \
                at the soc's 100 MHz: for both, --clock 24MHz";
    assert_eq!(notes(&clock), [text]);
    // Where only rounding differs, the soc's is meant.
    let (_, clock) = run("rounded", &soc, &[], &[&symbol], 99_999_999);
    assert_eq!((clock.main(), clock.notes.len()), (Hertz(100_000_000), 0));
}

#[test]
fn a_fixed_clock_is_said_to_ignore_what_the_program_selects() {
    let soc = stm32c031(ClockControl::Fixed);
    let soc = Soc { clock: Hertz(24_000_000), ..soc };
    let (machine, clock) = run("fixed", &soc, &[(RCC_CR, UNDIVIDED)], &[], 0);
    assert_eq!((clock.origin.word(), clock.main()), ("soc", Hertz(24_000_000)));
    let text = "the program sets the core's clock to 48 MHz by its registers, but times are at the soc's 24 MHz: \
                for the other, --clock 48MHz";
    assert_eq!(notes(&clock), [text]);
    assert_eq!(ignored_clock(&machine, None), Some(Hertz(48_000_000)));
    assert_eq!(ignored_clock(&machine, Some(Hertz(12_000_000))), Some(Hertz(48_000_000)));
    assert_eq!(ignored_clock(&machine, Some(Hertz(48_000_000))), None);
    // A program that leaves the clock after reset does not set one, and neither does one that sets the soc's.
    assert_eq!(notes(&run("fixed-left", &soc, &[(RCC_CR, DIVIDED)], &[], 0).1), [""; 0]);
    let (machine, clock) =
        run("fixed-same", &soc, &[(RCC_CR, UNDIVIDED), (RCC_CFGR, HALF)], &[], 0);
    assert_eq!((ignored_clock(&machine, None), notes(&clock)), (None, Vec::new()));
    let followed = stm32c031(ClockControl::Registers);
    let (machine, _) = run("followed", &followed, &[(RCC_CR, UNDIVIDED)], &[], 0);
    assert_eq!(ignored_clock(&machine, None), None);
}

#[test]
fn only_images_with_both_marks_are_rtmarks_own() {
    let marks = ["-Wl,--defsym=rtmark_select=1", "-DPROBES"];
    for (flags, control) in [
        (&marks[..0], ClockControl::Registers),
        (&marks[..1], ClockControl::Registers),
        (&marks[1..], ClockControl::Registers),
        (&marks[..], ClockControl::Fixed),
    ] {
        let flags = [CORTEX_M, flags].concat();
        let program = Program::build("marks", &flags, &["app.c", "other.c"]);
        assert_eq!(clock_control(&program.image), control, "{flags:?}");
    }
}
