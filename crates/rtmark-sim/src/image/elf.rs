//! ELF: 32-bit little-endian executables for Arm and RISC-V.
//!
//! Reads the segments to load, the symbols that name addresses, and the sections by name, for tools that
//! keep information in them.

use object::Endianness;
use object::elf::{
    EM_ARM, EM_RISCV, ET_EXEC, FileHeader32, PF_W, PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS,
    SHF_WRITE, SHT_NOBITS, STT_FUNC, STT_NOTYPE, STT_OBJECT,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};

use super::{Architecture, Image, ImageError, Segment, Symbol};

/// How much of the host's memory a file may claim, in bytes per byte of the file. The headers of a hostile
/// file can refer to the same bytes many times.
const CLAIM: usize = 16;

/// The rest of the memory that a file may claim.
struct Budget(usize);

impl Budget {
    fn spend(&mut self, bytes: &[u8]) -> Result<(), ImageError> {
        self.spend_bytes(bytes.len())
    }

    fn spend_bytes(&mut self, bytes: usize) -> Result<(), ImageError> {
        let left = self.0.checked_sub(bytes);
        self.0 = left.ok_or_else(|| {
            ImageError::Damaged("its headers refer to the same bytes repeatedly".to_owned())
        })?;
        Ok(())
    }
}

fn damaged(error: object::Error) -> ImageError {
    ImageError::Damaged(error.to_string())
}

fn machine_name(bytes: &[u8]) -> Option<String> {
    let class = match bytes.get(4)? {
        1 => "32-bit",
        2 => "64-bit",
        other => return Some(format!("an unknown class ({other})")),
    };
    let order = match bytes.get(5)? {
        1 => "little-endian",
        2 => "big-endian",
        other => return Some(format!("an unknown byte order ({other})")),
    };
    let field = [*bytes.get(18)?, *bytes.get(19)?];
    let machine = if bytes[5] == 2 { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) };
    let name = match machine {
        3 => "x86".to_owned(),
        8 => "MIPS".to_owned(),
        40 => "Arm".to_owned(),
        62 => "x86-64".to_owned(),
        94 => "Xtensa".to_owned(),
        183 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("machine {other}"),
    };
    let ours = [EM_ARM.0, EM_RISCV.0].contains(&machine);
    (class != "32-bit" || order != "little-endian" || !ours)
        .then(|| format!("{class} {order} {name}"))
}

/// Returns the core profile from Tag_CPU_arch_profile in the build attributes, if given there (Addenda to
/// the ABI for the Arm Architecture, IHI 0045, 2 and 3.3.5).
fn profile(attributes: &[u8]) -> Option<Architecture> {
    const FILE: u8 = 1;
    const PROFILE: u64 = 7;
    let rest = attributes.strip_prefix(b"A")?.get(4..)?.strip_prefix(b"aeabi\0")?;
    let (&FILE, rest) = rest.split_first()? else { return None };
    let mut rest = rest.get(4..)?;
    while !rest.is_empty() {
        let tag = uleb(&mut rest)?;
        // Strings: names, and odd tags above 32.
        if matches!(tag, 4 | 5) || tag > 32 && tag % 2 == 1 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
            continue;
        }
        let value = uleb(&mut rest)?;
        if tag == 32 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
        if tag == PROFILE {
            return match u8::try_from(value).ok()? {
                b'M' => Some(Architecture::ArmM),
                b'R' => Some(Architecture::ArmR),
                b'A' => Some(Architecture::ArmA),
                _ => None,
            };
        }
    }
    None
}

