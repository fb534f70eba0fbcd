//! Finds the calls of a run that have a scenario's span.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rtmark_model::ScenarioId;
use rtmark_observe::{Member, member_of};
use rtmark_sim::{Convention, Machine};

use crate::api::{is_part, is_specialised, plain};
use crate::condition::{Condition, Known, Path, Value};
use crate::paid::Outcome;
use crate::rules::{Equal, Then};

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
pub struct Untold {
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
pub enum Into {
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
#[derive(Clone, Copy, Debug)]
pub struct Other<'a> {
    pub symbol: &'a str,
    /// Its first argument.
    pub object: u32,
}

/// What is known about a call when it ends.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    pub outcome: Outcome,
    /// Its result.
    pub result: Option<u32>,
    pub into: Option<Into>,
    /// The symbol of the function that the other thread was in.
    pub into_symbol: &'a str,
    pub timed: Timed,
}

/// The rules of a kernel, and the calls that match them.
#[derive(Debug, Default)]
pub struct Matched<'a> {
    rules: &'a [Equal],
    /// The members that the image describes.
    members: HashMap<(String, String), Member>,
    untold: Untold,
    /// The rules of a function, by the function's number.
    of_function: HashMap<u32, Vec<usize>>,
    found: BTreeMap<usize, (BTreeSet<String>, Vec<Timed>)>,
}

impl<'a> Matched<'a> {
    /// Creates it without calls; members of structures are looked up in the image's debug information.
    pub fn new(rules: &'a [Equal], elf: &[u8]) -> Self {
        let mut matched = Self { rules, ..Self::default() };
        let mut asked: BTreeSet<&(String, String)> = BTreeSet::new();
        for path in rules.iter().flat_map(|rule| &rule.when).flat_map(Condition::paths) {
            asked.extend(&path.members);
        }
        for pair in asked {
            if let Some(member) = member_of(elf, &pair.0, &pair.1) {
                matched.members.insert(pair.clone(), member);
            }
        }
        matched
    }

    /// Returns the members that a rule needs and the image does not describe.
    fn lacking(&self, rule: &Equal) -> BTreeSet<String> {
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
        let fits = |rule: &Equal| rule.calls.iter().any(|pattern| pattern.matches(plain(symbol)));
        let mut usable = Vec::new();
        for (number, rule) in self.rules.iter().enumerate().filter(|(_, rule)| fits(rule)) {
            let lacking = self.lacking(rule);
            let asks = || rule.when.iter().any(Condition::is_about_values);
            let is_unknown = is_part(symbol) || is_specialised(symbol) && asks();
            if lacking.is_empty() && !is_unknown {
                usable.push(number);
                continue;
            }
            self.untold.scenarios.insert(rule.scenario.clone());
            self.untold.members.extend(lacking);
            self.untold.specialised.extend(is_unknown.then(|| symbol.to_owned()));
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
        others: &[Other<'_>],
    ) -> Vec<usize> {
        let mut rules = self.rules_of(function, symbol);
        rules.retain(|number| {
            let told = |condition: &&Condition| condition.known() != Known::AtEnd;
            self.rules[*number].when.iter().filter(told).all(|condition| {
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
        others: &[Other<'_>],
    ) -> Option<u32> {
        let count = |fits: &dyn Fn(&Other<'_>) -> bool| {
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
                let asked = |other: &&Other<'_>| pattern.matches(plain(other.symbol));
                let is_known = others.iter().filter(asked).all(|one| !is_specialised(one.symbol));
                let here = |other: &Other<'_>| asked(&other) && other.object == arguments[0];
                is_known.then(|| count(&here))?
            }
            Value::Within(pattern) => count(&|other| pattern.matches(plain(other.symbol))),
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
                && goes_on(rule, end)
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
    pub fn finish(self) -> (Vec<EqualCalls>, Untold) {
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
        (all, self.untold)
    }
}

/// Tells whether the thread that continued is one that a rule describes.
fn goes_on(rule: &Equal, end: End<'_>) -> bool {
    match (rule.then, end.into) {
        (Then::Returns, _) | (Then::Starts, Some(Into::New)) => true,
        (Then::Switches, Some(Into::Call { .. })) => {
            rule.into.is_empty()
                || rule.into.iter().any(|pattern| pattern.matches(plain(end.into_symbol)))
        }
        _ => false,
    }
}

fn holds(rule: &Equal, arguments: [u32; 4], end: End<'_>) -> bool {
    let late = rule.when.iter().filter(|condition| condition.known() == Known::AtEnd);
    let mut of = |value: &Value| match (value, end.into) {
        (Value::Argument(number), _) => arguments.get(*number).copied(),
        (Value::Result, _) => end.result,
        (Value::Into(number), Some(Into::Call { arguments, .. }))
            if !is_specialised(end.into_symbol) =>
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
