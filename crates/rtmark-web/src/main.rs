//! Runs one firmware image in the simulator, and reports the state at any moment of the run.
//!
//! It is a plain program with requests on stdin and events on stdout, both lines of JSON ([`request`],
//! [`event`]). So the same sources are compiled for browsers (WASI, in a worker) and for the host on
//! which tests compare the two. It opens no file and no connection.
//!
//! Requests on stdin are served until its end. The session persists after `main` returns: a browser,
//! which cannot wait for input, calls `main` again for each request.

mod console;
mod event;
mod history;
mod look;
mod request;
mod session;
mod survey;
mod touched;
mod worst;

use std::cell::RefCell;
use std::io::{self, Read};
use std::time::Duration;

use event::{ChipTime, Event, send};
use request::{Ask, Request, paced};
use session::{Limit, Progress, Session};

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

fn main() -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    SESSION.with_borrow_mut(|session| {
        let mut rest = bytes.as_slice();
        while let Some((request, behind)) = Request::read(rest) {
            rest = behind;
            let served = match request {
                Ok(request) => serve(session, &request)?,
                Err(text) => Err(text),
            };
            if let Err(text) = served {
                send(&Event::Refused { text })?;
            }
        }
        Ok(())
    })
}

/// Serves a request. The inner error states why it cannot be fulfilled.
fn serve(kept: &mut Option<Session>, request: &Request<'_>) -> io::Result<Result<(), String>> {
    if let Ask::Open { most, lasts, pend, .. } = request.ask {
        *kept = None;
        let limit = Limit { cycles: most, time: lasts.map(Duration::from_nanos) };
        let session = match Session::begin(request.soc, request.image, limit, pend) {
            Ok(session) => session,
            Err(text) => return Ok(Err(text)),
        };
        let session = kept.insert(session);
        send_loaded(session)?;
        return send_moment(session, None, None).map(Ok);
    }
    let Some(session) = kept else {
        return Ok(Err("no image is loaded yet".to_owned()));
    };
    match request.ask {
        Ask::Open { .. } => {}
        Ask::Go { cycle, pace } => {
            let progress = session.go_to(cycle, paced(pace));
            send_console(session)?;
            match progress {
                Progress::Partial => {
                    let (cycles, instructions) = session.counts();
                    let reached = session.reached();
                    let time = ChipTime::of(&session.clock());
                    send(&Event::Progress { cycles, instructions, reached, time })?;
                }
                Progress::Reached => send_moment(session, None, None)?,
            }
        }
        Ask::Step { by } => {
            session.step(by);
            send_console(session)?;
            send_moment(session, None, None)?;
        }
        Ask::Look { address, bytes } => send_moment(session, address, bytes)?,
        Ask::Survey { from, to, pace } => return survey::survey(session, [from, to], paced(pace)),
        Ask::Worst { interrupt, priority, from, to } => {
            return worst::worst(session, interrupt, priority, [from, to]);
        }
    }
    Ok(Ok(()))
}

fn send_loaded(session: &Session) -> io::Result<()> {
    let soc = session.soc();
    let memory = |memory: &'_ rtmark_sim::Memory| {
        let range = memory.range();
        (range.start as u32, (range.end - range.start) as u32)
    };
    send(&Event::Loaded {
        soc: &soc.name,
        core: &soc.core.to_string(),
        timing_model: rtmark_sim::TIMING_MODEL,
        lines: session.lines().is_some(),
        memories: soc
            .memories
            .iter()
            .map(|of| (of.name.as_str(), memory(of).0, memory(of).1))
            .collect(),
        priority_bits: soc.priority_bits,
        interrupts: session.interrupts(),
    })
}

fn send_console(session: &mut Session) -> io::Result<()> {
    match session.take_new() {
        text if text.is_empty() => Ok(()),
        text => send(&Event::Console { text }),
    }
}

/// Reports the moment, and before that how the run ended if it ended here.
fn send_moment(session: &Session, address: Option<u32>, bytes: Option<u32>) -> io::Result<()> {
    if let Some((how, text)) = session.ended() {
        let (cycles, instructions) = session.counts();
        send(&Event::Ended { how, text, cycles, instructions })?;
    }
    send(&Event::Moment(Box::new(look::moment(session, address, bytes))))
}
