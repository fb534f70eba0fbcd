//! Data that no start-up code has cleared.

use object::{Object as _, ObjectSection as _, SectionKind};
use rtmark_sim::{Image, Machine, RAM_AT_RESET};

/// The cycles after which start-up code has come to clearing, besides those for each byte that it copies first.
const CYCLES: u64 = 2_000;
const CYCLES_PER_BYTE: u64 = 4;
/// Smaller sections tell too little.
const LEAST: usize = 16;
/// How much of its beginning must be as at reset.
const BEGINNING: usize = 64;

/// Says that most of an ELF file's `.bss`, and its beginning, still hold what RAM holds at reset. Nothing is said of a
/// run that may not have come to clearing it.
pub fn uncleared(machine: &Machine, image: &Image, elf: &[u8]) -> Option<String> {
    let file = object::File::parse(elf).ok()?;
    let bss = file.section_by_name(".bss")?;
    let size = usize::try_from(bss.size()).ok().filter(|size| *size >= LEAST)?;
    let address = u32::try_from(bss.address()).ok()?;
    let copied = image.segments().iter().filter(|segment| segment.writable);
    let copied: u64 = copied.map(|segment| segment.bytes.len() as u64).sum();
    if bss.kind() != SectionKind::UninitializedData
        || machine.cycles().0 < CYCLES + CYCLES_PER_BYTE * copied
    {
        return None;
    }
    let bytes = machine.peek(address, size);
    let is_as_reset = |byte: &&u8| **byte == RAM_AT_RESET;
    let left = bytes.iter().filter(is_as_reset).count();
    let begins = bytes.iter().take(BEGINNING).all(|byte| *byte == RAM_AT_RESET);
    (bytes.len() == size && begins && left * 10 >= size * 9).then(|| {
        format!(
            "{left} of the {size} bytes of .bss hold what RAM holds at reset, {RAM_AT_RESET:#x} each: nothing has cleared \
             them, which start-up code does on a chip, and the loader on QEMU"
        )
    })
}
