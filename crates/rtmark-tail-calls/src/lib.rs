//! Turns calls that a WebAssembly function returns with into tail calls.
//!
//! The simulator's operations end in calls of each other, and none returns before a block ends. Compilers for
//! other targets turn such calls into jumps. LLVM's WebAssembly backend keeps nearly all of them as calls, even
//! if tail calls are allowed: each operation then makes a frame that it does not need, and returns through all
//! of them when the block ends.
//!
//! In the finished module, such a call is followed by `return`. `call X; return` and `return_call X` have the
//! same meaning if X returns what the function returns, and their encodings differ in the opcode's byte alone
//! (tail calls, a part of WebAssembly 3.0). So the module keeps its length, and everything in it its place.

use wasmparser::{BinaryReaderError, FuncType, FunctionBody, Operator, Parser, Payload, TypeRef};

/// The opcode of `return_call`, as which `call` (0x10) can return.
const RETURN_CALL: u8 = 0x12;
/// The opcode of `return_call_indirect`, as which `call_indirect` (0x11) can return.
const RETURN_CALL_INDIRECT: u8 = 0x13;

/// Changes a module in place. Returns the number of calls that are tail calls now and were none before.
///
/// # Errors
///
/// If it is not a WebAssembly module. It has not been changed then.
pub fn make_tail_calls(module: &mut [u8]) -> Result<usize, BinaryReaderError> {
    let calls = returning_calls(module)?;
    for &(at, opcode) in &calls {
        if let Some(byte) = usize::try_from(at).ok().and_then(|at| module.get_mut(at)) {
            *byte = opcode;
        }
    }
    Ok(calls.len())
}

/// Types of functions by the numbers that instructions use.
#[derive(Default)]
struct Types {
    all: Vec<FuncType>,
    /// The type's number, for each function, imported ones first.
    of_functions: Vec<u32>,
}

impl Types {
    fn of(&self, number: u32) -> Option<&FuncType> {
        self.all.get(number as usize)
    }

    fn of_function(&self, function: u32) -> Option<&FuncType> {
        self.of(*self.of_functions.get(function as usize)?)
    }
}

/// Returns the offsets of calls that can be tail calls, with the opcodes of these.
fn returning_calls(module: &[u8]) -> Result<Vec<(u64, u8)>, BinaryReaderError> {
    let mut types = Types::default();
    let mut imported = 0;
    let mut bodies = 0;
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(section) => {
                types.all = section.into_iter_err_on_gc_types().collect::<Result<_, _>>()?;
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    if let TypeRef::Func(number) = import?.ty {
                        types.of_functions.push(number);
                        imported += 1;
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for number in section {
                    types.of_functions.push(number?);
                }
            }
            Payload::CodeSectionEntry(body) => {
                if let Some(own) = types.of_function(imported + bodies) {
                    returning_calls_of(&body, own, &types, &mut found)?;
                }
                bodies += 1;
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Adds the calls of one function that can be tail calls.
fn returning_calls_of(
    body: &FunctionBody<'_>,
    own: &FuncType,
    types: &Types,
    found: &mut Vec<(u64, u8)>,
) -> Result<(), BinaryReaderError> {
    // The preceding instruction, if it is a call that returns what the function returns.
    let mut call: Option<(u64, u8)> = None;
    // The number of blocks that are open, the function's own among them.
    let mut open = 1_usize;
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset()?;
        let (callee, opcode) = match operator {
            Operator::Call { function_index } => (types.of_function(function_index), RETURN_CALL),
            Operator::CallIndirect { type_index, .. } => {
                (types.of(type_index), RETURN_CALL_INDIRECT)
            }
            _ => (None, 0),
        };
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => open += 1,
            Operator::End => open -= 1,
            _ => {}
        }
        let returns = match operator {
            Operator::Return => true,
            Operator::End => open == 0,
            _ => false,
        };
        if returns {
            found.extend(call);
        }
        call = callee.filter(|callee| callee.results() == own.results()).map(|_| (at, opcode));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::make_tail_calls;

    /// Asserts what becomes of a module.
    #[track_caller]
    fn becomes(before: &str, after: &str) {
        let mut module = wat::parse_str(before).expect("a module");
        let count = make_tail_calls(&mut module).expect("a module");
        assert_eq!(module, wat::parse_str(after).expect("a module"));
        assert_eq!(count, after.matches("return_call").count());
    }

    #[test]
    fn calls_before_a_return_and_at_the_end_become_tail_calls() {
        let text = |first: &str, second: &str| {
            format!(
                "(module
                    (import \"host\" \"f\" (func $imported (param i32) (result i32)))
                    (type $step (func (param i32) (result i32)))
                    (table 1 funcref)
                    (func (type $step)
                        (block (br_if 0 (i32.eqz (local.get 0)))
                            local.get 0 local.get 0 {first})
                        local.get 0 {second}))"
            )
        };
        becomes(
            &text("call_indirect (type $step) return", "call $imported"),
            &text("return_call_indirect (type $step) return", "return_call $imported"),
        );
    }

    #[test]
    fn calls_whose_result_is_used_or_dropped_stay() {
        let stays = |body: &str| {
            let text = format!(
                "(module
                    (func $byte (result i32) i32.const 300)
                    (func $two (result i32 i32) i32.const 1 i32.const 2)
                    (func $none)
                    (func (result i32) {body}))"
            );
            becomes(&text, &text);
        };
        stays("call $byte i32.const 255 i32.and");
        stays("call $byte drop i32.const 1");
        // What lies below the results on the stack is dropped by a return.
        stays("call $two return");
        stays("i32.const 1 call $none return");
        // The end of a block is not the end of the function.
        stays("(block (result i32) call $byte) i32.const 1 i32.add");
    }

    #[test]
    fn what_is_no_module_is_refused_and_stays_as_it_was() {
        let mut bytes = *b"\x7fELF";
        assert!(make_tail_calls(&mut bytes).is_err());
        assert_eq!(bytes, *b"\x7fELF");
        let mut cut = wat::parse_str("(module (func $f call $f))").expect("a module");
        cut.truncate(cut.len() - 2);
        let before = cut.clone();
        assert!(make_tail_calls(&mut cut).is_err());
        assert_eq!(cut, before);
    }
}
