//! Tiny programs for Cortex-M, written by hand, and the ELF files around them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use object::Endianness;
use object::elf;
use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, Sym, Writer};

/// Where flash begins in every built-in soc.
pub const FLASH: u32 = 0x0800_0000;
/// Where a program's code begins: after sixteen vectors.
pub const START: u32 = FLASH + 0x40;
/// Where a program's `rtmark_select` is.
const SELECT: u32 = 0x100;

/// Prints on USART2 what it receives there, until a line ends. It polls.
pub const ECHO: &[u16] = &[
    0x2440, 0x0624, 0x2044, 0x0200, 0x1824, // r4 = 0x4000_4400
    0x2010, 0x60E0, 0x200D, 0x6020, // BRR = 16; CR1 = UE, TE, RE
    0x69E0, 0x0980, 0xD3FC, // wait for RXNE
    0x6A61, 0x62A1, 0x290A, 0xD1F8, // RDR to TDR, until a line ends
    0x2018, 0x4901, 0xBEAB, 0xE7FE, 0x0026, 0x0002,
];

/// Ends with success: `movs r0, #0x18; ldr r1, =0x20026; bkpt 0xab; b .`.
pub const EXIT: &[u16] = &[0x2018, 0x4901, 0xBEAB, 0xE7FE, 0x0026, 0x0002];
/// Ends with failure.
pub const EXIT_FAILED: &[u16] = &[0x2018, 0x4901, 0xBEAB, 0xE7FE, 0x0023, 0x0002];
/// Runs for ever: `b .`.
pub const LOOP: &[u16] = &[0xE7FE];
/// Sleeps for ever: `wfi; b .-2`.
pub const SLEEP: &[u16] = &[0xBF30, 0xE7FD];
/// An instruction that is none, with no handler that could help: `udf #0`.
pub const UNDEFINED: &[u16] = &[0xDE00];
/// A load from where nothing is: `movs r0, #3; lsls r0, r0, #29; ldr r0, [r0]`.
pub const BAD_LOAD: &[u16] = &[0x2003, 0x0740, 0x6800];
/// A breakpoint that is no semihosting call: `bkpt 1`.
pub const BREAKPOINT: &[u16] = &[0xBE01];

/// A function that adds one: `adds r0, #1; bx lr`.
pub const ADD_ONE: &[u16] = &[0x3001, 0x4770];

/// Pends NMI by ICSR; its vector is zero, and a fault in NMI is a lockup.
pub const LOCKUP: &[u16] =
    &[0x200E, 0x0700, 0x21ED, 0x0209, 0x1840, 0x2101, 0x07C9, 0x6041, 0xE7FE];

/// Stores a word at an address, then goes on behind itself: `ldr r0, =address; ldr r1, =word; str r1, [r0]`.
pub fn storing(address: u32, word: u32) -> Vec<u16> {
    let literals = [address, word].into_iter().flat_map(|word| [word as u16, (word >> 16) as u16]);
    [0x4801, 0x4902, 0x6001, 0xE003].into_iter().chain(literals).collect()
}

/// A program that prints a line and ends: instructions, then what they refer to.
pub fn printing(line: &str, success: bool) -> Vec<u16> {
    printing_after(&[], line, success)
}

/// A program that begins with this code, whole words of it, prints a line and ends.
pub fn printing_after(begin: &[u16], line: &str, success: bool) -> Vec<u16> {
    let text_at = START + 2 * begin.len() as u32 + 0x1C;
    let status: u32 = if success { 0x20026 } else { 0x20023 };
    let mut code = begin.to_vec();
    code.extend([
        0x2004, // movs r0, #4: SYS_WRITE0
        0x4904, // ldr r1, =line
        0xBEAB, // bkpt 0xab
        0x2018, // movs r0, #0x18: SYS_EXIT
        0x4903, // ldr r1, =status
        0xBEAB, // bkpt 0xab
        0xE7FE, // b .
        0x46C0, 0x46C0, 0x46C0,
    ]);
    for word in [text_at, status] {
        code.extend([word as u16, (word >> 16) as u16]);
    }
    let text = [line.as_bytes(), b"\n\0\0"].concat();
    code.extend(text.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])));
    code
}

/// A program as flash holds it: vectors, then code.
pub fn raw(code: &[u16]) -> Vec<u8> {
    let mut bytes = [0x2000_0400, START | 1].map(u32::to_le_bytes).concat();
    bytes.resize(0x40, 0);
    bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
    bytes
}

