//! Chooses the scenario of an image in its file, for those who run files.

use object::read::elf::{ElfFile32, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

use crate::probes::SELECT_SYMBOL;

/// A copy of an ELF file in which the word `rtmark_select` holds this index:
/// what QEMU and programmers of boards can load.
///
/// `None` when the file is no 32-bit ELF executable, has no such symbol, or does not
/// hold its word.
pub fn select_in_elf(elf: &[u8], index: u32) -> Option<Vec<u8>> {
    let file = ElfFile32::<Endianness>::parse(elf).ok()?;
    let endian = file.endian();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(SELECT_SYMBOL))?;
    let address = u32::try_from(symbol.address()).ok()?;
    let offset = file.elf_program_headers().iter().find_map(|header| {
        let into = address.checked_sub(header.p_vaddr(endian))?;
        let held = header.p_filesz(endian).checked_sub(4).is_some_and(|last| into <= last);
        held.then(|| header.p_offset(endian).checked_add(into)).flatten()
    })?;
    let offset = usize::try_from(offset).ok()?;
    let mut copy = elf.to_vec();
    copy.get_mut(offset..)?.first_chunk_mut::<4>().map(|word| *word = index.to_le_bytes())?;
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_image_is_left_alone() {
        assert_eq!(select_in_elf(b"", 1), None);
        assert_eq!(select_in_elf(b"\x7fELF\x01\x01\x01", 1), None);
        let own = std::fs::read(std::env::current_exe().expect("a path")).expect("readable");
        assert_eq!(select_in_elf(&own, 1), None);
    }
}
