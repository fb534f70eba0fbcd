//! Registers in the order of GDB's target description.
//!
//! The features are those that GDB defines. For Arm's cores ("ARM Features" in its manual): core
//! registers, double registers over the single ones, and system registers of M-profile cores.

use std::fmt::Write as _;

use gdbstub::arch::{Arch, Registers};
use rtmark_sim::{CoreKind, Machine, Register};

/// A 32-bit core, described by its own target description.
#[derive(Debug)]
pub enum Core {}

impl Arch for Core {
    type Usize = u32;
    type Registers = Values;
    type BreakpointKind = usize;
    type RegId = ();
}

/// The registers in the description's order; doubles are two words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(pub Vec<u32>);

impl Registers for Values {
    type ProgramCounter = u32;

    /// Nobody asks for it.
    fn pc(&self) -> u32 {
        0
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for byte in self.0.iter().flat_map(|word| word.to_le_bytes()) {
            write_byte(Some(byte));
        }
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let (words, rest) = bytes.as_chunks::<4>();
        self.0 = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        if rest.is_empty() { Ok(()) } else { Err(()) }
    }
}

/// Returns all registers as words, in the order of [`description`].
pub fn all(machine: &Machine) -> Vec<Register> {
    if machine.soc().core.is_riscv() {
        return machine.named_registers().into_iter().map(|(_, register)| register).collect();
    }
    let core = (0..15).map(Register::R).chain([Register::Pc, Register::Xpsr]);
    let float = (0..32).map(Register::S).chain([Register::Fpscr]);
    let system = SYSTEM.map(|(_, register)| register);
    core.chain(float).chain(system).filter(|register| machine.has_register(*register)).collect()
}

const SYSTEM: [(&str, Register); 6] = [
    ("msp", Register::Msp),
    ("psp", Register::Psp),
    ("primask", Register::Primask),
    ("basepri", Register::Basepri),
    ("faultmask", Register::Faultmask),
    ("control", Register::Control),
];

/// Returns the target description of the machine's core.
pub fn description(machine: &Machine) -> String {
    match machine.soc().core {
        CoreKind::Hazard3 | CoreKind::Ibex => riscv(machine),
        CoreKind::CortexR5 => arm(machine, "core", "cpsr"),
        _ => arm(machine, "m-profile", "xpsr"),
    }
}

const HEAD: &str = "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">\
                    <target version=\"1.0\">";

fn register(xml: &mut String, name: &str, bits: u32, kind: &str) {
    let _ = write!(xml, "<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{kind}\"/>");
}

/// GDB's features of RISC-V ("RISC-V Features" in its manual): the integer registers with the
/// program counter, and control and status registers.
fn riscv(machine: &Machine) -> String {
    let mut xml = format!(
        "{HEAD}<architecture>riscv:rv32</architecture><feature name=\"org.gnu.gdb.riscv.cpu\">"
    );
    for (name, known) in machine.named_registers() {
        let kind = match (name, known) {
            ("sp" | "gp" | "tp" | "fp", _) => "data_ptr",
            ("ra" | "pc", _) => "code_ptr",
            _ => "int",
        };
        register(&mut xml, name, 32, kind);
        if known == Register::Pc {
            xml.push_str("</feature><feature name=\"org.gnu.gdb.riscv.csr\">");
        }
    }
    xml.push_str("</feature></target>");
    xml
}

/// Describes the features of Arm's cores ("ARM Features"), given the names of core and status
/// registers.
fn arm(machine: &Machine, profile: &str, status: &str) -> String {
    let mut xml = format!(
        "{HEAD}<architecture>arm</architecture><feature name=\"org.gnu.gdb.arm.{profile}\">"
    );
    for at in 0..13 {
        register(&mut xml, &format!("r{at}"), 32, "uint32");
    }
    register(&mut xml, "sp", 32, "data_ptr");
    register(&mut xml, "lr", 32, "uint32");
    register(&mut xml, "pc", 32, "code_ptr");
    register(&mut xml, status, 32, "uint32");
    if machine.has_register(Register::Fpscr) {
        xml.push_str("</feature><feature name=\"org.gnu.gdb.arm.vfp\">");
        for at in 0..16 {
            register(&mut xml, &format!("d{at}"), 64, "ieee_double");
        }
        register(&mut xml, "fpscr", 32, "uint32");
    }
    let mut system = SYSTEM.iter().filter(|(_, it)| machine.has_register(*it)).peekable();
    if system.peek().is_some() {
        xml.push_str("</feature><feature name=\"org.gnu.gdb.arm.m-system\">");
    }
    for (name, _) in system {
        register(&mut xml, name, 32, "uint32");
    }
    xml.push_str("</feature></target>");
    xml
}
