use super::*;
use crate::tests::tiny_elf::{ARM, Section, elf};

fn record(words: &str) -> LinkRecord {
    let arguments = words.split(' ').map(str::to_owned).collect();
    LinkRecord {
        arguments,
        folder: "/x".into(),
        linker: "ld".into(),
        compiler: String::new(),
        options: String::new(),
    }
}

#[test]
fn all_arguments_except_script_and_output_are_kept() {
    let script = Path::new("/n/a.1.ld");
    let rewritten =
        |words: &str| record(words).rewritten(Some(script), Path::new("/n/a.elf")).join(" ");
    let wanted = "-EL -L/g -T/n/a.1.ld a.o -o /n/a.elf";
    assert_eq!(rewritten("-EL -L/g -T /c/firmware.ld a.o -o out/a.elf"), wanted);
    assert_eq!(rewritten("-EL -L/g -Tlink.x a.o -o out/a.elf"), wanted);
    assert_eq!(rewritten("-EL -L/g --script=link.x a.o -o out/a.elf"), wanted);
    let again = record("-Tlink.x -o a").rewritten(None, Path::new("/b"));
    assert_eq!(again.join(" "), "-Tlink.x -o /b");
}

#[test]
fn options_are_one_word_or_two() {
    let record = record("-L /a -L/b --script=s.ld -T t.ld");
    assert_eq!(record.values("-L", "--library-path").collect::<Vec<_>>(), ["/a", "/b"]);
    assert_eq!(record.values("-T", "--script").collect::<Vec<_>>(), ["s.ld", "t.ld"]);
}

/// What link-time optimisation has made takes the place of the first object that it was made from, and no plugin is
/// asked again.
#[test]
fn results_of_link_time_optimisation_replace_what_they_were_made_from() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let object = |name: &str, section| {
        let path = scratch.path().join(name);
        let section = Section { name: section, bytes: vec![1; 4], ..Section::default() };
        std::fs::write(&path, elf(ARM, &[section], &[])).expect("written");
        path.display().to_string()
    };
    let [first, second] = ["a.o", "b.o"].map(|name| object(name, ".gnu.lto_main.1"));
    let plain = object("startup.o", ".text");
    let words = format!("-plugin p.so -plugin-opt=x {plain} {first} -lc {second} lto.txt -o a.elf");
    let map = format!(
        "LOAD {plain}\nLOAD /t/cc.ltrans0.ltrans.o\n LOAD no.o\nLOAD /t/1.ltrans.o\nLOAD libc.a\n"
    );
    let mut record_of = record(&words);
    record_of.options = "'-flto'".to_owned();
    let compiled = record_of.compiled(&map);
    let wanted = format!("{plain} /t/cc.ltrans0.ltrans.o /t/1.ltrans.o -lc lto.txt -o a.elf");
    assert_eq!(compiled.arguments.join(" "), wanted);
    assert_eq!(compiled.options, "");
    // Without any, everything stays.
    let words = format!("-plugin p.so {plain} -o a.elf");
    assert_eq!(record(&words).compiled(&map).arguments.join(" "), words);
}

/// The linker looks in its own folder first, then in those of -L; the script is the one that places functions.
#[test]
fn the_script_that_places_functions_is_found() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let write = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    let places = |place: &str| format!(".text : {{ {} }} /* {place} */", super::super::ALL);
    write("memory.x", "MEMORY {}");
    write("sub/link.x", &places("sub"));
    write("sub/own.x", &places("sub"));
    write("own.x", &places("own"));
    let script = |words: &str| {
        let folder = scratch.path().to_owned();
        LinkRecord { folder, ..record(words) }.script()
    };
    assert_eq!(script("-T memory.x -Tlink.x -L sub"), Some(places("sub")));
    assert_eq!(script("-T own.x -Lsub"), Some(places("own")));
    for none in ["-Tlink.x", "-T memory.x -L sub", "-L sub", "-T link.y --library-path=sub"] {
        assert_eq!(script(none), None, "{none}");
    }
}

/// Records are found by the file that was linked: Cargo leaves those of several builds.
#[test]
fn the_record_is_that_of_the_same_file() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let write = |name: &str, elf: &[u8]| {
        let record = scratch.path().join(format!("{name}.link"));
        std::fs::create_dir_all(&record).expect("made");
        std::fs::write(scratch.path().join(name), elf).expect("written");
        for (file, text) in [
            ("arguments", format!("-o\n{name}\n")),
            ("folder", "/x\n".to_owned()),
            ("linker", "ld\n".to_owned()),
            ("compiler", "\n".to_owned()),
            ("options", "'-O2'\n".to_owned()),
        ] {
            std::fs::write(record.join(file), text).expect("written");
        }
    };
    write("thread.elf", b"make");
    write("thread-1a", b"cargo");
    write("thread-2b", b"cargo's earlier one");
    write("threads-3c", b"another");
    write("thread.hex", b"another");
    let found = |elf: &[u8]| record_of(scratch.path(), "thread", elf);
    for (elf, linked) in [(&b"make"[..], "thread.elf"), (b"cargo", "thread-1a")] {
        let record = found(elf).expect("recorded");
        assert_eq!(record.arguments, ["-o", linked]);
        let lines = [record.folder.display().to_string(), record.compiler, record.options];
        assert_eq!(lines, ["/x", "", "'-O2'"]);
    }
    assert!(found(b"another").is_none() && found(b"nothing").is_none());
}

/// A shell stands for the linker: it writes a file and a map, which tells what link-time optimisation is told.
#[cfg(unix)]
#[test]
fn linking_again_yields_a_file_and_a_map_or_the_linkers_words() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folder = scratch.path();
    let linker = "while [ $# -gt 0 ]; do case $1 in\n-o) shift; out=$1;;\n-Map=*) map=${1#-Map=};;\n\
                  no.o) echo 'no room' >&2; exit 1;;\nesac; shift; done\n\
                  printf elf > $out; printf '%s' \"$COLLECT_GCC_OPTIONS\" > $map\n";
    std::fs::write(folder.join("linker"), linker).expect("written");
    let manifest = "id = 'k'\nname = 'K'\nversion = '1'\nlicense = 'MIT'\nsource = 's'\n\
                    language = 'C'\nbuild = 'make'\nimages = []\ncores = []\n";
    let manifest = crate::Manifest::from_toml(manifest).expect("good");
    let kernel = Kernel { folder: folder.to_owned(), manifest, own: false };
    let soc = include_str!("../../../../../socs/stm32c031.toml");
    let target = Target::from(&rtmark_sim::Soc::from_toml(soc).expect("good"));
    let link = |object: &str, options: &str| {
        let linker = "/bin/sh".into();
        let options = options.to_owned();
        let record = record(&format!("linker {object} -o first.elf"));
        let record = LinkRecord { folder: folder.to_owned(), linker, options, ..record };
        record.link(&kernel, &target, None, &folder.join("again.elf"))
    };
    for (options, told) in
        [("", ""), ("'-O2'", "'-O2'"), ("'-flto' '-O2'", "'-save-temps' '-flto' '-O2'")]
    {
        let (elf, map) = link("a.o", options).expect("linked");
        assert_eq!((elf.as_slice(), map.as_str()), (b"elf".as_slice(), told));
    }
    let files = ["first.elf", "again.map"].map(|name| folder.join(name).exists());
    assert_eq!(files, [false, false], "nothing but the new file is left");
    let Err(FirmwareError::Build { output, .. }) = link("no.o", "") else { panic!("it fails") };
    assert_eq!(output, "no room");
}
