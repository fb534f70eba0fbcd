//! Runs the same block one instruction at a time on both sides.

use std::fmt::Write as _;
use std::time::Duration;

use rtmark_sim::{Cycles, Machine, Register, Stop};
use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv7::InstDecoder;

use super::generate::{Block, Program};
use crate::qemu::{Qemu, QemuError, Scratch};

const DEADLINE: Duration = Duration::from_mins(1);

/// The registers before an instruction: r0 to r14, the program counter, the status,
/// then the floating-point ones where the program has any.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State(Vec<u32>);

const PC: usize = 15;

fn names(float: bool) -> Vec<String> {
    let mut names: Vec<_> = (0..15).map(|at| format!("r{at}")).collect();
    names.extend(["pc".to_owned(), "xpsr".to_owned()]);
    if float {
        names.extend((0..32).map(|at| format!("s{at}")));
        names.push("fpscr".to_owned());
    }
    names
}

/// Finds the first instruction of a block after which the sides differ.
pub fn locate(program: &Program, block: Block, pass: usize) -> Result<String, QemuError> {
    let theirs = theirs(program, block)?;
    let ours = with_faulting(ours(program, block, theirs.len()), &theirs);
    let mut text = String::new();
    let Some(at) = (0..theirs.len()).find(|&at| ours.get(at) != theirs.get(at)) else {
        let _ = writeln!(text, "  no instruction of the block differs when run one by one");
        return Ok(text);
    };
    let Some(guilty) = at.checked_sub(1) else {
        let _ = writeln!(text, "  the sides differ before the block's first instruction");
        return Ok(text);
    };
    let _ = writeln!(text, "  the last instructions before (pass {pass} or an earlier one):");
    for state in &theirs[guilty.saturating_sub(7)..=guilty] {
        let _ = writeln!(text, "    {}", disassemble(program, state.0[PC]));
    }
    let names = names(program.options.float);
    let empty = State(Vec::new());
    let (mine, other) = (ours.get(at).unwrap_or(&empty), &theirs[at]);
    for (index, name) in names.iter().enumerate() {
        let before = theirs[guilty].0.get(index);
        let (mine, other) = (mine.0.get(index), other.0.get(index));
        if mine != other {
            let show = |word: Option<&u32>| super::hex(word.copied());
            let _ = writeln!(
                text,
                "    {name}: {} here, {} there, {} before",
                show(mine),
                show(other),
                show(before)
            );
        }
    }
    let before: Vec<_> = names
        .iter()
        .zip(&theirs[guilty].0)
        .map(|(name, value)| format!("{name}={value:x}"))
        .collect();
    let _ = writeln!(text, "    before: {}", before.join(" "));
    Ok(text)
}

/// The states with those of faulting instructions, which the simulator does not count
/// as executed: the ones that only the other side has.
fn with_faulting(ours: Vec<State>, theirs: &[State]) -> Vec<State> {
    let mut whole: Vec<State> = Vec::new();
    for state in ours {
        let at = whole.len();
        if theirs.get(at) != Some(&state) && theirs.get(at + 1) == Some(&state) {
            whole.push(theirs[at].clone());
        }
        whole.push(state);
    }
    whole
}

/// The block around an address, up to there.
pub fn listing(program: &Program, address: u32) -> String {
    let mut text = String::new();
    let block = program.blocks.iter().rfind(|block| block.start <= address);
    let mut at = block.map_or(address, |block| block.start);
    while at <= address {
        let _ = writeln!(text, "    {}", disassemble(program, at));
        let first = program.image.get(at as usize + 1).copied().unwrap_or(0);
        at += if first >> 3 >= 0b11101 { 4 } else { 2 };
    }
    text
}

fn disassemble(program: &Program, address: u32) -> String {
    let at = address as usize;
    let bytes: Vec<u8> = program.image.iter().skip(at).take(4).copied().collect();
    let wide = bytes.get(1).is_some_and(|byte| byte >> 3 >= 0b11101);
    let halves: Vec<_> = bytes
        .chunks(2)
        .take(if wide { 2 } else { 1 })
        .map(|half| format!("{:02x}{:02x}", half.get(1).unwrap_or(&0), half[0]))
        .collect();
    let decoded = InstDecoder::default_thumb().decode(&mut U8Reader::new(&bytes));
    let text = decoded.map_or_else(|_| String::new(), |instruction| instruction.to_string());
    format!("{address:#x}: {} {text}", halves.join(" "))
}

fn ours(program: &Program, block: Block, most: usize) -> Vec<State> {
    let mut machine = super::machine(program);
    let mut states = Vec::new();
    let range = block.start..block.end & !1;
    while states.len() < most {
        let before = range
            .contains(&machine.register(Register::Pc))
            .then(|| (state(&machine, program.options.float), machine.instructions()));
        let stop = machine.run(Cycles(machine.cycles().0 + 1));
        // A state that begins with an exception has not executed the instruction yet.
        if let Some((state, executed)) = before
            && machine.instructions() > executed
        {
            states.push(state);
        }
        if stop != Stop::Limit {
            break;
        }
    }
    states
}

fn state(machine: &Machine, float: bool) -> State {
    let mut words: Vec<_> = (0..15).map(|at| machine.register(Register::R(at))).collect();
    words.extend([machine.register(Register::Pc), machine.register(Register::Xpsr)]);
    if float {
        words.extend((0..32).map(|at| machine.register(Register::S(at))));
        words.push(machine.register(Register::Fpscr));
    }
    State(words)
}

/// QEMU's own log of the registers before each instruction in the block.
fn theirs(program: &Program, block: Block) -> Result<Vec<State>, QemuError> {
    let image = Scratch::new(&program.image)?;
    let log = Scratch::new(&[])?;
    let range = format!("{:#x}..{:#x}", block.start, block.end & !1);
    let items = if program.options.float { "cpu,fpu,nochain" } else { "cpu,nochain" };
    let path = log.path().to_string_lossy().into_owned();
    let extra = ["-singlestep", "-d", items, "-dfilter", &range, "-D", &path];
    Qemu::start(program.layout.machine, image.path(), program.layout.vectors, &extra)?
        .finish(DEADLINE)?;
    let text = std::fs::read_to_string(log.path())?;
    Ok(parse(&text, program.options.float))
}

/// Reads `R00=… R01=…`, `XPSR=…`, `s00=… s01=…`, `FPSCR: …`.
fn parse(text: &str, float: bool) -> Vec<State> {
    let words = names(float).len();
    let mut states: Vec<State> = Vec::new();
    for token in text.split_whitespace().collect::<Vec<_>>().windows(2) {
        let field = match token[0].split_once('=') {
            Some((name, value)) => Some((name, value)),
            None if token[0] == "FPSCR:" => Some(("FPSCR", token[1])),
            None => None,
        };
        let Some((name, value)) = field else { continue };
        let Ok(value) = u32::from_str_radix(value, 16) else { continue };
        let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
        let at = if name == "XPSR" {
            16
        } else if name == "FPSCR" {
            49
        } else if let Some(number) = number("R") {
            number
        } else if let Some(number) = number("s") {
            17 + number
        } else {
            continue;
        };
        if at == 0 {
            states.push(State(vec![0; words]));
        }
        if let Some(state) = states.last_mut()
            && let Some(word) = state.0.get_mut(at)
        {
            *word = value;
        }
    }
    states
}
