//! What has been noted of a run: slices and moments on tracks.

/// A row of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// What it is called.
    pub name: String,
    /// What kind of thing it shows: `task`, `handler`, `mask`, `span`, `core`, `pend` or `worst`.
    pub category: &'static str,
    /// Where it stands among the tracks: lower ones above.
    pub rank: i32,
    /// In order of their beginning; those within others after them.
    pub slices: Vec<Slice>,
    /// In order.
    pub marks: Vec<Mark>,
}

/// Something that takes time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// What.
    pub name: String,
    /// Its first cycle since reset.
    pub from: u64,
    /// The first cycle after it.
    pub to: u64,
    /// More about it, by name.
    pub about: Vec<(&'static str, String)>,
}

/// Something that happens in a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What.
    pub name: String,
    /// The cycle since reset.
    pub at: u64,
}

/// Tracks of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The tracks, in no order.
    pub tracks: Vec<Track>,
}

impl Timeline {
    /// The track of this name and category, made if there is none.
    pub fn track(&mut self, name: &str, category: &'static str, rank: i32) -> &mut Track {
        let known = |track: &Track| track.name == name && track.category == category;
        let at = self.tracks.iter().position(known).unwrap_or_else(|| {
            let (slices, marks) = (Vec::new(), Vec::new());
            self.tracks.push(Track { name: name.to_owned(), category, rank, slices, marks });
            self.tracks.len() - 1
        });
        &mut self.tracks[at]
    }

    /// Keeps what lies between two cycles; slices that reach beyond are cut there. Tracks of
    /// which nothing is left go.
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
