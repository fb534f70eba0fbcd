//! What searches say of real kernels under their mixed load, beside judges that know nothing
//! of how it was found: a trace of the mask registers, and an interrupt at random moments.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rtmark_calls::{Api, CallRecorder, KernelCost};
use rtmark_firmware::probes::{self, Kind, SECTION};
use rtmark_firmware::{Builder, Kernel, SettingChanges, Target, Tree, Variant, select};
use rtmark_model::{Answer, Catalogue, Frame, HeldInterval, Owner, Place};
use rtmark_observe::{HeldBackRecorder, HeldInterrupt, Lines, Map};
use rtmark_runner::{Plan, Selection, Suite, socs};
use rtmark_sim::{Blocker, Cycles, Image, Machine, Register, Soc, Stop, Watch};
use rtmark_trace::{Recorder, Tasks};
use rtmark_worst::{Aspect, Control, Findings, Question, Reach, Share, Window, search};

/// The interrupt whose handler every image of rtmark's own has.
const INJECTED: u16 = 8;
/// One that no load gives a priority.
const UNUSED: u16 = 9;
/// Cycles in the thick of the mixed load.
const FROM: u64 = 25_000;
const TO: u64 = 70_000;
/// The most wait states of the flash of these socs.
const WAITS: u64 = 5;
/// The most cycles that an exception's entry takes on these cores, wait states aside.
const ENTRY: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mask {
    Primask,
    Basepri,
}

/// A stretch with a mask set: which, for how many cycles awake, between which instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    mask: Mask,
    cycles: u64,
    from: u32,
    to: u32,
}

/// The mask that holds back an interrupt of this priority.
fn mask(machine: &Machine, priority: u8) -> Option<Mask> {
    let read = |register| machine.register(register);
    match (read(Register::Primask), read(Register::Basepri)) {
        (1, _) => Some(Mask::Primask),
        (_, level) if level != 0 && level <= priority.into() => Some(Mask::Basepri),
        _ => None,
    }
}

/// A machine at the first boundary from `cycle` on at which nothing is masked.
fn unmasked(machine: &Machine, priority: u8, cycle: u64) -> Machine {
    let mut machine = machine.clone();
    machine.run(Cycles(cycle));
    machine.settle();
    while mask(&machine, priority).is_some() {
        machine.advance(Cycles(u64::MAX)).expect("the load goes on");
        machine.settle();
    }
    machine
}

/// Stretches up to a cycle, by what the registers say at each boundary of instructions.
fn stretches(mut machine: Machine, priority: u8, to: u64) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    // Which, since when and where, and how long the core has slept since.
    let mut since: Option<(Mask, u64, u32)> = None;
    let mut asleep = 0;
    loop {
        machine.settle();
        let (now, pc) = (machine.cycles().0, machine.register(Register::Pc));
        let set = mask(&machine, priority);
        if let Some((mask, began, from)) = since.take_if(|(mask, ..)| set != Some(*mask)) {
            stretches.push(Stretch { mask, cycles: now - began - asleep, from, to: pc });
        }
        if now >= to {
            return stretches;
        }
        if let (Some(mask), None) = (set, since) {
            (since, asleep) = (Some((mask, now, pc)), 0);
        }
        let sleeps = machine.is_asleep();
        machine.advance(Cycles(u64::MAX)).expect("the load goes on");
        if sleeps {
            asleep += machine.cycles().0 - now;
        }
    }
}

/// The mixed load of a kernel on a soc, about to start.
struct Load {
    machine: Machine,
    elf: Vec<u8>,
    image: Image,
    /// The most urgent priority from which an interrupt may call the kernel.
    priority: u8,
    /// What the injected interrupt has: the program's own, or else the same.
    injected: u8,
}

fn load(kernel: &str, soc: &str) -> Load {
    load_built(kernel, soc, |_, _| SettingChanges::default())
}

