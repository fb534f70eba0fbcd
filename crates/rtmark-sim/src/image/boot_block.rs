//! Where an image tells the boot ROM of its chip to begin.
//!
//! RP2350: a block of metadata in an image's first 4 KiB may say it (RP2350 datasheet, 5.1.5 and 5.9.3). UF2 files have no
//! other entry point, and that of pico-sdk's ELF files is for debuggers: it leads back into the boot ROM.
//!
//! i.MX RT: the "image vector table" in serial flash has the address of the table of vectors (IMXRT1060RM, chapter
//! "System Boot": Image Vector Table; it calls that address the first instruction's).

use super::Segment;

const BEGIN: [u8; 4] = 0xFFFF_DED3_u32.to_le_bytes();
/// The boot ROM looks for the first block in so many bytes.
const SEARCHED: usize = 0x1000;
/// Types of items: the vector table, the kind of image, the entry point and stack pointer, and the last one.
const VECTOR_TABLE: u8 = 0x03;
const IMAGE_TYPE: u8 = 0x42;
const ENTRY_POINT: u8 = 0x44;
const LAST: u8 = 0xFF;
/// The bit of a type whose size takes two bytes.
const LONG: u8 = 0x80;
/// An image type: an executable for RP2350, the bits that say so, and the bit that says for its RISC-V cores.
const EXECUTABLE: u16 = 0x1001;
const KIND: u16 = 0x760F;
const RISC_V: u16 = 0x0100;

/// i.MX RT: where an image vector table is in serial flash, its header (a tag, the length and a version from 0x40 on),
/// and its words: where the image begins, and where it is itself.
const IVT: u32 = 0x6000_1000;
const IVT_HEADER: [u8; 3] = [0xD1, 0x00, 0x20];
const IVT_BYTES: usize = 0x20;
const IVT_ENTRY: usize = 1;
const IVT_SELF: usize = 5;

/// Where an image begins, as far as it tells a boot ROM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// For the RISC-V cores, rather than the Arm cores.
    pub is_risc_v: bool,
    /// The entry point, and the stack pointer.
    pub entry: Option<(u32, u32)>,
    /// The vector table, for Arm cores, whose first words are the stack pointer and the entry point if nothing else says
    /// them.
    pub vectors: Option<u32>,
}

/// Returns what an image tells the boot ROM, if it tells one anything.
pub fn beginning(segments: &[Segment]) -> Option<Beginning> {
    first_block(segments).or_else(|| image_vector_table(segments))
}

/// Returns what the image vector table of an image for i.MX RT says.
fn image_vector_table(segments: &[Segment]) -> Option<Beginning> {
    let bytes = segments.iter().find_map(|segment| {
        let offset = IVT.checked_sub(segment.load_address)?;
        segment.bytes.get(offset as usize..)?.get(..IVT_BYTES)
    })?;
    let word = |at: usize| Some(u32::from_le_bytes(*bytes[4 * at..].first_chunk()?));
    let is_one = bytes.starts_with(&IVT_HEADER) && word(IVT_SELF)? == IVT;
    is_one.then_some(Beginning { vectors: Some(word(IVT_ENTRY)?), ..Beginning::default() })
}

