//! UF2: blocks of 512 bytes, each with the address of its payload.
//!
//! Implements the format's own specification, "USB Flashing Format (UF2)".

use std::collections::BTreeMap;

use super::chunks::Chunks;
use super::{Architecture, Image, ImageError, ImageFormat, TargetChip};
use crate::soc::CoreKind;

/// The first two words of every block.
pub const MAGIC: [u8; 8] = [0x55, 0x46, 0x32, 0x0A, 0x57, 0x51, 0x5D, 0x9E];
const END_MAGIC: u32 = 0x0AB1_6F30;
const BLOCK: usize = 512;
/// The offset of a block's payload, and its maximum size.
const PAYLOAD: usize = 32;
const MAX_PAYLOAD: usize = 476;

const NOT_MAIN_FLASH: u32 = 1;
const FILE_CONTAINER: u32 = 1 << 12;
const HAS_FAMILY: u32 = 1 << 13;
/// RP2350's family for blocks that belong to no program: the tools put one before the others because of
/// erratum RP2350-E10.
const ABSOLUTE: u32 = 0xE48B_FF57;
/// The families whose cores and socs are known (RP2350 datasheet, 5.5).
const FAMILIES: [(u32, Architecture, TargetChip); 4] = [
    (0xE48B_FF56, Architecture::ArmM, TargetChip { soc: "rp2040", core: CoreKind::CortexM0Plus }),
    (0xE48B_FF59, Architecture::ArmM, RP2350),
    (0xE48B_FF5A, Architecture::RiscV, TargetChip { soc: "rp2350-riscv", core: CoreKind::Hazard3 }),
    (0xE48B_FF5B, Architecture::ArmM, RP2350),
];
const RP2350: TargetChip = TargetChip { soc: "rp2350", core: CoreKind::CortexM33 };

fn error_at(offset: usize, problem: impl Into<String>) -> ImageError {
    ImageError::Uf2 { offset, problem: problem.into() }
}

/// The blocks of one family.
#[derive(Default)]
struct Family {
    chunks: Chunks,
    blocks: u32,
    announced: u32,
    last: usize,
}

