//! Conditions under which a call is a scenario's: `r1 = 0`, `waiting(k_sem_take) = 0`.

use rtmark_model::Pattern;
use serde::Deserialize;

/// The time at which a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Availability {
    /// At any time, once the call has begun.
    Always,
    /// Only at the beginning.
    AtEntry,
    /// Only after it has returned, or another thread continues.
    AtEnd,
}

/// The location of a structure's member, and the pointer to the structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Structures and members: their offsets add up, and the size is that of the last one.
    pub members: Vec<(String, String)>,
    /// The argument that points to the first of them.
    pub argument: usize,
}

/// A value to compare.
#[derive(Clone, Debug)]
pub enum Value {
    Number(u32),
    /// An argument in a register, by its number.
    Argument(usize),
    /// An argument on the stack, by its position there.
    Stacked(u32),
    /// The call's result.
    Result,
    /// An argument of the call from which the other thread returns.
    Into(usize),
    Member(Path),
    /// The number of threads that wait in functions with these names and were given the same first
    /// argument.
    Waiting(Pattern),
    /// The number of other threads that are in functions with these names.
    Within(Pattern),
    And(Box<Value>, Box<Value>),
    Remainder(Box<Value>, Box<Value>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Unequal,
    Below,
    Above,
}

/// A condition.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Condition {
    pub left: Value,
    pub relation: Relation,
    pub right: Value,
}

impl Value {
    fn parse(text: &str) -> Result<Self, String> {
        let register = |text: &str| {
            let number = text.strip_prefix('r')?.parse().ok()?;
            (number < 4).then_some(number)
        };
        let within = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        let pattern = |text: &str| text.parse::<Pattern>().map_err(|error| error.to_string());
        if let Some(number) = register(text) {
            return Ok(Self::Argument(number));
        }
        if let Some(number) = text.strip_prefix("into.").and_then(register) {
            return Ok(Self::Into(number));
        }
        if let Some(number) = text.strip_prefix("stack[").and_then(|rest| rest.strip_suffix(']')) {
            let number = number.parse().map_err(|_| format!("`{text}` has no number"))?;
            return Ok(Self::Stacked(number));
        }
        if text == "result" {
            return Ok(Self::Result);
        }
        if let Some(functions) = within("waiting") {
            return Ok(Self::Waiting(pattern(functions)?));
        }
        if let Some(functions) = within("within") {
            return Ok(Self::Within(pattern(functions)?));
        }
        if let Some((path, rest)) = text.split_once('(') {
            let argument = rest.strip_suffix(')').and_then(register);
            let argument = argument.ok_or_else(|| format!("`{text}` names no argument"))?;
            let member = |part: &str| {
                let (structure, member) = part.split_once('.')?;
                Some((structure.to_owned(), member.to_owned()))
            };
            let members: Option<Vec<_>> = path.split('+').map(member).collect();
            let members =
                members.ok_or_else(|| format!("`{path}` is not a member of a structure"))?;
            return Ok(Self::Member(Path { members, argument }));
        }
        number(text).map(Self::Number).ok_or_else(|| {
            format!(
                "`{text}` is neither a number nor r0 to r3, stack[n], result, into.r0, \
                 Structure.member(r0), waiting(name) or within(name)"
            )
        })
    }

    /// Returns when the value is known.
    fn availability(&self) -> Availability {
        match self {
            Self::Number(_) | Self::Argument(_) => Availability::Always,
            Self::Stacked(_) | Self::Member(_) | Self::Waiting(_) | Self::Within(_) => {
                Availability::AtEntry
            }
            Self::Result | Self::Into(_) => Availability::AtEnd,
            Self::And(left, right) | Self::Remainder(left, right) => {
                left.availability().max(right.availability())
            }
        }
    }

    /// Returns the members that it refers to.
    fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Member(path) => vec![path],
            Self::And(left, right) | Self::Remainder(left, right) => {
                [left.paths(), right.paths()].concat()
            }
            _ => Vec::new(),
        }
    }
}

/// Parses a 32-bit integer, optionally negative or hexadecimal.
fn number(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).ok();
    }
    let value: i64 = text.parse().ok()?;
    i32::try_from(value).map(i32::cast_unsigned).or_else(|_| u32::try_from(value)).ok()
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (left, relation, right) = match words.as_slice() {
            [left, relation, right] => (Value::parse(left)?, relation, right),
            [first, operator, second, relation, right] => {
                let (first, second) = (Value::parse(first)?, Value::parse(second)?);
                let left = match *operator {
                    "&" => Value::And(first.into(), second.into()),
                    "%" => Value::Remainder(first.into(), second.into()),
                    other => return Err(format!("`{other}` in `{text}` is neither & nor %")),
                };
                (left, relation, right)
            }
            _ => return Err(format!("`{text}` is not `value = value`, with spaces between")),
        };
        let relation = match *relation {
            "=" => Relation::Equal,
            "!=" => Relation::Unequal,
            "<" => Relation::Below,
            ">" => Relation::Above,
            other => return Err(format!("`{other}` in `{text}` is not one of = != < >")),
        };
        let right = Value::parse(right)?;
        let condition = Self { left, relation, right };
        if condition.availability() == Availability::AtEnd && condition.is_available_only_at_entry()
        {
            return Err(format!(
                "`{text}` mixes values known at the beginning with values known at the end"
            ));
        }
        Ok(condition)
    }
}

