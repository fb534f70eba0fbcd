//! DfuSe: what ST's USB bootloader programs, parts of memory with their addresses.
//!
//! Implements the format's own specification, ST's UM0391, "DfuSe File Format Specification".

use super::chunks::Chunks;
use super::{Image, ImageError, ImageFormat};

/// The signature of the file's prefix.
pub const MAGIC: [u8; 5] = *b"DfuSe";
/// The size of that prefix, whose last byte is the number of targets.
const PREFIX: usize = 11;
/// The size of a target's prefix, which ends with the number of its elements.
const TARGET: usize = 274;
/// The size of the suffix, whose last word is the checksum of all before it.
const SUFFIX: usize = 16;

fn error_at(offset: usize, problem: impl Into<String>) -> ImageError {
    ImageError::DfuSe { offset, problem: problem.into() }
}

/// What of a file is still to be read.
struct Rest<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ImageError> {
        let Some((taken, bytes)) = self.bytes.split_at_checked(count) else {
            let problem = format!("{} of {count} bytes are there", self.bytes.len());
            return Err(error_at(self.offset, problem));
        };
        (self.bytes, self.offset) = (bytes, self.offset + count);
        Ok(taken)
    }
}

/// Returns the word in the last four bytes.
fn last_word(bytes: &[u8]) -> u32 {
    bytes.last_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

/// CRC-32 as DFU's suffix has it, without the inversion at the end (USB DFU 1.1, appendix B).
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 * (sum & 1)))
    })
}

impl Image {
    /// Reads a DfuSe file.
    ///
    /// # Errors
    /// When the file is truncated or damaged, or two of its elements claim the same address.
    pub fn from_dfuse(bytes: &[u8]) -> Result<Self, ImageError> {
        let end = bytes.len().saturating_sub(SUFFIX);
        if bytes.get(end + 8..end + 11) != Some(b"UFD") {
            return Err(error_at(end, "the suffix that ends every file is not there"));
        }
        if checksum(&bytes[..bytes.len() - 4]) != last_word(bytes) {
            return Err(error_at(end, "its checksum is that of other contents"));
        }
        let mut rest = Rest { bytes: &bytes[..end], offset: 0 };
        let targets = rest.take(PREFIX)?[PREFIX - 1];
        let mut chunks = Chunks::default();
        for _ in 0..targets {
            let begin = rest.offset;
            let target = rest.take(TARGET)?;
            if !target.starts_with(b"Target") {
                return Err(error_at(begin, "it lacks the mark of a target"));
            }
            for _ in 0..last_word(target) {
                let begin = rest.offset;
                let address = last_word(rest.take(4)?);
                let size = last_word(rest.take(4)?);
                if !chunks.add(address, rest.take(size as usize)?, begin) {
                    return Err(error_at(begin, "its contents reach beyond the last address"));
                }
            }
        }
        let segments = chunks.into_segments(error_at)?;
        Ok(Self { format: ImageFormat::DfuSe, segments, ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a target for each group of elements.
    fn file(targets: &[&[(u32, &[u8])]]) -> Vec<u8> {
        let mut body = Vec::new();
        for elements in targets {
            body.extend(b"Target");
            body.resize(body.len() + TARGET - 10, 0);
            body.extend((elements.len() as u32).to_le_bytes());
            for (address, bytes) in *elements {
                body.extend([*address, bytes.len() as u32].map(u32::to_le_bytes).concat());
                body.extend(*bytes);
            }
        }
        let size = (PREFIX + body.len()) as u32;
        let parts = [&MAGIC[..], &[1], &size.to_le_bytes(), &[targets.len() as u8], &body];
        let mut file = parts.concat();
        file.extend([0, 0, 0x11, 0xDF, 0x83, 4, 0x1A, 1]);
        file.extend(b"UFD\x10");
        file.extend(checksum(&file).to_le_bytes());
        file
    }

    fn refusal(bytes: &[u8]) -> String {
        Image::from_bytes(bytes, 0).expect_err("refused").to_string()
    }

    #[test]
    fn elements_of_all_targets_become_segments() {
        let bytes =
            file(&[&[(0x0800_0000, &[1, 2]), (0x0800_4000, &[3])], &[(0x9000_0000, &[4; 3])]]);
        let image = Image::from_bytes(&bytes, 0).expect("an image");
        assert_eq!(image.format(), ImageFormat::DfuSe);
        let segments: Vec<_> =
            image.segments().iter().map(|it| (it.load_address, &it.bytes[..])).collect();
        let expected: [(u32, &[u8]); 3] =
            [(0x0800_0000, &[1, 2]), (0x0800_4000, &[3]), (0x9000_0000, &[4; 3])];
        assert_eq!(segments, expected);
    }

    /// The check value that catalogues of CRCs give for this polynomial without inversion (CRC-32/JAMCRC).
    #[test]
    fn the_checksum_is_that_of_dfu() {
        assert_eq!(checksum(b"123456789"), 0x340B_C6D9);
    }

    #[test]
    fn damage_is_refused_and_located() {
        let whole = file(&[&[(0x0800_0000, &[7; 64])]]);
        for length in 5..whole.len() {
            let text = refusal(&whole[..length]);
            assert!(text.contains("damaged or truncated DfuSe file"), "{length}: {text}");
        }
        for at in 5..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            assert!(refusal(&damaged).contains("DfuSe file: at offset"), "{at}");
        }
        let twice = file(&[&[(0x0800_0000, &[7; 64]), (0x0800_003F, &[7])]]);
        assert!(refusal(&twice).contains("data for 0x0800003f came before"), "{}", refusal(&twice));
        let beyond = file(&[&[(0xFFFF_FFFF, &[7; 2])]]);
        assert!(refusal(&beyond).contains("offset 0x11d: its contents reach beyond"));
        assert!(refusal(&file(&[&[]])).contains("nothing to load"));
        // More elements than there is room for, with a checksum that fits.
        let mut many = file(&[&[(0x0800_0000, &[7; 64])]]);
        let end = many.len() - 4;
        many[PREFIX + TARGET - 1] = 0x80;
        let sum = checksum(&many[..end]);
        many[end..].copy_from_slice(&sum.to_le_bytes());
        assert!(refusal(&many).contains("0 of 4 bytes are there"), "{}", refusal(&many));
    }
}
