//! Turns calls that a function returns with into tail calls: `rtmark-tail-calls MODULE OUTPUT`.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(from), Some(to), None) = (paths.next(), paths.next(), paths.next()) else {
        return Err("usage: rtmark-tail-calls MODULE OUTPUT".into());
    };
    let of = |path: &PathBuf, error: &dyn Error| format!("{}: {error}", path.display());
    let mut module = std::fs::read(&from).map_err(|error| of(&from, &error))?;
    rtmark_tail_calls::make_tail_calls(&mut module).map_err(|error| of(&from, &error))?;
    std::fs::write(&to, module).map_err(|error| of(&to, &error))?;
    Ok(())
}
