//! Compares what is said of small programs with what the architecture's manuals, the compiler and the GNU binutils
//! say of them.

mod clock;
mod costs;
mod files;
mod held;
mod lines;
mod names;
mod overflow;
mod sizes;
mod stacks;
mod support;
mod system_calls;
mod uncleared;
