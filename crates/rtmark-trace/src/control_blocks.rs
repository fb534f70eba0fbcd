//! Tracks threads of kernels that keep a control block for each and a pointer to the running one.
//!
//! Symbols show where the pointer is, and debug information shows what a control block contains. A
//! kernel for which either is missing is not read at all, so that nothing is guessed.

use rtmark_sim::{Image, Machine};

use crate::tasks::State;
use crate::thread_lists::ThreadLists;
use rtmark_observe::{ThreadNames, offset_of};

/// The maximum number of threads tracked.
const MAX_THREADS: usize = 256;
/// The longest name shown; FreeRTOS and Zephyr truncate theirs to 16 or 32 bytes by default.
const LONGEST_NAME: usize = 32;
/// The value of true in FreeRTOS' variables.
const PD_TRUE: u32 = 1;
/// The Zephyr thread state of threads that wait for nothing but the core (`kernel_structs.h`).
const ZEPHYR_QUEUED: u32 = 0x80;
/// The ChibiOS thread state of threads that are ready (`chschd.h`); that of the running one is 1.
const CHIBIOS_READY: u32 = 0;
/// The RTX state of threads that are ready (`osThreadReady`); that of the running one is 2.
const RTX_READY: u32 = 1;
/// The offset of the pointer to the running thread in RTX's `osRtxInfo`, which its context switch in
/// assembly language relies on as well (`I_T_RUN_OFS`).
const RTX_RUNNING: u32 = 20;

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
    /// The byte at an offset has this value.
    Is { offset: u32, value: u32 },
    /// Unknown.
    Unknown,
}

/// A thread that has run, or is in one of the kernel's lists.
#[derive(Debug)]
struct Thread {
    block: u32,
    /// The text in its block, if there is one.
    text: Option<String>,
    /// The name by which it is shown; no two threads have the same.
    name: String,
    state: State,
}

/// A reader of a kernel's control blocks.
#[derive(Debug)]
pub struct ControlBlocks<'a> {
    image: &'a Image,
    /// The address of the pointer to the running thread's block.
    current: u32,
    /// The variable that must have this value before threads run.
    begun: Option<(u32, u32)>,
    name: Option<Name>,
    ready: Ready,
    /// Where to find threads that have not run yet.
    lists: Option<ThreadLists>,
    /// The threads seen so far.
    known: Vec<Thread>,
}

impl<'a> ControlBlocks<'a> {
    /// Creates a reader for the kernel in an image, if it is a known one.
    pub fn new(elf: &[u8], image: &'a Image) -> Option<Self> {
        Self::free_rtos(elf, image)
            .or_else(|| Self::thread_x(elf, image))
            .or_else(|| Self::zephyr(elf, image))
            .or_else(|| Self::chibi_os(elf, image))
            .or_else(|| Self::rtx(elf, image))
            .or_else(|| Self::riot(elf, image))
            .or_else(|| Self::nuttx(elf, image))
    }

    /// Creates a reader for the threads that a pointer at `current` points to.
    fn at(image: &'a Image, current: u32, name: Option<Name>, ready: Ready) -> Self {
        Self { image, current, begun: None, name, ready, lists: None, known: Vec::new() }
    }

    /// FreeRTOS 10 and 11 (`tasks.c`).
    fn free_rtos(elf: &[u8], image: &'a Image) -> Option<Self> {
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
        let lists = lists.and_then(|(from, to)| ThreadLists::free_rtos(elf, from..to));
        Some(Self { begun, lists, ..Self::at(image, current, Some(Name::Within(name)), ready) })
    }

    /// ThreadX 6 (`tx_api.h`): a thread's state is 0 when it is ready to run.
    fn thread_x(elf: &[u8], image: &'a Image) -> Option<Self> {
        const BLOCK: &str = "TX_THREAD_STRUCT";
        let current = image.symbols().address_of("_tx_thread_current_ptr")?;
        let name = offset_of(elf, BLOCK, "tx_thread_name")?;
        let state = offset_of(elf, BLOCK, "tx_thread_state");
        let ready = state.map_or(Ready::Unknown, |offset| Ready::Has { offset, bytes: 4, bits: 0 });
        let first = image.symbols().address_of("_tx_thread_created_ptr");
        let lists = ThreadLists::chain(first, offset_of(elf, BLOCK, "tx_thread_created_next"));
        Some(Self { lists, ..Self::at(image, current, Some(Name::Pointer(name)), ready) })
    }

