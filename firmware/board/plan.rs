//! The task set, `plan.set`: the table that `firmware/c/plan.h` describes, as Rust images have it.
//!
//! Periods and offsets count microseconds of the soc's time base, or ticks where the kernel's clock ticks. A
//! module of the images that run task sets and not part of this crate, so that other images stay as they
//! are, byte for byte.

use core::hint::black_box;

use rtmark_board::{Counter, Item};
use rtmark_probe::scenario;

/// How many tasks the table holds. An image may have fewer: its first ones.
pub const TASKS: usize = 8;
/// How many interrupts.
pub const INTERRUPTS: usize = 2;
/// How many queues.
pub const QUEUES: usize = 4;
/// The most messages of a queue. One may hold fewer, as the table says.
pub const ITEMS: usize = 32;
const STRETCHES: usize = 5;

/// A word of the table, which is written after it was compiled.
#[derive(Debug)]
#[repr(transparent)]
pub struct Word(u32);

impl Word {
    /// What is there now.
    pub fn get(&self) -> u32 {
        // SAFETY: a reference is valid, aligned and initialised. Volatile, so that the compiler does
        // not believe the zero.
        unsafe { core::ptr::from_ref(&self.0).read_volatile() }
    }
}

/// A stretch of a job.
#[derive(Debug)]
#[repr(C)]
pub struct Stretch {
    /// Rounds of the loop.
    pub rounds: Word,
    /// The lock that is held, from 1; 0 for none. Its second byte is a lock that is taken in the middle
    /// of that section, for the rounds of the next stretch.
    pub lock: Word,
}

/// A task.
#[derive(Debug)]
#[repr(C)]
pub struct Task {
    priority: Word,
    /// Time from one release to the next.
    pub period: Word,
    offset: Word,
    interrupt: Word,
    receives: Word,
    sends: Word,
    stretches: Word,
    stretch: [Stretch; STRETCHES],
}

/// The table.
#[derive(Debug)]
#[repr(C)]
pub struct Table {
    /// Cycles of a tick, where the kernel's clock ticks.
    pub tick_cycles: Word,
    interrupt_rounds: [Word; INTERRUPTS],
    queue_items: [Word; QUEUES],
    task: [Task; TASKS],
}

impl Table {
    /// As it is compiled: without tasks.
    pub const EMPTY: Self = {
        const ZERO: Word = Word(0);
        const STRETCH: Stretch = Stretch { rounds: ZERO, lock: ZERO };
        const TASK: Task = Task {
            priority: ZERO,
            period: ZERO,
            offset: ZERO,
            interrupt: ZERO,
            receives: ZERO,
            sends: ZERO,
            stretches: ZERO,
            stretch: [STRETCH; STRETCHES],
        };
        Self {
            tick_cycles: ZERO,
            interrupt_rounds: [ZERO; INTERRUPTS],
            queue_items: [ZERO; QUEUES],
            task: [TASK; TASKS],
        }
    };

    /// A task's row, where there is such a task.
    pub fn task(&self, number: usize) -> Option<&Task> {
        self.task.get(number).filter(|task| task.priority.get() != 0)
    }

    /// What an interrupt's handler executes.
    #[inline(always)]
    pub fn handle(&self, interrupt: usize) {
        burn(self.interrupt_rounds[interrupt].get());
    }
}

impl Task {
    /// The time of its first release after the moment from which offsets count; `None` where an interrupt
    /// releases it.
    pub fn offset(&self) -> Option<u32> {
        (self.interrupt.get() == 0).then(|| self.offset.get())
    }

    /// The interrupt that releases it, where it is not the clock. Ends the run if there is none.
    pub fn interrupt(&self) -> usize {
        let interrupt = (self.interrupt.get() as usize).wrapping_sub(1);
        if interrupt >= INTERRUPTS {
            scenario::fail("a task waits for an interrupt that there is none of");
        }
        interrupt
    }

    /// Whether its jobs receive from a queue.
    #[inline(always)]
    pub fn receives(&self, queue: usize) -> bool {
        self.receives.get() >> queue & 1 == 1
    }

    /// Whether its jobs send to a queue.
    #[inline(always)]
    pub fn sends(&self, queue: usize) -> bool {
        self.sends.get() >> queue & 1 == 1
    }

    /// The stretches of its jobs.
    #[inline(always)]
    pub fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        self.stretch.iter().take(self.stretches.get() as usize)
    }
}

/// What went through a queue, for whoever watches: its sender counts what was sent and what was lost, its
/// receiver what was received.
#[derive(Debug)]
#[repr(C)]
pub struct Traffic {
    sent: Counter,
    received: Counter,
    lost: Counter,
}

/// That of each queue.
#[unsafe(export_name = "rtmark_plan_traffic")]
#[used]
static TRAFFIC: [Traffic; QUEUES] =
    [const { Traffic { sent: Counter::new(), received: Counter::new(), lost: Counter::new() } };
        QUEUES];

/// A message as `queue.send.immediate` sends it.
pub type Message = Item<10>;

/// Sends a message to a queue, where it has room for one: a channel's own may be more than the table says.
#[inline(always)]
pub fn send(queue: usize, try_send: impl FnOnce(Message) -> bool) {
    let traffic = &TRAFFIC[queue];
    let gathered = traffic.sent.get().wrapping_sub(traffic.received.get());
    if gathered < SET.queue_items[queue].get() && try_send(Item([1; 10])) {
        traffic.sent.increment();
    } else {
        traffic.lost.increment();
    }
}

/// Receives from a queue until it is empty.
#[inline(always)]
pub fn receive(queue: usize, mut try_receive: impl FnMut() -> Option<Message>) {
    while let Some(message) = try_receive() {
        black_box(&message);
        TRAFFIC[queue].received.increment();
    }
}

/// So many rounds of two instructions; none for 0.
#[inline(never)]
pub fn burn(rounds: u32) {
    if rounds == 0 {
        return;
    }
    // SAFETY: counts a register down to zero, and touches nothing else.
    unsafe {
        core::arch::asm!(
            ".balign 16",
            "2: subs {rounds}, #1",
            "bne 2b",
            rounds = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

/// The table of this image.
#[unsafe(export_name = "rtmark_plan")]
#[used]
pub static SET: Table = Table::EMPTY;
