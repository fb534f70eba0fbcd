//! The record of a run: slices and moments on tracks.

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
