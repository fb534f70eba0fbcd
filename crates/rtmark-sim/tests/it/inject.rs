//! Trying an interrupt's entry out says what a copy of the machine does, and leaves nothing.

use rtmark_sim::{
    Advance, Blocker, CoreKind, Cycles, Machine, MemoryTiming, Register, Soc, TrialOutcome, Watch,
};

use crate::support::*;

const INTERRUPT: u16 = 1;
const PRIORITY: u8 = 0x40;
const END: u64 = 2_000;

/// Calls, lists, masks, a clock's handler, sleep.
fn program(core: CoreKind) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.store(SHPR3, 0x8000_0000);
    firmware.store(SYST_RVR, 299).store(SYST_CVR, 0).store(SYST_CSR, 7);
    if core == CoreKind::CortexM4F {
        // vmov s0, r0: from here on frames hold floating-point registers.
        firmware.fpu().op(&[0xEE00, 0x0A10]);
    }
    firmware.set(6, RAM + 0x100).op(&[NOP]);
    let top = firmware.here();
    // push {r0-r5, lr}; stmia r6!; ldmia; muls; pop
    firmware.op(&[0xB53F, 0xC60F, 0x3E10, 0xCE0F, 0x3E10, 0x4348, 0xB001, 0xBC3E, 0xB001]);
    firmware.op(&[CPSID_I]).nops(5).op(&[CPSIE_I]);
    if core.is_mainline() {
        // movs r0, #0x40; msr basepri, r0; nop; movs r0, #0; msr basepri, r0
        firmware.op(&[0x2040]).msr(17, 0).nops(3).op(&[0x2000]).msr(17, 0);
        // ite ne; movne r0, #3; moveq r0, #4; udiv r0, r6, r0
        firmware.op(&[0xBF14, 0x2003, 0x2004, 0xFBB6, 0xF0F0]);
    }
    firmware.op(&[0x3501, 0x07E8, 0xD100, WFI]);
    let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
    firmware.op(&[0xE000 | back as u16 & 0x7FF]);
    firmware.handler(15).nops(8).op(&[BX_LR]);
    firmware.handler(17).mark("handler").op(&[NOP, BX_LR]);
    firmware
}

/// When the handler begins if the interrupt becomes pending in a cycle.
fn entry_on_copy(machine: &Machine, at: Cycles) -> u64 {
    let mut copy = machine.clone();
    copy.pend_interrupt(INTERRUPT, at);
    copy.run(Cycles(copy.cycles().0 + 500));
    let hit = copy.take_hits().into_iter().next().expect("the handler is reached");
    hit.cycle.0
}

fn machine(core: CoreKind, soc: &Soc) -> Machine {
    let firmware = program(core);
    let handler = firmware.address("handler");
    let mut machine = Machine::new(soc);
    machine.poke(0, &firmware.image()).expect("in flash");
    machine.reset().expect("vectors");
    if soc.caches.has_any() {
        switch_caches_on(&mut machine);
    }
    machine.watch(Watch::Execute(handler));
    assert!(machine.arm_interrupt(INTERRUPT, PRIORITY));
    assert!(!machine.arm_interrupt(soc.interrupts, PRIORITY), "the soc lacks it");
    machine
}

fn slow(core: CoreKind) -> Soc {
    let mut soc = soc(core);
    let (instruction_lines, data_lines) = (4, 2);
    let timing = MemoryTiming { instruction_lines, data_lines, ..MemoryTiming::default() };
    let slow = MemoryTiming { wait_states: 3, line_bytes: 16, prefetch: true, ..timing };
    set_flash_timing(&mut soc, slow);
    soc
}

/// Tries the points inside the next instruction; answers how many give way.
fn try_points_inside(machine: &mut Machine, core: CoreKind) -> u64 {
    let now = machine.cycles().0;
    let points = (now + 1 - interrupt_delay(core)..).map_while(|at| {
        let at = Cycles(at);
        let tried = machine.try_entry_within(INTERRUPT, at)?;
        if let TrialOutcome::Entered(cycle) = tried {
            assert_eq!(cycle.0, entry_on_copy(machine, at), "inside an instruction, at {at}");
        }
        Some(tried)
    });
    points.count() as u64
}

