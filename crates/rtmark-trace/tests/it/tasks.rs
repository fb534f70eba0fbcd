//! Which task a timeline has at each moment, for programs that themselves say where they are.

use std::ops::ControlFlow;

use rtmark_observe::Lines;
use rtmark_sim::{CoreKind, Cycles, Image, Instruction, Machine, Observer, Stop, Watch};
use rtmark_trace::{Recorder, Slice, Tasks, Timeline};

use crate::{build, support};

/// A program in a machine.
struct Program {
    elf: Vec<u8>,
    image: Image,
    machine: Machine,
}

impl Program {
    fn new(file: &str, name: &str) -> Self {
        let elf = build::compiled(file, &["-g", &format!("-D{name}")]);
        let image = Image::from_elf(&elf).expect("an image");
        let mut machine = Machine::new(&support::soc(CoreKind::CortexM3));
        machine.load(&image).expect("it fits");
        Self { elf, image, machine }
    }

    /// Runs until a cycle. Returns the timeline, and what was stored into `seen`, with the cycle of each store.
    fn run(&mut self, until: u64) -> (Timeline, Vec<(u32, u64)>) {
        let lines = Lines::new(&self.elf).expect("debug information");
        let tasks = Tasks::new(&self.elf, &self.image, Some(&lines));
        let recorder = Recorder::new(&self.machine, &self.image, Some(&lines), tasks);
        let at = self.image.symbols().address_of("seen").expect("a variable");
        let mut observers = (recorder, Seen { at, last: 0, now: 0, stores: Vec::new() });
        self.machine.run_observed(Cycles(until), &mut observers);
        (observers.0.finish(self.machine.cycles().0), observers.1.stores)
    }

    /// Returns the tasks at the first so many stores: `5: 6:main 7:main,(idle)`.
    fn seen(&mut self, count: usize) -> String {
        let (timeline, stores) = self.run(2_000);
        let stores = stores.iter().take(count);
        let shown = stores.map(|&(value, cycle)| format!("{value}:{}", tasks_at(&timeline, cycle)));
        shown.collect::<Vec<_>>().join(" ")
    }
}

/// Watches a variable.
struct Seen {
    at: u32,
    last: u32,
    /// When the instruction began.
    now: u64,
    stores: Vec<(u32, u64)>,
}

impl Observer for Seen {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        self.now = machine.cycles().0;
        ControlFlow::Continue(())
    }

    fn executed(&mut self, machine: &Machine, _instruction: &Instruction) {
        let value = u32::from(machine.peek(self.at, 1)[0]);
        if value != std::mem::replace(&mut self.last, value) {
            self.stores.push((value, self.now));
        }
    }
}

/// The tasks that run at a cycle, and in brackets those that are ready.
fn tasks_at(timeline: &Timeline, cycle: u64) -> String {
    let tracks = timeline.tracks.iter().filter(|track| track.category == "task");
    let mut found: Vec<_> = tracks
        .filter_map(|track| {
            let slice = slice_at(&track.slices, cycle)?;
            let is_ready = slice.name == "ready";
            Some(if is_ready { format!("({})", track.name) } else { track.name.clone() })
        })
        .collect();
    found.sort();
    found.join(",")
}

fn slice_at(slices: &[Slice], cycle: u64) -> Option<&Slice> {
    slices.iter().find(|slice| (slice.from..slice.to).contains(&cycle))
}

#[test]
fn what_the_ring_calls_is_a_task_until_it_returns() {
    let seen = Program::new("polls.c", "RING").seen(12);
    let round = "5: 1:blink 6:blink 7: 2:blink 5: 3:beep 4:beep";
    assert_eq!(seen, format!("{round} 5: 1:blink 6:blink 7:"));
}

#[test]
fn futures_that_lilos_calls_are_tasks() {
    let seen = Program::new("polls.c", "LILOS").seen(12);
    assert_eq!(seen, "5: 1:blink 6:blink 7: 2:blink 5: 3:beep 4:beep 5: 8: 9: 5:");
}

#[test]
fn what_embassy_polls_is_named_after_the_future_in_it() {
    let mut program = Program::new("polls.c", "EMBASSY");
    let seen = program.seen(14);
    let symbols = program.image.symbols();
    let third = symbols.iter().find(|(_, name)| name.ends_with("0000003E")).expect("a symbol").0;
    let unnamed = format!("10:task {third:#010x} 6:task {third:#010x}");
    assert_eq!(
        seen,
        format!("5: 1:blink 6:blink 7: 2:blink 5: 3:beep 4:beep 5: 8: 9: 5: {unnamed}")
    );
}

#[test]
fn what_rtic_inlines_is_a_task_as_far_as_it_reaches() {
    let seen = Program::new("polls.c", "RTIC").seen(14);
    assert_eq!(seen, "5: 1:blink 6:blink 7: 2:blink 9: 5: 8: 3:beep 4:beep 9: 5: 8: 9:");
}

