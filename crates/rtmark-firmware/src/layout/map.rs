//! Parses a linker's map: which code sections were linked, and from which files.
//!
//! It reads the maps of GNU ld and of LLVM's lld, as far as needed.

/// A code section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name: `.text.main`, or `.text` if the compiler does not separate functions.
    pub name: String,
    /// The file it comes from: an object, or `archive(member)`.
    pub file: String,
}

impl Section {
    /// Returns a linker-script pattern for the section; none if only its file would distinguish it, and
    /// that file's name is temporary.
    pub fn pattern(&self) -> Option<String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '$' | '-' | '+');
        if !self.name.chars().all(plain) {
            return None;
        }
        if self.name.strip_prefix(".text.").is_some_and(|rest| !rest.is_empty()) {
            return Some(format!("*({})", self.name));
        }
        let base = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        if let Some((archive, member)) =
            self.file.strip_suffix(')').and_then(|file| file.rsplit_once('('))
        {
            let (archive, member) = (base(archive), base(member));
            let is_plain = archive.chars().all(plain) && member.chars().all(plain);
            return is_plain.then(|| format!("*{archive}:{member}({})", self.name));
        }
        let object = base(&self.file);
        // The results of link-time optimisation have another name each time.
        let stays =
            object.chars().all(plain) && !object.contains(".ltrans") && !object.ends_with(".lto.o");
        stays.then(|| format!("*{object}({})", self.name))
    }
}

/// Returns the code sections in a map, without empty ones.
pub fn sections(map: &str) -> Vec<Section> {
    match map.split_once("\nLinker script and memory map") {
        Some((_, linked)) => parse_gnu(linked),
        None => map.lines().filter_map(parse_lld).collect(),
    }
}

fn is_code(name: &str) -> bool {
    name == ".text" || name.starts_with(".text.")
}

/// Parses ` .text.name      0x08000188       0x24 obj/tasks.o`; a long name has a line of its own.
fn parse_gnu(map: &str) -> Vec<Section> {
    let mut found = Vec::new();
    let mut lines = map.lines();
    while let Some(line) = lines.next() {
        // Output sections are not indented.
        let Some(entry) = line.strip_prefix(' ').filter(|entry| is_code(first_word(entry))) else {
            continue;
        };
        let name = first_word(entry);
        let rest = entry[name.len()..].trim();
        let rest = if rest.is_empty() { lines.next().unwrap_or_default().trim() } else { rest };
        let mut words = rest.splitn(2, char::is_whitespace);
        let address = words.next().is_some_and(|word| word.starts_with("0x"));
        let Some((size, file)) =
            words.next().and_then(|rest| rest.trim().split_once(char::is_whitespace))
        else {
            continue;
        };
        if address && size != "0x0" {
            found.push(Section { name: name.to_owned(), file: file.trim().to_owned() });
        }
    }
    found
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().filter(|word| text.starts_with(word)).unwrap_or_default()
}

/// Parses ` 80001e0  80001e0       38     2         path/thread.o:(.text.RUN_HIGH)`.
fn parse_lld(line: &str) -> Option<Section> {
    let mut rest = line;
    let mut columns = [""; 4];
    for column in &mut columns {
        let trimmed = rest.trim_start();
        let (word, after) = trimmed.split_once(' ')?;
        (*column, rest) = (word, after);
    }
    let (file, name) = rest.trim().strip_suffix(')')?.rsplit_once(":(")?;
    let is_some = u64::from_str_radix(columns[2], 16).is_ok_and(|size| size > 0);
    (is_some && is_code(name)).then(|| Section { name: name.to_owned(), file: file.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn described(map: &str) -> Vec<String> {
        let describe =
            |section: &Section| section.pattern().unwrap_or_else(|| section.file.clone());
        sections(map).iter().map(describe).collect()
    }

    #[test]
    fn gnu_ld_maps_parse() {
        let map = "\
Discarded input sections

 .text.unused   0x0000000000000000       0x10 obj/tasks.o

Linker script and memory map

.text           0x0000000008000000      0xabc
 *(.vectors)
 .vectors       0x0000000008000000      0x188 obj/startup.o
 .text          0x0000000008000188        0x0 obj/thread.o
 .text.main     0x0000000008000188       0x24 obj/main.o
                0x0000000008000188                main
 .text.prvAddCurrentTaskToDelayedList
                0x00000000080001ac       0x12 obj/third-party/tasks.o
 *fill*         0x00000000080001be        0x2
 .text          0x00000000080001c0      0x114 /usr/lib/libgcc.a(_udivsi3.o)
 .text          0x00000000080002c0       0x10 /usr/lib/libmy gcc.a(_x.o)
 .text          0x00000000080002d4       0x10 obj/portasm.o
 .text          0x00000000080002e4       0x10 /tmp/ccA.ltrans0.ltrans.o
 .rodata.x      0x0000000008000300       0x10 obj/main.o
";
        let wanted = [
            "*(.text.main)",
            "*(.text.prvAddCurrentTaskToDelayedList)",
            "*libgcc.a:_udivsi3.o(.text)",
            "/usr/lib/libmy gcc.a(_x.o)",
            "*portasm.o(.text)",
            "/tmp/ccA.ltrans0.ltrans.o",
        ];
        assert_eq!(described(map), wanted);
    }

    #[test]
    fn lld_maps_parse() {
        let map = "     VMA      LMA     Size Align Out     In      Symbol
 8000188  8000188     1cf4     4 .text
 8000188  8000188        0     4         <internal>:(.text)
 80001e0  80001e0       38     2         a/thread-1.rcgu.o:(.text.RUN_HIGH)
 80001e0  80001e0       38     1                 RUN_HIGH
 8000218  8000218       2e     2         a/libx.rlib(y.o):(.text._ZN6signal19Signal$LT$M$GT$E)
 8001e7c  8001e7c       10     4         a/thread-1.rcgu.o:(.rodata.x)
";
        assert_eq!(described(map), ["*(.text.RUN_HIGH)", "*(.text._ZN6signal19Signal$LT$M$GT$E)"]);
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_handled(text in "\\PC{0,200}", gnu in any::<bool>()) {
            let head = if gnu { "\nLinker script and memory map\n .text" } else { "" };
            let _ = described(&format!("{head}{text}"));
        }
    }
}
