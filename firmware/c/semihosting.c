/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "semihosting.h"

#include <stdint.h>

#if RTMARK_CLOCKED
#include "rtmark_soc.h"
#endif

#if defined(RTMARK_CONSOLE_DATA)

/*
 * No debugger is there to ask: a UART of the soc's prints, and the end of the run is a line.
 */

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define WRITE(address, value) (REGISTER(address) = (value))

void semihosting_write0(const char *text)
{
    static int started;

    if (!started) {
        RTMARK_CONSOLE_START(WRITE);
        started = 1;
    }
    while (*text != '\0') {
        while ((REGISTER(RTMARK_CONSOLE_STATUS) & RTMARK_CONSOLE_MASK) != RTMARK_CONSOLE_READY) {
        }
        WRITE(RTMARK_CONSOLE_DATA, (uint8_t)*text++);
    }
}

void semihosting_exit(enum semihosting_exit reason)
{
    enum { SYST_CSR = 0xE000E010 };

    semihosting_write0(reason == SEMIHOSTING_EXIT_OK ? "@! 0\n" : "@! 1\n");
    WRITE(SYST_CSR, 0u);
    for (;;) {
        __asm__ __volatile__("wfi");
    }
}

#elif defined(__XTENSA__)

/*
 * The calls of Xtensa's simulators, which QEMU answers.
 */

enum { SYS_EXIT = 1, SYS_WRITE = 4, STANDARD_OUTPUT = 1 };

static int32_t simulator_call(int32_t operation, uint32_t first, uint32_t second, uint32_t third)
{
    register int32_t a2 __asm__("a2") = operation;
    register uint32_t a3 __asm__("a3") = first;
    register uint32_t a4 __asm__("a4") = second;
    register uint32_t a5 __asm__("a5") = third;

    __asm__ __volatile__("simcall" : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
    return a2;
}

void semihosting_write0(const char *text)
{
    uint32_t length = 0;

    while (text[length] != '\0') {
        length++;
    }
    /* What a pipe has no room for yet is tried again. */
    while (length > 0) {
        const int32_t written = simulator_call(SYS_WRITE, STANDARD_OUTPUT, (uint32_t)text, length);

        if (written > 0) {
            text += written;
            length -= (uint32_t)written;
        }
    }
}

void semihosting_exit(enum semihosting_exit reason)
{
    for (;;) {
        simulator_call(SYS_EXIT, reason != SEMIHOSTING_EXIT_OK, 0, 0);
    }
}

#else

enum { SYS_WRITE0 = 0x04, SYS_EXIT = 0x18 };

#if defined(__riscv)

/* The sequence by which a breakpoint is known as a call, uncompressed and within one page. */
static void semihosting_call(uint32_t operation, uintptr_t argument)
{
    register uintptr_t a0 __asm__("a0") = operation;
    register uintptr_t a1 __asm__("a1") = argument;

    __asm__ __volatile__(
        ".option push\n\t"
        ".option norvc\n\t"
        ".balign 16\n\t"
        "slli zero, zero, 0x1f\n\t"
        "ebreak\n\t"
        "srai zero, zero, 7\n\t"
        ".option pop"
        : "+r"(a0)
        : "r"(a1)
        : "memory");
}

#elif defined(__aarch64__)

static void semihosting_call(uint32_t operation, uintptr_t argument)
{
    register uint64_t x0 __asm__("x0") = operation;
    register uint64_t x1 __asm__("x1") = argument;

    __asm__ __volatile__("hlt 0xF000" : "+r"(x0) : "r"(x1) : "memory");
}

#else

#if __ARM_ARCH_PROFILE == 'R'
#define SEMIHOSTING_CALL "svc 0x123456"
#define SEMIHOSTING_CLOBBERS "memory", "lr"
#else
#define SEMIHOSTING_CALL "bkpt 0xAB"
#define SEMIHOSTING_CLOBBERS "memory"
#endif

static void semihosting_call(uint32_t operation, uintptr_t argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register uintptr_t r1 __asm__("r1") = argument;

    __asm__ __volatile__(SEMIHOSTING_CALL : "+r"(r0) : "r"(r1) : SEMIHOSTING_CLOBBERS);
}

#endif

void semihosting_write0(const char *text)
{
    semihosting_call(SYS_WRITE0, (uintptr_t)text);
}

void semihosting_exit(enum semihosting_exit reason)
{
#if defined(__aarch64__)
    /* There the reason is in a block of its own, with the status beside it. */
    const uint64_t block[2] = { SEMIHOSTING_EXIT_OK, reason != SEMIHOSTING_EXIT_OK };
    const uintptr_t argument = (uintptr_t)block;
#else
    const uintptr_t argument = (uintptr_t)reason;
#endif

    for (;;) {
        semihosting_call(SYS_EXIT, argument);
    }
}

#endif
