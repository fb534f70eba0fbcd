//! What STM32's power control says to programs that wait for it (RM0090, RM0383 and RM0390, 5.4.2; RM0433, 6.8.3).

use rtmark_sim::{Machine, Soc};

use crate::support::load_word;

/// HAL_PWREx_EnableBkUpReg waits a second for this, and then fails.
#[test]
fn the_backup_regulator_is_ready_once_it_is_on() {
    let [f405, f411, f446, h743] = [
        include_str!("../../../../socs/stm32f405.toml"),
        include_str!("../../../../socs/stm32f411.toml"),
        include_str!("../../../../socs/stm32f446.toml"),
        include_str!("../../../../socs/stm32h743.toml"),
    ];
    let (csr, cr2) = (0x4000_7004, 0x5802_4808);
    for (soc, register, enable, ready) in [
        (f405, csr, 1 << 9, 1 << 3),
        (f411, csr, 1 << 9, 1 << 3),
        (f446, csr, 1 << 9, 1 << 3),
        (h743, cr2, 1, 1 << 16),
    ] {
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        for (value, expected) in [(0, 0), (ready, 0), (enable, enable | ready), (0, 0)] {
            machine.store_word(register, value).expect("a register");
            let held = load_word(&mut machine, register) & (enable | ready);
            assert_eq!(held, expected, "{}: {value:#x}", machine.soc().name);
        }
    }
}
