/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rtmark_firmware.h"

#include "core.h"
#include "rtmark_clock.h"
#include "semihosting.h"

/* The words that RTMARK_SCENARIO writes, put side by side by the linker script. */
struct scenario {
    void (*run)(void);
    const char *id;
};

/* Where RAM is nobody's, from the linker script. */
extern uint32_t firmware_bss_end[], firmware_stack_top[];

extern const struct scenario rtmark_scenarios_start[];
extern const struct scenario rtmark_scenarios_end[];

/*
 * Whoever runs the image overwrites this word, in memory or in a copy of the
 * ELF. Volatile, so that it is read; in assembler, because the compiler would put
 * a volatile constant where it may be written, into RAM.
 */
extern const volatile uint32_t rtmark_select;
/* The table of scenarios follows it at once. */
#if UINTPTR_MAX > 0xFFFFFFFFu
#define SELECT_ALIGN ".balign 8\n"
#else
#define SELECT_ALIGN ".balign 4\n"
#endif
__asm__(".pushsection .rodata.rtmark_select, \"a\", %progbits\n"
        SELECT_ALIGN
        ".globl rtmark_select\n"
        ".type rtmark_select, %object\n"
        ".size rtmark_select, 4\n"
        "rtmark_select:\n"
        ".4byte 0\n"
        SELECT_ALIGN
        ".popsection\n");

/* What this file was compiled with, and with it all others. */
static void __attribute__((used)) settings(void)
{
    RTMARK_SETTING("fpu", RTMARK_CORE_HAS_FPU);
}

static const char *scenario_id = "unknown";

/* Room for the longest line of the catalogue, twice. What exceeds it is cut off. */
static char line[192] __attribute__((section(".noinit")));
static uint32_t line_length;

static void append_char(char c)
{
    /* Two bytes are kept for the line feed and the zero. */
    if (line_length < sizeof line - 2u) {
        line[line_length++] = c;
    }
}

static void append(const char *text)
{
    while (*text != '\0') {
        append_char(*text++);
    }
}

static void append_number(uint32_t value, uint32_t base, uint32_t least_digits)
{
    char digits[10];
    uint32_t count = 0;

    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0u || count < least_digits);

    while (count != 0u) {
        append_char(digits[--count]);
    }
}

static void append_decimal(uint32_t value)
{
    append_number(value, 10u, 1u);
}

static void __attribute__((noreturn)) end(enum semihosting_exit reason)
{
    rtmark_clock_finish();
    line[line_length++] = '\n';
    line[line_length] = '\0';
    semihosting_write0(line);
    semihosting_exit(reason);
}

/* From here on nobody else may run: the line would be cut by another one. */
static void begin_failure(void)
{
    core_disable_interrupts();
    line_length = 0;
    append(scenario_id);
    append(" FAILED: ");
}

void rtmark_run_selected_scenario(void)
{
    const uint32_t count = (uint32_t)(rtmark_scenarios_end - rtmark_scenarios_start);
    const uint32_t index = rtmark_select & 0xFFFFu;

    if (index >= count) {
        begin_failure();
        append("rtmark_select is ");
        append_decimal(index);
        append(", but this image has only ");
        append_decimal(count);
        append(" scenarios");
        end(SEMIHOSTING_EXIT_FAILED);
    }
    scenario_id = rtmark_scenarios_start[index].id;
    append(scenario_id);
    append(" ok");
    rtmark_clock_start(rtmark_select);
    rtmark_scenarios_start[index].run();
}

uint32_t rtmark_point(void)
{
    const uint32_t point = rtmark_select >> 16;

    return point == 0u ? 1u : point;
}

void rtmark_point_ok(void)
{
    rtmark_fact("n", rtmark_point());
    rtmark_ok();
}

void rtmark_no_room(const char *what)
{
    core_disable_interrupts();
    line_length = 0;
    append(scenario_id);
    append(" n/a: no room for ");
    append_decimal(rtmark_point());
    append_char(' ');
    append(what);
    append(" in the RAM of this soc");
    end(SEMIHOSTING_EXIT_OK);
}

void *rtmark_room(uint32_t bytes, const char *what)
{
    enum { ALIGNMENT = 8, MAIN_STACK = 1024 };
    static uint32_t claimed;
    const uintptr_t mask = ALIGNMENT - 1u;
    const uintptr_t start = ((uintptr_t)firmware_bss_end + mask) & ~mask;
    const uint32_t room = (uint32_t)((uintptr_t)firmware_stack_top - MAIN_STACK - start);
    const uint32_t needed = (bytes + ALIGNMENT - 1u) & ~(ALIGNMENT - 1u);

    if (needed > room - claimed) {
        rtmark_no_room(what);
    }
    claimed += needed;
    return (void *)(start + claimed - needed);
}

void rtmark_fact(const char *key, uint32_t value)
{
    append_char(' ');
    append(key);
    append_char('=');
    append_decimal(value);
}

void rtmark_ok(void)
{
    core_disable_interrupts();
    end(SEMIHOSTING_EXIT_OK);
}

void rtmark_failed(const char *what)
{
    begin_failure();
    append(what);
    end(SEMIHOSTING_EXIT_FAILED);
}

void rtmark_failed_at(const char *what, uint32_t address)
{
    begin_failure();
    append(what);
    append(" at 0x");
    append_number(address, 16u, 8u);
    end(SEMIHOSTING_EXIT_FAILED);
}

void rtmark_failed_with(const char *what, uint32_t number)
{
    begin_failure();
    append(what);
    append_char(' ');
    append_decimal(number);
    end(SEMIHOSTING_EXIT_FAILED);
}

void rtmark_expect(const char *what, uint32_t value, uint32_t expected)
{
    if (value != expected) {
        begin_failure();
        append(what);
        append(" is ");
        append_decimal(value);
        append(", expected ");
        append_decimal(expected);
        end(SEMIHOSTING_EXIT_FAILED);
    }
}
