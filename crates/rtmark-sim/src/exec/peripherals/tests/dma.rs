//! DMA controllers of STM32: what they move, when, and what they tell the program.

use super::*;

/// A controller with channels: DMA1 of STM32F103 (RM0008, 13.4), on which USART1 sends by channel 4 and receives by
/// channel 5.
const F1: u32 = 0x4002_0000;
const F1_USART1: u32 = 0x4001_3800;
/// One with streams: DMA2 of STM32F405 (RM0090, 10.5), on which USART1 sends by stream 7 and receives by stream 5, as
/// request 4 of each.
const F4: u32 = 0x4002_6400;
const F4_USART1: u32 = 0x4001_1000;

const RAM: u32 = 0x2000_0100;
const ENABLE: u32 = 1;

/// A channel's or stream's registers.
#[derive(Clone, Copy)]
struct Regs {
    control: u32,
    count: u32,
    peripheral: u32,
    memory: u32,
}

/// Of a channel, numbered from 1.
const fn channel(base: u32, number: u32) -> Regs {
    let control = base + 0x08 + 0x14 * (number - 1);
    Regs { control, count: control + 4, peripheral: control + 8, memory: control + 12 }
}

/// Of a stream, numbered from 0.
const fn stream(base: u32, number: u32) -> Regs {
    let control = base + 0x10 + 0x18 * number;
    Regs { control, count: control + 4, peripheral: control + 8, memory: control + 12 }
}

impl Rig {
    fn start(&mut self, regs: Regs, [peripheral, memory, count]: [u32; 3], control: u32) {
        self.write(regs.peripheral, peripheral);
        self.write(regs.memory, memory);
        self.write(regs.count, count);
        self.write(regs.control, control | ENABLE);
    }

    fn bytes<const N: usize>(&self, address: u32) -> [u8; N] {
        self.0.peek(address, N).try_into().expect("memory")
    }

    fn told(&self) -> Vec<u32> {
        self.0.unmodelled().map(|it| it.address).collect()
    }
}

/// At 16 cycles a bit, with USART and DMA requests in both directions on.
fn usart_v1(chip: &mut Rig, base: u32) {
    chip.write(base + 0x08, 16);
    chip.write(base + 0x0C, 1 << 13 | 1 << 3 | 1 << 2);
    chip.write(base + 0x14, 0b11 << 6);
}

/// As HAL_UART_Transmit_DMA does: the channel first, then DMAT. The flags of F1's ISR for channel 4 begin at bit 12,
/// those of F4's HISR for stream 7 at bit 22 (RM0008, 13.4.1; RM0090, 10.5.2).
#[test]
fn a_usart_sends_from_memory() {
    for (chip, uart, regs, data, control, [flags, half, complete], irq) in [
        (machine!("stm32f103"), F1_USART1, channel(F1, 4), 4, 0x9E, [F1, 1 << 14, 1 << 13], 14),
        (
            machine!("stm32f405"),
            F4_USART1,
            stream(F4, 7),
            4,
            4 << 25 | 1 << 10 | 1 << 6 | 0b11100,
            [F4 + 4, 1 << 26, 1 << 27],
            70,
        ),
    ] {
        let mut chip = chip;
        chip.0.poke(RAM, b"Hallo").expect("RAM");
        chip.start(regs, [uart + data, RAM, 5], control);
        chip.until(50);
        assert_eq!((chip.read(regs.count), chip.read(flags)), (5, 0), "nobody asks yet");
        usart_v1(&mut chip, uart);
        // The first byte is being sent, the second waits; then one each 160 cycles.
        chip.until(100);
        assert_eq!((chip.read(regs.count), chip.read(flags) & half), (3, 0));
        chip.until(240);
        assert_eq!((chip.read(regs.count), chip.read(flags) & half), (2, half));
        assert_eq!((chip.read(flags) & complete, chip.pending(irq)), (0, true));
        chip.until(600);
        assert_eq!((chip.read(regs.count), chip.read(flags) & complete), (0, complete));
        assert_eq!(chip.0.take_console(), b"Hallo");
        // All have left after 5 frames: TC.
        assert_eq!(chip.read(uart) >> 6 & 1, 0);
        chip.until(900);
        assert_eq!(chip.read(uart) >> 6 & 1, 1);
        assert_eq!((chip.told(), chip.0.send_faults().count()), (vec![], 0));
        assert_eq!(chip.0.dma_transfers(), 5);
        let ends_by_itself = regs.control >= F4;
        assert_eq!(
            chip.read(regs.control) & ENABLE == 0,
            ends_by_itself,
            "EN is cleared by F4 only"
        );
    }
}

