//! Raw binaries: bytes without an address, as `objcopy -O binary` writes them.

use super::{Image, ImageError, ImageFormat, Segment};

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
            return Err(ImageError::Damaged(format!(
                "{} bytes from {base:#010x} on reach beyond the last address",
                bytes.len()
            )));
        }
        let segment = Segment {
            load_address: base,
            address: base,
            bytes: bytes.to_vec(),
            memory_size: bytes.len() as u32,
            writable: false,
        };
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
        assert!(Image::from_raw(&[0; 8], 0xFFFF_FFFC).is_err());
    }
}
