//! System files: what is accepted, and what is rejected with line and key.

use rtmark_plan::{
    Chip, EXAMPLE, Granule, Queue, Release, Rounding, Set, System, SystemError, Task, Time, Work,
};

const CHIP: Chip = Chip { hertz: 168_000_000, clock: 168_000_000, ram: 128 * 1024 };

fn set(text: &str) -> Result<Set, SystemError> {
    System::from_toml("system.toml", text)?.set(CHIP, &mut |work| match work {
        Work::Scenario(_) => Ok(Some(1_000)),
        other => Err(format!("{other:?} is not measured here")),
    })
}

/// The example with one text replaced by another.
fn changed(from: &str, to: &str) -> SystemError {
    assert!(EXAMPLE.contains(from), "{from}");
    set(&EXAMPLE.replacen(from, to, 1)).expect_err("refused")
}

#[test]
fn the_example_is_in_order() {
    let set = set(EXAMPLE).expect("in order");
    assert_eq!(set.tick, 16_800);
    let control = &set.tasks[0];
    assert_eq!((control.period, control.deadline, control.work), (16_800, 13_440, 5_040));
    assert_eq!(control.sections[0].cycles, 336);
    assert_eq!(set.tasks[1].release, Release::Interrupt(0));
    assert_eq!(set.tasks[1].period, set.interrupts[0].distance);
    // 22 ms: at most 20 between two looks, and a message may come 2 after its release.
    let log = &set.tasks[3];
    assert_eq!((set.tasks[2].sends, log.receives, log.looks, set.queues[0].items), (1, 11, 1, 12));
    assert_eq!(set.assumptions(), [""; 0]);
    let mut by_interrupt = set.clone();
    by_interrupt.tasks[3].release = Release::Interrupt(0);
    let told = by_interrupt.assumptions();
    let interrupt = &set.interrupts[0].name;
    assert!(
        told.len() == 1 && told[0].contains(&format!("interrupt {interrupt} comes")),
        "{told:?}"
    );
}

/// The number of accumulated messages is exact: the worst moments of sending and looking reach it
/// and never exceed it.
#[test]
fn the_number_of_accumulated_messages_is_exact() {
    for (sends, sent_in) in [(5, 5), (5, 2), (7, 7), (20, 9)] {
        for (looks, looked_in) in [(5, 5), (18, 4), (21, 21), (3, 2)] {
            let tasks = vec![
                Task { deadline: sent_in, ..Task::new("from", 2, 1, sends) },
                Task { deadline: looked_in, ..Task::new("to", 1, 1, looks) },
            ];
            let mut set = Set { tasks, ..Set::default() };
            // A look at the moment of a release, and the next one ending as late as possible: every
            // message that can be sent between them is.
            let (begin, end) = (1_000, 1_000 + looks + looked_in);
            let between = |offset: u64| {
                let releases = (0..).map(|job| offset + job * sends).take_while(|at| *at < end);
                releases.filter(|at| at + sent_in >= begin).count() as u64
            };
            let most = (0..sends).map(between).max();
            assert_eq!(Some(set.accumulated(0, 1)), most, "{set:?}");
            let queue = |items| Queue { name: "q".into(), from: 0, to: 1, items };
            assert_eq!(set.connect(queue(most.unwrap_or(0) - 1)), Err(most.unwrap_or(0)));
            assert_eq!(set.connect(queue(most.unwrap_or(0))), Ok(()));
            // Before a late first look, everything sent since the start has accumulated.
            set.tasks[1].offset = 50 * sends;
            assert_eq!(set.accumulated(0, 1), 50 + looked_in.div_ceil(sends));
        }
    }
}

#[test]
fn times_have_units() {
    for (text, cycles) in [
        ("120us", 20_160),
        ("1.5ms", 252_000),
        ("2 s", 336_000_000),
        ("7 cycles", 7),
        ("100ns", 17),
    ] {
        let time = Time::read(text).map(|time| time.cycles(CHIP.hertz, Rounding::Nearest));
        assert_eq!(time, Ok(cycles), "{text}");
    }
    // 48.96, 0.48 and 49.44 cycles at 48 MHz.
    for (text, rounded) in
        [("1.02 us", [48, 49, 49]), ("10 ns", [0, 0, 1]), ("1.03 us", [49, 49, 50])]
    {
        let time = Time::read(text).expect("a time");
        let all = [Rounding::Down, Rounding::Nearest, Rounding::Up];
        assert_eq!(all.map(|rounding| time.cycles(48_000_000, rounding)), rounded, "{text}");
        assert_eq!(all.map(|rounding| Time::Cycles(7).cycles(48_000_000, rounding)), [7; 3]);
    }
    for text in ["", "ms", "1.", "1..2ms", "-1ms", "1 min", "1e3us", "99999999999s", "0x10"] {
        assert!(Time::read(text).is_err(), "{text}");
    }
}

