//! The longest call of a function in one run of the user's own firmware.

use std::path::Path;

use rtmark_plan::Function;
use rtmark_runner::socs::SocFile;
use rtmark_runner::{Session, input_file};
use rtmark_sim::{Image, Machine, Register, Stop};
use rtmark_units::Cycles;

/// Returns the longest call of a function, in cycles, in the first second of its firmware's run.
/// Handlers that interrupt a call count as part of it.
///
/// # Errors
/// When the function is not found or never called, or has not returned from a call when that second is
/// over.
pub fn longest(soc: &SocFile, folder: &Path, wanted: &Function) -> Result<u64, String> {
    let path = folder.join(&wanted.elf);
    let shown = path.display();
    let elf = input_file::read_bytes(&path).map_err(|error| format!("{shown}: {error}"))?;
    let image = Image::from_elf(&elf).map_err(|error| format!("{shown}: {error}"))?;
    let name = wanted.function.as_str();
    let entry = image.symbols().find(name).map(|address| address & !1);
    let entry = entry.ok_or_else(|| format!("{shown} has no function `{name}`"))?;
    let session = Session::new(&soc.soc, &image).map_err(|error| format!("{shown}: {error}"))?;
    let mut session = session.with_file(&elf);
    let limit = Cycles(u64::from(soc.soc.clock.0));
    let mut longest = None;
    while reaches(&mut session.machine, entry, limit) {
        let began = session.machine.cycles();
        let (back, stack) =
            (session.machine.register(Register::Link) & !1, session.machine.register(Register::Sp));
        // A recursive call returns at another depth of the stack.
        let mut returned = reaches(&mut session.machine, back, limit);
        while returned && session.machine.register(Register::Sp) < stack {
            returned =
                passes(&mut session.machine, limit) && reaches(&mut session.machine, back, limit);
        }
        if let Some(overflow) = session.stack_overflow() {
            return Err(format!("{shown}: {overflow}"));
        }
        if !returned {
            return Err(format!(
                "`{name}` of {shown} has not returned from its call in cycle {} by cycle {}, where its run of \
                 a second ends: how long that call takes is unknown",
                began.0,
                session.machine.cycles().0
            ));
        }
        longest = longest.max(Some(session.machine.cycles().0 - began.0));
    }
    longest.ok_or_else(|| format!("`{name}` of {shown} is never called within a second"))
}

/// Runs until an instruction is about to execute, and returns whether it was reached.
fn reaches(machine: &mut Machine, address: u32, limit: Cycles) -> bool {
    machine.stop_before(address);
    let stop = machine.run(limit);
    machine.remove_stop(address);
    matches!(stop, Stop::Breakpoint(at) if at & !1 == address)
}

/// Executes one instruction, and returns whether it succeeded.
fn passes(machine: &mut Machine, limit: Cycles) -> bool {
    machine.step(limit).is_ok()
}
