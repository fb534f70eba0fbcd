//! Runs one firmware image in the simulator and tells what happens, an event a line.
//!
//! It is a plain program with arguments on stdin and events on stdout, so that the same sources are
//! compiled for a browser (WASI, in a worker) and for the computer where tests compare the two. It
//! opens no file and no connection.
//!
//! On stdin come a line `soc=LENGTH image=LENGTH cycles=MOST`, the soc file, and the image.

mod request;
mod session;

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use request::Request;
use serde::Serialize;
use session::{Ended, Session};

/// How often it is told how far a run has come.
const PACE: Duration = Duration::from_millis(80);
/// How many cycles are run before anybody knows how fast that is.
const FIRST_SLICE: u64 = 200_000;

/// What happens.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event<'a> {
    /// The image is loaded.
    Loaded { soc: &'a str, core: String, clock: u32, timing_model: &'a str },
    /// The program has printed.
    Console { text: String },
    /// How far it has come.
    Progress { cycles: u64, instructions: u64 },
    /// It has ended.
    Ended { how: Ended, text: String, cycles: u64, instructions: u64 },
    /// Soc file or image cannot be used.
    Refused { text: String },
}

fn tell(event: &Event<'_>) -> io::Result<()> {
    let mut to = io::stdout().lock();
    serde_json::to_writer(&mut to, event)?;
    to.write_all(b"\n")?;
    to.flush()
}

fn main() -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let begun = Request::read(&bytes)
        .and_then(|request| Ok((Session::begin(request.soc, request.image)?, request.cycles)));
    match begun {
        Ok((session, most)) => follow(session, most),
        Err(text) => tell(&Event::Refused { text }),
    }
}

/// Runs on in slices that take about as long as the pace, until the end.
fn follow(mut session: Session, most: u64) -> io::Result<()> {
    let soc = session.soc().clone();
    let (core, clock) = (soc.core.to_string(), soc.clock.0);
    let timing_model = rtmark_sim::TIMING_MODEL;
    tell(&Event::Loaded { soc: &soc.name, core, clock, timing_model })?;
    let mut slice = FIRST_SLICE;
    loop {
        let began = Instant::now();
        let ended = session.advance(slice, most);
        let printed = session.console();
        if !printed.is_empty() {
            tell(&Event::Console { text: printed })?;
        }
        let (cycles, instructions) = session.counts();
        if let Some((how, text)) = ended {
            return tell(&Event::Ended { how, text, cycles, instructions });
        }
        tell(&Event::Progress { cycles, instructions })?;
        let took = began.elapsed().max(Duration::from_micros(100));
        let ratio = (PACE.as_secs_f64() / took.as_secs_f64()).clamp(0.25, 4.0);
        slice = ((slice as f64 * ratio) as u64).max(1000);
    }
}
