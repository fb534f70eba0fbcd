//! The second phase of the command: the run itself, with its observers.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::Duration;

use rtmark_gdb::{SessionEnd, SessionObserver};
use rtmark_model::visible;
use rtmark_observe::{RunClock, handler_note};
use rtmark_runner::{Ending, RunLimit, Session};
use rtmark_sim::{Image, Irq, Machine};
use rtmark_units::Cycles;

use super::defmt::Frames;
use super::observers::{ObserverResults, Observers};
use super::patience::{self, Patience};
use super::prepare::{Prepared, RunSource};
use super::terminal::{self, Pace, Terminal, Typed};
use super::{Arguments, Format, file};
use crate::cli::Verbosity;
use crate::commands::inputs::{Inputs, TypedLine};
use crate::commands::internal_error;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};

/// A finished run, with everything that was gathered.
pub struct FinishedRun<'a> {
    pub session: Session<'a>,
    pub entry: Option<u32>,
    pub until: Option<u32>,
    pub ended: Ending,
    /// Whether Ctrl-C was pressed.
    pub was_interrupted: bool,
    /// The core's clock.
    pub clock: RunClock,
    pub dumps: Vec<(String, u32, usize)>,
    pub results: ObserverResults,
    pub console: Console,
    /// How many bytes of defmt log there were, if any.
    pub logged: Option<NonZeroU64>,
    /// Notes about unread input, lost output, and options whose event never occurred.
    pub notes: Vec<String>,
}

/// Where the program's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputTarget {
    /// Into the JSON result.
    Result,
    /// To stdout, unchanged.
    Stdout,
    /// To a terminal on stdout, with control characters escaped.
    Terminal,
    /// To stderr, because stdout carries other data.
    Stderr,
}

/// Receives the program's output.
pub struct Console {
    to: OutputTarget,
    /// The output kept for the JSON result.
    pub kept: Vec<u8>,
    /// Whether the last line of output is unterminated.
    pub line_open: bool,
    written: io::Result<()>,
}

impl Console {
    fn new(arguments: &Arguments) -> Self {
        let streams = [&arguments.trace, &arguments.defmt];
        // Other data on stdout must not be mixed with the program's output.
        let taken = streams.into_iter().flatten().any(|path| file(path).is_none());
        let to = match arguments.format {
            Format::Json => OutputTarget::Result,
            Format::Text if taken => OutputTarget::Stderr,
            Format::Text if output::to_terminal() => OutputTarget::Terminal,
            Format::Text => OutputTarget::Stdout,
        };
        Self { to, kept: Vec::new(), line_open: false, written: Ok(()) }
    }
}

impl SessionObserver for Console {
    fn printed(&mut self, bytes: Vec<u8>) {
        if self.to == OutputTarget::Result {
            self.kept.extend(bytes);
        } else if self.written.is_ok() && !bytes.is_empty() {
            self.line_open = !bytes.ends_with(b"\n");
            self.written = match self.to {
                OutputTarget::Terminal => output::raw(visible(&bytes).as_bytes()),
                OutputTarget::Stderr => output::raw_to_stderr(&bytes),
                OutputTarget::Stdout | OutputTarget::Result => output::raw(&bytes),
            };
        }
    }

    fn listening(&mut self, address: SocketAddr) {
        say(format!("waiting for GDB on {address}: `target remote {address}`"));
    }

    fn connection_lost(&mut self, reason: &str) {
        say(format!("GDB disconnected: {reason}"));
    }
}

/// What observes the run, across all its parts.
struct RunObservers<'a> {
    observers: Observers<'a>,
    console: Console,
    frames: Frames,
    terminal: Option<Terminal>,
}

impl RunObservers<'_> {
    fn run(&mut self, session: &mut Session<'_>, limit: u64) -> Ending {
        let Self { observers, console, frames, terminal } = self;
        let look = |machine: &mut Machine| {
            let printed = machine.take_console();
            if let Some(terminal) = terminal {
                terminal.show(&printed);
            }
            console.printed(printed);
            frames.write(&machine.take_defmt());
        };
        observers.observe(session, Cycles(limit), look)
    }
}