/// A load built with settings that depend on the kernel and the soc.
/// Where firmware is built, a kernel and a soc by their names.
fn found(kernel: &str, soc: &str) -> (Builder, Kernel, Soc) {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
    let tree = Tree::find(Some(&tree)).expect("the tree");
    let kernels = tree.kernels().expect("kernels");
    let is_wanted = |known: &Kernel| known.manifest.id.as_str() == kernel;
    let kernel = kernels.into_iter().find(is_wanted).expect(kernel);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    (Builder::new(tree).in_folder(&folder), kernel, socs::find(soc).expect("a soc").soc)
}

/// A scenario of a kernel's, about to start.
fn scenario(kernel: &str, soc: &str, name: &str) -> (Machine, Vec<u8>) {
    let (builder, kernel, soc) = found(kernel, soc);
    let group = name.split('.').next().expect("a group");
    let target = Target::from(&soc).only(&kernel.manifest, |image| image == group);
    let mut built = builder.build(&kernel, target, &SettingChanges::default()).expect("an image");
    let elf = built.remove(group).expect("an image").elf;
    let image = Image::from_elf(&elf).expect("an image");
    let records = probes::parse(image.section(SECTION).expect("probes")).expect("good");
    let mut machine = Machine::new(&soc);
    machine.load(&image).expect("it fits");
    select(&mut machine, &image, &records, &name.parse().expect("a name")).expect("there is one");
    (machine, elf)
}

fn load_built(kernel: &str, soc: &str, switched: impl Fn(&Kernel, &Soc) -> SettingChanges) -> Load {
    let (builder, kernel, soc) = found(kernel, soc);
    let switched = switched(&kernel, &soc);
    let mut built = builder.build_load(&kernel, &soc, &switched).expect("a load");
    let elf = built.remove("load").expect("an image").elf;
    let image = Image::from_elf(&elf).expect("an image");
    let records = probes::parse(image.section(SECTION).expect("probes")).expect("good");
    let mut machine = Machine::new(&soc);
    machine.load(&image).expect("it fits");
    let scenario = probes::scenarios(&records).next().expect("a scenario");
    select(&mut machine, &image, &records, scenario).expect("the image can be selected in");
    let priority = kernel.manifest.most_urgent_caller(&soc);
    let mut there = machine.clone();
    assert!(there.arm_interrupt(INJECTED, priority));
    there.run(Cycles(FROM));
    let injected = there.interrupt_priority(INJECTED);
    Load { machine, elf, image, priority, injected }
}

/// What a search for the latency of an interrupt with a priority finds in a window, and the path
/// that it went.
fn searched(
    machine: &Machine,
    (interrupt, priority): (u16, u8),
    window: Window,
) -> (Findings, rtmark_worst::Path) {
    let question = Question {
        interrupt: interrupt.into(),
        priority,
        windows: vec![window],
        reach: Reach::Entry,
        patience: 200_000,
        woken: None,
        ends: Vec::new(),
        second: None,
    };
    let path = rtmark_worst::Path::new(machine.clone(), question).expect("a path");
    let control =
        Control { cancelled: &AtomicBool::new(false), share: Share::WHOLE, budget: u64::MAX };
    (search(&path, &control, Findings::default(), |_| ()).expect("no mistake"), path)
}

fn by_masks(found: &Findings) -> Summary {
    let masked = found.held.longest_alone().into_iter().filter_map(|(held, found)| {
        let mask = match held {
            Blocker::Primask => Mask::Primask,
            Blocker::Basepri => Mask::Basepri,
            _ => return None,
        };
        Some(((mask, found.longest.from, found.longest.to), (found.count, found.longest.cycles)))
    });
    masked.collect()
}

