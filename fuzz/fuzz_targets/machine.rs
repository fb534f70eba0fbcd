//! Any bytes as the firmware of any core, run, observed, stepped, and gone on with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtmark_sim::{Bound, Cycles, FaultPolicy, Machine, Observer, Soc, Stop, Taken};

struct Nobody;

impl Observer for Nobody {}

const SOCS: [&str; 3] = [
    include_str!("../../socs/stm32c031.toml"),
    include_str!("../../socs/stm32f100.toml"),
    include_str!("../../socs/stm32f405.toml"),
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
    let stop = machine.run(Cycles(20_000));
    let told = observed.run_observed(Cycles(20_000), &mut Nobody);
    assert_eq!(stop, told);
    assert_eq!(machine.cycles(), observed.cycles());
    let _ = machine.step(Cycles(30_000));
    assert!(!matches!(stop, Stop::Internal(_)), "{stop:?}");
    assert_eq!(machine.internal_error(), None);
    assert_eq!(Bound::of(&soc).excess(&Taken::from(&machine)), None);
});
