//! A search on a Cortex-R5 finds what runs from reset find, one for each cycle: caches, branch
//! prediction and the pipeline are part of the state at each moment.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use rtmark_sim::{Cycles, Machine, Observer, Soc};
use rtmark_worst::{Aspect, Path, Reach, Window};

use crate::bare::Bare;
use crate::programs::all;

/// The interrupt that is searched. The program's own is 36, the timer's, which is less urgent.
const INTERRUPT: u16 = 1;
/// Another one.
const OTHER: u16 = 5;
/// The priority of the searched interrupt: the controller's five bits in their position in a byte.
const PRIORITY: u8 = 0x40;
const BASE: u32 = 0x0010_0000;
const WOKEN: u32 = BASE + 0x13C;
const END: u32 = BASE + 0xDC;

/// A program that contains everything that can affect an interrupt: it divides, loads uncached data,
/// has load and store multiples and exclusive accesses, drains the write buffer, calls, masks, has a
/// less urgent timer, and sleeps with interrupts enabled and masked. Its handler acknowledges an
/// interrupt at the controller, and allows more urgent ones to preempt it.
const PROGRAM: &[u32] = &[
    0xEE11_0F10, // 000 start: mrc 15, 0, r0, cr1, cr0, {0}
    0xE3C0_0A02, // 004 bic r0, r0, #8192
    0xE380_0A01, // 008 orr r0, r0, #4096
    0xE380_0004, // 00c orr r0, r0, #4
    0xEE01_0F10, // 010 mcr 15, 0, r0, cr1, cr0, {0}
    0xF57F_F06F, // 014 isb sy
    0xE3A0_0018, // 018 mov r0, #24
    0xE59F_1138, // 01c ldr r1, [pc, #312]
    0xE580_1000, // 020 str r1, [r0]
    0xE28F_10EC, // 024 add r1, pc, #236
    0xE580_1004, // 028 str r1, [r0, #4]
    0xE59F_D12C, // 02c ldr sp, [pc, #300]
    0xE3A0_84F9, // 030 mov r8, #-117440512
    0xE288_9A01, // 034 add r9, r8, #4096
    0xE3A0_0001, // 038 mov r0, #1
    0xE588_0000, // 03c str r0, [r8]
    0xE589_0000, // 040 str r0, [r9]
    0xE5C8_0844, // 044 strb r0, [r8, #2116]
    0xE3A0_1080, // 048 mov r1, #128
    0xE5C8_1444, // 04c strb r1, [r8, #1092]
    0xE3A0_1010, // 050 mov r1, #16
    0xE588_1108, // 054 str r1, [r8, #264]
    0xE3A0_10FF, // 058 mov r1, #255
    0xE589_1004, // 05c str r1, [r9, #4]
    0xE59F_B0FC, // 060 ldr fp, [pc, #252]
    0xE3A0_0078, // 064 mov r0, #120
    0xE58B_0024, // 068 str r0, [fp, #36]
    0xE3A0_0001, // 06c mov r0, #1
    0xE58B_0060, // 070 str r0, [fp, #96]
    0xE3A0_0002, // 074 mov r0, #2
    0xE58B_000C, // 078 str r0, [fp, #12]
    0xE3A0_A602, // 07c mov sl, #2097152
    0xE3A0_6000, // 080 mov r6, #0
    0xF102_001F, // 084 cps #31
    0xE59F_D0D8, // 088 ldr sp, [pc, #216]
    0xF108_0080, // 08c cpsie i
    0xE286_6001, // 090 top: add r6, r6, #1
    0xE59A_1000, // 094 ldr r1, [sl]
    0xE081_2001, // 098 add r2, r1, r1
    0xE58A_2004, // 09c str r2, [sl, #4]
    0xE003_0192, // 0a0 mul r3, r2, r1
    0xE734_F613, // 0a4 udiv r4, r3, r6
    0xE79A_5306, // 0a8 ldr r5, [sl, r6, lsl #6]
    0xE89A_003F, // 0ac ldm sl, {r0, r1, r2, r3, r4, r5}
    0xE88A_000F, // 0b0 stm sl, {r0, r1, r2, r3}
    0xE19A_0F9F, // 0b4 ldrex r0, [sl]
    0xE18A_1F96, // 0b8 strex r1, r6, [sl]
    0xEB00_0013, // 0bc bl 100110 <leaf>
    0xF10C_0080, // 0c0 cpsid i
    0xE320_F000, // 0c4 nop {0}
    0xE79A_1386, // 0c8 ldr r1, [sl, r6, lsl #7]
    0xE281_1001, // 0cc add r1, r1, #1
    0xE320_F000, // 0d0 nop {0}
    0xF108_0080, // 0d4 cpsie i
    0xE320_F000, // 0d8 nop {0}
    0xE316_0001, // 0dc end_mark: tst r6, #1
    0x1A00_0000, // 0e0 bne 1000e8 <end_mark+0xc>
    0xE320_F003, // 0e4 wfi
    0xE316_0002, // 0e8 tst r6, #2
    0x1A00_0003, // 0ec bne 100100 <end_mark+0x24>
    0xF10C_0080, // 0f0 cpsid i
    0xE320_F003, // 0f4 wfi
    0xE320_F000, // 0f8 nop {0}
    0xF108_0080, // 0fc cpsie i
    0xE3A0_0003, // 100 mov r0, #3
    0xE250_0001, // 104 subs r0, r0, #1
    0x1AFF_FFFD, // 108 bne 100104 <end_mark+0x28>
    0xEAFF_FFDF, // 10c b 100090 <top>
    0xEE07_0F9A, // 110 leaf: mcr 15, 0, r0, cr7, cr10, {4}
    0xE12F_FF1E, // 114 bx lr
    0xE24E_E004, // 118 handler: sub lr, lr, #4
    0xF96D_051F, // 11c srsdb sp!, #31
    0xF102_001F, // 120 cps #31
    0xE92D_5003, // 124 push {r0, r1, ip, lr}
    0xE599_000C, // 128 ldr r0, [r9, #12]
    0xE350_0044, // 12c cmp r0, #68
    0x059B_C054, // 130 ldreq ip, [fp, #84]
    0xE350_0021, // 134 cmp r0, #33
    0x1A00_0000, // 138 bne 100140 <woken+0x4>
    0xE320_F000, // 13c woken: nop {0}
    0xF108_0080, // 140 cpsie i
    0xE320_F000, // 144 nop {0}
    0xE320_F000, // 148 nop {0}
    0xF10C_0080, // 14c cpsid i
    0xE589_0010, // 150 str r0, [r9, #16]
    0xE8BD_5003, // 154 pop {r0, r1, ip, lr}
    0xF8BD_0A00, // 158 rfeia sp!
    0xE51F_F004, // 15c .word 0xe51ff004
    0x0020_1000, // 160 .word 0x00201000
    0xFF11_0000, // 164 .word 0xff110000
    0x0020_2000, // 168 .word 0x00202000
];

