//! A run of one image, at a moment that can be moved forwards and backwards.

use std::time::{Duration, Instant};

use rtmark_observe::{ExceptionNames, Lines, Map, RunClock, clock_control};
use rtmark_sim::{Cycles, ExitStatus, Image, Irq, Machine, Soc, Stop};
use serde::Serialize;

use crate::console::Console;
use crate::history::{History, Present};
use crate::request::Pend;
use crate::survey::Survey;

/// The cycles to run before the speed is known.
const FIRST_SLICE: u64 = 200_000;
/// The most instructions executed one by one.
const MAX_STEPS: i64 = 100_000;
/// The most resets that a program may request.
const MAX_RESETS: u32 = 1000;

/// How a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// The program ended itself.
    Exit,
    /// It faulted, or stopped at a breakpoint.
    Fault,
    /// It sleeps, and nothing can wake it.
    Asleep,
    /// It reached its time limit.
    Limit,
    /// The simulator made a mistake.
    Internal,
}

/// Whether a requested moment has been reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Reached,
    Partial,
}

/// Whether the present moment is the run's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Within,
    AtEnd,
}

/// The end of a run.
#[derive(Debug)]
struct End {
    how: Ended,
    text: String,
    present: Present,
}

/// An image as it was given.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub bytes: &'static [u8],
    pub image: &'static Image,
    pub lines: Option<&'static Lines<'static>>,
}

/// When a run ends that does not end by itself: at the earlier one of two moments.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Cycles since reset.
    pub cycles: u64,
    /// Time since reset, on the core's clock.
    pub time: Option<Duration>,
}

impl Limit {
    /// Returns the cycle of the limit by the clock of a run up to now.
    fn cycle(self, clock: &RunClock) -> u64 {
        let timed = self.time.map_or(u64::MAX, |time| clock.history.cycle_at(time).0);
        timed.min(self.cycles)
    }
}

/// A machine that runs an image.
#[derive(Debug)]
pub struct Session {
    program: Program,
    present: Present,
    history: History,
    console: Console,
    limit: Limit,
    /// The cycle of the limit, as far as the clock is known at the present moment.
    most: u64,
    /// The furthest moment reached.
    reached: u64,
    /// The end of the run, if it is known: then it is the furthest moment.
    end: Option<End>,
    position: Position,
    resets: u32,
    /// The number of cycles that take about as long as the pace.
    slice: u64,
    pub survey: Option<Survey>,
}

impl Session {
    /// Loads an image into a chip. A raw binary is placed at the chip's vectors.
    ///
    /// Observers borrow from the image, which lives as long as the program: it serves only one.
    pub fn begin(
        soc: &str,
        image: &[u8],
        limit: Limit,
        pend: Option<Pend>,
    ) -> Result<Self, String> {
        let mut soc = Soc::from_toml(soc).map_err(|error| format!("the soc file: {error}"))?;
        let bytes: &'static [u8] = Box::leak(image.into());
        let image = Image::from_bytes(bytes, soc.vector_base()).map_err(|error| {
            format!("the image: {error}; ELF, UF2, Intel HEX, DfuSe and raw are read")
        })?;
        soc.clock_control = clock_control(&image);
        let mut machine = Machine::new(&soc);
        machine.load(&image).map_err(|error| {
            format!("the image does not fit {}: {error}; choose the chip that it is for", soc.name)
        })?;
        if let Some(pend) = pend {
            if !machine.arm_interrupt(pend.interrupt, pend.priority) {
                return Err(format!("{} has no interrupt {}", soc.name, pend.interrupt));
            }
            machine.pend_interrupt(pend.interrupt, Cycles(pend.at));
        }
        let lines = Lines::new(bytes).map(|lines| &*Box::leak(Box::new(lines)));
        let program = Program { bytes, image: Box::leak(Box::new(image)), lines };
        let most = limit.cycle(&RunClock::of(&machine, program.image));
        let present = Present { machine, printed: 0 };
        Ok(Self {
            program,
            history: History::new(present.clone()),
            present,
            console: Console::default(),
            limit,
            most,
            reached: 0,
            end: None,
            position: Position::Within,
            resets: 0,
            slice: FIRST_SLICE,
            survey: None,
        })
    }