#[test]
fn rtic_1_runs_plain_functions_as_tasks() {
    let seen = Program::new("polls.c", "RTIC1").seen(15);
    assert_eq!(seen, "5: 8: 1:blink 6:blink 7: 2:blink 9: 5: 8: 3:beep 4:beep 9: 5: 8: 9:");
}

#[test]
fn tasks_with_control_blocks_run_and_are_ready() {
    assert_eq!(
        Program::new("switch.c", "FREERTOS").seen(5),
        "1: 2:main 3:(main),idle 4:idle 5:(idle),main"
    );
    // A state is one slice, however often the lists are looked at.
    let (timeline, _) = Program::new("switch.c", "FREERTOS").run(2_000);
    for (task, states) in
        [("main", &["running", "ready", "running"][..]), ("idle", &["running", "ready"])]
    {
        let track = timeline.tracks.iter().find(|track| track.name == task).expect("a track");
        let names: Vec<_> = track.slices.iter().map(|slice| slice.name.as_str()).collect();
        assert_eq!(names, states, "{task}");
    }
}

#[test]
fn stacks_are_named_after_the_functions_that_they_begin_with() {
    let seen = Program::new("switch.c", "STACKS").seen(14);
    let round =
        "1:worker 3:worker 5:worker 2:worker_b 5:worker_b 1:worker #2 3:worker #2 5:worker #2";
    let again = "4:worker 1:worker 3:worker 5:worker";
    assert_eq!(seen, format!("5:reset {round} {again} 2:worker_b"));
}

#[test]
fn a_task_goes_on_where_a_handler_ends_its_call() {
    assert_eq!(Program::new("switch.c", "ENDED").seen(3), "1:reset 2:reset 3:reset");
}

/// Records where instructions end before which handlers are entered.
#[derive(Default)]
struct Entered {
    ended: u64,
    entries: Vec<u64>,
}

impl Observer for Entered {
    fn executed(&mut self, machine: &Machine, _instruction: &Instruction) {
        self.ended = machine.cycles().0;
    }

    fn entered(&mut self, _machine: &Machine, _exception: u16) {
        self.entries.push(self.ended);
    }
}

#[test]
fn a_handler_begins_where_the_instruction_before_it_ends() {
    let mut observed = Program::new("switch.c", "FREERTOS").machine;
    let mut entered = Entered::default();
    observed.run_observed(Cycles(2_000), &mut entered);
    let (timeline, _) = Program::new("switch.c", "FREERTOS").run(2_000);
    let track = timeline.tracks.iter().find(|track| track.name == "interrupts").expect("a track");
    assert_eq!(track.slices.iter().map(|slice| slice.from).collect::<Vec<_>>(), entered.entries);
}

#[test]
fn handlers_and_masks_say_where_they_are() {
    let mut program = Program::new("switch.c", "FREERTOS");
    let (timeline, _) = program.run(2_000);
    let slices = |name: &str| {
        let track = timeline.tracks.iter().find(|track| track.name == name);
        track.map(|track| track.slices.clone()).expect("a track")
    };
    let handlers = slices("interrupts");
    assert_eq!(handlers.iter().map(|slice| slice.name.as_str()).collect::<Vec<_>>(), ["SVCall"; 3]);
    assert!(handlers.iter().all(|slice| slice.about == [("function", "handler".to_owned())]));
    let masks = slices("masked");
    let [mask] = &masks[..] else { panic!("{masks:?}") };
    // The first instruction that executes masked, and the first one that does not.
    let source = include_str!("../programs/switch.c");
    let places = [("from", "pxContainer = &xDelayed"), ("to", "seen = 4")].map(|(name, text)| {
        let line = source.lines().position(|line| line.contains(text)).expect("in the source") + 1;
        (name, format!("reset (rtmark-trace/tests/programs/switch.c:{line})"))
    });
    assert_eq!(mask.about, places);
}

#[test]
fn a_handler_that_is_active_at_the_beginning_is_recorded_to_its_end() {
    let mut program = Program::new("switch.c", "FREERTOS");
    let handler = program.image.symbols().address_of("handler").expect("a function");
    program.machine.stop_before(handler);
    assert!(matches!(program.machine.run(Cycles(2_000)), Stop::Breakpoint(_)));
    program.machine.remove_stop(handler);
    let began = program.machine.cycles().0;
    let (timeline, _) = program.run(began);
    assert!(timeline.tracks.is_empty(), "what takes no time is not shown: {timeline:?}");
    let resumed = program.machine.watch(Watch::Return(11));
    let (timeline, _) = program.run(began + 40);
    let hits = program.machine.take_hits();
    let back = hits.iter().find(|hit| hit.watch == resumed).expect("it returns").cycle.0;
    let track = timeline.tracks.iter().find(|track| track.name == "interrupts").expect("a track");
    let Slice { name, from, to, .. } = &track.slices[0];
    assert_eq!((name.as_str(), *from, *to), ("SVCall", began, back));
}