impl Condition {
    /// Returns when the condition can be evaluated.
    pub fn availability(&self) -> Availability {
        self.left.availability().max(self.right.availability())
    }

    /// Tells whether a part of it is known only at the beginning.
    fn is_available_only_at_entry(&self) -> bool {
        fn has(value: &Value) -> bool {
            match value {
                Value::And(left, right) | Value::Remainder(left, right) => has(left) || has(right),
                other => other.availability() == Availability::AtEntry,
            }
        }
        has(&self.left) || has(&self.right)
    }

    /// Returns the members that it refers to.
    pub fn paths(&self) -> Vec<&Path> {
        [self.left.paths(), self.right.paths()].concat()
    }

    /// Tells whether it refers to the call's own arguments or result.
    pub fn uses_values(&self) -> bool {
        fn is(value: &Value) -> bool {
            match value {
                Value::Number(_) | Value::Within(_) | Value::Into(_) => false,
                Value::And(left, right) | Value::Remainder(left, right) => is(left) || is(right),
                _ => true,
            }
        }
        is(&self.left) || is(&self.right)
    }

    /// Evaluates the condition with these values; returns `None` if one is not known.
    pub fn holds(&self, of: &mut impl FnMut(&Value) -> Option<u32>) -> Option<bool> {
        let (left, right) = (evaluate(&self.left, of)?, evaluate(&self.right, of)?);
        Some(match self.relation {
            Relation::Equal => left == right,
            Relation::Unequal => left != right,
            Relation::Below => left < right,
            Relation::Above => left > right,
        })
    }
}

fn evaluate(value: &Value, of: &mut impl FnMut(&Value) -> Option<u32>) -> Option<u32> {
    match value {
        Value::Number(number) => Some(*number),
        Value::And(left, right) => Some(evaluate(left, of)? & evaluate(right, of)?),
        Value::Remainder(left, right) => evaluate(left, of)?.checked_rem(evaluate(right, of)?),
        other => of(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Result<Condition, String> {
        Condition::try_from(text.to_owned())
    }

    #[test]
    fn conditions_are_evaluated_from_their_values() {
        let holds = |text: &str| {
            let mut of = |value: &Value| match value {
                Value::Argument(number) => Some(*number as u32 * 4 + 2),
                Value::Result => Some(0xFFFF_FFF0),
                Value::Stacked(7) => Some(70),
                _ => None,
            };
            condition(text).expect("good").holds(&mut of)
        };
        assert_eq!(holds("r0 = 2"), Some(true));
        assert_eq!(holds("r1 % 4 = 0"), Some(false));
        assert_eq!(holds("result = -16"), Some(true));
        assert_eq!(holds("result & r1 != 0"), Some(false));
        assert_eq!(holds("stack[7] > 0x45"), Some(true));
        assert_eq!(holds("stack[7] < 70"), Some(false));
        assert_eq!(holds("r0 % 0 = 0"), None);
        assert_eq!(holds("into.r3 = 0"), None);
    }

    #[test]
    fn conditions_state_when_they_can_be_evaluated() {
        for (text, availability) in [
            ("r1 = 0", Availability::Always),
            ("waiting(k_sem_take) = 0", Availability::AtEntry),
            ("k_msgq.msg_size(r0) = 16", Availability::AtEntry),
            ("result & r1 != 0", Availability::AtEnd),
            ("into.r3 = 1", Availability::AtEnd),
        ] {
            assert_eq!(condition(text).expect("good").availability(), availability, "{text}");
        }
        let path = &condition("Queue.u+Data.count(r2) = 1").expect("good");
        let parts = |path: &Path| (path.argument, path.members.len());
        assert_eq!(path.paths().into_iter().map(parts).collect::<Vec<_>>(), [(2, 2)]);
    }

    #[test]
    fn invalid_conditions_are_rejected() {
        for text in [
            "",
            "r1",
            "r1=0",
            "r4 = 0",
            "r1 == 0",
            "r1 | r2 = 0",
            "waiting([) = 0",
            "k_sem(r0) = 0",
            "k_sem.count(r9) = 0",
            "stack[x] = 0",
            "99999999999 = r0",
            "result & waiting(a) = 0",
        ] {
            assert!(condition(text).is_err(), "{text}");
        }
    }
}
