//! Names of symbols as in the program's source: compilers of Rust and C++ mangle them.

/// Returns a symbol's name as in the program's source: `app::main` for `_ZN3app4mainEv`.
///
/// Neither the hash that ends a name of Rust is in it nor the parameters and the result of a C++ function, so
/// that overloads share a name, as instances of a generic function do. What the compiler has appended
/// (`.constprop.0`) stays. A name that is not mangled is returned as it is. The page in a browser, which is small,
/// leaves C++ names as they are.
pub fn source_name(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let end = symbol.find('.').unwrap_or(symbol.len());
    let (mangled, appended) = symbol.split_at(end);
    cpp_name(mangled).map_or_else(|| symbol.to_owned(), |name| name + appended)
}

#[cfg(not(target_family = "wasm"))]
fn cpp_name(symbol: &str) -> Option<String> {
    use cpp_demangle::{DemangleOptions, Symbol};

    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()
}

#[cfg(target_family = "wasm")]
fn cpp_name(_: &str) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside each the name that `c++filt -p` of GNU Binutils 2.40 prints, or for those of Rust the path in the source.
    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, expected) in [
            ("main", "main"),
            ("k_sem_give.constprop.0", "k_sem_give.constprop.0"),
            ("_ZN3app4main17h0123456789abcdefE", "app::main"),
            ("_RNvC3app4main", "app::main"),
            ("_ZN6kernel4giveEP9Semaphore", "kernel::give"),
            ("_ZN6kernel4giveEP9Semaphore.constprop.0", "kernel::give.constprop.0"),
            ("_ZN5QueueIiLi4EE4pushERKi", "Queue<int, 4>::push"),
            ("_ZNK4rtos6Thread4nameEv", "rtos::Thread::name"),
            ("_ZN6ThreadC1EPFvvE", "Thread::Thread"),
            ("_ZN6ThreadD0Ev", "Thread::~Thread"),
            ("_ZN6ThreadppEv", "Thread::operator++"),
            ("_Z4spini", "spin"),
            ("_Zero", "_Zero"),
            ("_ZN", "_ZN"),
        ] {
            assert_eq!(source_name(symbol), expected, "{symbol}");
        }
    }
}
