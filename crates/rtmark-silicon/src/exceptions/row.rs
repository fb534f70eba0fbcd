//! The measurements: programs with exceptions, and what a chip's counters showed of them.

use serde::Deserialize;
use serde_json::Value;

use crate::corpus::{bytes, hex, register};

/// An instruction as written in the file: address, opcode, and the registers it changed.
type InstructionText = (String, String, String);

/// One row of the file.
#[derive(Debug, Deserialize)]
pub struct ExceptionRow {
    pub kind: ExceptionTest,
    /// The test it comes from, and its number there.
    pub test: String,
    pub run: u64,
    pub cause: String,
    /// Where the interrupted code, the handler and the vector table were.
    pub code: String,
    pub handler: Option<String>,
    pub vectors: Option<String>,
    pub line_buffer: bool,
    /// The DWT counter read.
    pub counter: String,
    #[serde(default)]
    pub measured: Vec<Difference>,
    /// Instructions executed after the pending store, before the handlers of the first and of the
    /// second exception.
    pub instructions_between_pend_and_entry: Option<u64>,
    pub instructions_between_second_pend_and_entry: Option<u64>,
    /// The priorities of interrupts 0 and 1, in hexadecimal.
    pub priorities: Option<Vec<String>>,
    pub prigroup: Option<u32>,
    /// Instructions before the program.
    #[serde(default)]
    pub lead: String,
    regs: String,
    /// The index of the store that pends an exception.
    pub pend: Option<usize>,
    #[serde(default)]
    thread: Vec<InstructionText>,
    #[serde(default)]
    handlers: Vec<HandlerText>,
    /// The special register that a handler writes, with the values written first and read back.
    pub special: Option<String>,
    pub first_written: Option<u32>,
    pub read_back: Option<u32>,
    /// SysTick registers when they were read.
    pub values: Option<Values>,
    pub reload: Option<u32>,
    #[serde(default)]
    columns: Vec<String>,
    #[serde(default)]
    moments: Vec<Vec<Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExceptionTest {
    /// A store pends an exception, or SysTick counts without interrupting.
    Single,
    /// SysTick interrupts one program at many moments.
    Sweep,
    /// Instructions inside a handler.
    Handler,
}

impl ExceptionTest {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Sweep => "sweep",
            Self::Handler => "handler",
        }
    }
}

/// How far a counter advanced between two readings.
#[derive(Debug, Deserialize)]
pub struct Difference {
    pub from: String,
    pub to: String,
    pub value: u64,
}

#[derive(Debug, Deserialize)]
struct HandlerText {
    exc: String,
    steps: Vec<InstructionText>,
}

#[derive(Debug, Deserialize)]
pub struct Values {
    csr_first_read: u32,
    csr_second_read: u32,
    cvr_r6: u32,
    cvr_r7: u32,
}

impl Values {
    /// Returns the registers that received these values, with the values.
    pub const fn by_register(&self) -> [(u8, u32); 4] {
        [(3, self.csr_first_read), (4, self.csr_second_read), (6, self.cvr_r6), (7, self.cvr_r7)]
    }
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct PathStep {
    pub address: u32,
    /// The opcode's bytes in memory order.
    pub bytes: Vec<u8>,
    /// The registers it changed, by number, with their new values.
    pub changes: Vec<(u8, u32)>,
}

/// An exception's handler.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The exception's number.
    pub exception: u32,
    pub steps: Vec<PathStep>,
}

/// One moment of a sweep.
#[derive(Debug)]
pub struct Moment {
    pub reload: u32,
    /// Address of the program.
    pub address: u32,
    /// The index of the first instruction not executed.
    pub next: u64,
    /// The index of the program's instruction from which `cycles` counts, up to the handler.
    pub from: u64,
    pub cycles: u64,
    pub cpicnt: Option<u64>,
    pub lsucnt: Option<u64>,
}

/// A sweep whose moments cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedSweep {
    #[error("a sweep without moments")]
    Empty,
    #[error("moment {moment} of the sweep has no `{column}` that can be read")]
    Value {
        /// Counted from 1.
        moment: usize,
        column: &'static str,
    },
}

fn step((address, opcode, changes): &InstructionText) -> Option<PathStep> {
    let changes = changes.split_whitespace().filter_map(|change| {
        let (name, value) = change.split_once('=')?;
        Some((register(name)?, hex(value)?))
    });
    Some(PathStep { address: hex(address)?, bytes: bytes(opcode)?, changes: changes.collect() })
}

/// Returns the number of an exception by its name.
fn exception(name: &str) -> Option<u32> {
    match name {
        "NMI" => Some(2),
        "SysTick" => Some(15),
        _ => Some(16 + name.strip_prefix("IRQ ")?.parse::<u32>().ok()?),
    }
}

impl ExceptionRow {
    /// Returns the interrupted program, or `None` for a malformed row.
    pub fn thread(&self) -> Option<Vec<PathStep>> {
        self.thread.iter().map(step).collect()
    }

    pub fn handlers(&self) -> Option<Vec<Handler>> {
        let handlers = self.handlers.iter().map(|handler| {
            let steps = handler.steps.iter().map(step).collect::<Option<_>>()?;
            Some(Handler { exception: exception(&handler.exc)?, steps })
        });
        handlers.collect()
    }

    /// Returns the instructions executed immediately before the program, with no branch in between.
    pub fn lead(&self) -> Option<Vec<PathStep>> {
        let lead = self.lead.split_whitespace().map(|text| {
            let (address, opcode) = text.split_once(':')?;
            Some(PathStep { address: hex(address)?, bytes: bytes(opcode)?, changes: Vec::new() })
        });
        let lead: Vec<_> = lead.collect::<Option<_>>()?;
        let mut next = hex(&self.thread.first()?.0)?;
        let behind = lead.iter().rev().take_while(|step| {
            let leads_here = step.address + step.bytes.len() as u32 == next;
            next = step.address;
            leads_here
        });
        let count = behind.count();
        Some(lead[lead.len() - count..].to_vec())
    }

    /// Returns the registers at the program's start: R0 to R12, SP, LR, xPSR.
    pub fn registers(&self) -> Option<Vec<u32>> {
        self.regs.split_whitespace().map(hex).collect()
    }

    /// Returns the moments of a sweep, at least one.
    ///
    /// # Errors
    /// When the row has none, or one that lacks a value.
    pub fn moments(&self) -> Result<Vec<Moment>, MalformedSweep> {
        if self.moments.is_empty() {
            return Err(MalformedSweep::Empty);
        }
        self.moments.iter().enumerate().map(|(at, cells)| self.moment(at, cells)).collect()
    }

    fn moment(&self, at: usize, cells: &[Value]) -> Result<Moment, MalformedSweep> {
        let missing = |column| MalformedSweep::Value { moment: at + 1, column };
        let cell = |column: &str| {
            let at = self.columns.iter().position(|name| name == column)?;
            cells.get(at)
        };
        let number = |column| cell(column).and_then(Value::as_u64).ok_or_else(|| missing(column));
        // The file has no number where the counter was not read.
        let counted = |column| match cell(column) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| missing(column)),
        };
        Ok(Moment {
            reload: u32::try_from(number("reload")?).map_err(|_| missing("reload"))?,
            address: cell("address")
                .and_then(Value::as_str)
                .and_then(hex)
                .ok_or_else(|| missing("address"))?,
            next: number("next")?,
            from: number("from")?,
            cycles: number("cycles")?,
            cpicnt: counted("cpicnt")?,
            lsucnt: counted("lsucnt")?,
        })
    }
}
