//! A timeline as Perfetto's protobuf.

use prost::Message as _;
use rtmark_sim::ClockHistory;
use rtmark_units::Cycles;

use crate::schema::{
    ChildOrdering, DebugAnnotation, Kind, STATE_CLEARED, Trace, TracePacket, TrackDescriptor,
    TrackEvent, Value,
};
use crate::timeline::{Slice, Timeline, Track};

/// All packets come from one writer.
const SEQUENCE: u32 = 1;
const ROOT: u64 = 1;
const FIRST_TRACK: u64 = 100;

impl Timeline {
    /// Returns the bytes of a Perfetto trace: a track with this name, and below it all others in order.
    /// Time is that of the core's clock, from reset; each slice also states its cycles.
    pub fn to_perfetto(&self, name: &str, clock: &ClockHistory) -> Vec<u8> {
        // Not a process, because Perfetto sorts the tracks of a process by name.
        let root = TrackDescriptor {
            uuid: Some(ROOT),
            name: Some(name.to_owned()),
            child_ordering: Some(ChildOrdering::Explicit as i32),
            ..TrackDescriptor::default()
        };
        let mut packet =
            vec![TracePacket { sequence_flags: Some(STATE_CLEARED), ..described(root) }];
        let mut tracks: Vec<&Track> = self.tracks.iter().collect();
        tracks.sort_by(|a, b| (a.rank, &a.name).cmp(&(b.rank, &b.name)));
        let mut events = Vec::new();
        for ((track, uuid), rank) in tracks.into_iter().zip(FIRST_TRACK..).zip(0..) {
            packet.push(described(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(track.name.clone()),
                parent_uuid: Some(ROOT),
                sibling_order_rank: Some(rank),
                ..TrackDescriptor::default()
            }));
            events.extend(of_track(track, uuid));
        }
        // Stable, so that events in the same cycle on one track stay in order.
        events.sort_by_key(|(cycle, _)| *cycle);
        packet.extend(events.into_iter().map(|(cycle, event)| TracePacket {
            timestamp: u64::try_from(clock.elapsed_at(Cycles(cycle)).as_nanos()).ok(),
            track_event: Some(event),
            ..new_packet()
        }));
        Trace { packet }.encode_to_vec()
    }
}

fn new_packet() -> TracePacket {
    TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..TracePacket::default() }
}

fn described(descriptor: TrackDescriptor) -> TracePacket {
    TracePacket { track_descriptor: Some(descriptor), ..new_packet() }
}

fn number(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_owned()), value: Some(Value::Number(value)) }
}

/// Returns the events of a track with their cycles, in order: a slice ends before another begins.
fn of_track(track: &Track, uuid: u64) -> Vec<(u64, TrackEvent)> {
    let event = |kind: Kind| TrackEvent {
        r#type: Some(kind as i32),
        track_uuid: Some(uuid),
        ..TrackEvent::default()
    };
    let end = |slice: &Slice| (slice.to, event(Kind::SliceEnd));
    let mut slices: Vec<&Slice> = track.slices.iter().collect();
    slices.sort_by_key(|slice| (slice.from, std::cmp::Reverse(slice.to)));
    let mut events = Vec::new();
    let mut open: Vec<&Slice> = Vec::new();
    for slice in slices {
        while let Some(inner) = open.pop_if(|inner| inner.to <= slice.from) {
            events.push(end(inner));
        }
        let text = |(name, text): &(&str, String)| DebugAnnotation {
            name: Some((*name).to_owned()),
            value: Some(Value::Text(text.clone())),
        };
        let cycles = [number("cycle", slice.from), number("cycles", slice.to - slice.from)];
        let begin = TrackEvent {
            name: Some(slice.name.clone()),
            categories: vec![track.category.to_owned()],
            debug_annotations: cycles.into_iter().chain(slice.about.iter().map(text)).collect(),
            ..event(Kind::SliceBegin)
        };
        events.push((slice.from, begin));
        open.push(slice);
    }
    events.extend(open.into_iter().rev().map(end));
    events.extend(track.marks.iter().map(|mark| {
        let instant = TrackEvent {
            name: Some(mark.name.clone()),
            categories: vec![track.category.to_owned()],
            debug_annotations: vec![number("cycle", mark.at)],
            ..event(Kind::Instant)
        };
        (mark.at, instant)
    }));
    events
}
