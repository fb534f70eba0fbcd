/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From reset to main() on RV32 in machine mode, with what a kernel wants there: its handler of
 * traps, rv32_trap_handler, in mtvec.
 */
#include <stdint.h>

#include "rtmark_firmware.h"

/* Made by firmware.ld. */
extern uint32_t firmware_data_start[], firmware_data_end[];
extern const uint32_t firmware_data_load[];
extern uint32_t firmware_bss_start[], firmware_bss_end[];

int main(void);
void rv32_start(void) __attribute__((noreturn, used));
void rv32_unexpected_trap(void) __attribute__((noreturn, used));

/* The first code of the image: where QEMU's virt begins to execute. */
__asm__(
    ".pushsection .vectors, \"ax\", %progbits\n"
    ".globl Reset_Handler\n"
    "Reset_Handler:\n"
    "   la   sp, firmware_stack_top\n"
    "   lw   t0, 1f\n"
    "   bnez t0, 2f\n"
    "   la   t0, rv32_trap\n"
    "2: csrw mtvec, t0\n"
    "   j    rv32_start\n"
    ".balign 4\n"
    ".weak rv32_trap_handler\n"
    "1: .4byte rv32_trap_handler\n"
    "rv32_trap:\n"
    "   j    rv32_unexpected_trap\n"
    ".popsection\n");

#ifdef RTMARK_SOC_INIT
#define WRITE_REGISTER(address, value) *(volatile uint32_t *)(address) = (value)
#else
#define RTMARK_SOC_INIT(write)
#endif

void rv32_start(void)
{
    const uint32_t *from = firmware_data_load;

    RTMARK_SOC_INIT(WRITE_REGISTER);
    for (uint32_t *to = firmware_data_start; to < firmware_data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = firmware_bss_start; to < firmware_bss_end;) {
        *to++ = 0;
    }
    main();
    rtmark_failed("main() returned");
}

void rv32_unexpected_trap(void)
{
    uint32_t place;

    __asm__ __volatile__("csrr %0, mepc" : "=r"(place));
    rtmark_failed_at("unexpected trap", place);
}