fn soc() -> Soc {
    Soc::from_toml(include_str!("../../../../socs/zynqmp-r5.toml")).expect("a soc")
}

/// The program with FIQ instead of IRQ, which the controller is configured for (GICC_CTLR.FIQEn): its vector is
/// the next one, and another bit masks it.
static FAST: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let fast = |word: &u32| match *word {
        0xE3A0_0018 => 0xE3A0_001C,
        0xF108_0080 => 0xF108_0040,
        0xF10C_0080 => 0xF10C_0040,
        other => other,
    };
    let mut program: Vec<u32> = PROGRAM.iter().map(fast).collect();
    // mov r0, #9
    program[0x38 / 4] = 0xE3A0_0009;
    program
});

const fn bare(program: &'static [u32]) -> Bare {
    Bare {
        program,
        base: BASE,
        interrupt: INTERRUPT,
        priority: PRIORITY,
        woken: WOKEN,
        end: END,
        patience: 20_000,
    }
}

fn assert_as_from_reset(program: &'static [u32], window: Window) {
    let found = bare(program).assert_as_from_reset(&soc(), window, 100);
    assert!(found.points + 500 >= window.to - window.from, "{}", found.points);
}

#[test]
fn the_search_equals_runs_from_reset_at_each_cycle() {
    assert_as_from_reset(PROGRAM, Window { from: 6_000, to: 8_000 });
}

#[test]
fn a_search_for_fiq_equals_runs_from_reset() {
    assert_as_from_reset(&FAST, Window { from: 6_000, to: 8_000 });
}

/// In the window, the timer's interrupt is entered, and its handler may acknowledge the earlier one of a pair
/// instead.
#[test]
fn a_search_of_pairs_equals_runs_from_reset() {
    let window = Window { from: 6_000, to: 6_300 };
    bare(PROGRAM).assert_pairs_as_from_reset(&soc(), window, (OTHER, 0x60), 20);
}

/// An observer that knows no address and no register of what was interrupted: as no handler switches to
/// another context, that continues once as many handlers are active as before.
struct DepthObserver {
    /// The cycle in which the interrupt becomes pending.
    point: u64,
    active: usize,
    /// How many handlers were active when that of the interrupt began, and whether one had given way to it
    /// without returning to the interrupted code.
    before: Option<usize>,
    is_taken_over: bool,
    has_returned: bool,
    resumed: Option<u64>,
}

impl Observer for DepthObserver {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        self.has_returned = false;
        if self.before.is_some_and(|before| self.active <= before) {
            self.resumed = Some(machine.cycles().0);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        let is_ours = exception == 16 + INTERRUPT && machine.cycles().0 >= self.point;
        if is_ours && self.before.is_none() {
            self.before = Some(self.active);
            self.is_taken_over = self.has_returned;
        }
        self.active += 1;
    }

    fn returned(&mut self, _: &Machine, _: u16) {
        self.active -= 1;
        self.has_returned = true;
    }
}

/// Wherever an interrupt comes, the search follows it to where the interrupted code continues: also where a
/// handler that was entered for another interrupt is told this one, which then interrupts what that one did.
#[test]
fn the_interrupted_code_continues_after_every_moment() {
    let window = Window { from: 6_000, to: 7_500 };
    for program in [PROGRAM, &FAST] {
        let bare = bare(program);
        let path = Path::new(bare.machine(&soc()), bare.question(Reach::Whole, window));
        let path = path.expect("a path");
        let found = all(&path);
        let resume = &found.aspects[&Aspect::Resume];
        assert_eq!(resume.missing, 0, "the first is pended in cycle {:?}", resume.first_missing);
        let mut reset = bare.machine(&soc());
        reset.arm_interrupt(INTERRUPT, PRIORITY);
        let (mut counts, mut taken_over) = (BTreeMap::new(), 0);
        let first = path.begins(window.from) + 1;
        for point in first..first + found.points {
            let mut machine = reset.clone();
            machine.pend_interrupt(INTERRUPT, Cycles(point));
            let mut observer = DepthObserver {
                point,
                active: 0,
                before: None,
                is_taken_over: false,
                has_returned: false,
                resumed: None,
            };
            let _ = machine.run_observed(Cycles(point + bare.patience), &mut observer);
            let resumed = observer.resumed.expect("it continues");
            *counts.entry((resumed - point).cast_signed()).or_default() += 1;
            taken_over += u64::from(observer.is_taken_over);
        }
        assert_eq!(resume.counts, counts);
        assert!(taken_over > 0, "no handler gives way to the interrupt");
    }
}