    /// Zephyr 2 to 4 (`kernel_structs.h`, `thread.h`). Without `CONFIG_THREAD_NAME`, a thread is named
    /// after the variable that contains its block.
    fn zephyr(elf: &[u8], image: &'a Image) -> Option<Self> {
        let kernel = image.symbols().address_of("_kernel")?;
        let processors = offset_of(elf, "z_kernel", "cpus")?;
        let current =
            kernel.wrapping_add(processors).wrapping_add(offset_of(elf, "_cpu", "current")?);
        let base = offset_of(elf, "k_thread", "base")?;
        let state = offset_of(elf, "_thread_base", "thread_state");
        let ready = state.map_or(Ready::Unknown, |state| Ready::Has {
            offset: base.wrapping_add(state),
            bytes: 1,
            bits: ZEPHYR_QUEUED,
        });
        let name = offset_of(elf, "k_thread", "name").map(Name::Within);
        // With `CONFIG_THREAD_MONITOR`.
        let first = offset_of(elf, "z_kernel", "threads").map(|first| kernel.wrapping_add(first));
        let lists = ThreadLists::chain(first, offset_of(elf, "k_thread", "next_thread"));
        Some(Self { lists, ..Self::at(image, current, name, ready) })
    }

    /// ChibiOS/RT 6 and 7 (`chobjects.h`). Threads have names with `CH_CFG_USE_REGISTRY`.
    fn chibi_os(elf: &[u8], image: &'a Image) -> Option<Self> {
        let symbols = image.symbols();
        let (instance, structure) = match symbols.address_of("ch0") {
            Some(instance) => (instance, "ch_os_instance"),
            None => (symbols.address_of("ch")?, "ch_system"),
        };
        let list = offset_of(elf, structure, "rlist")?;
        let current =
            instance.wrapping_add(list).wrapping_add(offset_of(elf, "ch_ready_list", "current")?);
        let state = offset_of(elf, "ch_thread", "state");
        let ready =
            state.map_or(Ready::Unknown, |offset| Ready::Is { offset, value: CHIBIOS_READY });
        let name = offset_of(elf, "ch_thread", "name").map(Name::Pointer);
        Some(Self::at(image, current, name, ready))
    }

    /// RTX 5, the kernel of CMSIS-RTOS2 (`rtx_os.h`).
    fn rtx(elf: &[u8], image: &'a Image) -> Option<Self> {
        const BLOCK: &str = "osRtxThread_s";
        let current = image.symbols().address_of("osRtxInfo")?.wrapping_add(RTX_RUNNING);
        let name = Name::Pointer(offset_of(elf, BLOCK, "name")?);
        let state = offset_of(elf, BLOCK, "state");
        let ready = state.map_or(Ready::Unknown, |offset| Ready::Is { offset, value: RTX_READY });
        Some(Self::at(image, current, Some(name), ready))
    }

    /// RIOT since 2013 (`thread.h`). Threads have names with `DEVELHELP` or `CONFIG_THREAD_NAMES`.
    fn riot(elf: &[u8], image: &'a Image) -> Option<Self> {
        let current = image.symbols().address_of("sched_active_thread")?;
        offset_of(elf, "_thread", "status")?;
        let name = offset_of(elf, "_thread", "name").map(Name::Pointer);
        // Which states are those of ready threads depends on the version.
        Some(Self::at(image, current, name, Ready::Unknown))
    }

    /// NuttX on one core (`sched.h`): before there was an array of running tasks, the head of the
    /// list of ready ones.
    fn nuttx(elf: &[u8], image: &'a Image) -> Option<Self> {
        let symbols = image.symbols();
        let current =
            symbols.address_of("g_running_tasks").or_else(|| symbols.address_of("g_readytorun"))?;
        offset_of(elf, "tcb_s", "task_state")?;
        let name = offset_of(elf, "tcb_s", "name").map(Name::Within);
        Some(Self::at(image, current, name, Ready::Unknown))
    }

    /// Returns the states of all known threads, at a moment when the kernel is not changing them.
    /// A thread that is gone, because another one has its block now, waits; it is returned once.
    pub fn states(&mut self, machine: &Machine) -> Vec<(String, State)> {
        if self.has_begun(machine)
            && let Some(lists) = &self.lists
        {
            for block in lists.blocks(machine) {
                self.meet(machine, block);
            }
        }
        self.known_states(machine)
    }

