//! What lilos' images share: the start.

#![no_std]

use core::convert::Infallible;
use core::future::{Pending, pending};
use core::pin::Pin;

use cortex_m::Peripherals;
use rtmark_board::soc;
use rtmark_probe::scenario;

/// Sets the soc up and starts the tick. To be called once, first thing in `main`.
pub fn init() -> Peripherals {
    let Some(mut core) = Peripherals::take() else {
        scenario::fail("init() was called twice");
    };
    rtmark_board::start();
    lilos::time::initialize_sys_tick(&mut core.SYST, soc::CLOCK_HZ);
    core
}

/// Runs tasks, all of which are ready at first.
#[macro_export]
macro_rules! run {
    ($($task:expr),+ $(,)?) => {
        lilos::exec::run_tasks(
            &mut [$(core::pin::pin!($task)),+],
            lilos::exec::ALL_TASKS,
        )
    };
}

/// How many tasks there are at most beside those that measure. They are made on the stack, and
/// then moved to their place: room is needed for both.
pub const MOST: usize = match soc::RAM_BYTES {
    ..10_000 => 16,
    ..20_000 => 32,
    _ => 64,
};

/// How many tasks there are at most that measure.
const MOST_OTHERS: usize = 2;

/// A task, as the executor wants it.
pub type Task<'a> = Pin<&'a mut dyn Future<Output = Infallible>>;

/// Runs as many tasks of a kind as the point says, made from their numbers, and then others.
#[macro_export]
macro_rules! crowd {
    ($member:expr; $($other:expr),+ $(,)?) => {
        $crate::run_crowd($member, [$(core::pin::pin!($other) as $crate::Task<'_>),+])
    };
}

/// See [`crowd!`].
pub fn run_crowd<F: Future<Output = Infallible>, const OTHERS: usize>(
    member: impl Fn(u32) -> F,
    others: [Task<'_>; OTHERS],
) -> ! {
    let count = scenario::point() as usize;
    if count > MOST {
        scenario::no_room("tasks");
    }
    let mut members: [F; MOST] = core::array::from_fn(|number| member(number as u32));
    let mut nobody: [_; MOST + MOST_OTHERS] = core::array::from_fn(|_| pending::<Infallible>());
    let (mut members, mut others) = (members.iter_mut().take(count), others.into_iter());
    let mut nobody = nobody.iter_mut();
    let mut tasks: [Task<'_>; MOST + MOST_OTHERS] = core::array::from_fn(|_| -> Task<'_> {
        if let Some(member) = members.next() {
            // SAFETY: the array stays where it is until the end, which never comes.
            return unsafe { Pin::new_unchecked(member) };
        }
        match (others.next(), nobody.next()) {
            (Some(other), _) => other,
            (None, Some(nobody)) => {
                let nobody: Pin<&mut Pending<Infallible>> = Pin::new(nobody);
                nobody
            }
            (None, None) => scenario::fail("more tasks than there are places"),
        }
    });
    match tasks.get_mut(..count + OTHERS) {
        Some(tasks) => lilos::exec::run_tasks(tasks, lilos::exec::ALL_TASKS),
        None => scenario::fail("more tasks than there are places"),
    }
}
