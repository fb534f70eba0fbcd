use super::*;

fn of(least: u64, worst: u64) -> Extremes {
    Extremes { least, worst, samples: 5 }
}

fn plain_figures(seen: Extremes) -> (u64, u64, u64) {
    (seen.least, seen.worst, seen.samples)
}

#[test]
fn a_message_costs_what_jobs_with_it_are_longer_by() {
    // At least 130 - 110, at most 161 - 100; three messages each.
    assert_eq!(plain_figures(of(130, 161).beyond(of(100, 110), 3)), (6, 21, 5));
    assert_eq!(plain_figures(of(130, 160).beyond(of(100, 110), 3)), (6, 20, 5));
    assert_eq!(plain_figures(of(50, 60).beyond(of(100, 110), 1)), (0, 0, 5));
}

#[test]
fn each_message_cost_has_its_own_figure_and_the_longest_call_is_the_longest_of_all() {
    let seen = |send, receive, look| Messages {
        send: of(1, send),
        receive: of(2, receive),
        look: of(3, look),
    };
    let longest = |all: [u64; 3]| seen(all[0], all[1], all[2]).longest();
    assert_eq!((longest([30, 20, 10]), longest([20, 30, 10]), longest([10, 20, 30])), (30, 30, 30));
    let costs = seen(30, 20, 10).costs().map(|(cost, seen, _)| (cost, seen.worst));
    assert_eq!(costs, [(Cost::Send, 30), (Cost::Receive, 20), (Cost::Look, 10)]);
    let both = seen(30, 20, 10).with(seen(15, 25, 5));
    assert_eq!((both.send.worst, both.receive.worst, both.look.worst), (30, 25, 10));
    assert_eq!(plain_figures(both.look), (3, 10, 10));
}
