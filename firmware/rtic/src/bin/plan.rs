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

/// A section within another one. Not inlined, as each task would have it once for each pair of resources.
#[inline(never)]
pub fn within(resource: &mut impl rtic::Mutex<T = ()>, rounds: u32) {
    rtmark_probe::begin!("plan.take");
    resource.lock(|()| {
        rtmark_probe::end!("plan.take");
        plan::burn(rounds);
        rtmark_probe::begin!("plan.give");
    });
    rtmark_probe::end!("plan.give");
}

/// A task for ever: its releases, and its jobs, which receive, go through their stretches, each with the
/// resources that it names, and send. Both lists have a resource for each ceiling: one of the second may be
/// locked while one of the first is, as which ceilings two locks have is not known before a run.
#[macro_export]
macro_rules! task {
    ($probe:literal, $task:ident, $ends:ident, $shared:expr; [$($level:literal => $resource:ident),+], $inner:tt) => {
        let mut ends = $ends;
        let mut releases = $crate::releases::Releases::of($task);
        loop {
            releases.next().await;
            rtmark_probe::begin!($probe);
            ends.receive();
            let mut stretches = $task.stretches();
            while let Some(stretch) = stretches.next() {
                let rounds = stretch.rounds.get();
                let locks = stretch.lock.get();
                match locks & 0xff {
                    0 => $crate::plan::burn(rounds),
                    $($level => {
                        rtmark_probe::begin!("plan.take");
                        rtic::Mutex::lock(&mut $shared.$resource, |()| {
                            rtmark_probe::end!("plan.take");
                            if locks <= 0xff {
                                $crate::plan::burn(rounds);
                            } else {
                                $crate::plan::burn(rounds / 2);
                                let inner = stretches.next().map_or(0, |inner| inner.rounds.get());
                                $crate::within!($shared, locks >> 8, inner; $inner);
                                $crate::plan::burn(rounds - rounds / 2);
                            }
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

/// One of these resources, locked for so many rounds.
#[macro_export]
macro_rules! within {
    ($shared:expr, $lock:expr, $rounds:ident; [$($level:literal => $resource:ident),+]) => {
        match $lock {
            $($level => $crate::within(&mut $shared.$resource, $rounds),)+
            _ => rtmark_probe::scenario::fail("a lock with a ceiling below its user"),
        }
    };
}
