/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The ring of clocked probes. rtmark_clock.h says what it prints.
 *
 * Compiled without floating-point registers: a printing may happen inside any function.
 */
#include "rtmark_clock.h"

#if RTMARK_CLOCKED

#include <stdint.h>

#include "rtmark_probe.h"
#include "rtmark_soc.h"
#include "semihosting.h"

/* A hundred spans, nearly: what still fits beside a kernel into 12 KiB of RAM. */
#define EVENTS 224

/* Room that is left when the ring is printed at the end of a span: for begins that come
 * before the next end. */
#define SPARE 32

#define EVENT_BYTES 8

struct event {
    uint32_t site;
    uint32_t count;
};

/* One more than are counted: some routines store a count before they know whether there
 * is room. */
struct event rtmark_clock_ring[EVENTS + 1] __attribute__((used));
struct event *rtmark_clock_next __attribute__((used)) = rtmark_clock_ring;
uint32_t rtmark_clock_lost __attribute__((used));

void rtmark_clock_drain(void) __attribute__((used));

/*
 * The two routines that probes call, rtmark_clock_1 where a span begins and rtmark_clock_2
 * where one ends; the numbers are those of the records. The counter is read as late as can
 * be in the first and as early in the second, so that little lies between. Nobody may
 * interrupt, so that events are in the order of their counts.
 */
#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

/* What the files of these routines, which are the same for Rust, are told. */
#define RING_SYMBOLS                                                         \
    ".equ RTMARK_RING_END, " TEXT(EVENTS) " * " TEXT(EVENT_BYTES) "\n"       \
    ".equ RTMARK_RING_FULL, (" TEXT(EVENTS) " - " TEXT(SPARE) ") * " TEXT(EVENT_BYTES) "\n"

#if defined(__thumb__)

/* ARMv6-M and all that came later. */
__asm__(
    ".equ RTMARK_COUNTER, " TEXT(RTMARK_COUNTER) "\n"
    RING_SYMBOLS
    ".macro rtmark_tick_handler\n"
    ".4byte SysTick_Handler\n"
    ".endm\n"
    ".include \"clock.s\"\n");

#define START(address, value) (*(volatile uint32_t *)(address) = (value))
#define START_COUNTER() RTMARK_COUNTER_START(START)

#elif defined(__riscv)

__asm__(RING_SYMBOLS ".include \"clock_riscv.s\"\n");

/* It always counts. */
#define START_COUNTER() ((void)0)

#elif defined(__aarch64__)

__asm__(RING_SYMBOLS ".include \"clock_aarch64.s\"\n");

/* The cycle counter of the performance monitors (DDI 0487, D12): reset and enabled. */
#define START_COUNTER()                                             \
    __asm__ __volatile__("msr pmcntenset_el0, %0\n\tmsr pmcr_el0, %1\n\tisb" \
                         : : "r"(UINT64_C(1) << 31), "r"(UINT64_C(5)))

#elif defined(__XTENSA__)

__asm__(RING_SYMBOLS ".include \"clock_xtensa.s\"\n");

/* It always counts. */
#define START_COUNTER() ((void)0)

#elif __ARM_ARCH_PROFILE == 'R'

__asm__(RING_SYMBOLS ".include \"clock_armv7.s\"\n");

/* The cycle counter of the performance monitors (DDI 0460, 6.3): enabled. */
#define START_COUNTER()                                                                         \
    __asm__ __volatile__("mcr p15, 0, %0, c9, c12, 1\n\tmcr p15, 0, %1, c9, c12, 0\n\tisb" \
                         : : "r"(1u << 31), "r"(5u))

#else
#error "clocked probes know no counter of this architecture"
#endif

/* ------------------------------------------------------------------------- printing */

static char line[2 + 8 * 2 * 9 + 2];
static uint32_t length;

/* Over all words that were printed, so that whoever reads them sees if one was changed. */
static uint32_t sum;

static void append_word(uint32_t word)
{
    line[length++] = ' ';
    for (int shift = 28; shift >= 0; shift -= 4) {
        line[length++] = "0123456789abcdef"[word >> shift & 0xFu];
    }
    sum = (sum << 1 | sum >> 31) + word;
}

static void begin_line(char second)
{
    line[0] = '@';
    line[1] = second;
    length = 2;
}

static void end_line(void)
{
    line[length++] = '\n';
    line[length] = '\0';
    semihosting_write0(line);
}

/* While it prints, the kernel's time stands still: a tick would pass in it, or on a slow line
 * hundreds. */
#if defined(__thumb__)
#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define STOP_TIME() const uint32_t csr = SYST_CSR; SYST_CSR = csr & ~1u
#define START_TIME() (SYST_CSR = csr)
#else
#define STOP_TIME() ((void)0)
#define START_TIME() ((void)0)
#endif

void rtmark_clock_drain(void)
{
    STOP_TIME();
    begin_line('+');
    for (const struct event *event = rtmark_clock_ring; event != rtmark_clock_next; event++) {
        append_word(event->site);
        append_word(event->count);
        if (length > sizeof line - 2u * 9u - 2u) {
            end_line();
            begin_line(' ');
        }
    }
    end_line();
    rtmark_clock_next = rtmark_clock_ring;
    START_TIME();
}

void rtmark_clock_finish(void)
{
    rtmark_clock_drain();
    begin_line('.');
    append_word(rtmark_clock_lost);
    append_word(sum);
    end_line();
}

/* ------------------------------------------------------------------------- calibration */

void rtmark_clock_start(uint32_t select)
{
    /* Where a line may have been begun by what ran before, it ends here. */
    semihosting_write0("\n");
    sum = 0;
    begin_line('^');
    append_word(select);
    end_line();

    START_COUNTER();

    /* The first rounds may find caches cold. */
    for (volatile int round = 0; round < 4; round++) {
        RTMARK_BEGIN("rtmark.empty");
        RTMARK_END("rtmark.empty");

        RTMARK_BEGIN("rtmark.begin");
        RTMARK_BEGIN("rtmark.other");
        RTMARK_END("rtmark.begin");

        RTMARK_BEGIN("rtmark.end");
        RTMARK_END("rtmark.other");
        RTMARK_END("rtmark.end");
    }
}

#endif
