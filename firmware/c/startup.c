/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From reset to main(), and where exceptions go that nobody expects.
 *
 * Compiled without floating-point registers: nothing here may use the FPU
 * before it is switched on, not even for copying.
 */
#include <stdint.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"

typedef void (*vector)(void);

/* Made by firmware.ld. */
extern uint32_t firmware_stack_top[];
extern uint32_t firmware_data_start[], firmware_data_end[];
extern const uint32_t firmware_data_load[];
extern uint32_t firmware_bss_start[], firmware_bss_end[];
#ifdef RTMARK_CODE_IN_RAM
extern uint32_t firmware_code_start[], firmware_code_end[];
extern const uint32_t firmware_code_load[];
#endif

int main(void);
void Reset_Handler(void);
void Unexpected_Handler(void);
void HardFault_Handler(void);
void report_fault(const uint32_t *frame) __attribute__((noreturn, used));

#define UNLESS_DEFINED __attribute__((weak, alias("Unexpected_Handler")))

void NMI_Handler(void) UNLESS_DEFINED;
void SVC_Handler(void) UNLESS_DEFINED;
void PendSV_Handler(void) UNLESS_DEFINED;
void SysTick_Handler(void) UNLESS_DEFINED;
void IRQ0_Handler(void) UNLESS_DEFINED;
void IRQ1_Handler(void) UNLESS_DEFINED;
void IRQ2_Handler(void) UNLESS_DEFINED;
void IRQ3_Handler(void) UNLESS_DEFINED;
void IRQ4_Handler(void) UNLESS_DEFINED;
void IRQ5_Handler(void) UNLESS_DEFINED;
void IRQ6_Handler(void) UNLESS_DEFINED;
void IRQ7_Handler(void) UNLESS_DEFINED;

/*
 * The interrupts that `rtmark worst` injects: nothing in an image enables or pends them. Their
 * handlers stand behind all else, so that nothing moves for their sake. An image may have
 * one that uses its kernel instead of the first.
 */
__attribute__((weak, naked, section(".injected"))) void IRQ8_Handler(void)
{
    __asm__("bx lr");
}

__attribute__((weak, naked, section(".injected"))) void IRQ9_Handler(void)
{
    __asm__("bx lr");
}

/* Where clocked probes count by SysTick, they come first: clock.s. */
#if RTMARK_CLOCKED && RTMARK_COUNTER == 0xE000E018u
void rtmark_clock_tick(void);
#define SYSTICK_VECTOR rtmark_clock_tick
#else
#define SYSTICK_VECTOR SysTick_Handler
#endif

struct vectors {
    uint32_t *initial_stack;
    vector exceptions[15 + RTMARK_INTERRUPTS];
};

/* The index of an exception in the table: the stack's word comes before. */
#define EXCEPTION(number) [(number) - 1]
#define EXCEPTIONS(first, last) [(first) - 1 ... (last) - 1]

const struct vectors firmware_vectors __attribute__((used, section(".vectors"))) = {
    .initial_stack = firmware_stack_top,
    .exceptions = {
        EXCEPTION(1) = Reset_Handler,
        EXCEPTION(2) = NMI_Handler,
        EXCEPTION(3) = HardFault_Handler,
        EXCEPTIONS(4, 10) = Unexpected_Handler,
        EXCEPTION(11) = SVC_Handler,
        EXCEPTIONS(12, 13) = Unexpected_Handler,
        EXCEPTION(14) = PendSV_Handler,
        EXCEPTION(15) = SYSTICK_VECTOR,
        EXCEPTION(16) = IRQ0_Handler,
        EXCEPTION(17) = IRQ1_Handler,
        EXCEPTION(18) = IRQ2_Handler,
        EXCEPTION(19) = IRQ3_Handler,
        EXCEPTION(20) = IRQ4_Handler,
        EXCEPTION(21) = IRQ5_Handler,
        EXCEPTION(22) = IRQ6_Handler,
        EXCEPTION(23) = IRQ7_Handler,
        EXCEPTION(24) = IRQ8_Handler,
        EXCEPTION(25) = IRQ9_Handler,
        EXCEPTIONS(26, 15 + RTMARK_INTERRUPTS) = Unexpected_Handler,
    },
};

void Reset_Handler(void)
{
    /*
     * First of all the soc's own settings, such as wait states and caches: all
     * that follows, and all that is measured, runs with them.
     */
#define WRITE_REGISTER(address, value) CORTEX_M_REGISTER(address) = (value)
    RTMARK_SOC_INIT(WRITE_REGISTER);

    /* A debugger or a boot loader may have started us with another table. */
    SCB_VTOR = (uint32_t)&firmware_vectors;

#if RTMARK_CORE_HAS_FPU
    SCB_CPACR |= SCB_CPACR_FPU_FULL_ACCESS;
    __asm__ __volatile__("dsb\n\tisb" : : : "memory");
#endif

#ifdef RTMARK_CODE_IN_RAM
    const uint32_t *code = firmware_code_load;
    for (uint32_t *to = firmware_code_start; to < firmware_code_end;) {
        *to++ = *code++;
    }
#endif

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

/*
 * Every fault arrives here, because the separate fault handlers are not enabled.
 * The exception frame is on the stack that was in use, as bit 2 of LR tells.
 */
__attribute__((naked)) void HardFault_Handler(void)
{
    __asm__(
        "   .syntax unified        \n"
        "   movs r0, #4            \n"
        "   mov  r1, lr            \n"
        "   tst  r0, r1            \n"
        "   bne  1f                \n"
        "   mrs  r0, msp           \n"
        "   b    2f                \n"
        "1: mrs  r0, psp           \n"
        "2: ldr  r1, =report_fault \n"
        "   bx   r1                \n"
        "   .ltorg                 \n");
}

void report_fault(const uint32_t *frame)
{
    enum { STACKED_PC = 6 };

    rtmark_failed_at("HardFault", frame[STACKED_PC]);
}

void Unexpected_Handler(void)
{
    uint32_t number;

    __asm__ __volatile__("mrs %0, ipsr" : "=r"(number));
    rtmark_failed_with("nobody handles exception number", number);
}
