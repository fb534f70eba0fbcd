//! In place of native code, on hosts for which there is none: all steps are executed by their functions.

use std::marker::PhantomData;
use std::slice::Iter;

use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::dispatch::end;
use crate::engine::entries::Entry;
use crate::engine::fetch_plan::PlannedFetches;
use crate::exec::Ending;
use crate::state::State;

/// There is none.
#[derive(Debug)]
pub enum NativeCode {}

/// Nothing to keep it in.
#[derive(Clone, Debug, Default)]
pub struct NativePages;

impl NativePages {
    /// Makes no code, as ever.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn switch_off(&mut self) {}
}

/// There is no exit that could be linked.
#[derive(Clone, Copy, Debug)]
pub struct Unlinked<'a>(PhantomData<&'a NativeCode>);

/// Nor anything to be linked to it.
#[derive(Debug)]
pub enum NewLink {}

/// Nothing to link.
#[derive(Clone, Debug, Default)]
pub struct Links;

impl Links {
    /// Makes no room.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn make_room(&mut self, _: &Entry) {}

    /// Never is asked for.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn have_room(&self, native: &NativeCode) -> bool {
        match *native {}
    }

    /// Never is asked for.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn wanted(&self, _: Unlinked<'_>, _: &Entry, native: &NativeCode) -> Option<NewLink> {
        match *native {}
    }

    /// Never is asked for.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn note_contents(&self, native: &NativeCode, _: u64) {
        match *native {}
    }

    /// Links nothing.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn add(&mut self, link: NewLink) {
        match link {}
    }

    /// Ends no links.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn clear(&mut self) {}
}

impl NativeCode {
    /// Translates nothing.
    pub const fn of(
        _: &State,
        _: &NativePages,
        _: u32,
        _: &[ScheduledOp],
        _: Option<&PlannedFetches>,
    ) -> Option<Self> {
        None
    }

    /// Links steps, of which there are none.
    pub const fn link(&self, _: &mut [ScheduledOp]) {
        match *self {}
    }
}

/// Is the function of no step.
pub fn run<'a>(state: &mut State, pass: &mut Cursor<'a>, rest: Iter<'a, ScheduledOp>) -> Ending {
    end(state, pass, rest)
}