impl RunObservers<'_> {
    /// Runs like [`Self::run`], passing typed input to a UART line.
    fn run_interactive(
        &mut self,
        session: &mut Session<'_>,
        line: TypedLine<'_>,
        limit: u64,
    ) -> Result<Ending, CliError> {
        let mut pace = Pace::new(&session.machine);
        loop {
            let clock = session.machine.clock_history().clock();
            let part = clock.cycles_in(terminal::LOOKS).0.max(1);
            let until = session.machine.cycles().0.saturating_add(part).min(limit);
            let ending = self.run(session, until);
            let Some(terminal) = &self.terminal else { return Ok(ending) };
            let left = Cycles(limit.saturating_sub(session.machine.cycles().0)).at(clock);
            let wait = match &ending {
                Ending::Limit if until < limit => pace.ahead(&session.machine),
                // Typed input may wake it.
                Ending::Asleep => Duration::from_nanos(left.0),
                _ => return Ok(ending),
            };
            match terminal.typed(wait).map_err(|error| terminal::failed(&error))? {
                Typed::Bytes(bytes) => line.put(&bytes, &mut session.machine)?,
                Typed::Nothing if matches!(ending, Ending::Asleep) => return Ok(Ending::Limit),
                Typed::Nothing => {}
                Typed::Closed
                    if terminal
                        .wait_until_open(Some(terminal::REOPEN_TIMEOUT))
                        .map_err(|error| terminal::failed(&error))? => {}
                Typed::Closed => {
                    say(format!("{} was closed", terminal.name()));
                    return Ok(Ending::Observer);
                }
            }
        }
    }

    /// Runs on up to the limit, but no further than a cycle; interactively if the input is typed.
    fn run_on(
        &mut self,
        session: &mut Session<'_>,
        inputs: &Inputs,
        limit: RunLimit,
        first: Cycles,
        patience: &mut Patience,
    ) -> Result<Ending, CliError> {
        limit.run(session, |session, until| {
            let Cycles(until) = until.min(first);
            match inputs.typed() {
                Some(line) => self.run_interactive(session, line, until),
                None => Ok(patience.run(session, until, |session, until| self.run(session, until))),
            }
        })
    }
}

/// Creates the terminal for typed input, if there is any, and waits until it is opened.
fn opened(inputs: &Inputs) -> Result<Option<Terminal>, CliError> {
    let Some(_) = inputs.typed() else { return Ok(None) };
    let terminal = Terminal::new()?;
    let name = terminal.name();
    say(format!("waiting for a terminal on {name}: `screen {name}`"));
    terminal.wait_until_open(None).map_err(|error| terminal::failed(&error))?;
    Ok(Some(terminal))
}

impl Arguments {
    /// Runs to the end, under a debugger if asked for, and saves a snapshot on the way.
    pub(super) fn execute<'a>(
        &self,
        source: &'a RunSource,
        prepared: Prepared<'a>,
        verbosity: Verbosity,
    ) -> Result<FinishedRun<'a>, CliError> {
        let Prepared { mut session, entry, until, mut ended, mut limit, dumps, inputs } = prepared;
        let RunSource { image, bytes, .. } = source;
        let mut run_observers = RunObservers {
            observers: self.observers(&session.machine, image)?,
            console: Console::new(self),
            frames: Frames::new(self)?,
            terminal: opened(&inputs)?,
        };
        if let Some(address) = &self.gdb {
            // Who debugs a program says when it has run for long enough.
            let is_limited = self.max_cycles.is_some() || self.lasts.is_some();
            let end = |machine: &Machine| {
                if is_limited { limit.cycle_of(machine, image) } else { Cycles::MAX }
            };
            let (machine, stopped) =
                debug(address, session.machine, &end, &mut run_observers.console)?;
            (session, ended) = (Session::with(machine, image), stopped);
            if !is_limited {
                limit = self.limit(&session);
            }
        }
        session = session.with_file(bytes);
        let first = Cycles(self.snapshot_at.unwrap_or(u64::MAX));
        let mut patience = Patience::begin(verbosity.quiet);
        let mut ended = match ended {
            Some(ended) => ended,
            None => run_observers.run_on(&mut session, &inputs, limit, first, &mut patience)?,
        };
        if let Some(path) = &self.snapshot {
            let (now, last) = (session.machine.cycles(), limit.cycle(&session));
            let again = match ended {
                Ending::Limit | Ending::Output(_) | Ending::Observer => now,
                // The same will end it again.
                _ => last.max(now + Cycles(1)),
            };
            self.keep(&session.machine, again, (bytes, &source.soc), path)?;
            if matches!(ended, Ending::Limit) && now < last && !patience::was_interrupted() {
                ended = run_observers.run_on(
                    &mut session,
                    &inputs,
                    limit,
                    Cycles::MAX,
                    &mut patience,
                )?;
            }
        }
        let RunObservers { observers, mut console, mut frames, terminal } = run_observers;
        std::mem::replace(&mut console.written, Ok(()))?;
        let lost = terminal
            .map(Terminal::finish)
            .transpose()
            .map_err(|error| terminal::failed(&error))?
            .flatten();
        if let Ending::Internal(error) = &ended {
            // Nothing that was counted or derived is meaningful.
            return Err(internal_error(error, image, bytes));
        }
        frames.write(&session.machine.take_defmt());
        let logged = frames.finish()?;
        let results = self.finish(observers, &session.machine, image, bytes)?;
        let mut notes: Vec<String> =
            [inputs.unread(&mut session.machine), lost].into_iter().flatten().collect();
        let clock = session.clock();
        notes.extend(self.missed(&session, until, &ended));
        notes.extend(self.unknown_end(&session.machine, &clock, &ended));
        notes.extend(results.missed.clone());
        notes.extend(self.default_handlers(&session.machine, image, &ended));
        Ok(FinishedRun {
            session,
            entry,
            until,
            ended,
            was_interrupted: patience::was_interrupted(),
            clock,
            dumps,
            results,
            console,
            logged,
            notes,
        })
    }
}

