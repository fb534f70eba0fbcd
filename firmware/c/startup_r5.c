/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From reset to main() on a Cortex-R5. Exceptions arrive at address 0 once SCTLR.V is
 * clear; what is needed there is copied to it.
 */
#include <stdint.h>

#include "rtmark_firmware.h"

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

void r5_start(void)
{
    const uint32_t *from = firmware_data_load;

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
