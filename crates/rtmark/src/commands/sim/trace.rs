//! `--trace`: writes one line per executed instruction.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

use rtmark_model::visible;
use rtmark_sim::{Machine, Observer, Register, Symbols};

/// Where a trace starts or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// At the first instruction that starts in this cycle or later.
    Cycle(u64),
    /// Each time that the instruction at this address is about to execute.
    Address(u32),
}

impl Mark {
    fn is_reached(self, cycle: u64, pc: u32) -> bool {
        match self {
            Self::Cycle(at) => cycle >= at,
            Self::Address(address) => pc == address,
        }
    }
}

/// Writes a trace. The first error ends the writing; [`Trace::finish`] reports it.
pub struct Trace<'a> {
    out: Box<dyn Write>,
    symbols: &'a Symbols,
    from: Option<Mark>,
    to: Option<Mark>,
    on: bool,
    is_empty: bool,
    /// Formatted instructions, by address, bytes and condition.
    known: HashMap<(u32, u32, u8), String>,
    result: io::Result<()>,
}

impl<'a> Trace<'a> {
    /// Creates a trace that is written to a file, or to stdout.
    pub fn new(path: Option<&Path>, symbols: &'a Symbols) -> io::Result<Self> {
        let out: Box<dyn Write> = match path {
            Some(path) => Box::new(BufWriter::new(File::create(path)?)),
            None => Box::new(BufWriter::new(rtmark_stdout::stdout()?)),
        };
        let known = HashMap::new();
        Ok(Self {
            out,
            symbols,
            from: None,
            to: None,
            on: true,
            is_empty: true,
            known,
            result: Ok(()),
        })
    }

    /// Limits the trace to what executes between two marks.
    pub fn between(mut self, from: Option<Mark>, to: Option<Mark>) -> Self {
        (self.from, self.to, self.on) = (from, to, from.is_none());
        self
    }

    /// Returns the cycle before which nothing is written, if known.
    pub fn begins_at(&self) -> Option<u64> {
        match self.from {
            Some(Mark::Cycle(at)) if !self.on => Some(at),
            _ => None,
        }
    }

    /// Returns whether nothing more will be written from a cycle on.
    pub fn is_over(&self, cycle: u64) -> bool {
        let has_ended = match self.to {
            Some(Mark::Cycle(at)) => cycle >= at,
            Some(Mark::Address(_)) => self.from.is_none(),
            None => false,
        };
        has_ended && !self.on
    }

    /// Flushes the trace, and returns the first error. A closed pipe is not an error.
    pub fn finish(mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.result, Ok(())).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// Returns whether no line was written.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.is_empty = false;
        if self.result.is_ok() {
            self.result = writeln!(self.out, "{line}");
        }
    }

    fn symbol(&self, address: u32) -> Option<String> {
        self.symbols.name_at(address).map(|at| visible(at.to_string().as_bytes()))
    }

    /// Formats address, encoding, symbol and instruction.
    fn text(&mut self, machine: &Machine, pc: u32) -> String {
        // ITSTATE changes the meaning of the same encoding.
        let condition = (machine.register(Register::Xpsr) >> 8) as u8 & 0xFC;
        let mut bytes = [0; 4];
        let there = machine.peek(pc, 4);
        bytes[..there.len()].copy_from_slice(&there);
        let key = (pc, u32::from_le_bytes(bytes), condition);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let Some(instruction) = machine.disassembly(pc) else {
            return format!("{pc:08x}  not an instruction");
        };
        let symbol = self.symbol(pc).unwrap_or_default();
        let width = usize::from(instruction.size) * 2;
        let mut text = format!(
            "{pc:08x}  {:<8}  {symbol:<28}  ",
            format!("{:0width$x}", instruction.encoding)
        );
        let _ = write!(text, "{instruction}");
        if let Some(place) = instruction.target.and_then(|target| self.symbol(target)) {
            let _ = write!(text, "  ; {place}");
        }
        self.known.insert(key, text.clone());
        text
    }
}

impl Observer for Trace<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let (cycle, pc) = (machine.cycles().0, machine.register(Register::Pc));
        if self.on {
            self.on = !self.to.is_some_and(|to| to.is_reached(cycle, pc));
        } else {
            let ended = matches!(self.to, Some(Mark::Cycle(at)) if cycle >= at);
            self.on = !ended && self.from.is_some_and(|from| from.is_reached(cycle, pc));
            // A cycle comes only once.
            self.from = self.from.filter(|from| !self.on || matches!(from, Mark::Address(_)));
        }
        if self.on {
            let text = self.text(machine, pc);
            self.line(format_args!("{cycle:>10}  {text}"));
        }
        if self.result.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn slept(&mut self, machine: &Machine) {
        if self.on {
            self.line(format_args!("{:>10}  -- slept", machine.cycles().0));
        }
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        if self.on {
            let (cycle, name) = (machine.cycles().0, machine.soc().core.exception_name(exception));
            self.line(format_args!("{cycle:>10}  -- {name} entered"));
        }
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        if self.on {
            let (cycle, name) = (machine.cycles().0, machine.soc().core.exception_name(exception));
            self.line(format_args!("{cycle:>10}  -- {name} returned"));
        }
    }
}
