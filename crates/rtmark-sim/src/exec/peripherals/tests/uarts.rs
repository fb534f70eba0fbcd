//! Input at UARTs: a byte arrives one frame after the previous one was read.

use super::*;
use crate::{SendFault, UnknownUart};

#[test]
fn stm32_uarts_receive_at_their_baud_rate() {
    let mut f405 = machine!("stm32f405");
    let (status, data, baud, control) = (0x4000_4400, 0x4000_4404, 0x4000_4408, 0x4000_440C);
    f405.0.connect_uart(Some("usart2"), b"hi").expect("it has one");
    f405.write(baud, 16);
    // USART, receiver and RXNE's interrupt are on from cycle 1.
    f405.write(control, 1 << 13 | 1 << 2 | 1 << 5);
    f405.until(159);
    assert!(!f405.pending(38) && f405.read(status) & 0x20 == 0);
    f405.until(161);
    assert!(f405.pending(38) && f405.read(status) & 0x20 != 0, "RXNE");
    f405.until(1000);
    assert_eq!(f405.0.unread_input(Some("USART2")), 2);
    assert_eq!(f405.read(data), b'h'.into());
    assert_eq!((f405.read(status) & 0x20, f405.read(data)), (0, b'h'.into()), "read already");
    f405.until(1159);
    assert_eq!(f405.read(status) & 0x20, 0, "the next one began at 1001");
    f405.until(1161);
    assert_eq!((f405.read(data), f405.0.unread_input(Some("USART2"))), (b'i'.into(), 0));
    f405.until(9999);
    assert_eq!(f405.read(status) & 0x20, 0, "that was all");
}

/// A frame after the last byte, once; cleared by reading SR and DR, or by ICR (RM0090, USART_SR; RM0444, USART_ICR).
#[test]
fn stm32_uarts_notice_that_the_line_falls_idle() {
    for (mut chip, [status, data, baud, control], [enable, receives], irq) in [
        (machine!("stm32f405"), [0x0, 0x4, 0x8, 0xC], [1 << 13, 1 << 2], 38),
        (machine!("stm32l432"), [0x1C, 0x24, 0xC, 0x0], [1, 1 << 2], 38),
    ] {
        let uart = 0x4000_4400;
        chip.0.connect_uart(Some("USART2"), b"hi").expect("it has one");
        chip.write(uart + baud, 16);
        chip.write(uart + control, enable | receives | 1 << 4);
        chip.until(155);
        assert_eq!(chip.read(uart + status) & 0x10, 0, "nothing has arrived before");
        for _ in 0..2 {
            chip.until(chip.0.cycles().0 + 170);
            assert_eq!(chip.read(uart + status) & 0x30, 0x20);
            chip.read(uart + data);
        }
        let read = chip.0.cycles().0;
        chip.until(read + 200);
        assert!(chip.pending(irq));
        assert_eq!(chip.read(uart + status) & 0x30, 0x10, "IDLE");
        chip.read(uart + data);
        if data == 0x24 {
            assert_eq!(chip.read(uart + status) & 0x10, 0x10, "DR clears nothing");
            chip.write(uart + 0x20, 0x10);
        }
        assert_eq!(chip.read(uart + status) & 0x10, 0);
        chip.until(read + 9999);
        assert_eq!(chip.read(uart + status) & 0x10, 0, "once");
        assert_eq!(chip.0.unmodelled().count(), 0);
    }
}

/// What is written while a transmitter is off is lost (STM32: TE; PL011: UARTEN and TXE; CMSDK: TXEN); where there is no
/// room or no baud rate, a chip would not send what is shown.
#[test]
fn bytes_that_a_chip_would_not_send_are_told_of() {
    use SendFault::{Full, NoRate, Off};
    for (name, soc, data, set_rate, off, on) in [
        ("USART2", machine!("stm32f405"), 0x4000_4404, (0x4000_4408, 16), 0x2000, 0x2008),
        ("USART2", machine!("stm32c031"), 0x4000_4428, (0x4000_440C, 16), 1, 9),
        ("UART0", machine!("rp2040"), 0x4003_4000, (0x4003_4024, 1), 0x201, 0x101),
        ("UART0", machine!("rp2040"), 0x4003_4000, (0x4003_4024, 1), 0x100, 0x101),
        ("UART0", machine!("mps2-an385"), 0x4000_4000, (0x4000_4010, 16), 2, 1),
    ] {
        let mut chip = soc;
        let control = match chip.0.soc().name.as_str() {
            "stm32f405" => 0x4000_440C,
            "stm32c031" => 0x4000_4400,
            "rp2040" => 0x4003_4030,
            _ => 0x4000_4008,
        };
        chip.write(control, off);
        chip.write(data, b'a'.into());
        chip.write(control, on);
        chip.write(data, b'b'.into());
        let (divisor, value) = set_rate;
        chip.write(divisor, value);
        // One in transit, one waiting.
        b"cdef".iter().for_each(|byte| chip.write(data, (*byte).into()));
        let faults: Vec<_> = chip.0.send_faults().collect();
        assert_eq!(faults, [(name, Off, 1), (name, Full, 2), (name, NoRate, 1)]);
        assert_eq!(chip.0.take_console(), b"bcdef", "{name}");
    }
}

