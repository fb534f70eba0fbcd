//! Resolves what to measure, kernels × variants × scenarios × platforms, before anything runs.

use std::collections::BTreeSet;
use std::ops::Range;

use rtmark_firmware::{Kernel, PROFILES, SettingChanges, Target, Variant, successor};
use rtmark_model::{Basis, Catalogue, Key, Pattern, Scenario, ScenarioId, Victim};
use rtmark_units::Share;

use crate::description_file::nearest;
use crate::placed::Placements;
use crate::platform::Platform;

/// The requested kernels and scenarios; an empty list selects all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Kernels.
    pub kernels: Vec<Pattern>,
    /// Scenarios.
    pub scenarios: Vec<Pattern>,
}

/// The group of scenarios that examine a kernel's mixed load, which is also the name of its image.
pub(crate) const LOAD: &str = "load";

/// The cost of building an image relative to running a scenario in one layout, which costs 1:
/// [`Plan::part`].
const BUILT: u64 = 40;

/// The word that [`NothingSelected`] uses for settings that no kernel can be built with.
pub const SETTINGS: &str = "kernel with such settings";

/// A filter that selects nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no {what} fits `{pattern}`{}{}",
    near.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default(),
    reasons.iter().fold(String::new(), |all, reason| all + "\n" + reason)
)]
pub struct NothingSelected {
    /// What was filtered: `kernel`, `scenario`, `profile` or `setting`.
    pub what: &'static str,
    /// The pattern.
    pub pattern: String,
    /// A similar name, if there is one.
    pub near: Option<String>,
    /// Why what there is does not fit, a sentence each, if that is known.
    pub reasons: Vec<String>,
}

/// One kernel's firmware for one platform in one variant, with the scenarios asked of it.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The kernel.
    pub kernel: Kernel,
    /// Where it runs.
    pub platform: Platform,
    /// The build variant.
    pub variant: Variant,
    /// The changes that the variant makes to the kernel's default settings; none if it cannot be built.
    pub setting_changes: SettingChanges,
    /// The scenarios, each with the reason why it has no answer if the kernel declares one.
    pub scenarios: Vec<(Scenario, Option<String>)>,
}

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The firmwares, platforms outermost, then kernels.
    pub units: Vec<Unit>,
    /// The names that firmware may have for scenarios: those of the whole catalogue.
    pub(crate) known: BTreeSet<ScenarioId>,
}

/// Returns the items of which one of the names matches one of the patterns.
fn selected<'a, T, Names: IntoIterator<Item = &'a str>>(
    items: &'a [T],
    patterns: &[Pattern],
    what: &'static str,
    names: impl Fn(&'a T) -> Names,
) -> Result<Vec<&'a T>, NothingSelected> {
    let fits =
        |item: &'a T, pattern: &Pattern| names(item).into_iter().any(|name| pattern.matches(name));
    for pattern in patterns {
        if !items.iter().any(|item| fits(item, pattern)) {
            let near = nearest(pattern.as_str(), items.iter().flat_map(&names)).map(str::to_owned);
            return Err(NothingSelected {
                what,
                pattern: pattern.to_string(),
                near,
                reasons: Vec::new(),
            });
        }
    }
    let wanted = |item: &&'a T| patterns.is_empty() || patterns.iter().any(|p| fits(item, p));
    Ok(items.iter().filter(wanted).collect())
}

impl Plan {
    /// Resolves a selection.
    ///
    /// # Errors
    /// When one of the filters selects nothing.
    pub fn new(
        catalogue: &Catalogue,
        kernels: &[Kernel],
        platforms: &[Platform],
        variants: &[Variant],
        selection: &Selection,
    ) -> Result<Self, NothingSelected> {
        let kernels =
            selected(kernels, &selection.kernels, "kernel", |kernel| kernel.manifest.id.names())?;
        // A point is selected by its own name or by its curve's.
        let scenarios =
            selected(catalogue.scenarios(), &selection.scenarios, "scenario", |scenario| {
                [scenario.id.as_str(), scenario.in_firmware().as_str()]
            })?;
        for variant in variants {
            check_variants(variant, &kernels, platforms)?;
        }
        let mut units = Vec::new();
        for platform in platforms {
            for &kernel in &kernels {
                for variant in variants {
                    units.push(Unit::new(kernel, platform, variant, scenarios.iter().copied()));
                }
            }
        }
        Ok(Self::of_units(units, catalogue))
    }

    /// Returns a plan of these firmwares, whose scenarios are from this catalogue.
    pub fn of_units(units: Vec<Unit>, catalogue: &Catalogue) -> Self {
        let names = catalogue.scenarios().iter().map(Scenario::in_firmware);
        Self { units, known: names.cloned().collect() }
    }

    /// Returns the keys of all answers in table order: soc, scenario, kernel.
    pub fn keys(&self) -> Vec<Key> {
        let keys =
            |unit: &Unit| unit.scenarios.iter().map(|(s, _)| unit.key(s)).collect::<Vec<_>>();
        let mut keys: Vec<Key> = self.units.iter().flat_map(keys).collect();
        keys.sort_by_cached_key(|key| self.position(key));
        keys
    }

