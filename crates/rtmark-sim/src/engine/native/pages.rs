//! Memory that holds native code, and the only calls of it.
//!
//! Everything here that the compiler cannot check rests on what [`super::translator`] writes:
//!
//! - Code reads and writes the fields of [`super::frame`], which belong to the state that it is called with, and the
//!   main RAM from its beginning to the length in [`MainRam`], which each access is compared with. It reads the memory
//!   from which code comes in the same way, to the length in [`CodeData`]; and it reads and writes the fields of caches
//!   of many lines, at the addresses in [`Chain`]. Code that expects such caches is not called where there are none.
//! - It changes no register that a function must preserve, and the stack only by returning. It calls nothing.
//! - It is entered at offsets that the translator returned together with it, and ends with a return: each jump leads
//!   to an instruction in it, or to the address in a link; the last instruction is a jump or a return.
//! - Links are read at the numbers that were reserved for it, and [`Links`] have room for these, or it is not called.
//!   Each leads to where code of an entry that they keep may be entered.
#![expect(
    unsafe_code,
    reason = "the compiler knows nothing of code that is made while the program runs"
)]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::engine::native::assembler::LINK_BYTES;
use crate::engine::native::frame;
use crate::engine::native::links::Links;
use crate::engine::native::translator::Translation;
#[cfg(doc)]
use crate::memory::{CodeData, MainRam};
#[cfg(doc)]
use crate::state::Chain;
use crate::state::State;

/// The size of an area for code.
const AREA: usize = 1 << 18;
/// The most areas of a machine and its clones. Code that does not fit into the host's second-level cache, together with
/// all that a pass reads, takes longer than the functions of its steps: those are few.
const MOST: usize = 4;
/// The alignment of functions.
const ALIGNMENT: usize = 32;
/// The most exits that are ever numbered, which bounds the memory for links.
const EXITS: u32 = 1 << 17;

/// What native code is, for the compiler: it receives where the registers and the main RAM are, and returns an exit.
type Code = unsafe extern "sysv64" fn(*mut u8, *mut u8) -> u32;

/// An area of memory that is mapped twice: once to write it, and once to execute it.
#[derive(Debug)]
struct Area {
    to_write: NonNull<u8>,
    to_execute: NonNull<u8>,
}

// SAFETY: What it points to is memory of its own, in which `NativePages` writes each byte once, before any thread
// knows of code there.
unsafe impl Send for Area {}
// SAFETY: As above.
unsafe impl Sync for Area {}

impl Area {
    /// Returns a new area, or `None` if the system has none.
    fn new() -> Option<Self> {
        let file = memfd_create("rtmark", MemfdFlags::CLOEXEC).ok()?;
        ftruncate(&file, AREA as u64).ok()?;
        let map = |access| {
            // SAFETY: The system chooses an address at which nothing is.
            let at =
                unsafe { mmap(std::ptr::null_mut(), AREA, access, MapFlags::SHARED, &file, 0) };
            NonNull::new(at.ok()?.cast::<u8>())
        };
        let to_write = map(ProtFlags::READ | ProtFlags::WRITE)?;
        let Some(to_execute) = map(ProtFlags::READ | ProtFlags::EXEC) else {
            unmap(to_write);
            return None;
        };
        Some(Self { to_write, to_execute })
    }
}

fn unmap(at: NonNull<u8>) {
    // SAFETY: It was mapped with this size, and whoever had it has it no more. A failure would only keep it.
    let _ = unsafe { munmap(at.as_ptr().cast(), AREA) };
}

impl Drop for Area {
    fn drop(&mut self) {
        unmap(self.to_write);
        unmap(self.to_execute);
    }
}

/// Memory for the native code of a machine and its clones.
#[derive(Clone, Debug, Default)]
pub struct NativePages {
    areas: Arc<Mutex<Areas>>,
    is_off: bool,
}

#[derive(Debug, Default)]
struct Areas {
    /// The one that is written to.
    latest: Option<Arc<Area>>,
    /// How much of it is used.
    used: usize,
    /// Those that are full, while code in them is kept.
    older: Vec<Weak<Area>>,
    /// How many exits have been numbered.
    exits: u32,
    /// Code has been too large for what is left.
    are_full: bool,
    /// The system gives no memory for code.
    are_refused: bool,
}

impl Areas {
    /// Returns whether there may be another one.
    fn can_grow(&self) -> bool {
        let kept = self.older.iter().filter(|area| area.strong_count() > 0).count();
        !self.are_refused && kept + usize::from(self.latest.is_some()) < MOST
    }

