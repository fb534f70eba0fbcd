//! Runs an ELF on a soc and prints what it printed: the library in a few lines.

use std::error::Error;
use std::io::Write as _;

use rtmark_sim::{Cycles, Image, Machine, Soc};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(soc), Some(elf)) = (arguments.next(), arguments.next()) else {
        return Err("usage: run_elf SOC.toml FIRMWARE.elf [SELECT]".into());
    };
    let soc = Soc::from_toml(&std::fs::read_to_string(soc)?)?;
    let image = Image::from_elf(&std::fs::read(elf)?)?;
    let mut machine = Machine::new(&soc);
    machine.load(&image)?;
    if let (Some(select), Some(address)) =
        (arguments.next(), image.symbols().address_of("rtmark_select"))
    {
        machine.poke_word(address, select.parse()?)?;
    }
    let start = std::time::Instant::now();
    let stop = machine.run(Cycles(20_000_000_000));
    let seconds = start.elapsed().as_secs_f64();
    let mut out = std::io::stdout().lock();

    out.write_all(&machine.take_console())?;
    let mips = machine.instructions().0 as f64 / seconds / 1e6;
    writeln!(out, "{stop:?} {} {} {mips:.0} MIPS", machine.cycles(), machine.instructions())?;
    Ok(())
}
