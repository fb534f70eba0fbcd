//! The task set of `firmware/board/plan.rs`: tasks at levels of their own, which the monotonic or an
//! interrupt releases, resources and channels between them.

#![no_std]
#![no_main]

#[path = "../plan/channels.rs"]
mod channels;
#[path = "../../../board/plan.rs"]
mod plan;
#[path = "../plan/releases.rs"]
mod releases;
#[cfg(target_has_atomic = "ptr")]
#[path = "../plan/seven.rs"]
mod seven;
/// Cores without atomic read-modify-write are those with two priority bits.
#[cfg(not(target_has_atomic = "ptr"))]
#[path = "../plan/three.rs"]
mod three;

use rtmark_probe::begin_at_pend;

// What releases tasks is the monotonic's interrupt.
begin_at_pend!("plan.clock", rtmark_rtic::EXCEPTION);
// The first of those that release tasks by interrupts.
begin_at_pend!("plan.interrupt", rtmark_board::Interrupt::BENCH.exception());

/// A task for ever: its releases, and its jobs, which receive, go through their stretches, each with the
/// resource that it names, and send.
#[macro_export]
macro_rules! task {
    ($probe:literal, $task:ident, $ends:ident, $shared:expr; $($level:literal => $resource:ident),+) => {
        let mut ends = $ends;
        let mut releases = $crate::releases::Releases::of($task);
        loop {
            releases.next().await;
            rtmark_probe::begin!($probe);
            ends.receive();
            for stretch in $task.stretches() {
                let rounds = stretch.rounds.get();
                match stretch.lock.get() {
                    0 => $crate::plan::burn(rounds),
                    $($level => {
                        rtmark_probe::begin!("plan.take");
                        rtic::Mutex::lock(&mut $shared.$resource, |()| {
                            rtmark_probe::end!("plan.take");
                            $crate::plan::burn(rounds);
                            rtmark_probe::begin!("plan.give");
                        });
                        rtmark_probe::end!("plan.give");
                    })+
                    _ => rtmark_probe::scenario::fail("a lock with a ceiling below its user"),
                }
            }
            ends.send();
            rtmark_probe::end!($probe);
        }
    };
}
