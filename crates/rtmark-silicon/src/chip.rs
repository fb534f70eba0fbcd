//! The chips that were measured, and how they were set for which test.
//!
//! The flash of the CC26xx has a line buffer that some tests switch off. The rows do not say
//! which; the headers of the tests do (CMEmu, `cmemu-tests/tests`: `lbEn`), and the cycles: code
//! in flash takes three for each word without the buffer. The lists name the tests'
//! configurations with the buffer off: by their headers for five tests, for the others by which
//! of the two fits more of a configuration's rows. Nearly always that is all of them against
//! none; where the headers were read, they say the same. No row is known that had the cache on.

use std::collections::HashSet;

use rtmark_sim::{Machine, Soc};

use crate::Failure;
use crate::corpus::Row;
use crate::replay;

/// A chip with the file of its measurements.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    /// The file's name, without what follows its first point.
    pub name: &'static str,
    soc: &'static str,
    /// Lines of a test and the numbers of its configurations.
    line_buffer_off: &'static str,
}

/// All that were measured.
pub const CHIPS: [Chip; 3] = [
    Chip {
        name: "stm32f100-cortex-m3",
        soc: include_str!("../socs/stm32f100.toml"),
        line_buffer_off: "",
    },
    Chip {
        name: "cc2650-gpram-cortex-m3",
        soc: include_str!("../socs/cc2650.toml"),
        line_buffer_off: include_str!("../settings/cc2650-line-buffer-off.txt"),
    },
    Chip {
        name: "cc2652-cortex-m4",
        soc: include_str!("../socs/cc2652.toml"),
        line_buffer_off: include_str!("../settings/cc2652-line-buffer-off.txt"),
    },
];

/// Machines that are ready to run the windows of a chip.
#[derive(Debug)]
pub struct Prepared {
    usual: Machine,
    without_line_buffer: Machine,
    line_buffer_off: HashSet<String>,
}

impl Chip {
    /// What the chip is made of.
    pub fn soc(&self) -> Result<Soc, Failure> {
        Ok(Soc::from_toml(self.soc)?)
    }

    pub fn prepare(&self) -> Result<Prepared, Failure> {
        let mut soc = self.soc()?;
        let usual = replay::prepare(&soc)?;
        for memory in &mut soc.memories {
            (memory.timing.line_buffer, memory.timing.line_bytes) = (false, 4);
        }
        let without_line_buffer = replay::prepare(&soc)?;
        let named = self.line_buffer_off.lines().flat_map(|line| {
            let mut words = line.split_whitespace();
            let test = words.next().unwrap_or_default();
            words.map(move |configuration| format!("{test}#{configuration}"))
        });
        Ok(Prepared { usual, without_line_buffer, line_buffer_off: named.collect() })
    }
}

impl Prepared {
    /// The cycles that the model gives for a window, or `None` where it cannot run it.
    pub fn cycles(&self, row: &Row) -> Option<u64> {
        // A test's parts behind its first one have a second number.
        let (test, number) = row.test.split_once('#').unwrap_or((&row.test, "0"));
        let test = format!("{test}#{number}");
        let off = self.line_buffer_off.contains(&test);
        replay::cycles(if off { &self.without_line_buffer } else { &self.usual }, row)
    }
}