/// nRF51 Series Reference Manual, UART: STARTTX begins a transmission, after which bytes are written, each after TXDRDY.
#[test]
fn an_nrf_uart_sends_what_is_written_after_its_task() {
    let mut nrf = machine!("nrf51822");
    let (start, stop, enable, data) = (0x4000_2008, 0x4000_200C, 0x4000_2500, 0x4000_251C);
    nrf.write(data, b'a'.into());
    nrf.write(start, 1);
    nrf.write(data, b'b'.into());
    nrf.write(enable, 4);
    nrf.write(data, b'c'.into());
    nrf.write(data, b'd'.into());
    nrf.write(stop, 1);
    nrf.write(data, b'e'.into());
    assert_eq!(nrf.0.take_console(), b"cd");
    let faults: Vec<_> = nrf.0.send_faults().collect();
    assert_eq!(faults, [("UART0", SendFault::Off, 3), ("UART0", SendFault::Full, 1)]);
}

#[test]
fn lpuarts_count_a_bit_in_fractions_of_their_clock() {
    let mut h743 = machine!("stm32h743");
    let (control, baud, status, data) = (0x5800_0C00, 0x5800_0C0C, 0x5800_0C1C, 0x5800_0C24);
    h743.0.connect_uart(Some("LPUART1"), b"a").expect("it has one");
    // RM0433, 49.4.4: a bit takes BRR / 256 periods of the clock; here 300, as 20 bits allow.
    h743.write(baud, 300 * 256);
    h743.write(control, 0b0101);
    h743.until(2990);
    assert_eq!(h743.read(status) & 0x20, 0);
    h743.until(3010);
    assert_eq!((h743.read(status) & 0x20, h743.read(data)), (0x20, b'a'.into()));
}

#[test]
fn nothing_arrives_while_the_receiver_is_off() {
    let mut c031 = machine!("stm32c031");
    let (control, baud, request, status, data) =
        (0x4000_4400, 0x4000_440C, 0x4000_4418, 0x4000_441C, 0x4000_4424);
    c031.0.connect_uart(None, b"abc").expect("it has some");
    c031.write(baud, 16);
    c031.write(control, 0b0001);
    c031.until(1000);
    assert_eq!(c031.read(status) & 0x20, 0, "the receiver is off");
    c031.write(control, 0b0101);
    c031.until(1100);
    c031.write(control, 0b0001);
    c031.until(2000);
    c031.write(control, 0b0101);
    c031.until(2100);
    assert_eq!(c031.read(status) & 0x20, 0, "the byte is sent again as a whole");
    c031.until(2161);
    assert_eq!(c031.read(data), b'a'.into());
    c031.until(2400);
    c031.write(request, 1 << 3);
    assert_eq!(c031.read(status) & 0x20, 0, "RXFRQ has dropped b");
    c031.until(2700);
    assert_eq!(c031.read(data), b'c'.into());
}

#[test]
fn pl011_raises_a_receive_timeout_below_its_fifo_level() {
    let mut pico = machine!("rp2040");
    let uart = 0x4003_4000;
    let (data, flags, line, control, mask, clear) =
        (uart, uart + 0x18, uart + 0x2C, uart + 0x30, uart + 0x38, uart + 0x44);
    pico.0.connect_uart(Some("UART0"), b"xy").expect("it has one");
    pico.write(uart + 0x24, 1);
    // Eight bits with FIFOs; receive and receive-timeout interrupts.
    pico.write(line, 0x70);
    pico.write(mask, 0x50);
    pico.write(control, 0x301);
    pico.until(100);
    assert!(pico.read(flags) & 0x10 != 0, "empty");
    pico.until(200);
    assert!(pico.read(flags) & 0x10 == 0, "not empty");
    pico.until(600);
    assert!(!pico.pending(20));
    // Thirty-two bit times after the byte.
    pico.until(200 + 512);
    assert!(pico.pending(20) && pico.read(uart + 0x40) == 0x40, "RTMIS");
    assert_eq!(pico.read(data), b'x'.into());
    assert_eq!((pico.read(uart + 0x40), pico.read(flags) & 0x10), (0, 0x10));
    // Without FIFOs, each byte is reported at once.
    pico.write(line, 0x60);
    pico.until(2000);
    assert_eq!(pico.read(uart + 0x40), 0x10, "RXMIS");
    pico.write(clear, 0x10);
    assert_eq!((pico.read(uart + 0x40), pico.read(data)), (0, b'y'.into()));
}

