//! What `rtmark calls` takes beside a plain run of the same image.

use std::error::Error;
use std::time::Instant;

use rtmark_calls::{Api, CallRecorder};
use rtmark_observe::{HeldBack, HeldInterrupt, Lines};
use rtmark_sim::{Cycles, Image, Machine, Observer, Stop};

use crate::Load;

/// How long the runs are: plain ones, which are so quick that little is left of their start, and
/// observed ones.
const PLAIN: Cycles = Cycles(70_000_000);
const OBSERVED: Cycles = Cycles(20_000_000);
const ROUNDS: usize = 3;

/// The loads whose kernel is known by its symbols.
pub const KERNELS: [&str; 2] = ["freertos", "embassy"];

/// Looks at nothing.
struct Nobody;

impl Observer for Nobody {}

/// Million instructions a second of an image by itself, observed by nobody but its loop, and with its
/// calls timed: the fastest of several rounds.
pub fn speeds(load: &Load) -> Result<[f64; 3], Box<dyn Error>> {
    let image = Image::from_elf(&load.elf)?;
    let lines = Lines::new(&load.elf);
    let known = Api::builtin()?;
    let api = Api::recognised(&known, image.symbols()).ok_or("no kernel of its symbols")?;
    let ready = || -> Result<Machine, Box<dyn Error>> {
        let mut machine = Machine::new(&load.soc);
        machine.load(&image)?;
        Ok(machine)
    };
    let mut fastest = [0.0_f64; 3];
    for _ in 0..ROUNDS {
        let plain = timed(ready()?, |machine| machine.run(PLAIN))?;
        let looped = timed(ready()?, |machine| machine.run_observed(OBSERVED, &mut Nobody))?;
        let machine = ready()?;
        let recorder = CallRecorder::new(&machine, &image, api, lines.as_ref());
        let held = HeldBack::new(&machine, &image, HeldInterrupt::OfPriority(0));
        let mut observers = (recorder, held);
        let calls = timed(machine, |machine| machine.run_observed(OBSERVED, &mut observers))?;
        for (best, speed) in fastest.iter_mut().zip([plain, looped, calls]) {
            *best = best.max(speed);
        }
    }
    Ok(fastest)
}

/// Million instructions a second.
fn timed(
    mut machine: Machine,
    run: impl FnOnce(&mut Machine) -> Stop,
) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let stop = run(&mut machine);
    let seconds = start.elapsed().as_secs_f64();
    match stop {
        Stop::Limit | Stop::Exit(_) => Ok(machine.instructions().0 as f64 / seconds / 1e6),
        other => Err(format!("it ended by {other:?}").into()),
    }
}
