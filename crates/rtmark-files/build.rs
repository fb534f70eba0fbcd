//! Takes the files from the repository, or from the archive of a package.

fn main() {
    let folders = ["boards", "catalogue", "data", "docs/own", "docs/schema", "machines", "socs"];
    rtmark_embed::embed(&folders);
}
