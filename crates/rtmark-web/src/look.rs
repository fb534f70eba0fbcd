//! The view of a moment: registers, the surrounding code, memory, the console.

use rtmark_sim::{AccessKind, Blocker, Machine, Register};
use serde::Serialize;

use crate::event::ChipTime;
use crate::session::Session;

/// The number of instructions shown before the present one, and from it on.
const BEFORE: usize = 10;
const BEHIND: usize = 22;
/// The distance in bytes at which a function's beginning is too far away to disassemble from.
const MAX_FUNCTION_BYTES: u32 = 0x4000;
/// The number of bytes of memory shown.
const MEMORY: u32 = 128;
const MAX_MEMORY: u32 = 4096;

/// A displayed instruction.
#[derive(Debug, Serialize)]
pub struct Row {
    address: u32,
    /// Its encoding in hexadecimal.
    bits: String,
    text: String,
    /// The function or object that it refers to.
    target: Option<String>,
    /// The function that contains it, with the offset from its beginning.
    function: Option<String>,
    /// The source line, from the debug information.
    line: Option<String>,
}

/// The view of a moment.
#[derive(Debug, Serialize)]
pub struct Moment {
    cycles: u64,
    instructions: u64,
    #[serde(flatten)]
    time: ChipTime,
    /// What is to be known of the clock by which the time passes.
    clock_notes: Vec<String>,
    /// The furthest cycle reached.
    reached: u64,
    /// The number of resets that the program requested: time counts from the last one.
    resets: u32,
    pc: u32,
    function: Option<String>,
    line: Option<String>,
    /// Functions that are inlined here, the outermost first.
    inlined: Vec<String>,
    /// The active handler.
    handler: Option<String>,
    /// What holds interrupts back.
    mask: Option<&'static str>,
    asleep: bool,
    /// The memory access of the next instruction: address, bytes, direction.
    access: Option<(u32, u32, &'static str)>,
    registers: Vec<(String, u32)>,
    code: Vec<Row>,
    memory: u32,
    /// In hexadecimal.
    bytes: String,
    console: String,
}

/// Returns the view of a session's present moment, with some bytes of memory: those at the stack
/// pointer by default.
pub fn moment(session: &Session, address: Option<u32>, bytes: Option<u32>) -> Moment {
    let machine = session.machine();
    let pc = machine.register(Register::Pc);
    let place = session.map().place(pc);
    let memory = address.unwrap_or_else(|| machine.register(Register::Sp)) & !0xF;
    let length = bytes.unwrap_or(MEMORY).min(MAX_MEMORY) as usize;
    let (cycles, instructions) = session.counts();
    let clock = session.clock();
    let exception = machine.exception();
    let access = machine.next_access().map(|access| {
        let kind = if access.kind == AccessKind::Read { "read" } else { "write" };
        (access.address, access.bytes, kind)
    });
    Moment {
        cycles,
        instructions,
        time: ChipTime::of(&clock),
        clock_notes: clock.notes.into_iter().map(|note| note.text).collect(),
        reached: session.reached(),
        resets: session.resets(),
        pc,
        line: place.source().map(|source| source.to_string()),
        function: symbol(session, pc).or(place.function),
        inlined: place.inlined,
        handler: (exception != 0).then(|| machine.soc().core.exception_name(exception)),
        mask: machine.mask().map(Blocker::name),
        asleep: machine.is_asleep(),
        access,
        registers: registers(machine),
        code: code(session, pc),
        memory,
        bytes: hex(&machine.peek(memory, length)),
        console: session.printed(),
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

fn registers(machine: &Machine) -> Vec<(String, u32)> {
    let of_arm = machine.has_register(Register::Xpsr);
    let named = |register: Register| {
        Some(match register {
            Register::R(13) if of_arm => "sp".to_owned(),
            Register::R(14) if of_arm => "lr".to_owned(),
            Register::R(number) if of_arm => format!("r{number}"),
            Register::R(number) => format!("x{number}"),
            Register::Pc => "pc".to_owned(),
            Register::Xpsr => "xpsr".to_owned(),
            Register::Msp => "msp".to_owned(),
            Register::Psp => "psp".to_owned(),
            Register::Primask => "primask".to_owned(),
            Register::Basepri => "basepri".to_owned(),
            Register::Faultmask => "faultmask".to_owned(),
            Register::Control => "control".to_owned(),
            Register::S(number) => format!("s{number}"),
            Register::Fpscr => "fpscr".to_owned(),
            _ => return None,
        })
    };
    let core = (0..32).map(Register::R);
    let system = [
        Register::Pc,
        Register::Xpsr,
        Register::Msp,
        Register::Psp,
        Register::Primask,
        Register::Basepri,
        Register::Faultmask,
        Register::Control,
        Register::Fpscr,
    ];
    core.chain(system)
        .chain((0..32).map(Register::S))
        .filter(|register| machine.has_register(*register))
        .filter_map(|register| Some((named(register)?, machine.register(register))))
        .collect()
}

/// Formats an address: `main+0x12`.
fn symbol(session: &Session, address: u32) -> Option<String> {
    let at = session.program().image.symbols().name_at(address)?;
    Some(rtmark_model::visible(at.to_string().as_bytes()))
}

/// Returns the instructions around one. Those before it are decoded from the beginning of its function;
/// if that does not lead to it, there are none.
fn code(session: &Session, pc: u32) -> Vec<Row> {
    let machine = session.machine();
    let begin = session.program().image.symbols().name_at(pc).map(|at| pc - at.offset);
    let mut before = Vec::new();
    let mut at = begin.filter(|begin| pc - begin < MAX_FUNCTION_BYTES).unwrap_or(pc) & !1;
    while at < pc {
        let Some(instruction) = machine.disassembly(at) else { break };
        before.push(at);
        at += u32::from(instruction.size.max(2));
    }
    if at != pc {
        before.clear();
    }
    let shown = before.split_off(before.len().saturating_sub(BEFORE));
    let mut next = pc;
    let behind = (0..BEHIND).map_while(|_| {
        let address = next;
        next = address.checked_add(u32::from(machine.disassembly(address)?.size.max(2)))?;
        Some(address)
    });
    shown.into_iter().chain(behind).filter_map(|address| row(session, address)).collect()
}

fn row(session: &Session, address: u32) -> Option<Row> {
    let instruction = session.machine().disassembly(address)?;
    let width = usize::from(instruction.size) * 2;
    Some(Row {
        address,
        bits: format!("{:0width$x}", instruction.encoding),
        text: instruction.to_string(),
        target: instruction.target.and_then(|target| symbol(session, target)),
        function: symbol(session, address),
        line: session
            .lines()
            .and_then(|lines| lines.source(address))
            .map(|source| source.to_string()),
    })
}
