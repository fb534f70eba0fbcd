//! Any bytes as the firmware of any core, run, observed, stepped, and gone on with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtmark_sim::{
    Bound, CoreKind, Cycles, FaultPolicy, Machine, Observer, Register, Soc, Stop, Elapsed,
};

struct Nobody;

impl Observer for Nobody {}

const REGISTERS: [Register; 9] = [
    Register::R(0),
    Register::R(1),
    Register::R(13),
    Register::R(14),
    Register::Pc,
    Register::Xpsr,
    Register::Primask,
    Register::Basepri,
    Register::Control,
];

/// Each core with memories that never wait, and chips whose memories have wait states, read-ahead buffers
/// and caches.
const SOCS: [&str; 19] = [
    include_str!("../../socs/stm32c031.toml"),
    include_str!("../../socs/stm32f100.toml"),
    include_str!("../../socs/stm32f405.toml"),
    include_str!("../../socs/mps2-an505.toml"),
    include_str!("../../socs/generic-cortex-m0.toml"),
    include_str!("../../socs/generic-cortex-m0plus.toml"),
    include_str!("../../socs/generic-cortex-m3.toml"),
    include_str!("../../socs/generic-cortex-m4.toml"),
    include_str!("../../socs/generic-cortex-m7.toml"),
    include_str!("../../socs/generic-cortex-m33.toml"),
    include_str!("../../socs/generic-hazard3.toml"),
    include_str!("../../socs/generic-ibex.toml"),
    include_str!("../../socs/rp2040.toml"),
    include_str!("../../socs/rp2350.toml"),
    include_str!("../../socs/rp2350-riscv.toml"),
    include_str!("../../socs/nrf52840.toml"),
    include_str!("../../socs/stm32h743.toml"),
    include_str!("../../socs/imxrt1062.toml"),
    include_str!("../../socs/zynqmp-r5.toml"),
];

/// As much of a memory as is compared.
const MOST_COMPARED: u32 = 0x4_0000;

/// What code begins with: a stack pointer and a vector on Cortex-M, nothing elsewhere.
fn vectors(core: CoreKind, sp: u32, reset: u32) -> Vec<u8> {
    match core {
        CoreKind::CortexR5 | CoreKind::Hazard3 | CoreKind::Ibex => Vec::new(),
        _ => [sp, reset].map(u32::to_le_bytes).concat(),
    }
}

fn assert_same(soc: &Soc, one: &Machine, other: &Machine) {
    assert_eq!(one.cycles(), other.cycles());
    assert_eq!(one.instructions(), other.instructions());
    for register in REGISTERS {
        assert_eq!(one.register(register), other.register(register), "{register:?}");
    }
    for memory in &soc.memories {
        let size = memory.size.min(MOST_COMPARED) as usize;
        assert!(one.peek(memory.base, size) == other.peek(memory.base, size));
    }
}

fuzz_target!(|input: (u8, u32, u32, &[u8])| {
    let (choice, sp, reset, code) = input;
    let soc = Soc::from_toml(SOCS[usize::from(choice & 0x7F) % SOCS.len()]).expect("good");
    let mut machine = Machine::new(&soc);
    if choice & 0x80 != 0 {
        machine.set_fault_policy(FaultPolicy::Deliver);
    }
    let base = soc.vector_base();
    let vectors = vectors(soc.core, sp, base + (reset & 0x3FF) | 1);
    let bytes = [&vectors, &code[..code.len().min(0x1000)]].concat();
    if machine.poke(base, &bytes).is_err() || machine.reset().is_err() {
        return;
    }
    for interrupt in 0..4 {
        machine.pend_interrupt(interrupt, Cycles(u64::from(reset >> 16)));
    }
    let mut observed = machine.clone();
    let mut stepped = machine.clone();
    let mut plain = machine.clone();
    plain.use_no_native_code();
    let until = Cycles(20_000);
    let stop = machine.run(until);
    let told = observed.run_observed(until, &mut Nobody);
    let last = loop {
        if let Err(stop) = stepped.step(until) {
            break stop;
        }
    };
    for (other, ended) in [(&observed, told), (&stepped, last)] {
        assert_eq!(stop, ended);
        assert_same(&soc, &machine, other);
    }
    // What executes often becomes native code.
    let until = Cycles(300_000);
    assert_eq!(machine.run(until), plain.run(until));
    assert_same(&soc, &machine, &plain);
    let _ = machine.step(Cycles(310_000));
    assert!(!matches!(stop, Stop::Internal(_)), "{stop:?}");
    assert_eq!(machine.internal_error(), None);
    assert_eq!(Bound::of(&soc).violation(&Elapsed::from(&machine)), None);
});
