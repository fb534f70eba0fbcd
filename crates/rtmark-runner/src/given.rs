//! Files that a user names, whatever they turn out to be.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The most that such a file may hold, in bytes: debug information of large firmware takes a tenth of it.
pub const MOST_BYTES: u64 = 256 << 20;

/// All that a file holds. One that has no end, such as a device, is read up to a limit only.
///
/// # Errors
/// When it cannot be read, or holds more than [`MOST_BYTES`].
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    all_of(File::open(path)?)
}

/// All that a file of text holds, as [`read_bytes`] reads it.
///
/// # Errors
/// As those, and when it is no UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let wrong = |_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8");
    String::from_utf8(read_bytes(path)?).map_err(wrong)
}

/// All that a reader has left, as [`read_bytes`] reads a file.
///
/// # Errors
/// As those.
pub fn all_of(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let problem = format!("it holds more than {} MiB", MOST_BYTES >> 20);
        return Err(io::Error::new(ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_and_what_has_one_is_whole() {
        let endless = all_of(io::repeat(0)).expect_err("too long");
        assert_eq!(endless.to_string(), "it holds more than 256 MiB");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/given.rs");
        assert_eq!(read_text(&own).expect("text").into_bytes(), read_bytes(&own).expect("there"));
        assert!(read_text(&own).expect("text").ends_with("}\n"));
        let program = std::env::current_exe().expect("a path");
        assert_eq!(read_text(&program).expect_err("no text").kind(), ErrorKind::InvalidData);
        assert!(read_bytes(&own.join("none")).is_err());
    }
}
