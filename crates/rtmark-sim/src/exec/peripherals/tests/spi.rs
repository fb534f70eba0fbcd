//! The SPI of STM32 as a master: what it sends and when, what comes back, and what it tells the program.

use super::*;

/// SPI1 of STM32F405, with a buffer in each direction, and SPI1 of STM32G431, with FIFOs; SPI1 of both counts the core's
/// clock after a reset.
const F4: u32 = 0x4001_3000;
const G4: u32 = 0x4001_3000;
const CR1: u32 = 0x00;
const CR2: u32 = 0x04;
const SR: u32 = 0x08;
const DR: u32 = 0x0C;

/// CR1: a master whose NSS software drives high, on, at an eighth of the clock.
const MASTER: u32 = 1 << 9 | 1 << 8 | 1 << 6 | 0b010 << 3 | 1 << 2;
const OFF: u32 = 1 << 6;
/// SR.
const RXNE: u32 = 1;
const TXE: u32 = 2;
const MODF: u32 = 1 << 5;
const OVR: u32 = 1 << 6;
const BSY: u32 = 1 << 7;

/// A machine whose first SPI has a wire from its output to its input.
fn looped(soc: &str) -> Rig {
    let soc = soc.replacen("kind = \"stm32-spi", "input = \"output\"\nkind = \"stm32-spi", 1);
    Rig(Machine::new(&Soc::from_toml(&soc).expect("good")))
}

fn f405() -> Rig {
    looped(include_str!("../../../../../../socs/stm32f405.toml"))
}

fn g431() -> Rig {
    looped(include_str!("../../../../../../socs/stm32g431.toml"))
}

impl Rig {
    fn write_byte(&mut self, address: u32, value: u32) {
        self.0.cortex_m_state().write_peripheral(address, value, 0xFF).expect("no fault");
    }

    fn write_halfword(&mut self, address: u32, value: u32) {
        self.0.cortex_m_state().write_peripheral(address, value, 0xFFFF).expect("no fault");
    }
}

/// Eight bits at an eighth of the clock take 64 cycles. The second frame waits in the buffer and follows without a gap.
#[test]
fn frames_follow_each_other_and_come_back() {
    let mut chip = f405();
    assert_eq!(chip.read(F4 + SR), TXE, "SR after a reset (RM0090, 28.5.3)");
    chip.write(F4 + CR1, MASTER);
    chip.until(100);
    chip.write(F4 + DR, 0x5A);
    assert_eq!(chip.read(F4 + SR), TXE | BSY, "the first frame has left the buffer");
    chip.write(F4 + DR, 0xC3);
    assert_eq!(chip.read(F4 + SR), BSY);
    chip.until(163);
    assert_eq!(chip.read(F4 + SR), BSY);
    chip.until(165);
    assert_eq!(chip.read(F4 + SR), RXNE | TXE | BSY);
    assert_eq!(chip.read(F4 + DR), 0x5A);
    assert_eq!(chip.read(F4 + SR), TXE | BSY);
    chip.until(229);
    assert_eq!(chip.read(F4 + SR), RXNE | TXE);
    assert_eq!([chip.read(F4 + DR), chip.read(F4 + DR)], [0xC3, 0xC3], "nothing replaces it");
    assert_eq!(chip.read(F4 + SR), TXE);
    assert_eq!(chip.0.unmodelled().count(), 0);
}

#[test]
fn a_frame_takes_as_long_as_its_bits_and_the_divisor_say() {
    for (control, bits) in [(0, 8), (1 << 11, 16)] {
        for divisor in 0..8 {
            let mut chip = f405();
            chip.write(F4 + CR1, MASTER & !(7 << 3) | divisor << 3 | control);
            chip.until(1000);
            chip.write(F4 + DR, 0xA5A5);
            let frame = bits << (divisor + 1);
            chip.until(1000 + frame - 1);
            assert_eq!(chip.read(F4 + SR) & (RXNE | BSY), BSY, "{bits} bits, {divisor}");
            chip.until(1000 + frame + 1);
            assert_eq!(chip.read(F4 + SR) & (RXNE | BSY), RXNE, "{bits} bits, {divisor}");
            assert_eq!(chip.read(F4 + DR), 0xA5A5 & (0xFFFF >> (16 - bits)));
        }
    }
}

/// RM0090, 28.3.10: what arrives while the buffer is full is lost; reading DR, then SR clears OVR.
#[test]
fn what_is_not_read_in_time_is_lost_and_told() {
    let mut chip = f405();
    chip.write(F4 + CR1, MASTER);
    chip.write(F4 + CR2, 1 << 5);
    chip.write(F4 + DR, 1);
    chip.write(F4 + DR, 2);
    chip.until(70);
    assert!(!chip.pending(35));
    chip.until(200);
    assert_eq!(chip.read(F4 + SR), OVR | RXNE | TXE);
    assert!(chip.pending(35), "ERRIE");
    assert_eq!(chip.read(F4 + SR) & OVR, OVR, "SR alone does not clear it");
    assert_eq!(chip.read(F4 + DR), 1);
    assert_eq!([chip.read(F4 + SR), chip.read(F4 + SR)], [OVR | TXE, TXE]);
}

