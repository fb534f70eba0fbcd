//! Intel HEX: lines of hexadecimal digits with addresses and checksums.
//!
//! Record types 0 to 5 of Intel's "Hexadecimal Object File Format Specification",
//! revision A (1988).

use super::chunks::Chunks;
use super::{Image, ImageError, ImageFormat};

/// Bytes of a record besides its data: length, address, type and checksum.
const FRAME: usize = 5;

fn error_at(line: usize, problem: impl Into<String>) -> ImageError {
    ImageError::Hex { line, problem: problem.into() }
}

/// Returns whether a file begins like Intel HEX: with a colon and a hexadecimal digit, after nothing but
/// white space. No vector table begins like that, because a stack pointer whose lowest byte is a colon is
/// not a multiple of four.
pub fn is_hex(bytes: &[u8]) -> bool {
    let begin = bytes.trim_ascii_start();
    begin.first() == Some(&b':') && begin.get(1).is_none_or(u8::is_ascii_hexdigit)
}

/// Returns the bytes of the record on a line, after checking it.
fn record(text: &[u8], line: usize) -> Result<Vec<u8>, ImageError> {
    let digits =
        text.strip_prefix(b":").ok_or_else(|| error_at(line, "it does not begin with a colon"))?;
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for (at, pair) in digits.chunks(2).enumerate() {
        let digit = |which: usize| {
            let column = 2 + at * 2 + which;
            let found = pair
                .get(which)
                .ok_or_else(|| error_at(line, "its last byte has only one digit"))?;
            value(*found).ok_or_else(|| error_at(line, format!("column {column} is no hex digit")))
        };
        bytes.push(digit(0)? << 4 | digit(1)?);
    }
    let announced = bytes.first().map_or(0, |&length| usize::from(length)) + FRAME;
    if bytes.len() != announced {
        let found = bytes.len();
        return Err(error_at(line, format!("{found} bytes where its length says {announced}")));
    }
    if bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) != 0 {
        return Err(error_at(line, "its checksum is wrong"));
    }
    Ok(bytes)
}

impl Image {
    /// Reads an Intel HEX file.
    ///
    /// # Errors
    /// When a line is not a record, a checksum is wrong, the end-of-file record is missing, or two records
    /// claim the same address.
    pub fn from_hex(bytes: &[u8]) -> Result<Self, ImageError> {
        let mut image = Self { format: ImageFormat::IntelHex, ..Self::default() };
        let mut chunks = Chunks::default();
        let mut base = 0_u32;
        let mut last = 1;
        let mut ended = false;
        for (at, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let (line, text) = (at + 1, text.trim_ascii());
            if text.is_empty() {
                continue;
            }
            last = line;
            if ended {
                return Err(error_at(line, "it follows the end-of-file record"));
            }
            let record = record(text, line)?;
            let data = &record[4..record.len() - 1];
            let offset = u32::from(u16::from_be_bytes([record[1], record[2]]));
            let value = data.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
            match (record[3], data.len()) {
                (0, _) => {
                    let address = base.checked_add(offset);
                    if !address.is_some_and(|address| chunks.add(address, data, line)) {
                        return Err(error_at(line, "its data reaches beyond the last address"));
                    }
                }
                (1, 0) => ended = true,
                (2, 2) => base = value << 4,
                (4, 2) => base = value << 16,
                // CS:IP and EIP: the entry point.
                (3, 4) => image.entry = (value >> 16 << 4).wrapping_add(value & 0xFFFF),
                (5, 4) => image.entry = value,
                (kind @ 0..=5, length) => {
                    let problem = format!("a record of type {kind} with {length} bytes of data");
                    return Err(error_at(line, problem));
                }
                // The micro:bit's "Universal Hex Format Specification", 0.4.0.
                (10..=14, _) => {
                    let problem = "a Universal Hex of the micro:bit, which holds the images of \
                                   several boards: take the one of your board out of it first";
                    return Err(error_at(line, problem));
                }
                (kind, _) => return Err(error_at(line, format!("there is no record type {kind}"))),
            }
        }
        if !ended {
            return Err(error_at(last, "the file ends here without an end-of-file record"));
        }
        image.segments = chunks.into_segments(error_at)?;
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = ":020000040800F2\n:0400000000040020D8\r\n:0400040041000008AF\n\
                        :04010000AABBCCDDED\n:0400000508000041AE\n:00000001FF\n";

    fn refusal(text: &str) -> String {
        Image::from_hex(text.as_bytes()).expect_err("refused").to_string()
    }

    #[test]
    fn records_become_segments() {
        let image = Image::from_bytes(GOOD.as_bytes(), 0).expect("an image");
        assert_eq!(image.format(), ImageFormat::IntelHex);
        assert_eq!(image.entry(), 0x0800_0041);
        let [first, second] = image.segments() else { panic!("{image:?}") };
        assert_eq!(first.load_address, 0x0800_0000);
        assert_eq!(first.bytes, [0, 4, 0, 0x20, 0x41, 0, 0, 8]);
        assert_eq!((second.load_address, second.bytes.len()), (0x0800_0100, 4));
    }

    #[test]
    fn segments_of_real_mode_count_in_paragraphs() {
        let image = Image::from_hex(b":020000021200EA\n:0100340001CA\n:00000001FF").expect("good");
        assert_eq!(image.segments()[0].load_address, 0x12034);
    }

    #[test]
    fn errors_name_the_line() {
        for (from, to, words) in [
            ("F2", "F3", "line 1: its checksum"),
            ("D8", "D", "line 2: its last byte has only one digit"),
            ("410000", "41Z000", "line 3: column 12 is no hex digit"),
            (":0401", "0401", "line 4: it does not begin with a colon"),
            (":04010000", ":03010000", "line 4: 9 bytes where its length says 8"),
            (":0400000508000041AE", ":00000006FA", "line 5: there is no record type 6"),
            (":0400000508000041AE", ":00000005FB", "line 5: a record of type 5 with 0 bytes"),
            (":020000040800F2", ":0400000A9900C0DEBB", "line 1: a Universal Hex"),
            (":00000001FF\n", "", "line 5: the file ends here"),
            (":00000001FF\n", ":00000001FF\n:00000001FF\n", "line 7: it follows"),
            (":04010000AABBCCDDED", ":04000200AABBCCDDEC", "line 4: data for 0x08000002"),
            (":020000040800F2", ":02000004FFFFFC\n:04FFFE0001020304F5", "line 2: its data reach"),
        ] {
            assert!(GOOD.contains(from));
            let error = refusal(&GOOD.replacen(from, to, 1));
            assert!(error.contains(words), "{error}\nwhere expected: {words}");
        }
        assert_eq!(Image::from_hex(b":00000001FF").expect_err("refused"), ImageError::Empty);
    }

    #[test]
    fn truncated_and_corrupted_files_do_not_panic() {
        for length in 0..GOOD.len() - 2 {
            assert!(Image::from_hex(&GOOD.as_bytes()[..length]).is_err(), "{length}");
        }
        for at in 0..GOOD.len() {
            for flip in 1..=255 {
                let mut bytes = GOOD.as_bytes().to_vec();
                bytes[at] ^= flip;
                let _ = Image::from_bytes(&bytes, 0);
            }
        }
    }
}