#[test]
fn cmsdk_uarts_have_a_separate_receive_interrupt() {
    let mut mps2 = machine!("mps2-an385");
    let uart = 0x4000_4000;
    mps2.0.connect_uart(Some("UART0"), b"q").expect("it has one");
    mps2.write(uart + 0x10, 16);
    mps2.write(uart + 8, 0b1010);
    mps2.until(159);
    assert_eq!((mps2.pending(0), mps2.read(uart + 4)), (false, 0));
    mps2.until(161);
    assert_eq!((mps2.pending(0), mps2.read(uart + 4), mps2.read(uart + 0xC)), (true, 2, 2));
    mps2.write(uart + 0xC, 2);
    assert_eq!((mps2.read(uart + 0xC), mps2.read(uart)), (0, b'q'.into()));
    assert_eq!(mps2.read(uart + 4), 0);
}

#[test]
fn nrf_uarts_receive_one_byte_at_a_time() {
    let mut nrf = machine!("nrf52840");
    let uart = 0x4000_2000;
    nrf.0.connect_uart(None, b"z").expect("it has some");
    nrf.write(uart + 0x524, 0x1000_0000);
    nrf.until(10_000);
    nrf.write(uart + 0x500, 4);
    nrf.write(uart, 1);
    nrf.until(10_639);
    assert_eq!(nrf.read(uart + 0x108), 0);
    nrf.until(10_641);
    assert_eq!((nrf.read(uart + 0x108), nrf.read(uart + 0x518)), (1, b'z'.into()));
    assert_eq!(nrf.0.unread_input(None), 0);
}

#[test]
fn the_nrf51_uart_has_no_dma() {
    let mut nrf = machine!("nrf51822");
    let uart = 0x4000_2000;
    nrf.write(uart + 0x500, 8);
    assert_eq!(nrf.read(uart + 0x500), 0, "ENABLE has three bits");
    nrf.write(uart + 0x544, 0x2000_0000);
    nrf.write(uart + 0x548, 1);
    let missed: Vec<u32> = nrf.0.unmodelled().map(|register| register.address).collect();
    assert_eq!(missed, [uart + 0x544, uart + 0x548]);
    nrf.write(uart + 0x524, 0x1000_0000);
    nrf.write(uart + 0x500, 4);
    nrf.write(uart + 0x8, 1);
    nrf.until(10_000);
    nrf.write(uart + 0x51C, b'z'.into());
    // One frame at 1 Mbaud and 16 MHz.
    nrf.until(10_159);
    assert_eq!(nrf.read(uart + 0x11C), 0);
    nrf.until(10_161);
    assert_eq!((nrf.read(uart + 0x11C), nrf.0.take_console()), (1, b"z".to_vec()));
}

#[test]
fn reset_preserves_the_serial_line_and_unknown_uarts_are_rejected() {
    let mut f405 = machine!("stm32f405");
    f405.0.poke(0x0800_0000, &[0, 0, 0, 0x20, 9, 0, 0, 8, 0xFE, 0xE7]).expect("flash");
    f405.0.connect_uart(Some("USART2"), b"hi").expect("it has one");
    f405.0.reset().expect("vectors");
    assert_eq!(f405.0.unread_input(Some("USART2")), 2);
    let error = f405.0.connect_uart(Some("UART9"), b"hi").expect_err("it has none of that name");
    let UnknownUart { soc, uarts, .. } = &error;
    assert!(soc == "stm32f405" && uarts.contains("USART2"), "{error}");
}

#[test]
fn what_stm32_uarts_have_no_model_for_is_reported() {
    let (f405, h743, lpuart) = (0x4000_4400, 0x4000_4800, 0x5800_0C00);
    let cases: &[(Rig, u32, u32, bool)] = &[
        (machine!("stm32f405"), f405 + 0xC, 0x202C, false),
        (machine!("stm32f405"), f405 + 0x14, 1 | 0b11 << 6, false),
        (machine!("stm32f405"), f405 + 0x14, 1 << 3, true),
        (machine!("stm32h743"), h743, 1 << 4, false),
        (machine!("stm32h743"), h743, 1 << 26, true),
        // BDMA, which would serve it, has no model.
        (machine!("stm32h743"), lpuart + 8, 1 << 6, true),
        (machine!("stm32h743"), lpuart + 8, 1 << 7, true),
    ];
    for (rig, register, value, is_reported) in cases {
        let mut rig = Rig(rig.0.clone());
        rig.write(*register, *value);
        let told: Vec<u32> = rig.0.unmodelled().map(|it| it.address).collect();
        let expected: &[u32] = if *is_reported { &[*register] } else { &[] };
        assert_eq!(told, expected, "{register:#x} {value:#x}");
    }
}