    /// Returns the index ranges of its units by platform, for consecutive units of one platform.
    pub(crate) fn platforms(&self) -> Vec<Range<usize>> {
        let names = |a: &Unit, b: &Unit| a.platform.name() == b.platform.name();
        let mut end = 0;
        let runs = self.units.chunk_by(names).map(|units| {
            let begin = end;
            end += units.len();
            begin..end
        });
        runs.collect()
    }

    /// Returns the position of an answer in tables: by soc, scenario, and kernel with its variant.
    pub(crate) fn position(&self, key: &Key) -> (usize, usize, usize) {
        let soc = self.units.iter().position(|unit| unit.platform.name() == key.soc);
        let is_of = |unit: &Unit| {
            unit.kernel.manifest.id == key.kernel && unit.variant.to_string() == key.profile
        };
        let unit = self.units.iter().position(is_of);
        let scenarios =
            self.units.first().map(|unit| unit.scenarios.as_slice()).unwrap_or_default();
        let scenario = scenarios.iter().position(|(scenario, _)| scenario.id == key.scenario);
        let last = usize::MAX;
        (soc.unwrap_or(last), scenario.unwrap_or(last), unit.unwrap_or(last))
    }

    /// Returns the part of the plan that one of several computers measures. Scenarios of one image stay
    /// together, and so do images of one firmware if possible, as each computer builds what it
    /// measures.
    #[must_use]
    pub fn part(&self, share: Share, placements: Placements) -> Self {
        let total =
            self.units.iter().flat_map(|unit| unit.images(placements)).map(|(_, cost)| cost);
        let total = total.sum();
        let mut before = 0;
        let mut units = self.units.clone();
        for unit in &mut units {
            let mut mine = Vec::new();
            for (image, cost) in unit.images(placements) {
                if share.holds_cost(before, cost, total) {
                    mine.push(image.to_owned());
                }
                before += cost;
            }
            unit.scenarios.retain(|(scenario, _)| mine.iter().any(|i| i == scenario.id.group()));
        }
        units.retain(|unit| !unit.scenarios.is_empty());
        Self { units, known: self.known.clone() }
    }

    /// Returns the number of answers that the plan asks for.
    pub fn answers(&self) -> usize {
        self.units.iter().map(|unit| unit.scenarios.len()).sum()
    }
}

/// Rejects a variant that none of the kernels has.
fn check_variants(
    variant: &Variant,
    kernels: &[&Kernel],
    platforms: &[Platform],
) -> Result<(), NothingSelected> {
    let profile = variant.profile_name();
    let own = || kernels.iter().flat_map(|kernel| kernel.manifest.profiles.keys());
    let profiles = || PROFILES.into_iter().chain(own().map(String::as_str));
    if !profiles().any(|known| known == profile) {
        let near = successor(profile).or_else(|| nearest(profile, profiles())).map(str::to_owned);
        let pattern = profile.escape_debug().to_string();
        return Err(NothingSelected { what: "profile", pattern, near, reasons: Vec::new() });
    }
    if variant.chosen().is_empty() {
        return Ok(());
    }
    let mut reasons = Vec::new();
    for kernel in kernels {
        for platform in platforms {
            match variant.of(&kernel.manifest, platform.core()) {
                Ok(_) => return Ok(()),
                Err(reason) if reasons.contains(&reason) => {}
                Err(reason) => reasons.push(reason),
            }
        }
    }
    Err(NothingSelected { what: SETTINGS, pattern: variant.to_string(), near: None, reasons })
}

impl Unit {
    /// Returns the target of its firmware, with the images of its scenarios.
    pub fn target(&self) -> Target {
        let is_used =
            |image: &str| self.applicable_scenarios().any(|scenario| scenario.id.group() == image);
        self.platform.target().only(&self.kernel.manifest, is_used)
    }

