//! Finds the calls of a run that have a scenario's span.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rtmark_model::ScenarioId;
use rtmark_observe::{Member, member_of};
use rtmark_sim::{Convention, Machine};

use crate::api::{base_name, is_part, is_specialised};
use crate::condition::{Availability, Condition, Path, Value};
use crate::cost::Outcome;
use crate::rules::{Equal, RuleOutcome};

/// A call that had a scenario's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The cycle of the calling instruction.
    pub began: u64,
    /// Its length in cycles.
    pub cycles: u64,
    /// The number of tick handlers entered during the call.
    pub ticks: u64,
    /// The number of other handlers entered, except those of the kernel's own exceptions.
    pub interrupts: u64,
}

/// The calls of a run that had a scenario's span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EqualCalls {
    /// The scenario.
    pub scenario: ScenarioId,
    /// Their outcome.
    pub outcome: Outcome,
    /// Their functions, as applications write them.
    pub functions: Vec<String>,
    /// The calls in order of their beginnings.
    pub calls: Vec<Timed>,
}

/// Scenarios whose calls cannot be distinguished from others, because debug information is missing or
/// the compiler has changed functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AmbiguousScenarios {
    /// The scenarios.
    pub scenarios: BTreeSet<ScenarioId>,
    /// Members of structures that are not described, such as `k_mutex.lock_count`.
    pub members: BTreeSet<String>,
    /// Functions that the compiler has specialised or split, so that it is unknown where their
    /// arguments are, or where they begin.
    pub specialised: BTreeSet<String>,
}

/// Where another thread continued when a call switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// After a call of its own, of this function with these arguments.
    Call { function: u32, arguments: [u32; 4] },
    /// Where it had been interrupted.
    Elsewhere,
    /// It had not run before.
    New,
    /// It is the kernel's idle thread.
    Idle,
}

/// Another open call, for conditions about waiting threads.
#[derive(Clone, Debug)]
pub struct WaitingCall<'a> {
    pub symbol: Cow<'a, str>,
    /// Its first argument.
    pub object: u32,
}

/// What is known about a call when it ends.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    pub outcome: Outcome,
    /// Its result.
    pub result: Option<u32>,
    pub into: Option<Continuation>,
    /// The symbol of the function that the other thread was in.
    pub continuation_symbol: &'a str,
    pub timed: Timed,
}

/// The rules of a kernel, and the calls that match them.
#[derive(Debug, Default)]
pub struct RuleMatcher<'a> {
    rules: &'a [Equal],
    /// The members that the image describes.
    members: HashMap<(String, String), Member>,
    ambiguous: AmbiguousScenarios,
    /// The rules of a function, by the function's number.
    of_function: HashMap<u32, Vec<usize>>,
    found: BTreeMap<usize, (BTreeSet<String>, Vec<Timed>)>,
}

impl<'a> RuleMatcher<'a> {
    /// Creates it without calls; members of structures are looked up in the image's debug information.
    pub fn new(rules: &'a [Equal], elf: &[u8]) -> Self {
        let mut matched = Self { rules, ..Self::default() };
        let mut members: BTreeSet<&(String, String)> = BTreeSet::new();
        for path in rules.iter().flat_map(|rule| &rule.when).flat_map(Condition::paths) {
            members.extend(&path.members);
        }
        for pair in members {
            if let Some(member) = member_of(elf, &pair.0, &pair.1) {
                matched.members.insert(pair.clone(), member);
            }
        }
        matched
    }

    /// Returns the members that a rule needs and the image does not describe.
    fn missing_members(&self, rule: &Equal) -> BTreeSet<String> {
        let pairs = rule.when.iter().flat_map(Condition::paths).flat_map(|path| &path.members);
        pairs
            .filter(|pair| !self.members.contains_key(*pair))
            .map(|(structure, member)| format!("{structure}.{member}"))
            .collect()
    }

    /// Returns the rules of a function, by its number; those that cannot be evaluated are recorded.
    fn rules_of(&mut self, function: u32, symbol: &str) -> Vec<usize> {
        if let Some(known) = self.of_function.get(&function) {
            return known.clone();
        }
        let fits =
            |rule: &Equal| rule.calls.iter().any(|pattern| pattern.matches(base_name(symbol)));
        let mut usable = Vec::new();
        for (number, rule) in self.rules.iter().enumerate().filter(|(_, rule)| fits(rule)) {
            let missing_members = self.missing_members(rule);
            let asks = || rule.when.iter().any(Condition::uses_values);
            let is_unknown = is_part(symbol) || is_specialised(symbol) && asks();
            if missing_members.is_empty() && !is_unknown {
                usable.push(number);
                continue;
            }
            self.ambiguous.scenarios.insert(rule.scenario.clone());
            self.ambiguous.members.extend(missing_members);
            self.ambiguous.specialised.extend(is_unknown.then(|| symbol.to_owned()));
        }
        self.of_function.insert(function, usable.clone());
        usable
    }