    /// Returns the chip.
    pub fn soc(&self) -> &Soc {
        self.present.machine.soc()
    }

    /// Returns the machine at the present moment.
    pub fn machine(&self) -> &Machine {
        &self.present.machine
    }

    /// Returns the image.
    pub fn program(&self) -> Program {
        self.program
    }

    /// Returns its debug information.
    pub fn lines(&self) -> Option<&'static Lines<'static>> {
        self.program.lines
    }

    /// Returns the map from addresses to the program's own terms.
    pub fn map(&self) -> Map<'static, 'static> {
        Map::new(self.program.image, self.program.lines)
    }

    /// Returns the copies since reset.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the clock of the run up to the present moment.
    pub fn clock(&self) -> RunClock {
        RunClock::of(&self.present.machine, self.program.image)
    }

    /// Returns the furthest cycle reached.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// Returns the number of resets that the program requested.
    pub fn resets(&self) -> u32 {
        self.resets
    }

    /// Returns how the run has ended, if the present moment is its end.
    pub fn ended(&self) -> Option<(Ended, &str)> {
        let end = self.end.as_ref().filter(|_| self.position == Position::AtEnd);
        end.map(|end| (end.how, end.text.as_str()))
    }

    /// Returns cycles and instructions since reset.
    pub fn counts(&self) -> (u64, u64) {
        (self.present.machine.cycles().0, self.present.machine.instructions().0)
    }

    /// Returns the program's output so far.
    pub fn printed(&self) -> String {
        self.console.until(self.present.printed)
    }

    /// Returns the output that is new since the last call.
    pub fn take_new(&mut self) -> String {
        self.console.take_new()
    }

    /// Returns the interrupts that currently have a handler, with their names; none if the program has
    /// not set its vector table yet.
    pub fn interrupts(&self) -> Vec<(Irq, String)> {
        let machine = &self.present.machine;
        let names = ExceptionNames::new(machine, self.program.image.symbols());
        let external = (0..machine.soc().interrupts).map(Irq::from);
        let all = [Irq::SYSTICK, Irq::PENDSV].into_iter().chain(external);
        all.filter(|irq| machine.has_interrupt(*irq))
            .filter(|irq| {
                let handler = machine.handler_of(*irq);
                handler.is_ok_and(|handler| machine.peek(handler, 2).len() == 2)
            })
            .map(|irq| (irq, names.name(irq.exception())))
            .collect()
    }

    /// Goes to the first boundary at or after a cycle, but no further than the run's end. With a pace
    /// it may return half-way.
    pub fn go_to(&mut self, cycle: u64, pace: Option<Duration>) -> Progress {
        let now = self.present.machine.cycles().0;
        if let Some(end) = self.end.as_ref().filter(|_| cycle >= self.reached) {
            (self.present, self.position) = (end.present.clone(), Position::AtEnd);
            return Progress::Reached;
        }
        let newest = self.history.before(cycle);
        let nearer = newest.filter(|copy| cycle < now || copy.machine.cycles().0 > now);
        if let Some(nearer) = nearer {
            (self.present, self.position) = (nearer.clone(), Position::Within);
        }
        let began = Instant::now();
        loop {
            let now = self.present.machine.cycles().0;
            if self.ended().is_some() || (now >= cycle && now < self.most) {
                return Progress::Reached;
            }
            if pace.is_some_and(|pace| began.elapsed() >= pace) {
                return Progress::Partial;
            }
            let end = cycle.min(self.most);
            let until = end.min(now.saturating_add(self.slice));
            let before = Instant::now();
            let stop = self.present.machine.run(Cycles(until));
            self.handle_stop(stop);
            if pace.is_some() && until < end {
                // A quarter of the pace, so that it is kept.
                let wanted = pace.unwrap_or_default().as_secs_f64() / 4.0;
                let took = before.elapsed().as_secs_f64().max(1e-4);
                let ratio = (wanted / took).clamp(0.25, 4.0);
                self.slice = ((self.slice as f64 * ratio) as u64).max(1000);
            }
        }
    }