/// Returns what the first block of an image for RP2350 says, if there is one.
fn first_block(segments: &[Segment]) -> Option<Beginning> {
    let first = segments.iter().min_by_key(|segment| segment.load_address)?;
    let bytes = &first.bytes[..first.bytes.len().min(SEARCHED)];
    let begin = bytes.chunks_exact(4).position(|word| word == BEGIN)?;
    let mut items = &bytes[4 * begin + 4..];
    let mut found = Beginning::default();
    let mut is_ours = false;
    loop {
        let &[kind, low, b2, b3] = items.first_chunk()?;
        let word = |at: usize| Some(u32::from_le_bytes(*items.get(4 * at..)?.first_chunk()?));
        match kind {
            IMAGE_TYPE => {
                let flags = u16::from_le_bytes([b2, b3]);
                is_ours = flags & KIND == EXECUTABLE;
                found.is_risc_v = flags & RISC_V != 0;
            }
            ENTRY_POINT => found.entry = Some((word(1)?, word(2)?)),
            VECTOR_TABLE => found.vectors = Some(word(1)?),
            LAST => return is_ours.then_some(found),
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
        let words = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        vec![Segment::of_bytes(0x2000_0000, vec![0; 4]), Segment::of_bytes(0x1000_0000, words)]
    }

    #[test]
    fn the_entry_point_of_a_risc_v_image_is_found() {
        // A vector, the block's begin, its type, an item of two words, the entry point and stack
        // pointer, the last item.
        let words =
            [0x6F, 0xFFFF_DED3, 0x1101_0142, 0x248, 0, 0x344, 0x1000_0200, 0x2008_2000, 0x6FF];
        let entry = Some((0x1000_0200, 0x2008_2000));
        let found = Beginning { is_risc_v: true, entry, vectors: None };
        assert_eq!(beginning(&segments(&words)), Some(found));
        for (kind, why) in [(0x2101_0142, "another chip"), (0x1102_0142, "no executable")] {
            let mut others = words;
            others[2] = kind;
            assert_eq!(beginning(&segments(&others)), None, "{why}");
        }
        let mut others = words;
        others[3] = 0x1FF;
        let found = Beginning { entry: None, ..found };
        assert_eq!(beginning(&segments(&others)), Some(found), "the block has none");
        for length in 0..7 {
            assert_eq!(beginning(&segments(&words[..length])), None, "cut");
        }
        let late = [[0; 0x400].as_slice(), &words].concat();
        assert_eq!(beginning(&segments(&late)), None, "too late");
        assert_eq!(beginning(&[]), None);
    }

    #[test]
    fn the_image_vector_table_of_an_imxrt_is_found() {
        // As imxrt-rt writes it.
        let table = [0x4120_00D1, 0x2000_8000, 0, 0, 0x6000_1020, 0x6000_1000, 0, 0];
        let image = |base, before: usize, table: &[u32]| {
            let words = [&vec![0; before], table].concat();
            let bytes = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
            vec![Segment::of_bytes(0x2000_0000, vec![0; 4]), Segment::of_bytes(base, bytes)]
        };
        let found = Beginning { vectors: Some(0x2000_8000), ..Beginning::default() };
        assert_eq!(beginning(&image(0x6000_0000, 0x400, &table)), Some(found));
        assert_eq!(beginning(&image(0x6000_1000, 0, &table)), Some(found));
        assert_eq!(beginning(&image(0x6000_1000, 0, &table[..7])), None, "cut");
        assert_eq!(beginning(&image(0x6000_0000, 0x300, &table)), None, "elsewhere");
        for (word, value) in [(0, 0x4120_00D2), (5, 0x6000_2000)] {
            let mut others = table;
            others[word] = value;
            assert_eq!(beginning(&image(0x6000_0000, 0x400, &others)), None, "word {word}");
        }
    }

    #[test]
    fn the_vector_table_of_an_arm_image_is_found() {
        let words = [0xFFFF_DED3, 0x1021_0142, 0x203, 0x1000_0400, 0x3FF, 0, 0xAB12_3579];
        let found = Beginning { vectors: Some(0x1000_0400), ..Beginning::default() };
        assert_eq!(beginning(&segments(&words)), Some(found));
        let words = [0xFFFF_DED3, 0x1021_0142, 0x344, 0x1000_0201, 0x2008_2000, 0x4FF];
        let entry = Some((0x1000_0201, 0x2008_2000));
        assert_eq!(beginning(&segments(&words)), Some(Beginning { entry, ..Beginning::default() }));
        let words = [0xFFFF_DED3, 0x1021_0142, 0x1FF];
        assert_eq!(beginning(&segments(&words)), Some(Beginning::default()));
    }
}
