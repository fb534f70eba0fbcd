//! The threads of seven kernels are found in what `programs/blocks.c` says that these keep of them.

use rtmark_sim::{CoreKind, Image, Machine};
use rtmark_trace::ControlBlocks;

use crate::{build, support};

/// A kernel in memory.
struct Kernel {
    elf: Vec<u8>,
    image: Image,
    machine: Machine,
}

impl Kernel {
    fn new(arguments: &[&str]) -> Self {
        let elf = build::compiled("blocks.c", arguments);
        let image = Image::from_elf(&elf).expect("an image");
        let mut machine = Machine::new(&support::soc(CoreKind::CortexM3));
        for segment in image.segments() {
            machine.poke(segment.address, &segment.bytes).expect("in memory");
        }
        Self { elf, image, machine }
    }

    /// Writes to a variable, with an offset.
    fn poke(&mut self, place: &str, offset: u32, bytes: &[u8]) {
        let address = self.image.symbols().address_of(place).expect("a variable") + offset;
        self.machine.poke(address, bytes).expect("in memory");
    }

    /// With debug information.
    fn of(macros: &[&str]) -> Self {
        let macros: Vec<_> = macros.iter().map(|name| format!("-D{name}")).collect();
        let arguments: Vec<_> = macros.iter().map(String::as_str).chain(["-g"]).collect();
        Self::new(&arguments)
    }
}

/// The states as text: `name` runs, `(name)` is ready, and `-name` waits.
fn shown(blocks: &mut ControlBlocks<'_>, machine: &Machine) -> String {
    let states = blocks.states(machine).into_iter().map(|(name, state)| {
        match format!("{state:?}").as_str() {
            "Running" => name,
            "Ready" => format!("({name})"),
            _ => format!("-{name}"),
        }
    });
    states.collect::<Vec<_>>().join(" ")
}

/// What is shown of a kernel in which `main` runs: at first, and after the other two have run, `idle` last.
fn threads(macros: &[&str]) -> [String; 2] {
    let running = |thread: &str| {
        let running = format!("RUNNING={thread}");
        Kernel::of(&[macros, &[&running]].concat())
    };
    let [one, two, three] = ["one", "two", "three"].map(running);
    let begun = || ControlBlocks::new(&one.elf, &one.image).expect("a known kernel");
    let first = shown(&mut begun(), &one.machine);
    let mut blocks = begun();
    for kernel in [three, two] {
        blocks.states(&kernel.machine);
    }
    [first, shown(&mut blocks, &one.machine)]
}

#[test]
fn ready_threads_of_freertos_are_in_its_lists() {
    let expected = ["(idle) main", "(idle) main -reader"];
    assert_eq!(threads(&["FREERTOS"]), expected);
    // configUSE_LIST_DATA_INTEGRITY_CHECK_BYTES
    assert_eq!(threads(&["FREERTOS", "CHECKED"]), expected);
    // Lists that cannot be read.
    assert_eq!(threads(&["FREERTOS", "ENDLESS"]), ["main", "-reader -idle main"]);
}

#[test]
fn there_are_no_threads_before_freertos_begins() {
    assert_eq!(threads(&["FREERTOS", "BEGUN=0"]), ["", ""]);
}

#[test]
fn all_threads_of_threadx_and_zephyr_are_in_a_chain() {
    for kernel in ["THREADX", "ZEPHYR"] {
        assert_eq!(threads(&[kernel]), ["main (idle) -reader"; 2], "{kernel}");
    }
    // Without CONFIG_THREAD_NAME, the variables have names.
    assert_eq!(threads(&["ZEPHYR", "NAMELESS"]), ["one (two) -three"; 2]);
}

#[test]
fn threads_of_chibios_and_rtx_are_known_once_they_have_run() {
    for kernel in ["CHIBIOS=6", "CHIBIOS=7", "RTX"] {
        assert_eq!(threads(&[kernel]), ["main", "-reader (idle) main"], "{kernel}");
    }
}

#[test]
fn which_threads_of_riot_and_nuttx_are_ready_is_not_known() {
    for kernel in ["RIOT", "NUTTX=7", "NUTTX=12"] {
        assert_eq!(threads(&[kernel]), ["main", "-reader -idle main"], "{kernel}");
    }
}

#[test]
fn nothing_is_guessed_without_debug_information() {
    for kernel in ["FREERTOS", "THREADX", "ZEPHYR", "CHIBIOS=7", "RTX", "RIOT", "NUTTX=12"] {
        let Kernel { elf, image, .. } = Kernel::new(&[&format!("-D{kernel}")]);
        assert!(ControlBlocks::new(&elf, &image).is_none(), "{kernel}");
    }
}

#[test]
fn what_is_no_address_of_a_block_is_no_thread() {
    // The name is eight bytes after the beginning; flash is at 0, and RAM ends at 0x2000_4000.
    let blocks = |address: u32| {
        let mut kernel = Kernel::of(&["RIOT"]);
        kernel.poke("sched_active_thread", 0, &address.to_le_bytes());
        let mut blocks = ControlBlocks::new(&kernel.elf, &kernel.image).expect("a known kernel");
        shown(&mut blocks, &kernel.machine)
    };
    for address in [0, 0x2000_0001, 0x2000_0002, 0x2000_3FFC, 0x2000_4000, 0x6000_0000, 0xFFFF_FFFC]
    {
        assert_eq!(blocks(address), "", "{address:#010x}");
    }
    assert_eq!(blocks(0x2000_3FF4), "task 0x20003ff4");
}

#[test]
fn only_plain_text_is_a_name() {
    let name = |text: &[u8]| {
        let mut kernel = Kernel::of(&["NUTTX=12"]);
        // After two pointers and the state.
        kernel.poke("one", 9, text);
        let blocks = ControlBlocks::new(&kernel.elf, &kernel.image);
        shown(&mut blocks.expect("a known kernel"), &kernel.machine)
    };
    assert_eq!(name(b"two words\0"), "two words");
    // The block's variable, otherwise.
    for text in [b"\0ain", b"a\x01b\0", b"\xc3\xa4b\0"] {
        assert_eq!(name(text), "one", "{text:?}");
    }
}

#[test]
fn a_block_within_a_variable_has_no_name_of_its_own() {
    let mut kernel = Kernel::of(&["ZEPHYR", "NAMELESS"]);
    let within = kernel.image.symbols().address_of("two").expect("a variable") + 4;
    kernel.poke("_kernel", 12, &within.to_le_bytes());
    kernel.poke("_kernel", 16, &[0; 4]);
    let blocks = ControlBlocks::new(&kernel.elf, &kernel.image);
    let shown = shown(&mut blocks.expect("a known kernel"), &kernel.machine);
    assert_eq!(shown, format!("task {within:#010x}"));
}

#[test]
fn of_very_many_threads_some_are_tracked() {
    let mut kernel = Kernel::of(&["THREADX"]);
    let first = kernel.image.symbols().address_of("three").expect("a variable");
    // 300 more, each of which leads to the next one, by the pointer at 24.
    let address = |number: u32| 0x2000_0800 + number * 0x20;
    kernel.poke("three", 24, &address(0).to_le_bytes());
    for number in 0..300 {
        kernel.poke("three", address(number) - first + 24, &address(number + 1).to_le_bytes());
    }
    let mut blocks = ControlBlocks::new(&kernel.elf, &kernel.image).expect("a known kernel");
    assert_eq!(blocks.states(&kernel.machine).len(), 256);
}