/// The author's own line stands first, whatever of the kernel was inlined there.
#[test]
fn locations_in_a_load_are_the_authors_own_lines() {
    // Optimised as a product is, most of the kernel is inlined.
    let product: Variant = "product".parse().expect("a profile");
    let Load { machine, elf, image, .. } = load_built("embassy", "stm32f405", |kernel, soc| {
        product.of(&kernel.manifest, soc.core.name()).expect("it can be built this way")
    });
    let lines = Lines::new(&elf);
    let mut held = HeldBackRecorder::new(&machine, &image, HeldInterrupt::Masked);
    machine.clone().run_observed(Cycles(TO), &mut held);
    let intervals = held.intervals(Map::new(&image, lines.as_ref()));
    let places: Vec<Place> =
        intervals.into_iter().flat_map(|interval| [interval.from, interval.to]).collect();
    // A task of the application's, polled by the executor, in which the kernel was inlined.
    let author = |frame: &Frame| frame.owner == Owner::Author;
    let within = |place: &&Place| {
        place.frames.first().is_some_and(|outer| !author(outer)) && place.frames.iter().any(author)
    };
    let within: Vec<&Place> = places.iter().filter(within).collect();
    assert!(!within.is_empty(), "{places:#?}");
    for place in within {
        let source = place.source().expect("its line");
        assert!(source.line.file.contains("/firmware/"), "{place}");
        assert!(!place.to_string().starts_with("embassy_executor"), "{place}");
    }
    let is_told = |place: &Place| {
        let source = place.source()?;
        let inlined = source.inlined?;
        let library =
            inlined.owner == Owner::Library && inlined.line?.file.contains("embassy-sync");
        (library && source.line.file.ends_with("mixed.rs")).then_some(())
    };
    assert!(places.iter().any(|place| is_told(place).is_some()), "{places:#?}");
}

/// How many stretches there are with a mask and between two places, and the longest.
type Summary = BTreeMap<(Mask, u32, u32), (u64, u64)>;

fn summary(stretches: &[Stretch]) -> Summary {
    let mut summary = Summary::new();
    for stretch in stretches {
        let known = summary.entry((stretch.mask, stretch.from, stretch.to)).or_default();
        *known = (known.0 + 1, stretch.cycles.max(known.1));
    }
    summary
}

/// Two masks one after the other are one interval in the list of `rtmark sim --masked`, so this
/// is for kernels that use one: how many there are, all their cycles, and the longest.
fn listed(machine: &Machine, image: &Image, to: u64) -> (u64, u64, u64) {
    let mut held = HeldBackRecorder::new(machine, image, HeldInterrupt::Masked);
    machine.clone().run_observed(Cycles(to), &mut held);
    let intervals = held.intervals(Map::new(image, None));
    let sum = |of: fn(&HeldInterval) -> u64| intervals.iter().map(of).sum();
    (sum(|each| each.times), sum(|each| each.total_cycles), intervals[0].cycles)
}

#[test]
fn masked_intervals_of_a_load_match_the_mask_registers() {
    let loads = [
        ("freertos", "stm32f405"),
        ("embassy", "stm32f405"),
        ("freertos", "stm32c031"),
        ("lilos", "stm32c031"),
    ];
    for (kernel, soc) in loads {
        let what = format!("{kernel} on {soc}");
        let Load { machine, image, priority, .. } = load(kernel, soc);
        let running = unmasked(&machine, priority, FROM);
        // One cycle more, for the boundary itself to be looked at.
        let to = unmasked(&machine, priority, TO).cycles().0 + 1;
        let trace = stretches(running.clone(), priority, to);
        let seen = summary(&trace);
        assert!(seen.len() >= 2 && trace.len() > 20, "{what}: {seen:?}");

        let window = Window { from: running.cycles().0, to };
        assert_eq!(by_masks(&searched(&machine, (INJECTED, priority), window).0), seen, "{what}");
        let cycles = || trace.iter().map(|stretch| stretch.cycles);
        let (all, longest) = (cycles().sum::<u64>(), cycles().max().unwrap_or_default());
        let (times, total, most) = listed(&running, &image, to);
        assert_eq!(times, trace.len() as u64, "{what}");
        // An observer is not told of the wait for code that an interrupt then comes before.
        assert!((all - all / 100..=all).contains(&total), "{what}: {total} of {all}");
        assert!((longest - WAITS..=longest).contains(&most), "{what}: {most} of {longest}");
    }
}

