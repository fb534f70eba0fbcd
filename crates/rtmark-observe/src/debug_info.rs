//! Reports what a program's file does not contain, so that missing information is not mistaken for
//! absence.

use object::{CompressionFormat, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

use crate::lines::Lines;

/// Returns why functions or source lines of an ELF file are unknown, and what to do about it; `None` if
/// they are known, and for other file formats, which never have any.
pub fn missing_debug_info(elf: &[u8]) -> Option<String> {
    let file = object::File::parse(elf).ok()?;
    let is_function = |symbol: &object::Symbol<'_, '_>| symbol.kind() == SymbolKind::Text;
    let what = match (file.symbols().any(|symbol| is_function(&symbol)), Lines::new(elf)) {
        (true, Some(_)) => return None,
        (true, None) => "source lines, and what the compiler has inlined, are unknown",
        (false, Some(_)) => "functions are unknown",
        (false, None) => "functions and source lines are unknown",
    };
    Some(format!("{what}: {}", reason(&file)))
}

/// Returns where symbols or debug information have gone.
fn reason(file: &object::File<'_>) -> String {
    // A separate file holds this one's debug information, and may be beside it.
    if let Ok(Some((name, _))) = file.gnu_debuglink() {
        let name = rtmark_model::visible(name);
        return format!(
            "they are in a file of their own, {name}; `eu-unstrip -o whole.elf THIS {name}` joins both"
        );
    }
    let section =
        [".debug_info", ".zdebug_info"].iter().find_map(|name| file.section_by_name(name));
    match section {
        Some(section) if is_compressed(&section) => "its debug information is compressed; \
             `arm-none-eabi-objcopy --decompress-debug-sections THIS plain.elf` undoes that"
            .to_owned(),
        Some(_) => "its debug information cannot be read".to_owned(),
        None => "it was built without debug information (-g), or stripped".to_owned(),
    }
}

fn is_compressed(section: &object::Section<'_, '_>) -> bool {
    let format = section.compressed_file_range().map(|range| range.format);
    !matches!(format, Ok(CompressionFormat::None))
}