#[test]
fn a_usart_receives_into_a_ring() {
    let mut chip = machine!("stm32f103");
    chip.0.connect_uart(Some("USART1"), b"abcdefg").expect("it has one");
    let regs = channel(F1, 5);
    // Circular, into four bytes; complete and half interrupt.
    chip.start(regs, [F1_USART1 + 4, RAM, 4], 1 << 7 | 1 << 5 | 0b110);
    usart_v1(&mut chip, F1_USART1);
    chip.until(160 * 2 + 60);
    assert_eq!((chip.read(regs.count), chip.bytes(RAM)), (2, *b"ab\xA5\xA5"));
    assert_eq!((chip.read(F1) >> 16 & 0xF, chip.pending(15)), (0b0101, true), "HTIF, GIF");
    chip.write(F1 + 4, 1 << 18);
    assert_eq!(chip.read(F1) >> 16 & 0xF, 0);
    chip.until(2000);
    assert_eq!((chip.read(regs.count), chip.bytes(RAM)), (1, *b"efgd"));
    assert_eq!(chip.read(F1) >> 16 & 0xF, 0b0111, "TCIF, HTIF, GIF");
    // CGIF clears all.
    chip.write(F1 + 4, 1 << 16);
    assert_eq!(chip.read(F1) >> 16 & 0xF, 0);
    assert_eq!(chip.0.unread_input(Some("USART1")), 0);
}

/// The table of widths in RM0008, 13.3.4: the unit is cut off or padded with zeros, each address moves by its own width.
#[test]
fn channels_pad_and_cut_off() {
    for (source, target, expected) in [
        (0, 0, [0x10, 0x11, 0x12, 0x13, 0xA5, 0xA5, 0xA5, 0xA5]),
        (0, 1, [0x10, 0x00, 0x11, 0x00, 0x12, 0x00, 0x13, 0x00]),
        (0, 2, [0x10, 0, 0, 0, 0x11, 0, 0, 0]),
        (1, 0, [0x10, 0x12, 0x14, 0x16, 0xA5, 0xA5, 0xA5, 0xA5]),
        (1, 2, [0x10, 0x11, 0, 0, 0x12, 0x13, 0, 0]),
        (2, 1, [0x10, 0x11, 0x14, 0x15, 0x18, 0x19, 0x1C, 0x1D]),
        (2, 2, [0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17]),
    ] {
        let mut chip = machine!("stm32f103");
        let bytes: Vec<u8> = (0x10..0x20).collect();
        chip.0.poke(RAM, &bytes).expect("RAM");
        let regs = channel(F1, 1);
        let widths = source << 8 | target << 10 | 0b11 << 6;
        // From the peripheral's address to the memory's, and with DIR the other way round.
        chip.start(regs, [RAM, RAM + 0x40, 4], 1 << 14 | widths);
        chip.until(100);
        assert_eq!(chip.bytes(RAM + 0x40), expected, "{source} to {target}");
        assert_eq!(chip.read(F1) & 0xF, 0b0111);
        let back = target << 8 | source << 10 | 0b11 << 6 | 1 << 4;
        let regs = channel(F1, 2);
        chip.start(regs, [RAM + 0x80, RAM, 4], 1 << 14 | back);
        chip.until(200);
        assert_eq!(chip.bytes(RAM + 0x80), expected, "{source} to {target}, back");
        assert!(chip.told().is_empty());
    }
}

