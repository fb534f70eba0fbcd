//! UARTs whose clock is one of the clock tree: those of SAM E70 (DS60001527, chapters "Universal Asynchronous Receiver
//! Transmitter (UART)" and "Universal Synchronous Asynchronous Receiver Transceiver (USART)") and of i.MX RT
//! (IMXRT1060RM, chapter "Low Power Universal Asynchronous Receiver/Transmitter").

use super::*;
use crate::SendFault;

const UART0: u32 = 0x400E_0800;
const USART1: u32 = 0x4002_8000;
const MCKR: u32 = 0x400E_0630;
const LPUART6: u32 = 0x4019_8000;
const CSCDR1: u32 = 0x400F_C024;

fn sam() -> Rig {
    following(include_str!("../../../../../../socs/same70.toml"))
}

/// Returns how many cycles it takes until a status register's bit is set, in steps of one cycle from the cycle after
/// the given one.
fn cycles_until(rig: &mut Rig, begin: u64, status: u32, bit: u32) -> u64 {
    let is_set = |cycle: &u64| {
        rig.until(*cycle);
        rig.read(status) & bit != 0
    };
    (begin..begin + 100_000).find(is_set).expect("it is set") + 1 - begin
}

/// SAM: one frame by mode and divisor, at a bus clock of half the core's: MDIV = 1 (PMC_MCKR: main RC, which the core
/// has after a reset).
#[test]
fn frames_of_a_sam_take_what_mode_and_divisor_say() {
    const TX_EMPTY: u32 = 1 << 9;
    for (base, mode, baud, bits) in [
        // PAR = 4: none. A start bit, eight data bits and a stop bit of 16 x CD periods.
        (UART0, 4 << 9, 3, 10 * 16 * 3),
        // Parity.
        (UART0, 0, 3, 11 * 16 * 3),
        // USART: CHRL = 3 is eight bits; FP in eighths.
        (USART1, 3 << 6 | 4 << 9, 3, 10 * 16 * 3),
        (USART1, 3 << 6 | 4 << 9, 5 << 16 | 3, 10 * 2 * (8 * 3 + 5)),
        // Five bits, 1.5 stop bits; eight samples; the clock by 8; nine bits.
        (USART1, 4 << 9 | 1 << 12, 2, 15 * 16 * 2 / 2),
        (USART1, 3 << 6 | 4 << 9 | 2 << 12, 2, 11 * 16 * 2),
        (USART1, 3 << 6 | 4 << 9 | 1 << 19, 2, 10 * 8 * 2),
        (USART1, 3 << 6 | 4 << 9 | 1 << 4, 2, 10 * 16 * 2 * 8),
        (USART1, 3 << 6 | 4 << 9 | 1 << 17, 2, 11 * 16 * 2),
    ] {
        let mut sam = sam();
        sam.write(MCKR, 0x101);
        let [control, status, send] = [0x00, 0x14, 0x1C].map(|offset| base + offset);
        assert_eq!(sam.read(status), 0, "off after a reset");
        sam.write(base + 0x04, mode);
        sam.write(base + 0x20, baud);
        sam.write(control, 1 << 6);
        assert_eq!(sam.read(status), TX_EMPTY | 2);
        sam.write(send, b'a'.into());
        assert_eq!(
            cycles_until(&mut sam, 0, status, TX_EMPTY),
            2 * bits + 1,
            "{mode:#x} {baud:#x}"
        );
        assert!(sam.0.unmodelled().next().is_none() && sam.0.take_console() == b"a");
    }
}

