//! Images for RP2040 and RP2350: for which chip and core they are, and where they begin.

use rtmark_sim::{Image, Machine, Register, Soc};

use crate::rv32::{Code, NOP};

/// A UF2 file of one block for a family, with code at an address.
fn uf2(family: u32, address: u32, words: &[u32]) -> Vec<u8> {
    let mut file = [0x0A32_4655, 0x9E5D_5157, 0x2000, address, 256, 0, 1, family].to_vec();
    file.extend(words);
    file.resize(127, 0);
    file.push(0x0AB1_6F30);
    Code::words(&file).0
}

#[test]
fn uf2_files_for_rp2350_run_on_the_cores_of_their_family() {
    let rp2350 = include_str!("../../../../socs/rp2350.toml");
    let risc_v = include_str!("../../../../socs/rp2350-riscv.toml");
    let load = |family, soc: &str, words: &[u32]| {
        let image = Image::from_bytes(&uf2(family, 0x1000_0000, words), 0).expect("an image");
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        machine.load(&image).map(|()| machine.register(Register::Pc))
    };
    let (arm, riscv) = (0xE48B_FF59, 0xE48B_FF5A);
    assert_eq!(load(riscv, risc_v, &[NOP]), Ok(0x1000_0000));
    // An image that tells the boot ROM where it begins, behind its vectors.
    let block = [NOP, 0xFFFF_DED3, 0x1101_0142, 0x344, 0x1000_0040, 0x2008_2000, 0x4FF];
    assert_eq!(load(riscv, risc_v, &block), Ok(0x1000_0040));
    assert_eq!(load(arm, rp2350, &[0x2000_1000, 0x1000_0009]), Ok(0x1000_0008));
    for (family, soc, fits) in [(riscv, rp2350, "rp2350-riscv"), (arm, risc_v, "rp2350")] {
        let refusal = load(family, soc, &[NOP]).expect_err("refused").to_string();
        assert!(refusal.ends_with(&format!(": choose {fits}")), "{refusal}");
    }
}

/// RP2350 datasheet, 5.9.3: an image for the Arm cores may name its vector table, or an entry point and a stack pointer.
#[test]
fn images_for_rp2350s_arm_cores_begin_where_their_block_says() {
    let rp2350 = Soc::from_toml(include_str!("../../../../socs/rp2350.toml")).expect("a soc");
    let begin = |image: &Image| {
        let mut machine = Machine::new(&rp2350);
        machine.load(image).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        for _ in 0..2 {
            let vtor = machine.vector_table();
            let [pc, sp] = [Register::Pc, Register::Sp].map(|it| machine.register(it));
            found.push((pc, sp, vtor));
            machine.reset().expect("again");
        }
        assert_eq!(found[0], found[1], "after a reset as well");
        Ok::<_, String>(found[0])
    };
    // The block, then a table behind it.
    let mut words = vec![0xFFFF_DED3, 0x1021_0142, 0x203, 0x1000_0080, 0x3FF, 0, 0xAB12_3579];
    words.resize(32, 0);
    words.extend([0x2000_1000, 0x1000_0089, 0xBF00_BF00]);
    let image = |words: &[u32]| {
        Image::from_bytes(&uf2(0xE48B_FF59, 0x1000_0000, words), 0).expect("an image")
    };
    let mut named = image(&words);
    assert_eq!(begin(&named), Ok((0x1000_0088, 0x2000_1000, 0x1000_0080)));
    assert_eq!(named.boot_vectors(), Some(0x1000_0080));
    named.drop_entry();
    let refusal = begin(&named).expect_err("no table at the usual place");
    assert!(refusal.contains("no vector table at 0x10000000"), "{refusal}");
    words[2..6].copy_from_slice(&[0x344, 0x1000_0089, 0x2000_0800, 0x4FF]);
    assert_eq!(begin(&image(&words)), Ok((0x1000_0088, 0x2000_0800, 0x1000_0000)));
    // Both: the stack pointer and the entry point of the item count.
    words[2..8].copy_from_slice(&[0x203, 0x1000_0080, 0x344, 0x1000_0089, 0x2000_0800, 0x6FF]);
    assert_eq!(begin(&image(&words)), Ok((0x1000_0088, 0x2000_0800, 0x1000_0080)));
    // Neither: the vectors are at the beginning.
    let words = [0x2000_1000, 0x1000_0015, 0xFFFF_DED3, 0x1021_0142, 0x1FF, 0xBF00_BF00];
    assert_eq!(begin(&image(&words)), Ok((0x1000_0014, 0x2000_1000, 0x1000_0000)));
}

/// Both chips have Arm cores, but another one each.
#[test]
fn uf2_files_for_another_chip_of_the_same_architecture_are_refused() {
    let rp2040 = include_str!("../../../../socs/rp2040.toml");
    let rp2350 = include_str!("../../../../socs/rp2350.toml");
    // Flash begins with the vectors, on an RP2040 with the 256 bytes of its second boot stage.
    let families = [
        (0xE48B_FF56, "rp2040", 0x1000_0100),
        (0xE48B_FF59, "rp2350", 0x1000_0000),
        (0xE48B_FF5B, "rp2350", 0x1000_0000),
    ];
    for (family, chip, vectors) in families {
        let file = uf2(family, vectors, &[0x2000_1000, vectors + 9]);
        let image = Image::from_bytes(&file, 0).expect("an image");
        for (name, soc) in [("rp2040", rp2040), ("rp2350", rp2350)] {
            let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
            let loaded = machine.load(&image).map_err(|error| error.to_string());
            let Err(refusal) = loaded else {
                assert_eq!(chip, name, "accepted");
                continue;
            };
            let of_chip = refusal.contains(&format!("is for {chip}"));
            assert!(
                chip != name && of_chip && refusal.contains(&format!("{name} has")),
                "{refusal}"
            );
        }
        // A chip's own description under another name runs it.
        let (own, named) = if chip == "rp2040" { (rp2040, "rp2040") } else { (rp2350, "rp2350") };
        let own = own.replace(&format!("name = \"{named}\""), "name = \"my board\"");
        let soc = Soc::from_toml(&own).expect("a soc");
        assert_eq!(soc.name, "my board");
        Machine::new(&soc).load(&image).expect("the same core");
    }
}