    /// Tells whether the kernel has begun. Before start-up code has initialised it, RAM may hold anything.
    fn has_begun(&self, machine: &Machine) -> bool {
        self.begun.is_none_or(|(address, value)| word(machine, address) == value)
    }

    /// Returns the states of all threads that are known, with the running one.
    fn known_states(&mut self, machine: &Machine) -> Vec<(String, State)> {
        if !self.has_begun(machine) {
            return Vec::new();
        }
        let current = word(machine, self.current);
        self.meet(machine, current);
        let mut states = Vec::new();
        for at in 0..self.known.len() {
            let Thread { block, state: before, .. } = self.known[at];
            let state = match self.is_ready(machine, block) {
                _ if block == current => State::Running,
                Some(true) => State::Ready,
                _ => State::Waiting,
            };
            self.known[at].state = state;
            // A deleted thread's block may be another one's by now.
            if state != State::Waiting && state != before {
                states.extend(self.rename(machine, at).map(|gone| (gone, State::Waiting)));
            }
        }
        states.extend(self.known.iter().map(|thread| (thread.name.clone(), thread.state)));
        states
    }

    /// Adds the thread of a control block, if it is new.
    fn meet(&mut self, machine: &Machine, block: u32) {
        let is_new = !self.known.iter().any(|thread| thread.block == block);
        if is_new && self.known.len() < MAX_THREADS && self.is_block(machine, block) {
            let text = self.text_of(machine, block);
            let name = self.name_of(text.as_deref(), block);
            self.known.push(Thread { block, text, name, state: State::Waiting });
        }
    }

    /// Reads a thread's name again; returns the former one if it has changed. A thread that does not run
    /// yet may not have been given its name.
    fn rename(&mut self, machine: &Machine, at: usize) -> Option<String> {
        let Thread { block, state, .. } = self.known[at];
        let text = self.text_of(machine, block);
        if text == self.known[at].text || (text.is_none() && state != State::Running) {
            return None;
        }
        let former = std::mem::take(&mut self.known[at].name);
        let name = self.name_of(text.as_deref(), block);
        let thread = &mut self.known[at];
        (thread.text, thread.name) = (text, name);
        (former != thread.name).then_some(former)
    }

    /// Tells whether an address can be that of a control block: it is aligned, and in memory. Before
    /// start-up code has cleared it, the pointer to the running thread may be anything.
    fn is_block(&self, machine: &Machine, block: u32) -> bool {
        let name = match self.name {
            Some(Name::Within(offset) | Name::Pointer(offset)) => offset,
            None => 0,
        };
        let is_memory = |address: u32| machine.peek(address, 4).len() == 4;
        block != 0
            && block.is_multiple_of(4)
            && is_memory(block)
            && block.checked_add(name).is_some_and(is_memory)
    }

    /// Returns the text that names a thread in its block.
    fn text_of(&self, machine: &Machine, block: u32) -> Option<String> {
        match self.name? {
            Name::Within(offset) => text(machine, block.wrapping_add(offset)),
            Name::Pointer(offset) => text(machine, word(machine, block.wrapping_add(offset))),
        }
    }

    /// Returns a thread's name; equal names of two threads are distinguished by their addresses.
    fn name_of(&self, text: Option<&str>, block: u32) -> String {
        let variable = || {
            let at = self.image.symbols().name_at(block).filter(|at| at.offset == 0)?;
            Some(at.symbol)
        };
        match text.map(str::to_owned).or_else(variable) {
            Some(name) if !self.known.iter().any(|thread| thread.name == name) => name,
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
                Some(value(machine, block.wrapping_add(offset), bytes) & !bits == 0)
            }
            Ready::Is { offset, value: of_ready } => {
                Some(value(machine, block.wrapping_add(offset), 1) == of_ready)
            }
            Ready::Unknown => None,
        }
    }
}

impl ThreadNames for ControlBlocks<'_> {
    fn running(&mut self, machine: &Machine) -> Option<String> {
        let states = self.known_states(machine);
        let running = states.into_iter().find(|(_, state)| *state == State::Running);
        running.map(|(name, _)| name)
    }
}