/// What `rtmark run` says of two rows: the longest times for which the most urgent interrupt, and
/// one that may call the kernel, are held back.
fn rows(kernel: &str, soc: &str) -> [HeldInterval; 2] {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
    let tree = Tree::find(Some(&tree)).expect("the tree");
    let kernels = tree.kernels().expect("kernels");
    let catalogue = Catalogue::builtin().expect("a catalogue");
    let selection = Selection {
        kernels: vec![kernel.parse().expect("a pattern")],
        scenarios: vec!["load.held.*".parse().expect("a pattern")],
    };
    let soc = socs::find(soc).expect("a soc");
    let documented: Variant = "documented".parse().expect("a profile");
    let plan = Plan::new(&catalogue, &kernels, &[soc.into()], &[documented], &selection);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    let suite = Suite::plain(Builder::new(tree).in_folder(&folder), "test");
    let answers = suite.run(&plan.expect("a plan"), &mut ()).expect("nothing is kept");
    ["load.held.most_urgent", "load.held.may_call"].map(|id| {
        let of = |answer: &&Answer| answer.key().scenario.as_str() == id;
        let answer = answers.iter().find(of).expect("an answer");
        let series = answer.series().unwrap_or_else(|| panic!("{answer:?}"));
        let held = series.held.clone().expect("where it is");
        let sample = series.statistics().expect("a sample");
        assert_eq!((sample.count, sample.typical()), (1, held.cycles), "{kernel}");
        held
    })
}

#[test]
fn held_interval_rows_equal_the_longest_found_by_search() {
    let loads = [
        ("freertos", "stm32f405"),
        ("rtic", "stm32c031"),
        // A handler of the same priority is pending when a mask ends.
        ("embassy", "stm32c031"),
        ("lilos", "stm32f405"),
    ];
    for (kernel, soc) in loads {
        let Load { machine, image, priority, .. } = load(kernel, soc);
        let records = probes::parse(image.section(SECTION).expect("probes")).expect("good");
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        for record in &records {
            match record.kind {
                Kind::Begin(address) => begins.push(Watch::Execute(address)),
                Kind::End(address) => ends.push(Watch::Execute(address)),
                _ => {}
            }
        }
        let run = rtmark_worst::spans(&machine, &begins, &ends, Cycles(10_000_000));
        assert!(!run.windows.is_empty(), "{begins:x?} {ends:x?} {run:?}");
        for (row, priority) in rows(kernel, soc).iter().zip([0, priority]) {
            let (found, _) = searched(&machine, (UNUSED, priority), run.windows[0]);
            // The program sets PRIMASK before it ends, and what that holds back is so for good.
            let (open, whole): (Vec<_>, Vec<_>) =
                found.held.longest().into_iter().partition(|whole| whole.is_open);
            for open in open {
                let by = &open.longest.by;
                assert!(by.iter().any(|(blocker, _)| *blocker == Blocker::Primask), "{open:?}");
            }
            let Some(longest) = whole.first().map(|whole| &whole.longest) else {
                // Nothing does but instructions, of which a search knows when they give way.
                assert_eq!(row.by, ["one instruction"], "{kernel} on {soc}: {row:?}");
                continue;
            };
            let what = format!("{kernel} on {soc}, priority {priority}: {row:?}, {longest:?}");
            // A handler holds back from its entry on, of which a search sees the end. An observer is
            // not told of the wait for code that an interrupt then comes before.
            let is_handler = matches!(longest.by.first(), Some((Blocker::Active(_), _)));
            let entry = if is_handler { ENTRY } else { 0 };
            assert!((0..=entry + WAITS).contains(&longest.began.abs_diff(row.began)), "{what}");
            let cycles = longest.cycles - WAITS..=longest.cycles + entry;
            assert!(cycles.contains(&row.cycles), "{what}");
        }
    }
}

