//! Turns calls that a function returns with into tail calls: `rtmark-tail-calls MODULE`, in place.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: rtmark-tail-calls MODULE")?;
    let mut module = std::fs::read(&path)?;
    rtmark_tail_calls::make_tail_calls(&mut module)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    std::fs::write(&path, module)?;
    Ok(())
}
