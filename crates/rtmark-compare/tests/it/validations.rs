//! What a board measured beside what the simulator says of the same image.

use rtmark_compare::validate;

use super::*;

fn measured(scenario: &str, steady: [u64; 3], patch: Value) -> Answer {
    let runs = std::iter::once(500).chain(steady).map(|value| json!({"value": value}));
    answer(scenario, runs.collect(), patch)
}

fn image(sha: &str) -> Value {
    let firmware = json!({"image": "i", "elf_sha256": sha, "flash_bytes": 0, "ram_bytes": 0});
    json!({"provenance": {"firmware": firmware}})
}

#[test]
fn a_board_is_compared_with_the_same_scenario_and_profile() {
    let checked = json!({"key": {"profile": "checked"}});
    let board = [
        measured("a.b", [103, 100, 109], image("aa")),
        measured("a.c", [50, 50, 50], image("bb")),
        measured("a.b", [130, 130, 130], checked.clone()),
        failed("a.d"),
    ];
    let simulator = [
        measured("a.b", [140, 140, 140], checked),
        measured("a.c", [51, 51, 51], image("cc")),
        measured("a.b", [104, 104, 104], image("aa")),
        measured("a.d", [1, 1, 1], json!({})),
    ];
    let plain = [measured("a.b", [96, 96, 96], json!({}))];
    let found = validate("test", "19", &board, &simulator, &plain);
    let rows: Vec<_> = found
        .rows
        .iter()
        .map(|row| {
            let name = (row.scenario.as_str(), row.profile.as_str());
            (name, [row.board_min, row.board, row.board_max], row.simulator, row.plain)
        })
        .collect();
    assert_eq!(
        rows,
        [
            (("a.b", "product"), [100, 103, 109], 104, Some(96)),
            (("a.c", "product"), [50, 50, 50], 51, None),
            (("a.b", "checked"), [130, 130, 130], 140, None),
        ]
    );
    let same: Vec<_> = found.rows.iter().map(|row| row.same_image).collect();
    assert_eq!(same, [true, false, true]);
    assert_eq!(found.board, "backend sim: no board at 48 MHz");
    let left = found.left_out.iter().map(|left| (left.scenario.as_str(), left.reason.as_str()));
    let left: Vec<_> = left.collect();
    assert!(
        matches!(left[..], [("a.d", why)] if why.starts_with("failed on the board: ")),
        "{left:?}"
    );
}

#[test]
fn a_scenario_without_a_figure_on_the_simulator_is_left_out_with_the_reason() {
    let board = ["a.b", "a.c", "a.d", "a.e"].map(|name| measured(name, [9; 3], json!({})));
    let refused = |scenario: &str| Answer::NotApplicable {
        key: plain(scenario, 1, 1).key().clone(),
        reason: "no such primitive".into(),
    };
    let simulator = [failed("a.b"), refused("a.c"), measured("a.e", [9; 3], json!({}))];
    let found = validate("test", "19", &board, &simulator, &[]);
    let reasons: Vec<_> = found.left_out.iter().map(|left| left.reason.as_str()).collect();
    assert!(reasons[0].starts_with("failed on the simulator: "), "{reasons:?}");
    assert_eq!(
        reasons[1..],
        ["not on the simulator: no such primitive", "not measured on the simulator"]
    );
    assert_eq!(found.score.map(|score| score.figures), Some(1));
    assert_eq!(validate("test", "19", &[], &simulator, &[]).score, None);
}