#[test]
fn a_sam_sends_and_receives_by_interrupts() {
    let mut sam = sam();
    let [control, enable, disable, status, received, send] =
        [0x00, 0x08, 0x0C, 0x14, 0x18, 0x1C].map(|offset| USART1 + offset);
    sam.0.connect_uart(Some("USART1"), b"hi").expect("it has one");
    sam.write(send, b'-'.into());
    assert_eq!(sam.0.send_faults().collect::<Vec<_>>(), [("USART1", SendFault::Off, 1)]);
    sam.write(USART1 + 0x04, 3 << 6 | 4 << 9);
    sam.write(USART1 + 0x20, 1);
    // Receiver and transmitter; RXRDY and TXRDY.
    sam.write(control, 1 << 4 | 1 << 6);
    sam.write(enable, 1);
    assert!(!sam.pending(14));
    sam.until(159);
    assert!(!sam.pending(14));
    sam.until(161);
    assert!(sam.pending(14) && sam.read(status) & 1 == 1);
    assert_eq!((sam.read(received), sam.read(status) & 1), (b'h'.into(), 0));
    sam.write(disable, 1);
    sam.write(enable, 2);
    assert_eq!(sam.read(USART1 + 0x10), 2);
    sam.write(send, b'a'.into());
    assert_eq!(sam.read(status) & 2, 2, "the holding register is empty at once");
    sam.write(send, b'b'.into());
    assert_eq!(sam.read(status) & 2, 0);
    assert_eq!(cycles_until(&mut sam, 161, status, 2), 161, "when b begins");
    // TXDIS, and RSTTX.
    for off in [1 << 7, 1 << 3] {
        sam.write(control, 1 << 6);
        sam.write(control, off);
        assert_eq!(sam.read(status) & 0x202, 0);
    }
    // RSTRX drops what has arrived.
    sam.until(1_000);
    assert_eq!(sam.read(status) & 1, 1);
    sam.write(control, 1 << 2);
    assert_eq!((sam.read(status) & 1, sam.0.unread_input(Some("USART1"))), (0, 0));
    assert_eq!(sam.0.take_console(), b"ab");
    assert!(sam.0.unmodelled().next().is_none());
}

#[test]
fn a_sam_says_what_has_no_model() {
    for (register, value, base) in [
        (0x04, 1 << 14, UART0),
        (0x04, 1 << 12, UART0),
        (0x04, 3, USART1),
        (0x04, 1 << 8, USART1),
        (0x04, 2 << 4, USART1),
        (0x00, 1 << 11, USART1),
        (0x08, 1 << 8, USART1),
        (0x24, 1, USART1),
    ] {
        let mut sam = sam();
        sam.write(base + register, value);
        assert_eq!(sam.0.unmodelled().count(), 1, "{register:#x} {value:#x}");
    }
}

/// UART_CLK_ROOT is 80 MHz or the crystal's 24 MHz, divided (CSCDR1); a bit takes (OSR + 1) x SBR of its periods.
#[test]
fn frames_of_an_lpuart_take_what_its_clock_and_registers_say() {
    const TX_COMPLETE: u32 = 1 << 22;
    let crystal = 1 << 6;
    for (root, baud, control, periods) in [
        (crystal, 0x0F00_0002, 0, 10 * 16 * 2),
        (crystal | 3, 0x0F00_0002, 0, 10 * 16 * 2 * 4),
        (crystal, 0x0000_0002, 0, 10 * 16 * 2),
        (crystal, 0x0700_0002, 0, 10 * 8 * 2),
        (crystal, 0x0F00_2002, 0, 11 * 16 * 2),
        (crystal, 0x0F00_0002, 1 << 4, 11 * 16 * 2),
        (crystal, 0x2F00_0002, 0, 12 * 16 * 2),
        (crystal, 0x0F00_0002, 1 << 11, 9 * 16 * 2),
        (0, 0x0F00_0002, 0, 10 * 16 * 2),
    ] {
        let mut chip = imxrt();
        let core = u64::from(chip.0.clock_history().clock().0);
        chip.write(CSCDR1, root);
        chip.write(LPUART6 + 0x10, baud);
        chip.write(LPUART6 + 0x18, control | 1 << 19);
        chip.write(LPUART6 + 0x1C, b'a'.into());
        let hertz = if root & crystal == 0 { 80_000_000 } else { 24_000_000 };
        let cycles = cycles_until(&mut chip, 0, LPUART6 + 0x14, TX_COMPLETE);
        assert_eq!(
            cycles,
            (core * periods).div_ceil(hertz) + 1,
            "{root:#x} {baud:#x} {control:#x}"
        );
        assert!(chip.0.unmodelled().next().is_none() && chip.0.send_faults().next().is_none());
    }
}

/// A byte takes 1,650 cycles at 396 MHz: ten bits of ten periods of 24 MHz.
fn lpuart() -> Rig {
    let mut chip = imxrt();
    chip.write(CSCDR1, 1 << 6);
    chip.write(LPUART6 + 0x10, 0x0900_0001);
    chip
}

