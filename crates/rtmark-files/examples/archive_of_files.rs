//! Writes the archive that a package of this crate carries to the standard output.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    std::io::stdout().lock().write_all(rtmark_files::ARCHIVE)
}
