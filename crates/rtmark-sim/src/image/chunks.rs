//! Pieces of memory in the order of a file, combined into segments.

use super::{ImageError, Segment};

struct Chunk {
    address: u32,
    /// Its position in the file.
    origin: usize,
    bytes: Vec<u8>,
}

impl Chunk {
    fn end(&self) -> u64 {
        u64::from(self.address) + self.bytes.len() as u64
    }
}

/// The pieces collected so far.
#[derive(Default)]
pub struct Chunks(Vec<Chunk>);

impl Chunks {
    /// Adds bytes from position `origin` in the file. Returns whether they fit below the end of the address
    /// space.
    pub fn add(&mut self, address: u32, bytes: &[u8], origin: usize) -> bool {
        if u64::from(address) + bytes.len() as u64 > 1 << 32 {
            return false;
        }
        match self.0.last_mut() {
            Some(last) if last.end() == u64::from(address) => last.bytes.extend(bytes),
            _ if bytes.is_empty() => {}
            _ => self.0.push(Chunk { address, origin, bytes: bytes.to_vec() }),
        }
        true
    }

    /// Combines the pieces into segments, in ascending order of address.
    ///
    /// # Errors
    /// When there are none, or when two claim the same address: `error_at` makes the error of the later one's
    /// position in the file, as given to [`Chunks::add`].
    pub fn into_segments(
        self,
        error_at: impl FnOnce(usize, String) -> ImageError,
    ) -> Result<Vec<Segment>, ImageError> {
        let mut chunks = self.0;
        chunks.sort_by_key(|chunk| chunk.address);
        let mut joined: Vec<Chunk> = Vec::new();
        for chunk in chunks {
            match joined.last_mut() {
                Some(last) if last.end() > u64::from(chunk.address) => {
                    let problem = format!("data for {:#010x} came before", chunk.address);
                    return Err(error_at(last.origin.max(chunk.origin), problem));
                }
                Some(last) if last.end() == u64::from(chunk.address) => {
                    last.bytes.extend(chunk.bytes);
                }
                _ => joined.push(chunk),
            }
        }
        if joined.is_empty() {
            return Err(ImageError::Empty);
        }
        let segment = |chunk: Chunk| Segment::of_bytes(chunk.address, chunk.bytes);
        Ok(joined.into_iter().map(segment).collect())
    }
}
