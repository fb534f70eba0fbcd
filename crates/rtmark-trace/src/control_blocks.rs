//! Tracks threads of kernels that keep a control block for each and a pointer to the running one.
//!
//! Symbols show where the pointer is, and debug information shows what a control block contains. A
//! kernel for which either is missing is not read at all, so that nothing is guessed.

use rtmark_sim::{Image, Machine};

use crate::tasks::State;
use rtmark_observe::offset_of;

/// The maximum number of threads tracked.
const MAX_THREADS: usize = 256;
/// The longest name shown; FreeRTOS and Zephyr truncate theirs to 16 or 32 bytes by default.
const LONGEST_NAME: usize = 32;
/// The value of true in FreeRTOS' variables.
const PD_TRUE: u32 = 1;
/// The Zephyr thread state of threads that wait for nothing but the core (`kernel_structs.h`).
const ZEPHYR_QUEUED: u32 = 0x80;

/// The location of a thread's name.
#[derive(Clone, Copy, Debug)]
enum Name {
    /// In the control block at this offset.
    Within(u32),
    /// At the target of the pointer at this offset.
    Pointer(u32),
}

/// How to tell whether a thread is ready to run.
#[derive(Clone, Copy, Debug)]
enum Ready {
    /// It is in a list between two addresses; the pointer to its list is at an offset.
    InList { from: u32, to: u32, list: u32 },
    /// The bytes at an offset contain nothing but these bits.
    Has { offset: u32, bytes: usize, bits: u32 },
    /// Unknown.
    Unknown,
}

/// A reader of a kernel's control blocks.
#[derive(Debug)]
pub struct ControlBlocks {
    /// The address of the pointer to the running thread's block.
    current: u32,
    /// The variable that must have this value before threads run.
    begun: Option<(u32, u32)>,
    name: Option<Name>,
    ready: Ready,
    /// The blocks seen so far, with their threads' names.
    known: Vec<(u32, String)>,
}

impl ControlBlocks {
    /// Creates a reader for the kernel in an image, if it is a known one.
    pub fn new(elf: &[u8], image: &Image) -> Option<Self> {
        Self::free_rtos(elf, image)
            .or_else(|| Self::thread_x(elf, image))
            .or_else(|| Self::zephyr(elf, image))
    }

    /// FreeRTOS 10 and 11 (`tasks.c`).
    fn free_rtos(elf: &[u8], image: &Image) -> Option<Self> {
        const BLOCK: &str = "tskTaskControlBlock";
        let symbols = image.symbols();
        let current = symbols.address_of("pxCurrentTCB")?;
        let name = offset_of(elf, BLOCK, "pcTaskName")?;
        let item = offset_of(elf, BLOCK, "xStateListItem");
        let container = offset_of(elf, "xLIST_ITEM", "pxContainer");
        let lists = symbols.address_of("pxReadyTasksLists").and_then(|from| {
            let next = symbols.iter().map(|(address, _)| address).find(|&address| address > from);
            Some((from, next?))
        });
        let ready = match (lists, item, container) {
            (Some((from, to)), Some(item), Some(container)) => {
                Ready::InList { from, to, list: item + container }
            }
            _ => Ready::Unknown,
        };
        let begun = symbols.address_of("xSchedulerRunning").map(|running| (running, PD_TRUE));
        Some(Self { current, begun, name: Some(Name::Within(name)), ready, known: Vec::new() })
    }

    /// ThreadX 6 (`tx_api.h`): a thread's state is 0 when it is ready to run.
    fn thread_x(elf: &[u8], image: &Image) -> Option<Self> {
        const BLOCK: &str = "TX_THREAD_STRUCT";
        let current = image.symbols().address_of("_tx_thread_current_ptr")?;
        let name = offset_of(elf, BLOCK, "tx_thread_name")?;
        let state = offset_of(elf, BLOCK, "tx_thread_state");
        let ready = state.map_or(Ready::Unknown, |offset| Ready::Has { offset, bytes: 4, bits: 0 });
        Some(Self {
            current,
            begun: None,
            name: Some(Name::Pointer(name)),
            ready,
            known: Vec::new(),
        })
    }

    /// Zephyr 2 and 3 (`kernel_structs.h`, `thread.h`). Without `CONFIG_THREAD_NAME`, a thread is named
    /// after the variable that contains its block.
    fn zephyr(elf: &[u8], image: &Image) -> Option<Self> {
        let kernel = image.symbols().address_of("_kernel")?;
        let processors = offset_of(elf, "z_kernel", "cpus")?;
        let current = kernel + processors + offset_of(elf, "_cpu", "current")?;
        let base = offset_of(elf, "k_thread", "base")?;
        let state = offset_of(elf, "_thread_base", "thread_state");
        let ready = state.map_or(Ready::Unknown, |state| Ready::Has {
            offset: base + state,
            bytes: 1,
            bits: ZEPHYR_QUEUED,
        });
        let name = offset_of(elf, "k_thread", "name").map(Name::Within);
        Some(Self { current, begun: None, name, ready, known: Vec::new() })
    }

    /// Returns the states of all threads, at a moment when the kernel is not changing them.
    pub fn states(&mut self, machine: &Machine, image: &Image) -> Vec<(String, State)> {
        // Before start-up code has initialised it, RAM may hold anything.
        if self.begun.is_some_and(|(address, value)| word(machine, address) != value) {
            return Vec::new();
        }
        let current = word(machine, self.current);
        let is_new = !self.known.iter().any(|(block, _)| *block == current);
        if current != 0 && self.known.len() < MAX_THREADS && is_new {
            let name = self.name_of(machine, image, current);
            self.known.push((current, name));
        }
        let state = |block: u32| match self.is_ready(machine, block) {
            _ if block == current => State::Running,
            Some(true) => State::Ready,
            _ => State::Waiting,
        };
        self.known.iter().map(|(block, name)| (name.clone(), state(*block))).collect()
    }

    /// Returns a thread's name; equal names of two threads are distinguished by their addresses.
    fn name_of(&self, machine: &Machine, image: &Image, block: u32) -> String {
        let text = match self.name {
            Some(Name::Within(offset)) => text(machine, block.wrapping_add(offset)),
            Some(Name::Pointer(offset)) => text(machine, word(machine, block.wrapping_add(offset))),
            None => None,
        };
        let variable = || {
            let at = image.symbols().name_at(block).filter(|at| at.offset == 0)?;
            Some(at.symbol)
        };
        match text.or_else(variable) {
            Some(name) if !self.known.iter().any(|(_, known)| *known == name) => name,
            Some(name) => format!("{name} {block:#010x}"),
            None => format!("task {block:#010x}"),
        }
    }

    fn is_ready(&self, machine: &Machine, block: u32) -> Option<bool> {
        match self.ready {
            Ready::InList { from, to, list } => {
                Some((from..to).contains(&word(machine, block.wrapping_add(list))))
            }
            Ready::Has { offset, bytes, bits } => {
                let state = machine.peek(block.wrapping_add(offset), bytes);
                let state = state.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
                Some(state & !bits == 0)
            }
            Ready::Unknown => None,
        }
    }
}

fn word(machine: &Machine, address: u32) -> u32 {
    machine.peek(address, 4).try_into().map_or(0, u32::from_le_bytes)
}

/// Reads a C string; returns `None` if there is none, or it is not text.
fn text(machine: &Machine, address: u32) -> Option<String> {
    let bytes = machine.peek(address, LONGEST_NAME);
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_plain = text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    (is_plain && !text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
}
