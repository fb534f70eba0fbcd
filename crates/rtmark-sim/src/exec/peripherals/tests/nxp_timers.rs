//! Timers of i.MX RT (IMXRT1060RM, chapters "Periodic Interrupt Timer" and "General Purpose Timer") beside a core with
//! 396 MHz. With the crystal's 24 MHz as PERCLK_CLK_ROOT, two periods take 33 cycles.

use super::*;

const CSCMR1: u32 = 0x400F_C01C;
const PIT: u32 = 0x4008_4000;
const TIMER2: u32 = PIT + 0x120;
const GPT1: u32 = 0x401E_C000;

/// Returns the first cycle after so many periods of 24 MHz.
const fn cycle(periods: u64) -> u64 {
    (33 * periods).div_ceil(2)
}

fn timers() -> Rig {
    let mut chip = imxrt();
    chip.write(CSCMR1, 1 << 6);
    chip
}

#[test]
fn a_pit_counts_down_and_begins_again_with_its_load_value() {
    let [load, count, control, flag] = [0x0, 0x4, 0x8, 0xC].map(|offset| TIMER2 + offset);
    let mut chip = timers();
    chip.write(load, 99);
    chip.write(control, 3);
    assert_eq!((chip.read(load), chip.read(control)), (99, 3));
    chip.until(10_000);
    assert_eq!(chip.read(flag), 0, "MDIS is set after a reset");
    chip.write(PIT, 0);
    // 100 periods later; the first one is not whole.
    let (from, to) = (10_001 + 1_650 - 17, 10_001 + 1_650 + 1);
    chip.until(from - 1);
    assert!(chip.read(flag) == 0 && chip.read(count) <= 1 && !chip.pending(122));
    // Another load value is for the next time.
    chip.write(load, 49);
    let begin = (from..to).find(|cycle| {
        chip.until(*cycle);
        chip.read(flag) == 1
    });
    let begin = begin.expect("the flag is set");
    assert_eq!((chip.pending(122), chip.read(count)), (true, 49));
    chip.write(flag, 1);
    assert_eq!(chip.read(flag), 0);
    chip.until(begin + 825 - 2);
    assert_eq!((chip.read(flag), chip.read(count)), (0, 0));
    chip.until(begin + 825 + 1);
    assert_eq!((chip.read(flag), chip.read(count)), (1, 49));
    // Stopped for 400 periods, without its interrupt.
    chip.write(control, 1);
    chip.write(flag, 1);
    chip.write(PIT, 2);
    chip.until(begin + 825 + 6_600);
    assert_eq!((chip.read(flag), chip.read(count)), (0, 49));
    chip.write(PIT, 0);
    chip.until(begin + 825 + 6_600 + 825 - 20);
    assert_eq!(chip.read(flag), 0);
    // Several times since anybody looked: after 170 periods.
    chip.until(begin + 825 + 6_600 + 2_805 + 8);
    assert_eq!((chip.read(flag), chip.read(count)), (1, 29));
    chip.write(control, 0);
    assert_eq!(chip.read(count), 0);
    assert!(chip.0.unmodelled().next().is_none());
    chip.write(control, 4);
    assert_eq!(chip.0.unmodelled().count(), 1, "CHN");
}

