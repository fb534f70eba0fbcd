//! Locates the difference between two spans.
//!
//! Functions that both spans have are compared with each other; everything that only one of them has is
//! grouped by role. The rows cover every cycle of both, so that their differences add up to the total.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::attribution::{Part, Share, SpanCost};
use crate::role::Role;

/// The same work in both spans, as far as it can be identified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// The kind of work.
    pub role: Role,
    /// The function, if both spans have it; otherwise the row covers the rest of its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Its cost in the first span.
    pub a: Share,
    /// Its cost in the second span.
    pub b: Share,
    /// The function's cycles including everything it called, if both spans have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inclusive: Option<Inclusive>,
    /// The functions of the first span, the most expensive first.
    pub functions_a: Vec<String>,
    /// The functions of the second span, the most expensive first.
    pub functions_b: Vec<String>,
}

/// A function's cycles including everything called from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Inclusive {
    /// In the first span.
    pub a: u64,
    /// In the second span.
    pub b: u64,
}

impl Row {
    /// Returns the cycles of the first span minus those of the second.
    pub fn difference(&self) -> i128 {
        i128::from(self.a.cycles) - i128::from(self.b.cycles)
    }
}

/// Where the difference between two spans comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// The largest differences first.
    pub rows: Vec<Row>,
    /// The largest cause, as a sentence.
    pub cause: String,
}

/// Returns the name under which a function is looked up in another program.
fn common_name(part: &Part) -> &str {
    let name = part.function.as_str();
    if part.role.is_helper() { name.rsplit("::").next().unwrap_or(name) } else { name }
}

impl Difference {
    /// Compares the spans of `a` and `b`, which are given with their names.
    pub fn between((name_a, a): (&str, &SpanCost), (name_b, b): (&str, &SpanCost)) -> Self {
        let mut rows: BTreeMap<(Role, Option<&str>), Row> = BTreeMap::new();
        let has = |cost: &SpanCost, wanted: &Part| {
            let fits =
                |part: &&Part| part.role == wanted.role && common_name(part) == common_name(wanted);
            cost.parts.iter().any(|part| fits(&part))
        };
        for (parts, other, is_first) in [(&a.parts, b, true), (&b.parts, a, false)] {
            for part in parts {
                let function = has(other, part).then(|| common_name(part));
                let row = rows.entry((part.role, function)).or_insert_with(|| Row {
                    role: part.role,
                    function: function.map(str::to_owned),
                    a: Share::default(),
                    b: Share::default(),
                    inclusive: function.map(|_| Inclusive::default()),
                    functions_a: Vec::new(),
                    functions_b: Vec::new(),
                });
                let (share, functions) = if is_first {
                    (&mut row.a, &mut row.functions_a)
                } else {
                    (&mut row.b, &mut row.functions_b)
                };
                share.add(part.own);
                if let Some(inclusive) = &mut row.inclusive {
                    let side = if is_first { &mut inclusive.a } else { &mut inclusive.b };
                    *side += part.inclusive_cycles;
                }
                functions.push(part.function.clone());
            }
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.difference().abs()), row.role));
        let cause = cause(&rows, (name_a, a), (name_b, b));
        Self { rows, cause }
    }
}

/// Returns `a` as a multiple of `b`, in words.
fn times(a: u64, b: u64) -> String {
    let ratio = a as f64 / b.max(1) as f64;
    if ratio < 1.095 { format!("{ratio:.2} times") } else { format!("{ratio:.1} times") }
}

/// One of two compared spans.
#[derive(Clone, Copy)]
enum Side {
    A,
    B,
}

impl Side {
    /// Orders a pair so that this side comes first.
    fn first<T>(self, a: T, b: T) -> (T, T) {
        match self {
            Self::A => (a, b),
            Self::B => (b, a),
        }
    }

    /// Returns how many cycles more than the other one this side spends in a row.
    fn excess(self, row: &Row) -> i128 {
        match self {
            Self::A => row.difference(),
            Self::B => -row.difference(),
        }
    }
}

