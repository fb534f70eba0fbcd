//! The first phase of the command: the image, the machine, and its state as the options set it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rtmark_firmware::probes;
use rtmark_model::{ScenarioId, visible};
use rtmark_runner::socs::{self, SocFile};
use rtmark_runner::{Ending, RunLimit, Session, input_file};
use rtmark_semihosting::Folder;
use rtmark_sim::{
    CoreKind, Cycles, FaultPolicy, Image, ImageError, ImageFormat, LoadError, Machine, MemoryKind,
    Register, Soc, Strictness,
};
use rtmark_snapshot::Snapshot;

use super::values::{self, Arming, Dump, Place, Target};
use super::{Arguments, snapshot};
use crate::cli::Verbosity;
use crate::commands::inputs::Inputs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::say;

pub fn refuse(path: &Path, problem: impl std::fmt::Display, hint: &str) -> CliError {
    CliError::new(Exit::Usage, format!("{}: {problem}", path.display()), hint)
}

pub fn wrong(option: &str, problem: impl std::fmt::Display, hint: &str) -> CliError {
    CliError::new(Exit::Usage, format!("{option}: {problem}"), hint)
}

/// The default time limit, in seconds of the soc's clock.
const SECONDS: u64 = 10;

/// The image and soc to run, from the arguments or a snapshot.
pub struct RunSource {
    pub image: Image,
    /// The contents of the image's file.
    pub bytes: Vec<u8>,
    pub soc: SocFile,
    resumed: Option<Resumed>,
}

/// A snapshot to resume from.
struct Resumed {
    path: PathBuf,
    snapshot: Snapshot,
    /// The arguments of the original run.
    begun: Arguments,
}

impl RunSource {
    /// Returns the arguments that the run started with: those of the snapshot, or the given ones.
    pub fn original_arguments<'a>(&'a self, given: &'a Arguments) -> &'a Arguments {
        self.resumed.as_ref().map_or(given, |resumed| &resumed.begun)
    }
}

/// A machine that is ready to run.
pub struct Prepared<'a> {
    pub session: Session<'a>,
    /// The function that is called, if any.
    pub entry: Option<u32>,
    /// The address of --until.
    pub until: Option<u32>,
    /// The ending, if the run had already ended when its snapshot was made.
    pub ended: Option<Ending>,
    /// When to give up.
    pub limit: RunLimit,
    /// The memory to dump: its name, address and length.
    pub dumps: Vec<(String, u32, usize)>,
    /// The inputs from outside the chip.
    pub inputs: Inputs,
}

impl Arguments {
    /// Reads the image and the soc, or the snapshot.
    pub(super) fn source(&self, verbosity: Verbosity) -> Result<RunSource, CliError> {
        let Some(path) = &self.resume else {
            let (bytes, soc) = self.read()?;
            let image = self.load(&bytes, &soc.soc, verbosity)?;
            let soc = soc.for_image(&image);
            return Ok(RunSource { image, bytes, soc, resumed: None });
        };
        let snapshot = snapshot::read(path)?;
        let begun = snapshot::arguments(&snapshot, path)?;
        let (bytes, soc) = (snapshot.inputs().image.clone(), snapshot::soc(&snapshot)?);
        let image = begun.load(&bytes, &soc.soc, verbosity)?;
        let soc = soc.for_image(&image);
        let resumed = Some(Resumed { path: path.clone(), snapshot, begun });
        Ok(RunSource { image, bytes, soc, resumed })
    }

    /// Opens the folder of --semihosting-dir.
    pub(super) fn folder(&self) -> Result<Option<Folder>, CliError> {
        let open = |path: &PathBuf| {
            Folder::new(path).map_err(|error| refuse(path, error, "give an existing folder"))
        };
        self.semihosting_dir.as_ref().map(open).transpose()
    }