/// Items are packed and unpacked in the FIFO (RM0090, table 50): the same bytes arrive, whatever the widths.
#[test]
fn streams_pack_bytes_in_their_fifo() {
    for (source, target, threshold) in [(0, 2, 3), (2, 0, 3), (1, 1, 0), (0, 1, 1), (2, 2, 2)] {
        let mut chip = machine!("stm32f405");
        let bytes: [u8; 40] = std::array::from_fn(|at| at as u8 + 1);
        chip.0.poke(RAM, &bytes).expect("RAM");
        let regs = stream(F4, 0);
        chip.write(regs.control + 0x14, 1 << 2 | threshold);
        let widths = source << 11 | target << 13 | 0b11 << 9;
        chip.start(regs, [RAM, RAM + 0x40, 40 >> source], 2 << 6 | widths);
        chip.until(400);
        assert_eq!(chip.bytes(RAM + 0x40), bytes, "{source} to {target}");
        assert_eq!(chip.bytes(RAM + 0x68), [0xA5; 4], "and no more");
        assert_eq!((chip.read(F4) & 0x3F, chip.read(regs.control) & ENABLE), (0x30, 0));
        assert!(chip.told().is_empty());
    }
}

#[test]
fn a_streams_fifo_reaches_memory_at_its_threshold() {
    let mut chip = machine!("stm32f405");
    chip.0.connect_uart(Some("USART1"), b"0123456789").expect("it has one");
    let regs = stream(F4, 5);
    chip.write(regs.control + 0x14, 1 << 2 | 1);
    chip.start(regs, [F4_USART1 + 4, RAM, 20], 4 << 25 | 1 << 10);
    usart_v1(&mut chip, F4_USART1);
    chip.until(160 * 7 + 100);
    assert_eq!((chip.read(regs.count), chip.bytes(RAM)), (13, [0xA5; 8]));
    assert_eq!(chip.read(regs.control + 0x14), 1 << 2 | 1 | 1 << 3, "FS: less than a half");
    chip.until(160 * 9);
    assert_eq!(chip.bytes(RAM), *b"01234567");
}

#[test]
fn two_buffers_take_turns() {
    let mut chip = machine!("stm32f405");
    chip.0.connect_uart(Some("USART1"), b"abcdefgh").expect("it has one");
    let regs = stream(F4, 5);
    let second = regs.memory + 4;
    chip.write(second, RAM + 0x20);
    chip.start(regs, [F4_USART1 + 4, RAM, 3], 4 << 25 | 1 << 18 | 1 << 10);
    usart_v1(&mut chip, F4_USART1);
    chip.until(160 * 4);
    assert_eq!(chip.read(regs.control) >> 19 & 1, 1, "CT");
    // The one in use cannot be changed, the other one can (RM0090, 10.3.9).
    chip.write(second, 0);
    chip.write(regs.memory, RAM + 0x40);
    chip.until(2000);
    let parts: [[u8; 3]; 3] = [RAM, RAM + 0x20, RAM + 0x40].map(|address| chip.bytes(address));
    assert_eq!(parts, [*b"abc", *b"def", *b"gh\xA5"]);
    assert_eq!(chip.read(regs.control) & (1 << 19 | ENABLE), ENABLE);
}

/// One after the other: by priority, then by number (RM0090, 10.3.6).
#[test]
fn the_channel_with_priority_goes_first() {
    for (priorities, order) in [([0, 0], [0, 4]), ([0, 3], [4, 0]), ([2, 1], [0, 4])] {
        let mut chip = machine!("stm32f103");
        let regs = [channel(F1, 2), channel(F1, 3)];
        for (at, regs) in (0..).zip(regs) {
            let source = RAM + 0x10 * at;
            chip.start(regs, [source, RAM + 0x40, 4], 1 << 14 | priorities[at as usize] << 12);
        }
        // Channel 3 has been enabled while the first item of channel 2 was on its way.
        chip.until(14);
        let left = regs.map(|regs| chip.read(regs.count));
        let sum = left.iter().sum::<u32>();
        assert!((2..6).contains(&sum), "{left:?}");
        assert_eq!(left[1] == 4, order[0] == 0, "{priorities:?}: {left:?}");
        chip.until(60);
        assert_eq!(regs.map(|regs| chip.read(regs.count)), [0, 0]);
    }
}