/// Takes the next number in unsigned LEB128.
fn uleb(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

impl Image {
    /// Reads an ELF executable.
    ///
    /// # Errors
    /// When the bytes are not a complete ELF executable for a 32-bit little-endian Arm or RISC-V core; the
    /// error says which part is wrong.
    pub fn from_elf(bytes: &[u8]) -> Result<Self, ImageError> {
        if !bytes.starts_with(b"\x7fELF") {
            let shown = match bytes {
                [] => "nothing: it is empty".to_owned(),
                _ => bytes.iter().take(4).map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "),
            };
            return Err(ImageError::NotElf(shown));
        }
        if let Some(other) = machine_name(bytes) {
            return Err(ImageError::OtherMachine(other));
        }
        let header = FileHeader32::<Endianness>::parse(bytes).map_err(damaged)?;
        let endian = header.endian().map_err(damaged)?;
        match header.e_type(endian) {
            ET_EXEC => {}
            object::elf::ET_REL => return Err(ImageError::NotExecutable("object file")),
            object::elf::ET_DYN => return Err(ImageError::NotExecutable("shared object")),
            _ => return Err(ImageError::NotExecutable("unknown")),
        }
        let architecture = match header.e_machine(endian) {
            EM_RISCV => Architecture::RiscV,
            _ => Architecture::Arm,
        };
        let mut image = Self {
            entry: header.e_entry(endian),
            architecture: Some(architecture),
            ..Self::default()
        };
        let mut budget = Budget(bytes.len().saturating_mul(CLAIM));
        image.read_segments(header, endian, bytes, &mut budget)?;
        image.read_sections(header, endian, bytes, &mut budget)?;
        image.find_constants(header, endian, bytes, &mut budget)?;
        image.prefer_boot_entry();
        if architecture == Architecture::Arm {
            image.architecture =
                image.section(".ARM.attributes").and_then(profile).or(image.architecture);
        }
        if image.segments.iter().all(|segment| segment.bytes.is_empty()) {
            return Err(ImageError::Empty);
        }
        Ok(image)
    }

    fn read_segments(
        &mut self,
        header: &FileHeader32<Endianness>,
        endian: Endianness,
        bytes: &[u8],
        budget: &mut Budget,
    ) -> Result<(), ImageError> {
        for program in header.program_headers(endian, bytes).map_err(damaged)? {
            if program.p_type(endian) != PT_LOAD || program.p_memsz(endian) == 0 {
                continue;
            }
            let load_address = program.p_paddr(endian);
            let contents = program.data(endian, bytes).map_err(|()| {
                ImageError::Damaged(format!(
                    "the segment at {load_address:#010x}, from offset {:#x} on, reaches beyond the \
                     end of the file at {:#x}",
                    program.p_offset(endian),
                    bytes.len()
                ))
            })?;
            let memory_size = program.p_memsz(endian);
            if contents.len() as u64 > u64::from(memory_size) {
                return Err(ImageError::Damaged(format!(
                    "the segment at {load_address:#010x} has more bytes in the file than in memory"
                )));
            }
            budget.spend(contents)?;
            self.segments.push(Segment {
                load_address,
                address: program.p_vaddr(endian),
                bytes: contents.to_vec(),
                memory_size,
                writable: program.p_flags(endian).0 & PF_W.0 != 0,
                constant: Vec::new(),
            });
        }
        self.refuse_overlap()
    }

    /// Refuses segments of which one would replace a part of another.
    fn refuse_overlap(&self) -> Result<(), ImageError> {
        let loaded = || self.segments.iter().filter(|segment| !segment.bytes.is_empty());
        let mut begins: Vec<u32> = loaded().map(|segment| segment.load_address).collect();
        begins.sort_unstable();
        for segment in loaded() {
            let begin = segment.load_address;
            let end = u64::from(begin) + segment.bytes.len() as u64;
            let at = begins.partition_point(|other| *other < begin);
            // Behind its own beginning comes the next one's, perhaps the same.
            let next = begins.get(at + 1).filter(|next| u64::from(**next) < end);
            if let Some(next) = next {
                return Err(ImageError::Damaged(format!(
                    "the segments at {begin:#010x} and {next:#010x} overlap where they are loaded"
                )));
            }
        }
        Ok(())
    }

    /// Finds code and constants by the flags of sections, as GNU `size` does: what cannot be written or can be
    /// executed. Gaps belong to what is before them. A segment without sections is told by its own flags.
    fn find_constants(
        &mut self,
        header: &FileHeader32<Endianness>,
        endian: Endianness,
        bytes: &[u8],
        budget: &mut Budget,
    ) -> Result<(), ImageError> {
        let sections = header.sections(endian, bytes).map_err(damaged)?;
        let mut begins: Vec<(u32, bool)> = sections
            .iter()
            .filter(|section| {
                let flags = section.sh_flags(endian);
                // What threads have of their own is stored beside their initial values, and has no address.
                let has_address = section.sh_type(endian) != SHT_NOBITS || !flags.contains(SHF_TLS);
                flags.contains(SHF_ALLOC) && section.sh_size(endian) > 0 && has_address
            })
            .map(|section| {
                let flags = section.sh_flags(endian);
                let is_code = flags.contains(SHF_EXECINSTR) || !flags.contains(SHF_WRITE);
                // What has no bytes in the file is written before it is read.
                (section.sh_addr(endian), is_code && section.sh_type(endian) != SHT_NOBITS)
            })
            .collect();
        begins.sort_unstable();
        for segment in &mut self.segments {
            let (base, size) = (segment.address, segment.memory_size);
            let first = begins.partition_point(|(at, _)| *at < base);
            let inside = begins[first..].iter().map(|&(at, is_code)| (at - base, is_code));
            let mut parts: Vec<(u32, bool)> = inside.take_while(|(at, _)| *at < size).collect();
            budget.spend_bytes(size_of_val(parts.as_slice()))?;
            match parts.first_mut() {
                Some(first) => first.0 = 0,
                None => parts.push((0, !segment.writable)),
            }
            let ends = parts.iter().skip(1).map(|part| part.0).chain([size]);
            let code = parts.iter().zip(ends).filter(|((_, is_code), _)| *is_code);
            segment.constant = code.map(|(&(begin, _), end)| begin..end).collect();
        }
        Ok(())
    }

    fn read_sections(
        &mut self,
        header: &FileHeader32<Endianness>,
        endian: Endianness,
        bytes: &[u8],
        budget: &mut Budget,
    ) -> Result<(), ImageError> {
        let sections = header.sections(endian, bytes).map_err(damaged)?;
        for section in sections.iter() {
            let name = sections.section_name(endian, section).map_err(damaged)?;
            // Debug sections are large, and the tools that need them read them from the file.
            if name.is_empty() || name.starts_with(b".debug") {
                continue;
            }
            let contents = section.data(endian, bytes).map_err(damaged)?;
            budget.spend(contents)?;
            budget.spend(name)?;
            self.sections.insert(String::from_utf8_lossy(name).into_owned(), contents.to_vec());
        }
        let table = sections.symbols(endian, bytes, object::elf::SHT_SYMTAB).map_err(damaged)?;
        for (index, symbol) in table.enumerate() {
            let kind = symbol.st_type();
            let name = symbol.name(endian, table.strings()).map_err(damaged)?;
            // `$t`, `$d` and similar symbols mark code and data for disassemblers; `.L0` and the like are a
            // compiler's labels, which RISC-V files keep.
            let wanted = matches!(kind, STT_FUNC | STT_OBJECT | STT_NOTYPE)
                && symbol.st_shndx(endian) != object::elf::SHN_UNDEF
                && !name.is_empty()
                && !name.starts_with(b"$")
                && !name.starts_with(b".L");
            if !wanted {
                continue;
            }
            budget.spend(name)?;
            let name = String::from_utf8_lossy(name).into_owned();
            let value = symbol.st_value(endian);
            let address = if kind == STT_FUNC { value & !1 } else { value };
            self.symbols.by_name.insert(name.clone(), address);
            // Constants that a linker script or assembler has defined as symbols are not addresses;
            // Zephyr's (`CONFIG_...`) even have the type of variables.
            let is_constant = kind != STT_FUNC && symbol.st_shndx(endian) == object::elf::SHN_ABS;
            // A symbol without a type, defined by the linker, would hide the function at its address.
            let hides = kind == STT_NOTYPE && self.symbols.by_address.contains_key(&address);
            // What is in no memory has no address there: defmt's strings begin at 0.
            let section = table.symbol_section(endian, symbol, index).map_err(damaged)?;
            let section = section.and_then(|section| sections.section(section).ok());
            let is_unloaded =
                section.is_some_and(|section| !section.sh_flags(endian).contains(SHF_ALLOC));
            if !is_constant && !hides && !is_unloaded {
                let (size, is_function) = (symbol.st_size(endian), kind == STT_FUNC);
                let end = |section: &object::elf::SectionHeader32<Endianness>| {
                    section.sh_addr(endian).saturating_add(section.sh_size(endian))
                };
                let limit = section.map_or(u32::MAX, end);
                self.symbols.by_address.insert(address, Symbol { name, size, limit, is_function });
            }
        }
        self.symbols.forget_labels();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An executable in which every program header refers to the whole file.
    fn greedy(headers: u16, size: usize) -> Vec<u8> {
        let mut file = b"\x7fELF\x01\x01\x01".to_vec();
        file.resize(16, 0);
        for half in [2_u16, 40, 1, 0, 0, 0, 52, 0, 0, 0, 0, 0x500, 52, 32, headers, 40, 0, 0] {
            file.extend(half.to_le_bytes());
        }
        for number in 0..u32::from(headers) {
            let size = size as u32;
            let at = number * size;
            file.extend([1, 0, at, at, size, size, 5, 4].map(u32::to_le_bytes).concat());
        }
        file.resize(size, 0);
        file
    }

    /// An executable with three sections at address 0: of code, of strings that are not loaded, and of symbols, which are
    /// these; name 1 is `code`, name 6 is `text`.
    fn with_symbols(symbols: &[[u32; 4]]) -> Vec<u8> {
        let mut file = greedy(0, 52);
        let names = b"\0code\0text\0.symtab\0";
        let place = |file: &mut Vec<u8>, bytes: &[u8]| {
            let at = file.len() as u32;
            file.extend(bytes);
            (at, bytes.len() as u32)
        };
        let words =
            |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
        let names = place(&mut file, names);
        let symbols = place(&mut file, &words(&[&[[0; 4]], symbols].concat().concat()));
        let bits = place(&mut file, &[0; 8]);
        let sections = file.len() as u32;
        // Name, type, flags, address, offset, size, link, info, alignment, size of an entry.
        for header in [
            [0; 10],
            [1, 1, 6, 0, bits.0, bits.1, 0, 0, 4, 0],
            [6, 1, 0, 0, bits.0, bits.1, 0, 0, 4, 0],
            [11, 2, 0, 0, symbols.0, symbols.1, 4, 1, 4, 16],
            [11, 3, 0, 0, names.0, names.1, 0, 0, 1, 0],
        ] {
            place(&mut file, &words(&header));
        }
        let segment = words(&[1, bits.0, 0, 0, bits.1, bits.1, 5, 4]);
        let (segment, _) = place(&mut file, &segment);
        file[28..36].copy_from_slice(&words(&[segment, sections]));
        let halves = [1_u16, 40, 5, 4].map(u16::to_le_bytes).concat();
        file[42..44].copy_from_slice(&32_u16.to_le_bytes());
        file[44..52].copy_from_slice(&halves);
        file
    }

    #[test]
    fn symbols_that_are_in_no_memory_name_no_address() {
        // STT_FUNC in the first section, STT_OBJECT in the second.
        let symbols = [[1, 1, 4, 1 << 16 | 2], [6, 3, 1, 2 << 16 | 1]];
        let image = Image::from_elf(&with_symbols(&symbols)).expect("an image");
        let named: Vec<_> = image.symbols().iter().collect();
        assert_eq!(named, [(0, "code")]);
    }

    /// ST's start-up code calls `main` after such a label, `LoopFillZerobss`, in `Reset_Handler`.
    #[test]
    fn labels_within_a_function_are_not_functions() {
        let function = [1, 1, 4, 1 << 16 | 2];
        for label in [2, 3, 4] {
            let symbols = [function, [6, label, 0, 1 << 16]];
            let image = Image::from_elf(&with_symbols(&symbols)).expect("an image");
            let named = |address| image.symbols().name_at(address).map(|at| at.to_string());
            assert_eq!(named(3).as_deref(), Some("code+0x3"), "{label}");
            assert_eq!(named(4).is_some(), label == 4, "{label}");
            assert_eq!(image.symbols().address_of("text"), Some(label));
        }
        // Nothing is known about where a function without a size ends.
        let symbols = [[1, 1, 0, 1 << 16 | 2], [6, 2, 0, 1 << 16]];
        let image = Image::from_elf(&with_symbols(&symbols)).expect("an image");
        let location = image.symbols().name_at(2).map(|at| at.to_string());
        assert_eq!(location.as_deref(), Some("text"));
    }

    /// Nothing of the image is in a Cortex-R5's high vectors, far above its last symbol.
    #[test]
    fn symbols_without_a_size_end_with_their_section() {
        let image = Image::from_elf(&with_symbols(&[[6, 4, 0, 1 << 16]])).expect("an image");
        let location = |address| image.symbols().name_at(address).map(|at| at.to_string());
        assert_eq!(location(7).as_deref(), Some("text+0x3"));
        assert_eq!((location(8), location(0xFFFF_0010)), (None, None));
        // A linker's symbol for the end.
        let image = Image::from_elf(&with_symbols(&[[6, 8, 0, 1 << 16]])).expect("an image");
        assert_eq!(image.symbols().name_at(8).map(|at| at.to_string()).as_deref(), Some("text"));
    }

    #[test]
    fn hostile_files_allocate_little_memory() {
        let image = Image::from_elf(&greedy(2, 4096)).expect("an image");
        assert_eq!(image.segments().len(), 2);
        let error = Image::from_elf(&greedy(1000, 64 * 1024)).expect_err("refused").to_string();
        assert!(error.contains("the same bytes repeatedly"), "{error}");
    }

    #[test]
    fn segments_that_overlap_are_refused() {
        let mut file = greedy(2, 4096);
        // The second one's p_paddr.
        let place = 52 + 32 + 12;
        for (address, overlaps) in [(4096_u32, false), (4095, true), (0, true)] {
            file[place..place + 4].copy_from_slice(&address.to_le_bytes());
            let read = Image::from_elf(&file).map_err(|error| error.to_string());
            let said = format!("at 0x00000000 and {address:#010x} overlap");
            assert_eq!(read.is_err(), overlaps, "{address:#x}");
            assert!(read.err().is_none_or(|error| error.contains(&said)), "{said}");
        }
    }

    #[test]
    fn truncated_and_corrupted_files_do_not_panic() {
        let valid = greedy(2, 200);
        for length in 0..valid.len() {
            assert!(Image::from_elf(&valid[..length]).is_err(), "{length}");
        }
        for at in 0..valid.len() {
            for flip in 1..=255 {
                let mut bytes = valid.clone();
                bytes[at] ^= flip;
                let _ = Image::from_bytes(&bytes, 0);
            }
        }
    }

    #[test]
    fn files_that_are_not_images_get_distinct_errors() {
        let refusal = |bytes: &[u8]| Image::from_elf(bytes).expect_err("refused").to_string();
        assert!(refusal(b"").contains("empty"));
        assert!(refusal(b":10000000").contains("3a 31 30 30"));
        assert!(refusal(b"\x7fELF").contains("truncated"));
        let own = std::fs::read(std::env::current_exe().expect("a path")).expect("readable");
        assert!(refusal(&own).contains("64-bit little-endian"));
    }
}
