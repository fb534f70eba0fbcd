//! Host code for runs of simple operations on registers and one memory.
//!
//! A [`Generator`] makes a [`Function`] of [`Step`]s. The function executes them one after the other as far as each
//! goes as expected, and returns the number of the first one that it has not executed. What that means, and how
//! execution continues there, is the caller's business: this crate knows nothing of machines, time or encodings.

#![expect(
    clippy::inline_always,
    reason = "the caller runs for a few nanoseconds between two calls"
)]

mod flags;
mod native;
mod operation;
#[cfg(test)]
mod tests;
mod transfer;
mod translate;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function as Source, Signature, UserFuncName, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{Configurable, Flags as Settings};
use cranelift_codegen::{Context, settings};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

pub use self::native::{Function, Registers};
pub use self::operation::*;
use self::translate::{Arguments, Translation};

/// The memory that a function accesses directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The address of its first byte, a multiple of 4.
    pub base: u32,
    /// Its size, at least 128: more than any operation moves.
    pub bytes: u32,
    /// Whether a part of it holds code: then stores there leave the function.
    pub holds_code: bool,
}

/// Makes functions for the host.
pub struct Generator {
    isa: OwnedTargetIsa,
    context: Context,
    frontend: FunctionBuilderContext,
    made: usize,
    /// Bytes of the functions that still exist, and the most there may be.
    in_use: Arc<AtomicUsize>,
    most: usize,
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generator").field("host", &self.isa.name()).finish_non_exhaustive()
    }
}

impl Generator {
    /// Returns a generator whose functions take at most `most` bytes at a time, unless the host is one for which
    /// there is none.
    pub fn new(most: usize) -> Option<Self> {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "none"),
            ("enable_verifier", "false"),
            ("enable_probestack", "false"),
            ("regalloc_checker", "false"),
        ] {
            flags.set(name, value).ok()?;
        }
        let isa = cranelift_native::builder().ok()?.finish(Settings::new(flags)).ok()?;
        let is_known = isa.pointer_bits() == 64 && cfg!(target_endian = "little");
        is_known.then(|| Self {
            isa,
            context: Context::new(),
            frontend: FunctionBuilderContext::new(),
            made: 0,
            in_use: Arc::default(),
            most,
        })
    }

    /// Makes the function of some steps, which returns `end` if it executes all. Returns `None` if the host cannot.
    pub fn function(&mut self, steps: &[Step], end: u32, memory: Memory) -> Option<Function> {
        let is_full = self.in_use.load(Ordering::Relaxed) >= self.most;
        if is_full || !memory.base.is_multiple_of(4) || memory.bytes < 128 {
            return None;
        }
        self.context.clear();
        let mut signature = Signature::new(CallConv::triple_default(self.isa.triple()));
        signature.params.extend([AbiParam::new(types::I64); 3]);
        signature.returns.push(AbiParam::new(types::I32));
        self.context.func = Source::with_name_signature(UserFuncName::default(), signature);
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.frontend);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let parameters = builder.block_params(entry);
        let arguments =
            Arguments { registers: parameters[0], memory: parameters[1], context: parameters[2] };
        Translation::new(&mut builder, arguments, memory).run(steps, end);
        builder.finalize(self.isa.frontend_config());
        let code = self.context.compile(&*self.isa, &mut ControlPlane::default()).ok()?;
        if !code.buffer.relocs().is_empty() {
            return None;
        }
        // Functions begin at different offsets of their pages, so that they share the host's caches.
        self.made += 1;
        let from = self.made * 7 % 48 * 64;
        Function::new(code.code_buffer(), from, memory, &self.in_use).ok()
    }
}
