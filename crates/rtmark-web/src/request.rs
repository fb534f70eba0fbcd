//! What is to be run: soc file, image, and how long.

/// The parts of stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub soc: &'a str,
    pub image: &'a [u8],
    /// Cycles after which the run ends in any case.
    pub cycles: u64,
}

impl<'a> Request<'a> {
    /// Reads the line and the parts behind it.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        const FORM: &str = "the request is no line `soc=LENGTH image=LENGTH cycles=MOST` with both \
                            files behind it";
        let refuse = || FORM.to_owned();
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(refuse)?;
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        let line = std::str::from_utf8(line).map_err(|_| refuse())?;
        let mut numbers =
            ["soc=", "image=", "cycles="].iter().zip(line.split(' ')).map(|(name, word)| {
                word.strip_prefix(name).and_then(|number| number.parse::<u64>().ok())
            });
        let mut next = || numbers.next().flatten().ok_or_else(refuse);
        let (soc, image, cycles) = (next()?, next()?, next()?);
        let soc = usize::try_from(soc).map_err(|_| refuse())?;
        let image = usize::try_from(image).map_err(|_| refuse())?;
        let (soc, rest) = rest.split_at_checked(soc).ok_or_else(refuse)?;
        if rest.len() != image {
            return Err(refuse());
        }
        let soc = std::str::from_utf8(soc).map_err(|_| "the soc file is no text".to_owned())?;
        Ok(Self { soc, image: rest, cycles })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_parts() {
        let read = Request::read(b"soc=3 image=2 cycles=9\na\nb\xff\n").expect("read");
        assert_eq!((read.soc, read.image, read.cycles), ("a\nb", &b"\xff\n"[..], 9));
    }

    #[test]
    fn other_input_is_refused() {
        for bytes in [
            &b""[..],
            b"\n",
            b"soc=3 image=2\nabcde",
            b"soc=9 image=2 cycles=1\nabcde",
            b"soc=3 image=3 cycles=1\nabcde",
            b"soc=18446744073709551615 image=1 cycles=1\na",
            b"soc=-1 image=1 cycles=1\na",
            b"\xff\n",
        ] {
            assert!(Request::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
