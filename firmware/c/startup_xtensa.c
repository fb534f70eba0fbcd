/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From reset to main() on an Xtensa without register windows, as QEMU's `sim` has it: the core begins at the
 * first address of the system's ROM, and exceptions go to a table of ours. None is expected.
 */
#include <stdint.h>

#include "rtmark_firmware.h"

/* Made by firmware.ld. */
extern uint32_t firmware_data_start[], firmware_data_end[];
extern const uint32_t firmware_data_load[];
extern uint32_t firmware_bss_start[], firmware_bss_end[];

int main(void);
void xtensa_start(void) __attribute__((noreturn, used));
void xtensa_unexpected_exception(uint32_t place) __attribute__((noreturn, used));

/* The table's offsets are those of QEMU's LX106: debug, NMI, kernel, user, double. PS: user vector mode, with
 * interrupts of all levels masked. */
__asm__(
    ".pushsection .vectors, \"ax\", @progbits\n"
    ".globl Reset_Handler\n"
    "Reset_Handler:\n"
    "   j       2f\n"
    ".org 0x10\n"
    "   j       1f\n"
    ".org 0x20\n"
    "   j       1f\n"
    ".org 0x30\n"
    "   j       1f\n"
    ".org 0x50\n"
    "   j       1f\n"
    ".org 0x70\n"
    "   j       1f\n"
    ".literal_position\n"
    "1: movi    a1, firmware_stack_top\n"
    "   rsr.epc1 a2\n"
    "   call0   xtensa_unexpected_exception\n"
    ".literal_position\n"
    "2: movi    a1, firmware_stack_top\n"
    "   movi    a2, Reset_Handler\n"
    "   wsr.vecbase a2\n"
    "   movi    a2, 0x2F\n"
    "   wsr.ps  a2\n"
    "   rsync\n"
    "   call0   xtensa_start\n"
    ".popsection\n");

void xtensa_start(void)
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

void xtensa_unexpected_exception(uint32_t place)
{
    rtmark_failed_at("unexpected exception", place);
}
