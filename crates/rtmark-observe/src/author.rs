//! Decides whether a source file belongs to the application's author or to a library.
//!
//! The only evidence are the paths in the debug information. Crates of a registry, the language's own
//! library, the compiler's headers and third-party folders are recognised by their paths. Of everything
//! else, files beside `main`, or in the folder in which it was compiled, belong to the author. If no
//! `main` is known, only those libraries are recognised.

use rtmark_model::Owner;

/// Folders that hold libraries wherever they are, as consecutive components of a path.
const LIBRARIES: [&[&str]; 9] = [
    // Crates, in cargo's home or in a registry folder elsewhere.
    &[".cargo"],
    &["registry", "src"],
    &["git", "checkouts"],
    // Rust's own library, with the paths of its builders and in a toolchain.
    &["rustc"],
    &["rustlib", "src"],
    // Headers of the system and of compilers.
    &["usr", "include"],
    &["usr", "lib"],
    &["lib", "gcc"],
    &["arm-none-eabi", "include"],
];

/// Folders in which applications keep third-party code, in lower case.
const THIRD_PARTY_FOLDERS: [&str; 7] =
    ["third-party", "third_party", "thirdparty", "vendor", "external", "middlewares", "cmsis"];

/// Prefixes of folders with kernel sources, in lower case.
const KERNELS: [&str; 9] =
    ["freertos", "zephyr", "threadx", "chibios", "rtx5", "rtos2", "uc-os3", "nuttx", "riot"];

/// Folders that hold a kernel beside its users' applications, as the kernels' own guides call them ("Getting
/// Started Guide" of Zephyr, "Installing" of NuttX).
const WORKSPACES: [&str; 2] = ["zephyrproject", "nuttxspace"];

/// The number of components that two folders must share for the match to be significant:
/// `/home/user/app`.
const MIN_COMMON_DEPTH: usize = 3;

/// Recognises the files written by an application's author.
#[derive(Debug, Default)]
pub struct Author {
    /// The folder of `main`: its files are the author's, whatever it is called, except in folders below it that
    /// hold third-party code.
    beside: Option<Vec<String>>,
    /// Other folders of the application.
    folders: Vec<Vec<String>>,
}

impl Author {
    /// Creates it for a program whose `main` is in `file`, compiled in `folder`.
    pub fn of(file: &str, folder: &str) -> Self {
        let mut beside = parts(file);
        if is_library(&beside) {
            return Self::default();
        }
        beside.pop();
        let compiled = parts(folder);
        let common = beside.iter().zip(&compiled).take_while(|(one, other)| one == other).count();
        let mut folders = vec![compiled];
        // The build folder is separate.
        if common >= MIN_COMMON_DEPTH {
            folders.push(beside[..common].to_vec());
        }
        folders.retain(|folder| !folder.is_empty());
        Self { beside: Some(beside).filter(|beside| !beside.is_empty()), folders }
    }

    /// Returns the owner of a file. Code without a file was written by nobody and is not the author's.
    pub fn owner(&self, file: Option<&str>) -> Owner {
        let Some(file) = file else { return Owner::Library };
        let path = parts(file);
        if is_library(&path) {
            return Owner::Library;
        }
        if let Some(below) = self.beside.as_ref().and_then(|beside| path.strip_prefix(&beside[..]))
        {
            return if is_third_party(below) { Owner::Library } else { Owner::Author };
        }
        let is_relative = !file.starts_with('/') && !file.contains(':');
        let elsewhere = !self.folders.is_empty() && !is_relative;
        let is_own = !elsewhere || self.folders.iter().any(|folder| path.starts_with(folder));
        if is_own && !is_third_party(&path) { Owner::Author } else { Owner::Library }
    }
}

/// Splits a path into components, and resolves `.` and `..`.
fn parts(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| last != "..") => drop(parts.pop()),
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

fn is_library(path: &[String]) -> bool {
    LIBRARIES.iter().any(|library| path.windows(library.len()).any(|some| some == *library))
}