/// DMAMUX selects the request (RM0440, 13): on a G431 DMA2's first channel is the seventh of DMAMUX. What has no model is
/// reported at the channel that waits for it.
#[test]
fn a_dmamux_selects_requests() {
    let mut chip = machine!("stm32g431");
    let (mux, dma2, usart) = (0x4002_0800, 0x4002_0400, 0x4001_3800);
    chip.0.poke(RAM, b"mux").expect("RAM");
    let regs = channel(dma2, 1);
    // ADC1 is request 5.
    chip.write(mux + 4 * 6, 5);
    chip.start(regs, [usart + 0x28, RAM, 3], 0x90);
    assert_eq!(chip.told(), [regs.control]);
    chip.write(usart + 0x0C, 16);
    chip.write(usart + 0x08, 1 << 7);
    chip.write(usart, 1 | 1 << 3);
    chip.until(200);
    assert_eq!(chip.read(regs.count), 3, "USART1 asks, but in vain");
    // USART1_TX.
    chip.write(mux + 4 * 6, 25);
    chip.until(900);
    assert_eq!((chip.read(regs.count), chip.0.take_console()), (0, b"mux".to_vec()));
    // Synchronisation and generators.
    chip.write(mux, 1 << 16 | 0x19);
    chip.write(mux + 0x100, 1 << 16);
    assert_eq!(chip.told(), [regs.control, mux, mux + 0x100]);
    let names = chip.told().into_iter().filter_map(|address| chip.0.soc().register_name(address));
    assert_eq!(names.collect::<Vec<_>>(), ["DMA2.CCR1", "DMAMUX1.C0CR", "DMAMUX1+0x100"]);
    // EGE alone tells others something.
    chip.write(mux + 4, 1 << 9 | 0x19);
    assert_eq!(chip.told().len(), 3);
}

/// By channel 7 of DMA1 (CSELR; RM0394, table 41).
#[test]
fn an_l4_selects_requests_by_cselr() {
    let mut chip = machine!("stm32l432");
    let (dma, usart2) = (0x4002_0000, 0x4000_4400);
    chip.0.poke(RAM, b"l4").expect("RAM");
    let regs = channel(dma, 7);
    chip.write(dma + 0xA8, 2 << 24);
    chip.start(regs, [usart2 + 0x28, RAM, 2], 0x90);
    chip.write(usart2 + 0x0C, 16);
    chip.write(usart2 + 0x08, 1 << 7);
    chip.write(usart2, 1 | 1 << 3);
    chip.until(900);
    assert_eq!((chip.0.take_console(), chip.told()), (b"l4".to_vec(), vec![]));
}

/// An address where nothing responds, or only the core, is a transfer error; F4's core-coupled memory is one (RM0090,
/// 2.3.1).
#[test]
fn what_does_not_respond_ends_the_transfer() {
    for address in [0x1000_0000, 0x6000_0000, 0x2002_0000] {
        let mut chip = machine!("stm32f405");
        let regs = stream(F4, 0);
        chip.write(regs.control + 0x14, 1 << 2);
        chip.start(regs, [address, RAM, 4], 2 << 6 | 1 << 2);
        chip.until(50);
        assert_eq!((chip.read(F4) & 0x3F, chip.pending(56)), (0x08, true), "TEIF, {address:#x}");
        assert_eq!((chip.read(regs.control) & ENABLE, chip.read(regs.count)), (0, 4));
        chip.write(F4 + 8, 0x3D);
        assert_eq!(chip.read(F4), 0);
        // Flash does not take what is written.
        chip.start(regs, [RAM, 0x0800_0000, 4], 2 << 6);
        chip.until(99);
        assert_eq!(chip.read(F4) & 0x08, 0x08);
    }
}

/// What a running channel ignores, and what stopping a stream does (RM0090, 10.3.15; 10.5.5 to 10.5.9).
#[test]
fn a_stream_that_runs_keeps_its_registers_until_it_is_stopped() {
    let mut chip = machine!("stm32f405");
    let regs = stream(F4, 7);
    let control = 4 << 25 | 1 << 10 | 1 << 6;
    chip.start(regs, [F4_USART1 + 4, RAM, 9], control);
    for address in [regs.peripheral, regs.memory, regs.count, regs.control + 0x14] {
        let before = chip.read(address);
        chip.write(address, !before & 0xFF);
        assert_eq!(chip.read(address), before, "{address:#x}");
    }
    chip.write(regs.control, ENABLE);
    assert_eq!(chip.read(regs.control), control | ENABLE);
    chip.write(regs.control, 0);
    assert_eq!(chip.read(regs.control), control);
    assert_eq!((chip.read(F4 + 4) >> 22, chip.read(regs.count)), (0x20, 9), "TCIF");
}

