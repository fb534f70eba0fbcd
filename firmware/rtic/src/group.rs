//! Futures of a kind that one task awaits together.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};

use rtmark_board::soc;
use rtmark_probe::scenario;

/// How many futures there are at most. They are made on the stack, and then moved to their place:
/// room is needed for both. The timer's moments have 64 bits, and a delay is larger for it.
pub const MOST: usize = match soc::RAM_BYTES {
    ..10_000 => 8,
    ..20_000 if cfg!(feature = "timer") => 16,
    ..20_000 => 32,
    ..28_000 if cfg!(feature = "timer") => 32,
    _ => 64,
};

/// As many futures as the point of the scenario says.
pub struct Group<F> {
    members: [Option<F>; MOST],
    left: usize,
}

impl<F: Future> Group<F> {
    /// Futures made from their numbers.
    pub fn new(mut member: impl FnMut(u32) -> F) -> Self {
        let count = scenario::point() as usize;
        if count > MOST {
            scenario::no_room("futures");
        }
        let members = core::array::from_fn(|place| (place < count).then(|| member(place as u32)));
        Self { members, left: count }
    }

    /// Polls each that has not ended, and says how many are left.
    pub fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> usize {
        // SAFETY: no future is moved: each is polled where it is, and dropped there.
        let this = unsafe { self.get_unchecked_mut() };
        for member in &mut this.members {
            let Some(future) = member else { continue };
            // SAFETY: as above.
            if unsafe { Pin::new_unchecked(future) }.poll(cx).is_ready() {
                *member = None;
                this.left -= 1;
            }
        }
        this.left
    }

    /// Polls each once, so that all of them wait.
    pub async fn start(mut self: Pin<&mut Self>) {
        poll_fn(|cx| Poll::Ready(self.as_mut().poll(cx))).await;
    }

    /// Waits until all have ended.
    pub async fn finish(mut self: Pin<&mut Self>) {
        poll_fn(|cx| if self.as_mut().poll(cx) == 0 { Poll::Ready(()) } else { Poll::Pending })
            .await;
    }
}
