//! Logs that arrive in pieces, as through a pipe, while signals interrupt the reader.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use rtmark_import::{ImportError, Imported, Options, import};
use rtmark_model::Catalogue;

/// Bytes and errors in the order in which a reader gets them.
struct Pieces(VecDeque<Result<u8, ErrorKind>>);

impl Read for Pieces {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let (Some(piece), [first, ..]) = (self.0.pop_front(), room) else { return Ok(0) };
        *first = piece.map_err(io::Error::from)?;
        Ok(1)
    }
}

/// Returns a reader of one byte at a time, each behind an interruption.
fn pieces(bytes: &[u8], end: Option<ErrorKind>) -> impl BufRead {
    let interrupted = |byte: &u8| [Err(ErrorKind::Interrupted), Ok(*byte)];
    BufReader::new(Pieces(bytes.iter().flat_map(interrupted).chain(end.map(Err)).collect()))
}

fn read(reader: impl BufRead) -> Result<Imported, ImportError> {
    import(reader, "-", &Catalogue::default(), &Options::default())
}

#[test]
fn a_log_in_pieces_is_read_like_a_whole_one() {
    let row = "unpend  132 ready  257 switch  278 pend  321 tot  988 (avg  988)\r\n";
    let mut wide: Vec<u8> = vec![0xFF, 0xFE];
    wide.extend(row.encode_utf16().flat_map(u16::to_le_bytes));
    let long = row.repeat(100);
    let json = br#"{"rtmark_import":1,"rows":[{"scenario":"a.b","unit":"ns","mean":5}]}"#;
    for (log, rows) in [(row.as_bytes(), 5), (&wide, 5), (long.as_bytes(), 5), (json, 1)] {
        let whole = read(log).expect("a log");
        let found = read(pieces(log, None)).expect("the same log");
        assert_eq!((found.answers.len(), found.lines), (rows, whole.lines));
        let answers = |imported: &Imported| format!("{:?}", imported.answers);
        assert_eq!(answers(&found), answers(&whole));
    }
}

/// At the beginning, and behind what shows what it is.
#[test]
fn a_reader_that_fails_is_no_end_of_a_log() {
    for length in [0, 10, 5000] {
        let log = "x".repeat(length);
        let error = read(pieces(log.as_bytes(), Some(ErrorKind::BrokenPipe))).expect_err("failed");
        assert!(matches!(&error, ImportError::Read(why) if why.kind() == ErrorKind::BrokenPipe));
    }
}