/// A stream that has ended moves as many items again once it is enabled (RM0090, 10.5.6); a channel moves none (RM0008,
/// 13.4.4).
#[test]
fn only_a_stream_begins_again_with_its_count() {
    let mut f4 = machine!("stm32f405");
    let regs = stream(F4, 0);
    f4.write(regs.control + 0x14, 1 << 2);
    f4.start(regs, [RAM, RAM + 0x40, 3], 2 << 6);
    f4.until(50);
    f4.write(regs.control, 2 << 6 | ENABLE);
    f4.until(100);
    assert_eq!((f4.read(regs.count), f4.0.dma_transfers()), (0, 6));
    let mut f1 = machine!("stm32f103");
    let regs = channel(F1, 1);
    f1.start(regs, [RAM, RAM + 0x40, 3], 1 << 14);
    f1.until(50);
    f1.write(regs.control, 0);
    f1.write(regs.control, 1 << 14 | ENABLE);
    f1.until(100);
    assert_eq!((f1.read(regs.count), f1.0.dma_transfers()), (0, 3));
}

/// DMA1 of an F4 cannot copy (RM0090, 10.3.1), and nothing copies without the FIFO; peripherals that control the flow,
/// and bursts on their side, have no model.
#[test]
fn what_a_stream_cannot_do_here_is_reported() {
    let (dma1, requests_usart1) = (0x4002_6000, 4 << 25 | 1 << 6);
    for (base, at, fifo, control) in [
        (dma1, 0, 4, 2 << 6),
        (F4, 0, 0, 2 << 6),
        (F4, 7, 0, requests_usart1 | 1 << 5),
        (F4, 7, 4, requests_usart1 | 1 << 21),
        (F4, 7, 0, requests_usart1 ^ 1 << 27),
    ] {
        let mut chip = machine!("stm32f405");
        let regs = stream(base, at);
        chip.write(regs.control + 0x14, fifo);
        chip.start(regs, [RAM, RAM + 0x40, 4], control);
        chip.until(100);
        assert_eq!((chip.told(), chip.0.dma_transfers()), (vec![regs.control], 0), "{control:#x}");
    }
}

/// A timer's updates and matches request one transfer each, here to a port's BSRR, whose pins follow; TIM2's update is
/// request 3 of stream 1 of DMA1 (RM0090, table 42), but DMA1 does not reach AHB1 on a chip: TIM1's, of stream 5 of DMA2,
/// request 6, does.
#[test]
fn timers_request_transfers() {
    let mut chip = machine!("stm32f405");
    let (tim1, gpioa) = (0x4001_0000, 0x4002_0000);
    let words: Vec<u8> = [1u32, 1 << 16, 2].iter().flat_map(|word| word.to_le_bytes()).collect();
    chip.0.poke(RAM, &words).expect("RAM");
    let regs = stream(F4, 5);
    let control = 6 << 25 | 2 << 13 | 2 << 11 | 1 << 10 | 1 << 6;
    chip.start(regs, [gpioa + 0x18, RAM, 3], control);
    chip.write(tim1 + 0x2C, 99);
    chip.write(tim1 + 0x0C, 1 << 8);
    chip.write(tim1, 1);
    let started = 1;
    let mut seen = Vec::new();
    for update in 1..=4 {
        chip.until(started + 100 * update + 2);
        let before = chip.read(gpioa + 0x14);
        chip.until(started + 100 * update + 20);
        seen.push((before, chip.read(gpioa + 0x14)));
    }
    assert_eq!(seen, [(0, 1), (1, 0), (0, 2), (2, 2)]);
    assert_eq!((chip.0.dma_transfers(), chip.told()), (3, vec![]));
    // CC1 is request 6 of stream 1 and of stream 3.
    let regs = stream(F4, 1);
    chip.write(regs.memory, RAM);
    chip.start(regs, [tim1 + 0x24, RAM + 0x40, 2], 6 << 25 | 1 << 13 | 1 << 11 | 1 << 10);
    chip.write(tim1 + 0x34, 30);
    chip.write(tim1 + 0x0C, 1 << 9);
    chip.until(1000);
    let counts: [u8; 4] = chip.bytes(RAM + 0x40);
    assert_eq!(counts, [34, 0, 34, 0], "TIM1's counter, four cycles after it has matched");
}