/// Flash contents as Intel HEX.
pub fn to_hex(bytes: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    let mut record = |kind: u8, address: u16, data: &[u8]| {
        let [high, low] = address.to_be_bytes();
        let mut record = [&[data.len() as u8, high, low, kind], data].concat();
        record.push(record.iter().fold(0_u8, |sum, byte| sum.wrapping_sub(*byte)));
        text.push(':');
        for byte in record {
            let _ = write!(text, "{byte:02X}");
        }
        text.push('\n');
    };
    record(4, 0, &((FLASH >> 16) as u16).to_be_bytes());
    for (at, line) in bytes.chunks(16).enumerate() {
        record(0, at as u16 * 16, line);
    }
    record(1, 0, &[]);
    text.into_bytes()
}

/// Flash contents as UF2.
pub fn to_uf2(bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let count = bytes.len().div_ceil(256) as u32;
    for (at, payload) in (0..).zip(bytes.chunks(256)) {
        let begin = file.len();
        let head =
            [0x0A32_4655, 0x9E5D_5157, 0, FLASH + at * 256, payload.len() as u32, at, count, 0];
        file.extend(head.map(u32::to_le_bytes).concat());
        file.extend(payload);
        file.resize(begin + 508, 0);
        file.extend(u32::to_le_bytes(0x0AB1_6F30));
    }
    file
}

/// A probe record: kind, place, scenario.
pub type Probe<'a> = (u32, u32, &'a str);

/// An ELF file to be.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    /// The code, placed after the vectors.
    pub code: &'a [u16],
    /// The probes; without any there is no section for them.
    pub probes: &'a [Probe<'a>],
    /// Where it is loaded.
    pub base: u32,
    /// An object file rather than an executable.
    pub relocatable: bool,
    /// The name of its second symbol; the first is `start`.
    pub second: &'a str,
    /// What the second symbol is.
    pub second_is: Second,
    /// The name of an address.
    pub address: Option<(&'a str, u32)>,
}

/// What a symbol stands for.
#[derive(Clone, Copy, Debug)]
pub enum Second {
    /// The word that selects a scenario.
    Select,
    /// A function, so many bytes into the code.
    Function(u32),
}

impl Default for Elf<'_> {
    fn default() -> Self {
        Self {
            code: EXIT,
            probes: &[],
            base: FLASH,
            relocatable: false,
            second: "rtmark_select",
            second_is: Second::Select,
            address: None,
        }
    }
}

