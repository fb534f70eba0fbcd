/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From reset to main() on a Cortex-R5. Exceptions arrive at address 0 once SCTLR.V is
 * clear; what is needed there is copied to it.
 */
#include <stdint.h>

#include "rtmark_firmware.h"
#include "rtmark_probe.h"
#include "rtmark_soc.h"

/* Made by firmware.ld. */
extern uint32_t firmware_data_start[], firmware_data_end[];
extern const uint32_t firmware_data_load[];
extern uint32_t firmware_bss_start[], firmware_bss_end[];

int main(void);
void r5_start(void) __attribute__((noreturn, used));
void r5_unexpected_exception(uint32_t place) __attribute__((noreturn, used));

/* Supervisor and interrupt mode have a stack each below that of main(). */
__asm__(
    ".syntax unified\n"
    ".pushsection .vectors, \"ax\", %progbits\n"
    ".arm\n"
    ".globl Reset_Handler\n"
    "Reset_Handler:\n"
    "   cpsid if\n"
    "   mrc   p15, 0, r0, c1, c0, 0\n"
    "   bic   r0, r0, #(1 << 13)\n"
    "   mcr   p15, 0, r0, c1, c0, 0\n"
    "   isb\n"
    "   adr   r0, r5_vectors\n"
    "   mov   r1, #0\n"
    "1: ldr   r2, [r0], #4\n"
    "   str   r2, [r1], #4\n"
    "   cmp   r1, #64\n"
    "   bne   1b\n"
    "   ldr   r0, =firmware_stack_top\n"
    "   cps   #0x13\n"
    "   mov   sp, r0\n"
    "   sub   r0, r0, #0x1000\n"
    "   cps   #0x12\n"
    "   mov   sp, r0\n"
    "   sub   r0, r0, #0x1000\n"
    "   cps   #0x1f\n"
    "   mov   sp, r0\n"
    "   b     r5_start\n"
    ".ltorg\n"
    ".weak FreeRTOS_SWI_Handler\n"
    ".weak FreeRTOS_IRQ_Handler\n"
    "r5_vectors:\n"
    ".rept 8\n"
    "   ldr   pc, [pc, #24]\n"
    ".endr\n"
    "   .4byte r5_exception, r5_exception, FreeRTOS_SWI_Handler, r5_exception\n"
    "   .4byte r5_exception, r5_exception, FreeRTOS_IRQ_Handler, r5_exception\n"
    "r5_exception:\n"
    "   mov   r0, lr\n"
    "   cps   #0x13\n"
    "   b     r5_unexpected_exception\n"
    ".popsection\n");

/*
 * A chip has caches, which QEMU's machine without interrupts is not asked for. They are set up as
 * AMD's standalone library does it (embeddedsw, cortexr5/gcc/boot.S and ZynqMP/mpu_r5.c): DDR and
 * tightly coupled memories are write-back, registers are a device, and branches are not foreseen
 * unless RTMARK_SET_BRANCH_PREDICTION asks for it.
 */
#if RTMARK_INTERRUPTS > 0

#ifndef RTMARK_SET_BRANCH_PREDICTION
#define RTMARK_SET_BRANCH_PREDICTION 0
#endif

/* What this was compiled with. */
static void __attribute__((used)) settings(void)
{
    RTMARK_SETTING("branch_prediction", RTMARK_SET_BRANCH_PREDICTION);
}

/* Read and write for all; normal memory that is written back and allocated, or a device. */
enum { WRITE_BACK = 0x30B, DEVICE = 0x310 };
/* Enabled, with so many bits of address. */
#define REGION_SIZE(bits) (((bits) - 1u) << 1 | 1u)

static void region(uint32_t number, uint32_t base, uint32_t size, uint32_t access)
{
    __asm__ __volatile__("mcr p15, 0, %0, c6, c2, 0\n\t"
                         "mcr p15, 0, %1, c6, c1, 0\n\t"
                         "mcr p15, 0, %2, c6, c1, 2\n\t"
                         "mcr p15, 0, %3, c6, c1, 4"
                         : : "r"(number), "r"(base), "r"(size), "r"(access) : "memory");
}

static void prepare_memory(void)
{
    /* ACTLR: bit 17 switches the return stack off, 16 and 15 say that no branch is taken. */
    enum { RETURN_STACK_OFF = 1 << 17, NEVER_TAKEN = 1 << 16, POLICY = 3 << 15 };
    /* SCTLR: protection, data cache, instruction cache, the usual memory where no region is. */
    enum { PROTECTION = 1, DATA_CACHE = 1 << 2, INSTRUCTION_CACHE = 1 << 12, BACKGROUND = 1 << 17 };
    uint32_t value;

    __asm__ __volatile__("mrc p15, 0, %0, c1, c0, 1" : "=r"(value));
    value &= ~(uint32_t)(RETURN_STACK_OFF | POLICY);
    if (!RTMARK_SET_BRANCH_PREDICTION) {
        value |= RETURN_STACK_OFF | NEVER_TAKEN;
    }
    __asm__ __volatile__("mcr p15, 0, %0, c1, c0, 1" : : "r"(value) : "memory");

    region(0u, 0x00000000u, REGION_SIZE(31u), WRITE_BACK);
    region(1u, 0xF9000000u, REGION_SIZE(20u), DEVICE);
    region(2u, 0xFF000000u, REGION_SIZE(24u), DEVICE);

    __asm__ __volatile__("dsb\n\t"
                         "mcr p15, 0, %1, c7, c5, 0\n\t"
                         "mcr p15, 0, %1, c15, c5, 0\n\t"
                         "isb\n\t"
                         "mrc p15, 0, %0, c1, c0, 0"
                         : "=r"(value) : "r"(0u) : "memory");
    value |= PROTECTION | DATA_CACHE | INSTRUCTION_CACHE | BACKGROUND;
    __asm__ __volatile__("dsb\n\tmcr p15, 0, %0, c1, c0, 0\n\tisb" : : "r"(value) : "memory");
}

#endif

void r5_start(void)
{
    const uint32_t *from = firmware_data_load;

#if RTMARK_INTERRUPTS > 0
    prepare_memory();
#endif

    for (uint32_t *to = firmware_data_start; to < firmware_data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = firmware_bss_start; to < firmware_bss_end;) {
        *to++ = 0;
    }
    main();
    rtmark_failed("main() returned");
}

void r5_unexpected_exception(uint32_t place)
{
    rtmark_failed_at("unexpected exception before", place);
}
