//! Caches of a memory's lines: fully associative ones, and sets of a few ways.
//!
//! The least recently used line is replaced. Only the identity of the cached lines matters here:
//! their contents are read from the memory itself.

mod condition;

pub use self::condition::{CacheCondition, CacheUse, LineCondition, LineInserted};

/// A number that no line has, since none begins so far up.
pub const NO_LINE: u32 = u32::MAX;

/// A line that was found in a cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheHit {
    /// Its position among the lines.
    at: u8,
    /// Whether the next line is cached as well.
    pub is_followed: bool,
}

/// A fully associative cache with least-recently-used replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCache {
    /// The lines of a cache of few.
    pub(super) few: FewLines,
    /// The lines of a cache of many.
    pub(super) many: Option<Box<ManyLines>>,
}

impl LineCache {
    pub fn new(capacity: u8) -> Self {
        let capacity = usize::from(capacity);
        let few = FewLines { lines: [NO_LINE; FEW], capacity };
        Self { few, many: (capacity > FEW).then(|| Box::new(ManyLines::new(capacity))) }
    }

    pub fn clear(&mut self) {
        match &mut self.many {
            None => self.few.lines = [NO_LINE; FEW],
            Some(many) => many.clear(),
        }
    }

    #[inline(always)]
    pub fn contains(&self, line: u32) -> bool {
        match &self.many {
            None => self.few.contains(line),
            Some(many) => many.position(line).is_some(),
        }
    }

    /// Returns whether the line is cached; if so, makes it the most recently used one.
    #[inline(always)]
    pub fn find(&mut self, line: u32) -> bool {
        match &mut self.many {
            None => self.few.find(line),
            Some(many) => many.find(line),
        }
    }

    /// Returns the line, if a single lookup shows that it is cached.
    #[inline(always)]
    pub fn look_for(&self, line: u32) -> Option<CacheHit> {
        match &self.many {
            None => self.few.look_for(line),
            Some(many) => many.look_for(line),
        }
    }

    /// Makes a line that was looked up the most recently used one.
    #[inline(always)]
    pub fn note_use(&mut self, kept: CacheHit) {
        match &mut self.many {
            None => self.few.note_use(kept.at),
            Some(many) => many.note_use(kept.at),
        }
    }

    #[inline(always)]
    pub fn insert(&mut self, line: u32) {
        match &mut self.many {
            None => self.few.insert(line),
            Some(many) => many.insert(line),
        }
    }

    /// Returns the lines of a cache of few.
    #[inline(always)]
    pub const fn few_mut(&mut self) -> Option<&mut FewLines> {
        match self.many {
            None => Some(&mut self.few),
            Some(_) => None,
        }
    }

    /// Returns whether it is a cache of many lines.
    #[inline(always)]
    pub const fn has_many(&self) -> bool {
        self.many.is_some()
    }

    /// Returns the number of the contents of a cache of many lines; zero if they have none.
    #[inline(always)]
    pub fn contents(&self) -> u64 {
        self.many.as_ref().map_or(0, |many| many.number)
    }
}

/// Up to this many lines, a linear search is fastest.
const FEW: usize = 2;

/// The contents of a small cache, most recently used line first; unused places hold `NO_LINE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewLines {
    pub lines: [u32; FEW],
    capacity: usize,
}

impl FewLines {
    #[inline(always)]
    pub fn contains(&self, line: u32) -> bool {
        self.lines.contains(&line)
    }

    #[inline(always)]
    fn find(&mut self, line: u32) -> bool {
        let found = self.look_for(line);
        if let Some(kept) = found {
            self.note_use(kept.at);
        }
        found.is_some()
    }

    #[inline(always)]
    const fn look_for(&self, line: u32) -> Option<CacheHit> {
        let [latest, other] = self.lines;
        if latest == line {
            Some(CacheHit { at: 0, is_followed: other == line + 1 })
        } else if other == line {
            Some(CacheHit { at: 1, is_followed: latest == line + 1 })
        } else {
            None
        }
    }