/// How many moments at random; `make soak` asks for a million.
fn samples() -> usize {
    let arguments = std::env::var("RTMARK_SAMPLES").ok();
    arguments.map_or(20_000, |number| number.parse().expect("RTMARK_SAMPLES is a number"))
}

/// As someone with a board would: an interrupt at random, again and again, each from a run of its
/// own. None is served later than the search says is the worst.
#[test]
fn no_random_moment_exceeds_the_worst_case() {
    for (kernel, soc) in [("freertos", "stm32f405"), ("rtic", "stm32c031")] {
        let Load { machine, injected, .. } = load(kernel, soc);
        let (from, to) = (FROM, 80_000);
        let (found, path) = searched(&machine, (INJECTED, injected), Window { from, to });
        let latencies = found.aspect(Aspect::Handler).expect("answers");
        let worst = latencies.worst().expect("a worst one").cycles;

        // A plain generator, so that the moments are the same each time.
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut moments: Vec<_> = (0..samples())
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                from + 1 + state % (to - from)
            })
            .collect();
        moments.sort_unstable();
        let mut running = path.at(from);
        let mut worst_met = 0;
        for moment in moments {
            // Some way before, so that it comes into whatever is being executed by then.
            if moment > running.cycles().0 + 300 {
                running.run(Cycles(moment - 200));
                running.take_hits();
            }
            if running.cycles().0 >= moment {
                continue;
            }
            let mut machine = running.clone();
            machine.pend_interrupt(INJECTED, Cycles(moment));
            machine.run(Cycles(moment + 2 * worst.unsigned_abs()));
            let served = path.served(&machine, moment).expect("it is served") - moment;
            assert!(served.cast_signed() <= worst, "{kernel} on {soc}: {served} at {moment}");
            worst_met += usize::from(served.cast_signed() == worst);
        }
        // With many more moments than there are cycles, the worst one has been among them.
        assert!(worst_met > 0 || samples() < 500_000, "{kernel} on {soc}: never {worst}");
    }
}

/// The tasks of a kernel's load. FreeRTOS has software timers for what happens once and every so
/// often, lilos waits for the alarm in a task of its own, closures are called as what they do.
fn tasks_of(kernel: &str) -> Vec<&str> {
    let all = ["consumer", "every", "fast", "judge", "middle", "once", "server", "slow", "urgent"];
    match kernel {
        "freertos" => {
            let own = all.into_iter().filter(|name| !matches!(*name, "every" | "once"));
            ["IDLE", "Tmr Svc"].into_iter().chain(own).collect()
        }
        "lilos" => {
            let mut tasks = all.to_vec();
            tasks.insert(3, "given_by_alarm");
            tasks
        }
        "ring" => vec![
            "begin_step",
            "consume_step",
            "fast_step",
            "give_step",
            "middle_step",
            "serve_step",
            "slow_ends",
            "slow_step",
        ],
        _ => all.to_vec(),
    }
}

#[test]
fn timelines_show_the_loads_tasks() {
    for kernel in ["freertos", "embassy", "lilos", "rtic", "ring"] {
        let Load { machine, elf, image, .. } = load(kernel, "stm32f405");
        let mut machine = machine;
        let lines = Lines::new(&elf);
        let tasks = Tasks::new(&elf, &image, lines.as_ref());
        let mut recorder = Recorder::new(&machine, &image, lines.as_ref(), tasks);
        machine.run_observed(Cycles(TO), &mut recorder);
        let timeline = recorder.finish(TO);
        let tracks = timeline.tracks.iter().filter(|track| track.category == "task");
        let mut named: Vec<_> = tracks.map(|track| track.name.as_str()).collect();
        named.sort_unstable();
        named.retain(|name| !matches!(*name, "embassy_main" | "init"));
        assert_eq!(named, tasks_of(kernel), "{kernel}");
    }
}