/// A reset of the controller stops it and forgets what it was to do.
#[test]
fn a_reset_stops_all_channels() {
    let mut chip = machine!("stm32f405");
    let (rcc_reset, regs) = (0x4002_3810, stream(F4, 7));
    chip.start(regs, [F4_USART1 + 4, RAM, 9], 4 << 25 | 1 << 10 | 1 << 6);
    usart_v1(&mut chip, F4_USART1);
    chip.until(200);
    chip.write(rcc_reset, 1 << 22);
    chip.write(rcc_reset, 0);
    assert_eq!(
        [regs.control, regs.count, regs.control + 0x14].map(|it| chip.read(it)),
        [0, 0, 0x21]
    );
    chip.until(900);
    assert_eq!(chip.0.dma_transfers(), 3);
    // USART1 still asks.
    chip.start(regs, [F4_USART1 + 4, RAM, 1], 4 << 25 | 1 << 10 | 1 << 6);
    chip.until(950);
    assert_eq!(chip.0.dma_transfers(), 4);
}

/// Each bit of LIFCR clears its flag alone (RM0090, 10.5.3), and each of TEIE, HTIE and TCIE lets its flag interrupt.
#[test]
fn a_streams_flags_are_its_own() {
    let mut chip = machine!("stm32f405");
    for at in [0, 1] {
        let regs = stream(F4, at);
        chip.write(regs.control, 2 << 6);
        assert_eq!(chip.read(F4) >> (6 * at) & 0x3F, 0, "nothing has ended");
        chip.write(regs.control + 0x14, 1 << 2);
        // HTIE of the first, TCIE of the second.
        chip.start(regs, [RAM, RAM + 0x40, 8], 2 << 6 | 1 << (3 + at));
        let pending = if at == 0 { 4 } else { 8 };
        let now = chip.0.cycles().0;
        chip.until(now + 4 * pending - 2);
        assert!(!chip.pending(56 + at as u16));
        chip.until(now + 4 * pending + 2);
        assert!(chip.pending(56 + at as u16));
        chip.until(now + 40);
    }
    assert_eq!(chip.read(F4), 0x30 << 6 | 0x30);
    chip.write(F4 + 8, 1 << 4);
    assert_eq!(chip.read(F4), 0x30 << 6 | 0x20);
    chip.write(F4 + 8, 1 << 11);
    assert_eq!(chip.read(F4), 0x10 << 6 | 0x20);
}

#[test]
fn the_stream_with_priority_goes_first() {
    let mut chip = machine!("stm32f405");
    let regs = [stream(F4, 0), stream(F4, 1)];
    for (priority, regs) in (2..).zip(regs) {
        chip.write(regs.control + 0x14, 1 << 2);
        chip.start(regs, [RAM, RAM + 0x40, 8], 2 << 6 | priority << 16);
    }
    chip.until(32);
    let [first, second] = regs.map(|regs| chip.read(regs.count));
    assert!(first >= 6 && second <= 2, "{first} {second}");
}

/// Registers that are written in halves, and what a DMAMUX keeps.
#[test]
fn registers_keep_what_is_written() {
    let mut chip = machine!("stm32g431");
    let (mux, regs) = (0x4002_0800, channel(0x4002_0000, 3));
    for address in [regs.peripheral, regs.memory, mux + 4, mux + 0x104] {
        chip.write(address, 0x1234_5678);
        chip.0.cortex_m_state().write_peripheral(address, 0xBEEF, 0xFFFF).expect("no fault");
        assert_eq!(chip.read(address), 0x1234_BEEF, "{address:#x}");
    }
    assert_eq!(
        [mux, mux + 8, mux + 0x100, mux + 0x108, mux + 0x80].map(|it| chip.read(it)),
        [0; 5]
    );
}

/// A halfword to the upper half of BSRR resets pins (RM0090, 8.4.7).
#[test]
fn narrow_items_reach_their_part_of_a_register() {
    let mut chip = machine!("stm32f405");
    let gpioa = 0x4002_0000;
    chip.write(gpioa + 0x18, 0b111);
    chip.0.poke(RAM, &[0b101, 0]).expect("RAM");
    let regs = stream(F4, 0);
    chip.write(regs.control + 0x14, 1 << 2);
    chip.start(regs, [RAM, gpioa + 0x1A, 1], 2 << 6 | 1 << 11 | 1 << 13);
    chip.until(30);
    assert_eq!(chip.read(gpioa + 0x14), 0b010);
}
