//! Small programs for tests: of the scenario `thread.yield`, on a Cortex-M3 whose memories never wait, so that each
//! `nop` takes a cycle.

use rtmark_firmware::probes::{Kind, Record};
use rtmark_model::{Catalogue, Expected, Scenario};
use rtmark_sim::{Image, Soc};

use self::tiny_elf::{ARM, CODE, FUNCTION, IN_MEMORY, OBJECT, Section, Symbol, elf};
use crate::measure::Probed;

#[expect(dead_code, reason = "the tests of rtmark-firmware use the rest")]
#[path = "../../../rtmark-firmware/src/tests/tiny_elf.rs"]
mod tiny_elf;

pub const NOP: u16 = 0xBF00;
pub const MASK: u16 = 0xB672;
pub const UNMASK: u16 = 0xB662;

/// The soc.
pub fn soc() -> Soc {
    soc_with("")
}

/// A soc whose flash has another timing.
pub fn soc_with(timing: &str) -> Soc {
    let text = format!(
        "name = 'bench'\ndescription = 'memories without wait states'\ncore = 'cortex-m3'\n\
         clock_hz = 1_000_000\ninterrupts = 1\npriority_bits = 4\n\
         [[memory]]\nname = 'FLASH'\nkind = 'flash'\nbase = 0\nsize = 0x1000\n{timing}\
         [[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0x2000_0000\nsize = 0x1000\n"
    );
    Soc::from_toml(&text).expect("a soc")
}

/// The scenario, of which five samples are asked.
pub fn scenario() -> Scenario {
    let catalogue = Catalogue::builtin().expect("good");
    let scenario = catalogue.get(&"thread.yield".parse().expect("a name")).expect("known");
    Scenario { samples: 5, restarts: Expected::Exactly(0), ..scenario.clone() }
}

/// A program that passes its probes five times, prints, and ends.
#[derive(Clone)]
pub struct Program {
    /// Between the probes.
    pub body: Vec<u16>,
    /// Behind them, once.
    pub last: Vec<u16>,
    /// What it prints.
    pub said: &'static str,
    /// The reason that it gives for its end; this one is success.
    pub reason: u32,
}

impl Default for Program {
    fn default() -> Self {
        let said = "thread.yield ok\n";
        Self { body: vec![NOP; 3], last: Vec::new(), said, reason: 0x2_0026 }
    }
}

const MAIN: u32 = 0x40;
/// Where the first span begins.
pub const BEGIN: u32 = MAIN + 2;
const SELECT: u32 = 0x100;
const POOL: u32 = 0x104;

impl Program {
    /// Where spans end.
    pub fn end(&self) -> u32 {
        BEGIN + 2 * self.body.len() as u32
    }

    /// The image with probes at the beginning and the end of its body.
    pub fn probed(&self) -> Probed {
        self.probed_with(&[Kind::Begin(BEGIN), Kind::End(self.end())])
    }

    pub fn probed_with(&self, kinds: &[Kind]) -> Probed {
        let elf = self.elf();
        let image = Image::from_elf(&elf).expect("an image");
        let id = scenario().id;
        let record = |kind| Record { kind, scenario: id.clone() };
        let records = kinds.iter().copied().chain([Kind::Scenario(0)]).map(record).collect();
        Probed { image, elf, records, path: "a.elf".to_owned() }
    }

    /// `main`: movs r4, #5; the body; subs r4, #1; bne back. `finish`: the rest.
    pub fn elf(&self) -> Vec<u8> {
        let mut code = vec![0x2405];
        code.extend(&self.body);
        let back = -(self.body.len() as i32) - 3;
        code.extend([0x3C01, 0xD100 | (back as u16 & 0xFF)]);
        let finish = code.len();
        code.extend(&self.last);
        for (call, word) in [(4, POOL), (0x18, POOL + 4)] {
            // movs r0, #call; ldr r1, [pc, ...]; bkpt 0xab
            let at = MAIN + 2 * code.len() as u32 + 2;
            let words = (word - ((at + 4) & !3)) / 4;
            code.extend([0x2000 | call, 0x4900 | words as u16, 0xBEAB]);
        }
        let mut bytes = [0x2000_0400_u32, MAIN | 1].map(u32::to_le_bytes).concat();
        bytes.resize(MAIN as usize, 0);
        bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
        let end = bytes.len() as u32;
        bytes.resize(SELECT as usize, 0xFF);
        bytes.extend([u32::MAX, POOL + 8, self.reason].map(u32::to_le_bytes).concat());
        bytes.extend(self.said.bytes().chain([0]));
        let text = Section { name: ".text", address: 0, bytes, zeros: 0, flags: IN_MEMORY | CODE };
        let symbol = |name, value, size, kind| Symbol { name, value, size, kind, section: 0 };
        let finish = MAIN + 2 * finish as u32;
        let symbols = [
            symbol("main", MAIN | 1, finish - MAIN, FUNCTION),
            symbol("finish", finish | 1, end - finish, FUNCTION),
            symbol("rtmark_select", SELECT, 4, OBJECT),
        ];
        elf(ARM, &[text], &symbols)
    }
}