/// What is paid, held back and masked in a run of an image, and where the machine stands then.
fn observed(
    machine: &Machine,
    (elf, image): (&[u8], &Image),
    api: &Api,
    observation: Observation,
) -> (KernelCost, [Vec<HeldInterval>; 2], Machine) {
    let mut machine = machine.clone();
    let lines = Lines::new(elf);
    let recorder = CallRecorder::new(&machine, image, api, lines.as_ref());
    let landmarks = recorder.landmarks();
    let held = |whose| HeldBackRecorder::new(&machine, image, whose);
    let held = (held(HeldInterrupt::MaskedOrHandled(0xE0)), held(HeldInterrupt::Masked));
    let mut observers = (recorder, held);
    let until = Cycles(6 * TO);
    let stop = match observation {
        Observation::Everything => machine.run_observed(until, &mut observers),
        Observation::Landmarks => machine.run_observed_at(&landmarks, until, &mut observers),
    };
    assert!(matches!(stop, Stop::Limit | Stop::Exit(_)), "{stop:?}");
    let (recorder, (held, masked)) = observers;
    let intervals = |held: HeldBackRecorder<'_>| held.intervals(Map::new(image, lines.as_ref()));
    (recorder.finish(&machine), [held, masked].map(intervals), machine)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observation {
    Everything,
    Landmarks,
}

fn assert_same_observations(machine: &Machine, elf: &[u8], what: &str) {
    let known = Api::builtin().expect("the kernels");
    let image = Image::from_elf(elf).expect("an image");
    let api = Api::recognise(&known, image.symbols()).expect("its kernel is known");
    let [every, some] = [Observation::Everything, Observation::Landmarks]
        .map(|observation| observed(machine, (elf, &image), api, observation));
    assert_eq!(some.0, every.0, "{what}");
    assert_eq!(some.1, every.1, "{what}");
    let called: u64 = every.0.called.iter().map(|called| called.calls).sum();
    let (inlined, intervals) = (every.0.inlined.len(), every.1[0].len());
    assert!(called > 50 || inlined > 2, "{what}: {called} {inlined}");
    assert!(intervals > 1, "{what}: {intervals}");
    let state = |machine: &Machine| {
        let registers = machine.named_registers().into_iter();
        let registers = registers.map(|(_, register)| machine.register(register));
        (machine.cycles(), machine.instructions(), registers.collect::<Vec<_>>())
    };
    assert_eq!(state(&some.2), state(&every.2), "{what}");
}

#[test]
fn landmarks_give_the_same_result_as_every_instruction() {
    for (kernel, socs) in [
        ("freertos", ["stm32c031", "stm32f405", "rp2350", "stm32h743"].as_slice()),
        ("embassy", &["stm32c031", "stm32f405", "rp2350"]),
        ("rtic", &["stm32c031", "nrf52840"]),
        ("lilos", &["stm32f405", "rp2040"]),
    ] {
        for soc in socs {
            let Load { machine, elf, .. } = load(kernel, soc);
            assert_same_observations(&machine, &elf, &format!("{kernel} on {soc}"));
        }
    }
    for (kernel, soc, name) in [
        ("freertos", "zynqmp-r5", "isr.wake.queue"),
        ("freertos", "zynqmp-r5", "queue.send.wake+ctx"),
        ("embassy", "zynqmp-r5", "isr.wake.queue"),
        ("freertos", "rp2350-riscv", "queue.send.wake+ctx"),
        ("embassy", "generic-hazard3", "thread.yield"),
    ] {
        let (machine, elf) = scenario(kernel, soc, name);
        assert_same_observations(&machine, &elf, &format!("{kernel} on {soc}: {name}"));
    }
}
