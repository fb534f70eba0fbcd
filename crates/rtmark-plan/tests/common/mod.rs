//! What tests of answers share.

use rtmark_plan::{RunPlan, TaskRun};

/// A run whose tasks have these names, longest responses and bounds.
pub fn run_of<const TASKS: usize>(
    names: [&str; TASKS],
    longest: [u64; TASKS],
    bounds: [Option<u64>; TASKS],
) -> RunPlan {
    let task = |at: usize| TaskRun {
        name: names[at].into(),
        bound: bounds[at],
        longest: longest[at],
        jobs: 1,
        witness: None,
        timeline: None,
    };
    RunPlan {
        not_run: None,
        elf_sha256: String::new(),
        offsets_tried: 1,
        tasks: (0..TASKS).map(task).collect(),
        queues: Vec::new(),
        wake: None,
        breakdown_percent: None,
    }
}
