//! `rtmark sim`

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtmark_firmware::probes;
use rtmark_model::{ScenarioId, visible};
use rtmark_runner::{Ending, Session, socs};
use rtmark_sim::{
    FaultKind, Image, ImageError, ImageFormat, LoadError, Machine, MemoryKind, Register, Soc,
};
use rtmark_units::{Cycles, Hertz};

use crate::cli::Talk;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::trouble::Trouble;

mod outcome;
mod values;

use outcome::{Dumped, Outcome};
use values::{Dump, Pend, Place, Setting, Target};

/// How long an image may run on the soc's own clock unless --max-cycles says
/// otherwise, in seconds.
const SECONDS: u64 = 10;

/// Run any firmware in the simulator: print its console, say how it ended
///
/// The image is an ELF file, Intel HEX, UF2 or a raw binary, recognised by its contents.
/// What the program prints, and what --stats and --dump show, goes to stdout; how it
/// ended goes to stderr. Numbers are decimal, or hexadecimal after 0x, and may have
/// underscores.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark sim app.elf --soc stm32f405
  rtmark sim app.elf --soc stm32f405 --entry crc32 --set r0=0x20000000 --set r1=64
  rtmark sim app.bin --soc stm32f405 --base 0x08000000 --until 0x08000124 --dump 0x20000000:64

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// The image: an ELF file, Intel HEX, UF2 or a raw binary
    image: PathBuf,
    /// The soc, by name or path of a soc file
    #[arg(long)]
    soc: String,
    /// Where a raw binary belongs [default: where the soc's first memory begins]
    #[arg(long, value_name = "ADDR", value_parser = values::word)]
    base: Option<u32>,
    /// Call the function there instead of starting from the reset vector
    ///
    /// The stack pointer still comes from the vector table unless --set sp=VALUE gives it.
    /// The run ends when the function returns, and tells r0. No startup code has run:
    /// memories hold what the image puts there, and an FPU is off unless
    /// --set 0xE000ED88=0xF00000 switches it on.
    #[arg(long, value_name = "ADDR|SYMBOL", value_parser = values::place)]
    entry: Option<Place>,
    /// Stop before the instruction there executes for the first time
    ///
    /// This takes no time and changes no memory. An instruction that its condition
    /// skips does not count.
    #[arg(long, value_name = "ADDR|SYMBOL", value_parser = values::place)]
    until: Option<Place>,
    /// Cycles after which to stop [default: ten seconds of the soc's clock]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_cycles: Option<u64>,
    /// Show so many bytes of memory after the run; may be repeated
    #[arg(long, value_name = "ADDR|SYMBOL:LENGTH", value_parser = values::dump)]
    dump: Vec<Dump>,
    /// Put a value into a register before the run; may be repeated
    ///
    /// Registers are r0 to r14, sp, lr, pc, xpsr, msp, psp, primask, basepri, control, s0
    /// to s31 and fpscr. s0=1.5 and s0=2 are numbers, s0=0x3FC00000 is bits. An address
    /// in the place of a register stores a word there: --set 0x20000000=1.
    #[arg(long, value_name = "REG=VALUE", value_parser = values::setting)]
    set: Vec<Setting>,
    /// Make external interrupt N pending in a cycle; may be repeated
    #[arg(long, value_name = "N@CYCLE", value_parser = values::pend)]
    irq: Vec<Pend>,
    /// Show cycles, instructions, exceptions, devices without a model, and registers
    #[arg(long)]
    stats: bool,
    /// For images of rtmark's own: the scenario to run
    #[arg(long, value_name = "SCENARIO")]
    select: Option<ScenarioId>,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The console as it comes, then the ending in words
    Text,
    /// One JSON object at the end
    Json,
}

fn refuse(path: &Path, problem: impl std::fmt::Display, hint: &str) -> Trouble {
    Trouble::new(Exit::Usage, format!("{}: {problem}", path.display()), hint)
}

fn wrong(option: &str, problem: impl std::fmt::Display, hint: &str) -> Trouble {
    Trouble::new(Exit::Usage, format!("{option}: {problem}"), hint)
}

/// How the run ended, the ends that this command itself asked for included.
enum End {
    /// The function that `--entry` called has returned.
    Returned,
    /// The place that `--until` names is reached.
    Until,
    Other(Ending),
}

