//! Probes: named points in firmware between which [rtmark] measures.
//!
//! A probe costs nothing. It is a label: no instruction, no register, no byte of flash or
//! RAM. Its address, kind and name go to the ELF section `.rtmark`, which is never loaded;
//! the simulator reads that section and watches the addresses from outside. So probes can
//! stay in a firmware for good.
//!
//! ```
//! # fn filter(samples: &mut [i16]) { samples.reverse() }
//! # let samples = &mut [1, 2, 3];
//! use rtmark_probe::{begin, end};
//!
//! begin!("adc.filter");
//! filter(samples);
//! end!("adc.filter");
//! ```
//!
//! The crate is `no_std`, has no dependencies, and works on stable Rust for every Arm
//! Cortex-M, in every profile, fat link-time optimisation included; with the feature `clock` on
//! Cortex-R, RISC-V and AArch64 without a system as well. On any other
//! architecture the macros only keep the compiler from reordering, so that code with probes
//! still compiles for the host and its unit tests run there.
//!
//! # The macros
//!
//! | macro | where | meaning |
//! |---|---|---|
//! | [`begin!`] | in a function | a span begins here |
//! | [`end!`] | in a function | a span ends here |
//! | [`begin_at_entry!`] | beside functions | a span begins at a function's first instruction |
//! | [`end_at_entry!`] | beside functions | a span ends at a function's first instruction |
//! | [`begin_at_pend!`] | beside functions | a span begins when an exception becomes pending |
//! | [`end_at_return!`] | beside functions | a span ends when an exception has returned |
//! | [`scenarios!`] | in a function | chooses one of several measurements at boot |
//!
//! [`begin!`] and [`end!`] expand to an `unsafe` block that holds nothing but directives for
//! the assembler; a crate that forbids `unsafe_code` must lift that to `deny` and expect it
//! where it uses them. The others need no `unsafe`.
//!
//! # What lies inside a span
//!
//! A probe fires just before the instruction at its address executes. A span therefore
//! holds every instruction from the one after [`begin!`] up to, and without, the one after
//! [`end!`].
//!
//! The compiler moves no call, no memory access and no other volatile operation across a
//! probe. It may still move what only it can see, as it may around any call: arithmetic on
//! local variables, a constant that it prepares, a register that it saves. That shifts an
//! instruction or two from one side to the other. Pass a result through
//! [`core::hint::black_box`] to pin it to one side, which may store it and load it again there.
//!
//! Begin and end need not be in the same function, nor in the same task: put [`begin!`]
//! before the call that wakes a task, and [`end!`] as the first statement of that task after
//! its `.await`. rtmark pairs each begin with the next end of the same name.
//!
//! When a probe directly precedes a loop, put a statement with an effect between the two:
//! otherwise the loop's first instruction may carry the label, and the probe fires in every
//! round. The same holds for one that directly follows a branch, where two ways meet, and for
//! one at the end of a conditional block, which then fires without the condition, too.
//!
//! A probe that the compiler copies, by inlining, unrolling or because the function around
//! it is generic, becomes one record for each copy, and all of them count. A probe in code
//! that is optimised away leaves no record.
//!
//! # Names
//!
//! A name is a string literal of dotted words, such as `"adc.filter"`: lower-case letters,
//! digits, `_`, `-`, `+` and `.`, a letter first, at most 96 bytes. Another one is an error
//! at compile time:
//!
//! ```compile_fail
//! rtmark_probe::begin!("ADC filter");
//! ```
//!
//! # Linking
//!
//! Rust's own linker, `rust-lld`, keeps the section without being asked. GNU ld drops it
//! under `--gc-sections` unless the linker script names it; with cortex-m-rt, this at the
//! end of `memory.x` does:
//!
//! ```text
//! SECTIONS { .rtmark 0 (INFO) : { KEEP(*(.rtmark)) } } INSERT AFTER .text;
//! ```
//!
//! Tools that strip an ELF to what is loaded (`objcopy -O binary`, `cargo size`) leave the
//! section out, as they should.
//!
//! # Several measurements in one firmware
//!
//! A benchmark firmware often holds more than one measurement, of which one runs for each
//! boot. [`scenarios!`] makes such a choice from outside possible, and [`scenario`] ends the
//! run with one line on the console and an exit status. Firmware that measures itself in
//! passing needs neither, and nothing of them is linked into it.
//!
//! # Where nobody watches
//!
//! On a board no simulator looks on. With the feature `clock`, [`begin!`] and [`end!`] are calls
//! that read a counter (DWT's CYCCNT, else SysTick) and note it in RAM, and the firmware prints
//! all of it: through [`scenarios!`] and [`scenario`] by itself, otherwise between `clock::start`
//! and `clock::finish`. What the calls cost is measured by the firmware as it starts, so that it
//! can be taken off. The address of such a record is that after the call. Spans that begin or
//! end at a function's entry or with an exception have no place for a call, and none of these
//! probes is there then, or none that reads a counter.
//!
//! # The records
//!
//! `.rtmark` is a sequence of records, little-endian, each a multiple of four bytes long and
//! aligned to four:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | 0x524D0000 + kind |
//! | 4 | where: what this means depends on the kind |
//! | n | the name, ended by a zero, padded with zeros |
//!
//! | kind | made by | where |
//! |---|---|---|
//! | 1 | [`begin!`], [`begin_at_entry!`] | address of an instruction, bit 0 clear |
//! | 2 | [`end!`], [`end_at_entry!`] | address of an instruction, bit 0 clear |
//! | 3 | [`begin_at_pend!`] | exception number |
//! | 4 | [`end_at_return!`] | exception number |
//! | 5 | [`scenarios!`] | the index that selects the scenario |
//! | 6 | [`setting!`] | the value that the setting was compiled with |
//! | 7 | [`end_at_sleep!`] | zero |
//! | 8 | [`begin_at_reset!`] | zero |
//!
//! `rtmark_probe.h` writes the same records from C and C++; one firmware may use both.
//!
//! [rtmark]: https://crates.io/crates/rtmark

#![no_std]

#[cfg(all(feature = "clock", target_os = "none"))]
pub mod clock;
mod macros;
pub mod scenario;
pub mod semihosting;
#[cfg(any(test, all(feature = "clock", cortex_m, target_os = "none")))]
mod words;

/// What the macros need and nobody else should call.
#[doc(hidden)]
pub mod private {
    /// Refuses at compile time what rtmark would refuse to read.
    ///
    /// # Panics
    /// When it is no name. In a constant, that is an error of compilation.
    pub const fn check_name(name: &str) {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty() && bytes.len() <= 96, "a probe's name has 1 to 96 bytes");
        assert!(bytes[0].is_ascii_lowercase(), "a probe's name begins with a lower-case letter");
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            assert!(
                byte.is_ascii_lowercase()
                    || byte.is_ascii_digit()
                    || matches!(byte, b'_' | b'-' | b'+' | b'.'),
                "a probe's name holds only lower-case letters, digits, `_`, `-`, `+` and `.`"
            );
            let ends_word = at + 1 == bytes.len() || bytes[at + 1] == b'.';
            assert!(byte != b'.' || !ends_word, "a word between the dots of a name is empty");
            at += 1;
        }
    }

    /// Refuses what is no exception of a Cortex-M.
    ///
    /// # Panics
    /// When it is not.
    pub const fn check_exception(number: u16) {
        assert!(1 <= number && number < 16 + 496, "an exception number is 1 to 511");
    }
}
