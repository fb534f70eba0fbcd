//! Executes a program on the model, and compares everything the RTL did.

use rtmark_sim::riscv::{Drive, Input, PipelineObserver, PortWaits, TrapKind};
use rtmark_sim::{Cycles, FaultPolicy, Machine, Register, Soc};

use super::program::{Meta, Program, Run, Trap, bytes};

/// How far a run agrees.
#[expect(clippy::struct_excessive_bools, reason = "each tells of something else")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    pub instructions: u64,
    /// Instructions whose address and cycles equal the RTL's.
    pub exact: u64,
    pub entries: u64,
    /// Interrupts entered in the same cycle and before the same instruction.
    pub exact_entries: u64,
    pub whole: bool,
    pub registers: bool,
    pub writes: bool,
    pub memory: bool,
    pub traps: bool,
}

/// What the model did.
#[derive(Default)]
pub struct Trace {
    base: u32,
    wanted: usize,
    until: u64,
    /// The address and cycle of each instruction.
    pub left: Vec<(u32, u64)>,
    writes: crc32fast::Hasher,
    pub traps: Vec<Trap>,
}

impl PipelineObserver for Trace {
    fn left(&mut self, pc: u32, cycle: u64) {
        if self.left.len() < self.wanted {
            self.left.push((pc.wrapping_sub(self.base), cycle));
        }
    }

    /// Records a register write. The RTL's writes were recorded up to the cycle of the last
    /// instruction.
    fn wrote(&mut self, register: u8, value: u32, cycle: u64) {
        if cycle >= self.until {
            return;
        }
        let [a, b, c, d] = value.to_le_bytes();
        self.writes.update(&[register, a, b, c, d]);
    }

    fn trapped(&mut self, what: TrapKind, cycle: u64, return_to: u32) {
        let (kind, code) = match what {
            TrapKind::Exception(code) => (0, code),
            TrapKind::Interrupt(code) => (1, code),
            TrapKind::Return => (2, 0),
        };
        let back = i64::from(return_to) - i64::from(self.base);
        if self.left.len() < self.wanted {
            self.traps.push((cycle, kind, code, self.left.len(), back));
        }
    }
}

const RAM: usize = 0x8_2000;

fn soc() -> Result<Soc, rtmark_sim::SocError> {
    Soc::from_toml(include_str!("soc.toml"))
}

/// Executes a program with the settings of a run of the RTL.
pub fn execute(meta: &Meta, program: &Program, run: &Run) -> Option<(Trace, Machine)> {
    let mut machine = Machine::new(&soc().ok()?);
    machine.set_fault_policy(FaultPolicy::Deliver);
    machine.riscv()?.set_port_waits(PortWaits { instruction: run.iw, data: run.dw });
    machine.poke(meta.base, &vec![0; RAM]).ok()?;
    machine.poke(meta.base, &bytes(&program.img)?).ok()?;
    if program.data {
        machine.poke(meta.data_base, &meta.data).ok()?;
    }
    for (number, value) in (1..).zip(&program.regs) {
        machine.set_register(Register::R(number), *value);
    }
    for (cycle, line, level, falls) in &program.ev {
        let input = match line {
            0 => Input::Software,
            1 => Input::Timer,
            line => Input::External(line - 2),
        };
        let drive = match (level, falls) {
            (0, _) => Drive::Low,
            (_, 0) => Drive::High,
            _ => Drive::UntilTaken,
        };
        machine.riscv()?.drive(input, drive, Cycles(*cycle));
    }
    let mut trace =
        Trace { base: meta.base, wanted: run.n, until: run.t0 + run.total, ..Trace::default() };
    machine.riscv()?.run_with_observer(Cycles(run.t0 + run.total + 61), &mut trace);
    Some((trace, machine))
}