#[test]
fn errors_name_line_and_key() {
    let line =
        |needle: &str| EXAMPLE[..EXAMPLE.find(needle).expect("there")].matches('\n').count() + 1;
    let cases = [
        ("kernels = [", "kernel = [", "kernels = [", "unknown field"),
        ("soc = \"stm32f405\"", "soc = 4", "soc = \"stm32f405\"", "string"),
        ("period = \"2ms\"", "period = \"2 min\"", "period = \"2ms\"", "is not a time"),
        ("period = \"2ms\"", "period = 0", "period = \"2ms\"", "too short"),
        ("work = \"1.5ms\"", "work = \"9.9ms\"", "work = \"30us\"", "% of the processor"),
        ("deadline = \"80us\"", "deadline = \"20us\"", "deadline = \"80us\"", "less than"),
        ("on = \"can\"", "on = \"cam\"", "on = \"can\"", "no interrupt `cam`"),
        (
            "on = \"can\"",
            "on = \"can\"\nperiod = 5",
            "on = \"can\"\n",
            "by the clock and by an interrupt",
        ),
        ("on = \"can\"\n", "", "name = \"bus\"", "nothing releases"),
        (
            "name = \"setpoint\", for = \"5us\"",
            "name = \"setpont\", for = \"5us\"",
            "for = \"5us\"",
            "not among the `locks`",
        ),
        ("for = \"5us\"", "for = \"41us\"", "for = \"5us\"", "only 6720 are available"),
        ("name = \"log\"", "name = \"bus\"", "name = \"log\"", "occurs twice"),
        ("priority = 4", "priority = \"assign\"", "priority = 3", "are to be assigned"),
        ("priority = 4", "priority = \"high\"", "priority = 4", "neither a number"),
        ("stack = 1024", "stack = 1_000_000", "stack = 1024", "of RAM"),
        ("items = 12", "items = 10", "items = 12", "11 messages can accumulate"),
        (
            "from = \"supervision\"",
            "from = \"nobody\"",
            "from = \"supervision\"",
            "no task `nobody`",
        ),
        ("slack_percent = 5.0", "slack_percent = 100.0", "slack_percent", "not a percentage"),
        (
            "work = \"30us\"",
            "work = { elf = \"a.elf\" }",
            "work = \"30us\"",
            "either `elf` and `function`",
        ),
        (
            "work = \"30us\"",
            "work = { elf = \"a.elf\", function = \"f\" }",
            "work = \"30us\"",
            "not measured here",
        ),
    ];
    for (from, to, at, problem) in cases {
        let error = changed(from, to);
        assert!(error.problem.contains(problem), "{to}: {error}");
        // An added line moves the following lines.
        let moved = to.matches('\n').count() as i64 - from.matches('\n').count() as i64;
        let near = error.line as i64 - line(at) as i64;
        assert!(
            near == 0 || near == moved,
            "{to}: line {} instead of {}: {error}",
            error.line,
            line(at)
        );
        assert!(!error.hint.is_empty() && !error.key.is_empty(), "{error:?}");
    }
}

/// Stated values are checked before anything is measured, and values still to be measured cause no
/// errors.
#[test]
fn work_not_measured_yet_causes_no_errors() {
    let scenario = "work = { scenario = \"queue.send.immediate\" }";
    let text = EXAMPLE.replacen("work = \"30us\"", scenario, 1);
    let shape = |text: &str| {
        System::from_toml("system.toml", text).expect("read").set(CHIP, &mut |_| Ok(None))
    };
    let set = shape(&text).expect("its lock is held for longer than one cycle");
    assert_eq!((set.tasks[0].work, set.tasks[0].sections[0].cycles), (1, 336));
    assert!(set_of(&text, 335).is_err() && set_of(&text, 336).is_ok(), "the lock is held for 336");
    let much = text.replacen("work = \"1.5ms\"", "work = \"9.9ms\"", 1);
    assert!(shape(&much).expect_err("by what is stated").problem.contains("% of the processor"));
}

fn set_of(text: &str, measured: u64) -> Result<Set, SystemError> {
    System::from_toml("system.toml", text)?.set(CHIP, &mut |_| Ok(Some(measured)))
}

#[test]
fn a_cycle_of_locks_is_rejected() {
    let text = r#"
soc = "stm32f405"
kernels = ["freertos"]
locks = ["a", "b", "c"]
[[task]]
name = "one"
period = 10_000
priority = 1
work = 1_000
lock = [{ name = "a", for = 100 }, { name = "b", for = 50, inside = "a" }]
[[task]]
name = "two"
period = 10_000
priority = 2
work = 1_000
lock = [{ name = "b", for = 100 }, { name = "c", for = 50, inside = "b" }]
[[task]]
name = "three"
period = 10_000
priority = 3
work = 1_000
lock = [{ name = "c", for = 100 }, { name = "OTHER", for = 50, inside = "c" }]
"#;
    let error = set(&text.replace("OTHER", "a")).expect_err("a, b, c, a");
    assert!(error.problem.contains("the other way round"), "{error}");
    assert!(error.key.starts_with("lock of task"), "{error}");
    let error = set(&text.replace("OTHER", "c")).expect_err("itself");
    assert!(error.problem.contains("does not hold"), "{error}");
}

