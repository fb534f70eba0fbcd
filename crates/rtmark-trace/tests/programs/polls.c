/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Executors that call two tasks in turn, as several kernels do, under names that these have in symbols and debug
 * information (with Rust's mangling). What is executing is stored into `seen`:
 * 1, 2: the first task; 3, 4: the second task; 5: the executor; 6: a function that the first task calls; 7: an
 * exception that it causes; 8, 9: what belongs to no task; 10: a third task.
 */
volatile unsigned seen;

#define NAMED(name) __asm__(name)
#define INLINE extern inline __attribute__((gnu_inline, always_inline))
#define CALLED __attribute__((noinline, noclone, noipa))

#define CLOSURE "28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE"
#define INNER_BLINK "_ZN3app12__blink_task27__blink_task_inner_function" CLOSURE
#define INNER_BEEP "_ZN3app4beep" CLOSURE
#define POLL(hash) "_ZN16embassy_executor3raw20TaskStorage$LT$F$GT$4poll17h012345678" hash "E"
#define RUN_LILOS "_ZN5lilos4exec14run_tasks_with17h0123456789abcdefE"

CALLED void helper(void);
CALLED void helper(void)
{
    seen = 6;
}

#define BLINKS() (seen = 1, helper(), ({ __asm__ volatile("svc 0" ::: "memory"); }), seen = 2)
#define BEEPS() (seen = 3, seen = 4)

#if defined(RING) || defined(LILOS)
#ifdef RING
#define BLINK "blink"
#define BEEP "beep"
#define RUN "ring_run"
#else
#define BLINK INNER_BLINK
#define BEEP INNER_BEEP
#define RUN RUN_LILOS
#endif
CALLED void blink(void) NAMED(BLINK);
CALLED void blink(void)
{
    BLINKS();
}

CALLED void beep(void) NAMED(BEEP);
CALLED void beep(void)
{
    BEEPS();
}
#else
INLINE void blink_inner(void) NAMED(INNER_BLINK);
INLINE void blink_inner(void)
{
    BLINKS();
}

INLINE void beep_inner(void) NAMED(INNER_BEEP);
INLINE void beep_inner(void)
{
    BEEPS();
}
#endif

#ifdef EMBASSY
#define RUN "run"
CALLED void blink(void) NAMED(POLL("0000001"));
CALLED void blink(void)
{
    blink_inner();
}

CALLED void beep(void) NAMED(POLL("0000002"));
CALLED void beep(void)
{
    beep_inner();
}
#endif

#ifdef RTIC
#define RUN "run"
CALLED void library(void) NAMED("_ZN4rtic6export3run17h0123456789abcdefE");
CALLED void library(void)
{
}

/* What calls the tasks has closures of its own, which have its name. */
INLINE void dispatch(void) NAMED("_ZN3app5EXTI0" CLOSURE);
INLINE void dispatch(void)
{
    seen = 8;
    beep_inner();
    seen = 9;
}

CALLED void blink(void) NAMED("EXTI1");
CALLED void blink(void)
{
    blink_inner();
    seen = 9;
}

CALLED void beep(void) NAMED("EXTI0");
CALLED void beep(void)
{
    dispatch();
}
#endif

#ifdef RTIC1
/* Tasks are plain functions, which handlers contain or call. */
#define RUN "run"
#define HASH "17h0123456789abcdefE"
CALLED void library(void) NAMED("_ZN3app8rtic_ext4main21__rtic_init_resources" HASH);
CALLED void library(void)
{
}

INLINE void blink_task(void) NAMED("_ZN3app5blink" HASH);
INLINE void blink_task(void)
{
    BLINKS();
}

INLINE void dispatch_blink(void) NAMED("_ZN3app5EXTI1" CLOSURE);
INLINE void dispatch_blink(void)
{
    seen = 8;
    blink_task();
    seen = 9;
}

INLINE void run_blink(void) NAMED("_ZN4rtic6export3run17h0123456789abcde1E");
INLINE void run_blink(void)
{
    dispatch_blink();
}

CALLED void blink(void) NAMED("EXTI1");
CALLED void blink(void)
{
    run_blink();
}

CALLED void beep_task(void) NAMED("_ZN3app4beep" HASH);
CALLED void beep_task(void)
{
    BEEPS();
}

/* Of another crate. */
CALLED void steal(void) NAMED("_ZN4chip11Peripherals5steal" HASH);
CALLED void steal(void)
{
    seen = 8;
}

INLINE void dispatch_beep(void) NAMED("_ZN3app5EXTI0" CLOSURE);
INLINE void dispatch_beep(void)
{
    steal();
    beep_task();
    seen = 9;
}

INLINE void run_beep(void) NAMED("_ZN4rtic6export3run17h0123456789abcde2E");
INLINE void run_beep(void)
{
    dispatch_beep();
}

CALLED void beep(void) NAMED("EXTI0");
CALLED void beep(void)
{
    run_beep();
}
#endif

#ifdef RING
#define OTHER
#else
/* No future. In Embassy's it would be a poll without one. */
CALLED void other(void);
CALLED void other(void)
{
    seen = 8;
    seen = 9;
}
#define OTHER , other
#endif

#ifdef EMBASSY
/* A task whose future is not inlined. */
CALLED void apart(void) NAMED(POLL("0000003"));
CALLED void apart(void)
{
    seen = 10;
    helper();
}
#define APART , apart
#else
#define APART
#endif

void (*volatile tasks[])(void) = { blink, beep OTHER APART };

CALLED void run(void) NAMED(RUN);
CALLED void run(void)
{
    for (;;) {
        for (unsigned at = 0; at < sizeof tasks / sizeof tasks[0]; at++) {
            seen = 5;
            tasks[at]();
        }
        seen = 5;
    }
}

void reset(void);
void reset(void)
{
    run();
}

CALLED void handler(void);
CALLED void handler(void)
{
    seen = 7;
}

__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    [0] = (void *)0x20004000, [1] = reset, [11] = handler,
};
