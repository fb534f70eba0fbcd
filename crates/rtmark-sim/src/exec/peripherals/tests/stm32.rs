//! What programs wait for, and look at, in STM32s.

use super::*;

/// RM0390, RCC_CR.
#[test]
fn every_pll_of_stm32f446_becomes_ready() {
    let mut f446 = machine!("stm32f446");
    for pll in [24, 26, 28] {
        let before = f446.read(0x4002_3800);
        f446.write(0x4002_3800, before | 1 << pll);
        assert_eq!(f446.read(0x4002_3800) >> pll & 3, 0b11, "{pll}");
    }
}
