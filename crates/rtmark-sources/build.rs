//! Takes the files from the repository, or from the archive of a package.

fn main() {
    let mut folders = vec!["docs/own"];
    if std::env::var_os("CARGO_FEATURE_FIRMWARE").is_some() {
        folders.push("firmware");
    }
    rtmark_embed::embed(&folders);
}
