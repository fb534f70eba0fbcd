//! Tests that the parts of a machine do not depend on an architecture: a made-up core runs in it with the
//! regular memories, devices, watches, observers and trial interrupts.

mod toy;

use std::ops::ControlFlow;

pub use self::toy::ToyCore;

use self::toy::{ENTRY, HANDLER, Toy};
use super::{Core, Machine, Observer};
use crate::debug::{Advance, Instruction, TrialOutcome};
use crate::soc::Soc;
use crate::state::stop::Stop;
use crate::state::{Blocker, Register, Watch};
use rtmark_units::Cycles;

const RAM: u32 = 0x2000_0000;
const TIMER: u32 = 0x4000_0000;
const UART: u32 = 0x4000_4000;
/// The timer's interrupt, and one that only tests make pend.
const TICK: u16 = 8;
const OTHER: u16 = 3;

/// A chip with a timer, a UART and a flash with wait states. The core that its file names does not matter
/// here.
fn soc(wait_states: u8) -> Soc {
    let text = r#"
        name = "toy"
        description = "a core that nobody has built"
        core = "cortex-m0"
        clock_hz = 1_000_000
        interrupts = 16
        priority_bits = 2

        [[memory]]
        name = "FLASH"
        kind = "flash"
        base = 0
        size = 0x1000
        timing = { wait_states = WAITS }

        [[memory]]
        name = "RAM"
        kind = "ram"
        base = 0x2000_0000
        size = 0x1000

        [[peripheral]]
        name = "TIMER0"
        kind = "cmsdk-timer"
        base = 0x4000_0000
        irq = 8

        [[peripheral]]
        name = "UART0"
        kind = "cmsdk-uart"
        base = 0x4000_4000
        irq = [0, 1, 12]
    "#;
    Soc::from_toml(&text.replace("WAITS", &wait_states.to_string())).expect("a soc")
}

fn bytes(program: &[Toy]) -> Vec<u8> {
    program.iter().flat_map(|it| it.encode()).collect()
}

/// A machine that is about to execute a program, with a handler, from a flash with wait states.
fn waiting(program: &[Toy], handler: &[Toy], wait_states: u8) -> Machine {
    let core = ToyCore::new(&soc(wait_states));
    let mut machine = Machine { core: Core::Toy(Box::new(core)) };
    assert!(bytes(program).len() <= HANDLER as usize, "the handler is in its way");
    machine.poke(0, &bytes(program)).expect("in flash");
    machine.poke(HANDLER, &bytes(handler)).expect("in flash");
    machine.reset().expect("always");
    machine
}

fn machine(program: &[Toy], handler: &[Toy]) -> Machine {
    waiting(program, handler, 2)
}

/// Counts to 3 in RAM, whose address is in register 1, and stops.
const COUNT: [Toy; 9] = [
    Toy::Set(1, RAM),
    Toy::Set(0, 3),
    Toy::Set(2, u32::MAX),
    Toy::Store(0, 1),
    Toy::Load(3, 1),
    Toy::Multiply(3, 3),
    Toy::Add(0, 2),
    Toy::Branch(0, -10),
    Toy::Break,
];

#[test]
fn programs_take_their_cycles_plus_wait_states() {
    // Three instructions, then three rounds of five.
    let (instructions, cycles) = (3 + 3 * 5, 3 + 3 * (1 + 2 + 5 + 1) + 2 + 2 + 1);
    for wait_states in [0, 2] {
        let mut machine = waiting(&COUNT, &[], wait_states);
        assert!(matches!(machine.run(Cycles(10_000)), Stop::Breakpoint(_)));
        assert_eq!(machine.register(Register::R(3)), 1);
        assert_eq!(machine.peek(RAM, 4), [1, 0, 0, 0]);
        assert_eq!(machine.instructions().0, instructions);
        assert_eq!(machine.waited().0 > 0, wait_states > 0);
        assert_eq!(machine.cycles().0, cycles + machine.waited().0);
        let text = machine.disassembly(18).expect("an instruction");
        assert_eq!((text.mnemonic.as_str(), text.operands.as_str()), ("store", "0, 1"));
    }
}

/// The address of the instruction after the one that sleeps.
const AFTER_SLEEP: u32 = 43;

/// Starts the timer with a period of 51 cycles and sleeps in an endless loop; its handler counts at the
/// address RAM, prints a letter and clears the interrupt.
fn ticking() -> Machine {
    let program = [
        Toy::Set(0, 50),
        Toy::Set(1, TIMER + 8),
        Toy::Store(0, 1),
        Toy::Set(0, 9),
        Toy::Set(1, TIMER),
        Toy::Store(0, 1),
        Toy::Set(0, 1),
        Toy::Set(1, UART + 8),
        Toy::Store(0, 1),
        Toy::Sleep,
        Toy::Branch(0, -3),
    ];
    let handler = [
        Toy::Set(1, UART),
        Toy::Set(2, u32::from(b'x')),
        Toy::Store(2, 1),
        Toy::Set(1, TIMER + 0xC),
        Toy::Store(0, 1),
        Toy::Set(1, RAM),
        Toy::Load(2, 1),
        Toy::Add(2, 0),
        Toy::Store(2, 1),
        Toy::Return,
    ];
    let mut machine = machine(&program, &handler);
    machine.poke_word(RAM, 0).expect("RAM");
    assert!(machine.arm_interrupt(TICK, 0));
    machine
}

