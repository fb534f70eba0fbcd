//! Compares the time of `rtmark calls` with a plain run of the same image, each in a process of its
//! own.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use rtmark_calls::{Api, CallRecorder};
use rtmark_observe::{HeldBackRecorder, HeldInterrupt, Lines};
use rtmark_sim::{Cycles, Image, Machine, Observer, Soc, Stop};

use crate::Load;
use crate::process::{RUN, measure};

const ROUNDS: usize = 3;

/// The loads whose kernel is recognised by its symbols.
pub const KERNELS: [&str; 2] = ["freertos", "embassy"];

/// The ways to run an image, by the names given to the process.
pub const MANNERS: [&str; 3] = ["plain", "observed", "calls"];

/// The length of each run: plain ones are so fast that otherwise their start would dominate.
const CYCLES: [Cycles; 3] = [Cycles(70_000_000), Cycles(10_000_000), Cycles(10_000_000)];

/// An observer that does nothing.
struct NullObserver;

impl Observer for NullObserver {}

/// Runs one image in the given way, and prints how many instructions it executed.
pub fn run_one(elf: &Path, soc: &Path, manner: &str) -> Result<(), Box<dyn Error>> {
    let soc = Soc::from_toml(&std::fs::read_to_string(soc)?)?;
    let elf = std::fs::read(elf)?;
    let image = Image::from_elf(&elf)?;
    let mut machine = Machine::new(&soc);
    machine.load(&image)?;
    let [plain, observed, calls] = CYCLES;
    let stop = match manner {
        "plain" => machine.run(plain),
        "observed" => machine.run_observed(observed, &mut NullObserver),
        _ => {
            let lines = Lines::new(&elf);
            let known = Api::builtin()?;
            let api = Api::recognise(&known, image.symbols()).ok_or("no kernel of its symbols")?;
            let recorder = CallRecorder::new(&machine, &image, api, lines.as_ref());
            let held = HeldBackRecorder::new(&machine, &image, HeldInterrupt::MaskedOrHandled(0));
            let landmarks = recorder.landmarks();
            machine.run_observed_at(&landmarks, calls, &mut (recorder, held))
        }
    };
    match stop {
        Stop::Limit | Stop::Exit(_) => {}
        other => return Err(format!("it ended by {other:?}").into()),
    }
    writeln!(std::io::stdout(), "{}", machine.instructions().0)?;
    Ok(())
}

/// Returns million instructions per second of processor time for each way: the fastest of several
/// interleaved rounds.
pub fn speeds(program: &Path, load: &Load) -> Result<[f64; 3], Box<dyn Error>> {
    let mut fastest = [0.0_f64; 3];
    for _ in 0..ROUNDS {
        for (manner, best) in MANNERS.iter().zip(&mut fastest) {
            let mut command = Command::new(program);
            let run = measure(command.arg(RUN).args([&load.path, &load.soc_path]).arg(manner))?;
            let instructions: f64 = run.output.trim().parse()?;
            *best = best.max(instructions / run.seconds.max(1e-3) / 1e6);
        }
    }
    Ok(fastest)
}
