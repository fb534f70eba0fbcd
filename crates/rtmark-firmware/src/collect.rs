//! Collects the results of a build: its images, with the flags and settings that produced them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rtmark_model::{Compiler, Setting};

use crate::builder::{Goal, no_image, sha256, write_if_changed};
use crate::flags::{c_flags, rustc_flags, short_version};
use crate::select::tick_in_elf;
use crate::tools::{rust_flags, rust_target};
use crate::{
    BuildSystem, Builder, BuiltImage, FirmwareError, Kernel, Probes, SettingChanges, Target, host,
};

impl Builder {
    /// Reads the images from the folder of a finished build.
    pub(crate) fn collect(
        &self,
        (kernel, target): (&Kernel, &Target),
        changes: &SettingChanges,
        goal: Goal<'_>,
        (out, compiler_version): (&Path, &str),
    ) -> Result<BTreeMap<String, BuiltImage>, FirmwareError> {
        let build = kernel.manifest.build;
        let mut images = BTreeMap::new();
        for name in goal.images(kernel, target) {
            let path = out.join(&name).with_extension("elf");
            if build == BuildSystem::Cargo {
                let triple = rust_target(&target.core).unwrap_or_default();
                let made =
                    out.join(host::CARGO).join(triple).join("release").join(goal.program(&name));
                let mut elf =
                    std::fs::read(&made).map_err(|source| no_image(kernel, &made, source))?;
                if matches!(&target.probes, Probes::Clocked(Some(counter)) if counter.is_systick())
                {
                    elf = tick_in_elf(&elf).ok_or_else(|| {
                        let lacks = "it has no vector table, or no handler of clocked probes";
                        no_image(kernel, &made, io::Error::other(lacks))
                    })?;
                }
                write_if_changed(&path, &elf)?;
            }
            let elf = std::fs::read(&path).map_err(|source| no_image(kernel, &path, source))?;
            let (flags, mut settings) = match build {
                BuildSystem::Make => c_flags(out, &name),
                BuildSystem::Cargo => {
                    let profile = changes.cargo_profile(&kernel.manifest);
                    let (mut flags, settings) = rustc_flags(self.workspace(kernel), &profile);
                    flags.extend(rust_flags(&target.core).iter().map(ToString::to_string));
                    (flags, settings)
                }
            };
            if let Some(time_base) = changes.time_base(&kernel.manifest, target) {
                settings.insert("time_base".into(), time_base);
            }
            let named = short_version(compiler_version);
            settings.insert("compiler".into(), Setting::Text(named));
            let compiler = Compiler { version: compiler_version.to_owned(), flags };
            let sha256 = sha256(&elf);
            images.insert(name, BuiltImage { path, elf, sha256, compiler, settings });
        }
        Ok(images)
    }
}
