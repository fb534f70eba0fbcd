/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starts a program, and ends it by semihosting's SYS_EXIT. */
#include "bare.h"

extern uint32_t stack_top[], data[], data_end[], data_from[], bss[], bss_end[];

static volatile uint32_t kept;

void keep(uint32_t value)
{
    kept = value;
}

__attribute__((weak)) void *memset(void *to, int byte, size_t count)
{
    for (char *at = to; count; count--) {
        *at++ = (char)byte;
    }
    return to;
}

__attribute__((weak)) void *memcpy(void *to, const void *from, size_t count)
{
    const char *source = from;
    for (char *at = to; count; count--) {
        *at++ = *source++;
    }
    return to;
}

/* newlib's, of which nothing is needed but memory. */
void *_sbrk(ptrdiff_t more)
{
    static char heap[8192];
    static size_t taken;
    void *given = heap + taken;
    taken += (size_t)more;
    return taken <= sizeof heap ? given : (void *)-1;
}

#if __riscv
#define OPERATION "a0"
#define ARGUMENT "a1"
#else
#define OPERATION "r0"
#define ARGUMENT "r1"
#endif

static void end(uint32_t reason)
{
    register uint32_t operation __asm__(OPERATION) = 0x18;
    register uint32_t argument __asm__(ARGUMENT) = reason;
#if __riscv
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     ".balign 16\n"
                     "slli zero, zero, 0x1f\n"
                     "ebreak\n"
                     "srai zero, zero, 7\n"
                     ".option pop\n"
                     : : "r"(operation), "r"(argument) : "memory");
#elif __ARM_ARCH_PROFILE == 'M'
    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(argument) : "memory");
#elif __thumb__
    __asm__ volatile("svc 0xab" : : "r"(operation), "r"(argument) : "memory");
#else
    __asm__ volatile("svc 0x123456" : : "r"(operation), "r"(argument) : "memory");
#endif
    for (;;) {
    }
}

void failed(void)
{
    end(0x20024);
}

void start(void)
{
    const uint32_t *from = data_from;
    for (uint32_t *at = data; at < data_end; at++) {
        *at = *from++;
    }
    for (uint32_t *at = bss; at < bss_end; at++) {
        *at = 0;
    }
#if __ARM_ARCH_PROFILE == 'R'
    /* SCTLR: both caches. */
    uint32_t control;
    __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
    control |= 1 << 12 | 1 << 2;
    __asm__ volatile("mcr p15, 0, %0, c1, c0, 0\n isb" : : "r"(control) : "memory");
#elif __ARM_FP
    /* CPACR. */
    *(volatile uint32_t *)0xE000ED88 = 0xF << 20;
    __asm__ volatile("dsb\n isb");
#endif
    program();
    end(0x20026);
}

#if __riscv
__asm__(".pushsection .vectors, \"ax\", %progbits\n"
        ".globl first\n"
        "first:\n"
        "   la sp, stack_top\n"
        "   j start\n"
        ".popsection\n");
#elif __ARM_ARCH_PROFILE == 'R'
__asm__(".pushsection .vectors, \"ax\", %progbits\n"
        ".arm\n"
        ".globl first\n"
        "first:\n"
        "   ldr sp, =stack_top\n"
        "   ldr r0, =start\n"
        "   bx  r0\n"
        ".ltorg\n"
        ".popsection\n");
#else
void first(void) __attribute__((alias("start")));
void tick(void) __attribute__((weak, alias("failed")));
void device(void) __attribute__((weak, alias("failed")));

const void *const vectors[16 + 16] __attribute__((section(".vectors"), used)) = {
    stack_top, start, failed, failed, failed, failed, failed, [11] = failed, [14] = failed,
    [15] = tick, [16 ... 31] = device,
};
#endif
