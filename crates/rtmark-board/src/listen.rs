//! Extracts a run with a beginning and an end from incoming bytes.

use std::fmt;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use crate::DeviceError;

/// The beginning of a run's first line.
pub const BEGIN: &[u8] = b"@^ ";

/// The beginning of a run's last line, if the firmware prints through a UART.
pub const END: &[u8] = b"@! ";

/// The limits of listening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long to wait for a run to begin, and then for more of it. Other output before it does not extend that.
    pub silence: Duration,
    /// The largest number of bytes.
    pub bytes: usize,
}

impl Limits {
    /// Limits the silence to this duration, and the bytes to a quarter of a GiB.
    pub fn with_silence(silence: Duration) -> Self {
        Self { silence, bytes: 256 << 20 }
    }
}

/// What had arrived when nothing more of a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Nothing.
    NoOutput(Duration),
    /// Bytes that are not text: how many, of how many.
    Noise(usize, usize, Duration),
    /// Text in which no run of rtmark's firmware begins.
    OtherProgram(Duration),
    /// A run began and did not end.
    Unfinished(Duration),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOutput(time) => write!(f, "the board said nothing for {time:?}"),
            Self::Noise(odd, all, time) => write!(
                f,
                "what the board sends is not text ({odd} of {all} bytes), and no run began for {time:?}"
            ),
            Self::OtherProgram(time) => write!(
                f,
                "the board prints, but no run of rtmark's firmware begins in it for {time:?}"
            ),
            Self::Unfinished(time) => {
                write!(f, "the run began and did not end; nothing more came for {time:?}")
            }
        }
    }
}

impl Silence {
    fn of(heard: &Heard, time: Duration) -> Self {
        let all = heard.console.len();
        let odd = |byte: &&u8| !matches!(**byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
        let odd = heard.console.iter().filter(odd).count();
        if all == 0 {
            Self::NoOutput(time)
        } else if heard.has_begun {
            Self::Unfinished(time)
        } else if odd > all / 4 {
            Self::Noise(odd, all, time)
        } else {
            Self::OtherProgram(time)
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoOutput(_) => {
                "press its reset button while rtmark listens, or let rtmark load the firmware \
                 (--load); is it the right port, and is the UART's pin connected to it? Firmware \
                 that computes for long is given more time by --timeout"
            }
            Self::Noise(..) => {
                "the speed is probably another one: --baud must be what the firmware sets by the \
                 clock that the board's file names"
            }
            Self::OtherProgram(_) => {
                "another program is on the board: let rtmark load its own (--load), or press reset \
                 if it came too late to hear the beginning"
            }
            Self::Unfinished(_) => {
                "give it more time with --timeout; if it still does not end, `--backend sim \
                 --clocked` shows whether the same firmware does there"
            }
        }
    }
}

/// What a board prints, searched for a run as it arrives.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    console: Vec<u8>,
    /// Where the last line begins, which may be unfinished.
    line: usize,
    has_begun: bool,
    has_ended: bool,
}

impl Heard {
    /// Adds what arrived. What follows the last line of a run is dropped.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.has_ended {
            return;
        }
        let searched = self.console.len();
        // An unfinished line that is neither a beginning nor an end does not become one, however long it gets.
        let open = &self.console[self.line..];
        let may_be = |what: &[u8]| open.starts_with(what) || what.starts_with(open);
        let from = if may_be(BEGIN) || may_be(END) { self.line } else { searched };
        self.console.extend_from_slice(bytes);
        for at in from..self.console.len() {
            if self.has_ended {
                break;
            }
            if at == 0 || self.console[at - 1] == b'\n' {
                self.look_at_line(at);
            }
        }
    }

    /// Looks at the line that begins at a position.
    fn look_at_line(&mut self, at: usize) {
        self.line = at;
        let line = &self.console[at..];
        self.has_begun |= line.starts_with(BEGIN);
        // An end alone belongs to a run whose beginning was missed.
        if self.has_begun
            && line.starts_with(END)
            && let Some(length) = line.iter().position(|&byte| byte == b'\n')
        {
            self.console.truncate(at + length + 1);
            self.has_ended = true;
        }
    }

    /// Returns whether a run has begun and ended.
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns all that was heard; if a run has ended, up to its end.
    pub fn into_console(self) -> Vec<u8> {
        self.console
    }
}