/// Returns the largest cause of the difference, as a sentence.
fn cause(rows: &[Row], (name_a, a): (&str, &SpanCost), (name_b, b): (&str, &SpanCost)) -> String {
    let (whole_a, whole_b) = (a.whole.cycles, b.whole.cycles);
    if whole_a == whole_b {
        return format!("{name_a} and {name_b} take the same: {whole_a} cycles.");
    }
    let slower = if whole_a > whole_b { Side::A } else { Side::B };
    let (slow, fast) = slower.first(name_a, name_b);
    let (more, less) = slower.first(whole_a, whole_b);
    let difference = more - less;
    let head = format!(
        "{slow} takes {difference} cycles more than {fast} ({more} against {less}, {} as long)",
        times(more, less)
    );
    let found =
        rows.iter().max_by_key(|row| slower.excess(row)).filter(|row| slower.excess(row) > 0);
    match (helper(rows, slower, difference, found), found) {
        (Some(helper), _) => format!("{head}, above all because {helper}"),
        (None, Some(row)) => {
            format!("{head}, above all because {}", of_row(row, slower, difference))
        }
        (None, None) => head + ".",
    }
}

/// Returns a helper that, with everything it calls, explains more of the difference than the row found,
/// which may be one of the functions that the helper consists of.
fn helper(rows: &[Row], slower: Side, difference: u64, found: Option<&Row>) -> Option<String> {
    let with_callees = |row: &Row| {
        let Inclusive { a, b } = row.inclusive.filter(|_| row.role.is_helper())?;
        let (slow, fast) = slower.first(a, b);
        slow.checked_sub(fast).filter(|excess| *excess > 0).map(|excess| (excess, slow, fast))
    };
    let unexplained = |excess: i128| (excess - i128::from(difference)).abs();
    let (row, (excess, slow, fast)) = rows
        .iter()
        .filter_map(|row| Some((row, with_callees(row)?)))
        .min_by_key(|(_, (excess, ..))| unexplained(i128::from(*excess)))?;
    if found.is_some_and(|row| unexplained(i128::from(excess)) >= unexplained(slower.excess(row))) {
        return None;
    }
    let (some, others) = slower.first(row.a.calls, row.b.calls);
    let function = row.function.as_deref().unwrap_or_default();
    let percent = excess as f64 * 100.0 / difference as f64;
    Some(format!(
        "`{function}` with all that it calls took {} as long, {slow} cycles against {fast}, in {} against \
         {}: {excess} cycles, {percent:.0} % of the difference.",
        times(slow, fast),
        calls(some),
        calls(others)
    ))
}

/// Describes what a row contributes to the difference.
fn of_row(row: &Row, slower: Side, difference: u64) -> String {
    let (x, y) = slower.first(row.a, row.b);
    let (functions, _) = slower.first(&row.functions_a, &row.functions_b);
    let excess = slower.excess(row);
    let what = match &row.function {
        Some(function) if function.starts_with('[') => format!("{} took", row.role),
        Some(function) => format!("`{function}` took"),
        None => format!("{} took", row.role),
    };
    let cost = match y.cycles {
        0 => format!("{} cycles, against none", x.cycles),
        _ => format!(
            "{} as long, {} cycles against {}",
            times(x.cycles, y.cycles),
            x.cycles,
            y.cycles
        ),
    };
    let mut parts = vec![format!("{what} {cost}")];
    if row.function.is_none() {
        let named: Vec<_> = functions.iter().take(3).map(|name| format!("`{name}`")).collect();
        if !named.is_empty() {
            parts.push(format!("most of them in {}", named.join(", ")));
        }
    } else if x.calls != y.calls {
        parts.push(format!("in {} against {}", calls(x.calls), calls(y.calls)));
    }
    let stalls = i128::from(x.stalled_cycles) - i128::from(y.stalled_cycles);
    if stalls * 2 > excess {
        parts.push(format!(
            "of which {} against {} were spent waiting for memory",
            x.stalled_cycles, y.stalled_cycles
        ));
    }
    let elsewhere = excess - i128::from(difference);
    let rest = if elsewhere > 0 {
        format!("{excess} cycles, of which other parts make up for {elsewhere}")
    } else {
        let share = excess as f64 * 100.0 / difference as f64;
        format!("{excess} cycles, {share:.0} % of the difference")
    };
    format!("{}: {rest}.", parts.join(", "))
}