#[test]
fn a_gpt_compares_restarts_and_rolls_over() {
    let [control, prescaler, status, interrupts, first, second, count] =
        [0x00, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x24].map(|offset| GPT1 + offset);
    let mut chip = timers();
    assert_eq!([first, second].map(|at| chip.read(at)), [u32::MAX; 2]);
    // A count takes 3 periods; both compare; restart mode.
    chip.write(prescaler, 2);
    chip.write(first, 9);
    chip.write(second, 4);
    chip.write(interrupts, 1);
    chip.write(control, 1 | 2 << 6);
    for (counts, flags) in [(4, 0b10), (9, 0b11)] {
        chip.until(cycle(3 * counts) - 2);
        assert_ne!(chip.read(status), flags, "{counts}");
        chip.until(cycle(3 * counts) + 1);
        assert_eq!((chip.read(status), chip.read(count)), (flags, counts as u32));
        assert_eq!(chip.pending(100), counts == 9);
    }
    chip.until(cycle(3 * 10) + 1);
    assert_eq!(chip.read(count), 0);
    chip.write(status, 0b11);
    assert_eq!(chip.read(status), 0);
    chip.until(cycle(3 * 19) + 1);
    assert_eq!((chip.read(status), chip.read(count)), (0b11, 9));
    // Writing OCR1 restarts it. Disabled, it stands still; ENMOD lets it begin with zero.
    chip.write(first, 99);
    assert_eq!(chip.read(count), 0);
    chip.until(cycle(3 * 19 + 30) + 30);
    chip.write(control, 2 << 6);
    let stopped = chip.read(count);
    assert!((9..=10).contains(&stopped), "{stopped}");
    chip.until(100_000);
    assert_eq!(chip.read(count), stopped);
    chip.write(control, 1 | 2 << 6);
    assert_eq!(chip.read(count), stopped);
    chip.write(control, 2 << 6);
    chip.write(control, 3 | 2 << 6);
    assert_eq!(chip.read(count), 0);
    // While it counts, that changes nothing.
    chip.until(100_200);
    let counted = chip.read(count);
    assert!((3..=5).contains(&counted), "{counted}");
    chip.write(control, 3 | 2 << 6);
    assert_eq!(chip.read(count), counted);
    // Free run from the crystal, divided by 4: the counter goes on beyond OCR1, and rolls over.
    chip.write(prescaler, 3 << 12);
    chip.write(control, 0);
    chip.write(control, 3 | 5 << 6 | 1 << 10 | 1 << 9);
    chip.write(status, 0x3F);
    let begin = 100_201;
    chip.until(begin + 66 * 200);
    assert_eq!((chip.read(count), chip.read(status)), (200, 0b11));
    chip.write(interrupts, 1 << 5);
    chip.until(begin + (66 << 32) - 100);
    assert_eq!((chip.read(count), chip.read(status)), (u32::MAX - 1, 0b11));
    chip.until(begin + (66 << 32) + 66);
    assert_eq!((chip.read(count), chip.read(status)), (1, 0b111 | 1 << 5), "OCR3 as well");
    // SWR preserves EN and ENMOD.
    chip.write(control, 3 | 1 << 15 | 1 << 9);
    assert_eq!([control, status, interrupts, first].map(|at| chip.read(at)), [3, 0, 0, u32::MAX]);
    assert!(chip.0.unmodelled().next().is_none());
}

#[test]
fn clocks_and_pins_of_a_gpt_without_a_model_are_told_of() {
    for control in [3 << 6, 4 << 6, 1 << 16, 1 << 20, 1 << 29] {
        let mut chip = timers();
        chip.write(GPT1, control);
        assert_eq!(chip.0.unmodelled().count(), 1, "{control:#x}");
    }
}

/// PERCLK_CLK_ROOT is a part of the bus's clock after a reset: 396 MHz / 4 (IPG_PODF), and then divided by PERCLK_PODF.
#[test]
fn timers_follow_the_clock_that_registers_select() {
    for (selected, each) in [(0, 4), (1, 8), (0x3F, 256)] {
        let mut chip = imxrt();
        let ipg = chip.read(0x400F_C014) >> 8 & 3;
        assert_eq!(ipg, 2, "IPG_PODF divides by 3");
        chip.write(CSCMR1, selected);
        chip.write(GPT1, 1 | 1 << 6 | 1 << 9);
        chip.until(100_000);
        assert_eq!(u64::from(chip.read(GPT1 + 0x24)), 100_001 / (each / 4 * 3), "{selected:#x}");
    }
}
