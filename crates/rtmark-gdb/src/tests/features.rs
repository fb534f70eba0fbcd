//! Registers as GDB sees them: the features that its manual lists for these architectures ("Standard Target
//! Features"), and values in the order of the description.

use std::collections::BTreeMap;

use super::*;

const CORES: [(&str, &str, &[&str]); 6] = [
    (include_str!("../../../../socs/generic-cortex-m0.toml"), "arm", &[M_PROFILE, "m-system 4"]),
    (SOC, "arm", &[M_PROFILE, "m-system 6"]),
    (
        include_str!("../../../../socs/generic-cortex-m4f.toml"),
        "arm",
        &[M_PROFILE, "vfp 17", "m-system 6"],
    ),
    (include_str!("../../../../socs/zynqmp-r5.toml"), "arm", &["core 17", "vfp 17"]),
    (include_str!("../../../../socs/generic-hazard3.toml"), "riscv:rv32", RISC_V),
    (include_str!("../../../../socs/generic-ibex.toml"), "riscv:rv32", RISC_V),
];
/// Features by their last word, each with the number of its registers.
const M_PROFILE: &str = "m-profile 17";
const RISC_V: &[&str] = &["cpu 33", "csr 7"];

/// A machine whose registers differ from one another.
fn machine_with_values(soc: &str) -> Machine {
    let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
    let numbered = (1..32).map(|at| (Register::R(at), 0x1000 + u32::from(at)));
    let single = (0..32).map(|at| (Register::S(at), 0x3F80_0000 + u32::from(at)));
    let system = [
        (Register::Msp, 0x2000_0100),
        (Register::Psp, 0x2000_0200),
        (Register::Primask, 1),
        (Register::Basepri, 0x40),
        (Register::Control, 2),
        (Register::Csr(0x340), 0x2000),
        (Register::Csr(0x341), 0x3000),
    ];
    for (register, value) in numbered.chain(single).chain(system) {
        if machine.has_register(register) {
            machine.set_register(register, value);
        }
    }
    machine
}

/// Reads the description in parts of 64 bytes.
fn description(debugger: &mut Debugger) -> String {
    let mut text = String::new();
    loop {
        let request = format!("qXfer:features:read:target.xml:{:x},40", text.len());
        let part = debugger.send_packet(&request);
        text.push_str(&part[1..]);
        match part.as_bytes()[0] {
            b'm' => assert!((2..=65).contains(&part.len()), "{part}"),
            b'l' => return text,
            _ => panic!("{part}"),
        }
    }
}

/// Returns the value of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, rest) = element.split_once(&format!("{name}=\"")).expect(name);
    rest.split('"').next().expect("a value")
}

#[test]
fn descriptions_have_gdbs_features_and_order_the_values() {
    for (soc, architecture, features) in CORES {
        let machine = machine_with_values(soc);
        let values: BTreeMap<_, _> = machine
            .named_registers()
            .into_iter()
            .map(|(name, register)| (name.to_owned(), machine.register(register)))
            .collect();
        session_of(machine, |debugger| {
            let xml = description(debugger);
            let is_of = format!("<architecture>{architecture}</architecture>");
            assert!(xml.contains(&is_of), "{xml}");
            let registers = debugger.send_packet("g");
            let (mut found, mut at) = (Vec::new(), 0);
            for feature in xml.split("<feature ").skip(1) {
                let mut count = 0;
                for register in feature.split("<reg ").skip(1) {
                    let name = attribute(register, "name");
                    // GDB shows pointers with what they point to.
                    let kind = match name {
                        "sp" => Some("data_ptr"),
                        "pc" => Some("code_ptr"),
                        _ => None,
                    };
                    assert!(kind.is_none_or(|kind| attribute(register, "type") == kind), "{xml}");
                    let words = match name.strip_prefix('d').map(str::parse::<u8>) {
                        Some(Ok(double)) => {
                            [2 * double, 2 * double + 1].map(|s| format!("s{s}")).to_vec()
                        }
                        _ => vec![name.to_owned()],
                    };
                    assert_eq!(attribute(register, "bitsize"), (32 * words.len()).to_string());
                    for word in words {
                        let value = u32::from_str_radix(&registers[at..at + 8], 16);
                        assert_eq!(value.map(u32::swap_bytes), Ok(values[&word]), "{name}");
                        at += 8;
                    }
                    count += 1;
                }
                let name = attribute(feature, "name").rsplit('.').next().expect("a word");
                found.push(format!("{name} {count}"));
            }
            assert_eq!(found, features);
            assert_eq!(at, registers.len());
            let missing = debugger.send_packet("qXfer:features:read:other.xml:0,40");
            assert!(missing.starts_with('E'), "{missing}");
            assert!(debugger.send_packet("G00000000").starts_with('E'), "too few");
            assert_eq!(debugger.send_packet("D"), "OK");
        });
    }
}