impl Arguments {
    pub fn run(self, talk: Talk) -> Result<Exit, Trouble> {
        let soc = socs::find(&self.soc)?.soc;
        let image = self.load(&soc, talk)?;
        let until = self.until.as_ref().map(|place| resolve("--until", place, &image));
        let until = until.transpose()?.map(|address| address & !1);
        let (mut session, entry) = self.begin(&soc, &image)?;
        if let Some(scenario) = &self.select {
            select(&mut session, &image, scenario).map_err(|problem| {
                refuse(&self.image, problem, "leave out --select for other images")
            })?;
        }
        self.prepare(&mut session.machine, &soc, until)?;
        let dumps = self.find_dumps(&session.machine, &soc, &image)?;

        let limit = self.max_cycles.unwrap_or(SECONDS * u64::from(soc.clock.0));
        let terminal = output::to_terminal();
        let mut console: Vec<u8> = Vec::new();
        let mut line_open = false;
        let mut written = Ok(());
        let ending = session.run(Cycles(limit), |machine| {
            let printed = machine.take_console();
            if self.format == Format::Json {
                console.extend(printed);
            } else if written.is_ok() && !printed.is_empty() {
                line_open = !printed.ends_with(b"\n");
                let shown = if terminal { visible(&printed).into_bytes() } else { printed };
                written = output::raw(&shown);
            }
        });
        written?;

        let machine = &session.machine;
        let end = match ending {
            Ending::Breakpoint(Machine::RETURN_ADDRESS) if entry.is_some() => End::Returned,
            Ending::Breakpoint(address) if until == Some(address) => End::Until,
            other => End::Other(other),
        };
        let message = match &end {
            End::Returned => {
                let r0 = machine.register(Register::R(0));
                let from = session.place(entry.unwrap_or_default());
                format!("returned from {from}: r0 = {r0:#010x} ({r0})")
            }
            End::Until => format!("stopped before {}", session.here()),
            End::Other(ending) => session.tell(ending),
        };
        let dumped = dumps.into_iter().map(|(what, address, length)| Dumped {
            what,
            address,
            bytes: machine.peek(address, length),
        });
        let (cycles, instructions) = (machine.cycles(), machine.instructions());
        let outcome = Outcome {
            schema_version: 1,
            image: self.image.display().to_string(),
            image_format: image.format().to_string(),
            base: (image.format() == ImageFormat::Raw).then(|| self.raw_base(&soc)),
            soc: &soc.name,
            timing_model: rtmark_sim::TIMING_MODEL,
            ending: word(&end),
            message,
            cycles: cycles.0,
            instructions: instructions.0,
            nanoseconds: cycles.at(soc.clock).0,
            exceptions: machine.exceptions_taken(),
            unmodelled: machine.unmodelled().collect(),
            registers: outcome::registers(machine),
            dumps: dumped.collect(),
            console: visible(&console),
        };
        if self.format == Format::Json {
            let json = serde_json::to_string_pretty(&outcome).map_err(std::io::Error::from)?;
            output::data(&(json + "\n"))?;
        } else {
            let mut text = outcome.dumps.iter().map(Dumped::text).collect::<String>();
            if self.stats {
                text.push_str(&outcome.statistics());
            }
            if !text.is_empty() {
                output::data(&(if line_open { "\n" } else { "" }.to_owned() + &text))?;
            }
            if !talk.quiet {
                let time = seconds(cycles, soc.clock);
                say(format!("{cycles}, {instructions}, {time} at {}", soc.clock));
            }
            match hint(&end) {
                Some(hint) => {
                    let _ = Trouble::new(exit(&end), &outcome.message, hint).show();
                }
                None if talk.quiet => {}
                None => say(&outcome.message),
            }
        }
        Ok(exit(&end))
    }

    fn raw_base(&self, soc: &Soc) -> u32 {
        self.base.unwrap_or_else(|| soc.memories.first().map_or(0, |memory| memory.base))
    }

    fn load(&self, soc: &Soc, talk: Talk) -> Result<Image, Trouble> {
        let path = &self.image;
        let bytes = std::fs::read(path).map_err(|error| refuse(path, error, "check the path"))?;
        let format = ImageFormat::of(&bytes);
        let base = self.raw_base(soc);
        if self.base.is_some() && format != ImageFormat::Raw {
            let problem = format!("--base is for raw binaries; this is {format}");
            return Err(refuse(path, problem, "leave out --base: the file says where it belongs"));
        }
        let image = Image::from_bytes(&bytes, base).map_err(|error| {
            let hint = match error {
                ImageError::OtherMachine(_) => {
                    "compile for Arm Cortex-M, for instance with arm-none-eabi-gcc or a thumb target of Rust"
                }
                ImageError::Empty => "give an ELF file, Intel HEX, UF2 or a raw binary with contents",
                ImageError::Hex { .. } | ImageError::Uf2 { .. } => "make it again and copy it whole",
                _ => "link it again and copy it whole",
            };
            refuse(path, error, hint)
        })?;
        if format == ImageFormat::Raw && self.base.is_none() && !talk.quiet {
            let memory = soc.memories.first().map_or("its memory", |memory| &memory.name);
            say(format!(
                "{}: taken for a raw binary at {base:#010x}, where {memory} begins; --base gives another address",
                visible(path.display().to_string().as_bytes())
            ));
        }
        Ok(image)
    }

