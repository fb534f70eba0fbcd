//! A pseudo-terminal connected to a UART of the chip: typed input, and the program's output.

use std::io;
use std::time::{Duration, Instant};

use rtmark_sim::Machine;

use crate::error::CliError;
use crate::exit::Exit;

#[cfg(target_os = "linux")]
use linux::Pair;
#[cfg(not(target_os = "linux"))]
use other::Pair;

/// How long a run waits for a closed terminal to be reopened before it ends.
pub const REOPEN_TIMEOUT: Duration = Duration::from_secs(2);
/// How often to check whether the terminal was opened.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long the program waits for a terminal that is not read, before its output is dropped.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(1);
/// How often, in the chip's time, a run checks for typed input.
pub const LOOKS: Duration = Duration::from_millis(5);

/// A pseudo-terminal that other programs open by name.
#[derive(Debug)]
pub struct Terminal {
    pair: Pair,
    /// How many bytes of output were dropped because they were not read.
    lost: usize,
    shown: io::Result<()>,
}

/// Returns the error for a pseudo-terminal that cannot be read or written.
pub fn failed(error: &io::Error) -> CliError {
    let hint = "start the run again, or give a file, or - for stdin: --uart-in commands.txt";
    CliError::new(Exit::Internal, format!("--uart-in pty: {error}"), hint)
}

/// Input from a terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    Bytes(Vec<u8>),
    Nothing,
    /// No program has the terminal open any more.
    Closed,
}

impl Terminal {
    /// Creates a pseudo-terminal.
    pub fn new() -> Result<Self, CliError> {
        let pair = Pair::new().map_err(|error| {
            let hint = "give a file, or - for stdin: --uart-in commands.txt";
            CliError::new(Exit::Missing, format!("--uart-in pty: {error}"), hint)
        })?;
        Ok(Self { pair, lost: 0, shown: Ok(()) })
    }

    /// Returns the name by which other programs open it.
    pub fn name(&self) -> &str {
        self.pair.name()
    }

