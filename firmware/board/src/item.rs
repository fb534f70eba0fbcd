//! What goes through queues, channels and streams.

/// So many bytes, at a multiple of four, as whatever has a word in it lies. An array of bytes alone
/// may lie anywhere, and then the compiler copies it byte by byte on cores that load words from
/// multiples of four only.
///
/// It is not `Copy`: who sends it gives it away, and no copy is made for who sends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(4))]
pub struct Item<const BYTES: usize>(pub [u8; BYTES]);

impl<const BYTES: usize> Item<BYTES> {
    /// An item that no other sample has. A call, so that it has been made when a span begins.
    #[inline(never)]
    pub fn of(sample: u32) -> Self {
        Self(core::array::from_fn(|byte| (3 * sample + byte as u32) as u8))
    }
}

/// So many bytes of no alignment, one byte behind a multiple of four.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(4))]
pub struct Odd<const BYTES: usize> {
    before: u8,
    /// The bytes.
    pub bytes: [u8; BYTES],
}

impl<const BYTES: usize> Odd<BYTES> {
    /// Bytes that no other sample has. A call, as [`Item::of`] is.
    #[inline(never)]
    pub fn of(sample: u32) -> Self {
        Self { before: 0, bytes: Item::of(sample).0 }
    }
}
