//! A limit ends a run and changes nothing: wherever a run is cut, it goes on as if it had not been,
//! and where it stands is where an observed one does.
//!
//! [`crate::modes`] cuts long runs at moments by chance; here short ones are cut at every cycle,
//! while interrupts come at any point of what instructions and exceptions do.

use rtmark_sim::{CoreKind, Cycles, Machine, Observer, Register, Soc, Stop};

use crate::support::programs::{self, Contents, FEW, timings};
use crate::support::*;

/// Cycles in which a run is cut, and up to which it goes on.
const CUTS: u64 = 2_000;
const END: u64 = 3_000;
/// So many cuts begin with one copy. What a cut may have changed is looked for so much later.
const WINDOW: u64 = 100;
const LATER: u64 = 200;
const SEEDS: u64 = 2;

const CORES: [CoreKind; 5] = [
    CoreKind::CortexM3,
    CoreKind::CortexM4F,
    CoreKind::CortexM7,
    CoreKind::CortexM33,
    CoreKind::CortexM0Plus,
];

struct NullObserver;

impl Observer for NullObserver {}

/// What a run has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    stop: Stop,
    cycles: Cycles,
    /// Instructions, those that gave way, and exceptions.
    counts: [u64; 3],
    /// R0 to R14, the program counter, the status and the process stack's pointer.
    registers: [u32; 18],
    ram: Vec<u8>,
}

impl State {
    fn of(machine: &Machine, stop: Stop) -> Self {
        let special = [Register::Pc, Register::Xpsr, Register::Psp];
        let names = (0..15).map(Register::R).chain(special);
        let mut registers = [0; 18];
        for (value, register) in registers.iter_mut().zip(names) {
            *value = machine.register(register);
        }
        Self {
            stop,
            cycles: machine.cycles(),
            counts: [
                machine.instructions().0,
                machine.abandoned_instructions().0,
                machine.exceptions_taken(),
            ],
            registers,
            ram: machine.peek(RAM, 0x4000),
        }
    }

    /// What becomes of a run to a cycle.
    fn after(machine: &mut Machine, until: u64) -> Self {
        let stop = machine.run(Cycles(until));
        Self::of(machine, stop)
    }

    #[track_caller]
    fn assert_is(&self, other: &Self, what: impl Fn() -> String) {
        if self == other {
            return;
        }
        let at = self.ram.iter().zip(&other.ram).position(|(one, other)| one != other);
        let at = at.map(|at| format!("RAM differs from {:#x} on", RAM + at as u32));
        let [one, other] = [self, other].map(|state| Self { ram: Vec::new(), ..state.clone() });
        panic!("{}:\n  {one:x?}\n  {other:x?}\n  {}", what(), at.unwrap_or_default());
    }
}

/// Runs a machine with each cut; answers how many exceptions were taken on the way.
fn cut_everywhere(machine: &Machine, what: &str) -> u64 {
    let whole = State::after(&mut machine.clone(), END);
    for from in (0..CUTS).step_by(WINDOW as usize) {
        let mut before = machine.clone();
        if before.run(Cycles(from)) != Stop::Limit {
            break;
        }
        State::after(&mut before.clone(), END).assert_is(&whole, || format!("{what}, {from}"));
        let until = from + WINDOW + LATER;
        let uncut = State::after(&mut before.clone(), until);
        let mut observed = before.clone();
        for cut in from + 1..=from + WINDOW {
            let mut machine = before.clone();
            let stop = observed.run_observed(Cycles(cut), &mut NullObserver);
            let there = State::of(&observed, stop);
            State::after(&mut machine, cut).assert_is(&there, || format!("{what} at {cut}"));
            if there.stop != Stop::Limit {
                break;
            }
            let state = State::after(&mut machine, until);
            state.assert_is(&uncut, || format!("{what} from {from} to {until}, cut at {cut}"));
        }
    }
    whole.counts[2]
}

/// Programs by chance, of other seeds with each core.
fn cut_programs(core: CoreKind, first: u64) {
    let mut exceptions = 0;
    for (timing, seeds) in timings().into_iter().zip((first..).step_by(SEEDS as usize)) {
        for seed in seeds..seeds + SEEDS {
            let machine = programs::machine(core, timing, seed, FEW, Contents::Everything);
            exceptions += cut_everywhere(&machine, &format!("{core} {timing:?} seed {seed}"));
        }
    }
    assert!(exceptions > 200, "too few exceptions to tell: {exceptions}");
}

