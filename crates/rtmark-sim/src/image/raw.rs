//! Raw binaries: bytes without an address, as `objcopy -O binary` writes them.

use super::{Image, ImageError, ImageFormat, Segment};

/// Returns whether a file consists of S-records, whose digits would be loaded as if they were code. The first
/// line has a type, and as many pairs of digits as its first pair states.
pub(super) fn is_s_records(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let [b'S', b'0'..=b'9', digits @ ..] = line else { return false };
    let count = digits.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
    let count = count.and_then(|pair| usize::from_str_radix(pair, 16).ok());
    digits.iter().all(u8::is_ascii_hexdigit)
        && count.is_some_and(|count| digits.len() == 2 * (count + 1))
}

impl Image {
    /// Creates an image from bytes that belong at `base`.
    ///
    /// # Errors
    /// When there are no bytes, or they do not fit below the end of the address space.
    pub fn from_raw(bytes: &[u8], base: u32) -> Result<Self, ImageError> {
        if bytes.is_empty() {
            return Err(ImageError::Empty);
        }
        let fits = u32::try_from(bytes.len()).is_ok_and(|size| base.checked_add(size).is_some());
        if !fits {
            return Err(ImageError::TooHigh { bytes: bytes.len(), base });
        }
        let segment = Segment::of_bytes(base, bytes.to_vec());
        Ok(Self { format: ImageFormat::Raw, segments: vec![segment], ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_loaded_at_the_given_address() {
        let image = Image::from_bytes(&[1, 2, 3], 0x0800_0000).expect("an image");
        assert_eq!(image.format(), ImageFormat::Raw);
        assert_eq!(image.segments()[0].load_address, 0x0800_0000);
        assert_eq!(image.segments()[0].bytes, [1, 2, 3]);
        assert_eq!(Image::from_raw(&[], 0).expect_err("refused"), ImageError::Empty);
        let error = Image::from_raw(&[0; 8], 0xFFFF_FFFC).expect_err("refused");
        assert_eq!(
            error.to_string(),
            "a raw binary: 8 bytes from 0xfffffffc on reach beyond the last address"
        );
    }

    #[test]
    fn s_records_are_not_taken_for_code() {
        let read = |text: &str| Image::from_bytes(text.as_bytes(), 0);
        let records = "S0090000612E73726563BA\r\nS113000000300020C1000000390100003901000067\r\n";
        assert_eq!(read(records).expect_err("refused"), ImageError::SRecords);
        // A vector table may begin with the same letters.
        assert!(read("S00\u{0}").is_ok() && read("S1\n").is_ok() && read("S0030000FC0").is_ok());
    }
}