#[test]
fn no_text_makes_it_panic() {
    for end in 0..EXAMPLE.len() {
        if let Some(text) = EXAMPLE.get(..end) {
            let _ = set(text);
        }
    }
    for text in ["", "\u{0}", "task = 4", "[[task]]\nname = []", "work = {"] {
        assert!(set(text).is_err());
    }
}

/// Times in cycles, on a soc of 168 MHz.
const IN_CYCLES: &str = r#"
soc = "stm32f405"
kernels = ["freertos"]
tick = 16_800
locks = ["lock"]
[[interrupt]]
name = "can"
distance = 84_000
work = 500
[[task]]
name = "one"
period = 168_000
deadline = 33_600
offset = 16_800
jitter = 1_680
priority = 2
work = 1_000
lock = [{ name = "lock", for = 300 }]
[[task]]
name = "two"
on = "can"
priority = 1
work = 2_000
"#;

fn at_clock(text: &str, megahertz: u64) -> Set {
    let chip = Chip { clock: megahertz * 1_000_000, ..CHIP };
    let system = System::from_toml("system.toml", text).expect("read");
    system.set(chip, &mut |_| Err("nothing is measured".to_owned())).expect("in order")
}

/// A period of 168 000 cycles is a millisecond at the soc's own clock, and stays one at a slower
/// clock: otherwise every clock would give the same answer. Execution stays what it is in cycles.
#[test]
fn times_in_cycles_remain_times_at_a_slower_clock() {
    let in_time = IN_CYCLES
        .replace("tick = 16_800", "tick = \"100us\"")
        .replace("84_000", "\"500us\"")
        .replace("168_000", "\"1ms\"")
        .replace("33_600", "\"200us\"")
        .replace("offset = 16_800", "offset = \"100us\"")
        .replace("jitter = 1_680", "jitter = \"10us\"");
    for megahertz in [168, 147, 44, 24] {
        let set = at_clock(IN_CYCLES, megahertz);
        assert_eq!(set, at_clock(&in_time, megahertz), "{megahertz} MHz");
        let (one, two) = (&set.tasks[0], &set.tasks[1]);
        let us = megahertz;
        assert_eq!((set.tick, one.period, one.deadline), (100 * us, 1_000 * us, 200 * us));
        assert_eq!((one.offset, one.jitter, two.period), (100 * us, 10 * us, 500 * us));
        assert_eq!((one.work, one.sections[0].cycles, two.work), (1_000, 300, 2_000));
        assert_eq!((set.interrupts[0].distance, set.interrupts[0].work), (500 * us, 500));
    }
}

/// At 25 MHz, a tick of 1000 cycles of 168 MHz is 148.8 cycles, for which a kernel sets its counter to
/// 148; ten ticks are 1480 then, and other times are rounded so that bounds stay bounds.
#[test]
fn whole_ticks_stay_whole_ticks_at_a_slower_clock() {
    let text = IN_CYCLES
        .replace("tick = 16_800", "tick = 1_000")
        .replace("168_000", "10_000")
        .replace("offset = 16_800", "offset = 3_000")
        .replace("33_600", "9_999")
        .replace("jitter = 1_680", "jitter = 1")
        .replace("84_000", "8_401");
    let set = at_clock(&text, 25);
    let one = &set.tasks[0];
    assert_eq!((set.tick, one.period, one.offset), (148, 1_480, 444));
    // 1487.95, 0.15 and 1250.15 cycles.
    assert_eq!((one.deadline, one.jitter, set.interrupts[0].distance), (1_487, 1, 1_250));
    // What is no whole number of ticks at the soc's own clock is none at another one.
    let between = text.replace("10_000", "9_990");
    assert_eq!(at_clock(&between, 25).tasks[0].period, 1_486);
    // Without a tick in the file, it is a millisecond at each clock.
    let text = IN_CYCLES.replace("tick = 16_800\n", "").replace("168_000", "\"11ms\"");
    let set = at_clock(&text, 44);
    assert_eq!((set.tick, set.tasks[0].period), (44_000, 484_000));
    // A tick of 62.5 us is 1562.5 cycles.
    let text =
        IN_CYCLES.replace("tick = 16_800", "tick = \"62.5us\"").replace("168_000", "\"1ms\"");
    let set = at_clock(&text, 25);
    assert_eq!((set.tick, set.tasks[0].period), (1_562, 16 * 1_562));
}

/// A unit that is no whole number of cycles lies between two: no time is certain to be a multiple of it.
#[test]
fn units_of_timers_may_be_parts_of_cycles() {
    let granule = Granule::of(12_288_000, 1_000_000);
    assert_eq!(granule, Granule { least: 12, most: 13 });
    assert!(!granule.divides(13_000) && !granule.divides(12_000));
    let whole = Granule::of(12_000_000, 1_000_000);
    assert!(whole == 12.into() && whole.divides(12_000) && !whole.divides(12_001));
    assert!(Granule::default().divides(1), "timers set to the cycle");
    let set = Set { granule, ..Set::default() };
    assert_eq!(set.clocked(5_000).granule, Granule { least: 6, most: 7 });
}
