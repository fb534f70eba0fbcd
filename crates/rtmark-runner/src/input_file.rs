//! Reads files that a user names, whatever they turn out to be.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The size limit of such a file, in bytes; debug information of large firmware takes a tenth of it.
pub const MAX_BYTES: u64 = 256 << 20;

/// Reads a whole file. An endless one, such as a device, is read up to a limit only.
///
/// # Errors
/// When it cannot be read, or holds more than [`MAX_BYTES`].
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    read_to_end(File::open(path)?)
}

/// Reads a whole text file, as [`read_bytes`] does.
///
/// # Errors
/// Those of [`read_bytes`], and when the text is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let wrong = |_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(read_bytes(path)?).map_err(wrong)
}

/// Reads the rest of a reader, with the limit of [`read_bytes`].
///
/// # Errors
/// When reading fails, or there are more than [`MAX_BYTES`] bytes.
pub fn read_to_end(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let problem = format!("it holds more than {} MiB", MAX_BYTES >> 20);
        return Err(io::Error::new(ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_files_are_rejected_and_others_read_in_full() {
        let endless = read_to_end(io::repeat(0)).expect_err("too long");
        assert_eq!(endless.to_string(), "it holds more than 256 MiB");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/input_file.rs");
        assert_eq!(read_text(&own).expect("text").into_bytes(), read_bytes(&own).expect("there"));
        assert!(read_text(&own).expect("text").ends_with("}\n"));
        let program = std::env::current_exe().expect("a path");
        assert_eq!(read_text(&program).expect_err("no text").kind(), ErrorKind::InvalidData);
        assert!(read_bytes(&own.join("none")).is_err());
    }
}