    /// Plans these scenarios for a kernel in one variant on a platform.
    pub fn new<'a>(
        kernel: &Kernel,
        platform: &Platform,
        variant: &Variant,
        scenarios: impl IntoIterator<Item = &'a Scenario>,
    ) -> Self {
        let manifest = &kernel.manifest;
        let core = platform.core();
        let setting_changes = if manifest.cores.iter().any(|supported| supported == core) {
            variant
                .of(manifest, core)
                .map(|setting_changes| setting_changes.at(manifest, &platform.target()))
        } else {
            let unknown = || format!("rtmark has no firmware of {} for {core}.", manifest.name);
            Err(manifest.unsupported.get(core).cloned().unwrap_or_else(unknown))
        };
        let ask = |scenario: &Scenario| {
            let excuse = match &setting_changes {
                Ok(setting_changes) => {
                    let names = [&scenario.id, scenario.in_firmware()];
                    let own = |name| {
                        manifest.not_applicable(name, core, setting_changes, platform.backend())
                    };
                    let own = names.iter().find_map(|name| own(name));
                    let platforms = || names.iter().find_map(|name| platform.not_applicable(name));
                    let stated = own.or_else(platforms).map(str::to_owned);
                    let ram = platform.target().ram.map_or(u32::MAX, |ram| ram.size);
                    stated
                        .or_else(|| why_unobservable(platform, scenario))
                        .or_else(|| manifest.ram_shortage(scenario.id.group(), ram))
                        .or_else(|| why_not_applicable(kernel, scenario))
                }
                Err(reason) => Some(reason.clone()),
            };
            (scenario.clone(), excuse)
        };
        Self {
            scenarios: scenarios.into_iter().map(ask).collect(),
            kernel: kernel.clone(),
            platform: platform.clone(),
            variant: variant.clone(),
            setting_changes: setting_changes.unwrap_or_default(),
        }
    }

    /// Returns the key of this firmware's answer to a scenario.
    pub fn key(&self, scenario: &Scenario) -> Key {
        Key {
            soc: self.platform.name().to_owned(),
            kernel: self.kernel.manifest.id.clone(),
            version: self.kernel.manifest.version.clone(),
            profile: self.variant.to_string(),
            scenario: scenario.id.clone(),
            backend: self.platform.backend(),
        }
    }

    /// Tells whether code placement matters and can be chosen: on the simulator, counted in cycles.
    /// Instruction counts do not depend on placement.
    fn varies_layout(&self) -> bool {
        matches!(self.platform, Platform::Sim(_, Basis::Cycles))
    }

    /// Returns the images that contain its scenarios, in order, each with the cost of building and
    /// running it: [`BUILT`] for the build, and 1 for each scenario in each layout.
    fn images(&self, placements: Placements) -> Vec<(&str, u64)> {
        let mut images: Vec<(&str, u64)> = Vec::new();
        for (scenario, excuse) in &self.scenarios {
            let image = scenario.id.group();
            let known = images.iter().position(|(known, _)| *known == image);
            let known = known.unwrap_or_else(|| {
                images.push((image, 0));
                images.len() - 1
            });
            let cost = &mut images[known].1;
            if excuse.is_none() {
                let layouts = if self.varies_layout() { placements.of(scenario) } else { 1 };
                *cost = (*cost).max(BUILT) + u64::from(layouts);
            }
        }
        images
    }

    /// Returns the number of layouts needed of an image: that of its most demanding scenario.
    pub(crate) fn layouts(&self, image: &str, placements: Placements) -> u32 {
        let scenarios_of_image =
            self.applicable_scenarios().filter(|scenario| scenario.id.group() == image);
        let most = scenarios_of_image.map(|scenario| placements.of(scenario)).max();
        most.filter(|_| self.varies_layout()).unwrap_or(1)
    }

    /// Tells whether the firmware has to be built, that is, the kernel answers at least one scenario.
    pub fn needs_firmware(&self) -> bool {
        self.applicable_scenarios().next().is_some()
    }

    /// Returns the scenarios that the kernel does not decline.
    pub(crate) fn applicable_scenarios(&self) -> impl Iterator<Item = &Scenario> {
        self.scenarios.iter().filter(|(_, excuse)| excuse.is_none()).map(|(scenario, _)| scenario)
    }

    /// Returns the priority, as its register holds it, of the interrupt that a scenario looks at.
    pub(crate) fn priority_of(&self, victim: Victim) -> u8 {
        match (victim, &self.platform) {
            (Victim::MayCall, Platform::Sim(file, _)) => {
                self.kernel.manifest.most_urgent_caller(&file.soc)
            }
            (Victim::MostUrgent, Platform::Sim(file, _)) => file.soc.core.most_urgent_priority(),
            _ => 0,
        }
    }
}

/// Returns why a platform cannot observe what a scenario asks for, if it cannot.
fn why_unobservable(platform: &Platform, scenario: &Scenario) -> Option<String> {
    let sees = matches!(platform, Platform::Sim(_, Basis::Cycles));
    (scenario.held_back.is_some() && !sees)
        .then(|| "Only the simulator sees what holds interrupts back, in cycles.".to_owned())
}

/// Returns why a kernel is not asked at all, if that is known before anything is built. Users' own
/// scenarios do not apply to rtmark's kernels, and a user's own kernel answers the scenarios it chooses
/// to.
fn why_not_applicable(kernel: &Kernel, scenario: &Scenario) -> Option<String> {
    let manifest = &kernel.manifest;
    let is_load = scenario.id.group() == LOAD;
    let has_image = manifest.images.iter().any(|image| image == scenario.id.group())
        || is_load && manifest.load;
    match (kernel.own, scenario.own) {
        (false, true) => Some("It is a scenario of somebody's own kernel.".to_owned()),
        _ if is_load && !manifest.load => Some(format!("{} has no mixed load.", manifest.name)),
        (true, _) if !has_image => Some(format!("{} has no such image.", manifest.name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
