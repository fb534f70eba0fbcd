//! Observed runs and single steps: the same machine in the end, and everything told.

use std::ops::ControlFlow;

use rtmark_sim::{
    AccessKind, CoreKind, Cycles, FaultPolicy, Instruction, Machine, Observer, Register, Soc, Stop,
    Watch,
};

use crate::support::landmarks::{assert_same_events, borders};
use crate::support::{self, Firmware, RAM, Random, soc};

/// As `machine`, where every other flash has wait states and reads ahead.
fn waiting_machine(core: CoreKind, random: &mut Random) -> Machine {
    let mut soc = soc(core);
    if random.word().is_multiple_of(2) {
        let timing = &mut soc.memories[0].timing;
        (timing.wait_states, timing.line_bytes) = (4, 8);
        (timing.prefetch, timing.instruction_lines) = (true, 2);
    }
    machine_of(&soc, random)
}

/// Random code in flash and RAM, every handler somewhere in it, registers in RAM.
fn machine(core: CoreKind, random: &mut Random) -> Machine {
    machine_of(&soc(core), random)
}

fn machine_of(soc: &Soc, random: &mut Random) -> Machine {
    let mut machine = Machine::new(soc);
    machine.set_fault_policy(FaultPolicy::Deliver);
    let mut bytes: Vec<u8> = (0..0x1000).flat_map(|_| random.word().to_le_bytes()).collect();
    for vector in bytes[4..0x100].chunks_exact_mut(4) {
        vector.copy_from_slice(&(random.word() & 0x3FFE | 1).to_le_bytes());
    }
    bytes[..4].copy_from_slice(&support::STACK.to_le_bytes());
    machine.poke(0, &bytes).expect("as large as flash");
    machine.reset().expect("vectors");
    machine.poke(RAM, &bytes[0x100..]).expect("RAM");
    for register in 0..14 {
        let value = RAM + 0x1000 + (random.word() & 0x1FFC);
        machine.set_register(Register::R(register), value);
    }
    let base = if random.word().is_multiple_of(4) { RAM } else { 0 };
    machine.set_register(Register::Pc, base + (random.word() & 0x1FFE));
    machine.set_register(Register::Xpsr, random.word() & 0xF800_0000 | 1 << 24);
    let _ = machine.store_word(support::CPACR, 0xF << 20);
    for interrupt in 0..4 {
        machine.pend_interrupt(interrupt, Cycles(u64::from(random.word() % 60)));
    }
    let _ = machine.store_word(support::NVIC_ISER, 0xF);
    machine
}

fn state(machine: &Machine) -> (u64, u64, u64, Vec<u32>, Vec<u8>) {
    let named = [Register::Pc, Register::Xpsr, Register::Msp, Register::Psp, Register::Control];
    let registers = (0..15).map(Register::R).chain(named).chain((0..32).map(Register::S));
    (
        machine.cycles().0,
        machine.instructions().0,
        machine.exceptions_taken(),
        registers.map(|register| machine.register(register)).collect(),
        machine.peek(RAM, 0x4000),
    )
}

/// Checks that no byte of RAM changes but what was announced.
#[derive(Default)]
struct Checker {
    announced: Option<(u32, u32)>,
    ram: Vec<u8>,
    executed: u64,
    entered: u64,
    stores: u64,
}

impl Observer for Checker {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let access = machine.next_access().filter(|access| access.kind == AccessKind::Write);
        self.announced = access.map(|access| (access.address, access.bytes));
        self.ram = machine.peek(RAM, 0x4000);
        ControlFlow::Continue(())
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.executed += 1;
        let entered = machine.exceptions_taken() != self.entered;
        let is_call = machine.peek(instruction.address, 2) == [0xAB, 0xBE];
        if entered || is_call {
            return;
        }
        let ram = machine.peek(RAM, 0x4000);
        for (at, _) in ram.iter().zip(&self.ram).enumerate().filter(|(_, (a, b))| a != b) {
            let address = RAM + at as u32;
            let announced =
                self.announced.is_some_and(|(from, bytes)| address.wrapping_sub(from) < bytes);
            let code = machine.peek(instruction.address, 4);
            assert!(announced, "{code:x?} changed {address:#x}, announced {:x?}", self.announced);
            self.stores += 1;
        }
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        assert_eq!(u32::from(exception), machine.register(Register::Xpsr) & 0x1FF);
        self.entered = machine.exceptions_taken();
    }
}

#[test]
fn observed_runs_equal_unobserved_ones() {
    let mut stores = 0;
    for &core in CoreKind::CORTEX_M {
        for seed in 0..400 {
            let mut random = Random(seed * 3 + 1);
            let plain = waiting_machine(core, &mut random);
            let (mut one, mut other) = (plain.clone(), plain);
            let mut checker = Checker::default();
            let (stop, observed) =
                (one.run(Cycles(150)), other.run_observed(Cycles(150), &mut checker));
            assert_eq!(stop, observed, "{core} seed {seed}");
            assert_eq!(state(&one), state(&other), "{core} seed {seed}");
            assert_eq!(checker.executed, other.instructions().0, "{core} seed {seed}");
            stores += checker.stores;
        }
    }
    assert!(stores > 1_000, "too few stores to see anything: {stores}");
}

