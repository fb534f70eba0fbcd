//! Histories of noisy series, and their charts.

use super::*;

/// Returns a series whose figures were sampled with a noisy clock; the first sample is separate.
fn noisy(values: &[u64]) -> Series {
    let first = std::iter::once(&999);
    let samples: Vec<_> = first.chain(values).map(|value| json!({"value": value})).collect();
    with_readings(json!({"sampled": {"resolution": 1, "samples": samples}}))
}

fn with_readings(readings: Value) -> Series {
    let mut value = serde_json::to_value(series("a.b", json!([]), json!({}))).expect("JSON");
    value["readings"] = readings;
    serde_json::from_value(value).expect("a series")
}

fn steps(runs: impl IntoIterator<Item = Series>) -> Vec<bool> {
    let runs = runs.into_iter().enumerate();
    let runs: Vec<_> = runs.map(|(at, series)| (label("r"), at as i64, series)).collect();
    history(&runs, Measure::Median).iter().map(|point| point.step.is_some()).collect()
}

/// The median is 100 in one and 104 in the other, but their samples are spread from 90 to 110.
const SPREAD: [[u64; 9]; 2] =
    [[90, 92, 95, 98, 100, 103, 106, 108, 110], [90, 93, 96, 99, 104, 105, 107, 108, 110]];

#[test]
fn chance_is_neither_a_change_point_nor_a_regression() {
    let [was, is] = SPREAD.map(|values| noisy(&values));
    assert_eq!(steps([was.clone(), is.clone()]), [false, false]);
    let comparison = compared(&[Answer::Measured(was.into())], &[Answer::Measured(is.into())]);
    let pair = &comparison.pairs[0];
    let medians = pair.estimate.as_ref().map(|estimate| (estimate.before, estimate.after));
    assert_eq!((pair.verdict, medians), (Verdict::Same, Some((100, 104))));
    assert!(gate(&comparison, &Policy::default()).regressions.is_empty());
}

#[test]
fn summaries_have_no_change_points() {
    let mean = |mean: f64| with_readings(json!({"summarised": {"mean": mean}}));
    assert_eq!(steps([mean(100.0), mean(200.0)]), [false, false]);
}

#[test]
fn a_chart_spans_the_smallest_to_the_largest_figure() {
    let runs: Vec<_> = [100, 162, 131, 130, 130]
        .into_iter()
        .enumerate()
        .map(|(at, value)| {
            let runs = json!([{"value": 1}, {"value": value, "times": 9}]);
            (label("r"), at as i64, series("a.b", runs, json!({})))
        })
        .collect();
    let drawn = chart(&history(&runs, Measure::Median), |ms| ms.to_string());
    let lines: Vec<_> = drawn.lines().collect();
    let columns = lines.iter().map(|line| {
        let begin = line.find(['\u{b7}', '\u{25cf}']).expect("a chart");
        let columns: Vec<_> =
            line[begin..].chars().take_while(|c| ['\u{b7}', '\u{25cf}'].contains(c)).collect();
        assert_eq!((columns.len(), columns.iter().filter(|c| **c == '\u{25cf}').count()), (32, 1));
        columns.iter().position(|c| *c == '\u{25cf}')
    });
    // 62 cycles in 31 steps from the first column to the last: two cycles each, cut.
    assert_eq!(columns.collect::<Vec<_>>(), [Some(0), Some(31), Some(15), Some(15), Some(15)]);
    let (worse, better) = ("\u{1b}[1m\u{1b}[31m\u{25c6} +62", "\u{1b}[1m\u{1b}[32m\u{25c6} -31");
    assert!(lines[1].contains(worse) && lines[2].contains(better), "{drawn:?}");
    assert!(!lines[4].contains('\u{25c6}') && !lines[4].contains('\u{25c7}'), "{drawn:?}");
    let alone = chart(&history(&runs[..1], Measure::Median), |ms| ms.to_string());
    assert!(alone.contains("100  \u{25cf}\u{b7}"), "{alone}");
    assert_eq!(chart(&[], |ms| ms.to_string()), "");
}
