use rtmark_sim::{Register, Soc};

use super::*;

fn snapshot() -> Snapshot {
    Snapshot {
        timing_model: TIMING_MODEL.to_owned(),
        inputs: RunInputs {
            image_name: "a.bin".to_owned(),
            image: vec![1, 2, 3],
            soc_name: "socs/stm32c031.toml".to_owned(),
            soc: String::new(),
            options: vec!["--strict".to_owned()],
        },
        limit: 5,
        cycles: 6,
        instructions: 7,
        state: "8".to_owned(),
    }
}

#[test]
fn contents_survive_a_round_trip() {
    let bytes = snapshot().to_bytes().expect("written");
    assert_eq!(Snapshot::from_bytes(&bytes), Ok(snapshot()));
}

#[test]
fn the_format_is_version_1() {
    let bytes = snapshot().to_bytes().expect("written");
    let length = [TIMING_MODEL.len() as u8];
    let expected = [
        length.as_slice(),
        TIMING_MODEL.as_bytes(),
        b"\x05a.bin\x03\x01\x02\x03\x13socs/stm32c031.toml\x00\x01\x08--strict\x05\x06\x07\x018",
    ];
    assert_eq!(bytes[..12], *b"RTMARKSN\x01\x00\x00\x00");
    assert_eq!(bytes[HEADER..], expected.concat());
}

#[test]
fn other_contents_are_refused() {
    let good = snapshot().to_bytes().expect("written");
    assert_eq!(Snapshot::from_bytes(b""), Err(SnapshotError::Short));
    assert_eq!(Snapshot::from_bytes(&[0; 200]), Err(SnapshotError::Foreign));
    let mut newer = good.clone();
    newer[8] = 2;
    assert_eq!(Snapshot::from_bytes(&newer), Err(SnapshotError::Version(2)));
    for at in HEADER..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 1;
        assert_eq!(Snapshot::from_bytes(&damaged), Err(SnapshotError::Damaged));
        assert_eq!(Snapshot::from_bytes(&good[..at]), Err(SnapshotError::Damaged));
    }
    let other = Snapshot { timing_model: "0".to_owned(), ..snapshot() };
    let refused = Snapshot::from_bytes(&other.to_bytes().expect("written"));
    assert_eq!(refused, Err(SnapshotError::TimingModel("0".to_owned())));
}

#[test]
fn each_refusal_says_what_to_do() {
    let text = String::new;
    for (error, advice) in [
        (SnapshotError::Foreign, "a file that --snapshot wrote"),
        (SnapshotError::Version(2), "again with this rtmark"),
        (SnapshotError::TimingModel(text()), "again with this rtmark"),
        (SnapshotError::Short, "copy it whole"),
        (SnapshotError::Damaged, "copy it whole"),
        (SnapshotError::Contents(text()), "copy it whole"),
    ] {
        assert!(error.hint().contains(advice), "{error:?}: {}", error.hint());
    }
}

#[test]
fn corrupted_contents_are_rejected_without_panic() {
    let good = snapshot().to_bytes().expect("written");
    let mut read = 0;
    for at in HEADER..good.len() {
        for value in [0, 1, 0x7F, 0x80, 0xFF, good[at] ^ 1, good[at].wrapping_add(1)] {
            let mut bytes = good.clone();
            bytes[at] = value;
            let checksum = sha256(&bytes[HEADER..]);
            bytes[12..HEADER].copy_from_slice(checksum.as_bytes());
            read += usize::from(Snapshot::from_bytes(&bytes).is_ok());
        }
    }
    assert!(read > 100, "{read}");
}

const SOC: &str = r#"
    name = "bench"
    description = "memories without wait states"
    core = "cortex-m7"
    clock_hz = 1_000_000
    interrupts = 1
    priority_bits = 4

    [[memory]]
    name = "FLASH"
    kind = "flash"
    base = 0
    size = 0x40

    [[memory]]
    name = "RAM"
    kind = "ram"
    base = 0x2000_0000
    size = 0x100
"#;

/// A machine that has begun this many instructions of: adds r0, #1; adds r1, #1; adds r2, #1; b back to the first.
/// Its core begins some of them in the same cycle.
fn machine_after(steps: u64) -> Machine {
    let mut machine = Machine::new(&Soc::from_toml(SOC).expect("a soc"));
    for (at, word) in [0x2000_0100, 9, 0x3101_3001, 0xE7FB_3201].into_iter().enumerate() {
        machine.poke_word(4 * at as u32, word).expect("in flash");
    }
    machine.reset().expect("vectors");
    for _ in 0..steps {
        machine.step(Cycles(u64::MAX)).expect("it counts");
    }
    machine
}

#[test]
fn a_moment_is_reached_by_the_same_run_only() {
    let kept = machine_after(9);
    let inputs = snapshot().inputs;
    let snapshot = Snapshot::new(inputs.clone(), &kept, Cycles(99));
    assert_eq!((snapshot.limit(), snapshot.inputs()), (Cycles(99), &inputs));
    assert_eq!(snapshot.check(&machine_after(9)), Ok(()));
    let changed = |change: fn(&mut Machine)| {
        let mut machine = machine_after(9);
        change(&mut machine);
        machine
    };
    let others = [
        ("an instruction before", machine_after(8)),
        ("an instruction after", machine_after(10)),
        ("a register", changed(|machine| machine.set_register(Register::R(7), 1))),
        ("a byte of RAM", changed(|machine| machine.poke(0x2000_00FF, &[1]).expect("RAM"))),
        ("a byte of flash", changed(|machine| machine.poke(0x3F, &[1]).expect("flash"))),
    ];
    for (name, other) in others {
        let wanted = OtherState { now: other.cycles().0, kept: kept.cycles().0 };
        assert_eq!(snapshot.check(&other), Err(wanted), "{name}");
    }
}

/// A run up to a cycle may end before the moment, within that cycle.
#[test]
fn a_moment_is_later_in_its_cycle_only() {
    let machines: Vec<_> = (0..20).map(machine_after).collect();
    let mut later = 0;
    for (count, kept) in machines.iter().enumerate() {
        let snapshot = Snapshot::new(snapshot().inputs, kept, Cycles(99));
        for (other, machine) in machines.iter().enumerate() {
            let is_later = other < count && machine.cycles() == kept.cycles();
            assert_eq!(snapshot.is_later_than(machine), is_later, "{other} and {count}");
            later += usize::from(is_later);
        }
    }
    assert!(later > 5, "{later}");
}

/// What version 1 compares: cycles, instructions, registers, and memories, each with whether it is RAM.
#[test]
fn the_digest_is_of_what_a_program_observes() {
    let machine = machine_after(9);
    let mut bytes = [machine.cycles().0, 9].map(u64::to_le_bytes).concat();
    for (_, register) in machine.named_registers() {
        bytes.extend(machine.register(register).to_le_bytes());
    }
    bytes.push(0);
    bytes.extend(machine.peek(0, 0x40));
    bytes.push(1);
    bytes.extend(machine.peek(0x2000_0000, 0x100));
    assert_eq!(digest(&machine), sha256(&bytes));
    // FIPS 180-4, its example of one block.
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
