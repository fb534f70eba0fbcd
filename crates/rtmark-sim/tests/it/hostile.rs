//! Bounded versions of the fuzz targets in `fuzz/`: files that nobody wrote.

use rtmark_sim::{CoreKind, Disassembly, Image, Machine, Soc};

use crate::support::Random;

/// A file with a few bytes changed, cut, or repeated.
fn damage(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    for _ in 0..=random.word() % 6 {
        if damaged.is_empty() {
            break;
        }
        let at = random.word() as usize % damaged.len();
        match random.word() % 5 {
            0 => damaged.truncate(at),
            1 => damaged[at] = random.word() as u8,
            2 => damaged[at] ^= 1 << (random.word() % 8),
            3 => damaged[at] = [0, 0xFF, b'0', b'\n', b'-'][random.word() as usize % 5],
            _ => {
                let part = damaged[at..].to_vec();
                damaged.extend(&part[..part.len().min(64)]);
            }
        }
    }
    damaged
}

#[test]
fn every_encoding_disassembles() {
    let mut random = Random(11);
    for &core in CoreKind::CORTEX_M {
        for first in 0..=u16::MAX {
            let (address, second) = (random.word(), random.word() as u16);
            let condition = Some(random.word() as u8).filter(|_| first % 3 == 0);
            let text = Disassembly::of(core, address, first, second, condition);
            assert!(!text.mnemonic.is_empty(), "{first:04x} {second:04x}");
        }
    }
}

#[test]
fn random_soc_files_do_not_panic() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../socs");
    let mut random = Random(13);
    let mut accepted = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read(path).expect("readable");
        for _ in 0..60 {
            let damaged = damage(&mut random, &text);
            if let Ok(soc) = Soc::from_toml(&String::from_utf8_lossy(&damaged)) {
                let _ = Machine::new(&soc).reset();
                accepted += 1;
            }
        }
    }
    assert!(accepted > 10, "{accepted}");
}

#[test]
fn random_images_do_not_panic() {
    let soc = Soc::from_toml(include_str!("../../../../socs/stm32c031.toml")).expect("good");
    let hex = b":020000040800F2\n:0800000000100020C1000008FF\n:00000001FF\n".to_vec();
    let mut uf2 =
        [0x0A32_4655_u32, 0x9E5D_5157, 0, 0x0800_0000, 256, 0, 1, 0].map(u32::to_le_bytes).concat();
    uf2.resize(508, 0x11);
    uf2.extend(0x0AB1_6F30_u32.to_le_bytes());
    let mut elf = vec![0x7F, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for half in [2_u16, 40, 1, 0] {
        elf.extend(half.to_le_bytes());
    }
    for word in [0x0800_0009_u32, 52, 0, 0x0500_0200] {
        elf.extend(word.to_le_bytes());
    }
    for half in [52_u16, 32, 1, 40, 0, 0] {
        elf.extend(half.to_le_bytes());
    }
    for word in [1_u32, 84, 0x0800_0000, 0x0800_0000, 16, 16, 5, 4] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([0x00, 0x10, 0x00, 0x20, 0x09, 0x00, 0x00, 0x08, 0xFE, 0xE7, 0, 0, 0, 0, 0, 0]);
    let mut random = Random(17);
    for file in [hex, uf2, elf] {
        let whole = Image::from_bytes(&file, 0);
        assert!(whole.is_ok(), "{whole:?}");
        for _ in 0..3_000 {
            let damaged = damage(&mut random, &file);
            if let Ok(image) = Image::from_bytes(&damaged, 0x0800_0000) {
                let _ = Machine::new(&soc).load(&image);
                let _ = image.symbols().name_at(0x0800_0008);
            }
        }
    }
}
