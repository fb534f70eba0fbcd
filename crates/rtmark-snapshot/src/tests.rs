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