#[test]
fn a_cortex_m3_can_be_stopped_at_any_cycle() {
    cut_programs(CoreKind::CortexM3, 300);
}

#[test]
fn a_cortex_m4f_can_be_stopped_at_any_cycle() {
    cut_programs(CoreKind::CortexM4F, 320);
}

#[test]
fn a_cortex_m33_can_be_stopped_at_any_cycle() {
    cut_programs(CoreKind::CortexM33, 340);
}

#[test]
fn a_cortex_m7_can_be_stopped_at_any_cycle() {
    cut_programs(CoreKind::CortexM7, 380);
}

#[test]
fn a_cortex_m0plus_can_be_stopped_at_any_cycle() {
    cut_programs(CoreKind::CortexM0Plus, 360);
}

/// A register says how slow flash is, which the file does not say: the target of a jump takes longer
/// to be fetched than the time before an interrupt in which instructions are looked at one by one.
#[test]
fn runs_can_be_stopped_during_a_jumps_fetch() {
    const ACR: u32 = 0x4000_0000;
    for core in CORES {
        let soc = Soc::from_toml(&format!(
            r#"
            name = "slowed"
            description = "a register says how slow flash is"
            core = "{core}"
            clock_hz = 1_000_000
            interrupts = 32
            priority_bits = {}
            memory = [
                {{ name = "FLASH", kind = "flash", base = 0, size = 0x4000 }},
                {{ name = "RAM", kind = "ram", base = {RAM}, size = 0x4000 }},
            ]
            [[peripheral]]
            name = "FLASH_IF"
            kind = "registers"
            base = {ACR}
            [[peripheral.register]]
            name = "ACR"
            offset = 0
            controls = {{ memory = "FLASH", wait_states = [0, 8] }}
            "#,
            if core.is_mainline() { 4 } else { 2 }
        ))
        .expect("a soc");
        for waits in [25, 45] {
            let mut firmware = Firmware::new();
            firmware.store(SYST_RVR, 211).store(SYST_CVR, 0).store(SYST_CSR, 7).store(ACR, waits);
            let top = firmware.here();
            // adds r0, #1; b over; nop, nop; over: adds r0, #1
            for _ in 0..8 {
                firmware.op(&[0x3001, 0xE001, NOP, NOP, 0x3001]);
            }
            let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
            firmware.op(&[0xE000 | back as u16 & 0x7FF]);
            firmware.handler(15).op(&[NOP, BX_LR]);
            let exceptions =
                cut_everywhere(&firmware.on_soc(&soc).machine, &format!("{core} {waits}"));
            assert!(exceptions > 5, "{core}: {exceptions}");
        }
    }
}

/// What a device will do is seen by letting a copy of it: its interrupts come no other way wherever
/// runs are cut.
#[test]
fn timer_interrupts_do_not_depend_on_where_runs_stop() {
    const TIM2: u32 = 0x4000_0000;
    let socs = [
        include_str!("../../../../socs/stm32f100.toml"),
        include_str!("../../../../socs/stm32f405.toml"),
    ];
    for soc in socs {
        let soc = Soc::from_toml(soc).expect("a soc");
        let mut firmware = Firmware::new();
        // ARR, DIER.UIE, CR1.CEN
        firmware.store(TIM2 + 0x2C, 92).store(TIM2 + 0xC, 1).store(TIM2, 1).enable(1 << 28);
        firmware.set(6, RAM + 0x100).set(4, 0x1_0000);
        let top = firmware.here();
        // stmia r6!, {r0-r3}; subs r6, #16; ldmia r6!, {r0-r3}; subs r6, #16; adds r5, #1
        firmware.op(&[0xC60F, 0x3E10, 0xCE0F, 0x3E10, 0x3501]);
        // udiv r3, r4, r5; str r3, [r6, #32]; ldr r2, [r6, #32]; b, over two instructions
        firmware.op(&[0xFBB4, 0xF3F5, 0x6233, 0x6A32, 0xE001, NOP, NOP]);
        let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
        firmware.op(&[0xE000 | back as u16 & 0x7FF]);
        firmware.handler(16 + 28).store(TIM2 + 0x10, 0).op(&[BX_LR]);
        let mut machine = firmware.on_soc(&soc).machine;
        machine.set_register(Register::Msp, RAM + 0x1000);
        let exceptions = cut_everywhere(&machine, &soc.name);
        assert!(exceptions > 10, "{}: {exceptions}", soc.name);
    }
}