    /// Returns the area with room for some bytes, and the offset of that. Returns `None` if there is none.
    fn reserve(&mut self, bytes: usize) -> Option<(Arc<Area>, usize)> {
        if self.latest.is_none() || bytes > AREA - self.used {
            if bytes > AREA || !self.can_grow() {
                self.are_full = true;
                return None;
            }
            let Some(area) = Area::new() else {
                self.are_refused = true;
                return None;
            };
            self.older.retain(|area| area.strong_count() > 0);
            self.older
                .extend(self.latest.replace(Arc::new(area)).map(|area| Arc::downgrade(&area)));
            (self.used, self.are_full) = (0, false);
        }
        let offset = self.used;
        self.used = (offset + bytes).next_multiple_of(ALIGNMENT).min(AREA);
        Some((Arc::clone(self.latest.as_ref()?), offset))
    }
}

impl NativePages {
    /// Makes no more code.
    pub const fn switch_off(&mut self) {
        self.is_off = true;
    }

    fn areas(&self) -> MutexGuard<'_, Areas> {
        // No panic leaves an area half reserved.
        self.areas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether no more code is made.
    pub fn are_full(&self) -> bool {
        let areas = self.areas();
        self.is_off || areas.are_refused || areas.are_full && !areas.can_grow()
    }

    /// Makes code executable, and numbers its exits. Returns `None` if there is no memory for it.
    pub fn publish(&self, translation: Translation) -> Option<Function> {
        let Translation { mut code, link_places, exits, reads_code, is_planned, .. } = translation;
        let (area, offset, exits) = {
            let mut areas = self.areas();
            let first = areas.exits;
            let end = first + exits;
            if end > EXITS {
                areas.are_refused = true;
                return None;
            }
            let (area, offset) = areas.reserve(code.len())?;
            areas.exits = end;
            (area, offset, first..end)
        };
        for at in link_places {
            let word = code.get_mut(at..).and_then(|rest| rest.first_chunk_mut())?;
            *word = u32::from_le_bytes(*word).wrapping_add(exits.start * LINK_BYTES).to_le_bytes();
        }
        // SAFETY: The bytes from the offset on are in the area, and reserved for this code.
        let start = unsafe {
            let to = area.to_write.add(offset);
            std::ptr::copy_nonoverlapping(code.as_ptr(), to.as_ptr(), code.len());
            area.to_execute.add(offset)
        };
        Some(Function { start, exits, reads_code, is_planned, _area: area })
    }
}

/// A function in native code.
#[derive(Debug)]
pub struct Function {
    start: NonNull<u8>,
    /// The numbers of its exits that may be linked.
    pub exits: Range<u32>,
    /// Whether it reads the memory from which code comes.
    reads_code: bool,
    /// Whether it changes the state of that memory.
    is_planned: bool,
    /// Keeps it mapped.
    _area: Arc<Area>,
}

// SAFETY: It points to code that does not change, in an area that exists as long as this does.
unsafe impl Send for Function {}
// SAFETY: As above.
unsafe impl Sync for Function {}

impl Function {
    /// Returns whether it reads no links.
    #[inline(always)]
    pub const fn has_no_links(&self) -> bool {
        self.exits.start == self.exits.end
    }

    /// Returns the address of an entry.
    pub fn address(&self, entry: u32) -> usize {
        self.start.as_ptr().wrapping_add(entry as usize).expose_provenance()
    }

    /// Executes the code from one of its entries on, and code that is linked to it. Returns the bits of an exit, or
    /// `None` if there is no room for the links of its own exits.
    #[inline(always)]
    pub fn call(&self, entry: u32, state: &mut State, links: &Links) -> Option<u32> {
        // Without exits that may be linked it reads no links, and only its own accesses count.
        let may_be_linked = !self.has_no_links();
        if may_be_linked {
            if !links.cover(self) {
                return None;
            }
            state.chain.links = links.as_ptr().expose_provenance();
        }
        state.expose_code(may_be_linked || self.reads_code, self.is_planned);
        let ram = state.bus.main_ram_start();
        let state = std::ptr::from_mut(state).cast::<u8>();
        // SAFETY: See the module. The area is mapped as long as this function exists.
        unsafe {
            let at = self.start.add(entry as usize);
            let code = std::mem::transmute::<*mut u8, Code>(at.as_ptr());
            Some(code(state.add(frame::BASE), ram))
        }
    }
}
