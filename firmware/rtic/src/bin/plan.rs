//! The task set of `firmware/board/plan.rs`: tasks at levels of their own, which the monotonic or an
//! interrupt releases, and resources between them.

#![no_std]
#![no_main]

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

/// A task for ever: its releases, and its jobs' stretches, each with the resource that it names.
#[macro_export]
macro_rules! task {
    ($probe:literal, $task:ident, $shared:expr; $($level:literal => $resource:ident),+) => {
        let mut releases = $crate::releases::Releases::of($task);
        loop {
            releases.next().await;
            rtmark_probe::begin!($probe);
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
            rtmark_probe::end!($probe);
        }
    };
}