/// Reads an integer of up to four bytes.
fn value(machine: &Machine, address: u32, bytes: usize) -> u32 {
    let bytes = machine.peek(address, bytes);
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

pub fn word(machine: &Machine, address: u32) -> u32 {
    value(machine, address, 4)
}

/// Reads a C string; returns `None` if there is none, or it is not text.
fn text(machine: &Machine, address: u32) -> Option<String> {
    let bytes = machine.peek(address, LONGEST_NAME);
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_plain = text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    (is_plain && !text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use rtmark_sim::Soc;

    use super::*;

    const SOC: &str = include_str!("../../../socs/generic-cortex-m7.toml");

    /// Where the kernel's variables are.
    const CURRENT: u32 = 0x2000_0000;
    const READY_LIST: u32 = 0x2000_0100;
    /// Two control blocks: the pointer to the list that has the thread, and its name.
    const FIRST: u32 = 0x2000_1000;
    const SECOND: u32 = 0x2000_2000;

    /// The memory of a kernel with control blocks.
    struct Kernel(Machine);

    impl Kernel {
        fn new() -> Self {
            let mut machine = Machine::new(&Soc::from_toml(SOC).expect("a soc"));
            machine.poke(CURRENT, &[0; 0x4000]).expect("in RAM");
            Self(machine)
        }

        fn create(&mut self, block: u32, name: &str) {
            let mut bytes = [READY_LIST.to_le_bytes().as_slice(), name.as_bytes()].concat();
            bytes.resize(4 + LONGEST_NAME, 0);
            self.0.poke(block, &bytes).expect("in RAM");
        }

        fn wait(&mut self, block: u32) {
            self.0.poke_word(block, 0).expect("in RAM");
        }

        fn run(&mut self, block: u32) {
            self.0.poke_word(CURRENT, block).expect("in RAM");
        }
    }

    fn blocks(image: &Image) -> ControlBlocks<'_> {
        let ready = Ready::InList { from: READY_LIST, to: READY_LIST + 4, list: 0 };
        ControlBlocks::at(image, CURRENT, Some(Name::Within(4)), ready)
    }

    /// The states as text: `name` runs, `(name)` is ready, and `-name` waits.
    fn shown(blocks: &mut ControlBlocks<'_>, kernel: &Kernel) -> String {
        let show = |(name, state): (String, State)| match state {
            State::Running => name,
            State::Ready => format!("({name})"),
            State::Waiting => format!("-{name}"),
        };
        let states = blocks.states(&kernel.0).into_iter().map(show);
        states.collect::<Vec<_>>().join(" ")
    }

    /// A heap gives a new thread the memory of a deleted one.
    #[test]
    fn a_thread_in_the_block_of_a_deleted_one_has_its_own_name() {
        let image = Image::from_raw(&[0; 8], 0).expect("an image");
        let (mut blocks, mut kernel) = (blocks(&image), Kernel::new());
        kernel.create(FIRST, "main");
        kernel.create(SECOND, "reader");
        kernel.run(SECOND);
        assert_eq!(shown(&mut blocks, &kernel), "reader");
        kernel.run(FIRST);
        assert_eq!(shown(&mut blocks, &kernel), "(reader) main");
        kernel.wait(SECOND);
        assert_eq!(shown(&mut blocks, &kernel), "-reader main");
        // The new one is ready at first.
        kernel.create(SECOND, "writer");
        assert_eq!(shown(&mut blocks, &kernel), "-reader (writer) main");
        kernel.run(SECOND);
        assert_eq!(shown(&mut blocks, &kernel), "writer (main)", "the dead one was reported once");
        // Or runs at once.
        kernel.wait(SECOND);
        kernel.run(FIRST);
        assert_eq!(shown(&mut blocks, &kernel), "-writer main");
        kernel.create(SECOND, "reader");
        kernel.run(SECOND);
        assert_eq!(shown(&mut blocks, &kernel), "-writer reader (main)");
        // The same thread, or one of the same name, goes on in its row.
        kernel.wait(SECOND);
        kernel.run(FIRST);
        assert_eq!(shown(&mut blocks, &kernel), "-reader main");
        kernel.create(SECOND, "reader");
        kernel.run(SECOND);
        assert_eq!(shown(&mut blocks, &kernel), "reader (main)");
        assert_eq!(blocks.running(&kernel.0).as_deref(), Some("reader"));
    }

    /// FreeRTOS's lists (`list.h`): a number of items, an index, and the item that ends the list; an item has a value,
    /// the next and the previous item, its owner and its list.
    #[test]
    fn threads_are_ready_before_they_run() {
        let image = Image::from_raw(&[0; 8], 0).expect("an image");
        let (mut blocks, mut kernel) = (blocks(&image), Kernel::new());
        let array = READY_LIST..READY_LIST + 2 * 20;
        blocks.lists = Some(ThreadLists::Rings { array, list: (20, 8), item: (4, 12) });
        // An item at 0x40 in each block; the lists end where they begin.
        let (low, high) = (READY_LIST, READY_LIST + 20);
        for list in [low, high] {
            kernel.0.poke_word(list + 8 + 4, list + 8).expect("in RAM");
        }
        let link = |kernel: &mut Kernel, list: u32, owners: &[u32]| {
            let mut at = list + 8;
            for owner in owners {
                kernel.0.poke_word(at + 4, owner + 0x40).expect("in RAM");
                kernel.0.poke_word(owner + 0x40 + 12, *owner).expect("in RAM");
                at = owner + 0x40;
            }
            kernel.0.poke_word(at + 4, list + 8).expect("in RAM");
        };
        kernel.create(FIRST, "main");
        kernel.create(SECOND, "idle");
        link(&mut kernel, low, &[SECOND]);
        link(&mut kernel, high, &[FIRST]);
        kernel.run(FIRST);
        assert_eq!(shown(&mut blocks, &kernel), "(idle) main");
        // A list that leads nowhere, or into itself, ends the search and nothing else.
        for next in [0, 0x6000_0000, SECOND + 0x40] {
            kernel.0.poke_word(SECOND + 0x40 + 4, next).expect("in RAM");
            assert_eq!(shown(&mut blocks, &kernel), "(idle) main");
        }
        // A chain of all threads (ThreadX, Zephyr), which ends where it began, or with zero.
        for end in [FIRST, 0] {
            let mut blocks = self::blocks(&image);
            blocks.lists = ThreadLists::chain(Some(CURRENT + 4), Some(0x80));
            kernel.0.poke_word(CURRENT + 4, FIRST).expect("in RAM");
            kernel.0.poke_word(FIRST + 0x80, SECOND).expect("in RAM");
            kernel.0.poke_word(SECOND + 0x80, end).expect("in RAM");
            assert_eq!(shown(&mut blocks, &kernel), "main (idle)");
        }
    }

    #[test]
    fn equal_names_stay_apart_when_a_block_changes_its_thread() {
        let image = Image::from_raw(&[0; 8], 0).expect("an image");
        let (mut blocks, mut kernel) = (blocks(&image), Kernel::new());
        for block in [FIRST, SECOND] {
            kernel.create(block, "worker");
            kernel.run(block);
            blocks.states(&kernel.0);
        }
        assert_eq!(shown(&mut blocks, &kernel), "(worker) worker 0x20002000");
        kernel.wait(FIRST);
        assert_eq!(shown(&mut blocks, &kernel), "-worker worker 0x20002000");
        kernel.create(FIRST, "other");
        assert_eq!(shown(&mut blocks, &kernel), "-worker (other) worker 0x20002000");
        kernel.run(FIRST);
        assert_eq!(shown(&mut blocks, &kernel), "other (worker 0x20002000)");
        kernel.wait(FIRST);
        kernel.run(SECOND);
        assert_eq!(shown(&mut blocks, &kernel), "-other worker 0x20002000");
        kernel.create(FIRST, "worker 0x20002000");
        assert_eq!(
            shown(&mut blocks, &kernel),
            "-other (worker 0x20002000 0x20001000) worker 0x20002000"
        );
    }

    #[test]
    fn a_thread_that_has_no_name_yet_keeps_its_row_until_it_runs() {
        let image = Image::from_raw(&[0; 8], 0).expect("an image");
        let (mut blocks, mut kernel) = (blocks(&image), Kernel::new());
        kernel.create(FIRST, "main");
        kernel.create(SECOND, "reader");
        kernel.run(SECOND);
        blocks.states(&kernel.0);
        kernel.run(FIRST);
        kernel.wait(SECOND);
        assert_eq!(shown(&mut blocks, &kernel), "-reader main");
        kernel.create(SECOND, "");
        assert_eq!(shown(&mut blocks, &kernel), "(reader) main");
        kernel.run(SECOND);
        assert_eq!(shown(&mut blocks, &kernel), "-reader task 0x20002000 (main)");
    }
}
