//! How many bytes an STM32's USART takes at once. The judge: which of them have FIFOs and how large those are by ST's
//! device headers (IS_UART_FIFO_INSTANCE) and drivers (TX_FIFO_DEPTH).

use rtmark_sim::{Cycles, Machine, Soc};

use crate::support::load_word;

const CR1: u32 = 0x00;
const BRR: u32 = 0x0C;
const ISR: u32 = 0x1C;
const TDR: u32 = 0x28;
const UE: u32 = 1;
const TE: u32 = 1 << 3;
const FIFOEN: u32 = 1 << 29;
/// Data register empty; with FIFOs: not full.
const TXE: u32 = 1 << 7;

/// Fills a USART's transmitter, and returns how many bytes it takes before it says that it is full.
fn taken(soc: &str, usart: u32, control: u32) -> u32 {
    let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
    machine.store_word(usart + BRR, 0xFFF0).expect("a register");
    machine.store_word(usart + CR1, control | UE | TE).expect("a register");
    let mut taken = 0;
    while load_word(&mut machine, usart + ISR) & TXE != 0 {
        machine.store_word(usart + TDR, u32::from(b'a')).expect("a register");
        taken += 1;
        assert!(taken < 100 && machine.cycles() < Cycles(10_000), "a byte takes far longer");
    }
    taken
}

#[test]
fn fifos_are_as_large_as_the_vendor_says() {
    let c031 = include_str!("../../../../socs/stm32c031.toml");
    let g071 = include_str!("../../../../socs/stm32g071.toml");
    let g431 = include_str!("../../../../socs/stm32g431.toml");
    let l432 = include_str!("../../../../socs/stm32l432.toml");
    let h743 = include_str!("../../../../socs/stm32h743.toml");
    let usarts = [
        (c031, 0x4001_3800, 8),
        (c031, 0x4000_4400, 0),
        (g071, 0x4001_3800, 8),
        (g071, 0x4000_4400, 8),
        (g071, 0x4000_4800, 0),
        (g071, 0x4000_4C00, 0),
        (g071, 0x4000_8000, 8),
        (g431, 0x4001_3800, 8),
        (g431, 0x4000_4400, 8),
        (l432, 0x4001_3800, 0),
        (l432, 0x4000_4400, 0),
        (h743, 0x4001_1000, 16),
        (h743, 0x4000_4800, 16),
    ];
    for (soc, usart, fifo) in usarts {
        let name = soc.lines().next().unwrap_or_default();
        // One byte is being sent; without a FIFO, another one waits.
        assert_eq!(taken(soc, usart, FIFOEN), 1 + fifo.max(1), "{name}: {usart:#x}");
        assert_eq!(taken(soc, usart, 0), 2, "{name}: {usart:#x}");
    }
}
