//! One scenario in every layout of its code.

use rtmark_model::{Basis, Failure, Placement, Samples, Scenario};
use rtmark_sim::Soc;
use rtmark_units::Cycles;

use crate::images::{Program, Ready};
use crate::measure::{Measured, Probed, measure, measure_emptied};

/// What the layouts brought.
pub(crate) struct Placed {
    /// What the one in the middle brought.
    pub measured: Measured,
    /// Its samples from emptied caches, where that was measured.
    pub emptied: Option<Samples>,
    /// Which one that is: its place among the images.
    pub middle: usize,
    /// All of them, where there are several.
    pub placements: Vec<Placement>,
}

impl Placed {
    /// Of a run whose layout nobody varies.
    pub fn alone(measured: Measured) -> Self {
        Self { measured, emptied: None, middle: 0, placements: Vec::new() }
    }
}

/// Measures a scenario in all of these images, which are layouts of one. `advanced` is told how many
/// cycles have passed in all of them.
///
/// # Errors
/// As [`measure()`], of the first layout that does not bring what it should.
pub(crate) fn measure_all(
    soc: &Soc,
    images: &[&Ready],
    scenario: &Scenario,
    basis: Basis,
    budget: Cycles,
    mut advanced: impl FnMut(Cycles),
) -> Result<Placed, Failure> {
    let mut brought: Vec<(&Probed, Measured)> = Vec::new();
    let mut placements = Vec::new();
    let mut passed = Cycles::ZERO;
    for image in images {
        let Program::Watched(probed) = &image.program else { continue };
        let mut now = Cycles::ZERO;
        let measured = measure(soc, probed, scenario, basis, budget, |cycles| {
            now = cycles;
            advanced(Cycles(passed.0 + now.0));
        })?;
        passed = Cycles(passed.0 + now.0);
        if measured.declined.is_some() {
            return Ok(Placed::alone(measured));
        }
        placements.push(Placement {
            layout: image.firmware.layout,
            elf_sha256: image.firmware.elf_sha256.clone(),
            samples: measured.samples.0.clone(),
        });
        brought.push((probed, measured));
    }
    let middle = Placement::middle(&placements).unwrap_or(0);
    let (probed, measured) = brought.swap_remove(middle);
    let emptied = match basis {
        Basis::Cycles => measure_emptied(soc, probed, scenario, &measured),
        _ => None,
    };
    if placements.len() == 1 {
        placements.clear();
    }
    Ok(Placed { measured, emptied, middle, placements })
}
