//! Takes the files from the repository, or from the archive of a package.

fn main() {
    rtmark_embed::embed(&["boards", "catalogue", "data", "machines", "socs"]);
}