#[test]
fn trial_entries_equal_entries_of_a_copy() {
    for &core in CoreKind::CORTEX_M {
        for soc in [soc(core), slow(core)] {
            let mut machine = machine(core, &soc);
            let mut plain = machine.clone();
            let (mut entered, mut unclear, mut within, mut held) = (0, 0, 0, Vec::new());
            while machine.cycles().0 < END {
                machine.settle();
                match machine.interrupt_blocker(INTERRUPT) {
                    // One that comes to the core now has become pending before.
                    None if machine.cycles().0 < interrupt_delay(core) => {}
                    None if !machine.is_asleep() => match machine.try_entry(INTERRUPT) {
                        TrialOutcome::Entered(cycle) => {
                            let now = machine.cycles();
                            let pended = Cycles(now.0 - interrupt_delay(core));
                            assert_eq!(cycle.0, entry_on_copy(&machine, pended), "{core} at {now}");
                            entered += 1;
                            within += try_points_inside(&mut machine, core);
                        }
                        TrialOutcome::Unclear => unclear += 1,
                    },
                    None => {}
                    Some(holder) => held.push(holder),
                }
                let _ = machine.advance(Cycles(END)).expect("it runs on");
                if machine.cycles().0 >= END {
                    break;
                }
            }
            assert!(entered > 50 && entered > unclear / 20, "{core}: {entered} {unclear}");
            assert!(within > 50, "{core}: {within} points inside instructions");
            held.dedup();
            assert!(held.contains(&Blocker::Primask), "{core}: {held:?}");
            assert_eq!(held.contains(&Blocker::Basepri), core.is_mainline(), "{core}: {held:?}");
            plain.run(Cycles(END));
            machine.run(Cycles(END));
            assert_eq!(plain.cycles(), machine.cycles(), "{core}");
            assert_eq!(plain.instructions(), machine.instructions(), "{core}");
            assert_eq!(plain.peek(RAM, 0x4000), machine.peek(RAM, 0x4000), "{core}");
            plain.run(Cycles(2 * END));
            machine.run(Cycles(2 * END));
            assert_eq!(plain.cycles(), machine.cycles(), "{core}: later, too");
            assert_eq!(plain.peek(RAM, 0x4000), machine.peek(RAM, 0x4000), "{core}");
        }
    }
}

#[test]
fn advance_distinguishes_plain_instructions_from_other_events() {
    let core = CoreKind::CortexM3;
    let mut machine = machine(core, &soc(core));
    let (mut plain, mut other) = (0, 0);
    while machine.cycles().0 < END {
        match machine.advance(Cycles(END)) {
            Ok(Advance::Instruction) => plain += 1,
            Ok(Advance::Other) => other += 1,
            Err(stop) => {
                assert_eq!(stop, rtmark_sim::Stop::Limit);
                break;
            }
        }
    }
    // Six ticks or so, each entered and left, and sleep before some.
    assert!((10..40).contains(&other), "{other}");
    assert!(plain > 500, "{plain}");
}

/// A load or store alone gives way, too: what it has done when it does not is taken back, and of a
/// register, which no trial may touch, nothing is done.
#[test]
fn partial_word_stores_of_a_trial_are_undone() {
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F, CoreKind::CortexM7, CoreKind::CortexM33] {
        let mut firmware = Firmware::new();
        // Port 0 of the ITM, which prints.
        firmware.set(6, RAM + 0x102).set(7, 0xE000_0000).op(&[0x2041]).enable(1 << INTERRUPT);
        let top = firmware.here();
        // strb r0, [r6, #1]; strh r0, [r6]; strb r0, [r7]; ldrb r1, [r6]; adds r0, #1; b
        firmware.op(&[0x7070, 0x8030, 0x7038, 0x7831, 0x3001]);
        let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
        firmware.op(&[0xE000 | back as u16 & 0x7FF]);
        firmware.handler(17).op(&[NOP, BX_LR]);
        let mut machine = firmware.on(core).machine;
        let mut plain = machine.clone();
        let (mut printed, mut tried) = (Vec::new(), 0);
        machine.run(Cycles(100));
        while machine.advance(Cycles(END)).is_ok() {
            machine.settle();
            printed.extend(machine.take_console());
            let before = machine.peek(RAM + 0x100, 8);
            let now = machine.cycles().0;
            let points = (now + 1 - interrupt_delay(core)..now + 4).map(Cycles);
            tried += points.filter_map(|at| machine.try_entry_within(INTERRUPT, at)).count();
            assert_eq!(machine.peek(RAM + 0x100, 8), before, "{core} at {now}");
            assert_eq!(machine.take_console(), [], "{core} at {now}");
        }
        assert!(tried > 100, "{core}: {tried} inside of instructions");
        plain.run(Cycles(END));
        assert!(printed.len() > 100 && plain.take_console() == printed, "{core}");
        assert_eq!(plain.cycles(), machine.cycles(), "{core}");
    }
}

/// A handler in RAM that nobody but a trial has come to is written over like any other.
#[test]
fn code_reached_only_in_a_trial_can_be_overwritten() {
    for &core in CoreKind::CORTEX_M {
        let handler = RAM + 0x200;
        let mut firmware = Firmware::new();
        // movs r5, #1; bx lr, and then movs r5, #2; bx lr
        firmware.store(handler, 0x4770_2501).enable(1 << INTERRUPT).nops(30);
        firmware.store(handler, 0x4770_2502).store(NVIC_ISPR, 1 << INTERRUPT).forever();
        firmware.vector(17, handler | 1);
        let mut machine = firmware.on(core).machine;
        let mut tried = 0;
        while machine.advance(Cycles(300)).is_ok() {
            machine.settle();
            if machine.cycles().0 >= interrupt_delay(core)
                && machine.interrupt_blocker(INTERRUPT).is_none()
            {
                tried += u32::from(machine.try_entry(INTERRUPT) != TrialOutcome::Unclear);
            }
        }
        assert!(tried > 10, "{core}: {tried}");
        assert_eq!(machine.register(Register::R(5)), 2, "{core}");
    }
}
