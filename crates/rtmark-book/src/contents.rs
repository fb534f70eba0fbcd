//! The contents of the book, in order.

/// A part of the book.
#[derive(Debug)]
pub struct Part {
    pub title: &'static str,
    /// Markdown files, relative to the checkout's folder.
    pub sources: &'static [&'static str],
}

/// The parts, in order.
pub const PARTS: [Part; 5] = [
    Part { title: "rtmark", sources: &["README.md", "docs/commands.md", "docs/trust.md"] },
    Part {
        title: "Measure",
        sources: &[
            "docs/settings.md",
            "docs/placement.md",
            "docs/socs.md",
            "docs/cores.md",
            "docs/boards.md",
            "docs/machines.md",
            "docs/own.md",
            "docs/images.md",
            "docs/import.md",
            "docs/config.md",
        ],
    },
    Part {
        title: "Look closer",
        sources: &[
            "docs/worst.md",
            "docs/plan.md",
            "docs/calls.md",
            "docs/trace.md",
            "docs/site.md",
            "docs/ci.md",
            "docs/cluster.md",
            "docs/bundle.md",
        ],
    },
    Part {
        title: "Beside what others published",
        sources: &[
            "docs/validation.md",
            "docs/measured.md",
            "docs/study.md",
            "docs/studies/scoreboard.md",
            "docs/studies/prime-async.md",
            "docs/studies/event-vs-queue.md",
            "docs/studies/preempt-response.md",
            "docs/studies/zephyr-latency.md",
        ],
    },
    Part {
        title: "Work on it",
        sources: &[
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "docs/performance.md",
            "firmware/c/README.md",
            "CHANGELOG.md",
        ],
    },
];