    /// Brings a machine to the start of this run.
    pub(super) fn prepare<'a>(
        &self,
        source: &'a RunSource,
        folder: Option<&'a mut Folder>,
    ) -> Result<Prepared<'a>, CliError> {
        let RunSource { image, soc: SocFile { soc, .. }, .. } = source;
        let (mut session, entry, mut until) = source.original_arguments(self).ready(soc, image)?;
        let mut ended = None;
        if let Some(Resumed { path, snapshot, .. }) = &source.resumed {
            ended = snapshot::replay(snapshot, &mut session, path)?;
            if let Some(address) = until {
                session.machine.remove_stop(address);
            }
            until = self.stop_place(image)?;
            Self::stop_before(&mut session.machine, soc, until)?;
        }
        let dumps = self.find_dumps(&session.machine, soc, image)?;
        if let Some(folder) = folder {
            session = session.with_host(folder);
        }
        let inputs = self.inputs.read_interactive()?;
        if self.gdb.is_some() && inputs.typed().is_some() {
            let hint = "give a file, or leave out --gdb";
            return Err(wrong("--uart-in pty", "typed input does not work under GDB", hint));
        }
        inputs.connect(&mut session.machine)?;
        for text in self.until_output.iter().chain(&self.fail_output) {
            session.machine.stop_at_output(text.as_bytes());
        }
        let limit = self.limit(&session);
        Ok(Prepared { session, entry, until, ended, limit, dumps, inputs })
    }

    /// Returns when to give up on a run that continues now.
    pub(super) fn limit(&self, session: &Session<'_>) -> RunLimit {
        if let Some(cycles) = self.max_cycles {
            return RunLimit::Cycles(Cycles(cycles));
        }
        if self.inputs.are_typed() && self.lasts.is_none() {
            return RunLimit::Cycles(Cycles::MAX);
        }
        let begins = session.clock().history.elapsed_at(session.machine.cycles());
        let lasts = self.lasts.unwrap_or(Duration::from_secs(SECONDS));
        RunLimit::Time(begins.saturating_add(lasts))
    }

    pub(super) fn raw_base(&self, soc: &Soc) -> u32 {
        self.base.unwrap_or_else(|| soc.memories.first().map_or(0, |memory| memory.base))
    }

    /// Returns the image's path, as given.
    pub(super) fn image(&self) -> &Path {
        self.image.as_deref().unwrap_or(Path::new(""))
    }

    /// Reads the image's file and finds the soc.
    fn read(&self) -> Result<(Vec<u8>, SocFile), CliError> {
        let path = self.image();
        let soc = socs::find(self.soc.as_deref().unwrap_or_default())?;
        let soc = self.clock.apply(soc)?;
        let bytes =
            input_file::read_bytes(path).map_err(|error| refuse(path, error, "check the path"))?;
        Ok((bytes, soc))
    }

    pub(super) fn load(
        &self,
        bytes: &[u8],
        soc: &Soc,
        verbosity: Verbosity,
    ) -> Result<Image, CliError> {
        let path = self.image();
        let format = ImageFormat::of(bytes);
        let base = self.raw_base(soc);
        if self.base.is_some() && format != ImageFormat::Raw {
            let problem = format!("--base only applies to raw binaries, and this is {format}");
            return Err(refuse(path, problem, "leave out --base: the file contains its address"));
        }
        let mut image = Image::from_bytes(bytes, base).map_err(|error| {
            let hint = match error {
                ImageError::OtherMachine(_) => {
                    "build for a core that rtmark simulates (`rtmark list cores`), such as with arm-none-eabi-gcc"
                }
                ImageError::TooHigh { .. } => "give the address of its first byte with --base",
                ImageError::SRecords => {
                    "convert them: arm-none-eabi-objcopy -I srec -O ihex FILE image.hex"
                }
                ImageError::Empty => "give an ELF file, Intel HEX, UF2, DfuSe or raw binary that is not empty",
                ImageError::Hex { .. } | ImageError::Uf2 { .. } | ImageError::DfuSe { .. } => {
                    "create the file again, and copy it completely"
                }
                _ => "link the file again, and copy it completely",
            };
            refuse(path, error, hint)
        })?;
        if format == ImageFormat::Raw && self.base.is_none() && !verbosity.quiet {
            let memory = soc.memories.first().map_or("its memory", |memory| &memory.name);
            say(format!(
                "{}: loading as a raw binary at {base:#010x}, the start of {memory}; --base changes the address",
                visible(path.display().to_string().as_bytes())
            ));
        }
        if self.vectors.is_some() {
            image.drop_entry();
        }
        Ok(image)
    }

    /// Loads the image into a machine, and resolves the function to call, if any.
    fn begin<'a>(
        &self,
        soc: &Soc,
        image: &'a Image,
    ) -> Result<(Session<'a>, Option<u32>), CliError> {
        let entry =
            self.entry.as_ref().map(|place| resolve("--entry", place, image)).transpose()?;
        let entry = entry.map(|address| address & !1);
        let vectors = self.vector_table(soc, image)?;
        let mut machine = Machine::new(&Soc { vectors: Some(vectors), ..soc.clone() });
        let loaded = match entry {
            Some(entry) => machine.load_and_call(image, entry),
            None => machine.load(image),
        };
        loaded.map_err(|error| {
            let hint = match (&error, image.format()) {
                (LoadError::NoVectors { .. }, ImageFormat::Raw) => {
                    "if this is a raw binary, give its address with --base, its vector table with \
                     --vectors, or a function to call with --entry"
                        .to_owned()
                }
                (LoadError::NoVectors { .. }, _) => {
                    let found = likely_vectors(soc, image).map(|it| format!(" {it:#010x}"));
                    format!(
                        "link it for the memories of {}; or give its vector table with --vectors{}, if a \
                         bootloader starts it, or a function to call with --entry",
                        soc.name,
                        found.unwrap_or_default()
                    )
                }
                (LoadError::OtherCore { .. }, _) => {
                    "build it for the soc's core, or choose another soc with --soc".to_owned()
                }
                _ => format!(
                    "link it for the memories of {}, or choose another soc with --soc",
                    soc.name
                ),
            };
            refuse(self.image(), error, &hint)
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
            let hint = "leave out one of the two";
            return Err(wrong("--entry", "--set pc also sets where to start", hint));
        }
        let sp = machine.register(Register::Sp);
        if !sets(&[Register::Sp, Register::R(13), Register::Msp]) && !is_stack(soc, sp) {
            let vectors = image.boot_vectors().unwrap_or(vectors);
            let problem = format!(
                "the vector table at {vectors:#010x} has no stack pointer: {sp:#010x} is not in RAM"
            );
            return Err(wrong("--entry", problem, "set it with --set sp=ADDR"));
        }
        Ok((Session::with(machine, image), Some(entry)))
    }

    /// Returns the address of the vector table.
    fn vector_table(&self, soc: &Soc, image: &Image) -> Result<u32, CliError> {
        let usual = soc.vector_base();
        let has_vtor = soc.core != CoreKind::CortexM0;
        if let Some(place) = &self.vectors {
            // The symbol of a table in assembly language may have the mark of Thumb code.
            let vectors = resolve("--vectors", place, image)? & !1;
            if !has_vtor && vectors != usual {
                let problem = format!(
                    "a Cortex-M0 has no VTOR: its vectors are at {usual:#010x}, not at {vectors:#010x}"
                );
                let hint = "load it together with what starts it, or begin at its reset handler with --entry";
                return Err(wrong("--vectors", problem, hint));
            }
            return match soc.refuse_vectors(vectors) {
                Some(problem) => Err(wrong("--vectors", problem, "give the table's first address")),
                None => Ok(vectors),
            };
        }
        // A raw binary at another address, whose reset vector points into itself.
        let own = image.segments().first().filter(|_| image.format() == ImageFormat::Raw);
        let own = own.filter(|own| {
            let within =
                |address: u32| address.wrapping_sub(own.load_address) < own.bytes.len() as u32;
            let word = own.bytes.get(4..8).and_then(|word| word.try_into().ok());
            has_vtor && !within(usual) && word.is_some_and(|word| within(u32::from_le_bytes(word)))
        });
        let vectors = own.map_or(usual, |own| own.load_address);
        match soc.refuse_vectors(vectors) {
            Some(problem) => Err(wrong("--base", problem, "give its vector table with --vectors")),
            None => Ok(vectors),
        }
    }

    /// Sets up a machine as the options ask. Also returns the function to call and the address of --until,
    /// if any.
    pub(super) fn ready<'a>(
        &self,
        soc: &Soc,
        image: &'a Image,
    ) -> Result<(Session<'a>, Option<u32>, Option<u32>), CliError> {
        let until = self.stop_place(image)?;
        let (mut session, entry) = self.begin(soc, image)?;
        if let Some(scenario) = &self.select {
            select(&mut session.machine, image, scenario).map_err(|problem| {
                refuse(self.image(), problem, "leave out --select for other images")
            })?;
        }
        self.set(&mut session.machine, soc)?;
        Self::stop_before(&mut session.machine, soc, until)?;
        if self.strict {
            session.machine.set_strictness(Strictness::Strict);
        }
        if self.deliver_faults {
            session.machine.set_fault_policy(FaultPolicy::Deliver);
        }
        Ok((session, entry, until))
    }

    /// Resolves `--until`.
    fn stop_place(&self, image: &Image) -> Result<Option<u32>, CliError> {
        let until = self.until.as_ref().map(|place| resolve("--until", place, image));
        Ok(until.transpose()?.map(|address| address & !1))
    }

    /// Applies `--until`.
    fn stop_before(machine: &mut Machine, soc: &Soc, until: Option<u32>) -> Result<(), CliError> {
        if let Some(address) = until {
            if machine.peek(address, 2).len() < 2 {
                let problem = format!("no memory at {address:#010x}");
                return Err(wrong("--until", problem, &memories(soc)));
            }
            machine.stop_before(address);
        }
        Ok(())
    }

    /// Applies `--set`, `--arm` and `--irq`.
    fn set(&self, machine: &mut Machine, soc: &Soc) -> Result<(), CliError> {
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
                        let problem = format!("no word can be stored at {address:#010x}");
                        wrong("--set", problem, &memories(soc))
                    })?,
            }
        }
        let check = |machine: &Machine, option, interrupt| {
            if machine.has_interrupt(interrupt) {
                return Ok(());
            }
            let problem = format!("{} has no interrupt {interrupt}", soc.name);
            let hint = format!("its interrupts are 0 to {}", soc.interrupts - 1);
            Err(wrong(option, problem, &hint))
        };
        for &Arming { interrupt, priority } in &self.arm {
            check(machine, "--arm", interrupt)?;
            machine.arm_interrupt(interrupt, priority);
            let held = machine.interrupt_priority(interrupt);
            if held != priority {
                let problem = format!("{interrupt} cannot have priority {priority:#04x}");
                let hint = format!("its register would hold {held:#04x}: give that");
                return Err(wrong("--arm", problem, &hint));
            }
        }
        for pend in &self.irq {
            check(machine, "--irq", pend.interrupt)?;
            machine.pend_interrupt(pend.interrupt, Cycles(pend.cycle));
        }
        Ok(())
    }

    /// Resolves `--dump`: each range must be within one memory.
    fn find_dumps(
        &self,
        machine: &Machine,
        soc: &Soc,
        image: &Image,
    ) -> Result<Vec<(String, u32, usize)>, CliError> {
        let find = |dump: &Dump| {
            let address = resolve("--dump", &dump.place, image)?;
            let length = dump.length as usize;
            let there = machine.peek(address, length).len();
            if there < length {
                let problem =
                    format!("{length} bytes from {address:#010x}: only {there} are in memory");
                return Err(wrong("--dump", problem, &memories(soc)));
            }
            Ok((visible(dump.what.as_bytes()), address, length))
        };
        self.dump.iter().map(find).collect()
    }
}

