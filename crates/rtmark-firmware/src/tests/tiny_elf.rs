//! Small ELF files for tests, laid out by the format's specification (Tool Interface Standard, ELF 1.2): 32 bits,
//! little-endian.

/// A section; those in memory are also segments, in their order.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub name: &'static str,
    pub address: u32,
    pub bytes: Vec<u8>,
    /// Its size in memory if it has no bytes in the file.
    pub zeros: u32,
    /// `SHF_WRITE`, `SHF_ALLOC` and `SHF_EXECINSTR`.
    pub flags: u32,
}

pub const WRITABLE: u32 = 1;
pub const IN_MEMORY: u32 = 2;
pub const CODE: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    pub name: &'static str,
    pub value: u32,
    pub size: u32,
    /// One of `PLACE`, `OBJECT` and `FUNCTION`.
    pub kind: u8,
    /// The index among the sections.
    pub section: u16,
}

pub const PLACE: u8 = 0;
pub const OBJECT: u8 = 1;
pub const FUNCTION: u8 = 2;

/// Machines by their numbers.
pub const ARM: u16 = 40;
pub const RISC_V: u16 = 243;

const HEADER: usize = 52;
const SEGMENT: usize = 32;
const SECTION: usize = 40;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Adds a name to a table of names; returns its place.
fn named(names: &mut Vec<u8>, name: &str) -> u32 {
    let place = names.len() as u32;
    names.extend(name.bytes().chain([0]));
    place
}

/// Returns a file with these sections and symbols.
pub fn elf(machine: u16, sections: &[Section], symbols: &[Symbol]) -> Vec<u8> {
    let in_memory = |section: &&Section| section.flags & IN_MEMORY != 0;
    let segments = sections.iter().filter(in_memory).count();
    let mut names = vec![0];
    let mut table = vec![0; 16];
    for symbol in symbols {
        table.extend(words(&[named(&mut names, symbol.name), symbol.value, symbol.size]));
        table.extend([0x10 | symbol.kind, 0]);
        table.extend((symbol.section + 1).to_le_bytes());
    }
    let mut contents = Vec::new();
    let mut placed = |bytes: &[u8]| {
        let place = HEADER + SEGMENT * segments + contents.len();
        contents.extend(bytes);
        contents.resize(contents.len().next_multiple_of(4), 0);
        place as u32
    };
    let (mut program, mut headers) = (Vec::new(), vec![0; SECTION]);
    for section in sections {
        let (kind, place) = (if section.zeros > 0 { 8 } else { 1 }, placed(&section.bytes));
        let (stored, size) =
            (section.bytes.len() as u32, section.bytes.len() as u32 + section.zeros);
        let name = named(&mut names, section.name);
        headers.extend(words(&[
            name,
            kind,
            section.flags,
            section.address,
            place,
            size,
            0,
            0,
            4,
            0,
        ]));
        if section.flags & IN_MEMORY != 0 {
            // PF_X, PF_W and PF_R.
            let flags = 4 | (section.flags & WRITABLE) << 1 | (section.flags & CODE) >> 2;
            let at = section.address;
            program.extend(words(&[1, place, at, at, stored, size, flags, 4]));
        }
    }
    let count = sections.len() as u32;
    let (names_of_tables, length) =
        ([named(&mut names, ".symtab"), named(&mut names, ".strtab")], table.len());
    let (table, strings) = (placed(&table), placed(&names));
    let [symtab, strtab] = names_of_tables;
    headers.extend(words(&[symtab, 2, 0, 0, table, length as u32, count + 2, 1, 4, 16]));
    headers.extend(words(&[strtab, 3, 0, 0, strings, names.len() as u32, 0, 0, 1, 0]));
    let at = (HEADER + SEGMENT * segments + contents.len()) as u32;
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2_u16, machine].map(u16::to_le_bytes).concat());
    file.extend(words(&[1, 0, HEADER as u32, at, 0]));
    let sizes = [HEADER, SEGMENT, segments, SECTION, sections.len() + 3, sections.len() + 2];
    file.extend(sizes.iter().flat_map(|size| (*size as u16).to_le_bytes()));
    [file, program, contents, headers].concat()
}
