//! Whose code a kernel of asynchronous functions polls: an executor, and what waits for a future of the application's.

use rtmark_calls::{Api, Outcome};

use crate::program::{Program, called};

const LILOS: &str = include_str!("../../kernels/lilos.toml");
const EMBASSY: &str = include_str!("../../kernels/embassy.toml");
const RTIC: &str = include_str!("../../kernels/rtic.toml");

/// Returns the symbol that Rust gives a path, whose parts are separated by bars.
fn symbol(path: &str) -> String {
    const SPECIAL: [(&str, &str); 7] = [
        ("<", "$LT$"),
        (">", "$GT$"),
        (" ", "$u20$"),
        (",", "$C$"),
        ("::", ".."),
        ("{", "$u7b$"),
        ("}", "$u7d$"),
    ];
    let part = |part: &str| {
        let replace = |text: String, (from, to): (&str, &str)| text.replace(from, to);
        let text = SPECIAL.into_iter().fold(part.to_owned(), replace);
        let text = if text.starts_with('$') { format!("_{text}") } else { text };
        format!("{}{text}", text.len())
    };
    format!("_ZN{}17h0123456789abcdefE", path.split('|').map(part).collect::<String>())
}

/// Returns a program whose functions call each other, each the next one. The application's are those in `app`: each of
/// them executes `more` more instructions.
fn chain(functions: &[&str], more: usize) -> Program {
    let mut text = format!("function start\nbl {}\nfinish\n", symbol(functions[0]));
    for (at, path) in functions.iter().enumerate() {
        let nops = "nop\n".repeat(if path.starts_with("app|") { more } else { 0 });
        let next = functions.get(at + 1).map(|next| format!("bl {}\n", symbol(next)));
        let body = format!("push {{r4, lr}}\n{nops}{}pop {{r4, pc}}\n", next.unwrap_or_default());
        text.push_str(&["function ", &symbol(path), "\n", &body].concat());
    }
    Program::assembled(&text)
}

#[test]
fn tasks_and_futures_that_a_kernel_polls_are_the_applications() {
    const TASK: &str = "app|task|{{closure}}";
    let poll = |what: &str| format!("<{what} as core::future::future::Future>|poll");
    let limited = poll("lilos::time::TimeLimited<A,B>");
    let join = poll("embassy_futures::join::Join<Fut1,Fut2>");
    let timeout = poll("embassy_time::timer::TimeoutFuture<F>");
    let rtics = poll("rtic_time::timer_queue::Timeout<Backend,F>");
    let run = "lilos|exec|run_tasks_with_preemption_and_idle";
    let loops = format!("{run}|{{{{closure}}}}");
    let executor =
        ["embassy_executor|raw|Executor|poll", "embassy_executor|raw|TaskStorage<F>|poll"];
    let [executor, storage] = executor;
    let signal = "embassy_sync|signal|Signal<M,T>|signal";
    let notify = "lilos|exec|Notify|notify";
    let give = "rtic_sync|signal|SignalWriter<T>|write";
    for (kernel, functions) in [
        (LILOS, vec![run, TASK, notify]),
        (LILOS, vec![run, &loops, TASK, &limited, "app|more", notify]),
        (EMBASSY, vec![executor, storage, TASK, signal]),
        (EMBASSY, vec![executor, storage, &join, TASK, signal]),
        (EMBASSY, vec![executor, storage, &timeout, TASK, signal]),
        (RTIC, vec![TASK, &rtics, "app|more", give]),
    ] {
        let [plain, longer] = [0, 8].map(|more| chain(&functions, more).cost(kernel));
        let applications = functions.iter().filter(|path| path.starts_with("app|")).count() as u64;
        let more = longer.shares.application - plain.shares.application;
        assert_eq!(more, 8 * applications, "{functions:?}");
        assert_eq!(longer.shares.kernel, plain.shares.kernel, "{functions:?}");
        let last = functions.last().map(|last| last.replace('|', "::")).unwrap_or_default();
        assert_eq!(called(&plain, &last, Outcome::Returned).calls, 1, "{functions:?}");
    }
}

/// What holds interrupts back is the kernel's.
#[test]
fn what_is_in_a_critical_section_belongs_to_whoever_enters_it() {
    let acquire =
        "<cortex_m::critical_section::SingleCoreCriticalSection as critical_section::Impl>|acquire";
    for (kernel, outer, applications, kernels) in [
        (EMBASSY, "app|main", 2, 0),
        (EMBASSY, "embassy_executor|raw|wake_task", 0, 1),
        (RTIC, "app|main", 2, 0),
        (RTIC, "rtic_common|waker_registration|register", 0, 1),
    ] {
        let functions = [outer, "critical_section|with", "app|inner", acquire];
        let [plain, longer] = [0, 8].map(|more| chain(&functions, more).cost(kernel).shares);
        assert_eq!(longer.application - plain.application, 8 * applications, "{outer}");
        assert_eq!(longer.kernel - plain.kernel, 8 * kernels, "{outer}");
        assert!(plain.kernel > 0, "{outer}");
    }
}

/// Tasks of RTIC 1 are no futures, and programs of either version need none of its crates beside the macros.
#[test]
fn rtic_is_recognised_by_what_its_macros_generate() {
    let known = Api::builtin().expect("good");
    for main in
        ["lamp|app|main|__rtic_init_resources", "lamp|app|rtic_ext|main|__rtic_init_resources"]
    {
        let program = chain(&["lamp|app|init", main], 0);
        let api = Api::recognise(&known, program.symbols());
        assert_eq!(api.map(|api| api.name.as_str()), Some("RTIC"), "{main}");
    }
}

/// RTIC 1 and 2.
#[test]
fn what_rtics_locks_and_dispatchers_call_is_the_applications() {
    let lock = "lamp|app|<impl rtic_core::Mutex for lamp::app::shared_resources::level>|lock";
    let spawn = "lamp|app|__rtic_internal_blink_spawn";
    for around in [lock, "rtic|export|lock", "rtic|export|run", "rtic|export|cortex_basepri|run"] {
        let functions = ["app|main", around, "app|inner", spawn, "rtic|export|pend"];
        let [plain, longer] = [0, 8].map(|more| chain(&functions, more).cost(RTIC));
        assert_eq!(longer.shares.application - plain.shares.application, 2 * 8, "{around}");
        assert_eq!(longer.shares.kernel, plain.shares.kernel, "{around}");
        assert_eq!(
            called(&plain, &spawn.replace('|', "::"), Outcome::Returned).calls,
            1,
            "{around}"
        );
    }
}
