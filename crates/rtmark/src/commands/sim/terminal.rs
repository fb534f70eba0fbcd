//! A pseudo-terminal at a UART of the chip: what is typed there, and what the program prints.

use std::io;
use std::time::{Duration, Instant};

use rtmark_sim::{Hertz, Machine};
use rtmark_units::Cycles;

use crate::error::CliError;
use crate::exit::Exit;

#[cfg(target_os = "linux")]
use linux::Pair;
#[cfg(not(target_os = "linux"))]
use other::Pair;

/// How long a run waits for a terminal that was closed to be opened again, before it ends.
pub const REOPENED_WITHIN: Duration = Duration::from_secs(2);
/// How often it looks whether somebody has opened it.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How long the program waits for a terminal that reads nothing; what it prints is lost then.
const UNREAD_FOR: Duration = Duration::from_secs(1);
/// After which part of the chip's time a run looks for what was typed.
pub const LOOKS: Duration = Duration::from_millis(5);

/// A terminal that other programs open by its name.
#[derive(Debug)]
pub struct Terminal {
    pair: Pair,
    /// How many bytes of what the program printed were lost, as nobody read them.
    lost: usize,
    shown: io::Result<()>,
}

/// What has come from a terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    Bytes(Vec<u8>),
    Nothing,
    /// Nobody has it open any more.
    Closed,
}

impl Terminal {
    /// A new one, which nobody has opened yet.
    pub fn new() -> Result<Self, CliError> {
        let pair = Pair::new().map_err(|error| {
            let hint = "give a file, or - for stdin: --uart-in commands.txt";
            CliError::new(Exit::Missing, format!("--uart-in pty: {error}"), hint)
        })?;
        Ok(Self { pair, lost: 0, shown: Ok(()) })
    }

    /// The name by which others open it.
    pub fn name(&self) -> &str {
        self.pair.name()
    }

    /// Waits until somebody has it open, at most so long; answers whether somebody has.
    pub fn awaited(&self, within: Option<Duration>) -> io::Result<bool> {
        let began = Instant::now();
        while !self.pair.is_open()? {
            if within.is_some_and(|within| began.elapsed() >= within) {
                return Ok(false);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(true)
    }

    /// What was typed, as soon as there is something, or nothing after a time.
    pub fn typed(&self, wait: Duration) -> io::Result<Typed> {
        self.pair.typed(wait)
    }

    /// Shows what the program prints. The program is held up while the terminal takes nothing, for a
    /// second; then the rest is lost, as on a line that nobody listens to.
    pub fn show(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.shown.is_ok() {
            match self.pair.write(bytes, UNREAD_FOR) {
                Ok(0) => {
                    self.lost += bytes.len();
                    return;
                }
                Ok(written) => bytes = &bytes[written..],
                Err(error) => self.shown = Err(error),
            }
        }
    }

    /// Waits until what was shown is read, as closing it throws away what is not. Answers what is to be
    /// said of what was lost.
    pub fn finish(self) -> io::Result<Option<String>> {
        self.shown?;
        let began = Instant::now();
        while self.pair.is_open()? && self.pair.has_unread()? && began.elapsed() < UNREAD_FOR {
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok((self.lost > 0).then(|| {
            format!(
                "{} printed bytes were lost, as nobody read them on {}",
                self.lost,
                self.pair.name()
            )
        }))
    }
}

/// Keeps the chip's clock from running ahead of the one on the wall: a program that sleeps until
/// somebody types would otherwise see days go by.
#[derive(Debug)]
pub struct Pace {
    clock: Hertz,
    from: (Instant, Cycles),
}

impl Pace {
    pub fn new(machine: &Machine) -> Self {
        Self { clock: machine.soc().clock, from: (Instant::now(), machine.cycles()) }
    }

    /// How far the chip is ahead. What it has fallen behind is forgiven.
    pub fn ahead(&mut self, machine: &Machine) -> Duration {
        let (began, cycles) = self.from;
        let lasted = Duration::from_nanos((machine.cycles() - cycles).at(self.clock).0);
        lasted.checked_sub(began.elapsed()).unwrap_or_else(|| {
            self.from = (Instant::now(), machine.cycles());
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

    /// The side of a pseudo-terminal that this program has, and the name of the other one.
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
            // Bytes pass as they are. That it was open once is what a later hang-up is told by.
            let other = pair.other()?;
            let mut settings = tcgetattr(&other)?;
            settings.make_raw();
            tcsetattr(&other, OptionalActions::Now, &settings)?;
            Ok(pair)
        }

        pub fn name(&self) -> &str {
            &self.name
        }

        /// The side that others open.
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

        /// How many bytes were written: none when nobody reads for that time.
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

        /// Whether bytes were written that nobody has read. Those that are still on their way count:
        /// polling brings them there, which asking for their number (FIONREAD) does not.
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

    /// Whether an error says that there is nothing, or nobody, at the other end.
    fn is_silence(error: &io::Error) -> bool {
        let nobody = rustix::io::Errno::IO.raw_os_error();
        error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(nobody)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::convert::Infallible;
    use std::io;
    use std::time::Duration;

    use super::Typed;

    /// There is none.
    #[derive(Debug)]
    pub struct Pair(Infallible);

    impl Pair {
        pub fn new() -> io::Result<Self> {
            let problem = "rtmark opens pseudo-terminals on Linux alone";
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
    fn both_ends_and_a_hang_up() {
        let mut terminal = Terminal::new().expect("a terminal");
        assert!(!terminal.awaited(Some(Duration::ZERO)).expect("asked"), "nobody has opened it");
        let mut other =
            OpenOptions::new().read(true).write(true).open(terminal.name()).expect("opened");
        assert!(terminal.awaited(None).expect("asked"));
        assert_eq!(terminal.typed(Duration::ZERO).expect("read"), Typed::Nothing);
        // Nothing echoes, nothing is translated, and no line need end.
        other.write_all(b"a\r\x03").expect("written");
        assert_eq!(terminal.typed(MINUTE).expect("read"), Typed::Bytes(b"a\r\x03".to_vec()));
        terminal.show(b"b\n");
        let mut shown = [0; 2];
        other.read_exact(&mut shown).expect("read");
        assert_eq!(&shown, b"b\n");
        // What was typed before it was closed still arrives.
        other.write_all(b"c").expect("written");
        drop(other);
        assert_eq!(terminal.typed(MINUTE).expect("read"), Typed::Bytes(b"c".to_vec()));
        assert_eq!(terminal.typed(MINUTE).expect("read"), Typed::Closed);
        terminal.show(b"nobody");
        assert!(terminal.lost == 6 && terminal.shown.is_ok(), "{terminal:?}");
        let again = OpenOptions::new().read(true).write(true).open(terminal.name());
        assert!(again.is_ok() && terminal.awaited(Some(MINUTE)).expect("asked"));
        assert!(terminal.finish().expect("asked").is_some_and(|said| said.starts_with("6 ")));
    }

    #[test]
    fn what_nobody_reads_is_lost_after_a_while() {
        let mut terminal = Terminal::new().expect("a terminal");
        let other = OpenOptions::new().read(true).write(true).open(terminal.name());
        let much = vec![b'x'; 1 << 20];
        terminal.show(&much);
        assert!(terminal.lost > 0 && terminal.lost < much.len(), "{}", terminal.lost);
        let said = terminal.finish().expect("asked").expect("something");
        assert!(said.contains("were lost") && other.is_ok(), "{said}");
    }
}
