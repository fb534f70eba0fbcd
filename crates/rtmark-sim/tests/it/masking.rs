//! Masked intervals: what the machine notes beside an independent trace of the registers.

use std::ops::ControlFlow;

use rtmark_sim::{Blocker, CoreKind, Cycles, Machine, Observer, Register};

use crate::support::*;

const BASEPRI: u16 = 17;

/// Cycles of an instruction's boundary, and whether a mask register was set there.
#[derive(Default)]
struct Trace(Vec<(u64, bool)>);

impl Observer for Trace {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let set = [Register::Primask, Register::Basepri, Register::Faultmask]
            .into_iter()
            .any(|register| machine.register(register) != 0);
        self.0.push((machine.cycles().0, set));
        ControlFlow::Continue(())
    }
}

impl Trace {
    /// Intervals with a mask set, begin and end.
    fn masked(&self) -> Vec<(u64, u64)> {
        let mut intervals = Vec::new();
        let mut open = None;
        for &(cycle, set) in &self.0 {
            match open {
                None if set => open = Some(cycle),
                Some(began) if !set => {
                    intervals.push((began, cycle));
                    open = None;
                }
                _ => {}
            }
        }
        intervals
    }
}

#[test]
fn the_longest_interval_matches_the_trace() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.set(0, 0x40).op(&[CPSID_I]).nops(80).op(&[CPSIE_I]);
        firmware.mark("first").op(&[CPSID_I]).nops(3).op(&[CPSIE_I]);
        firmware.mark("longest").op(&[CPSID_I]).nops(20).op(&[CPSIE_I]);
        firmware.op(&[CPSID_I]).nops(20).op(&[CPSIE_I]);
        if core.is_mainline() {
            // PRIMASK goes over into BASEPRI: one interval.
            firmware.mark("both").op(&[CPSID_I]).nops(5).msr(BASEPRI, 0).op(&[CPSIE_I]);
            firmware.nops(20).op(&[0x2000]).msr(BASEPRI, 0);
        }
        firmware.mark("last").op(&[CPSID_I]).nops(90).op(&[CPSIE_I]).forever();
        let mut running = firmware.on(core);
        running.machine.watch_masks();
        let mut trace = Trace::default();
        running.machine.clone().run_observed(Cycles(1_000), &mut trace);
        running.run(1_000);
        let (first, last) = (running.cycle("first"), running.cycle("last"));
        let between = |&(began, ended): &(u64, u64)| began >= first && ended <= last;
        let mut seen: Vec<_> = trace.masked().into_iter().filter(between).collect();
        assert_eq!(seen.len(), 3 + usize::from(core.is_mainline()), "{core}");
        // Of equal ones the first.
        seen.sort_by_key(|&(began, ended)| (u64::MAX - (ended - began), began));
        let found = running.machine.longest_masked().expect("there are some");
        assert_eq!((found.began, found.began + found.cycles), seen[0], "{core}");
        assert_eq!(found.by, Blocker::Primask);
        let mark = if core.is_mainline() { "both" } else { "longest" };
        assert_eq!(found.from.address, firmware.address(mark), "{core}");
    }
}

#[test]
fn time_asleep_does_not_count_as_masked() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(1).mark("first").op(&[CPSID_I, WFI]).nops(9).op(&[CPSIE_I]);
        firmware.mark("last").forever();
        firmware.handler(16).op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.machine.watch_masks();
        running.machine.pend_interrupt(0, Cycles(700));
        running.run(1_000);
        let found = running.machine.longest_masked().expect("one");
        assert!(running.cycle("last") - found.began > 600, "{core}: {found:?}");
        // A Cortex-M7 goes through two NOPs in a cycle.
        let least = if core == CoreKind::CortexM7 { 5 } else { 10 };
        assert!((least..25).contains(&found.cycles), "{core}: {found:?}");
    }
}

