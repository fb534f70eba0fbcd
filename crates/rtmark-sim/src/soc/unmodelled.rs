//! The peripherals of a chip that have no model. A soc file lists them so that messages name what a program
//! misses.

use std::ops::Range;

use serde::Deserialize;

use super::Soc;
use super::check::{Checked, KeyStep, Taken, refuse};

/// The addresses of a peripheral without a model: in a soc file, its first one and its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "[u32; 2]")]
pub struct UnmodelledBlock {
    /// Its first address.
    pub base: u32,
    /// Its size in bytes.
    pub size: u32,
}

impl From<[u32; 2]> for UnmodelledBlock {
    fn from([base, size]: [u32; 2]) -> Self {
        Self { base, size }
    }
}

impl UnmodelledBlock {
    /// Returns the offset of an address in this block, if it is within.
    pub fn offset(self, address: u32) -> Option<u32> {
        Some(address.wrapping_sub(self.base)).filter(|offset| *offset < self.size)
    }

    fn range(self) -> Range<u64> {
        let start = u64::from(self.base);
        start..start + u64::from(self.size)
    }
}

impl Soc {
    /// Refuses blocks of registers that overlap something else, which would have two names.
    pub(super) fn check_unmodelled<'a>(&'a self, taken: &mut Taken<'a>) -> Checked {
        let path = [KeyStep::Key("unmodelled")];
        for (name, block) in &self.unmodelled {
            let UnmodelledBlock { base, size } = *block;
            let ends = block.range().end <= 1 << 32;
            if size == 0 || !size.is_multiple_of(4) || !base.is_multiple_of(4) || !ends {
                return refuse(
                    &path,
                    format!(
                        "unmodelled {name}: base {base:#x} and size {size:#x} are not multiples of 4, \
                         size at least 4, below 4 GiB"
                    ),
                );
            }
            Self::take(&path, &format!("unmodelled {name}"), name, block.range(), taken)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHIP: &str = "name = 'x'\ndescription = 'd'\ncore = 'cortex-m0plus'\nclock_hz = 1000\n\
        interrupts = 32\npriority_bits = 2\n[[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0\nsize = 64\n\
        [[peripheral]]\nname = 'UART0'\nkind = 'pl011'\nbase = 0x4000_0000\n[unmodelled]\n";

    fn soc(entries: &str) -> Result<Soc, String> {
        Soc::from_toml(&format!("{CHIP}{entries}")).map_err(|error| error.to_string())
    }

    #[test]
    fn registers_without_a_model_have_the_names_of_their_peripherals() {
        let soc = soc("I2C1 = [0x4000_5400, 0x400]\n").expect("good");
        let names = [0x4000_53fc, 0x4000_5400, 0x4000_57fc, 0x4000_5800];
        let names = names.map(|address| soc.register_name(address));
        let expected = [None, Some("I2C1+0x0"), Some("I2C1+0x3fc"), None];
        assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    }

    #[test]
    fn blocks_that_no_chip_has_are_refused_with_their_name() {
        let wrong = [
            ("A = [0x4001_0000, 0]", "multiples of 4"),
            ("A = [0x4001_0000, 6]", "multiples of 4"),
            ("A = [0x4001_0002, 4]", "multiples of 4"),
            ("A = [0xffff_fffc, 8]", "below 4 GiB"),
            ("A = [0x4000_0ffc, 4]", "overlaps UART0"),
            ("A = [0x20, 4]", "overlaps RAM"),
        ];
        for (entry, expected) in wrong {
            let entries = format!("FINE = [0x4100_0000, 4]\n{entry}\n");
            let error = soc(&entries).expect_err(entry);
            let name = entry.split(' ').next().unwrap_or_default();
            let start = format!("line 16: unmodelled {name}: ");
            assert!(error.starts_with(&start), "{entry}: {error}");
            assert!(error.contains(expected), "{entry}: {error}");
        }
        soc("A = [0xffff_fffc, 4]\n").expect("the last word");
        soc("A = [0x4001_0000]\n").expect_err("no size");
    }
}
