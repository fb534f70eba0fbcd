//! Measures one scenario in every layout of its code.

use rtmark_model::{Basis, Failure, HeldBack, Placement, Samples, Scenario};
use rtmark_sim::Soc;
use rtmark_units::Cycles;

use crate::held::held_back;
use crate::images::Ready;
use crate::measure::{Measured, Probed, measure, measure_emptied};

/// The number of code layouts in which a scenario is measured on the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placements {
    /// Exactly this many, for every scenario.
    Exactly(u32),
    /// This many, unless the catalogue asks for fewer.
    Usually(u32),
}

impl Placements {
    /// The linker's own layout alone.
    pub const ONE: Self = Self::Exactly(1);

    /// Returns the number for a scenario; at least one.
    pub fn of(self, scenario: &Scenario) -> u32 {
        let layouts = match self {
            Self::Exactly(layouts) => layouts,
            Self::Usually(layouts) => scenario.layouts.map_or(layouts, |most| layouts.min(most)),
        };
        layouts.max(1)
    }
}

/// The results of all layouts.
pub(crate) struct Placed {
    /// The result of the layout in the middle.
    pub measured: Measured,
    /// Its samples with emptied caches, if measured.
    pub emptied: Option<Samples>,
    /// The index of that layout among the images.
    pub middle: usize,
    /// All layouts, if there are several.
    pub placements: Vec<Placement>,
}

impl Placed {
    /// Wraps a run whose layout is not varied.
    pub fn unvaried(measured: Measured) -> Self {
        Self { measured, emptied: None, middle: 0, placements: Vec::new() }
    }
}

/// What is measured in each layout.
#[derive(Clone, Copy)]
pub(crate) struct Measurement<'a> {
    pub scenario: &'a Scenario,
    /// The interrupt whose wait is looked for if no span is timed, and its priority.
    pub looked: Option<(&'a HeldBack, u8)>,
    pub basis: Basis,
    /// The cycles that a run may take.
    pub budget: Cycles,
}

impl Measurement<'_> {
    /// Measures the scenario in one layout. `advanced` is called now and then with the cycles that it has advanced
    /// since its last call.
    ///
    /// # Errors
    /// Those of [`measure()`].
    pub fn measure(
        self,
        soc: &Soc,
        probed: &Probed,
        advanced: impl Fn(Cycles),
    ) -> Result<Measured, Failure> {
        let Self { scenario, looked, basis, budget } = self;
        let mut before = Cycles::ZERO;
        let advanced = |now: Cycles| {
            advanced(now.saturating_sub(before));
            before = now;
        };
        match looked {
            Some((of, priority)) => {
                held_back(soc, probed, (scenario, of), priority, budget, advanced)
            }
            None => measure(soc, probed, scenario, basis, budget, advanced),
        }
    }

    /// Puts the results of all layouts together, and measures the one in the middle with emptied caches.
    ///
    /// # Errors
    /// That of the first layout that failed.
    pub fn place(
        self,
        soc: &Soc,
        images: &[(&Ready, &Probed)],
        measured: Vec<Result<Measured, Failure>>,
    ) -> Result<Placed, Failure> {
        let Self { scenario, looked, basis, .. } = self;
        let mut brought: Vec<(&Probed, Measured)> = Vec::new();
        let mut placements = Vec::new();
        for ((image, probed), measured) in images.iter().zip(measured) {
            let measured = measured?;
            if measured.declined.is_some() {
                return Ok(Placed::unvaried(measured));
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
}

#[cfg(test)]
mod tests {
    use rtmark_model::Catalogue;

    use super::*;

    #[test]
    fn long_scenarios_have_fewer_layouts_by_default() {
        let catalogue = Catalogue::builtin().expect("good");
        let scenario = |id: &str| catalogue.get(&id.parse().expect("a name")).expect("known");
        let (short, long) = (scenario("thread.yield"), scenario("growth.yield.ready.8"));
        assert_eq!(Placements::Usually(9).of(short), 9);
        assert_eq!(Placements::Usually(9).of(long), 3);
        assert_eq!(Placements::Usually(2).of(long), 2);
        assert_eq!(Placements::Exactly(9).of(long), 9);
        assert_eq!(Placements::Exactly(0).of(short), 1);
    }
}
