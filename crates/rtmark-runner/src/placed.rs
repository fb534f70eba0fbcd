//! One scenario in every layout of its code.

use rtmark_model::{Basis, Failure, HeldBack, Placement, Samples, Scenario};
use rtmark_sim::Soc;
use rtmark_units::Cycles;

use crate::held::held_back;
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

/// What is asked of each layout.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub scenario: &'a Scenario,
    /// Whose wait is looked for where no span is timed, and that interrupt's priority.
    pub looked: Option<(&'a HeldBack, u8)>,
    pub basis: Basis,
    /// Cycles that a run may take.
    pub budget: Cycles,
}

/// Measures a scenario in all of these images, which are layouts of one. `advanced` is told how many
/// cycles have passed in all of them.
///
/// # Errors
/// As [`measure()`], of the first layout that does not bring what it should.
pub(crate) fn measure_all(
    soc: &Soc,
    images: &[&Ready],
    asked: Asked<'_>,
    mut advanced: impl FnMut(Cycles),
) -> Result<Placed, Failure> {
    let Asked { scenario, looked, basis, budget } = asked;
    let mut brought: Vec<(&Probed, Measured)> = Vec::new();
    let mut placements = Vec::new();
    let mut passed = Cycles::ZERO;
    for image in images {
        let Program::Watched(probed) = &image.program else { continue };
        let mut now = Cycles::ZERO;
        let advanced = |cycles| {
            now = cycles;
            advanced(Cycles(passed.0 + now.0));
        };
        let measured = match looked {
            Some((of, priority)) => {
                held_back(soc, probed, (scenario, of), priority, budget, advanced)?
            }
            None => measure(soc, probed, scenario, basis, budget, advanced)?,
        };
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
        Basis::Cycles if looked.is_none() => measure_emptied(soc, probed, scenario, &measured),
        _ => None,
    };
    if placements.len() == 1 {
        placements.clear();
    }
    Ok(Placed { measured, emptied, middle, placements })
}
