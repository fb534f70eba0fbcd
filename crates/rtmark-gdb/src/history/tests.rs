use rtmark_sim::Soc;

use super::*;

/// Copies are few and begin at the beginning. The latest are the densest: short ways back are quick.
#[test]
fn copies_thin_out_towards_the_beginning() {
    let soc = include_str!("../../../../socs/generic-cortex-m3.toml");
    let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
    // Counts in R0 for ever: adds r0, #1; b back to it.
    for (at, word) in [0x2000_0400, 9, 0xE7FD_3001].into_iter().enumerate() {
        machine.poke_word(4 * at as u32, word).expect("in flash");
    }
    machine.reset().expect("vectors");
    let mut history = History::new(&machine);
    for count in 1..=1_000 {
        machine.step(Cycles(u64::MAX)).expect("it counts");
        // A moment is kept once.
        history.save(&machine);
        history.save(&machine);
        let kept: Vec<_> = history.copies.iter().map(|copy| copy.instructions().0).collect();
        let gaps: Vec<_> = kept.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let is_full = count + 1 > MAX_COPIES;
        assert!(
            if is_full { kept.len() <= MAX_COPIES } else { kept.len() == count + 1 },
            "{kept:?}"
        );
        assert!(kept.len() > MAX_COPIES.min(count) / 2, "{kept:?}");
        assert_eq!((kept.first(), kept.last()), (Some(&0), Some(&(count as u64))));
        assert!(gaps.is_sorted_by(|earlier, later| earlier >= later && *later > 0), "{kept:?}");
        assert!(gaps.iter().rev().take(MAX_COPIES / 2 - 1).all(|gap| *gap == 1), "{kept:?}");
    }
}