#[test]
fn devices_interrupt_print_and_wake() {
    let mut machine = ticking();
    let handled = machine.watch(machine.handler_watch(TICK).expect("a handler"));
    assert_eq!(machine.run(Cycles(1_000)), Stop::Limit);
    while !machine.is_asleep() {
        machine.advance(Cycles(u64::MAX)).expect("its handler returns");
    }
    let hits = machine.take_hits();
    let begun: Vec<_> = hits.iter().filter(|hit| hit.watch == handled).collect();
    assert!(begun.len() > 15, "{begun:?}");
    // The reload is one less than the period (DDI 0479, 4.1).
    assert!(begun.windows(2).all(|two| two[1].cycle.0 - two[0].cycle.0 == 51), "{begun:?}");
    let counted = u32::from_le_bytes(machine.peek(RAM, 4).try_into().expect("a word"));
    assert_eq!(counted as usize, begun.len());
    assert_eq!(machine.take_console(), vec![b'x'; begun.len()]);
    assert_eq!(machine.exceptions_taken(), begun.len() as u64);
    let overhead = machine.overhead();
    assert!(overhead.asleep.0 > 0 && overhead.waited.0 > 0, "{overhead:?}");
}

/// Records the events that an observer receives.
#[derive(Default)]
struct Recorder {
    before: u64,
    executed: u64,
    entered: Vec<u16>,
    returned: Vec<u16>,
    slept: u64,
}

impl Observer for Recorder {
    fn before(&mut self, _: &Machine) -> ControlFlow<()> {
        self.before += 1;
        ControlFlow::Continue(())
    }

    fn slept(&mut self, _: &Machine) {
        self.slept += 1;
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.executed += 1;
        assert!(instruction.began < machine.cycles());
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.entered.push(exception);
        assert_eq!(machine.interrupted().pc, AFTER_SLEEP);
    }

    fn returned(&mut self, _: &Machine, exception: u16) {
        self.returned.push(exception);
    }
}

#[test]
fn an_observer_sees_everything_and_changes_nothing() {
    let mut plain = ticking();
    let mut observed = plain.clone();
    let mut seen = Recorder::default();
    assert_eq!(plain.run(Cycles(1_000)), observed.run_observed(Cycles(1_000), &mut seen));
    assert_eq!(plain.cycles(), observed.cycles());
    assert_eq!(plain.peek(RAM, 16), observed.peek(RAM, 16));
    assert_eq!(seen.executed, plain.instructions().0);
    assert_eq!(seen.before, seen.executed);
    assert_eq!(seen.entered.len() as u64, plain.exceptions_taken());
    assert!(seen.entered.iter().chain(&seen.returned).all(|exception| *exception == 16 + TICK));
    assert!(seen.slept > 10 && seen.returned.len() > 10, "{} {:?}", seen.slept, seen.returned);
}

#[test]
fn trial_entries_match_real_entries() {
    // Interrupts are masked for part of each round.
    let program = [
        Toy::Set(0, 1),
        Toy::Mask,
        Toy::Multiply(0, 0),
        Toy::Unmask,
        Toy::Nop,
        Toy::Multiply(0, 0),
        Toy::Branch(0, -9),
    ];
    let mut path = machine(&program, &[Toy::Nop, Toy::Return]);
    assert!(path.arm_interrupt(OTHER, 0) && !path.arm_interrupt(16, 0));
    let watch = path.handler_watch(OTHER).expect("a handler");
    assert_eq!(watch, Watch::Handle(16 + OTHER));
    let handled = path.watch(watch);
    let (mut tried, mut held) = (0, 0);
    while path.cycles().0 < 600 {
        path.settle();
        let now = path.cycles();
        let mut copy = path.clone();
        copy.pend_interrupt(OTHER, now);
        copy.run(Cycles(now.0 + 60));
        let hits = copy.take_hits();
        let begun = hits.iter().find(|hit| hit.watch == handled).expect("served").cycle;
        match path.interrupt_blocker(OTHER) {
            None => {
                assert_eq!(path.try_entry(OTHER), TrialOutcome::Entered(begun));
                assert_eq!(begun.0, now.0 + path.least_latency());
                tried += 1;
            }
            Some(blocker) => {
                assert_eq!(blocker, Blocker::MachineMask);
                assert!(begun.0 > now.0 + ENTRY, "{begun} {now}");
                held += 1;
            }
        }
        assert_eq!(path.advance(Cycles(u64::MAX)), Ok(Advance::Instruction));
    }
    assert!(tried > 20 && held > 20, "{tried} {held}");
    assert!(path.take_hits().is_empty(), "what was tried out has left no trace");
}
