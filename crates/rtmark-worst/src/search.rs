//! Searches pieces in parallel.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use rtmark_sim::InternalError;
use rtmark_units::Share;

use crate::alone::search_piece;
use crate::findings::{Findings, Scale};
use crate::pairs::pairs;
use crate::path::Path;

/// Controls a search from outside.
#[derive(Debug)]
pub struct Control<'a> {
    /// Set to end the search early.
    pub cancelled: &'a AtomicBool,
    /// The part that is searched.
    pub share: Share,
    /// The number of points after which no further piece is begun.
    pub budget: u64,
}

/// Searches the pieces of a path that `found` does not contain yet. `advanced` receives the findings
/// whenever a piece is done.
///
/// # Errors
/// When the simulator makes a mistake, or a handler begins sooner than the core allows; all findings
/// are invalid then.
pub fn search(
    path: &Path,
    control: &Control<'_>,
    found: Findings,
    advanced: impl Fn(&Findings) + Sync,
) -> Result<Findings, Box<InternalError>> {
    let mut before = Vec::with_capacity(path.len());
    let mut total = 0;
    for piece in 0..path.len() {
        before.push(total);
        total += path.cycles_of(piece);
    }
    let known = found.pieces.clone();
    let mut given = found.points;
    let wanted = |piece: usize| {
        if !control.share.holds(piece) || known.contains(&piece) {
            return false;
        }
        // Decided from the sizes of pieces, so that every computer searches the same ones.
        let within = given < control.budget;
        given += path.cycles_of(piece);
        within && !path.has_failed() && !control.cancelled.load(Ordering::Relaxed)
    };
    let found = Mutex::new(found);
    path.pieces(wanted).par_bridge().for_each(|(index, piece)| {
        if control.cancelled.load(Ordering::Relaxed) || path.has_failed() {
            return;
        }
        let mut findings = piece.map_or_else(Findings::default, |piece| {
            let scale = Scale {
                reach: path.question().reach,
                looks_for_task: path.question().woken.is_some(),
                before: before[index],
                from: piece.window.from,
                to: piece.window.to,
                total,
            };
            match path.second() {
                Some(second) => pairs(path, &piece, scale, second),
                None => search_piece(path, piece, scale),
            }
        });
        if path.has_failed() {
            return;
        }
        findings.pieces.insert(index);
        // A thread that panicked has added nothing, so the findings of the others are intact.
        let mut all = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.absorb(findings);
        advanced(&all);
    });
    match path.failure() {
        Some(error) => Err(error),
        None => Ok(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)),
    }
}
