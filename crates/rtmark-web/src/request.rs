//! Requests to a session: lines of JSON, the first of which brings a soc file and an image.

use std::time::Duration;

use rtmark_sim::Irq;
use serde::Deserialize;

/// The most cycles in one survey or search.
pub const MAX_CYCLES: u64 = 20_000_000;

/// An interrupt that becomes pending from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pend {
    /// The interrupt, as CMSIS numbers it.
    pub interrupt: Irq,
    /// Its priority, as the register holds it.
    pub priority: u8,
    /// The cycle since reset.
    pub at: u64,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub enum Ask {
    /// Load an image into a chip. The soc file and the image follow the line, with these lengths.
    Open {
        soc: usize,
        image: usize,
        /// Cycles since reset after which the run ends in any case.
        most: u64,
        /// Nanoseconds since reset after which it does, on the core's clock.
        #[serde(default)]
        lasts: Option<u64>,
        pend: Option<Pend>,
    },
    /// Go to the first instruction boundary at or after a cycle, forwards or backwards.
    Go {
        cycle: u64,
        /// Milliseconds after which an intermediate answer is given.
        pace: Option<u64>,
    },
    /// Step by this many instructions, forwards or backwards.
    Step { by: i64 },
    /// Report the moment, with this many bytes of memory.
    Look { address: Option<u32>, bytes: Option<u32> },
    /// Report where the cycles between two moments went, what ran when, and which peripherals were
    /// used.
    Survey { from: u64, to: u64, pace: Option<u64> },
    /// Find the worst moment for an interrupt among some cycles.
    Worst { interrupt: Irq, priority: Option<u8>, from: u64, to: u64 },
}

/// A request with the data that follows its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub ask: Ask,
    pub soc: &'a str,
    pub image: &'a [u8],
}

impl<'a> Request<'a> {
    /// Reads the first request from the bytes; returns it with the remaining bytes, or `None` if there
    /// is none.
    pub fn read(bytes: &'a [u8]) -> Option<(Result<Self, String>, &'a [u8])> {
        let bytes = bytes.trim_ascii_start();
        if bytes.is_empty() {
            return None;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let (line, rest) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
        let refuse = |why: String| (Err(format!("not a request: {why}")), rest);
        let ask = match serde_json::from_slice::<Ask>(line) {
            Ok(ask) => ask,
            Err(error) => return Some(refuse(error.to_string())),
        };
        let Ask::Open { soc, image, .. } = ask else {
            return Some((Ok(Self { ask, soc: "", image: &[] }), rest));
        };
        let cut = rest
            .split_at_checked(soc)
            .and_then(|(soc, rest)| Some((soc, rest.split_at_checked(image)?)));
        let Some((soc, (image, rest))) = cut else {
            return Some((Err("not a request: its files are missing".to_owned()), &[]));
        };
        Some(match std::str::from_utf8(soc) {
            Ok(soc) => (Ok(Self { ask, soc, image }), rest),
            Err(_) => (Err("the soc file is not text".to_owned()), rest),
        })
    }
}

/// Converts a pace to a duration.
pub fn paced(milliseconds: Option<u64>) -> Option<Duration> {
    milliseconds.map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed_without_consuming_the_next() {
        let bytes = b"{\"ask\":\"open\",\"soc\":3,\"image\":2,\"most\":9}\na\nb\xff\n{\"ask\":\"step\",\"by\":-1}";
        let (read, rest) = Request::read(bytes).expect("one");
        let read = read.expect("well-formed");
        assert_eq!((read.soc, read.image), ("a\nb", &b"\xff\n"[..]));
        assert!(matches!(read.ask, Ask::Open { most: 9, pend: None, .. }));
        let (read, rest) = Request::read(rest).expect("another");
        assert_eq!(read.expect("well-formed").ask, Ask::Step { by: -1 });
        assert_eq!(Request::read(rest), None);
    }

    #[test]
    fn malformed_requests_are_rejected() {
        for bytes in [
            &b"soc=3"[..],
            b"{\"ask\":\"open\",\"soc\":3,\"image\":2,\"most\":9}\nabcd",
            b"{\"ask\":\"open\",\"soc\":18446744073709551615,\"image\":1,\"most\":1}\na",
            b"{\"ask\":\"open\",\"soc\":-1,\"image\":1,\"most\":1}\na",
            b"{\"ask\":\"open\",\"soc\":1,\"image\":0,\"most\":1}\n\xff",
            b"{\"ask\":\"step\",\"by\":1,\"and\":2}",
            b"{\"ask\":\"fly\"}",
            b"\xff\n",
        ] {
            let (read, _) = Request::read(bytes).expect("something");
            assert!(read.is_err(), "{bytes:?}");
        }
    }
}