    /// Steps by this many instructions, forwards or backwards.
    pub fn step(&mut self, by: i64) {
        let by = by.clamp(-MAX_STEPS, MAX_STEPS);
        if by < 0 {
            let (now, count) = self.counts();
            let wanted = count.saturating_sub(by.unsigned_abs());
            if let Some(there) = self.history.at(wanted, now) {
                (self.present, self.position) = (there, Position::Within);
            }
            return;
        }
        for _ in 0..by {
            if self.ended().is_some() {
                return;
            }
            let stop = self.present.machine.step(Cycles(self.most)).err();
            // As in a run, a moment is reported once the next instruction has reached the execute
            // stage.
            self.present.machine.settle();
            self.handle_stop(stop.unwrap_or(Stop::Limit));
        }
    }

    /// Handles a stop of the machine.
    fn handle_stop(&mut self, stop: Stop) {
        let text = self.present.machine.take_console();
        self.console.printed(self.present.printed, &text);
        self.present.printed += text.len();
        let now = self.present.machine.cycles().0;
        self.reached = self.reached.max(now);
        self.most = self.limit.cycle(&self.clock());
        match ending(stop, now >= self.most) {
            None => self.history.keep(&self.present),
            Some(Ending::Ended(how, text)) => self.end_here(how, text),
            Some(Ending::Reset) => self.reset(),
        }
    }

    fn end_here(&mut self, how: Ended, text: String) {
        self.reached = self.present.machine.cycles().0;
        self.end = Some(End { how, text, present: self.present.clone() });
        self.position = Position::AtEnd;
    }

    /// Handles a reset by the program: time and history begin again.
    fn reset(&mut self) {
        self.resets += 1;
        let reset = self.present.machine.reset();
        self.history = History::new(self.present.clone());
        self.reached = self.present.machine.cycles().0;
        match reset {
            Ok(()) if self.resets >= MAX_RESETS => {
                self.end_here(
                    Ended::Limit,
                    format!("the program has reset the chip {MAX_RESETS} times"),
                );
            }
            Ok(()) => {}
            Err(error) => self.end_here(Ended::Fault, error.to_string()),
        }
    }
}

/// The meaning of a stop for a run.
enum Ending {
    Reset,
    Ended(Ended, String),
}

fn ending(stop: Stop, is_over: bool) -> Option<Ending> {
    let ended = |how, text: String| Some(Ending::Ended(how, text));
    match stop {
        Stop::Limit if is_over => {
            ended(Ended::Limit, "it was still running at its time limit".to_owned())
        }
        Stop::Limit | Stop::HostCall | Stop::Observer => None,
        Stop::Exit(ExitStatus(0)) => ended(Ended::Exit, "the program exited".to_owned()),
        Stop::Exit(ExitStatus(status)) => {
            ended(Ended::Exit, format!("the program exited with status {status}"))
        }
        Stop::Fault(report) => ended(Ended::Fault, report.to_string()),
        Stop::Lockup(report) => ended(Ended::Fault, format!("the core has stopped: {report}")),
        Stop::Breakpoint(address) => {
            ended(Ended::Fault, format!("a breakpoint instruction at {address:#010x}"))
        }
        Stop::Asleep => ended(Ended::Asleep, "it sleeps, and nothing can wake it".to_owned()),
        Stop::ResetRequested | Stop::Watchdog { .. } => Some(Ending::Reset),
        Stop::Internal(error) => ended(Ended::Internal, error.to_string()),
        other => ended(Ended::Internal, format!("it stopped for an unknown reason: {other:?}")),
    }
}