#[test]
fn single_steps_equal_a_run() {
    for &core in CoreKind::CORTEX_M {
        for seed in 0..300 {
            let mut random = Random(seed * 5 + 2);
            let plain = waiting_machine(core, &mut random);
            let (mut one, mut other) = (plain.clone(), plain);
            let stop = one.run(Cycles(150));
            let last = loop {
                if let Err(stop) = other.step(Cycles(150)) {
                    break stop;
                }
            };
            assert_eq!(stop, last, "{core} seed {seed}");
            assert_eq!(state(&one), state(&other), "{core} seed {seed}");
        }
    }
}

struct Until(u64);

impl Observer for Until {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if machine.instructions().0 == self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn observers_can_end_runs_and_steps_ignore_stops() {
    let mut random = Random(7);
    let mut machine = machine(CoreKind::CortexM4F, &mut random);
    // nop; nop; nop; b .
    machine.poke(0x400, &[0, 0xBF, 0, 0xBF, 0, 0xBF, 0xFE, 0xE7]).expect("flash");
    machine.set_register(Register::Pc, 0x400);
    machine.set_register(Register::Primask, 1);
    machine.set_fault_policy(FaultPolicy::Stop);
    assert_eq!(machine.run_observed(Cycles(1000), &mut Until(1)), Stop::Observer);
    assert_eq!(machine.register(Register::Pc), 0x402);
    machine.stop_before(0x402);
    assert_eq!(machine.run_observed(Cycles(1000), &mut Until(1)), Stop::Breakpoint(0x402));
    assert_eq!(machine.run(Cycles(1000)), Stop::Breakpoint(0x402));
    assert_eq!(machine.step(Cycles(1000)), Ok(()));
    assert_eq!(machine.register(Register::Pc), 0x404);
    assert_eq!(machine.instructions().0, 2);
}

#[test]
fn stopping_everywhere_does_not_change_a_run() {
    let mut stopped = 0;
    for &core in CoreKind::CORTEX_M {
        for seed in 0..300 {
            let mut random = Random(seed * 7 + 3);
            let mut plain = waiting_machine(core, &mut random);
            plain.set_fault_policy(FaultPolicy::Stop);
            let mut other = plain.clone();
            let first = plain.register(Register::Pc);
            let stops = first..first + 128;
            stops.clone().step_by(2).for_each(|at| other.stop_before(at));
            let stop = plain.run(Cycles(150));
            let last = loop {
                match other.run(Cycles(150)) {
                    Stop::Breakpoint(at) if stops.contains(&at) => {
                        stopped += 1;
                        if let Err(stop) = other.step(Cycles(150)) {
                            break stop;
                        }
                    }
                    stop => break stop,
                }
            };
            assert_eq!(stop, last, "{core} seed {seed}");
            let (cycles, others) = (plain.cycles(), other.cycles());
            assert_eq!(cycles, others, "{core} seed {seed}");
            assert!(state(&plain) == state(&other), "{core} seed {seed}");
        }
    }
    assert!(stopped > 1_000, "{stopped}");
}

#[test]
fn watches_execute_the_current_instruction() {
    // movs r1, #value; bx lr: written to RAM, called, and written anew.
    let routine = RAM + 0x100;
    let written = |value: u32| 0x4770_2100 | value;
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        for (value, kept) in [(1, 0x460C), (2, 0x460D), (3, 0x460E)] {
            firmware.store(routine, written(value)).set(0, routine | 1).op(&[0x4780, kept]);
        }
        firmware.forever();
        let mut running = firmware.on(core);
        running.watch(Watch::Execute(routine), "called");
        assert_eq!(running.run(2_000), Stop::Limit, "{core}");
        assert_eq!(running.names(), ["called"; 3], "{core}");
        assert_eq!([4, 5, 6].map(|number| running.r(number)), [1, 2, 3], "{core}");
    }
}

#[test]
fn landmark_observers_see_the_same_exceptions_and_sleep() {
    let (mut every, mut some) = (0, 0);
    for &core in CoreKind::CORTEX_M {
        for seed in 1..60 {
            let mut random = Random::new(seed);
            let machine = waiting_machine(core, &mut random);
            let borders = borders(&mut random, &[0, RAM]);
            let executed =
                assert_same_events(&machine, &borders, Cycles(20_000), &format!("{core} {seed}"));
            (every, some) = (every + executed.every, some + executed.alone);
        }
    }
    assert!(every > 100_000 && some * 2 < every, "{some} of {every} executed by themselves");
}