/// Returns the address of each instruction of a run.
pub fn places(program: &Program, run: &Run, deltas: usize) -> Option<Vec<u32>> {
    let path = run.path.as_ref().unwrap_or(&program.path);
    let mut jumps = path.as_chunks::<2>().0.iter().scan(0, |index, [distance, place]| {
        *index += *distance as usize;
        Some((*index, *place))
    });
    let image = bytes(&program.img)?;
    let (mut next, mut place) = (jumps.next(), 0);
    let mut places = Vec::with_capacity(deltas);
    for index in 0..deltas {
        if let Some((_, to)) = next.filter(|(at, _)| *at == index) {
            place = to;
            next = jumps.next();
        }
        places.push(place);
        let wide = image.get(place as usize).is_some_and(|low| low & 3 == 3);
        place += if wide { 4 } else { 2 };
    }
    Some(places)
}

/// Runs a program and compares it with the RTL.
pub fn agreement(meta: &Meta, program: &Program, run: &Run) -> Option<Agreement> {
    let records_traps = run.traps.is_some();
    let rtl_traps = run.traps.as_deref().unwrap_or_default();
    let (trace, machine) = execute(meta, program, run)?;
    let (instructions, exact) = match run.deltas() {
        Some(deltas) => {
            let places = places(program, run, deltas.len())?;
            let first = trace.left.first().map_or(0, |(_, cycle)| *cycle);
            let starts_with = u64::from(first == run.t0);
            let own = trace.left.windows(2).map(|pair| (pair[1].0, pair[1].1 - pair[0].1));
            let exact = own
                .zip(places.into_iter().zip(deltas).skip(1))
                .filter(|(own, rtl)| own == rtl)
                .count() as u64;
            (run.n as u64, exact + starts_with)
        }
        None => sums(&trace, run),
    };
    let entries =
        |traps: &[Trap]| traps.iter().filter(|trap| trap.1 == 1).copied().collect::<Vec<_>>();
    let (own, rtl) = (entries(&trace.traps), entries(rtl_traps));
    let same = |(own, rtl): &(&Trap, &Trap)| (own.0, own.2, own.3) == (rtl.0, rtl.2, rtl.3);
    // Traps are recorded only for some kinds of programs.
    let traps_equal = !records_traps
        || trace.traps.len() == rtl_traps.len()
            && trace.traps.iter().zip(rtl_traps).all(|(own, rtl)| {
                (own.0, own.1, own.3) == (rtl.0, rtl.1, rtl.3)
                    && (own.1 == 2 || (own.2, own.4) == (rtl.2, rtl.4))
            });
    // An exception is recorded with the number of the following instruction.
    let raised = trace.traps.iter().filter(|trap| trap.1 == 0).map(|trap| (trap.3 - 1, trap.2));
    let exceptions_equal = records_traps || raised.eq(run.exc.iter().copied());
    let registers = (1..32)
        .map(|number| machine.register(Register::R(number)))
        .eq(run.regs_end.iter().copied());
    let memory = crc32fast::hash(&machine.peek(meta.base, RAM));
    Some(Agreement {
        instructions,
        exact,
        entries: rtl.len() as u64,
        exact_entries: own.iter().zip(&rtl).filter(same).count() as u64,
        whole: exact == instructions && trace.left.len() == run.n,
        registers,
        writes: u32::from_str_radix(&run.wcrc, 16) == Ok(trace.writes.finalize()),
        memory: u32::from_str_radix(&run.mcrc, 16) == Ok(memory),
        traps: traps_equal && exceptions_equal,
    })
}

/// Returns the number of instructions, and how many of them are in groups of 64 whose cycles agree.
fn sums(trace: &Trace, run: &Run) -> (u64, u64) {
    let at = |index: usize| trace.left.get(index).map(|(_, cycle)| *cycle);
    let groups = run.w.as_deref().unwrap_or_default();
    let last = run.n.saturating_sub(1);
    let exact = groups.iter().enumerate().filter(|(number, sum)| {
        let (from, to) = (number * 64, (number * 64 + 64).min(last));
        at(from).zip(at(to)).is_some_and(|(from, to)| to - from == **sum)
    });
    let in_group = |number: usize| (run.n - number * 64).min(64) as u64;
    (run.n as u64, exact.map(|(number, _)| in_group(number)).sum())
}
