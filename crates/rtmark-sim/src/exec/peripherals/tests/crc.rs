//! The CRC unit of STM32, by the check values of "123456789" in the Catalogue of parametrised CRC algorithms (Greg Cook).

use super::*;

const CRC: u32 = 0x4002_3000;
const DR: u32 = CRC;
const IDR: u32 = CRC + 4;
const CR: u32 = CRC + 8;
const INIT: u32 = CRC + 16;
const POL: u32 = CRC + 20;

const CHECKED: &[u8] = b"123456789";

impl Rig {
    fn write_as(&mut self, address: u32, value: u32, mask: u32) {
        self.0.cortex_m_state().write_peripheral(address, value, mask).expect("no fault");
    }
}

/// CR: the sizes of polynomials; bits of each byte reversed, and of the result.
const SIZE_16: u32 = 1 << 3;
const SIZE_8: u32 = 2 << 3;
const SIZE_7: u32 = 3 << 3;
const REFLECTED: u32 = 1 << 7 | 1 << 5;

#[test]
fn results_are_those_of_the_catalogue() {
    for (name, control, polynomial, initial, final_xor, check) in [
        ("CRC-32/MPEG-2", 0, 0x04C1_1DB7, u32::MAX, 0, 0x0376_E6E7),
        ("CRC-32/ISO-HDLC", REFLECTED, 0x04C1_1DB7, u32::MAX, u32::MAX, 0xCBF4_3926),
        ("CRC-16/IBM-3740", SIZE_16, 0x1021, 0xFFFF, 0, 0x29B1),
        ("CRC-16/MODBUS", SIZE_16 | REFLECTED, 0x8005, 0xFFFF, 0, 0x4B37),
        ("CRC-16/XMODEM", SIZE_16, 0x1021, 0, 0, 0x31C3),
        ("CRC-8/SMBUS", SIZE_8, 0x07, 0, 0, 0xF4),
        ("CRC-8/MAXIM-DOW", SIZE_8 | REFLECTED, 0x31, 0, 0, 0xA1),
        ("CRC-7/MMC", SIZE_7, 0x09, 0, 0, 0x75),
    ] {
        let mut chip = machine!("stm32g431");
        chip.write(POL, polynomial);
        chip.write(INIT, initial);
        chip.write(CR, control | 1);
        for byte in CHECKED {
            chip.write_as(DR, u32::from(*byte), 0xFF);
        }
        assert_eq!(chip.read(DR) ^ final_xor, check, "{name}");
        assert_eq!(chip.read(CR), control, "RESET clears itself");
        assert_eq!(chip.0.unmodelled().count(), 0);
    }
}

/// A word or halfword is taken from its highest byte on; with all its bits reversed, from the lowest one on.
#[test]
fn wider_writes_are_several_bytes() {
    const BYTES: &[u8; 4] = b"1234";
    const REVERSED_BYTES: u32 = 1 << 5;
    const REVERSED_HALVES: u32 = 2 << 5;
    const REVERSED_WORDS: u32 = 3 << 5;
    let (one, two) = ([b'1', b'2'], [b'3', b'4']);
    for (bytes, halves, words, half, word) in [
        (0, 0, 0, u16::from_be_bytes as fn([u8; 2]) -> u16, u32::from_be_bytes(*BYTES)),
        (
            REVERSED_BYTES,
            REVERSED_HALVES,
            REVERSED_WORDS,
            u16::from_le_bytes as fn([u8; 2]) -> u16,
            u32::from_le_bytes(*BYTES),
        ),
    ] {
        let mut chip = machine!("stm32g431");
        chip.write(CR, bytes | 1);
        for byte in BYTES {
            chip.write_as(DR, u32::from(*byte), 0xFF);
        }
        let result = chip.read(DR);
        chip.write(CR, halves | 1);
        chip.write_as(DR, half(one).into(), 0xFFFF);
        chip.write_as(DR, half(two).into(), 0xFFFF);
        assert_eq!(chip.read(DR), result, "halfwords");
        chip.write(CR, words | 1);
        chip.write(DR, word);
        assert_eq!(chip.read(DR), result, "words");
    }
}

/// REV_IN reverses the bits of bytes or halfwords inside a wider write, too (RM0394, CRC_CR: 0x1A2B3C4D becomes
/// 0x58D43CB2, 0xD458B23C and 0xB23CD458).
#[test]
fn the_input_is_reversed_in_groups() {
    for (group, reversed) in
        [(0, 0x1A2B_3C4D), (1, 0x58D4_3CB2), (2, 0xD458_B23C), (3, 0xB23C_D458)]
    {
        let mut chip = machine!("stm32g431");
        chip.write(CR, group << 5 | 1);
        chip.write(DR, 0x1A2B_3C4D);
        let result = chip.read(DR);
        chip.write(CR, 1);
        chip.write(DR, reversed);
        assert_eq!(result, chip.read(DR), "REV_IN {group}");
    }
}

/// The unit of F1 and F4 takes words only. "12345678" in two words, then nothing: the remainder that makes "123456789"
/// CRC-32/MPEG-2's check value.
#[test]
fn the_older_unit_takes_words() {
    for chip in [machine!("stm32f103"), machine!("stm32f405")] {
        let mut chip = chip;
        assert_eq!(chip.read(DR), u32::MAX);
        for word in [*b"1234", *b"5678"] {
            chip.write(DR, u32::from_be_bytes(word));
        }
        let words = chip.read(DR);
        let mut newer = machine!("stm32g431");
        newer.write(INIT, words);
        newer.write_as(DR, u32::from(b'9'), 0xFF);
        assert_eq!(newer.read(DR), 0x0376_E6E7);
        chip.write(IDR, 0x1A5);
        chip.write(CR, 1);
        assert_eq!([chip.read(DR), chip.read(IDR), chip.read(CR)], [u32::MAX, 0xA5, 0]);
    }
}
