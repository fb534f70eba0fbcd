//! Any bytes as the firmware of any core, run, observed, stepped, and gone on with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtmark_sim::{
    Bound, Cycles, FaultPolicy, Machine, Observer, Register, Soc, Stop, Taken,
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

const SOCS: [&str; 4] = [
    include_str!("../../socs/stm32c031.toml"),
    include_str!("../../socs/stm32f100.toml"),
    include_str!("../../socs/stm32f405.toml"),
    include_str!("../../socs/mps2-an505.toml"),
];

fuzz_target!(|input: (u8, u32, u32, &[u8])| {
    let (choice, sp, reset, code) = input;
    let soc = Soc::from_toml(SOCS[usize::from(choice) % SOCS.len()]).expect("good");
    let mut machine = Machine::new(&soc);
    if choice & 0x80 != 0 {
        machine.set_fault_policy(FaultPolicy::Deliver);
    }
    let base = soc.memories[0].base;
    let vectors = [sp, base + (reset & 0x3FF) | 1].map(u32::to_le_bytes).concat();
    let bytes = [&vectors, &code[..code.len().min(0x1000)]].concat();
    if machine.poke(base, &bytes).is_err() || machine.reset().is_err() {
        return;
    }
    for interrupt in 0..4 {
        machine.pend_interrupt(interrupt, Cycles(u64::from(reset >> 16)));
    }
    let mut observed = machine.clone();
    let mut stepped = machine.clone();
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
        assert_eq!(machine.cycles(), other.cycles());
        assert_eq!(machine.instructions(), other.instructions());
        for register in REGISTERS {
            assert_eq!(machine.register(register), other.register(register), "{register:?}");
        }
        for memory in &soc.memories {
            let size = memory.size as usize;
            assert!(machine.peek(memory.base, size) == other.peek(memory.base, size));
        }
    }
    let _ = machine.step(Cycles(30_000));
    assert!(!matches!(stop, Stop::Internal(_)), "{stop:?}");
    assert_eq!(machine.internal_error(), None);
    assert_eq!(Bound::of(&soc).excess(&Taken::from(&machine)), None);
});