/// Reads until a run has begun and ended. If a run begins again because the board was reset, it
/// replaces the earlier one.
///
/// A read that times out is not an error; it only serves to measure the time.
///
/// # Errors
/// When no run begins or nothing more of it arrives in time, the source disappears, or too much arrives.
pub fn listen(source: &mut dyn Read, link: &str, limits: Limits) -> Result<Vec<u8>, DeviceError> {
    let mut heard = Heard::default();
    let mut waits_since = Instant::now();
    let mut chunk = [0_u8; 4096];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => {
                let (source, console) =
                    (io::Error::from(io::ErrorKind::UnexpectedEof), heard.console);
                return Err(DeviceError::Disconnected { link: link.to_owned(), source, console });
            }
            Ok(count) => {
                if heard.console.len() + count > limits.bytes {
                    return Err(DeviceError::TooMuchOutput { limit: limits.bytes });
                }
                heard.add(&chunk[..count]);
                if heard.has_ended {
                    return Ok(heard.console);
                }
                if heard.has_begun {
                    waits_since = Instant::now();
                }
            }
            Err(source) => match source.kind() {
                io::ErrorKind::TimedOut
                | io::ErrorKind::WouldBlock
                | io::ErrorKind::Interrupted => {}
                _ => {
                    let (link, console) = (link.to_owned(), heard.console);
                    return Err(DeviceError::Disconnected { link, source, console });
                }
            },
        }
        if waits_since.elapsed() > limits.silence {
            let silence = Silence::of(&heard, limits.silence);
            return Err(DeviceError::Silent { silence, console: heard.console });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source of chunks; an empty one is a read that timed out.
    struct Chunks(Vec<Vec<u8>>);

    impl Read for Chunks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let chunk = self.0.remove(0);
            if chunk.is_empty() {
                std::thread::sleep(Duration::from_millis(2));
                return Err(io::ErrorKind::TimedOut.into());
            }
            buffer[..chunk.len()].copy_from_slice(&chunk);
            Ok(chunk.len())
        }
    }

    const RUN: &[u8] = b"\n@^ 00000003\n@+ 00000001 00000002\n@. 00000000 00000000\na.b ok\n@! 0\n";

    /// Longer than any test.
    const LONG: Duration = Duration::from_mins(10);
    /// Shorter than a read that times out.
    const SHORT: Duration = Duration::from_millis(1);

    fn capture(chunks: Vec<Vec<u8>>, silence: Duration) -> Result<Vec<u8>, DeviceError> {
        listen(&mut Chunks(chunks), "a test", Limits::with_silence(silence))
    }

    #[test]
    fn the_end_is_detected_however_output_is_split() {
        for size in 1..=RUN.len() {
            let chunks = RUN.chunks(size).map(<[u8]>::to_vec).collect();
            assert_eq!(capture(chunks, LONG).expect("a run"), RUN, "in pieces of {size}");
        }
    }

    #[test]
    fn an_end_without_a_begin_is_ignored() {
        let mut text = b"000001 00000002\n@. 0 0\na.b ok\n@! 0\n".to_vec();
        text.extend_from_slice(RUN);
        assert_eq!(capture(vec![text.clone()], LONG).expect("the second"), text);
        // Reset half-way: listening continues until the second run ends.
        let mut twice = RUN[..30].to_vec();
        twice.extend_from_slice(RUN);
        let pieces = twice.chunks(7).map(<[u8]>::to_vec).collect();
        assert_eq!(capture(pieces, LONG).expect("the second"), twice);
    }

    #[test]
    fn what_follows_a_run_is_dropped() {
        for more in ["boot", "\n@^ 00000003\n@! 0\n"].map(str::as_bytes) {
            let mut at_once = Heard::default();
            at_once.add(&[RUN, more].concat());
            let mut later = Heard::default();
            later.add(&RUN[..RUN.len() - 1]);
            assert!(!later.has_ended(), "its last line is not complete");
            later.add(&RUN[RUN.len() - 1..]);
            later.add(more);
            for heard in [at_once, later] {
                assert!(heard.has_ended());
                assert_eq!(heard.into_console(), RUN);
            }
        }
    }

    /// A board that never stops sending the same byte.
    struct Endless(u8);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_micros(100));
            buffer.fill(self.0);
            Ok(buffer.len())
        }
    }

    #[test]
    fn output_without_a_run_does_not_extend_the_time() {
        let limits = Limits::with_silence(Duration::from_millis(50));
        for (byte, is_noise) in [(b'U', false), (b'\n', false), (0xFF, true)] {
            match listen(&mut Endless(byte), "a test", limits) {
                Err(DeviceError::Silent { silence: Silence::OtherProgram(_), .. }) => {
                    assert!(!is_noise);
                }
                Err(DeviceError::Silent { silence: Silence::Noise(odd, all, _), .. }) => {
                    assert!(is_noise && odd == all);
                }
                other => panic!("{byte:#x}: {:?}", other.map(|console| console.len())),
            }
        }
    }

    #[test]
    fn a_run_may_begin_behind_an_unfinished_line_of_any_length() {
        let mut text = vec![b'U'; 10_000];
        text.extend_from_slice(RUN);
        for size in [1, 7, 4096] {
            let chunks = text.chunks(size).map(<[u8]>::to_vec).collect();
            assert_eq!(capture(chunks, LONG).expect("a run"), text, "in pieces of {size}");
        }
        // What looks like a beginning within a line is none.
        let chunks = [b"U@^ 0\n@! 0\n".to_vec(), vec![]].into();
        assert!(matches!(capture(chunks, SHORT), Err(DeviceError::Silent { .. })));
        let chunks = [b"U".to_vec(), b"@^ 0\n@! 0\n".to_vec(), vec![]].into();
        assert!(matches!(capture(chunks, SHORT), Err(DeviceError::Silent { .. })));
    }

    #[test]
    fn kinds_of_silence_are_distinguished() {
        let silence = |text: &[u8]| match capture([text.to_vec(), vec![]].into(), SHORT) {
            Err(DeviceError::Silent { silence, .. }) => silence,
            other => panic!("{other:?}"),
        };
        let time = SHORT;
        assert_eq!(
            match capture(vec![vec![], vec![]], SHORT) {
                Err(DeviceError::Silent { silence, .. }) => silence,
                other => panic!("{other:?}"),
            },
            Silence::NoOutput(time)
        );
        assert_eq!(silence(&[0x80, 0xFF, 0x00, b'a']), Silence::Noise(3, 4, time));
        assert!(silence(&[0xFF, 0xFF, b'a', b'a']).hint().contains("--baud"));
        assert_eq!(silence(b"4 \xB0C"), Silence::OtherProgram(time), "a quarter may be odd");
        assert_eq!(silence(b"Hello from Zephyr\r\n"), Silence::OtherProgram(time));
        assert_eq!(silence(&RUN[..40]), Silence::Unfinished(time));
        assert!(matches!(
            capture(vec![RUN[..40].to_vec()], LONG),
            Err(DeviceError::Disconnected { .. })
        ));
        let limits = Limits { bytes: RUN.len(), ..Limits::with_silence(LONG) };
        let all = listen(&mut Chunks(vec![RUN.to_vec()]), "a test", limits);
        assert_eq!(all.expect("it just fits"), RUN);
        let limits = Limits { bytes: 20, ..Limits::with_silence(time) };
        let flood = listen(&mut Chunks(vec![RUN.to_vec()]), "a test", limits);
        assert!(matches!(flood, Err(DeviceError::TooMuchOutput { limit: 20 })));
    }
}