const FRAME: u64 = 1_650;

#[test]
fn an_lpuart_sends_from_its_fifo() {
    let [status, control, data, fifo, water] =
        [0x14, 0x18, 0x1C, 0x28, 0x2C].map(|offset| LPUART6 + offset);
    let mut chip = lpuart();
    assert_eq!(
        [0, 4, 0x14, 0x28].map(|at| chip.read(LPUART6 + at)),
        [0x0401_0003, 0x202, 0x00C0_0000, 0x00C0_0011]
    );
    chip.write(data, b'-'.into());
    assert_eq!(chip.0.send_faults().collect::<Vec<_>>(), [("LPUART6", SendFault::Off, 1)]);
    // TXFE; TDRE with up to two bytes waiting; TE and TIE.
    chip.write(fifo, 0x80);
    chip.write(water, 2);
    chip.write(control, 1 << 19);
    b"abcde".iter().for_each(|byte| chip.write(data, (*byte).into()));
    // What waits stays, unless it is flushed, which has no model.
    chip.write(fifo, 0x80);
    assert_eq!((chip.read(water), chip.read(fifo)), (0x402, 0x0040_0091));
    assert_eq!((chip.read(status) >> 22, chip.0.send_faults().count()), (0, 1));
    chip.write(control, 1 << 19 | 1 << 23);
    chip.until(2 * FRAME - 1);
    assert!(!chip.pending(25) && chip.read(status) >> 22 == 0);
    chip.until(2 * FRAME + 1);
    assert!(chip.pending(25) && chip.read(status) >> 22 == 2, "TDRE");
    chip.until(5 * FRAME + 1);
    assert_eq!((chip.read(status) >> 22, chip.read(fifo)), (3, 0x00C0_0091));
    // Without the FIFO there is one byte besides that which is being sent.
    chip.write(fifo, 0);
    b"fgh".iter().for_each(|byte| chip.write(data, (*byte).into()));
    assert!(chip.0.send_faults().any(|fault| fault == ("LPUART6", SendFault::Full, 1)));
    assert_eq!(chip.0.take_console(), b"abcdefgh");
    // GLOBAL.RST.
    chip.write(LPUART6 + 0x08, 2);
    chip.write(control, 1 << 19);
    assert_eq!((chip.read(control), chip.read(LPUART6 + 0x10)), (0, 0x0F00_0004));
    chip.write(LPUART6 + 0x08, 0);
    chip.write(control, 1 << 19);
    assert_eq!(chip.read(control), 1 << 19);
    assert!(chip.0.unmodelled().next().is_none());
}

#[test]
fn an_lpuart_receives() {
    let [status, control, data, fifo, water] =
        [0x14, 0x18, 0x1C, 0x28, 0x2C].map(|offset| LPUART6 + offset);
    let full = 1 << 21;
    let mut chip = lpuart();
    chip.0.connect_uart(Some("LPUART6"), b"habcdefgh").expect("it has one");
    assert_eq!(chip.read(data), 1 << 12, "RXEMPT");
    // RE and RIE.
    chip.write(control, 1 << 18 | full);
    chip.until(FRAME - 1);
    assert!(!chip.pending(25));
    chip.until(FRAME + 1);
    assert!(chip.pending(25) && chip.read(status) & full != 0);
    chip.until(3 * FRAME);
    assert_eq!((chip.read(water), chip.read(fifo)), (1 << 24, 0x0080_0011), "the sender waits");
    // A FIFO, and RDRF with more than two bytes.
    chip.write(water, 2 << 16);
    chip.write(fifo, 1 << 3);
    assert_eq!((chip.read(data), chip.read(status) & full), (b'h'.into(), 0));
    let begin = 3 * FRAME;
    for (frames, held) in [(1, 1), (2, 2), (3, 3), (4, 4), (6, 4)] {
        chip.until(begin + frames * FRAME - 1);
        assert_eq!(chip.read(water) >> 24, if held == 4 && frames > 4 { 4 } else { held - 1 });
        chip.until(begin + frames * FRAME + 1);
        assert_eq!(chip.read(water) >> 24, held);
        assert_eq!(chip.read(status) & full != 0, held > 2, "{frames}");
    }
    assert_eq!([data; 3].map(|data| chip.read(data)), [b'a', b'b', b'c'].map(u32::from));
    assert_eq!((chip.read(water) >> 24, chip.read(status) & full), (1, 0));
    // RXFLUSH.
    chip.until(20 * FRAME);
    chip.write(fifo, 1 << 3 | 1 << 14);
    assert_eq!((chip.read(water) >> 24, chip.read(fifo)), (0, 0x00C0_0019));
    assert_eq!(chip.0.unread_input(Some("LPUART6")), 1);
    assert!(chip.0.unmodelled().next().is_none());
}