    /// Makes the line at this position the most recently used one.
    #[inline(always)]
    const fn note_use(&mut self, at: u8) {
        if at == 1 {
            let [latest, other] = self.lines;
            self.lines = [other, latest];
        }
    }

    #[inline(always)]
    pub fn insert(&mut self, line: u32) {
        self.lines = match self.capacity {
            0 => [NO_LINE, NO_LINE],
            1 => [line, NO_LINE],
            _ => [line, self.lines[0]],
        };
    }
}

/// The contents of a large cache, found by a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManyLines {
    /// The cached lines; a new one takes the place of the line that it replaces. `last_uses` holds
    /// the count of uses at the last use of each.
    lines: Vec<u32>,
    pub(super) last_uses: [u64; MANY],
    capacity: usize,
    /// A summary of the cached lines that share each hash, so that a single lookup finds most
    /// lines, or shows that they are not cached.
    pub(super) hashed: [Hashed; HASHES],
    pub(super) uses: u64,
    /// The count of uses when the last line was inserted.
    prediction: u64,
    /// The number of these contents, unique among the machines that share code; zero if they have
    /// none.
    number: u64,
}

/// The cached lines of one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashed {
    /// The line inserted last, `NO_LINE` when there is none.
    pub(super) line: u32,
    /// Its position among the lines.
    pub(super) at: u8,
    /// The number of lines with this hash.
    count: u8,
    /// Whether the line after `line` is cached as well.
    followed: bool,
}

/// The largest capacity: a byte holds any position.
const MANY: usize = 1 << u8::BITS;
const HASHES: usize = 128;
const EMPTY: Hashed = Hashed { line: NO_LINE, at: 0, count: 0, followed: false };

pub const fn hash(line: u32) -> usize {
    line as usize % HASHES
}

impl ManyLines {
    fn new(capacity: usize) -> Self {
        Self {
            lines: Vec::with_capacity(capacity),
            last_uses: [0; MANY],
            capacity,
            hashed: [EMPTY; HASHES],
            uses: 0,
            prediction: 0,
            number: 0,
        }
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.last_uses = [0; MANY];
        self.hashed = [EMPTY; HASHES];
        (self.uses, self.prediction, self.number) = (0, 0, 0);
    }

    #[inline(always)]
    fn position(&self, line: u32) -> Option<usize> {
        let hashed = self.hashed[hash(line)];
        if hashed.line == line {
            Some(usize::from(hashed.at))
        } else if hashed.count < 2 {
            None
        } else {
            self.lines.iter().position(|&held| held == line)
        }
    }

    #[inline(always)]
    fn find(&mut self, line: u32) -> bool {
        let Some(at) = self.position(line) else { return false };
        self.note_use(at as u8);
        true
    }

    #[inline(always)]
    fn look_for(&self, line: u32) -> Option<CacheHit> {
        let hashed = self.hashed[hash(line)];
        debug_assert!(
            hashed.line != line || hashed.followed == self.position(line + 1).is_some(),
            "`followed` tells whether the next line is cached"
        );
        (hashed.line == line).then_some(CacheHit { at: hashed.at, is_followed: hashed.followed })
    }

    /// Makes the line at this position the most recently used one.
    #[inline(always)]
    fn note_use(&mut self, at: u8) {
        self.uses += 1;
        self.last_uses[usize::from(at)] = self.uses;
    }

    #[inline(never)]
    fn insert(&mut self, line: u32) {
        self.uses += 1;
        (self.prediction, self.number) = (self.uses, 0);
        let at = if self.lines.len() < self.capacity {
            self.lines.push(line);
            let at = self.lines.len() - 1;
            self.last_uses[at] = self.uses;
            at
        } else {
            let oldest = (0..self.capacity).min_by_key(|&at| self.last_uses[at]).unwrap_or(0);
            let leaving = std::mem::replace(&mut self.lines[oldest], line);
            self.last_uses[oldest] = self.uses;
            self.remove_hash(leaving);
            oldest
        };
        let count = self.hashed[hash(line)].count + 1;
        self.show(at, count);
        self.mark_followed(line, true);
    }

