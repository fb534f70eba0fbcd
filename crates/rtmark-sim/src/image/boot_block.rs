//! The entry point that an image tells RP2350's boot ROM.
//!
//! A block of metadata in an image's first 4 KiB may hold it (RP2350 datasheet, 5.9). UF2 files have no
//! other one, and that of pico-sdk's ELF files is for debuggers: it leads back into the boot ROM.

use super::Segment;

const BEGIN: [u8; 4] = 0xFFFF_DED3_u32.to_le_bytes();
/// The boot ROM looks for the first block in so many bytes.
const SEARCHED: usize = 0x1000;
/// Types of items: the kind of image, the entry point and stack pointer, and the last one.
const IMAGE_TYPE: u8 = 0x42;
const ENTRY_POINT: u8 = 0x44;
const LAST: u8 = 0xFF;
/// The bit of a type whose size takes two bytes.
const LONG: u8 = 0x80;
/// An image type: an executable for RP2350's RISC-V cores, and the bits that say so.
const RISC_V: u16 = 0x1101;
const KIND: u16 = 0x770F;

/// Returns the entry point of the first block in an image for RP2350's RISC-V cores, if it has one.
pub fn entry(segments: &[Segment]) -> Option<u32> {
    let first = segments.iter().min_by_key(|segment| segment.load_address)?;
    let bytes = &first.bytes[..first.bytes.len().min(SEARCHED)];
    let begin = bytes.chunks_exact(4).position(|word| word == BEGIN)?;
    let mut items = &bytes[4 * begin + 4..];
    let mut is_ours = false;
    loop {
        let &[kind, low, b2, b3] = items.first_chunk()?;
        match kind {
            IMAGE_TYPE => is_ours = u16::from_le_bytes([b2, b3]) & KIND == RISC_V,
            ENTRY_POINT if is_ours => {
                return Some(u32::from_le_bytes(*items.get(4..)?.first_chunk()?));
            }
            LAST => return None,
            _ => {}
        }
        let high = if kind & LONG == 0 { 0 } else { b2 };
        let words = usize::from(u16::from_le_bytes([low, high])).max(1);
        items = items.get(4 * words..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(words: &[u32]) -> Vec<Segment> {
        let segment = |load_address, bytes: Vec<u8>| Segment {
            load_address,
            address: load_address,
            memory_size: bytes.len() as u32,
            bytes,
            writable: false,
        };
        let words = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        vec![segment(0x2000_0000, vec![0; 4]), segment(0x1000_0000, words)]
    }

    #[test]
    fn the_entry_point_of_a_risc_v_image_is_found() {
        // A vector, the block's begin, its type, an item of two words, the entry point and stack
        // pointer, the last item.
        let words =
            [0x6F, 0xFFFF_DED3, 0x1101_0142, 0x248, 0, 0x344, 0x1000_0200, 0x2008_2000, 0x6FF];
        assert_eq!(entry(&segments(&words)), Some(0x1000_0200));
        let mut others = words;
        others[2] = 0x1021_0142;
        assert_eq!(entry(&segments(&others)), None, "for the Arm cores");
        let mut others = words;
        others[3] = 0x1FF;
        assert_eq!(entry(&segments(&others)), None, "the block has none");
        for length in 0..7 {
            assert_eq!(entry(&segments(&words[..length])), None, "cut");
        }
        assert_eq!(entry(&segments(&[[0; 0x400].as_slice(), &words].concat())), None, "too late");
        assert_eq!(entry(&[]), None);
    }
}
