/* No kernel: one interrupt with a handler of its own, named as CMSIS names it, and two that share
 * one whose name is a third one's. */

#include <stdint.h>

extern uint32_t stack_top[];
void reset(void);

static volatile uint32_t times;

void TIMER0_IRQHandler(void)
{
    times++;
}

void TIMER1_IRQHandler(void)
{
    times++;
}

__attribute__((section(".vectors"), used)) void *const vectors[48] = {
    [0] = stack_top, [1] = reset,
    [16 + 8] = TIMER0_IRQHandler, [16 + 9] = TIMER1_IRQHandler, [16 + 10] = TIMER1_IRQHandler,
};

void reset(void)
{
    volatile uint32_t *const enable = (volatile uint32_t *)0xE000E100;
    volatile uint32_t *const pend = (volatile uint32_t *)0xE000E200;
    times = 0;
    *enable = 1u << 8 | 1u << 10;
    *pend = 1u << 8;
    *pend = 1u << 10;
    register uint32_t operation __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xAB" : : "r"(operation), "r"(reason));
    for (;;) {
    }
}
