/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From reset to main() on an AArch64 core in EL1, without MMU and caches, and the table of
 * exception vectors that FreeRTOS' port installs.
 */
#include <stdint.h>

#include "rtmark_firmware.h"

/* Made by firmware.ld. */
extern uint32_t firmware_data_start[], firmware_data_end[];
extern const uint32_t firmware_data_load[];
extern uint32_t firmware_bss_start[], firmware_bss_end[];

int main(void);
void a64_start(void) __attribute__((noreturn, used));
void a64_unexpected_exception(void) __attribute__((noreturn, used));

/*
 * The table has an entry of 128 bytes for each kind of exception and for each place that it
 * comes from (Arm ARM DDI 0487, D1.10.2). Tasks run on SP_EL0, which is the first of the four
 * groups; main() and handlers run on SP_EL1, the second one.
 */
__asm__(
    ".pushsection .vectors, \"ax\", %progbits\n"
    ".globl Reset_Handler\n"
    "Reset_Handler:\n"
    "   ldr  x0, =_freertos_vector_table\n"
    "   msr  vbar_el1, x0\n"
    "   mov  x0, #(3 << 20)\n"
    "   msr  cpacr_el1, x0\n"
    "   isb\n"
    "   ldr  x0, =firmware_stack_top\n"
    "   mov  sp, x0\n"
    "   b    a64_start\n"
    ".ltorg\n"
    ".balign 2048\n"
    ".globl _freertos_vector_table\n"
    "_freertos_vector_table:\n"
    "   b    a64_call\n"
    ".balign 128\n"
    "   b    a64_interrupt\n"
    ".balign 128\n"
    "   b    a64_unexpected_exception\n"
    ".balign 128\n"
    "   b    a64_unexpected_exception\n"
    ".balign 128\n"
    "   b    a64_call\n"
    ".balign 128\n"
    "   b    a64_interrupt\n"
    ".rept 10\n"
    ".balign 128\n"
    "   b    a64_unexpected_exception\n"
    ".endr\n"
    ".balign 128\n"
    ".weak FreeRTOS_SWI_Handler\n"
    ".weak FreeRTOS_IRQ_Handler\n"
    /* A call of the system is the kernel's; any other synchronous exception is nobody's. */
    "a64_call:\n"
    "   stp  x0, x1, [sp, #-16]!\n"
    "   mrs  x0, esr_el1\n"
    "   lsr  x0, x0, #26\n"
    "   cmp  x0, #0x15\n"
    "   ldp  x0, x1, [sp], #16\n"
    "   b.ne a64_unexpected_exception\n"
    "   b    FreeRTOS_SWI_Handler\n"
    "a64_interrupt:\n"
    "   b    FreeRTOS_IRQ_Handler\n"
    ".popsection\n");

void a64_start(void)
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

void a64_unexpected_exception(void)
{
    uint64_t place;

    __asm__ __volatile__("mrs %0, elr_el1" : "=r"(place));
    rtmark_failed_at("unexpected exception", (uint32_t)place);
}
