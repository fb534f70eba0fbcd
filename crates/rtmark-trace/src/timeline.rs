//! The record of a run: slices and moments on tracks.

use std::collections::BTreeMap;

/// The rank of spans' tracks: below what the core does, above tasks.
const SPAN_RANK: i32 = 20;

/// A row of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// The kind of information: `task`, `handler`, `mask`, `span`, `core`, `pend` or `worst`.
    pub category: &'static str,
    /// The position among the tracks: lower ranks are above.
    pub rank: i32,
    /// In order of their beginnings; nested ones after those that contain them.
    pub slices: Vec<Slice>,
    /// In order.
    pub marks: Vec<Mark>,
}

/// Something that takes time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Its name.
    pub name: String,
    /// Its first cycle since reset.
    pub from: u64,
    /// The first cycle after it.
    pub to: u64,
    /// Further details, by name.
    pub about: Vec<(&'static str, String)>,
}

/// Something that happens in a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// The cycle since reset.
    pub at: u64,
}

/// A moment at which a span begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanEdge {
    /// The span's name.
    pub name: String,
    /// The cycle since reset.
    pub at: u64,
    /// Whether it begins then.
    pub begins: bool,
}

/// The tracks of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The tracks, in no particular order.
    pub tracks: Vec<Track>,
}

impl Timeline {
    /// Returns the track with this name and category, creating it if necessary.
    pub fn track(&mut self, name: &str, category: &'static str, rank: i32) -> &mut Track {
        let known = |track: &Track| track.name == name && track.category == category;
        let at = self.tracks.iter().position(known).unwrap_or_else(|| {
            let (slices, marks) = (Vec::new(), Vec::new());
            self.tracks.push(Track { name: name.to_owned(), category, rank, slices, marks });
            self.tracks.len() - 1
        });
        &mut self.tracks[at]
    }

    /// Adds spans by their edges, which are in order: what ends in a cycle precedes what begins in it. A
    /// span that restarts counts from its last beginning, and those that are open at the end last until
    /// `until`. An end of no span is a moment.
    pub fn add_spans(&mut self, edges: impl IntoIterator<Item = SpanEdge>, until: u64) {
        let mut open: BTreeMap<String, u64> = BTreeMap::new();
        for SpanEdge { name, at, begins } in edges {
            if begins {
                open.insert(name, at);
            } else if let Some(from) = open.remove(&name) {
                self.add_span(&name, from, at);
            } else {
                let mark = Mark { name: format!("{name} ends"), at };
                self.track(&name, "span", SPAN_RANK).marks.push(mark);
            }
        }
        for (name, from) in open {
            self.add_span(&name, from, until);
        }
    }

    fn add_span(&mut self, name: &str, from: u64, to: u64) {
        if from < to {
            let slice = Slice { name: name.to_owned(), from, to, about: Vec::new() };
            self.track(name, "span", SPAN_RANK).slices.push(slice);
        }
    }

    /// Restricts the timeline to the range between two cycles; slices that extend beyond it are cut.
    /// Tracks that become empty are removed.
    pub fn cut(&mut self, from: u64, to: u64) {
        for track in &mut self.tracks {
            track.marks.retain(|mark| (from..=to).contains(&mark.at));
            track.slices.retain_mut(|slice| {
                (slice.from, slice.to) = (slice.from.max(from), slice.to.min(to));
                slice.from < slice.to
            });
        }
        self.tracks.retain(|track| !track.slices.is_empty() || !track.marks.is_empty());
    }
}