fn calls(count: u64) -> String {
    if count == 1 { "1 call".to_owned() } else { format!("{count} calls") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(parts: &[(Role, &str, u64, u64)]) -> SpanCost {
        let part = |&(role, function, cycles, calls): &(Role, &str, u64, u64)| Part {
            role,
            function: function.to_owned(),
            own: Share { cycles, stalled_cycles: 0, instructions: cycles / 2, calls },
            inclusive_cycles: cycles,
        };
        let parts: Vec<_> = parts.iter().map(part).collect();
        let mut whole = Share::default();
        for part in &parts {
            whole.add(part.own);
        }
        SpanCost { whole, parts }
    }

    #[test]
    fn common_functions_are_paired_and_the_rest_grouped_by_role() {
        let c = cost(&[
            (Role::Thread, "main", 100, 0),
            (Role::Thread, "isPrime", 50, 3),
            (Role::Division, "__aeabi_uidivmod", 630, 30),
        ]);
        let rust = cost(&[
            (Role::Thread, "main", 90, 0),
            (Role::Thread, "prime::poll", 60, 1),
            (Role::Division, "compiler_builtins::arm::__aeabi_uidivmod", 300, 30),
            (Role::ExceptionEntry, "[SysTick]", 15, 1),
        ]);
        let difference = Difference::between(("c", &c), ("rust", &rust));
        let sums = |side: fn(&Row) -> Share| {
            difference.rows.iter().map(|row| side(row).cycles).sum::<u64>()
        };
        assert_eq!((sums(|row| row.a), sums(|row| row.b)), (780, 465));
        assert_eq!(difference.rows[0].function.as_deref(), Some("__aeabi_uidivmod"));
        let is_rest = |row: &&Row| row.function.is_none() && row.role == Role::Thread;
        let rest = difference.rows.iter().find(is_rest);
        let rest = rest.expect("the unmatched thread code");
        assert_eq!(
            (&rest.functions_a[..], &rest.functions_b[..]),
            (&["isPrime".to_owned()][..], &["prime::poll".to_owned()][..])
        );
        assert_eq!(
            difference.cause,
            "c takes 315 cycles more than rust (780 against 465, 1.7 times as long), above all \
             because `__aeabi_uidivmod` took 2.1 times as long, 630 cycles against 300: \
             330 cycles, of which other parts make up for 15."
        );
        let turned = Difference::between(("rust", &rust), ("c", &c));
        assert_eq!(turned.cause, difference.cause);
        let mut nested = c.clone();
        nested.parts.push(Part {
            role: Role::Division,
            function: "__aeabi_uldivmod".to_owned(),
            own: Share { calls: 7, ..Share::default() },
            inclusive_cycles: 630,
        });
        let mut other = rust.clone();
        other.parts.push(Part { inclusive_cycles: 315, ..nested.parts[3].clone() });
        assert_eq!(
            Difference::between(("c", &nested), ("rust", &other)).cause,
            "c takes 315 cycles more than rust (780 against 465, 1.7 times as long), above all \
             because `__aeabi_uldivmod` with all that it calls took 2.0 times as long, 630 cycles \
             against 315, in 7 calls against 7 calls: 315 cycles, 100 % of the difference."
        );
        let same = Difference::between(("c", &c), ("d", &c));
        assert_eq!(same.cause, "c and d take the same: 780 cycles.");
    }

    fn caused(a: &SpanCost, b: &SpanCost) -> String {
        let cause = Difference::between(("a", a), ("b", b)).cause;
        cause.split_once("above all because ").expect("a cause").1.to_owned()
    }

    #[test]
    fn what_only_one_span_has_is_named_up_to_three_functions() {
        let one = cost(&[
            (Role::Thread, "main", 100, 1),
            (Role::Switch, "p", 40, 1),
            (Role::Switch, "q", 30, 1),
            (Role::Switch, "r", 20, 1),
            (Role::Switch, "s", 10, 1),
        ]);
        let other = cost(&[(Role::Thread, "main", 100, 1)]);
        let most = "most of them in `p`, `q`, `r`: 100 cycles, 100 % of the difference.";
        let text = format!("handlers of calls and switches took 100 cycles, against none, {most}");
        assert_eq!(caused(&one, &other), text);
        assert_eq!(caused(&other, &one), text);
    }

    /// Of helpers that differ with all that they call, the one whose difference is nearest to the whole.
    #[test]
    fn the_helper_named_is_the_one_that_explains_most() {
        let helpers = |main: u64, inclusive: [u64; 2]| {
            let mut span = cost(&[
                (Role::Thread, "main", main, 1),
                (Role::Division, "__aeabi_uidiv", 0, 2),
                (Role::Division, "__aeabi_uldivmod", 0, 1),
            ]);
            for (part, cycles) in span.parts[1..].iter_mut().zip(inclusive) {
                part.inclusive_cycles = cycles;
            }
            span
        };
        let text = "`__aeabi_uldivmod` with all that it calls took 2.0 times as long, 180 cycles against 90, in 1 \
                    call against 1 call: 90 cycles, 90 % of the difference.";
        let (mut one, mut other) = (helpers(100, [30, 180]), helpers(70, [20, 90]));
        (one.whole.cycles, other.whole.cycles) = (200, 100);
        assert_eq!(caused(&one, &other), text);
        // One that takes the same explains nothing, even where other parts make up for most.
        let (mut one, mut other) = (helpers(400, [30, 90]), helpers(100, [30, 90]));
        (one.whole.cycles, other.whole.cycles) = (400, 300);
        let text = "`main` took 4.0 times as long, 400 cycles against 100: 300 cycles, of which other parts make up \
                    for 200.";
        assert_eq!(caused(&one, &other), text);
    }

    #[test]
    fn a_function_that_is_called_more_often_says_so() {
        let one = cost(&[(Role::Thread, "work", 300, 3), (Role::Thread, "main", 110, 1)]);
        let other = cost(&[(Role::Thread, "work", 100, 1), (Role::Thread, "main", 100, 1)]);
        let text = "`work` took 3.0 times as long, 300 cycles against 100, in 3 calls against 1 call: \
                    200 cycles, 95 % of the difference.";
        assert_eq!(caused(&one, &other), text);
        let entry = cost(&[(Role::ExceptionEntry, "[SysTick]", 32, 2)]);
        let single = cost(&[(Role::ExceptionEntry, "[SysTick]", 30, 2)]);
        let text = "exception entry took 1.07 times as long, 32 cycles against 30: 2 cycles, 100 % of the difference.";
        assert_eq!(caused(&entry, &single), text);
    }

    /// Waiting is named if it is more than half of what a function takes longer.
    #[test]
    fn waiting_for_memory_is_named_if_it_explains_most() {
        let with = |cycles, stalled_cycles| {
            let mut cost = cost(&[(Role::Thread, "work", cycles, 1)]);
            cost.parts[0].own.stalled_cycles = stalled_cycles;
            cost
        };
        let text = "`work` took 2.0 times as long, 200 cycles against 100";
        let rest = "100 cycles, 100 % of the difference.";
        assert_eq!(caused(&with(200, 60), &with(100, 10)), format!("{text}: {rest}"));
        let waited = "of which 61 against 10 were spent waiting for memory";
        assert_eq!(caused(&with(200, 61), &with(100, 10)), format!("{text}, {waited}: {rest}"));
    }

    #[test]
    fn the_largest_differences_come_first() {
        let a = cost(&[
            (Role::Thread, "f", 10, 1),
            (Role::Thread, "g", 50, 1),
            (Role::Tick, "h", 7, 1),
        ]);
        let b = cost(&[
            (Role::Thread, "f", 40, 1),
            (Role::Thread, "g", 45, 1),
            (Role::Tick, "h", 7, 1),
        ]);
        let rows = Difference::between(("a", &a), ("b", &b)).rows;
        let differences: Vec<_> =
            rows.iter().map(|row| (row.function.as_deref(), row.difference())).collect();
        assert_eq!(differences, [(Some("f"), -30), (Some("g"), 5), (Some("h"), 0)]);
        let inclusive = rows[0].inclusive.expect("both have it");
        assert_eq!((inclusive.a, inclusive.b), (10, 40));
    }

    #[test]
    fn ratios_near_one_have_two_decimals() {
        assert_eq!([times(1_094, 1_000), times(1_095, 1_000)], ["1.09 times", "1.1 times"]);
        assert_eq!(times(5, 0), "5.0 times");
    }
}