impl Elf<'_> {
    /// The name, address, kind and size of each symbol.
    fn symbols(&self) -> Vec<(&str, u32, elf::SymbolType, u64)> {
        let (at, kind, size) = match self.second_is {
            Second::Select => (self.base + SELECT, elf::STT_OBJECT, 4),
            Second::Function(at) => (self.base + 0x41 + at, elf::STT_FUNC, 0xC0 - u64::from(at)),
        };
        let mut symbols =
            vec![("start", self.base + 0x41, elf::STT_FUNC, 0xC0), (self.second, at, kind, size)];
        symbols.extend(self.address.map(|(name, at)| (name, at, elf::STT_NOTYPE, 0)));
        symbols
    }

    /// The file's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let text = self.text();
        let probes = self.probe_section();

        let mut bytes = Vec::new();
        let mut writer = Writer::new(Endianness::Little, false, &mut bytes);
        writer.reserve_file_header();
        writer.reserve_program_headers(1);
        let text_offset = writer.reserve(text.len() as u64, 4);
        let probe_offset = writer.reserve(probes.len() as u64, 4);
        writer.reserve_null_section_index();
        let text_index = writer.reserve_section_index();
        let text_name = writer.add_section_name(b".text");
        if !probes.is_empty() {
            writer.reserve_section_index();
        }
        let probe_name = writer.add_section_name(b".rtmark");
        writer.reserve_symtab_section_index();
        writer.reserve_strtab_section_index();
        writer.reserve_shstrtab_section_index();
        let symbols = self.symbols();
        let names: Vec<_> =
            symbols.iter().map(|(name, ..)| writer.add_string(name.as_bytes())).collect();
        writer.reserve_null_symbol_index();
        for _ in &names {
            writer.reserve_symbol_index(Some(text_index));
        }
        writer.reserve_symtab();
        writer.reserve_strtab().expect("room");
        writer.reserve_shstrtab().expect("room");
        writer.reserve_section_headers();

        let header = FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: if self.relocatable { elf::ET_REL } else { elf::ET_EXEC },
            e_machine: elf::EM_ARM,
            e_entry: u64::from(self.base + 0x41),
            e_flags: elf::FileFlags(0x0500_0200),
        };
        writer.write_file_header(&header).expect("room");
        writer.write_align_program_headers();
        writer.write_program_header(&ProgramHeader {
            p_type: elf::PT_LOAD,
            p_flags: elf::PF_R | elf::PF_X,
            p_offset: text_offset,
            p_vaddr: u64::from(self.base),
            p_paddr: u64::from(self.base),
            p_filesz: text.len() as u64,
            p_memsz: text.len() as u64,
            p_align: 4,
        });
        writer.pad_until(text_offset);
        writer.write(&text);
        writer.pad_until(probe_offset);
        writer.write(&probes);
        writer.write_null_symbol();
        for (name, &(_, value, kind, size)) in names.into_iter().zip(&symbols) {
            writer.write_symbol(&Sym {
                section: Some(text_index.0),
                st_name: writer.string_offset(Some(name)),
                st_info: elf::SymbolInfo::new(elf::STB_GLOBAL, kind),
                st_other: elf::SymbolOther(0),
                st_shndx: elf::SymbolSection(text_index.0 as u16),
                st_value: u64::from(value),
                st_size: size,
            });
        }
        writer.write_strtab();
        writer.write_shstrtab();
        writer.write_null_section_header();
        let section = |name, flags, address, offset, size: usize| SectionHeader {
            sh_name: name,
            sh_type: elf::SHT_PROGBITS,
            sh_flags: flags,
            sh_addr: address,
            sh_offset: offset,
            sh_size: size as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: 4,
            sh_entsize: 0,
        };
        let flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
        let name = writer.section_name_offset(Some(text_name));
        writer.write_section_header(&section(
            name,
            flags,
            u64::from(self.base),
            text_offset,
            text.len(),
        ));
        if !probes.is_empty() {
            let name = writer.section_name_offset(Some(probe_name));
            let none = elf::SectionFlags(0);
            writer.write_section_header(&section(name, none, 0, probe_offset, probes.len()));
        }
        writer.write_symtab_section_header(1);
        writer.write_strtab_section_header();
        writer.write_shstrtab_section_header();
        bytes
    }

    /// Vectors, code and the word that selects.
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for vector in [0x2000_0400, (self.base + 0x40) | 1] {
            text.extend(u32::to_le_bytes(vector));
        }
        text.resize(0x40, 0);
        text.extend(self.code.iter().flat_map(|half| half.to_le_bytes()));
        assert!(text.len() <= SELECT as usize, "the program reaches into rtmark_select");
        text.resize(SELECT as usize + 4, 0);
        text
    }

    fn probe_section(&self) -> Vec<u8> {
        let mut section = Vec::new();
        for (kind, place, scenario) in self.probes {
            section.extend((0x524D_0000 | kind).to_le_bytes());
            section.extend(place.to_le_bytes());
            section.extend(scenario.as_bytes());
            section.push(0);
            section.resize(section.len().next_multiple_of(4), 0);
        }
        section
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.bytes()).expect("writable");
    }
}

/// What a command said and how it ended.
#[derive(Debug)]
pub struct CommandResult {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for CommandResult {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: output.status.code().expect("an exit code, no signal"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl CommandResult {
    /// Checks code and words on stderr; every error says what to do next.
    #[track_caller]
    pub fn assert_error(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "no `{word}` in {self:#?}");
        }
        assert!(self.stderr.contains("help: "), "no next step in {self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
    }
}

/// `rtmark` in an environment of its own, with its store and builds in `home`.
pub fn rtmark(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtmark"));
    for variable in
        ["RTMARK_STORE", "RTMARK_FIRMWARE", "RTMARK_CONFIG", "RTMARK_CATALOGUE", "COLUMNS"]
    {
        command.env_remove(variable);
    }
    command.env("XDG_DATA_HOME", home.join("data")).env("RTMARK_BUILD", home.join("build"));
    command.env("XDG_CONFIG_HOME", home.join("config"));
    command.current_dir(home);
    command
}

/// Runs `rtmark` with arguments.
pub fn run_rtmark(home: &Path, arguments: &[&str]) -> CommandResult {
    rtmark(home).args(arguments).output().expect("rtmark runs").into()
}
