//! Reads Perfetto's messages by field numbers alone, with a protobuf reader that is not involved in
//! writing them.

use std::collections::BTreeMap;

use quick_protobuf::{BytesReader, MessageInfo, MessageRead, Reader};

/// The fields of a message by their numbers: numbers, or bytes.
#[derive(Debug, Default)]
pub struct Fields {
    pub numbers: BTreeMap<u32, Vec<u64>>,
    pub bytes: BTreeMap<u32, Vec<Vec<u8>>>,
}

impl MessageInfo for Fields {
    const PATH: &'static str = "any";
}

impl<'a> MessageRead<'a> for Fields {
    fn from_reader(reader: &mut BytesReader, bytes: &'a [u8]) -> quick_protobuf::Result<Self> {
        let mut fields = Self::default();
        while !reader.is_eof() {
            let tag = reader.next_tag(bytes)?;
            let field = tag >> 3;
            match tag & 7 {
                0 => fields.numbers.entry(field).or_default().push(reader.read_uint64(bytes)?),
                1 => fields.numbers.entry(field).or_default().push(reader.read_fixed64(bytes)?),
                2 => {
                    let read = reader.read_bytes(bytes)?.to_vec();
                    fields.bytes.entry(field).or_default().push(read);
                }
                other => panic!("wire type {other} of field {field}"),
            }
        }
        Ok(fields)
    }
}

impl Fields {
    pub fn of(bytes: &[u8]) -> Self {
        Reader::from_bytes(bytes.to_vec()).read(Self::from_reader).expect("protobuf")
    }

    pub fn number(&self, field: u32) -> Option<u64> {
        self.numbers.get(&field)?.first().copied()
    }

    pub fn text(&self, field: u32) -> Option<String> {
        Some(String::from_utf8(self.bytes.get(&field)?.first()?.clone()).expect("UTF-8"))
    }

    pub fn message(&self, field: u32) -> Option<Self> {
        Some(Self::of(self.bytes.get(&field)?.first()?))
    }

    pub fn messages(&self, field: u32) -> impl Iterator<Item = Self> {
        self.bytes.get(&field).into_iter().flatten().map(|bytes| Self::of(bytes))
    }
}

/// Something on a track, in nanoseconds; an instant event ends as it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub track: String,
    pub name: String,
    pub from: u64,
    pub to: u64,
    /// Its cycles, as stated in the event.
    pub cycles: u64,
}

/// Returns the number with this name in an event.
fn annotation(event: &Fields, name: &str) -> Option<u64> {
    let mut annotations = event.messages(4);
    annotations.find(|annotation| annotation.text(10).as_deref() == Some(name))?.number(3)
}

/// Reads a trace as its users do: events in the order of their ends. Panics if one ends that has not
/// begun, or one begins that does not end.
pub fn events(bytes: &[u8]) -> Vec<Event> {
    let (mut tracks, mut open) = (BTreeMap::new(), BTreeMap::<u64, Vec<Event>>::new());
    let (mut found, mut last) = (Vec::new(), 0);
    for packet in Fields::of(bytes).messages(1) {
        assert_eq!(packet.number(10), Some(1), "one sequence");
        if let Some(track) = packet.message(60) {
            let name = track.text(2).expect("a name");
            assert!(tracks.insert(track.number(1).expect("a uuid"), name).is_none());
            continue;
        }
        let (event, time) =
            (packet.message(11).expect("an event"), packet.number(8).expect("a time"));
        assert!(time >= last, "in order");
        last = time;
        let track = event.number(11).expect("a track");
        let stack = open.entry(track).or_default();
        let begun = || Event {
            track: tracks.get(&track).cloned().expect("described before"),
            name: event.text(23).expect("a name"),
            from: time,
            to: time,
            cycles: annotation(&event, "cycles").unwrap_or(0),
        };
        match event.number(9) {
            Some(1) => stack.push(begun()),
            Some(2) => found.push(Event { to: time, ..stack.pop().expect("begun") }),
            Some(3) => found.push(begun()),
            other => panic!("{other:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "everything ends");
    found
}
