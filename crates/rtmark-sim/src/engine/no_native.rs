//! In place of native code, on hosts for which there is none: all steps are executed by their functions.

use std::slice::Iter;

use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::dispatch::end;
use crate::engine::entries::Entry;
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

/// There is no such exit.
pub type Unlinked<'a> = &'a NativeCode;

/// Nothing to link.
#[derive(Clone, Debug, Default)]
pub struct Links;

impl Links {
    /// Makes no room.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn make_room(&mut self, _: &Entry) {}

    /// Never is asked for.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn want(&self, _: u32, _: bool, _: u32) -> bool {
        false
    }

    /// Links nothing.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn add(&mut self, _: u32, _: bool, _: &Entry) {}

    /// Ends no links.
    #[expect(clippy::unused_self, reason = "so has the one for hosts with native code")]
    pub const fn clear(&mut self) {}
}

impl NativeCode {
    /// Translates nothing.
    pub const fn of(_: &State, _: &NativePages, _: u32, _: &[ScheduledOp]) -> Option<Self> {
        None
    }

    /// Never is asked for.
    pub const fn may_lead_to(&self, _: &Entry) -> bool {
        match *self {}
    }

    /// Never is asked for.
    pub const fn exit(&self) -> (u32, bool) {
        match *self {}
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
