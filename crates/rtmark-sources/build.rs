//! Takes the sources from the repository, or from the archive of a package.

fn main() {
    rtmark_embed::embed(&["firmware"]);
}