#[test]
fn time_asleep_counts_where_the_mask_keeps_the_core_asleep() {
    for &core in CoreKind::CORTEX_M.iter().filter(|core| core.is_mainline()) {
        let mut firmware = Firmware::new();
        // Interrupt 0 wakes the core. BASEPRI lets it pass, and nothing that is less urgent.
        firmware.store(NVIC_IPR, 0x20).enable(1).mark("first").op(&[0x2080]).msr(BASEPRI, 0);
        firmware.op(&[WFI, 0x2000]).msr(BASEPRI, 0).mark("last").forever();
        firmware.handler(16).op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.machine.watch_masks();
        running.machine.pend_interrupt(0, Cycles(700));
        running.run(1_000);
        let found = running.machine.longest_masked().expect("one");
        assert_eq!(found.by, Blocker::Basepri, "{core}");
        let all = running.cycle("last") - running.cycle("first");
        assert!((all - 20..=all).contains(&found.cycles), "{core}: {found:?} of {all}");
    }
}

#[test]
fn masks_are_tracked_only_on_request() {
    let mut firmware = Firmware::new();
    firmware.mark("first").op(&[CPSID_I, NOP, CPSIE_I]).mark("last").forever();
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(100);
    assert_eq!(running.machine.longest_masked(), None);
}

#[test]
fn the_most_urgent_basepri_is_known_however_short_it_is() {
    let most_urgent = |core, levels: &[u16]| {
        let mut firmware = Firmware::new();
        firmware.op(&[CPSID_I, NOP, CPSIE_I]);
        // movs r0, #level; msr basepri, r0
        for level in levels {
            firmware.op(&[0x2000 | level]).msr(BASEPRI, 0);
        }
        firmware.forever();
        let mut running = firmware.on(core);
        running.machine.watch_masks();
        running.run(1_000);
        running.machine.most_urgent_basepri()
    };
    for &core in CoreKind::CORTEX_M.iter().filter(|core| core.is_mainline()) {
        assert_eq!(most_urgent(core, &[0x80, 0x40, 0xC0, 0]), Some(0x40), "{core}");
        assert_eq!(most_urgent(core, &[0]), None, "{core}");
    }
}

#[test]
fn blockers_depend_on_the_interrupts_priority() {
    let mut firmware = Firmware::new();
    firmware.store(NVIC_IPR, 0x80).enable(1).forever();
    firmware.handler(16).forever();
    let mut machine = firmware.on(CoreKind::CortexM4F).machine;
    machine.run(Cycles(100));
    assert_eq!(machine.priority_blocker(0xF0), None);
    machine.pend_interrupt(0, Cycles(100));
    machine.run(Cycles(200));
    assert_eq!(machine.priority_blocker(0x70), None);
    assert_eq!(machine.priority_blocker(0x80), Some(Blocker::Active(16)));
    machine.set_register(Register::Basepri, 0x60);
    assert_eq!(machine.priority_blocker(0x50), None);
    assert_eq!(machine.priority_blocker(0x70), Some(Blocker::Basepri));
    machine.set_register(Register::Primask, 1);
    assert_eq!(machine.priority_blocker(0x00), Some(Blocker::Primask));
}

#[test]
fn pending_interrupts_block_less_urgent_or_higher_numbered_ones() {
    // SysTick has priority 0x80 and becomes pending masked.
    let mut firmware = Firmware::new();
    firmware.store(SHPR3, 0x8000_0000).op(&[CPSID_I]);
    firmware.store(SYST_RVR, 20).store(SYST_CVR, 0).store(SYST_CSR, 7).nops(40).forever();
    firmware.handler(15).forever();
    let mut machine = firmware.on(CoreKind::CortexM4F).machine;
    machine.run(Cycles(200));
    assert_eq!(machine.priority_blocker(0x40), Some(Blocker::Primask));
    machine.set_register(Register::Primask, 0);
    assert_eq!(machine.priority_blocker(0x70), None);
    assert_eq!(machine.priority_blocker(0x80), Some(Blocker::Pending(15)));
    assert_eq!(machine.priority_blocker(0x90), Some(Blocker::Pending(15)));
}