impl Image {
    /// Reads a UF2 file.
    ///
    /// # Errors
    /// When a block is damaged, some are missing, two claim the same address, or the file holds programs
    /// for several families of chips.
    pub fn from_uf2(bytes: &[u8]) -> Result<Self, ImageError> {
        let mut families: BTreeMap<u32, Family> = BTreeMap::new();
        for (at, block) in bytes.chunks(BLOCK).enumerate() {
            let offset = at * BLOCK;
            if block.len() < BLOCK {
                return Err(error_at(offset, format!("{} bytes instead of 512", block.len())));
            }
            let word = |at: usize| {
                u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
            };
            if !block.starts_with(&MAGIC) || word(BLOCK - 4) != END_MAGIC {
                return Err(error_at(offset, "it lacks the marks of a block"));
            }
            let (flags, address, size) = (word(8), word(12), word(16) as usize);
            let (number, announced) = (word(20), word(24));
            if flags & (NOT_MAIN_FLASH | FILE_CONTAINER) != 0 {
                continue;
            }
            if size > MAX_PAYLOAD {
                return Err(error_at(offset, format!("a payload of {size} bytes; 476 fit")));
            }
            let family =
                families.entry(if flags & HAS_FAMILY == 0 { 0 } else { word(28) }).or_default();
            if number != family.blocks || number >= announced {
                let problem = format!(
                    "it calls itself block {number} of {announced} where block {} should be",
                    family.blocks
                );
                return Err(error_at(offset, problem));
            }
            if family.blocks > 0 && announced != family.announced {
                let problem =
                    format!("it announces {announced} blocks, earlier ones {}", family.announced);
                return Err(error_at(offset, problem));
            }
            (family.blocks, family.announced, family.last) = (number + 1, announced, offset);
            if !family.chunks.add(address, &block[PAYLOAD..PAYLOAD + size], offset) {
                return Err(error_at(offset, "its payload reaches beyond the last address"));
            }
        }
        if families.len() > 1 {
            families.remove(&ABSOLUTE);
        }
        let names = families.keys().map(|id| format!("{id:#010x}")).collect::<Vec<_>>().join(", ");
        let Some((id, family)) = families.pop_first() else { return Err(ImageError::Empty) };
        if !families.is_empty() {
            let problem = format!("programs for several families of chips: {names}");
            return Err(ImageError::Uf2Contents(problem));
        }
        if family.blocks != family.announced {
            let problem =
                format!("it is the last of {} blocks, found {}", family.announced, family.blocks);
            return Err(error_at(family.last, problem));
        }
        let segments = family.chunks.into_segments(error_at)?;
        let known = FAMILIES.into_iter().find(|(known, ..)| *known == id);
        let (architecture, chip) =
            known.map(|(_, architecture, chip)| (architecture, chip)).unzip();
        Ok(Self { format: ImageFormat::Uf2, architecture, chip, segments, ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(address: u32, number: u32, of: u32, family: u32) -> Vec<u8> {
        let mut block = MAGIC.to_vec();
        for word in [HAS_FAMILY, address, 256, number, of, family] {
            block.extend(word.to_le_bytes());
        }
        block.extend([number as u8; 256]);
        block.resize(BLOCK - 4, 0);
        block.extend(END_MAGIC.to_le_bytes());
        block
    }

    fn valid_file() -> Vec<u8> {
        [block(0x1000_0000, 0, 2, 7), block(0x1000_0100, 1, 2, 7)].concat()
    }

    fn refusal(bytes: &[u8]) -> String {
        Image::from_uf2(bytes).expect_err("refused").to_string()
    }

    #[test]
    fn blocks_become_segments() {
        let image = Image::from_bytes(&valid_file(), 0).expect("an image");
        assert_eq!(image.format(), ImageFormat::Uf2);
        let [segment] = image.segments() else { panic!("{image:?}") };
        assert_eq!((segment.load_address, segment.bytes.len()), (0x1000_0000, 512));
        assert_eq!((segment.bytes[0], segment.bytes[256]), (0, 1));
    }

    #[test]
    fn the_erratum_block_is_skipped() {
        let first = block(0x10FF_FF00, 0, 2, ABSOLUTE);
        let image = Image::from_uf2(&[first, valid_file()].concat()).expect("an image");
        assert_eq!(image.segments().len(), 1);
    }

    #[test]
    fn families_name_cores_and_socs() {
        let of = |family| {
            let image = Image::from_uf2(&block(0, 0, 1, family)).expect("an image");
            (image.architecture(), image.chip().map(|chip| chip.soc))
        };
        assert_eq!(of(7), (None, None));
        assert_eq!(of(0xE48B_FF56), (Some(Architecture::ArmM), Some("rp2040")));
        assert_eq!(of(0xE48B_FF5A), (Some(Architecture::RiscV), Some("rp2350-riscv")));
    }

    #[test]
    fn errors_name_the_block() {
        let valid = valid_file();
        assert!(refusal(&valid[..700]).contains("block at offset 0x200: 188 bytes instead of 512"));
        assert!(refusal(&valid[..512]).contains("it is the last of 2 blocks, found 1"));
        assert!(refusal(&valid[512..]).contains("block 1 of 2 where block 0"));
        let spoiled = |at: usize, value: u8| {
            let mut bytes = valid.clone();
            bytes[at] = value;
            refusal(&bytes)
        };
        assert!(spoiled(512, 0).contains("offset 0x200: it lacks the marks"));
        assert!(spoiled(17, 9).contains("payload of 2304 bytes"));
        assert!(spoiled(512 + 13, 0).contains("offset 0x200: data for 0x10000000 came before"));
        let several = [block(0, 0, 1, 7), block(0, 0, 1, 8)].concat();
        assert!(refusal(&several).contains("several families of chips: 0x00000007, 0x00000008"));
        assert!(refusal(&block(0xFFFF_FFF0, 0, 1, 7)).contains("beyond the last address"));
        assert_eq!(Image::from_uf2(&[]).expect_err("refused"), ImageError::Empty);
    }

    #[test]
    fn truncated_and_corrupted_files_do_not_panic() {
        let valid = valid_file();
        for length in 0..valid.len() {
            assert!(Image::from_uf2(&valid[..length]).is_err(), "{length}");
        }
        for at in 0..valid.len() {
            for flip in [1, 0x10, 0x80, 0xFF] {
                let mut bytes = valid.clone();
                bytes[at] ^= flip;
                let _ = Image::from_bytes(&bytes, 0);
            }
        }
    }
}
