//! Prints the directory of the FreeRTOS kernel's sources; with `--version`, their version.

use std::path::Path;
use std::process::ExitCode;

use freertos_source::{KernelSource, OVERRIDE};

fn main() -> ExitCode {
    match answer() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn answer() -> Result<String, String> {
    // Set but empty is what `VARIABLE= make` gives, and means the same as unset.
    let overriding = std::env::var_os(OVERRIDE).filter(|value| !value.is_empty());
    let source = KernelSource::find(overriding.as_deref().map(Path::new))
        .map_err(|error| error.to_string())?;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(source.directory().display().to_string()),
        ["--version"] => source
            .version()
            .ok_or_else(|| format!("`{}` does not say its version", source.directory().display())),
        _ => Err("usage: freertos-source [--version]".to_owned()),
    }
}
