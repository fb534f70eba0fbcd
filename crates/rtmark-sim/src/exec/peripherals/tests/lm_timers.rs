//! General-purpose timers of LM3S6965 (datasheet DS-LM3S6965, general-purpose timers: the one-shot and periodic modes, and
//! the table of prescaled configurations).

use super::*;

const TIMER1: u32 = 0x4003_1000;
const CFG: u32 = TIMER1;
const TAMR: u32 = TIMER1 + 0x04;
const TBMR: u32 = TIMER1 + 0x08;
const CTL: u32 = TIMER1 + 0x0C;
const IMR: u32 = TIMER1 + 0x18;
const RIS: u32 = TIMER1 + 0x1C;
const MIS: u32 = TIMER1 + 0x20;
const ICR: u32 = TIMER1 + 0x24;
const TAILR: u32 = TIMER1 + 0x28;
const TBILR: u32 = TIMER1 + 0x2C;
const TBPR: u32 = TIMER1 + 0x3C;
const TAR: u32 = TIMER1 + 0x48;
const TBR: u32 = TIMER1 + 0x4C;

#[test]
fn a_periodic_timer_reloads_a_cycle_after_zero() {
    let mut chip = machine!("lm3s6965");
    assert_eq!([TAILR, TBILR, TAR].map(|at| chip.read(at)), [u32::MAX, 0xFFFF, u32::MAX]);
    chip.until(100);
    chip.write(TAMR, 2);
    chip.write(TAILR, 0x2_0000 - 1);
    chip.write(IMR, 1);
    chip.write(CTL, 1);
    chip.until(100 + 0x8000);
    assert_eq!((chip.read(TAR), chip.read(TBR)), (0x1_7FFF, 1));
    chip.until(100 + 0x1_FFFE);
    assert_eq!((chip.read(TAR), chip.read(RIS)), (1, 0));
    chip.until(100 + 0x1_FFFF);
    assert_eq!([TAR, RIS, MIS].map(|at| chip.read(at)), [0, 1, 1]);
    assert!(chip.pending(21) && !chip.pending(22));
    chip.write(ICR, 1);
    chip.until(100 + 0x2_0000);
    assert_eq!([TAR, RIS, CTL].map(|at| chip.read(at)), [0x1_FFFF, 0, 1]);
    chip.until(100 + 0x3_FFFE);
    assert_eq!(chip.read(RIS), 0);
    // A new load is taken over at once.
    chip.write(TAILR, 9);
    chip.until(100 + 0x3_FFFE + 9);
    assert_eq!((chip.read(RIS), chip.read(TAR)), (1, 0));
    assert_eq!(chip.0.unmodelled().count(), 0);
}

#[test]
fn two_timers_of_16_bits_have_prescalers_and_stop_after_one_shot() {
    let mut chip = machine!("lm3s6965");
    chip.until(10);
    chip.write(CFG, 4);
    chip.write(TAMR, 1);
    chip.write(TBMR, 2);
    chip.write(TAILR, 0x5_0064);
    chip.write(TBILR, 19);
    chip.write(TBPR, 4);
    chip.write(IMR, 0x101);
    chip.write(CTL, 0x101);
    chip.until(10 + 50);
    assert_eq!((chip.read(TAR), chip.read(TBR)), (50, 9), "five cycles a count");
    chip.until(10 + 99);
    assert_eq!((chip.read(RIS), chip.read(TBR)), (0x100, 0));
    assert!(chip.pending(22) && !chip.pending(21));
    chip.write(ICR, 0x100);
    chip.until(10 + 100);
    assert_eq!([RIS, CTL, TAR, TBR].map(|at| chip.read(at)), [1, 0x100, 0x64, 19]);
    assert!(chip.pending(21));
    chip.write(ICR, 1);
    chip.until(10 + 1000);
    assert_eq!(chip.read(RIS), 0x100);
    // A stopped timer keeps its value, and begins with its load.
    chip.write(CTL, 0);
    let held = chip.read(TBR);
    chip.until(10 + 1007);
    assert_eq!(chip.read(TBR), held);
    chip.write(CTL, 1);
    assert_eq!(chip.read(TAR), 0x64);
    assert_eq!(chip.0.unmodelled().count(), 0);
    // PWM, captures, the real-time clock, triggers of the ADC, other interrupts.
    let beyond: [&[(u32, u32)]; 5] = [
        &[(CFG, 4), (TAMR, 0xA), (CTL, 1)],
        &[(CFG, 4), (TAMR, 0x3), (CTL, 1)],
        &[(CFG, 1), (TAMR, 2), (CTL, 1)],
        &[(TAMR, 2), (CTL, 0x21)],
        &[(IMR, 2)],
    ];
    for writes in beyond {
        let mut chip = machine!("lm3s6965");
        for (at, value) in writes {
            chip.write(*at, *value);
        }
        assert_eq!(chip.0.unmodelled().count(), 1, "{writes:x?}");
    }
}