pub fn resolve(option: &str, place: &Place, image: &Image) -> Result<u32, CliError> {
    values::resolve(place, image).map_err(|(problem, hint)| wrong(option, problem, &hint))
}

pub fn memories(soc: &Soc) -> String {
    format!("the memories of {} are {}", soc.name, soc.memory_map())
}

/// Returns the first address at which an image has what may be a vector table, unless the core cannot have it there: a
/// stack pointer, and four handlers that are its own functions or, but for the reset handler, left out.
fn likely_vectors(soc: &Soc, image: &Image) -> Option<u32> {
    // The least alignment of all cores.
    const UNIT: u32 = 128;
    let is_own = |handler: u32| {
        let mut segments = image.segments().iter();
        let begins = |address: u32| (handler & !1).wrapping_sub(address) as usize;
        handler & 1 == 1 && segments.any(|it| begins(it.load_address) < it.bytes.len())
    };
    let is_table = |bytes: &[u8]| {
        let words = bytes.as_chunks().0.iter().take(5).map(|word| u32::from_le_bytes(*word));
        let words: Vec<u32> = words.collect();
        let [sp, reset, handlers @ ..] = words.as_slice() else { return false };
        is_stack(soc, *sp) && is_own(*reset) && handlers.iter().all(|it| *it == 0 || is_own(*it))
    };
    let has_vtor = soc.core != CoreKind::CortexM0;
    image.segments().iter().filter(|_| has_vtor).find_map(|segment| {
        let end = segment.load_address.saturating_add(segment.bytes.len() as u32);
        let first = segment.load_address.checked_next_multiple_of(UNIT)?;
        (first..end).step_by(UNIT as usize).find(|address| {
            let at = (address - segment.load_address) as usize;
            soc.refuse_vectors(*address).is_none() && is_table(&segment.bytes[at..])
        })
    })
}

/// Returns whether a stack may start at an address: within RAM, or at its end.
fn is_stack(soc: &Soc, sp: u32) -> bool {
    soc.memories.iter().filter(|memory| memory.kind == MemoryKind::Ram).any(|memory| {
        let bases = std::iter::once(memory.base).chain(memory.aliases.iter().copied());
        bases.into_iter().any(|base| sp.wrapping_sub(base).wrapping_sub(1) < memory.size)
    })
}

fn select(machine: &mut Machine, image: &Image, scenario: &ScenarioId) -> Result<(), String> {
    let section = image.section(probes::SECTION).ok_or("it has no probes")?;
    let records = probes::parse(section).map_err(|error| error.to_string())?;
    rtmark_firmware::select(machine, image, &records, scenario).map_err(|error| error.to_string())
}
