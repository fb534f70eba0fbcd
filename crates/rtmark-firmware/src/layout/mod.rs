//! Layouts: the same code at other addresses.
//!
//! The address of a function determines which of its instructions share a line of the flash memory, and
//! thereby what they wait for. A layout orders functions differently from the linker, with gaps between
//! them. It is made by linking the same objects again, with the linker's own script but with the
//! functions listed one by one. Nothing is compiled again, so the instructions are the same.
//!
//! Layout 0 is the linker's own. Every other layout follows from its number and the names of the
//! functions alone: it is the same on every host, and an additional function leaves the order of the
//! others unchanged.

mod link;
mod map;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use link::{LinkRecord, record_of};
pub(crate) use link::{make_linker, records_folder};
pub(crate) use map::Section;

use crate::builder::{at, no_image, sha256, write_if_changed};
use crate::cache::lock;
use crate::select::loaded;
use crate::view;
use crate::{Builder, BuiltImage, FirmwareError, Kernel, Probes, SettingChanges, Target};

/// The layouts of an image besides the linker's own, by image.
pub type Layouts = BTreeMap<String, Vec<BuiltImage>>;

/// Incremented when the same number comes to mean another layout.
const FORM: u32 = 1;

/// The unit of gaps, in bytes: the greatest alignment of a processor's instructions.
const STEP: u64 = 4;
/// The number of different gaps, from none up to a line of a flash memory: 32 bytes, the longest of any
/// soc here.
const GAPS: u64 = 8;

/// The pattern for functions in a linker script.
const ALL: &str = "*(.text .text.*)";

/// Returns a number that a layout and a name determine: FNV-1a, mixed as in SplitMix64.
fn drawn(layout: u32, purpose: &str, name: &str) -> u64 {
    let number = layout.to_le_bytes();
    let bytes = number.iter().chain(purpose.as_bytes()).chain(&[0]).chain(name.as_bytes());
    let mixed = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Returns a linker script with its functions in the order of a layout; `None` if it does not list them
/// in the usual form.
fn script_of(script: &str, sections: &[Section], layout: u32) -> Option<String> {
    let (before, after) = script.split_once(ALL).filter(|(_, after)| !after.contains(ALL))?;
    let mut patterns: Vec<String> = sections.iter().filter_map(Section::pattern).collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns.sort_by_cached_key(|pattern| drawn(layout, "order", pattern));
    let mut text = before.to_owned();
    for pattern in patterns {
        let gap = drawn(layout, "gap", &pattern) % GAPS * STEP;
        let _ = write!(text, ". += {gap}; {pattern}\n        ");
    }
    Some(text + ALL + after)
}

/// Tells whether images for a target are linked in layouts.
pub(crate) fn of_target(target: &Target) -> bool {
    target.probes == Probes::Addresses && target.core.starts_with("cortex-m")
}

impl Builder {
    /// Links each image of a build in the layouts from 1 up to, but not including, `layouts` of its
    /// name, or finds earlier results. Empty if it is unknown how a build links, because it uses a
    /// script of the user's own or another core than Cortex-M.
    ///
    /// # Errors
    /// When the linker fails, or its output is not the image that was built.
    pub fn place(
        &self,
        kernel: &Kernel,
        target: &Target,
        changes: &SettingChanges,
        images: &BTreeMap<String, BuiltImage>,
        layouts: impl Fn(&str) -> u32,
    ) -> Result<Layouts, FirmwareError> {
        let mut placed = Layouts::new();
        if !of_target(target) || images.keys().all(|name| layouts(name) < 2) {
            return Ok(placed);
        }
        let out = self.out_folder(kernel, target, changes);
        let _held = lock(&out)?;
        // Under the names with which it was linked.
        let named = view::name_of(self.cache(), &out)?;
        for (name, image) in images {
            let layouts = layouts(name);
            if layouts < 2 {
                continue;
            }
            let Some(record) = record_of(&records_folder(kernel, target, &out), name, &image.elf)
            else {
                continue;
            };
            let folder = named.join("layouts");
            std::fs::create_dir_all(&folder).map_err(at(&folder))?;
            let linking = Linking { kernel, target, record, image, folder: &folder, name };
            if let Some(linked) = linking.all(layouts)? {
                for image in &linked {
                    self.keep(image);
                }
                placed.insert(name.clone(), linked);
            }
        }
        Ok(placed)
    }
}

/// An image to be linked in layouts.
struct Linking<'a> {
    kernel: &'a Kernel,
    target: &'a Target,
    record: LinkRecord,
    image: &'a BuiltImage,
    folder: &'a Path,
    name: &'a str,
}