/// RM0090, 28.3.10: SSM without SSI takes a master off; reading SR, then writing CR1 clears MODF.
#[test]
fn a_master_that_is_selected_gives_up() {
    let mut chip = f405();
    chip.write(F4 + CR1, MASTER & !(1 << 8));
    assert_eq!(chip.read(F4 + CR1) & (1 << 6 | 1 << 2), 0);
    assert_eq!(chip.read(F4 + SR), MODF | TXE);
    chip.write(F4 + CR1, MASTER);
    assert_eq!(chip.read(F4 + SR), TXE);
    chip.write(F4 + DR, 1);
    assert_eq!(chip.read(F4 + SR), TXE | BSY);
}

#[test]
fn nothing_moves_while_it_is_off_and_what_waits_is_dropped() {
    let mut chip = f405();
    chip.write(F4 + CR1, MASTER & !OFF);
    chip.write(F4 + DR, 7);
    chip.until(500);
    assert_eq!(chip.read(F4 + SR), 0, "it waits in the buffer");
    chip.write(F4 + CR1, MASTER);
    chip.until(600);
    assert_eq!((chip.read(F4 + DR), chip.read(F4 + SR)), (7, TXE));
    chip.write(F4 + DR, 8);
    chip.write(F4 + DR, 9);
    chip.write(F4 + CR1, MASTER & !OFF);
    assert_eq!(chip.read(F4 + SR), TXE);
    chip.write(F4 + CR1, MASTER);
    chip.until(900);
    assert_eq!(chip.read(F4 + SR), TXE, "neither is sent");
}

/// RM0090, 28.3.4: as a receiver only, it clocks one frame after another; on one wire, it either sends or receives.
#[test]
fn one_direction_alone() {
    let mut chip = machine!("stm32f405");
    chip.write(F4 + CR1, MASTER | 1 << 10);
    chip.until(65);
    assert_eq!(chip.read(F4 + SR) & (RXNE | OVR | BSY), RXNE | BSY);
    assert_eq!(chip.read(F4 + DR), 0xFF, "nothing is connected");
    chip.until(1000);
    assert_eq!(chip.read(F4 + SR) & (RXNE | OVR | BSY), RXNE | OVR | BSY);
    // Frames keep ending at 64 N + 1.
    chip.until((1 << 40) + 1);
    chip.write(F4 + CR1, MASTER);
    assert_eq!([chip.read(F4 + DR), chip.read(F4 + SR) & OVR], [0xFF, OVR]);
    chip.until((1 << 40) + 63);
    assert_eq!(chip.read(F4 + SR) & (RXNE | BSY), BSY);
    chip.until((1 << 40) + 66);
    assert_eq!(chip.read(F4 + SR) & (RXNE | BSY), RXNE);
    for (direction, received) in [(1 << 15, RXNE), (0b11 << 14, 0)] {
        let mut chip = f405();
        chip.write(F4 + CR1, MASTER | direction);
        chip.write(F4 + DR, 0x12);
        chip.until(70);
        assert_eq!(chip.read(F4 + SR) & RXNE, received);
    }
}

#[test]
fn interrupts_come_when_there_is_room_and_when_a_frame_has_arrived() {
    let mut chip = f405();
    chip.write(F4 + CR1, MASTER);
    chip.write(F4 + CR2, 1 << 6);
    chip.write(F4 + DR, 1);
    chip.until(60);
    assert!(!chip.pending(35));
    chip.until(70);
    assert!(chip.pending(35), "RXNEIE");
    let mut chip = f405();
    chip.write(F4 + CR1, MASTER);
    chip.write(F4 + DR, 1);
    chip.write(F4 + DR, 2);
    chip.write(F4 + CR2, 1 << 7);
    chip.until(60);
    assert!(!chip.pending(35));
    chip.until(70);
    assert!(chip.pending(35), "TXEIE");
}

/// RM0440, "Data packing": with frames of up to eight bits, a halfword holds two, the lower one first; FRXTH says whether
/// one byte or two raise RXNE.
#[test]
fn a_fifo_packs_short_frames() {
    let mut chip = g431();
    assert_eq!((chip.read(G4 + CR2), chip.read(G4 + SR)), (0x700, TXE));
    chip.write(G4 + CR1, MASTER);
    chip.write_halfword(G4 + DR, 0x2211);
    // The first is being sent; the second waits: a quarter of the FIFO.
    assert_eq!(chip.read(G4 + SR), 1 << 11 | TXE | BSY);
    chip.write_halfword(G4 + DR, 0x4433);
    assert_eq!(chip.read(G4 + SR), 3 << 11 | BSY, "more than half");
    chip.until(66);
    assert_eq!(chip.read(G4 + SR), 2 << 11 | 1 << 9 | TXE | BSY, "RXNE waits for two");
    chip.until(131);
    assert_eq!(chip.read(G4 + SR), 1 << 11 | 2 << 9 | TXE | BSY | RXNE);
    assert_eq!(chip.read(G4 + DR), 0x2211);
    chip.write(G4 + CR2, 0x1700);
    chip.until(195);
    assert_eq!(chip.read(G4 + SR), 1 << 9 | TXE | BSY | RXNE);
    assert_eq!(chip.read(G4 + DR), 0x33);
    chip.write_byte(G4 + DR, 0x55);
    chip.until(400);
    assert_eq!([chip.read(G4 + DR), chip.read(G4 + DR)], [0x44, 0x55]);
    assert_eq!(chip.read(G4 + SR), TXE);
    assert_eq!(chip.0.unmodelled().count(), 0);
}

