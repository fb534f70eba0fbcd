//! What a machine watches for a probe.

use rtmark_firmware::probes::Kind;
use rtmark_observe::Edge;
use rtmark_sim::Watch;

/// Returns what a machine watches for a probe, and which end of a span it marks; `None` for a record that is not a
/// probe, and for the reset, at which a span begins without a watch.
pub const fn probe_watch(kind: Kind) -> Option<(Watch, Edge)> {
    Some(match kind {
        Kind::Begin(address) => (Watch::Execute(address), Edge::Begin),
        Kind::BeginAtPend(exception) => (Watch::Pend(exception), Edge::Begin),
        Kind::End(address) => (Watch::Execute(address), Edge::End),
        Kind::EndAtReturn(exception) => (Watch::Return(exception), Edge::End),
        Kind::EndAtSleep => (Watch::Sleep, Edge::End),
        Kind::Scenario(_) | Kind::BeginAtReset => return None,
    })
}