    /// Waits until another program has it open, up to a time limit. Returns whether one has.
    pub fn wait_until_open(&self, within: Option<Duration>) -> io::Result<bool> {
        let began = Instant::now();
        while !self.pair.is_open()? {
            if within.is_some_and(|within| began.elapsed() >= within) {
                return Ok(false);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(true)
    }

    /// Waits for typed input, up to a time limit.
    pub fn typed(&self, wait: Duration) -> io::Result<Typed> {
        self.pair.typed(wait)
    }

    /// Writes the program's output to the terminal.
    ///
    /// Waits up to one second for a terminal that is not read; then the rest is dropped, as on a serial line
    /// without a listener.
    pub fn show(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.shown.is_ok() {
            match self.pair.write(bytes, UNREAD_TIMEOUT) {
                Ok(0) => {
                    self.lost += bytes.len();
                    return;
                }
                Ok(written) => bytes = &bytes[written..],
                Err(error) => self.shown = Err(error),
            }
        }
    }

    /// Waits until the output is read, because closing the terminal discards the rest.
    ///
    /// Returns a note about dropped output, if there was any.
    pub fn finish(self) -> io::Result<Option<String>> {
        self.shown?;
        let began = Instant::now();
        while self.pair.is_open()? && self.pair.has_unread()? && began.elapsed() < UNREAD_TIMEOUT {
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok((self.lost > 0).then(|| {
            format!(
                "{} bytes of output were lost because nothing read them on {}",
                self.lost,
                self.pair.name()
            )
        }))
    }
}

/// Keeps the chip's clock from running ahead of real time: for a program that sleeps until a key is pressed,
/// days would pass otherwise.
#[derive(Debug)]
pub struct Pace {
    from: (Instant, Duration),
}

/// Returns the time since reset on the chip's clock.
fn elapsed(machine: &Machine) -> Duration {
    machine.clock_history().elapsed_at(machine.cycles())
}

impl Pace {
    pub fn new(machine: &Machine) -> Self {
        Self { from: (Instant::now(), elapsed(machine)) }
    }

    /// Returns how far the chip is ahead of real time. If it is behind, counting restarts from now.
    pub fn ahead(&mut self, machine: &Machine) -> Duration {
        let (began, before) = self.from;
        let lasted = elapsed(machine).saturating_sub(before);
        lasted.checked_sub(began.elapsed()).unwrap_or_else(|| {
            self.from = (Instant::now(), elapsed(machine));
            Duration::ZERO
        })
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, Read as _, Write as _};
    use std::os::fd::{AsFd, OwnedFd};
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    use super::Typed;

    /// This program's side of a pseudo-terminal, and the name of the other side.
    #[derive(Debug)]
    pub struct Pair {
        controller: File,
        name: String,
    }

    impl Pair {
        pub fn new() -> io::Result<Self> {
            let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
            let controller = openpt(flags)?;
            grantpt(&controller)?;
            unlockpt(&controller)?;
            let name = ptsname(&controller, Vec::new())?.to_string_lossy().into_owned();
            rustix::io::ioctl_fionbio(&controller, true)?;
            let pair = Self { controller: controller.into(), name };
            // Raw mode passes bytes unchanged. Opening the other side once makes later hang-ups detectable.
            let other = pair.other()?;
            let mut settings = tcgetattr(&other)?;
            settings.make_raw();
            tcsetattr(&other, OptionalActions::Now, &settings)?;
            Ok(pair)
        }

        pub fn name(&self) -> &str {
            &self.name
        }

        /// Opens the other side.
        fn other(&self) -> io::Result<OwnedFd> {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            Ok(rustix::fs::open(&self.name, flags, Mode::empty())?)
        }

        fn wait_for(&self, events: PollFlags, wait: Duration) -> io::Result<PollFlags> {
            polled(&self.controller, events, wait)
        }

        pub fn is_open(&self) -> io::Result<bool> {
            Ok(!self.wait_for(PollFlags::empty(), Duration::ZERO)?.contains(PollFlags::HUP))
        }

        pub fn typed(&self, wait: Duration) -> io::Result<Typed> {
            let ready = self.wait_for(PollFlags::IN, wait)?;
            if ready.contains(PollFlags::IN) {
                let mut bytes = vec![0; 4096];
                match (&self.controller).read(&mut bytes) {
                    Ok(read) if read > 0 => {
                        bytes.truncate(read);
                        return Ok(Typed::Bytes(bytes));
                    }
                    Err(error) if !is_silence(&error) => return Err(error),
                    _ => {}
                }
            }
            Ok(if ready.contains(PollFlags::HUP) { Typed::Closed } else { Typed::Nothing })
        }

        /// Writes bytes; returns how many were written, 0 if nothing is read for that time.
        pub fn write(&self, bytes: &[u8], wait: Duration) -> io::Result<usize> {
            let ready = self.wait_for(PollFlags::OUT, wait)?;
            if ready.contains(PollFlags::HUP) || !ready.contains(PollFlags::OUT) {
                return Ok(0);
            }
            match (&self.controller).write(bytes) {
                Err(error) if is_silence(&error) => Ok(0),
                written => written,
            }
        }

        /// Returns whether there are unread bytes, including those still in transit: polling delivers them,
        /// while FIONREAD does not.
        pub fn has_unread(&self) -> io::Result<bool> {
            Ok(!polled(&self.other()?, PollFlags::IN, Duration::ZERO)?.is_empty())
        }
    }

    fn polled(file: &impl AsFd, events: PollFlags, wait: Duration) -> io::Result<PollFlags> {
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        let mut polled = [PollFd::new(file, events)];
        match poll(&mut polled, Some(&wait)) {
            Ok(_) => Ok(polled[0].revents()),
            Err(rustix::io::Errno::INTR) => Ok(PollFlags::empty()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether an error means that there is no data, or no program at the other end.
    fn is_silence(error: &io::Error) -> bool {
        let no_reader = rustix::io::Errno::IO.raw_os_error();
        error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(no_reader)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::convert::Infallible;
    use std::io;
    use std::time::Duration;

    use super::Typed;

    /// A pseudo-terminal, which cannot exist here.
    #[derive(Debug)]
    pub struct Pair(Infallible);

    impl Pair {
        pub fn new() -> io::Result<Self> {
            let problem = "pseudo-terminals are only supported on Linux";
            Err(io::Error::new(io::ErrorKind::Unsupported, problem))
        }

        pub fn name(&self) -> &str {
            match self.0 {}
        }

        pub fn is_open(&self) -> io::Result<bool> {
            match self.0 {}
        }

        pub fn typed(&self, _: Duration) -> io::Result<Typed> {
            match self.0 {}
        }

        pub fn write(&self, _: &[u8], _: Duration) -> io::Result<usize> {
            match self.0 {}
        }

        pub fn has_unread(&self) -> io::Result<bool> {
            match self.0 {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::OpenOptions;
    use std::io::{Read as _, Write as _};

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn a_pty_transfers_both_ways_and_detects_hang_up() {
        let mut terminal = Terminal::new().expect("a terminal");
        assert!(
            !terminal.wait_until_open(Some(Duration::ZERO)).expect("asked"),
            "nobody has opened it"
        );
        let mut other =
            OpenOptions::new().read(true).write(true).open(terminal.name()).expect("opened");
        assert!(terminal.wait_until_open(None).expect("asked"));
        assert_eq!(terminal.typed(Duration::ZERO).expect("read"), Typed::Nothing);
        // No echo, no translation, no line buffering.
        other.write_all(b"a\r\x03").expect("written");
        assert_eq!(terminal.typed(MINUTE).expect("read"), Typed::Bytes(b"a\r\x03".to_vec()));
        terminal.show(b"b\n");
        let mut shown = [0; 2];
        other.read_exact(&mut shown).expect("read");
        assert_eq!(&shown, b"b\n");
        // Input typed before the terminal was closed still arrives.
        other.write_all(b"c").expect("written");
        drop(other);
        assert_eq!(terminal.typed(MINUTE).expect("read"), Typed::Bytes(b"c".to_vec()));
        assert_eq!(terminal.typed(MINUTE).expect("read"), Typed::Closed);
        terminal.show(b"nobody");
        assert!(terminal.lost == 6 && terminal.shown.is_ok(), "{terminal:?}");
        let again = OpenOptions::new().read(true).write(true).open(terminal.name());
        assert!(again.is_ok() && terminal.wait_until_open(Some(MINUTE)).expect("asked"));
        assert!(terminal.finish().expect("asked").is_some_and(|message| message.starts_with("6 ")));
    }

    #[test]
    fn terminal_errors_are_distinct_from_stdout_errors() {
        let error = failed(&io::Error::other("gone"));
        assert_eq!(
            (error.exit, error.to_string().as_str()),
            (Exit::Internal, "--uart-in pty: gone")
        );
    }

    #[test]
    fn unread_output_is_dropped_after_a_while() {
        let mut terminal = Terminal::new().expect("a terminal");
        let other = OpenOptions::new().read(true).write(true).open(terminal.name());
        let much = vec![b'x'; 1 << 20];
        terminal.show(&much);
        assert!(terminal.lost > 0 && terminal.lost < much.len(), "{}", terminal.lost);
        let message = terminal.finish().expect("asked").expect("something");
        assert!(message.contains("were lost") && other.is_ok(), "{message}");
    }
}