/// DS: frames of four to sixteen bits; lower values stand for eight.
#[test]
fn frames_of_a_fifo_have_the_size_that_is_set() {
    for size in 0..16 {
        let bits = if size < 3 { 8 } else { size + 1 };
        let mut chip = g431();
        chip.write(G4 + CR2, 0x1000 | size << 8);
        chip.write(G4 + CR1, MASTER);
        chip.until(10);
        match bits {
            ..=8 => chip.write_byte(G4 + DR, 0xFF),
            _ => chip.write_halfword(G4 + DR, 0xFFFF),
        }
        chip.until(10 + 8 * u64::from(bits) - 1);
        assert_eq!(chip.read(G4 + SR) & (RXNE | BSY), BSY, "{bits} bits");
        chip.until(10 + 8 * u64::from(bits) + 1);
        assert_eq!(chip.read(G4 + SR) & (RXNE | BSY), RXNE, "{bits} bits");
        assert_eq!(chip.read(G4 + DR), 0xFFFF >> (16 - bits));
    }
}

#[test]
fn a_full_fifo_loses_what_comes_next() {
    let mut chip = g431();
    chip.write(G4 + CR2, 0x1700);
    chip.write(G4 + CR1, MASTER);
    for byte in 1..=5 {
        chip.write_byte(G4 + DR, byte);
    }
    chip.write_byte(G4 + DR, 6);
    chip.until(1000);
    assert_eq!(chip.read(G4 + SR), 3 << 9 | OVR | TXE | RXNE);
    let received: Vec<_> = (0..4).map(|_| chip.read(G4 + DR)).collect();
    assert_eq!(
        received,
        [1, 2, 3, 4],
        "the sixth found no room, the fifth did not when it arrived"
    );
}

/// As HAL_SPI_TransmitReceive_DMA does, on DMA2: stream 3 sends and stream 0 receives, as request 3 of both (RM0090,
/// table 43).
#[test]
fn dma_sends_and_receives() {
    const DMA2: u32 = 0x4002_6400;
    const RAM: u32 = 0x2000_0100;
    let mut chip = f405();
    chip.0.poke(RAM, b"four").expect("RAM");
    for (stream, memory, control) in
        [(0, RAM + 0x100, 3 << 25 | 1 << 10), (3, RAM, 3 << 25 | 1 << 10 | 1 << 6)]
    {
        let regs = DMA2 + 0x10 + 0x18 * stream;
        chip.write(regs + 4, 4);
        chip.write(regs + 8, F4 + DR);
        chip.write(regs + 12, memory);
        chip.write(regs, control | 1);
    }
    chip.write(F4 + CR2, 0b11);
    chip.write(F4 + CR1, MASTER);
    // One frame after another, without a gap.
    chip.until(20 + 4 * 64);
    assert_eq!(chip.0.peek(RAM + 0x100, 4), *b"four");
    assert_eq!((chip.read(F4 + SR), chip.0.dma_transfers()), (TXE, 8));
    assert_eq!(chip.0.unmodelled().count(), 0);
}

#[test]
fn a_slave_a_checksum_and_i2s_are_told() {
    for (offset, value) in
        [(CR1, MASTER & !(1 << 2)), (CR1, MASTER | 1 << 13), (0x1C, 1 << 11 | 1 << 10)]
    {
        let mut chip = machine!("stm32f405");
        chip.write(F4 + offset, value);
        let told: Vec<_> = chip.0.unmodelled().map(|it| it.address).collect();
        assert_eq!(told, [F4 + offset], "{value:#x}");
    }
}

#[test]
fn its_input_is_as_the_soc_file_says() {
    let soc = include_str!("../../../../../../socs/stm32f405.toml");
    for (input, received) in [("high", 0xFF), ("low", 0), ("output", 0x3C)] {
        let key = format!("input = \"{input}\"\nkind = \"stm32-spi");
        let soc = Soc::from_toml(&soc.replacen("kind = \"stm32-spi", &key, 1)).expect("good");
        let mut chip = Rig(Machine::new(&soc));
        chip.write(F4 + CR1, MASTER);
        chip.write(F4 + DR, 0x3C);
        chip.until(100);
        assert_eq!(chip.read(F4 + DR), received);
    }
    let usart = soc.replacen("kind = \"stm32-usart", "input = \"low\"\nkind = \"stm32-usart", 1);
    let refused = Soc::from_toml(&usart).expect_err("a USART has no such input").to_string();
    assert!(refused.contains("input is for kind = \"stm32-spi-v1\""), "{refused}");
}