    /// Records that a line has been evicted.
    fn remove_hash(&mut self, leaving: u32) {
        self.mark_followed(leaving, false);
        let hashed = &mut self.hashed[hash(leaving)];
        hashed.count -= 1;
        let count = hashed.count;
        if count == 0 {
            *hashed = EMPTY;
        } else if hashed.line == leaving
            && let Some(at) = self.lines.iter().position(|&held| hash(held) == hash(leaving))
        {
            self.show(at, count);
        }
    }

    /// Makes the line at this position, one of several with its hash, the one that a single lookup
    /// finds.
    fn show(&mut self, at: usize, count: u8) {
        let line = self.lines[at];
        let followed = self.position(line + 1).is_some();
        self.hashed[hash(line)] = Hashed { line, at: at as u8, count, followed };
    }

    /// Records with the line before this one whether this one is cached.
    fn mark_followed(&mut self, line: u32, kept: bool) {
        let before = line.wrapping_sub(1);
        let hashed = &mut self.hashed[hash(before)];
        if hashed.line == before && before != NO_LINE {
            hashed.followed = kept;
        }
    }
}

/// A set-associative cache; within a set, the most recently used line comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCache {
    lines: Vec<u32>,
    ways: usize,
    /// The bits of a line's number that select its set.
    mask: u32,
}

impl SetCache {
    /// Creates an empty cache; both numbers are powers of two.
    pub fn new(lines: u16, ways: u16) -> Self {
        let sets = lines / ways;
        let mask = u32::from(sets).wrapping_sub(1);
        Self { lines: vec![NO_LINE; lines.into()], ways: ways.into(), mask }
    }

    /// Returns the index of the first line of the set that a line belongs to.
    #[inline(always)]
    const fn first(&self, line: u32) -> usize {
        (line & self.mask) as usize * self.ways
    }

    pub fn clear(&mut self) {
        self.lines.fill(NO_LINE);
    }

    /// Returns whether the line is cached.
    #[inline(always)]
    pub fn contains(&self, line: u32) -> bool {
        self.is_latest(line) || self.is_behind_latest(line)
    }

    /// Returns whether the line is the most recently used one of its set.
    #[inline(always)]
    pub fn is_latest(&self, line: u32) -> bool {
        self.lines.get(self.first(line)) == Some(&line)
    }

    fn is_behind_latest(&self, line: u32) -> bool {
        let first = self.first(line);
        self.lines[first..first + self.ways].contains(&line)
    }

    /// Uses a line if it is cached. Returns whether that is so.
    #[inline(always)]
    pub fn try_use(&mut self, line: u32) -> bool {
        self.is_latest(line) || self.is_behind_latest(line) && self.find_or_keep(line)
    }

    /// Returns whether the line was cached, and makes it the most recently used one of its set.
    #[inline(always)]
    pub fn find_or_keep(&mut self, line: u32) -> bool {
        self.is_latest(line) || self.find_older_or_keep(line)
    }

    fn find_older_or_keep(&mut self, line: u32) -> bool {
        let first = self.first(line);
        let set = &mut self.lines[first..first + self.ways];
        let found = set.iter().position(|held| *held == line);
        let free = || set.iter().position(|held| *held == NO_LINE);
        let place = found.or_else(free).unwrap_or(self.ways - 1);
        set[..=place].rotate_right(1);
        set[0] = line;
        found.is_some()
    }

    /// Drops a line.
    pub fn forget(&mut self, line: u32) {
        if let Some(held) = self.lines.iter_mut().find(|held| **held == line) {
            *held = NO_LINE;
        }
    }

    /// Drops the line in one way of a set, if there is such a way.
    pub fn forget_way(&mut self, set: usize, way: usize) {
        if way < self.ways
            && let Some(held) = self.lines.get_mut(set * self.ways + way)
        {
            *held = NO_LINE;
        }
    }
}