    /// A machine with the image, and the function it is to call, if any.
    fn begin<'a>(
        &self,
        soc: &Soc,
        image: &'a Image,
    ) -> Result<(Session<'a>, Option<u32>), Trouble> {
        let entry =
            self.entry.as_ref().map(|place| resolve("--entry", place, image)).transpose()?;
        let entry = entry.map(|address| address & !1);
        let mut machine = Machine::new(soc);
        let loaded = match entry {
            Some(entry) => machine.load_and_call(image, entry),
            None => machine.load(image),
        };
        loaded.map_err(|error| {
            let hint = match (&error, image.format()) {
                (LoadError::NoVectors { .. }, ImageFormat::Raw) => {
                    "if it is a raw binary, say with --base where it belongs, or with --entry where to begin"
                        .to_owned()
                }
                (LoadError::NoVectors { .. }, _) => format!(
                    "link it for the memories of {}, or say with --entry where to begin",
                    soc.name
                ),
                _ => format!(
                    "link it for the memories of {}, or choose another soc with --soc",
                    soc.name
                ),
            };
            refuse(&self.image, error, &hint)
        })?;
        let Some(entry) = entry else { return Ok((Session::with(machine, image), None)) };
        if machine.peek(entry, 2).len() < 2 {
            let problem = format!("no memory at {entry:#010x}");
            return Err(wrong("--entry", problem, &memories(soc)));
        }
        let sets = |wanted: &[Register]| {
            self.set.iter().any(
                |setting| matches!(setting.target, Target::Register(set) if wanted.contains(&set)),
            )
        };
        if sets(&[Register::Pc]) {
            let hint = "leave out one of them";
            return Err(wrong("--entry", "--set pc says where to begin, too", hint));
        }
        let sp = machine.register(Register::R(13));
        if !sets(&[Register::R(13), Register::Msp]) && !is_stack(soc, sp) {
            let problem = format!(
                "the vector table at {:#010x} gives no stack pointer: {sp:#010x} is not in RAM",
                soc.vector_base()
            );
            return Err(wrong("--entry", problem, "give one with --set sp=ADDR"));
        }
        Ok((Session::with(machine, image), Some(entry)))
    }

    /// Does what `--set`, `--irq` and `--until` say.
    fn prepare(&self, machine: &mut Machine, soc: &Soc, until: Option<u32>) -> Result<(), Trouble> {
        for setting in &self.set {
            match setting.target {
                Target::Register(register) if !machine.has_register(register) => {
                    let problem = format!("{} has no register {}", soc.core, setting.name);
                    return Err(wrong("--set", problem, "choose another register or soc"));
                }
                Target::Register(register) => machine.set_register(register, setting.value),
                Target::Word(address) => machine
                    .poke_word(address, setting.value)
                    .or_else(|_| machine.store_word(address, setting.value))
                    .map_err(|_| {
                        let problem = format!("nothing takes a word at {address:#010x}");
                        wrong("--set", problem, &memories(soc))
                    })?,
            }
        }
        for pend in &self.irq {
            if pend.interrupt >= soc.interrupts {
                let problem = format!("{} has no interrupt {}", soc.name, pend.interrupt);
                let hint = format!("its interrupts are 0 to {}", soc.interrupts - 1);
                return Err(wrong("--irq", problem, &hint));
            }
            machine.pend_interrupt(pend.interrupt, Cycles(pend.cycle));
        }
        if let Some(address) = until {
            if machine.peek(address, 2).len() < 2 {
                let problem = format!("no memory at {address:#010x}");
                return Err(wrong("--until", problem, &memories(soc)));
            }
            machine.stop_before(address);
        }
        Ok(())
    }

    /// What is to be dumped, its address and length, all of it in one memory.
    fn find_dumps(
        &self,
        machine: &Machine,
        soc: &Soc,
        image: &Image,
    ) -> Result<Vec<(String, u32, usize)>, Trouble> {
        let find = |dump: &Dump| {
            let address = resolve("--dump", &dump.place, image)?;
            let length = dump.length as usize;
            let there = machine.peek(address, length).len();
            if there < length {
                let problem =
                    format!("{length} bytes from {address:#010x} on, where memory has {there}");
                return Err(wrong("--dump", problem, &memories(soc)));
            }
            Ok((visible(dump.what.as_bytes()), address, length))
        };
        self.dump.iter().map(find).collect()
    }
}