fn is_third_party(path: &[String]) -> bool {
    let folders = path.split_last().map_or(path, |(_, folders)| folders);
    folders.iter().map(|folder| folder.to_lowercase()).any(|folder| {
        let is_kernels = || KERNELS.iter().any(|kernel| folder.starts_with(kernel));
        THIRD_PARTY_FOLDERS.contains(&folder.as_str())
            || is_kernels() && !WORKSPACES.contains(&folder.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(author: &Author, files: &[(&str, Owner)]) {
        for (file, owner) in files {
            assert_eq!(author.owner(Some(file)), *owner, "{file} {author:?}");
        }
    }

    #[test]
    fn dependencies_and_the_standard_library_are_not_the_authors_code() {
        use Owner::{Author as Own, Library};
        let author = Author::of("/home/a/app/src/main.rs", "/home/a/app");
        let crates = "/home/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        owners(
            &author,
            &[
                ("/home/a/app/src/bin/../mixed.rs", Own),
                ("/home/a/app/board/src/lib.rs", Own),
                ("src/tasks.rs", Own),
                (&format!("{crates}/embassy-sync-0.8.0/src/channel.rs"), Library),
                ("/opt/cargo/registry/src/x/heapless-0.8.0/src/vec.rs", Library),
                ("/opt/cargo/git/checkouts/embassy-1a/2b/src/lib.rs", Library),
                ("/rustc/59807616/library/core/src/ptr/mod.rs", Library),
                ("/home/a/.rustup/toolchains/x/lib/rustlib/src/rust/library/core/a.rs", Library),
                ("/home/a/other/src/lib.rs", Library),
            ],
        );
        assert_eq!(author.owner(None), Library);
    }

    #[test]
    fn c_kernels_are_recognised_by_folder_except_beside_main() {
        use Owner::{Author as Own, Library};
        let files = [
            ("freertos/load.c", Own),
            ("c/load.h", Own),
            ("third-party/queue.c", Library),
            ("uC-OS3/Source/os_core.c", Library),
            ("FreeRTOS-Kernel/portable/GCC/ARM_CM4F/portmacro.h", Library),
            ("/usr/lib/gcc/arm-none-eabi/12.2.1/include/stdint.h", Library),
        ];
        owners(&Author::of("freertos/main.c", "."), &files);
        let built_aside = Author::of("/home/a/app/src/main.c", "/home/a/app/build");
        let files = [
            ("/home/a/app/drivers/uart.c", Own),
            ("/home/a/app/Middlewares/Third_Party/FreeRTOS/Source/tasks.c", Library),
            ("/home/a/zephyrproject/zephyr/include/zephyr/kernel.h", Library),
            ("/home/a/sdk/spi.c", Library),
        ];
        owners(&built_aside, &files);
        let sample = "/w/zephyr/samples/philosophers/src";
        let zephyrs = Author::of(&format!("{sample}/main.c"), "/w/zephyr/build");
        owners(
            &zephyrs,
            &[(&format!("{sample}/phil.h"), Own), ("/w/zephyr/kernel/sem.c", Library)],
        );
    }

    #[test]
    fn without_main_all_code_outside_libraries_is_the_authors() {
        let author = Author::default();
        let files = [
            ("/a/b.c", Owner::Author),
            ("/home/a/nuttxspace/apps/blink/blink_main.c", Owner::Author),
            ("/home/a/nuttxspace/nuttx/sched/init/nx_start.c", Owner::Library),
            ("/home/a/zephyrproject/app/src/lamp.c", Owner::Author),
            ("C:\\work\\app\\main.c", Owner::Author),
            ("C:\\Users\\a\\.cargo\\registry\\src\\x\\lib.rs", Owner::Library),
            ("/rustc/1/library/core/src/ptr/mod.rs", Owner::Library),
        ];
        owners(&author, &files);
    }
}
