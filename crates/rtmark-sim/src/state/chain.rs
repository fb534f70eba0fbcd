//! How far native code has come.

/// The position of a chain: passes of native code that follow each other with nothing in between (see
/// `engine::native`). Between two calls of native code it has no meaning.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(
    not(all(feature = "native-code", target_arch = "x86_64", target_os = "linux")),
    expect(dead_code, reason = "there is no native code")
)]
pub struct Chain {
    /// The cycle in which the current pass began, and the instructions executed before it.
    pub cycles: u64,
    pub instructions: u64,
    /// The cycle before which all steps of a pass must begin.
    pub deadline: u64,
    /// Which schedule the current pass executes.
    pub current: u32,
    /// The target of a jump to an address that is not known in advance, with bit 0 set.
    pub target: u32,
    /// Where native code continues after the current instruction.
    pub next: usize,
    /// The address of the links.
    pub links: usize,
    /// The address of the contents of the memory from which code comes.
    pub code: usize,
    /// The addresses of the cached lines of that memory, of code and of data, if they are many.
    pub code_lines: usize,
    pub data_lines: usize,
    /// The number of those lines of code: see [`LineMemory::number`](crate::timing::LineMemory::number).
    pub contents: u64,
}