#[test]
fn an_lpuart_finds_its_line_idle() {
    let [status, control, data, fifo, water] =
        [0x14, 0x18, 0x1C, 0x28, 0x2C].map(|offset| LPUART6 + offset);
    let (idle, full) = (1 << 20, 1 << 21);
    let mut chip = lpuart();
    chip.0.connect_uart(Some("LPUART6"), b"hi").expect("it has one");
    // Two bytes are below the watermark until the line has been silent for two (RXIDEN); IDLE is set after one.
    chip.write(fifo, 1 << 3 | 2 << 10);
    chip.write(water, 2 << 16);
    chip.write(control, 1 << 18 | full | idle);
    for (frames, flags) in [(2, 0), (3, idle), (4, idle | full)] {
        chip.until(frames * FRAME - 1);
        assert!(chip.read(status) & (idle | full) != flags || flags == 0, "{frames}");
        assert_eq!(chip.pending(25), frames > 3);
        chip.until(frames * FRAME + 1);
        assert_eq!((chip.read(status) & (idle | full), chip.pending(25)), (flags, flags != 0));
    }
    // IDLE is set once.
    chip.write(status, idle);
    chip.until(9 * FRAME);
    assert_eq!(chip.read(status) & (idle | full), full);
    assert_eq!([data; 2].map(|data| chip.read(data)), [b'h', b'i'].map(u32::from));
    // IDLECFG: silent for four bytes. Without RXIDEN, RDRF is not set.
    chip.0.connect_uart(Some("LPUART6"), b"!").expect("it has one");
    chip.write(fifo, 1 << 3);
    chip.write(control, 1 << 18 | 2 << 8);
    chip.until(14 * FRAME - 2);
    assert_eq!(chip.read(status) & (idle | full), 0);
    chip.until(14 * FRAME + 9);
    assert_eq!((chip.read(status) & (idle | full), chip.read(data)), (idle, b'!'.into()));
    assert!(chip.0.unmodelled().next().is_none());
}

#[test]
fn an_lpuart_says_what_has_no_model() {
    for (register, value) in [
        (0x0C, 1),
        (0x10, 1 << 23),
        (0x10, 1 << 21),
        (0x18, 1 << 7),
        (0x18, 1 << 16),
        (0x24, 1 << 18),
        (0x30, 1),
    ] {
        let mut chip = lpuart();
        chip.write(LPUART6 + register, value);
        assert_eq!(chip.0.unmodelled().count(), 1, "{register:#x} {value:#x}");
    }
    // TXFLUSH, if there is something to flush.
    let mut chip = lpuart();
    chip.write(LPUART6 + 0x28, 0x80 | 1 << 15);
    assert_eq!(chip.0.unmodelled().count(), 0);
    chip.write(LPUART6 + 0x18, 1 << 19);
    for byte in [b'a', b'b'] {
        chip.write(LPUART6 + 0x1C, byte.into());
    }
    chip.write(LPUART6 + 0x28, 0x80 | 1 << 15);
    assert_eq!(chip.0.unmodelled().count(), 1);
}

#[test]
fn what_arrives_after_a_reset_of_an_lpuart_is_received() {
    let data = LPUART6 + 0x1C;
    let mut chip = lpuart();
    chip.0.connect_uart(Some("LPUART6"), b"hi").expect("it has one");
    // GLOBAL.RST, set and cleared; then RE.
    for (register, value) in [(0x08, 2), (0x08, 0), (0x10, 0x0900_0001), (0x18, 1 << 18)] {
        chip.write(LPUART6 + register, value);
    }
    chip.until(FRAME - 1);
    assert_eq!(chip.read(data), 1 << 12, "RXEMPT");
    chip.until(FRAME + 1);
    assert_eq!(chip.read(data), b'h'.into());
}
