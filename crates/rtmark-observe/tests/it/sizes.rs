//! What symbols and files occupy, against `nm` and `size`.

use std::collections::BTreeMap;

use rtmark_observe::{Size, SizeGroup, sizes};
use rtmark_sim::Image;

use crate::support::{CORTEX_M, Program, soc};

type Sizes = BTreeMap<String, (u64, u64)>;

/// The bytes of the tail of a table that another symbol's size covers as well.
const SHARED: u64 = 4;

/// Returns flash and RAM of what `nm` lists, added up by names that `named` gives from a line's columns.
fn listed(program: &Program, named: impl Fn(&[&str]) -> String) -> Sizes {
    let mut sums = Sizes::new();
    for line in program.tool("nm", &["-S", "-l"]).lines() {
        let columns: Vec<_> = line.split_whitespace().collect();
        let size = u64::from_str_radix(columns[1], 16).expect("a size");
        let size = size - if columns[3] == "tail" { SHARED } else { 0 };
        let (flash, ram) = match columns[2] {
            "D" | "d" => (size, size),
            "B" | "b" => (0, size),
            _ => (size, 0),
        };
        if columns[3] != "also_stop" {
            let sum = sums.entry(named(&columns)).or_default();
            *sum = (sum.0 + flash, sum.1 + ram);
        }
    }
    sums
}

/// Returns the sizes of sections as `size` lists them.
fn sections(program: &Program) -> BTreeMap<String, u64> {
    let text = program.tool("size", &["-A"]);
    let section = |line: &str| {
        let mut columns = line.split_whitespace();
        Some((columns.next()?.to_owned(), columns.next()?.parse().ok()?))
    };
    text.lines().filter_map(section).collect()
}

/// Returns what the crate says without the row for bytes of no symbol, and that one.
fn said(program: &Program, by: SizeGroup) -> (Sizes, Size) {
    let mut said = sizes(&program.elf, &program.image, &soc("generic-cortex-m3"), by);
    let total = |size: &Size| (size.flash_bytes + size.ram_bytes, size.flash_bytes);
    assert!(said.is_sorted_by_key(|size| std::cmp::Reverse(total(size))), "{said:?}");
    let rest = said.iter().position(|size| size.name.starts_with("(no symbol")).expect("a rest");
    let rest = said.remove(rest);
    (said.into_iter().map(|it| (it.name, (it.flash_bytes, it.ram_bytes))).collect(), rest)
}

fn program(test: &str) -> Program {
    Program::build(test, &[CORTEX_M, &["-O2", "-mcpu=cortex-m3"]].concat(), &["app.c", "other.c"])
}

#[test]
fn symbols_occupy_what_nm_lists() {
    let program = program("sizes-symbols");
    let (said, rest) = said(&program, SizeGroup::Symbol);
    let expected = listed(&program, |columns| columns[3].to_owned());
    assert_eq!(said, expected);
    let sections = sections(&program);
    let (flash, ram) = expected.values().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    assert_eq!(rest.flash_bytes, sections[".text"] + sections[".data"] - flash);
    assert_eq!(rest.ram_bytes, sections[".data"] + sections[".bss"] - ram);
}

/// Assembler code has no lines: a local symbol has its file's name, a global one none.
fn file(columns: &[&str]) -> String {
    let line = columns.get(4).and_then(|place| place.rsplit_once(':'));
    let unknown = if columns[3] == "stop" { "(no debug information)" } else { "app.c" };
    line.map_or(unknown, |(file, _)| file).to_owned()
}

#[test]
fn files_own_what_nm_says_they_define() {
    let program = program("sizes-files");
    assert_eq!(said(&program, SizeGroup::File).0, listed(&program, file));
}

#[test]
fn folders_own_what_their_files_define() {
    let program = program("sizes-folders");
    let folder = |columns: &[&str]| {
        let file = file(columns);
        let folders: Vec<_> = file.rsplit('/').skip(1).take(2).collect();
        match folders.as_slice() {
            [inner, outer] => format!("{outer}/{inner}"),
            _ if file.starts_with('(') => file,
            _ => ".".to_owned(),
        }
    };
    let said = said(&program, SizeGroup::Crate).0;
    assert!(said.contains_key("programs/third-party"), "{said:?}");
    assert_eq!(said, listed(&program, folder));
}

/// The linker scripts of CMSIS and of FreeRTOS' demonstrations put a table that is writable by its flags beside the
/// code, so that the linker makes one segment of both, which is writable as well. On boards whose code memory is
/// RAM, that is no reason to count the code.
#[test]
fn a_writable_table_beside_code_makes_no_ram_of_the_code() {
    let flags = [CORTEX_M, &["-O2", "-mcpu=cortex-m3", "-DWRITABLE_TABLE"]].concat();
    let program = Program::build("sizes-writable-table", &flags, &["app.c", "other.c"]);
    let segments = program.tool("readelf", &["-lW"]);
    assert!(segments.contains(" RWE "), "{segments}");
    // `size`: text, data and bss, as the flags of sections say.
    let text = program.tool("size", &[]);
    let sums = text.lines().nth(1).expect("a line").split_whitespace();
    let [_, data, bss]: [u64; 3] = sums
        .take(3)
        .map(|it| it.parse().expect("a size"))
        .collect::<Vec<_>>()
        .try_into()
        .expect("three");
    let soc = soc("mps2-an385");
    assert_eq!(program.image.ram_bytes(&soc), data + bss, "{text}");
    let parts = sizes(&program.elf, &program.image, &soc, SizeGroup::Symbol);
    assert_eq!(parts.iter().map(|part| part.ram_bytes).sum::<u64>(), data + bss);
    let ram_of =
        |name: &str| parts.iter().find(|part| part.name == name).map(|part| part.ram_bytes);
    assert_eq!(
        (ram_of("main"), ram_of("copy_table"), ram_of("initial")),
        (Some(0), Some(12), Some(20))
    );

    // The same contents as Intel HEX have no flags: nothing says which of them are variables.
    let hex = program.path.with_extension("hex");
    let mut objcopy = std::process::Command::new("arm-none-eabi-objcopy");
    crate::support::output(objcopy.args(["-O", "ihex"]).args([&program.path, &hex]));
    let hex = Image::from_bytes(&std::fs::read(hex).expect("made"), 0).expect("an image");
    assert_eq!(hex.ram_bytes(&soc), 0);
}
