//! Runs the same programs on the model, and determines how far both agree.

use rtmark_sim::riscv::{Drive, Input, PipelineObserver, PortWaits, RiscV, TrapKind};
use rtmark_sim::{Cycles, FaultPolicy, Machine, Soc};

use super::bench::{Retired, Trace};
use super::generate::{BASE, DATA, Program, RAM, SIZE};

const SOC: &str = include_str!("../../../../socs/generic-ibex.toml");

/// The agreement of a run.
#[derive(Clone, Debug, Default)]
pub struct Match {
    pub instructions: u64,
    /// Instructions at the RTL's address that take as many cycles.
    pub exact: u64,
    /// Instructions at the RTL's address that write the same value to the same register, or trap
    /// likewise.
    pub equal: u64,
    pub entries: u64,
    /// Interrupts with the jump to the handler in the same cycle.
    pub exact_entries: u64,
    /// Whether the final data is the same.
    pub memory: bool,
    /// The first instruction that differs, in words.
    pub first: Option<String>,
}

/// What the model does.
#[derive(Debug, Default)]
struct Model {
    retired: Vec<Retired>,
    entered: Vec<u64>,
    wrote: Option<(u8, u32)>,
    wanted: usize,
}

impl PipelineObserver for Model {
    fn left(&mut self, pc: u32, cycle: u64) {
        let (rd, value) = self.wrote.take().unwrap_or_default();
        self.retired.push(Retired { cycle, pc, traps: false, rd, value });
    }

    fn wrote(&mut self, register: u8, value: u32, _cycle: u64) {
        self.wrote = Some((register, value));
    }

    fn trapped(&mut self, what: TrapKind, cycle: u64, _return_to: u32) {
        match what {
            TrapKind::Exception(_) => {
                if let Some(last) = self.retired.last_mut() {
                    last.traps = true;
                }
            }
            TrapKind::Interrupt(_) => self.entered.push(cycle),
            TrapKind::Return => {}
        }
    }

    fn is_done(&self) -> bool {
        self.retired.len() >= self.wanted
    }
}

/// The interrupt input of a line, in the testbench's numbering.
const fn input(line: u16) -> Input {
    match line {
        0 => Input::Software,
        1 => Input::Timer,
        2 => Input::External(15),
        fast => Input::External(fast - 3),
    }
}

fn core(machine: &mut Machine) -> &mut RiscV {
    machine.riscv().unwrap_or_else(|| panic!("generic-ibex has another core"))
}

/// Returns a machine that is about to run a program.
fn machine(program: &Program, (instruction, data): (u8, u8)) -> Machine {
    let soc = Soc::from_toml(SOC).unwrap_or_else(|error| panic!("generic-ibex: {error}"));
    let mut machine = Machine::new(&soc);
    machine.set_fault_policy(FaultPolicy::Deliver);
    core(&mut machine).set_port_waits(PortWaits { instruction, data });
    let fits = machine.poke(RAM, &vec![0; SIZE as usize]).is_ok()
        && machine.poke(BASE, &vec![0; SIZE as usize]).is_ok()
        && machine.poke(BASE, &program.image).is_ok();
    assert!(fits, "the program does not fit its soc");
    let mut before = 0;
    for (cycle, bits) in &program.lines {
        for line in (0..18).filter(|line| (bits ^ before) >> line & 1 == 1) {
            let drive = if bits >> line & 1 == 1 { Drive::High } else { Drive::Low };
            core(&mut machine).drive(input(line), drive, Cycles(*cycle));
        }
        before = *bits;
    }
    machine
}

/// Runs a program on the model, and compares it.
pub fn compare(program: &Program, waits: (u8, u8), rtl: &Trace) -> Match {
    let mut machine = machine(program, waits);
    let mut model = Model { wanted: rtl.retired.len(), ..Model::default() };
    let end = rtl.retired.last().map_or(0, |last| last.cycle) + 1000;
    core(&mut machine).run_with_observer(Cycles(end), &mut model);
    // The exception of the last instruction, if any, is not waited for.
    let mut agreement = Match {
        instructions: rtl.retired.len() as u64,
        entries: rtl.entered.len() as u64,
        exact_entries: rtl.entered.iter().zip(&model.entered).filter(|(a, b)| a == b).count()
            as u64,
        memory: stored(rtl) == machine.peek(*DATA.start(), DATA.count()),
        ..Match::default()
    };
    let (mut before, mut own_before) = (0, 0);
    for (index, rtl) in rtl.retired.iter().enumerate() {
        let own = model.retired.get(index).filter(|own| own.pc == rtl.pc);
        let Some(own) = own else {
            let other = model.retired.get(index).map_or(0, |own| own.pc);
            agreement.first.get_or_insert_with(|| {
                format!("instruction {index}: at {other:#010x}, of the RTL at {:#010x}", rtl.pc)
            });
            break;
        };
        let (taken, own_taken) = (rtl.cycle - before, own.cycle - own_before);
        (before, own_before) = (rtl.cycle, own.cycle);
        let same = if rtl.traps || own.traps {
            rtl.traps == own.traps
        } else {
            own.rd == rtl.rd && (rtl.rd == 0 || own.value == rtl.value)
        };
        agreement.exact += u64::from(taken == own_taken);
        agreement.equal += u64::from(same);
        if taken != own_taken || !same {
            agreement.first.get_or_insert_with(|| {
                let mut bits = [0; 4];
                bits.iter_mut().zip(machine.peek(rtl.pc, 4)).for_each(|(bit, byte)| *bit = byte);
                format!(
                    "instruction {index} at {:#010x} ({:#010x}): {own_taken} cycles for the RTL's \
                     {taken}, {own:x?} for {rtl:x?}",
                    rtl.pc,
                    u32::from_le_bytes(bits),
                )
            });
        }
    }
    agreement
}

/// Returns the final data, from the stores of the RTL.
fn stored(rtl: &Trace) -> Vec<u8> {
    let mut data = vec![0; DATA.count()];
    for store in &rtl.stored {
        for byte in (0..4).filter(|byte| store.bytes >> byte & 1 == 1) {
            let at = store.address.wrapping_add(byte).wrapping_sub(*DATA.start()) as usize;
            if let Some(place) = data.get_mut(at) {
                *place = store.value.to_le_bytes()[byte as usize];
            }
        }
    }
    data
}
