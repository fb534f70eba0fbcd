//! Renders the documentation as the pages of a book: `rtmark-book FOLDER`, run in a checkout's folder.
//!
//! Each Markdown file becomes a page with the same relative path, so that links between them remain
//! valid; other linked files are copied. The pages need no script and no server.

mod contents;
mod page;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contents::PARTS;
use page::{Page, Target};

const STYLE: &str = include_str!("book.css");

#[expect(clippy::print_stderr, reason = "what a program for developers says")]
fn main() -> ExitCode {
    let Some(to) = std::env::args_os().nth(1) else {
        eprintln!("book: give the folder to write the pages to");
        return ExitCode::from(2);
    };
    match write(Path::new("."), Path::new(&to)) {
        Ok(pages) => {
            eprintln!("book: {pages} pages");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("book: {error}; run it in the folder of a checkout");
            ExitCode::FAILURE
        }
    }
}

fn named<T>(path: &Path, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Writes the book of the checkout in `root`, and returns its number of pages.
fn write(root: &Path, to: &Path) -> io::Result<usize> {
    let mut pages = Vec::new();
    for source in PARTS.iter().flat_map(|part| part.sources) {
        let path = root.join(source);
        let text = named(&path, std::fs::read_to_string(&path))?;
        pages.push(Page::read(source, &text));
    }
    let mut copied = BTreeSet::new();
    for (at, page) in pages.iter().enumerate() {
        let html = page.html(&pages, at, |target| {
            if !root.join(target).is_file() {
                return Target::Missing;
            }
            copied.insert(target.to_owned());
            Target::File
        });
        put(&to.join(page::address(page.source)), html.as_bytes())?;
    }
    for file in &copied {
        let path: PathBuf = root.join(file);
        put(&to.join(file), &named(&path, std::fs::read(&path))?)?;
    }
    put(&to.join("book.css"), STYLE.as_bytes())?;
    Ok(pages.len())
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        named(folder, std::fs::create_dir_all(folder))?;
    }
    named(path, std::fs::write(path, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    fn markdown(folder: &str) -> Vec<String> {
        let files = std::fs::read_dir(Path::new(ROOT).join(folder)).expect("a folder");
        let names =
            files.map(|file| file.expect("a file").file_name().into_string().expect("text"));
        let names = names.filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"));
        names.map(|name| format!("{folder}/{name}")).collect()
    }

    #[test]
    fn every_page_of_the_documentation_is_in_the_book() {
        let known: BTreeSet<_> = PARTS.iter().flat_map(|part| part.sources).copied().collect();
        for source in markdown("docs").into_iter().chain(markdown("docs/studies")) {
            assert!(known.contains(source.as_str()), "add {source} to contents.rs");
        }
    }

    #[test]
    fn every_link_has_a_target() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let pages = write(Path::new(ROOT), folder.path()).expect("written");
        assert!(pages > 25, "{pages}");
        for source in PARTS.iter().flat_map(|part| part.sources) {
            let address = page::address(source);
            let at = folder.path().join(&address);
            let html = std::fs::read_to_string(&at).expect("a page");
            assert!(html.contains("<h1"), "{address} has no heading");
            let links = html.split("href=\"").chain(html.split("src=\"")).skip(1);
            for link in links.filter_map(|rest| rest.split('"').next()) {
                if link.contains(':') || link.contains('<') || link.is_empty() {
                    continue;
                }
                let (file, place) = link.split_once('#').unwrap_or((link, ""));
                let file = if file.is_empty() { at.clone() } else { at.with_file_name(file) };
                // The page of the chip is beside the book.
                if link.ends_with("../index.html") && !file.exists() {
                    continue;
                }
                assert!(file.is_file(), "{address} links to {link}, which is not there");
                if !place.is_empty() {
                    let html = std::fs::read_to_string(&file).expect("a page");
                    let id = format!("id=\"{place}\"");
                    assert!(html.contains(&id), "{address} links to {link}: no such heading");
                }
            }
        }
    }
}
