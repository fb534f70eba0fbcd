//! Measures how many moments per second one core searches for the worst interrupt latency.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rtmark_sim::{Image, Machine, Soc};
use rtmark_worst::{Control, Findings, Path, Question, Reach, Share, Window, search};

/// The window begins after start-up, when the program is busy.
const FROM: u64 = 1_000_000;
pub const CYCLES: u64 = 400_000;
const ROUNDS: usize = 5;

/// Returns the fastest of several rounds on one thread: points per second, and entries tried out or
/// followed per second, in a window of this many cycles.
pub fn points_per_second(soc: &Soc, elf: &[u8], cycles: u64) -> Result<(f64, f64), Box<dyn Error>> {
    let mut machine = Machine::new(soc);
    machine.load(&Image::from_elf(elf)?)?;
    let question = Question {
        interrupt: 8.into(),
        // As much of it as the soc's register holds.
        priority: 0x50 & !(0xFF_u16 >> soc.priority_bits) as u8,
        windows: vec![Window { from: FROM, to: FROM + cycles }],
        reach: Reach::Entry,
        patience: 100_000,
        woken: None,
        ends: Vec::new(),
        second: None,
    };
    let path = Path::new(machine, question)?;
    let cancelled = AtomicBool::new(false);
    let control = Control { cancelled: &cancelled, share: Share::WHOLE, budget: u64::MAX };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let (mut points, mut tries) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let found = pool.install(|| search(&path, &control, Findings::default(), |_| {}))?;
        let seconds = start.elapsed().as_secs_f64();
        points = points.max(found.points as f64 / seconds);
        tries = tries.max((found.tried + found.followed) as f64 / seconds);
    }
    Ok((points, tries))
}