/// Returns the interrupt in whose handler the run ended, if it did.
fn ended_in(machine: &Machine, ended: &Ending) -> Option<Irq> {
    match (ended, machine.exception()) {
        (Ending::Limit | Ending::Asleep, 14) => Some(Irq::PENDSV),
        (Ending::Limit | Ending::Asleep, 15) => Some(Irq::SYSTICK),
        (Ending::Limit | Ending::Asleep, exception @ 16..) => Some(Irq::from(exception - 16)),
        _ => None,
    }
}

impl Arguments {
    /// Says which interrupts only the default handler serves, of that in which the run ended and those of `--irq`,
    /// from which it may have returned.
    fn default_handlers(&self, machine: &Machine, image: &Image, ended: &Ending) -> Vec<String> {
        let come = self.irq.iter().filter(|pend| pend.cycle <= machine.cycles().0);
        let mut interrupts: Vec<_> = come.map(|pend| pend.interrupt).collect();
        interrupts.extend(ended_in(machine, ended));
        let mut notes = Vec::new();
        for note in
            interrupts.into_iter().filter_map(|it| handler_note(machine, image.symbols(), it))
        {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }

    /// Says of which clock the time of `--for` is, if the registers do not determine the core's.
    fn unknown_end(&self, machine: &Machine, clock: &RunClock, ended: &Ending) -> Option<String> {
        let is_unknown = self.lasts.is_some()
            && matches!(ended, Ending::Limit)
            && machine.unknown_clock().is_some();
        is_unknown.then(|| {
            format!(
                "--for: the clock that the registers select is not known, so its time passed at {}; \
                 --max-cycles ends a run without a clock",
                clock.main()
            )
        })
    }

    /// Describes the options whose event had not occurred when the run ended.
    fn missed(&self, session: &Session<'_>, until: Option<u32>, ended: &Ending) -> Vec<String> {
        let mut missed = Vec::new();
        let reached = matches!(ended, Ending::Breakpoint(address) if until == Some(*address));
        if let Some(address) = until.filter(|_| !reached) {
            missed.push(format!("--until: {} was never reached", session.place(address)));
        }
        if !matches!(ended, Ending::Output(_)) {
            let text = |text: &String| {
                format!("--until-output: `{}` was never printed", visible(text.as_bytes()))
            };
            missed.extend(self.until_output.iter().map(text));
        }
        let end = session.machine.cycles().0;
        let late = self.irq.iter().filter(|pend| pend.cycle > end);
        missed.extend(late.map(|pend| {
            format!("--irq {}@{}: the run ended in cycle {end}", pend.interrupt, pend.cycle)
        }));
        if let Some(at) = self.snapshot_at.filter(|at| *at > end) {
            missed.push(format!(
                "--snapshot-at {at}: the run ended in cycle {end}, which was saved instead"
            ));
        }
        missed
    }
}

/// Lets a debugger control the machine.
///
/// Returns how the run ended, or `None` if the debugger detached and the run continues.
fn debug(
    address: &str,
    machine: Machine,
    limit: &dyn Fn(&Machine) -> Cycles,
    console: &mut Console,
) -> Result<(Machine, Option<Ending>), CliError> {
    let served = rtmark_gdb::serve(address, machine, limit, console);
    let (machine, ended) = served.map_err(|error| {
        let hint = "choose another port, as in --gdb :3334";
        CliError::new(Exit::Usage, format!("--gdb: {error}"), hint)
    })?;
    Ok(match ended {
        SessionEnd::Detached => (machine, None),
        SessionEnd::Stopped(stop) => (machine, Some(Ending::from(stop))),
    })
}