fn resolve(option: &str, place: &Place, image: &Image) -> Result<u32, Trouble> {
    values::resolve(place, image).map_err(|(problem, hint)| wrong(option, problem, &hint))
}

fn memories(soc: &Soc) -> String {
    format!("the memories of {} are {}", soc.name, soc.memory_map())
}

/// Whether a stack may begin at an address: in RAM, or where it ends.
fn is_stack(soc: &Soc, sp: u32) -> bool {
    soc.memories.iter().filter(|memory| memory.kind == MemoryKind::Ram).any(|memory| {
        let bases = std::iter::once(memory.base).chain(memory.aliases.iter().copied());
        bases.into_iter().any(|base| sp.wrapping_sub(base).wrapping_sub(1) < memory.size)
    })
}

fn select(session: &mut Session<'_>, image: &Image, scenario: &ScenarioId) -> Result<(), String> {
    let section = image.section(probes::SECTION).ok_or("it has no probes")?;
    let records = probes::parse(section).map_err(|error| error.to_string())?;
    let index = records.iter().find_map(|record| match record.kind {
        probes::Kind::Scenario(index) if record.scenario == *scenario => Some(index),
        _ => None,
    });
    let index = index.ok_or_else(|| {
        let is_scenario =
            |record: &&probes::Record| matches!(record.kind, probes::Kind::Scenario(_));
        let held: Vec<_> =
            records.iter().filter(is_scenario).map(|record| record.scenario.as_str()).collect();
        format!("no scenario {scenario} in it; it holds {}", held.join(", "))
    })?;
    let address = image.symbols().address_of(probes::SELECT_SYMBOL);
    let address = address.ok_or_else(|| format!("it has no symbol {}", probes::SELECT_SYMBOL))?;
    session.machine.poke_word(address, index).map_err(|error| error.to_string())
}

fn seconds(cycles: Cycles, clock: Hertz) -> String {
    format!("{:.6} s", cycles.at(clock).0 as f64 / 1e9)
}

const fn word(end: &End) -> &'static str {
    let End::Other(ending) = end else {
        return if matches!(end, End::Returned) { "returned" } else { "until" };
    };
    match ending {
        Ending::Exit(_) => "exit",
        Ending::Fault(_) => "fault",
        Ending::Lockup(_) => "lockup",
        Ending::Breakpoint(_) => "breakpoint",
        Ending::Asleep => "asleep",
        Ending::Reset => "reset",
        Ending::Limit => "limit",
        _ => "other",
    }
}

fn exit(end: &End) -> Exit {
    let End::Other(ending) = end else { return Exit::Fine };
    match ending {
        Ending::Exit(status) if status.0 == 0 => Exit::Fine,
        Ending::Exit(_)
        | Ending::Fault(_)
        | Ending::Lockup(_)
        | Ending::Breakpoint(_)
        | Ending::Reset => Exit::Faulted,
        _ => Exit::OutOfBudget,
    }
}

/// What to do about an ending that is not what one wants.
fn hint(end: &End) -> Option<&'static str> {
    let End::Other(ending) = end else { return None };
    match ending {
        Ending::Exit(_) => None,
        Ending::Fault(report) if report.kind == FaultKind::NoCoprocessor => Some(
            "switch the FPU on first, which is the startup code's part; with --entry none runs: \
             --set 0xE000ED88=0xF00000",
        ),
        Ending::Fault(_) | Ending::Lockup(_) => Some(
            "look up the address with arm-none-eabi-addr2line, and what the function accesses there",
        ),
        Ending::Breakpoint(_) => {
            Some("a BKPT is often the end of a panic or an assert: see the console above")
        }
        Ending::Reset => Some("firmware that panics often resets: see the console above"),
        Ending::Asleep => {
            Some("let it end by semihosting SYS_EXIT, or enable an interrupt that wakes it")
        }
        _ => Some("allow more with --max-cycles, or let it end by semihosting SYS_EXIT"),
    }
}