    /// Returns the rules that a call may still match when it is about to execute its function's first
    /// instruction. `others` are the calls that other threads are in.
    pub fn begin(
        &mut self,
        machine: &Machine,
        (function, symbol): (u32, &str),
        arguments: [u32; 4],
        others: &[WaitingCall<'_>],
    ) -> Vec<usize> {
        let mut rules = self.rules_of(function, symbol);
        rules.retain(|number| {
            let is_evaluable =
                |condition: &&Condition| condition.availability() != Availability::AtEnd;
            self.rules[*number].when.iter().filter(is_evaluable).all(|condition| {
                let mut of = |value: &Value| self.at_entry(value, machine, arguments, others);
                condition.holds(&mut of) == Some(true)
            })
        });
        rules
    }

    fn at_entry(
        &self,
        value: &Value,
        machine: &Machine,
        arguments: [u32; 4],
        others: &[WaitingCall<'_>],
    ) -> Option<u32> {
        let count = |fits: &dyn Fn(&WaitingCall<'_>) -> bool| {
            u32::try_from(others.iter().filter(|other| fits(other)).count()).ok()
        };
        match value {
            Value::Argument(number) => arguments.get(*number).copied(),
            Value::Stacked(number) => {
                // The rules count them from the first one after those in Arm's four registers.
                let number = u8::try_from(*number).ok()?.checked_add(Convention::ARM.arguments)?;
                machine.argument(number)
            }
            Value::Member(path) => self.member(machine, path, *arguments.get(path.argument)?),
            Value::Waiting(pattern) => {
                let is_named = |other: &&WaitingCall<'_>| pattern.matches(base_name(&other.symbol));
                let is_known =
                    others.iter().filter(is_named).all(|one| !is_specialised(&one.symbol));
                let here =
                    |other: &WaitingCall<'_>| is_named(&other) && other.object == arguments[0];
                is_known.then(|| count(&here))?
            }
            Value::Within(pattern) => count(&|other| pattern.matches(base_name(&other.symbol))),
            _ => None,
        }
    }

    fn member(&self, machine: &Machine, path: &Path, object: u32) -> Option<u32> {
        let found = path.members.iter().map(|pair| self.members.get(pair).copied());
        let found: Vec<Member> = found.collect::<Option<_>>()?;
        let offset = found.iter().fold(0_u32, |sum, member| sum.wrapping_add(member.offset));
        let size = found.last()?.size.filter(|size| (1..=4).contains(size)).unwrap_or(4);
        word(machine, object.wrapping_add(offset), size as usize)
    }

    /// Records a finished call for each rule that it matches.
    pub fn end(&mut self, rules: &[usize], arguments: [u32; 4], shown: &str, end: End<'_>) {
        for &number in rules {
            let rule = &self.rules[number];
            if rule.then.outcome() == end.outcome
                && continues_as_described(rule, end)
                && holds(rule, arguments, end)
            {
                let (functions, calls) = self.found.entry(number).or_default();
                functions.insert(shown.to_owned());
                calls.push(end.timed);
            }
        }
    }

    /// Returns the results by scenario in the order of the kernel's file, and the scenarios that could
    /// not be distinguished.
    pub fn finish(self) -> (Vec<EqualCalls>, AmbiguousScenarios) {
        let mut all: Vec<EqualCalls> = Vec::new();
        for (number, (functions, calls)) in self.found {
            let rule = &self.rules[number];
            let (scenario, outcome) = (&rule.scenario, rule.then.outcome());
            let functions = functions.into_iter();
            if let Some(known) = all.iter_mut().find(|known| known.scenario == *scenario) {
                known.functions.extend(functions);
                known.calls.extend(calls);
            } else {
                let functions = functions.collect();
                all.push(EqualCalls { scenario: scenario.clone(), outcome, functions, calls });
            }
        }
        for one in &mut all {
            one.functions.sort_unstable();
            one.functions.dedup();
            one.calls.sort_by_key(|call| call.began);
        }
        (all, self.ambiguous)
    }
}

/// Tells whether the thread that continued is one that a rule describes.
fn continues_as_described(rule: &Equal, end: End<'_>) -> bool {
    match (rule.then, end.into) {
        (RuleOutcome::Returns, _) | (RuleOutcome::Starts, Some(Continuation::New)) => true,
        (RuleOutcome::Switches, Some(Continuation::Call { .. })) => {
            rule.into.is_empty()
                || rule
                    .into
                    .iter()
                    .any(|pattern| pattern.matches(base_name(end.continuation_symbol)))
        }
        _ => false,
    }
}

fn holds(rule: &Equal, arguments: [u32; 4], end: End<'_>) -> bool {
    let late = rule.when.iter().filter(|condition| condition.availability() == Availability::AtEnd);
    let mut of = |value: &Value| match (value, end.into) {
        (Value::Argument(number), _) => arguments.get(*number).copied(),
        (Value::Result, _) => end.result,
        (Value::Into(number), Some(Continuation::Call { arguments, .. }))
            if !is_specialised(end.continuation_symbol) =>
        {
            arguments.get(*number).copied()
        }
        _ => None,
    };
    late.into_iter().all(|condition| condition.holds(&mut of) == Some(true))
}

/// Reads a number of up to four bytes from memory.
fn word(machine: &Machine, address: u32, size: usize) -> Option<u32> {
    let bytes = machine.peek(address, size);
    let mut all = [0; 4];
    all.get_mut(..size)?.copy_from_slice(bytes.get(..size)?);
    Some(u32::from_le_bytes(all))
}