impl Linking<'_> {
    fn all(mut self, layouts: u32) -> Result<Option<Vec<BuiltImage>>, FirmwareError> {
        let mut found: Vec<Option<BuiltImage>> = (1..layouts).map(|n| self.known(n)).collect();
        if found.iter().any(Option::is_none) {
            let Some(script) = self.record.script() else { return Ok(None) };
            let map = self.map()?;
            let sections = map::sections(&map);
            self.record = self.record.compiled(&map);
            for (layout, found) in (1..layouts).zip(&mut found) {
                if found.is_none() {
                    let Some(text) = script_of(&script, &sections, layout) else {
                        return Ok(None);
                    };
                    *found = Some(self.link(layout, &text)?);
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    fn file(&self, layout: u32, extension: &str) -> std::path::PathBuf {
        self.folder.join(format!("{}.{layout}.{extension}", self.name))
    }

    /// Identifies what a layout is made from.
    fn origin(&self) -> String {
        format!("form {FORM} of {}\n", self.image.sha256)
    }

    fn built(&self, layout: u32, elf: Vec<u8>) -> BuiltImage {
        let path = self.file(layout, "elf");
        BuiltImage { path, sha256: sha256(&elf), elf, ..self.image.clone() }
    }

    /// Returns a layout of the same image that was linked earlier.
    fn known(&self, layout: u32) -> Option<BuiltImage> {
        let origin = std::fs::read_to_string(self.file(layout, "of")).ok()?;
        let elf = std::fs::read(self.file(layout, "elf")).ok()?;
        (origin == self.origin()).then(|| self.built(layout, elf))
    }

    /// Returns the map of layout 0, which the linker writes when it repeats the original link.
    fn map(&self) -> Result<String, FirmwareError> {
        let path = self.file(0, "elf");
        let (elf, map) = self.record.link(self.kernel, self.target, None, &path)?;
        if loaded(&elf) == loaded(&self.image.elf) {
            return Ok(map);
        }
        let differs = "what was linked again differs from what was linked: remove the folder of \
                       this build";
        Err(no_image(self.kernel, &path, std::io::Error::other(differs)))
    }

    fn link(&self, layout: u32, script: &str) -> Result<BuiltImage, FirmwareError> {
        let file = self.file(layout, "ld");
        write_if_changed(&file, script.as_bytes())?;
        let origin = self.file(layout, "of");
        // Only complete links are reused.
        let _ = std::fs::remove_file(&origin);
        let path = self.file(layout, "elf");
        let (elf, _) = self.record.link(self.kernel, self.target, Some(&file), &path)?;
        write_if_changed(&origin, self.origin().as_bytes())?;
        Ok(self.built(layout, elf))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = ".text : { KEEP(*(.vectors)) *(.text .text.*) } > FLASH";

    fn sections(names: &[&str]) -> Vec<Section> {
        let section = |name: &&str| Section { name: (*name).to_owned(), file: "a.o".to_owned() };
        names.iter().map(section).collect()
    }

    fn ordered(text: &str) -> Vec<&str> {
        let names = text.split("*(.text.").skip(1);
        names.filter_map(|rest| rest.split_once(')')).map(|(name, _)| name).collect()
    }

    #[test]
    fn a_layout_does_not_depend_on_link_order() {
        let (all, back) = ([".text.a", ".text.b", ".text.c"], [".text.c", ".text.b", ".text.a"]);
        let of = |names: &[&str], layout| script_of(SCRIPT, &sections(names), layout);
        assert_eq!(of(&all, 1), of(&back, 1));
        assert_ne!(of(&all, 1), of(&all, 2));
        let text = of(&all, 1).expect("a script");
        assert!(text.starts_with(".text : { KEEP(*(.vectors)) . += "), "{text}");
        // Sections without a name of their own come last.
        assert!(text.ends_with("*(.text .text.*) } > FLASH"), "{text}");
    }

    #[test]
    fn an_added_function_keeps_the_order_of_the_others() {
        let names: Vec<String> = (0..40).map(|n| format!(".text.f{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let more = [names.as_slice(), &[".text.more"]].concat();
        let of = |names: &[&str]| script_of(SCRIPT, &sections(names), 3).expect("a script");
        let (without, with) = (of(&names), of(&more));
        let mut kept = ordered(&with);
        kept.retain(|name| *name != "more");
        assert_eq!(kept, ordered(&without));
        assert_ne!(kept, names.iter().map(|name| &name[6..]).collect::<Vec<_>>(), "another order");
    }

    #[test]
    fn gaps_take_every_length_up_to_a_line() {
        let gaps = (0..200).map(|n| drawn(1, "gap", &format!("f{n}")) % GAPS);
        let gaps: std::collections::BTreeSet<u64> = gaps.collect();
        assert_eq!(gaps.len() as u64, GAPS);
        let names: Vec<String> = (0..200).map(|n| format!(".text.f{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = script_of(SCRIPT, &sections(&names), 1).expect("a script");
        let gaps = text.split(". += ").skip(1).filter_map(|rest| rest.split(';').next());
        let gaps: std::collections::BTreeSet<u64> = gaps.flat_map(str::parse).collect();
        assert_eq!(gaps, (0..GAPS).map(|gap| gap * STEP).collect());
    }

    #[test]
    fn scripts_without_function_sections_have_no_layouts() {
        assert_eq!(script_of("*(.text*)", &sections(&[".text.a"]), 1), None);
        assert_eq!(script_of(&[SCRIPT, SCRIPT].concat(), &sections(&[".text.a"]), 1), None);
    }

    /// Clocked probes are code, which a layout would move with the rest.
    #[test]
    fn only_plain_images_for_cortex_m_have_layouts() {
        let socs = [
            (include_str!("../../../../socs/stm32c031.toml"), true),
            (include_str!("../../../../socs/stm32f405.toml"), true),
            (include_str!("../../../../socs/zynqmp-r5.toml"), false),
            (include_str!("../../../../socs/generic-hazard3.toml"), false),
        ];
        for (text, is_placed) in socs {
            let soc = rtmark_sim::Soc::from_toml(text).expect("good");
            let target = Target::from(&soc);
            assert_eq!(of_target(&target), is_placed, "{}", soc.name);
            assert!(!of_target(&target.clocked(soc.core)), "{}", soc.name);
        }
    }

    #[test]
    fn pseudorandom_numbers_are_the_same_on_every_host() {
        assert_eq!(drawn(1, "order", "*(.text.main)"), 3_614_857_776_164_742_981);
    }
}
