//! Common parts of the programs that are searched, and of the searches.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use rtmark_sim::{CoreKind, Cycles, Interrupted, Machine, Observer, Register, Soc};
use rtmark_worst::{Control, Findings, Path, Share, search};

use crate::support::*;

/// The interrupt that is searched.
pub const INTERRUPT: u16 = 1;

/// Pends PendSV, with the address of ICSR in R7: movs r0, #1; lsls r0, #28; str r0, [r7]
pub const PEND_SWITCH: &[u16] = &[0x2001, 0x0700, 0x6038];

/// Begins a program: starts SysTick with a reload value, and gives interrupts 0 and 1 priorities.
pub fn begin(firmware: &mut Firmware, priority: u8, reload: u32) {
    firmware.store(SHPR3, 0x80C0_0000).store(NVIC_IPR, u32::from(priority) << 8 | 0x80).enable(1);
    firmware.store(SYST_RVR, reload).store(SYST_CVR, 0).store(SYST_CSR, 7);
}

/// Branches back to an address.
pub fn go_back(firmware: &mut Firmware, top: u32) {
    let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
    firmware.op(&[0xE000 | back as u16 & 0x7FF]);
}

/// A soc whose flash has wait states, a prefetch buffer and small caches.
pub fn slow(core: CoreKind) -> Soc {
    let mut soc = soc(core);
    let timing = &mut soc.memories[0].timing;
    (timing.wait_states, timing.line_bytes, timing.prefetch) = (2, 8, true);
    (timing.instruction_lines, timing.data_lines) = (4, 2);
    soc
}

/// Returns a machine that is about to run a program.
pub fn machine(firmware: &Firmware, soc: &Soc) -> Machine {
    let mut machine = Machine::new(soc);
    machine.poke(0, &firmware.image()).expect("in flash");
    machine.reset().expect("vectors");
    machine
}

/// Returns everything that a search finds.
pub fn all(path: &Path) -> Findings {
    let cancelled = AtomicBool::new(false);
    let control = Control { cancelled: &cancelled, share: Share::WHOLE, budget: u64::MAX };
    search(path, &control, Findings::default(), |_| {}).expect("no mistake")
}

/// An observer that checks at each instruction whether the interrupted code continues.
struct ResumeObserver {
    exception: u16,
    point: u64,
    back: Option<Interrupted>,
    resumed: Option<u64>,
}

impl Observer for ResumeObserver {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let (exception, now) = (machine.exception(), machine.cycles().0);
        match self.back {
            None if exception == self.exception && now >= self.point => {
                self.back = Some(machine.interrupted());
            }
            Some(back)
                if machine.register(Register::Pc) == back.pc
                    && machine.register(Register::Sp) == back.sp
                    && exception == back.exception =>
            {
                self.resumed = Some(now);
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Returns when the interrupted code continues after an interrupt that becomes pending in a cycle, from
/// a run from reset observed instruction by instruction.
pub fn resumption_cycle(reset: &Machine, interrupt: u16, point: u64, patience: u64) -> Option<u64> {
    let mut machine = reset.clone();
    let mut observer =
        ResumeObserver { exception: 16 + interrupt, point, back: None, resumed: None };
    machine.pend_interrupt(interrupt, Cycles(point));
    machine.run_observed(Cycles(point + patience), &mut observer);
    observer.resumed
}
